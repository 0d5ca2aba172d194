"""`tacit plan`: how good the policy will be, before any data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tacit.cli.console import Json, emit, err, out, progress, table
from tacit.cli.options import Delta, Epsilon, ProblemPath, Rank, chosen_budget, chosen_rounds
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.planning import ColumnWorth, EpochPlan, Forecast, Plan


def plan(
    problem: ProblemPath,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to collect; `horizon` of the file otherwise.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    target: Annotated[
        float | None,
        typer.Option(help="A target error: prints the rounds and epsilon it takes."),
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
    epochs: Annotated[
        str,
        typer.Option(
            help="How the rounds are divided into epochs: a number, sizes such as 1500,3000,6000, "
            'or "auto", which compares 1 to 6 epochs.'
        ),
    ] = "1",
    explore: Annotated[
        float,
        typer.Option(help="The share of uniform actions from the second epoch on."),
    ] = 0.05,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns", help="Say for each context column how likely it must matter to be asked."
        ),
    ] = False,
    detect: Annotated[
        float | None,
        typer.Option(
            help="A gain over a baseline, in units of reward: prints how many rounds of a "
            "validation epoch detect it, and nothing else."
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="How likely --detect is to detect that gain.")] = 0.8,
    reward_std: Annotated[
        float | None,
        typer.Option(
            help="For --detect: the standard deviation of rewards, in their units; half their "
            "range otherwise, the most that there can be."
        ),
    ] = None,
    reward_mean: Annotated[
        float | None, typer.Option(help="For --detect: their mean, if it is known.")
    ] = None,
    split: Annotated[
        float, typer.Option(help="For --detect: the share of the rounds that the policy plays.")
    ] = 0.5,
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

    A study in several epochs uses what it has learned while it learns: after each epoch the rounds
    are released, and the next epoch plays by the policy so far. Every person counts in one epoch,
    so each release spends the whole budget. --epochs forecasts for each epoch what its rounds lose
    against always taking the best action (regret), their mean reward, and the error of the policy
    that it ends with. More and smaller epochs lose less, until the first one is too small to learn
    from: --epochs auto finds out where that is.

        tacit plan problem.toml --rounds 30000 --epsilon 1 --epochs auto

    Is the policy better than what is done now? --detect says how many rounds `tacit study validate`
    takes to find out, and with --rounds how likely so many will.

        tacit plan problem.toml --epsilon 1 --detect 0.05 --reward-std 0.2 --rounds 2000

    The play is that of the file's `play` table. With a column of propensities the weights are those
    of the fit, and the log is taken to explore uniformly as rarely as they allow for.
    """
    from tacit.design import DesignOptions
    from tacit.design.weights import choose_max_weight
    from tacit.logs import read_problem
    from tacit.planning import ValidationPlan
    from tacit.planning import plan as make_plan

    spec = read_problem(problem)
    if detect is not None:
        budget = chosen_budget(spec, epsilon, delta)
        unit = "record" if spec.user is None else "user"
        rewards = (spec.problem.reward_range, reward_std, reward_mean)
        validation = ValidationPlan(budget, *rewards, split, unit)
        if json:
            emit(validation.to_json(detect, power, rounds))
        else:
            out.print(validation.explain(detect, power, rounds), soft_wrap=True)
        return
    horizon = chosen_rounds(spec, rounds)
    budget = chosen_budget(spec, epsilon, delta)
    options = DesignOptions(rank=rank, signal=signal, noise=noise)
    if spec.propensity is not None:
        weight = choose_max_weight(spec.problem, horizon, budget, options)
        options = replace(options, max_weight=weight)
    divided = _divided(epochs)
    if divided != 1:
        _require_alone(target, columns, figure)
        with progress(json) as show:
            in_epochs = make_plan(
                spec.problem,
                horizon=horizon,
                budget=budget,
                epochs=divided,
                explore=explore,
                lengthscales=lengthscales,
                options=options,
                progress=show,
            )
            found = in_epochs.to_json()
        if json:
            emit(found)
        else:
            _show_epochs(in_epochs)
        return
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


def _divided(epochs: str) -> int | list[int] | Literal["auto"]:
    """What `--epochs` says."""
    text = epochs.strip()
    if text == "auto":
        return "auto"
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--epochs must be a number of epochs, their sizes separated by commas, or auto, got "
            f"{epochs!r}."
        ) from None
    return sizes if len(sizes) > 1 else sizes[0]


def _require_alone(target: float | None, columns: bool, figure: Path | None) -> None:
    if target is not None or columns or figure is not None:
        raise InputError(
            "--target, --columns and --figure are for studies of one epoch: leave out --epochs to "
            "ask them."
        )


def _show_epochs(planned: EpochPlan) -> None:
    out.print(planned.explain(), soft_wrap=True)
    rows = [
        [
            f"epoch {epoch.number}",
            f"{epoch.rounds:,}",
            f"{epoch.regret:.3g}",
            f"{epoch.regret_share:.1%}",
            f"{epoch.mean_reward:.3g}",
            f"{epoch.error:.3g}",
            f"{epoch.error_share:.1%}",
        ]
        for epoch in planned.epochs
    ]
    table(
        "What each epoch costs and teaches; % of what uniform actions lose",
        ["", "rounds", "regret a round", "%", "mean reward", "error of its policy", "%"],
        rows,
    )
    if planned.compared:
        table(
            "Plans that were compared",
            ["sizes", "regret", "final error", ""],
            [
                [
                    ", ".join(f"{size:,}" for size in each.sizes),
                    f"{each.regret_share:.1%}",
                    f"{each.error_share:.2%}",
                    "" if each.allowed else "learns too little",
                ]
                for each in planned.compared
            ],
        )


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
