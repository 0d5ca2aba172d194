"""`tacit demo`: a whole study in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err, out, progress, table
from tacit.errors import MissingExtraError


def demo(
    rounds: Annotated[int, typer.Option(help="Simulated patients to explore with.")] = 5000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Goes with epsilon.")] = 1e-6,
    seed: Annotated[
        int, typer.Option(help="Seed of the simulated patients (the privacy noise has none).")
    ] = 0,
    to: Annotated[
        Path, typer.Option("--out", help="The folder for the report and the policy.")
    ] = Path("out/demo"),
    picture: Annotated[Path | None, typer.Option(help="Also write one figure, PNG or SVG.")] = None,
    json: Json = False,
) -> None:
    """Find the right dose for every patient without learning anybody's secrets.

    Simulates patients whose right dose follows the published IWPC pharmacogenetic formula, explores
    with uniformly random doses, releases one differentially private policy, and compares it with
    uniform play, the best fixed dose and the formula itself. Writes a report with plots, for which
    matplotlib is needed: without it the table is printed all the same.
    """
    from tacit.demo import run_demo, write_picture, write_report
    from tacit.report.canvas import drawing

    if picture is not None:
        with drawing():  # fails before any work if there is nothing to draw with
            pass
    report: Path | None = to / "report.html"
    with progress(json) as show:
        result = run_demo(rounds=rounds, epsilon=epsilon, delta=delta, seed=seed, progress=show)
        result.policy.save(to / "policy")
        try:
            write_report(result, to / "report.html")
        except MissingExtraError as error:
            report = None
            why = str(error)
        if picture is not None:
            write_picture(result, picture)
    if json:
        shown = None if report is None else str(report)
        emit(result.to_json() | {"report": shown, "policy": str(to / "policy")})
        return
    rows = [
        ["uniformly random doses", f"{result.uniform.reward:.3f}", "what exploring earns"],
        ["best fixed dose", f"{result.best_fixed.reward:.3f}", "no personalisation"],
        [
            "[bold]private policy[/bold]",
            f"[bold]{result.private.reward:.3f}[/bold]",
            f"epsilon {epsilon:g}, delta {delta:g}",
        ],
        ["IWPC formula", f"{result.formula.reward:.3f}", "knows how the patients were simulated"],
    ]
    table(f"Mean reward on fresh patients after {rounds} rounds", ["policy", "reward", ""], rows)
    out.print(f"Guarantee: {result.policy.guarantee}")
    if report is None:
        out.print(f"Policy: {to / 'policy'}   ({result.seconds:.1f} s)")
        err.print(f"No report was written: {why}", highlight=False, markup=False, soft_wrap=True)
    else:
        out.print(f"Report: {report}   Policy: {to / 'policy'}   ({result.seconds:.1f} s)")
