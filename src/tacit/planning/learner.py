"""Reward functions that are learned on landmarks, and what releases about them would be like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from tacit._typing import Floats
from tacit.decoder.observations import LinearObservation
from tacit.design.allocation import effects, mattering
from tacit.design.features import shrinkage


def target_of(Phi: Floats, d: Floats) -> Floats:
    """What directions matter, from features of (contexts, actions) in their eigenbasis."""
    return mattering(np.diag(effects(Phi)), d)


class Learner(ABC):
    """A set of landmarks, and reward functions that are learned on them."""

    d: Floats  # eigenvalues of E[phi phi'], the smallest first
    Phi: Floats  # features at public points, in that eigenbasis
    target: Floats  # what each direction matters for decisions (`tacit.design.allocation`)

    @abstractmethod
    def unexplained(self, passes: Sequence[LinearObservation]) -> float:
        """The standard deviation of what the passes leave unknown of the reward function."""

    @abstractmethod
    def expected(self, G: Floats, qs: Floats, records: float) -> Floats:
        """The vector that is released of each function, without noise. `qs` are clipped influences
        at the public points, for each of which there are so many records."""

    def observations(
        self,
        rounds: int,
        amplitudes: Floats,
        clip: float,
        mean_square: float,
        attenuation: float,
        sigmas: Sequence[float],
        rewards: bool,
    ) -> list[LinearObservation]:
        """Expected releases of one pass, one for each standard deviation of the privacy noise.

        `mean_square` is that of what records add, `attenuation` what clipping residuals leaves of
        the signal. `b` is the expected vector for each of the functions, without noise.
        """
        q = self.Phi * amplitudes
        weight = shrinkage(q, clip)[:, None]
        qs = q * weight
        records = attenuation * rounds / len(q)
        # T E[q_s phi'], in the eigenbasis where q = a phi
        root = self.Phi * np.sqrt(weight)
        G = records * amplitudes[:, None] * (root.T @ root)
        b = self.expected(G, qs, records)
        sampling = rounds * (qs.T @ qs) / len(q)
        shared = mean_square * sampling
        return [
            LinearObservation(
                b=b,
                G=G,
                N=shared + sigma**2 * np.eye(len(self.d)),
                sampling=sampling,
                shared=shared,
                mean_square=mean_square,
                variance=mean_square,
                rewards=rewards,
            )
            for sigma in sigmas
        ]
