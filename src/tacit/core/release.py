"""The release: charge the ledger, draw the noise, store the result, and return what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.budget import GAUSSIAN, Budget, Guarantee
from tacit.core.cohorts import Cohort
from tacit.core.contribution import Encoding
from tacit.core.curve import gaussian_epsilon
from tacit.core.events import Gaussian, price
from tacit.core.ledger import Ledger
from tacit.core.noise import (
    discrete_gaussian,
    gaussian_scale,
    require_opendp,
    simulated_gaussian,
)
from tacit.core.parts import Part
from tacit.core.sums import PrivateSum

RELATIONS = {
    "record": "replace one round's context and reward",
    "user": "replace the contexts and rewards of all rounds of one user",
}
# Of people in cohorts, who may be played by what was released of others: actions are private too.
COHORT_RELATIONS = {
    "record": "replace one round's context, action and reward; each person counts in one epoch",
    "user": "replace the contexts, actions and rewards of all rounds of one user; each person "
    "counts in one epoch",
}
# Of people in parts of a log, who were played before anything was released of the others.
PART_RELATIONS = {
    "record": f"{RELATIONS['record']}; each round counts in one part",
    "user": f"{RELATIONS['user']}; each user counts in one part",
}
REPORTING_DELTA = 1e-6  # at which a budget stated as rho is also shown as (epsilon, delta)


@dataclass(frozen=True, eq=False)
class Released:
    """The noisy sum and the public facts that are needed to read it. All of it may be published."""

    values: NDArray[np.int64]
    scale: float
    records: int
    bits: int
    guarantee: Guarantee
    receipt: dict[str, Any] | None = None


def relation_of(unit: str, cohort: Cohort | None) -> str:
    """In what neighbours differ, in words: for everybody, in epochs, or in parts of a log."""
    if cohort is None:
        return RELATIONS[unit]
    if Part.of(cohort) is None:
        return COHORT_RELATIONS[unit]
    return PART_RELATIONS[unit]


def guarantee_of(budget: Budget, rho: float, total: PrivateSum, private: bool) -> Guarantee:
    """What Gaussian noise worth `rho` promises to whoever is in the sum, at the budget's delta."""
    delta = budget.delta or REPORTING_DELTA
    return Guarantee(
        rho=rho,
        epsilon=gaussian_epsilon(rho, delta),
        delta=delta,
        private=private,
        unit=total.unit,
        relation=relation_of(total.unit, total.cohort),
    )


def release_event(encoding: Encoding, budget: Budget, measure: str = GAUSSIAN) -> Gaussian:
    """The noise that spends all of `budget` on one release, priced in this measure."""
    scale = gaussian_scale(encoding.sensitivity, budget.amount(measure), measure)
    return Gaussian(encoding.sensitivity, scale)


def release_gaussian(
    total: PrivateSum, budget: Budget, ledger: Ledger, request: str, about: dict[str, Any]
) -> Released:
    """The sum with discrete Gaussian noise: `rho = Delta^2 / (2 sigma^2)`, charged before it is
    drawn.

    `about` is public and becomes part of the request: the same id with another `about` is refused.
    The sum of a cohort is charged to that cohort's account.
    """
    require_opendp(lambda: ledger.stored(request))
    measure = ledger.account(total.cohort).measure
    event = release_event(total.encoding, budget, measure)
    # The guarantee is stated by the curve of Gaussian noise. Where the account counts in zCDP, the
    # noise was not enlarged by r^2, so its rho on that curve is a little larger.
    stated = max(budget.amount(measure), float(price(event, GAUSSIAN)))
    stored = ledger.spend(
        request,
        event,
        about | {"records": total.records, "unit": total.unit},
        draw=lambda: discrete_gaussian(total._value(), event).astype("<i8").tobytes(),
        cohort=total.cohort,
        members=total.members(),
    )
    values = np.frombuffer(stored, dtype="<i8").astype(np.int64)
    promise = guarantee_of(budget, stated, total, private=True)
    return Released(
        values, event.scale, total.records, total.encoding.bits, promise, ledger.receipt(request)
    )


def simulate_gaussian(total: PrivateSum, budget: Budget, rng: np.random.Generator) -> Released:
    """A release as it might look, with noise from a seeded generator. Marked as not private;
    charges nothing."""
    scale = release_event(total.encoding, budget).scale
    values = simulated_gaussian(total._value(), scale, rng)
    promise = guarantee_of(budget, budget.gaussian, total, private=False)
    return Released(values, scale, total.records, total.encoding.bits, promise)
