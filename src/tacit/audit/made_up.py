"""Made-up studies: designs with one and with several columns of contexts, and sums of made-up
records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tacit.audit.ledger import temporary_database
from tacit.audit.settings import HORIZON
from tacit.core import Budget, PrivateSum
from tacit.core.database import connect
from tacit.design import Design, DesignOptions
from tacit.domains import Box, Categories, Domain, Mixed
from tacit.kernels import Matern
from tacit.problem import Problem
from tacit.study import Study
from tacit.study.store import Store

RECORDS = 40  # in a made-up sum
ONE = Box([18.0], [95.0], names=["age"])
SEVERAL = Mixed(
    [
        Box([18.0, 40.0], [95.0, 140.0], names=["age", "weight"]),
        Categories(["no", "mild", "severe"], "ill"),
    ]
)


def made_up_designs(unit: str) -> tuple[Design, ...]:
    """Two small studies: contexts of one column, and of several columns of two kinds."""
    return made_up_design(unit, ONE), made_up_design(unit, SEVERAL)


@lru_cache
def made_up_design(unit: str, contexts: Domain = SEVERAL) -> Design:
    """A small study of doses, with every block that a release can have."""
    problem = Problem(
        actions=Box([0.0], [100.0], names=["dose"]),
        contexts=contexts,
        kernel=Matern(2.5, 0.5),
        reward_range=(0.0, 1.0),
    )
    return Design.build(
        problem,
        horizon=HORIZON,
        budget=Budget(epsilon=1.0, delta=1e-6),
        rng=0,
        unit=unit,
        passes=1,
        options=DesignOptions(rank=16, tau=10.0, public_points=2000),
    )


def made_up_sum(design: Design) -> PrivateSum:
    """The private sum of some made-up records of a study."""
    rng = np.random.default_rng(0)
    statistic = design.statistic()
    points = rng.random((RECORDS, design.features.U.shape[1]))
    rewards = rng.uniform(-1.0, 1.0, size=RECORDS)
    users = [f"user {i % 7}" for i in range(RECORDS)]
    statistic.add_points(points, rewards, users)
    return statistic._sum


@contextmanager
def temporary_study(design: Design, horizon: int) -> Iterator[Study]:
    """A study of this design on a database of its own, that is gone afterwards, for `horizon`
    rounds."""
    longer = replace(design, horizon=horizon)
    with temporary_database() as url:
        store = Store(connect(url))
        store.create(longer.problem.spec(), longer.facts(), longer.arrays(), design.total_budget)
        yield Study(store, longer)
