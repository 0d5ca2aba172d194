"""Means with 95 % confidence intervals over seeds, and comparisons on the same seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tacit._typing import Floats
from tacit_lab.arena.job import Row

CONFIDENCE = 0.95
SMALLEST = 1e-6  # an error of 0 has no logarithm
Key = tuple[str, str, int, float]  # learner, environment, rounds, epsilon
Cell = tuple[str, int]  # environment, seed
Value = Callable[[Row], float]


def error_share(row: Row) -> float:
    """The error after the last round, as a share of uniform play's."""
    return float(row["error_rate"] / row["uniform_error"])


def regret_share(row: Row) -> float:
    """What was lost while learning, as a share of what uniform play loses."""
    return float(row["cumulative_regret"] / (row["rounds"] * row["uniform_error"]))


@dataclass(frozen=True)
class Interval:
    """A mean and what may be said of it. With one seed nothing may: the ends are NaN."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def margin(self) -> float:
        return (self.high - self.low) / 2

    @property
    def ends(self) -> list[float] | None:
        return [self.low, self.high] if self.seeds > 1 else None


def interval(values: Sequence[float]) -> Interval:
    """Student's interval for the mean; NaN throughout where there are no values."""
    n = len(values)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean(values))
    if n < 2:
        return Interval(mean, math.nan, math.nan, n)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def plus_minus(value: Interval, form: str = ".3f") -> str:
    """A mean and half its interval; a single seed has none."""
    if value.ends is None:
        return f"{value.mean:{form}}"
    return f"{value.mean:{form}} ± {value.margin:{form}}"


class Cells:
    """Rows by learner, environment, rounds and epsilon; in each the value of every seed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[Key, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            key = (row["learner"], row["environment"], row["rounds"], row["epsilon"])
            self.rows[key][row["seed"]] = row

    def values(self, key: Key, column: str = "error_rate") -> dict[int, float]:
        return {seed: row[column] for seed, row in self.rows.get(key, {}).items()}

    def measured(self, key: Key, value: Value) -> dict[int, float]:
        """A value of each seed's row."""
        return {seed: value(row) for seed, row in self.rows.get(key, {}).items()}

    def interval(self, key: Key, column: str = "error_rate") -> Interval:
        return interval(list(self.values(key, column).values()))

    def learners(self) -> list[str]:
        return sorted({key[0] for key in self.rows})

    def environments(self) -> list[str]:
        return sorted({key[1] for key in self.rows})

    def rounds(
        self, environment: str, learner: str | None = None, epsilon: float | None = None
    ) -> list[int]:
        return sorted(
            {
                key[2]
                for key in self.rows
                if key[1] == environment and learner in (None, key[0]) and epsilon in (None, key[3])
            }
        )

    def epsilons(self, environment: str) -> list[float]:
        """The finite ones."""
        return sorted(
            {key[3] for key in self.rows if key[1] == environment and math.isfinite(key[3])}
        )


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Interval:
    """The mean of a - b over the seeds that both have."""
    return interval([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])


def slope(curves: Mapping[int, Mapping[int, float]]) -> Interval:
    """The slope of log(mean over seeds) in log(rounds), by least squares; `curves` maps rounds to
    values by seed.

    The interval is a jackknife over seeds: a seed is left out with all of its rounds.
    """
    rounds = sorted(curves)
    seeds = sorted(set.intersection(*(set(curves[T]) for T in rounds)))
    table = np.array([[curves[T][seed] for seed in seeds] for T in rounds])
    point = _log_slope(rounds, table)
    n = len(seeds)
    if n < 2:
        return Interval(point, math.nan, math.nan, n)
    without = [_log_slope(rounds, np.delete(table, i, axis=1)) for i in range(n)]
    half = interval([n * point - (n - 1) * other for other in without]).margin
    return Interval(point, point - half, point + half, n)


def _log_slope(rounds: Sequence[int], table: Floats) -> float:
    means = np.maximum(table.mean(axis=1), SMALLEST)
    return float(np.polyfit(np.log(rounds), np.log(means), 1)[0])


@dataclass(frozen=True)
class Rank:
    """One learner's place. `left` is its share of uniform play's loss, `place` its mean rank, 1 the
    best."""

    learner: str
    left: Interval
    place: float
    environments: int


@dataclass(frozen=True)
class Track:
    """What is ranked: learners at one number of rounds, the private ones at one epsilon, on some
    environments, by a share of uniform play's loss."""

    rounds: int
    epsilon: float
    environments: Sequence[str]
    share: Value = error_share


def ranking(cells: Cells, track: Track, learners: Sequence[str] | None = None) -> list[Rank]:
    """These learners, or all, over what all of them played.

    For each seed the share is averaged over environments; the interval is over seeds. A learner
    that shares less than half with those who played more is left out.
    """
    shares = {}
    for name in cells.learners() if learners is None else learners:
        level = _level(cells, name, track)
        if level is not None:
            shares[name] = _shares(cells, name, level, track)
    # What all played: from the learner with most cells on, each may take away up to half.
    common: set[Cell] = set()
    for name in sorted(shares, key=lambda name: -len(shares[name])):
        both = set(shares[name])
        if common:
            both &= common
        if 2 * len(both) >= len(common):
            common = both
    ranked = {name: table for name, table in shares.items() if common <= set(table)}
    return sorted((_rank(name, ranked, common) for name in ranked), key=lambda rank: rank.left.mean)


def _rank(name: str, shares: Mapping[str, Mapping[Cell, float]], common: set[Cell]) -> Rank:
    by_seed: dict[int, list[float]] = defaultdict(list)
    for cell in common:
        by_seed[cell[1]].append(shares[name][cell])
    place = np.mean(
        [sum(other[cell] < shares[name][cell] for other in shares.values()) for cell in common]
    )
    left = interval([float(np.mean(values)) for values in by_seed.values()])
    return Rank(name, left, 1.0 + float(place), len({cell[0] for cell in common}))


def _level(cells: Cells, learner: str, track: Track) -> float | None:
    """The epsilon under which this learner's rows stand: its own, or inf where it has none."""
    for level in (track.epsilon, math.inf):
        if any((learner, name, track.rounds, level) in cells.rows for name in track.environments):
            return level
    return None


def _shares(cells: Cells, learner: str, epsilon: float, track: Track) -> dict[Cell, float]:
    return {
        (name, seed): track.share(row)
        for name in track.environments
        for seed, row in cells.rows.get((learner, name, track.rounds, epsilon), {}).items()
    }
