"""How a design is built, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.errors import InputError
from tacit.kernels.pooled import checked_weights
from tacit.numerics.engine import Engine

# Expected standard deviations of the reward function and of rewards around it, in units of half
# the reward range.
SIGNAL = 0.3
NOISE = 0.3


@dataclass(frozen=True, eq=False)
class DesignOptions:
    """Choices of a design. What is left out is chosen by predicted accuracy.

    | option | what it is |
    |---|---|
    | `rank` | the largest number of landmarks; 500, or up to 1000 for far more rounds |
    | `tau` | a ridge: influences of the first pass are then the paper's |
    | `clip` | the largest influence of a record; `math.inf` is the paper's, without a clip |
    | `context_share` | of the budget, to count contexts: 0.15, or 0.05 to check a generator |
    | `signal` | a guess of the standard deviation of the reward function, in half reward ranges |
    | `noise` | a guess of the standard deviation of rewards around it, in the same unit |
    | `max_weight` | of a record of a log with propensities: rarer actions count with this weight |
    | `pooling` | weights of a pooled kernel's parts that the design is made for; by the budget |
    | `plain` | release USCA's own statistic and nothing else, in one pass |
    | `seed` | of the design's public coins; drawn by the operating system otherwise |
    | `device` | where products are computed: "cuda" for a GPU, NumPy otherwise |
    | `landmarks` | for experts: the landmarks, in unit coordinates |
    | `public_points` | for experts: public points in unit coordinates, or how many to draw |
    | `unknown` | for experts: the covariance of the weights of what records add, if it is known |
    | `columns` | for experts: probabilities of the cells of each column, if only counts tell them |

    >>> options = tacit.DesignOptions(rank=200, signal=0.1)
    """

    rank: int | None = None
    tau: float | None = None
    clip: float | None = None
    context_share: float | None = None
    signal: float = SIGNAL
    noise: float = NOISE
    max_weight: float | None = None
    pooling: Sequence[float] | None = None
    plain: bool = False
    seed: int | None = None
    device: str | Engine | None = None
    landmarks: Floats | None = None
    public_points: Floats | int | None = None
    unknown: Floats | None = None
    columns: Sequence[Floats] | None = None

    def __post_init__(self) -> None:
        if self.rank is not None and (not _whole(self.rank) or self.rank < 1):
            raise InputError(f"rank must be a whole number of at least 1, got {self.rank!r}.")
        for name in ("tau", "clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be positive, got {value!r}.")
        for name in ("signal", "noise"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise InputError(
                    f"{name} must be positive, got {value!r}: it is a standard deviation, and 1 is "
                    "half the reward range."
                )
        if self.context_share is not None and not 0 <= self.context_share < 0.9:
            raise InputError(
                f"context_share must be in [0, 0.9), got {self.context_share!r}: it is a share of "
                "the budget."
            )
        if self.pooling is not None:
            object.__setattr__(self, "pooling", checked_weights(self.pooling))
        if self.max_weight is not None and not 1 <= self.max_weight < np.inf:
            raise InputError(
                f"max_weight must be at least 1, got {self.max_weight!r}: an action that is played "
                "as often as in uniform play has weight 1."
            )
        if self.seed is not None and (not _whole(self.seed) or self.seed < 0):
            raise InputError(f"seed must be a whole number of at least 0, got {self.seed!r}.")

    def coins(self) -> np.random.Generator:
        """The generator of the public coins: seeded, or from the operating system."""
        return np.random.default_rng(self.seed)


def require_rounds(horizon: Any) -> int:
    """A number of rounds as one of Python's integers (NumPy's cannot be written as JSON); anything
    else is an error."""
    if not _whole(horizon) or horizon < 1:
        raise InputError(
            f"horizon must be a whole number of rounds of at least 1, got {horizon!r}: pass an "
            "int, such as 5000."
        )
    return int(horizon)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
