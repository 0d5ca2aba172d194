"""How a policy was made: its public settings, and its problem as it was written down."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tacit._version import __version__
from tacit.errors import InputError
from tacit.policy import Policy
from tacit.report.spec_text import lines

MEANS = {
    "records": "rounds that went in, complete or not",
    "horizon": "rounds that were planned",
    "budget": "what was allowed to be spent",
    "passes": "releases from the same rounds; a second one tells what the first got wrong, or the same again",
    "reach": "where a second pass clips how far rewards are from the first policy (1: rewards told as they are)",
    "tau": "regularisation, chosen before any data for the best predicted accuracy",
    "clip": "the largest influence one record may have",
    "unit": "whom the guarantee is for",
    "context_share": "share of the budget that learns who really comes",
    "plain": "whether only USCA's own statistic was released",
    "rank": "landmarks: numbers that describe the reward function",
}
NAMES = {"tau": "Tau", "context_share": "Context share", "plain": "Plain release"}


def facts(policy: Policy) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each public fact, the ones people ask for first."""
    known = {"rank": len(policy.posterior.landmarks)} | policy.facts
    order = [name for name in MEANS if name in known] + [
        name for name in known if name not in MEANS
    ]
    rows = [
        (
            NAMES.get(name, escape(name.replace("_", " ").capitalize())),
            _value(known[name]),
            MEANS.get(name, ""),
        )
        for name in order
    ]
    posterior = policy.posterior
    return [
        *rows,
        (
            "Scale",
            f"{posterior.scale:.3g}",
            "variance of the reward function, found by the evidence of the release",
        ),
        (
            "Energy",
            f"{posterior.mean_square:.3g}",
            "mean square of the rewards, or of what a second pass adds",
        ),
        *(
            [
                (
                    "Level",
                    f"{posterior.mean_reward:.3g}",
                    "mean of the rewards, over which this page shows advantages",
                )
            ]
            if policy.problem.advantage
            else []
        ),
        ("Version", __version__, "of Tacit that wrote this page"),
    ]


def problem(policy: Policy) -> str:
    try:
        return escape("\n".join(lines(policy.problem.spec())).strip())
    except InputError:
        return "The kernel is a function of somebody's own, which cannot be written down."


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return escape(
            ", ".join(f"{key} {_value(part)}" for key, part in value.items() if part is not None)
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(value if isinstance(value, str) else json.dumps(value))
