"""The public design of a study: landmarks, whitening, clip."""

from tacit.design.design import Design
from tacit.design.earlier import Earlier
from tacit.design.features import Features, Moments

__all__ = ["Design", "Earlier", "Features", "Moments"]
