"""A small problem of known truth, that tests of evaluations share."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from helpers import BUDGET, small_design, small_problem
from tacit._typing import Floats
from tacit.evaluation import EvaluationDesign, as_candidates

NOW = {"dose": 30.0}


def rounds(n: int, seed: int = 0) -> dict[str, Floats]:
    """Uniform play of doses, with some noise."""
    rng = np.random.default_rng(seed)
    problem = small_problem()
    doses = problem.actions.sample(n, rng)[:, 0]
    contexts = problem.contexts.sample(n, rng)
    reward = mean_reward(doses, contexts[:, 0]) + rng.uniform(-0.1, 0.1, n)
    return {"dose": doses, "age": contexts[:, 0], "weight": contexts[:, 1], "reward": reward}


def truth(doses: Any, n: int = 200_000) -> float:
    """The mean reward of a rule, as a function of age."""
    age = small_problem().contexts.sample(n, np.random.default_rng(99))[:, 0]
    return float(np.mean(mean_reward(doses(age), age)))


def mean_reward(doses: Any, age: Floats) -> Floats:
    """Best, 0.9, at the right dose, which falls with age."""
    return np.asarray(0.1 + 0.8 * np.exp(-0.5 * ((doses - (90 - age / 2)) / 25) ** 2))


def learned(n: int = 4000, seed: int = 5) -> tacit.Policy:
    """A simulated policy: not private, and with no receipt."""
    log = rounds(n, seed)
    contexts = np.column_stack([log["age"], log["weight"]])
    statistic = small_design(horizon=n).statistic()
    statistic.add(log["dose"][:, None], contexts, log["reward"])
    return statistic.simulate_release(np.random.default_rng(seed))


def design(policies: dict[str, Any], records: int, **given: Any) -> EvaluationDesign:
    problem = given.pop("problem", small_problem())
    given = {"budget": BUDGET} | given
    return EvaluationDesign.build(
        problem, as_candidates(policies, problem), records=records, **given
    )


def rule(contexts: Any) -> Any:
    """The right dose."""
    return {"dose": 90 - np.asarray(contexts["age"]) / 2}
