"""The base class of kernels: a formula `k(A, B)` on rows of unit coordinates, with `k(w, w) <= 1`.

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
    """A positive definite function, at most 1 on the diagonal. `+` averages kernels, `*` multiplies
    them; both keep the bound.

    A kernel of one's own is shown private records one at a time (`tacit.kernels.rows`).
    """

    # Whether it is a kernel of action and context together, with no part on either alone.
    whole: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, A: Array, B: Array) -> Array:
        """The matrix `k(a_i, b_j)`."""

    def diagonal(self, A: Array) -> Array:
        """`k(a_i, a_i)`, which is 1 unless a kernel says otherwise."""
        return array_namespace(A).ones(A.shape[0], dtype=A.dtype, device=_device(A))

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        """The kernel for joint points whose columns are `names`, the first `actions` of them being
        the action's.

        Turns names into column numbers and checks the number of lengthscales.
        """
        return self

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        """The same formula on the first `at` columns, and on the rest: the factors of the product
        kernel that a plain kernel becomes."""
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
    """The terms of a sum (or the factors of a product) that are to be joined with others."""
    if isinstance(kernel, kind) and getattr(kernel, "weights", None) is None:
        return kernel.kernels  # type: ignore[attr-defined]
    return (kernel,)


def finite(value: Any) -> bool:
    """Whether a parameter is a real, finite number."""
    return isinstance(value, Real) and math.isfinite(value)


def _device(A: Array) -> Any:
    from array_api_compat import device

    return device(A)
