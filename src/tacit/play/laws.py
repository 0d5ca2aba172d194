"""Laws of play that can be written down, and what is read as a law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series

from tacit._typing import Floats, Rng
from tacit.contexts import Generator, PublicSample, is_private
from tacit.domains import Domain
from tacit.errors import InputError
from tacit.play.base import PlayLaw, PointLaw, rows, some
from tacit.play.wrapped import ContextFree, Deciding, Decisions, Function, Sampled
from tacit.spec import Spec
from tacit.spec import load as load_spec
from tacit.tables import Columns


@dataclass(frozen=True)
class Uniform(PointLaw):
    """Every action is drawn uniformly at random: `Committee([policy, Uniform()])`."""

    @property
    def description(self) -> str:
        return "uniform"

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        return self.actions.sample_points(rows(contexts), rng)

    def spec(self) -> Spec:
        return {"type": "uniform"}


@dataclass(frozen=True)
class Fixed(PointLaw):
    """Always the same action: `Fixed("A")`, `Fixed({"dose": 50})`."""

    action: Any
    chance: ClassVar[bool] = False

    @property
    def description(self) -> str:
        return "always the same action"

    def on(self, actions: Domain) -> Fixed:
        bound = super().on(actions)
        bound.point()
        return bound

    def point(self) -> Floats:
        """The action as a row in unit coordinates."""
        action = self.action
        if not isinstance(action, Mapping | list | tuple | np.ndarray):
            action = [action]
        points = self.actions.encode(self.actions.read(action, "the fixed action").columns)
        if len(points) != 1 or not np.isfinite(points).all():
            raise InputError("the fixed action must be one action of the problem, and complete.")
        return points

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        return np.tile(self.point(), (rows(contexts), 1))

    def spec(self) -> Spec:
        return {"type": "fixed", "action": self.action}


@dataclass(frozen=True)
class Probabilities(PointLaw):
    """Labels with fixed probabilities, whatever the context: `Probabilities({"A": 0.8, "B": 0.1,
    "C": 0.1})`. Labels that are left out are never played."""

    probabilities: Mapping[Any, float]

    def __post_init__(self) -> None:
        if not isinstance(self.probabilities, Mapping) or not self.probabilities:
            kind = type(self.probabilities).__name__
            raise InputError(f"probabilities must be a mapping of labels to numbers, got {kind}.")
        values = self.probabilities.values()
        plain = all(isinstance(value, int | float | np.number) for value in values)
        if not plain or not all(0 <= value <= 1 for value in values):
            raise InputError(
                'probabilities must be numbers from 0 to 1, one for each label: {"A": 0.8, ...}.'
            )
        total = float(sum(values))
        if abs(total - 1.0) > 1e-6:
            raise InputError(f"probabilities must add up to 1, got {total:.6g}.")

    @property
    def description(self) -> str:
        shown = [f"{label} {float(p):g}" for label, p in self.probabilities.items()]
        if len(shown) > 5:
            shown = [*shown[:5], "..."]
        return f"fixed probabilities ({', '.join(shown)})"

    def on(self, actions: Domain) -> Probabilities:
        if len(actions.names) != 1 or actions.continuous:
            raise InputError(
                "probabilities of labels are a law of play on finite actions of one column: pass a "
                "function (contexts, rng) -> actions for others."
            )
        bound = super().on(actions)
        for label, point in zip(self.probabilities, bound._places(), strict=True):
            if not np.isfinite(point).all():
                raise InputError(
                    f"the play has a probability for {label!r}, which is none of the actions."
                )
        return bound

    def _places(self) -> Floats:
        """Of the labels, in unit coordinates."""
        labels = np.empty(len(self.probabilities), dtype=object)
        labels[:] = list(self.probabilities)
        return self.actions.encode({self.actions.names[0]: labels})

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        p = np.array([float(value) for value in self.probabilities.values()])
        return self._places()[rng.choice(len(p), size=rows(contexts), p=p / p.sum())]

    def spec(self) -> Spec:
        table = {str(label): float(p) for label, p in self.probabilities.items()}
        return {"type": "probabilities", "probabilities": table}


@dataclass(frozen=True)
class EpsilonGreedy(PointLaw):
    """Plays `law`, or a uniformly random action with probability `epsilon`. Such an action may
    happen to be that of the law."""

    law: Any
    epsilon: float

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, int | float) or not 0 <= self.epsilon <= 1:
            raise InputError(f"epsilon of play must be from 0 to 1, got {self.epsilon!r}.")
        object.__setattr__(self, "law", as_law(self.law))

    @property
    def description(self) -> str:
        return f"epsilon-greedy ({self.epsilon:g}) around {self.law.description}"

    def on(self, actions: Domain) -> EpsilonGreedy:
        bound = super().on(actions)
        object.__setattr__(bound, "law", self.law.on(actions))
        return bound

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        n = rows(contexts)
        explore = rng.random(n) < self.epsilon
        points = self.actions.sample_points(n, rng)
        if not explore.all():
            points[~explore] = self.law.points(some(contexts, ~explore), rng)
        return points

    def spec(self) -> Spec:
        return {"type": "epsilongreedy", "law": self.law.spec(), "epsilon": float(self.epsilon)}


@dataclass(frozen=True)
class Committee(PointLaw):
    """Each round is played by one of several laws, drawn uniformly at random. A committee of
    posterior draws (`policy.sample(rng)`) is Thompson sampling."""

    laws: Sequence[Any]

    def __post_init__(self) -> None:
        if isinstance(self.laws, str | Mapping) or not isinstance(self.laws, Sequence):
            kind = type(self.laws).__name__
            raise InputError(f"a committee must be a list of laws of play, got {kind}.")
        if not self.laws:
            raise InputError("a committee needs at least one law of play.")
        object.__setattr__(self, "laws", tuple(as_law(law) for law in self.laws))

    @property
    def description(self) -> str:
        return f"a committee of {len(self.laws)} laws"

    @property
    def private(self) -> bool:
        """Asked of every member: `is_private` looks at the first of a long list only."""
        return all(is_private(law) for law in self.laws)

    def on(self, actions: Domain) -> Committee:
        bound = super().on(actions)
        object.__setattr__(bound, "laws", tuple(law.on(actions) for law in self.laws))
        return bound

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        n = rows(contexts)
        member = rng.integers(len(self.laws), size=n)
        points = np.empty((n, self.actions.dimension))
        for i, law in enumerate(self.laws):
            mine = member == i
            if mine.any():
                points[mine] = law.points(some(contexts, mine), rng)
        return points

    def spec(self) -> Spec:
        return {"type": "committee", "laws": [law.spec() for law in self.laws]}


Play = (
    PlayLaw
    | Deciding
    | Generator
    | PublicSample
    | Mapping[Any, float]
    | Sequence[Any]
    | Callable[[Columns, Rng], Any]
)

REGISTRY: dict[str, type] = {
    law.__name__.lower(): law for law in (Uniform, Fixed, Probabilities, EpsilonGreedy, Committee)
}


def load_law(spec: Any) -> PlayLaw:
    """The inverse of `PlayLaw.spec`, for laws without functions and policies in them."""
    law: PlayLaw = load_spec(spec, REGISTRY, "law of play")
    return law


def as_law(play: Any) -> PlayLaw:
    """What a problem takes as its play, as a law."""
    if isinstance(play, PlayLaw):
        return play
    if isinstance(play, PublicSample):
        return Sampled(play)
    # pandas and polars have a sample() too, of another kind.
    if not (is_into_dataframe(play) or is_into_series(play) or isinstance(play, type | str)):
        if isinstance(play, Deciding):
            return Decisions(play)
        if isinstance(play, Mapping):
            return Probabilities(play)
        if isinstance(play, list | tuple):
            return Committee(play)
        if isinstance(play, Generator):
            return ContextFree(play)
        if callable(play):
            return Function(play)
    raise InputError(
        "play must be a function (contexts, rng) -> actions, a policy, a list of these, "
        f"probabilities of labels, or have sample(n, rng), got {type(play).__name__}: leave it out "
        "if actions were drawn uniformly, and wrap a table that is already public in "
        "tacit.contexts.PublicSample."
    )
