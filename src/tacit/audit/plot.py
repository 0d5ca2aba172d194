"""Claim against evidence, as a picture. Needs the extra tacit-dp[plot]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.audit.findings import Finding
from tacit.audit.run import Report
from tacit.errors import InputError
from tacit.report.canvas import ACCENT, FAINT, INK, MUTED, blank, drawing, save

EXACT = "#7a5ba6"
REFUTED = "#b3261e"
WIDEST = 3.0  # bars end here, however wrong a claim is
ENDINGS = (".png", ".svg", ".pdf")


def require_plot(path: Path) -> None:
    """Fails before the work begins, not after it."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a plot is written as {', '.join(ENDINGS)}, got {path.name!r}: choose one of these "
            "endings."
        )
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: create it first.")
    with drawing():
        pass  # fails where matplotlib is not installed


def write_plot(report: Report, path: Path) -> None:
    """One bar per mechanism: how much of its claim an attack has proved. A bar beyond the line is a
    broken claim."""
    require_plot(path)
    findings = report.findings[::-1]
    with drawing():
        figure = blank(9.2, 1.3 + 0.36 * len(findings))
        axes = figure.subplots()
        for y, finding in enumerate(findings):
            _bar(axes, y, finding)
        _frame(axes, findings)
        _legend(figure, findings)
        save(figure, path)


def _bar(axes: Any, y: int, finding: Finding) -> None:
    axes.barh(y, 1.0, height=0.62, color=FAINT, alpha=0.55)
    axes.barh(y, _share(finding), height=0.62, color=_colour(finding))
    text = f"{_number(finding.lower_bound)} of {_number(finding.claimed_epsilon)}"
    beside = axes.get_yaxis_transform()
    colour = INK if finding.ok else REFUTED
    axes.text(1.02, y, text, transform=beside, va="center", color=colour)


def _frame(axes: Any, findings: tuple[Finding, ...]) -> None:
    widest = max(1.0, *[_share(finding) for finding in findings])
    axes.grid(visible=False)
    axes.axvline(1.0, color=INK, linewidth=1.4)
    axes.set_xlim(0.0, 1.06 * widest)
    axes.set_ylim(-0.6, len(findings) - 0.4)
    axes.set_yticks(range(len(findings)), [finding.name for finding in findings], color=INK)
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
    axes.set_title("What the attacks could prove", fontsize=11, pad=16)
    axes.spines["left"].set_visible(False)


def _legend(figure: Any, findings: tuple[Finding, ...]) -> None:
    from matplotlib.patches import Patch

    labels = {
        ACCENT: "sampled, 95 % confidence",
        EXACT: "computed or searched, exact",
        REFUTED: "claim refuted",
    }
    used = {_colour(finding) for finding in findings}
    handles = [Patch(color=colour, label=text) for colour, text in labels.items() if colour in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def _colour(finding: Finding) -> str:
    if not finding.ok:
        return REFUTED
    return EXACT if finding.exact else ACCENT


def _number(epsilon: float) -> str:
    return f"{epsilon:.2f}" if epsilon < 1000 else f"{epsilon:.1e}"


def _share(finding: Finding) -> float:
    """How much of the claim was proved; 0 for a claim of 0."""
    if not finding.claimed_epsilon:
        return 0.0
    return min(finding.lower_bound / finding.claimed_epsilon, WIDEST)
