"""A desk at which many callers ask and tell at once: what they bring is one durable transaction.

A call that is repeated with the same event id gets the same answer, whoever repeats it, and one
that brings something else under that id is an error. Errors are of single calls: the others of the
group are served.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from sqlalchemy import Connection

from tacit._typing import Floats
from tacit.core.database import perform_in_turn
from tacit.core.users import user_key
from tacit.domains import record_points
from tacit.errors import InputError, StateError
from tacit.quiet import quiet
from tacit.study.calls import Activate, Answer, Ask, Call, Result, Tell
from tacit.study.epoch_study import EpochStudy
from tacit.study.group import Group
from tacit.study.store import Asked, Round, study_table
from tacit.study.study import Study, item
from tacit.tables import number

__all__ = ["Activate", "Answer", "Ask", "Call", "Desk", "Result", "Tell"]


class Desk:
    """Serves calls to one study. A process has one, for one thread."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.law = 1  # the epoch that is played, as far as is known here
        self.refresh()

    def refresh(self) -> None:
        """Looks up which epoch is played."""
        if isinstance(self.study, EpochStudy):
            self.law = self.study.present_epoch

    def require(self, ask: Ask) -> None:
        """Fails if a call cannot be served, whatever the others are."""
        names = self.study.problem.contexts.names
        missing = [name for name in names if name not in ask.context]
        if missing:
            raise InputError(
                f"the context lacks {', '.join(map(repr, missing))}: it needs "
                f"{', '.join(map(repr, names))}."
            )
        if ask.user is None and self.by_user:
            raise InputError("this study protects users: say whose round it is with user.")
        if ask.user is not None and not self.by_user:
            raise InputError(
                "this study protects single rounds, which have no users: leave user out."
            )

    def serve(self, calls: Sequence[Call]) -> list[Result]:
        """What became of each call, in order. All that succeeded is on disk when it returns."""
        group = Group(self, calls)
        while True:
            rounds = self._drawn(group)
            work = partial(group.attempt, rounds, self.law)
            done = perform_in_turn(self._engine, work, study_table)
            if done is not None:
                return done
            self.refresh()

    def _drawn(self, group: Group) -> dict[int, Round]:
        """A round for each call that asks, by its place in the group."""
        places = list(group.asks)
        if not places:
            return {}
        asks = [group.asks[i] for i in places]
        keys = [None if ask.user is None else user_key(ask.user) for ask in asks]
        rounds = self.study._draw(self.law, group.points, keys)
        now = self.store.clock()
        return {
            i: each._replace(id=group.ids[i], body=group.bodies[i], asked=now)
            for i, each in zip(places, rounds, strict=True)
        }

    def points(self, asks: Sequence[Ask]) -> Floats:
        """Contexts in unit coordinates, each read by itself."""
        contexts = self.study.problem.contexts
        return record_points(contexts, [ask.context for ask in asks], "the context")

    @quiet()
    def scaled(self, rewards: Sequence[Any]) -> list[float | None]:
        """Rewards as they are kept; None for what is no number."""
        values = np.array([number(reward) for reward in rewards], dtype=np.float64)
        found = self.study.problem.scale_reward(values)
        return [None if np.isnan(y) else float(y) for y in found]

    def digest(self, ask: Ask) -> str:
        """What two requests share if they are the same."""
        said = [ask.context, ask.user, ask.defer, ask.caller]
        body = json.dumps(said, sort_keys=True, default=repr)
        return hashlib.blake2b(body.encode(), key=self._key, digest_size=16).hexdigest()

    def place(
        self, connection: Connection, law: int, rounds: Sequence[Round]
    ) -> list[Asked | StateError] | None:
        """Writes rounds down; None if they were drawn by a law that is not played any more."""
        if isinstance(self.study, EpochStudy):
            return self.study._epochs.place(connection, law, rounds)
        return self.study._store.place(connection, law, rounds, self.study.horizon)

    def actions(self, rounds: Sequence[Any]) -> list[dict[str, Any]]:
        """The actions of rounds, of which there is one at least, in the user's units."""
        points = np.stack([np.asarray(each, dtype=np.float64) for each in rounds])
        columns = self.study.problem.actions.decode(points)
        return [
            {name: item(column[i]) for name, column in columns.items()} for i in range(len(points))
        ]

    @property
    def store(self) -> Any:
        return self.study._epochs if isinstance(self.study, EpochStudy) else self.study._store

    @property
    def _engine(self) -> Any:
        return self.store.engine

    @cached_property
    def by_user(self) -> bool:
        """Whether the study protects users, so that every call says whose it is."""
        unit = self.study.unit if isinstance(self.study, EpochStudy) else self.study.design.unit
        return unit == "user"

    @cached_property
    def _key(self) -> bytes:
        return self.study.ledger.name.encode()
