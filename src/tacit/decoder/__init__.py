"""Reading released vectors: everything after the release is free.

    bhat = G (theta, l) + e,   G = n E[q (phi, 1)'],   q = (q_s, 1)
    Cov e = N = n c E[q q'] - n E[q y] E[q y]' + privacy noise,   c = E[y^2]

With the prior g ~ GP(0, v k') on the landmarks, g(U) = L theta, and a level `l` of the rewards with
a nearly flat prior, the posterior of f = l + g is Gaussian. The expectations are over the contexts
that came, as far as the released counts say; `c` is released too; the scale `v`, the lengthscales
of k' and its kind are chosen by the evidence of `bhat`. Any number of releases is read together.
All of it touches released numbers only.
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
