"""The policy: public, self-contained, decides for ever."""

from tacit.policy.policy import Policy

__all__ = ["Policy"]
