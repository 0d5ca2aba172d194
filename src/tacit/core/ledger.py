"""The ledger: what was spent, on what, and what came of it. A budget cannot be spent twice.

Two short transactions around every draw, both durable (see ledger.md):

    1. charge   add the cost where it fits under the cap, and write down the request
    2. draw     randomness, only after the charge is on disk
    3. store    the result, where none is stored yet; return the *stored* bytes

A crash between 1 and 3 wastes budget or is repaired by a retry. It never charges one request twice
and never gives it two answers.

A ledger has one account for everybody, or one for each cohort, each with the whole cap (see
cohorts.md).
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from tacit.core.accounts import (
    EVERYBODY,
    Account,
    account_of,
    accounts_in,
    adopted,
    amount_text,
    cap_of,
    cohorts_table,
    cost_of,
    enrol,
    members_table,
    metadata,
    terms_table,
)
from tacit.core.budget import UNITS, ZCDP, Budget
from tacit.core.cohorts import Cohort
from tacit.core.database import connect, perform, retrying
from tacit.core.events import Event
from tacit.core.parts import same_split
from tacit.errors import BudgetError, InputError, RequestConflictError, StateError

LARGEST = 2**62  # above every cap; a cap and this together still fit into 64 bits

_charges = sa.Table(
    "tacit_charges",
    metadata,
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),
    # a digest of what is private about a request; never shown
    sa.Column("binding", sa.Text, nullable=False),
    sa.Column("cost", sa.BigInteger, sa.CheckConstraint("cost >= 0"), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("result", sa.LargeBinary),
)


@dataclass(frozen=True)
class Charge:
    """One line of the ledger. `answered` says whether a result is stored for it."""

    number: int
    request: str
    kind: str
    parameters: dict[str, Any]
    cost: float
    created: float
    answered: bool


class Ledger:
    """A budget kept in a database: made once with `Ledger.create(url, budget)`, then opened with
    `Ledger.open(url)`.

    `is_new` says whether it was made by the call that returned this object.

    >>> ledger = tacit.Ledger.create("sqlite:///ledger.db", tacit.Budget(1.0, 1e-6))
    >>> ledger.charges()
    []
    >>> str(tacit.Ledger.open("sqlite:///ledger.db").budget)
    'epsilon=1, delta=1e-06'
    """

    def __init__(self, engine: sa.Engine, budget: Budget, is_new: bool = False) -> None:
        self._engine = engine
        self.budget = budget
        self.is_new = is_new

    @classmethod
    def create(cls, url: str | sa.Engine, budget: Budget, mixed: bool = False) -> Ledger:
        """A new ledger. `mixed` is for Gaussian releases and single decisions side by side.

        An `(epsilon, delta)` budget buys a little less noise where only Gaussian releases are
        charged to it, and is therefore reserved for them from the first one on. With `mixed` it is
        counted in zCDP throughout.
        """
        engine = connect(url) if isinstance(url, str) else url
        retrying(lambda: metadata.create_all(engine))
        perform(engine, lambda connection: cls.establish(connection, budget, mixed))
        return cls(engine, budget, is_new=True)

    @staticmethod
    def establish(connection: sa.Connection, budget: Budget, mixed: bool = False) -> None:
        """Writes the terms inside a transaction of the caller's, so that a study and its ledger are
        created together or not at all."""
        measure = ZCDP if mixed and not budget.pure else budget.measure
        cap = cap_of(budget, measure)
        if cap < 1 or cap >= LARGEST:
            raise InputError(
                f"a budget of {budget} is too small or too large to be counted: choose another."
            )
        if budget.share != 1:
            raise InputError(
                f"a ledger keeps a whole budget, got {budget}: parts of it are for releases."
            )
        terms = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}
        named = {"id": 1, "name": secrets.token_hex(8), "created": time.time()}
        everybody = {"name": EVERYBODY, "measure": measure, "cap": cap, "spent": 0}
        try:
            connection.execute(sa.insert(terms_table).values(named | terms))
        except IntegrityError:
            raise StateError(
                "this database already holds a ledger: open it with Ledger.open(url)."
            ) from None
        connection.execute(sa.insert(cohorts_table).values(everybody))

    @classmethod
    def open(cls, url: str | sa.Engine) -> Ledger:
        """The ledger at `url`, which must exist."""
        engine = connect(url, create=False) if isinstance(url, str) else url
        if not sa.inspect(engine).has_table(terms_table.name):
            raise StateError(
                "this database holds no ledger: make one with Ledger.create(url, budget)."
            )
        if not sa.inspect(engine).has_table(cohorts_table.name):
            retrying(lambda: metadata.create_all(engine, tables=[cohorts_table, members_table]))
        row = perform(engine, adopted)
        if row is None:
            raise StateError(
                "this database holds no ledger: make one with Ledger.create(url, budget)."
            )
        return cls(engine, Budget(epsilon=row.epsilon, delta=row.delta, rho=row.rho))

    @classmethod
    def at(cls, url: str, budget: Budget) -> Ledger:
        """The ledger at `url`, created with this budget if there is none yet. An existing ledger
        keeps its own budget.

        That a ledger was created, and with it a new budget, is said by `is_new` and by the logger
        "tacit", at level INFO.
        """
        engine = connect(url)
        with suppress(StateError):
            return cls.open(engine)
        with suppress(StateError):
            made = cls.create(engine, budget)
            logging.getLogger("tacit").info(
                "a new budget was opened at %s: %s", made.shown_url, budget
            )
            return made
        return cls.open(engine)  # somebody else made it in the meantime

    @property
    def name(self) -> str:
        """What receipts call it."""
        query = sa.select(terms_table.c.name)
        name = perform(self._engine, lambda connection: connection.execute(query).scalar_one())
        return str(name)

    @property
    def shown_url(self) -> str:
        """Where it is kept, without the password of a server."""
        return self._engine.url.render_as_string(hide_password=True)

    def add_cohort(self, cohort: Cohort) -> None:
        """Opens an account of its own for a cohort, with the whole budget as its cap.

        From the first one on the ledger is divided: every release names the cohort that it is
        about. Opening the same cohort again changes nothing.
        """

        def attempt(connection: sa.Connection) -> None:
            everybody, *others = accounts_in(connection)
            if any(other.cohort == cohort for other in others):
                return
            if everybody.spent:
                raise StateError(
                    "this ledger was spent from for everybody: it cannot be divided into cohorts."
                )
            for other in others:
                assert other.cohort is not None
                if not same_split(cohort, other.cohort):
                    raise StateError(
                        f"cohort {cohort.name!r} is not of the same split as cohort "
                        f"{other.cohort.name!r}, so that somebody could be in both: hold out the "
                        "same share of the same log, its files in the same order."
                    )
                if other.cohort.name == cohort.name or other.cohort.overlaps(cohort):
                    raise StateError(
                        f"cohort {cohort.name!r} overlaps with cohort {other.cohort.name!r}, which "
                        f"holds records {other.cohort.first} to {other.cohort.last}: a record "
                        "belongs to one cohort."
                    )
            # Nothing can be charged to everybody any more. The measure of that account stays: it
            # is the one that cohorts begin with.
            for_everybody = cohorts_table.c.name == EVERYBODY
            connection.execute(sa.update(cohorts_table).where(for_everybody).values(cap=0))
            opened = {
                "measure": everybody.measure,
                "cap": cap_of(self.budget, everybody.measure),
                "spent": 0,
            }
            connection.execute(sa.insert(cohorts_table).values(asdict(cohort) | opened))

        perform(self._engine, attempt, queue=cohorts_table)

    def spend(
        self,
        request: str,
        event: Event,
        about: dict[str, Any],
        draw: Callable[[], bytes],
        binding: str = "",
        cohort: Cohort | None = None,
        members: Iterable[str] = (),
    ) -> bytes:
        """Charges the event, draws, stores and returns the result. The same request returns the
        same bytes.

        `about` is public and is shown with the charge. `binding` is a digest of what is private
        about the request (the visitor's context, say). Both must be the same when a request is
        repeated. `members` are the people of a cohort who are counted by name: from now on they are
        of this cohort and of no other.
        """
        named = {} if cohort is None else {"cohort": cohort.name}
        charge = {
            "request": request,
            "kind": type(event).__name__.lower(),
            "parameters": json.dumps(about | named | asdict(event), sort_keys=True),
            "binding": binding,
        }
        stored = self._charge(charge, event, cohort, members)
        if stored is not None:
            return stored
        return self._store(request, draw())

    def stored(self, request: str) -> bytes | None:
        """The result of an earlier request, if there is one. Free."""
        query = sa.select(_charges.c.result).where(_charges.c.request == request)
        result = perform(self._engine, lambda connection: connection.execute(query).scalar())
        return None if result is None else bytes(result)

    def require_room(self, *events: Event, cohort: Cohort | None = None) -> None:
        """Fails if the events would not fit now. Charges and reserves nothing: somebody else may
        spend first."""
        account = self.account(cohort)
        cost = 0
        for event in events:
            account = account.paying(event, self.budget)
            cost += cost_of(event, account.measure)
        if account.spent + cost > account.cap:
            raise BudgetError(_refusal(account, cost, self.budget))

    def receipt(self, request: str) -> dict[str, Any] | None:
        """What a policy carries to show that it was paid for: the ledger's name, the request, the
        charge's number."""
        name = sa.select(terms_table.c.name).scalar_subquery().label("name")
        query = sa.select(name, _charges.c.number).where(_charges.c.request == request)
        row = perform(self._engine, lambda connection: connection.execute(query).one_or_none())
        if row is None:
            return None
        return {"ledger": row.name, "request": request, "number": int(row.number)}

    def accounts(self) -> list[Account]:
        """Every account that can be spent from: that for everybody, or one for each cohort."""
        everybody, *others = perform(self._engine, accounts_in)
        return others or [everybody]

    def account(self, cohort: Cohort | None = None) -> Account:
        """The account of a cohort; that for everybody without one."""
        return perform(self._engine, lambda connection: account_of(connection, cohort))

    @property
    def spent(self) -> float:
        """The most that has been spent on any one person: the largest of all accounts."""
        return max(account.spent for account in self.accounts()) / UNITS

    @property
    def remaining(self) -> float:
        """What every account has left at least."""
        return min(account.remaining for account in self.accounts()) / UNITS

    def charges(self) -> list[Charge]:
        """Every charge ever made, oldest first."""
        query = sa.select(_charges).order_by(_charges.c.number)
        rows = perform(self._engine, lambda connection: connection.execute(query).all())
        return [
            Charge(
                number=row.number,
                request=row.request,
                kind=row.kind,
                parameters=json.loads(row.parameters),
                cost=row.cost / UNITS,
                created=row.created,
                answered=row.result is not None,
            )
            for row in rows
        ]

    def _charge(
        self, charge: dict[str, Any], event: Event, cohort: Cohort | None, members: Iterable[str]
    ) -> bytes | None:
        """Transaction 1. Returns the stored result of an earlier identical request, or None if one
        is to be drawn."""
        request = charge["request"]

        def attempt(connection: sa.Connection) -> bytes | None:
            # First, so that a retry fails too if its cohort is not the one that was opened.
            account = account_of(connection, cohort)
            row = connection.execute(
                sa.select(_charges).where(_charges.c.request == request)
            ).one_or_none()
            if row is not None:
                if any(getattr(row, key) != value for key, value in charge.items()):
                    raise RequestConflictError(
                        f"request {request!r} was made before with other parameters: choose "
                        "another request id."
                    )
                if row.result is None and cohort is not None:
                    enrol(connection, cohort, members)
                return None if row.result is None else bytes(row.result)
            account = account.paying(event, self.budget)
            cost = cost_of(event, account.measure)
            after = cohorts_table.c.spent + min(cost, LARGEST)
            mine = cohorts_table.c.name == (EVERYBODY if cohort is None else cohort.name)
            payment = {"spent": after, "measure": account.measure, "cap": account.cap}
            paid = connection.execute(
                sa.update(cohorts_table).where(mine, after <= account.cap).values(payment)
            )
            if paid.rowcount != 1:
                raise BudgetError(_refusal(account, cost, self.budget))
            if cohort is not None:
                enrol(connection, cohort, members)
            number = sa.select(sa.func.count()).select_from(_charges).scalar_subquery() + 1
            written = charge | {"cost": cost, "number": number, "created": time.time()}
            connection.execute(sa.insert(_charges).values(written))
            return None

        return perform(self._engine, attempt, queue=cohorts_table)

    def _store(self, request: str, result: bytes) -> bytes:
        """Transaction 2. First writer wins; everybody returns what is stored."""

        def attempt(connection: sa.Connection) -> bytes:
            mine = (_charges.c.request == request) & _charges.c.result.is_(None)
            connection.execute(sa.update(_charges).where(mine).values(result=result))
            stored = sa.select(_charges.c.result).where(_charges.c.request == request)
            return bytes(connection.execute(stored).scalar_one())

        return perform(self._engine, attempt)

    def __repr__(self) -> str:
        spent, left = min(self.accounts(), key=lambda account: account.remaining).texts(self.budget)
        return f"Ledger({self.budget}, spent {spent}, left {left})"


def as_ledger(ledger: Ledger | str, budget: Budget) -> Ledger:
    """A ledger as it is, or the ledger at a URL, created with this budget if there is none yet."""
    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, str):
        raise InputError(
            f"ledger must be a Ledger or the URL of one, got {type(ledger).__name__}: pass for "
            "example sqlite:///study.db."
        )
    return Ledger.at(ledger, budget)


def measured_in(budget: Budget) -> str:
    """The name of what a ledger with this budget counts."""
    return "epsilon" if budget.pure else "rho"


def _refusal(account: Account, asked: int, budget: Budget) -> str:
    spent, left = account.texts(budget)
    wanted = amount_text(asked, account.measure, budget)
    whose = "" if account.cohort is None else f" of cohort {account.cohort.name!r}"
    return (
        f"the budget{whose} ({budget}) does not cover this: spent {spent}, asked {wanted}, left "
        f"{left}; a released policy can be reused for free."
    )
