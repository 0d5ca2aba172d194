"""Long tables: error by rounds, epsilon and dimension, cost, generators, regret while learning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit_lab.arena.environments.rkhs import SIZE_NAMES
from tacit_lab.arena.promise import Promise, promise_named
from tacit_lab.arena.selection import FEWEST, OURS, Selection
from tacit_lab.arena.statistics import Key, error_share, interval, plus_minus, regret_share
from tacit_lab.arena.study.claims import SLACK, slopes, variants
from tacit_lab.arena.study.content import Study
from tacit_lab.arena.study.markdown import listed, signed, table

TICK = 1e-6  # no cost is below a microsecond


def by_rounds(study: Study) -> list[str]:
    selection = study.selection
    found = slopes(selection)
    if not found:
        return []
    rows = [
        [
            f"`{slope.environment}`",
            f"`{slope.learner}`",
            f"{min(slope.rounds):,} to {max(slope.rounds):,}",
            signed(slope.measured, "+.2f"),
            f"{slope.theory:+.2f}",
            "yes" if slope.holds else "**no**",
        ]
        for slope in found
    ]
    columns = ["environment", "learner", "rounds", "measured slope", "theory's"]
    columns.append(f"within {SLACK:g} or steeper")
    steeper = sum(slope.measured.mean < slope.theory for slope in found)
    return [
        "## Error against rounds",
        "",
        f"Slopes of log error in log `T` at `eps = {selection.epsilon:g}`, beside those of "
        "`sqrt(gamma_T/T) + gamma_T/(T eps)` over the same rounds, "
        "with `gamma_T = 1/2 sum log(1 + T lambda_i)` "
        "from the kernel's eigenvalues under the law of play. "
        f"{steeper} of {len(found)} are steeper than the theory's.",
        *table(columns, rows),
    ]


def by_epsilon(study: Study) -> list[str]:
    selection = study.selection
    settings = selection.with_epsilons()
    if not settings:
        return []
    lines = [
        "## Error against epsilon",
        "",
        "The last column is the learner's counterpart without privacy.",
    ]
    for name, rounds in settings:
        epsilons = selection.cells.epsilons(name)
        rows = []
        for learner in selection.private:
            keys = [(learner, name, rounds, epsilon) for epsilon in epsilons]
            if sum(key in selection.cells.rows for key in keys) >= FEWEST:
                keys += [(selection.counterpart(learner), name, rounds, math.inf)]
                rows.append([f"`{learner}`", *(_error(selection, key) for key in keys)])
        columns = ["learner", *(f"eps {epsilon:g}" for epsilon in epsilons), "none"]
        lines += ["", f"`{name}`, {rounds:,} rounds:", *table(columns, rows)]
    return lines


def by_dimension(study: Study) -> list[str]:
    selection = study.selection
    cells = selection.cells
    kernels = selection.with_sizes()
    if not kernels:
        return []
    lines = [
        "## Error against dimension",
        "",
        f"Share of uniform play's error, {selection.rounds:,} rounds.",
    ]
    for kernel in kernels:
        rows = []
        for learner in selection.by_promise:
            keys = [
                (learner, f"{kernel}-{size}", selection.rounds, selection.level(learner))
                for size in SIZE_NAMES
            ]
            if any(key in cells.rows for key in keys):
                rows.append([f"`{learner}`", *(_share(selection, key) for key in keys)])
        lines += ["", f"`{kernel}`:", *table(["learner", *SIZE_NAMES], rows)]
    return lines


def costs(study: Study) -> list[str]:
    """On the environment that was played most."""
    selection = study.selection
    name = selection.busiest
    rows = []
    for learner in selection.cells.learners():
        level = selection.level(learner)
        rounds = selection.cells.rounds(name, learner, level)
        if not rounds:
            continue
        keys = [(learner, name, T, level) for T in rounds]
        seconds = [selection.cells.interval(key, "seconds").mean for key in keys]
        memory = selection.cells.interval(keys[-1], "peak_memory").mean
        growth = _growth(rounds, seconds) if len(rounds) >= FEWEST else ""
        rows.append(
            [f"`{learner}`", f"{rounds[-1]:,}", f"{seconds[-1]:.2f}", growth, f"{memory:.0f}"]
        )
    columns = ["learner", "most rounds", "seconds there", "grows as T to the", "megabytes there"]
    words = (
        f"Of the learner alone on `{name}`, one core: "
        "designing, playing all rounds, deciding for all fresh contexts."
    )
    return ["## Cost", "", words, *table(columns, rows)]


def generators(study: Study) -> list[str]:
    selection = study.selection
    found = variants(selection)
    if not found:
        return []
    words = {"wrong": "a wrong law", "none": "no law"}
    rows = [
        [f"`{learner}`", f"`{name}`", words.get(variant, variant), f"{rounds:,}", signed(gap)]
        for learner, name, variant, rounds, gap in found
    ]
    harmless = sum(gap.low <= 0.0 for *_, gap in found)
    return [
        "## A wrong guess of who will come",
        "",
        "What is added to the error when the learner is given a wrong law of contexts "
        "(tilted towards one corner), or none, on the same seeds. "
        f"In {harmless} of {len(found)} cases the interval does not exclude that it costs nothing.",
        *table(["learner", "environment", "given", "rounds", "added error"], rows),
    ]


def learning(study: Study) -> list[str]:
    """What is lost while learning: learners that explore uniformly pay for it."""
    selection = study.selection
    shares = {}
    for name in selection.cells.learners():
        share = selection.over_seeds(name, regret_share)
        if share.seeds:
            shares[name] = share
    above = [
        f"`{learner}`"
        for learner, share in shares.items()
        if learner in selection.private and share.low > 1.0
    ]
    words = (
        f"Cumulative regret over {selection.rounds:,} rounds as a share of uniform play's, "
        "averaged over environments. "
        f"Learners that explore uniformly, `{OURS}` among them, are at 1 by design: "
        "they learn for later."
    )
    if above:
        words += f" Beyond doubt more than uniform play lost {listed(above)}."
    lines = ["## Regret while learning", "", words, ""]
    for promise in Promise:
        group = [name for name in shares if promise_named(name) is promise]
        best_first = sorted(group, key=lambda name: shares[name].mean)
        rows = [[f"`{name}`", plus_minus(shares[name], ".2f")] for name in best_first]
        if rows:
            lines += [f"{promise.value.capitalize()}:", *table(["learner", "share"], rows)]
    return lines


def _growth(rounds: Sequence[int], seconds: Sequence[float]) -> str:
    """The exponent in T, by least squares on log-log axes."""
    exponent, _ = np.polyfit(np.log(rounds), np.log(np.maximum(seconds, TICK)), 1)
    return f"{exponent:.2f}"


def _share(selection: Selection, key: Key) -> str:
    rows = selection.cells.rows.get(key, {}).values()
    if not rows:
        return ""
    return plus_minus(interval([error_share(row) for row in rows]), ".2f")


def _error(selection: Selection, key: Key) -> str:
    if key not in selection.cells.rows:
        return ""
    return plus_minus(selection.cells.interval(key))
