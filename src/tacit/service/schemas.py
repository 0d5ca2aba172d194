"""What requests and answers of the service look like. The OpenAPI document is made from these."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

EVENT_ID = r"^[A-Za-z0-9._~:-]{1,128}$"
MOST_AT_ONCE = 1000

EventId = Annotated[str, Meta(pattern=EVENT_ID, description="The caller's own id of a round.")]
Cell = str | int | float | bool | None
Context = Annotated[
    dict[str, Cell], Meta(description="One cell for each context column of the problem.")
]
User = Annotated[str, Meta(min_length=1, max_length=1000)]


class DecisionRequest(Struct, forbid_unknown_fields=True):
    """A decision is wanted for one context."""

    context: Context
    event_id: EventId | None = None
    user: User | None = None
    defer_activation: bool = False


class DecisionAnswer(Struct):
    """What to do. `propensity` is a probability, or a density where `density` is true; `epoch` is
    the one that the round counts in, if it counts; `policy` names the law that was played. A reward
    that comes before `reward_until` is never too late; null says that there is no such promise."""

    event_id: str
    action: dict[str, Any]
    mode: str
    propensity: float | None
    density: bool
    epoch: int | None
    policy: str
    reward_until: str | None


class Problem(Struct, omit_defaults=True):
    """An error (RFC 9457): what was expected, what came, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    charges: list[str] = []  # where a budget does not suffice: what it was spent on


class BatchRequest(Struct, forbid_unknown_fields=True):
    """Many decisions at once."""

    decisions: Annotated[list[DecisionRequest], Meta(min_length=1, max_length=MOST_AT_ONCE)]


class BatchItem(Struct):
    """A decision, or why there is none."""

    decision: DecisionAnswer | None = None
    error: Problem | None = None


class BatchAnswer(Struct):
    """One item for each request, in the same order."""

    decisions: list[BatchItem]


class RewardRequest(Struct, forbid_unknown_fields=True):
    """What came of a decision, in the user's units. One outside its range is clipped."""

    value: float


class StudyAnswer(Struct):
    """Where a study stands: public and released facts only. Nothing here depends on how many
    rewards came."""

    name: str
    kind: str
    stage: str
    asked: int
    horizon: int
    epoch: int | None
    epochs: int
    policy: str
    unit: str
    budget: str
    spent: str
    left: str
    actions: list[str]
    contexts: list[str]
    missing: str


class EpochAnswer(Struct):
    """One epoch of a study, as released. `more` holds what else its history says."""

    number: int
    size: int
    asked: int
    stage: str
    opened: float
    closed: float | None
    released: float | None
    play: str
    mean_reward: float | None
    mean_reward_std: float | None
    expected: float | None
    drift: float | None
    guarantee: str | None
    more: dict[str, Any]


class HistoryAnswer(Struct):
    """Every epoch so far."""

    epochs: list[EpochAnswer]


class ChargeAnswer(Struct):
    """One line of a ledger."""

    number: int
    request: str
    kind: str
    cost: float
    created: float
    answered: bool


class LedgerAnswer(Struct):
    """What was spent, what is left, and on what."""

    budget: str
    counted_in: str
    spent: float
    remaining: float
    spent_text: str
    left_text: str
    charges: list[ChargeAnswer]


class AdvanceRequest(Struct, forbid_unknown_fields=True):
    """With `early` an epoch is closed that is not full."""

    early: bool = False


class ReleaseRequest(Struct, forbid_unknown_fields=True):
    """A release spends what was planned, or what is left of it."""


class ValidateRequest(Struct, forbid_unknown_fields=True):
    """Which rounds, and beside what: see `Study.validate`."""

    rounds: int | None = None
    baseline: dict[str, Cell] | None = None
    split: float | None = None


class ExtendRequest(Struct, forbid_unknown_fields=True):
    """So many rounds more, in so many further epochs: see `EpochStudy.extend`."""

    rounds: Annotated[int, Meta(ge=10, le=10_000_000)]
    epochs: Annotated[int, Meta(ge=1, le=1000)] = 1


class WorkAnswer(Struct):
    """Long work: poll its address until it is `done` or `failed`."""

    id: str
    kind: str
    state: str
    progress: str
    result: dict[str, Any] | None
    error: Problem | None


class PlanRequest(Struct, forbid_unknown_fields=True):
    """What a policy will be worth, before any data: the problem as in a problem file, the number of
    rounds and the budget."""

    problem: dict[str, Any]
    rounds: Annotated[int, Meta(ge=10, le=10_000_000)]
    epsilon: Annotated[float, Meta(gt=0, le=100)]
    delta: Annotated[float, Meta(ge=1e-15, le=0.1)] = 1e-6


class PlanAnswer(Struct):
    """The forecast of the planner."""

    forecast: dict[str, Any]
    explanation: str


class OfrepRequest(Struct):
    """An evaluation context of OpenFeature. `targetingKey` is the user of studies that protect
    users, `event_id` the caller's own id of the round, and the rest are contexts."""

    context: dict[str, Any] = {}


class OfrepAnswer(Struct):
    """An evaluated flag. The event id is in its metadata."""

    key: str
    reason: str
    variant: str
    value: Any
    metadata: dict[str, str | float | bool]


class OfrepFailure(Struct, omit_defaults=True):
    """Why a flag was not evaluated."""

    errorCode: str
    errorDetails: str
    key: str = ""


class OfrepBulk(Struct):
    """Every flag."""

    flags: list[dict[str, Any]]
    metadata: dict[str, str | float | bool]


class VersionAnswer(Struct):
    """Versions of what the guarantee rests on."""

    tacit: str
    api: str
    opendp: str


class Ready(Struct):
    """Whether a service takes requests."""

    status: str
