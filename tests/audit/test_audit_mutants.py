"""More broken mechanisms: releases whose coordinates differ, choices that were not charged, readers
of tables whose rows change each other.

As in test_broken_mechanisms.py, the audit must turn red for each. Private noise has no seed; each
docstring gives the miss rate. What is called deterministic cannot miss. Every check is first seen
green on what it is made from, with a false alarm of 5e-8 each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streams import quick_noise
from tacit import Cohort, Statistic, Study
from tacit.audit.cohorts import attack_cohorts
from tacit.audit.end_to_end import attack_release
from tacit.audit.epochs import ODD, SIZES, attack_epochs
from tacit.audit.evaluations import attack_evaluation
from tacit.audit.findings import Check, Finding
from tacit.audit.ledger import temporary_ledger
from tacit.audit.made_up import ONE, made_up_design, made_up_designs, made_up_sum
from tacit.audit.reading import attack_asking, attack_crowd
from tacit.audit.released import check_released_choices, check_released_vectors
from tacit.audit.settings import Settings
from tacit.core import Encoding, release_choice, release_gaussian
from tacit.core.events import Exponential, Gaussian, PermuteAndFlip
from tacit.core.noise import discrete_gaussian
from tacit.core.selection import noisy_max
from tacit.study.epoch_store import EpochStore
from tacit.study.epoch_study import EpochStudy
from tacit.tables import number

# How accurate the policies are that the attacked studies make does not matter to any attack.
pytestmark = pytest.mark.usefixtures("coarse_fits")

RHO = 0.5

# -- coordinates ----------------------------------------------------------------------------------


def vectors(**broken: Any) -> Check:
    return check_released_vectors(
        total=made_up_sum(made_up_design("record", ONE)), rho=RHO, samples=200, **broken
    )


def last_coordinate_without_noise(total: Any, event: Gaussian) -> Any:
    noised = discrete_gaussian(total, event)
    noised[-1] = total[-1]
    return noised


def half_the_noise_on_one_coordinate(total: Any, event: Gaussian) -> Any:
    noised = discrete_gaussian(total, event)
    half = replace(event, scale=event.scale / 2)
    noised[3] = discrete_gaussian(total[3:4], half)[0]
    return noised


def the_same_noise_on_two_coordinates(total: Any, event: Gaussian) -> Any:
    noised = discrete_gaussian(total, event)
    noised[1] = total[1] + noised[-1] - total[-1]
    return noised


def opposite_noise_on_neighbours(total: Any, event: Gaussian) -> Any:
    noised = discrete_gaussian(total, event)
    noised[5] = total[5] - (noised[6] - total[6])
    return noised


def another_generator_for_the_second_half(total: Any, event: Gaussian) -> Any:
    noised = discrete_gaussian(total, event)
    half = len(total) // 2
    noised[half:] = total[half:] + np.rint(
        np.random.default_rng().normal(size=len(total) - half) * event.scale * 2
    )
    return noised


def noise_around_something_else(total: Any, event: Gaussian) -> Any:
    """One coordinate is not where the sum is: 3 standard deviations off, 42 for the mean of 200."""
    noised = discrete_gaussian(total, event)
    noised[0] -= 3 * int(event.scale)
    return noised


def test_right_releases_pass() -> None:
    found = vectors()
    assert found.ok
    assert found.samples == 200


@pytest.mark.parametrize(
    "broken",
    [
        last_coordinate_without_noise,
        half_the_noise_on_one_coordinate,
        the_same_noise_on_two_coordinates,
        opposite_noise_on_neighbours,
        another_generator_for_the_second_half,
        noise_around_something_else,
    ],
)
def test_a_coordinate_without_noise_of_its_own(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Any]
) -> None:
    """Miss rates below 1e-10: half the noise makes the sum of squares of 200 draws 50 on average,
    with a standard deviation of 5, where 96 would pass; the others are deterministic or tens of
    standard deviations away."""
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", broken)
    assert not vectors().ok


def with_an_exact_last_coordinate(total: Any, *arguments: Any) -> Any:
    """Charges, draws and stores as it should, and then answers with something else."""
    released = release_gaussian(total, *arguments)
    released.values[-1] = total._value()[-1]
    return released


def with_floats(total: Any, *arguments: Any) -> Any:
    released = release_gaussian(total, *arguments)
    return replace(released, values=released.values.astype(np.float64))


def without_the_last(total: Any, *arguments: Any) -> Any:
    released = release_gaussian(total, *arguments)
    return replace(released, values=released.values[:-1])


@pytest.mark.parametrize("broken", [with_an_exact_last_coordinate, with_floats, without_the_last])
def test_an_answer_that_is_not_what_was_stored(broken: Callable[..., Any]) -> None:
    """Deterministic, but for one draw that hits the sum exactly."""
    assert not vectors(release=broken).ok


def test_a_release_goes_to_any_ledger_with_any_options() -> None:
    """The attack passes on what it is given, and calls a ledger that says too little a lie: mu is
    10, not 0.1.

    Finds mu = 0.29 as long as none of 60 releases is on the wrong side of the threshold, which is 5
    standard deviations of the noise away, and 0.13 if one is: missed with probability below 1e-9.
    """
    seen: list[str] = []

    def release(*arguments: Any, mark: str) -> Any:
        seen.append(mark)
        return release_gaussian(*arguments)

    common: dict[str, Any] = {
        "encoding": Encoding(size=4, horizon=4096),
        "rho": 50.0,
        "delta": 1e-6,
        "samples": 30,
    }
    common |= {"release": release, "options": {"mark": "here"}, "ledger": temporary_ledger}
    assert attack_release(**common).ok
    assert seen == ["here"] * 60
    assert not attack_release(**common, spent=lambda ledger: ledger.spent / 10_000).ok


# -- choices --------------------------------------------------------------------------------------


def permute_and_flip(scores: Any, event: Exponential, delta: int) -> int:
    return noisy_max(scores, PermuteAndFlip(event.epsilon), delta)


def test_permute_and_flip_is_drawn_where_the_exponential_mechanism_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The best candidate wins 65 % of the choices by the law that is charged, 76 % by the other
    one: among 2200 choices this is missed with probability 5e-10, by the binomial laws."""
    monkeypatch.setattr("tacit.core.selection.noisy_max", permute_and_flip)
    assert not check_released_choices("choices", pure=False, epsilon=2.0, samples=2200).ok


