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
    from tacit.core import Account, Budget

app = typer.Typer(no_args_is_help=True, help="Show and check a study's budget.")


@app.callback()
def _group() -> None:
    """Show and check a study's budget."""


@app.command()
def show(
    url: Annotated[
        str, typer.Argument(help="The study's database, for example sqlite:///study.db.")
    ],
    json: Json = False,
) -> None:
    """Show every charge and what is left. Reading a ledger is free."""
    from tacit.core import Ledger
    from tacit.core.budget import UNITS
    from tacit.core.ledger import measured_in
    from tacit.core.release import REPORTING_DELTA, relation_of
    from tacit.spent import spent_epsilon as as_spent

    ledger = Ledger.open(url)
    charges = ledger.charges()
    counted = measured_in(ledger.budget)
    accounts = ledger.accounts()
    spent_epsilon = max(as_spent(account, ledger.budget) for account in accounts)
    protects = {
        unit: relation_of(unit, accounts[0].cohort)
        for unit in sorted({c.parameters.get("unit", "record") for c in charges})
    }
    if json:
        emit(
            {
                "budget": {
                    "epsilon": ledger.budget.epsilon,
                    "delta": ledger.budget.delta,
                    "rho": ledger.budget.rho,
                },
                "counted_in": counted,
                "spent": ledger.spent,
                "remaining": ledger.remaining,
                "spent_epsilon": spent_epsilon,
                "accounts": [
                    {
                        "cohort": None if account.cohort is None else asdict(account.cohort),
                        "measure": account.measure,
                        "spent": account.spent / UNITS,
                        "remaining": account.remaining / UNITS,
                        "spent_epsilon": as_spent(account, ledger.budget),
                    }
                    for account in accounts
                ],
                "neighbours": protects,
                "charges": [asdict(charge) for charge in charges],
            }
        )
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
    least = min(accounts, key=lambda account: account.remaining)
    spent, left = least.texts(ledger.budget)
    out.print(f"Budget {ledger.budget}: spent {spent}, left {left}", soft_wrap=True)
    delta = ""
    if counted == "rho":
        delta = f" at delta {ledger.budget.delta or REPORTING_DELTA:g}"
    if accounts[0].cohort is None:
        out.print(f"Spent so far: epsilon {spent_epsilon:.4g}{delta}, all releases together")
    else:
        _show_cohorts(accounts, ledger.budget, delta)
    for unit, relation in protects.items():
        out.print(f"Protects one {unit}: neighbours {relation}")


@app.command()
def check(
    url: Annotated[str, typer.Argument(help="The study's database.")],
    policies: Annotated[
        list[Path], typer.Argument(help="Policy folders that were released from it.")
    ],
    json: Json = False,
) -> None:
    """Check that the ledger still holds the charge of each policy, which it does not after an old
    backup was restored."""
    from tacit.core import Ledger
    from tacit.policy import Policy

    ledger = Ledger.open(url)
    for folder in policies:
        policy = Policy.load(folder)
        if policy.receipt is None:
            raise InputError(f"{folder} has no receipt: it was simulated, not released.")
        if ledger.receipt(policy.receipt["request"]) != policy.receipt:
            raise StateError(
                f"the charge of {folder} is not in this ledger: either another ledger made it, or "
                "an old copy of this one was restored and counts spent budget as left; do not "
                "spend from it."
            )
    if json:
        emit({"checked": [str(folder) for folder in policies], "ok": True})
    else:
        out.print(f"The ledger holds the charges of {len(policies)} policies.")


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _show_cohorts(accounts: list[Account], budget: Budget, delta: str) -> None:
    """Each person is of one cohort and has paid what that one paid."""
    from tacit.core import Part
    from tacit.spent import spent_epsilon

    rows = []
    for account in accounts:
        assert account.cohort is not None
        numbers = f"{account.cohort.first} to {account.cohort.last}"
        if Part.of(account.cohort) is not None:
            numbers = "by a hash"
        rows.append([account.cohort.name, numbers, f"{spent_epsilon(account, budget):.4g}"])
    table("Cohorts", ["cohort", "records", f"epsilon spent{delta}"], rows)
    out.print("Each person counts in one cohort, and has paid what that cohort has paid.")
