"""Simulated patients whose right dose of warfarin follows a published formula. No real person's
data is in here.

The formula from genotype and body to dose is the one of the International Warfarin Pharmacogenetics
Consortium (IWPC; Klein et al., New England Journal of Medicine 2009;360:753). The population, sizes
and shares of genotypes, is rounded from that consortium's public data set of mixed ancestry; genes
and body are drawn independently.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng

Patients = dict[str, NDArray[Any]]

# years, cm, kg
AGE = (18.0, 95.0)
HEIGHT = (140.0, 200.0)
WEIGHT = (40.0, 140.0)
LARGEST_DOSE = 100.0  # mg/week
TOLERANCE = 30.0  # mg/week away from the right dose, at which a dose is worth nothing

# Share of patients. Both genes are listed from the highest dose to the lowest.
VKORC1 = {"G/G": 0.30, "A/G": 0.35, "A/A": 0.35}
CYP2C9 = {
    "*1/*1": 0.750,
    "*1/*2": 0.135,
    "*1/*3": 0.087,
    "*2/*2": 0.011,
    "*2/*3": 0.013,
    "*3/*3": 0.004,
}

# The IWPC pharmacogenetic formula, for the square root of the weekly dose in mg. The terms for
# ancestry and for interacting drugs are 0: simulated patients belong to the formula's reference
# group and take none of them.
INTERCEPT = 5.6044
PER_DECADE = -0.2614
PER_CM = 0.0087
PER_KG = 0.0128
VKORC1_TERM = {"G/G": 0.0, "A/G": -0.8677, "A/A": -1.6974}
CYP2C9_TERM = {
    "*1/*1": 0.0,
    "*1/*2": -0.5211,
    "*1/*3": -0.9357,
    "*2/*2": -1.0616,
    "*2/*3": -1.9206,
    "*3/*3": -2.3312,
}

# What the formula does not explain, in the square root of mg/week. With this spread the formula's
# mean absolute error on simulated patients is 8.6 mg/week, as it was reported for the real ones.
INDIVIDUAL = 0.99


def sample_patients(n: int, rng: Rng) -> Patients:
    """`n` patients as columns: age in years, height in cm, weight in kg, and the two genotypes."""
    male = rng.random(n) < 0.58
    height = rng.normal(np.where(male, 173.5, 160.0), 8.5)
    # Weight is skewed, and goes with height: 78 kg on average, correlation about 0.5.
    weight = 76.0 * np.exp(0.0125 * (height - 168.0) + rng.normal(0.0, 0.22, size=n))
    return {
        "age": np.clip(rng.normal(63.5, 13.5, size=n), *AGE),
        "height": np.clip(height, *HEIGHT),
        "weight": np.clip(weight, *WEIGHT),
        "vkorc1": rng.choice(list(VKORC1), size=n, p=list(VKORC1.values())),
        "cyp2c9": rng.choice(list(CYP2C9), size=n, p=list(CYP2C9.values())),
    }


def formula_score(patients: Patients) -> Floats:
    """The square root of the formula's dose. Age counts in whole decades: 6 for 60 to 69."""
    decade = np.floor(np.asarray(patients["age"], dtype=np.float64) / 10.0)
    body = PER_CM * np.asarray(patients["height"]) + PER_KG * np.asarray(patients["weight"])
    genes = _terms(patients["vkorc1"], VKORC1_TERM) + _terms(patients["cyp2c9"], CYP2C9_TERM)
    return np.asarray(INTERCEPT + PER_DECADE * decade + body + genes)


def formula_dose(patients: Patients) -> Floats:
    """The IWPC pharmacogenetic dose, mg/week."""
    return np.clip(formula_score(patients) ** 2, 0.0, LARGEST_DOSE)


def right_dose(patients: Patients, rng: Rng) -> Floats:
    """The dose that would prove right for each patient: the formula's, and a deviation of the
    patient's own."""
    score = formula_score(patients)
    score = np.maximum(score + rng.normal(0.0, INDIVIDUAL, size=len(score)), 0.0)
    return np.clip(score**2, 0.0, LARGEST_DOSE)


def reward(dose: Any, right: Floats) -> Floats:
    """1 for the right dose, falling in a straight line to 0 at 30 mg/week away from it."""
    return np.asarray(1.0 - np.minimum(1.0, np.abs(np.asarray(dose) - right) / TOLERANCE))


def _terms(genotypes: NDArray[Any], terms: dict[str, float]) -> Floats:
    return np.array([terms.get(genotype, math.nan) for genotype in genotypes.tolist()])
