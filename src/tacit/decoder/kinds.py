"""Kinds of reward functions that a released vector may tell apart: rougher, smoother, additive in the contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.kernels import RBF, Kernel, Matern, On, Separable, Sum
from tacit.kernels.ard import map_leaves, spread
from tacit.kernels.stationary import Stationary

SMOOTHNESS = (1.5, 2.5, None)  # None: infinitely smooth


def kinds(kernel: Kernel, columns: int) -> list[Kernel]:
    """The problem's own kernel first, then its relatives. All have the same lengthscales in the same order."""
    own = spread(kernel, columns)
    found = [own]
    for relative in (*(_smooth(own, nu) for nu in SMOOTHNESS), *_additive(own)):
        if relative not in found:
            found.append(relative)
    return found


def _smooth(kernel: Kernel, nu: float | None) -> Kernel:
    def change(leaf: Stationary) -> Kernel:
        if not isinstance(leaf, Matern | RBF):
            return leaf
        return RBF(leaf.lengthscale) if nu is None else Matern(nu, leaf.lengthscale)

    return map_leaves(kernel, change)


def _additive(kernel: Kernel) -> list[Kernel]:
    """k_X(x, x') mean_j k_j(c_j, c_j'): each context acts on the best action by itself."""
    if not (isinstance(kernel, Separable) and isinstance(kernel.contexts, Stationary)):
        return []
    scales = kernel.contexts.lengthscale
    assert isinstance(scales, Sequence)
    if len(scales) < 2:
        return []
    parts = tuple(On(replace(kernel.contexts, lengthscale=(scale,)), (j,)) for j, scale in enumerate(scales))  # type: ignore[type-var]
    return [replace(kernel, contexts=Sum(parts))]
