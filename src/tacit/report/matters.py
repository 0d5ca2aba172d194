"""Which context matters: how far it moves the action, what it is worth, and how fast the reward
changes with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.kernels import Centred, Joint, Kernel, On, Product, Separable, Sum
from tacit.kernels.ard import lengthscales, spread
from tacit.kernels.stationary import Stationary
from tacit.report.axes import Axis, Ruler
from tacit.report.view import View

MOST_TRIED = 8  # labels of one coordinate


@dataclass(frozen=True, eq=False)
class Matter:
    """One context coordinate, moved over its range in random contexts while the others stay."""

    ruler: Ruler  # where it was put
    chosen: Floats  # the action at (context, place), in unit coordinates
    stake: float  # expected reward lost when the action is chosen for a random other value

    @property
    def axis(self) -> Axis:
        return self.ruler.axis

    def moves(self, action: Axis) -> float:
        """How far the action moves on average; for labels, in what share of contexts it changes at
        all."""
        spans = np.ptp(self._values(action), axis=1)
        return float(np.mean(spans > 0) if action.labels else np.mean(spans))

    def band(self, action: Axis) -> Floats:
        """At each place, the middle 80 % of the action over the random contexts: `(2, places)`."""
        return np.quantile(self._values(action), [0.1, 0.9], axis=0)

    def _values(self, action: Axis) -> Floats:
        contexts, places, d = self.chosen.shape
        return action.values(self.chosen.reshape(-1, d)[:, action.columns]).reshape(
            contexts, places
        )


def matters(view: View, C: Floats) -> list[Matter]:
    """Every context coordinate, the one with most reward at stake first."""
    return sorted(
        (_matter(view, axis, C) for axis in view.contexts.axes), key=lambda found: -found.stake
    )


def _matter(view: View, axis: Axis, C: Floats) -> Matter:
    ruler = axis.ruler(view.detail.levels, MOST_TRIED)
    N = len(C)
    L = len(ruler)
    moved, _ = view.contexts.place(np.repeat(C, L, axis=0), (axis, np.tile(ruler.places, (N, 1))))
    chosen = view.decide(moved)
    # f(x(c, l'), (c, l)) for every pair of places l, l'
    rows = np.arange(N * L).reshape(N, L)
    true = np.repeat(rows, L, axis=1).ravel()
    assumed = np.tile(rows, (1, L)).ravel()
    rewards = view.mean(chosen[assumed], moved[true]).reshape(N, L, L)
    right = np.diagonal(rewards, axis1=1, axis2=2)
    # A refined action is the best of few: another one may be better by a hair.
    stake = max(0.0, float(np.mean(right[:, :, None] - rewards)))
    return Matter(ruler, chosen.reshape(N, L, -1), stake)


@dataclass(frozen=True)
class Scale:
    """One over the shortest lengthscale of a coordinate, as the design had it and as the evidence
    found it."""

    name: str
    action: bool
    design: float
    found: float


def scales(view: View) -> list[Scale]:
    """The coordinates whose kernel has a lengthscale, actions first. None where the kernel has
    none."""
    problem = view.policy.problem
    d = view.policy.problem.dimension
    at = list(columns(problem.k, range(d)))
    found = list(view.policy.posterior.lengthscales)
    if len(at) != len(found):
        return []
    design = lengthscales(spread(problem.k, d))
    shift = problem.actions.dimension
    axes = [(axis, 0) for axis in view.actions.axes] + [
        (axis, shift) for axis in view.contexts.axes
    ]
    listed = []
    for axis, offset in axes:
        own = range(d)[axis.columns.start + offset : axis.columns.stop + offset]
        picked = [i for i, column in enumerate(at) if column in own]
        if picked:
            rough = (1.0 / min(lengths[i] for i in picked) for lengths in (design, found))
            listed.append(Scale(axis.title, offset == 0, *rough))
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
    elif isinstance(kernel, Joint | Centred):
        yield from columns(kernel.kernel, own)
