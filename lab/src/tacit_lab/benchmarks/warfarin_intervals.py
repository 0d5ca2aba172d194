"""Evaluations on real patients: the learned dose, 35 mg a week for everybody, and the IWPC formula.

Called by `python -m tacit_lab.benchmarks.intervals --data PATH/iwpc.csv`. Patients of a fold that
was held out play one round with a uniformly random dose; that is all the evaluation sees. The truth
is the mean reward of each patient's dose under each policy, over the same patients.
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit._typing import Floats
from tacit.evaluation import Evaluation, EvaluationDesign, ScoreSum, as_candidates
from tacit.passes import release_passes, simulate_with
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.warfarin import DELTA, FOLDS, load, problem, reward

EPSILON = 1.0
FIXED = 35.0
RANK = 300
NORMAL = 1.96  # standard deviations of a 95 % interval
# Klein et al., NEJM 2009;360:753, supplement S1e, without race and drugs: they are no contexts here
VKORC1 = {"G/G": 0.0, "A/G": -0.8677, "A/A": -1.6974, "unknown": -0.4854}
CYP2C9 = {
    "*1/*1": 0.0,
    "*1/*2": -0.5211,
    "*1/*3": -0.9357,
    "*2/*2": -1.0616,
    "*2/*3": -1.9206,
    "*3/*3": -2.3312,
    "unknown": -0.2188,
}


def formula(contexts: dict[str, Any]) -> dict[str, Floats]:
    """The weekly dose of the pharmacogenetic formula."""
    age = np.floor(np.asarray(contexts["age"], dtype=float) + 1e-9)
    body = 0.0087 * np.asarray(contexts["height"]) + 0.0128 * np.asarray(contexts["weight"])
    genes = np.array([VKORC1[str(label)] for label in contexts["vkorc1"]])
    genes = genes + np.array([CYP2C9[str(label)] for label in contexts["cyp2c9"]])
    score = 5.6044 - 0.2614 * age + body + genes
    return {"dose": np.clip(np.maximum(score, 0.0) ** 2, 0.0, 100.0)}


def one_fold(
    contexts: dict[str, Any], right: Floats, train: Any, rng: np.random.Generator
) -> tuple[Evaluation, dict[str, float]]:
    """The evaluation of a policy on those that it was not learned from, and the truth."""
    given = problem(public=False)
    budget = tacit.Budget(EPSILON, DELTA)
    seen = {name: column[train] for name, column in contexts.items()}
    fresh = {name: column[~train] for name, column in contexts.items()}
    n = int(train.sum())
    options = tacit.DesignOptions(rank=RANK)
    design = tacit.Design.build(given, horizon=n, budget=budget, rng=rng, passes=2, options=options)
    doses = rng.uniform(0, 100, n)
    collect = partial(_statistic, doses, seen, reward(doses, right[train]))
    policy = release_passes(design, collect, simulate_with(rng))
    policies = {"learned": policy, "formula": formula, "35 mg": {"dose": FIXED}}
    held = int((~train).sum())
    asked = EvaluationDesign.build(
        given, as_candidates(policies, given), records=held, budget=budget
    )
    played = rng.uniform(0, 100, held)
    total = ScoreSum(asked)
    total.add({"dose": played, **fresh}, reward(played, right[~train]))
    chosen = {
        "learned": policy.decide(fresh)["dose"],
        "formula": formula(fresh)["dose"],
        "35 mg": np.full(held, FIXED),
    }
    truth = {name: float(reward(dose, right[~train]).mean()) for name, dose in chosen.items()}
    return total.simulate_release(rng), truth


def _statistic(doses: Floats, contexts: Any, rewards: Floats, design: tacit.Design) -> Any:
    return design.statistic().add(doses, contexts, rewards)


def evaluate_patients(data: Path, repeats: int, page: Path | None, as_json: bool) -> None:
    """Five folds together: the means of five policies on five different groups of people."""
    contexts, right = load(data)
    rows: list[dict[str, Any]] = []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, 7])
        fold = rng.permutation(len(right)) % FOLDS
        found = [one_fold(contexts, right, fold != held, rng) for held in range(FOLDS)]
        rows += _pooled(repeat, found)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    header = ["repeat", "what", "estimate", "95 % interval", "truth", "held"]
    cells = [
        [
            str(row["repeat"] + 1),
            row["what"],
            f"{row['value']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            f"{row['truth']:.3f}",
            f"{row['held']} of {row['of']}",
        ]
        for row in rows
    ]
    if page is not None:
        put_table(page, "warfarin", header, cells)
    print_table(f"Warfarin, {len(right)} patients, 5 folds, epsilon {EPSILON:g}", header, cells)


def _pooled(repeat: int, found: list[tuple[Evaluation, dict[str, float]]]) -> list[dict[str, Any]]:
    """Values, and differences from 35 mg, over all folds; `held` counts single folds whose interval
    holds the truth."""
    rows = []
    for name in ("learned", "formula", "35 mg"):
        each = [(told.values[name], truth[name]) for told, truth in found]
        rows.append({"repeat": repeat, "what": f"value of {name}"} | _mean(each))
    for name in ("learned", "formula"):
        each = [(told.differences[name], truth[name] - truth["35 mg"]) for told, truth in found]
        rows.append({"repeat": repeat, "what": f"{name} minus 35 mg"} | _mean(each))
    return rows


def _mean(each: list[tuple[tacit.Estimate, float]]) -> dict[str, Any]:
    value = float(np.mean([found.value for found, _ in each]))
    # Chance and noise are new in every fold; what windows blur is the same in all of them.
    own = sum(found.sampling**2 + found.noise**2 for found, _ in each) / len(each) ** 2
    blur = float(np.mean([found.window for found, _ in each]))
    half = NORMAL * math.hypot(math.sqrt(own), blur)
    held = sum(abs(found.value - truth) <= found.half_width for found, truth in each)
    truth = float(np.mean([truth for _, truth in each]))
    return {
        "value": value,
        "low": value - half,
        "high": value + half,
        "truth": truth,
        "covered": value - half <= truth <= value + half,
        "held": held,
        "of": len(each),
    }
