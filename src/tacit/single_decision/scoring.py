"""What the scores of one decision are made of: weights on the private sum, fixed before any data.

    u(x) = phi(x, c)' H b,   E[b] = G theta,   f = phi' theta

The paper's own scores are H = A'. Clipping makes them favour points of small influence, however
many rounds there are. The posterior mean H = v G'(v G G' + N)^-1 does not, and how smooth it should
be can be tried out on functions of the prior: the noise of the draw grows with the diameter of the
weights. Any H is private, the core sees to that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit._typing import Floats
from tacit.design import Design
from tacit.design.features import KernelMap
from tacit.design.options import NOISE, SIGNAL
from tacit.numerics import linalg

SMOOTHING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
FUNCTIONS = 64
CONTEXTS = 32
MENU = 64


@lru_cache(maxsize=8)
def score_weights(design: Design, epsilon: float) -> KernelMap:
    """Maps joint points to their weights on the sum: those that lose least on functions of the
    prior, or the paper's.

    Without a generator nobody knows who comes: the paper's scores then keep their order better (see
    docs/decoding.md).
    """
    H = design.whitening
    if design.problem.generator is not None:
        trial = _trial(design, epsilon)
        H = min(trial.candidates(H), key=lambda H: float(trial.errors(H).mean()))
    return KernelMap(design.problem.k, design.features.U, linalg.solve_upper(design.features.L, H))


@dataclass(frozen=True, eq=False)
class Trial:
    """Studies drawn from their law, each with one decision in every context."""

    Phi: Floats  # (contexts, actions, rank)
    G: Floats
    N: Floats  # without the noise of the draw
    b: Floats  # (rank, functions)
    f: Floats  # (contexts, actions, functions)
    noise: Floats  # exponential, of the shape of f: permute-and-flip is the largest score after it
    scale: float  # what one record can move b by, over epsilon

    def candidates(self, paper: Floats) -> Iterator[Floats]:
        """Maps to choose from: the paper's, and E[theta | b] = H b for several times the scale as
        noise on b."""
        yield paper
        for level in SMOOTHING:
            S = (
                SIGNAL**2 * self.G @ self.G.T
                + self.N
                + (level * self.scale) ** 2 * np.eye(len(self.G))
            )
            yield np.asarray(SIGNAL**2 * np.linalg.solve(S, self.G).T)

    def errors(self, H: Floats) -> Floats:
        """What a decision by the scores phi' H b loses on average, for each function."""
        W = self.Phi @ H
        W -= W.mean(axis=1, keepdims=True)
        square = np.sum(W * W, axis=2)
        apart = square[:, :, None] + square[:, None, :] - 2.0 * W @ W.transpose(0, 2, 1)
        diameter = np.sqrt(np.max(apart, axis=(1, 2)))
        chosen = np.argmax(W @ self.b + self.scale * diameter[:, None, None] * self.noise, axis=1)[
            :, None, :
        ]
        return np.asarray(
            (self.f.max(axis=1) - np.take_along_axis(self.f, chosen, axis=1)[:, 0]).mean(axis=0)
        )


def _trial(design: Design, epsilon: float) -> Trial:
    rng = np.random.default_rng(int(design.fingerprint, 16))
    problem = design.problem
    T = design.horizon
    law = design.moments
    menu = problem.actions.candidate_points(MENU)
    contexts = problem.draw_contexts(CONTEXTS, rng)
    points = np.hstack([np.tile(menu, (CONTEXTS, 1)), np.repeat(contexts, len(menu), axis=0)])
    Phi = design.features(points).reshape(CONTEXTS, len(menu), -1)
    rank = design.rank
    G = T * law.cross[:rank, :rank]
    N = T * (SIGNAL**2 + NOISE**2) * law.square[:rank, :rank]
    theta = SIGNAL * rng.normal(size=(design.rank, FUNCTIONS))
    b = G @ theta + linalg.root(N) @ rng.normal(size=theta.shape)
    f = Phi @ theta
    # other numbers that a record writes take their share of the bound
    scale = 2.0 * design.clip / math.sqrt(design.layout.influence_share) / epsilon
    return Trial(Phi, G, N, b, f, rng.exponential(size=f.shape), scale)
