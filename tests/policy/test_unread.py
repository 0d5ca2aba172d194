"""What a visitor's value could not be read as: named on request, decided all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from helpers import BUDGET, build_design, silence
from tacit import InputError, Policy
from tacit.domains import Domain
from tacit.policy.unread import unread


def policy_of(contexts: Domain) -> Policy:
    problem = tacit.Problem(tacit.Box.of(dose=(0, 100)), contexts)
    design = build_design(problem, horizon=50, budget=BUDGET, rng=0, rank=4, public_points=100)
    return design.statistic().simulate_release(np.random.default_rng(0))


PATIENTS = tacit.Mixed.of(age=(20, 80), weight=(40, 140), gene=["G/G", "A/G", "A/A"])
POLICY = policy_of(PATIENTS)
GOOD = {"age": 61, "weight": 74, "gene": "A/G"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gene": "T/T"}, r"'gene' in row 1 .* got 'T/T': it must be one of \['G/G'"),
        ({"gene": None}, "'gene' in row 1 .* got None"),
        ({"gene": float("nan")}, "'gene' in row 1 .* got nan"),
        ({"age": None}, "'age' in row 1 .* got None: it must be a number from 20 to 80"),
        ({"age": float("nan")}, "'age' in row 1 .* got nan"),
        ({"age": "old"}, "'age' in row 1 .* got 'old'"),
        ({"age": 111}, "'age' in row 1 .* got 111"),
        ({"age": -11}, "'age' in row 1 .* got -11"),
        ({"age": float("inf")}, "'age' in row 1 .* got inf"),
        ({"weight": "7,4"}, "'weight' in row 1 .* got '7,4'"),
    ],
)
def test_strict_names_the_column_and_the_value(change: dict[str, Any], says: str) -> None:
    visitor = GOOD | change
    with silence(), pytest.raises(InputError, match=says) as caught:
        POLICY.decide(visitor, strict=True)
    assert "\n" not in str(caught.value)
    with silence():
        assert POLICY.unread(visitor) == [list(change)]
        assert 0 <= POLICY.decide(visitor)["dose"] <= 100  # as ever


@pytest.mark.parametrize("age", [20, 80, 110, -10, "61", 61.5, np.float32(30)])
def test_what_can_be_read_or_lies_near_is_decided_alike(age: Any) -> None:
    """Half the width of the range beyond its ends is not far."""
    visitor = GOOD | {"age": age}
    assert POLICY.unread(visitor) == [[]]
    assert POLICY.decide(visitor, strict=True) == POLICY.decide(visitor)


def test_of_many_rows_the_first_is_named_and_the_others_are_counted() -> None:
    frame = pd.DataFrame(
        {
            "age": [61.0, np.nan, 300.0, 40.0],
            "weight": [74.0, 74.0, np.nan, 80.0],
            "gene": ["A/G", "A/G", "x" * 500, "A/A"],
        }
    )
    assert POLICY.unread(frame) == [[], ["age"], ["age", "weight", "gene"], []]
    with pytest.raises(InputError, match=r"'age' in row 2 .* got nan \(one of 2") as caught:
        POLICY.decide(frame, strict=True)
    assert len(str(caught.value)) < 400
    assert len(POLICY.decide(frame)) == 4
    assert len(POLICY.decide(frame.iloc[[0, 3]], strict=True)) == 2


class Odd(Domain):
    """A domain of somebody's own, on two columns."""

    names = ("u", "v")
    dimension = 1
    uniform_density = 1.0
    cube_dimension = 1

    def encode(self, columns: Any) -> Any:
        return np.where(columns["u"] == columns["v"], np.nan, 0.5).reshape(-1, 1)

    def decode(self, points: Any) -> Any:
        raise NotImplementedError

    def sample_points(self, n: int, rng: Any) -> Any:
        raise NotImplementedError

    def project_points(self, points: Any) -> Any:
        raise NotImplementedError

    def from_cube(self, cube: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("domain", "columns", "expected"),
    [
        (
            tacit.Ball([0.0, 0.0], 1.0, names=["u", "v"]),
            {"u": [0.0, np.nan, 1.9, 2.1], "v": [0.0, 0.0, 0.0, -3.0]},
            {"u": [False, True, False, True], "v": [False, False, False, True]},
        ),
        (
            tacit.Simplex(2, names=["u", "v"]),
            {"u": [0.3, np.nan, 1.4, 70.0], "v": [0.7, 0.5, 0.0, 30.0]},
            {"u": [False, True, False, True], "v": [False, False, False, True]},
        ),
        (
            tacit.Catalogue([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"]),
            {"item": ["a", "c", None]},
            {"item": [False, True, True]},
        ),
        (
            tacit.Mixed([tacit.Categories([1, 2], "arm"), tacit.Box([0.0], [1.0], ["dose"])]),
            {"arm": [1, 3, 2], "dose": [0.5, 0.5, 9.0]},
            {"arm": [False, True, False], "dose": [False, False, True]},
        ),
        (
            Odd(),
            {"u": [1.0, 2.0], "v": [1.0, 1.0]},
            {"u": [True, False], "v": [True, False]},
        ),
    ],
)
def test_every_kind_of_domain_says_what_it_cannot_read(
    domain: Domain, columns: dict[str, list[Any]], expected: dict[str, list[bool]]
) -> None:
    with silence():
        found = unread(domain, {name: np.array(c, dtype=object) for name, c in columns.items()})
    assert {name: marks.tolist() for name, marks in found.items()} == expected
