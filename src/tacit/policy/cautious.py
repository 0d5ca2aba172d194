"""A policy that deviates from a baseline only where it is sure to be better."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.errors import InputError
from tacit.numerics.engine import Engine
from tacit.policy.comparison import compare_actions
from tacit.policy.derived import Derived
from tacit.policy.health import people
from tacit.tables import Columns

if TYPE_CHECKING:
    from tacit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Cautious(Derived):
    """Does what a baseline does, except where the policy is at least `level` sure that its own
    action is better for this context: `policy.cautious({"dose": 30})`.

    How sure it is follows from the posterior of the difference of the two rewards. What is not
    known of both alike cancels out, so two intervals that overlap may belong to a sure difference.

    >>> careful = policy.cautious({"dose": 30}, level=0.95)
    >>> 0 <= careful.share_changed <= 1
    True
    """

    policy: Policy
    baseline: Any
    level: float = 0.95
    chance: ClassVar[bool] = False
    schema: ClassVar[str] = "cautious-1"
    number: ClassVar[str] = "level"

    def __post_init__(self) -> None:
        number = isinstance(self.level, int | float) and not isinstance(self.level, bool)
        if not number or not 0.5 < self.level < 1:
            raise InputError(
                f"level must be between 0.5 and 1, got {self.level!r}: with 0.95 an action is "
                "changed where that is better with probability 0.95."
            )
        self._set_baseline()

    @property
    def description(self) -> str:
        return f"a cautious policy ({100 * self.level:g} % sure)"

    def decide(
        self, contexts: Any, *, strict: bool = False, device: str | Engine | None = None
    ) -> Any:
        """An action for each context, in the form of the contexts (see `Policy.decide`)."""
        self.policy.warn_if_bad(stacklevel=2)
        table, C = self._read(contexts, strict)
        return table.answer(self.problem.actions.decode(self.decide_points(C, device)))

    def decide_points(self, C: Floats, device: str | Engine | None = None) -> Floats:
        """Actions for contexts, both in unit coordinates."""
        chosen, usual, probability = self._compare(C, device)
        return np.where((probability >= self.level)[:, None], chosen, usual)

    def changed(self, contexts: Any) -> NDArray[np.bool_]:
        """For each context, whether the policy deviates from the baseline."""
        return self.probability_better(contexts) >= self.level

    def probability_better(self, contexts: Any) -> Floats:
        """For each context, the probability that the policy's action is better than the baseline's:
        one half where they are the same."""
        _, C = self._read(contexts, strict=False)
        return self._compare(C)[2]

    @cached_property
    def share_changed(self) -> float:
        """The share of visitors for whom the policy deviates: of people like those in the data, or
        of evenly drawn contexts where nothing is known of them."""
        return float(np.mean(self._compare(people(self.policy))[2] >= self.level))

    def _compare(
        self, C: Floats, device: str | Engine | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """The actions of the policy and of the baseline, and how probably the first are better."""
        chosen = self.policy.decide_points(C, device)
        usual = self.baseline_points(C)
        found = compare_actions(self.policy.posterior, chosen, usual, C)
        return chosen, usual, found.probability_better

    def __call__(self, contexts: Columns, rng: Rng) -> Any:
        return self.decide(contexts)

    def __repr__(self) -> str:
        return f"Cautious({self.policy!r}, {self.baseline.description}, level={self.level:g})"
