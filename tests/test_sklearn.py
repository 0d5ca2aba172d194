"""The scikit-learn estimator: scikit-learn's own checks, and that it is `tacit.fit`."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from helpers import records, silence, sqlite
from tacit import Budget, DesignOptions, InputError, Ledger
from tacit.sklearn import PolicyLearner
from witness import GAUSSIAN, watched

pytestmark = pytest.mark.usefixtures("coarse_fits")

SMALL = DesignOptions(rank=8, tau=10.0, public_points=200)


@pytest.fixture(scope="module", autouse=True)
def ledger_of_checks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The checks make many fits: they get a budget for all of them, in the folder they run in."""
    folder = tmp_path_factory.mktemp("checks")
    Ledger.create(f"sqlite:///{folder}/checks.db", Budget(rho=1000.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PolicyLearner(
            actions=(0.0, 1.0),
            contexts=(0.0, 1.0),
            play="uniform",
            action_column=0,
            ledger="sqlite:///checks.db",
            passes=1,
            options=SMALL,
        )
    ]
)
def test_scikit_learn_checks_it(estimator: Any, check: Any) -> None:
    check(estimator)


def learner(tmp_path: Path, **changes: Any) -> PolicyLearner:
    given: dict[str, Any] = {
        "actions": (0, 100),
        "contexts": {"age": (18, 95), "weight": (40, 140)},
        "play": "uniform",
        "ledger": sqlite(tmp_path),
        "options": SMALL,
    }
    return PolicyLearner(**given | changes)


def frame(n: int = 200) -> pd.DataFrame:
    doses, contexts, rewards = records(n)
    return pd.DataFrame(
        {
            "age": contexts[:, 0],
            "weight": contexts[:, 1],
            "dose": doses[:, 0],
            "reward": rewards,
        }
    )


CONTEXTS = ["age", "weight"]
VISITORS = pd.DataFrame({"age": [30.0, 60.0, 90.0], "weight": [60.0, 80.0, 100.0]})


def test_it_is_the_policy_of_fit(tmp_path: Path) -> None:
    """On one ledger: what the estimator released is what `tacit.fit` returns free of charge."""
    log = frame()
    made = learner(tmp_path).fit(log[CONTEXTS], log["reward"], action=log["dose"])
    problem = tacit.Problem(
        tacit.Box.of(action=(0, 100)), tacit.Box.of(age=(18, 95), weight=(40, 140))
    )
    spent = Ledger.open(sqlite(tmp_path)).spent
    policy = tacit.fit(
        problem,
        log.rename(columns={"dose": "action"}),
        play="uniform",
        budget=Budget(1.0, 1e-6),
        ledger=sqlite(tmp_path),
        options=SMALL,
    )
    assert Ledger.open(sqlite(tmp_path)).spent == spent
    assert made.policy_.private
    assert made.policy_.guarantee == policy.guarantee
    assert np.array_equal(made.policy_.posterior.weights, policy.posterior.weights)
    assert np.array_equal(made.predict(VISITORS), policy.decide(VISITORS)["action"])


def test_every_way_to_hand_over_the_same_records_is_one_fit(tmp_path: Path) -> None:
    """Arrays, lists and frames, with the action beside X or in it, add up to the same integers."""
    log = frame(60)
    array = log[CONTEXTS].to_numpy()
    dose = log["dose"].to_numpy()
    box = tacit.Box([18, 40], [95, 140], names=CONTEXTS)
    named = {"x1": (18, 95), "x2": (40, 140)}
    whole = np.column_stack([dose, array])
    ways = {
        "frame": (learner(tmp_path, contexts=box), log[CONTEXTS], dose),
        "array": (learner(tmp_path, contexts=box), array, dose),
        "numbered": (learner(tmp_path, contexts=box), pd.DataFrame(array), dose.tolist()),
        "polars": (learner(tmp_path, contexts=box), pl.from_pandas(log[CONTEXTS]), dose),
        "arrow": (learner(tmp_path, contexts=box), pa.Table.from_pandas(log[CONTEXTS]), dose),
        "in X": (learner(tmp_path, contexts=named, action_column=0), whole, None),
        "in a frame": (learner(tmp_path, action_column="dose"), log[[*CONTEXTS, "dose"]], None),
    }
    sums = []
    for name, (made, X, action) in ways.items():
        made.set_params(ledger=sqlite(tmp_path, f"{name}.db"), passes=1, random_state=0)
        with watched(GAUSSIAN) as draws:
            made.fit(X, log["reward"], action=action)
        sums.append([draw.argument for draw in draws])
        assert made.predict(X).shape == (60,)
    assert len(sums[0]) == 1
    assert all(each == sums[0] for each in sums)


def test_parameters_are_got_set_and_cloned(tmp_path: Path) -> None:
    made = learner(tmp_path, actions=["low", "high"], random_state=3)
    assert made.get_params()["actions"] == ["low", "high"]
    again = clone(made)
    assert again.get_params()["ledger"] == made.ledger
    assert again.set_params(epsilon=0.5).epsilon == 0.5
    assert made.epsilon == 1.0


