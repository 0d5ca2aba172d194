"""What was run: the page's head, the problem, the learners, the environments."""

from __future__ import annotations

import math

from tacit.errors import TacitError
from tacit_lab.arena.environments.about import ABOUT
from tacit_lab.arena.measure import FRESH, GRID, REGRET_ROUNDS
from tacit_lab.arena.names import base_and_variant, learner_named
from tacit_lab.arena.promise import Promise, protection
from tacit_lab.arena.protocol import MENU
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.study.content import Study
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
or trusts nobody, solves another problem than joint differential privacy: tables keep them apart.
`delta` is {delta} throughout. Where a paper leaves a constant open, the learner's docstring says
what was chosen, from public facts only: USCA's `tau`, for one, is the one that should serve its
decisions best.

`usca` and `tacit-pure` spend `eps` on every decision and are judged on one; `tacit` spends it once,
for all decisions.
"""


def head(study: Study) -> list[str]:
    selection = study.selection
    rows = selection.rows
    have = [
        count(len(rows), "row"),
        count(len(selection.cells.learners()), "learner"),
        count(len(_base_names(selection)), "environment"),
        count(len({row["seed"] for row in rows}), "seed"),
    ]
    versions = listed(sorted({row["version"] for row in rows}))
    return [
        "# The study: private contextual bandits, measured",
        "",
        f"Made by `tacit arena study {study.source}` from {listed(have)} (Tacit {versions}); "
        f"{count(len(study.failures), 'job')} failed. No number on this page was typed. "
        f"[All tables]({study.tables}) and how it was measured stand on a page of their own.",
        "",
        "Learners are compared with those that promise the same, and never with others:",
        "",
        *(f"- {promise.value}: {_names(selection, promise)};" for promise in Promise),
        "",
    ]


def _names(selection: Selection, promise: Promise) -> str:
    return listed([f"`{name}`" for name in selection.promising(promise)]) or "none here"


def measured(study: Study) -> list[str]:
    """What was measured, in a few lines."""
    return [
        "## How it was measured",
        "",
        "For one environment and seed every learner meets the same function, the same contexts and "
        "the same noise. The error is what a decision loses against the best action, on average "
        "over contexts that nobody has seen; regret is what was lost in the rounds. Intervals are "
        "95 %, over seeds; differences are taken on the same environments, rounds, epsilon and "
        "seeds. Learners know the kernel and, unless it says otherwise, the true law of contexts. "
        f"Definitions, learners, environments and the long tables: [All tables]({study.tables}); "
        "how to repeat it or add a learner: [The arena](arena.md).",
        "",
    ]


def tables_head(study: Study) -> list[str]:
    return [
        "# The study: all tables",
        "",
        f"Made by `tacit arena study {study.source}`, together with [the page to read](study.md).",
        "",
    ]


def setting(study: Study) -> list[str]:
    selection = study.selection
    deltas = listed([f"{delta:g}" for delta in sorted({row["delta"] for row in selection.rows})])
    problem = PROBLEM.format(fresh=FRESH, grid=GRID, menu=MENU, regret=REGRET_ROUNDS, delta=deltas)
    return ["## Setting", *problem.splitlines(), *_learners(selection), *_environments(selection)]


def _learners(selection: Selection) -> list[str]:
    lines: list[str] = []
    for promise in Promise:
        rows = [_learner(selection, key) for key in selection.promising(promise)]
        if rows:
            columns = ["learner", "name", "source", "protects", "trust", "most rounds"]
            lines += [f"{promise.value[0].upper()}{promise.value[1:]}:", *table(columns, rows)]
    return lines


def _learner(selection: Selection, key: str) -> list[str]:
    most = max(row["rounds"] for row in selection.rows if row["learner"] == key)
    try:
        kind = learner_named(key)
        words = [kind.name, kind.source, protection(kind), kind.trust]
    except TacitError:  # somebody's own, or of another version
        words = [key, "", "", ""]
    return [f"`{key}`", *words, f"{most:,}"]


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
