"""Ask, tell and release on a database."""

from tacit.study.state import StudyState
from tacit.study.study import Decision, Study

__all__ = ["Decision", "Study", "StudyState"]
