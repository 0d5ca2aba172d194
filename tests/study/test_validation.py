"""Validation epochs: fresh people, one comparison, one release; and the arms of learning epochs.

Deterministic, apart from privacy noise that no assertion looks at. At the end each rule is broken
on purpose, and the test that guards it must fail.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import tacit
from databases import Urls, advance_study, make_epoch_study, race
from helpers import BUDGET, sqlite
from mutation import Mutant, applied, failure_under
from tacit import Cohort, InputError, StateError, Study
from tacit.core.database import perform
from tacit.design import Design
from tacit.evaluation.arms import Arm, arm_entries, arm_sum, release_arms
from tacit.study.epoch_release import EpochReleases
from tacit.study.epoch_store import EpochRow, rewards_of
from tacit.study.epoch_study import EpochStudy
from tacit.study.store import rounds_table
from tacit.study.validation import RoundArms
from witness import GAUSSIAN, watched

pytest_plugins = ["databases"]
pytestmark = pytest.mark.usefixtures("coarse_fits")

FIRST = 20  # rounds of the first epoch
ROUNDS = 30  # of the validation epoch
BASELINE = {"x": 0.5}


def begin(path: Path, sizes: list[int] | None = None, **given: Any) -> EpochStudy:
    """A study whose first epoch is full and waits to be released."""
    study = make_epoch_study(sqlite(path), sizes or [FIRST, 40], **given)
    assert isinstance(study, EpochStudy)
    play(study, FIRST)
    return study


def reopened(path: Path, **given: Any) -> EpochStudy:
    study = Study.open(sqlite(path), **given)
    assert isinstance(study, EpochStudy)
    return study


def play(study: Study, n: int, seed: int = 0, users: Any = None, told: Any = None) -> list[Any]:
    """So many rounds, in which the best action is the context."""
    contexts = np.random.default_rng(seed).random((n, 1))
    decisions = study.ask_many(contexts, users=users)
    rewards = [
        1.0 - abs(float(c[0]) - decision.action["x"])
        for c, decision in zip(contexts, decisions, strict=True)
    ]
    study.tell_many(decisions, rewards if told is None else map(told, decisions))
    return decisions


def people(n: int, start: int = 0) -> list[str]:
    return [f"person {i}" for i in range(start, start + n)]


def rows_of(study: EpochStudy, epoch: EpochRow) -> list[Any]:
    query = select(rounds_table).order_by(rounds_table.c.number)
    rows = perform(study._epochs.engine, lambda c: c.execute(query).all())
    return [row for row in rows if epoch.first < row.number <= epoch.end]


def validated(path: Path, **given: Any) -> EpochStudy:
    """A study whose validation epoch was released, and a learning epoch is open."""
    study = begin(path, **given)
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    study.advance()
    play(study, ROUNDS, seed=1)
    study.advance()
    return study


class Killed(Exception):
    """The process is gone."""


def kill(*_arguments: Any, **_options: Any) -> Any:
    raise Killed


# -- its life --------------------------------------------------------------------------------------


def test_a_validation_epoch_compares_the_policy_with_a_baseline_and_learning_goes_on(
    tmp_path: Path,
) -> None:
    study = begin(tmp_path)
    assert study.validate(rounds=ROUNDS, baseline=BASELINE, split=0.5) == 2
    assert study.sizes == [FIRST, ROUNDS, 40]
    assert study.advance().epoch == 2
    assert study.present.kind == "validation"
    before = study.policy
    decisions = play(study, ROUNDS, seed=1)
    assert {decision.mode for decision in decisions} == {"exploit", "control"}
    assert {decision.epoch for decision in decisions} == {2}
    for decision in decisions:
        assert decision.mode == "exploit" or decision.action["x"] == pytest.approx(0.5)
    assert study.advance().epoch == 3
    found = study.history[1]
    assert found.kind == "validation"
    assert found.stage == "released"
    assert found.policy_epoch == 1
    assert found.baseline == "x=0.5"
    assert "the policy of epoch 1 earns" in found.answer
    for name in ("policy_value", "baseline_value", "gain"):
        estimate = getattr(found, name)
        assert estimate.low < estimate.value < estimate.high
    policy = study.policy
    assert policy.posterior.weights.tolist() == before.posterior.weights.tolist()
    assert policy.facts["validation"]["gain"]["value"] == found.gain.value  # type: ignore[union-attr]
    path = policy.save(tmp_path / "policy")
    assert tacit.Policy.load(path).facts["validation"] == policy.facts["validation"]
    assert study.present.kind == "learning"
    play(study, 40, seed=2)
    assert study.advance().finished
    assert study.policy.posterior.weights.tolist() != before.posterior.weights.tolist()
    for account in study.ledger.accounts():
        assert 0 <= account.remaining <= 4, "every cohort spends its whole budget, and not more"


def test_the_policy_of_a_validation_epoch_decides_as_it_does_for_anybody(tmp_path: Path) -> None:
    study = begin(tmp_path)
    study.validate(rounds=ROUNDS, baseline=BASELINE, split=0.7)
    study.advance()
    contexts = np.random.default_rng(5).random((ROUNDS, 1))
    decisions = study.ask_many(contexts)
    expected = study.policy.decide(contexts)
    played = [
        (d.action["x"], e) for d, e in zip(decisions, expected, strict=True) if d.mode == "exploit"
    ]
    assert played
    for action, decided in played:
        assert action == pytest.approx(float(np.ravel(decided)[0]))
    assert {round(d.propensity, 9) for d in decisions} == {0.7, 0.3}


def test_after_the_last_epoch_it_is_opened_at_once_and_again_after_it(tmp_path: Path) -> None:
    study = begin(tmp_path, [FIRST, 20])
    study.advance()
    play(study, 20, seed=1)
    assert study.advance().finished
    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr("tacit.study.epoch_study.EpochStudy._open_next", kill)
        study.validate(rounds=ROUNDS, baseline=BASELINE)  # planned, and killed
    assert study.validate(rounds=ROUNDS, baseline=BASELINE) == 3
    assert not study.finished
    assert study.present.stage == "open"
    play(reopened(tmp_path), ROUNDS, seed=2)
    assert study.advance().finished
    assert study.validate(rounds=10, baseline={"x": 0.1}) == 4
    play(study, 10, seed=3)
    assert study.advance().finished
    assert [epoch.policy_epoch for epoch in study.history] == [None, 1, 2, 2]
    study.extend(rounds=20)
    play(study, 20, seed=4)
    assert study.advance().finished
    assert [epoch.kind for epoch in study.history][-3:] == ["validation", "validation", "learning"]


def test_planned_twice_on_the_same_terms_it_is_one_epoch(tmp_path: Path) -> None:
    study = begin(tmp_path)
    for _ in range(2):
        assert study.validate(rounds=ROUNDS, baseline=BASELINE) == 2
    with pytest.raises(StateError, match="validation epoch on other terms"):
        study.validate(rounds=ROUNDS + 1, baseline=BASELINE)
    study.advance()
    assert reopened(tmp_path).validate(rounds=ROUNDS, baseline=BASELINE) == 2
    with pytest.raises(StateError, match="validation epoch on other terms"):
        study.validate(rounds=ROUNDS, baseline={"x": 0.1})
    assert study.sizes == [FIRST, ROUNDS, 40]


def test_terms_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    study = begin(tmp_path)
    for rounds in (0, 9, 2.5, True):
        with pytest.raises(InputError, match="rounds"):
            study.validate(rounds=rounds, baseline=BASELINE)  # type: ignore[arg-type]
    for split in (0.0, 1.0, "half", True, float("nan")):
        with pytest.raises(InputError, match="split is the share"):
            study.validate(baseline=BASELINE, split=split)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="compares the policy with a baseline"):
        study.validate()
    assert study.sizes == [FIRST, 40]


def test_the_studys_own_baseline_is_the_default(tmp_path: Path) -> None:
    study = begin(tmp_path, control=0.2, baseline={"x": 0.25})
    study.validate(rounds=ROUNDS)
    study.advance()
    decisions = play(reopened(tmp_path), ROUNDS, seed=1)
    given = {round(d.action["x"], 9) for d in decisions if d.mode == "control"}
    assert given == {0.25}


def test_a_baseline_that_no_database_holds_is_given_again(tmp_path: Path) -> None:
    rule = lambda contexts, rng: {"x": contexts["c"]}  # noqa: E731
    study = begin(tmp_path)
    study.validate(rounds=ROUNDS, baseline=rule)
    study.advance()
    play(study, 10, seed=1)
    with pytest.raises(InputError, match=r"Study.open\(url, baseline=...\)"):
        reopened(tmp_path).ask({"c": 0.5})
    again = reopened(tmp_path, baseline=rule)
    play(again, 20, seed=2)
    again.advance()
    assert again.history[1].gain is not None
    other = begin_with_rule(tmp_path, rule)
    with pytest.raises(InputError, match="only one of them can be given"):
        other.validate(baseline=lambda contexts, rng: {"x": 1.0 - contexts["c"]})


def begin_with_rule(path: Path, rule: Any) -> EpochStudy:
    study = make_epoch_study(sqlite(path, "rule.db"), [FIRST, 40], control=0.1, baseline=rule)
    assert isinstance(study, EpochStudy)
    return study


def test_a_validation_epoch_waits_for_its_rewards(tmp_path: Path) -> None:
    study = begin(tmp_path, wait=timedelta(days=1))
    now = study._epochs.clock() + 2 * 86_400.0
    study._epochs.clock = lambda: now
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    study.advance()
    late = study.ask_many([[0.5]] * ROUNDS)
    assert "hours more" in study.advance().missing
    now += 86_401.0
    assert study.advance().advanced
    with pytest.raises(tacit.errors.TooLateError):
        study.tell(late[0], 1.0)


# -- who counts where ------------------------------------------------------------------------------


def expected_sum(study: EpochStudy, epoch: EpochRow, unit: str = "record") -> list[int]:
    """The exact sum of the arms of an epoch, from the table of rounds."""
    rows = rows_of(study, epoch)
    arms = arms_in(rows, epoch)
    cohort = Cohort(f"epoch {epoch.number}", epoch.first, epoch.end)
    total = arm_sum(epoch.size, unit, cohort)
    users = [row.user for row in rows] if unit == "user" else None
    total.add(
        arm_entries(rewards_of(rows), arms, unit), records=len(rows), users=users, first=epoch.first
    )
    return [int(value) for value in total._value()]


def test_its_release_is_of_its_own_rounds_alone_and_there_is_one(tmp_path: Path) -> None:
    """The sum that OpenDP is given, in integers; then those of the learning epoch after it. Some
    rounds of each are asked, by the law before, while the epoch before waits."""
    study = begin(tmp_path)
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    play(study, 4, seed=8)  # of the validation epoch, in no arm
    study.advance()
    _, second = study._epochs.epochs()
    assert (second.first, second.size, second.early) == (FIRST, ROUNDS + 4, 4)
    play(study, ROUNDS, seed=1)
    play(study, 3, seed=9)  # of the learning epoch, played by the law of the validation epoch
    with watched(GAUSSIAN) as seen:
        study.advance()
    assert [draw.argument for draw in seen] == [expected_sum(study, second)], (
        "the release of a validation epoch is not that of its arms"
    )
    play(study, 37, seed=2)
    with watched(GAUSSIAN) as seen:
        study.advance()
    third = study._epochs.epochs()[2]
    assert (third.first, third.end) == (second.end, second.end + 40)
    expected = sum_of_rounds(study, third)
    assert [draw.argument for draw in seen] == [expected], (
        "a round of the validation epoch is counted in the learning epoch after it"
    )


def sum_of_rounds(study: EpochStudy, epoch: EpochRow) -> list[int]:
    """The exact sum of the rounds of a learning epoch."""
    rows = rows_of(study, epoch)
    points = np.array([np.frombuffer(row.action + row.context, dtype="<f8") for row in rows])
    cohort = Cohort(f"epoch {epoch.number}", epoch.first, epoch.end)
    design: Design = study._releases.design(epoch)
    statistic = design.statistic(cohort=cohort)
    entries = None
    if design.layout.arm_share:
        entries = arm_entries(rewards_of(rows), arms_in(rows, epoch), "record")
    statistic.add_points(points, rewards_of(rows), first=epoch.first, arms=entries)
    return [int(value) for value in statistic._sum._value()]


def arms_in(rows: list[Any], epoch: EpochRow) -> Any:
    modes = [row.mode if row.epoch == epoch.number else "" for row in rows]
    return np.array([{"exploit": 0, "control": 1}.get(mode, -1) for mode in modes])


def test_released_again_it_is_the_same_and_nothing_is_charged_or_drawn(tmp_path: Path) -> None:
    study = validated(tmp_path)
    charges = [charge.request for charge in study.ledger.charges()]
    assert charges == ["epoch 1/pass 1", "epoch 1", "epoch 2"]
    second = study._epochs.epochs()[1]
    before = study.history[1].gain
    with watched(GAUSSIAN) as seen:
        again = study._releases.released(second, lambda *_: None)
    assert not seen, "a second release draws again"
    assert again.facts["validation"]["gain"]["value"] == before.value  # type: ignore[union-attr]
    assert [charge.request for charge in study.ledger.charges()] == charges


def test_another_release_of_the_same_people_is_refused(tmp_path: Path) -> None:
    study = validated(tmp_path)
    cohort = Cohort("epoch 2", FIRST, FIRST + ROUNDS)
    total = arm_sum(ROUNDS, "record", cohort)
    total.add(np.zeros((ROUNDS, 6)), records=ROUNDS, first=FIRST)
    with pytest.raises(tacit.BudgetError):
        release_arms(total, BUDGET, study.ledger, "once more", {})
    with pytest.raises(tacit.TacitError):  # the same request about something else
        release_arms(total, BUDGET, study.ledger, "epoch 2", {"validation": "other"})


def test_the_core_refuses_a_validation_round_in_a_learning_epoch(tmp_path: Path) -> None:
    study = validated(tmp_path)
    design = study.design
    statistic = design.statistic(cohort=design.cohort)
    for first in (FIRST, FIRST + ROUNDS - 1):
        with pytest.raises(InputError, match="not all of cohort 'epoch 3'"):
            statistic.add_points(np.full((2, 2), 0.5), np.zeros(2), first=first)
    with pytest.raises(StateError, match="overlaps"):
        study.ledger.add_cohort(Cohort("again", FIRST, FIRST + ROUNDS))
    play(study, 40, seed=2)
    mistake = "epoch = __import__('dataclasses').replace(epoch, first=20, size=epoch.end - 20)"
    target = "tacit.study.epoch_release.EpochReleases.released"
    guard = test_its_release_is_of_its_own_rounds_alone_and_there_is_one
    with (
        applied(Mutant("", target, "", mistake, guard)),
        pytest.raises(tacit.TacitError, match="overlaps"),
    ):
        study.advance()


def test_a_user_is_validated_once_and_never_learned_from_again(tmp_path: Path) -> None:
    study = make_epoch_study(sqlite(tmp_path), [FIRST, 40], unit="user")
    assert isinstance(study, EpochStudy)
    play(study, FIRST, users=people(FIRST))
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    study.advance()
    names = [*people(15, 100), *people(15, 100)]  # fifteen people, two rounds each
    rounds = play(study, ROUNDS, seed=1, users=names)
    assert {decision.epoch for decision in rounds} == {2}
    back = study.ask_many([[0.5]] * 2, users=["person 3", "person 100"])
    assert [decision.epoch for decision in back] == [None, None]
    second = study._epochs.epochs()[1]
    with watched(GAUSSIAN) as seen:
        study.advance()
    assert [draw.argument for draw in seen] == [expected_sum(study, second, "user")]
    later = study.ask_many([[0.5]] * 2, users=["person 100", "new"])
    assert [decision.epoch for decision in later] == [None, 3]
    assert study.history[1].gain is not None


def test_arms_are_of_rounds_that_the_law_of_the_epoch_has_played() -> None:
    class Row:
        def __init__(self, mode: str, epoch: int, user: str) -> None:
            self.mode = mode
            self.epoch = epoch
            self.user = user

    epoch = EpochRow(3, 0, 5, 1, 0.0, None, None)
    rows = [
        Row("exploit", 2, "a"),  # by the law before, whose policy is another one
        Row("exploit", 3, "b"),
        Row("control", 3, "b"),
        Row("learn", 3, "c"),
        Row("exploit", 3, "b"),
    ]
    for unit, units in (("record", 2), ("user", 1)):
        arms = RoundArms(epoch, unit)
        assert arms.of(rows).tolist() == [-1, 0, 1, -1, 0]
        assert arms.counted == (Arm(2, units), Arm(1, 1))


# -- arms of learning epochs -----------------------------------------------------------------------


def test_every_epoch_tells_what_its_arms_earned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the one vector that is released of its rounds. The policy of an epoch is played in the
    next one; early rounds of that, which the law before has played, are of no arm."""
    monkeypatch.setattr("tacit.epochs.spread.UNKNOWN", 10.0)  # whatever so few rounds have taught
    options: dict[str, Any] = {"explore": 0.2, "exploit": 0.4, "control": 0.4}
    study = begin(tmp_path, baseline=BASELINE, **options)
    play(study, 5, seed=3)
    study.advance()
    play(study, 35, seed=1)
    with watched(GAUSSIAN) as seen:
        study.advance()
    first, second = study.history
    assert first.policy_value is None
    assert first.gain is None
    assert first.baseline_value is not None
    assert first.policy_epoch is None
    row = study._epochs.epochs()[1]
    assert [draw.argument for draw in seen] == [sum_of_rounds(study, row)]
    arms = arms_in(rows_of(study, row), row)
    assert not (arms[:5] >= 0).any()
    facts = study.policy_of(2).facts["epoch"]
    assert facts["policy_epoch"] == 1
    assert facts["arm_rounds"] == {"policy": (arms == 0).sum(), "baseline": (arms == 1).sum()}
    assert second.gain is not None
    assert second.answer.startswith("the policy of epoch 1 earns")
    assert second.to_json()["gain"]["low"] == second.gain.low


