"""A portrait of a released policy: what it decides, how sure it is, for whom it changed, and who
came. Everything is computed from the policy, that is from released numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.charts import Bars, Figure, Intervals, Panel, Rule, Scale
from tacit.charts.formatting import listed, number, percent
from tacit.charts.marks import Mark
from tacit.contexts.cells import BINS as COUNT_BINS
from tacit.contexts.cells import Cells
from tacit.policy import Policy, load
from tacit.progress import Progress
from tacit.report import Findings, choices, sentences, uncertainty
from tacit.report.axes import Axis
from tacit.report.findings import MOST_CURVES
from tacit.study import EpochStudy, Study

WIDTH = 520.0
MOST_ACTIONS = 2
MOVED = 0.05  # of the range of an action: more than this is a change
BINS = 6  # of a context, in which changes are counted
MOST_COUNTED = 6  # contexts whose released counts are shown,
MOST_LABELS = 12  # and labels of one of them
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Drawn:
    """A chart and what it shows, in words."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Portrait:
    """What is shown of one policy. Sentences are HTML whose names are escaped."""

    question: str
    verdict: str
    good: bool
    private: bool
    sentence: str
    short: list[str]
    decides: list[Drawn]
    sure: list[Drawn]
    changed: list[Drawn]
    changed_sentence: str
    who: list[Drawn]
    who_sentence: str


