"""Noise: OpenDP's exact discrete Gaussian for releases, NumPy's generator for simulations, which
are marked as not private."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.budget import GAUSSIAN, ZCDP
from tacit.core.events import ROUNDING_SCALE, Gaussian, price
from tacit.errors import DISTRIBUTION, InputError, MissingExtraError


def gaussian_scale(sensitivity: int, rho: float, measure: str = GAUSSIAN) -> float:
    """The smallest double `sigma` (up to an ulp) that costs at most `rho` in this measure, checked
    in rationals.

    sigma^2 = Delta^2 / (2 rho), plus r^2 where discrete noise is compared with continuous noise
    (gaussian.md).
    """
    extra = ROUNDING_SCALE if measure == GAUSSIAN else 0
    scale = math.hypot(sensitivity / math.sqrt(2.0 * rho), extra)
    while price(Gaussian(sensitivity, scale), measure) > Fraction(rho):
        scale = math.nextafter(scale, math.inf)
    return scale


def require_opendp(stored: Callable[[], bytes | None]) -> None:
    """Fails where there is no source of noise, before anything is charged for it. What was drawn
    before, and is `stored`, needs none."""
    try:
        import opendp.measurements  # noqa: F401
    except ImportError:
        if stored() is None:
            raise MissingExtraError(
                "releases need OpenDP, which a slim installation lacks: pip install "
                f"{DISTRIBUTION}."
            ) from None


def gaussian_measurement(size: int, scale: float) -> Any:
    """OpenDP's discrete Gaussian on `size` int64 values under the L2 distance, priced in zCDP."""
    # Not opendp.prelude: it loads scikit-learn and pandas where they are installed, for seconds.
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T="i64"), size=size)
    return measurements.make_gaussian(domain, metrics.l2_distance(T="i64"), scale)


def discrete_gaussian(total: NDArray[np.int64], event: Gaussian) -> NDArray[np.int64]:
    """`total` plus discrete Gaussian noise from a cryptographic generator.

    OpenDP's own privacy map must agree with our price, and its domain must hold the argument:
    OpenDP 0.16 checks neither when it is called.
    """
    measurement = gaussian_measurement(len(total), event.scale)
    argument = [int(value) for value in total]
    if not measurement.input_domain.member(argument):
        raise InputError(
            f"the sum is not a vector of {len(total)} 64-bit integers: this is a bug, please "
            "report it."
        )
    if not math.isclose(measurement.map(d_in=event.sensitivity), price(event, ZCDP), rel_tol=1e-9):
        raise InputError(
            "OpenDP and Tacit disagree on what this noise costs: this is a bug, please report it."
        )
    return np.asarray(measurement(argument), dtype=np.int64)


def simulated_gaussian(
    total: NDArray[np.int64], scale: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Rounded Gaussian noise from a seeded generator. NOT PRIVATE: for simulations only."""
    noise = np.rint(rng.normal(0.0, scale, size=len(total)))
    return total + noise.astype(np.int64)
