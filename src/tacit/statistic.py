"""The statistic: the one sum through which private records enter, and the one way out of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from array_api_compat import device

from tacit._typing import Array, Floats
from tacit.core import (
    Cohort,
    Ledger,
    PrivateSum,
    Released,
    as_ledger,
    private_sum,
    release_gaussian,
    simulate_gaussian,
)
from tacit.design import Design, Release
from tacit.domains import Domain, kind_of_column, record_points, require_numbers
from tacit.errors import InputError, StateError
from tacit.numerics.engine import Engine, engine
from tacit.policy import Policy
from tacit.progress import Progress, silent
from tacit.quiet import quiet
from tacit.tables import is_column, labels, vector


class Statistic:
    """b = sum_i q_s(w_i) y_i in exact integers. Private: it shows its size and nothing else.

    >>> design = tacit.Design.build(problem, horizon=2000, budget=budget, rng=7, passes=1)
    >>> statistic = design.statistic()
    >>> statistic = statistic.add(log, log, log["reward"])
    >>> statistic.records
    2000
    >>> policy = statistic.release(ledger="sqlite:///steps.db", request="spring")
    """

    def __init__(
        self, design: Design, device: str | Engine | None = None, cohort: Cohort | None = None
    ) -> None:
        _require_same_people(design, cohort)
        self.design = design
        self._engine = engine(device)
        self._rows = design.writer(self._engine)
        self._sum = private_sum(design.encoding, design.unit, cohort)
        self._request = f"release-{secrets.token_hex(8)}"

    @property
    def records(self) -> int:
        """How many records are in, complete or not. Public."""
        return self._sum.records

    @quiet()
    def add(
        self,
        actions: Any,
        contexts: Any,
        rewards: Any,
        *,
        propensity: Any = None,
        users: Any = None,
        first: int | None = None,
        progress: Progress = silent,
    ) -> Statistic:
        """Adds records from NumPy, pandas, polars or Arrow, in as many pieces as one likes.

        | value                              | what happens                              |
        |------------------------------------|-------------------------------------------|
        | reward outside its range           | clipped to it                             |
        | action or context outside its domain | projected to it                         |
        | NaN, None, text, an unknown label  | the record counts, and adds nothing,      |
        |                                    | unless a context has a fill for it        |
        | a row that lacks a column          | that cell is missing                      |
        | propensity below 0, 0, infinite    | the record counts, and adds nothing       |

        None of these raises: an error that depends on a private value would leak it. A column whose
        type cannot hold what the problem declares, such as text for a box, does raise. One reward
        that is no column goes with one record. With `unit="user"` pass one user id per record;
        records without one count as one user's. In a statistic of a cohort `first` is the number of
        the first of these records in the study.

        `propensity` is a column, too: how likely the action was that was played, given its context,
        as a probability of finite actions and a density in the user's units of others. Records of
        a design with a `max_weight` need it, and no others have any use for it.
        """
        if users is not None and self.design.unit == "record":
            raise InputError(
                "this design protects single records, which have no users: leave users out, or "
                'build it with unit="user".'
            )
        problem = self.design.problem
        self._require_propensities(propensity is not None)
        problem.require_apart(contexts, actions)
        single = not is_column(rewards)
        if not single:
            require_numbers(kind_of_column(rewards), "reward", "the rewards")
        action_points = record_points(problem.actions, actions, "actions", single=single)
        context_points = record_points(problem.contexts, contexts, "contexts", single=single)
        n = len(context_points)
        if len(action_points) != n:
            raise InputError(
                f"actions and contexts must have as many rows, got {len(action_points)} and {n}."
            )
        y = problem.scale_reward(vector(rewards, n, "rewards"))
        weights = None
        if propensity is not None:
            p = vector(propensity, n, "propensity")
            weights = propensity_weights(p, problem.actions, self.design.max_weight)
        ids = None if users is None else labels(users, n, "users")
        points = np.hstack([action_points, context_points])
        self.add_points(points, y, ids, first, progress, weights)
        return self

    @quiet()
    def add_points(
        self,
        points: Floats,
        y: Floats,
        users: Sequence[Any] | None = None,
        first: int | None = None,
        progress: Progress = silent,
        weights: Floats | None = None,
        arms: Floats | None = None,
    ) -> None:
        """The same in unit coordinates, with rewards scaled to [-1, 1]: all of them are added, or
        none. `weights` are shares of the design's `max_weight`; outside of [0, 1] they add nothing.
        `arms` are rows of `tacit.evaluation.arms.arm_entries`, for a design that has a block of
        them; without any, no record is of an arm.
        """
        self._require_propensities(weights is not None)
        total = points.shape[0]
        if weights is None:
            weights = np.ones(total)
        if arms is not None and not self.design.layout.arm_share:
            raise InputError(
                "this design has no block for arms: leave them out, or make it with with_arms()."
            )
        height = self._engine.rows
        self._sum.reserve(total, first)
        blocks = [slice(start, min(start + height, total)) for start in range(0, total, height)]

        @quiet()  # once more, since this runs in threads of its own
        def collect(mine: list[slice]) -> PrivateSum:
            part = private_sum(self.design.encoding, self.design.unit, self._sum.cohort)
            for at in mine:
                ids = None if users is None else users[at]
                number = None if first is None else int(first) + at.start
                entries = None if arms is None else arms[at, :]
                self._add_block(part, points[at, :], y[at], weights[at], ids, number, entries)
                if mine[0].start == 0:
                    progress("adding records", at.start, total)
            return part

        whole, *rest = self._engine.parallel(collect, blocks)
        for part in rest:
            whole.merge(part)
        self._sum.merge(whole)
        progress("adding records", total, total)

    def merge(self, other: Statistic) -> Statistic:
        """Takes over the records of another statistic of the same design: exact, in any order. The
        other is spent."""
        if not isinstance(other, Statistic) or other.design.fingerprint != self.design.fingerprint:
            raise InputError(
                "only statistics of one and the same design merge: make both with "
                "design.statistic()."
            )
        self._sum.merge(other._sum)
        return self

    def release(self, *, ledger: Ledger | str, request: str | None = None) -> Policy:
        """Spends the design's budget from `ledger` and returns the policy.

        `ledger` may be a URL, where a ledger is made for all passes of the design if there is none.
        The same request on the same ledger returns the same policy, never a fresh draw. Without a
        `request` each statistic has its own.
        """
        self.require_records()
        about = {"design": self.design.fingerprint, "budget": str(self.design.budget)}
        account = as_ledger(ledger, self.design.total_budget)
        released = release_gaussian(
            self._sum, self.design.budget, account, request or self._request, about
        )
        return self._policy(released)

    def require_records(self) -> None:
        """Fails if there are none: a release of nothing would be charged like any other."""
        if not self.records:
            raise StateError("there are no records to release: add at least one first.")

    def simulate_release(self, rng: np.random.Generator) -> Policy:
        """A simulated release, from a seeded generator: free, reproducible, and marked
        NOT private."""
        return self._policy(simulate_gaussian(self._sum, self.design.budget, rng))

    def _require_propensities(self, given: bool) -> None:
        """Fails if the design takes weighted records and there are no propensities, or the other
        way round. Both are public."""
        weighted = self.design.max_weight != 1.0
        if weighted and not given:
            raise InputError(
                "this design takes records with propensities: pass propensity=..., one per record, "
                "or build it without max_weight."
            )
        if given and not weighted:
            raise InputError(
                "this design takes records of uniform play, or of the problem's play: leave the "
                "propensity out, or build it with DesignOptions(max_weight=5)."
            )

    def _policy(self, released: Released) -> Policy:
        return Policy.from_release(Release(self.design, released, _people(self._sum.cohort)))

    def _add_block(
        self,
        part: PrivateSum,
        points: Array,
        y: Array,
        weights: Array,
        users: Sequence[Any] | None,
        first: int | None,
        arms: Array | None = None,
    ) -> None:
        """A block of always the same shape: one record cannot change the rounding of another."""
        on = self._engine
        n = points.shape[0]
        xp = on.xp
        points = on.put(points)
        y = on.put(y)
        weights = on.put(weights)
        known = xp.all(xp.isfinite(points), axis=1) & xp.isfinite(y)
        known = known & (weights >= 0.0) & (weights <= 1.0)  # false for NaN
        points = xp.where(known[:, None], points, 0.5)
        y = xp.where(known, y, 0.0)
        weights = xp.where(known, weights, 0.0)
        counts = xp.astype(known, xp.float64)
        if n < on.rows:
            points = _padded(xp, points, on.rows, 0.5)
            y = _padded(xp, y, on.rows, 0.0)
            counts = _padded(xp, counts, on.rows, 0.0)
            weights = _padded(xp, weights, on.rows, 0.0)
        rows = self._rows(points, y, counts, weights)
        if arms is not None:
            arms = _padded(xp, on.put(arms), on.rows, 0.0)
            rows = self.design.layout.with_arms(rows, arms)
        part.add(rows, records=n, users=users, first=first)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError(
            "a statistic is not pickled in the clear: merge it in this process, or release it."
        )

    def __repr__(self) -> str:
        return f"Statistic(<private>, records={self.records}, rank={self.design.rank})"


def _people(cohort: Cohort | None) -> str:
    """The name of the people that releases are about; none for everybody."""
    return "" if cohort is None else cohort.name


def _require_same_people(design: Design, cohort: Cohort | None) -> None:
    """Fails if a design of a later pass is used for other people than the passes before it.

    Its records add what those passes got wrong, and the decoder takes the mean reward from the
    first of them: that of other people would be read as the mean of their residuals.
    """
    if design.cohort is not None and cohort != design.cohort:
        raise InputError(
            f"this design is of the records of cohort {design.cohort.name!r}: make the statistic "
            "with cohort=design.cohort."
        )
    for release in design.previous:
        if release.people != _people(cohort):
            before = f"cohort {release.people!r}" if release.people else "everybody"
            now = "everybody" if cohort is None else f"cohort {cohort.name!r}"
            raise InputError(
                f"this design is of another pass over the records of {before}, got {now}: make one "
                "for other people with Design.build."
            )


def propensity_weights(p: Floats, actions: Domain, max_weight: float) -> Floats:
    """The weights of records by their propensities, as shares of the largest: each from its own.

        w / w_max = min(u / p, w_max) / w_max,   where u is the density of uniform play

    NaN where a propensity is not positive and finite, or above 1 where actions are finite.
    """
    most = np.inf if actions.continuous else 1.0
    good = (p > 0.0) & (p <= most) & (p < np.inf)  # false for NaN
    weights = np.minimum(actions.uniform_density / np.where(good, p, 1.0), max_weight) / max_weight
    return np.where(good, weights, np.nan)


def _padded(xp: Any, array: Array, height: int, fill: float) -> Array:
    blank = xp.full(
        (height - array.shape[0], *array.shape[1:]), fill, dtype=array.dtype, device=device(array)
    )
    return xp.concat([array, blank], axis=0)
