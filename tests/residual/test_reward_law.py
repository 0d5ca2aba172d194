"""The law of rewards that a release tells, and what clipping leaves of residuals under it."""

from __future__ import annotations

import numpy as np
import pytest

from tacit._typing import Floats
from tacit.numerics.histogram import NODES, hat
from tacit.residual.clipping import _clipped, clip_residuals, law_response
from tacit.residual.reward_law import VALUES, ReleasedRewards, ResidualLaw, RewardLaw
from tacit.residual.target import WHOLE, Residual

EXACT = 1e-6  # the error of a reward function that is known


def binary(mean: float) -> RewardLaw:
    return RewardLaw(np.array([-1.0, 1.0]), np.array([1.0 - mean, 1.0 + mean]) / 2.0)


@pytest.mark.parametrize("residual_clip", [0.5, 0.8, 1.1, 3.0])
def test_what_clipping_leaves_of_binary_rewards_is_exact(residual_clip: float) -> None:
    """E[clip(y - f1)] = shift(f1) + attenuation(f1) (f - f1), for every f: it is linear in the
    probability. By hand. The tolerance is that of 33 predictions between which is interpolated."""
    learned = np.linspace(-0.95, -0.25, 5001)
    law = ResidualLaw.of(binary(float(learned.mean())), learned, EXACT)
    response = _clipped(law, residual_clip).response
    for f1 in (-0.9, -0.6, -0.3):
        attenuation, shift = response.at(np.array([f1]))
        for f in (f1, f1 + 0.1, -0.95, 0.0):
            ends = np.clip(np.array([-1.0 - f1, 1.0 - f1]), -residual_clip, residual_clip)
            right = (1.0 - f) / 2.0 * ends[0] + (1.0 + f) / 2.0 * ends[1]
            assert shift[0] + attenuation[0] * (f - f1) == pytest.approx(right, abs=5e-3)


def test_nothing_is_cut_off_by_a_wide_clip() -> None:
    learned = np.linspace(-0.5, 0.5, 1001)
    law = ResidualLaw.of(RewardLaw.beta(0.0, 0.4), learned, 0.1)
    found = _clipped(law, law.largest)
    slope, value = found.response.at(law.predictions)
    assert slope == pytest.approx(np.ones(33), abs=1e-9)
    assert value == pytest.approx(np.zeros(33), abs=1e-9)
    assert found.response.least_slope > WHOLE
    assert found.mean_square == pytest.approx(law.deviation**2, rel=1e-6)


def test_the_line_is_the_regression_of_clipped_residuals_on_normal_offsets() -> None:
    """Where residuals are far from 0, clipping leaves less of a change than around 0: by drawing
    them. The tolerance is eight standard errors, a false alarm below 1e-14."""
    learned = np.linspace(-0.3, 0.3, 1001)
    law = ResidualLaw.of(RewardLaw.beta(0.0, 0.1), learned, 0.1, noise=0.1)
    response = law_response(law, 0.2)
    rng = np.random.default_rng(0)
    n = 400_000
    slopes = []
    for mean in (0.0, 0.25):
        offsets = rng.normal(mean, 0.08, size=n)
        noise = rng.choice(law.noise[16], p=law.probabilities[16], size=n)
        kept = np.clip(offsets + noise, -0.2, 0.2)
        slope, value = response.line(np.zeros(1), mean, 0.08)
        drawn = np.cov(kept, offsets)[0, 1] / np.var(offsets)
        assert slope[0] == pytest.approx(drawn, abs=8 * 0.2 / 0.08 / np.sqrt(n))
        assert value[0] + slope[0] * mean == pytest.approx(kept.mean(), abs=8 * 0.2 / np.sqrt(n))
        slopes.append(slope[0])
    assert slopes[1] < 0.7 * slopes[0]


