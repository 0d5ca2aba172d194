"""Who will come, and what will be played: uniform, a public sample, a function, an object with
sample()."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chisquare, kstest

from tacit import Box, Categories, InputError, Mixed, Problem
from tacit._typing import Floats, Rng
from tacit.contexts import PublicSample, sampler

AGES = Box([20.0], [100.0], names=["age"])
PATIENTS = Mixed([AGES, Categories(["f", "m"], "sex")])
N = 20_000
ALARM = 1e-6  # each statistical test refuses the right thing with at most this probability


def rng() -> Rng:
    return np.random.default_rng(0)


class Old:
    """Ages from 80 to 100."""

    def sample(self, n: int, rng: Rng) -> dict[str, Any]:
        return {"age": rng.uniform(80, 100, size=n), "sex": ["f"] * n}


def draw(law: Any, domain: Any = PATIENTS, n: int = N) -> Floats:
    return sampler(domain, law)(n, rng())


def test_no_law_is_the_uniform_law() -> None:
    points = draw(None)
    assert kstest(points[:, 0], "uniform").pvalue > ALARM
    assert np.array_equal(points, PATIENTS.sample_points(N, rng()))


def test_a_public_sample_is_drawn_from_with_equal_chances() -> None:
    points = draw(PublicSample({"age": [20.0, 60.0, 100.0], "sex": ["f", "m", "m"]}))
    rows, counts = np.unique(points, axis=0, return_counts=True)
    assert rows.tolist() == [[0.0, 0.0], [0.5, 1.0], [1.0, 1.0]]
    assert chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict])
def test_a_public_sample_may_be_any_table_and_leaves_gaps_out(kind: Any) -> None:
    table = kind({"sex": ["f", None, "m", "unknown"], "age": [30.0, 40.0, None, 50.0]})
    assert np.unique(draw(PublicSample(table)), axis=0).tolist() == [[0.125, 0.0]]


def test_a_public_sample_is_projected_into_the_domain() -> None:
    assert np.unique(draw(PublicSample([[7.0], [900.0]]), AGES)).tolist() == [0.0, 1.0]


def test_a_public_sample_without_a_complete_row_is_refused() -> None:
    with pytest.raises(InputError, match="no complete row: pass at least one without gaps"):
        draw(PublicSample({"age": [math.nan, 30.0], "sex": ["f", "?"]}))


def test_a_public_sample_with_the_wrong_columns_is_refused() -> None:
    with pytest.raises(
        InputError, match="the public sample has no column 'sex': it needs age, sex and has age"
    ):
        draw(PublicSample({"age": [30.0]}))


def test_a_public_sample_does_not_show_itself() -> None:
    assert repr(PublicSample({"age": [31.0]})) == "PublicSample(...)"


def test_a_function_is_a_law() -> None:
    points = draw(lambda n, rng: np.column_stack([rng.uniform(20, 60, size=n), ["m"] * n]))
    assert kstest(2 * points[:, 0], "uniform").pvalue > ALARM
    assert (points[:, 1] == 1.0).all()


@pytest.mark.parametrize("law", [Old(), Old().sample], ids=["object", "method"])
def test_an_object_that_samples_is_a_law(law: Any) -> None:
    points = draw(law)
    assert kstest(4 * (points[:, 0] - 0.75), "uniform").pvalue > ALARM
    assert (points[:, 1] == 0.0).all()


def test_a_domain_is_a_law() -> None:
    points = draw(Box([40.0], [60.0]), AGES)
    assert kstest(4 * (points[:, 0] - 0.25), "uniform").pvalue > ALARM


def test_one_draw_of_several_columns_may_be_flat() -> None:
    assert draw(lambda n, rng: [60.0, "m"], n=1).tolist() == [[0.5, 1.0]]


@pytest.mark.parametrize("rows", [1, 9, 11])
def test_a_law_that_returns_another_number_of_rows_is_refused(rows: int) -> None:
    with pytest.raises(InputError, match=f"asked for 10 rows and returned {rows}"):
        draw(lambda n, rng: np.full((rows, 1), 30.0), AGES, 10)


@pytest.mark.parametrize("age", [math.nan, None, "old"])
def test_a_law_that_returns_gaps_is_refused(age: Any) -> None:
    with pytest.raises(InputError, match="missing or unknown values: every row must be complete"):
        draw(lambda n, rng: [{"age": age, "sex": "f"}] * n)


def test_a_law_that_returns_an_unknown_label_is_refused() -> None:
    with pytest.raises(InputError, match="missing or unknown values"):
        draw(lambda n, rng: [{"age": 30.0, "sex": "x"}] * n)


@pytest.mark.parametrize(
    ("returned", "says"), [(None, "got NoneType"), ({"age": [1.0]}, "no column 'sex'")]
)
def test_a_law_that_returns_something_else_is_refused(returned: Any, says: str) -> None:
    with pytest.raises(InputError, match=f"the generator's table.*{says}"):
        draw(lambda n, rng: returned, n=1)


SECRET = 31.4159


@pytest.mark.parametrize(
    "law",
    [
        pd.DataFrame({"age": [SECRET]}),
        pl.DataFrame({"age": [SECRET]}),
        pd.Series([SECRET]),
        {"age": [SECRET]},
        np.array([[SECRET]]),
        [SECRET],
        "uniform",
        7,
    ],
    ids=lambda law: type(law).__module__ + "." + type(law).__name__,
)
def test_a_table_is_no_law_and_is_not_repeated(law: Any) -> None:
    with pytest.raises(
        InputError, match=r"function \(n, rng\) -> table .* wrap a table .* in .*PublicSample"
    ) as caught:
        draw(law, AGES)
    assert str(SECRET) not in str(caught.value)


def test_a_problem_draws_actions_under_play_and_contexts_under_its_generator() -> None:
    doses = Box([0.0], [10.0], names=["dose"])
    problem = Problem(
        doses,
        PATIENTS,
        generator=Old(),
        play=lambda contexts, rng: rng.uniform(0, 5, size=len(contexts["age"])),
    )
    points = problem.public_points(N, rng())
    assert points.shape == (N, 3)
    assert kstest(2 * points[:, 0], "uniform").pvalue > ALARM
    assert kstest(4 * (points[:, 1] - 0.75), "uniform").pvalue > ALARM
    correlation = np.corrcoef(points[:, 0], points[:, 1])[0, 1]
    assert abs(correlation) < 5 / math.sqrt(N)  # five deviations: 6e-7


def test_a_problem_may_have_been_played_as_a_public_sample_says() -> None:
    problem = Problem(
        Categories(["a", "b", "c"], "arm"), AGES, play=PublicSample(["a", "a", "a", "b"])
    )
    arms = problem.public_points(N, rng())[:, 0]
    assert set(arms) == {0.0, 0.5}
    deviation = math.sqrt(0.75 * 0.25 / N)
    assert abs(np.mean(arms == 0.0) - 0.75) < 5 * deviation  # 6e-7


@pytest.mark.parametrize(
    ("side", "says"),
    [
        ("play", r"play must be a function \(contexts, rng\)"),
        ("generator", r"a generator must be a function \(n, rng\)"),
    ],
)
def test_a_problem_refuses_a_law_that_is_none(side: str, says: str) -> None:
    arguments: dict[str, Any] = {side: "uniform"}
    with pytest.raises(InputError, match=says):
        Problem(Box([0.0], [1.0], names=["dose"]), AGES, **arguments)


class Raising:
    """A cell that raises whatever it is asked."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("a stranger's words")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("a stranger's words")


def test_whether_records_are_the_sample_is_found_out_without_asking_a_cell() -> None:
    cell = Raising()
    sample = PublicSample([{"age": 20.0, "sex": "f"}, {"age": 40.0, "sex": "m"}])
    names = ("age", "sex")
    sample.require_apart([{"age": 30.0, "sex": "m"}, cell], names)
    sample.require_apart((cell,), names)
    sample.require_apart({"age": cell, "sex": "m"}, names)
    with pytest.raises(InputError, match="public sample"):  # whatever stands beside it
        sample.require_apart([cell, sample.table[1]], names)