def test_a_validation_epoch_that_is_closed_before_anybody_came_to_an_arm(tmp_path: Path) -> None:
    study = begin(tmp_path)
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    play(study, 4, seed=3)  # by the law before: of no arm
    study.advance()
    assert study.advance(early=True).advanced
    found = study.history[1]
    assert (found.size, found.policy_value, found.gain, found.answer) == (4, None, None, "")


def test_a_study_without_arms_releases_no_block_of_them(tmp_path: Path) -> None:
    study = begin(tmp_path)
    assert study.design.layout.arm_share == 0.0
    study.advance()
    assert study.history[0].policy_value is None
    assert study.history[0].answer == ""


def test_a_design_of_an_earlier_version_has_no_arms(tmp_path: Path) -> None:
    study = begin(tmp_path, control=0.2, baseline=BASELINE)
    design = study.design
    assert 0.05 < design.layout.arm_share < 0.1
    facts = design.facts()
    assert Design.restore(design.problem, facts, design.arrays()).layout.arm_share == (
        design.layout.arm_share
    )
    del facts["arm_share"]
    assert Design.restore(design.problem, facts, design.arrays()).layout.arm_share == 0.0


def test_what_is_public_does_not_depend_on_which_rewards_came(tmp_path: Path) -> None:
    def seen(folder: Path, told: Any) -> list[Any]:
        folder.mkdir()
        study = begin(folder)
        study._rng = np.random.default_rng(3)
        study.validate(rounds=ROUNDS, baseline=BASELINE)
        study.advance()
        play(study, ROUNDS, seed=1, told=told)
        arms = RoundArms(study._epochs.epochs()[1], "record")
        arms.of(rows_of(study, study._epochs.epochs()[1]))
        return [
            study.missing,
            study.state.asked,
            study.present.size,
            sum(arms.counted[0]) + sum(arms.counted[1]),
        ]

    whole = seen(tmp_path / "all", lambda d: 0.5)
    none = seen(tmp_path / "none", lambda d: float("nan"))
    assert whole == none


