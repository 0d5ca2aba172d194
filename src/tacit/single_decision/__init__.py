"""One private decision at a time, under pure epsilon."""

from tacit.single_decision.decision import release_decision

__all__ = ["release_decision"]
