"""The attack on a whole evaluation: a table in, values and differences out, by `tacit.evaluate`.

Neighbours differ in one round of the log: its context, its action and its reward. As in the attack
on a study in epochs, the noise of the release is drawn many times around the sum that the
evaluation itself made, and the second evaluation is answered what the first one was: everything
else that it says, windows, weights and intervals, must then be the same to the last bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.audit.bounds import GAUSSIAN
from tacit.audit.epochs import APART, PROBLEM, RepeatedDraws
from tacit.audit.evidence import choosers, count_event
from tacit.audit.findings import Clock, Finding, part, sampled
from tacit.audit.ledger import temporary_ledger
from tacit.core import Budget
from tacit.domains import Domain
from tacit.evaluating import evaluate
from tacit.evaluation import Evaluation, EvaluationDesign, EvaluationOptions, as_candidates
from tacit.progress import Progress, silent

ROUNDS = 400
ODD = 5  # the number of the round in which neighbours differ
POINTS = 400  # rounds that are looked at for two that are far apart
OPTIONS = EvaluationOptions(other_people=True)

Table = dict[str, Floats]
Evaluate = Callable[..., Evaluation]


def attack_evaluation(
    name: str = "an evaluation",
    *,
    rho: float,
    delta: float,
    samples: int,
    run: Evaluate = evaluate,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is what the ledger charged.

    The direction in which the attacker looks, and the threshold in the middle, come from a quarter
    of the draws; the others are counted. `run` evaluates.
    """
    clock = Clock()
    answers: dict[str, bytes] = {}
    seen = []
    public = []
    charged = 0.0
    for side, log in enumerate(neighbours(rho)):
        show = part(progress, name, side, 2)
        with temporary_ledger(Budget(rho=rho)) as ledger:
            watched = RepeatedDraws(ledger, samples, answers)
            found = run(
                policies(),
                log,
                problem=PROBLEM,
                play="uniform",
                budget=Budget(rho=rho),
                ledger=watched,
                options=OPTIONS,
            )
            seen.append(np.hstack(watched.seen))
            public.append(_said(found))
            charged = max(charged, watched.spent)
        show(1, 1)
    if public[0] != public[1]:
        # What anybody can read tells the two apart, without noise.
        seen = [np.hstack([one, np.full((samples, 1), APART * i)]) for i, one in enumerate(seen)]
    up, down = seen
    n = choosers(up)
    towards = up[:n].mean(axis=0) - down[:n].mean(axis=0)
    middle = float((up[:n].mean(axis=0) + down[:n].mean(axis=0)) @ towards) / 2.0
    counts = count_event(up[n:] @ towards, down[n:] @ towards, middle)
    about = (
        f"one of {ROUNDS} rounds replaced: context, action and reward; a rule and random "
        "play are compared; the claim is what was charged"
    )
    claimed = math.sqrt(2.0 * charged)
    return sampled(
        name, claimed, counts, GAUSSIAN, samples=2 * samples, delta=delta, clock=clock, about=about
    )


def policies() -> dict[str, Any]:
    """A function of contexts, and random play."""
    return {"rule": _rule, "random": "uniform"}


def _rule(contexts: dict[str, Any]) -> dict[str, Any]:
    return {"dose": 0.2 + 0.6 * contexts["age"]}


def neighbours(rho: float) -> list[Table]:
    """Two logs that differ in one round, by two rounds as far apart as any that were looked at."""
    design = EvaluationDesign.build(
        PROBLEM,
        as_candidates(policies(), PROBLEM),
        records=ROUNDS,
        budget=Budget(rho=rho),
        options=OPTIONS,
    )
    rng = np.random.default_rng(0)
    X = rng.random((POINTS, 1))
    C = rng.random((POINTS, 1))
    y = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    psi, usable = design.scorer.scores(X, C, y, None)
    V = design.rows(psi, usable, None)
    norms = np.sum(V * V, axis=1)
    distances = norms[:, None] - 2.0 * V @ V.T + norms[None, :]
    pair = np.unravel_index(int(np.argmax(distances)), distances.shape)
    points = rng.random((ROUNDS, 2))
    rewards = rng.uniform(-1.0, 1.0, ROUNDS)
    logs = []
    for i in pair:
        points[ODD] = X[i, 0], C[i, 0]
        rewards[ODD] = y[i]
        logs.append(_table(points, rewards))
    return logs


def _table(points: Floats, rewards: Floats) -> Table:
    """Rounds as a user would log them."""
    low, high = PROBLEM.reward_range
    scaled = low + (high - low) * (1.0 + rewards) / 2.0
    return (
        _columns(PROBLEM.actions, points[:, :1])
        | _columns(PROBLEM.contexts, points[:, 1:])
        | {"reward": scaled}
    )


def _columns(domain: Domain, points: Floats) -> Table:
    return {name: np.asarray(column) for name, column in domain.decode(points).items()}


def _said(found: Evaluation) -> str:
    """Everything that an evaluation says, apart from the receipt, which has the time."""
    return json.dumps(found.to_json() | {"receipt": None}, sort_keys=True)
