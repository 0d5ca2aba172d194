"""Broken mechanisms, one deliberate mistake each: the audit must turn red for every one of them.

Private noise has no seed, so these attacks are new every time. Each docstring gives the miss rate
as the distance, in standard deviations, between what the attack finds (at the confidence that `ok`
asks for) and the claim that it has to pass: 6 or more everywhere, that is below 1e-8 a test. The
figures are from simulations of the attacks with the laws of the broken mechanisms. What is called
deterministic cannot miss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from helpers import small_design
from streams import (
    from_a_known_stream,
    from_a_stream_that_is_copied_by_a_fork,
    from_the_global_generator,
    seeded_every_time,
)
from tacit.audit.bounds import RANGE
from tacit.audit.contribution import attack_contribution
from tacit.audit.end_to_end import attack_release
from tacit.audit.findings import Finding
from tacit.audit.gaussian import attack_gaussian
from tacit.audit.ledger import spent_on_choices
from tacit.audit.prices import attack_price
from tacit.audit.randomness import check_randomness, check_seeds_are_marked
from tacit.audit.samplers import check_choice_sampler, check_gaussian_sampler
from tacit.audit.selection import attack_choice, attack_composition, neighbour_scores
from tacit.audit.settings import Settings
from tacit.audit.study import attack_records
from tacit.core import Encoding, PrivateSum, release_gaussian, simulate_gaussian
from tacit.core.budget import epsilon_of_rho
from tacit.core.contribution import Array
from tacit.core.events import Event, Exponential, Gaussian, PermuteAndFlip, price
from tacit.core.noise import discrete_gaussian
from tacit.core.selection import selection_measurement, sensitivity
from tacit.core.sums import UserSum
from tacit.design import Design

SHAPE = Encoding(size=4, horizon=4096)
RHO = 0.5  # mu = 1


def gaussian(samples: int, encoding: Encoding = SHAPE, **broken: Any) -> Finding:
    return attack_gaussian(encoding=encoding, rho=RHO, delta=1e-6, samples=samples, **broken)


def contribution(encoding: Encoding = SHAPE, **broken: Any) -> Finding:
    common: dict[str, Any] = {"epsilon_if_moved": Settings().epsilon_if_moved, "trials": 120}
    return attack_contribution(encoding=encoding, **common, **broken)


def noise_times(factor: float) -> Callable[[Any, Gaussian], Any]:
    return lambda total, event: discrete_gaussian(total, replace(event, scale=event.scale * factor))


def scale_times(factor: float) -> Callable[[int, Any, int], Any]:
    return lambda size, event, delta: selection_measurement(
        size, event, max(1, int(delta * factor))
    )


# -- noise ----------------------------------------------------------------------------------------


def test_half_the_noise() -> None:
    """Finds mu = 1.62 where 1 is claimed: 12 standard deviations."""
    found = gaussian(4000, noise=noise_times(0.5))
    assert not found.ok
    assert found.lower_bound > found.claimed_epsilon


def test_eight_tenths_of_the_noise() -> None:
    """Finds mu = 1.14 where 1 is claimed: 9 standard deviations."""
    assert not gaussian(40_000, Encoding(size=1, horizon=100), noise=noise_times(0.8)).ok


def test_no_noise_at_all() -> None:
    """Deterministic: the two sums are never mistaken for each other."""
    assert not gaussian(200, noise=lambda total, event: total).ok


@pytest.mark.parametrize("scale", [4.3, 2.0**26])
def test_a_sampler_with_nine_tenths_of_the_noise(scale: float) -> None:
    """Chi-square is 740 and more where 130 and less would pass: 13 standard deviations."""
    assert not check_gaussian_sampler("law", scale=scale, samples=40_000, noise=noise_times(0.9)).ok


# -- sensitivity ----------------------------------------------------------------------------------


class AddRemove(Encoding):
    """Counts a record as there or not, where it can be replaced by its opposite: half the
    sensitivity."""

    @property
    def sensitivity(self) -> int:
        return self.bound


def test_the_sensitivity_of_another_relation() -> None:
    """Deterministic in the integers; in the release finds mu = 1.62 where 1 is claimed: 12 standard
    deviations."""
    broken = AddRemove(size=4, horizon=4096)
    assert not contribution(broken).ok
    assert not gaussian(4000, broken).ok


def test_half_the_sensitivity_of_the_scores() -> None:
    """Finds epsilon = 3.18 where 2 is claimed: 12 standard deviations."""
    broken = neighbour_scores(
        Encoding(size=2, horizon=4096),
        candidates=2,
        level=False,
        sensitivity=lambda theta, encoding: sensitivity(theta, encoding) // 2,
    )
    assert not attack_choice(
        "half", event=Exponential(2.0), neighbours=broken, samples=3000, measure=RANGE
    ).ok


# -- the clip -------------------------------------------------------------------------------------


class NoShrink(Encoding):
    """Entries are clipped, the norm is not."""

    def shrink(self, integers: Array, small: bool = False) -> Array:
        return integers


class NoClip(Encoding):
    """Believes that rows are inside the ball, as they ought to be."""

    def encode(self, rows: Array) -> Array:
        return np.rint(
            np.nan_to_num(rows, posinf=0.0, neginf=0.0).clip(-1e6, 1e6) * self.bound
        ).astype(np.int64)


class FloatClip(Encoding):
    """Scales rows into the ball in floating point, then rounds: outside again, by a few units in
    the last place."""

    def encode(self, rows: Array) -> Array:
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0).clip(-1.0, 1.0)
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        return np.rint(rows * self.bound).astype(np.int64)


@pytest.mark.parametrize("broken", [NoShrink, NoClip, FloatClip])
def test_a_skipped_clip_breaks_the_bound_in_the_integers(broken: type[Encoding]) -> None:
    """Deterministic."""
    assert contribution(SHAPE).ok
    assert not contribution(broken(size=4, horizon=4096)).ok


@pytest.mark.parametrize("broken", [NoShrink, NoClip])
def test_a_skipped_clip_shows_in_the_release(broken: type[Encoding]) -> None:
    """At rank 4 the sum moves twice as far or more: finds mu = 1.62 where 1 is claimed, 12 standard
    deviations."""
    assert not gaussian(4000, broken(size=4, horizon=4096)).ok


class EveryRecordOfAUser(UserSum):
    """Bounds every record, and forgets to bound the user."""

    def _value(self) -> Any:
        return self._rows.sum(0)


def test_a_user_who_is_not_bounded() -> None:
    """Deterministic in the integers; in the release finds mu = 2.7 where 1 is claimed: 19 standard
    deviations."""
    assert contribution(make=UserSum).ok
    assert not contribution(make=EveryRecordOfAUser).ok
    assert not gaussian(400, make=EveryRecordOfAUser).ok


def test_a_study_whose_records_are_not_bounded() -> None:
    """Deterministic: the whole numeric path, with an encoding that believes it."""

    class Believing(Design):
        @property
        def encoding(self) -> Encoding:
            return NoShrink(size=self.rank, horizon=self.horizon)

    right = small_design()
    wrong = Believing(**{field.name: getattr(right, field.name) for field in fields(right)})
    common: dict[str, Any] = {"epsilon_if_moved": Settings().epsilon_if_moved, "trials": 90}
    assert attack_records(design=right, **common).ok
    assert not attack_records(design=wrong, **common).ok


# -- choices --------------------------------------------------------------------------------------


def test_permute_and_flip_with_half_the_noise() -> None:
    """Finds epsilon = 3.0 where 2 is claimed: 8 standard deviations."""
    duel = neighbour_scores(Encoding(size=2, horizon=4096), candidates=2)
    common: dict[str, Any] = {"event": PermuteAndFlip(2.0), "neighbours": duel}
    assert not attack_choice("half", samples=6000, make=scale_times(0.5), **common).ok


def test_the_exponential_mechanism_with_half_the_noise_in_a_crowd() -> None:
    """Finds epsilon = 2.68 where 2 is claimed: 7 standard deviations."""
    crowd = neighbour_scores(Encoding(size=2, horizon=4096), rivals=63)
    common: dict[str, Any] = {"event": Exponential(2.0), "neighbours": crowd}
    assert not attack_choice("half", samples=8000, make=scale_times(0.5), **common).ok


def test_the_exponential_mechanism_with_eight_tenths_of_the_noise() -> None:
    """Finds a range of 3.38 where 3 is claimed: 8 standard deviations."""
    pair = neighbour_scores(Encoding(size=2, horizon=4096), candidates=2, level=False)
    common: dict[str, Any] = {"event": Exponential(3.0), "neighbours": pair, "measure": RANGE}
    assert not attack_choice("0.8", samples=14_000, make=scale_times(0.8), **common).ok


def test_one_mechanism_passed_off_as_the_other() -> None:
    """Chi-square is 326 where 51 would pass: 8 standard deviations."""
    other = selection_measurement(6, PermuteAndFlip(4.0), 1_000_000)

    def choose(scores: Any, event: Any, delta: int) -> int:
        return int(other([int(score) for score in scores]))

    assert not check_choice_sampler("law", event=Exponential(4.0), samples=6000, choose=choose).ok


# -- composition ----------------------------------------------------------------------------------


def cheap(event: Event, measure: str) -> Fraction:
    """The exponential mechanism at epsilon^2 / 32, everything else at a quarter, too."""
    return price(event, measure) / 4


def generous(rho: float, delta: float) -> float:
    """Mistakes rho for half of it."""
    return epsilon_of_rho(rho / 2, delta)


@pytest.mark.parametrize(
    ("event", "times"),
    [(Exponential(0.2), 100), (PermuteAndFlip(0.2), 100), (Gaussian(2**25, 2.0**25), 1)],
)
@pytest.mark.parametrize(
    "broken", [{"price": cheap}, {"convert": generous}], ids=["price", "convert"]
)
def test_a_forgotten_factor_in_the_price(event: Event, times: int, broken: dict[str, Any]) -> None:
    """Deterministic."""
    assert attack_price("right", event=event, times=times, delta=1e-6).ok
    assert not attack_price("wrong", event=event, times=times, delta=1e-6, **broken).ok


def test_many_choices_charged_as_one() -> None:
    """Finds rho = 1.55 where 0.5 is charged: 6 standard deviations."""
    pair = neighbour_scores(Encoding(size=2, horizon=4096), candidates=2, level=False)
    common: dict[str, Any] = {"neighbours": pair, "choices": 16, "delta": 1e-6, "samples": 500}
    found = attack_composition(
        event=Exponential(2.0), spent=lambda event, choices: spent_on_choices(event, 1), **common
    )
    assert not found.ok


def release_with_a_tenth_of_the_noise(total: PrivateSum, *arguments: Any) -> Any:
    released = release_gaussian(total, *arguments)
    return replace(released, values=total._value() + (released.values - total._value()) // 10)


def test_a_release_with_too_little_noise_shows_through_the_ledger() -> None:
    """Finds mu = 1.33 where 1 was charged; only errors at 5 standard deviations of the noise could
    hide it."""
    common: dict[str, Any] = {"encoding": SHAPE, "rho": RHO, "delta": 1e-6}
    assert not attack_release(samples=120, release=release_with_a_tenth_of_the_noise, **common).ok


class Free:
    """A ledger that forgets to charge all but every hundredth release."""

    def __init__(self) -> None:
        self._seen = 0

    def __call__(
        self, total: PrivateSum, budget: Any, ledger: Any, request: str, about: Any
    ) -> Any:
        self._seen += 1
        if self._seen % 100 == 1:
            return release_gaussian(total, budget, ledger, request, about)
        event = Gaussian(
            total.encoding.sensitivity, total.encoding.sensitivity / (2 * budget.zcdp) ** 0.5
        )
        simulated = simulate_gaussian(total, budget, np.random.default_rng())
        return replace(simulated, values=discrete_gaussian(total._value(), event))


def test_releases_that_were_not_charged() -> None:
    """Finds mu = 2.2 where 2 was charged on average; the true one is 20, so the two sides are never
    mistaken."""
    assert not attack_release(encoding=SHAPE, rho=200.0, delta=1e-6, samples=250, release=Free()).ok


# -- seeds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [seeded_every_time, from_the_global_generator])
def test_noise_that_can_be_repeated_in_one_process(broken: Callable[[], list[int]]) -> None:
    """Deterministic."""
    assert not check_randomness("seeded", draws=(broken,), processes=0).ok


@pytest.mark.parametrize("broken", [from_a_known_stream, from_a_stream_that_is_copied_by_a_fork])
def test_noise_that_can_be_repeated_in_another_process(broken: Callable[[], list[int]]) -> None:
    """Deterministic; the right noise collides with probability 2^-640."""
    assert check_randomness("alone", draws=(broken,), processes=0).ok
    assert not check_randomness("in company", draws=(broken,)).ok


def test_a_seeded_release_that_claims_to_be_private() -> None:
    """Deterministic."""

    def boastful(*arguments: Any) -> Any:
        released = simulate_gaussian(*arguments)
        return replace(released, guarantee=replace(released.guarantee, private=True))

    assert check_seeds_are_marked().ok
    assert not check_seeds_are_marked(simulate=boastful).ok


def test_a_policy_from_a_seed_says_so_everywhere(tmp_path: Any) -> None:
    """In the object, in its words, in its file, and after loading."""
    import json

    from tacit import Policy

    policy = small_design().statistic().simulate_release(np.random.default_rng(7))
    saved = json.loads((policy.save(tmp_path / "policy") / "policy.json").read_text())
    loaded = Policy.load(tmp_path / "policy")
    assert not policy.private
    assert not loaded.private
    assert saved["private"] is False
    assert saved["guarantee"]["private"] is False
    assert all("NOT PRIVATE" in str(p.guarantee) for p in (policy, loaded))
    assert "private=False" in repr(policy)
