"""From an epoch that is closed to its policy, and to the epoch that follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit._typing import Rng
from tacit.core import Budget, Ledger
from tacit.design import Design
from tacit.epochs import EpochPlay, Mixture, Shares, cohort_of, learn_from, next_epoch
from tacit.epochs.summary import epoch_facts
from tacit.passes import release_on, release_passes
from tacit.play import PlayLaw
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.residual.refine import refine
from tacit.statistic import Statistic
from tacit.study.epoch_store import EpochRow, EpochStore, NewEpoch, joint_points, rewards_of


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

    def released(self, epoch: EpochRow, progress: Progress) -> Policy:
        """The policy of an epoch that is closed: released, or what was released before."""
        # An epoch that was closed early holds fewer rounds than its design was made for.
        cohort = cohort_of(epoch.number, epoch.first, epoch.size)
        design = replace(self.design(epoch), cohort=cohort)
        self.ledger.add_cohort(cohort)

        def collect(design: Design) -> Statistic:
            statistic = design.statistic(cohort=cohort)
            for start, rows in self.store.rounds(epoch.first, epoch.end):
                users = [row.user for row in rows] if design.unit == "user" else None
                statistic.add_points(joint_points(rows), rewards_of(rows), users, first=start)
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
        return replace(policy, facts=policy.facts | {"epoch": about})

    def following(
        self, present: EpochRow, policy: Policy, rng: Rng, progress: Progress
    ) -> NewEpoch:
        """The next epoch, whose play and design depend on what was released so far."""
        settings = self.store.settings()
        number = present.number + 1
        size = settings["sizes"][number - 1]
        early = min(max(self.store.asked() - present.end, 0), size)
        learned, shares = learn_from(policy, Shares(**settings["shares"]), rng)
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

    def law(self, number: int) -> EpochPlay:
        """How an epoch is played. Laws do not change once they are written down."""
        if number not in self.laws:
            self.laws[number] = EpochPlay.restore(
                self.problem, *self.store.law(number), self.baseline
            )
        return self.laws[number]

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
