"""Claim against evidence, as a picture. Needs the extra tacit[plot]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.audit.findings import Finding
from tacit.audit.run import Report
from tacit.errors import InputError, MissingExtraError

INK = "#1c2430"
MUTED = "#5b6675"
FAINT = "#d9dee5"
PAPER = "#fdfdfc"
SAMPLED = "#0b6e8f"
EXACT = "#7a5ba6"
REFUTED = "#b3261e"
WIDEST = 3.0  # bars end here, however wrong a claim is
ENDINGS = (".png", ".svg", ".pdf")
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "legend.frameon": False,
    "legend.labelcolor": MUTED,
    "xtick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "svg.fonttype": "path",
    "svg.hashsalt": "tacit",
}


def require_plot(path: Path) -> None:
    """Fails before the work begins, not after it."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a plot is written as {', '.join(ENDINGS)}, got {path.name!r}: choose one of these "
            "endings."
        )
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: create it first.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "plots need matplotlib, which is not installed: install tacit[plot], for example with "
            "pip install 'tacit[plot]'."
        ) from None


def write_plot(report: Report, path: Path) -> None:
    """One bar per mechanism: how much of its claim an attack has proved. A bar beyond the line is a
    broken claim."""
    require_plot(path)
    import matplotlib
    from matplotlib.figure import Figure

    findings = report.findings[::-1]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.3 + 0.36 * len(findings)), layout="constrained")
        axes = figure.subplots()
        for y, finding in enumerate(findings):
            _bar(axes, y, finding)
        _frame(axes, findings)
        _legend(figure, findings)
        figure.savefig(path, dpi=160, facecolor=PAPER)


def _bar(axes: Any, y: int, finding: Finding) -> None:
    share = _share(finding)
    axes.barh(y, 1.0, height=0.62, color=FAINT, alpha=0.55)
    axes.barh(y, share, height=0.62, color=_colour(finding))
    text = f"{_number(finding.lower_bound)} of {_number(finding.claimed_epsilon)}"
    axes.text(
        1.02,
        y,
        text,
        transform=axes.get_yaxis_transform(),
        va="center",
        color=INK if finding.ok else REFUTED,
    )


def _frame(axes: Any, findings: tuple[Finding, ...]) -> None:
    widest = max(1.0, *[_share(finding) for finding in findings])
    axes.axvline(1.0, color=INK, linewidth=1.4)
    axes.set_xlim(0.0, 1.06 * widest)
    axes.set_ylim(-0.6, len(findings) - 0.4)
    axes.set_yticks(range(len(findings)), [finding.name for finding in findings])
    axes.tick_params(length=0)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel("Lower bound on ε, as a share of the claim")
    axes.annotate(
        "claim",
        (1.0, 1.0),
        (0, 4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
    )
    axes.text(
        1.02, 1.0, "ε proved of ε claimed", transform=axes.transAxes, va="bottom", color=MUTED
    )
    axes.set_title(
        "What the attacks could prove", loc="left", fontweight="bold", fontsize=11, pad=16
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _legend(figure: Any, findings: tuple[Finding, ...]) -> None:
    from matplotlib.patches import Patch

    words = {
        SAMPLED: "sampled, 95 % confidence",
        EXACT: "computed or searched, exact",
        REFUTED: "claim refuted",
    }
    used = {_colour(finding) for finding in findings}
    handles = [Patch(color=colour, label=text) for colour, text in words.items() if colour in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def _colour(finding: Finding) -> str:
    if not finding.ok:
        return REFUTED
    return EXACT if finding.exact else SAMPLED


def _number(epsilon: float) -> str:
    return f"{epsilon:.2f}" if epsilon < 1000 else f"{epsilon:.1e}"


def _share(finding: Finding) -> float:
    return (
        min(finding.lower_bound / finding.claimed_epsilon, WIDEST)
        if finding.claimed_epsilon
        else 0.0
    )
