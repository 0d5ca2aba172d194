"""The attack on a whole study in two epochs: asked, told, closed, released, learned from, released.

Neighbours differ in one round of the first epoch: its context, its action and its reward. What can
tell of it are the two releases of that epoch, the law by which the second one is played, its design
and its release. The attacker sees them all.

A release depends on those before it. So the second study is answered what the first one was: given
the same answers, everything public must be the same in both, to the last bit, and each release has
its noise drawn many times around the sum that the study itself made. The claim is what one person's
account was charged. It bounds these laws for whatever answers come before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.audit.bounds import GAUSSIAN
from tacit.audit.evidence import choosers, count_event
from tacit.audit.findings import Clock, Finding, part, sampled
from tacit.audit.ledger import integers, temporary_database
from tacit.core import Budget, Ledger
from tacit.core.events import Event, Gaussian
from tacit.design import DesignOptions
from tacit.domains import Box
from tacit.kernels import Matern
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.study import Study
from tacit.study.epoch_study import EpochStudy
from tacit.study.store import float_bytes, rounds_table

SIZES = (12, 12)
ODD = 5  # the number of the round in which neighbours differ
POINTS = 400  # that are looked at for two rounds that are far apart
APART = 1e6  # between two studies whose public parts differ
# Most of what a record adds turns round with its reward: neighbours are nearly opposite.
OPTIONS = DesignOptions(rank=4, context_share=0.0, tau=10.0, public_points=500, seed=0)
PROBLEM = Problem(Box([0.0], [1.0], ["dose"]), Box([0.0], [1.0], ["age"]), Matern(2.5, 0.5))

Record = tuple[Floats, float]  # a joint point in unit coordinates, and its reward in [-1, 1]
Advance = Callable[[EpochStudy], Any]


class RepeatedDraws(Ledger):
    """A ledger that draws `draws` times for each charge, and keeps them in units of the noise.

    It charges and stores as any other. The answer to a request that is among `answers` is the one
    there; others are added.
    """

    def __init__(self, ledger: Ledger, draws: int, answers: dict[str, bytes]) -> None:
        super().__init__(ledger._engine, ledger.budget)
        self.draws = draws
        self.answers = answers
        self.seen: list[Floats] = []

    def spend(
        self,
        request: str,
        event: Event,
        about: dict[str, Any],
        draw: Callable[[], bytes],
        *rest: Any,
        **options: Any,
    ) -> bytes:
        """Spends as a ledger does, and draws again."""
        assert isinstance(event, Gaussian)

        def drawn() -> bytes:
            found = [draw() for _ in range(self.draws)]
            self.seen.append(np.stack([integers(one) for one in found]) / event.scale)
            return self.answers.setdefault(request, found[0])

        return super().spend(request, event, about, drawn, *rest, **options)


def advance(study: EpochStudy) -> None:
    """One epoch further."""
    study.advance()


def attack_epochs(
    name: str = "a study in two epochs",
    *,
    rho: float,
    delta: float,
    samples: int,
    go_on: Advance = advance,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is what the account of one epoch was charged.

    The direction in which the attacker looks, and the threshold in the middle, come from a quarter
    of the draws; the others are counted. `go_on` advances a study.
    """
    clock = Clock()
    answers: dict[str, bytes] = {}
    seen = []
    public = []
    charged = 0.0
    for side, record in enumerate(neighbours()):
        show = part(progress, name, side, 2)
        with finished_study(record, Budget(rho=rho), samples, answers, go_on) as study:
            ledger = study.ledger
            assert isinstance(ledger, RepeatedDraws)
            seen.append(np.hstack(ledger.seen))
            public.append(digest_of_public(study))
            charged = max(charged, ledger.spent)
        show(1, 1)
    if public[0] != public[1]:
        # What anybody can read tells the two apart, without noise.
        seen = [
            np.hstack([draws, np.full((samples, 1), APART * i)]) for i, draws in enumerate(seen)
        ]
    up, down = seen
    n = choosers(up)
    towards = up[:n].mean(axis=0) - down[:n].mean(axis=0)
    middle = float((up[:n].mean(axis=0) + down[:n].mean(axis=0)) @ towards) / 2.0
    counts = count_event(up[n:] @ towards, down[n:] @ towards, middle)
    about = (
        f"one of {SIZES[0]} rounds of the first epoch replaced: context, action and reward; the "
        "claim is what one epoch was charged"
    )
    claimed = math.sqrt(2.0 * charged)
    return sampled(
        name, claimed, counts, GAUSSIAN, samples=2 * samples, delta=delta, clock=clock, about=about
    )


