"""Prices against exact worst cases: what k releases really are, computed without sampling.

    exponential       two outcomes whose log odds differ by epsilon, at the worst of all odds
    permute-and-flip  two outcomes, even on one side, (1 - e^-epsilon / 2, e^-epsilon / 2) on the
                      other
    Gaussian          the exact profile at mu = sensitivity / scale; k times is sqrt(k) mu

None may be above the epsilon that k times the price converts to, as an account of such releases
counts. The price and the conversion are both on trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import special

from tacit.audit.bounds import gaussian_epsilon
from tacit.audit.findings import Clock, Finding, exact
from tacit.audit.laws import composed_epsilon
from tacit.core import curve as core_curve
from tacit.core.budget import GAUSSIAN, ZCDP, epsilon_of_rho
from tacit.core.events import Event, Exponential, Gaussian, price
from tacit.progress import Progress, silent

Price = Callable[[Event, str], Fraction]
Convert = Callable[[float, float], float]
ODDS = 33  # odds that are tried for the exponential mechanism


def worst_case(event: Event, times: int, delta: float) -> float:
    """The exact epsilon at `delta` of `times` releases on a worst pair of neighbours."""
    if isinstance(event, Gaussian):
        return gaussian_epsilon(math.sqrt(times) * event.sensitivity / event.scale, delta)
    if isinstance(event, Exponential):
        odds = np.linspace(0.0, event.epsilon, ODDS)
        pairs = [(float(special.expit(t)), float(special.expit(t - event.epsilon))) for t in odds]
        return max(composed_epsilon(p, q, times, delta) for p, q in pairs)
    rare = math.exp(-event.epsilon) / 2.0
    return max(
        composed_epsilon(0.5, rare, times, delta), composed_epsilon(1.0 - rare, 0.5, times, delta)
    )


def attack_price(
    name: str,
    *,
    event: Event,
    times: int,
    delta: float,
    price: Price = price,
    convert: Convert | None = None,
    progress: Progress = silent,
) -> Finding:
    """Claim: the epsilon that a ledger's price for so many releases converts to."""
    clock = Clock()
    # An account of Gaussian releases alone is counted by their exact curve, others in zCDP.
    measure = ZCDP
    usual: Convert = epsilon_of_rho
    if isinstance(event, Gaussian):
        measure = GAUSSIAN
        usual = core_curve.gaussian_epsilon
    claimed = (convert or usual)(float(times * price(event, measure)), delta)
    found = worst_case(event, times, delta)
    progress(name, 1, 1)
    about = (
        f"{times} x {type(event).__name__}: the exact epsilon of a worst case, against what the "
        "price converts to"
    )
    return exact(name, claimed, found, delta=delta, clock=clock, about=about)
