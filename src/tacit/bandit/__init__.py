"""Ask, tell and release on a database."""

from tacit.bandit.bandit import Bandit, Decision

__all__ = ["Bandit", "Decision"]