def test_a_residual_is_restored_from_its_facts_and_arrays_and_from_those_of_earlier_versions() -> (
    None
):
    law = ResidualLaw.of(RewardLaw.beta(0.0, 0.4), np.linspace(-0.5, 0.5, 101), 0.1)
    residual = Residual(np.ones(3), 0.2, 0.4, law_response(law, 0.4), 0.1, 0.3)
    again = Residual.restore(residual.facts(), residual.arrays())
    at = np.linspace(-0.4, 0.4, 7)
    assert np.array_equal(again.response.at(at), residual.response.at(at))
    assert again.facts() == residual.facts()

    lines = np.array([[-1.0, 0.0, 1.0], [0.9, 0.8, 0.7], [0.0, 0.1, 0.0]])
    numbers = {"level": 0.2, "residual_clip": 0.4, "error": 0.1, "deviation": 0.3}
    old = Residual.restore(numbers, {"residual_weights": np.ones(3), "residual_response": lines})
    slope, value = old.response.at(np.zeros(1))
    assert (old.level, old.residual_clip) == (0.2, 0.4)
    assert slope == pytest.approx([0.8], abs=0.02)
    assert value == pytest.approx([0.1], abs=0.02)


MEANS = np.array([-0.7, -0.2, 0.1, 0.6])


def test_binary_rewards_stay_binary() -> None:
    assert binary(-0.84).tilted(MEANS) == pytest.approx(np.stack([1 - MEANS, 1 + MEANS]).T / 2)


def log_slopes(weights: Floats) -> Floats:
    """The law with these weights, shifted to other means: differences of its log probabilities."""
    tilted = RewardLaw(VALUES, weights / weights.sum()).tilted(MEANS)
    assert tilted @ VALUES == pytest.approx(MEANS, abs=1e-6)
    return np.diff(np.log(tilted), axis=1)


def test_exponential_rewards_stay_exponential() -> None:
    """Their log probabilities are straight lines."""
    slopes = log_slopes(np.exp(-4.0 * VALUES))
    assert slopes == pytest.approx(np.repeat(slopes[:, :1], 128, axis=1), abs=1e-9)
    assert len(np.unique(np.round(slopes[:, 0], 6))) == len(MEANS)


def test_normal_rewards_are_shifted() -> None:
    """Their log probabilities stay parabolas of the same curvature."""
    std = 0.2
    step = VALUES[1] - VALUES[0]
    slopes = log_slopes(np.exp(-0.5 * ((VALUES + 0.3) / std) ** 2))
    curvature = np.diff(slopes, axis=1)
    assert curvature == pytest.approx(np.full((4, 127), -((step / std) ** 2)), abs=1e-9)


def told(y: Floats, noise: float, rng: np.random.Generator) -> ReleasedRewards:
    histogram = hat(y).mean(axis=0) + noise * rng.normal(size=17)
    mean = float(y.mean() + noise * rng.normal())
    square = float(np.mean(y**2) + noise * rng.normal())
    return ReleasedRewards(mean, noise, square, noise, histogram, noise)


@pytest.mark.parametrize("kind", ["binary", "bump", "zeros"])
def test_the_law_of_rewards_is_found(kind: str) -> None:
    """From a release with noise of 1 % in each number: mean and variance of the likeliest law up to
    five of those, and where its mass is up to the distance between nodes (Wasserstein's)."""
    rng = np.random.default_rng(0)
    samples = {
        "binary": np.where(rng.random(20_000) < 0.08, 1.0, -1.0),
        "bump": np.clip(0.3 + 0.15 * rng.normal(size=20_000), -1, 1),
        "zeros": np.where(rng.random(20_000) < 0.7, 0.0, rng.random(20_000)),
    }
    y = samples[kind]
    laws = told(y, 0.01, rng).laws()
    best = laws[0]
    assert best.mean == pytest.approx(y.mean(), abs=0.05)
    assert best.variance == pytest.approx(y.var(), abs=0.05)
    apart = np.cumsum(best.probabilities @ hat(best.values) - hat(y).mean(axis=0))
    between = float(NODES[1] - NODES[0])
    assert between * np.sum(np.abs(apart)) < between
    assert all(law.probabilities.sum() == pytest.approx(1.0) for law in laws)


def test_rare_rewards_are_not_clipped_as_if_they_were_normal() -> None:
    """1.5 standard deviations would cut off most of a reward of 8 %, and all that it says."""
    rng = np.random.default_rng(0)
    learned = rng.normal(-0.84, 0.03, 4000)
    laws = [ResidualLaw.of(binary(-0.84), learned, 0.02)]
    found = clip_residuals(laws, rewards_square=1.0, sampling=1.0, privacy=0.05)
    assert found is not None
    assert found.attenuation > 0.99
    assert found.mean_square < 0.5
