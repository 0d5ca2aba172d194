"""The plan: cheap, repeatable, and close to what then happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from helpers import BUDGET, build_design, sqlite, unit_problem
from tacit import Budget, DesignOptions, InputError
from tacit._typing import Floats
from tacit.core import integer_weights
from tacit.core.selection import sensitivity
from tacit.design.choices import default_rank
from tacit.kernels import Matern
from tacit.kernels.ard import lengthscales
from tacit.passes import release_passes, simulate_with
from tacit.planning import Forecast, Plan, plan
from tacit.planning.priors import relatives
from tacit.single_decision.scoring import score_weights

PROBLEM = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1.0, 1.0))


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(PROBLEM, horizon=3000, budget=BUDGET, options=DesignOptions(noise=0.1, rank=60))


def test_the_forecast_lies_between_its_two_horizons(planned: Plan) -> None:
    f = planned.forecast
    assert f.nonprivate_error < f.expected_error < f.uniform_error
    assert f.band[0] <= f.expected_error <= f.band[1]
    assert f.limited_by == "privacy"


def test_more_rounds_and_more_epsilon_mean_less_error(planned: Plan) -> None:
    by_rounds = [planned.at(rounds, BUDGET).expected_error for rounds in (300, 3000, 30_000)]
    by_epsilon = [
        planned.at(3000, Budget(epsilon, 1e-6)).expected_error for epsilon in (0.1, 1.0, 10.0)
    ]
    assert by_rounds == sorted(by_rounds, reverse=True)
    assert by_epsilon == sorted(by_epsilon, reverse=True)


def test_the_inverse_questions_answer_what_was_asked(planned: Plan) -> None:
    rounds = planned.rounds_for(error=0.02)
    assert planned.at(rounds, BUDGET).expected_error <= 0.02
    assert planned.at(round(rounds / 1.2), BUDGET).expected_error > 0.02
    epsilon = planned.epsilon_for(error=0.03)
    assert planned.at(3000, Budget(epsilon, 1e-6)).expected_error <= 0.03


def test_what_cannot_be_reached_is_said_plainly(planned: Plan) -> None:
    with pytest.raises(InputError, match="not reachable within epsilon = 100"):
        planned.epsilon_for(error=1e-5)
    with pytest.raises(InputError, match="error must be positive"):
        planned.rounds_for(error=0.0)


@pytest.mark.parametrize("rank", [10, 200])
def test_a_plan_knows_who_will_come(rank: int) -> None:
    """Where all visitors are nearly the same, one action suits them and few rounds tell which."""
    alike = replace(PROBLEM, generator=lambda n, rng: 0.5 + 0.01 * rng.random((n, 1)))
    error, everybody = (
        plan(
            problem, horizon=300, budget=BUDGET, options=DesignOptions(rank=rank)
        ).forecast.expected_error
        for problem in (alike, PROBLEM)
    )
    assert error < 0.7 * everybody


def test_the_plan_explains_itself(planned: Plan) -> None:
    text = planned.explain()
    assert "3000 rounds" in text
    assert "privacy noise is what limits it" in text


def functions_of_the_prior(seed: int, count: int) -> tuple[Floats, Floats]:
    """Reward functions with the plan's own standard deviation, as values on a grid of actions and
    contexts."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 41)
    points = np.column_stack([np.repeat(grid, 41), np.tile(grid, 41)])
    K = PROBLEM.k(points, points) + 1e-10 * np.eye(len(points))
    return points, 0.3 * np.linalg.cholesky(K) @ rng.normal(size=(len(points), count))


def played(
    rounds: int,
    passes: int,
    rank: int | None = None,
    choose: Callable[[np.random.Generator], tuple[Any, Floats]] | None = None,
    **options: Any,
) -> float:
    """The mean error of policies for 16 functions of the prior, played for real: uniformly, or at
    the places on the grid that are chosen, with weights."""
    points, values = functions_of_the_prior(0, 16)
    rng = np.random.default_rng(1)
    design = build_design(
        PROBLEM,
        horizon=rounds,
        budget=BUDGET,
        rng=0,
        passes=passes,
        noise=0.1,
        rank=rank,
        **options,
    )
    errors = []
    for f in values.T:
        weights = None
        if choose is None:
            at = rng.integers(len(points), size=rounds)
        else:
            at, weights = choose(rng)
        y = np.clip(f[at] + 0.1 * rng.normal(size=rounds), -1, 1)

        def collect(
            design: tacit.Design, at: Any = at, y: Floats = y, weights: Any = weights
        ) -> tacit.Statistic:
            statistic = design.statistic()
            statistic.add_points(points[at], y, weights=weights)
            return statistic

        policy = release_passes(design, collect, simulate_with(rng))
        contexts = np.linspace(0, 1, 41).reshape(-1, 1)
        chosen = np.rint(policy.decide_points(contexts)[:, 0] * 40).astype(int)
        table = f.reshape(41, 41)  # (action, context)
        errors.append((table.max(axis=0) - table[chosen, np.arange(41)]).mean())
    return float(np.mean(errors))


