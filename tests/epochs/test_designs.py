"""What is known before an epoch is not learned in it once more."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit._typing import Floats
from tacit.design import Design
from tacit.epochs import EpochPlay, Learned, Shares, cohort_of, next_epoch

PROBLEM = tacit.Problem(
    actions=tacit.Box.of(dose=(0.0, 1.0)),
    contexts=tacit.Box.of(age=(0.0, 1.0)),
    kernel=tacit.Separable(tacit.Matern(2.5, 0.3), tacit.Matern(2.5, 0.3)),
)
BUDGET = tacit.Budget(1.0, 1e-6)
ROUNDS = 3000


@pytest.fixture(scope="module")
def policy() -> tacit.Policy:
    """The best dose is the age; a simulated release."""
    rng = np.random.default_rng(0)
    design = tacit.Design.build(
        PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=rng, options=tacit.DesignOptions(rank=60)
    )
    doses = rng.uniform(size=ROUNDS)
    ages = rng.uniform(size=ROUNDS)
    statistic = design.statistic()
    statistic.add({"dose": doses}, {"age": ages}, 1 - 2 * np.abs(doses - ages))
    return (
        tacit.refine(statistic.simulate_release(rng))
        .statistic()
        .add({"dose": doses}, {"age": ages}, 1 - 2 * np.abs(doses - ages))
        .simulate_release(rng)
    )


def second_epoch(policy: tacit.Policy) -> Design:
    rng = np.random.default_rng(1)
    learned = Learned.of(policy.posterior, rng)
    play = EpochPlay(PROBLEM, Shares(explore=1.0), learned, private=False)
    return next_epoch(policy, play, cohort_of(2, ROUNDS, ROUNDS), budget=BUDGET, rng=rng)


def spent(design: Design, direction: Floats) -> float:
    """The share of the influences that is spent on a direction of the weights."""
    A = design.whitening
    return float(np.sum((A @ direction) ** 2) / np.sum(A**2))


def test_what_is_known_already_is_not_measured_again(
    policy: tacit.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior = policy.posterior
    L = policy.releases[-1].design.features.L
    left = posterior.scale * np.eye(len(L)) - L.T @ posterior.reduction @ L
    _, V = np.linalg.eigh(left)
    best_known = V[:, 0]
    design = second_epoch(policy)
    assert design.residual is not None
    assert not design.residual.rewards
    monkeypatch.setattr("tacit.epochs.design._unknown", lambda *_: None)
    again = second_epoch(policy)
    assert spent(design, best_known) < 0.5 * spent(again, best_known)
