"""`tacit ledger show`: what was spent, on what, and what is left."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, out, table

app = typer.Typer(no_args_is_help=True, help="Look into a study's budget.")


@app.callback()
def _group() -> None:
    """Look into a study's budget."""


@app.command()
def show(
    url: Annotated[str, typer.Argument(help="The study's database, for example sqlite:///study.db.")],
    json: Json = False,
) -> None:
    """Show every charge and what is left. Reading a ledger is free."""
    from tacit.core import Ledger

    ledger = Ledger.open(url)
    charges = ledger.charges()
    if json:
        emit({
            "budget": {"epsilon": ledger.budget.epsilon, "delta": ledger.budget.delta, "rho": ledger.budget.zcdp},
            "spent_rho": ledger.spent,
            "remaining_rho": ledger.remaining,
            "charges": [
                {"request": c.request, "kind": c.kind, "rho": c.rho, "answered": c.answered, "parameters": c.parameters}
                for c in charges
            ],
        })  # fmt: skip
        return
    rows = [[c.request, c.kind, f"{c.rho:.6g}", _when(c.created), "yes" if c.answered else "no"] for c in charges]
    table("Charges", ["request", "kind", "rho", "when (UTC)", "answered"], rows)
    out.print(f"Budget {ledger.budget}: spent rho={ledger.spent:.6g}, left rho={ledger.remaining:.6g}")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
