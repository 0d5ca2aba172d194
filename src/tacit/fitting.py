"""`tacit.fit`: logged rounds in, one private policy out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from tacit.core import Budget, Ledger, as_ledger
from tacit.design import Design, DesignOptions
from tacit.domains import kind_of_column
from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.logs.file_fit import FileFit
from tacit.logs.job import Job
from tacit.logs.log_files import find_logs
from tacit.logs.parts import open_accounts, rows_of_table, table_layout
from tacit.logs.run_options import RunOptions
from tacit.logs.stated_play import state_play
from tacit.passes import release_on, release_passes, require_room
from tacit.play import Play
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.quiet import quiet
from tacit.statistic import Statistic
from tacit.tables import is_column


def fit(
    problem: Problem,
    data: Any,
    *,
    reward: str = "reward",
    play: Play | str | None = None,
    propensity: str | None = None,
    budget: Budget,
    ledger: Ledger | str,
    user: str | None = None,
    passes: int = 2,
    hold_out: float | None = None,
    options: DesignOptions | None = None,
    run: RunOptions | None = None,
) -> Policy:
    """SPENDS `budget` from `ledger`, and returns a policy learned from rounds that were logged.

    policy = tacit.fit(
        problem, log, play="uniform", budget=tacit.Budget(1.0, 1e-6), ledger="sqlite:///study.db"
    )

    | argument | what it is |
    |---|---|
    | `data` | a table (pandas, polars, Arrow, a dict of columns), or files (see below) |
    | `reward` | the column of rewards; actions and contexts have the names of the problem |
    | `play` | how actions were chosen: "uniform", a law (see `tacit.play`), or "problem" |
    | `propensity` | instead of `play`: the column of propensities of the actions played |
    | `ledger` | a ledger, or the URL of one, which is made with this budget if there is none |
    | `user` | the column of user ids: protects all rounds of a user together |
    | `passes` | how often the data is read; two are more accurate at the same budget than one |
    | `hold_out` | the share of people to keep apart, up to 0.5, who validate the policy later |
    | `options`, `run` | how the design is built, and how the fit is run |

    How actions were chosen cannot be seen in a log, so it has to be said. "uniform" means that each
    was drawn uniformly at random from all actions; "problem" that they were played as
    `Problem(play=...)` states. A propensity is the probability of the action that was played, given
    its context, where actions are finite, and its density in the units of the data where they are
    not. Rounds then count with the weight `uniform density / propensity`, at most `max_weight`
    (chosen by predicted accuracy unless `options` have one). What was said stands in
    `policy.facts["play"]`.

    Files are a path, or a list of paths and patterns such as "logs/*.parquet", of Parquet, Arrow or
    CSV; they may be larger than memory. One row is one round. How many rows there are is public,
    and so are the names of columns; other columns are not read. A cell that is missing or makes no
    sense adds nothing, and raises nothing.

    The coins of the design follow from the problem unless `options` have a seed. So the same call
    on the same ledger returns the policy that was released, free of charge and never drawn again.
    That is so for other data with as many rows, too: pass `RunOptions(request=...)` with a name of
    its own to spend on it.

    With `hold_out=0.2` a fifth of the rounds, or of the users, is kept apart by a public hash of
    row numbers, or of user ids, and the policy is learned from the others. They are different
    people, so the ledger gives each part the whole budget, and what they are worth can be released
    later. Who is in which part stands in `policy.facts["hold_out"]`: the files must stay the same,
    in the same order, and a ledger that is divided in this way stays so.

    Warns with a `PolicyWarning` if the released numbers say that the policy is not worth using: see
    `Policy.health`.
    """
    problem = state_play(problem, play, propensity)
    run = run or RunOptions()
    names = (*problem.actions.names, *problem.contexts.names)
    columns = LogColumns.of(names, reward, user, run.columns, propensity)
    options = options or DesignOptions()
    job = Job(problem, columns, budget, passes, options, run, hold_out=hold_out)
    if isinstance(data, str | PathLike):
        data = [data]
    if isinstance(data, list | tuple):
        policy = _fit_files(job, data, ledger)
    else:
        policy = _fit_table(job, data, ledger)
    policy.warn_if_bad(stacklevel=2)
    return policy


def _fit_files(job: Job, data: Sequence[Any], ledger: Ledger | str) -> Policy:
    if not all(isinstance(path, str | PathLike) for path in data):
        raise InputError(
            "a list must hold paths and patterns of files: pass rows as a table, or as a dict of "
            "columns."
        )
    if not data:
        raise InputError("the list of data names no file: there is nothing to learn from.")
    fit = FileFit(job, find_logs([os.fspath(path) for path in data]))
    policy = fit.release(ledger)
    fit.checkpoint.forget()
    return policy


def _fit_table(job: Job, data: Any, ledger: Ledger | str) -> Policy:
    """Private cells are read by `Statistic.add` and nobody else, after the ledger has room."""
    job.run.require_table()
    job.problem.require_apart(data, data)
    table = read_columns(data, job.columns)
    rows = rows_in(table)
    kinds = {name: kind_of_column(column) for name, column in table.items()}
    job.require_types(kinds, "the data")
    users = None if job.columns.user is None else table[job.columns.user]
    part = job.part(table_layout(rows))
    learned = rows if part is None else rows_of_table(part, rows, users)
    design = job.design(rows, part, learned)
    request = job.request(design)
    account = as_ledger(ledger, job.budget)
    if part is not None:
        open_accounts(account, part)
    require_room(account, design, request, design.cohort)

    def collect(design: Design) -> Statistic:
        columns = job.columns
        propensity = None if columns.propensity is None else table[columns.propensity]
        rewards = table[columns.reward]
        return design.statistic(job.device, design.cohort).add(
            table,
            table,
            rewards,
            propensity=propensity,
            users=users,
            first=0,
            progress=job.run.progress,
        )

    policy = release_passes(design, collect, release_on(account, request), job.next_design)
    return job.described(policy)


# -- tables in memory -----------------------------------------------------------------------------


def read_columns(data: Any, columns: LogColumns) -> dict[str, Any]:
    """The columns of a table under the problem's own names, as they are: no cell is read."""
    if isinstance(data, Mapping):
        _require_names(list(data), columns)
        return {name: data[column] for name, column in columns.called.items()}
    try:
        with quiet():
            frame = nw.from_native(data, eager_only=True)
    except DuplicateError:
        raise InputError("the data has two columns of one name: rename or drop one.") from None
    except TypeError:
        raise InputError(
            "data must be a pandas, polars or Arrow table, a dict of columns, a path or a list of "
            f"paths, got {type(data).__name__}."
        ) from None
    _require_names(frame.columns, columns)
    return {name: frame.get_column(column).to_native() for name, column in columns.called.items()}


def _require_names(have: Sequence[Any], columns: LogColumns) -> None:
    for name, column in columns.called.items():
        if column not in have:
            raise InputError(
                f"the data has no column {column!r}: it has {', '.join(map(str, have))}; say which "
                f"one it is by RunOptions(columns={{{name!r}: ...}})."
            )


def rows_in(table: Mapping[str, Any]) -> int:
    """How many rows there are: the same number in every column, and not none."""
    for name, column in table.items():
        if not is_column(column):
            raise InputError(
                f"column {name!r} of the data must be an array or a list with one entry for every "
                f"round, got {type(column).__name__}."
            )
    lengths = sorted({len(column) for column in table.values()})
    if len(lengths) > 1:
        raise InputError(f"the columns of the data must have one length, got lengths {lengths}.")
    if not lengths[0]:
        raise InputError("the data has no rows: there is nothing to learn from.")
    return lengths[0]
