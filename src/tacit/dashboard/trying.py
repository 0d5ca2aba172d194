"""Try it: the decision for a context that is typed, the expected rewards of all actions, and the
nearest alternatives. Nothing is stored, and no round is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.charts import Figure, Key, Panel, Scale
from tacit.charts.formatting import listed, number
from tacit.dashboard.fields import fields_of, read_cells
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.errors import InputError, StateError
from tacit.policy import Policy
from tacit.policy.comparison import BAND_90, compare_actions
from tacit.report import Findings
from tacit.report.axes import Axis
from tacit.report.drawing import scale_of
from tacit.report.rewards import SHOWN, slice_marks
from tacit.report.view import View
from tacit.service.served import Served

STEPS = (-0.1, -0.05, 0.05, 0.1)  # of the range: where alternatives of a number lie
MOST_ALTERNATIVES = 6
MOST_ACTIONS = 3


@dataclass(frozen=True)
class Alternative:
    """Another action: what it is expected to earn less, with the 90 % band of the difference."""

    action: str
    expected: str
    less: str
    sure: str


@dataclass(frozen=True)
class Decided:
    """What the policy decides for one context."""

    action: str
    expected: str
    unread: list[str]
    charts: list[str]
    alternatives: list[Alternative]
    by_baseline: str  # where the policy stands beside one


async def show(ask: Ask) -> Answered:
    """The form."""
    return _shown(ask, {}, None)


async def decide(ask: Ask) -> Answered:
    """The decision for what was typed."""
    names = ask.study.problem.contexts.names
    typed = {name: ask.field(f"c-{name}") for name in names}
    try:
        decided = await asyncio.to_thread(decision_for, ask.study, typed)
    except InputError as error:
        return _shown(ask, typed, None, str(error))
    return _shown(ask, typed, decided)


def _shown(ask: Ask, typed: dict[str, str], decided: Decided | None, refused: str = "") -> Shown:
    served = ask.study
    view = {
        "fields": fields_of(served.problem.contexts, typed),
        "decided": decided,
        "released": None if served.released is None else served.released.name,
        "refused": refused,
    }
    return Shown("try.html", view, f"Try {served.name}", status=422 if refused else 200)


def decision_for(served: Served, typed: dict[str, str]) -> Decided:
    """What would be decided, by the policy that was released last."""
    if served.released is None:
        raise StateError("nothing of this study was released yet: there is no policy to try.")
    shown = served.released.policy
    policy: Policy = getattr(shown, "policy", shown)
    context = read_cells(policy.problem.contexts, typed, "the context")
    table = policy.problem.contexts.read({k: [v] for k, v in context.items()}, "the context")
    C = policy.problem.context_points(table)
    X = policy.decide_points(C)
    view = View(policy)
    found = Findings(view, [], None, [])  # type: ignore[arg-type]
    beside = ""
    if shown is not policy:
        beside = said(view, shown.decide_points(C))
    return Decided(
        action=said(view, X),
        expected=_expected(view, X, C),
        unread=policy.unread({k: [v] for k, v in context.items()})[0],
        charts=[_chart(found, axis, C, X) for axis in view.actions.axes[:MOST_ACTIONS]],
        alternatives=alternatives(view, X, C),
        by_baseline=beside,
    )


def said(view: View, X: Floats) -> str:
    """An action in words: dose 35 and way oral."""
    axes = view.actions.axes
    return listed(f"{axis.title} {axis.says(X[0, axis.columns])}" for axis in axes)


def _expected(view: View, X: Floats, C: Floats) -> str:
    mean = float(view.mean(X, C)[0])
    band = BAND_90 * float(view.std(X, C)[0])
    span = 0.2 * view.half_range
    ends = f"{number(mean - band, span)} to {number(mean + band, span)}"
    return f"{number(mean, span)} (90 % band {ends})"


def _chart(found: Findings, action: Axis, C: Floats, X: Floats) -> str:
    view = found.view
    up = action.ruler(view.detail.curve, most=len(action.labels) or 1)
    if len(up.labels) > SHOWN:
        places = up.places
        tried, _ = view.actions.place(X, (action, places))
        mean = view.mean(tried, np.repeat(C, len(tried), axis=0))
        up = action.ruler_of(np.sort(np.argsort(-mean, kind="stable")[:SHOWN]))
    marks, ends = slice_marks(found, action, up, C, X)
    reward = Scale.around(list(ends), f"Expected {view.quantity}")
    sides = (scale_of(up), reward)
    if up.labels:
        sides = (reward, scale_of(up, down=True))
    alt = f"Expected {view.quantity} of every {action.title} with 90 % bands; the choice is marked."
    height = max(160.0, 70.0 + 22.0 * len(up)) if up.labels else 250.0
    keys = [Key("expected, with its 90 % band", "middle"), Key("chosen", "high")]
    return Figure([Panel(*sides, marks)], alt, 520.0, height, keys=keys).svg()


def alternatives(view: View, X: Floats, C: Floats) -> list[Alternative]:
    """Actions near the chosen one in one coordinate: the next labels by what is expected, or
    numbers somewhat lower and higher."""
    tried: list[Any] = []
    for axis in view.actions.axes:
        if axis.labels:
            places = axis.ruler(1, most=len(axis.labels)).places
        else:
            places = np.clip(X[:, axis.columns] + np.array(STEPS)[:, None], 0.0, 1.0)
        points, inside = view.actions.place(X, (axis, np.unique(places, axis=0)))
        tried += [point for point, fits in zip(points, np.atleast_1d(inside), strict=False) if fits]
    others = np.array([point for point in tried if np.abs(point - X[0]).max() > 1e-6])
    if not len(others):
        return []
    rows = np.repeat(C, len(others), axis=0)
    mean = view.mean(others, rows)
    best = np.argsort(-mean, kind="stable")[:MOST_ALTERNATIVES]
    chosen = np.repeat(X, len(best), axis=0)
    apart = compare_actions(view.policy.posterior, chosen, others[best], rows[: len(best)])
    return [
        _alternative(view, others[i : i + 1], C, apart.mean[j], apart.std[j])
        for j, i in enumerate(best)
    ]


def _alternative(view: View, X: Floats, C: Floats, less: float, std: float) -> Alternative:
    span = 0.2 * view.half_range
    middle = view.half_range * less
    half = BAND_90 * view.half_range * std
    better = float(compare_share(less, std))
    return Alternative(
        action=said(view, X),
        expected=_expected(view, X, C),
        less=f"{number(middle, span)} (90 % band {number(middle - half, span)} to "
        f"{number(middle + half, span)})",
        sure=f"{100 * better:.0f} %",
    )


def compare_share(mean: float, std: float) -> float:
    """How likely the chosen action is the better one."""
    return NormalDist().cdf(mean / max(std, 1e-300))


PAGES = [
    Page("GET", "/studies/{study}/try", show),
    Page("POST", "/studies/{study}/try", decide, form=True),
]