def test_an_answer_that_is_not_the_stored_choice() -> None:
    """Deterministic."""

    def always_the_first_but_one(*arguments: Any) -> int:
        return release_choice(*arguments) ^ 1

    assert not check_released_choices(
        "choices", pure=True, epsilon=2.0, samples=50, release=always_the_first_but_one
    ).ok


# -- crowds ---------------------------------------------------------------------------------------


def crowd(add: Callable[..., Any], unit: str = "record", every: int = 11) -> Finding:
    common: dict[str, Any] = {
        "epsilon_if_moved": Settings().epsilon_if_moved,
        "every": every,
        "size": 100,
    }
    return attack_crowd(designs=made_up_designs(unit), add=add, **common)


def rows_of(data: Any, names: Any) -> list[list[Any]]:
    """A table of any kind that the attack makes, as rows of cells; what is no row of so many cells
    is None."""
    if hasattr(data, "to_dict"):
        data = {name: list(data[name]) for name in names}
    if isinstance(data, Mapping):
        return [list(row) for row in zip(*[data[name] for name in names], strict=True)]
    return [row_of(row, names) for row in data]


def row_of(row: Any, names: Any) -> list[Any]:
    """One row by itself: no other row has a part in it."""
    nothing = [None] * len(names)
    try:
        if isinstance(row, Mapping):
            return [row[name] for name in names]
        if len(names) == 1 and not isinstance(row, list | tuple | np.ndarray):
            return [row]
        if isinstance(row, list | tuple | np.ndarray) and len(row) == len(names):
            return list(row)
        return nothing
    except Exception:
        return nothing


