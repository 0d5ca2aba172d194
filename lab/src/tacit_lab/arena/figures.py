"""Figures of a results table, one for each question of the study."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tacit.charts import Dots, Figure, Intervals, Note, Panel, Rule, Scale
from tacit.charts.marks import Mark
from tacit_lab.arena.drawing import Palette, as_file, curve, log_scale
from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.names import base_and_variant
from tacit_lab.arena.promise import Promise
from tacit_lab.arena.selection import EPOCHS, OURS, PAPER, Selection
from tacit_lab.arena.statistics import (
    Interval,
    Track,
    Value,
    error_share,
    interval,
    ranking,
    regret_share,
)
from tacit_lab.arena.statistics import (
    Key as Cell,
)

# None where the table has nothing to draw.
Draw = Callable[[Selection, Palette], Figure | None]
WIDTH = 720.0
PANEL = 270.0
LINE = 17.0
LETTERS = 30  # of a name
MOST_PANELS = 6
NOT_PRIVATE = "gpucb"  # whose regret is drawn beside that of private learners
MOST_LINES = 30  # of settings
MOST_RIVALS = 5  # that get a line
WIDEST = 1.2  # of a share; intervals beyond are cut


def draw_all(selection: Selection, folder: Path) -> list[Path]:
    """Every figure that the table has rows for."""
    folder.mkdir(parents=True, exist_ok=True)
    palette = Palette(selection)
    written = []
    for name, draw in FIGURES.items():
        figure = draw(selection, palette)
        if figure is not None:
            path = folder / f"{name}.svg"
            path.write_text(as_file(figure, palette), encoding="utf-8")
            written.append(path)
    return written


def ranks(selection: Selection, palette: Palette) -> Figure | None:
    """One line for each learner: its error as a share of uniform play's. Each promise apart."""
    track = Track(selection.rounds, selection.epsilon, selection.environments)
    labels: list[str] = []
    marks: list[Mark] = [Rule(1.0, upright=True, kind="dashed")]
    for promise in Promise:
        places = ranking(selection.cells, track, selection.promising(promise))
        if not places:
            continue
        marks.append(Note(0.0, len(labels), promise.value, right=4.0))
        at = range(len(labels) + 1, len(labels) + 1 + len(places))
        labels += ["", *(place.learner for place in places)]
        shares = [place.left for place in places]
        marks += _flat(shares, at, palette.promise(promise))
    if not labels:
        return None
    title = f"Error after {selection.rounds:,} rounds, share of uniform play's"
    return _lines(labels, marks, f"{title} (eps = {selection.epsilon:g})")


def _lines(labels: Sequence[str], marks: Sequence[Mark], title: str) -> Figure:
    """Lines of text with marks beside them."""
    up = Scale(-0.5, len(labels) - 0.5, labels=tuple(labels), down=True, letters=LETTERS)
    panel = Panel(Scale(0.0, WIDEST, title), up, marks)
    return Figure([panel], title, WIDTH, LINE * len(labels) + 60.0)


def _flat(shares: Sequence[Interval], at: Sequence[int], kind: str) -> list[Mark]:
    """Dots with their intervals, along lines of text."""
    known = [(place, share) for place, share in zip(at, shares, strict=True) if share.seeds > 1]
    ends = [(max(share.low, 0.0), min(share.high, WIDEST)) for _, share in known]
    places = [float(place) for place, _ in known]
    bars = Intervals(places, [low for low, _ in ends], [high for _, high in ends], kind, flat=True)
    means = [min(share.mean, WIDEST) for share in shares]
    return [bars, Dots(means, [float(place) for place in at], kind, radius=3.6)]


def by_epsilon(selection: Selection, palette: Palette) -> Figure | None:
    """Learners with joint privacy by epsilon; ours without privacy is the same at each."""
    panels = []
    names = [*_drawn(selection), selection.counterpart(OURS)]
    settings = [each for each in selection.with_epsilons() if _met(selection, *each)]
    for environment, rounds in settings[:MOST_PANELS]:
        points = {
            name: {
                epsilon: _share(selection, (name, environment, rounds, level))
                for epsilon in selection.cells.epsilons(environment)
                for level in [epsilon if name in selection.private else math.inf]
                if (name, environment, rounds, level) in selection.cells.rows
            }
            for name in names
        }
        panels.append(_panel(points, palette, f"{environment}, {rounds:,} rounds", "eps"))
    return _grid(panels, names, palette, "Error against epsilon")


