"""One decision at a time, under pure epsilon: the paper's own guarantee, in exact integers."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np

from tacit.core import Ledger, as_ledger, integer_weights, release_choice
from tacit.core.selection import checked
from tacit.errors import InputError
from tacit.single_decision.scoring import score_weights
from tacit.statistic import Statistic
from tacit.tables import records


def release_decision(
    statistic: Statistic,
    context: Any,
    *,
    epsilon: float,
    ledger: Ledger | str,
    request: str | None = None,
    candidates: int = 1024,
) -> Any:
    """Spends `epsilon` on one decision for one context, without releasing anything else.

    Scores every candidate action by a public linear map of the private sum (see
    `tacit.single_decision.scoring`; without a generator of contexts it is the paper's mubar(x, c) =
    q(x, c)' b) and chooses by permute-and-flip (a pure budget) or the exponential mechanism (any
    other, where it costs epsilon^2 / 8 in rho). The same `request` on the same ledger returns the
    same decision, free of charge.

    For more than a handful of decisions a policy is the better buy: `statistic.release` pays once
    for all of them.

    >>> pure = tacit.Budget(epsilon=2.0)
    >>> design = tacit.Design.build(problem, horizon=2000, budget=pure, rng=7, passes=1)
    >>> statistic = design.statistic().add(log, log, log["reward"])
    >>> decision = tacit.release_decision(
    ...     statistic, {"age": 40}, epsilon=1.0, ledger="sqlite:///one.db", request="patient 7"
    ... )
    >>> list(decision)
    ['dose']
    """
    statistic.require_records()
    design = statistic.design
    problem = design.problem
    table = records(context, problem.contexts.names, "the context", single=True)
    if table.rows != 1:
        raise InputError(
            f"release_decision takes one context, got {table.rows}: release a policy to decide for "
            "a table."
        )
    if candidates < 1:
        raise InputError(f"candidates must be at least 1, got {candidates!r}: try 1024.")
    menu = problem.actions.candidate_points(candidates)
    visitor = problem.context_points(table)
    points = np.hstack([menu, np.repeat(visitor, len(menu), axis=0)])
    weights = score_weights(design, checked(epsilon))(points)
    theta = integer_weights(
        np.pad(weights, ((0, 0), (0, design.layout.size - design.rank))), design.encoding
    )
    chosen = release_choice(
        statistic._sum,
        theta,
        epsilon,
        as_ledger(ledger, design.total_budget),
        request or f"decide-{secrets.token_hex(8)}",
        {"design": design.fingerprint},
        binding=hashlib.blake2b(visitor.astype("<f8").tobytes(), digest_size=16).hexdigest(),
    )
    return table.answer(problem.actions.decode(menu[chosen : chosen + 1]))
