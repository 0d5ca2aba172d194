"""What a law of play is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.domains import Domain
from tacit.errors import InputError, StateError
from tacit.spec import Spec
from tacit.tables import Columns

Own = TypeVar("Own", bound="PlayLaw")

# How far two actions may be apart, in unit coordinates, that are one and the same: decisions for
# many contexts at once are rounded otherwise than for one.
SAME = 1e-6


class NotWritable(InputError):
    """A law holds something that no file can hold, such as a function."""


class PlayLaw(ABC):
    """How actions are chosen given the contexts: a function `(contexts, rng) -> actions`.

    Laws that draw from all actions must know which there are: a problem sees to it, and elsewhere
    `law.on(actions)` does.
    """

    # Whether it may play several actions in one context; a law without chance is a rule.
    chance: ClassVar[bool] = True
    _actions: Domain | None = None

    @property
    @abstractmethod
    def description(self) -> str:
        """What it is, in a few public words."""

    @abstractmethod
    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        """One action for each row of the contexts."""

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        """The same in unit coordinates. Fails unless there is a complete action for each row."""
        n = rows(contexts)
        table = self.actions.read(self(contexts, rng), "the table of play")
        if table.rows != n:
            raise InputError(
                f"play was asked for the actions of {n} contexts and returned {table.rows}: return "
                "one for each row."
            )
        points = self.actions.encode(table.columns)
        if not np.isfinite(points).all():
            raise InputError(
                "play returned missing or unknown actions: every row must be a complete action."
            )
        return points

    def draw(self, contexts: Floats, domain: Domain, rng: Rng) -> Floats:
        """The same for contexts of a domain in unit coordinates."""
        return self.points(domain.decode(contexts), rng)

    def spec(self) -> Spec:
        """The law as plain data, for TOML and JSON (see `load_law`)."""
        raise NotWritable(f"{self.description} cannot be written to a file as a law of play.")

    def on(self: Own, actions: Domain) -> Own:
        """The same law, which draws from these actions. Fails if it is none on them."""
        bound = copy(self)
        object.__setattr__(bound, "_actions", actions)
        return bound

    @property
    def actions(self) -> Domain:
        if self._actions is None:
            raise StateError(
                "this law of play does not know which actions there are: give it to a problem, or "
                "call law.on(actions) first."
            )
        return self._actions


class PointLaw(PlayLaw):
    """A law that draws in unit coordinates."""

    @abstractmethod
    def points(self, contexts: Columns, rng: Rng) -> Floats: ...

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.actions.decode(self.points(contexts, rng))


def rows(contexts: Columns) -> int:
    """How many contexts there are."""
    return len(next(iter(contexts.values())))


def some(contexts: Columns, which: Any) -> Columns:
    """Those contexts that a mask, or a list of row numbers, chooses."""
    return {name: column[which] for name, column in contexts.items()}


def same_actions(first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Whether actions in unit coordinates are one and the same, row by row."""
    return np.asarray(np.max(np.abs(first - second), axis=1, initial=0.0) < SAME)
