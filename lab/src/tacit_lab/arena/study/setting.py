"""What was run: the page's head, the problem, the learners, the environments."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.errors import TacitError
from tacit_lab.arena.environments.about import ABOUT
from tacit_lab.arena.job import Row
from tacit_lab.arena.measure import FRESH, GRID, REGRET_ROUNDS
from tacit_lab.arena.names import base_and_variant, learner_named
from tacit_lab.arena.protocol import MENU
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.study.markdown import count, listed, table

PROBLEM = """
In round `t` a context `c_t` comes from a fixed law, the learner takes an action `x_t` and sees a
reward in [-1, 1] with mean `f(x_t, c_t)`. After `T` rounds it decides for contexts that it has not
seen. What is measured is the error rate

    ER = E_c[ max_x f(x, c) - f(xhat(c), c) ],

over {fresh} fresh contexts of the true law. The maximum is over {grid:,} well-spread actions (all
where there are finitely many), the {menu} actions of the menu that every learner is offered, a
local search around the best of these, and the learner's own choice. For one environment and seed
every learner meets the same function, the same contexts and the same noise, so that differences are
paired. Intervals are 95 %: Student's over seeds for means, a jackknife over seeds for slopes.
Cumulative regret is taken in every round, or in {regret:,} evenly spaced ones where there are more.

Learners know the kernel and, unless it says otherwise, the true law of contexts. Privacy noise
is simulated from a seed, as everything here. A learner that protects less than context and reward,
or trusts nobody, solves another problem than joint differential privacy: the table says which.
`delta` is {delta} throughout. Where a paper leaves a constant open, the learner's docstring says
what was chosen, from public facts only: USCA's `tau`, for one, is the one that should serve its
decisions best.

`usca` and `tacit-pure` spend `eps` on every decision and are judged on one; `tacit` spends it once,
for all decisions.
"""


def head(selection: Selection, failures: Sequence[Row], source: str) -> list[str]:
    rows = selection.rows
    seeds = {row["seed"] for row in rows}
    have = [
        count(len(rows), "row"),
        count(len(selection.cells.learners()), "learner"),
        count(len(_base_names(selection)), "environment"),
        count(len(seeds), "seed"),
    ]
    versions = listed(sorted({row["version"] for row in rows}))
    return [
        "# The study: private contextual bandits, measured",
        "",
        f"Made by `tacit arena study {source}` from {listed(have)} (Tacit {versions}); "
        f"{count(len(failures), 'job')} failed. No number on this page was typed; "
        "the figures are made by `tacit arena figures` from the same table.",
        "",
    ]


def setting(selection: Selection, failures: Sequence[Row]) -> list[str]:
    deltas = listed([f"{delta:g}" for delta in sorted({row["delta"] for row in selection.rows})])
    problem = PROBLEM.format(fresh=FRESH, grid=GRID, menu=MENU, regret=REGRET_ROUNDS, delta=deltas)
    return ["## Setting", *problem.splitlines(), *_learners(selection), *_environments(selection)]


def _learners(selection: Selection) -> list[str]:
    rows = []
    for key in selection.cells.learners():
        most = max(row["rounds"] for row in selection.rows if row["learner"] == key)
        try:
            kind = learner_named(key)
            words = [kind.name, kind.source, kind.protects, kind.trust]
        except TacitError:  # somebody's own, or of another version
            words = [key, "", "", ""]
        rows.append([f"`{key}`", *words, f"{most:,}"])
    return table(["learner", "name", "source", "protects", "trust", "most rounds"], rows)


def _environments(selection: Selection) -> list[str]:
    rows = []
    for name in _base_names(selection):
        own = [row for row in selection.rows if base_and_variant(row["environment"])[0] == name]
        uniform = sum(row["uniform_error"] for row in own) / len(own)
        menu = sum(row["menu_error"] for row in own) / len(own)
        size = f"{own[0]['actions']}+{own[0]['contexts']}"
        about = ABOUT.get(name, "")
        rows.append([f"`{name}`", about, size, f"{uniform:.3f}", f"{menu:.3f}"])
    columns = [
        "environment",
        "what it is",
        "coordinates",
        "uniform play's error",
        "the menu's error",
    ]
    epsilons = sorted({row["epsilon"] for row in selection.rows if math.isfinite(row["epsilon"])})
    return [
        *table(columns, rows),
        "The menu's error is what the best action of the menu loses, for each context, "
        "against the best action at all.",
        f"The main setting below is {selection.rounds:,} rounds at `eps = {selection.epsilon:g}`, "
        f"the one with most rows; `eps` is {listed([f'{epsilon:g}' for epsilon in epsilons])}.",
        "",
    ]


def _base_names(selection: Selection) -> list[str]:
    """The environments, whatever their learners know of the contexts."""
    return sorted({base_and_variant(name)[0] for name in selection.cells.environments()})
