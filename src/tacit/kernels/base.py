"""What a kernel is: a formula `k(A, B)` on rows of unit coordinates, with `k(w, w) <= 1`.

Kernels are written against the Python array API, so NumPy and PyTorch arrays both work.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

from array_api_compat import array_namespace

from tacit._typing import Array
from tacit.errors import InputError


class Kernel(ABC):
    """Positive definite, bounded by one on the diagonal. `+` averages, `*` multiplies: both keep
    the bound.

    A kernel of one's own is shown private records one at a time (`tacit.kernels.rows`).
    """

    whole: ClassVar[bool] = (
        False  # of action and context together, so that it has no part on either alone
    )

    @abstractmethod
    def __call__(self, A: Array, B: Array) -> Array:
        """The matrix `k(a_i, b_j)`."""

    def diagonal(self, A: Array) -> Array:
        """`k(a_i, a_i)`. Stationary kernels are 1 there."""
        return array_namespace(A).ones(A.shape[0], dtype=A.dtype, device=_device(A))

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        """The kernel for joint points whose columns are `names`, the first `actions` of them being
        the action's.

        Turns names into column numbers and checks the number of lengthscales.
        """
        return self

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        """The same formula on the first `at` columns and on the rest (for the default product
        kernel)."""
        if self.whole:
            kind = type(self).__name__
            raise InputError(
                f"a {kind} inside a sum or product does not split: write Joint(...) around all of "
                "it."
            )
        return self, self

    def __mul__(self, other: Kernel) -> Kernel:
        from tacit.kernels.compose import Product

        return Product((*_terms(self, Product), *_terms(other, Product)))

    def __add__(self, other: Kernel) -> Kernel:
        from tacit.kernels.compose import Sum

        return Sum((*_terms(self, Sum), *_terms(other, Sum)))

    def on(self, *columns: str | int) -> Kernel:
        """This kernel on some columns only: `Matern(2.5, 0.3).on("age", "weight")`."""
        from tacit.kernels.compose import On

        return On(self, columns)


def _terms(kernel: Kernel, kind: type) -> tuple[Kernel, ...]:
    flat = isinstance(kernel, kind) and getattr(kernel, "weights", None) is None
    return kernel.kernels if flat else (kernel,)  # type: ignore[attr-defined]


def finite(value: Any) -> bool:
    """Whether a parameter is a number that one can compute with."""
    return isinstance(value, Real) and math.isfinite(value)


def _device(A: Array) -> Any:
    from array_api_compat import device

    return device(A)
