"""What the scores of one decision are made of: weights on the private sum, fixed before any data.

    u(x) = phi(x, c)' H b,   E[b] = G theta,   f = phi' theta

The paper's own scores are H = A'. Clipping makes them favour points of small influence, however many rounds there are.
The posterior mean H = v G'(v G G' + N)^-1 does not, and how smooth it should be can be tried out on functions of the
prior: the noise of the draw grows with the diameter of the weights. Any H is private, the core sees to that.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit import linalg
from tacit.design import Design
from tacit.design.features import KernelMap
from tacit.tables import Floats

SIGNAL = NOISE = 0.3  # expected standard deviations of the reward function and of rewards around it
SMOOTHING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
FUNCTIONS, CONTEXTS, MENU = 64, 32, 64


@lru_cache(maxsize=8)
def score_weights(design: Design, epsilon: float) -> KernelMap:
    """Maps joint points to their weights on the sum: those that lose least on functions of the prior, or the paper's.

    Without a generator nobody knows who comes: the paper's scores then keep their order better (see docs/decoding.md).
    """
    H = design.whitening
    if design.problem.generator is not None:
        trial = _Trial(design, epsilon)
        H = min([H, *(trial.posterior(level) for level in SMOOTHING)], key=trial.error)
    return KernelMap(design.problem.k, design.features.U, linalg.solve_upper(design.features.L, H))


class _Trial:
    """Studies drawn from their law, each with one decision in every context."""

    def __init__(self, design: Design, epsilon: float) -> None:
        rng = np.random.default_rng(int(design.fingerprint, 16))
        problem, T, law = design.problem, design.horizon, design.moments
        menu, contexts = problem.actions.candidate_points(MENU), problem.draw_contexts(CONTEXTS, rng)
        points = np.hstack([np.tile(menu, (CONTEXTS, 1)), np.repeat(contexts, len(menu), axis=0)])
        self.Phi = design.features(points).reshape(CONTEXTS, len(menu), -1)
        self.G, self.N = T * law.signal, T * (SIGNAL**2 + NOISE**2) * law.energy
        # one record moves b by at most 2 s; other numbers that it writes take their share of the bound
        self.scale = 2.0 * design.clip / np.sqrt(design.layout.influence_share) / epsilon
        theta = SIGNAL * rng.normal(size=(design.rank, FUNCTIONS))
        self.b = self.G @ theta + linalg.root(self.N) @ rng.normal(size=theta.shape)
        self.f = self.Phi @ theta
        self.noise = rng.exponential(size=self.f.shape)  # permute-and-flip is the largest score after it

    def posterior(self, level: float) -> Floats:
        """E[theta | b] = H b, if there were `level` times as much noise as the draw's scale."""
        S = SIGNAL**2 * self.G @ self.G.T + self.N + (level * self.scale) ** 2 * np.eye(len(self.G))
        return np.asarray(SIGNAL**2 * np.linalg.solve(S, self.G).T)

    def error(self, H: Floats) -> float:
        """What a decision by the scores phi' H b loses on average."""
        W = self.Phi @ H
        W -= W.mean(axis=1, keepdims=True)
        square = np.sum(W * W, axis=2)
        apart = square[:, :, None] + square[:, None, :] - 2.0 * W @ W.transpose(0, 2, 1)
        diameter = np.sqrt(np.max(apart, axis=(1, 2)))
        chosen = np.argmax(W @ self.b + self.scale * diameter[:, None, None] * self.noise, axis=1)
        return float(np.mean(self.f.max(axis=1) - np.take_along_axis(self.f, chosen[:, None, :], axis=1)[:, 0]))
