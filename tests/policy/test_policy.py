"""The policy: decides alike for every kind of table, survives its folder, and finds the top."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from helpers import BUDGET, build_design, records, small_design, unit_problem
from tacit import InputError, Policy
from tacit.core import simulate_gaussian
from tacit.decoder import decode
from tacit.decoder.decoding import LEVEL_VARIANCE
from tacit.design import Release
from tacit.design.features import with_one
from tacit.kernels.ard import spread, with_lengthscales
from tacit.policy.advantage import random_actions
from tacit.policy.visitors import spread as spread_points

DESIGN = small_design(horizon=20_000, rank=60)
POLICY = DESIGN.statistic().add(*records(20_000)).simulate_release(np.random.default_rng(0))
CONTEXTS = np.array([[30.0, 60.0], [61.0, 74.0], [90.0, 120.0]])


def test_the_policy_finds_the_right_dose() -> None:
    right = 90 - CONTEXTS[:, 0] / 2
    assert np.abs(POLICY.decide(CONTEXTS)[:, 0] - right).max() < 12


def test_every_kind_of_table_gets_the_same_decisions_in_its_own_kind() -> None:
    doses = POLICY.decide(CONTEXTS)[:, 0]
    columns = {"age": CONTEXTS[:, 0], "weight": CONTEXTS[:, 1]}
    frame = pd.DataFrame(columns)
    asked: list[tuple[Any, type, Any]] = [
        (frame, pd.DataFrame, lambda t: t["dose"].to_numpy()),
        (pl.from_pandas(frame), pl.DataFrame, lambda t: t["dose"].to_numpy()),
        (pa.Table.from_pandas(frame), pa.Table, lambda t: t["dose"].to_numpy()),
        (columns, dict, lambda t: t["dose"]),
        ([dict(row) for _, row in frame.iterrows()], list, lambda t: [row["dose"] for row in t]),
    ]
    for table, kind, dose in asked:
        answer = POLICY.decide(table)
        assert isinstance(answer, kind)
        assert np.allclose(dose(answer), doses, atol=1e-9)
    assert POLICY.decide({"age": 61, "weight": 74}) == {"dose": pytest.approx(doses[1], abs=1e-9)}
    assert POLICY.decide(CONTEXTS[1])[0] == pytest.approx(doses[1], abs=1e-9)


def test_a_batch_decides_as_its_rows_do() -> None:
    contexts = DESIGN.problem.contexts.sample(50, np.random.default_rng(1))
    batch = POLICY.decide(contexts)
    assert np.allclose(batch, np.vstack([POLICY.decide(row) for row in contexts]), atol=1e-6)


def test_no_candidate_on_a_fine_grid_beats_the_refined_action() -> None:
    doses = np.linspace(0, 100, 5001).reshape(-1, 1)
    for context in CONTEXTS:
        chosen = POLICY.mean(POLICY.decide(context), context)
        assert chosen >= POLICY.mean(doses, context).max() - 1e-6


def test_the_fast_path_for_product_kernels_equals_the_plain_one() -> None:
    class Hidden(tacit.kernels.Kernel):
        def __call__(self, A: Any, B: Any) -> Any:
            return DESIGN.problem.k(A, B)

    problem = tacit.Problem(
        actions=DESIGN.problem.actions,
        contexts=DESIGN.problem.contexts,
        kernel=tacit.Joint(Hidden()),
    )
    posterior = replace(POLICY.posterior, kernel=problem.k)
    plain = Policy(problem, POLICY.guarantee, posterior)
    assert np.allclose(plain.decide(CONTEXTS), POLICY.decide(CONTEXTS), atol=1e-6)


def test_mean_and_deviation_are_those_of_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the formula for t = (theta, level) ~ N(0, P), where theta has the covariance
    v L^-1 k'(U, U) L^-T and the level one of its own, written down directly, for one scale v."""
    monkeypatch.setattr("tacit.decoder.averaging.SCALES", np.array([0.1]))
    monkeypatch.setattr("tacit.decoder.decoding.GAINS", ())
    monkeypatch.setattr(
        "tacit.decoder.decoding.kinds", lambda kernel, columns: [spread(kernel, columns)]
    )
    statistic = DESIGN.statistic().add(*records(20_000))
    released = simulate_gaussian(statistic._sum, BUDGET, np.random.default_rng(0))
    release = Release(DESIGN, released)
    posterior = decode([release])
    problem = DESIGN.problem
    n = 20_000
    s = DESIGN.clip
    v = posterior.scale
    U = DESIGN.features.U
    L = DESIGN.features.L
    b = released.values * s / 2**24
    rank = DESIGN.rank
    G = n * DESIGN.moments.cross[:rank]
    sampling = n * DESIGN.moments.square[:rank, :rank]
    privacy = (2 * s) ** 2 / (2 * BUDGET.gaussian)
    N = posterior.mean_square * sampling + privacy * np.eye(rank)
    kernel = with_lengthscales(spread(problem.k, problem.dimension), posterior.lengthscales)
    P = np.zeros((rank + 1, rank + 1))
    P[:rank, :rank] = np.linalg.solve(L, np.linalg.solve(L, v * kernel(U, U)).T)
    P[rank, rank] = LEVEL_VARIANCE
    gain = P @ G.T @ np.linalg.inv(G @ P @ G.T + N)
    covariance = P - gain @ G @ P
    w = np.hstack(
        [np.full((3, 1), 0.4), problem.contexts.encode(problem.contexts.read(CONTEXTS).columns)]
    )
    phi = DESIGN.features(w)
    seen = with_one(phi)
    direct = np.einsum("ni,ij,nj->n", seen, covariance, seen) + v * (1 - np.sum(phi**2, axis=1))
    policy = Policy.from_release(release)
    assert np.allclose(policy.mean([[40.0]] * 3, CONTEXTS), 0.5 + 0.5 * seen @ gain @ b, rtol=1e-4)
    assert np.allclose(policy.std([[40.0]] * 3, CONTEXTS) * 2, np.sqrt(direct), rtol=1e-3)
    expected = covariance[rank, rank]
    assert posterior.level == pytest.approx(float(gain[rank] @ b), rel=1e-4)
    assert posterior.level_variance == pytest.approx(expected, rel=1e-3)


