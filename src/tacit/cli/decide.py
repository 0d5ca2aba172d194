"""`tacit decide`: contexts in, decisions out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, say_health
from tacit.cli.epoch_options import read_baseline
from tacit.cli.options import require_file
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.policy import Blend, Cautious, Policy


def decide(
    policy: Annotated[Path, typer.Argument(help="A policy folder, of any kind.")],
    contexts: Annotated[
        Path, typer.Argument(help="Contexts as CSV, Parquet or Arrow, one row each.")
    ],
    to: Annotated[
        Path | None, typer.Option("--out", help="A file to write; standard output (CSV) otherwise.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Fail at a value that cannot be read, instead of marking it."
        ),
    ] = False,
    cautious: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Keep to this action, dose=30, except where the policy is sure to be better; once "
            "for each column.",
        ),
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="How sure, with --cautious: 0.95 unless given.")
    ] = None,
    json: Json = False,
) -> None:
    """Decide for every row of a table: the action, its expected reward, and how sure the policy is.

    An expected reward is shown within the range of rewards. A policy that learned only advantages
    knows by how much an action is better than a random one, and the mean reward over everybody: the
    expected reward is both added up, and columns `advantage` and `advantage_std` show the first
    alone.

    A value that is missing, unknown, or outside its range by more than half the width of it cannot
    be read. Such a row is decided as if the value lay in the middle, or at the nearest end. Where
    there are such rows, and only then, a column `unread` names their columns, and standard error
    says how many there are. With --strict the first of them is an error, and nothing is decided.

    With --cautious dose=30 every row gets that action, except where the policy is at least --level
    sure that its own is better. A column `changed` says where, and standard error for how many.

    Deciding is free: the policy was paid for when it was released. A file that is there is
    replaced, but never the contexts themselves.
    """
    import numpy as np

    from tacit.logs import read_table, write_table
    from tacit.logs.small_tables import columns_of, format_of
    from tacit.policy import Cautious, load

    if to is not None:
        format_of(to)
        require_file(to, contexts)
    deciding = _careful(load(policy), cautious or [], level)
    chosen = _learned(deciding)
    say_health(chosen)
    table = read_table(contexts)
    unread = chosen.unread(table)
    decisions = deciding.decide(table, strict=strict)
    columns = {name: _plain(column) for name, column in columns_of(decisions).items()}
    low, high = chosen.problem.reward_range  # a Gaussian posterior knows no bounds, a reader does
    columns["expected_reward"] = np.clip(chosen.mean(decisions, table), low, high).tolist()
    columns["std"] = chosen.std(decisions, table).tolist()
    if chosen.problem.advantage:
        columns["advantage"] = chosen.advantage(decisions, table).tolist()
        columns["advantage_std"] = chosen.advantage_std(decisions, table).tolist()
    changed = deciding.changed(table).tolist() if isinstance(deciding, Cautious) else None
    if changed is not None:
        columns["changed"] = changed
    if any(unread):
        columns["unread"] = [", ".join(names) for names in unread]
    given = {name: cells for name, cells in columns_of(table).items() if name not in columns}
    answer = given | columns
    if to is not None:
        write_table(answer, to)
    if json:
        said = {
            "private": deciding.private,
            "verdict": chosen.health().verdict,
            "rows": len(unread),
            "rows_with_unread_values": sum(map(bool, unread)),
        }
        if changed is not None:
            said["rows_changed"] = sum(changed)
        rows = zip(*columns.values(), strict=True)
        emit(said | {"decisions": [dict(zip(columns, row, strict=True)) for row in rows]})
    elif to is not None:
        err.print(f"{len(unread)} decisions written to {to}")
    else:
        _print(answer)
    if isinstance(deciding, Cautious) and changed is not None:
        _say_changed(deciding, changed)
    if any(unread):
        _say_unread(unread)
    if not deciding.private:
        err.print("[bold red]This policy is NOT private: it was made with a seed.[/bold red]")


def _plain(column: Any) -> list[Any]:
    """Cells of Python's own types, whoever made the column."""
    return column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()


def _print(answer: dict[str, Any]) -> None:
    """As CSV, to standard output."""
    from tacit.arrow import csv, has_arrow, pa
    from tacit.logs.plain_csv import write_csv

    if has_arrow():
        csv.write_csv(pa.table(answer), sys.stdout.buffer)
    else:
        write_csv(answer, sys.stdout)


def _careful(
    loaded: Policy | Cautious | Blend, typed: Sequence[str], level: float | None
) -> Policy | Cautious | Blend:
    """The policy in the folder, or the cautious one that the options ask for."""
    from tacit.policy import Policy

    if not typed:
        if level is not None:
            raise InputError("--level goes with --cautious: say what to keep to, as in dose=30.")
        return loaded
    if not isinstance(loaded, Policy):
        raise InputError(
            f"--cautious takes the folder of a learned policy, got {loaded.description}: leave it "
            "out, or pass the folder of that policy."
        )
    action = read_baseline(typed, loaded.problem.actions, "--cautious")
    return loaded.cautious(action, 0.95 if level is None else level)


def _learned(deciding: Policy | Cautious | Blend) -> Policy:
    """The learned policy, which knows what rewards to expect."""
    from tacit.policy import Policy

    return deciding if isinstance(deciding, Policy) else deciding.policy


def _say_changed(policy: Cautious, changed: list[bool]) -> None:
    err.print(
        f"{sum(changed)} of {len(changed)} rows get another action than the baseline's, where the "
        f"policy is at least {100 * policy.level:g} % sure that it is better: see the column "
        "changed.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _say_unread(unread: list[list[str]]) -> None:
    rows = sum(map(bool, unread))
    names = sorted({name for each in unread for name in each})
    err.print(
        f"{rows} of {len(unread)} rows have values that could not be read, in {', '.join(names)}: "
        "see the column unread, or pass --strict to refuse them.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
