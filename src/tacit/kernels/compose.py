"""Kernels made of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, mul
from typing import ClassVar

from array_api_compat import array_namespace

from tacit._typing import Array
from tacit.errors import InputError
from tacit.kernels.base import Kernel, finite


def _checked(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    if (
        isinstance(kernels, Kernel)
        or not kernels
        or not all(isinstance(kernel, Kernel) for kernel in kernels)
    ):
        raise InputError(
            "a composed kernel takes kernels: wrap a plain function in tacit.kernels.Custom."
        )
    return tuple(kernels)


@dataclass(frozen=True)
class Product(Kernel):
    """k1 k2 ...: at most 1 because each factor is."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", _checked(self.kernels))

    def __call__(self, A: Array, B: Array) -> Array:
        return reduce(mul, (k(A, B) for k in self.kernels))

    def diagonal(self, A: Array) -> Array:
        return reduce(mul, (k.diagonal(A) for k in self.kernels))

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        return replace(self, kernels=tuple(k.bind(names, actions) for k in self.kernels))

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        parts = [k.split(at, names) for k in self.kernels]
        left = Product(tuple(p[0] for p in parts))
        right = Product(tuple(p[1] for p in parts))
        return left, right


@dataclass(frozen=True)
class Sum(Kernel):
    """w1 k1 + w2 k2 + ... with weights that are scaled to add up to 1 (equal ones by default)."""

    kernels: tuple[Kernel, ...]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", _checked(self.kernels))
        if self.weights is not None:
            weights = tuple(self.weights)
            if len(weights) != len(self.kernels) or not all(finite(w) and w > 0 for w in weights):
                raise InputError(
                    f"a Sum needs one positive weight per kernel, got {self.weights!r}."
                )
            object.__setattr__(self, "weights", tuple(float(w) for w in weights))

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights, scaled to add up to 1."""
        weights = self.weights or (1.0,) * len(self.kernels)
        return tuple(w / sum(weights) for w in weights)

    def __call__(self, A: Array, B: Array) -> Array:
        terms = (w * k(A, B) for w, k in zip(self.shares, self.kernels, strict=True))
        return reduce(add, terms)

    def diagonal(self, A: Array) -> Array:
        terms = (w * k.diagonal(A) for w, k in zip(self.shares, self.kernels, strict=True))
        return reduce(add, terms)

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        return replace(self, kernels=tuple(k.bind(names, actions) for k in self.kernels))

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        parts = [k.split(at, names) for k in self.kernels]
        left = Sum(tuple(p[0] for p in parts), self.weights)
        right = Sum(tuple(p[1] for p in parts), self.weights)
        return left, right


@dataclass(frozen=True)
class On(Kernel):
    """A kernel on some columns only, by name or number."""

    kernel: Kernel
    columns: Sequence[str | int]

    def __post_init__(self) -> None:
        _checked([self.kernel])
        if isinstance(self.columns, str | int) or not len(self.columns):
            raise InputError(f"On needs a list of columns, got {self.columns!r}.")
        object.__setattr__(self, "columns", tuple(self.columns))

    def __call__(self, A: Array, B: Array) -> Array:
        return self.kernel(self._pick(A), self._pick(B))

    def diagonal(self, A: Array) -> Array:
        return self.kernel.diagonal(self._pick(A))

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        numbers = []
        for column in self.columns:
            if column in names:
                numbers += [i for i, name in enumerate(names) if name == column]
            elif isinstance(column, int) and 0 <= column < len(names):
                numbers.append(int(column))
            else:
                raise InputError(
                    f"the kernel names column {column!r}, which is none of {', '.join(names)}."
                )
        return On(self.kernel.bind([names[i] for i in numbers], 0), tuple(numbers))

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        raise InputError(
            "a kernel on named columns does not split by itself: write Separable(actions=..., "
            "contexts=...)."
        )

    def _pick(self, A: Array) -> Array:
        xp = array_namespace(A)
        return xp.stack([A[:, i] for i in self.columns], axis=1)


@dataclass(frozen=True)
class Joint(Kernel):
    """A kernel of action and context together, where the product of one kernel on actions and one
    on contexts is not wanted."""

    whole: ClassVar[bool] = True
    kernel: Kernel

    def __post_init__(self) -> None:
        _checked([self.kernel])

    def __call__(self, A: Array, B: Array) -> Array:
        return self.kernel(A, B)

    def diagonal(self, A: Array) -> Array:
        return self.kernel.diagonal(A)

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        return Joint(self.kernel.bind(names, actions))


@dataclass(frozen=True)
class Separable(Kernel):
    """A kernel on actions times a kernel on contexts. `at` is the number of columns of the action.

    Decisions are fast with it: the factor of a context is computed once for all actions.
    """

    whole: ClassVar[bool] = True
    actions: Kernel
    contexts: Kernel
    at: int | None = None

    def __post_init__(self) -> None:
        _checked([self.actions, self.contexts])

    def __call__(self, A: Array, B: Array) -> Array:
        result = self.actions(A[:, : self.at], B[:, : self.at])
        result *= self.contexts(A[:, self.at :], B[:, self.at :])
        return result

    def diagonal(self, A: Array) -> Array:
        return self.actions.diagonal(A[:, : self.at]) * self.contexts.diagonal(A[:, self.at :])

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        on_actions = self.actions.bind(names[:actions], actions)
        on_contexts = self.contexts.bind(names[actions:], 0)
        return Separable(on_actions, on_contexts, int(actions))


def natural(kernel: Kernel, names: Sequence[str], actions: int) -> Kernel:
    """The kernel on joint points that a user's kernel stands for.

    A plain kernel becomes the product of itself on actions and itself on contexts; a whole one
    stays as it is.
    """
    if kernel.whole:
        return kernel.bind(names, actions)
    on_actions, on_contexts = kernel.split(actions, names)
    return Separable(on_actions, on_contexts).bind(names, actions)