def kinds_of_policy(kind: str) -> Policy:
    """Three arms or a dose, for whom the old fare worse whatever is done; rewards of 20 to 40."""
    actions: tacit.Domain = tacit.Categories(["a", "b", "c"], "arm")
    if kind == "dose":
        actions = tacit.Box([0.0], [10.0], ["dose"])
    problem = tacit.Problem(
        actions, tacit.Box.of(age=(18, 95)), reward_range=(20, 40), advantage=kind == "learned"
    )
    design = build_design(
        problem, horizon=4000, budget=tacit.Budget(epsilon=30.0, delta=1e-6), rng=0, rank=30
    )
    rng = np.random.default_rng(1)
    W = problem.public_points(4000, rng)
    reward = -0.3 + 0.4 * W[:, 0] * W[:, -1] - 0.5 * (W[:, -1] - 0.5)
    statistic = design.statistic()
    statistic.add_points(W, reward)
    return statistic.simulate_release(rng)


AGES = {"age": [20.0, 50.0, 90.0]}


@pytest.mark.parametrize("kind", ["arms", "learned", "dose"])
def test_an_advantage_is_the_mean_less_that_of_random_actions(kind: str) -> None:
    """For problems that learn the reward, and for those that learn advantages alone."""
    policy = kinds_of_policy(kind)
    random: Any = ["a", "b", "c"]
    if kind == "dose":
        random = policy.problem.actions.decode(spread_points(policy.problem.actions, 256))
    for age in AGES["age"]:
        mean = np.asarray(policy.mean(random, {"age": age}))
        found = policy.advantage(random, {"age": age})
        assert np.allclose(found, mean - mean.mean(), atol=1e-9)
        assert np.ptp(found) > 0.1
        assert np.all(policy.advantage_std(random, {"age": age}) > 0)


