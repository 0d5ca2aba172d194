"""`tacit decide`: contexts in, decisions out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err, say_health


def decide(
    policy: Annotated[Path, typer.Argument(help="A policy folder.")],
    contexts: Annotated[
        Path, typer.Argument(help="Contexts as CSV, Parquet or Arrow, one row each.")
    ],
    to: Annotated[
        Path | None, typer.Option("--out", help="A file to write; standard output (CSV) otherwise.")
    ] = None,
    json: Json = False,
) -> None:
    """Decide for every row of a table: the action, its expected reward, and how sure the policy is.

    An expected reward is shown within the range of rewards; of a policy that learned advantages it
    is the advantage over a random action.

    Deciding is free: the policy was paid for when it was released.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    from tacit.logs import read_table, write_table
    from tacit.policy import Policy

    chosen = Policy.load(policy)
    say_health(chosen)
    table = read_table(contexts)
    decisions = chosen.decide(table)
    columns = {name: decisions[name] for name in decisions.column_names}
    expected = chosen.mean(decisions, table)
    if not chosen.problem.advantage:  # a Gaussian posterior knows no bounds, but a reader does
        low, high = chosen.problem.reward_range
        expected = np.clip(expected, low, high)
    columns["expected_reward"] = pa.array(expected)
    columns["std"] = pa.array(chosen.std(decisions, table))
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
                "decisions": answer.select(list(columns)).to_pylist(),
            }
        )
    elif to is not None:
        err.print(f"{answer.num_rows} decisions written to {to}")
    else:
        arrow_csv.write_csv(answer, sys.stdout.buffer)
    if not chosen.private:
        err.print("[bold red]This policy is NOT private: it was made with a seed.[/bold red]")
