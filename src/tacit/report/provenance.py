"""How a policy was made: its public settings, and its problem as it was written down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from tacit._version import __version__
from tacit.errors import InputError
from tacit.policy import Policy

MEANINGS = {
    "records": "rounds that went in, complete or not",
    "usable": "share of the records that could be read, and its standard deviation",
    "play": "how actions were chosen, as it was stated",
    "play_check": "how far counts of played actions are from that, in total variation, and how "
    "likely such counts are where it is true",
    "horizon": "rounds that were planned",
    "budget": "what was allowed to be spent",
    "hold_out": "which part of the rounds, or of the users, it was learned from, and what share of "
    "all was kept apart to validate it",
    "passes": "releases from the same rounds; a second one adds what the first got wrong, or the "
    "same again",
    "planned_passes": "releases that were planned: nothing was left to pay for the others",
    "residual_clip": "where a further pass clips residuals: rewards less what the policy before it "
    "expects (1: rewards as they are)",
    "tau": "regularisation, chosen before any data for the best predicted accuracy",
    "clip": "the largest influence one record may have",
    "unit": "whom the guarantee is for",
    "context_share": "share of the budget that learns who really comes",
    "pair_share": "share of the budget that learns which context columns depend on each other",
    "plain": "whether only USCA's own statistic was released",
    "rank": "landmarks: numbers that describe the reward function",
}
TITLES = {"tau": "Tau", "context_share": "Context share", "plain": "Plain release"}
ITEMS = 12  # of a list in the problem that are shown


def facts(policy: Policy) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each public fact, the ones people ask for first."""
    posterior = policy.posterior
    known = {"rank": posterior.rank} | policy.facts
    explained = [name for name in MEANINGS if name in known]
    others = [name for name in known if name not in MEANINGS]
    rows = []
    for name in explained + others:
        title = TITLES.get(name, escape(name.replace("_", " ").capitalize()))
        rows.append((title, _value(known[name]), MEANINGS.get(name, "")))
    rows.append(
        (
            "Scale",
            f"{posterior.scale:.3g}",
            "variance of the reward function, found by the evidence of the release",
        )
    )
    rows.append(
        (
            "Mean square",
            f"{posterior.mean_square:.3g}",
            "mean square of the rewards, or of the residuals of a further pass",
        )
    )
    rows.append(
        (
            "Level",
            f"{posterior.level:.3g}",
            "level of the rewards, in half reward ranges around the middle of the range",
        )
    )
    rows.append(("Version", __version__, "of Tacit that wrote this page"))
    return rows


def _value(value: Any) -> str:
    if isinstance(value, dict):
        given = {key: part for key, part in value.items() if part is not None}
        return escape(", ".join(f"{key} {_value(part)}" for key, part in given.items()))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return escape(value)
    return escape(json.dumps(value))


def problem_text(policy: Policy) -> str:
    """The problem as it was stated before any data."""
    try:
        return escape("\n".join(toml_lines(policy.problem.spec())).strip())
    except InputError:
        return "The kernel is a function of somebody's own, which cannot be written down."


def toml_lines(table: Mapping[str, Any], path: str = "", most: int | None = ITEMS) -> Iterator[str]:
    """A specification in the manner of TOML: one line per value, tables under their own headings.
    Lists of more than `most` items are cut short, so that not every result is valid TOML."""
    tables = {key: value for key, value in table.items() if _is_table(value)}
    for key, value in table.items():
        if key not in tables and value is not None:
            yield f"{key} = {_literal(value, most)}"
    for key, value in tables.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield ""
            yield f"[{name}]"
            yield from toml_lines(value, name, most)
        else:
            for one in value:
                yield ""
                yield f"[[{name}]]"
                yield from toml_lines(one, name, most)


def _is_table(value: Any) -> bool:
    """Whether it is a table, or a list of tables."""
    if isinstance(value, list) and value:
        return isinstance(value[0], Mapping)
    return isinstance(value, Mapping)


def _literal(value: Any, most: int | None) -> str:
    if not isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    shown = ", ".join(_literal(item, most) for item in value[:most])
    if most is None or len(value) <= most:
        return f"[{shown}]"
    return f"[{shown}, …]  # {len(value):,} in all"
