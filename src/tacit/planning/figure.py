"""The trade-off as a picture: error against rounds and epsilon, between the two horizons of what is
possible."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InputError, MissingExtraError
from tacit.planning import Forecast, Plan

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
COLOURS = ("#c2410c", "#d97706", "#0b6e8f", "#3f6fb5", "#6b4fa0")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Tacit: plan</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:960px;
margin:2rem auto;padding:0 1rem;color:#1c2430}}
img{{width:100%}}pre{{white-space:pre-wrap;font:inherit}}</style>
<h1>Plan</h1><pre>{text}</pre>
<img alt="Expected error against rounds and epsilon" src="data:image/svg+xml;base64,{svg}"></html>
"""


def draw(plan: Plan, path: str | Path) -> Path:
    """Writes PNG, SVG or a self-contained HTML page, by the file's ending."""
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "html"):
        raise InputError(f"{path} should end in .png, .svg or .html.")
    figure = _figure(plan)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "html":
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight")
        path.write_text(
            PAGE.format(text=plan.explain(), svg=base64.b64encode(buffer.getvalue()).decode())
        )
    else:
        figure.savefig(path, format=kind, bbox_inches="tight", dpi=150)
    return path


def _figure(plan: Plan) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError.of("figures", "matplotlib", "plot") from None
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    rounds = [max(10, round(float(t))) for t in plan.horizon * np.geomspace(0.1, 10, 7)]
    for epsilon, colour in zip(EPSILONS, COLOURS, strict=True):
        curve = plan.curve(rounds, [epsilon])
        left.plot(
            rounds,
            [f.expected_error for f in curve],
            color=colour,
            marker="o",
            markersize=3,
            label=f"ε = {epsilon:g}",
        )
    _horizons(left, rounds, curve)
    left.axvline(plan.horizon, color="#9aa3b2", linewidth=0.8, linestyle=":")
    left.set(
        xscale="log",
        yscale="log",
        xlabel="Rounds",
        ylabel="Reward lost per decision",
        title="Error against rounds",
    )
    left.legend(fontsize=8, ncols=2)
    epsilons = np.geomspace(0.1, 10, 7)
    curve = plan.curve([plan.horizon], [float(e) for e in epsilons])
    errors = np.array([f.expected_error for f in curve])
    bands = np.array([f.band for f in curve])
    right.fill_between(
        epsilons,
        bands[:, 0],
        bands[:, 1],
        color="#0b6e8f",
        alpha=0.15,
        linewidth=0,
        label="90 % of functions",
    )
    right.plot(
        epsilons,
        errors,
        color="#0b6e8f",
        marker="o",
        markersize=3,
        label=f"{plan.horizon:,} rounds",
    )
    _horizons(right, epsilons, curve)
    right.set(xscale="log", xlabel="Epsilon", title="Error against epsilon")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.grid(color="#e3e6ec", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _horizons(axes: Any, x: Any, curve: list[Forecast]) -> None:
    uniform = [f.uniform_error for f in curve]
    nonprivate = [f.nonprivate_error for f in curve]
    axes.plot(x, uniform, "--", color="#6b7280", linewidth=1, label="uniform play")
    axes.plot(x, nonprivate, "--", color="#111827", linewidth=1, label="no privacy")
