"""Kernels that pool before they personalise: what all have in common, what single columns change,
and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from tacit._typing import Array, Floats
from tacit.errors import InputError
from tacit.kernels.base import Kernel, _device, finite
from tacit.kernels.compose import On, Product
from tacit.kernels.cosines import MOST_LABELS, cosines, label_spectrum, spectrum
from tacit.kernels.other import Categorical
from tacit.kernels.stationary import Stationary

# Lengthscales of the full interaction, as multiples of those of single columns: people who differ a
# little in many columns are still alike.
STRETCH = 1.6
NEGLIGIBLE = 0.01  # a full interaction of less weight is left out, and not computed


def usual_weights(columns: int) -> tuple[float, float, float]:
    """Of the common effect, of single columns, and of all together: the more columns there are, the
    less is left to what only all of them explain."""
    if columns == 1:
        return 0.2, 0.8, 0.0
    common = 0.55 - 0.35 * columns**-0.9
    full = 0.3 * (2.0 / columns) ** 1.5
    if full < NEGLIGIBLE:
        full = 0.0
    return common, 1.0 - common - full, full


@dataclass(frozen=True)
class Pooled(Kernel):
    """w0 + w1 mean_j k_j(c_j, c_j') + w2 k(c, c'), with weights that are scaled to add up to 1.

    `kernel` says how alike the values of a column are: a stationary kernel, `Categorical`, or a
    product of these on columns. The mean is over its columns; `k` is the kernel itself, with
    lengthscales that are longer by `STRETCH`. `levels` are the numbers of labels of each column, 0
    for numbers; a problem fills them in.

    >>> contexts = tacit.Pooled(tacit.Matern(2.5, 0.5), weights=(0.7, 0.3, 0.0))
    >>> kernel = tacit.Separable(actions=tacit.Matern(2.5, 0.3), contexts=contexts)
    """

    kernel: Kernel
    weights: Sequence[float] | None = None
    levels: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(
                f"Pooled takes a kernel, got {self.kernel!r}: pass for example Matern(2.5, 0.5)."
            )
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights))
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(int(n) for n in self.levels))

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of the common effect, of single columns, and of all together."""
        if self.weights is not None:
            common, main, full = self.weights
            return common, main, full
        return usual_weights(len(self._levels))

    @cached_property
    def full(self) -> Kernel:
        """The kernel of all columns together."""
        return _stretched(self.kernel)

    @cached_property
    def _by_column(self) -> dict[int, ColumnSpectrum]:
        """The spectra of the columns, in the order in which the kernel names them."""
        found: dict[int, ColumnSpectrum] = {}
        _collect(self.kernel, tuple(range(len(self._levels))), self._levels, found)
        return found

    @property
    def spectra(self) -> tuple[ColumnSpectrum, ...]:
        """Of each column."""
        return tuple(self._by_column[j] for j in sorted(self._by_column))

    @property
    def lengthscale_columns(self) -> tuple[int, ...]:
        """The column that each lengthscale is of, in the order of `ard.lengthscales`."""
        return tuple(j for j, column in self._by_column.items() if column.slopes is not None)

    @cached_property
    def constant(self) -> float:
        """What is the same for all points, of the common effect and of single columns."""
        common, main, _ = self.shares
        return common + main * float(np.mean([column.s[0] for column in self.spectra]))

    @cached_property
    def cosine_weights(self) -> Floats:
        """The weight of each cosine."""
        _, main, _ = self.shares
        return main / len(self.spectra) * np.concatenate([column.s[1:] for column in self.spectra])

    def features(self, A: Array) -> Array:
        """The cosines of the columns."""
        return cosines(A, tuple(column.levels for column in self.spectra))

    def __call__(self, A: Array, B: Array) -> Array:
        result = self.by_columns(A, B)
        _, _, full = self.shares
        if full:
            whole = self.full(A, B)
            whole *= full
            result += whole
        return result

    def by_columns(self, A: Array, B: Array) -> Array:
        """All but the full interaction: w0 + w1 mean_j k_j."""
        xp = array_namespace(A, B)
        _, main, _ = self.shares
        weights = xp.asarray(self.cosine_weights, dtype=A.dtype, device=_device(A))
        result = (self.features(A) * weights) @ self.features(B).T
        result += self.constant
        for j, column in enumerate(self.spectra):
            if column.labels is not None:
                alike = column.labels(A[:, j : j + 1], B[:, j : j + 1])
                alike *= main / len(self.spectra)
                result += alike
        return result

    def diagonal(self, A: Array) -> Array:
        xp = array_namespace(A)
        _, main, full = self.shares
        weights = xp.asarray(self.cosine_weights, dtype=A.dtype, device=_device(A))
        alone = xp.sum(self.features(A) ** 2 * weights, axis=1)
        many = sum(column.labels is not None for column in self.spectra)
        same = self.constant + main * many / len(self.spectra)
        return alone + same + full * self.full.diagonal(A)

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        levels = self.levels
        if levels is None:
            levels = (0,) * len(names)
        elif len(levels) != len(names):
            raise InputError(
                f"{len(levels)} levels do not fit {len(names)} columns ({', '.join(names)})."
            )
        bound = Pooled(self.kernel.bind(names, actions), self.weights, levels)
        missing = len(names) - len(bound.spectra)  # fails where there is no kernel on a column
        if missing:
            raise InputError("a Pooled kernel must be on all columns: name each of them.")
        return bound

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        left, right = self.kernel.split(at, names)
        first = None if self.levels is None else self.levels[:at]
        second = None if self.levels is None else self.levels[at:]
        return Pooled(left, self.weights, first), Pooled(right, self.weights, second)

    @property
    def _levels(self) -> tuple[int, ...]:
        assert self.levels is not None, "a kernel is bound to columns before it is used"
        return tuple(self.levels)


