"""Accounts: what each cohort, or everybody, may spend and has spent. One row each, in the ledger's
database.

What an account counts (epsilon, zCDP, or Gaussian releases alone) is settled by its first charge:
see accounting.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacit.core.budget import GAUSSIAN, PURE, UNITS, ZCDP, Budget, epsilon_of_rho
from tacit.core.cohorts import Cohort
from tacit.core.curve import gaussian_epsilon
from tacit.core.events import Event, Gaussian, price
from tacit.core.parts import Part
from tacit.errors import BudgetError, StateError

metadata = sa.MetaData()
EVERYBODY = ""  # the name of the account that a ledger without cohorts has
MANY = 500  # members looked up by one statement
NOTHING = 16  # whole units that rounding may leave of a budget which was spent: texts say "nothing"

terms_table = sa.Table(
    "tacit_account",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Float),
    sa.Column("delta", sa.Float, nullable=False),
    sa.Column("rho", sa.Float),
    sa.Column("created", sa.Float, nullable=False),
)
cohorts_table = sa.Table(
    "tacit_cohorts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("first", sa.BigInteger),
    sa.Column("last", sa.BigInteger),
    sa.Column("measure", sa.Text, nullable=False),
    sa.Column("cap", sa.BigInteger, nullable=False),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.CheckConstraint("spent >= 0 AND spent <= cap", name="tacit_within_budget"),
)
# Where people are counted by name: a keyed digest of each name, and the cohort that it is in.
members_table = sa.Table(
    "tacit_members",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("cohort", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class Account:
    """What one cohort, or everybody, may spend and has spent, in whole units of the measure."""

    cohort: Cohort | None
    measure: str
    cap: int
    spent: int

    @property
    def remaining(self) -> int:
        return self.cap - self.spent

    def texts(self, budget: Budget) -> list[str]:
        """What was spent and what is left, in the words of the budget. What rounding leaves over is
        nothing."""
        left = self.remaining if self.remaining > NOTHING else 0
        return [amount_text(units, self.measure, budget) for units in (self.spent, left)]

    def paying(self, event: Event, budget: Budget) -> Account:
        """This account in the measure in which it counts if this event is charged next.

        Gaussian releases are counted by their exact curve as long as there is nothing else. Which
        rule holds is settled by the first charge: before it there is no answer that the choice
        could depend on.
        """
        if self.measure != GAUSSIAN or isinstance(event, Gaussian):
            return self
        if self.spent:
            raise BudgetError(
                "this budget is counted for Gaussian releases alone, which leaves no room for "
                "single decisions: ask for decisions first, or make the ledger with "
                "Ledger.create(url, budget, mixed=True)."
            )
        return Account(self.cohort, ZCDP, min(self.cap, cap_of(budget, ZCDP)), self.spent)


def cost_of(event: Event, measure: str) -> int:
    """The price in whole units, rounded up."""
    return math.ceil(price(event, measure) * UNITS)


def amount_text(units: int, measure: str, budget: Budget) -> str:
    """An amount of an account in the words of its budget: as epsilon, at its delta, where it has
    one. The rho beside it is what adds up."""
    if not units:
        return "nothing"
    amount = min(units, 10**300) / UNITS  # no float holds more
    if measure == PURE or budget.epsilon is None:
        return f"{'epsilon' if budget.pure else 'rho'}={amount:.6g}"
    convert = gaussian_epsilon if measure == GAUSSIAN else epsilon_of_rho
    epsilon = convert(amount, budget.delta)
    return f"epsilon={epsilon:.4g} at delta={budget.delta:g} (rho={amount:.4g})"


def cap_of(budget: Budget, measure: str) -> int:
    """A budget in whole units of the measure: the cap of an account that holds all of it."""
    return int(budget.amount(measure) * UNITS)


def adopted(connection: sa.Connection) -> Any:
    """The terms of the ledger; None if there are none.

    A ledger of an earlier version has one account, in the row of its terms, counted in epsilon or
    in zCDP. It becomes the account for everybody, on the same terms. In its old place nothing is
    left to be spent, so that an earlier version of the code cannot spend it again.
    """
    row = connection.execute(sa.select(terms_table)).one_or_none()
    kept = connection.execute(
        sa.select(cohorts_table.c.name).where(cohorts_table.c.name == EVERYBODY)
    ).first()
    if row is not None and kept is None:
        old = connection.execute(sa.text("SELECT measure, cap, spent FROM tacit_account")).one()
        moved = {"name": EVERYBODY, "measure": old.measure, "cap": old.cap, "spent": old.spent}
        connection.execute(sa.insert(cohorts_table).values(moved))
        connection.execute(sa.text("UPDATE tacit_account SET spent = cap"))
    return row


def accounts_in(connection: sa.Connection) -> list[Account]:
    """The account for everybody, then those of cohorts in the order of their records."""
    rows = connection.execute(sa.select(cohorts_table)).all()
    everybody = [_account(row) for row in rows if row.name == EVERYBODY]
    cohorts = [_account(row) for row in rows if row.name != EVERYBODY]
    return everybody + sorted(cohorts, key=lambda account: account.cohort.first)  # type: ignore[union-attr]


def _account(row: Any) -> Account:
    cohort = None
    if row.name != EVERYBODY:
        cohort = Cohort(row.name, row.first, row.last)
    return Account(cohort, row.measure, int(row.cap), int(row.spent))


def account_of(connection: sa.Connection, cohort: Cohort | None) -> Account:
    """The account of a cohort, or that for everybody. Fails if the ledger has no such account."""
    everybody, *others = accounts_in(connection)
    if cohort is None:
        if others:
            how = "cohorts: make the statistic with cohort=..."
            if Part.of(others[0].cohort) is not None:
                how = "parts: hold out the same share, by hold_out=..."
            raise StateError(f"this ledger is divided into {how}")
        return everybody
    for account in others:
        if account.cohort == cohort:
            return account
    raise StateError(
        f"this ledger has no cohort {cohort.name!r} of records {cohort.first} to {cohort.last}: "
        "open it with ledger.add_cohort(cohort)."
    )


def enrol(connection: sa.Connection, cohort: Cohort, members: Iterable[str]) -> None:
    """Writes down that these people are of this cohort. Fails if somebody is of another already."""
    key = connection.execute(sa.select(terms_table.c.name)).scalar_one().encode()
    names = [member_digest(member, key) for member in members]
    for start in range(0, len(names), MANY):
        these = names[start : start + MANY]
        known = connection.execute(
            sa.select(members_table).where(members_table.c.digest.in_(these))
        ).all()
        if any(row.cohort != cohort.name for row in known):
            raise StateError(
                f"people of cohort {cohort.name!r} were counted in another cohort before: count "
                "each person in one."
            )
        new = sorted(set(these) - {row.digest for row in known})
        if new:
            enrolled = [{"digest": digest, "cohort": cohort.name} for digest in new]
            connection.execute(sa.insert(members_table), enrolled)


def member_digest(member: str, key: bytes) -> str:
    """A keyed digest of somebody's name."""
    name = member.encode(errors="surrogatepass")
    return hashlib.blake2b(name, key=key, digest_size=16).hexdigest()
