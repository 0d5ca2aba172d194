"""The arena: private contextual bandits side by side on the same work. See docs/arena.md."""

from tacit_lab.arena.protocol import Environment, Learner, Setting

__all__ = ["Environment", "Learner", "Setting"]
