"""Users with many records: their sums are shrunk, and what is learned from them is right all the
same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tacit
from helpers import build_design
from tacit import Budget, Categories, Design, Policy, Problem
from tacit._typing import Floats
from tacit.decoder import ReleaseParts
from tacit.decoder.context_law import ContextCounts, with_usable_records
from tacit.decoder.decoding import by_people
from tacit.decoder.parts import pooled
from tacit.decoder.users import _estimate
from tacit.passes import release_passes, simulate_with
from tacit.statistic import Statistic

ROUNDS = 4000
MEANS = np.array([0.8, 0.9])  # of two arms


@cache
def first_design(passes: int) -> Design:
    problem = Problem(
        actions=Categories(["a", "b"], "arm"),
        contexts=tacit.Box([0.0], [1.0], ["c"]),
        reward_range=(0.0, 1.0),
    )
    given = {"rank": 30, "public_points": 3000, "unit": "user", "passes": passes}
    return build_design(problem, horizon=ROUNDS, budget=Budget(2.0, 1e-6), rng=0, **given)


def ids(most: int, equal: bool, rng: np.random.Generator) -> list[int]:
    """Of users with so many records each, or with any number up to that."""
    sizes = np.full(ROUNDS, most) if equal else rng.integers(1, most + 1, ROUNDS)
    return np.repeat(np.arange(ROUNDS), sizes)[:ROUNDS].tolist()


def learned(most: int, equal: bool, binary: bool, passes: int = 2, seed: int = 0) -> Policy:
    rng = np.random.default_rng(seed)
    users = ids(most, equal, rng)
    arms = rng.integers(2, size=ROUNDS)
    contexts = rng.random((ROUNDS, 1))
    rewards = np.asarray(MEANS[arms] + 0.1 * rng.normal(size=ROUNDS), dtype=np.float64)
    if binary:
        rewards = (rng.random(ROUNDS) < MEANS[arms]).astype(np.float64)
    played = np.array(["a", "b"])[arms].tolist()

    def collect(design: Design) -> Statistic:
        return design.statistic().add(played, contexts, rewards, users=users)

    coins = simulate_with(np.random.default_rng(100 + seed))
    return release_passes(first_design(passes), collect, coins)


def errors(policy: Policy) -> tuple[Floats, Floats]:
    """Of the mean rewards of both arms, and their standard deviations, on average over contexts."""
    contexts = np.linspace(0.05, 0.95, 10)[:, None]
    off = [np.mean(policy.mean([arm] * 10, contexts)) for arm in "ab"] - MEANS
    return off, np.array([np.mean(policy.std([arm] * 10, contexts)) for arm in "ab"])


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("most", "equal"), [(1, True), (3, True), (10, True), (20, False)])
def test_means_of_users_with_many_records_are_right(most: int, equal: bool, binary: bool) -> None:
    """Within three standard deviations, 3 in 1000 for each, and these say something: users with ten
    records used to be off by thirty of them."""
    off, std = errors(learned(most, equal, binary))
    assert (np.abs(off) < 3.0 * std).all()
    assert std.max() < 0.06


def test_standard_deviations_of_users_are_honest() -> None:
    """In one pass, over eight seeds: the root mean square of errors in units of their standard
    deviations is at most 1.6, which both arms together exceed once in 10,000."""
    found = [errors(learned(20, False, True, passes=1, seed=seed)) for seed in range(8)]
    ratios = np.array([off / std for off, std in found])
    assert np.sqrt(np.mean(ratios**2)) < 1.6
    assert np.sqrt(np.mean(ratios**2)) > 0.2  # and they are not too large either


def test_passes_stand_for_different_numbers_of_records() -> None:
    """Residuals are smaller than rewards, so that users are shrunk less in the second pass; each
    pass is read by its own number, and one mean is made of both."""
    policy = learned(3, True, False)
    passes = [ReleaseParts.of(release) for release in policy.releases]
    first, second = with_usable_records(passes)
    assert first.records < 0.85 * ROUNDS
    assert second.records > 1.1 * first.records
    one, other = by_people(policy.releases)[0]
    assert one.mean == pytest.approx(other.mean)
    assert one.mean == pytest.approx(2 * MEANS.mean() - 1, abs=5 * one.mean_noise / one.records)
    counts = ContextCounts.pooled([first, second])
    assert counts is not None
    assert counts.counts.sum() == pytest.approx(second.records, rel=0.15)


def test_an_uncertain_number_of_records_makes_a_mean_uncertain() -> None:
    policy = learned(10, True, False)
    passes = with_usable_records([ReleaseParts.of(release) for release in policy.releases])
    sure = pooled([replace(parts, records_std=0.0) for parts in passes])
    unsure = pooled(passes)
    assert unsure[0].mean_noise > sure[0].mean_noise
    observed = [parts.observation(parts.design.moments) for parts in (sure[0], unsure[0])]
    assert (np.diag(observed[1].N) >= np.diag(observed[0].N)).all()
    assert np.trace(observed[1].N) > np.trace(observed[0].N)


@pytest.mark.parametrize(
    ("counted", "noise", "low", "high"),
    [
        (1000, 10, 990, 1000),  # all of them
        (1030, 10, 990, 1000),  # more are impossible
        (400, 10, 390, 410),
        (-50, 10, 20, 30),  # none at all neither
        (300, 300, 100, 900),  # nothing is known
    ],
)
def test_how_many_records_a_noisy_count_stands_for(
    counted: float, noise: float, low: float, high: float
) -> None:
    found, std = _estimate(counted, noise, 1000)
    assert low <= found <= high
    assert 0.0 <= std < 1.5 * found
    if noise == 300:
        assert std > 0.3 * found
