"""How a policy was made, in plain public numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tacit.core import Part
from tacit.decoder.context_law import play_check
from tacit.decoder.decoding import by_people
from tacit.design import Design, Release
from tacit.policy.promise import spent_on
from tacit.policy.visitors import usable_share

DECIDES = "a policy"  # nothing that a name would not say


def facts_of(releases: Sequence[Release]) -> dict[str, Any]:
    """How it was made, in plain public numbers; the budget is that of all passes so far."""
    design = releases[-1].design
    facts = {
        "horizon": design.horizon,
        "budget": asdict(spent_on(releases)),
        "tau": design.tau,
        "clip": design.clip,
        "unit": design.unit,
        "context_share": design.layout.context_share,
        "pair_share": design.layout.pair_share,
        "plain": not design.layout.square_share,
        "records": releases[-1].released.records,
        "rank": design.rank,
        "passes": len(releases),
        "play": _play(design),
    }
    part = Part.of(design.cohort)
    if part is not None:
        facts["hold_out"] = part.facts()
    if design.residual is not None:
        facts["residual_clip"] = design.residual.residual_clip
    usable = usable_share(releases)
    if usable is not None:
        facts["usable"] = usable._asdict()
    check = play_check(by_people(releases)[-1])
    if check is not None:
        facts["play_check"] = asdict(check) | {"contradicted": check.contradicted}
    return facts


def described(name: str, evaluation: dict[str, Any]) -> str:
    """The name of a policy in an evaluation, with what it is: "baseline (dose = 35)"."""
    policies = evaluation.get("facts", {}).get("policies", {})
    what = str(policies.get(name, DECIDES))
    same = what.replace(" ", "") == name.replace(" ", "")
    return name if same or what == DECIDES else f"{name} ({what})"


def _play(design: Design) -> str:
    """How the actions of the records were chosen, as it was stated."""
    if design.max_weight != 1.0:
        return f"propensities, weights up to {design.max_weight:g}"
    facts = design.problem.play_facts
    return "uniform" if facts is None else facts["name"]
