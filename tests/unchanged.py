"""Small studies with fixed seeds, and what came of them: numbers that a redesign must not change.

`python tests/unchanged.py` writes today's numbers to tests/unchanged.json. Do that only when
results are meant to change, and say so in the changelog. The stored numbers are those of designs
that share the noise as `tacit.design.allocation` says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helpers import BUDGET, build_design, records, small_problem
from tacit import Box, Categories, Design, Matern, Mixed, Policy, Problem, refine
from tacit.contexts import PublicSample, simulate_marginals
from tacit.core import simulate_gaussian

STORED = Path(__file__).with_suffix(".json")
ROUNDS = 600
SHOWN = 8  # released numbers and decisions that are compared


def design(problem: Problem, **options: Any) -> Design:
    given: dict[str, Any] = {
        "horizon": ROUNDS,
        "budget": BUDGET,
        "rng": 0,
        "rank": 24,
        "public_points": 3000,
    }
    return build_design(problem, **given | options)


def one_pass(
    problem: Problem, data: tuple[Any, Any, Any], users: Any = None, **options: Any
) -> dict[str, Any]:
    statistic = design(problem, **options).statistic().add(*data, users=users)
    return shown(problem, statistic.simulate_release(np.random.default_rng(1)), data[1])


def two_passes(problem: Problem, data: tuple[Any, Any, Any]) -> dict[str, Any]:
    first = design(problem, passes=2)
    early = first.statistic().add(*data).simulate_release(np.random.default_rng(1))
    again = refine(early).statistic().add(*data)
    return shown(problem, again.simulate_release(np.random.default_rng(2)), data[1])


def shown(problem: Problem, policy: Policy, contexts: Any) -> dict[str, Any]:
    """Released numbers in units of one record, decisions in unit coordinates, expected rewards,
    without their level where only advantages are learned."""
    assert policy.releases
    visitors = contexts[:SHOWN]
    decided = policy.decide_points(problem.context_points(problem.contexts.read(visitors)))
    mean = np.asarray(policy.mean(policy.decide(visitors), visitors))
    if problem.advantage:
        mean = mean - problem.unscale_reward(np.array(policy.posterior.level))
    return {
        "released": (
            policy.releases[-1].released.values[:SHOWN] / 2.0 ** policy.releases[-1].released.bits
        ).tolist(),
        "scale": policy.releases[-1].released.scale / 2.0 ** policy.releases[-1].released.bits,
        "decided": decided[:, 0].tolist(),
        "mean": mean.tolist(),
        "epsilon": policy.guarantee.epsilon,
    }


def kinds_of_people() -> tuple[Problem, tuple[Any, Any, Any]]:
    """A problem with labels in actions and contexts, and a kernel that is given."""
    problem = Problem(
        actions=Categories(["low", "middle", "high"], "dose"),
        contexts=Mixed([Box([0.0], [1.0], ["age"]), Categories(["a", "b"], "kind")]),
        kernel=Matern(1.5, 0.6),
    )
    rng = np.random.default_rng(5)
    doses = rng.choice(["low", "middle", "high"], size=ROUNDS)
    people = [
        [float(age), kind]
        for age, kind in zip(rng.random(ROUNDS), rng.choice(["a", "b"], ROUNDS), strict=True)
    ]
    rewards = [
        0.2 + 0.5 * (dose == "high") * age + 0.2 * (kind == "a")
        for dose, (age, kind) in zip(doses, people, strict=True)
    ]
    return problem, (doses.tolist(), people, rewards)


def learned_counts() -> dict[str, Any]:
    """Marginals of contexts, learned with a seed."""
    problem = small_problem()
    learned = simulate_marginals(
        records(ROUNDS)[1], problem.contexts, budget=BUDGET, rng=np.random.default_rng(3)
    )
    drawn = learned.sample(SHOWN, np.random.default_rng(4))
    return {
        "tree": list(learned.tree),
        "drawn": [float(value) for column in drawn.values() for value in column],
    }


def noised_sum() -> dict[str, Any]:
    """A private sum by itself, with and without users."""
    found = {}
    for unit in ("record", "user"):
        statistic = design(small_problem(), unit=unit).statistic()
        users = [i % 50 for i in range(ROUNDS)] if unit == "user" else None
        statistic.add(*records(ROUNDS), users=users)
        released = simulate_gaussian(statistic._sum, BUDGET, np.random.default_rng(6))
        found[unit] = (released.values[:SHOWN] / 2.0**released.bits).tolist()
    return found


def advantage() -> Problem:
    plain = small_problem()
    return Problem(plain.actions, plain.contexts, plain.kernel, plain.reward_range, advantage=True)


def with_sample() -> Problem:
    plain = small_problem()
    sample = PublicSample(plain.contexts.sample(200, np.random.default_rng(7)))
    return Problem(
        plain.actions, plain.contexts, plain.kernel, plain.reward_range, generator=sample
    )


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "one pass": lambda: one_pass(small_problem(), records(ROUNDS)),
    "two passes": lambda: two_passes(small_problem(), records(ROUNDS)),
    "plain": lambda: one_pass(small_problem(), records(ROUNDS), plain=True),
    "advantage, two passes": lambda: two_passes(advantage(), records(ROUNDS)),
    "a public sample": lambda: one_pass(with_sample(), records(ROUNDS)),
    "users": lambda: one_pass(
        small_problem(), records(ROUNDS), [i % 60 for i in range(ROUNDS)], unit="user"
    ),
    "labels, two passes": lambda: two_passes(*kinds_of_people()),
    "marginals": learned_counts,
    "sums": noised_sum,
}


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: case() for name, case in CASES.items()}, indent=1) + "\n")
