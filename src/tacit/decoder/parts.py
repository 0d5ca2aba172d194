"""A released vector, taken apart into estimates and the noise in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.decoder.observations import LinearObservation
from tacit.design import Design, Moments, Release

# The mean square of rewards in [-1, 1] where none is released, and the least that is believed.
USUAL_SQUARE = 0.2
LEAST_SQUARE = 0.01


@dataclass(frozen=True, eq=False)
class ReleaseParts:
    """One release: the sum `b` of q_s y, counts of contexts, mean and mean square of y."""

    design: Design
    records: int
    b: Floats
    b_noise: float  # standard deviation of the privacy noise in one entry of `b`
    counts: Floats | None
    count_noise: float
    mean_reward: float
    mean_noise: float
    mean_square: float

    @classmethod
    def of(cls, release: Release) -> ReleaseParts:
        design = release.design
        released = release.released
        layout = design.layout
        n = max(1, released.records)  # nobody may have come
        w = design.max_weight  # records write shares of it
        noise = released.scale / 2**released.bits
        blocks = layout.split(released.values / 2**released.bits)
        count_noise = 0.0
        if blocks.counts is not None:
            count_noise = layout.count_noise(noise)
        mean_reward = 0.0
        mean_noise = 0.0
        if blocks.rewards is not None:
            mean_reward = float(np.clip(w * blocks.rewards / n, -1.0, 1.0))
            mean_noise = w * noise / np.sqrt(layout.mean_share) / n
        mean_square = USUAL_SQUARE
        if blocks.squares is not None:
            mean_square = float(np.clip(w**2 * blocks.squares / n, LEAST_SQUARE, w**2))
        return cls(
            design=design,
            records=n,
            b=w * design.clip * blocks.influences,
            b_noise=w * design.clip * noise / np.sqrt(layout.influence_share),
            counts=blocks.counts,
            count_noise=count_noise,
            mean_reward=mean_reward,
            mean_noise=mean_noise,
            mean_square=mean_square,
        )

    def observation(self, moments: Moments) -> LinearObservation:
        """b = G theta + e with moments over the contexts that came.

        In a residual pass the released vector is about what is not known yet:
        r b = g G (theta - theta1) + r e, where residuals are clipped at `r` and attenuated by `g`.
        Where only advantages are learned, the mean reward `m` leaves m n E[q_s] in the vector,
        because clipped influences are not centred over the actions any more: it is taken out.
        """
        n = self.records
        G = n * moments.cross
        leak = n * moments.mean
        b = self.b - self.mean_reward * leak
        sampling = n * moments.square
        N = self.mean_square * sampling + self.b_noise**2 * np.eye(len(b))
        N = N + self.mean_noise**2 * np.outer(leak, leak)
        residual = self.design.residual
        if residual is None:
            return LinearObservation(b, G, N, sampling, self.mean_square)
        r = residual.residual_clip
        G = residual.attenuation * G
        theta1 = self.design.features.L.T @ residual.weights
        return LinearObservation(r * b + G @ theta1, G, r**2 * N, sampling, r**2 * self.mean_square)
