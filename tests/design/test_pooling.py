"""Designs pool more where less can be learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from tacit import Budget, Design, DesignOptions, Problem
from tacit.design.pooling import CAUTIOUS, choose_pooling, prior_root
from tacit.kernels import Matern, Pooled, Separable

ACTIONS = tacit.Box.of(dose=(0, 100))
CONTEXTS = tacit.Box.of(age=(18, 95), weight=(40, 140), height=(150, 200))
BUDGET = Budget(epsilon=0.3, delta=1e-6)


def build(**options: Any) -> Design:
    given: dict[str, Any] = {"rank": 40, "public_points": 2000, "tau": 10.0} | options
    problem = Problem(ACTIONS, CONTEXTS)
    return Design.build(problem, horizon=1000, budget=BUDGET, rng=0, options=DesignOptions(**given))


@given(rounds=st.integers(10, 10**7), columns=st.integers(2, 40), epsilon=st.floats(0.01, 10.0))
def test_weights_are_shares_between_cautious_and_usual_ones(
    rounds: int, columns: int, epsilon: float
) -> None:
    names = {f"c{i}": (0.0, 1.0) for i in range(columns)}
    problem = Problem(ACTIONS, tacit.Box.of(**names))
    found = choose_pooling(problem, rounds, Budget(epsilon, 1e-6).gaussian)
    assert found is not None
    assert sum(found) == pytest.approx(1.0)
    kernel = problem.k
    assert isinstance(kernel, Separable)
    assert isinstance(kernel.contexts, Pooled)
    usual = kernel.contexts.shares
    assert min(usual[0], CAUTIOUS[0]) - 1e-9 <= found[0] <= CAUTIOUS[0] + 0.04
    assert (found[2] == 0.0) == (usual[2] == 0.0)


def test_more_rounds_and_a_larger_budget_pool_less() -> None:
    problem = Problem(ACTIONS, CONTEXTS)
    common = [
        choose_pooling(problem, rounds, Budget(epsilon, 1e-6).gaussian)[0]  # type: ignore[index]
        for rounds, epsilon in [(300, 0.3), (3000, 0.3), (3000, 1.0), (30_000, 1.0)]
    ]
    assert common == sorted(common, reverse=True)
    assert common[0] - common[-1] > 0.2


@pytest.mark.parametrize(
    "problem",
    [
        Problem(ACTIONS, CONTEXTS, kernel=Matern(2.5, 0.3)),
        Problem(
            ACTIONS,
            CONTEXTS,
            kernel=Separable(Matern(2.5, 0.3), Pooled(Matern(2.5, 0.5), weights=(0.5, 0.4, 0.1))),
        ),
        Problem(ACTIONS, tacit.Box.of(age=(18, 95))),
    ],
    ids=["a kernel of one's own", "stated weights", "one column"],
)
def test_what_is_stated_stays(problem: Problem) -> None:
    assert choose_pooling(problem, 1000, BUDGET.gaussian) is None


def test_the_whitening_is_that_of_the_prior_it_is_made_for() -> None:
    # With the ridge of the paper: A'A = (T E[phi phi'] + tau P^-1)^-1.
    design = build(tau=30.0)
    assert design.pooling is not None
    assert design.moment is not None
    root = prior_root(design.features, design.pooling)
    assert root is not None
    A = design.whitening
    Z = design.horizon * design.moment + 30.0 * np.linalg.inv(root @ root)
    assert np.allclose(A.T @ A @ Z, np.eye(design.rank), atol=1e-6)
    # and it is not the usual one
    usual = design.horizon * design.moment + 30.0 * np.eye(design.rank)
    assert not np.allclose(A.T @ A @ usual, np.eye(design.rank), atol=1e-2)


def test_the_usual_weights_are_the_usual_prior() -> None:
    kernel = Problem(ACTIONS, CONTEXTS).k
    assert isinstance(kernel, Separable)
    assert isinstance(kernel.contexts, Pooled)
    design = build(pooling=kernel.contexts.shares)
    root = prior_root(design.features, design.pooling)
    assert root is not None
    assert np.allclose(root, np.eye(design.rank), atol=1e-6)


def test_pooling_is_kept_with_the_design() -> None:
    design = build()
    again = Design.restore(design.problem, design.facts(), design.arrays())
    assert again.pooling == design.pooling
    earlier = design.facts()
    del earlier["pooling"]  # as versions before this one wrote it
    assert Design.restore(design.problem, earlier, design.arrays()).pooling is None


@pytest.mark.parametrize("pooling", [(0.5, 0.5), (0.5, -0.1, 0.6), (0, 0, 0), "abc"])
def test_weights_that_are_none_are_refused(pooling: Any) -> None:
    with pytest.raises(tacit.errors.InputError, match="weights"):
        DesignOptions(pooling=pooling)


def test_a_plain_design_is_the_papers_own() -> None:
    assert build(plain=True).pooling is None
