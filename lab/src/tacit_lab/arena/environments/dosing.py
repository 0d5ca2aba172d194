"""Dosing by the published IWPC formula, as in `tacit demo`: which weekly dose for which patient?

The reward is 1 for the right dose and falls to 0 at 30 mg/week away from it; here it is scaled to
[-1, 1]. The right dose is the formula's plus what is the patient's own, which nobody knows
beforehand; the mean reward averages over that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from tacit._typing import Floats, Rng
from tacit.demo import patients as people
from tacit.demo.study import dosing_problem
from tacit_lab.arena.protocol import Environment

QUANTILES = ndtri((np.arange(33) + 0.5) / 33)  # of what is the patient's own
NOISE = 0.4  # about how far a reward is from its mean
ROWS = 16_384  # averaged at a time


def dosing(rng: Rng) -> Environment:
    problem = replace(dosing_problem(), reward_range=(-1.0, 1.0))

    def draw(n: int, rng: Rng) -> Floats:
        return problem.contexts.encode(people.sample_patients(n, rng))

    return Environment(
        "dosing",
        problem,
        _mean,
        draw,
        noise=NOISE,
        sample=_sample,
        surface=_surface,
        scale=0.5,
        unit="dosing reward",
    )


def _sample(actions: Floats, contexts: Floats, rng: Rng) -> Floats:
    right = _right(contexts, rng.normal(size=len(contexts)))
    return 2.0 * people.reward(people.LARGEST_DOSE * actions[:, 0], right) - 1.0


def _mean(actions: Floats, contexts: Floats) -> Floats:
    rows = range(0, len(actions), ROWS)
    return np.concatenate([_average(actions[i : i + ROWS], contexts[i : i + ROWS]) for i in rows])


def _average(actions: Floats, contexts: Floats) -> Floats:
    right = _right(contexts[:, None, :], QUANTILES)
    return np.asarray(2.0 * people.reward(people.LARGEST_DOSE * actions, right).mean(axis=1) - 1.0)


def _surface(actions: Floats, contexts: Floats) -> Floats:
    doses = people.LARGEST_DOSE * actions[None, :, 0]
    right = _right(contexts[:, None, :], QUANTILES)
    return np.vstack(
        [2.0 * people.reward(doses.T, row[None, :]).mean(axis=1) - 1.0 for row in right]
    )


def _right(contexts: Floats, own: Floats) -> Floats:
    """The right dose of patients in unit coordinates (last axis); `own` in standard deviations."""
    age, height, weight, vkorc1, cyp2c9 = np.moveaxis(contexts, -1, 0)
    # a decade's first day, off by rounding, is still in it
    decade = np.floor(_scaled(age, people.AGE) / 10.0 + 1e-9)
    centimetres = _scaled(height, people.HEIGHT)
    kilograms = _scaled(weight, people.WEIGHT)
    body = people.PER_CM * centimetres + people.PER_KG * kilograms
    genes = _term(vkorc1, people.VKORC1_TERM) + _term(cyp2c9, people.CYP2C9_TERM)
    score = people.INTERCEPT + people.PER_DECADE * decade + body + genes + people.INDIVIDUAL * own
    return np.clip(np.maximum(score, 0.0) ** 2, 0.0, people.LARGEST_DOSE)


def _scaled(unit: Floats, interval: tuple[float, float]) -> Floats:
    low, high = interval
    return low + unit * (high - low)


def _term(unit: Floats, terms: dict[str, float]) -> Floats:
    values = np.array(list(terms.values()))
    return np.asarray(values[np.rint(unit * (len(values) - 1)).astype(int)])