@pytest.mark.parametrize("kind", ["arms", "learned"])
def test_deviations_of_rewards_and_advantages_are_those_of_draws(kind: str) -> None:
    """300 draws: a standard deviation is off by 4 % of itself, and never by 25 %. The level of
    rewards is a part of the one, and cancels out in the other."""
    policy = kinds_of_policy(kind)
    at = (["a", "b", "c"], AGES)
    rng = np.random.default_rng(0)
    drawn = [policy.sample(rng) for _ in range(300)]
    means = np.stack([each.mean(*at) for each in drawn])
    advantages = np.stack([each.advantage(*at) for each in drawn])
    assert np.allclose(means.std(axis=0) / policy.std(*at), 1.0, atol=0.25)
    assert np.allclose(advantages.std(axis=0) / policy.advantage_std(*at), 1.0, atol=0.25)
    low, high = policy.advantage_interval(*at, 0.9)
    assert np.allclose(low, policy.advantage(*at) - 1.6449 * policy.advantage_std(*at), atol=1e-3)
    assert np.allclose((low + high) / 2, policy.advantage(*at))
    unsure = replace(policy.posterior, level_variance=policy.posterior.level_variance + 0.04)
    wider = replace(policy, posterior=unsure)
    assert np.allclose(wider.std(*at) ** 2, policy.std(*at) ** 2 + 0.04 * 10**2)
    assert np.array_equal(wider.advantage_std(*at), policy.advantage_std(*at))


def test_the_mean_is_a_reward_also_where_advantages_were_learned() -> None:
    """On average over everybody both say the same, which is the truth; where no action changes
    that the old fare worse, only the policy that learned the reward says so."""
    ages = {"age": np.linspace(18, 95, 100)}
    everybody = {}
    old = {}
    for kind in ("arms", "learned"):
        policy = kinds_of_policy(kind)
        means = np.stack([policy.mean([arm] * 100, ages) for arm in "abc"])
        everybody[kind] = float(means.mean())
        old[kind] = float(means[:, 80:].mean() - means[:, :20].mean())
    truth = 30 + 10 * (-0.3 + 0.4 * 0.5 * 0.5)
    assert everybody == {name: pytest.approx(truth, abs=0.3) for name in everybody}
    assert old["arms"] == pytest.approx(10 * 0.8 * (0.4 * 0.5 - 0.5), abs=0.6)
    assert abs(old["learned"]) < 0.3


def test_advantages_of_a_kernel_that_is_no_product_are_the_same() -> None:
    policy = kinds_of_policy("arms")
    hidden = tacit.Joint(tacit.kernels.Custom(policy.problem.k))
    plain = replace(policy, posterior=replace(policy.posterior, kernel=hidden))
    at = (["a", "b", "c"], AGES)
    assert np.allclose(plain.advantage(*at), policy.advantage(*at))
    assert np.allclose(plain.advantage_std(*at), policy.advantage_std(*at))


def test_random_actions_are_all_labels_or_well_spread() -> None:
    arms = tacit.Categories(["a", "b", "c"], "arm")
    assert np.array_equal(random_actions(arms, 32), arms.candidate_points(32))
    many = tacit.Categories([str(i) for i in range(1000)], "arm")
    assert len(random_actions(many, 32)) == 32
    doses = random_actions(tacit.Box.of(dose=(0, 1), way=(0, 1)), 64)
    assert np.allclose(doses.mean(axis=0), 0.5, atol=0.02)


def test_more_data_makes_the_policy_surer() -> None:
    little = small_design(horizon=500, rank=60)
    unsure = little.statistic().add(*records(500)).simulate_release(np.random.default_rng(0))
    middle = {"age": 60, "weight": 90}
    assert POLICY.std({"dose": 50}, middle) / np.sqrt(POLICY.posterior.scale) < unsure.std(
        {"dose": 50}, middle
    ) / np.sqrt(unsure.posterior.scale)


def test_a_missing_coordinate_counts_as_the_middle() -> None:
    middle = POLICY.decide({"age": (18 + 95) / 2, "weight": 70})
    assert POLICY.decide({"age": float("nan"), "weight": 70}) == middle
    assert POLICY.decide({"age": None, "weight": 70}) == middle


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_a_draw_needs_a_generator(rng: Any) -> None:
    with pytest.raises(InputError, match="rng must be a NumPy random generator, got"):
        POLICY.sample(rng)


