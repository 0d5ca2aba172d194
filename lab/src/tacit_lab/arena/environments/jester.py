"""Jokes on the real Jester ratings (Goldberg et al., "Eigentaste", 2001): which joke for which
visitor?

A visitor who rated all jokes is one round: the context are the ratings of ten gauge jokes, the
action is one of the other ninety, and the reward is the rating over 10. Those who left gaps are
public: they give the jokes their features (the leading directions of their ratings) and the learner
its law of contexts. An error times 0.5 is in ratings scaled to [0, 1].
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from tacit._typing import Floats, Rng
from tacit.contexts import PublicSample
from tacit.domains import Box, Catalogue
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.data import People, data_file
from tacit_lab.arena.protocol import Environment

SOURCE = (
    "Jester's ratings are free for research: save them as CSV, a row per user, a column per joke, "
    "blank if unrated."
)
GAUGE = np.array([5, 7, 8, 13, 15, 16, 17, 18, 19, 20]) - 1  # the jokes that everybody is shown
FEATURES = 4  # of a joke


def jester(rng: Rng) -> Environment:
    complete, gaps = _loaded(data_file("jester/ratings.csv", SOURCE))
    others = np.setdiff1d(np.arange(complete.shape[1]), GAUGE)
    domain = Box([-1.0] * len(GAUGE), [1.0] * len(GAUGE), [f"rating{i + 1}" for i in GAUGE])
    items = Catalogue(joke_features(gaps[:, others]), ids=(others + 1).tolist(), names=["joke"])
    known = gaps[:, GAUGE][np.isfinite(gaps[:, GAUGE]).all(axis=1)]
    kernel = Separable(Matern(2.5, 0.7), Matern(2.5, 2.0))
    problem = Problem(items, domain, kernel, (-1.0, 1.0), generator=PublicSample(known))
    contexts = domain.encode(domain.read(complete[:, GAUGE]).columns)
    people = People(contexts, rng, "jester")
    ratings = np.vstack([complete[group][:, others].mean(axis=0) for group in people.groups])

    def mean(actions: Floats, contexts: Floats) -> Floats:
        return np.asarray(ratings[people.number(contexts), items.nearest(actions)])

    def surface(actions: Floats, contexts: Floats) -> Floats:
        return np.asarray(ratings[people.number(contexts)][:, items.nearest(actions)])

    return people.environment(problem, mean, surface, "rating in [0, 1]")


def joke_features(ratings: Floats) -> Floats:
    """How each joke is liked, and the leading directions in which tastes differ. Gaps count as the
    joke's mean."""
    liked = np.nanmean(ratings, axis=0)
    centred = np.where(np.isfinite(ratings), ratings - liked, 0.0)
    _, s, Vt = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    return np.column_stack([liked, (s[:, None] * Vt)[: FEATURES - 1].T])


@lru_cache(maxsize=1)
def _loaded(path: Path) -> tuple[Floats, Floats]:
    """Ratings over 10 of users who rated everything, and of the others."""
    ratings = np.genfromtxt(path, delimiter=",", skip_header=1) / 10.0
    whole = np.isfinite(ratings).all(axis=1)
    return ratings[whole], ratings[~whole]
