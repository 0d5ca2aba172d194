"""Context generators: public guesses of the distribution of contexts, or one that was learned
privately (`release_marginals`).

A generator is anything with `sample(n, rng)`, or a plain function `(n, rng) -> table`. A wrong
guess costs accuracy, never privacy. What it returns must be public: never pass the study's own
contexts. A `PublicSample` that is the very table of records is refused.

>>> def census(n, rng):  # who is expected to come, from public knowledge alone
...     return {"age": np.clip(rng.normal(60, 12, n), 18, 95)}
>>> problem = tacit.Problem(
...     tacit.Box.of(dose=(0, 100)), tacit.Box.of(age=(18, 95)), generator=census
... )
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series

from tacit._typing import Floats, Rng
from tacit.contexts.apart import Memory
from tacit.contexts.marginals import LearnedContexts, release_marginals, simulate_marginals
from tacit.contexts.marks import is_private
from tacit.domains import Domain
from tacit.errors import InputError

__all__ = [
    "Generator",
    "Law",
    "LearnedContexts",
    "PublicSample",
    "is_private",
    "release_marginals",
    "sampler",
    "simulate_marginals",
]


@runtime_checkable
class Generator(Protocol):
    """Draws `n` contexts (or actions) as a table in the user's units."""

    def sample(self, n: int, rng: Rng) -> Any: ...


class PublicSample:
    """Draws with replacement from a table that is already public: a census, a published cohort,
    last year's report.

    Its rows become landmarks and are published with the policy. Records that lie in the same memory
    as the sample are refused when they are added. A copy of them is not noticed: only a comparison
    of values could, and whether that ends in a refusal would itself tell something about the
    records.

    >>> table = {"age": [31, 45, 52, 70]}  # published somewhere already
    >>> sample = tacit.contexts.PublicSample(table)
    >>> problem = tacit.Problem(
    ...     tacit.Box.of(dose=(0, 100)), tacit.Box.of(age=(18, 95)), generator=sample
    ... )
    """

    def __init__(self, table: Any) -> None:
        self.table = table

    def require_apart(self, table: Any, names: Sequence[str]) -> None:
        """Fails if `table`, which holds records, and the sample are the same memory."""
        if Memory.of(self.table, names).overlaps(Memory.of(table, names)):
            raise InputError(
                "the public sample is the data itself, which would be published with the policy: "
                "pass a table that is public already, or learn who comes with "
                "tacit.contexts.release_marginals."
            )

    def points(self, domain: Domain) -> Floats:
        """The complete rows of the sample in unit coordinates."""
        points = domain.encode(domain.read(self.table, "the public sample").columns)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            raise InputError(
                "the public sample has no complete row: pass at least one without gaps."
            )
        return points

    def __repr__(self) -> str:
        return "PublicSample(...)"


class Drawn(PublicSample):
    """A sample that is given in unit coordinates. A design keeps its generator's draws in this
    form, with the mark whether the generator was private."""

    def __init__(self, points: Floats, private: bool = True) -> None:
        self._points = points
        self.private = private

    def points(self, domain: Domain) -> Floats:
        return self._points

    def require_apart(self, table: Any, names: Sequence[str]) -> None:
        """Never fails: drawn points are a copy."""


Law = Generator | PublicSample | Callable[[int, Rng], Any]


def sampler(domain: Domain, law: Law | None) -> Callable[[int, Rng], Floats]:
    """A function that draws unit coordinates of `domain` under `law` (uniform when None)."""
    if law is None:
        return domain.sample_points
    if isinstance(law, PublicSample):
        pool = law.points(domain)
        return lambda n, rng: pool[rng.integers(len(pool), size=n)]
    draw = law.sample if isinstance(law, Generator) else law
    # pandas and polars have a sample() too, of another kind.
    if not callable(draw) or is_into_dataframe(law) or is_into_series(law):
        raise InputError(
            "a generator must be a function (n, rng) -> table or have sample(n, rng), got "
            f"{type(law).__name__}: wrap a table that is already public in "
            "tacit.contexts.PublicSample."
        )

    def points(n: int, rng: Rng) -> Floats:
        table = domain.read(draw(n, rng), "the generator's table")
        if table.rows != n:
            raise InputError(f"the generator was asked for {n} rows and returned {table.rows}.")
        drawn = domain.encode(table.columns)
        if not np.isfinite(drawn).all():
            raise InputError(
                "the generator returned missing or unknown values: every row must be complete."
            )
        return drawn

    return points
