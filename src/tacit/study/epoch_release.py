"""From an epoch that is closed to its policy, and to the epoch that follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tacit._typing import Rng
from tacit.core import Budget, Ledger
from tacit.design import Design
from tacit.epochs import EpochPlay, Mixture, Shares, cohort_of, learn_from, next_epoch
from tacit.epochs.spread import rounds_later
from tacit.epochs.summary import compare_arms, epoch_facts
from tacit.evaluation.arms import ARMS, Arm, Comparison, arm_entries
from tacit.passes import release_on, release_passes
from tacit.play import PlayLaw
from tacit.policy import Policy, files
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.residual.refine import refine
from tacit.statistic import Statistic
from tacit.study.baselines import named_baseline, restored_baseline
from tacit.study.epoch_store import EpochRow, EpochStore, NewEpoch, joint_points, rewards_of
from tacit.study.validation import RoundArms, ValidationSum


def request_of(epoch: int) -> str:
    """The request under which the ledger keeps the release of an epoch."""
    return f"epoch {epoch}"


@dataclass(frozen=True, eq=False)
class EpochReleases:
    """Releases the epochs of one study."""

    store: EpochStore
    problem: Problem
    baseline: PlayLaw | None
    ledger: Ledger
    laws: dict[int, EpochPlay]  # those that were looked up: they do not change
    given: Any = None  # the baseline that the study was opened with

    def released(self, epoch: EpochRow, progress: Progress) -> Policy:
        """The policy of an epoch that is closed: released, or what was released before."""
        if self.validation(epoch.number) is not None:
            return self._validated(epoch, progress)
        # An epoch that was closed early holds fewer rounds than its design was made for.
        cohort = cohort_of(epoch.number, epoch.first, epoch.size)
        design = replace(self.design(epoch), cohort=cohort)
        self.ledger.add_cohort(cohort)
        arms = RoundArms(epoch, design.unit)

        def collect(design: Design) -> Statistic:
            nonlocal arms
            arms = RoundArms(epoch, design.unit)
            statistic = design.statistic(cohort=cohort)
            for start, rows in self.store.rounds(epoch.first, epoch.end):
                users = [row.user for row in rows] if design.unit == "user" else None
                rewards = rewards_of(rows)
                entries = None
                if design.layout.arm_share:
                    entries = arm_entries(rewards, arms.of(rows), design.unit)
                statistic.add_points(joint_points(rows), rewards, users, first=start, arms=entries)
                progress("adding rounds", statistic.records, epoch.size)
            return statistic

        def next_pass(policy: Policy) -> Design:
            number = len(policy.releases) + 1
            kept = self.store.design_of_pass(epoch.number, number)
            if kept is None:
                made = refine(policy, progress=progress)
                kept = self.store.keep_design_of_pass(
                    epoch.number, number, (made.facts(), made.arrays())
                )
            return replace(Design.restore(design.problem, *kept), cohort=cohort)

        policy = release_passes(
            design, collect, release_on(self.ledger, request_of(epoch.number)), next_pass
        )
        about = epoch_facts(policy, epoch.number)
        about |= self._arm_facts(epoch, compare_arms(policy, arms.counted), arms.counted)
        return replace(policy, facts=policy.facts | {"epoch": about})

    def _validated(self, epoch: EpochRow, progress: Progress) -> Policy:
        """The policy of the epoch before, with what a validation epoch found of it: released, or
        what was released before."""
        terms = self.validation(epoch.number)
        assert terms is not None
        settings = self.store.settings()
        cohort = cohort_of(epoch.number, epoch.first, epoch.size)
        self.ledger.add_cohort(cohort)
        total = ValidationSum(epoch, settings["unit"], cohort)
        for start, rows in self.store.rounds(epoch.first, epoch.end):
            total.add(rows, start)
            progress("adding rounds", start - epoch.first + len(rows), epoch.size)
        request = request_of(epoch.number)
        released = total.release(Budget(**settings["budget"]), self.ledger, request, terms)
        found = total.read(released, self.problem.reward_range)
        about = {"number": epoch.number} | self._arm_facts(epoch, found, total.arms)
        about["guarantee"] = str(released.guarantee)
        policy = self.stored_policy(self.learning(epoch.number).number)
        assert policy is not None
        return replace(policy, facts=policy.facts | {"validation": about})

    def _arm_facts(
        self, epoch: EpochRow, found: Comparison, arms: tuple[Arm, ...]
    ) -> dict[str, Any]:
        """What was measured of which policy and which baseline, and on how many rounds."""
        law = self.law(epoch.number)
        before = None if epoch.number == 1 else self.learning(epoch.number - 1).number
        return found.facts() | {
            "policy_epoch": before,
            "baseline": named_baseline(law.baseline),
            "arm_rounds": {name: arm.rounds for name, arm in zip(ARMS, arms, strict=True)},
        }

    def following(
        self, present: EpochRow, policy: Policy, rng: Rng, progress: Progress
    ) -> NewEpoch:
        """The next epoch, whose play and design depend on what was released so far."""
        settings = self.store.settings()
        number = present.number + 1
        if self.validation(number) is not None:
            return self._validating(present, policy)
        if self.validation(present.number) is not None:
            # What was released before: free. A validation epoch has no releases to learn from.
            policy = self.released(self.learning(present.number), progress)
        size = settings["sizes"][number - 1]
        early = min(max(self.store.asked() - present.end, 0), size)
        learned, shares = learn_from(
            policy, Shares(**settings["shares"]), rng, rounds_later(settings["sizes"], number)
        )
        law = EpochPlay(self.problem, shares, learned, self.baseline, private=policy.private)
        design = next_epoch(
            policy,
            _mixed(law, self.law(present.number), early, size),
            cohort_of(number, present.end, size),
            budget=Budget(**settings["budget"]),
            rng=rng,
            progress=progress,
        )
        return NewEpoch(
            number=number,
            first=present.end,
            size=size,
            early=early,
            law=(law.facts(), law.arrays()),
            design=(design.facts(), design.arrays()),
        )

    def _validating(self, present: EpochRow, policy: Policy) -> NewEpoch:
        """The validation epoch that is planned next. Rounds that were asked before it is opened
        count in it and are of no arm: it has as many more."""
        number = present.number + 1
        terms = self.validation(number)
        assert terms is not None
        law = EpochPlay.validating(policy, self._baseline_of(terms), terms["split"])
        early = max(self.store.asked() - present.end, 0)
        return NewEpoch(
            number=number,
            first=present.end,
            size=early + terms["rounds"],
            early=early,
            law=(law.facts(), law.arrays()),
            design=({"validation": terms}, {}),
            validates=True,
        )

    def validation(self, number: int) -> dict[str, Any] | None:
        """The terms of an epoch that validates; None if it learns."""
        found: dict[str, Any] | None
        found = self.store.settings().get("validations", {}).get(str(number))
        return found

    def learning(self, number: int) -> EpochRow:
        """The last epoch that learns, of those up to this one."""
        epochs = self.store.epochs()[:number]
        return next(each for each in reversed(epochs) if self.validation(each.number) is None)

    def stored_policy(self, number: int) -> Policy | None:
        """The policy that was released of an epoch; None if it was not."""
        kept = self.store.policy(number)
        if kept is None:
            return None
        about, arrays = kept
        kernel = self.problem.kernel if about["problem"]["kernel"] == {"type": "custom"} else None
        return files.restore(Policy, f"epoch {number}", about, arrays, kernel)

    def law(self, number: int) -> EpochPlay:
        """How an epoch is played. Laws do not change once they are written down."""
        if number not in self.laws:
            terms = self.validation(number)
            baseline = self.baseline if terms is None else self._baseline_of(terms)
            self.laws[number] = EpochPlay.restore(self.problem, *self.store.law(number), baseline)
        return self.laws[number]

    def _baseline_of(self, terms: dict[str, Any]) -> PlayLaw:
        """What the control rounds of a validation epoch are played by."""
        baseline = restored_baseline(terms["baseline"], self.given or self.baseline, self.problem)
        assert baseline is not None
        return baseline

    def design(self, epoch: EpochRow) -> Design:
        law = self.law(epoch.number)
        problem = self.problem
        play: PlayLaw = law
        if epoch.number > 1:
            play = _mixed(law, self.law(epoch.number - 1), epoch.early, self._planned(epoch))
        if epoch.number > 1 or not law.uniform:
            problem = replace(problem, play=play)
        return Design.restore(problem, *self.store.design(epoch.number))

    def _planned(self, epoch: EpochRow) -> int:
        """The size that an epoch was opened with; it may have been closed early."""
        return int(self.store.settings()["sizes"][epoch.number - 1])


def _mixed(law: EpochPlay, before: EpochPlay, early: int, size: int) -> PlayLaw:
    """The play of an epoch of which so many rounds were asked before it was opened."""
    if not early:
        return law
    return Mixture((before, law), (early / size, 1.0 - early / size))
