"""Kernels of the scaled distance `r = |(a - b) / lengthscale|`, all equal to 1 at `r = 0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from array_api_compat import array_namespace

from tacit._typing import Array
from tacit.errors import InputError
from tacit.kernels.base import Kernel, _device, finite

Lengthscale = float | Sequence[float]
CLOSEST = 1e-8  # exp(-r) has a kink at 0: for points closer than this the slope is set to 0


def _checked(lengthscale: Lengthscale) -> float | tuple[float, ...]:
    many = isinstance(lengthscale, Sequence) or getattr(lengthscale, "ndim", 0) == 1
    values: tuple[Any, ...] = (lengthscale,)
    if many:
        values = tuple(lengthscale)  # type: ignore[arg-type]
    if not values or not all(finite(value) and value > 0 for value in values):
        raise InputError(
            "lengthscale must be a positive number, or one per dimension, in units of the box; "
            f"got {lengthscale!r}."
        )
    numbers = tuple(float(value) for value in values)
    return numbers if many else numbers[0]


class Stationary(Kernel):
    """The base of these kernels: lengthscales, one for all columns or one per column, and the
    squared distance."""

    lengthscale: Lengthscale

    @property
    def stretch(self) -> float:
        """The factor by which `squared_distance` multiplies r^2, as `of_square` expects it. It goes
        into the lengthscales and so costs nothing."""
        return 1.0

    @abstractmethod
    def of_square(self, r2: Array) -> Array:
        """The kernel as a function of the stretched squared distance. May overwrite its
        argument."""

    @abstractmethod
    def with_steepness(self, r2: Array) -> tuple[Array, Array]:
        """The kernel and -2 dk / d r^2 (of the distance that is not stretched). Leaves its argument
        as it is."""

    def __call__(self, A: Array, B: Array) -> Array:
        return self.of_square(self.squared_distance(A, B))

    def squared_distance(self, A: Array, B: Array) -> Array:
        # |a|^2 + |b|^2 - 2 a'b around the middle of the box: one matrix product with little
        # cancellation.
        xp = array_namespace(A, B)
        A = A - 0.5
        B = B - 0.5
        scale = xp.asarray(self.lengthscale, dtype=A.dtype, device=_device(A)) / self.stretch**0.5
        A = A / scale
        B = B / scale
        # The squared norms come in as two more columns: |a|^2 next to 1, and 1 next to |b|^2.
        normA = xp.sum(A * A, axis=1)[:, None]
        normB = xp.sum(B * B, axis=1)[:, None]
        left = xp.concat([-2.0 * A, normA, xp.ones_like(A[:, :1])], axis=1)
        right = xp.concat([B, xp.ones_like(B[:, :1]), normB], axis=1)
        return xp.clip(left @ right.T, min=0.0)

    def bind(self, names: Sequence[str], actions: int) -> Kernel:
        if isinstance(self.lengthscale, Sequence) and len(self.lengthscale) != len(names):
            raise InputError(
                f"{len(self.lengthscale)} lengthscales do not fit {len(names)} columns "
                f"({', '.join(names)}): give one number, or one per column."
            )
        return self

    def split(self, at: int, names: Sequence[str]) -> tuple[Kernel, Kernel]:
        self.bind(names, at)
        if not isinstance(self.lengthscale, Sequence):
            return self, self
        left = replace(self, lengthscale=tuple(self.lengthscale[:at]))  # type: ignore[type-var]
        right = replace(self, lengthscale=tuple(self.lengthscale[at:]))  # type: ignore[type-var]
        return left, right


@dataclass(frozen=True)
class RBF(Stationary):
    """exp(-r^2 / 2)"""

    lengthscale: Lengthscale = 0.3

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _checked(self.lengthscale))

    def of_square(self, r2: Array) -> Array:
        r2 *= -0.5
        return array_namespace(r2).exp(r2)

    def with_steepness(self, r2: Array) -> tuple[Array, Array]:
        k = array_namespace(r2).exp(-0.5 * r2)
        return k, k


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """(1 + r^2 / (2 alpha))^(-alpha)"""

    lengthscale: Lengthscale = 0.3
    alpha: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _checked(self.lengthscale))
        if not (finite(self.alpha) and self.alpha > 0):
            raise InputError(f"alpha must be positive, got {self.alpha!r}.")
        object.__setattr__(self, "alpha", float(self.alpha))

    def of_square(self, r2: Array) -> Array:
        r2 *= 1.0 / (2.0 * self.alpha)
        r2 += 1.0
        return r2 ** (-self.alpha)

    def with_steepness(self, r2: Array) -> tuple[Array, Array]:
        base = 1.0 + r2 / (2.0 * self.alpha)
        k = base ** (-self.alpha)
        return k, k / base


@dataclass(frozen=True)
class Matern(Stationary):
    """Matern kernels of three smoothnesses nu, with s = sqrt(2 nu) r:

    1/2: exp(-s);  3/2: (1 + s) exp(-s);  5/2: (1 + s + s^2 / 3) exp(-s)
    """

    smoothness: float = 2.5
    lengthscale: Lengthscale = 0.3

    def __post_init__(self) -> None:
        if self.smoothness not in (0.5, 1.5, 2.5):
            raise InputError(
                f"smoothness must be 0.5, 1.5 or 2.5, got {self.smoothness!r}: use RBF for the "
                "limit."
            )
        object.__setattr__(self, "smoothness", float(self.smoothness))
        object.__setattr__(self, "lengthscale", _checked(self.lengthscale))

    @property
    def stretch(self) -> float:
        return 2.0 * self.smoothness  # s^2 = 2 nu r^2

    def squared_distance(self, A: Array, B: Array) -> Array:
        if self.smoothness > 1:
            return super().squared_distance(A, B)
        # exp(-r) has a kink at 0, where the matrix product would be off by 1e-8 in r: sum squared
        # differences instead.
        xp = array_namespace(A, B)
        A = A - 0.5
        B = B - 0.5
        scale = xp.asarray(self.lengthscale, dtype=A.dtype, device=_device(A))
        A = A / scale
        B = B / scale
        r2 = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype, device=_device(A))
        for i in range(A.shape[1]):
            difference = A[:, i][:, None] - B[:, i][None, :]
            difference *= difference
            r2 += difference
        return r2

    def of_square(self, r2: Array) -> Array:
        xp = array_namespace(r2)
        s = xp.sqrt(r2)
        if self.smoothness == 0.5:
            return xp.exp(-s)
        if self.smoothness == 1.5:
            return (1.0 + s) * xp.exp(-s)
        r2 *= 1.0 / 3.0
        r2 += s
        r2 += 1.0
        s *= -1.0
        r2 *= xp.exp(s)
        return r2

    def with_steepness(self, r2: Array) -> tuple[Array, Array]:
        xp = array_namespace(r2)
        s = xp.sqrt(r2)
        e = xp.exp(-s)
        if self.smoothness == 0.5:
            return e, xp.where(s > CLOSEST, e / xp.clip(s, min=CLOSEST), 0.0 * s)
        if self.smoothness == 1.5:
            return e + s * e, 3.0 * e
        rising = e + s * e
        return rising + r2 * e / 3.0, rising * (5.0 / 3.0)
