"""Whom policies may be evaluated on: people that they were not learned from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from tacit.core import Ledger, Part
from tacit.core.parts import HOLD_OUT
from tacit.errors import EvaluationWarning, InputError, StateError
from tacit.policy import Policy

HELD_OUT = "people held out from learning"
OTHERS = "other people than those learned from, as was stated"
NOBODY = "no policy was learned by Tacit"
UNKNOWN = "whether they were learned from is not known"
SAME = (
    "the policy was learned from the people whose budget this ledger keeps, and what it earns on "
    "them would be too good: fit with hold_out=0.2 and evaluate on those held out, or evaluate on "
    "a log of other people with a ledger of its own."
)


def held_out(
    policies: Sequence[Policy], ledger: Ledger, split: Callable[[float, str], Part], unit: str
) -> Part | None:
    """The part of the log that the policies were not learned from; None if it has no parts.

    `split` says how this log is split into parts where a share of its units is held out.
    """
    divided = {part for part in map(_part, ledger.accounts()) if part is not None}
    stated = set()
    for policy in policies:
        part = _part_of(policy)
        if part is not None and (part in divided or split(part.share, part.unit).key == part.key):
            stated.add(part)
    found = divided | stated
    if len(found) > 1:
        raise InputError(
            "the policies were learned from different parts of this log: evaluate those of one "
            "split together."
        )
    if not found:
        return None
    part = found.pop()
    if part.unit != unit:
        how = "name their column by user=..." if part.unit == "user" else "leave out user=..."
        raise InputError(f"{part.unit}s of this log were held out: {how}")
    if split(part.share, part.unit).key != part.key:
        raise InputError(
            "these are not the rows that were split when people were held out: name the same "
            "files, in the same order."
        )
    return part


def require_others(policies: Sequence[Policy], ledger: Ledger) -> None:
    """Fails if this ledger, which keeps one account for everybody, paid for one of the policies."""
    for policy in policies:
        if policy.receipt and ledger.receipt(policy.receipt["request"]) == policy.receipt:
            raise StateError(SAME)


def told_people(policies: Sequence[Policy], part: Part | None, stated: bool) -> str:
    """Who they are, in words."""
    if part is not None:
        return HELD_OUT
    if not policies:
        return NOBODY
    return OTHERS if stated else UNKNOWN


def warn_of_unknown(people: str, stacklevel: int) -> None:
    if people == UNKNOWN:
        warnings.warn(
            "whether the people of this log were used to learn the policies cannot be known from "
            "the ledger; if they were, the values are too good: fit with hold_out=0.2, or state "
            "that they are other people by EvaluationOptions(other_people=True).",
            EvaluationWarning,
            stacklevel=stacklevel + 1,
        )


def _part(account: object) -> Part | None:
    """The hold-out part that an account is of, if it is of one."""
    part = Part.of(getattr(account, "cohort", None))
    return part if part is not None and part.name == HOLD_OUT else None


def _part_of(policy: Policy) -> Part | None:
    """The part of the people who were held out when the policy was learned."""
    facts = policy.facts.get("hold_out")
    if facts is None:
        return None
    part = Part.restore(facts)
    return part if part.name == HOLD_OUT else part.other
