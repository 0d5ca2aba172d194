"""A study in epochs without a database: simulated releases, for plans and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.design import Design, DesignOptions
from tacit.epochs.design import cohort_of, first_epoch, next_epoch
from tacit.epochs.play import EpochPlay, Shares
from tacit.epochs.spread import learn_from, rounds_later
from tacit.passes import release_passes, simulate_with
from tacit.play import PlayLaw
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.statistic import Statistic


class Course:
    """One epoch after the other: `play` its rounds, then `learn` from them. NOT private: releases
    come from a seeded generator."""

    def __init__(
        self,
        problem: Problem,
        sizes: Sequence[int],
        budget: Budget,
        rng: Rng,
        *,
        shares: Shares | None = None,
        baseline: PlayLaw | None = None,
        options: DesignOptions | None = None,
    ) -> None:
        self.problem = replace(problem, play=None)
        self.sizes = list(sizes)
        self.budget = budget
        self.rng = rng
        self.shares = shares or Shares()
        self.baseline = baseline
        self.epoch = 1
        self.policies: list[Policy] = []
        self.law = EpochPlay(self.problem, self.shares, None, baseline, private=False)
        self.design = first_epoch(
            self.problem,
            self.law,
            cohort_of(1, 0, self.sizes[0]),
            horizon=sum(self.sizes),
            budget=budget,
            rng=rng,
            options=options,
        )

    @property
    def finished(self) -> bool:
        return self.epoch > len(self.sizes)

    @property
    def policy(self) -> Policy:
        """The last one."""
        return self.policies[-1]

    def play(self, contexts: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Actions for contexts of the present epoch, in unit coordinates, and their modes."""
        return self.law.draw_modes(contexts, self.rng)

    def learn(self, points: Floats, rewards: Floats) -> Policy:
        """Releases the rounds of the present epoch, as joint points and rewards in [-1, 1], and
        begins the next one."""
        cohort = self.design.cohort
        assert cohort is not None

        def collect(design: Design) -> Statistic:
            statistic = design.statistic(cohort=cohort)
            statistic.add_points(points, rewards, first=cohort.first)
            return statistic

        policy = release_passes(self.design, collect, simulate_with(self.rng))
        self.policies.append(policy)
        self.epoch += 1
        if not self.finished:
            learned, shares = learn_from(
                policy, self.shares, self.rng, rounds_later(self.sizes, self.epoch)
            )
            self.law = EpochPlay(self.problem, shares, learned, self.baseline, private=False)
            following = cohort_of(self.epoch, cohort.last, self.sizes[self.epoch - 1])
            self.design = next_epoch(policy, self.law, following, budget=self.budget, rng=self.rng)
        return policy
