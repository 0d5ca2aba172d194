"""Budgets, and the conversions between the three ways of stating one.

    eps           pure, delta = 0
    rho-zCDP      Renyi divergence of every order a at most a * rho
    (eps, delta)  follows from rho: for Gaussian releases alone by their exact curve (`curve.py`),
                  for any others by Canonne, Kamath and Steinke (2020), Corollary 13

Every function that turns one into the other errs on the side of privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.core.curve import gaussian_epsilon, gaussian_rho
from tacit.core.search import largest
from tacit.errors import InputError

# What a ledger may count: epsilon, rho of releases of any kind, rho of Gaussian releases alone.
PURE = "pure"
ZCDP = "zcdp"
GAUSSIAN = "gaussian"
UNITS = 1 << 40  # budgets are counted in whole units of 2^-40
SLACK = 1e-12  # relative safety margin for double rounding in the conversions below


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The smallest `epsilon` for which every rho-zCDP mechanism is known to be `(epsilon,
    delta)`-DP.

    eps = min over a > 1 of  a rho + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1)

    Any order `a` gives a true statement, so an inexact minimum is still a guarantee.
    """
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return math.inf

    def at(t: float) -> float:
        x = math.exp(t)  # the order is 1 + x; written so that nothing cancels
        return rho + x * rho + t - math.log1p(x) - (math.log(delta) + math.log1p(x)) / x

    # Golden-section search over log(order - 1), wide enough for every rho and delta.
    low = -30.0
    high = 60.0
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(200):
        left = high - golden * (high - low)
        right = low + golden * (high - low)
        if at(left) <= at(right):
            high = right
        else:
            low = left
    return max(0.0, at((low + high) / 2.0) * (1.0 + SLACK) + SLACK)


@lru_cache
def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """The largest `rho` (up to rounding, never above it) with `epsilon_of_rho(rho, delta) <=
    epsilon`."""
    return largest(lambda rho: epsilon_of_rho(rho, delta) <= epsilon)


def _whole_units(amount: float, share: float) -> float:
    """The share of an amount, rounded down to whole units of 2^-40."""
    units = math.floor(math.floor(Fraction(amount) * UNITS) * Fraction(share))
    if units < 1:
        raise InputError(
            f"a budget of {share * amount:g} is too small to be counted: the unit is 2^-40."
        )
    return units / UNITS


@dataclass(frozen=True)
class Budget:
    """How much privacy may be spent: `Budget(epsilon, delta)`, `Budget(epsilon)` (pure) or
    `Budget(rho=...)` (zCDP).

    `share` makes it a part of such a budget, for one of several releases that spend it together.

    >>> budget = tacit.Budget(epsilon=1.0, delta=1e-6)
    >>> str(budget)
    'epsilon=1, delta=1e-06'
    >>> tacit.Budget(epsilon=1.0).pure
    True
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise InputError(
                "a Budget needs either epsilon or rho, and not both: "
                "write Budget(epsilon=1.0, delta=1e-6) or Budget(rho=0.02)."
            )
        name = "epsilon" if self.rho is None else "rho"
        amount = getattr(self, name)
        if not (isinstance(amount, int | float) and amount > 0 and math.isfinite(amount)):
            raise InputError(
                f"{name} must be a positive finite number, got {amount!r}: try {name}=1.0."
            )
        if not (isinstance(self.delta, int | float) and 0 <= self.delta < 1):
            raise InputError(f"delta must be in [0, 1), got {self.delta!r}: try delta=1e-6.")
        if self.rho is not None and self.delta:
            raise InputError(
                "a Budget stated as rho takes no delta: use Budget.as_epsilon(delta) to convert it."
            )
        if not (isinstance(self.share, int | float) and 0 < self.share <= 1):
            raise InputError(
                f"share must be above 0 and at most 1, got {self.share!r}: try share=0.5."
            )

    @property
    def pure(self) -> bool:
        """Whether this is a pure epsilon budget, which no Gaussian noise can satisfy."""
        return self.rho is None and self.delta == 0

    @property
    def measure(self) -> str:
        """What a new ledger with this budget counts, until a single decision comes first."""
        if self.pure:
            return PURE
        return GAUSSIAN if self.rho is None else ZCDP

    def amount(self, measure: str) -> float:
        """The budget in a measure, rounded down to whole units of the ledger."""
        if self.pure and measure == PURE:
            assert self.epsilon is not None
            return _whole_units(self.epsilon, self.share)
        if measure == GAUSSIAN:
            return self.gaussian
        return self.zcdp

    @property
    def zcdp(self) -> float:
        """The rho that releases of any kind may add up to."""
        if self.rho is not None:
            return _whole_units(self.rho, self.share)
        return _whole_units(rho_of_epsilon(*self._approximate), self.share)

    @property
    def gaussian(self) -> float:
        """The rho = mu^2 / 2 that Gaussian releases may add up to where there are no others. A
        little more than `zcdp`, because their exact curve is known."""
        if self.rho is not None:
            return self.zcdp
        return _whole_units(gaussian_rho(*self._approximate), self.share)

    @property
    def _approximate(self) -> tuple[float, float]:
        """epsilon and delta, if this budget has both."""
        if self.pure:
            raise InputError(
                f"a pure budget of epsilon={self.epsilon} (delta=0) cannot pay for Gaussian noise: "
                "add a delta, for example Budget(epsilon=1.0, delta=1e-6)."
            )
        assert self.epsilon is not None
        return self.epsilon, self.delta

    def as_epsilon(self, delta: float) -> float:
        """The `epsilon` this budget stands for at another `delta`, whatever kind of release it is
        spent on."""
        if not 0 < delta < 1:
            raise InputError(f"delta must be in (0, 1), got {delta!r}: try 1e-6.")
        return max(epsilon_of_rho(self.zcdp, delta), gaussian_epsilon(self.gaussian, delta))

    def __str__(self) -> str:
        part = "" if self.share == 1 else f"{100 * self.share:g} % of "
        if self.rho is not None:
            return f"{part}rho={self.rho:g}"
        if self.pure:
            return f"{part}epsilon={self.epsilon:g} (pure)"
        return f"{part}epsilon={self.epsilon:g}, delta={self.delta:g}"


@dataclass(frozen=True)
class Guarantee:
    """What a policy promises, in numbers and in words. Every policy carries one.

    >>> text = str(policy.guarantee)  # of any policy
    >>> text.split(" differential privacy")[0]
    '(1, 1e-06)-joint'
    """

    rho: float
    epsilon: float
    delta: float
    private: bool
    unit: str
    relation: str
    mechanism: str = "discrete Gaussian on an integer sum"

    def __str__(self) -> str:
        if not self.private:
            return (
                "NOT PRIVATE: simulated with a seed, so anybody who knows the seed can remove the "
                "noise."
            )
        return (
            f"({self.epsilon:.4g}, {self.delta:.3g})-joint differential privacy per {self.unit} "
            f"(mu = {math.sqrt(2.0 * self.rho):.4g} Gaussian DP, so rho = {self.rho:.4g} zCDP; "
            f"neighbours: {self.relation}; {self.mechanism})."
        )
