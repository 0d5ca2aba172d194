"""Rulers, maps and people as parts of charts: what the figures of a policy have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit._typing import Floats
from tacit.charts import Colours, Key, Scale, Spans, Tiles
from tacit.charts.marks import Mark
from tacit.charts.tiles import LABELS, OTHERS
from tacit.report.axes import Axis, Ruler
from tacit.report.findings import Findings

WIDTH = 760.0  # of a figure that takes the whole width of a page
REST = "others"
FINER = 2  # times as many tiles as places, along a side that is a range of numbers


def scale_of(ruler: Ruler, down: bool = False) -> Scale:
    """The side of a panel that a ruler lies along."""
    if ruler.labels:
        return Scale.of_labels(ruler.labels, ruler.axis.title, down)
    ends = edges(ruler.at)
    return Scale(float(ends[0]), float(ends[-1]), ruler.axis.title, down=down)


def edges(at: Floats) -> Floats:
    """The ends of the tiles around places of a range."""
    between = (at[1:] + at[:-1]) / 2
    return np.concatenate([at[:1], between, at[-1:]])


def shaded(
    across: Ruler, up: Ruler, Z: Floats, palette: Sequence[str], steps: Colours | None = None
) -> tuple[Tiles, Colours]:
    """A plane coloured by `Z[up, across]`, and what its colours mean; what is not finite stays
    blank."""
    colours = steps or Colours.between(Z.ravel().tolist(), palette)
    fine, x = _finer(Z, across)
    turned, y = _finer(fine.T, up)
    fine = turned.T
    codes = [[colours.band(z) for z in row] for row in fine.tolist()]
    values = Z.tolist() if across.labels and up.labels else ()
    span = 20 * (colours.edges[1] - colours.edges[0])
    return Tiles(x, y, codes, colours.colours, values, span), colours


def labelled(across: Ruler, up: Ruler, codes: Floats, names: Sequence[str]) -> Tiles:
    """A plane coloured by labels: `codes[up, across]` are positions in `names`."""
    plain = [[int(code) if np.isfinite(code) else -1 for code in row] for row in codes]
    colours = [label_colour(i, names) for i in range(len(names))]
    return Tiles(tile_edges(across), tile_edges(up), plain, colours)


def tile_edges(ruler: Ruler) -> list[float]:
    """The ends of the tiles around the places of a ruler."""
    if ruler.labels:
        return [i - 0.5 for i in range(len(ruler) + 1)]
    return edges(ruler.at).tolist()


def label_colour(i: int, names: Sequence[str]) -> str:
    if names[i] == REST or i >= len(LABELS):
        return OTHERS
    return LABELS[i]


def label_keys(names: Sequence[str]) -> list[Key]:
    """What the colours of labels mean."""
    return [Key(name, colour=label_colour(i, names)) for i, name in enumerate(names)]


def people_spans(found: Findings, axis: Axis, upright: bool = False) -> list[Mark]:
    """A bar along the foot of a panel, or up its side, where the middle 90 % of the people are."""
    if not found.view.knows_people or axis.labels:
        return []
    low, high = axis.values(found.view.quantiles(axis, [0.05, 0.95])[:, None]).tolist()
    return [Spans(low, high, upright)]


def _finer(Z: Floats, ruler: Ruler) -> tuple[Floats, list[float]]:
    """Values between the places along the last side, and the ends of their tiles."""
    if ruler.labels:
        return Z, tile_edges(ruler)
    n = len(ruler)
    at = np.linspace(0.0, n - 1.0, FINER * (n - 1) + 1)
    left = np.minimum(at.astype(int), n - 2) if n > 1 else np.zeros(1, dtype=int)
    share = at - left
    right = np.minimum(left + 1, n - 1)
    # A blank place stays blank; beside one the nearest value counts.
    near = np.where(share > 0.5, Z[:, right], Z[:, left])
    between = (1.0 - share) * Z[:, left] + share * Z[:, right]
    fine = np.where(np.isfinite(between), between, near)
    places = np.interp(at, np.arange(n), ruler.at)
    return fine, edges(places).tolist()
