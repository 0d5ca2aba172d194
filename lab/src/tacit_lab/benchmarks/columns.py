"""How much longer a fit and a decision take with fifty columns than with five, in one run.

    python -m tacit_lab.benchmarks.columns [--rounds 10000] [--repeats 1] [--json]

`make bench` runs it. Fifty context columns are compared with five, and a catalogue whose items have
fifty features with one whose items have five. Both are fitted by `tacit.fit` with everything at its
default and a real ledger, and both are timed in processor seconds of the same process, one after
the other. The command fails if fifty columns take more than twice as long as five. `--rounds
100000` and `--rounds 1000000` measure larger logs; a million records of fifty columns need some
gigabytes of memory.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tacit
from tacit_lab.benchmarks.pages import print_table, put_table

FEW = 5
MANY = 50
LIMIT = 2.0  # times as long as with few columns
BUDGET = tacit.Budget(epsilon=1.0, delta=1e-6)
ITEMS = 100  # of a catalogue
DECISIONS = 10_000
HEADER = ["", "columns", "rounds", "rank", "fit, s", "times as long", "decisions a second"]
HEADER += ["times as long a decision"]


@dataclass(frozen=True)
class Measured:
    """Processor seconds of one fit, and of one decision with the policy that it made."""

    columns: int
    rounds: int
    rank: int
    fit: float
    decision: float


@dataclass(frozen=True)
class Result:
    """The same with few columns and with many."""

    name: str
    few: Measured
    many: Measured

    @property
    def fit_ratio(self) -> float:
        return self.many.fit / self.few.fit

    @property
    def decision_ratio(self) -> float:
        return self.many.decision / self.few.decision

    @property
    def holds(self) -> bool:
        return self.fit_ratio <= LIMIT and self.decision_ratio <= LIMIT

    def to_json(self) -> dict[str, Any]:
        ratios = {"fit_ratio": self.fit_ratio, "decision_ratio": self.decision_ratio}
        return asdict(self) | ratios | {"holds": self.holds}


def wide_contexts(columns: int) -> tacit.Problem:
    """One number to choose, and so many context columns."""
    return tacit.Problem(tacit.Box.of(x=(0.0, 1.0)), _box(columns))


def wide_items(columns: int) -> tacit.Problem:
    """Items with so many features, and few context columns."""
    features = np.random.default_rng(0).random((ITEMS, columns))
    return tacit.Problem(tacit.Catalogue(features), _box(FEW))


KINDS: dict[str, Callable[[int], tacit.Problem]] = {
    "context columns": wide_contexts,
    "features of an item": wide_items,
}


def measure(problem: tacit.Problem, columns: int, rounds: int, **fit: Any) -> Measured:
    """Fits a log of uniform play and decides; `fit` are further arguments of `tacit.fit`."""
    rng = np.random.default_rng(1)
    log = _log(problem, rounds, rng)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.PolicyWarning)  # of no interest to a clock
        ledger = f"sqlite:///{Path(folder) / 'ledger.db'}"
        started = time.process_time()
        policy = tacit.fit(problem, log, play="uniform", budget=BUDGET, ledger=ledger, **fit)
        spent = time.process_time() - started
    C = problem.contexts.sample_points(DECISIONS, rng)
    policy.decide_points(C[:1])  # what is made once is made
    started = time.process_time()
    policy.decide_points(C)
    decision = (time.process_time() - started) / DECISIONS
    return Measured(columns, rounds, policy.posterior.rank, spent, decision)


def compare(name: str, rounds: int, repeats: int = 1, **fit: Any) -> Result:
    """Few columns and many by turns; the quickest of each counts, since machines are shared."""
    few = []
    many = []
    for _ in range(repeats):
        few.append(measure(KINDS[name](FEW), FEW, rounds, **fit))
        many.append(measure(KINDS[name](MANY), MANY, rounds, **fit))
    return Result(name, _quickest(few), _quickest(many))


def cells(result: Result) -> list[list[str]]:
    """A line for few columns, and one for many with both ratios."""
    few, many = (
        [
            result.name,
            str(each.columns),
            f"{each.rounds:,}",
            str(each.rank),
            f"{each.fit:.1f}",
            "",
            f"{1.0 / each.decision:,.0f}",
            "",
        ]
        for each in (result.few, result.many)
    )
    many[5] = _marked(result.fit_ratio)
    many[7] = _marked(result.decision_ratio)
    return [few, many]


def _marked(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio <= LIMIT else f"{ratio:.2f}, more than {LIMIT:g}"


def _quickest(runs: list[Measured]) -> Measured:
    first = runs[0]
    fit = min(run.fit for run in runs)
    decision = min(run.decision for run in runs)
    return Measured(first.columns, first.rounds, first.rank, fit, decision)


def _log(problem: tacit.Problem, rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """Uniform play, and rewards to which one coordinate of the action and one context matter."""
    points = problem.public_points(rounds, rng)
    d = problem.actions.dimension
    effect = 1.2 * (points[:, 0] - 0.5) * (points[:, d] - 0.5)
    rewards = np.clip(0.5 + effect + 0.1 * rng.normal(size=rounds), 0.0, 1.0)
    columns = problem.actions.decode(points[:, :d]) | problem.contexts.decode(points[:, d:])
    return {**columns, "reward": rewards}


def _box(columns: int) -> tacit.Box:
    return tacit.Box([0.0] * columns, [1.0] * columns, [f"c{i}" for i in range(columns)])


def main(
    rounds: Annotated[int, typer.Option(help="Records in the log.")] = 10_000,
    repeats: Annotated[int, typer.Option(help="Fits of each; the quickest counts.")] = 1,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Time fits and decisions with many columns beside those with few."""
    results = [compare(name, rounds, repeats) for name in KINDS]
    rows = [row for result in results for row in cells(result)]
    if page is not None:
        put_table(page, "columns", HEADER, rows)
    if as_json:
        print(json.dumps([result.to_json() for result in results], indent=2))
    else:
        title = f"Many columns: at most {LIMIT:g} times as long as few"
        print_table(title, HEADER, rows, width=110)
    raise typer.Exit(0 if all(result.holds for result in results) else 1)


if __name__ == "__main__":
    typer.run(main)
