"""`tacit decide`: contexts in, decisions out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err, say_health
from tacit.cli.options import require_file


def decide(
    policy: Annotated[Path, typer.Argument(help="A policy folder.")],
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

    Deciding is free: the policy was paid for when it was released. A file that is there is
    replaced, but never the contexts themselves.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    from tacit.logs import read_table, write_table
    from tacit.logs.small_tables import format_of
    from tacit.policy import Policy

    if to is not None:
        format_of(to)
        require_file(to, contexts)
    chosen = Policy.load(policy)
    say_health(chosen)
    table = read_table(contexts)
    unread = chosen.unread(table)
    decisions = chosen.decide(table, strict=strict)
    columns = {name: decisions[name] for name in decisions.column_names}
    low, high = chosen.problem.reward_range  # a Gaussian posterior knows no bounds, a reader does
    columns["expected_reward"] = pa.array(np.clip(chosen.mean(decisions, table), low, high))
    columns["std"] = pa.array(chosen.std(decisions, table))
    if chosen.problem.advantage:
        columns["advantage"] = pa.array(chosen.advantage(decisions, table))
        columns["advantage_std"] = pa.array(chosen.advantage_std(decisions, table))
    if any(unread):
        columns["unread"] = pa.array([", ".join(names) for names in unread])
    answer = pa.table(
        {name: table[name] for name in table.column_names if name not in columns} | columns
    )
    if to is not None:
        write_table(answer, to)
    if json:
        emit(
            {
                "private": chosen.private,
                "verdict": chosen.health().verdict,
                "rows": answer.num_rows,
                "rows_with_unread_values": sum(map(bool, unread)),
                "decisions": answer.select(list(columns)).to_pylist(),
            }
        )
    elif to is not None:
        err.print(f"{answer.num_rows} decisions written to {to}")
    else:
        arrow_csv.write_csv(answer, sys.stdout.buffer)
    if any(unread):
        _say_unread(unread)
    if not chosen.private:
        err.print("[bold red]This policy is NOT private: it was made with a seed.[/bold red]")


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
