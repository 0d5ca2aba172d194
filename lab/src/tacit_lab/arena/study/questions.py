"""The page to read: a paragraph, a figure and a short table for each question."""

from __future__ import annotations

import math

from tacit_lab.arena.learners.features import LANDMARKS
from tacit_lab.arena.selection import OURS, Selection
from tacit_lab.arena.statistics import Interval, Key, plus_minus
from tacit_lab.arena.study.claims import variants
from tacit_lab.arena.study.content import Study
from tacit_lab.arena.study.markdown import count, figure, level, listed, signed, table
from tacit_lab.arena.study.shares import Seeds, difference, mean, places, shared_means

SHARE = ".0%"
SIGNED_SHARE = "+.0%"


def cost(study: Study) -> list[str]:
    """What does privacy cost? Ours by epsilon, beside what it becomes without privacy."""
    selection = study.selection
    settings = selection.with_epsilons()
    open_one = selection.counterpart(OURS)
    lines = []
    for name, rounds in settings:
        none = (open_one, name, rounds, math.inf)
        rows = []
        for epsilon in selection.cells.epsilons(name):
            both = _pair(selection, [(OURS, name, rounds, epsilon)], [none])
            if both is not None:
                rows.append([level(epsilon), *_compared(both)])
        if rows:
            columns = ["eps", f"`{OURS}`", f"`{open_one}`, no privacy", "what privacy adds"]
            lines += [f"`{name}`, {rounds:,} rounds:", *table(columns, rows)]
    if not lines:
        return []
    return [
        "## What does privacy cost?",
        "",
        "Error after the last round, as a share of uniform play's, beside the same exploration "
        f"without privacy. {_price(selection)}",
        "",
        *figure(study, "privacy", "Error against epsilon, learners with joint privacy"),
        *lines,
    ]


def _price(selection: Selection) -> str:
    """One sentence: over all environments of the main setting."""
    open_one = selection.counterpart(OURS)
    ours = [(OURS, name, selection.rounds, selection.epsilon) for name in selection.environments]
    none = [(open_one, name, selection.rounds, math.inf) for name in selection.environments]
    both = _pair(selection, ours, none)
    if both is None:
        return ""
    private, free, added = _compared(both)
    return (
        f"Over all environments, at {selection.rounds:,} rounds and `eps = {selection.epsilon:g}`, "
        f"`{OURS}` leaves {private} and `{open_one}` {free}: privacy adds {added}."
    )


def data(study: Study) -> list[str]:
    """How much data do I need? Ours by rounds, with and without privacy."""
    selection = study.selection
    names = _curves(selection)
    open_one = selection.counterpart(OURS)
    rows = []
    added = []
    for rounds in sorted({T for name in names for T in selection.curve(OURS, name)}):
        played = [name for name in names if rounds in selection.curve(OURS, name)]
        ours = [(OURS, name, rounds, selection.epsilon) for name in played]
        none = [(open_one, name, rounds, math.inf) for name in played]
        both = _pair(selection, ours, none)
        if both is not None:
            rows.append([f"{rounds:,}", count(len(played), "environment"), *_compared(both)])
            added.append((rounds, both[2]))
    if not rows:
        return []
    columns = ["rounds", "on", f"`{OURS}`", f"`{open_one}`, no privacy", "what privacy adds"]
    return [
        "## How much data do I need?",
        "",
        "Error after the last round, as a share of uniform play's, at "
        f"`eps = {selection.epsilon:g}`, averaged over {listed([f'`{name}`' for name in names])}. "
        + _enough(added),
        "",
        *figure(study, "rounds", "Error against rounds, learners with joint privacy"),
        *table(columns, rows),
    ]


def _enough(added: list[tuple[int, Interval]]) -> str:
    """From how many rounds on the interval no longer says that privacy costs anything."""
    least = None
    for rounds, gap in reversed(added):
        if gap.seeds < 2 or gap.low > 0.0:
            break
        least = rounds
    if least is None:
        return "At every number of rounds privacy still costs something, beyond doubt."
    words = f"From {least:,} rounds on the interval no longer excludes that privacy costs nothing."
    if any(gap.seeds > 1 and gap.high < 0.0 for _, gap in added):
        words += f" (The learner without privacy has at most {LANDMARKS} landmarks: its floor.)"
    return words


