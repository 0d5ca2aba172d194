"""`tacit evaluate`: what a policy is worth, from rounds that were logged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress
from tacit.cli.fit import beside, mapping, read_policy, require_first_ledger
from tacit.cli.options import require_file, save_released
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.evaluation import Evaluation
    from tacit.logs import ProblemFile
    from tacit.problem import Problem


def evaluate(
    policy: Annotated[Path, typer.Argument(help="A policy folder, of any kind.")],
    data: Annotated[
        list[str],
        typer.Argument(help="Parquet, Arrow or CSV files, or patterns: 'logs/*.parquet'."),
    ],
    against: Annotated[
        list[str],
        typer.Option(
            metavar="ACTION|FOLDER",
            help="The baseline: an action, dose=30 (dose=30,days=7), the folder of a policy, or "
            "uniform; further ones are evaluated, too.",
        ),
    ],
    problem: Annotated[
        Path | None,
        typer.Option(help="The problem file, for its play, columns, reward and user."),
    ] = None,
    play: Annotated[
        str | None,
        typer.Option(help="How actions were chosen: uniform. Other laws stand in --problem."),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(help="Instead: a column with the propensity of the action that was played."),
    ] = None,
    reward: Annotated[str | None, typer.Option(help="The column of rewards.")] = None,
    user: Annotated[
        str | None, typer.Option(help="A column of user ids: protect and count whole users.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COLUMN", help="What the files call a column: dose=amount_mg."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Compare subgroups, too: a context column, gene, or with cuts age:40,60"),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget; what the policy was learned with otherwise"),
    ] = None,
    delta: Annotated[float, typer.Option(help="Goes with --epsilon.")] = 1e-6,
    window: Annotated[
        float | None,
        typer.Option(help="The width of windows, as a share of the range; chosen otherwise."),
    ] = None,
    level: Annotated[float, typer.Option(help="How often intervals hold the truth.")] = 0.95,
    other_people: Annotated[
        bool,
        typer.Option(
            "--other-people", help="State that nobody of these files was used to learn the policy."
        ),
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(help="The database that keeps the budget; beside the data by default."),
    ] = None,
    new_ledger: Annotated[
        bool,
        typer.Option("--new-ledger", help="Open a second budget for files that have one."),
    ] = False,
    request: Annotated[
        str | None,
        typer.Option(help="A name for this release: the same name returns it, free of charge."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="A JSON file to write the evaluation to.")
    ] = None,
    attach: Annotated[
        bool,
        typer.Option("--attach", help="Keep it in the policy's folder: its report leads with it."),
    ] = False,
    json: Json = False,
) -> None:
    """Measure what a policy is worth: is it better than what is done now, and how sure is that?

    From rounds whose actions were chosen at random, by a law that is known, one release tells the
    mean reward of the policy, that of every --against, and their differences, each with an interval
    that holds sampling noise and privacy noise.

    The people must not be those that the policy was learned from. After `tacit fit --hold-out 0.2`
    those held out are evaluated on, from the same files, and pay with a budget of their own:

        tacit evaluate policy/ log.parquet --against dose=30 --play uniform

    Where the ledger paid for the policy with the budget of everybody this is refused. Where nothing
    is known of it, you are warned; --other-people states that they are others.

    With --by gene, or --by age:40,60, the same is reported for each subgroup, with wider intervals.

    Files may be of any size: they are read once, in this process. There are no checkpoints, and no
    clusters. The same command again returns what was released, and spends nothing.
    """
    import warnings

    from tacit.core import Ledger
    from tacit.errors import EvaluationWarning
    from tacit.evaluating import evaluate as measure
    from tacit.evaluation import EvaluationOptions
    from tacit.logs import RunOptions, find_logs, read_problem
    from tacit.logs.stated_play import one_statement
    from tacit.policy import Policy, load

    if to is not None:
        require_file(to)
    loaded = load(policy)
    if attach and not isinstance(loaded, Policy):
        raise InputError("--attach is for the folder of a learned policy: write to --out instead.")
    spec = None if problem is None else read_problem(problem)
    said = (None, None) if spec is None else (spec.play, spec.propensity)
    played, propensity = one_statement(play, propensity, said)
    paths = find_logs(data)
    url = ledger or beside(paths)
    require_first_ledger(url, paths, new_ledger)
    budget = _budget(loaded, epsilon, delta)
    policies = {"policy": loaded} | _baselines(against, loaded.problem)
    columns = {} if spec is None else dict(spec.columns)
    options = EvaluationOptions(window=window, level=level, by=_by(by), other_people=other_people)
    with progress(json, rate="rows") as show, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", EvaluationWarning)
        account = Ledger.at(url, budget)
        found = measure(
            policies,
            list(data),
            reward=_column(reward, spec, "reward") or "reward",
            play=played,
            propensity=propensity,
            budget=budget,
            ledger=account,
            user=_column(user, spec, "user"),
            against=list(policies)[1],
            problem=None if spec is None else spec.problem,
            options=options,
            run=RunOptions(request=request, columns=columns | mapping(column or []), progress=show),
        )
    if to is not None:
        found.save(to)
    if attach:
        assert isinstance(loaded, Policy)
        save_released(found.attached_to(loaded), policy)
    _say(found, account.shown_url, [str(warning.message) for warning in told], json)


def _say(found: Evaluation, ledger: str, told: list[str], json: bool) -> None:
    for sentence in told:
        err.print(f"Warning: {sentence}", style="yellow", markup=False, soft_wrap=True)
    if json:
        emit(found.to_json() | {"warnings": told, "ledger": ledger})
        return
    out.print(str(found), highlight=False, markup=False, soft_wrap=True)
    out.print(f"Guarantee: {found.guarantee}", markup=False, soft_wrap=True)
    err.print(f"Budget kept in {ledger}")


def _budget(loaded: Any, epsilon: float | None, delta: float) -> Budget:
    from tacit.core import Budget

    if epsilon is not None:
        return Budget(epsilon=epsilon, delta=delta)
    facts = getattr(loaded, "policy", loaded).facts.get("budget")
    if facts is None:
        raise InputError("no budget: pass --epsilon 1 --delta 1e-6.")
    return Budget(**facts)


def _baselines(typed: list[str], problem: Problem) -> dict[str, Any]:
    """What the policy is compared with, by the names that were typed."""
    found: dict[str, Any] = {}
    for each in typed:
        if each in found or each == "policy":
            raise InputError(f"--against {each} is given twice, or is a name that is taken.")
        found[each] = read_policy(each, problem)
    return found


def _column(typed: str | None, spec: ProblemFile | None, name: str) -> str | None:
    return typed or (None if spec is None else getattr(spec, name))


def _by(typed: str | None) -> Any:
    """A column, or COLUMN:CUT,CUT."""
    if typed is None or ":" not in typed:
        return typed
    column, _, cuts = typed.rpartition(":")
    try:
        return {column: [float(cut) for cut in cuts.split(",")]}
    except ValueError:
        raise InputError(f"--by takes a column, or cuts as in age:40,60, got {typed!r}.") from None
