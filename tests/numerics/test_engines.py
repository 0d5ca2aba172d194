"""One code path, any array library: design and statistic agree on NumPy, array-api-strict and
PyTorch."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest

import tacit
from helpers import build_design
from tacit import (
    Box,
    Budget,
    Categories,
    Design,
    InputError,
    Matern,
    Mixed,
    Problem,
    refine,
)
from tacit._typing import Floats
from tacit.core import Encoding, Part, private_sum
from tacit.errors import MissingExtraError
from tacit.kernels import RBF, Categorical, Kernel, On, Separable
from tacit.numerics.engine import NUMPY, Engine, cores, engine, to_numpy

BUDGET = Budget(epsilon=1.0, delta=1e-6)
PEOPLE = Mixed([Box([0, 0], [1, 1], names=["age", "weight"]), Categories(["a", "b", "c"], "kind")])
SOME = 700  # records: not a multiple of any block


def torch_engine() -> Engine:
    """PyTorch is large: `make test` does without it, `.ci/run` installs it and runs these tests
    again."""
    pytest.importorskip("torch")
    return engine("cpu")


def cuda_engine() -> Engine:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    return engine("cuda")


ENGINES = {
    "array-api-strict": lambda: Engine(array_api_strict, rows=128),
    "torch": torch_engine,
    "cuda": cuda_engine,
}


@pytest.fixture(params=ENGINES)
def other(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]()


def problem(kernel: Kernel | None = None, advantage: bool = False) -> Problem:
    kernel = kernel or Separable(Matern(2.5, 0.3), Matern(1.5, 0.7))
    return Problem(
        Box([0.0], [1.0], ["dose"]), PEOPLE, kernel, reward_range=(-1, 1), advantage=advantage
    )


def designed(
    kernel: Kernel | None = None, device: Any = None, advantage: bool = False, **options: Any
) -> Design:
    given: dict[str, Any] = {
        "horizon": 2000,
        "budget": BUDGET,
        "rng": 0,
        "rank": 40,
        "tau": 5.0,
        "public_points": 4096,
    } | options
    return build_design(problem(kernel, advantage), device=device, **given)


def records(seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    points = np.hstack([rng.random((SOME, 3)), rng.integers(0, 3, (SOME, 1)) / 2])
    points[5, 1] = np.nan
    points[6, 3] = np.inf
    y = rng.uniform(-1, 1, SOME)
    y[7] = np.nan
    return points, y


KERNELS: list[Kernel | None] = [
    None,
    RBF(0.4),
    Separable(Matern(0.5, 0.3), On(RBF(0.5), ["age", "weight"]) * On(Categorical(0.3), ["kind"])),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("advantage", [False, True])
def test_designs_agree_to_eight_digits(
    other: Engine, kernel: Kernel | None, advantage: bool
) -> None:
    here, there = (designed(kernel, device, advantage) for device in (None, other))
    assert np.array_equal(here.features.U, there.features.U)
    for name, array in here.arrays().items():
        assert np.allclose(array, there.arrays()[name], rtol=1e-8, atol=1e-8), name
    assert here.clip == pytest.approx(there.clip, rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("plain", [False, True])
def test_sums_agree_within_one_unit_per_record(
    other: Engine, kernel: Kernel | None, plain: bool
) -> None:
    design = designed(kernel, plain=plain)
    here = design.statistic()
    there = design.statistic(device=other)
    for statistic in (here, there):
        statistic.add_points(*records())
    assert here.records == there.records == SOME
    assert np.abs(here._sum._value() - there._sum._value()).max() <= SOME
    assert here.merge(there).records == 2 * SOME  # and they merge


@pytest.mark.parametrize("kernel", KERNELS)
def test_second_passes_agree_as_well(other: Engine, kernel: Kernel | None) -> None:
    first = designed(kernel, passes=2)
    looked = first.statistic()
    looked.add_points(*records())
    design = refine(looked.simulate_release(np.random.default_rng(0)), device=other)
    here = design.statistic()
    there = design.statistic(device=other)
    for statistic in (here, there):
        statistic.add_points(*records())
    assert np.abs(here._sum._value() - there._sum._value()).max() <= SOME


def test_the_bound_holds_exactly_on_every_engine(other: Engine) -> None:
    encoding = designed().encoding
    rows = np.random.default_rng(0).normal(size=(200, encoding.size))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[3] = np.nan
    rows[4, 0] = np.inf
    rows[5] = 7.0
    units = to_numpy(encoding.encode(other.put(rows))).tolist()
    assert all(sum(value * value for value in row) <= encoding.bound**2 for row in units)
    assert units == encoding.encode(rows).tolist()


def test_users_count_once_on_every_engine(other: Engine) -> None:
    design = designed(unit="user")
    users = [i % 50 for i in range(SOME)]
    sums = []
    for device in (None, other):
        statistic = design.statistic(device=device)
        statistic.add_points(*records(), users=users)
        sums.append(statistic._sum._value())
    assert np.abs(sums[0] - sums[1]).max() <= SOME


@pytest.mark.parametrize("unit", ["record", "user"])
def test_a_sum_of_a_part_holds_the_same_records_on_every_engine(other: Engine, unit: str) -> None:
    part = Part("learn", 0.2, unit, "0123456789abcdef")
    users = [i % 50 for i in range(SOME)] if unit == "user" else None
    rows = np.random.default_rng(0).normal(size=(SOME, 3)) / 4
    sums = []
    for on in (NUMPY, other):
        total = private_sum(Encoding(size=3, horizon=SOME), unit, part.cohort)
        total.add(on.put(rows), SOME, users, first=0)
        assert total.records == part.mask(0, SOME, users).sum()
        sums.append(total._value().tolist())
    assert sums[0] == sums[1]


def test_arrays_of_another_library_may_be_handed_in(other: Engine) -> None:
    design = designed()
    points, y = records()
    here = design.statistic()
    there = design.statistic(device=other)
    here.add_points(points, y)
    there.add_points(other.put(points), other.put(y))
    assert np.abs(here._sum._value() - there._sum._value()).max() <= SOME


def test_a_device_that_is_not_there_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine(None) is NUMPY
    torch_engine()
    with pytest.raises(InputError, match="is not there"):
        designed().statistic(device="cuda:99")
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"tacit-dp\[torch\]"):
        build_design(problem(), horizon=10, budget=BUDGET, rng=0, device="cpu")


def test_a_cluster_may_say_how_many_cores_a_task_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    there = cores()
    for said, expected in (("1", 1), ("100000", there), ("", there), ("0", there), ("many", there)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert cores() == expected


@pytest.mark.parametrize("kernel", [Matern(2.5, 0.4), tacit.Joint(RBF(0.5))])
def test_decisions_are_the_same_on_every_engine(other: Engine, kernel: Kernel) -> None:
    large = Budget(epsilon=50.0, delta=1e-6)
    built = build_design(problem(kernel), horizon=500, budget=large, rng=0, rank=20)
    statistic = built.statistic()
    points = built.problem.public_points(SOME, np.random.default_rng(0))
    apart = points[:500, 0] - points[:500, 1]
    statistic.add_points(points[:500], np.maximum(1.0 - 4.0 * apart**2, -1.0))
    policy = statistic.simulate_release(np.random.default_rng(1))
    contexts = points[:, built.problem.actions.dimension :]
    here = policy.decide_points(contexts)
    there = policy.decide_points(contexts, other)
    assert isinstance(there, np.ndarray)
    assert np.allclose(here, there, atol=1e-6)
    assert len(np.unique(here)) > 2  # not one action for everybody
