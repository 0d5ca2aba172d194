"""Laws of play made from what people have: policies, samples and functions of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from tacit._typing import Floats, Rng
from tacit.contexts import Generator, PublicSample
from tacit.domains import Domain
from tacit.errors import StateError
from tacit.play.base import PlayLaw, PointLaw, rows
from tacit.spec import Spec
from tacit.tables import Columns


@runtime_checkable
class Deciding(Protocol):
    """A policy: it has a decision for every context."""

    def decide(self, contexts: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Decisions(PlayLaw):
    """The decisions of a policy."""

    policy: Deciding
    chance: ClassVar[bool] = False

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
        return "a law that does not depend on contexts"

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.generator.sample(rows(contexts), rng)


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
        return pool[rng.integers(len(pool), size=rows(contexts))]


@dataclass(frozen=True, eq=False)
class Function(PlayLaw):
    """A function `(contexts, rng) -> actions` of somebody's own, or `contexts -> actions`. Whether
    it uses its `rng` is not known: as a baseline it is taken for a rule."""

    function: Callable[..., Any]
    chance: ClassVar[bool] = False

    @property
    def description(self) -> str:
        name = getattr(self.function, "__name__", "")
        return f"the function {name}" if name.isidentifier() else "a function"

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        if _takes_rng(self.function):
            return self.function(contexts, rng)
        return self.function(contexts)


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


def _takes_rng(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with contexts and an rng; most builtins do not tell."""
    try:
        signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