@pytest.mark.usefixtures("coarse_tuning")
@pytest.mark.parametrize("passes", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_what_was_planned_is_what_happens(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean errors agree within 40 % (the standard error of what happens is about 14 %)."""
    monkeypatch.setattr("tacit.decoder.context_law.POINTS", 8192)  # quick
    monkeypatch.setattr("tacit.residual.expected.POINTS", 1024)
    options = DesignOptions(noise=0.1, rank=60)
    expected = plan(
        PROBLEM, horizon=3000, budget=BUDGET, passes=passes, options=options
    ).forecast.expected_error
    assert 0.6 < played(3000, passes, rank=60, public_points=6000) / expected < 1.4


@pytest.mark.parametrize("known", [True, False])
def test_what_was_planned_is_what_single_decisions_do(known: bool) -> None:
    """Under a pure budget: 41 decisions for each of 24 functions of the prior, each by
    permute-and-flip."""
    problem = replace(PROBLEM, generator=lambda n, rng: rng.random((n, 1))) if known else PROBLEM
    pure = Budget(epsilon=1.0)
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 1, 41)
    design = build_design(problem, horizon=3000, budget=pure, rng=0, noise=0.1, rank=60)
    weights = score_weights(design, 1.0)
    points, values = functions_of_the_prior(0, 24)
    errors = []
    for f in values.T:
        at = rng.integers(len(points), size=3000)
        statistic = design.statistic()
        statistic.add_points(points[at], np.clip(f[at] + 0.1 * rng.normal(size=3000), -1, 1))
        for j, values_here in enumerate(f.reshape(41, 41).T):
            theta = integer_weights(
                weights(np.column_stack([grid, np.full(41, grid[j])])), design.encoding
            )
            scores = theta @ statistic._sum._value()
            noise = rng.exponential(2.0 * sensitivity(theta, design.encoding), size=41)
            errors.append(values_here.max() - values_here[np.argmax(scores + noise)])
    expected = plan(
        problem, horizon=3000, budget=pure, options=DesignOptions(noise=0.1, rank=60)
    ).forecast.expected_error
    assert 0.6 < np.mean(errors) / expected < 1.4


def test_a_plan_is_for_the_play_of_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned of actions that are never played, and less where they are rare."""
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 40)  # quick
    middle = tacit.play.Fixed({"x": 0.5})
    errors = []
    for law in (None, tacit.play.EpsilonGreedy(middle, 0.2), middle):
        made = plan(
            replace(PROBLEM, play=law), horizon=3000, budget=BUDGET, options=DesignOptions(rank=30)
        )
        errors.append(made.forecast.expected_error / made.forecast.uniform_error)
        assert ("Actions are played by" in made.explain()) == (law is not None)
    assert 2 * errors[0] < errors[1] < errors[2] / 1.5


def test_weights_of_propensities_cost_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise hides the largest weight, and sums of weighted rewards vary more."""
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 40)  # quick
    found = []
    for weight in (None, 2.0, 5.0):
        options = DesignOptions(rank=30, max_weight=weight)
        made = plan(PROBLEM, horizon=3000, budget=BUDGET, options=options)
        found.append(made.forecast)
        assert ("log with propensities" in made.explain()) == (weight is not None)
    for name in ("expected_error", "nonprivate_error"):
        values = [getattr(forecast, name) for forecast in found]
        assert values == sorted(set(values))


@pytest.mark.slow
def test_what_was_planned_is_what_happens_with_propensities() -> None:
    """A log that plays the action of the context's own place in 80 % of its rounds, and uniformly
    otherwise. A plan that knows nothing of weights expects a quarter of the error."""
    rounds = 10_000
    explore = 0.2
    options = DesignOptions(noise=0.1, max_weight=1 / explore)
    expected = plan(PROBLEM, horizon=rounds, budget=BUDGET, options=options).forecast.expected_error

    def choose(rng: np.random.Generator) -> tuple[Any, Floats]:
        action, context = rng.integers(41, size=(2, rounds))
        action = np.where(rng.random(rounds) < explore, action, context)
        p = 41 * (1 - explore) * (action == context) + explore  # times the uniform probability
        return 41 * action + context, np.minimum(1.0, explore / p)

    assert 0.6 < played(rounds, 2, choose=choose, max_weight=1 / explore) / expected < 1.4


@pytest.mark.slow
def test_what_was_planned_is_what_happens_with_few_landmarks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records tell more than the values on the landmarks: a plan that does not know it expects too
    large an error."""

    def planned() -> Forecast:
        return plan(
            PROBLEM, horizon=30_000, budget=BUDGET, options=DesignOptions(noise=0.1, rank=60)
        ).forecast

    knowing = planned()
    assert knowing.limited_by == "rank"
    assert 0.6 < played(30_000, 2, rank=60) / knowing.expected_error < 1.4
    monkeypatch.setattr("tacit.planning.forecast.FINER", 1)
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 1)
    assert planned().expected_error > 1.15 * knowing.expected_error


