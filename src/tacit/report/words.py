"""What the page says in words about what was found. Every name that comes from the user is escaped
here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from tacit.domains import Ball, Simplex
from tacit.report.axes import Axis
from tacit.report.findings import Findings
from tacit.report.frames import Frame
from tacit.report.gain import LEVEL_90
from tacit.report.text import listed, number, percent

NAMED = 5  # contexts in the headline


def headline(found: Findings) -> str:
    """Which dose for which age and weight?"""
    contexts = [axis.title for axis in found.view.contexts.axes]
    if len(contexts) > NAMED:
        contexts = [*contexts[: NAMED - 1], f"{len(contexts) - NAMED + 1} more"]
    return f"Which {_names(found.view.actions)} for which {escape(listed(contexts))}?"


def lead(found: Findings) -> str:
    policy = found.policy
    low, high = (number(value, 2 * found.view.half_range) for value in policy.problem.reward_range)
    records = policy.facts.get("records")
    learned = (
        f"It was learned from {records:,} records"
        if records is not None
        else "It was learned from records"
    )
    releases = "two releases" if policy.facts.get("passes") == 2 else "one release"
    return (
        f"This policy chooses {_ranges(found.view.actions)} from {_ranges(found.view.contexts)}. "
        f"{learned} with "
        f"rewards between {low} and {high}, through {releases} of noised numbers. This page is "
        "made from those "
        "released numbers alone."
    )


def in_short(found: Findings) -> list[str]:
    """The three sentences to remember."""
    return [
        what_matters(found),
        how_sure(found),
        *(_runs(found, axis) for axis in found.view.actions.axes[:3]),
    ]


def what_matters(found: Findings) -> str:
    first = found.matters[0]
    rest = found.matters[1:]
    span = 2 * found.view.half_range
    if found.same_for_all:
        return (
            "<b>No context matters much.</b> Nearly the same action is chosen for everybody, or "
            "the choice makes "
            "hardly a difference."
        )
    stake = f"a choice made for a random other value would cost {number(first.stake, span)} of reward on average"
    if not rest:
        return f"<b>{escape(first.axis.title)}</b> matters: {stake}."
    hardly = [matter.axis.title for matter in found.hardly]
    tail = (
        f" Of hardly any consequence: {escape(listed(hardly))}."
        if hardly
        else " None of the others can be ignored."
    )
    return f"<b>{escape(first.axis.title)} matters most</b>: {stake}.{tail}"


def how_sure(found: Findings) -> str:
    gain = found.gain
    low, middle, high = (
        number(
            gain.average + sign * LEVEL_90 * gain.average_std, 2 * found.view.half_range, trim=False
        )
        for sign in (-1, 0, 1)
    )
    return (
        f"<b>In {percent(gain.share_sure)} of contexts the policy is at least 95 % sure</b> that "
        "its action beats a "
        f"random one. On average over all contexts it expects a reward {middle} above random play "
        f"(90 % band {low} to {high})."
    )


def holding(found: Findings, moving: Sequence[Axis]) -> str:
    """A sentence about the contexts that stay in the middle, if any do."""
    frame = found.view.contexts
    names = {axis.name for axis in moving}
    still = [axis for axis in frame.axes if axis.name not in names]
    if not still or len(frame.axes) == 1:
        return ""
    places = [f"{axis.title} {axis.says(frame.middle[0, axis.columns])}" for axis in still]
    bound = any(isinstance(axis.part, Simplex | Ball) and axis.part.dimension > 1 for axis in still)
    give_way = " They give way where not everything is possible together." if bound else ""
    return f" The others stay in the middle: {escape(listed(places))}.{give_way}"


def _runs(found: Findings, action: Axis) -> str:
    chosen = found.drawn(action)
    name = escape(action.title)
    if action.labels:
        seen, count = np.unique(chosen.astype(int), return_counts=True)
        top = escape(action.labels[seen[np.argmax(count)]])
        if len(seen) == 1:
            return f"<b>{name} is always {top}</b> in evenly drawn contexts."
        share = percent(float(count.max() / count.sum()))
        some = f"{len(seen):,} of the {len(action.labels):,} values of {name} are chosen"
        return f"<b>{some}</b>, most often {top} ({share})."
    low, middle, high = (
        number(float(v), action.span) for v in np.quantile(chosen, [0.05, 0.5, 0.95])
    )
    return f"<b>{name} is mostly between {low} and {high}</b> (90 % of evenly drawn contexts; median {middle})."


def _names(frame: Frame) -> str:
    return escape(listed(axis.title for axis in frame.axes))


def _ranges(frame: Frame) -> str:
    return escape(listed(f"{axis.title} ({axis.domain_says})" for axis in frame.axes))
