"""A second pass at the same people: what an earlier release said, so that records only tell what it
got wrong.

    b2 = sum_i q_s(w_i) clip((y_i - m - f1(w_i)) / r, -1, 1)        m: the level of rewards, where
    f1 is an advantage

Residuals are smaller than rewards: at the same budget there is `r` times as much privacy noise, and
less noise from who happened to come. Both releases are linear in the reward function, so what they
say about it adds up.

Where rewards are so noisy that residuals would hardly be smaller, records tell their rewards once
more (f1 = 0, r = 1): two releases of one thing are worth as much as one for the whole budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tacit._typing import Floats
from tacit.core import Guarantee, Released
from tacit.numerics import linalg

if TYPE_CHECKING:
    from tacit.design.design import Design

REACH = 1.5  # residuals are clipped at so many of their expected standard deviations
WORTHWHILE = 0.9  # residuals that reach farther than this are not worth it
WHOLE = (1.0, 1.0)  # rewards that are not compared with anything: none is clipped, all is left


def reach_for(error: float, noise: float, level: float = 0.0) -> tuple[float, float]:
    """Where to clip residuals and what that leaves of a small shift, given the standard deviations
    of what is not learned yet and of the rewards around it. `WHOLE` where rewards had better not be
    compared.

    Measured: closer is better where privacy noise is what hurts, until at one deviation too much is
    cut off. Rewards that are not compared have their `level` as noise too, where only advantages
    are learned.
    """
    reach = REACH * math.hypot(error, noise)
    return (reach, clipping(REACH)[0]) if reach < WORTHWHILE * math.hypot(1.0, level) else WHOLE


def clipping(deviations: float) -> tuple[float, float]:
    """What clipping at so many standard deviations leaves of a normal residual: of a small shift,
    and of its square."""
    inside = math.erf(deviations / math.sqrt(2.0))
    density = math.exp(-(deviations**2) / 2.0) / math.sqrt(2.0 * math.pi)
    return inside, inside - 2.0 * deviations * density + deviations**2 * (1.0 - inside)


def shared_noise(c: tuple[float, float], energy: tuple[Floats, Floats]) -> Floats:
    """The covariance of the noise in both passes, to which the same people came with the same noise
    in their rewards.

    `c` are the mean squares of what records add, `energy` is n E[q q'] of each pass. It is E[y (y -
    f1)] n E[q1 q2']. The first factor is the mean square of the residual, which is what is left of
    the reward. Influences of both passes have the same eigenvectors, up to clipping, and then the
    second is the product of the roots of their energies.
    """
    square = min(c[1], 0.98 * math.sqrt(c[0] * c[1]))
    return square * linalg.root(energy[0]) @ linalg.root(energy[1])


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier release on the same landmarks, the policy m + f1(w) = m + k_U(w)' weights that
    came of it, and how far rewards are expected from that."""

    weights: Floats
    level: float  # m
    reach: float  # r: where residuals are clipped, in units of half the reward range
    gain: float  # what clipping leaves of the difference between the reward function and f1
    guarantee: Guarantee
    design: Design
    released: Released

    def arrays(self) -> dict[str, Floats]:
        """What has to be kept to have this again."""
        mine: dict[str, Any] = {"weights": self.weights, "values": self.released.values}
        return {f"earlier_{name}": array for name, array in (mine | self.design.arrays()).items()}

    def facts(self) -> dict[str, Any]:
        """The rest of it, as plain data."""
        released = {name: getattr(self.released, name) for name in ("scale", "records", "bits")}
        kept = {
            "level": self.level,
            "reach": self.reach,
            "gain": self.gain,
            "guarantee": asdict(self.guarantee),
            "design": self.design.facts(),
        }
        return kept | {"released": released}

    @classmethod
    def restore(
        cls, restore: Callable[..., Design], facts: dict[str, Any], arrays: dict[str, Floats]
    ) -> Earlier:
        """The inverse of `facts()` and `arrays()`; `restore` makes the earlier design from its own."""
        mine: dict[str, Any] = {
            name.removeprefix("earlier_"): array
            for name, array in arrays.items()
            if name.startswith("earlier_")
        }
        promise = Guarantee(**facts["guarantee"])
        released = Released(values=mine["values"], guarantee=promise, **facts["released"])
        return cls(
            mine["weights"],
            facts["level"],
            facts["reach"],
            facts["gain"],
            promise,
            restore(facts["design"], mine),
            released,
        )
