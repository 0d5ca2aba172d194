"""`tacit.evaluate`: named policies and logged rounds in, what the policies are worth out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from tacit.core import Budget, Ledger, Part, as_ledger, release_event
from tacit.domains import kind_of_column, require_numbers, require_types
from tacit.errors import EvaluationWarning, InputError
from tacit.evaluation import Evaluation, EvaluationDesign, EvaluationOptions, ScoreSum
from tacit.evaluation.candidates import as_candidates, find_problem, learned
from tacit.evaluation.people import held_out, require_others, told_people, warn_of_unknown
from tacit.logs.columns import LogColumns
from tacit.logs.log_files import LogFile, find_logs, kinds_in
from tacit.logs.parts import (
    Layout,
    layout_of,
    learning_part,
    open_accounts,
    rows_of_files,
    rows_of_table,
    table_layout,
)
from tacit.logs.reading import pieces
from tacit.logs.run_options import RunOptions
from tacit.logs.stated_play import state_play
from tacit.logs.table_columns import read_columns, rows_in
from tacit.play import Play
from tacit.problem import Problem

CUT_SHARE = 0.01  # of contexts whose weights may be cut without a warning


def evaluate(
    policies: Mapping[str, Any],
    data: Any,
    *,
    reward: str = "reward",
    play: Play | str | None = None,
    propensity: str | None = None,
    budget: Budget,
    ledger: Ledger | str,
    user: str | None = None,
    against: str | None = None,
    problem: Problem | None = None,
    options: EvaluationOptions | None = None,
    run: RunOptions | None = None,
) -> Evaluation:
    """SPENDS `budget` from `ledger`, and returns what policies earn, from rounds that were logged.

    | argument | what it is |
    |---|---|
    | `policies` | names, each with a policy, an action, a function of contexts, or "uniform" |
    | `data` | a table, or files, of rounds: as for `tacit.fit` |
    | `reward`, `play`, `propensity`, `user` | as for `tacit.fit` |
    | `ledger` | a ledger, or the URL of one, which is made with this budget if there is none |
    | `against` | the name of the baseline; the last of the policies otherwise |
    | `problem` | needed where none of the policies was learned |
    | `options`, `run` | how it is measured, and how it is run |

    All values and differences come from one release, with intervals that hold sampling noise and
    privacy noise. Blended and cautious policies are evaluated as what they are. The policies must
    not have been learned from the same people. Where they were fitted with `hold_out`, those held
    out are evaluated on, and pay from an account of their own. Where the ledger paid for a policy
    that was learned from everybody this is refused, and where nothing is known of it an
    `EvaluationWarning` says so.

    The same call on the same ledger returns what was released, free of charge: pass
    `RunOptions(request=...)` with a name of its own to spend on other data with as many rows.
    Functions are called with one context at a time.

    >>> found = tacit.evaluate(
    ...     {"learned": policy, "now": {"dose": 30}}, log, play="uniform", budget=budget,
    ...     ledger="sqlite:///others.db", options=tacit.EvaluationOptions(other_people=True),
    ... )
    >>> difference = found.differences["learned"]
    >>> difference.low < difference.value < difference.high
    True
    """
    run = run or RunOptions()
    found = find_problem(policies, problem)
    if play != "problem":
        found = replace(found, play=None)  # policies may have been learned from another log
    stated = state_play(found, play, propensity)
    names = (*stated.actions.names, *stated.contexts.names)
    columns = LogColumns.of(names, reward, user, run.columns, propensity)
    asked = _Asked(stated, policies, against, columns, budget, options or EvaluationOptions(), run)
    log = _log(asked, data)
    account = as_ledger(ledger, budget)
    evaluation = _release(asked, log, account)
    _warn(evaluation)
    return evaluation


@dataclass(frozen=True)
class _Asked:
    """What is to be evaluated. All of it is public."""

    problem: Problem
    policies: Mapping[str, Any]
    against: str | None
    columns: LogColumns
    budget: Budget
    options: EvaluationOptions
    run: RunOptions

    @property
    def unit(self) -> str:
        return "record" if self.columns.user is None else "user"

    def require_types(self, kinds: Mapping[str, str], what: str) -> None:
        """Fails if a column cannot hold what the problem declares, by the kind of its type."""
        called = self.columns.called
        require_types(self.problem.actions, kinds, what, called)
        require_types(self.problem.contexts, kinds, what, called)
        for name in (self.columns.reward, self.columns.propensity):
            if name is not None:
                require_numbers(kinds[name], called[name], what)


@dataclass(frozen=True)
class _Log:
    """Rounds, wherever they are: how many, in which layout, and how they are added to a sum."""

    rows: int
    layout: Layout
    rows_of: Callable[[Part], int]
    add_to: Callable[[ScoreSum], None]


def _release(asked: _Asked, log: _Log, ledger: Ledger) -> Evaluation:
    """Nothing private is read before the ledger has room."""
    policies = learned(asked.policies)
    part = held_out(
        policies,
        ledger,
        lambda share, unit: learning_part(share, unit, log.layout).other,
        asked.unit,
    )
    records = log.rows
    cohort = None
    if part is None:
        require_others(policies, ledger)
    else:
        open_accounts(ledger, part)
        records = log.rows_of(part)
        cohort = part.cohort
        if not records:
            raise InputError("nobody of this log was held out: there is nobody to evaluate on.")
    people = told_people(policies, part, asked.options.other_people)
    warn_of_unknown(people, stacklevel=3)
    design = EvaluationDesign.build(
        asked.problem,
        as_candidates(asked.policies, asked.problem),
        records=records,
        budget=asked.budget,
        against=asked.against,
        options=asked.options,
        unit=asked.unit,
        propensity=asked.columns.propensity is not None,
    )
    request = asked.run.request or f"evaluate-{design.fingerprint}"
    if ledger.receipt(request) is None:
        measure = ledger.account(cohort).measure
        ledger.require_room(release_event(design.encoding, asked.budget, measure), cohort=cohort)
    total = ScoreSum(design, cohort)
    log.add_to(total)
    return total.release(ledger, request, {"people": people, "rows": log.rows})


def _warn(found: Evaluation) -> None:
    if max(found.facts["cut"]) > CUT_SHARE:
        warnings.warn(
            "the log hardly ever plays what a policy would do in some contexts, whose weights are "
            "cut there: values rest on the learned prediction for "
            f"{100 * max(found.facts['cut']):.0f} % of contexts; widen the window, or raise "
            "EvaluationOptions(max_weight=...).",
            EvaluationWarning,
            stacklevel=3,
        )


# -- tables and files -----------------------------------------------------------------------------


def _log(asked: _Asked, data: Any) -> _Log:
    _require_here(asked.run)
    if isinstance(data, str | PathLike):
        data = [data]
    if isinstance(data, list | tuple):
        return _file_log(asked, data)
    return _table_log(asked, data)


def _require_here(run: RunOptions) -> None:
    if run.engine != "local" or run.checkpoint is not None:
        raise InputError(
            "an evaluation reads its data once, in this process: leave out the checkpoint and the "
            "engine ray."
        )


def _table_log(asked: _Asked, data: Any) -> _Log:
    asked.problem.require_apart(data, data)
    columns = asked.columns
    table = read_columns(data, columns)
    rows = rows_in(table)
    kinds = {name: kind_of_column(column) for name, column in table.items()}
    asked.require_types(kinds, "the data")
    users = None if columns.user is None else table[columns.user]

    def add_to(total: ScoreSum) -> None:
        total.add(
            table,
            table[columns.reward],
            propensity=None if columns.propensity is None else table[columns.propensity],
            users=users,
        )
        asked.run.progress("reading rounds", rows, rows)

    return _Log(rows, table_layout(rows), lambda part: rows_of_table(part, rows, users), add_to)


def _file_log(asked: _Asked, data: Sequence[Any]) -> _Log:
    if not data or not all(isinstance(path, str | PathLike) for path in data):
        raise InputError(
            "a list must hold paths and patterns of files: pass rows as a table, or as a dict of "
            "columns."
        )
    columns = asked.columns
    files = []
    for path in find_logs([os.fspath(path) for path in data]):
        asked.require_types(kinds_in(path, columns), str(path))
        files.append(LogFile.at(path, columns))
    rows = sum(file.rows for file in files)
    if not rows:
        raise InputError("the data has no rows: there is nothing to evaluate on.")

    def add_to(total: ScoreSum) -> None:
        done = 0
        for file in files:
            if file.rows:
                for piece in pieces(file.path, columns, 0, file.rows):
                    _add_piece(total, columns, columns.cells(piece), done)
                    done += piece.num_rows
                    asked.run.progress("reading rounds", done, rows)
            file.require_unchanged()

    counted = lambda part: rows_of_files(part, files, columns)  # noqa: E731
    return _Log(rows, layout_of(files), counted, add_to)


def _add_piece(total: ScoreSum, columns: LogColumns, cells: Mapping[str, Any], first: int) -> None:
    total.add(
        cells,
        cells[columns.reward],
        propensity=None if columns.propensity is None else cells[columns.propensity],
        users=None if columns.user is None else cells[columns.user],
        first=first,
    )
