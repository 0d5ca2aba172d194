"""`tacit report`: one page about one policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, say_health
from tacit.cli.options import require_file

if TYPE_CHECKING:
    from tacit.policy.comparison import Comparison
    from tacit.report import Findings


def report(
    policy: Annotated[Path, typer.Argument(help="A policy folder.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    baseline: Annotated[
        Path | None, typer.Option(help="The folder of a policy of any kind to compare with.")
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="What `tacit evaluate --out` wrote: the page leads with it."),
    ] = None,
    json: Json = False,
) -> None:
    """Report on a policy: what it decides, what it expects, how sure it is, which context matters,
    what it promises.

    Writes one page that needs nothing else: no network, no script. It is made from the released
    numbers alone, so it costs no budget and may be shown to whoever may see the policy.

    The policy is compared with random play, with the best fixed action, and with a --baseline.
    A policy that is not worth using is called so first, and its gains are not stated.

    The page leads with what was measured: by how much the policy is better than a baseline, on
    whom, and how. That is the --evaluation, or the one that is kept with the policy (`tacit fit
    --hold-out 0.2 --against dose=30`, `tacit evaluate --attach`). Without one the first line says
    that everything is only expected.
    """
    from tacit.evaluation import Evaluation
    from tacit.policy import Policy, load
    from tacit.report import Findings, write_findings

    require_file(to)
    loaded = Policy.load(policy)
    say_health(loaded)
    if evaluation is not None:
        loaded = Evaluation.load(evaluation).attached_to(loaded)
    found = Findings.of(loaded, None if baseline is None else load(baseline))
    path = write_findings(found, to)
    if json:
        emit({"report": str(path)} | found.to_json())
        return
    out.print(f"[bold]Report written to {path}[/bold]", soft_wrap=True)
    _say_answer(found)
    out.print(f"Guarantee: {found.policy.guarantee}", soft_wrap=True)
    if found.withheld:
        out.print(found.withheld, markup=False, soft_wrap=True)
    else:
        _say_learned(found)
    out.print(f"Verdict: {found.health.verdict}", soft_wrap=True)
    if not found.policy.private:
        err.print("[bold red]This policy is NOT private: it was made with a seed.[/bold red]")


def _say_answer(found: Findings) -> None:
    """What was measured, or that nothing was."""
    from tacit.evaluation import Evaluation

    told = found.policy.facts.get("evaluation")
    if told is None:
        out.print("ONLY EXPECTED: nobody has measured what this policy earns.", soft_wrap=True)
    else:
        out.print(str(Evaluation.from_json(told)), highlight=False, markup=False, soft_wrap=True)


def _say_learned(found: Findings) -> None:
    """What matters and what the policy gains."""
    first = found.importances[0]
    out.print(
        f"Matters most: {first.axis.title} (reward at stake {first.reward_at_stake:.3g})",
        markup=False,
        soft_wrap=True,
    )
    gains = found.gains
    action = ", ".join(f"{name} {_shown(value)}" for name, value in found.fixed.items())
    who = found.view.who
    _say_gain("random play", gains.over_random, who)
    _say_gain(f"the best fixed action ({action})", gains.over_fixed, who)
    if gains.over_baseline is not None:
        _say_gain("the baseline", gains.over_baseline, who)


def _say_gain(over: str, measured: Comparison, who: str) -> None:
    out.print(
        f"Expected gain over {over}: {measured.average:.3g} (standard deviation "
        f"{measured.average_std:.2g}); at least 95 % sure for {100 * measured.share_sure:.0f} % of "
        f"{who}",
        markup=False,
        soft_wrap=True,
    )


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