@contextmanager
def finished_study(
    record: Record, budget: Budget, draws: int, answers: dict[str, bytes], go_on: Advance
) -> Iterator[EpochStudy]:
    """A study that was played to its end, with this record as its odd round. Its coins are fixed,
    but for the noise."""
    with temporary_database() as url:
        study = Study.create(
            url, PROBLEM, horizon=sum(SIZES), budget=budget, epochs=SIZES, options=OPTIONS
        )
        assert isinstance(study, EpochStudy)
        study.ledger = RepeatedDraws(study.ledger, draws, answers)
        coins = np.random.default_rng(0)
        for i, size in enumerate(SIZES):
            study._rng = np.random.default_rng(i)
            decisions = study.ask_many(coins.random((size, 1)))
            study.tell_many(decisions, coins.random(size))
            if i == 0:
                _replace(study, record)
            study._rng = np.random.default_rng(i)
            go_on(study)
        yield study


def neighbours() -> list[Record]:
    """Two records that are as far apart as any that were looked at, in the first pass."""
    with temporary_database() as url:
        study = Study.create(
            url, PROBLEM, horizon=sum(SIZES), budget=Budget(rho=1.0), epochs=SIZES, options=OPTIONS
        )
        design = study.design
    cohort = design.cohort
    assert cohort is not None
    rng = np.random.default_rng(0)
    points = rng.random((POINTS, 2))
    rewards = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    rows = []
    for point, reward in zip(points, rewards, strict=True):
        statistic = design.statistic(cohort=cohort)
        statistic.add_points(point[None, :], np.array([reward]), first=cohort.first)
        rows.append(statistic._sum._value().astype(np.float64))
    V = np.stack(rows)
    norms = np.sum(V * V, axis=1)
    distances = norms[:, None] - 2.0 * V @ V.T + norms[None, :]
    pair = np.unravel_index(int(np.argmax(distances)), distances.shape)
    return [(points[i], float(rewards[i])) for i in pair]


def digest_of_public(study: EpochStudy) -> str:
    """Of everything that a study made from its releases, apart from the times: laws, designs and
    policies."""
    digest = hashlib.sha256()
    store = study._epochs
    for epoch in store.epochs():
        kept = [store.law(epoch.number), store.design(epoch.number)]
        later = store.design_of_pass(epoch.number, 2)
        for facts, arrays in kept if later is None else [*kept, later]:
            digest.update(json.dumps(facts, sort_keys=True).encode())
            for key in sorted(arrays):
                digest.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
        policy = study.policy_of(epoch.number)
        digest.update(np.ascontiguousarray(policy.posterior.weights).tobytes())
        public = (epoch.first, epoch.size, epoch.early, str(policy.guarantee))
        digest.update(repr(public).encode())
    return digest.hexdigest()


def _replace(study: EpochStudy, record: Record) -> None:
    """Writes a record in the place of the odd round, as it would stand there had it come."""
    point, reward = record
    at = study.problem.actions.dimension
    values = {
        "action": float_bytes(point[:at]),
        "context": float_bytes(point[at:]),
        "reward": reward,
    }
    with study._epochs.engine.begin() as connection:
        odd = rounds_table.update().where(rounds_table.c.number == ODD)
        connection.execute(odd.values(values))
