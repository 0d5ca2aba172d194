"""Bayesian optimisation whose last word is private."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.mechanisms import gumbel


class BOFinal(GPUCB):
    """GP-UCB as ever; each decision is one draw with probability proportional to

        exp(epsilon mean / (2 delta_q)).

    delta_q = 2 sqrt(v beta), beta = 2 log(|menu| T^2 pi^2 / (3 delta)): with the data of a
    neighbour the posterior mean is still within sqrt(v beta) of the same f. The paper has a further
    term for neighbours with another f; here f is a fact, so it is 0. Prior variance v = 0.1 stands
    for the paper's 1. The actions of the rounds are not protected, and the bound itself holds with
    probability 1 - delta over f from the prior, not for every data set. It does not shrink with T,
    so that at epsilon = 1 the draw is close to uniform; this is the mechanism as published.
    """

    name: ClassVar[str] = "BO, private final point"
    source: ClassVar[str] = (
        "Kusner, Gardner, Garnett, Weinberger 2015, Differentially Private Bayesian Optimization"
    )
    protects: ClassVar[str] = "final output only"
    per_decision: ClassVar[bool] = True
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "gpucb"

    @property
    def sensitivity(self) -> float:
        """How far a neighbour's data can move the posterior mean, with probability 1 - delta over
        f."""
        t = self.setting.horizon + 1
        delta = self.setting.delta
        beta = 2.0 * math.log(len(self.menu) * t**2 * math.pi**2 / (3.0 * delta))
        return 2.0 * math.sqrt(PRIOR * beta)

    def choose(self, scores: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """The exponential mechanism, as the largest score after Gumbel noise."""
        noise = gumbel(scores.shape, self.setting.epsilon, self.sensitivity, self.rng)
        return super().choose(scores + noise)