def plain(cell: Any) -> Any:
    """A number or a piece of text; None for everything else."""
    # pandas makes all cells of a column complex for one that is
    if type(cell) is complex and cell.imag == 0.0:
        cell = cell.real
    if type(cell) is str:
        return cell
    if not isinstance(cell, bool | int | float | np.floating):
        return None
    value = number(cell)
    return value if np.isfinite(value) else None


def plain_ids(users: Any) -> list[str | None] | None:
    """User ids that are text; None for everything else."""
    if users is None:
        return None
    return [user if type(user) is str else None for user in list(users)]


Change = Callable[[list[list[Any]]], list[list[Any]]]


def reader(change: Change = lambda rows: rows) -> Callable[..., Any]:
    """`Statistic.add` behind a reader that takes each cell by itself, and then lets `change` see
    all rows at once."""

    def add(
        statistic: Statistic, actions: Any, contexts: Any, rewards: Any, users: Any = None
    ) -> None:
        tables = {}
        for what, data in (("actions", actions), ("contexts", contexts)):
            domain = getattr(statistic.design.problem, what)
            rows = change([[plain(cell) for cell in row] for row in rows_of(data, domain.names)])
            tables[what] = {name: [row[i] for row in rows] for i, name in enumerate(domain.names)}
        numbers = [plain(cell) for cell in list(rewards)]
        statistic.add(tables["actions"], tables["contexts"], numbers, users=plain_ids(users))

    return add


@pytest.mark.parametrize("unit", ["record", "user"])
def test_a_reader_that_takes_each_cell_by_itself_passes(unit: str) -> None:
    """Deterministic. Needs nothing of how Tacit itself reads odd cells: it is shown numbers, text
    and None."""
    found = crowd(reader(), unit)
    assert found.ok, found.about
    assert found.lower_bound > 0.6 * found.claimed_epsilon


def all_or_nothing(rows: list[list[Any]]) -> list[list[Any]]:
    """One row that cannot be read, and none is."""
    if any(cell is None for row in rows for cell in row):
        return [[None] * len(row) for row in rows]
    return rows


def standardised(rows: list[list[Any]]) -> list[list[Any]]:
    """Every column of numbers in units of its largest one."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    for column in columns:
        numbers = [abs(cell) for cell in column if isinstance(cell, float)]
        top = max([100.0, *numbers])
        column[:] = [cell / top * 100.0 if isinstance(cell, float) else cell for cell in column]
    return [list(row) for row in zip(*columns, strict=True)]


def as_one_type(rows: list[list[Any]]) -> list[list[Any]]:
    """A column with a piece of text in it is a column of text, and its numbers are no numbers any
    more."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    for column in columns:
        if any(isinstance(cell, str) for cell in column):
            column[:] = [cell if isinstance(cell, str) else f"<{cell}>" for cell in column]
    return [list(row) for row in zip(*columns, strict=True)]


def shifted(rows: list[list[Any]]) -> list[list[Any]]:
    """Incomplete rows are left out and the ones after them move up: their cells meet other people's
    actions."""
    kept = [row for row in rows if None not in row]
    return kept + [[None] * len(rows[0])] * (len(rows) - len(kept))


def left_out(rows: list[list[Any]]) -> list[list[Any]]:
    """Incomplete rows are left out: the tables do not have as many rows any more, which is said
    aloud."""
    return [row for row in rows if None not in row]


def warned(rows: list[list[Any]]) -> list[list[Any]]:
    """Reads everything as it should, and says that something was missing."""
    if any(None in row for row in rows):
        warnings.warn("some cells are missing", stacklevel=2)
    return rows


@pytest.mark.parametrize("unit", ["record", "user"])
@pytest.mark.parametrize("broken", [all_or_nothing, standardised, as_one_type, shifted])
def test_a_reader_that_looks_at_its_batch(broken: Change, unit: str) -> None:
    """Deterministic: it moves the sum too far, without a word."""
    found = crowd(reader(broken), unit, every=17)
    assert not found.ok
    assert found.lower_bound > found.claimed_epsilon
    assert "; 0 raised" in found.about


