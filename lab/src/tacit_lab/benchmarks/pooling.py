"""What pooling does: expected rewards by action, learned with and without it.

    python -m tacit_lab.benchmarks.pooling [--rounds 3000] [--epsilon 1] [--out docs/images]

One study of `pooled-1+15-binary`: the action matters in much the same way for everybody, 15 columns
are recorded, few of them matter. Three visitors are drawn, and for each the true expected reward of
every action, what a policy expects that was learned with one kernel over all columns, and what the
default policy expects, which pools. The log and the budget are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacit import Matern, Policy, Problem
from tacit._typing import Floats
from tacit.report.canvas import INK, MUTED, STYLE
from tacit_lab.arena.measure import FRESH_CONTEXTS, FUNCTION, stream
from tacit_lab.arena.names import environment_named
from tacit_lab.arena.values import references, value
from tacit_lab.benchmarks.pages import print_table
from tacit_lab.benchmarks.tables import VISITORS, Log, Setting, default_problem, fit

NAME = "pooled-1+15-binary"
SHOWN = 3  # visitors
ACTIONS = np.linspace(0.0, 1.0, 101)
POOLED = "#0b6e4f"
ALONE = "#c1442e"


def one_kernel(problem: Problem) -> Problem:
    """The same with one kernel over all columns."""
    return Problem(
        problem.actions, problem.contexts, Matern(2.5, 0.3), reward_range=problem.reward_range
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the log.")] = 3000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Which problem is drawn.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder of the figure.")] = Path("docs/images"),
) -> None:
    """Draws what pooling does."""
    make, _ = environment_named(NAME)
    environment = make(stream(NAME, seed, FUNCTION))
    log = Log.draw(environment, Setting(NAME, rounds, epsilon), seed)
    default = default_problem(environment)
    policies = {
        "one kernel over all columns": fit(one_kernel(default), log, epsilon, seed),
        "pooled (the default)": fit(default, log, epsilon, seed),
    }
    visitors = environment.draw_contexts(VISITORS, stream(NAME, seed, FRESH_CONTEXTS))
    known = references(environment, visitors)
    rows = [["random play", f"{known.random:.3f}"]]
    for name, policy in policies.items():
        rows.append([name, f"{value(environment, policy.decide_points(visitors), visitors):.3f}"])
    rows.append(["best fixed action", f"{known.fixed:.3f}"])
    rows.append(["best action for each", f"{known.best:.3f}"])
    print_table(f"Mean reward, {rounds:,} rounds, epsilon {epsilon:g}", ["policy", "value"], rows)
    truth = environment.surface
    assert truth is not None
    path = _draw(truth(ACTIONS[:, None], visitors[:SHOWN]), policies, visitors[:SHOWN], out)
    typer.echo(f"wrote {path.name}")


def _draw(truth: Floats, policies: dict[str, Policy], visitors: Floats, out: Path) -> Path:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.0), layout="constrained")
        panels: Any = figure.subplots(1, len(visitors), sharey=True)
        for i, axes in enumerate(panels):
            axes.plot(ACTIONS, truth[i], color=INK, linestyle="--", label="truth")
            for color, (name, policy) in zip((ALONE, POOLED), policies.items(), strict=True):
                points = np.column_stack([ACTIONS, np.tile(visitors[i], (len(ACTIONS), 1))])
                mean = policy.posterior.reward(points)
                std = np.sqrt(policy.posterior.variance(points))
                axes.plot(ACTIONS, mean, color=color, label=name)
                axes.fill_between(
                    ACTIONS, mean - 1.645 * std, mean + 1.645 * std, color=color, alpha=0.12, lw=0
                )
            axes.set(title=f"Visitor {i + 1}", xlabel="Action")
            axes.axhline(0.0, color=MUTED, linewidth=0.5)
        panels[0].set_ylabel("Expected reward")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        out.mkdir(parents=True, exist_ok=True)
        path = out / "pooling.png"
        figure.savefig(path, dpi=130, metadata={"Software": None})
    return path


if __name__ == "__main__":
    typer.run(main)
