"""The study: explore with random doses, release once, and see how the policy does on patients it
never met."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget, Ledger
from tacit.demo import patients as people
from tacit.demo.patients import Patients
from tacit.design import Design, DesignOptions
from tacit.domains import Box, Categories, Mixed
from tacit.errors import InputError
from tacit.kernels import RBF, Matern, Separable
from tacit.passes import release_on, release_passes
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.statistic import Statistic

RANK = 160  # more landmarks were no better
PATIENTS_TO_TEST = 20_000
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Measured:
    """A mean reward on fresh patients, and the half width of its 95 % confidence interval."""

    reward: float
    margin: float


@dataclass(frozen=True, eq=False)
class Tested:
    """Fresh simulated patients, the right dose of each, and what the formula and the policy give
    them."""

    patients: Patients
    right: Floats
    formula: Floats
    chosen: Floats


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What came of the study: released numbers and figures on fresh patients. Nothing of the
    explored ones."""

    rounds: int
    epsilon: float
    delta: float
    seed: int
    best_fixed_dose: float
    uniform: Measured
    best_fixed: Measured
    formula: Measured
    private: Measured
    gain: Measured  # private policy over best fixed dose, patient by patient
    rank: int
    tau: float
    clip: float
    rho_spent: float
    seconds: float
    policy: Policy
    tested: Tested

    @property
    def error_private(self) -> float:
        """Mean distance of the policy's dose from the right one, mg/week."""
        return float(np.abs(self.tested.chosen - self.tested.right).mean())

    @property
    def error_formula(self) -> float:
        return float(np.abs(self.tested.formula - self.tested.right).mean())

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "rounds": self.rounds,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": self.seed,
            "patients_tested": len(self.tested.right),
            "reward_uniform": self.uniform.reward,
            "reward_best_fixed": self.best_fixed.reward,
            "reward_formula": self.formula.reward,
            "reward_private": self.private.reward,
            "margin_private": self.private.margin,
            "gain": self.gain.reward,
            "gain_margin": self.gain.margin,
            "best_fixed_dose": self.best_fixed_dose,
            "error_private": self.error_private,
            "error_formula": self.error_formula,
            "rank": self.rank,
            "tau": self.tau,
            "clip": self.clip,
            "rho_spent": self.rho_spent,
            "guarantee": str(self.policy.guarantee),
            "seconds": self.seconds,
        }


def dosing_problem() -> Problem:
    """Which weekly dose for which patient? Everything here is known before the study.

    A reward that falls over 30 mg/week bends within a quarter of the dose range. It changes more
    slowly with age, weight and genes, and least with height. Who will come is drawn from the
    simulator's population.
    """
    low, high = zip(people.AGE, people.HEIGHT, people.WEIGHT, strict=True)
    return Problem(
        actions=Box([0.0], [people.LARGEST_DOSE], ["dose"]),
        contexts=Mixed(
            (
                Box(low, high, ["age", "height", "weight"]),
                Categories(list(people.VKORC1), "vkorc1"),
                Categories(list(people.CYP2C9), "cyp2c9"),
            )
        ),
        kernel=Separable(Matern(2.5, 0.25), RBF([0.8, 1.2, 0.8, 0.7, 0.7])),
        reward_range=(0.0, 1.0),
        generator=people.sample_patients,
    )


def run_demo(
    rounds: int = 5000,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    seed: int = 0,
    progress: Progress = silent,
    patients_to_test: int = PATIENTS_TO_TEST,
) -> DemoResult:
    """A whole study on simulated patients.

    `seed` makes the patients, the random doses and the design's coins. The privacy noise has no
    seed: it is OpenDP's, charged to a ledger of its own, so two runs with one seed differ a little.
    """
    started = time.perf_counter()
    if not isinstance(patients_to_test, int) or patients_to_test < 2:
        raise InputError(
            f"patients_to_test must be a whole number of at least 2, got {patients_to_test!r}."
        )
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, got {seed!r}.")
    children = np.random.SeedSequence(seed).spawn(3)
    coins, study, test = [np.random.default_rng(child) for child in children]

    budget = Budget(epsilon=epsilon, delta=delta)
    design = Design.build(
        dosing_problem(),
        horizon=rounds,
        budget=budget,
        rng=coins,
        progress=progress,
        passes=1,
        options=DesignOptions(rank=RANK),
    )
    policy, rho_spent = _explore_and_release(design, study, progress)

    progress("fresh patients", 0, patients_to_test)
    tested = _meet(policy, patients_to_test, test)
    fixed_dose, rewards = _rewards(tested)
    progress("fresh patients", patients_to_test, patients_to_test)
    gain = _measure(rewards["private"] - rewards["best_fixed"])
    measured = {name: _measure(reward) for name, reward in rewards.items()}
    return DemoResult(
        rounds,
        epsilon,
        delta,
        seed,
        fixed_dose,
        **measured,
        gain=gain,
        rank=design.rank,
        tau=design.tau,
        clip=design.clip,
        rho_spent=rho_spent,
        seconds=time.perf_counter() - started,
        policy=policy,
        tested=tested,
    )


def _explore_and_release(
    design: Design, rng: np.random.Generator, progress: Progress
) -> tuple[Policy, float]:
    """The private part: `horizon` patients, each given a uniformly random dose, and one charged
    release. Returns the policy and the rho that was charged."""
    n = design.horizon
    patients = people.sample_patients(n, rng)
    dose = rng.uniform(0.0, people.LARGEST_DOSE, size=n)
    worth = people.reward(dose, people.right_dose(patients, rng))

    def collect(planned: Design) -> Statistic:
        return planned.statistic().add({"dose": dose}, patients, worth, progress=progress)

    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as folder:
        ledger = Ledger.create(f"sqlite:///{Path(folder) / 'ledger.db'}", design.budget)
        charged = release_on(ledger, "demo")

        def release(statistic: Statistic) -> Policy:
            progress("release and decode", 0, 1)
            policy = charged(statistic)
            progress("release and decode", 1, 1)
            return policy

        return release_passes(design, collect, release), ledger.spent


def _meet(policy: Policy, n: int, rng: np.random.Generator) -> Tested:
    fresh = people.sample_patients(n, rng)
    chosen = np.asarray(policy.decide(fresh)["dose"], dtype=np.float64)
    return Tested(fresh, people.right_dose(fresh, rng), people.formula_dose(fresh), chosen)


def _rewards(tested: Tested) -> tuple[float, dict[str, Floats]]:
    """The best fixed dose, and each way's reward for each patient.

    The best fixed dose is looked up on the very patients it is judged on, which is generous to it.
    """
    right = tested.right
    grid = np.arange(0.0, people.LARGEST_DOSE + 0.25, 0.5)
    best = float(max(grid, key=lambda dose: people.reward(dose, right).mean()))
    return best, {
        "uniform": _uniform_reward(right),
        "best_fixed": people.reward(best, right),
        "formula": people.reward(tested.formula, right),
        "private": people.reward(tested.chosen, right),
    }


def _uniform_reward(right: Floats) -> Floats:
    """The expected reward of a uniformly random dose, exactly: the area under the triangle of
    `people.reward`, less the parts of it below 0 and above the largest dose."""
    w = people.TOLERANCE
    top = people.LARGEST_DOSE
    outside = np.maximum(0.0, w - right) ** 2 + np.maximum(0.0, w - (top - right)) ** 2
    return np.asarray((w - outside / (2.0 * w)) / top)


def _measure(rewards: Floats) -> Measured:
    margin = NORMAL_95 * float(rewards.std(ddof=1)) / math.sqrt(len(rewards))
    return Measured(float(rewards.mean()), margin)
