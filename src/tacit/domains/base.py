"""The base class of domains. Inside Tacit a point is its *unit coordinates*: a row of
[0, 1]^dimension.

Lengthscales are in these units, so a kernel does not care whether a weight is in kilograms or
pounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.errors import InputError
from tacit.tables import Columns, Table, read


class Domain(ABC):
    """A public set of actions or contexts, with names for its coordinates.

    A domain of one's own is shown private records one at a time (`tacit.domains.records`).
    """

    names: tuple[str, ...]
    fills: bool = False  # whether a missing or unknown value is read as something that was declared
    unnamed: bool = False  # whether nobody gave it names, so that a problem may choose others

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of unit coordinates."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """One name per unit coordinate: that of the column which it comes from."""
        if len(self.names) == self.dimension:
            return tuple(self.names)
        return tuple(self.names) * self.dimension  # the features of an item

    @property
    @abstractmethod
    def uniform_density(self) -> float:
        """The density of a uniform draw, in the user's own units: a probability on finite sets.

        It is the propensity of an action that was drawn uniformly. On a simplex it is with respect
        to its own area, in one dimension less than it has parts.
        """

    @abstractmethod
    def encode(self, columns: Columns) -> Floats:
        """User's columns to unit coordinates, projected into the domain; a row with a missing or
        unknown value is NaN, unless the domain fills it."""

    @abstractmethod
    def decode(self, points: Floats) -> Columns:
        """Unit coordinates to the user's columns."""

    @abstractmethod
    def sample_points(self, n: int, rng: Rng) -> Floats:
        """`n` uniform draws, in unit coordinates: no rows where `n` is 0."""

    @abstractmethod
    def project_points(self, points: Floats) -> Floats:
        """The nearest point of the domain to each finite row, in unit coordinates."""

    @property
    @abstractmethod
    def cube_dimension(self) -> int:
        """How many uniform numbers `from_cube` makes a point of."""

    @abstractmethod
    def from_cube(self, cube: Floats) -> Floats:
        """Rows of uniform numbers in (0, 1) to uniform points of the domain. A low-discrepancy set
        in the cube becomes one in the domain."""

    def candidate_points(self, n: int) -> Floats:
        """About `n` well-spread points, always the same ones; all of them where the domain is
        finite."""
        return self.from_cube(sobol(n, self.cube_dimension))

    @property
    def continuous(self) -> bool:
        """Whether a point can be moved a little within the domain, so that a maximum can be
        refined."""
        return True

    def sample(self, n: int, rng: Rng) -> NDArray[Any]:
        """`n` uniform draws in the user's units, one row each."""
        if not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng must be a generator, got {type(rng).__name__}: pass "
                "numpy.random.default_rng(seed)."
            )
        return self._rows(self.sample_points(n, rng))

    def project(self, values: Any) -> NDArray[Any]:
        """The nearest member of the domain to each row of a table, in the user's units."""
        return self._rows(self.encode(self.read(values).columns))

    def candidates(self, n: int) -> NDArray[Any]:
        """About `n` well-spread members, in the user's units."""
        return self._rows(self.candidate_points(n))

    def read(self, values: Any, what: str = "the table") -> Table:
        """A public table, or a visitor's. Private records are read by
        `tacit.domains.record_points`."""
        return read(values, self.names, what)

    def _rows(self, points: Floats) -> NDArray[Any]:
        columns = list(self.decode(points).values())
        if len(columns) == 1 and columns[0].dtype.kind not in "fiu":
            return columns[0]  # a column of labels
        return np.column_stack(columns)


def sobol(n: int, dimension: int) -> Floats:
    """The first `n` Sobol points, unscrambled and shifted off the corner: the same on every
    machine."""
    from scipy.stats import qmc

    n = count(n)
    power = max(0, int(np.ceil(np.log2(max(n, 1)))))
    points = qmc.Sobol(dimension, scramble=False).random_base2(power)[:n] + 0.5 / 2**power
    return np.asarray(points, dtype=np.float64)


def count(n: Any) -> int:
    """How many points are asked for, checked."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InputError(f"the number of points must be a whole number of at least 0, got {n!r}.")
    return int(n)


def bounded(points: Floats) -> Floats:
    """Infinities to the largest finite numbers, so that projections stay defined; NaN stays NaN."""
    return np.nan_to_num(points, nan=np.nan)
