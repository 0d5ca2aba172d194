"""Validation epochs: fresh people, the present policy against a baseline, and nothing else.

A coin gives each round to one of the two. The whole budget of these people is spent on what both
earn (see `tacit.evaluation.arms`). The policy stays that of the epoch before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Budget, Cohort, Ledger, PrivateSum, Released
from tacit.design.options import require_rounds
from tacit.errors import InputError
from tacit.evaluation.arms import (
    NO_ARM,
    Arm,
    Comparison,
    arm_entries,
    arm_sum,
    arms_of,
    read_arms,
    release_arms,
)
from tacit.play import PlayLaw
from tacit.study.baselines import baseline_facts
from tacit.study.epoch_store import EpochRow, rewards_of

ARM_OF_MODE = {"exploit": 0, "control": 1}
LEAST_ROUNDS = 10


@dataclass(frozen=True)
class Validation:
    """The terms of a validation epoch: how many rounds, the share that the policy plays, and what
    the others are played by, as `tacit.study.baselines` keeps it."""

    rounds: int
    split: float
    baseline: dict[str, Any]

    @classmethod
    def of(cls, rounds: Any, split: Any, baseline: PlayLaw | None) -> Validation:
        """The terms, or an error that says what is wrong with them."""
        rounds = require_rounds(rounds)
        if rounds < LEAST_ROUNDS:
            raise InputError(
                f"a validation epoch has at least {LEAST_ROUNDS} rounds, got {rounds}: "
                "tacit plan --detect says how many it takes."
            )
        number = isinstance(split, int | float) and not isinstance(split, bool)
        if not number or not 0.0 < split < 1.0:
            raise InputError(
                f"split is the share of rounds that the policy plays, between 0 and 1, got "
                f"{split!r}: write 0.5."
            )
        kept = baseline_facts(baseline)
        if kept is None:
            raise InputError(
                "a validation epoch compares the policy with a baseline: pass baseline=..., since "
                "this study has none of its own."
            )
        return cls(rounds, float(split), kept)

    def facts(self) -> dict[str, Any]:
        return asdict(self)


class RoundArms:
    """Which rounds of an epoch are of which arm. Public: modes are coins.

    Rounds that were asked before the epoch was opened are played by the law before, whose policy is
    another one. They are of no arm, so that both arms are of the same people.
    """

    def __init__(self, epoch: EpochRow, unit: str) -> None:
        self._number = epoch.number
        self._unit = unit
        self._arms: list[int] = []
        self._users: list[Any] = []

    def of(self, rows: Any) -> NDArray[np.intp]:
        """The arms of rounds as they stand in the database; they are counted."""
        found = [
            ARM_OF_MODE.get(row.mode, NO_ARM) if row.epoch == self._number else NO_ARM
            for row in rows
        ]
        self._arms += found
        self._users += [row.user for row in rows]
        return np.array(found, dtype=np.intp)

    @property
    def counted(self) -> tuple[Arm, ...]:
        """What is public of both arms."""
        users = self._users if self._unit == "user" else None
        return arms_of(np.array(self._arms, dtype=np.intp), users)


class ValidationSum:
    """The private sum of the rounds of a validation epoch, and its one release."""

    def __init__(self, epoch: EpochRow, unit: str, cohort: Cohort) -> None:
        self._unit = unit
        self._arms = RoundArms(epoch, unit)
        self._sum: PrivateSum = arm_sum(epoch.size, unit, cohort)

    def add(self, rows: Any, first: int) -> None:
        """Adds rounds as they stand in the database, the first of which has this number."""
        entries = arm_entries(rewards_of(rows), self._arms.of(rows), self._unit)
        users = [row.user for row in rows] if self._unit == "user" else None
        self._sum.add(entries, records=len(entries), users=users, first=first)

    def release(
        self, budget: Budget, ledger: Ledger, request: str, terms: dict[str, Any]
    ) -> Released:
        """SPENDS the budget of these people; the same request returns the same numbers."""
        about = {"validation": terms, "budget": str(budget)}
        return release_arms(self._sum, budget, ledger, request, about)

    def read(self, released: Released, reward_range: Sequence[float]) -> Comparison:
        """What was released, as estimates in the user's units."""
        unit = 2.0**released.bits
        return read_arms(
            released.values / unit,
            released.scale / unit,
            self._arms.counted,
            self._unit,
            reward_range,
        )

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self._arms.counted
