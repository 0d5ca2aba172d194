"""GP-ThreDS: the domain shrinks to where the function passes a threshold."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import nystroem
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.menu import QUIET
from tacit_lab.arena.learners.posterior import PRIOR, Posterior
from tacit_lab.arena.protocol import Learner, Setting

AVERAGED = 256  # public contexts over which features are averaged

Region = np.ndarray[tuple[int, ...], np.dtype[np.intp]]  # numbers of actions on the menu


class GPThreDS(Learner):
    """In epochs, keeps the regions of the menu whose best action may earn more than a threshold.
    A region is tested by playing its action with the highest upper bound until its best lower bound
    passes the threshold, its best upper bound falls below it, or sqrt(T) rounds were spent on it;
    unless it fell below, its halves are tested next, down to one halving per dimension of actions.
    The next epoch starts with what is left, and with the threshold in the middle between the best
    lower and the best upper bound.

    It has no contexts, and no way of ruling out regions context by context is known here that would
    still be its search. So it is restricted: it learns f(x) = E_c f(x, c), with features averaged
    over public contexts and what contexts do counted as noise, and decides for the same action
    whoever comes. It belongs beside `best-fixed`.

    The paper's abstract and the opening of its introduction were read, its algorithm was not:
    tests, halving and the threshold follow what is known of it. Departures, known or likely:
    regions are halves of the menu at the median of their widest coordinate, not cubes of a grid; a
    walk down the tree that never goes back up, where the paper's random walk does (a region that
    passed by mistake has no half that passes); the threshold from the bounds, not by halving an
    interval; 2 standard deviations; one posterior of all rounds.
    """

    name: ClassVar[str] = "GP-ThreDS"
    source: ClassVar[str] = (
        "Salgia, Vakili, Zhao 2021, A Domain-Shrinking based Bayesian Optimization Algorithm with "
        "Order-Optimal Regret Performance"
    )
    protects: ClassVar[str] = "nothing (one action for all contexts)"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        contexts = setting.problem.draw_contexts(AVERAGED, rng)
        Phi = nystroem(setting.problem, rng).on_menu(setting.menu, contexts)
        self.Phi = Phi.reshape(AVERAGED, len(setting.menu), -1).mean(axis=0)
        others = PRIOR * float(np.mean(1.0 - np.sum(self.Phi**2, axis=1)))
        noise = math.sqrt(max(setting.noise, QUIET) ** 2 + max(others, 0.0))
        self.posterior = Posterior(self.Phi.shape[1], noise)
        self.most = math.ceil(math.sqrt(setting.horizon))  # rounds of one test
        self.regions: list[Region] = [np.arange(len(setting.menu))]
        self.begin()

    def begin(self) -> None:
        """An epoch: every region is to be tested against a new threshold."""
        low, high = self.bounds(np.concatenate(self.regions))
        self.threshold = (low.max() + high.max()) / 2.0
        self.waiting = [(region, 0) for region in self.regions]
        self.regions = []
        self.spent = 0

    def bounds(self, region: Region) -> tuple[Floats, Floats]:
        mean = self.posterior.mean(self.Phi[region])
        width = WIDTH * self.posterior.std(self.Phi[region])
        return mean - width, mean + width

    def ask(self, context: Floats) -> Floats:
        region = self.waiting[-1][0]
        return self.setting.menu[region[np.argmax(self.bounds(region)[1])]]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        item = int(np.argmin(np.sum((self.setting.menu - action) ** 2, axis=1)))
        self.posterior.add(self.Phi[item], float(np.clip(reward, -1.0, 1.0)))
        self.spent += 1
        while self.decided():
            self.advance()

    def decided(self) -> bool:
        """Whether the test of the current region is over."""
        low, high = self.bounds(self.waiting[-1][0])
        passed = low.max() > self.threshold or self.spent >= self.most
        return bool(passed or high.max() < self.threshold)

    def advance(self) -> None:
        """To the halves of a region, to the next region, or to the next epoch."""
        region, depth = self.waiting.pop()
        self.spent = 0
        if self.bounds(region)[1].max() >= self.threshold:
            if len(region) > 1 and depth < self.setting.problem.actions.dimension:
                self.waiting += [(half, depth + 1) for half in halves(self.setting.menu, region)]
            else:
                self.regions.append(region)
        if not self.waiting:
            self.regions = self.regions or [np.arange(len(self.setting.menu))]
            self.begin()

    def decide(self, contexts: Floats) -> Floats:
        best = int(np.argmax(self.posterior.mean(self.Phi)))
        return np.repeat(self.setting.menu[[best]], len(contexts), axis=0)


def halves(menu: Floats, region: Region) -> list[Region]:
    """The region, cut at the median of its widest coordinate."""
    points = menu[region]
    widest = int(np.argmax(np.ptp(points, axis=0)))
    order = region[np.argsort(points[:, widest], kind="stable")]
    return [order[: len(order) // 2], order[len(order) // 2 :]]
