"""What a learner promises, as one of three kinds that are never ranked together.

The kind follows from what the learner's class states: `protects`, `trust`, `counterpart` and
`refuted_by`. It is decided here and nowhere else.
"""

from __future__ import annotations

from enum import Enum

from tacit.errors import TacitError
from tacit_lab.arena.names import learner_named
from tacit_lab.arena.protocol import Learner

BOTH = "context and reward"
EACH_DECISION = "each decision"


class Promise(Enum):
    """The value is what pages call it."""

    JOINT = "joint privacy of context and reward, proved here"
    OTHER = "a weaker or another promise"
    NONE = "no privacy, or a claim that is refuted here"


def promise_of(kind: type[Learner]) -> Promise:
    """Joint privacy takes a trusted curator and protects context and reward of a round, whatever
    its note says. Local, shuffled, rewards only, agents, the last output only: another promise."""
    if kind.counterpart is None or kind.refuted_by is not None:
        return Promise.NONE
    if _without_note(kind.protects) == BOTH and kind.trust == "central":
        return Promise.JOINT
    return Promise.OTHER


def promise_named(name: str) -> Promise:
    """Of a learner by its name. What cannot be loaded, such as somebody's own learner in a table
    that came from elsewhere, is not known to promise anything in particular."""
    try:
        return promise_of(learner_named(name))
    except TacitError:
        return Promise.OTHER


def spends_per_decision(kind: type[Learner]) -> bool:
    """Whether epsilon is for one decision, and not for all of them."""
    return kind.per_decision or EACH_DECISION in kind.protects


def protection(kind: type[Learner]) -> str:
    """What is protected and from whom, in a few words."""
    words = kind.protects
    if kind.trust in ("local", "shuffled"):
        words += f", {kind.trust}"
    if kind.per_decision:
        words += "; epsilon for each decision"
    return words


def _without_note(words: str) -> str:
    return words.partition("(")[0].strip()
