"""Hartmann-4 under pure epsilon, as in the only published figure of USCA (Pavlovic, Salgia and
Zhao, 2025, Fig. 1).

    python -m tacit_lab.benchmarks.hartmann [--studies 40] [--json]

Two of the four coordinates are the context, two the action, all in [0, 1]; squared exponential
kernel; 50 rounds of uniform play; then one decision per context, each under pure epsilon. The
figure's lengthscale, noise and regularisation are not published: we take lengthscale 0.3, noise
0.1, our own choice of tau and clip, and learn only the advantage of an action, which is what a
decision needs. The regret is in the function's own unit (not rescaled: with coordinates 1 and 2 as
context uniform play then loses 1.0, as in the figure), over 10 fresh contexts a study. The command
fails if a published figure is not reached.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit._typing import Floats
from tacit_lab.benchmarks.pages import print_table, put_table

ROUNDS = 50
CONTEXTS = 10
NOISE = 0.1
PUBLISHED = {10.0: 0.699, 30.0: 0.583, 50.0: 0.577}
# the range of the function's values
LOW = 0.0
HIGH = 3.74
ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
A = np.array([[10, 3, 17, 3.5], [0.05, 10, 17, 0.1], [3, 3.5, 1.7, 10], [17, 8, 0.05, 10]])
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124],
        [2329, 4135, 8307, 3736],
        [2348, 1451, 3522, 2883],
        [4047, 8828, 8732, 5743],
    ]
)


def hartmann4(w: Floats) -> Floats:
    """To be maximised: sum_i alpha_i exp(-sum_j A_ij (w_j - P_ij)^2), in [0, 3.74]"""
    inner = np.sum(A * (w[:, None, :] - P) ** 2, axis=2)
    return np.asarray(np.exp(-inner) @ ALPHA)


def design_for(epsilon: float, lengthscale: float, rng: np.random.Generator) -> tacit.Design:
    problem = tacit.Problem(
        actions=tacit.Box([0.0, 0.0], [1.0, 1.0], names=["x3", "x4"]),
        contexts=tacit.Box([0.0, 0.0], [1.0, 1.0], names=["x1", "x2"]),
        kernel=tacit.RBF(lengthscale),
        reward_range=(LOW, HIGH),
        generator=lambda n, rng: rng.random((n, 2)),
        advantage=True,
    )
    return tacit.Design.build(
        problem,
        horizon=ROUNDS,
        budget=tacit.Budget(epsilon=epsilon),
        rng=rng,
        passes=1,
        options=tacit.DesignOptions(noise=0.1),
    )


def study(
    design: tacit.Design, epsilon: float, url: str, rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    """The regret of each decision, and of a random action."""
    actions, contexts = rng.random((2, ROUNDS, 2))
    rewards = hartmann4(np.hstack([contexts, actions])) + NOISE * rng.normal(size=ROUNDS)
    statistic = design.statistic().add(actions, contexts, rewards)
    ledger = tacit.Ledger.create(url, tacit.Budget(epsilon=epsilon * CONTEXTS))
    grid = tacit.Box([0.0, 0.0], [1.0, 1.0]).candidate_points(4096)
    regrets = []
    random = []
    for context in rng.random((CONTEXTS, 2)):
        values = hartmann4(np.hstack([np.tile(context, (len(grid), 1)), grid]))
        chosen = tacit.release_decision(
            statistic, {"x1": context[0], "x2": context[1]}, epsilon=epsilon, ledger=ledger
        )
        value = float(hartmann4(np.array([[*context, chosen["x3"], chosen["x4"]]]))[0])
        regrets.append(max(0.0, float(values.max()) - value))
        random.append(float(values.max() - values.mean()))
    return regrets, random


def cells(row: dict[str, Any]) -> list[str]:
    ours = f"{row['regret']:.3f} ± {row['standard_error']:.3f}"
    return [f"{row['epsilon']:g}", ours, f"{row['published']:.3f}", f"{row['random']:.3f}"]


def measure(epsilon: float, lengthscale: float, studies: int) -> dict[str, Any]:
    """Many studies at one epsilon, beside the published figure."""
    rng = np.random.default_rng(1)
    design = design_for(epsilon, lengthscale, rng)
    found = []
    random = []
    with tempfile.TemporaryDirectory() as folder:
        for i in track(range(studies), f"epsilon {epsilon:g}", console=Console(stderr=True)):
            url = f"sqlite:///{Path(folder) / f'{i}.db'}"
            regrets, uniform = study(design, epsilon, url, rng)
            found.append(float(np.mean(regrets)))
            random += uniform
    return {
        "epsilon": epsilon,
        "regret": float(np.mean(found)),
        "standard_error": float(np.std(found, ddof=1) / len(found) ** 0.5),
        "random": float(np.mean(random)),
        "published": PUBLISHED[epsilon],
    }


HEADER = ["epsilon", "Tacit", "published", "random play"]


def main(
    studies: Annotated[int, typer.Option(help="Studies per epsilon.")] = 40,
    lengthscale: Annotated[float, typer.Option(help="Of the squared exponential kernel.")] = 0.3,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Decide for single contexts under pure epsilon after 50 rounds, and compare with the published
    regret."""
    rows = [measure(epsilon, lengthscale, studies) for epsilon in PUBLISHED]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        title = f"Regret of one decision, Hartmann-4, {ROUNDS} rounds, pure epsilon"
        print_table(title, HEADER, [cells(row) for row in rows])
    if page is not None:
        put_table(page, "hartmann.py", HEADER, [cells(row) for row in rows])
    if any(row["regret"] > row["published"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