def test_the_limit_is_what_would_help() -> None:
    """Allowing more landmarks helps where they are the limit, and does not where they are not."""

    def planned(rounds: int, rank: int) -> Plan:
        options = DesignOptions(noise=0.1, rank=rank)
        return plan(PROBLEM, horizon=rounds, budget=BUDGET, options=options)

    by_rank = [planned(100_000, rank).forecast for rank in (20, 40)]
    assert by_rank[0].limited_by == "rank"
    assert by_rank[1].expected_error < 0.7 * by_rank[0].expected_error
    assert planned(3000, 120).at(3000, Budget(100.0, 1e-6)).limited_by == "rounds"


def test_many_rounds_get_more_landmarks() -> None:
    assert [default_rank(rounds) for rounds in (10, 100_000, 300_000, 10**6, 10**9)] == [
        500,
        500,
        696,
        1000,
        1000,
    ]


def test_the_trade_off_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.planning import figure

    monkeypatch.setattr("tacit.planning.simulation.POINTS", 512)  # it is to be drawn, not right
    monkeypatch.setattr("tacit.planning.simulation.FUNCTIONS", (32, 32))
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 60)
    monkeypatch.setattr(figure, "EPSILONS", figure.EPSILONS[:2])
    monkeypatch.setattr(figure, "COLOURS", figure.COLOURS[:2])
    monkeypatch.setattr(figure, "_figure", cache(figure._figure))  # computed once
    small = plan(PROBLEM, horizon=500, budget=BUDGET, options=DesignOptions(rank=10))
    for kind in ("png", "svg", "html"):
        path = figure.draw(small, tmp_path / f"plan.{kind}")
        assert path.stat().st_size > 5000
    with pytest.raises(InputError, match="should end in"):
        figure.draw(small, tmp_path / "plan.doc")


def test_forecasts_are_plain_data(planned: Plan) -> None:
    keys = {
        "rounds",
        "epsilon",
        "delta",
        "expected_error",
        "band",
        "uniform_error",
        "nonprivate_error",
        "rank",
        "tau",
    }
    assert keys | {"clip", "limited_by"} <= set(json.loads(json.dumps(planned.forecast.to_json())))


@pytest.mark.parametrize("horizon", [0, -1, 1.5, True, "100", None, [5]])
def test_a_wrong_horizon_is_said_plainly(tmp_path: Path, horizon: Any) -> None:
    url = sqlite(tmp_path)
    for make in (
        plan,
        partial(tacit.Design.build, rng=0),
        partial(tacit.Study.create, url),
    ):
        with pytest.raises(InputError, match=r"^horizon must be a whole number .*\.$") as caught:
            make(PROBLEM, horizon=horizon, budget=BUDGET)
        assert "\n" not in str(caught.value)
    with pytest.raises(tacit.StateError, match="holds no study"):
        tacit.Study.open(url)


