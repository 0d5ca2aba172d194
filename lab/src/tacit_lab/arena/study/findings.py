"""Findings: the ranking, error by rounds, epsilon and dimension, cost, generators, reward while
learning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit_lab.arena.environments.rkhs import SIZE_NAMES
from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import FEWEST, OURS, Selection
from tacit_lab.arena.statistics import Key, interval, plus_minus, ranking
from tacit_lab.arena.study.claims import SLACK, slopes, variants
from tacit_lab.arena.study.markdown import count, listed, signed, table

IMAGES = "images/arena"
TICK = 1e-6  # no cost is below a microsecond


def ranked(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """In the main setting, and where that is more rounds than some learner played, also where all
    of them played."""
    lines = ["## Who is best", ""]
    for rounds in sorted({selection.rounds, selection.common_rounds}, reverse=True):
        lines += _places(selection, rounds)
    return [*lines, *_image("ranking", "Ranking with intervals")]


def _places(selection: Selection, rounds: int) -> list[str]:
    places = ranking(selection.cells, rounds, selection.epsilon, selection.environments)
    best = next((place for place in places if place.learner in selection.private), None)
    words = (
        f"At {rounds:,} rounds and `eps = {selection.epsilon:g}`, "
        f"over {count(places[0].environments, 'environment')} "
        "that all of these learners played; the error is a share of uniform play's."
    )
    if best is not None:
        words += (
            f" The best private learner is `{best.learner}`, "
            f"which leaves {best.left.mean:.0%} of it."
        )
    rows = [
        [
            f"`{place.learner}`",
            "yes" if place.learner in selection.private else "no",
            plus_minus(place.left),
            f"{place.place:.1f}",
        ]
        for place in places
    ]
    return [words, *table(["learner", "private", "error / uniform play's", "mean place"], rows)]


def by_rounds(selection: Selection, failures: Sequence[Row]) -> list[str]:
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
        *_image("error-rounds", "Error against rounds"),
    ]


def by_epsilon(selection: Selection, failures: Sequence[Row]) -> list[str]:
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
    return [*lines, *_image("error-epsilon", "Error against epsilon")]


def by_dimension(selection: Selection, failures: Sequence[Row]) -> list[str]:
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
        for learner in cells.learners():
            keys = [
                (learner, f"{kernel}-{size}", selection.rounds, selection.level(learner))
                for size in SIZE_NAMES
            ]
            if any(key in cells.rows for key in keys):
                rows.append([f"`{learner}`", *(_share(selection, key) for key in keys)])
        lines += ["", f"`{kernel}`:", *table(["learner", *SIZE_NAMES], rows)]
    return [*lines, *_image("error-dimension", "Error against dimension")]


def costs(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """On the environment that was played most."""
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
    return ["## Cost", "", words, *table(columns, rows), *_image("cost", "Cost against rounds")]


def generators(selection: Selection, failures: Sequence[Row]) -> list[str]:
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


def learning(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """What is lost while learning: learners that explore uniformly pay for it."""
    shares = {}
    for name in selection.cells.learners():
        share = selection.over_seeds(name, _regret)
        if share.seeds:
            shares[name] = share
    above = [
        f"`{learner}`"
        for learner, share in shares.items()
        if learner in selection.private and share.low > 1.0
    ]
    best_first = sorted(shares, key=lambda name: shares[name].mean)
    rows = [[f"`{name}`", plus_minus(shares[name], ".2f")] for name in best_first]
    words = (
        f"Cumulative regret over {selection.rounds:,} rounds as a share of uniform play's, "
        "averaged over environments. "
        f"Learners that explore uniformly, `{OURS}` among them, are at 1 by design: "
        "they learn for later."
    )
    if above:
        words += f" Beyond doubt more than uniform play lost {listed(above)}."
    return ["## Reward while learning", "", words, *table(["learner", "share"], rows)]


def _regret(row: Row) -> float:
    """As a share of uniform play's."""
    return float(row["cumulative_regret"] / (row["rounds"] * row["uniform_error"]))


def _growth(rounds: Sequence[int], seconds: Sequence[float]) -> str:
    """The exponent in T, by least squares on log-log axes."""
    exponent, _ = np.polyfit(np.log(rounds), np.log(np.maximum(seconds, TICK)), 1)
    return f"{exponent:.2f}"


def _share(selection: Selection, key: Key) -> str:
    rows = selection.cells.rows.get(key, {}).values()
    if not rows:
        return ""
    shares = [row["error_rate"] / row["uniform_error"] for row in rows]
    return plus_minus(interval(shares), ".2f")


def _error(selection: Selection, key: Key) -> str:
    if key not in selection.cells.rows:
        return ""
    return plus_minus(selection.cells.interval(key))


def _image(name: str, words: str) -> list[str]:
    return [f"![{words}]({IMAGES}/{name}.png)", ""]
