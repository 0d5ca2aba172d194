"""Maps over two axes: even bands of colour where both are numbers, tiles where one is a list of
labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.report.axes import Ruler
from tacit.report.canvas import OTHER, PAPER
from tacit.report.formatting import number

# One colour for each kind of quantity, from little to much: it prints in grey as well.
ACTION = ("#eaf4f7", "#a5d0dd", "#4a9cb8", "#0d6c8c", "#0a3a4c")
REWARD = ("#fdf5e8", "#f3cf98", "#dd9a45", "#b3661a", "#5a2f0b")
UNCERTAINTY = ("#f6f1f9", "#d6bfe2", "#ac80c2", "#7d4596", "#3c1d4b")
LABELS = ("#2f7f9f", "#d9902f", "#8d59a6", "#5a9a4b", "#c8566a", "#7a8fd0", "#a58a3d", "#4bb0a5")
# on top of these, whatever the page's theme
DARK = "#10161d"
LIGHT = "#ffffff"
BANDS = 9
MOST_WRITTEN = 60  # tiles with their number in them
HALF = np.array([-0.5, 0.5])
OTHERS = "others"


def shade(axes: Any, across: Ruler, up: Ruler, Z: Floats, colours: Sequence[str]) -> Any:
    """Colours the plane by `Z[up, across]`; what is not finite stays blank. Returns what a colour
    bar needs."""
    from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap

    bands = _bands(Z)
    palette = LinearSegmentedColormap.from_list("tacit", colours)
    norm = BoundaryNorm(bands, palette.N)
    if across.labels and up.labels:
        mesh = axes.pcolormesh(
            edges(across), edges(up), np.ma.masked_invalid(Z), cmap=palette, norm=norm
        )
        _write(axes, Z, lambda z: palette(norm(z)), float(np.diff(bands)[0]))
        _finish(axes, [mesh], across, up)
        return mesh
    # Bands of colour: of the whole plane, or within each label.
    meshes = [
        axes.contourf(x, y, np.ma.masked_invalid(z), levels=bands, cmap=palette, norm=norm)
        for x, y, z in _strips(across, up, Z)
    ]
    _finish(axes, meshes, across, up)
    return meshes[0]


def tiles(axes: Any, across: Ruler, up: Ruler, codes: Floats, names: Sequence[str]) -> list[Any]:
    """Colours the plane by labels: `codes[up, across]` are positions in `names`. Returns a patch
    per name."""
    from matplotlib.patches import Patch

    colours = [label_colour(i, names) for i in range(len(names))]
    x = edges(across)
    y = edges(up)
    for row, code in enumerate(codes):
        for start, stop in runs(code):
            if np.isfinite(code[start]):
                colour = colours[int(code[start])]
                at = (y[row], y[row + 1] - y[row])
                axes.broken_barh([(x[start], x[stop] - x[start])], at, color=colour, linewidth=1.0)
    _finish(axes, [], across, up)
    return [Patch(color=colour, label=name) for colour, name in zip(colours, names, strict=True)]


def label_colour(i: int, names: Sequence[str]) -> str:
    if names[i] == OTHERS or i >= len(LABELS):
        return OTHER
    return LABELS[i]


def mark(axes: Any, x: Floats, y: Floats, style: str, label: str) -> None:
    """Black on a white edge, which is seen on any colour."""
    from matplotlib.patheffects import withStroke

    around = []
    if style == "-":
        around = [withStroke(linewidth=4.2, foreground=LIGHT)]
    axes.plot(
        x,
        y,
        style,
        color=DARK,
        markersize=6.5,
        markeredgecolor=LIGHT,
        linewidth=1.9,
        label=label,
        path_effects=around,
    )


def ticks(side: Any, ruler: Ruler, room: int = 70, most: int = 12) -> None:
    """Labels at their places, at most so many; slanted where they need more than `room`
    characters."""
    if not ruler.labels:
        return
    step = -(-len(ruler) // most)
    shown = ruler.labels[::step]
    slant: dict[str, Any] = {}
    if sum(map(len, shown)) > room:
        slant = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    side.set_ticks(ruler.at[::step], shown, **slant)
    side.set_tick_params(length=0)


def _strips(across: Ruler, up: Ruler, Z: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
    """The whole plane, or one strip per label."""
    if across.labels:
        yield from ((i + HALF, up.at, np.repeat(Z[:, [i]], 2, axis=1)) for i in range(len(across)))
    elif up.labels:
        yield from ((across.at, i + HALF, np.repeat(Z[[i]], 2, axis=0)) for i in range(len(up)))
    else:
        yield across.at, up.at, Z


def _write(axes: Any, Z: Floats, colour: Callable[[float], Any], step: float) -> None:
    """The number in every tile, if there are not too many."""
    if Z.size > MOST_WRITTEN:
        return
    for (i, j), z in np.ndenumerate(Z):
        if np.isfinite(z):
            luminance = float(np.dot(colour(z)[:3], (0.3, 0.6, 0.1)))
            ink = DARK if luminance > 0.55 else LIGHT
            text = number(float(z), 20 * step, trim=False)
            axes.text(j, i, text, ha="center", va="center", color=ink)


def _finish(axes: Any, meshes: list[Any], across: Ruler, up: Ruler) -> None:
    for mesh in meshes:
        mesh.set_edgecolor("face")  # no hairlines between the colours
        mesh.set_linewidth(0.3)
    axes.grid(visible=False)
    ticks(axes.xaxis, across)
    ticks(axes.yaxis, up, room=10_000, most=24)
    for side, ruler in ((axes.xaxis, across), (axes.yaxis, up)):
        side.set_label_text(ruler.axis.title)
    for side, ruler in ((axes.set_xlim, across), (axes.set_ylim, up)):
        side(*edges(ruler)[[0, -1]])
    for i in range(1, len(across.labels)):
        axes.axvline(i - 0.5, color=PAPER, linewidth=1.5)
    for i in range(1, len(up.labels)):
        axes.axhline(i - 0.5, color=PAPER, linewidth=1.5)


def _bands(Z: Floats) -> Floats:
    """Round edges of about nine bands."""
    from matplotlib.ticker import MaxNLocator

    finite = Z[np.isfinite(Z)]
    low = float(finite.min())
    high = float(finite.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
        pad = 0.5 * max(abs(low), 1e-3)  # all alike: a band around it
        low -= pad
        high += pad
    return np.asarray(MaxNLocator(BANDS).tick_values(low, high))


def runs(values: Floats) -> Iterator[tuple[int, int]]:
    """Where equal values follow each other: first place and the place after the last."""
    ends = [*(np.flatnonzero(np.diff(values) != 0) + 1).tolist(), len(values)]
    yield from zip([0, *ends[:-1]], ends, strict=True)


def edges(ruler: Ruler) -> Floats:
    """The ends of the tiles around the places."""
    if ruler.labels:
        return np.append(ruler.at - 0.5, ruler.at[-1] + 0.5)
    between = (ruler.at[1:] + ruler.at[:-1]) / 2
    return np.concatenate([ruler.at[:1], between, ruler.at[-1:]])
