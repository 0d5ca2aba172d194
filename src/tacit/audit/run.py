"""The whole audit: which attacks, in which order, with how many samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from tacit.audit.bounds import RANGE
from tacit.audit.cohorts import attack_cohorts
from tacit.audit.contribution import attack_contribution
from tacit.audit.end_to_end import attack_pure_choice, attack_release
from tacit.audit.epochs import attack_epochs
from tacit.audit.evaluations import attack_evaluation
from tacit.audit.findings import ALARM, RISK, Check, Clock, Finding
from tacit.audit.gaussian import attack_gaussian
from tacit.audit.made_up import made_up_sum
from tacit.audit.prices import attack_price
from tacit.audit.randomness import check_randomness, check_seeds_are_marked
from tacit.audit.reading import attack_asking, attack_crowd
from tacit.audit.released import check_released_choices, check_released_vectors
from tacit.audit.samplers import check_choice_sampler, check_gaussian_sampler
from tacit.audit.selection import attack_choice, attack_composition, neighbour_scores
from tacit.audit.settings import Settings
from tacit.audit.study import attack_records
from tacit.core.events import Exponential, Gaussian, PermuteAndFlip
from tacit.core.noise import gaussian_scale
from tacit.core.sums import UNITS_OF_PRIVACY
from tacit.progress import Progress, silent

Attack = Callable[..., Finding | Check]  # called with progress=

ATTACKED_RANK = 2  # coordinates in which the neighbours differ; see gaussian.py
COMPOSED = 4  # choices that one attacker sees
PRICED = 100  # releases whose price is computed
SMALL_SCALE = 4.3  # of noise whose law differs from the normal law
LEDGER_RHO = 4.5  # large, so that few releases tell
COHORT_RHO = 2.0
EPOCH_RHO = 4.5
EVALUATION_RHO = 4.5
FEWEST_VECTORS = 200  # that are drawn to test coordinates, however many coordinates there are


@dataclass(frozen=True)
class Effort:
    """How much work each attack does. Attacks that compare two datasets take so many samples on
    each of them."""

    releases: int  # vectors along one direction
    duels: int  # choices between two candidates of which either can win
    choices: int  # of one candidate among its rivals
    # of that candidate. The bound reaches closer to epsilon with many, but the event that tells is
    # rarer, and takes more samples.
    rivals: int
    runs: int  # of several choices each
    charged: int  # releases through a ledger
    paired: int  # releases about two cohorts
    epochs: int  # draws of each release of a study in two epochs
    evaluated: int  # draws of the release of an evaluation
    noise: int  # draws of single coordinates
    chosen: int  # draws of a candidate, for its law
    coordinates: int  # of whole released vectors, together
    answers: int  # draws of a choice through a ledger
    trials: int  # records of each kind
    every: int  # one odd record in so many, of all that are known
    processes: int  # that are started


QUICK = Effort(
    releases=20_000,
    duels=8_000,
    choices=8_000,
    rivals=15,
    runs=2_000,
    charged=450,
    paired=800,
    epochs=600,
    evaluated=600,
    noise=40_000,
    chosen=2_000,
    coordinates=40_000,
    answers=2_200,
    trials=300,
    every=5,
    processes=2,
)
FULL = Effort(
    releases=400_000,
    duels=100_000,
    choices=100_000,
    rivals=63,
    runs=20_000,
    charged=3_000,
    paired=20_000,
    epochs=6_000,
    evaluated=6_000,
    noise=1_000_000,
    chosen=40_000,
    coordinates=1_000_000,
    answers=20_000,
    trials=3_000,
    every=1,
    processes=4,
)


@dataclass(frozen=True)
class Report:
    """Everything that an audit found."""

    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    settings: Settings
    seconds: float

    @property
    def ok(self) -> bool:
        return all(finding.ok for finding in self.findings) and all(
            check.ok for check in self.checks
        )

    def to_json(self) -> dict[str, Any]:
        s = self.settings
        about = {"rank": s.rank, "bits": s.bits, "units": list(s.units), "budget": asdict(s.budget)}
        return {
            "mechanisms": [asdict(finding) for finding in self.findings],
            "checks": [asdict(check) for check in self.checks],
            "ok": self.ok,
            "confidence": 1.0 - RISK,
            "false_alarm_rate_each": ALARM,
            "settings": about | {"clip": None if s.design is None else s.design.clip},
            "seconds": self.seconds,
        }


def run_audit(
    settings: Settings | None = None, effort: Effort = FULL, progress: Progress = silent
) -> Report:
    """Attacks the shipped mechanisms at these settings. Touches no data and no ledger but its
    own."""
    clock = Clock()
    settings = settings or Settings()
    results = [attack(progress=progress) for attack in _plan(settings, effort)]
    findings = tuple(result for result in results if isinstance(result, Finding))
    checks = tuple(result for result in results if isinstance(result, Check))
    return Report(findings, checks, settings, clock.seconds)


def _plan(settings: Settings, effort: Effort) -> list[Attack]:
    gaussian = [] if settings.budget.pure else _releases(settings, effort)
    return [
        *_moves(settings, effort),
        *gaussian,
        *_choices(settings, effort),
        *_checks(settings, effort),
    ]


def _moves(s: Settings, effort: Effort) -> list[Attack]:
    """How far one record, or one user, can move the sum: by its own integers, and by changing how
    others are read."""
    shown: dict[str, Any] = {
        "epsilon_if_moved": s.epsilon_if_moved,
        "delta": 0.0 if s.budget.pure else s.delta,
    }
    attacks: list[Attack] = []
    for unit in s.units:
        make = UNITS_OF_PRIVACY[unit]
        name = f"contribution, {unit}"
        search = partial(attack_contribution, name, encoding=s.encoding(), make=make)
        attacks.append(partial(search, trials=effort.trials, **shown))
    if s.design is not None:
        (design,) = s.designs(s.design.unit)
        attacks.append(partial(attack_records, design=design, trials=effort.trials, **shown))
    for unit in s.units:
        common = shown | {"designs": s.designs(unit), "every": effort.every}
        attacks.append(partial(attack_crowd, f"odd cells, {unit}", **common))
        attacks.append(partial(attack_asking, f"odd questions, {unit}", **common))
    return attacks


def _releases(s: Settings, effort: Effort) -> list[Attack]:
    rho = s.rho
    small = s.encoding(min(s.rank, ATTACKED_RANK))
    scale = gaussian_scale(small.sensitivity, rho)
    return [
        *[
            partial(
                attack_gaussian,
                f"Gaussian release, {unit}",
                encoding=small,
                rho=rho,
                delta=s.delta,
                samples=effort.releases,
                make=UNITS_OF_PRIVACY[unit],
            )
            for unit in s.units
        ],
        partial(
            attack_release,
            encoding=s.encoding(),
            rho=LEDGER_RHO,
            delta=s.delta,
            samples=effort.charged,
            make=UNITS_OF_PRIVACY[s.units[0]],
        ),
        partial(
            attack_cohorts, encoding=small, rho=COHORT_RHO, delta=s.delta, samples=effort.paired
        ),
        partial(attack_epochs, rho=EPOCH_RHO, delta=s.delta, samples=effort.epochs),
        partial(attack_evaluation, rho=EVALUATION_RHO, delta=s.delta, samples=effort.evaluated),
        partial(
            attack_price,
            "price, one release",
            event=Gaussian(small.sensitivity, scale),
            times=1,
            delta=s.delta,
        ),
    ]


def _choices(s: Settings, effort: Effort) -> list[Attack]:
    flip = PermuteAndFlip(s.choice)
    exponential = Exponential(s.choice)
    shape = s.encoding(2)
    duel = neighbour_scores(shape)
    crowd = neighbour_scores(shape, candidates=1 + effort.rivals, rivals=effort.rivals)
    pair = neighbour_scores(shape, candidates=2, level=False)
    attacks: list[Attack] = [
        partial(
            attack_choice, "permute-and-flip", event=flip, neighbours=duel, samples=effort.duels
        ),
        partial(
            attack_choice,
            "exponential",
            event=exponential,
            neighbours=crowd,
            samples=effort.choices,
        ),
        partial(
            attack_choice,
            "exponential, range",
            event=exponential,
            neighbours=pair,
            samples=effort.duels,
            measure=RANGE,
        ),
    ]
    if s.budget.pure:
        return [
            *attacks,
            partial(attack_pure_choice, neighbours=duel, epsilon=s.choice, samples=effort.charged),
        ]
    small = s.choice / math.sqrt(PRICED)
    priced = partial(attack_price, times=PRICED, delta=s.delta)
    return [
        *attacks,
        partial(
            attack_composition,
            f"{COMPOSED} exponential choices",
            event=exponential,
            neighbours=pair,
            choices=COMPOSED,
            delta=s.delta,
            samples=effort.runs,
        ),
        partial(priced, f"price, {PRICED} exponential", event=Exponential(small)),
        partial(priced, f"price, {PRICED} permute-and-flip", event=PermuteAndFlip(small)),
    ]


def _checks(s: Settings, effort: Effort) -> list[Attack]:
    sampled = partial(check_choice_sampler, samples=effort.chosen)
    released = partial(check_released_choices, epsilon=s.choice, samples=effort.answers)
    attacks: list[Attack] = [
        partial(sampled, "law of permute-and-flip", event=PermuteAndFlip(s.choice)),
        partial(sampled, "law of the exponential", event=Exponential(s.choice)),
        partial(released, "choices, pure ledger", pure=True),
        partial(released, "choices, zCDP ledger", pure=False),
        partial(check_randomness, "nothing can be repeated", processes=effort.processes),
        partial(check_seeds_are_marked, "a seed is marked"),
    ]
    if s.budget.pure:
        return attacks
    scale = gaussian_scale(s.encoding().sensitivity, s.rho)
    total = made_up_sum(s.designs(s.units[0])[-1])
    vectors = max(FEWEST_VECTORS, effort.coordinates // total.encoding.size)
    noise = partial(check_gaussian_sampler, samples=effort.noise)
    return [
        partial(noise, "law of the noise, small scale", scale=SMALL_SCALE),
        partial(noise, "law of the noise, real scale", scale=scale),
        partial(check_released_vectors, total=total, rho=s.rho, samples=vectors),
        *attacks,
    ]
