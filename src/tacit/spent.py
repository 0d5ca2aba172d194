"""What was spent, as epsilon and in words: for people who have to answer for it."""

from __future__ import annotations

import math
from functools import lru_cache

from tacit.core import Account, Budget
from tacit.core.budget import GAUSSIAN, PURE, UNITS, epsilon_of_rho
from tacit.core.curve import gaussian_epsilon
from tacit.core.release import REPORTING_DELTA


def spent_epsilon(account: Account, budget: Budget) -> float:
    """All charges of an account together as epsilon, at the budget's delta (1e-6 where it has
    none)."""
    return as_epsilon(account.spent / UNITS, account.measure, budget)


def as_epsilon(amount: float, measure: str, budget: Budget) -> float:
    """An amount of an account as epsilon. Amounts add up, epsilons of parts do not."""
    if not amount or measure == PURE:
        return amount
    return _converted(amount, measure, budget.delta or REPORTING_DELTA)


@lru_cache(maxsize=4096)
def _converted(amount: float, measure: str, delta: float) -> float:
    """Found by bisection, so it is remembered: the accounts of a study spend the same."""
    convert = gaussian_epsilon if measure == GAUSSIAN else epsilon_of_rho
    return convert(amount, delta)


def coin_toss(epsilon: float) -> str:
    """What a coin toss between two records becomes at most: "73 : 27" at epsilon = 1."""
    right = 100.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
    digits = 0 if right < 99.0 else 2
    shown = round(right, digits)
    return f"{shown:.{digits}f} : {100.0 - shown:.{digits}f}"


def odds_factor(epsilon: float) -> str:
    """How much the odds of any suspicion may grow: e^epsilon."""
    return f"{math.exp(min(epsilon, 700.0)):.3g}"
