"""Studies that go on: how the people of an epoch are played, and the designs of its releases."""

from tacit.epochs.course import Course
from tacit.epochs.design import cohort_of, first_epoch, next_epoch
from tacit.epochs.play import MODES, EpochPlay, Learned, Mixture, Propensity, Shares
from tacit.epochs.sizes import epoch_sizes
from tacit.epochs.spread import learn_from

__all__ = [
    "MODES",
    "Course",
    "EpochPlay",
    "Learned",
    "Mixture",
    "Propensity",
    "Shares",
    "cohort_of",
    "epoch_sizes",
    "first_epoch",
    "learn_from",
    "next_epoch",
]
