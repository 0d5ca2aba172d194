"""`tacit audit`: attack the shipped mechanisms, and say what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.console import Json, emit, err, out, progress, table

if TYPE_CHECKING:
    from tacit.audit import Report


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples: about a minute.")] = False,
    study: Annotated[
        str | None,
        typer.Option(help="A study's database: audit its settings. None of its rounds is read."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw claim against evidence into this file (png, svg, pdf)."),
    ] = None,
    json: Json = False,
) -> None:
    """Attack the privacy mechanisms on worst-case data and compare what the attacks prove with what
    is claimed.

    Every printed lower bound on epsilon holds with 95 % confidence. A mechanism is called wrong
    only if its claim is refuted with confidence 1 - 5e-8, so that a whole run raises a false alarm
    less than once in a million times.

    Exit code 0: nothing was found. 1: some claim is refuted. 2: the command was not understood.

    An audit can refute a claim; it cannot prove one. See docs/audit.md.
    """
    from tacit.audit import FULL, QUICK, Settings, run_audit
    from tacit.audit.plot import require_plot, write_plot

    if plot is not None:
        require_plot(plot)
    settings = Settings() if study is None else Settings.of_study(study)
    with progress(json) as show:
        report = run_audit(settings, QUICK if quick else FULL, show)
    if plot is not None:
        write_plot(report, plot)
    if json:
        emit(report.to_json() | {"plot": None if plot is None else str(plot)})
    else:
        _show(report)
    if plot is not None:
        err.print(f"Plot: {plot}")
    if not report.ok:
        raise typer.Exit(1)


def _show(report: Report) -> None:
    mechanisms = [
        [
            finding.name,
            f"{finding.claimed_epsilon:.3f}",
            f"{finding.lower_bound:.3f}",
            f"{finding.samples:,}",
            f"{finding.seconds:.1f}",
            _verdict(finding.ok, finding.lower_bound > finding.claimed_epsilon),
        ]
        for finding in report.findings
    ]
    columns = ["mechanism", "claimed", "lower bound", "samples", "seconds", ""]
    table(
        "Epsilon: what is claimed, and what attacks prove with 95 % confidence", columns, mechanisms
    )
    checks = [
        [
            check.name,
            "" if check.p_value is None else f"{check.p_value:.2g}",
            f"{check.samples:,}",
            f"{check.seconds:.1f}",
            _verdict(check.ok),
        ]
        for check in report.checks
    ]
    table("Checks", ["check", "p-value", "samples", "seconds", ""], checks)
    if report.ok:
        out.print(
            f"No claim was refuted ({report.seconds:.0f} s). An audit can refute a claim; it "
            "cannot prove one."
        )
    else:
        out.print(
            "[bold red]A claim was refuted: do not release anything with this installation.[/bold "
            "red]"
        )


def _verdict(ok: bool, above: bool = False) -> str:
    """A bound that holds with 95 % confidence may be above a right claim by chance; that alone
    refutes nothing."""
    if not ok:
        return "[bold red]REFUTED[/bold red]"
    return "by chance" if above else "ok"
