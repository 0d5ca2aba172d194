"""`tacit report`: one page about one policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err, out
from tacit.cli.options import require_file


def report(
    policy: Annotated[Path, typer.Argument(help="A policy folder.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    json: Json = False,
) -> None:
    """Look at a policy: what it decides, what it expects, how sure it is, which context matters,
    what it promises.

    Writes one page that needs nothing else: no network, no script. It is made from the released
    numbers alone, so it costs no budget and may be shown to whoever may see the policy.
    """
    from tacit.policy import Policy
    from tacit.report import Findings, write_findings

    require_file(to)
    found = Findings.of(Policy.load(policy))
    path = write_findings(found, to)
    if json:
        emit({"report": str(path)} | found.to_json())
        return
    first = found.importances[0]
    advantage = found.advantage
    out.print(f"[bold]Report written to {path}[/bold]", soft_wrap=True)
    out.print(f"Guarantee: {found.policy.guarantee}", soft_wrap=True)
    out.print(
        f"Matters most: {first.axis.title} (reward at stake {first.reward_at_stake:.3g})",
        markup=False,
        soft_wrap=True,
    )
    out.print(
        f"Expected advantage over random play: {advantage.average:.3g} (standard deviation "
        f"{advantage.average_std:.2g}); at least 95 % sure in {100 * advantage.share_sure:.0f} % "
        "of contexts",
        soft_wrap=True,
    )
    if not found.policy.private:
        err.print("[bold red]This policy is NOT private: it was made with a seed.[/bold red]")
