"""Personalised pricing: a shopper sees one price and buys or does not.

    P(buy | price, c) = 1 / (1 + exp((price - worth(c)) / spread))
    revenue = price if bought, else 0

`worth` is a smooth function of three facts about the shopper, drawn anew for each seed between 2
and 9; prices are in [0, 10]. Revenue is scaled from [0, 10] to [-1, 1], so an error times 5 is in
money. Shoppers come from Beta laws.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from tacit._typing import Floats, Rng
from tacit.domains import Box
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling
from tacit_lab.arena.protocol import Environment

PRICE = 10.0
WORTH = (2.0, 9.0)
SPREAD = 0.6
SHAPES = ((2.0, 2.0), (1.0, 3.0), (2.0, 1.0))  # of the Beta laws of loyalty, days away, basket
NOISE = 0.3  # about how far a reward is from its mean


def pricing(rng: Rng) -> Environment:
    slope = rng.normal(size=3)
    bend = rng.normal(size=3)
    phase = rng.uniform(0.0, 2.0 * np.pi, size=3)
    # the taste of a shopper in the middle of all three facts
    middle = 0.5 * slope.sum() + 0.5 * np.sin(np.pi / 2.0 + phase) @ bend

    def bought(actions: Floats, contexts: Floats) -> Floats:
        """The probability of it."""
        taste = contexts @ slope + 0.5 * np.sin(np.pi * contexts + phase) @ bend
        worth = WORTH[0] + (WORTH[1] - WORTH[0]) * expit(2.0 * (taste - middle))
        return np.asarray(expit((worth - PRICE * actions[:, 0]) / SPREAD))

    def mean(actions: Floats, contexts: Floats) -> Floats:
        return 2.0 * actions[:, 0] * bought(actions, contexts) - 1.0

    def sample(actions: Floats, contexts: Floats, rng: Rng) -> Floats:
        buys = rng.random(len(actions)) < bought(actions, contexts)
        return 2.0 * actions[:, 0] * buys - 1.0

    def draw(n: int, rng: Rng) -> Floats:
        return np.column_stack([rng.beta(*shape, size=n) for shape in SHAPES])

    problem = Problem(
        Box([0.0], [PRICE], ["price"]),
        Box([0.0] * 3, [1.0] * 3, ["loyalty", "days_away", "basket"]),
        Separable(Matern(2.5, 0.3), Matern(2.5, 0.8)),
        (-1.0, 1.0),
    )
    return Environment(
        "pricing",
        telling(problem, draw),
        mean,
        draw,
        noise=NOISE,
        sample=sample,
        scale=PRICE / 2.0,
        unit="money",
    )