def breaks(study: Study) -> list[str]:
    """What breaks? A wrong law of contexts, few rounds, many columns."""
    selection = study.selection
    sentences = [
        *_wrong_law(selection),
        *_few_rounds(selection),
        *_many_columns(selection),
    ]
    if not sentences:
        return []
    drawn = figure(study, "breaks", f"Where {OURS} does worse")
    return ["## What breaks?", "", " ".join(sentences), "", *drawn]


def _wrong_law(selection: Selection) -> list[str]:
    words = {"wrong": "a wrong law of contexts (tilted towards one corner)", "none": "none at all"}
    sentences = []
    for variant, given in words.items():
        met = [entry for entry in variants(selection) if entry[0] == OURS and entry[2] == variant]
        if met:
            worst = max(met, key=lambda entry: entry[4].mean)
            harmful = sum(entry[4].low > 0.0 for entry in met)
            sentences.append(
                f"Given {given}, `{OURS}` loses most on `{worst[1]}`: {signed(worst[4])} of "
                f"reward; in {harmful} of {count(len(met), 'setting')} the interval excludes that "
                "it costs nothing."
            )
    return sentences


def _few_rounds(selection: Selection) -> list[str]:
    """With how many rounds a fixed action, found without privacy, is as good."""
    met = []
    for key in sorted(selection.cells.rows):
        floor = ("best-fixed", *key[1:3], math.inf)
        if key[0] == OURS and key[3] == selection.epsilon and floor in selection.cells.rows:
            gap = difference(selection.cells.values(key), selection.cells.values(floor))
            met.append((key, gap))
    worse = [key for key, gap in met if gap.mean > 0.0]
    if not worse:
        return []
    most = max(key[2] for key in worse)
    where = listed(sorted({f"`{key[1]}` ({key[2]:,} rounds)" for key in worse}))
    return [
        f"With few rounds one action for everybody, found without privacy, is better: in "
        f"{len(worse)} of {count(len(met), 'setting')} at `eps = {selection.epsilon:g}`, none of "
        f"them with more than {most:,} rounds: {where}."
    ]


def _many_columns(selection: Selection) -> list[str]:
    """The share that is left by the number of coordinates, in the main setting."""
    by_size: dict[int, list[tuple[str, Seeds]]] = {}
    for name in selection.environments:
        key = (OURS, name, selection.rounds, selection.epsilon)
        means = shared_means(selection, {OURS: [key]})[OURS]
        if means:
            row = next(iter(selection.cells.rows[key].values()))
            by_size.setdefault(row["actions"] + row["contexts"], []).append((name, means))
    if len(by_size) < 2:
        return []
    said = []
    for size in (min(by_size), max(by_size)):
        names = [(OURS, name, selection.rounds, selection.epsilon) for name, _ in by_size[size]]
        share = mean(shared_means(selection, {OURS: names})[OURS])
        said.append(f"{plus_minus(share, SHARE)} with {size} coordinates")
    return [
        f"More coordinates need more rounds: at {selection.rounds:,} rounds `{OURS}` leaves "
        f"{' and '.join(said)} (actions and contexts together)."
    ]


def _curves(selection: Selection) -> list[str]:
    """The environments that are averaged by rounds: those on which ours has a curve."""
    return [name for name in selection.with_curves() if selection.curve(OURS, name)]


def _pair(
    selection: Selection, ours: list[Key], theirs: list[Key]
) -> tuple[Interval, Interval, Interval] | None:
    """Both shares on what both have played, and their difference; None where that is nothing."""
    means = shared_means(selection, {"ours": ours, "theirs": theirs})
    if not places(means):
        return None
    a = means["ours"]
    b = means["theirs"]
    return mean(a), mean(b), difference(a, b)


def _compared(both: tuple[Interval, Interval, Interval]) -> list[str]:
    ours, theirs, gap = both
    return [plus_minus(ours, SHARE), plus_minus(theirs, SHARE), signed(gap, SIGNED_SHARE)]
