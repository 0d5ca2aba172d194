"""The policy: public, self-contained, decides for ever."""

from tacit.policy.blend import Blend
from tacit.policy.cautious import Cautious
from tacit.policy.folders import require_writable
from tacit.policy.health import Health
from tacit.policy.loading import load
from tacit.policy.policy import Policy

__all__ = ["Blend", "Cautious", "Health", "Policy", "load", "require_writable"]
