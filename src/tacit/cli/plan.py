"""`tacit plan`: how good the policy will be, before any data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.console import Json, emit, err, out, progress, table
from tacit.cli.options import Delta, Epsilon, ProblemPath, Rank, chosen_budget, chosen_rounds
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.planning import ColumnWorth, Forecast, Plan


def plan(
    problem: ProblemPath,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to collect; `horizon` of the file otherwise.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    target: Annotated[
        float | None,
        typer.Option(help="An error to reach: prints the rounds and epsilon it takes."),
    ] = None,
    signal: Annotated[
        float,
        typer.Option(help="How much the expected reward varies, as a share of half its range."),
    ] = 0.3,
    noise: Annotated[
        float, typer.Option(help="How much a reward varies around that, likewise.")
    ] = 0.3,
    lengthscales: Annotated[
        tuple[float, float] | None,
        typer.Option(help="The range in which the true lengthscales may lie."),
    ] = None,
    rank: Rank = None,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            help="How many releases will be made of the same records; two are more accurate.",
        ),
    ] = 2,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns", help="Say for each context column how likely it must matter to be asked."
        ),
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the trade-off: a PNG, SVG or HTML file.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the error of a study before it is run: how many rounds, how much privacy, how good a
    policy.

    The error is the reward lost per decision against always taking the best action. It is predicted
    by drawing reward functions from the kernel and released numbers from their law. Planning needs
    no data and costs no budget.

    The play is that of the [play] table. With a column of propensities the weights are those of the
    fit, and the log is taken to explore uniformly as rarely as they allow for.
    """
    from tacit.design import DesignOptions
    from tacit.design.weights import choose_max_weight
    from tacit.logs import read_problem
    from tacit.planning import plan as make_plan

    spec = read_problem(problem)
    horizon = chosen_rounds(spec, rounds)
    budget = chosen_budget(spec, epsilon, delta)
    options = DesignOptions(rank=rank, signal=signal, noise=noise)
    if spec.propensity is not None:
        weight = choose_max_weight(spec.problem, horizon, budget, options)
        options = replace(options, max_weight=weight)
    with progress(json) as show:
        planned = make_plan(
            spec.problem,
            horizon=horizon,
            budget=budget,
            lengthscales=lengthscales,
            passes=passes,
            options=options,
            progress=show,
        )
        forecast = planned.forecast
        answers = _answers(planned, target)
        worths = planned.columns() if columns else []
        if figure is not None:
            from tacit.planning.figure import draw

            draw(planned, figure)
    if json:
        found = forecast.to_json() | answers
        if columns:
            found["columns"] = [worth.to_json() for worth in worths]
        emit(found)
        return
    out.print(planned.explain(), soft_wrap=True)
    for question, answer in answers.items():
        out.print(f"{question.replace('_', ' ')}: [bold]{answer}[/bold]", soft_wrap=True)
    with progress(json):
        _what_if(planned, forecast)
    if columns:
        _show_columns(worths)
    if figure is not None:
        err.print(f"Figure: {figure}")


def _answers(planned: Plan, target: float | None) -> dict[str, object]:
    """The two inverse questions, each with its number or with why there is none."""
    if target is None:
        return {}
    found: dict[str, object] = {"target_error": target}
    for name, ask in (
        ("rounds_for_target", planned.rounds_for),
        ("epsilon_for_target", planned.epsilon_for),
    ):
        try:
            found[name] = ask(target)
        except InputError as error:
            found[name] = str(error)
    return found


def _what_if(planned: Plan, forecast: Forecast) -> None:
    rounds = [max(1, round(forecast.rounds * factor)) for factor in (0.3, 1, 3, 10)]
    epsilons = [0.3, 1.0, 3.0]
    found = {(f.rounds, f.epsilon): f.expected_error for f in planned.curve(rounds, epsilons)}
    rows = [[f"{t:,} rounds", *(f"{found[t, e]:.3g}" for e in epsilons)] for t in rounds]
    table("Expected error, what if", ["", *(f"epsilon {e:g}" for e in epsilons)], rows)


def _show_columns(worths: list[ColumnWorth]) -> None:
    rows = []
    for worth in worths:
        gain = f"{worth.gain:.2g} ± {worth.gain_error:.1g}"
        cost = f"{worth.cost:.2g} ± {worth.cost_error:.1g}"
        rows.append([worth.column, worth.kind, gain, cost, worth.verdict])
    table(
        "Which columns are worth asking? Reward per decision",
        ["column", "kind", "gained if it matters", "lost if it does not", "ask"],
        rows,
    )
