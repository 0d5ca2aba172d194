"""How likely the log was to play an action in a window, by the law of its play.

Laws that say what they are made of are computed exactly. Of others, such as functions, so many
actions are drawn in each context, with the same public coins for everybody:

    1 / P  is estimated by  1 / Q - (1 - Q) / (Q^2 K),   Q the share of K draws in the window,

which is unbiased up to terms of 1 / (P K)^2. A law that does not look at contexts is drawn from
once for all of them. A function is called for every row, also where contexts repeat: one that keeps
a generator of its own must not be called more or less often because of who else came.
"""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.evaluation.candidates import Rule
from tacit.evaluation.windows import Window
from tacit.play import Committee, EpsilonGreedy, PlayLaw, Probabilities, Uniform
from tacit.play.base import SAME
from tacit.play.wrapped import ContextFree, Decisions, Function, Sampled
from tacit.policy.blend import Blend
from tacit.quiet import quiet

DRAWS = 1024
SEED = 20_250_101


def inverse_probability(
    law: PlayLaw | None, window: Window, centres: Floats, C: Floats, contexts: Domain
) -> Floats:
    """1 / P(window | context) for each row; infinite where the law never plays there, and NaN where
    a function fails."""
    exact = _probability(law, window, centres, C, contexts)
    if exact is None:
        assert law is not None
        return _drawn(law, window, centres, C, contexts)
    with np.errstate(divide="ignore"):
        return 1.0 / exact


def _probability(
    law: PlayLaw | None, window: Window, centres: Floats, C: Floats, contexts: Domain
) -> Floats | None:
    """P(window | context); None for a law that does not say what it is made of."""
    if law is None or isinstance(law, Uniform):
        return window.uniform_share(centres)
    if isinstance(law, Probabilities):
        places = law._places()
        p = np.array([float(value) for value in law.probabilities.values()])
        same = np.max(np.abs(centres[:, None] - places[None]), axis=2) < SAME
        return np.asarray(same @ (p / p.sum()))
    if isinstance(law, EpsilonGreedy):
        mixed = [(1.0 - law.epsilon, law.law), (law.epsilon, Uniform().on(law.actions))]
    elif isinstance(law, Committee):
        mixed = [(1.0 / len(law.laws), each) for each in law.laws]
    elif isinstance(law, Blend):
        policy = Decisions(law.policy).on(law.problem.actions)
        mixed = [(law.share, policy), (1.0 - law.share, law.baseline)]
    elif law.chance or isinstance(law, Function):
        return None
    else:
        played = Rule(1.0, law).actions(C, contexts)
        inside = window.inside(played, centres).astype(float)
        return np.where(np.isfinite(played).all(axis=1), inside, np.nan)
    total = np.zeros(len(C))
    for share, each in mixed:
        part = _probability(each, window, centres, C, contexts)
        if part is None:
            return None
        total = total + share * part
    return total


def _drawn(law: PlayLaw, window: Window, centres: Floats, C: Floats, contexts: Domain) -> Floats:
    """By draws, one context at a time: what a function does in one must not depend on others."""
    found = np.full(len(C), np.nan)
    alike = isinstance(law, ContextFree | Sampled)
    played = None
    with quiet():
        for i in range(len(C)):
            try:
                if played is None or not alike:
                    rng = np.random.default_rng(SEED)
                    played = law.draw(np.tile(C[i], (DRAWS, 1)), contexts, rng)
                inside = window.inside(played, np.tile(centres[i], (DRAWS, 1)))
            except Exception:  # of somebody's function: its text could quote the context
                continue
            found[i] = _inverse(float(np.mean(inside)))
    return found


def _inverse(share: float) -> float:
    """1 / P for a share of draws; infinite where there is none."""
    if share <= 0.0:
        return np.inf
    return max(1.0, 1.0 / share - (1.0 - share) / (share**2 * DRAWS))
