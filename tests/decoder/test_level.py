"""The level of rewards, how many records were usable, and what no action changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tacit
from helpers import build_design, unit_problem
from tacit import Budget
from tacit._typing import Floats
from tacit.decoder import ReleaseParts
from tacit.decoder.context_law import main_effects, usable_records
from tacit.decoder.parts import pooled
from tacit.kernels import Matern

ROUNDS = 3000
LARGE = Budget(epsilon=20.0, delta=1e-6)


def chance(points: Floats) -> Floats:
    """8 % on average; the best action is near the context."""
    return np.asarray(0.13 - 0.3 * (points[:, 0] - points[:, 1]) ** 2)


@cache
def fitted(reward_range: tuple[float, float], seed: int = 0) -> tacit.Policy:
    """Two passes over rewards of 0 and 1, declared with a range."""
    problem = unit_problem(kernel=Matern(2.5, 0.4), reward_range=reward_range)
    rng = np.random.default_rng(seed)
    points = rng.random((ROUNDS, 2))
    y = (rng.random(ROUNDS) < chance(points)).astype(float)
    design = build_design(problem, horizon=ROUNDS, budget=LARGE, rng=1, rank=50, passes=2)
    policy = design.statistic().add(points[:, :1], points[:, 1:], y).simulate_release(rng)
    again = tacit.refine(policy).statistic().add(points[:, :1], points[:, 1:], y)
    return again.simulate_release(rng)


PLACES = np.random.default_rng(9).random((400, 2))


@pytest.mark.parametrize("reward_range", [(-0.5, 1.5), (-1.0, 1.0), (0.0, 3.0)])
def test_a_range_that_is_shifted_or_wider_changes_little(
    reward_range: tuple[float, float],
) -> None:
    """The same records, 8 % of which have a reward. Predictions differ by less than their own
    standard deviations, which hold the noise of both releases; their mean is that of the rewards,
    up to four standard errors, sqrt(0.08 / 3000), and what a decision is worth differs by less than
    half of what is to be gained."""
    narrow = fitted((0.0, 1.0))
    wide = fitted(reward_range)
    at = (PLACES[:, :1], PLACES[:, 1:])
    apart = np.sqrt(np.mean((narrow.mean(*at) - wide.mean(*at)) ** 2))
    assert apart < np.mean(wide.std(*at))
    for policy in (narrow, wide):
        assert np.mean(policy.mean(*at)) == pytest.approx(0.08, abs=0.02)
    contexts = np.linspace(0.0, 1.0, 101)[:, None]
    worth = [
        float(np.mean(chance(np.hstack([policy.decide_points(contexts), contexts]))))
        for policy in (narrow, wide)
    ]
    assert worth[1] == pytest.approx(worth[0], abs=0.025)


def test_a_second_pass_is_not_surer_than_it_is_right() -> None:
    """Two actions with rewards in narrow bands, whose law at each action is not that of all rewards
    together. Root mean squares of 12 errors in units of their standard deviations are below 2 in
    all but one of 10^5 runs."""
    problem = tacit.Problem(tacit.Categories(["A", "B"], "a"), tacit.Box([0.0], [1.0], ["c"]))
    budget = Budget(epsilon=3.0, delta=1e-6)
    design = build_design(problem, horizon=20_000, budget=budget, rng=0, rank=40, passes=2)
    off = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        b = rng.integers(0, 2, 20_000)
        records = (np.array(["A", "B"])[b], rng.random(20_000), rng.uniform(0.51, 0.69, 20_000))
        actions, contexts, rewards = records
        first = design.statistic().add(actions, contexts, rewards + 0.1 * b)
        second = tacit.refine(first.simulate_release(rng)).statistic()
        policy = second.add(actions, contexts, rewards + 0.1 * b).simulate_release(rng)
        at = (["A", "B"], [0.5, 0.5])
        off.append((policy.mean(*at) - [0.6, 0.7]) / policy.std(*at))
    assert np.sqrt(np.mean(np.square(off))) < 2.0


def parts_of(policy: tacit.Policy) -> list[ReleaseParts]:
    return [ReleaseParts.of(release) for release in policy.releases]


def test_the_mean_is_read_once_with_the_noise_of_both_passes() -> None:
    """By precision: its noise is (1/s1^2 + 1/s2^2)^(-1/2). 2000 draws estimate a standard deviation
    up to 1.6 %, and 7 % is more than four of that."""
    passes = parts_of(fitted((0.0, 1.0)))
    noises = [parts.mean_noise for parts in passes]
    expected = sum(noise**-2 for noise in noises) ** -0.5
    rng = np.random.default_rng(0)
    totals = []
    for _ in range(2000):
        drawn = [
            replace(parts, sums=parts.sums._replace(mean=100.0 + parts.mean_noise * rng.normal()))
            for parts in passes
        ]
        both = pooled(drawn)
        totals.append(both[0].sums.mean)
        assert both[0].mean_noise == pytest.approx(expected)
        assert both[1].mean_noise == 0.0
        assert both[1].sums.mean == both[0].sums.mean
    assert np.std(np.array(totals, dtype=float)) == pytest.approx(expected, rel=0.07)
    assert expected < min(noises)
    lengths = [len(parts.observation(parts.design.moments).b) for parts in pooled(passes)]
    assert lengths == [passes[0].design.rank + 1, passes[1].design.rank]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_records_that_were_not_usable_are_noticed(missing: float) -> None:
    """Where none is missing, the number of records is left as it is: counts would have to be off by
    four standard deviations, 3 in 100,000. The estimate is off by at most five."""
    problem = unit_problem(kernel=Matern(2.5, 0.4))
    design = build_design(problem, horizon=ROUNDS, budget=LARGE, rng=1, rank=20)
    rng = np.random.default_rng(0)
    contexts = rng.random((ROUNDS, 1))
    contexts[: int(missing * ROUNDS)] = np.nan
    statistic = design.statistic().add(rng.random((ROUNDS, 1)), contexts, rng.random(ROUNDS))
    passes = parts_of(statistic.simulate_release(rng))
    found = usable_records(passes)
    if not missing:
        assert found == ROUNDS
    cells = design.layout.cells
    assert cells is not None
    noise = passes[0].block_noise("contexts") * cells.size**0.5
    assert found == pytest.approx((1.0 - missing) * ROUNDS, abs=5.0 * noise)
    assert 5.0 * noise < 0.1 * ROUNDS


def test_what_no_action_changes_cancels_out_unless_influences_are_clipped() -> None:
    """Uniform play and a centred kernel: what is left without clipping is the error of a mean over
    32 actions instead of an integral."""
    problem = unit_problem(kernel=Matern(2.5, 0.4), advantage=True)
    sizes = []
    for clip in (1e9, None):
        design = build_design(
            problem, horizon=ROUNDS, budget=LARGE, rng=1, rank=40, tau=20.0, clip=clip
        )
        H = main_effects(design, None)
        typical = np.sqrt(np.trace(design.moments.square[:-1, :-1]))
        sizes.append(float(np.linalg.norm(H[:-1]) / typical))
        assert H.shape[0] == design.rank + 1
    assert sizes[0] < 0.02
    assert sizes[1] > 3.0 * sizes[0]
