"""The ledger: what was spent, on what, and what came of it. A budget cannot be spent twice.

Two short transactions around every draw, both durable (see ledger.md):

    1. charge   add the cost where it fits under the cap, and write down the request
    2. draw     randomness, only after the charge is on disk
    3. store    the result, where none is stored yet; return the *stored* bytes

A crash between 1 and 3 wastes budget or is repaired by a retry; it never spends twice or answers twice.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from tacit.core.budget import UNITS, Budget
from tacit.core.database import connect, perform, retrying
from tacit.core.events import Event, price
from tacit.errors import BudgetError, InputError, RequestConflictError, StateError

metadata = sa.MetaData()
LARGEST = 2**62  # above every cap; a cap and this together still fit into 64 bits

_account = sa.Table(
    "tacit_account",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("measure", sa.Text, nullable=False),
    sa.Column("cap", sa.BigInteger, nullable=False),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.Column("epsilon", sa.Float),
    sa.Column("delta", sa.Float, nullable=False),
    sa.Column("rho", sa.Float),
    sa.Column("created", sa.Float, nullable=False),
    sa.CheckConstraint("spent >= 0 AND spent <= cap", name="tacit_within_budget"),
)
_charges = sa.Table(
    "tacit_charges",
    metadata,
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),
    sa.Column("binding", sa.Text, nullable=False),  # a digest of what is private about a request; never shown
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


def cost_of(event: Event, measure: str) -> int:
    """The price in whole units, rounded up."""
    return math.ceil(price(event, measure) * UNITS)


class Ledger:
    """A budget kept in a database: `Ledger.create(url, budget)` once, `Ledger.open(url)` ever after."""

    def __init__(self, engine: sa.Engine, budget: Budget) -> None:
        self._engine = engine
        self.budget = budget

    @classmethod
    def create(cls, url: str | sa.Engine, budget: Budget) -> Ledger:
        engine = connect(url) if isinstance(url, str) else url
        retrying(lambda: metadata.create_all(engine))
        perform(engine, lambda connection: cls.establish(connection, budget))
        return cls(engine, budget)

    @staticmethod
    def establish(connection: sa.Connection, budget: Budget) -> None:
        """Writes the account inside a transaction of the caller's (a study is created whole or not at all)."""
        cap = int(budget.amount * UNITS)
        if cap < 1 or cap >= LARGEST:
            raise InputError(f"a budget of {budget} is too small or too large to be counted: choose another.")
        account = {
            "id": 1,
            "name": secrets.token_hex(8),
            "measure": budget.measure,
            "cap": cap,
            "spent": 0,
            "created": time.time(),
        }
        terms = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}
        try:
            connection.execute(sa.insert(_account).values(account | terms))
        except IntegrityError:
            raise StateError("this database already holds a ledger: open it with Ledger.open(url).") from None

    @classmethod
    def open(cls, url: str | sa.Engine) -> Ledger:
        engine = connect(url, create=False) if isinstance(url, str) else url
        if not sa.inspect(engine).has_table(_account.name):
            raise StateError("this database holds no ledger: make one with Ledger.create(url, budget).")
        row = perform(engine, lambda connection: connection.execute(sa.select(_account)).one_or_none())
        if row is None:
            raise StateError("this database holds no ledger: make one with Ledger.create(url, budget).")
        return cls(engine, Budget(epsilon=row.epsilon, delta=row.delta, rho=row.rho))

    @classmethod
    def at(cls, url: str, budget: Budget) -> Ledger:
        """The ledger at `url`, made with this cap if there is none yet. An existing ledger keeps its own cap."""
        engine = connect(url)
        with suppress(StateError):
            return cls.open(engine)
        with suppress(StateError):
            return cls.create(engine, budget)
        return cls.open(engine)  # somebody else made it in the meantime

    def spend(
        self, request: str, event: Event, about: dict[str, Any], draw: Callable[[], bytes], binding: str = ""
    ) -> bytes:
        """Charges the event, then draws, stores and returns the result; the same request returns the same bytes.

        `about` is public and is shown with the charge. `binding` is a digest of what is private about the request (the
        visitor's context, say). Both must be the same when a request is repeated.
        """
        charge = {
            "request": request,
            "kind": type(event).__name__.lower(),
            "parameters": json.dumps(about | asdict(event), sort_keys=True),
            "binding": binding,
            "cost": cost_of(event, self.budget.measure),
        }
        stored = self._charge(charge)
        return stored if stored is not None else self._store(request, draw())

    def stored(self, request: str) -> bytes | None:
        """The result of an earlier request, if there is one. Free."""
        query = sa.select(_charges.c.result).where(_charges.c.request == request)
        result = perform(self._engine, lambda connection: connection.execute(query).scalar())
        return None if result is None else bytes(result)

    def require_room(self, event: Event) -> None:
        """Fails if the event would not fit now. Free, and no promise: somebody else may spend first."""
        spent, cap = self._balance()
        if spent + (cost := cost_of(event, self.budget.measure)) > cap:
            raise BudgetError(_refusal(spent, cost, cap, self.budget))

    def receipt(self, request: str) -> dict[str, Any] | None:
        """What a policy carries to show that it was paid for: the ledger's name, the request, the charge's number."""
        name = sa.select(_account.c.name).scalar_subquery().label("name")
        query = sa.select(name, _charges.c.number).where(_charges.c.request == request)
        row = perform(self._engine, lambda connection: connection.execute(query).one_or_none())
        return None if row is None else {"ledger": row.name, "request": request, "number": int(row.number)}

    @property
    def spent(self) -> float:
        return self._balance()[0] / UNITS

    @property
    def remaining(self) -> float:
        spent, cap = self._balance()
        return (cap - spent) / UNITS

    def charges(self) -> list[Charge]:
        """Every charge ever made, oldest first."""
        query = sa.select(_charges).order_by(_charges.c.number)
        rows = perform(self._engine, lambda connection: connection.execute(query).all())
        return [
            Charge(
                r.number, r.request, r.kind, json.loads(r.parameters), r.cost / UNITS, r.created, r.result is not None
            )
            for r in rows
        ]

    def _balance(self) -> tuple[int, int]:
        query = sa.select(_account.c.spent, _account.c.cap)
        row = perform(self._engine, lambda connection: connection.execute(query).one())
        return int(row.spent), int(row.cap)

    def _charge(self, charge: dict[str, Any]) -> bytes | None:
        """Transaction 1. Returns the stored result of an earlier identical request, or None: go and draw."""
        request, cost = charge["request"], charge["cost"]

        def attempt(connection: sa.Connection) -> bytes | None:
            row = connection.execute(sa.select(_charges).where(_charges.c.request == request)).one_or_none()
            if row is not None:
                if any(getattr(row, key) != value for key, value in charge.items()):
                    raise RequestConflictError(
                        f"request {request!r} was made before with other parameters: choose another request id."
                    )
                return None if row.result is None else bytes(row.result)
            after = _account.c.spent + min(cost, LARGEST)
            paid = connection.execute(sa.update(_account).where(after <= _account.c.cap).values(spent=after))
            if paid.rowcount != 1:
                account = connection.execute(sa.select(_account.c.spent, _account.c.cap)).one()
                raise BudgetError(_refusal(int(account.spent), cost, int(account.cap), self.budget))
            number = sa.select(sa.func.count()).select_from(_charges).scalar_subquery() + 1
            connection.execute(sa.insert(_charges).values(charge | {"number": number, "created": time.time()}))
            return None

        return perform(self._engine, attempt, queue=_account)

    def _store(self, request: str, result: bytes) -> bytes:
        """Transaction 2. First writer wins; everybody returns what is stored."""

        def attempt(connection: sa.Connection) -> bytes:
            mine = (_charges.c.request == request) & _charges.c.result.is_(None)
            connection.execute(sa.update(_charges).where(mine).values(result=result))
            stored = sa.select(_charges.c.result).where(_charges.c.request == request)
            return bytes(connection.execute(stored).scalar_one())

        return perform(self._engine, attempt)

    def __repr__(self) -> str:
        unit = unit_of(self.budget)
        return f"Ledger({self.budget}, spent {unit}={self.spent:.6g}, left {unit}={self.remaining:.6g})"


def unit_of(budget: Budget) -> str:
    """The letter of what a ledger counts."""
    return "epsilon" if budget.pure else "rho"


def _refusal(spent: int, asked: int, cap: int, budget: Budget) -> str:
    unit = unit_of(budget)
    have, want, left = spent / UNITS, min(asked, 10**300) / UNITS, (cap - spent) / UNITS
    return (
        f"the budget ({budget}) does not cover this: spent {unit}={have:.6g}, asked {unit}={want:.6g}, "
        f"left {unit}={left:.6g} of {cap / UNITS:.6g}; a released policy can be reused for free."
    )
