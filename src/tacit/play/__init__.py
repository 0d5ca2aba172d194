"""Play laws: how the actions of a log were chosen, given the contexts. All of it is public.

A play law is a function `(contexts, rng) -> actions`: `contexts` are columns in the user's units,
with one entry for each round, and the actions come back as a table with one row for each. All of
its randomness comes from `rng`. It must not depend on the rounds of the log: a rule that was
learned from other data is a law if that data is public, or if it was learned privately.

    def rule(contexts, rng):  # higher doses for the heavy, with some noise
        return np.clip(contexts["weight"] / 2 + rng.normal(0, 5, len(contexts["weight"])), 0, 100)

    Problem(actions, contexts, play=rule)
    Problem(actions, contexts, play=EpsilonGreedy(Policy.load("policy/"), 0.1))
    Problem(actions, contexts, play={"A": 0.8, "B": 0.1, "C": 0.1})

>>> from tacit.play import EpsilonGreedy, Fixed, Probabilities
>>> problem = tacit.Problem(
...     tacit.Categories(["A", "B", "C"], "arm"),
...     tacit.Box.of(age=(18, 95)),
...     play=EpsilonGreedy(Fixed("A"), 0.3),  # A, but one time in three any of them
... )
>>> law = Probabilities({"A": 0.8, "B": 0.1, "C": 0.1})
"""

from tacit.play.base import PlayLaw
from tacit.play.baselines import as_baseline
from tacit.play.digest import law_digest
from tacit.play.laws import (
    Committee,
    EpsilonGreedy,
    Fixed,
    Play,
    Probabilities,
    Uniform,
    as_law,
    load_law,
)
from tacit.play.wrapped import Stated

__all__ = [
    "Committee",
    "EpsilonGreedy",
    "Fixed",
    "Play",
    "PlayLaw",
    "Probabilities",
    "Stated",
    "Uniform",
    "as_baseline",
    "as_law",
    "law_digest",
    "load_law",
]
