"""Which context matters: how far it moves the action, what it is worth, how fast the reward changes
with it; and the two figures of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.charts import Bars, Figure, Key, Note, Panel, Scale
from tacit.charts.marks import Mark
from tacit.kernels import Centred, Joint, Kernel, On, Pooled, Product, Separable, Sum
from tacit.kernels.ard import lengthscales, spread
from tacit.kernels.stationary import Stationary
from tacit.report.axes import Axis, Ruler
from tacit.report.view import View

WIDTH = 760.0  # of a figure
MOST_TRIED = 8  # labels of one coordinate


@dataclass(frozen=True, eq=False)
class Importance:
    """Of one context coordinate: it is moved over its range in some people's contexts, the others
    stay.

    `reward_at_stake` is the expected reward that people lose on average when their action is chosen
    for somebody else's value of the coordinate (permutation importance).
    """

    ruler: Ruler  # where the coordinate was put
    chosen: Floats  # the action at (context, place), in unit coordinates
    reward_at_stake: float

    @property
    def axis(self) -> Axis:
        return self.ruler.axis

    def action_change(self, action: Axis) -> float:
        """How far the action moves on average; for labels, in what share of contexts it changes."""
        spans = np.ptp(self._values(action), axis=1)
        if action.labels:
            return float(np.mean(spans > 0))
        return float(np.mean(spans))

    def _values(self, action: Axis) -> Floats:
        return values_of(action, self.chosen)


def context_importances(view: View) -> list[Importance]:
    """Every context coordinate, the one with most reward at stake first."""
    found = [_importance(view, axis) for axis in view.contexts.axes]
    return sorted(found, key=lambda importance: -importance.reward_at_stake)


def _importance(view: View, axis: Axis) -> Importance:
    ruler = axis.ruler(view.detail.levels, MOST_TRIED)
    chosen = chosen_along(view, ruler, view.people[: view.detail.moved])
    return Importance(ruler, chosen, reward_at_stake(view, axis, view.detail.others))


def chosen_along(view: View, ruler: Ruler, C: Floats) -> Floats:
    """What is chosen as each of some contexts is moved along an axis, `(contexts, places, d)`."""
    N = len(C)
    L = len(ruler)
    places = np.tile(ruler.places, (N, 1))
    moved, _ = view.contexts.place(np.repeat(C, L, axis=0), (ruler.axis, places))
    return view.decide(moved).reshape(N, L, -1)


def values_of(action: Axis, chosen: Floats) -> Floats:
    """One coordinate of actions that were chosen along an axis, `(contexts, places)`."""
    contexts, places, d = chosen.shape
    X = chosen.reshape(-1, d)
    return action.values(X[:, action.columns]).reshape(contexts, places)


def reward_at_stake(view: View, axis: Axis, others: int) -> float:
    """What people lose on average when their action is chosen for the value of so many others."""
    C = view.people
    right = view.mean(view.chosen, C)
    coins = np.random.default_rng(0)  # the same people for every axis, and every time
    losses = []
    for _ in range(others):
        values = coins.permutation(C)[:, axis.columns]
        mistaken, _ = view.contexts.place(C, (axis, values))
        losses.append(right - view.mean(view.decide(mistaken), C))
    # The chosen action is the best of some candidates only, so the one for another context can be
    # better by a hair, and the mean slightly negative.
    return max(0.0, float(np.mean(losses)))


@dataclass(frozen=True)
class InverseLengthscale:
    """One over the shortest lengthscale of a coordinate, as the design had it and as the evidence
    found it."""

    name: str
    action: bool
    design: float
    found: float


def inverse_lengthscales(view: View) -> list[InverseLengthscale]:
    """The coordinates whose kernel has a lengthscale, actions first. Empty where the kernel has
    none."""
    problem = view.policy.problem
    posterior = view.policy.posterior
    d = problem.dimension
    column_of = list(columns(posterior.kernel, range(d)))
    found = posterior.lengthscales
    if len(column_of) != len(found):
        return []
    design = lengthscales(spread(posterior.kernel, d))
    shift = problem.actions.dimension
    axes = [(axis, 0) for axis in view.actions.axes]
    axes += [(axis, shift) for axis in view.contexts.axes]
    listed = []
    for axis, offset in axes:
        own = range(d)[axis.columns.start + offset : axis.columns.stop + offset]
        picked = [i for i, column in enumerate(column_of) if column in own]
        if picked:
            listed.append(
                InverseLengthscale(
                    name=axis.title,
                    action=offset == 0,
                    design=1.0 / min(design[i] for i in picked),
                    found=1.0 / min(found[i] for i in picked),
                )
            )
    return listed


def columns(kernel: Kernel, own: Sequence[int]) -> Iterator[int]:
    """The column that each lengthscale of a kernel on the columns `own` is of, in the order of
    `lengthscales`."""
    if isinstance(kernel, Stationary):
        yield from own
    elif isinstance(kernel, Separable):
        yield from columns(kernel.actions, own[: kernel.at])
        assert kernel.at is not None
        yield from columns(kernel.contexts, own[kernel.at :])
    elif isinstance(kernel, Product | Sum):
        for part in kernel.kernels:
            yield from columns(part, own)
    elif isinstance(kernel, On):
        yield from columns(kernel.kernel, [own[int(i)] for i in kernel.columns])
    elif isinstance(kernel, Joint | Centred | Pooled):
        yield from columns(kernel.kernel, own)


# -- figures --------------------------------------------------------------------------------------


def draw_importances(
    importances: Sequence[Importance], actions: Sequence[Axis], alt: str, width: float = WIDTH
) -> Figure:
    """Bars: what reward hangs on each context, and how far it moves each action."""
    names = [importance.axis.title for importance in importances]
    stakes = [importance.reward_at_stake for importance in importances]
    panels = [_bars(names, stakes, "middle", "Reward at stake")]
    for action in actions:
        changes = [importance.action_change(action) for importance in importances]
        title = f"Change of {action.title}"
        if action.labels:
            changes = [100.0 * change for change in changes]
            title = f"Changed {action.title}, %"
        panels.append(_bars(names, changes, "accent", title))
    height = 46.0 + 26.0 * len(names)
    wide = max(1, min(len(panels), int(width // 200)))
    return Figure(panels, alt, width, height, wide, shared=True)


def draw_inverse_lengthscales(
    rows: Sequence[InverseLengthscale], alt: str, width: float = WIDTH
) -> Figure:
    """Bars: how fast the reward changes with each coordinate, as found and as assumed."""
    at = [float(i) for i in range(len(rows))]
    found = [row.found for row in rows]
    design = [row.design for row in rows]
    up = Scale.of_labels(
        [f"{row.name} (action)" if row.action else row.name for row in rows], down=True
    )
    across = Scale(
        0.0, 1.08 * max([*found, *design, 1e-12]), "1 / lengthscale, per whole range of it"
    )
    marks = [
        Bars([i - 0.19 for i in at], found, "accent", 0.36, flat=True),
        Bars([i + 0.19 for i in at], design, "other", 0.36, flat=True),
    ]
    keys = [Key("found by the evidence of the release", "accent"), Key("assumed", "other")]
    return Figure([Panel(across, up, marks)], alt, width, 60.0 + 30.0 * len(rows), keys=keys)


def _bars(names: Sequence[str], values: Sequence[float], kind: str, title: str) -> Panel:
    at = [float(i) for i in range(len(names))]
    across = Scale(0.0, 1.3 * max([*values, 1e-12]), bare=True)
    marks: list[Mark] = [Bars(at, values, kind, flat=True)]
    marks += [Note(value, y, f"{value:.3g}") for y, value in zip(at, values, strict=True)]
    return Panel(across, Scale.of_labels(names, down=True), marks, title)
