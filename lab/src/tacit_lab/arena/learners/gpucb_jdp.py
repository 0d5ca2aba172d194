"""Jointly private GP-UCB: quadrature Fourier features and the tree mechanism."""

from __future__ import annotations

from typing import ClassVar

from tacit_lab.arena.learners.features import Map, nystroem
from tacit_lab.arena.learners.fourier import quadrature
from tacit_lab.arena.learners.linucb_tree import LinUCBTree

MOST = 64  # features, where noise does not call for fewer


class GPUCBJDP(LinUCBTree):
    """GP-UCB in a finite feature space that approximates the kernel uniformly, with (G, u) from the
    tree mechanism.

    The paper's Gauss-Hermite nodes are for the squared exponential kernel; here the spectral
    integral is taken by the rectangle rule on a lattice, which converges as fast on the unit box
    and does for any stationary kernel (see `fourier.py`). The paper's m = 2 (6 log T)^d features
    would drown in their own noise; the heaviest are kept, as many as the noise leaves room for. In
    many dimensions, and for kernels that are not stationary, the kernel's principal features stand
    in. Without privacy nothing limits their number, and it is GP-UCB on Nystroem features.
    """

    name: ClassVar[str] = "JDP GP-UCB (tree)"
    source: ClassVar[str] = (
        "Dubey 2021, No-Regret Algorithms for Private Gaussian Process Bandit Optimization"
    )
    counterpart: ClassVar[str | None] = "gpucb"

    def features(self, floor: float) -> Map:
        if not self.setting.private:
            return nystroem(self.setting.problem, self.rng)
        return quadrature(self.setting.problem, self.rng, MOST, floor)
