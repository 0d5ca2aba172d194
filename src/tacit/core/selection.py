"""Selection: one public candidate, chosen by exact integer scores on the private sum. See
selection.md.

    u(x) = theta_x' b        theta_x and b integer vectors, theta_x public, b the private sum

Replacing a record moves b by at most 2C in norm, so the scores of two candidates move apart by at
most 2C |theta_x - theta_y|. Only differences between scores matter, hence `sensitivity = C
diameter(theta)`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.contribution import Encoding
from tacit.core.events import Exponential, PermuteAndFlip
from tacit.core.ledger import Ledger
from tacit.core.noise import require_opendp
from tacit.core.sums import PrivateSum
from tacit.errors import InputError

Integers = NDArray[np.int64]
THETA_BITS = 20
SMALLEST_EPSILON = 1e-6
PAIRWISE = 1024  # up to so many candidates the diameter is exact; beyond, twice a radius bounds it


def integer_weights(q: NDArray[np.float64], encoding: Encoding) -> Integers:
    """Candidates' weights as integers whose norm is below 2^20, and small enough that no score
    overflows int64.

    |theta' b| <= |theta| * horizon * C < 2^62. A candidate with a weight that is not finite gets
    weights of zero.
    """
    room = (62 - encoding.bits - encoding.horizon.bit_length()) - 1
    bits = min(THETA_BITS, room)
    if bits < 4 or 2**bits <= 4 * (math.isqrt(q.shape[1]) + 1):
        raise InputError(
            f"a horizon of {encoding.horizon} leaves no room for exact scores at {encoding.bits} "
            "bits: use release()."
        )
    q = np.where(np.isfinite(q).all(axis=1, keepdims=True), q, 0.0)
    largest = float(np.max(np.linalg.norm(q, axis=1), initial=0.0))
    scale = 0.0
    if largest > 0:
        # Rounding adds at most sqrt(columns) / 2 to a norm: leave room for it.
        scale = (2**bits - math.isqrt(q.shape[1]) - 1) / largest
    theta = np.rint(q * scale).astype(np.int64)
    if int(np.max(np.sum(theta * theta, axis=1), initial=0)) >= 4**bits:
        raise InputError(
            "the candidates' weights cannot be scaled: this is a bug, please report it."
        )
    return theta


def sensitivity(theta: Integers, encoding: Encoding) -> int:
    """The smallest integer at least C times the diameter of the candidates' weights (at least 1).

    Twice the distance from any fixed point bounds a diameter; the fixed points tried are 0 (the
    candidate's own norm) and the rounded mean, and up to 1024 candidates the diameter itself.
    """
    if (
        not len(theta)
        or int(np.max(np.abs(theta))) >= 2**THETA_BITS
        or _largest_norm2(theta) >= 4**THETA_BITS
    ):
        raise InputError(
            "candidates must have weights made by integer_weights: their norm must be below 2^20."
        )
    middle = np.rint(theta.mean(axis=0)).astype(np.int64)
    diameter2 = min(4 * _largest_norm2(theta), 4 * _largest_norm2(theta - middle))
    if len(theta) <= PAIRWISE:
        diameter2 = min(diameter2, _diameter2(theta - middle))
    return max(1, math.isqrt(max(0, diameter2 * encoding.bound**2 - 1)) + 1)


def _largest_norm2(theta: Integers) -> int:
    return int(np.max(np.sum(theta * theta, axis=1)))


def _diameter2(theta: Integers) -> int:
    """max |theta_x - theta_y|^2. Entries are below 2^21 and sums below 2^53, so float64 products
    are exact."""
    norm2 = np.sum(theta * theta, axis=1)
    exact = theta.astype(np.float64)
    inner = (exact @ exact.T).astype(np.int64)
    return int(np.max(norm2[:, None] + norm2[None, :] - 2 * inner))


def noisy_max(scores: Integers, event: Exponential | PermuteAndFlip, delta: int) -> int:
    """The index that OpenDP's noisy max picks, by permute-and-flip or by the exponential
    mechanism."""
    measurement = selection_measurement(len(scores), event, delta)
    argument = [int(score) for score in scores]
    if not measurement.input_domain.member(argument):
        raise InputError("the scores are not 64-bit integers: this is a bug, please report it.")
    return int(measurement(argument))


def selection_measurement(size: int, event: Exponential | PermuteAndFlip, delta: int) -> Any:
    """OpenDP's noisy max at the smallest scale, 2 delta / epsilon, that its own privacy map prices
    within `event`."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T="i64"), size=size)
    metric = metrics.linf_distance(T="i64")
    composed = isinstance(event, Exponential)
    if composed:  # under zCDP OpenDP's noisy max is the exponential mechanism
        measure = measures.zero_concentrated_divergence()
        limit = Fraction(event.epsilon) ** 2 / 8
    else:  # under pure DP it is permute-and-flip
        measure = measures.max_divergence()
        limit = Fraction(event.epsilon)
    scale = 2.0 * delta / event.epsilon
    for _ in range(64):
        measurement: Any = measurements.make_noisy_max(domain, metric, measure, scale)
        if Fraction(measurement.map(d_in=delta)) <= limit:
            return measurement
        scale = math.nextafter(scale, math.inf)
    raise InputError(
        "OpenDP and Tacit disagree on what this choice costs: this is a bug, please report it."
    )


def checked(epsilon: float) -> float:
    """The epsilon of one choice, if it is a finite number that is not too small to be priced."""
    if not (
        isinstance(epsilon, int | float) and math.isfinite(epsilon) and epsilon >= SMALLEST_EPSILON
    ):
        raise InputError(
            f"epsilon must be a finite number of at least {SMALLEST_EPSILON}, got {epsilon!r}: try "
            "0.1."
        )
    return float(epsilon)


def release_choice(
    total: PrivateSum,
    theta: Integers,
    epsilon: float,
    ledger: Ledger,
    request: str,
    about: dict[str, Any],
    binding: str = "",
) -> int:
    """Charges `epsilon` for one choice among the candidates, draws it, and returns the stored
    index.

    `binding` is a digest of what the candidates' weights depend on (the visitor's context), so that
    the same request for another visitor is refused.

    A pure budget pays for permute-and-flip, any other for the exponential mechanism, which composes
    better.
    """
    require_opendp(lambda: ledger.stored(request))
    mechanism = PermuteAndFlip if ledger.budget.pure else Exponential
    event = mechanism(checked(epsilon))
    delta = sensitivity(theta, total.encoding)
    stored = ledger.spend(
        request,
        event,
        about | {"unit": total.unit, "candidates": len(theta)},
        draw=lambda: noisy_max(theta @ total._value(), event, delta).to_bytes(8, "little"),
        binding=binding,
        cohort=total.cohort,
        members=total.members(),
    )
    return int.from_bytes(stored, "little")
