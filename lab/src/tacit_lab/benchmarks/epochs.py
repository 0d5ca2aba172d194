"""What studies in epochs cost and gain beside a study of one epoch, in every environment.

    tacit arena --config lab/arena/epochs.toml --out out/epochs
    python -m tacit_lab.benchmarks.epochs out/epochs [--page docs/epochs.md] [--json]

The first command plays the studies, and goes on where it was stopped; the second one reads its
rows. `one epoch` is the arena's `tacit`, uniform play that is released once in two passes, `epochs`
its `tacit-epochs`, and `fixed` the best fixed action, found in a log without privacy. Error and
regret are shares of what uniform play loses. The first table has the settings with at least five
seeds, with standard errors; the second one has every environment, with the mean over the seeds that
both learners played. Where both errors are below 0.01 their ratio says nothing, and is left out.
The last row has the means over environments: of errors, and the ratio of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow.parquet as pq
import typer

from tacit_lab.arena.results import TABLE
from tacit_lab.arena.statistics import error_share, regret_share
from tacit_lab.benchmarks.pages import print_table, put_table

ONE, EPOCHS, FIXED = "tacit", "tacit-epochs", "best-fixed"
SEEDS = 5  # of a setting with standard errors
TELLING = 0.01  # an error, as a share of uniform play's, that is worth a ratio
ROUNDS = (3_000, 10_000, 30_000)


@dataclass(frozen=True)
class Setting:
    """One environment and number of rounds; a value for each seed that both learners played."""

    environment: str
    rounds: int
    one_error: list[float]
    epochs_error: list[float]
    one_regret: list[float]
    epochs_regret: list[float]
    fixed_error: float | None

    @property
    def ratio(self) -> float | None:
        """Of the final errors; None where both are next to nothing."""
        errors = float(np.mean(self.epochs_error)), float(np.mean(self.one_error))
        return None if max(errors) < TELLING else errors[0] / errors[1]


def settings(rows: Iterable[dict[str, Any]]) -> list[Setting]:
    """All settings that were played by both learners."""
    by: dict[tuple[str, int], dict[str, dict[int, Any]]] = {}
    for row in rows:
        played = by.setdefault((row["environment"], row["rounds"]), {})
        played.setdefault(row["learner"], {})[row["seed"]] = row
    found = []
    for (environment, rounds), played in by.items():
        one, epochs = played.get(ONE, {}), played.get(EPOCHS, {})
        both = sorted(one.keys() & epochs.keys())
        fixed = [error_share(row) for row in played.get(FIXED, {}).values()]
        if both:
            found.append(
                Setting(
                    environment,
                    rounds,
                    [error_share(one[seed]) for seed in both],
                    [error_share(epochs[seed]) for seed in both],
                    [regret_share(one[seed]) for seed in both],
                    [regret_share(epochs[seed]) for seed in both],
                    float(np.mean(fixed)) if fixed else None,
                )
            )
    return found


GAIN = (
    "problem",
    "rounds",
    "seeds",
    "final error, one epoch",
    "final error, epochs",
    "regret, one epoch",
    "regret, epochs",
)


def gain_rows(found: Sequence[Setting]) -> list[list[str]]:
    return [
        [
            each.environment,
            f"{each.rounds:,}",
            str(len(each.one_error)),
            _measured(each.one_error, 4),
            _measured(each.epochs_error, 4),
            _measured(each.one_regret, 3),
            _measured(each.epochs_regret, 3),
        ]
        for each in found
        if len(each.one_error) >= SEEDS
    ]


def _measured(values: Sequence[float], digits: int) -> str:
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


ALL = ("environment", *(f"{what}, {n:,}" for n in ROUNDS for what in ("regret", "error", "ratio")))


def all_rows(found: Sequence[Setting]) -> list[list[str]]:
    """A line for each environment: regret and final error in epochs, and the error beside that of
    one epoch."""
    by = {(each.environment, each.rounds): each for each in found}
    names = list(dict.fromkeys(each.environment for each in found))
    rows = []
    for name in names:
        cells = [name]
        for rounds in ROUNDS:
            each = by.get((name, rounds))
            cells += ["", "", ""] if each is None else _cells(each)
        rows.append(cells)
    cells = ["**mean**"]
    for rounds in ROUNDS:
        if rounds not in {each.rounds for each in found}:
            cells += ["", "", ""]
            continue
        mean = summary(found, rounds)
        cells += [f"{mean[key]:.3f}" for key in ("regret", "error")] + [f"{mean['ratio']:.2f}"]
    return [*rows, cells]


def _cells(each: Setting) -> list[str]:
    ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
    return [f"{np.mean(each.epochs_regret):.2f}", f"{np.mean(each.epochs_error):.3f}", ratio]


def summary(found: Sequence[Setting], rounds: int) -> dict[str, Any]:
    """Means over environments, and where epochs end worse than one epoch does."""
    mine = [each for each in found if each.rounds == rounds]
    error = float(np.mean([np.mean(each.epochs_error) for each in mine]))
    one = float(np.mean([np.mean(each.one_error) for each in mine]))
    fixed = [each for each in mine if each.fixed_error is not None]
    return {
        "environments": len(mine),
        "regret": float(np.mean([np.mean(each.epochs_regret) for each in mine])),
        "error": error,
        "one_error": one,
        "ratio": error / one,
        "above_1.5": {
            each.environment: each.ratio for each in mine if each.ratio and each.ratio > 1.5
        },
        "worse_than_fixed": [
            each.environment
            for each in fixed
            if np.mean(each.epochs_error) > (each.fixed_error or 0.0) >= np.mean(each.one_error)
        ],
    }


def main(
    folder: Annotated[Path, typer.Argument(help="The --out of the arena's run.")],
    page: Annotated[Path | None, typer.Option(help="A page to write the tables to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Compares studies in epochs with a study of one epoch."""
    found = settings(pq.read_table(folder / TABLE).to_pylist())
    rounds = sorted({each.rounds for each in found} & set(ROUNDS))
    means = {n: summary(found, n) for n in rounds}
    if as_json:
        values = [asdict(each) | {"ratio": each.ratio} for each in found]
        print(json.dumps({"settings": values, "means": means}, indent=2))
        return
    print_table("In epochs", GAIN, gain_rows(found), width=150)
    print_table("Every environment", ALL, all_rows(found), width=150)
    for n, mean in means.items():
        print(f"{n:,} rounds:", json.dumps(mean))
    if page is not None:
        put_table(page, "epochs-gain", GAIN, gain_rows(found))
        put_table(page, "epochs-all", ALL, all_rows(found))


if __name__ == "__main__":
    typer.run(main)