def checked_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Three weights, scaled to add up to 1."""
    found = tuple(weights)
    if len(found) != 3 or not all(finite(w) and w >= 0 for w in found) or not sum(found) > 0:
        raise InputError(
            "weights of a Pooled kernel must be three numbers of at least 0, of the common effect, "
            f"of single columns and of all together; got {weights!r}."
        )
    return tuple(float(w) / sum(found) for w in found)


@dataclass(frozen=True, eq=False)
class ColumnSpectrum:
    """The kernel of one column: its spectrum, with the constant first, and the derivative of that
    by the log of the lengthscale, if it has one. Where labels are many, a kernel that compares
    them, and no spectrum but a constant of 0."""

    s: Floats
    levels: int = 0
    slopes: Floats | None = None
    labels: Categorical | None = None


def _collect(
    kernel: Kernel,
    columns: tuple[int, ...],
    levels: tuple[int, ...],
    found: dict[int, ColumnSpectrum],
) -> None:
    """Notes the spectrum of each of the columns that a kernel is on."""
    if not isinstance(kernel, On | Product) and not found.keys().isdisjoint(columns):
        raise InputError("a Pooled kernel must be on each column once: name it in one part only.")
    if isinstance(kernel, Stationary):
        scales = kernel.lengthscale
        if not isinstance(scales, Sequence):
            scales = (scales,) * len(columns)
        for j, scale in zip(columns, scales, strict=True):
            s, slopes = spectrum(kernel, scale)
            found[j] = ColumnSpectrum(s, slopes=slopes)
    elif isinstance(kernel, Categorical):
        for j in columns:
            n = levels[j]
            if not n:
                raise InputError(
                    "a Pooled kernel must know how many labels there are: pass levels."
                )
            if n > MOST_LABELS:
                found[j] = ColumnSpectrum(np.zeros(1), n, labels=kernel)
            else:
                found[j] = ColumnSpectrum(label_spectrum(n, kernel.similarity), n)
    elif isinstance(kernel, On):
        _collect(kernel.kernel, tuple(columns[int(i)] for i in kernel.columns), levels, found)
    elif isinstance(kernel, Product):
        for factor in kernel.kernels:
            _collect(factor, columns, levels, found)
    else:
        raise InputError(
            f"a {type(kernel).__name__} kernel has no part on single columns: Pooled takes "
            "stationary kernels, Categorical, and products of these on columns."
        )


def _stretched(kernel: Any) -> Any:
    if isinstance(kernel, Stationary):
        scales = kernel.lengthscale
        if isinstance(scales, Sequence):
            longer: Any = tuple(STRETCH * scale for scale in scales)
        else:
            longer = STRETCH * scales
        return replace(kernel, lengthscale=longer)  # type: ignore[type-var]
    if isinstance(kernel, On):
        return On(_stretched(kernel.kernel), kernel.columns)
    if isinstance(kernel, Product):
        return Product(tuple(_stretched(factor) for factor in kernel.kernels))
    return kernel
