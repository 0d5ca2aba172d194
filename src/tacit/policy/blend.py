"""A policy that is followed for a share of visitors, beside a baseline for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.errors import InputError
from tacit.numerics.engine import Engine
from tacit.play.base import same_actions
from tacit.policy.derived import Derived
from tacit.tables import Columns

if TYPE_CHECKING:
    from tacit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Blend(Derived):
    """Decides as a policy for a `share` of visitors, and as a baseline for the others:
    `policy.blend({"dose": 30}, share=0.5)`.

    A coin is tossed for each decision. What it does is public: `Problem(play=blend)` learns from a
    log that was collected with it, and `probability` says how likely each action was.

    >>> half = policy.blend({"dose": 30}, share=0.5)
    >>> len(half.decide({"age": [30, 60]})["dose"])
    2
    """

    policy: Policy
    baseline: Any
    share: float = 0.5
    schema: ClassVar[str] = "blend-1"
    number: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        number = isinstance(self.share, int | float) and not isinstance(self.share, bool)
        if not number or not 0 <= self.share <= 1:
            raise InputError(
                f"share must be from 0 to 1, got {self.share!r}: with 0.5 the policy decides for "
                "half of all visitors."
            )
        self._set_baseline()

    @property
    def description(self) -> str:
        return f"a policy for {100 * self.share:g} %, otherwise {self.baseline.description}"

    def decide(
        self,
        contexts: Any,
        *,
        rng: Rng | None = None,
        strict: bool = False,
        device: str | Engine | None = None,
    ) -> Any:
        """An action for each context, in the form of the contexts (see `Policy.decide`). The coins
        are those of `rng`, or new ones of the system."""
        self.policy.warn_if_bad(stacklevel=2)
        table, C = self._read(contexts, strict)
        return table.answer(self.problem.actions.decode(self.decide_points(C, rng, device)))

    def decide_points(
        self, C: Floats, rng: Rng | None = None, device: str | Engine | None = None
    ) -> Floats:
        """Actions for contexts, both in unit coordinates."""
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng must be a NumPy random generator, got {type(rng).__name__}: pass "
                "np.random.default_rng(0), and the same one again for the next decisions."
            )
        coins = np.random.default_rng() if rng is None else rng
        learned = coins.random(len(C)) < self.share
        points = np.empty((len(C), self.problem.actions.dimension))
        points[learned] = self.policy.decide_points(C[learned], device)
        points[~learned] = self.baseline_points(C[~learned])
        return points

    def probability(self, actions: Any, contexts: Any) -> Floats:
        """How likely each action is in its context (row by row).

        It is a probability on continuous actions, too, where all others have the density 0: `share`
        for what the policy decides, the rest for what the baseline does, and 1 where both are one.
        """
        W = self.policy.pair_points(actions, contexts)
        at = self.problem.actions.dimension
        return self.probability_points(W[:, :at], W[:, at:])

    def probability_points(self, X: Floats, C: Floats) -> Floats:
        """The same in unit coordinates."""
        learned = same_actions(self.policy.decide_points(C), X)
        usual = same_actions(self.baseline_points(C), X)
        return self.share * learned + (1.0 - self.share) * usual

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.decide(contexts, rng=rng)

    def __repr__(self) -> str:
        return f"Blend({self.policy!r}, {self.baseline.description}, share={self.share:g})"