@pytest.mark.parametrize("broken", [left_out, warned])
def test_a_reader_that_talks_about_its_batch(broken: Change) -> None:
    """Deterministic."""
    found = crowd(reader(broken), every=17)
    assert not found.ok
    assert "; 0 raised" not in found.about


def test_a_statistic_that_drops_incomplete_records() -> None:
    """Deterministic: the sum is right, and the public number of records depends on what is in
    them."""

    def dropping(
        statistic: Statistic, actions: Any, contexts: Any, rewards: Any, users: Any = None
    ) -> None:
        numbers = [plain(cell) for cell in list(rewards)]
        kept = [i for i, cell in enumerate(numbers) if isinstance(cell, float)]
        tables = []
        for data, domain in (
            (actions, statistic.design.problem.actions),
            (contexts, statistic.design.problem.contexts),
        ):
            rows = rows_of(data, domain.names)
            tables.append(
                {name: [plain(rows[i][j]) for i in kept] for j, name in enumerate(domain.names)}
            )
        statistic.add(tables[0], tables[1], [numbers[i] for i in kept])

    found = crowd(dropping, every=17)
    assert not found.ok
    assert found.lower_bound > found.claimed_epsilon


# -- questions ------------------------------------------------------------------------------------


def questions(ask: Callable[..., Any], unit: str = "record", every: int = 29) -> Finding:
    common: dict[str, Any] = {"epsilon_if_moved": Settings().epsilon_if_moved, "every": every}
    return attack_asking(designs=made_up_designs(unit), ask=ask, **common)


def asker(
    change: Change = lambda rows: rows, keep: Callable[[list[Any]], list[Any]] = list
) -> Callable[..., Any]:
    """`Study.ask_many` behind such a reader; `keep` decides which rows are asked at all."""

    def ask(study: Study, contexts: Any, users: Any = None) -> Any:
        names = study.problem.contexts.names
        rows = keep(change([[plain(cell) for cell in row] for row in rows_of(contexts, names)]))
        ids = plain_ids(users)
        if ids is not None:
            ids = ids[: len(rows)]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        return study.ask_many(columns, users=ids)

    return ask


@pytest.mark.parametrize("unit", ["record", "user"])
def test_questions_that_are_read_cell_by_cell_pass(unit: str) -> None:
    """Deterministic."""
    found = questions(asker(), unit)
    assert found.ok, found.about


def drop_incomplete(rows: list[Any]) -> list[Any]:
    return [row for row in rows if None not in row]


@pytest.mark.parametrize("unit", ["record", "user"])
@pytest.mark.parametrize(
    "broken",
    [asker(all_or_nothing), asker(as_one_type), asker(keep=drop_incomplete), asker(warned)],
    ids=["all or nothing", "one type", "drops a row", "warns"],
)
def test_questions_that_change_each_other(broken: Callable[..., Any], unit: str) -> None:
    """Deterministic."""
    assert not questions(broken, unit).ok


# -- what is shipped ------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "user"])
def test_the_shipped_reader_takes_each_record_by_itself(unit: str) -> None:
    """Deterministic; `tacit audit` tries the other oddities."""
    added = crowd(Statistic.add, unit)
    assert added.ok, added.about
    asked = questions(Study.ask_many, unit)
    assert asked.ok, asked.about


@pytest.mark.parametrize(("pure", "charged"), [(True, "PermuteAndFlip"), (False, "Exponential")])
def test_both_kinds_of_budget_pay_for_their_own_mechanism(pure: bool, charged: str) -> None:
    """The right mechanisms; false alarms 5e-8 each."""
    found = check_released_choices("choices", pure=pure, epsilon=0.3, samples=250)
    assert found.ok
    assert charged in found.about


# -- cohorts --------------------------------------------------------------------------------------


