"""Kinds of reward functions that a released vector may tell apart: rougher, smoother, additive in
the contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tacit.kernels import (
    RBF,
    Categorical,
    Kernel,
    Matern,
    On,
    Pooled,
    Product,
    Separable,
    Sum,
)
from tacit.kernels.ard import map_leaves, spread
from tacit.kernels.stationary import Stationary

SMOOTHNESS = (1.5, 2.5, None)  # None: infinitely smooth
# Weights of what all have in common, of single columns, and of all columns together: from contexts
# that hardly matter to those that must be known exactly.
POOLING = ((0.9, 0.1, 0.0), (0.6, 0.38, 0.02), (0.3, 0.6, 0.1), (0.2, 0.3, 0.5), (0.1, 0.1, 0.8))
POOLING_OF_ONE = ((0.9, 0.1, 0.0), (0.5, 0.5, 0.0), (0.0, 1.0, 0.0))


def kinds(kernel: Kernel, columns: int) -> list[Kernel]:
    """The problem's own kernel first, then its relatives. All have the same lengthscales in the
    same order."""
    own = spread(kernel, columns)
    found = [own]
    for relative in (*(_smooth(own, nu) for nu in SMOOTHNESS), *additive(own), *pooled(own)):
        if relative not in found:
            found.append(relative)
    return found


def _smooth(kernel: Kernel, nu: float | None) -> Kernel:
    def change(leaf: Stationary) -> Kernel:
        if not isinstance(leaf, Matern | RBF):
            return leaf
        return RBF(leaf.lengthscale) if nu is None else Matern(nu, leaf.lengthscale)

    return map_leaves(kernel, change)


def pooled(kernel: Kernel) -> list[Kernel]:
    """The same with other weights of what is pooled in the contexts."""
    if not (isinstance(kernel, Separable) and isinstance(kernel.contexts, Pooled)):
        return []
    contexts = kernel.contexts
    weights = POOLING if contexts.shares[2] else POOLING_OF_ONE
    return [replace(kernel, contexts=replace(contexts, weights=each)) for each in weights]


def additive(kernel: Kernel) -> list[Kernel]:
    """k_X(x, x') mean_j k_j(c_j, c_j'): each context acts on the best action by itself."""
    if not isinstance(kernel, Separable):
        return []
    parts = _by_column(kernel.contexts)
    return [replace(kernel, contexts=Sum(parts))] if len(parts) > 1 else []


def _by_column(kernel: Kernel) -> tuple[On, ...]:
    """A kernel on each column of a stationary kernel, or of a product of such kernels and of labels
    on columns.

    None where the kernel is of another form. Lengthscales stay in their order.
    """
    if isinstance(kernel, Stationary):
        scales = kernel.lengthscale
        assert isinstance(scales, Sequence)
        leaf: Any = kernel
        alone = [replace(leaf, lengthscale=(scale,)) for scale in scales]
        return tuple(On(part, (j,)) for j, part in enumerate(alone))
    if isinstance(kernel, On) and isinstance(kernel.kernel, Categorical):
        return tuple(On(kernel.kernel, (column,)) for column in kernel.columns)
    if isinstance(kernel, On):
        inner = [(part.kernel, int(part.columns[0])) for part in _by_column(kernel.kernel)]
        return tuple(On(part, (kernel.columns[j],)) for part, j in inner)
    if isinstance(kernel, Product):
        parts = [_by_column(factor) for factor in kernel.kernels]
        return tuple(part for found in parts for part in found) if all(parts) else ()
    return ()
