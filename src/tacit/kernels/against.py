"""A kernel against points that stay, such as landmarks: `k(A, B)` as a function of A alone.

What depends on B is computed once, and NumPy is called without the wrappers of the array API, which
cost more than a few rows do. For decisions, which are public; private sums are computed by the
kernels themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import add, imul
from typing import Any

import numpy as np

from tacit._typing import Array, Floats
from tacit.kernels.base import Kernel
from tacit.kernels.compose import Joint, On, Product, Separable, Sum
from tacit.kernels.cosines import features_of
from tacit.kernels.other import Categorical
from tacit.kernels.pooled import Pooled
from tacit.kernels.stationary import RBF, Matern, RationalQuadratic, Stationary

OfPoints = Callable[[Any], Any]
MOST_LEVELS = 16  # of labels that are looked up by a product
SAME_LABEL = 1e-9  # as in `Categorical`


def against(kernel: Kernel, B: Array) -> OfPoints:
    """`k(A, B)` as a function of A. Whoever calls it may overwrite what it returns.

    A kernel that is not exactly one of Tacit's own is called as it is: a subclass may compute
    anything.
    """
    plain = isinstance(B, np.ndarray) and B.dtype == np.float64
    make = MAKERS.get(type(kernel)) if plain else None
    return (lambda A: kernel(A, B)) if make is None else make(kernel, B)


def _stationary(kernel: Any, B: Floats) -> OfPoints:
    if B.shape[1] == 1:
        return _on_a_line(kernel, B)
    if isinstance(kernel, Matern) and kernel.smoothness < 1:  # needs the differences themselves
        return lambda A: kernel(A, B)
    scale = _scale(kernel)
    columns = B.shape[1]
    scaled = (B - 0.5) / scale
    # As in `Stationary.squared_distance`: |a|^2 next to 1, and 1 next to |b|^2.
    right = np.column_stack([scaled, np.ones(len(B)), np.sum(scaled * scaled, axis=1)]).T

    def of(A: Floats) -> Floats:
        left = np.empty((len(A), columns + 2))
        inner = left[:, :columns]
        np.subtract(A, 0.5, out=inner)
        inner /= scale
        np.sum(inner * inner, axis=1, out=left[:, columns])
        inner *= -2.0
        left[:, columns + 1] = 1.0
        r2 = left @ right
        np.maximum(r2, 0.0, out=r2)
        if isinstance(kernel, Matern):
            return _matern(kernel.smoothness, np.sqrt(r2, out=r2))
        found: Floats = kernel.of_square(r2)
        return found

    return of


def _on_a_line(kernel: Stationary, B: Floats) -> OfPoints:
    """Distances on a line need neither a product nor a root."""
    scale = float(np.ravel(_scale(kernel))[0])
    right = B.T / scale

    def of(A: Floats) -> Floats:
        r = A / scale - right
        np.abs(r, out=r)
        if isinstance(kernel, Matern):
            return _matern(kernel.smoothness, r)
        r *= r
        found: Floats = kernel.of_square(r)
        return found

    return of


def _matern(smoothness: float, s: Floats) -> Floats:
    """`Matern.of_square` as a function of the distance. Overwrites it."""
    decay = np.negative(s)
    np.exp(decay, out=decay)
    if smoothness == 0.5:
        return decay
    if smoothness == 2.5:  # 1 + s + s^2 / 3 = 1 + s (1 + s / 3)
        slope = s * (1.0 / 3.0)
        slope += 1.0
        s *= slope
    s += 1.0
    decay *= s
    return decay


def _scale(kernel: Stationary) -> Floats:
    return np.asarray(kernel.lengthscale, dtype=np.float64) / kernel.stretch**0.5


def _categorical(kernel: Categorical, B: Floats) -> OfPoints:
    parts = [_of_labels(kernel.similarity, column) for column in B.T.copy()]
    return lambda A: reduce(imul, (of(A[:, i]) for i, of in enumerate(parts)))


def _of_labels(similarity: float, column: Floats) -> OfPoints:
    """1 where labels are the same, and their similarity elsewhere, for one column."""
    levels = np.unique(column)
    if len(levels) > MOST_LEVELS:
        return lambda a: similarity + (1.0 - similarity) * _same(a, column)
    table = np.vstack(
        [(1.0 - similarity) * _same(levels, column), np.full(len(column), similarity)]
    )
    return lambda a: _marks(a, levels) @ table


def _marks(a: Floats, levels: Floats) -> Floats:
    """Which of these levels each label is, and 1: a product with few rows is quicker than to
    compare with every point."""
    marks = np.ones((len(a), len(levels) + 1))
    marks[:, :-1] = _same(a, levels)
    return marks


def _same(a: Floats, b: Floats) -> Floats:
    """1 where labels are the same, and 0 elsewhere."""
    return np.asarray(np.abs(a[:, None] - b[None, :]) < SAME_LABEL, dtype=np.float64)


def _product(kernel: Product, B: Floats) -> OfPoints:
    parts = [against(k, B) for k in kernel.kernels]
    return lambda A: reduce(imul, (part(A) for part in parts))


def _sum(kernel: Sum, B: Floats) -> OfPoints:
    parts = [(w, against(k, B)) for w, k in zip(kernel.shares, kernel.kernels, strict=True)]
    return lambda A: reduce(add, (w * part(A) for w, part in parts))


def _on(kernel: On, B: Floats) -> OfPoints:
    columns = [int(i) for i in kernel.columns]
    of = against(kernel.kernel, B[:, columns])
    return lambda A: of(A[:, columns])


def _joint(kernel: Joint, B: Floats) -> OfPoints:
    return against(kernel.kernel, B)


def _separable(kernel: Separable, B: Floats) -> OfPoints:
    at = kernel.at
    on_actions = against(kernel.actions, B[:, :at])
    on_contexts = against(kernel.contexts, B[:, at:])

    def of(A: Floats) -> Floats:
        result: Floats = on_actions(A[:, :at])
        result *= on_contexts(A[:, at:])
        return result

    return of


def _pooled(kernel: Pooled, B: Floats) -> OfPoints:
    _, main, full = kernel.shares
    features = _cosines(tuple(column.levels for column in kernel.spectra))
    # The constant is the weight of a feature that is 1 everywhere.
    weighted = np.vstack([kernel.cosine_weights[:, None] * features(B).T, np.ones(len(B))])
    weighted[-1] *= kernel.constant
    whole = against(kernel.full, B)
    alike = [
        (j, against(column.labels, B[:, j : j + 1]))
        for j, column in enumerate(kernel.spectra)
        if column.labels is not None
    ]

    def of(A: Floats) -> Floats:
        result: Floats = np.column_stack([features(A), np.ones(len(A))]) @ weighted
        for j, same in alike:
            result += main / len(kernel.spectra) * same(A[:, j : j + 1])
        if full:
            result += full * whole(A)
        return result

    return of


def _cosines(levels: tuple[int, ...]) -> OfPoints:
    """`tacit.kernels.cosines.cosines` without the recurrence."""
    columns, frequencies = features_of(levels)
    turns = math.pi * np.array(frequencies, dtype=np.float64)
    shift = np.array([0.5 / levels[j] if levels[j] else 0.0 for j in columns]) * turns
    slope = np.array([(levels[j] - 1) / levels[j] if levels[j] else 1.0 for j in columns]) * turns
    picked = list(columns)

    def of(A: Floats) -> Floats:
        phases = A[:, picked]
        phases *= slope
        phases += shift
        return np.cos(phases, out=phases)

    return of


MAKERS: dict[type[Kernel], Callable[[Any, Floats], OfPoints]] = {
    RBF: _stationary,
    RationalQuadratic: _stationary,
    Matern: _stationary,
    Categorical: _categorical,
    Product: _product,
    Sum: _sum,
    On: _on,
    Joint: _joint,
    Separable: _separable,
    Pooled: _pooled,
}
