"""The lengthscales of a kernel, one per column, wherever in the kernel they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tacit.kernels.base import Kernel
from tacit.kernels.centred import Centred
from tacit.kernels.compose import Joint, On, Product, Separable, Sum
from tacit.kernels.pooled import Pooled
from tacit.kernels.stationary import Stationary


def spread(kernel: Kernel, columns: int) -> Kernel:
    """The same kernel with one lengthscale per column written out."""
    if isinstance(kernel, Stationary):
        if isinstance(kernel.lengthscale, Sequence):
            return kernel
        return dataclasses.replace(kernel, lengthscale=(kernel.lengthscale,) * columns)  # type: ignore[type-var]
    if isinstance(kernel, Separable):
        assert kernel.at is not None
        actions = spread(kernel.actions, kernel.at)
        contexts = spread(kernel.contexts, columns - kernel.at)
        return Separable(actions, contexts, kernel.at)
    if isinstance(kernel, Product | Sum):
        return dataclasses.replace(
            kernel, kernels=tuple(spread(k, columns) for k in kernel.kernels)
        )
    if isinstance(kernel, On):
        return On(spread(kernel.kernel, len(kernel.columns)), kernel.columns)
    if isinstance(kernel, Pooled):
        return dataclasses.replace(kernel, kernel=spread(kernel.kernel, columns))
    if isinstance(kernel, Joint | Centred):
        return dataclasses.replace(kernel, kernel=spread(kernel.kernel, columns))
    return kernel


def lengthscales(kernel: Kernel) -> list[float]:
    """All lengthscales of a kernel, in a fixed order."""
    return [value for leaf in _leaves(kernel) for value in leaf.lengthscale]  # type: ignore[union-attr]


def action_lengthscales(kernel: Kernel, columns: int) -> int:
    """How many of the lengthscales, the first ones, belong to actions with so many columns. Labels
    have none."""
    if isinstance(kernel, Separable):
        return len(lengthscales(kernel.actions))
    return columns


def with_lengthscales(kernel: Kernel, values: Sequence[float]) -> Kernel:
    """The same kernel with these lengthscales, in the order of `lengthscales`."""
    rest = iter(values)

    def change(leaf: Any) -> Kernel:
        return dataclasses.replace(leaf, lengthscale=tuple(next(rest) for _ in leaf.lengthscale))

    return map_leaves(kernel, change)


def map_leaves(kernel: Any, change: Callable[[Stationary], Kernel]) -> Any:
    """The same composition with every stationary kernel in it changed, in the order of
    `lengthscales`."""
    if isinstance(kernel, Stationary):
        return change(kernel)
    if isinstance(kernel, tuple) and kernel and isinstance(kernel[0], Kernel):
        return tuple(map_leaves(k, change) for k in kernel)
    if isinstance(kernel, Kernel) and dataclasses.is_dataclass(kernel):
        changes = {
            f.name: map_leaves(getattr(kernel, f.name), change) for f in dataclasses.fields(kernel)
        }
        return dataclasses.replace(kernel, **changes)
    return kernel


def _leaves(kernel: Kernel) -> list[Stationary]:
    found: list[Stationary] = []

    def note(leaf: Stationary) -> Stationary:
        found.append(leaf)
        return leaf

    map_leaves(kernel, note)
    return found
