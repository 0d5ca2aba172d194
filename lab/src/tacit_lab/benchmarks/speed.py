"""How fast each stage is, as a ratio to this machine's own float64 matrix product in the same run.

    python -m tacit_lab.benchmarks.speed [--rank 500] [--rows 100000] [--json]

`make bench` runs it. `tacit bench` measures the heavy stages more carefully, and on a GPU.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tacit
from tacit.core.events import Gaussian, PermuteAndFlip
from tacit.core.noise import discrete_gaussian
from tacit.core.selection import integer_weights, noisy_max, sensitivity
from tacit_lab.bench.work import seconds
from tacit_lab.benchmarks.pages import print_table

BUDGET = tacit.Budget(epsilon=1.0, delta=1e-6)


def gemm_seconds_per_row(rank: int) -> float:
    """One row times a rank x rank matrix, in a product large enough to run at full speed."""
    a, b = np.random.default_rng(0).random((2, max(rank, 1000), max(rank, 1000)))
    return seconds(lambda: a @ b, 5) / len(a) * (rank / len(a)) ** 2


def stages(rank: int, rows: int) -> list[dict[str, Any]]:
    problem = tacit.Problem(
        actions=tacit.Box([0.0], [1.0], names=["x"]),
        contexts=tacit.Box([0.0] * 3, [1.0] * 3, names=["a", "b", "c"]),
        kernel=tacit.Matern(2.5, 0.2),
    )
    rng = np.random.default_rng(0)
    product = gemm_seconds_per_row(rank)
    points: list[tacit.Design] = []
    build = seconds(
        lambda: points.append(
            tacit.Design.build(
                problem,
                horizon=rows,
                budget=BUDGET,
                rng=1,
                passes=1,
                options=tacit.DesignOptions(rank=rank, tau=1.0, public_points=50_000),
            )
        )
    )
    design = points[0]
    W = problem.public_points(rows, rng)
    y = rng.uniform(-1, 1, rows)
    statistic = design.statistic()
    add = seconds(lambda: statistic.add_points(W, y))
    policies: list[tacit.Policy] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = tacit.Ledger.create(f"sqlite:///{Path(folder) / 'ledger.db'}", BUDGET)
        release = seconds(lambda: policies.append(statistic.release(ledger=ledger)))
    policy = policies[0]
    contexts = problem.contexts.sample(10_000, rng)
    policy.decide(contexts[:1])
    one = seconds(lambda: policy.decide(contexts[:1]), 20)
    batch = seconds(lambda: policy.decide(contexts))
    noise = Gaussian(2**25, 2.0**27)
    gaussian = seconds(lambda: discrete_gaussian(np.zeros(1000, dtype=np.int64), noise), 3)
    pure = seconds(lambda: pure_decision(10_000, 1000), 2)

    def stage(name: str, spent: float, handled: float) -> dict[str, Any]:
        """A stage that handled so many rows in so many seconds."""
        ratio = spent / handled / product
        return {"stage": name, "rank": design.rank, "seconds": spent, "products": ratio}

    return [
        stage("design, 50 000 public points", build, 1e5),  # two passes over the points
        stage(f"statistic, {rows} records", add, rows),
        stage("release and decode", release, rank),
        stage("one decision, 256 candidates", one, 1),
        stage("10 000 decisions", batch, 1e4),
        {
            "stage": "discrete Gaussian, rank 1000",
            "rank": 1000,
            "seconds": gaussian,
            "products": None,
        },
        {
            "stage": "pure decision, 10 000 candidates",
            "rank": 1000,
            "seconds": pure,
            "products": None,
        },
    ]


def pure_decision(candidates: int, rank: int) -> int:
    """Weights, sensitivity, exact scores and permute-and-flip for one context."""
    rng = np.random.default_rng(0)
    encoding = tacit.core.Encoding(size=rank, horizon=10_000)
    total = rng.integers(-(2**30), 2**30, size=rank)
    theta = integer_weights(rng.normal(size=(candidates, rank)), encoding)
    return noisy_max(theta @ total, PermuteAndFlip(1.0), sensitivity(theta, encoding))


def main(
    rank: Annotated[int, typer.Option(help="Landmarks.")] = 500,
    rows: Annotated[int, typer.Option(help="Private records.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Time every stage and compare it with one matrix product per row."""
    measured = stages(rank, rows)
    if as_json:
        print(json.dumps({"stages": measured}, indent=2))
        return
    cells = []
    for row in measured:
        ratio = "" if row["products"] is None else f"{row['products']:.2f}"
        cells.append([row["stage"], str(row["rank"]), f"{row['seconds']:.4f}", ratio])
    title = "Cost per row, in units of the machine's own rank x rank product for that row"
    print_table(title, ["stage", "rank", "seconds", "products per row"], cells)


if __name__ == "__main__":
    typer.run(main)
