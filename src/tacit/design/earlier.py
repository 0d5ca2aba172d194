"""A second look at the same people: what an earlier release said, so that records only tell what it got wrong.

    b2 = sum_i q_s(w_i) clip((y_i - f1(w_i)) / r, -1, 1)

Residuals are smaller than rewards: at the same budget there is `r` times as much privacy noise, and less noise from who
happened to come. Both releases are linear in the reward function, so what they say about it adds up.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.core import Guarantee
from tacit.tables import Floats

REACH = 1.5  # residuals are clipped at so many of their expected standard deviations
LARGEST_REACH = 2.0  # rewards and their means are in [-1, 1]


def reach_for(error: float, noise: float) -> float:
    """Where to clip residuals, given the standard deviations of what is not learned yet and of the rewards around it.

    Measured: closer is better where privacy noise is what hurts, until at one deviation too much is cut off.
    """
    return min(LARGEST_REACH, REACH * math.hypot(error, noise))


@dataclass(frozen=True, eq=False)
class Seen:
    """What releases say about f = phi' theta:  z = A theta + unit noise."""

    A: Floats
    z: Floats

    def __add__(self, other: Seen) -> Seen:
        """Both, in as many rows as one: rotating observations of unit noise changes nothing."""
        Q, R = np.linalg.qr(np.vstack([self.A, other.A]))
        return Seen(R, Q.T @ np.concatenate([self.z, other.z]))


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier policy on the same landmarks, f1(w) = k_U(w)' weights, and how far rewards are expected from it."""

    weights: Floats
    reach: float  # r: where residuals are clipped, in units of half the reward range
    seen: Seen
    guarantee: Guarantee

    def arrays(self) -> dict[str, Floats]:
        """What has to be kept to have this again."""
        return {"earlier_weights": self.weights, "earlier_seen": self.seen.A, "earlier_z": self.seen.z}

    def facts(self) -> dict[str, Any]:
        """The rest of it, as plain data."""
        return {"reach": self.reach, "guarantee": asdict(self.guarantee)}

    @classmethod
    def restore(cls, facts: dict[str, Any], arrays: dict[str, Floats]) -> Earlier:
        """The inverse of `facts()` and `arrays()`."""
        seen = Seen(arrays["earlier_seen"], arrays["earlier_z"])
        return cls(arrays["earlier_weights"], facts["reach"], seen, Guarantee(**facts["guarantee"]))
