"""The ledger: every charge with its price in words, what is left, and a statement for a review
board that prints well."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from tacit.core import Part
from tacit.core.ledger import Charge, Ledger, measured_in
from tacit.core.release import REPORTING_DELTA, relation_of
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.views import Spent, Standing, now, standing_of
from tacit.report.guarantee import UNITS as PROTECTED
from tacit.service.problems import NotFoundError
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy
from tacit.spent import as_epsilon, coin_toss, spent_epsilon
from tacit.study import EpochStudy

SHOWN = 120  # charges on one page


@dataclass(frozen=True)
class ChargeRow:
    """One charge. Its own epsilon is what it would cost alone; those of one cohort do not add up,
    but their rho does."""

    number: int
    request: str
    cohort: str
    kind: str
    records: int | None
    cost: float
    epsilon: float
    coin: str
    created: float
    answered: bool


@dataclass(frozen=True)
class CohortRow:
    """What the people of a cohort have paid, all charges together."""

    name: str
    people: str
    epsilon: float
    coin: str
    left: str


@dataclass(frozen=True)
class LedgerView:
    """Everything on the page."""

    standing: Standing
    spent: Spent
    name: str
    budget: str
    counted_in: str
    delta: float
    charges: list[ChargeRow]
    cohorts: list[CohortRow]
    divided: bool
    unit: str
    protects: str
    relation: str
    total: int
    start: int
    made: float
    receipt: dict[str, Any] | None  # of the policy that was released last

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - SHOWN) if self.start > 0 else None

    @property
    def later(self) -> int | None:
        return self.start + SHOWN if self.start + SHOWN < self.total else None


def ledger_view(served: Served, start: int | None = None) -> LedgerView:
    """Reads a ledger. Free."""
    if not isinstance(served, ServedStudy):
        raise NotFoundError("a policy alone has no ledger: its guarantee says what was spent.")
    study = served.study
    ledger = study.ledger
    charges = ledger.charges()
    accounts = ledger.accounts()
    budget = ledger.budget
    measures = {
        account.cohort.name: account.measure for account in accounts if account.cohort is not None
    }
    first = max(0, len(charges) - SHOWN) if start is None else max(0, start)
    name = ledger.name
    unit = study.unit if isinstance(study, EpochStudy) else study.design.unit
    return LedgerView(
        standing=standing_of(served),
        spent=Spent.of(ledger),
        name=name,
        budget=str(budget),
        counted_in=measured_in(budget),
        delta=budget.delta or REPORTING_DELTA,
        charges=[
            _charge_row(charge, ledger, measures, accounts[0].measure)
            for charge in charges[first : first + SHOWN]
        ],
        cohorts=[_cohort_row(account, ledger) for account in accounts],
        divided=accounts[0].cohort is not None,
        unit=unit,
        protects=PROTECTED.get(unit, unit),
        relation=relation_of(unit, accounts[0].cohort),
        total=len(charges),
        start=first,
        made=now(),
        receipt=_receipt(served),
    )


def _receipt(served: Served) -> dict[str, Any] | None:
    if served.released is None:
        return None
    found: dict[str, Any] | None = served.released.policy.receipt
    return found


def _charge_row(
    charge: Charge, ledger: Ledger, measures: dict[str, str], otherwise: str
) -> ChargeRow:
    cohort = str(charge.parameters.get("cohort") or "everybody")
    epsilon = as_epsilon(charge.cost, measures.get(cohort, otherwise), ledger.budget)
    return ChargeRow(
        number=charge.number,
        request=charge.request,
        cohort=cohort,
        kind=charge.kind,
        records=charge.parameters.get("records"),
        cost=charge.cost,
        epsilon=epsilon,
        coin=coin_toss(epsilon),
        created=charge.created,
        answered=charge.answered,
    )


def _cohort_row(account: Any, ledger: Ledger) -> CohortRow:
    cohort = account.cohort
    people = "everybody"
    name = "everybody"
    if cohort is not None:
        name = cohort.name
        people = f"rounds {cohort.first + 1:,} to {cohort.last:,}"
        if Part.of(cohort) is not None:
            people = "by a hash"
    epsilon = spent_epsilon(account, ledger.budget)
    left = account.texts(ledger.budget)[1]
    return CohortRow(name, people, epsilon, coin_toss(epsilon), left)


async def show(ask: Ask) -> Answered:
    typed = ask.field("from")
    start = int(typed) if typed.isdecimal() and len(typed) < 9 else None
    view = await asyncio.to_thread(ledger_view, ask.study, start)
    return Shown("ledger.html", {"view": view}, f"Ledger of {ask.study.name}")


async def statement(ask: Ask) -> Answered:
    """The same for a review board: to be printed, or kept as PDF."""
    view = await asyncio.to_thread(ledger_view, ask.study, 0)
    problem = ask.study.problem
    told = {"view": view, "contexts": problem.contexts.names, "actions": problem.actions.names}
    return Shown("statement.html", told, f"Privacy statement of {ask.study.name}")


PAGES = [
    Page("GET", "/studies/{study}/ledger", show),
    Page("GET", "/studies/{study}/statement", statement),
]
