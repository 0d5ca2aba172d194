"""Small problems and studies that several tests share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import typer.main
import typer.testing
from sqlalchemy import Connection, Engine, event

import tacit
from tacit._typing import Floats

TESTS = Path(__file__).parent
ROOT = TESTS.parent
BUDGET = tacit.Budget(epsilon=1.0, delta=1e-6)
SMALL: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000, "rng": 0}

# Numbers of the library that make small fits quick, and policies less accurate: landmarks, `tau`,
# moments and the laws of contexts and residuals from fewer points, hyperparameters from fewer
# steps.
COARSE_TUNING = {
    "tacit.design.choices.COARSE_RANK": 30,
    "tacit.design.choices.TUNING_POINTS": 512,
}
COARSE = COARSE_TUNING | {
    "tacit.decoder.evidence.STEPS": 4,
    "tacit.decoder.evidence.FEW_STEPS": 2,
    "tacit.decoder.context_law.POINTS": 4096,
    "tacit.design.building.GENERATOR_SAMPLE": 2048,
    "tacit.design.building.CLIP_POINTS": 1024,
    "tacit.design.choices.POOL": 1024,
    "tacit.design.public.LEAST_POINTS": 4096,
    "tacit.residual.refine.POINTS": 1024,
    "tacit.residual.expected.POINTS": 1024,
    "tacit.residual.reward_law.MEANS": 6,
    "tacit.residual.reward_law.TILTS": 20,
}

PROBLEM = """
horizon = 2000

[actions]
type = "box"
low = [0.0]
high = [100.0]
names = ["dose"]

[contexts]
type = "box"
low = [18, 40]
high = [95, 140]
names = ["age", "weight"]

[kernel]
type = "matern"
lengthscale = 0.5

[reward]
range = [0.0, 1.0]

[budget]
epsilon = 1.0
delta = 1e-6

[play]
law = "uniform"
"""


def small_problem() -> tacit.Problem:
    return tacit.Problem(
        actions=tacit.Box([0.0], [100.0], names=["dose"]),
        contexts=tacit.Box([18, 40], [95, 140], names=["age", "weight"]),
        kernel=tacit.Matern(2.5, 0.5),
        reward_range=(0.0, 1.0),
    )


def unit_problem(**given: Any) -> tacit.Problem:
    """One action `x` and one context `c`, both in [0, 1]; other fields as given."""
    return tacit.Problem(
        actions=tacit.Box([0.0], [1.0], names=["x"]),
        contexts=tacit.Box([0.0], [1.0], names=["c"]),
        **given,
    )


def take_options(given: dict[str, Any]) -> tacit.DesignOptions:
    """The design options among keywords, which are removed from them."""
    names = [field.name for field in fields(tacit.DesignOptions)]
    return tacit.DesignOptions(**{name: given.pop(name) for name in names if name in given})


def build_design(problem: tacit.Problem, **given: Any) -> tacit.Design:
    """`Design.build` in one pass, with options as plain keywords."""
    options = take_options(given)
    return tacit.Design.build(problem, options=options, **{"passes": 1} | given)


def create_study(url: str, problem: tacit.Problem, **given: Any) -> tacit.Study:
    """`Study.create` with options as plain keywords, and reproducible coins for `rng=`."""
    if "rng" in given:
        given["seed"] = given.pop("rng")
    options = take_options(given)
    return tacit.Study.create(url, problem, options=options, **given)


def small_design(
    horizon: int = 1000, rank: int = 20, seed: int = 0, **options: Any
) -> tacit.Design:
    common: dict[str, Any] = {"budget": BUDGET, "tau": 10.0, "public_points": 2000, "plain": True}
    return build_design(small_problem(), horizon=horizon, rng=seed, rank=rank, **common | options)


def user_design(horizon: int = 1000, **given: Any) -> tacit.Design:
    """A small design that protects whole users."""
    given = SMALL | {"unit": "user"} | given
    return build_design(small_problem(), horizon=horizon, budget=BUDGET, **given)


def user_study(url: str, problem: tacit.Problem, horizon: int) -> tacit.Study:
    """A small study that protects whole users."""
    return create_study(url, problem, horizon=horizon, budget=BUDGET, unit="user", **SMALL)


def records(n: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Uniform play on a toy dosing rule: the right dose falls with age."""
    rng = np.random.default_rng(seed)
    problem = small_problem()
    doses = problem.actions.sample(n, rng)
    contexts = problem.contexts.sample(n, rng)
    right = 90 - contexts[:, 0] / 2
    return doses, contexts, 1 - np.minimum(1, np.abs(doses[:, 0] - right) / 50)


def sqlite(path: Path, name: str = "study.db") -> str:
    return f"sqlite:///{path / name}"


@contextmanager
def silence() -> Iterator[None]:
    """No warning at all, except that a policy is not worth using, which released numbers say. (That
    warnings are errors in tests does not suffice: an error can be swallowed.)"""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", tacit.PolicyWarning)
        yield
    assert [str(warning.message) for warning in heard] == []


def _do_not_wait(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.connection.cursor().execute("PRAGMA synchronous=OFF")


def do_not_wait_for_the_disk() -> None:
    """From now on no connection of this process to a SQLite file waits until the disk has what was
    written. That guards against a power cut; tests only ever kill processes, which loses nothing
    that was written. (A server of our own has fsync switched off for the same reason.)"""
    event.listen(Engine, "engine_connect", _do_not_wait)


def build_commands_once() -> None:
    """From now on the tree of commands is built once for all calls of the command line in this
    process: it takes longer than most commands do."""
    build = cache(typer.main.get_command)
    mock.patch.object(typer.main, "get_command", build).start()
    mock.patch.object(typer.testing, "_get_command", build).start()


@contextmanager
def as_shipped() -> Iterator[None]:
    """Connections as they are in use: nothing is switched off."""
    listening = event.contains(Engine, "engine_connect", _do_not_wait)
    if listening:
        event.remove(Engine, "engine_connect", _do_not_wait)
    try:
        yield
    finally:
        if listening:
            do_not_wait_for_the_disk()
