"""Ask, tell and release on a database."""

from tacit.study.epoch_study import EpochStudy
from tacit.study.history import Advance, Epoch
from tacit.study.state import StudyState
from tacit.study.study import Decision, Study

__all__ = ["Advance", "Decision", "Epoch", "EpochStudy", "Study", "StudyState"]
