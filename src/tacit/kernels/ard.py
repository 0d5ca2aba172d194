"""The lengthscales of a kernel, one per column, wherever in the kernel they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from tacit.kernels.base import Kernel
from tacit.kernels.compose import Joint, On, Product, Separable, Sum
from tacit.kernels.stationary import Stationary


def spread(kernel: Kernel, columns: int) -> Kernel:
    """The same kernel with one lengthscale per column written out."""
    if isinstance(kernel, Stationary):
        scale = kernel.lengthscale
        return dataclasses.replace(kernel, lengthscale=scale if isinstance(scale, Sequence) else (scale,) * columns)  # type: ignore[type-var]
    if isinstance(kernel, Separable):
        assert kernel.at is not None
        parts = spread(kernel.actions, kernel.at), spread(kernel.contexts, columns - kernel.at)
        return Separable(*parts, kernel.at)
    if isinstance(kernel, Product | Sum):
        return dataclasses.replace(kernel, kernels=tuple(spread(k, columns) for k in kernel.kernels))
    if isinstance(kernel, On):
        return On(spread(kernel.kernel, len(kernel.columns)), kernel.columns)
    if isinstance(kernel, Joint):
        return Joint(spread(kernel.kernel, columns))
    return kernel


def lengthscales(kernel: Kernel) -> list[float]:
    """All of them, in a fixed order."""
    return [value for leaf in _leaves(kernel) for value in leaf.lengthscale]  # type: ignore[union-attr]


def with_lengthscales(kernel: Kernel, values: Sequence[float]) -> Kernel:
    """The same kernel with these instead."""
    return _replaced(kernel, iter(values))


def _leaves(kernel: Any) -> Iterator[Stationary]:
    if isinstance(kernel, Stationary):
        yield kernel
    elif isinstance(kernel, Kernel):
        for child in _children(kernel):
            yield from _leaves(child)


def _children(kernel: Kernel) -> Iterator[Kernel]:
    for field in dataclasses.fields(kernel):  # type: ignore[arg-type]
        value = getattr(kernel, field.name)
        yield from (value if isinstance(value, tuple) and value and isinstance(value[0], Kernel) else ())
        if isinstance(value, Kernel):
            yield value


def _replaced(kernel: Any, values: Iterator[float]) -> Any:
    if isinstance(kernel, Stationary):
        return dataclasses.replace(kernel, lengthscale=tuple(next(values) for _ in kernel.lengthscale))  # type: ignore[type-var, union-attr]
    if isinstance(kernel, tuple) and kernel and isinstance(kernel[0], Kernel):
        return tuple(_replaced(k, values) for k in kernel)
    if isinstance(kernel, Kernel) and dataclasses.is_dataclass(kernel):
        changes = {f.name: _replaced(getattr(kernel, f.name), values) for f in dataclasses.fields(kernel)}
        return dataclasses.replace(kernel, **changes)
    return kernel