def cohorts(samples: int) -> Finding:
    return attack_cohorts(
        encoding=Encoding(size=2, horizon=100), rho=2.0, delta=1e-6, samples=samples
    )


def test_somebody_who_gets_into_two_cohorts_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two sides are 2.83 apart where 2 is claimed: 1500 releases on each side miss it with
    probability 2e-9."""
    monkeypatch.setattr(Cohort, "require", lambda self, span: None)
    assert not cohorts(1500).ok


def test_right_cohorts_pass() -> None:
    """False alarm below 5e-8."""
    assert cohorts(100).ok


# -- epochs ---------------------------------------------------------------------------------------


def epochs(samples: int, **options: Any) -> Finding:
    return attack_epochs(rho=4.5, delta=1e-6, samples=samples, **options)


def test_a_right_study_in_epochs_passes() -> None:
    """False alarm below 5e-8."""
    found = epochs(60)
    assert found.ok
    assert found.samples == 120


def test_half_the_noise_in_an_epoch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two sides are 5.4 apart or more where 3 is claimed. Refuted as long as at most 16 of 750
    draws are on the wrong side of the threshold, where 3 are expected: missed with probability
    below 1e-7."""

    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise(0.5))
    assert not epochs(1000).ok


def test_the_noise_that_hides_mistakes_is_not_what_turns_red(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Quick noise of the right scale passes: what follows is seen because of what is broken."""
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise())
    assert epochs(1000).ok


def test_a_round_that_counts_in_both_epochs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second epoch reads the odd round of the first, four times, in place of its own: somebody
    who came back. The two sides are 8 apart or more where 3 is claimed. Refuted as long as at most
    5 of 450 draws are on the wrong side, where 0.02 are expected: missed below 1e-9."""
    read = EpochStore.rounds

    def rounds(self: EpochStore, first: int, last: int) -> Any:
        for start, rows in read(self, first, last):
            if first == SIZES[0]:
                ((_, odd),) = read(self, ODD - 1, ODD)
                rows = [*odd, *odd, *odd, *odd, *rows[4:]]
            yield start, rows

    monkeypatch.setattr(EpochStore, "rounds", rounds)
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise())
    assert not epochs(600).ok


def test_play_whose_coins_come_from_the_data_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No draw is on the wrong side: what is public differs. 300 of them prove 3.2 where 3 is
    claimed. Deterministic."""

    def go_on(study: EpochStudy) -> None:
        rows = [row for _, page in study._epochs.rounds(0, study.asked) for row in page]
        study._rng = np.random.default_rng(int(1e6 * sum(row.reward + 1.0 for row in rows)))
        study.advance()

    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise())
    assert not epochs(400, go_on=go_on).ok


# -- evaluations ----------------------------------------------------------------------------------


def evaluation(samples: int, **options: Any) -> Finding:
    return attack_evaluation(rho=4.5, delta=1e-6, samples=samples, **options)


def with_a_window_from_the_data(policies: Any, log: Any, **options: Any) -> Any:
    """Charges and draws as it should, but chooses the width by who came."""
    from tacit.evaluating import evaluate

    options["options"] = replace(options["options"], window=0.1 + 0.1 * float(log["age"].mean()))
    return evaluate(policies, log, **options)


def test_a_right_evaluation_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm below 5e-8, also with quick noise of the right scale."""
    assert evaluation(60).ok
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise())
    found = evaluation(1000)
    assert found.ok
    assert found.lower_bound > 0.5 * found.claimed_epsilon


def test_half_the_noise_in_an_evaluation_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded noise. The two sides are more than 5 apart where 3 is claimed."""
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise(0.5))
    assert not evaluation(1000).ok


def test_a_window_that_was_chosen_from_data_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deterministic: what the evaluation says of its windows differs between the two logs."""
    monkeypatch.setattr("tacit.core.release.discrete_gaussian", quick_noise())
    assert not evaluation(1000, run=with_a_window_from_the_data).ok
