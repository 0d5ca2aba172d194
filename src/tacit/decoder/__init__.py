"""Reading released vectors: everything after the release is free.

    bhat = G theta + e,   G = n E[q_s phi']
    Cov e = N = n c E[q_s q_s'] + (2 s m)^2 I,   c = E[y^2]

With the prior f ~ GP(0, v k' + o) on the landmarks, f(U) = L theta, the posterior is Gaussian; `o`
is the variance of the mean of all rewards. The expectations are over the contexts that came, as far
as the released counts say; `c` is released too; the scale `v`, the lengthscales of k' and its kind
are chosen by the evidence of `bhat`. Any number of releases is read together. All of it touches
released numbers only.
"""

from tacit.decoder.decoding import decode, usca_weights
from tacit.decoder.observations import LinearObservation, WhitenedObservation
from tacit.decoder.parts import ReleaseParts
from tacit.decoder.posterior import Posterior

__all__ = [
    "LinearObservation",
    "Posterior",
    "ReleaseParts",
    "WhitenedObservation",
    "decode",
    "usca_weights",
]
