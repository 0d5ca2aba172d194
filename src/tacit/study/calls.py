"""What is brought to the desk of a study, and what is answered there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import TacitError


@dataclass(frozen=True)
class Ask:
    """A decision is wanted. With `defer` the round counts only once it is activated. `caller` is
    who asks: what others ask under the same id is another request."""

    context: Mapping[str, Any]
    user: Any = None
    id: str | None = None
    defer: bool = False
    caller: str = ""


@dataclass(frozen=True)
class Tell:
    """The reward of a round. Repeated, it changes nothing; another reward is an error."""

    id: str
    reward: Any


@dataclass(frozen=True)
class Activate:
    """A round that was deferred was shown, so it counts. Repeated, it changes nothing."""

    id: str


@dataclass(frozen=True)
class Answer:
    """A decision. `law` is the epoch by whose law it was played, `epoch` the one that it counts in;
    None if it counts in none, or not yet."""

    id: str
    action: dict[str, Any]
    mode: str
    propensity: float
    density: bool
    epoch: int | None
    law: int
    asked: float
    replayed: bool = False


Call = Ask | Tell | Activate
Result = Answer | TacitError | None
