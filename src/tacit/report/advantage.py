"""What the policy gains over other ways of playing: random play, the best fixed action, a
baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.errors import InputError
from tacit.play import PlayLaw, as_baseline
from tacit.policy import Policy
from tacit.policy.comparison import BAND_90, Comparison, Play
from tacit.policy.health import random_play
from tacit.report.view import View

__all__ = ["BAND_90", "Comparison", "Gains", "measure_gains"]


@dataclass(frozen=True, eq=False)
class Gains:
    """The policy's expected reward less that of others, over the people in the data."""

    over_random: Comparison
    over_fixed: Comparison
    fixed: Floats  # the best fixed action in unit coordinates, as a row
    over_baseline: Comparison | None


def measure_gains(view: View, baseline: Any = None) -> Gains:
    """Over random play, over the best fixed action and over a stated baseline."""
    policy = view.policy
    over = view.comparer
    chosen = Play.of_each(view.chosen)
    fixed = policy.decide_alike_points(over.C)
    over_baseline = None
    if baseline is not None:
        over_baseline = over.compare(chosen, baseline_play(policy, baseline, over.C))
    return Gains(
        over_random=over.compare(chosen, random_play(policy)),
        over_fixed=over.compare(chosen, Play.of_all(fixed)),
        fixed=fixed,
        over_baseline=over_baseline,
    )


def baseline_play(policy: Policy, baseline: Any, C: Floats) -> Play:
    """What a baseline plays in these contexts: another policy, a function from contexts (a dict of
    columns) to actions, or one action for everybody."""
    problem = policy.problem
    if isinstance(baseline, PlayLaw):  # a cautious policy, for example
        law = as_baseline(baseline).on(problem.actions)
        return Play.of_each(law.draw(C, problem.contexts, np.random.default_rng(0)))
    if isinstance(baseline, Policy) or callable(baseline):
        decide = baseline.decide if isinstance(baseline, Policy) else baseline
        played = decide(problem.contexts.decode(C))
    elif isinstance(baseline, Mapping):
        played = {name: np.atleast_1d(value) for name, value in baseline.items()}
    else:
        played = np.reshape(baseline, (1, -1))
    table = problem.actions.read(played, "the baseline's actions")
    actions = problem.actions.encode(table.columns)
    if len(actions) not in (1, len(C)):
        raise InputError(
            f"a baseline must choose one action for each of {len(C)} contexts, or one for all of "
            f"them, got {len(actions)}."
        )
    if not np.isfinite(actions).all():
        raise InputError(
            "a baseline must choose actions of the problem, got some that are missing or unknown: "
            f"{', '.join(problem.actions.names)} must be in the problem's own units and labels."
        )
    if len(actions) == 1:
        return Play.of_all(actions)
    return Play.of_each(actions)
