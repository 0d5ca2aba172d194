"""What figures are drawn on: the colours, the style, and how a figure becomes part of a page or a
file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import MissingExtraError

# Each colour stands for a CSS variable of the page, so that figures follow its light and its dark
# theme.
INK = "#1c2430"
MUTED = "#5b6675"
FAINT = "#d9dee5"
PAPER = "#fdfdfc"
ACCENT = "#0b6e8f"
OTHER = "#a9b2bd"
HIGH = "#0a6ea1"
MIDDLE = "#c9791a"
LOW = "#8a4fa3"
WIDTH = 8.4  # inches of a figure that takes the whole width of the page
COLOURS = {
    INK: "--ink",
    MUTED: "--muted",
    FAINT: "--faint",
    PAPER: "--paper",
    ACCENT: "--accent",
    OTHER: "--other",
    HIGH: "--high",
    MIDDLE: "--middle",
    LOW: "--low",
}
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10.0,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "legend.frameon": False,
    "legend.labelcolor": MUTED,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "figure.constrained_layout.wspace": 0.05,
    "text.parse_math": False,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Matplotlib in the report's style, or one sentence about how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.of("figures", "matplotlib", "plot") from None
    with matplotlib.rc_context(STYLE):
        yield


def inline_svg(figure: Any, name: str, alt: str) -> str:
    """A figure as SVG to stand inside a page: its colours are the page's, it scales, and it names
    no address. `name` keeps its ids apart from those of other figures; `alt` is its text for
    those who cannot see it."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\sxmlns(:\w+)?=\"[^\"]*\"", "", svg).replace("xlink:href", "href")
    svg = re.sub(r"\b(id=\"|url\(#|href=\"#)", rf"\1{name}-", svg)
    box = re.search(r"viewBox=\"([^\"]*)\"", svg)
    assert box is not None
    svg = f'<svg viewBox="{box[1]}" role="img" aria-label="{alt}">' + svg[svg.index(">") + 1 :]
    for colour, variable in COLOURS.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg


def save(figure: Any, path: Path) -> None:
    """A figure as a file of its own, on paper white. The file's ending says whether PNG, SVG or
    PDF."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "tacit"}):
        figure.savefig(path, dpi=160, facecolor=PAPER)


def blank(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
