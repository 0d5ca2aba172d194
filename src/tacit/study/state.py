"""What anybody may know of a study without spending anything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StudyState:
    """Where a study stands. Public: nothing here depends on how many rewards came.

    | field | what it is |
    |---|---|
    | `asked`, `horizon` | rounds asked, and the most that can be |
    | `budget` | what may be spent in all, as text |
    | `release_budget` | what the release spent, or would spend now, as text |
    | `counted_in` | what the ledger counts: "rho" or "epsilon" |
    | `spent`, `remaining` | how much of it, by the release and by single decisions together |
    | `spent_text`, `left_text` | the same in the words of the budget |
    | `closed` | a release was begun: no more rounds are asked |
    | `released` | the policy is there: `Study.release` returns it free of charge |
    | `unit` | who is protected: one "record", or one "user" with all of their records |
    | `passes` | how often the release reads, or has read, the rounds |
    | `planned_passes` | the same as it was planned: decisions may have left nothing for some |
    | `epoch`, `epochs` | of a study in epochs, the present one, and how many are planned |
    """

    asked: int
    horizon: int
    budget: str
    release_budget: str
    counted_in: str
    spent: float
    remaining: float
    spent_text: str
    left_text: str
    closed: bool
    released: bool
    unit: str
    passes: int
    planned_passes: int
    epoch: int | None = None
    epochs: int = 1

    @property
    def stage(self) -> str:
        """In one word or two: open, closed or released; or the epoch."""
        if self.epoch is not None and not self.released:
            return f"epoch {self.epoch} of {self.epochs}"
        if self.released:
            return "released"
        return "closed, not yet released" if self.closed else "open"

    def __str__(self) -> str:
        return f"{self.stage}, {self.asked} of {self.horizon} rounds asked, {self.budget}"
