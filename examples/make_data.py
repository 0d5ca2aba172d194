"""Writes small simulated logs for the problem files beside it: `python examples/make_data.py
[folder]`.

Each log is what uniformly random play leaves behind: one row per round with action, context and
reward. The visitors are contexts to decide for. A fixed seed makes the same files every time;
nobody's data is in them.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit._typing import Rng
from tacit.demo import patients

HERE = Path(__file__).parent
ROUNDS = 5000
VISITORS = 200
Columns = dict[str, Any]


def dosing(n: int, rng: Rng) -> tuple[Columns, Columns, Any]:
    """Patients whose right dose follows the published IWPC formula, as in `tacit demo`."""
    came = patients.sample_patients(n, rng)
    dose = rng.uniform(0.0, patients.LARGEST_DOSE, size=n)
    right = patients.right_dose(came, rng)
    return {"dose": dose}, came, patients.reward(dose, right)


def pricing(n: int, rng: Rng) -> tuple[Columns, Columns, Any]:
    """Shoppers who buy when the price is below what the thing is worth to them: more to loyal ones
    and at a desk."""
    came = {
        "loyalty": rng.random(n),
        "days_away": rng.integers(0, 61, size=n),
        "device": rng.choice(["phone", "tablet", "computer"], size=n, p=[0.5, 0.2, 0.3]),
    }
    premium = {"phone": 0.0, "tablet": 1.5, "computer": 4.0}
    at_desk = np.array([premium[device] for device in came["device"].tolist()])
    liking = 7.0 + 10.0 * came["loyalty"] - 0.04 * came["days_away"]
    worth = liking + at_desk + rng.logistic(0.0, 1.0, size=n)
    price = rng.uniform(5.0, 20.0, size=n)
    return {"price": price}, came, np.where(price <= worth, price - 5.0, 0.0)


def jokes(n: int, rng: Rng) -> tuple[Columns, Columns, Any]:
    """Visitors with a taste for length, wordplay and gloom; their ratings of three gauge jokes show
    it roughly."""
    with (HERE / "jokes.toml").open("rb") as file:
        catalogue = tomllib.load(file)["actions"]
    features = 2.0 * np.asarray(catalogue["features"]) - 1.0
    taste = rng.normal(0.0, 1.0, size=(n, 3))
    gauge = np.clip(5.0 * taste + rng.normal(0.0, 2.0, size=(n, 3)), -10.0, 10.0)
    item = rng.integers(len(features), size=n)
    liking = 1.0 + 4.0 * np.sum(taste * features[item], axis=1)
    rating = np.clip(liking + rng.normal(0.0, 2.0, size=n), -10.0, 10.0)
    came = dict(zip(("likes_long", "likes_puns", "likes_gloom"), gauge.T, strict=True))
    return {"joke": np.asarray(catalogue["ids"])[item]}, came, rating


LOGS: dict[str, Callable[[int, Rng], tuple[Columns, Columns, Any]]] = {
    "dosing": dosing,
    "pricing": pricing,
    "jokes": jokes,
}


def write_all(folder: Path) -> list[Path]:
    """A log and some visitors for each problem, and a public population for the dosing problem."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, (name, simulate) in enumerate(LOGS.items()):
        rng = np.random.default_rng([2009, number])
        actions, contexts, reward = simulate(ROUNDS, rng)
        log = actions | contexts | {"reward": reward}
        written.append(_parquet(log, folder / f"{name}.parquet"))
        _, visitors, _ = simulate(VISITORS, rng)
        written.append(folder / f"{name}_visitors.csv")
        pyarrow.csv.write_csv(pa.table(_rounded(visitors)), written[-1])
    population = patients.sample_patients(2000, np.random.default_rng([2009, len(LOGS)]))
    return [*written, _parquet(population, folder / "dosing_population.parquet")]


def _parquet(columns: Columns, path: Path) -> Path:
    pyarrow.parquet.write_table(pa.table(_rounded(columns)), path)
    return path


def _rounded(columns: Columns) -> Columns:
    """Three digits are plenty, and make small files."""
    return {name: np.round(c, 3) if c.dtype.kind == "f" else c for name, c in columns.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=HERE / "data", help="where to write (examples/data)"
    )
    for path in write_all(parser.parse_args().folder):
        print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
