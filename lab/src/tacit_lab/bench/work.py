"""The work that is timed: one action, four contexts, a product kernel; records are made where they
are used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tacit._typing import Array, Floats
from tacit.core import Budget
from tacit.design import Design, DesignOptions
from tacit.design.public import PublicPoints, moments_over, second_moment
from tacit.domains import Box
from tacit.kernels import Matern
from tacit.numerics.engine import Engine
from tacit.problem import Problem
from tacit.progress import silent

BUDGET = Budget(epsilon=1.0, delta=1e-6)
# Records made at a time, a multiple of every block: memory does not grow with their number.
PIECE = 2**20
SLICE = 2**16  # records added at a time on a CPU


def problem() -> Problem:
    return Problem(
        actions=Box([0.0], [1.0], names=["x"]),
        contexts=Box([0.0] * 4, [1.0] * 4, names=list("abcd")),
        kernel=Matern(2.5, 0.3),
        reward_range=(-1.0, 1.0),
    )


def design(
    rank: int, horizon: int, points: int, on: Engine, whole: Problem | None = None
) -> Design:
    """Landmarks are random public points, so that the rank is exactly what was asked for."""
    given = whole or problem()
    rng = np.random.default_rng(0)
    return Design.build(
        given,
        horizon=horizon,
        budget=BUDGET,
        rng=rng,
        passes=1,
        options=DesignOptions(
            landmarks=given.public_points(rank, rng),
            public_points=points,
            device=on,
        ),
    )


def sum_points(design: Design, factors: tuple[Floats, Floats], points: int, on: Engine) -> None:
    """What a design sums over so many public points; its factorisations do not grow with them."""
    supply = PublicPoints(design.problem, points, np.random.default_rng(0))
    second_moment(design.features, supply, on, silent)
    moments_over(design.features, factors, design.clip, supply, on, silent)


def records(total: int, on: Engine, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Points and rewards in pieces, made on the device."""
    rng = np.random.default_rng(seed)
    for start in range(0, total, PIECE):
        n = min(PIECE, total - start)
        if on.device is None:
            yield rng.random((n, 5)), rng.uniform(-1.0, 1.0, n)
        else:
            import torch

            torch.manual_seed(seed + start)
            made: dict[str, Any] = {"dtype": torch.float64, "device": on.device}
            yield torch.rand((n, 5), **made), 2.0 * torch.rand(n, **made) - 1.0


def seconds(work: Callable[[], Any], repeats: int = 1) -> float:
    """The best of a few runs: machines are shared."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def add_seconds(
    design: Design, total: int, on: Engine, between: Callable[[], None] = lambda: None
) -> float:
    """The time to add `total` records, without the time to make them, or that of what is done
    `between` pieces."""
    warm = design.statistic(on)  # one block first, so that nothing is new
    for points, y in records(min(total, on.rows), on):
        warm.add_points(points, y)
    statistic = design.statistic(on)
    spent = 0.0
    piece = SLICE if on.device is None else PIECE
    for points, y in records(total, on):
        for start in range(0, len(y), piece):
            started = time.perf_counter()
            statistic.add_points(points[start : start + piece], y[start : start + piece])
            spent += time.perf_counter() - started
            between()
    return spent
