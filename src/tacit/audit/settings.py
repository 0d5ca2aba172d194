"""What is audited: the public settings of a release, by default or of a study."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tacit.audit.bounds import gaussian_epsilon
from tacit.core import Budget, Encoding
from tacit.core.budget import GAUSSIAN
from tacit.core.contribution import DEFAULT_BITS
from tacit.core.release import REPORTING_DELTA
from tacit.core.sums import UNITS_OF_PRIVACY

if TYPE_CHECKING:
    from tacit.design import Design

HORIZON = 4096  # of the small datasets that attacks make up: it only guards against overflow
BUDGET = Budget(epsilon=4.0, delta=1e-6)
LARGEST_CHOICE = 3.0  # above, the events that tell are too rare to be counted


@dataclass(frozen=True)
class Settings:
    """Rank, bits, unit and budget of the mechanisms; `design` adds a study's kernel and clip.

    The defaults are chosen so that evidence is cheap: the same code runs at every epsilon, and an
    epsilon of a few is where the fewest samples tell most.
    """

    rank: int = 20
    bits: int = DEFAULT_BITS
    units: tuple[str, ...] = tuple(UNITS_OF_PRIVACY)
    budget: Budget = BUDGET
    choice: float = 2.0
    design: Design | None = None
    measure: str = GAUSSIAN  # what the account counts

    @classmethod
    def of_study(cls, url: str) -> Settings:
        """The settings of a study. Its design and its ledger's budget are read; its rounds are
        not."""
        from tacit.study import Study

        study = Study.open(url)
        design = replace(study.design, cohort=None)  # attacked by made-up people, of no epoch
        budget = study.ledger.budget
        # The largest choice that the budget pays for: one of epsilon costs rho = epsilon^2 / 8.
        most = budget.epsilon
        if not budget.pure:
            most = math.sqrt(8.0 * budget.zcdp)
        assert most is not None
        return cls(
            rank=design.rank,
            bits=design.encoding.bits,
            units=(design.unit,),
            budget=budget,
            choice=min(most, LARGEST_CHOICE),
            design=design,
            measure=study.ledger.accounts()[-1].measure,
        )

    def encoding(self, size: int | None = None) -> Encoding:
        """Of so many coordinates, or as many as the rank."""
        return Encoding(size=size or self.rank, horizon=HORIZON, bits=self.bits)

    @property
    def delta(self) -> float:
        """At which rho is shown as epsilon."""
        return self.budget.delta or REPORTING_DELTA

    @property
    def rho(self) -> float:
        """Of one Gaussian release that spends the whole budget: mu = sqrt(2 rho) = sensitivity /
        scale."""
        return self.budget.amount(self.measure)

    def designs(self, unit: str) -> tuple[Design, ...]:
        """Whose records are attacked: the study's, or made-up ones with one and with several
        columns of contexts.

        A study for few rounds has no room for a crowd: it is attacked as if it were for more.
        """
        from tacit.audit.made_up import made_up_designs

        if self.design is None:
            return made_up_designs(unit)
        return (replace(self.design, horizon=max(self.design.horizon, HORIZON)),)

    def epsilon_if_moved(self, ratio: float) -> float:
        """What the release would really be, if one record moved the sum `ratio` times as far as is
        claimed."""
        if self.budget.pure:
            return self.choice * ratio
        return gaussian_epsilon(ratio * math.sqrt(2.0 * self.rho), self.delta)
