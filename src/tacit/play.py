"""Play laws: how the actions of a log were chosen, given the contexts. All of it is public.

A play law is a function `(contexts, rng) -> actions`: `contexts` are columns in the user's units,
with one entry for each round, and the actions come back as a table with one row for each. All of
its randomness comes from `rng`. It must not depend on the rounds of the log: a rule that was
learned from other data is a law if that data is public, or if it was learned privately.

    def rule(contexts, rng):  # higher doses for the heavy, with some noise
        return np.clip(contexts["weight"] / 2 + rng.normal(0, 5, len(contexts["weight"])), 0, 100)

    Problem(actions, contexts, play=rule)
    Problem(actions, contexts, play=EpsilonGreedy(Policy.load("policy/"), 0.1))
    Problem(actions, contexts, play={"A": 0.8, "B": 0.1, "C": 0.1})
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series

from tacit._typing import Floats, Rng
from tacit.contexts import Generator, PublicSample, is_private
from tacit.domains import Domain
from tacit.errors import InputError, StateError
from tacit.spec import Spec
from tacit.spec import load as load_spec
from tacit.tables import Columns

__all__ = [
    "Committee",
    "EpsilonGreedy",
    "Fixed",
    "Play",
    "PlayLaw",
    "Probabilities",
    "Stated",
    "Uniform",
    "as_law",
    "load_law",
]

TRIED = 256  # contexts at which a law that cannot be written down is compared with another
Own = TypeVar("Own", bound="PlayLaw")


class NotWritable(InputError):
    """A law holds something that no file can hold, such as a function."""


@runtime_checkable
class Deciding(Protocol):
    """A policy: it has a decision for every context."""

    def decide(self, contexts: Any) -> Any: ...


class PlayLaw(ABC):
    """How actions are chosen given the contexts: a function `(contexts, rng) -> actions`.

    Laws that draw from all actions must know which there are: a problem sees to it, and elsewhere
    `law.on(actions)` does.
    """

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
        n = _rows(contexts)
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


@dataclass(frozen=True)
class Uniform(PointLaw):
    """Every action is drawn uniformly at random: `Committee([policy, Uniform()])`."""

    @property
    def description(self) -> str:
        return "uniform"

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        return self.actions.sample_points(_rows(contexts), rng)

    def spec(self) -> Spec:
        return {"type": "uniform"}


@dataclass(frozen=True)
class Fixed(PointLaw):
    """Always the same action: `Fixed("A")`, `Fixed({"dose": 50})`."""

    action: Any

    @property
    def description(self) -> str:
        return "always the same action"

    def on(self, actions: Domain) -> Fixed:
        bound = super().on(actions)
        bound._point()
        return bound

    def _point(self) -> Floats:
        action = self.action
        if not isinstance(action, Mapping | list | tuple | np.ndarray):
            action = [action]
        points = self.actions.encode(self.actions.read(action, "the fixed action").columns)
        if len(points) != 1 or not np.isfinite(points).all():
            raise InputError("the fixed action must be one action of the problem, and complete.")
        return points

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        return np.tile(self._point(), (_rows(contexts), 1))

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
        return self._places()[rng.choice(len(p), size=_rows(contexts), p=p / p.sum())]

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
        n = _rows(contexts)
        explore = rng.random(n) < self.epsilon
        points = self.actions.sample_points(n, rng)
        if not explore.all():
            points[~explore] = self.law.points(_some(contexts, ~explore), rng)
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
        n = _rows(contexts)
        member = rng.integers(len(self.laws), size=n)
        points = np.empty((n, self.actions.dimension))
        for i, law in enumerate(self.laws):
            mine = member == i
            if mine.any():
                points[mine] = law.points(_some(contexts, mine), rng)
        return points

    def spec(self) -> Spec:
        return {"type": "committee", "laws": [law.spec() for law in self.laws]}


@dataclass(frozen=True, eq=False)
class Decisions(PlayLaw):
    """The decisions of a policy."""

    policy: Deciding

    @property
    def description(self) -> str:
        return "a policy"

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.policy.decide(contexts)

    def spec(self) -> Spec:
        """A policy is named by the digest of its numbers: two policies are two laws."""
        posterior = getattr(self.policy, "posterior", None)
        digest = hashlib.sha256()
        for name in ("landmarks", "weights"):
            array = getattr(posterior, name, None)
            if not isinstance(array, np.ndarray):
                return super().spec()
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return {"type": "policy", "digest": digest.hexdigest()}


@dataclass(frozen=True, eq=False)
class ContextFree(PlayLaw):
    """Draws of something with `sample(n, rng)`, whatever the contexts."""

    generator: Generator

    @property
    def description(self) -> str:
        return "a law that does not look at contexts"

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.generator.sample(_rows(contexts), rng)


@dataclass(frozen=True, eq=False)
class Sampled(PointLaw):
    """Draws with replacement from a public sample of actions, whatever the contexts."""

    sample: PublicSample

    @property
    def description(self) -> str:
        return "a public sample of actions"

    def on(self, actions: Domain) -> Sampled:
        bound = super().on(actions)
        object.__setattr__(bound, "_pool", self.sample.points(actions))
        return bound

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        pool: Floats = self._pool  # type: ignore[attr-defined]
        return pool[rng.integers(len(pool), size=_rows(contexts))]


@dataclass(frozen=True, eq=False)
class Function(PlayLaw):
    """A function `(contexts, rng) -> actions` of somebody's own."""

    function: Callable[[Columns, Rng], Any]

    @property
    def description(self) -> str:
        name = getattr(self.function, "__name__", "")
        return f"the function {name}" if name.isidentifier() else "a function"

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.function(contexts, rng)


@dataclass(frozen=True)
class Stated(PlayLaw):
    """A law that was not kept, of which only the name is known. Records can be counted with it; a
    design can be neither built nor decoded."""

    name: str
    digest: str

    @property
    def description(self) -> str:
        return self.name

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        raise StateError(
            f"the law of play ({self.name}) is not kept in files: pass the problem with its play."
        )


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


def law_digest(law: PlayLaw, contexts: Domain) -> str:
    """Tells one law from another: by what it says of itself, or by what it plays in some contexts
    with the same coins. Fails if that is not the same each time."""
    if isinstance(law, Stated):
        return law.digest
    try:
        content = json.dumps(law.spec(), sort_keys=True, default=str).encode()
    except NotWritable:
        content = _tried(law, contexts)
        # Otherwise the same fit would be another one, and charged again, each time it is run.
        if content != _tried(law, contexts):
            raise InputError(
                f"the play ({law.description}) chooses other actions with the same contexts and "
                "the same rng: draw all of its randomness from the rng that it is given, as in "
                "rng.random(), and from no other."
            ) from None
    return hashlib.sha256(content).hexdigest()[:16]


def _tried(law: PlayLaw, contexts: Domain) -> bytes:
    """What the law plays in some contexts, with the same coins each time."""
    rng = np.random.default_rng(0)
    columns = contexts.decode(contexts.sample_points(TRIED, rng))
    return np.round(law.points(columns, rng), 6).astype("<f8").tobytes()


def _rows(contexts: Columns) -> int:
    return len(next(iter(contexts.values())))


def _some(contexts: Columns, rows: Any) -> Columns:
    return {name: column[rows] for name, column in contexts.items()}
