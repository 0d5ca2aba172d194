"""One action that matters in much the same way for everybody, beside many columns of which few
matter, and little.

    f(x, c) = height (bump(x - best(c)) - 1/2) + LEVEL effect(c),   best(c) = peak + s shift(c)

The bump is one and smooth, with a width of its own on either side. `shift` and `effect` are sums of
what two or three columns each add, in [-1, 1]; the other columns are irrelevant. The peak, the
widths, the columns and what they add are drawn anew for each seed, and so is who comes. Then
`height` and `s` are solved for, such that the best fixed action earns 0.15 to 0.25 of the reward
range more than random play, and the best action for each visitor 0.02 to 0.05 more than that. So a
learner that knows nobody but finds the common peak has most of what there is to gain.

Rewards follow a Beta law with this mean, with a standard deviation of 0.3 in the middle of [-1, 1];
or they are -1 or 1 (`-binary`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv

from tacit._typing import Floats, Rng
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling, unit_box
from tacit_lab.arena.environments.visitors import Effect, Visitors
from tacit_lab.arena.protocol import Environment

# Context columns -> the number of labels of each, 0 for a number.
COLUMNS: dict[int, Sequence[int]] = {
    7: (0, 0, 2, 0, 3, 0, 4),
    15: (0, 0, 2, 0, 3, 0, 4, 0, 0, 2, 0, 3, 0, 5, 0),
}
FIXED_GAIN = (0.15, 0.25)  # of the best fixed action over random play, in reward ranges
OWN_GAIN = (0.02, 0.05)  # of each visitor's best action over the best fixed one, in the same
PEAK = (0.2, 0.8)
WIDTH = (0.15, 0.25)
LEVEL = 0.15  # what contexts add to the reward of every action, at most
FEW = (2, 3)  # columns that matter, for the best action and for the level
NOISE = 0.3
CONCENTRATION = 1.0 / NOISE**2 - 1.0  # of the Beta law with that standard deviation around 0
SAMPLED = 1000  # contexts, and
GRID = np.linspace(0.0, 1.0, 129)  # actions, on which the gains are computed


class Peak:
    """The bump, and where it is: at each visitor's best action."""

    def __init__(self, shift: Effect, rng: Rng) -> None:
        self.shift = shift
        self.peak = rng.uniform(*PEAK)
        self.below, self.above = rng.uniform(*WIDTH, size=2)

    def best(self, contexts: Floats, s: float) -> Floats:
        return np.clip(self.peak + s * self.shift(contexts), 0.0, 1.0)

    def bump(self, away: Floats) -> Floats:
        """1 at the best action, 0 far away from it."""
        width = np.where(away < 0.0, self.below, self.above)
        return np.asarray(np.exp(-0.5 * (away / width) ** 2))

    def gains(self, contexts: Floats, s: float) -> tuple[float, float]:
        """Of the best fixed action over random play, and of each best action over that."""
        value = self.bump(GRID - self.best(contexts, s)[:, None]).mean(axis=0)
        fixed = value.max()
        return float(fixed - value.mean()), float(1.0 - fixed)

    def solve(self, contexts: Floats, ratio: float) -> float:
        """The `s` with which the second gain is `ratio` times the first."""

        def excess(s: float) -> float:
            fixed, own = self.gains(contexts, s)
            return own - ratio * fixed

        return float(brentq(excess, 0.0, 1.0, xtol=1e-4))


def pooled(columns: int, binary: bool, rng: Rng) -> Environment:
    visitors = Visitors(COLUMNS[columns], rng)
    peak = Peak(visitors.effect(int(rng.choice(FEW)), rng), rng)
    effect = visitors.effect(int(rng.choice(FEW)), rng)
    fixed_gain = 2.0 * rng.uniform(*FIXED_GAIN)
    own_gain = 2.0 * rng.uniform(*OWN_GAIN)
    contexts = visitors.draw(SAMPLED, rng)
    s = peak.solve(contexts, own_gain / fixed_gain)
    height = fixed_gain / peak.gains(contexts, s)[0]

    def mean(actions: Floats, contexts: Floats) -> Floats:
        bump = peak.bump(actions[:, 0] - peak.best(contexts, s))
        return height * (bump - 0.5) + LEVEL * effect(contexts)

    def surface(actions: Floats, contexts: Floats) -> Floats:
        bump = peak.bump(actions[:, 0] - peak.best(contexts, s)[:, None])
        return np.asarray(height * (bump - 0.5) + LEVEL * effect(contexts)[:, None])

    def sample(actions: Floats, contexts: Floats, rng: Rng) -> Floats:
        share = (1.0 + mean(actions, contexts)) / 2.0
        a = CONCENTRATION * share
        b = CONCENTRATION * (1.0 - share)
        return np.asarray(2.0 * betaincinv(a, b, rng.random(len(share))) - 1.0)

    problem = Problem(
        unit_box(1, "x"),
        visitors.domain,
        Separable(Matern(2.5, 0.3), visitors.kernel()),
        (-1.0, 1.0),
    )
    return Environment(
        f"pooled-1+{columns}" + "-binary" * binary,
        telling(problem, visitors.draw),
        mean,
        visitors.draw,
        noise=1.0 if binary else NOISE,
        binary=binary,
        sample=None if binary else sample,
        surface=surface,
    )