def test_a_saved_policy_decides_as_before_and_holds_plain_data_only(tmp_path: Path) -> None:
    folder = POLICY.save(tmp_path / "policy")
    loaded = Policy.load(folder)
    assert np.array_equal(loaded.decide(CONTEXTS), POLICY.decide(CONTEXTS))
    assert np.array_equal(loaded.std([[40.0]], CONTEXTS), POLICY.std([[40.0]], CONTEXTS))
    assert loaded.guarantee == POLICY.guarantee
    assert {path.name for path in folder.iterdir()} == {"policy.json", "policy.npz"}
    about = json.loads((folder / "policy.json").read_text())
    assert about["private"] is False
    assert about["guarantee"]["unit"] == "record"
    with np.load(folder / "policy.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"landmarks", "weights", "reduction", "level_covariance"}


def test_a_policy_of_another_version_is_refused_with_a_sentence(tmp_path: Path) -> None:
    folder = POLICY.save(tmp_path / "policy")
    about = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(about | {"schema": 99}))
    with pytest.raises(InputError, match="schema 99; this version of Tacit reads 3"):
        Policy.load(folder)
    (folder / "policy.json").write_text("not json")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        Policy.load(folder)
    with pytest.raises(InputError, match="holds no policy"):
        Policy.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "actions",
    [
        tacit.Ball([0.0, 0.0], 2.0, names=["u", "v"]),
        tacit.Simplex(3),
        tacit.Box([0, 0], [1, 1]),
        tacit.Catalogue([[0.0], [1.0], [2.0]], ids=["a", "b", "c"]),
        tacit.Mixed([tacit.Box([0], [1]), tacit.Categories(["x", "y"], "arm")]),
    ],
)
def test_decisions_lie_in_every_kind_of_action_set(actions: tacit.domains.Domain) -> None:
    problem = tacit.Problem(actions=actions, contexts=tacit.Box([0.0], [1.0], names=["c"]))
    design = build_design(problem, horizon=500, budget=BUDGET, rng=0, rank=30, public_points=2000)
    rng = np.random.default_rng(0)
    points = problem.public_points(500, rng)
    statistic = design.statistic()
    statistic.add_points(points, rng.uniform(-1, 1, 500))
    policy = statistic.simulate_release(rng)
    chosen = policy.decide_points(rng.random((40, 1)))
    assert np.allclose(actions.project_points(chosen), chosen, atol=1e-9)
    assert len(policy.decide(rng.random((40, 1)))) == 40


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"horizon": 0}, "horizon must be"),
        ({"horizon": 2.5}, "horizon must be"),
        ({"budget": 1.0}, "budget must be"),
        ({"rank": 0}, "rank must be"),
        ({"tau": -1.0}, "tau must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"rng": "now"}, "rng must be"),
    ],
)
def test_a_wrong_design_is_refused_before_any_work(change: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"horizon": 100, "budget": BUDGET, "rng": 0} | change
    with pytest.raises(InputError, match=says):
        build_design(DESIGN.problem, **arguments)


def test_a_restored_design_is_the_same_design() -> None:
    again = tacit.Design.restore(
        DESIGN.problem, json.loads(json.dumps(DESIGN.facts())), DESIGN.arrays()
    )
    assert again.fingerprint == DESIGN.fingerprint
    assert math.isclose(again.clip, DESIGN.clip)


def test_designs_of_different_problems_have_different_names() -> None:
    def named(**change: Any) -> str:
        problem = replace(unit_problem(), **change)
        small = {"rank": 10, "tau": 5.0, "public_points": 500}
        return build_design(problem, horizon=100, budget=BUDGET, rng=0, **small).fingerprint

    names = [
        named(),
        named(actions=tacit.Box([0], [100], names=["x"])),
        named(reward_range=(-5, 5)),
    ]
    assert len(set(names)) == 3
    assert named() == names[0]


def test_a_kernel_of_ones_own_is_given_again_when_loading(tmp_path: Path) -> None:
    def rbf(A: Any, B: Any) -> Any:
        return np.exp(-0.5 * np.sum((A[:, None] - B[None]) ** 2, axis=2) / 0.3**2)

    problem = unit_problem(kernel=rbf)
    design = build_design(problem, horizon=300, budget=BUDGET, rng=0, rank=20, public_points=1000)
    statistic = design.statistic()
    statistic.add_points(problem.public_points(300, np.random.default_rng(0)), np.ones(300))
    folder = statistic.simulate_release(np.random.default_rng(0)).save(tmp_path / "policy")
    with pytest.raises(InputError, match="pass it again"):
        Policy.load(folder)
    assert len(Policy.load(folder, kernel=rbf).decide([[0.5], [0.7]])) == 2