# -- crashes and processes -------------------------------------------------------------------------


PLACES = [
    "tacit.study.epoch_release.ValidationSum",
    "tacit.study.validation.release_arms",
    "tacit.core.ledger.Ledger._store",
    "tacit.study.epoch_release.EpochReleases.stored_policy",
    "tacit.study.epoch_study.EpochStudy._open_following",
    "tacit.study.epoch_store.EpochStore.release",
]


def test_a_validation_that_is_killed_anywhere_is_repeated(tmp_path: Path) -> None:
    study = begin(tmp_path)
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    study.advance()
    play(study, ROUNDS, seed=1)
    answer: bytes | None = None
    for place in PLACES:
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            patch.setattr(place, kill)
            reopened(tmp_path).advance()
        assert study.history[1].gain is None
        now = study.ledger.stored("epoch 2")
        assert answer is None or now == answer, "a second answer was drawn"
        answer = now
    reopened(tmp_path).advance()
    assert study.ledger.stored("epoch 2") == answer
    assert study.history[1].gain is not None
    assert [charge.request for charge in study.ledger.charges()].count("epoch 2") == 1
    assert study.present.number == 3


def test_a_validation_that_is_planned_while_an_epoch_is_released_comes_next(
    tmp_path: Path,
) -> None:
    """The next learning epoch was made already, and is not opened."""
    study = begin(tmp_path)
    other = reopened(tmp_path)
    following = EpochReleases.following
    planned: list[int] = []

    def late(self: EpochReleases, *arguments: Any) -> Any:
        made = following(self, *arguments)
        if not planned:
            planned.append(other.validate(rounds=ROUNDS, baseline=BASELINE))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochReleases, "following", late)
        assert study.advance().epoch == 2
    assert planned == [2]
    assert study.present.kind == "validation"
    assert study.present.size == ROUNDS
    assert study.sizes == [FIRST, ROUNDS, 40]


