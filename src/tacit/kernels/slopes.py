"""Derivatives of a kernel matrix by the logarithms of its lengthscales, all of them for about the
cost of one more evaluation.

For a kernel of the scaled distance, r^2 = sum_j (a_j - b_j)^2 / l_j^2, one matrix H = -2 dk / d r^2
is enough:

    dk(a, b) / d log l_j = H (a_j - b_j)^2 / l_j^2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tacit._typing import Floats
from tacit.kernels.ard import lengthscales, with_lengthscales
from tacit.kernels.base import Kernel
from tacit.kernels.compose import Joint, On, Product, Separable, Sum
from tacit.kernels.pooled import Pooled
from tacit.kernels.stationary import Stationary

Pull = Callable[[Floats], list[float]]  # W to d sum(W k(U, U)) / d log l, one for each l
STEP = 1e-5  # of a logarithm, for differences


def with_slopes(kernel: Kernel, U: Floats) -> tuple[Floats, Pull]:
    """`k(U, U)`, and a function that gives d sum(W k(U, U)) / d log l for a symmetric `W` and each
    of `lengthscales(kernel)`.

    The kernel must have one lengthscale per column (`spread`).
    """
    if isinstance(kernel, Stationary):
        return _stationary(kernel, U)
    if isinstance(kernel, Joint):
        return with_slopes(kernel.kernel, U)
    if isinstance(kernel, On):
        return with_slopes(kernel.kernel, U[:, np.array(kernel.columns, dtype=int)])
    if isinstance(kernel, Separable):
        on_actions = with_slopes(kernel.actions, U[:, : kernel.at])
        on_contexts = with_slopes(kernel.contexts, U[:, kernel.at :])
        return _product([on_actions, on_contexts])
    if isinstance(kernel, Product):
        return _product([with_slopes(k, U) for k in kernel.kernels])
    if isinstance(kernel, Sum):
        return _sum(kernel.shares, [with_slopes(k, U) for k in kernel.kernels])
    if isinstance(kernel, Pooled):
        return _pooled(kernel, U)
    return _by_differences(kernel, U)


def _pooled(kernel: Pooled, U: Floats) -> tuple[Floats, Pull]:
    _, main, full = kernel.shares
    F = kernel.features(U)

    def pull(W: Floats) -> list[float]:
        total = float(np.sum(W))
        each = np.sum(F * (W @ F), axis=0)
        found = {}
        start = 0
        for j, column in enumerate(kernel.spectra):
            stop = start + len(column.s) - 1
            if column.slopes is not None:
                slope = column.slopes[0] * total + float(column.slopes[1:] @ each[start:stop])
                found[j] = main / len(kernel.spectra) * slope
            start = stop
        return [found[j] for j in kernel.lengthscale_columns]

    K = np.asarray(kernel.by_columns(U, U))
    if not full:
        return K, pull
    whole, together = with_slopes(kernel.full, U)
    # The same lengthscales are in both parts.
    return K + full * whole, lambda W: [
        alone + full * rest for alone, rest in zip(pull(W), together(W), strict=True)
    ]


def _stationary(kernel: Stationary, U: Floats) -> tuple[Floats, Pull]:
    K, H = kernel.with_steepness(kernel.squared_distance(U, U))
    A = (U - 0.5) / np.asarray(kernel.lengthscale)

    def pull(W: Floats) -> list[float]:
        P = W * H
        slopes = 2.0 * (np.sum(P, axis=1) @ A**2 - np.sum(A * (P @ A), axis=0))
        return [float(slope) for slope in slopes]

    return K, pull


def _product(parts: Sequence[tuple[Floats, Pull]]) -> tuple[Floats, Pull]:
    matrices = [K for K, _ in parts]

    def pull(W: Floats) -> list[float]:
        found = []
        for i, (_, part) in enumerate(parts):
            others = matrices[:i] + matrices[i + 1 :]
            found += part(np.multiply.reduce([W, *others]))
        return found

    return np.multiply.reduce(matrices), pull


def _sum(shares: Sequence[float], parts: Sequence[tuple[Floats, Pull]]) -> tuple[Floats, Pull]:
    def pull(W: Floats) -> list[float]:
        found = []
        for share, (_, part) in zip(shares, parts, strict=True):
            found += [share * slope for slope in part(W)]
        return found

    K = sum(share * K for share, (K, _) in zip(shares, parts, strict=True))
    return np.asarray(K), pull


def _by_differences(kernel: Kernel, U: Floats) -> tuple[Floats, Pull]:
    """For any other kernel by differences: as many evaluations as it has lengthscales."""
    K = kernel(U, U)
    scales = np.array(lengthscales(kernel))

    def pull(W: Floats) -> list[float]:
        longer = scales * np.exp(STEP * np.eye(len(scales)))
        return [
            float(np.vdot(W, with_lengthscales(kernel, row.tolist())(U, U) - K)) / STEP
            for row in longer
        ]

    return K, pull
