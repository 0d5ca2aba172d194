"""GP-UCB by somebody who only sees a random projection of the contexts."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.protocol import Setting

PROJECTION = 10  # r, as in some of the paper's experiments
SAMPLE = 4096


class GPUCBOutsourced(GPUCB):
    """A curator releases contexts as rows of r^-1/2 X M, M a Gaussian d x r matrix, after raising
    the singular values of the centred X to at least

        omega = 16 sqrt(r log(2 / delta)) log(16 r / delta) / epsilon;

    a modeler runs GP-UCB on what it sees. Rewards and actions are not protected.

    The claim of (epsilon, delta)-DP does NOT hold where there are more rows than columns, as here:
    the columns of X M lie in the column space of X, and data sets that differ in a row have
    different column spaces, so that one release tells them apart. (The proof compares densities on
    two different subspaces; a test carries out the attack.) The row is here because the literature
    counts it as private; its error says what no privacy costs.

    Mean and singular values come from contexts of the public generator, so that rounds can be asked
    one by one. The modeler turns r columns of rank d back to d (an isometry), and divides by the
    mean stretch, which is public; with omega as large as it is, its kernel would see nothing but
    far points otherwise.
    """

    name: ClassVar[str] = "Outsourced GP-UCB"
    source: ClassVar[str] = "Kharkovskii, Dai, Low 2020, Private Outsourced Bayesian Optimization"
    protects: ClassVar[str] = "context"
    refuted_by: ClassVar[str | None] = "lab/tests/test_learners_outsourced.py"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "gpucb"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        d = setting.problem.contexts.dimension
        self.center = np.zeros(d)
        self.map = np.eye(d)
        if setting.private:
            contexts = setting.problem.draw_contexts(SAMPLE, rng)
            self.center = contexts.mean(axis=0)
            X = (contexts - self.center) * math.sqrt(setting.horizon / SAMPLE)
            raise_values, stretch = raised(X, setting.epsilon, setting.delta)
            self.map = isometric(raise_values @ projection(d, rng)) / stretch

    def seen(self, contexts: Floats) -> Floats:
        """Contexts as the modeler sees them."""
        return self.center + (contexts - self.center) @ self.map

    def ask(self, context: Floats) -> Floats:
        return super().ask(self.seen(context[None, :])[0])

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        super().tell(self.seen(context[None, :])[0], action, reward)

    def scores(self, contexts: Floats) -> Floats:
        return super().scores(self.seen(contexts))


def raised(X: Floats, epsilon: float, delta: float) -> tuple[Floats, float]:
    """The d x d matrix that raises the singular values of the centred X, and the geometric mean of
    its stretches."""
    _, S, Vt = np.linalg.svd(X, full_matrices=False)
    S = np.maximum(S, 1e-9)
    r = dimension(len(S))
    omega = 16.0 * math.sqrt(r * math.log(2.0 / delta)) * math.log(16.0 * r / delta) / epsilon
    stretch = np.sqrt(1.0 + (omega / S) ** 2) if S.min() < omega else np.ones(len(S))
    return np.asarray((Vt.T * stretch) @ Vt), float(np.exp(np.mean(np.log(stretch))))


def projection(d: int, rng: Rng) -> Floats:
    """r^-1/2 M"""
    return rng.standard_normal((d, dimension(d))) / math.sqrt(dimension(d))


def dimension(d: int) -> int:
    """r; never below d, or distances would be lost."""
    return max(PROJECTION, d)


def isometric(P: Floats) -> Floats:
    """The symmetric d x d matrix that stretches rows as the d x r matrix P does: (P P')^(1/2)."""
    U, s, _ = np.linalg.svd(P, full_matrices=False)
    return np.asarray((U * s) @ U.T)
