"""This project's own learners: releases for all decisions, and one pure decision at a time."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget, integer_weights
from tacit.core.selection import sensitivity
from tacit.design import Design, DesignOptions
from tacit.passes import release_passes, simulate_with
from tacit.policy import Policy
from tacit.single_decision.scoring import score_weights
from tacit.statistic import Statistic
from tacit_lab.arena.learners.menu import UniformPlay, pairs
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.protocol import Setting

NO_PRIVACY = Budget(rho=1e6)  # its noise is a thousandth of one record


class Tacit(UniformPlay):
    """Plays uniformly; each round adds q_s(w) y to one sum of bounded integers; the sum is released
    with Gaussian noise for a part of the budget. For the rest of it the same rounds are looked at
    once more: what they add is how far their rewards are from the first policy. Decisions maximise
    the posterior mean given both releases, for ever.

    Landmarks, tau, clips and the decoder's hyperparameters are Tacit's own defaults. The decoder
    reckons with the expected Gram matrix, not the one that came: without privacy it is close to the
    posterior mean, not equal to it.
    """

    name: ClassVar[str] = "Tacit release"
    source: ClassVar[str] = "this project"
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "uniform-posterior"
    gaussian: ClassVar[bool] = True
    passes: ClassVar[int] = 2

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.design = self.build()

    def build(self) -> Design:
        budget = self.setting.budget if self.setting.private else NO_PRIVACY
        return Design.build(
            self.setting.problem,
            horizon=self.setting.horizon,
            budget=budget,
            rng=self.rng,
            passes=self.passes,
        )

    def collect(self, design: Design) -> Statistic:
        """All rounds so far, as a private sum."""
        statistic = design.statistic()
        statistic.add_points(*self.data)
        return statistic

    @cached_property
    def policy(self) -> Policy:
        """Released after the last round."""
        return release_passes(self.design, self.collect, simulate_with(self.rng))

    def mean(self, points: Floats) -> Floats:
        return self.policy.posterior.mean(points)

    def decide(self, contexts: Floats) -> Floats:
        return self.policy.decide_points(contexts)


class TacitOnce(Tacit):
    """The same with one pass: the whole budget for one release of the sum."""

    name: ClassVar[str] = "Tacit release, one pass"
    passes: ClassVar[int] = 1


class TacitPure(Tacit):
    """Plays uniformly into the same sum; each decision is one draw of permute-and-flip on linear
    scores of the sum that are fixed before the data (`tacit.single_decision.scoring`), in exact
    integers, at the sensitivity of this context's own menu.

    Nothing is released but the action: every context costs epsilon, pure. As in USCA's definition,
    the error rate is that of one decision; a table of decisions would spend epsilon for each row.
    Permute-and-flip is the largest score after exponential noise of scale 2 delta / epsilon (Ding
    et al. 2021), and is drawn so here. Without privacy nothing has to be clipped, tau is the ridge
    of the posterior mean, and the scores are the paper's q(x, c)'b.
    """

    name: ClassVar[str] = "Tacit pure"
    per_decision: ClassVar[bool] = True
    gaussian: ClassVar[bool] = False

    def build(self) -> Design:
        problem = self.setting.problem
        horizon = self.setting.horizon
        if self.setting.private:
            return Design.build(
                problem,
                horizon=horizon,
                budget=Budget(self.setting.epsilon),
                rng=self.rng,
                passes=1,
            )
        ridge = self.noise**2 / PRIOR
        return Design.build(
            problem,
            horizon=horizon,
            budget=NO_PRIVACY,
            rng=self.rng,
            passes=1,
            options=DesignOptions(rank=200, tau=ridge, clip=math.inf, plain=True),
        )

    def mean(self, points: Floats) -> Floats:
        """The scores. PRIVATE: only a draw of `flip` may leave."""
        scale = self.design.clip / self.design.encoding.bound
        return np.asarray(self.weights(points) @ (self._total * scale))

    def weights(self, points: Floats) -> Floats:
        """On the sum; public."""
        if not self.setting.private:
            return self.design.influence(points)
        return np.asarray(score_weights(self.design, self.setting.epsilon)(points))

    def decide(self, contexts: Floats) -> Floats:
        return self.menu[[self._choose(context) for context in contexts]]

    @cached_property
    def _total(self) -> Any:
        """The sum itself, after the last round. PRIVATE."""
        return self.collect(self.design)._sum._value()

    def _choose(self, context: Floats) -> int:
        theta = integer_weights(
            self.weights(pairs(self.menu, context[None, :])), self.design.encoding
        )
        scores = theta @ self._total
        return flip(
            scores, sensitivity(theta, self.design.encoding), self.setting.epsilon, self.rng
        )


def flip(scores: Any, delta: int, epsilon: float, rng: Rng) -> int:
    """Permute-and-flip, from a seeded generator."""
    if math.isinf(epsilon):
        return int(np.argmax(scores))
    return int(np.argmax(scores + rng.exponential(2.0 * delta / epsilon, size=len(scores))))
