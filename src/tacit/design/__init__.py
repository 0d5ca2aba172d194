"""The public design of a pass over the records: landmarks, whitening, clip."""

from tacit.design.design import Design
from tacit.design.features import Features, Moments
from tacit.design.options import DesignOptions
from tacit.design.release import Release

__all__ = ["Design", "DesignOptions", "Features", "Moments", "Release"]
