"""Ask, tell and release on a database."""

from tacit.study.study import Decision, Study

__all__ = ["Study", "Decision"]