def test_labels_are_predicted_and_a_fitted_learner_is_pickled(tmp_path: Path) -> None:
    log = frame(40)
    dose = np.where(log["dose"] > 50, "high", "low")
    made = learner(tmp_path, actions=["low", "high"])
    made.fit(log[CONTEXTS], log["reward"], action=dose)
    again = pickle.loads(pickle.dumps(made))
    assert set(made.predict(VISITORS)) <= {"low", "high"}
    assert list(again.predict(VISITORS)) == list(made.predict(VISITORS))


def test_several_columns_of_actions(tmp_path: Path) -> None:
    log = frame(40)
    actions = tacit.Box.of(dose=(0, 100), hours=(1, 24))
    made = learner(tmp_path, actions=actions)
    made.fit(log[CONTEXTS], log["reward"], action=np.column_stack([log["dose"], log["dose"] / 5]))
    assert made.predict(VISITORS).shape == (3, 2)


def test_it_is_the_last_step_of_a_pipeline(tmp_path: Path) -> None:
    """After a step that learns nothing from the rows. (A scaler would, without noise.)"""
    log = frame(40)
    pipeline = make_pipeline(FunctionTransformer(np.log), learner(tmp_path, contexts=(2.0, 6.0)))
    pipeline.fit(log[CONTEXTS], log["reward"], policylearner__action=log["dose"])
    assert pipeline.predict(VISITORS).shape == (3,)
    assert pipeline[-1].policy_.private


def test_users_are_protected_together(tmp_path: Path) -> None:
    log = frame(40)
    made = learner(tmp_path).fit(
        log[CONTEXTS], log["reward"], action=log["dose"], user=np.arange(40) % 10
    )
    assert made.policy_.guarantee.unit == "user"


def test_a_ledger_refuses_a_second_fit_and_returns_the_first_again(tmp_path: Path) -> None:
    log = frame(40)
    made = learner(tmp_path).fit(log[CONTEXTS], log["reward"], action=log["dose"])
    weights = made.policy_.posterior.weights
    made.fit(log[CONTEXTS], log["reward"], action=log["dose"])
    assert np.array_equal(made.policy_.posterior.weights, weights)
    for changes in ({"request": "another"}, {"random_state": 5}):
        with pytest.raises(tacit.BudgetError):
            learner(tmp_path, **changes).fit(log[CONTEXTS], log["reward"], action=log["dose"])


ODD = [None, float("nan"), float("inf"), 1e300, "text", {"a": 1}, [1, 2], 1j, b"", object()]


@pytest.mark.parametrize("where", ["X", "a frame", "y", "action"])
def test_no_private_value_is_an_error(tmp_path: Path, where: str) -> None:
    n = 12
    doses, contexts, rewards = records(n)
    X: Any = contexts.astype(object)
    y = rewards.astype(object)
    action = doses[:, 0].astype(object)
    odd = {"y": y, "action": action}.get(where, X[:, 0])
    for i, value in enumerate(ODD):
        odd[i] = value
    if where == "a frame":
        X = pd.DataFrame(X)
    made = learner(tmp_path, contexts=tacit.Box([18, 40], [95, 140]), passes=1)
    with silence():
        made.fit(X, y, action=action)
        assert made.policy_.facts["records"] == n
        assert made.predict(X).shape == (n,)


@pytest.mark.parametrize("rows", [[[61.0, 74.0], [30.0, 60.0]], [[61.0], None], ["text", []], []])
def test_a_list_of_rows_is_refused_whatever_its_rows_are(tmp_path: Path, rows: list[Any]) -> None:
    with pytest.raises(InputError, match="X must be an array or a frame, got list"):
        learner(tmp_path).fit(rows, [0.5, 0.5], action=[1.0, 2.0])


def test_what_is_not_declared_is_an_error(tmp_path: Path) -> None:
    log = frame(20)
    X = log[CONTEXTS]
    y = log["reward"]
    dose = log["dose"]
    for changes, sentence in (
        ({"ledger": None}, "ledger must be the URL"),
        ({"actions": None}, "actions must be declared"),
        ({"contexts": None}, "contexts must be declared"),
        ({"play": None}, "must be said: pass play="),
        ({"contexts": {"height": (0, 1)}}, "'height' that X does not have"),
        ({"random_state": 1, "options": DesignOptions(seed=1)}, "the same seed"),
        ({"action_column": "dose"}, "must be one of the columns age, weight"),
        ({"action_column": 0}, "and not both"),
    ):
        with pytest.raises(InputError, match=sentence):
            learner(tmp_path, **changes).fit(X, y, action=dose)
    with pytest.raises(InputError, match="say which actions were played"):
        learner(tmp_path).fit(X, y)
    with pytest.raises(InputError, match="one length"):
        learner(tmp_path).fit(X, y, action=dose[:3])


def test_without_scikit_learn_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import tacit.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert "pip install 'tacit-dp[sklearn]'" in done.stderr
