"""Kernels that are not functions of a distance: linear, categorical, and anybody's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from tacit._typing import Array
from tacit.errors import InputError
from tacit.kernels.base import Kernel, _device, finite


@dataclass(frozen=True)
class Linear(Kernel):
    """(bias^2 + v'u) / (bias^2 + d) with v = 2 a - 1 and u = 2 b - 1 in [-1, 1]^d, at most 1."""

    bias: float = 1.0

    def __post_init__(self) -> None:
        if not (finite(self.bias) and self.bias >= 0):
            raise InputError(f"bias must be a number of at least 0, got {self.bias!r}.")
        object.__setattr__(self, "bias", float(self.bias))

    def __call__(self, A: Array, B: Array) -> Array:
        return (self.bias**2 + (2.0 * A - 1.0) @ (2.0 * B - 1.0).T) / (self.bias**2 + A.shape[1])

    def diagonal(self, A: Array) -> Array:
        v = 2.0 * A - 1.0
        return (self.bias**2 + array_namespace(A).sum(v * v, axis=1)) / (self.bias**2 + A.shape[1])


@dataclass(frozen=True)
class Categorical(Kernel):
    """Per column 1 where the labels agree and `similarity` where they do not; columns multiply."""

    similarity: float = 0.0

    def __post_init__(self) -> None:
        if not (finite(self.similarity) and 0 <= self.similarity < 1):
            raise InputError(f"similarity must be in [0, 1), got {self.similarity!r}.")
        object.__setattr__(self, "similarity", float(self.similarity))

    def __call__(self, A: Array, B: Array) -> Array:
        xp = array_namespace(A, B)
        result = xp.ones((A.shape[0], B.shape[0]), dtype=A.dtype, device=_device(A))
        for i in range(A.shape[1]):
            # Labels sit much farther apart than 1e-9: anything closer is the same label.
            same = xp.abs(A[:, i][:, None] - B[:, i][None, :]) < 1e-9
            result *= self.similarity + (1.0 - self.similarity) * xp.astype(same, A.dtype)
        return result


@dataclass(frozen=True)
class Custom(Kernel):
    """Any function `k(A, B)`, scaled where its diagonal is over 1.

    k(a, b) / sqrt(max(1, k(a, a)) max(1, k(b, b)))
    """

    whole: ClassVar[bool] = True
    function: Callable[[Array, Array], Array]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"a Custom kernel needs a function k(A, B), got {self.function!r}.")

    def __call__(self, A: Array, B: Array) -> Array:
        xp = array_namespace(A, B)
        left = xp.sqrt(xp.clip(self._raw_diagonal(A), min=1.0))
        right = xp.sqrt(xp.clip(self._raw_diagonal(B), min=1.0))
        return self.function(A, B) / (left[:, None] * right[None, :])

    def diagonal(self, A: Array) -> Array:
        return array_namespace(A).clip(self._raw_diagonal(A), max=1.0)

    def _raw_diagonal(self, A: Array) -> Array:
        """The diagonal of the function itself: by its `diag` if it has one (as scikit-learn's
        kernels do), else from small blocks of its matrix."""
        if hasattr(self.function, "diag"):
            return self.function.diag(A)
        xp = array_namespace(A)
        n = A.shape[0]
        blocks = [A[i : min(i + 64, n), :] for i in range(0, max(n, 1), 64)]
        return xp.concat([xp.linalg.diagonal(self.function(block, block)) for block in blocks])
