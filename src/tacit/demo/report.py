"""The report: one page that stands alone, for people who were not there."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from tacit._version import __version__
from tacit.demo import figures
from tacit.demo.study import DemoResult
from tacit.report import canvas
from tacit.report.page import fill


def write_report(result: DemoResult, path: str | Path) -> Path:
    """One HTML file with everything in it: no script, no font and no image from anywhere else."""
    drawn = _drawn(result)
    page = fill("tacit.demo", _texts(result) | drawn)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def write_picture(result: DemoResult, path: str | Path) -> Path:
    """One figure as PNG or SVG: how good the doses are, and what was learned."""
    path = Path(path)
    with canvas.drawing():
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.save(figures.picture(result), path)
    return path


def _drawn(result: DemoResult) -> dict[str, str]:
    with canvas.drawing():
        return {draw.__name__: _inline(draw, result) for draw in figures.ALL}


def _inline(draw: Callable[[DemoResult], Any], result: DemoResult) -> str:
    """A figure for the page. The docstring of the function that draws it is its text for those who
    cannot see it."""
    alt = " ".join((draw.__doc__ or "").split())
    return canvas.inline_svg(draw(result), draw.__name__, escape(alt))


def _texts(result: DemoResult) -> dict[str, str]:
    return {
        "title": "Tacit demo: a private dosing policy",
        "headline": _headline(result),
        "lead": _lead(result),
        "tiles": "\n".join(_tiles(result)),
        "tested": f"{len(result.tested.right):,}",
        "shown": f"{min(figures.SHOWN, len(result.tested.right)):,}",
        "error_private": f"{result.error_private:.1f}",
        "error_formula": f"{result.error_formula:.1f}",
        "guarantee": escape(str(result.policy.guarantee)),
        "factor": f"{math.exp(min(result.epsilon, 700.0)):.3g}",
        "chance": f"1 in {1.0 / result.delta:,.0f}",
        "facts": "\n".join(_facts(result)),
        "version": __version__,
    }


def _headline(result: DemoResult) -> str:
    if result.gain.reward <= result.gain.margin:
        return "With so few rounds and so much noise, one dose for all does as well"
    gap = result.formula.reward - result.best_fixed.reward
    share = result.gain.reward / gap if gap > 0 else 0.0
    if not 0.0 < share < 1.0:
        return "A private policy doses every patient better than one dose for all"
    return (
        f"A private policy closes {share:.0%} of the gap between one dose for all and the "
        "published formula"
    )


def _lead(result: DemoResult) -> str:
    return (
        f"{result.rounds:,} simulated patients each received a random dose of warfarin, and it was "
        "noted how well it went. One differentially private release "
        f"(&epsilon;&nbsp;=&nbsp;{result.epsilon:g}) turned that into a policy that picks a dose "
        "from age, body and two genes, and that reveals next to nothing about any one of them."
    )


def _tiles(result: DemoResult) -> list[str]:
    tiles = [
        ("own", f"{result.private.reward:.3f}", "mean reward of the private policy"),
        (
            "",
            f"{result.best_fixed.reward:.3f}",
            f"best fixed dose, {result.best_fixed_dose:g} mg a week",
        ),
        ("", f"{result.formula.reward:.3f}", "published formula"),
        (
            "",
            f"&epsilon; = {result.epsilon:g}",
            f"&delta; = {result.delta:g}, spent once, for all decisions",
        ),
    ]
    return [
        f'<li class="{kind}"><strong>{value}</strong><span>{says}</span></li>'
        for kind, value, says in tiles
    ]


def _facts(result: DemoResult) -> list[str]:
    rows = [
        ("Rounds", f"{result.rounds:,}", "simulated patients, each with a uniformly random dose"),
        (
            "Budget spent",
            f"&rho; = {result.rho_spent:.4g}",
            "zero-concentrated; charged before the noise is drawn",
        ),
        ("Rank", f"{result.rank}", "numbers released, one for each landmark of the kernel"),
        (
            "Regularisation &tau;",
            f"{result.tau:.3g}",
            "chosen before any data, for the best predicted accuracy",
        ),
        ("Clip", f"{result.clip:.3g}", "the largest influence one patient may have"),
        (
            "Gain over the best fixed dose",
            f"{_signed(result.gain.reward)} &plusmn; {result.gain.margin:.4f}",
            "same patients, 95&nbsp;% confidence interval",
        ),
        (
            "Fresh patients",
            f"{len(result.tested.right):,}",
            "on whom all figures of this page were measured",
        ),
        (
            "Time",
            f"{result.seconds:.1f} s",
            "from the first coin to the last fresh patient, without this page",
        ),
    ]
    return [
        f"<tr><th>{name}</th><td>{value}</td><td>{says}</td></tr>" for name, value, says in rows
    ]


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "&minus;")
