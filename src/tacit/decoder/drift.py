"""Reward functions that change between epochs.

From one epoch to the next the weights of the reward function are

    theta' = lambda theta + sqrt(1 - lambda^2) N(0, v P)

where N(0, v P) is their prior: `lambda` is 1 where nothing changes, and 0 where the next epoch has
another world. By symmetry theta = lambda theta' + sqrt(1 - lambda^2) N(0, v P), too. So what was
observed of earlier weights is an observation of the present ones, with a smaller response and more
noise. The evidence of all released vectors says which `lambda` it was, at no privacy cost.

Unless residuals show clearly that the world is another one, reward functions are draws from the
same prior in every epoch: a world that became flat just when an epoch played nothing but good
actions would explain that epoch, and forget all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.decoder.observations import WhitenedObservation
from tacit.kernels import Kernel
from tacit.numerics import linalg

RETENTIONS = (1.0, 0.99, 0.95, 0.85, 0.7, 0.4, 0.0)  # values of lambda that are tried
MOST_RETAINED = 0.8  # where residuals say that the world has changed
# A change of the world must explain the releases better than none by so many nats.
CHANGED = 4.0
# Where it is clear that the world has changed, more of it is forgotten than would explain the
# releases best, if it explains them worse by less than so many nats.
AS_LIKELY = 2.0


@dataclass(frozen=True, eq=False)
class Prior:
    """Of the reward function in every epoch: draws from `kernel` at a scale v.

    `covariance` is that of the weights, v P. A new level of rewards has the variance v.
    """

    kernel: Kernel
    scale: float
    covariance: Floats

    @classmethod
    def of(cls, kernel: Kernel, scale: float, U: Floats, L: Floats) -> Prior:
        """For weights on features with the landmarks `U` and the factor `L`."""
        half = linalg.solve_lower(L, np.asarray(kernel(U, U)))
        return cls(kernel, scale, scale * linalg.solve_lower(L, half.T))


def carried(seen: WhitenedObservation, retention: float, prior: Prior) -> WhitenedObservation:
    """What an observation of one epoch's weights says of the next one's.

    Twice the log determinant of the additional noise is added to `rest`, so that the evidences of
    observations that were carried differently can be compared.
    """
    if retention == 1.0:
        return seen
    A = seen.A[:, :-1]
    a = seen.A[:, -1]
    new = 1.0 - retention**2
    noise = A @ prior.covariance @ A.T + prior.scale * np.outer(a, a)
    R = linalg.cholesky(np.eye(len(a)) + new * noise)
    rows = linalg.solve_lower(R, np.column_stack([retention * A, a, seen.z]))
    cost = 2.0 * float(np.log(np.diag(R)).sum())
    return WhitenedObservation(rows[:, :-1], rows[:, -1], seen.rest + cost)


def over_epochs(
    groups: Sequence[WhitenedObservation], retentions: Sequence[float], prior: Prior | None
) -> WhitenedObservation:
    """What all epochs say of the weights of the last one. `retentions` has the lambda between each
    epoch and the next."""
    found = groups[0].reduced()
    for following, retention in zip(groups[1:], retentions, strict=True):
        if prior is not None:
            found = carried(found, retention, prior)
        found += following
    return found