def _met(selection: Selection, environment: str, rounds: int) -> bool:
    """Whether ours was played there."""
    return any(key[:3] == (OURS, environment, rounds) for key in selection.cells.rows)


def by_rounds(selection: Selection, palette: Palette) -> Figure | None:
    """Learners with joint privacy by rounds, and ours without privacy."""
    names = [*_drawn(selection), selection.counterpart(OURS)]
    return _curves(selection, palette, names, error_share, "Error against rounds")


def regret(selection: Selection, palette: Palette) -> Figure | None:
    """What is lost while learning, by rounds."""
    names = [*_drawn(selection), *({NOT_PRIVATE} & set(selection.open))]
    return _curves(selection, palette, names, regret_share, "Regret against rounds")


def _curves(
    selection: Selection, palette: Palette, names: Sequence[str], value: Value, alt: str
) -> Figure | None:
    found = selection.with_curves()
    environments = ([name for name in found if name in RKHS] or found)[:MOST_PANELS]
    panels = []
    for environment in environments:
        points = {}
        for name in names:
            level = selection.level(name)
            keys = [
                (name, environment, T, level)
                for T in selection.cells.rounds(environment, name, level)
            ]
            points[name] = {float(key[2]): _share(selection, key, value) for key in keys}
        panel = _panel(points, palette, environment, "rounds")
        if value is regret_share:  # of one order of magnitude
            panel = replace(panel, up=Scale(0.0, WIDEST, panel.up.title))
        panels.append(panel)
    return _grid(panels, names, palette, alt)


def _panel(
    points: dict[str, dict[float, Interval]], palette: Palette, title: str, across: str
) -> Panel:
    """Lines of shares of uniform play's loss, both sides logarithmic."""
    known = {name: line for name, line in points.items() if line}
    marks: list[Mark] = [Rule(1.0, kind="dashed")]
    for name, line in known.items():
        marks += curve(line, palette.learner(name), banded=name.startswith(OURS))
    x = [at for line in known.values() for at in line]
    y = [point.mean for line in known.values() for point in line.values()]
    up = log_scale([*y, 1.0], "share of uniform play's")
    return Panel(log_scale(x, across), up, marks, title)


def _grid(panels: list[Panel], names: Sequence[str], palette: Palette, alt: str) -> Figure | None:
    if not panels:
        return None
    wide = min(2, len(panels))
    return Figure(panels, alt, WIDTH, PANEL, wide=wide, keys=palette.keys(names))


def breaks(selection: Selection, palette: Palette) -> Figure | None:
    """Ours in settings of at most the main number of rounds, the worst first."""
    shares: dict[str, Interval] = {}
    for key in sorted(selection.cells.rows):
        learner, environment, rounds, epsilon = key
        _, variant = base_and_variant(environment)
        if learner != OURS or epsilon != selection.epsilon:
            continue
        if variant != "public" or rounds <= selection.rounds:
            shares[f"{environment}, {rounds:,}"] = _share(selection, key)
    if not shares:
        return None
    labels = sorted(shares, key=lambda label: -shares[label].mean)[:MOST_LINES]
    marks: list[Mark] = [Rule(1.0, upright=True, kind="dashed")]
    marks += _flat([shares[label] for label in labels], range(len(labels)), palette.learner(OURS))
    title = f"Error of {OURS}, share of uniform play's (eps = {selection.epsilon:g})"
    return _lines(labels, marks, title)


def _drawn(selection: Selection) -> list[str]:
    """Learners with joint privacy that get a line: ours (not its variants), the paper's and the
    best others."""
    track = Track(selection.rounds, selection.epsilon, selection.environments)
    rivals = [name for name in selection.joint if not name.startswith(OURS)]
    best = [rank.learner for rank in ranking(selection.cells, track, rivals)[:MOST_RIVALS]]
    main = [name for name in (OURS, EPOCHS, PAPER) if name in selection.joint]
    others = [name for name in best if name not in main]
    return [*main, *others]


def _share(selection: Selection, key: Cell, value: Value = error_share) -> Interval:
    return interval(list(selection.cells.measured(key, value).values()))


FIGURES: dict[str, Draw] = {
    "ranking": ranks,
    "privacy": by_epsilon,
    "rounds": by_rounds,
    "breaks": breaks,
    "regret": regret,
}
