"""Baselines: what is done now, or by somebody else, to compare with."""

from __future__ import annotations

from typing import Any

from tacit.errors import InputError
from tacit.play.base import PlayLaw
from tacit.play.laws import Fixed, as_law


def as_baseline(baseline: Any) -> PlayLaw:
    """A public rule to compare with: an action, a policy, or a function of contexts.

    It has no coins of its own: those of a law that draws would be the same at every call, and its
    propensities wrong.
    """
    if isinstance(baseline, dict | str | int | float):
        return Fixed(baseline)
    law = as_law(baseline)
    if law.chance:
        raise InputError(
            "a baseline must be an action, a policy or a function of contexts, without chance, "
            f"got {law.description}: pass for example one of its actions."
        )
    return law
