"""How many reward functions choose an action: as if each had decided. And what one decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from mutation import Mutant, failure_under
from tacit._typing import Floats
from tacit.domains import Domain
from tacit.kernels import Kernel, Matern, Separable
from tacit.numerics.engine import NUMPY
from tacit.play.base import SAME, same_actions
from tacit.policy.deciding import Decider
from tacit.policy.line import top_of_quartic

CONTEXTS = tacit.Mixed.of(age=(18, 95), gene=["G", "A"])
ACTIONS = {
    "one number": tacit.Box.of(dose=(0, 100)),
    "two numbers": tacit.Box.of(a=(0, 1), b=(0, 1)),
    "labels": tacit.Mixed.of(offer=["a", "b", "c"]),
    "both": tacit.Mixed.of(offer=["a", "b"], x=(0, 1)),
    "shares": tacit.Simplex(3),
}


def committee(actions: Domain, kernel: Any, spread: float) -> tuple[Decider, Floats, Floats]:
    """A decider, reward functions so far apart, and contexts."""
    problem = tacit.Problem(actions=actions, contexts=CONTEXTS, kernel=kernel)
    rng = np.random.default_rng(1)
    n = 30
    landmarks = np.hstack([actions.sample_points(n, rng), CONTEXTS.sample_points(n, rng)])
    weights = rng.normal(size=n)
    decider = Decider(actions, problem.k, landmarks, weights, 64, NUMPY)
    drawn = weights + spread * rng.normal(size=(16, n))
    return decider, drawn, CONTEXTS.sample_points(12, rng)


def slowly(decider: Decider, C: Floats, X: Floats, drawn: Floats) -> list[float]:
    """Each function decides for itself."""
    chosen = [decider.decide(np.tile(c, (len(drawn), 1)), drawn) for c in C]
    return [float(np.mean(same_actions(each, x))) for each, x in zip(chosen, X, strict=True)]


@pytest.mark.parametrize("spread", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("name", ACTIONS)
def test_those_agree_who_would_decide_alike(name: str, spread: float) -> None:
    decider, drawn, C = committee(ACTIONS[name], None, spread)
    for X in (decider.decide(C, drawn[:12]), decider.decide(C), decider.menu[:12]):
        X = np.resize(X, (len(C), X.shape[1]))
        assert decider.agreeing(C, X, drawn).tolist() == slowly(decider, C, X, drawn)


def test_the_same_for_kernels_of_any_kind() -> None:
    decider, drawn, C = committee(ACTIONS["one number"], lambda a, b: Matern(2.5, 0.5)(a, b), 0.1)
    X = decider.decide(C, drawn[:12])
    found = decider.agreeing(C, X, drawn)
    assert found.tolist() == slowly(decider, C, X, drawn)
    assert found.max() > 0


def one_number(tmp_path: Path) -> None:
    test_those_agree_who_would_decide_alike("one number", 0.02)


def test_a_reach_that_is_too_small_is_seen(tmp_path: Path) -> None:
    mutant = Mutant(
        "only candidates themselves are within reach",
        "tacit.policy.deciding.Decider._may_choose",
        "distance <= self._reach + SAME",
        "distance <= SAME",
        one_number,
    )
    failure_under(mutant, tmp_path)


# -- what is precomputed for decisions changes none of them ----------------------------------------


def plainly(decider: Decider, C: Floats) -> Floats:
    """By the kernel itself, one context at a time, with every score computed."""
    plain = Decider(
        decider.actions,
        decider.kernel,
        decider._landmarks,
        decider._weights,
        len(decider.menu),
        decider._engine,
    )
    assert isinstance(plain.kernel, Separable)
    at = plain.kernel.at
    on_actions: Kernel = plain.kernel.actions
    on_contexts: Kernel = plain.kernel.contexts
    plain.__dict__["on_actions"] = lambda A: on_actions(A, plain._landmarks[:, :at])
    plain.__dict__["on_contexts"] = lambda A: on_contexts(A, plain._landmarks[:, at:])
    return np.vstack([plain.decide(c[None]) for c in C])


@pytest.mark.parametrize("name", ACTIONS)
def test_decisions_are_those_of_the_kernel_itself(name: str) -> None:
    decider, _, C = committee(ACTIONS[name], None, 0.1)
    expected = plainly(decider, C)
    assert np.allclose(decider.decide(C), expected, rtol=0, atol=SAME)
    decider._rows = 5  # a few contexts at a time
    assert np.allclose(decider.decide(C), expected, rtol=0, atol=SAME)


@pytest.mark.parametrize("smoothness", [1.5, 2.5])
def test_decisions_on_a_line_are_the_tops_of_their_scores(smoothness: float) -> None:
    decider, _, C = committee(ACTIONS["one number"], Matern(smoothness, 0.4), 0.1)
    everywhere = np.linspace(0.0, 1.0, 20_001)[:, None]
    for c, x in zip(C, decider.decide(C), strict=True):
        scores = decider._scores(np.tile(c, (len(everywhere), 1)))
        top = scores.at(everywhere[None])[0].max()
        assert decider._scores(c[None]).at(x[None, None])[0, 0] >= top - 1e-6


def decide_on_a_line(tmp_path: Path) -> None:
    test_decisions_on_a_line_are_the_tops_of_their_scores(2.5)


@pytest.mark.parametrize(
    ("name", "where", "right", "wrong"),
    [
        (
            "the window begins one candidate too late",
            "tacit.policy.deciding._window",
            "first[:, None] + np.arange(POINTS)",
            "np.minimum(first[:, None] + 1 + np.arange(POINTS), menu.shape[1] - 1)",
        ),
        (
            "the quartic's top is looked for on its other side",
            "tacit.policy.line.top_of_quartic",
            "t = t - slope",
            "t = t + slope",
        ),
    ],
)
def test_tops_in_the_wrong_place_are_seen(
    name: str, where: str, right: str, wrong: str, tmp_path: Path
) -> None:
    failure_under(Mutant(name, where, right, wrong, decide_on_a_line), tmp_path)


@given(
    top=st.floats(-0.4, 4.4),
    bend=st.floats(0.01, 100.0),
    skew=st.floats(-0.05, 0.05),
    shift=st.floats(-5.0, 5.0),
)
def test_the_top_of_a_quartic_is_found(top: float, bend: float, skew: float, shift: float) -> None:
    at = np.arange(5.0) - top
    values = shift - bend * at**2 * (1.0 + skew * at)
    best = np.array([values.argmax()])
    expected = np.clip(top, 0.0, 4.0)
    assert np.isclose(top_of_quartic(values[None], best)[0], expected, rtol=0.0, atol=1e-5)