def portrait_for(job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The portrait that a job names: of the policy in a folder, or of an epoch of a study."""
    progress("reading the policy", 0, 0)
    before = None
    policy: Any
    if "folder" in job:
        policy = load(job["folder"])
    else:
        study = Study.open(job["url"])
        policy = study.policy_of(job["epoch"]) if isinstance(study, EpochStudy) else study.policy
        before = _before(study, job.get("epoch"))
    policy = getattr(policy, "policy", policy)  # that of one beside a baseline
    progress("looking at what matters", 1, 3)
    found = Findings.of(policy)
    progress("drawing", 2, 3)
    return asdict(portrait_of(found, before))


def portrait_of(found: Findings, before: Policy | None = None) -> Portrait:
    """What is shown of a policy, beside the one before it."""
    health = found.health
    changed, changed_sentence = changes(found, before)
    who, who_sentence = counted(found)
    short = [found.withheld] if found.withheld else _learned(found)
    return Portrait(
        question=sentences.headline(found),
        verdict=health.verdict,
        good=health.good,
        private=found.policy.private,
        sentence=health.sentence,
        short=short,
        decides=decided(found),
        sure=[] if found.withheld else how_sure(found),
        changed=changed,
        changed_sentence=changed_sentence,
        who=who,
        who_sentence=who_sentence,
    )


def _before(study: Study, epoch: int | None) -> Policy | None:
    """The policy that was released before that of an epoch, by one that learns."""
    if not isinstance(study, EpochStudy) or epoch is None:
        return None
    earlier = [
        each.number
        for each in study.history
        if each.number < epoch and each.stage == "released" and each.kind == "learning"
    ]
    return study.policy_of(earlier[-1]) if earlier else None


def _learned(found: Findings) -> list[str]:
    return [
        sentences.what_matters(found),
        sentences.how_sure(found),
        *sentences.against_others(found),
    ]


def decided(found: Findings) -> list[Drawn]:
    """What is chosen: a map where two contexts matter, and slices otherwise."""
    actions = list(found.view.actions.axes[:MOST_ACTIONS])
    axes = [importance.axis for importance in found.importances]
    drawn = []
    if len(axes) > 1 and found.importances[1] not in found.negligible and not found.same_for_all:
        names = listed(action.title for action in actions)
        pair = listed(axis.title for axis in axes[:2])
        figure = choices.plane(found, actions, f"Map of the chosen {names} over {pair}.", WIDTH)
        caption = (
            f"The chosen {names} by {pair}, the two contexts that matter most."
            f"{sentences.holding(found, axes[:2])}{_bars(found)}"
        )
        drawn.append(Drawn(figure.svg(), caption))
    for action in actions:
        shown = listed(axis.title for axis in axes[:MOST_CURVES])
        alt = f"Chosen {action.title} against each of {shown}."
        caption = (
            f"The chosen {action.title} as each context is moved by itself, for {found.view.who}. "
        )
        if action.labels:
            caption += "How high a colour is shows for how many of them it is chosen."
        else:
            caption += "The line is the median, the shade holds the middle 80 % of them."
        drawn.append(Drawn(choices.curves(found, action, alt, WIDTH).svg(), caption))
    return drawn


def how_sure(found: Findings) -> list[Drawn]:
    """How far the chosen action is above random play, and where the policy is unsure."""
    alt = "Advantage over random play in single contexts, with 90 % bands."
    first = Drawn(
        uncertainty.advantage(found.advantage, alt, WIDTH).svg(),
        "Each line is somebody like those who came: by how much the chosen action beats random "
        "play in expected reward, with its 90 % band.",
    )
    where = listed(importance.axis.title for importance in found.importances[:2])
    alt = f"Standard deviation of the expected reward over {where}."
    second = Drawn(
        uncertainty.standard_deviation(found, alt, WIDTH).svg(),
        f"Where the policy is unsure: the standard deviation of the expected reward at the chosen "
        f"action, by {where}.",
    )
    return [first, second]


def changes(found: Findings, before: Policy | None) -> tuple[list[Drawn], str]:
    """For whom the decision is another one than that of the policy before."""
    if before is None:
        return [], "There is no earlier policy to compare with."
    view = found.view
    C = view.people
    now = view.chosen
    then = before.decide_points(C)
    moved = np.zeros(len(C), dtype=bool)
    for action in view.actions.axes:
        own = action.values(now[:, action.columns]) - action.values(then[:, action.columns])
        moved |= np.abs(own) > (0.5 if action.labels else MOVED * action.span)
    share = float(moved.mean())
    half = NORMAL_95 * math.sqrt(share * (1 - share) / len(C))
    what = "another action" if _labels_only(found) else "an action more than 5 % of its range away"
    sentence = (
        f"Since the policy before, {percent(share)} (± {100 * half:.1f} points, 95 %) of "
        f"{view.who} get {what}."
    )
    axis = found.importances[0].axis
    return [_changed_by(found, axis, moved)], sentence


def _changed_by(found: Findings, axis: Axis, moved: Any) -> Drawn:
    """The share that changed along the context that matters most."""
    values = axis.values(found.view.people[:, axis.columns])
    if axis.labels:
        numbers = sorted(set(values.astype(int).tolist()))[:MOST_LABELS]
        groups = [values == i for i in numbers]
        names = [axis.labels[i] for i in numbers]
    else:
        low, high = axis.range
        ends = np.linspace(low, high, BINS + 1)
        groups = [(values >= a) & (values < b) for a, b in itertools.pairwise(ends)]
        groups[-1] |= values >= high
        names = [
            f"{number(a, axis.span)}–{number(b, axis.span)}" for a, b in itertools.pairwise(ends)
        ]
    shares = [100.0 * float(moved[group].mean()) if group.any() else 0.0 for group in groups]
    errors = [_half(share, int(group.sum())) for share, group in zip(shares, groups, strict=True)]
    figure = _columns(names, shares, errors, "Changed, %", f"Share that changed by {axis.title}.")
    caption = (
        f"Whose decision changed, by {axis.title}, the context that matters most; bars with 95 % "
        "intervals of the people that stand for those who came."
    )
    return Drawn(figure.svg(), caption)


def _half(share: float, people: int) -> float:
    """Half of a 95 % interval of a share in percent."""
    p = share / 100.0
    return 100.0 * NORMAL_95 * math.sqrt(max(p * (1 - p), 0.25 / max(people, 1)) / max(people, 1))


def counted(found: Findings) -> tuple[list[Drawn], str]:
    """Who came, by released counts of each context."""
    policy = found.policy
    people = policy.visitors
    if people is None:
        return [], "Contexts were not counted, so that nothing is known of who came."
    cells = Cells(policy.problem.contexts)
    noise = _count_noise(policy, cells)
    drawn = []
    axes = {axis.columns.start: axis for axis in found.view.contexts.axes}
    ranked = [importance.axis.columns.start for importance in found.importances]
    parts = sorted(cells.parts, key=lambda part: ranked.index(part.at.start))
    for part in [part for part in parts if part.at.start in axes][:MOST_COUNTED]:
        axis = axes[part.at.start]
        index = np.asarray(part.index(people))
        shares = 100.0 * np.bincount(index, minlength=part.size) / len(people)
        drawn.append(_count_chart(axis, shares, noise))
    told = "as far as released counts say, which hold noise for privacy"
    if noise is not None:
        told += f": each share is known to about ± {100 * NORMAL_95 * noise:.2g} points (95 %)"
    return drawn, f"Who came, {told}."


def _count_noise(policy: Policy, cells: Cells) -> float | None:
    """The standard deviation of one released share, where it is known."""
    usable = policy.facts.get("usable")
    if not usable:
        return None
    return float(usable["std"]) * cells.columns / math.sqrt(cells.size)


def _count_chart(axis: Axis, shares: Floats, noise: float | None) -> Drawn:
    error = 100.0 * NORMAL_95 * (noise or 0.0)
    alt = f"Share of the people who came by {axis.title}."
    caption = f"{axis.title}: share of the people who came, in %"
    if axis.labels:
        names = list(axis.labels)[:MOST_LABELS]
        shown = shares[: len(names)].tolist()
        return Drawn(_columns(names, shown, [error] * len(names), "People, %", alt).svg(), caption)
    low, high = axis.range
    width = (high - low) / COUNT_BINS
    at = [low + (i + 0.5) * width for i in range(COUNT_BINS)]
    across = Scale(low, high, axis.title)
    if len(shares) > COUNT_BINS:
        caption += f"; {shares[COUNT_BINS]:.1f} % lack it"
    shown = shares[:COUNT_BINS].tolist()
    return Drawn(_bars_at(at, shown, [error] * COUNT_BINS, across, alt, width).svg(), caption)


def _columns(
    names: list[str], values: list[float], errors: list[float], title: str, alt: str
) -> Figure:
    at = [float(i) for i in range(len(names))]
    return _bars_at(at, values, errors, Scale.of_labels(names), alt, 1.0, title)


def _bars_at(
    at: list[float],
    values: list[float],
    errors: list[float],
    across: Scale,
    alt: str,
    width: float,
    title: str = "People, %",
) -> Figure:
    low = [max(0.0, value - error) for value, error in zip(values, errors, strict=True)]
    high = [value + error for value, error in zip(values, errors, strict=True)]
    marks: list[Mark] = [Bars(at, values, "accent", 0.8 * width), Rule(0.0)]
    if any(errors):
        marks.append(Intervals(at, low, high, "ink thin"))
    up = Scale(0.0, max(1.08 * max([*high, 1.0]), 1.0), title)
    return Figure([Panel(across, up, marks)], alt, 360.0, 180.0)


def _labels_only(found: Findings) -> bool:
    return all(axis.labels for axis in found.view.actions.axes)


def _bars(found: Findings) -> str:
    return " Dark bars span the middle 90 % of the people." if found.view.knows_people else ""
