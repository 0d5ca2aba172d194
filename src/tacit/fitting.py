"""`tacit.fit`: logged rounds in, one private policy out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

from tacit.core import Budget, Ledger, as_ledger
from tacit.design import Design, DesignOptions
from tacit.domains import kind_of_column
from tacit.errors import InputError
from tacit.evaluating import evaluate
from tacit.evaluation.candidates import as_candidates, find_problem
from tacit.logs.columns import LogColumns
from tacit.logs.file_fit import FileFit
from tacit.logs.job import Job
from tacit.logs.log_files import find_logs
from tacit.logs.parts import open_accounts, rows_of_table, table_layout
from tacit.logs.run_options import RunOptions
from tacit.logs.stated_play import state_play
from tacit.logs.table_columns import read_columns, rows_in
from tacit.passes import release_on, release_passes, require_room
from tacit.play import Play
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.statistic import Statistic


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
    against: Any = None,
    options: DesignOptions | None = None,
    run: RunOptions | None = None,
) -> Policy:
    """SPENDS `budget` from `ledger`, and returns a policy learned from rounds that were logged.

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
    | `against` | with `hold_out`: a baseline to evaluate the policy against, on those held out |
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
    people, so the ledger gives each part the whole budget, and what the policy is worth can be
    released later, by `tacit.evaluate`, or at once: with `against={"dose": 30}` (an action, a
    policy, or a function of contexts) it is evaluated on them, with the same budget, and
    `policy.facts["evaluation"]` says by how much it is better. Who is in which part stands in
    `policy.facts["hold_out"]`: the files must stay the same, in the same order, and a ledger that
    is divided in this way stays so.

    Warns with a `PolicyWarning` if the released numbers say that the policy is not worth using: see
    `Policy.health`.

    >>> policy = tacit.fit(
    ...     problem, log, play="uniform", budget=tacit.Budget(1.0, 1e-6), ledger="sqlite:///study.db"
    ... )
    >>> policy.private, policy.facts["records"]
    (True, 2000)
    """
    _require_hold_out(hold_out, against)
    problem = state_play(problem, play, propensity)
    if against is not None:  # before anything is spent
        baseline = {"baseline": against}
        as_candidates(baseline, find_problem(baseline, problem))
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
    if against is not None:
        policy = evaluate_held_out(policy, against, data, job, ledger)
    policy.warn_if_bad(stacklevel=2)
    return policy


def _require_hold_out(hold_out: float | None, against: Any) -> None:
    if against is not None and hold_out is None:
        raise InputError(
            "against needs people to evaluate on that the policy is not learned from: pass "
            "hold_out=0.2, too."
        )


def evaluate_held_out(
    policy: Policy, against: Any, data: Any, job: Job, ledger: Ledger | str
) -> Policy:
    """The policy, with what it is worth to those held out among its facts."""
    played = None if job.columns.propensity else "uniform" if job.problem.law is None else "problem"
    found = evaluate(
        {"learned": policy, "baseline": against},
        data,
        reward=job.columns.reward,
        play=played,
        propensity=job.columns.propensity,
        budget=job.budget,
        ledger=ledger,
        user=job.columns.user,
        problem=job.problem,
        run=RunOptions(columns=job.run.columns, progress=job.run.progress),
    )
    return found.attached_to(policy)


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