@pytest.mark.parametrize("wrong", [{"signal": 0.0}, {"noise": float("nan")}, {"rank": 0}])
def test_wrong_options_are_said_plainly(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be"):
        DesignOptions(**wrong)


def test_the_name_plan_stays_a_function_whatever_was_imported(planned: Plan) -> None:
    import tacit.planning.figure

    assert tacit.plan is plan
    assert tacit.plan is plan  # and again


def test_a_range_of_lengthscales_is_a_mixture_of_easy_and_hard(planned: Plan) -> None:
    easy, hard, both = (
        plan(
            PROBLEM,
            horizon=3000,
            budget=BUDGET,
            lengthscales=span,
            options=DesignOptions(noise=0.1, rank=60),
        ).forecast.expected_error
        for span in ((1.0, 1.0), (0.15, 0.15), (0.15, 1.0))
    )
    assert easy < both < hard
    with pytest.raises(InputError, match="positive and increasing"):
        plan(PROBLEM, horizon=3000, budget=BUDGET, lengthscales=(0.5, 0.1))
    with pytest.raises(InputError, match=r"a range \(low, high\)"):
        plan(PROBLEM, horizon=3000, budget=BUDGET, lengthscales=[0.5])


def test_a_plan_becomes_the_design_it_promised(planned: Plan) -> None:
    design = planned.design(rng=0)
    assert design.horizon == 3000
    assert design.clip == pytest.approx(planned.forecast.clip, rel=0.1)
    assert design.rank <= planned.forecast.rank * 1.5


WIDE = tacit.Problem(
    actions=tacit.Box.of(x=(0, 1)),
    contexts=tacit.Box([0.0] * 12, [1.0] * 12, names=[f"c{i}" for i in range(12)]),
)


def smooth(x: Floats, C: Floats) -> Floats:
    """A reward that depends on the action, and a little on two of the contexts."""
    best = 0.3 + 0.4 * C[:, 0] + 0.1 * C[:, 1]
    return np.exp(-0.5 * ((x - best) / 0.35) ** 2)


def test_with_many_contexts_the_plan_is_about_functions_that_a_fit_can_learn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody could learn functions of 12 contexts at lengthscale 0.3. Others a fit learns, and what
    it then loses lies in the band."""
    wide = replace(WIDE, kernel=tacit.Matern(2.5, 0.3))
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 100)  # quick
    options = DesignOptions(rank=100, noise=0.2)
    planned = plan(wide, horizon=4000, budget=BUDGET, options=options)
    forecast = planned.forecast
    assert (planned.prior, forecast.prior) == ("relatives", "relatives")
    assert "simpler ones" in planned.explain()
    assert forecast.expected_error < 0.5 * forecast.uniform_error
    assert forecast.effective_dimension > 2
    design = build_design(wide, horizon=4000, budget=BUDGET, rng=0, rank=100, passes=2)
    assert forecast.rank == design.rank == 100
    rng = np.random.default_rng(0)
    points = rng.random((4000, 13))
    y = np.clip(smooth(points[:, 0], points[:, 1:]) + 0.1 * rng.normal(size=4000), 0, 1)

    def collect(design: tacit.Design) -> tacit.Statistic:
        statistic = design.statistic()
        statistic.add_points(points, 2 * y - 1)
        return statistic

    policy = release_passes(design, collect, simulate_with(rng))
    C = rng.random((500, 12))
    lost = 1 - smooth(policy.decide_points(C)[:, 0], C).mean()
    assert forecast.band[0] < lost < forecast.band[1]


def test_the_own_kernel_is_believed_where_it_can_be_learned_or_was_stated(planned: Plan) -> None:
    assert planned.forecast.prior == "kernel"
    stated = plan(
        WIDE, horizon=100, budget=BUDGET, lengthscales=(0.3, 0.3), options=DesignOptions(rank=20)
    )
    assert stated.prior == "kernel"


def test_relatives_are_kernels_that_the_decoder_finds() -> None:
    """Contexts matter less, all together or each by itself; labels have no lengthscales."""
    actions = tacit.Box.of(x=(0, 1))
    scale = tacit.Matern(2.5, 0.3)
    kernel = tacit.Separable(scale, scale.on("age") * tacit.Categorical(0.15).on("gene"))
    mixed = tacit.Problem(actions, tacit.Mixed.of(gene=["a", "b"], age=(0, 1)), kernel)
    found = relatives(mixed)
    assert len(found) == len(set(map(repr, found))) == 4
    assert [lengthscales(kernel)[0] for kernel in found] == [0.3] * 4  # that of the action
    assert [round(lengthscales(kernel)[1], 3) for kernel in found] == [1.2, 3.6, 1.2, 3.6]
    assert relatives(tacit.Problem(actions, tacit.Categories(["a", "b"]))) == []


def test_pooled_functions_of_many_contexts_can_be_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 100)  # quick
    planned = plan(WIDE, horizon=4000, budget=BUDGET, options=DesignOptions(rank=100, noise=0.2))
    assert planned.prior == "kernel"
    assert planned.forecast.expected_error < 0.6 * planned.forecast.uniform_error
