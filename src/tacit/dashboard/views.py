"""What pages show of a study: public and released facts as plain values. Nothing here depends on
how many rewards came, and nothing is spent by looking."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from tacit.charts.formatting import number
from tacit.core.ledger import Ledger
from tacit.report.sentences import question
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy
from tacit.spent import coin_toss, odds_factor, spent_epsilon
from tacit.study import Epoch, EpochStudy, Study, StudyState

NORMAL_95 = 1.96
FEWEST = 10  # rounds after which there is a pace
DAY = 86_400.0


@dataclass(frozen=True)
class Spent:
    """What was spent per person, and what it means."""

    epsilon: float
    delta: float
    cap: str
    text: str
    left: str

    @property
    def coin(self) -> str:
        return coin_toss(self.epsilon)

    @property
    def odds(self) -> str:
        return odds_factor(self.epsilon)

    @classmethod
    def of(cls, ledger: Ledger) -> Spent:
        """The most that any one person has paid."""
        accounts = ledger.accounts()
        least = min(accounts, key=lambda account: account.remaining)
        spent, left = least.texts(ledger.budget)
        epsilon = max(spent_epsilon(account, ledger.budget) for account in accounts)
        return cls(epsilon, ledger.budget.delta, str(ledger.budget), spent, left)


@dataclass(frozen=True)
class Pace:
    """When an epoch will be full if people keep coming as they did since it was opened."""

    per_day: float
    expected: float  # seconds since 1970
    low: float
    high: float | None  # None where it may be never

    @classmethod
    def of(cls, epoch: Epoch, now: float) -> Pace | None:
        """None where it is full already, or where too few came to tell."""
        left = epoch.size - epoch.asked
        passed = now - epoch.opened
        if left <= 0 or epoch.asked < FEWEST or passed <= 0 or epoch.closed is not None:
            return None
        each = passed / epoch.asked
        error = NORMAL_95 / math.sqrt(epoch.asked)
        high = now + left * each / (1 - error) if error < 1 else None
        return cls(DAY / each, now + left * each, now + left * each / (1 + error), high)


@dataclass(frozen=True)
class Standing:
    """Where something that is served stands."""

    name: str
    kind: str  # "epochs", "study" or "policy"
    question: str
    unit: str
    state: StudyState | None
    epochs: list[Epoch]
    planned: int
    missing: str
    spent: Spent | None
    released: str | None  # the name of the policy that was released last
    released_at: float | None
    guarantee: str
    first_control: float | None = (
        None  # the baseline's share of the first epoch, if all others explored
    )

    @property
    def present(self) -> Epoch | None:
        return self.epochs[-1] if self.epochs else None

    @property
    def stage(self) -> str:
        if self.state is None:
            return "a released policy"
        return self.state.stage

    @property
    def asked_share(self) -> float:
        if self.state is None or not self.state.horizon:
            return 0.0
        return min(1.0, self.state.asked / self.state.horizon)


def standing_of(served: Served) -> Standing:
    """Looks at a study, or at a policy alone. Free."""
    asking = question(served.problem)
    released = served.released
    name = None if released is None else released.name
    if not isinstance(served, ServedStudy):
        promise = str(_guarantee(released)) if released is not None else ""
        return Standing(
            served.name, "policy", asking, "record", None, [], 0, "", None, name, None, promise
        )
    study = served.study
    epochs = study.history if isinstance(study, EpochStudy) else []
    times = [epoch.released for epoch in epochs if epoch.released is not None]
    state = study.state
    promise = str(_guarantee(released)) if released is not None else ""
    return Standing(
        name=served.name,
        kind="epochs" if isinstance(study, EpochStudy) else "study",
        question=asking,
        unit=state.unit,
        state=state,
        epochs=epochs,
        planned=state.epochs,
        missing=study.missing if isinstance(study, EpochStudy) else _missing(state),
        spent=Spent.of(study.ledger),
        released=name,
        released_at=max(times) if times else _charged(study, state),
        guarantee=promise,
        first_control=_first_control(study),
    )


def _first_control(study: Study) -> float | None:
    """The share of the baseline in the first epoch, if the rest of it was played uniformly."""
    if not isinstance(study, EpochStudy):
        return None
    shares = study._releases.law(1).shares
    return shares.control if shares.explore + shares.control > 1.0 - 1e-9 else None


def _guarantee(released: Any) -> Any:
    policy = released.policy
    return policy.guarantee if hasattr(policy, "guarantee") else policy.policy.guarantee


def _missing(state: StudyState) -> str:
    if state.released:
        return "it was released"
    if state.asked < state.horizon and not state.closed:
        return f"{state.asked:,} of {state.horizon:,} rounds were asked"
    return ""


def _charged(study: Study, state: StudyState) -> float | None:
    """When a study of one release was released."""
    if not state.released:
        return None
    return max((charge.created for charge in study.ledger.charges()), default=None)


@dataclass(frozen=True)
class Saved:
    """What the rounds after the first epoch earned beyond uniform play, with a 95 % interval."""

    value: float
    low: float
    high: float
    rounds: int
    per_round: float

    @classmethod
    def of(cls, epochs: list[Epoch], control: float | None) -> Saved | None:
        """By released mean rewards: the first epoch explored, so that it tells what uniform play
        earns once the baseline's share of it is taken off. None before a second epoch was
        released, or where the first one did not explore."""
        told = [
            (epoch.size, epoch.mean_reward, epoch.mean_reward_std or 0.0)
            for epoch in epochs
            if epoch.mean_reward is not None and epoch.kind == "learning"
        ]
        if len(told) < 2 or control is None:
            return None
        _, uniform, uniform_std = told[0]
        base = epochs[0].baseline_value
        if control and base is not None:
            rest = 1.0 - control
            uniform = (uniform - control * base.value) / rest
            uniform_std = math.hypot(uniform_std, control * base.std) / rest
        rounds = sum(size for size, _, _ in told[1:])
        value = sum(size * (mean - uniform) for size, mean, _ in told[1:])
        variance = sum((size * std) ** 2 for size, _, std in told[1:]) + (rounds * uniform_std) ** 2
        half = NORMAL_95 * math.sqrt(variance)
        return cls(value, value - half, value + half, rounds, value / rounds)


def reward_text(value: float, low: float, high: float, span: float) -> str:
    """A reward with its interval."""
    shown = [number(each, 0.1 * span) for each in (value, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def now() -> float:
    return time.time()