def test_processes_that_validate_at_once_are_answered_alike(sqlite_urls: Urls) -> None:
    url = sqlite_urls()
    study = make_epoch_study(url, [FIRST, 40])
    assert isinstance(study, EpochStudy)
    play(study, FIRST)
    study.validate(rounds=ROUNDS, baseline=BASELINE)
    study.advance()
    play(study, ROUNDS, seed=1)
    heats = race(advance_study, [[[url]] * 3])
    assert all(answer[0] or answer[1] == 3 for answer in heats[0])
    assert [charge.request for charge in study.ledger.charges()].count("epoch 2") == 1
    assert [epoch.kind for epoch in study.history] == ["learning", "validation", "learning"]


# -- every rule, broken on purpose -----------------------------------------------------------------

MUTANTS = [
    Mutant(
        "rounds of the law before are counted in the arms",
        "tacit.study.validation.RoundArms.of",
        "if row.epoch == self._number else NO_ARM",
        "",
        test_arms_are_of_rounds_that_the_law_of_the_epoch_has_played,
    ),
    Mutant(
        "a validation epoch has a request of its own each time",
        "tacit.study.epoch_release.EpochReleases._validated",
        "request = request_of(epoch.number)",
        "request = __import__('os').urandom(4).hex()",
        test_released_again_it_is_the_same_and_nothing_is_charged_or_drawn,
    ),
    Mutant(
        "a validation epoch is released with half of its budget left",
        "tacit.study.validation.ValidationSum.release",
        "",
        "budget = __import__('dataclasses').replace(budget, share=0.5)",
        test_a_validation_epoch_compares_the_policy_with_a_baseline_and_learning_goes_on,
    ),
    Mutant(
        "the next epoch begins with the last rounds of the validation epoch",
        "tacit.study.epoch_store.EpochStore.rounds",
        "(rounds_table.c.number > start) & (rounds_table.c.number <= stop)",
        "rounds_table.c.number.between(max(start, 1), stop - (start > 0))",
        test_its_release_is_of_its_own_rounds_alone_and_there_is_one,
    ),
    Mutant(
        "a learning epoch is opened where a validation epoch was planned",
        "tacit.study.epoch_store.EpochStore.release",
        "return False",
        "pass",
        test_a_validation_that_is_planned_while_an_epoch_is_released_comes_next,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_rule_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    failure_under(mutant, tmp_path)
