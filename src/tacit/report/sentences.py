"""What the page says in sentences about what was found. Every name that comes from the user is
escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from tacit.charts.formatting import listed, number, percent
from tacit.domains import Ball, Simplex
from tacit.problem import Problem
from tacit.report.advantage import BAND_90, Comparison
from tacit.report.axes import Axis
from tacit.report.findings import Findings
from tacit.report.frames import Frame

NAMED = 5  # contexts in the headline, or in a caption
COUNTS = {1: "one release", 2: "two releases", 3: "three releases"}


def headline(found: Findings) -> str:
    """Which dose for which age and weight?"""
    return escape(question(found.policy.problem))


def question(problem: Problem) -> str:
    """The same of a problem, not escaped."""
    contexts = [axis.title for axis in Frame.of(problem.contexts).axes]
    if len(contexts) > NAMED:
        contexts = [*contexts[: NAMED - 1], f"{len(contexts) - NAMED + 1} more"]
    actions = listed(axis.title for axis in Frame.of(problem.actions).axes)
    return f"Which {actions} for which {listed(contexts)}?"


def lead(found: Findings) -> str:
    """What the policy chooses from what, and what it was learned from."""
    policy = found.policy
    span = 2 * found.view.half_range
    low, high = policy.problem.reward_range
    records = policy.facts.get("records")
    learned = "It was learned from records"
    if records is not None:
        learned = f"It was learned from {records:,} records"
    passes = policy.facts.get("passes", 1)
    releases = COUNTS.get(passes, f"{passes} releases")
    return (
        f"This policy chooses {_ranges(found.view.actions)} from {_ranges(found.view.contexts)}. "
        f"{learned} with rewards between {number(low, span)} and {number(high, span)}, through "
        f"{releases} of noised numbers. This page is made from those released numbers alone."
    )


def in_short(found: Findings) -> list[str]:
    """The sentences to remember."""
    health = found.health
    learned = [what_matters(found), how_sure(found), *against_others(found)]
    if found.withheld:
        learned = [escape(found.withheld)]
    return [
        f"<b>Verdict: {health.verdict}.</b> {escape(health.sentence)}",
        *learned,
        *(_usual_choice(found, axis) for axis in found.view.actions.axes[:3]),
    ]


def verdict(found: Findings) -> str:
    """The verdict on a policy that is not worth using, to be read first; empty for a good one."""
    health = found.health
    if health.good:
        return ""
    return (
        f'<div class="alarm" role="alert"><strong>{escape(health.verdict.upper())}</strong>'
        f"<p>{escape(health.sentence)}</p></div>"
    )


def what_matters(found: Findings) -> str:
    """Which context matters most, and which hardly do."""
    first = found.importances[0]
    if found.same_for_all:
        return (
            "<b>No context matters much.</b> Nearly the same action is chosen for everybody, or "
            "the choice makes hardly a difference."
        )
    cost = number(first.reward_at_stake, 2 * found.view.half_range)
    name = escape(first.axis.title)
    stake = (
        f"a choice made for another value of it, drawn from {found.view.who}, would cost {cost} of "
        "reward on average"
    )
    if len(found.importances) == 1:
        return f"<b>{name}</b> matters: {stake}."
    negligible = [importance.axis.title for importance in found.negligible]
    others = "None of the others can be ignored."
    if negligible:
        others = f"Of hardly any consequence: {escape(listed(negligible))}."
    return f"<b>{name} matters most</b>: {stake}. {others}"


def how_sure(found: Findings) -> str:
    """How sure the policy is that its actions beat random ones."""
    advantage = found.advantage
    return (
        f"<b>For {percent(advantage.share_sure)} of {found.view.who} the policy is at least 95 % "
        "sure</b> that its action beats a random one. On average over them it expects a reward "
        f"{_with_band(found, advantage)} above random play."
    )


def against_others(found: Findings) -> list[str]:
    """The gain over the best fixed action, and over a baseline."""
    gains = found.gains
    clear = "" if found.health.contexts_matter else ", which may be chance"
    said = [
        f"<b>The best fixed action is {fixed_action(found)}.</b> Over that, for everybody, the "
        f"policy gains {_with_band(found, gains.over_fixed)}{clear}. If only changes are made that "
        f"are at least 95 % sure, {percent(gains.over_fixed.share_sure)} of {found.view.who} get "
        "another action than that."
    ]
    if gains.over_baseline is not None:
        said.append(
            "<b>Compared with the stated baseline</b> the policy gains "
            f"{_with_band(found, gains.over_baseline)} on average over {found.view.who}."
        )
    return said


def fixed_action(found: Findings) -> str:
    """The best fixed action in words: dose 35 and way oral."""
    places = found.gains.fixed[0]
    axes = found.view.actions.axes
    return escape(listed(f"{axis.title} {axis.says(places[axis.columns])}" for axis in axes))


def _with_band(found: Findings, measured: Comparison) -> str:
    span = 2 * found.view.half_range
    band = BAND_90 * measured.average_std
    low = number(measured.average - band, span, trim=False)
    middle = number(measured.average, span, trim=False)
    high = number(measured.average + band, span, trim=False)
    return f"{middle} (90 % band {low} to {high})"


def typical(found: Findings) -> str:
    """Where maps hold the contexts that do not move."""
    view = found.view
    places = listed(axis.says_of(view.typical[0]) for axis in view.contexts.axes)
    if found.policy.visitors is None:
        return (
            "Maps move one or two contexts and hold the others in the middle of their ranges, "
            f"since nothing is known of the records' contexts: {escape(places)}."
        )
    return (
        "Maps move one or two contexts and hold the others as for a typical visitor: "
        f"{escape(places)}. Of contexts drawn from what was released about people in the data it "
        "is the one nearest to the median of every number and to the commonest labels. It is "
        "nobody's record."
    )


def holding(found: Findings, moving: Sequence[Axis]) -> str:
    """A sentence about the contexts that a map holds, if it holds any."""
    view = found.view
    names = {axis.name for axis in moving}
    still = [axis for axis in view.contexts.axes if axis.name not in names]
    if not still:
        return ""
    where = "as for the typical visitor"
    if found.policy.visitors is None:
        where = "in the middle of their ranges"
    sentence = f" The others stay {where}"
    if len(still) <= NAMED:
        sentence += f": {escape(listed(axis.says_of(view.typical[0]) for axis in still))}"
    sentence += "."
    if any(isinstance(axis.part, Simplex | Ball) and axis.part.dimension > 1 for axis in still):
        sentence += " They give way where not everything is possible together."
    return sentence


def _usual_choice(found: Findings, action: Axis) -> str:
    """The range, or the labels, in which the chosen values of one action coordinate mostly lie."""
    chosen = found.drawn(action)
    name = escape(action.title)
    if not action.labels:
        low, middle, high = np.quantile(chosen, [0.05, 0.5, 0.95]).tolist()
        between = f"{number(low, action.span)} and {number(high, action.span)}"
        return (
            f"<b>{name} is mostly between {between}</b> (90 % of {found.view.who}; median "
            f"{number(middle, action.span)})."
        )
    labels, count = np.unique(chosen.astype(int), return_counts=True)
    top = escape(action.labels[labels[np.argmax(count)]])
    if len(labels) == 1:
        return f"<b>{name} is always {top}</b> for {found.view.who}."
    share = percent(float(count.max() / count.sum()))
    some = f"{len(labels):,} of the {len(action.labels):,} values of {name} are chosen"
    return f"<b>{some}</b>, most often {top} ({share})."


def _ranges(frame: Frame) -> str:
    return escape(listed(f"{axis.title} ({axis.domain_says})" for axis in frame.axes))
