"""`tacit ledger show`: what was spent, on what, and what is left."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.console import Json, emit, out, table
from tacit.errors import InputError, StateError

if TYPE_CHECKING:
    from tacit.core import Ledger

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
    from tacit.core.ledger import unit_of
    from tacit.core.release import RELATIONS

    ledger = Ledger.open(url)
    charges, counted = ledger.charges(), unit_of(ledger.budget)
    protects = {unit: RELATIONS[unit] for unit in sorted({c.parameters.get("unit", "record") for c in charges})}
    if json:
        emit({
            "budget": {"epsilon": ledger.budget.epsilon, "delta": ledger.budget.delta, "rho": ledger.budget.rho},
            "counted_in": counted,
            "spent": ledger.spent,
            "remaining": ledger.remaining,
            "spent_epsilon": _spent_epsilon(ledger),
            "neighbours": protects,
            "charges": [asdict(charge) for charge in charges],
        })  # fmt: skip
        return
    columns = ["", "request", "kind", "unit", counted, "when (UTC)", "answered"]
    rows = [
        [
            str(c.number),
            c.request,
            c.kind,
            c.parameters.get("unit", ""),
            f"{c.cost:.6g}",
            _when(c.created),
            "yes" if c.answered else "no",
        ]
        for c in charges
    ]
    table("Charges", columns, rows)
    out.print(f"Budget {ledger.budget}: spent {counted}={ledger.spent:.6g}, left {counted}={ledger.remaining:.6g}")
    delta = f" at delta {ledger.budget.delta or 1e-6:g}" if counted == "rho" else ""
    out.print(f"Spent so far: epsilon {_spent_epsilon(ledger):.4g}{delta}, all releases together")
    for unit, relation in protects.items():
        out.print(f"Protects one {unit}: neighbours {relation}")


@app.command()
def check(
    url: Annotated[str, typer.Argument(help="The study's database.")],
    policies: Annotated[list[Path], typer.Argument(help="Policy folders that were released from it.")],
    json: Json = False,
) -> None:
    """Check that the ledger still holds the charge of each policy. It does not after an old backup was restored."""
    from tacit.core import Ledger
    from tacit.policy import Policy

    ledger = Ledger.open(url)
    for folder in policies:
        policy = Policy.load(folder)
        if policy.receipt is None:
            raise InputError(f"{folder} has no receipt: it was simulated, not released.")
        if ledger.receipt(policy.receipt["request"]) != policy.receipt:
            raise StateError(
                f"the charge of {folder} is not in this ledger: either another ledger made it, or an old copy of this "
                "one was restored and counts spent budget as left; do not spend from it."
            )
    if json:
        emit({"checked": [str(folder) for folder in policies], "ok": True})
    else:
        out.print(f"The ledger holds the charges of {len(policies)} policies.")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _spent_epsilon(ledger: Ledger) -> float:
    """All charges together as epsilon, at the budget's delta (1e-6 where it has none)."""
    from tacit.core.budget import epsilon_of_rho

    return ledger.spent if ledger.budget.pure else epsilon_of_rho(ledger.spent, ledger.budget.delta or 1e-6)
