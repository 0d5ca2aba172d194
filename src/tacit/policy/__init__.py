"""The policy: public, self-contained, decides for ever."""

from tacit.policy.folders import require_writable
from tacit.policy.health import Health
from tacit.policy.policy import Policy

__all__ = ["Health", "Policy", "require_writable"]
