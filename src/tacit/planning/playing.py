"""Epochs played out before any data: what each is worth, in worlds drawn from the prior.

Of each epoch the released vector is drawn from its law given the reward function and the play of
the epoch, and decoded with all that were released before. The next epoch is played by draws from
the posterior, as a study in epochs does. No step grows with the number of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.design import DesignOptions
from tacit.design.allocation import allocate
from tacit.design.choices import planned_multiplier, planned_multipliers
from tacit.design.tuning import influence_quantile
from tacit.epochs import Shares
from tacit.epochs.design import FIRST_PASSES
from tacit.epochs.spread import TRUTHS, choose_spread, rounds_later
from tacit.planning.releases import expected_releases
from tacit.planning.worlds import Cells, Learned, Played, Worlds
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.residual import REWARDS, choose_clip, clipping
from tacit.residual.expected import UNSURE

MEMBERS = 32  # posterior draws by which an epoch is played
FEARED = 2.0  # residuals are clipped for a noise of so many standard deviations more than is true
POINTS = 2048  # public points of the play law of an epoch, on about so many cells


@dataclass(frozen=True, eq=False)
class PlayedEpoch:
    """What became of one epoch in every world, in units of half the reward range."""

    rounds: int
    regret: Floats  # per round
    reward: Floats  # the mean of a round
    error: Floats  # of the policy after it


class Player:
    """Plays epochs of any sizes in the same worlds, with the same coins: plans differ less by
    chance than worlds do."""

    def __init__(
        self,
        problem: Problem,
        worlds: Worlds,
        budget: Budget,
        shares: Shares,
        options: DesignOptions,
        seed: int,
    ) -> None:
        self._worlds = worlds
        self._shares = shares
        self._options = options
        self._seed = seed
        self._problem = problem
        self._budget = budget

    @property
    def uniform_regret(self) -> float:
        """Per round of uniform play, on average over worlds."""
        return self.uniform_regret_of(self._worlds.count)

    def uniform_regret_of(self, count: int) -> float:
        """The same over the first so many worlds."""
        return float(self._worlds.uniform_regret[:count].mean())

    def first_error(self, rounds: int) -> Floats:
        """The error of the policy after a first epoch of so many rounds, in every world."""
        learned = self._uniform_epoch(rounds, np.random.default_rng(self._seed))
        return self._worlds.regret(self._means(learned))

    def play(
        self, sizes: Sequence[int], count: int, progress: Progress = silent
    ) -> list[PlayedEpoch]:
        """All epochs of these sizes, in the first so many worlds."""
        worlds = self._worlds
        rng = np.random.default_rng(self._seed)
        first = self._uniform_epoch(sizes[0], rng)
        before = self._shares.uninformed()
        error = worlds.regret(self._means(first))
        found = [
            PlayedEpoch(
                rounds=sizes[0],
                regret=self._mixed(before.control)[:count],
                reward=(worlds.best.mean(axis=0) - self._mixed(before.control))[:count],
                error=error[:count],
            )
        ]
        # Each world by itself: what it plays depends on what was released in it.
        later: list[list[tuple[float, float, float]]] = []
        for i in range(count if len(sizes) > 1 else 0):
            coins = np.random.default_rng([self._seed, i])
            learned = Learned(first.J, first.h[:, i])
            later.append(self._go_on(i, learned, sizes[1:], coins))
            progress("playing epochs", i + 1, count)
        for k, rounds in enumerate(sizes[1:]):
            regret, reward, error = np.array([each[k] for each in later]).T
            found.append(PlayedEpoch(rounds, regret, reward, error))
        return found

    def _mixed(self, control: float) -> Floats:
        """The regret of rounds that explore, but for a share that plays the baseline."""
        worlds = self._worlds
        baseline = worlds.values[self._baseline].mean(axis=0)
        return (1.0 - control) * worlds.uniform_regret + control * (
            worlds.best.mean(axis=0) - baseline
        )

    @property
    def _baseline(self) -> Cells:
        """Cells of the control: one action, whatever the context is. Which one the baseline plays
        is not known here, and no action is better than another before the data."""
        worlds = self._worlds
        return worlds.actions * np.arange(worlds.contexts) + worlds.actions // 2

    def _uniform_epoch(self, rounds: int, rng: Rng) -> Learned:
        """What the first epoch teaches, in all worlds at once."""
        worlds = self._worlds
        multipliers = planned_multipliers(
            self._problem, rounds, self._budget, self._options, FIRST_PASSES
        )
        releases = expected_releases(worlds.uniform, rounds, multipliers, self._options, 1.0)
        noise = rng.normal(size=(len(multipliers) * worlds.rank, worlds.count))
        return worlds.uniform.learned(releases.private, noise)

    def _means(self, learned: Learned) -> Floats:
        """E[theta] in all worlds."""
        worlds = self._worlds
        found = np.empty((worlds.rank, worlds.count))
        for i, B in enumerate(worlds.roots):
            mine = worlds.root_of == i
            found[:, mine] = Learned(learned.J, learned.h[:, mine]).mean(B, worlds.variance)
        return found

    def _go_on(
        self, i: int, learned: Learned, sizes: Sequence[int], rng: Rng
    ) -> list[tuple[float, float, float]]:
        """Epochs from the second one on in world `i`: (regret, mean reward, error) of each."""
        worlds = self._worlds
        values = worlds.values[:, i]
        best = float(worlds.best[:, i].mean())
        B = worlds.roots[worlds.root_of[i]]
        found = []
        for k, rounds in enumerate(sizes):
            white = rng.normal(size=(worlds.rank, MEMBERS))
            mean, draws = learned.draws(B, worlds.variance, white)
            spread = choose_spread(self._expected_regrets(mean, draws), rounds_later(sizes, k + 1))
            shares = self._shares if spread is not None else self._shares.exploring()
            committee = worlds.chosen(mean[:, None] + (spread or 0.0) * (draws - mean[:, None]))
            exploited = worlds.chosen(mean[:, None])[:, 0]
            rewards = (values.mean(), values[committee].mean(), values[exploited].mean())
            reward = float(shares.probabilities[:3] @ rewards)
            reward += shares.control * float(values[self._baseline].mean())
            cells = self._cells(shares, committee, exploited, rng)
            played = Played(worlds.Phi[cells], values[cells, None], worlds)
            learned += self._release(played, learned, B, rounds, rng)
            theta = learned.mean(B, worlds.variance)
            error = best - float(values[worlds.chosen(theta[:, None])[:, 0]].mean())
            found.append((best - reward, reward, error))
        return found

    def _expected_regrets(self, mean: Floats, draws: Floats) -> Callable[[float], float]:
        """The expected regret of play as a function of its spread, in shares of uniform play's
        (see `tacit.epochs.spread`)."""
        worlds = self._worlds
        truths = worlds.Phi @ draws[:, :TRUTHS]  # (cells, worlds)
        best = truths.reshape(worlds.contexts, worlds.actions, -1).max(axis=1).mean()
        uniform = best - truths.mean()
        players = draws[:, TRUTHS:] - mean[:, None]

        def regret(spread: float) -> float:
            cells = worlds.chosen(mean[:, None] + spread * players)
            return float((best - truths[cells].mean()) / uniform)

        return regret

    def _cells(self, shares: Shares, committee: Cells, exploited: Cells, rng: Rng) -> Cells:
        """Cells like those that the rounds of an epoch are played on."""
        worlds = self._worlds
        each = -(-POINTS // worlds.contexts)  # rounds of every context
        shape = (worlds.contexts, each)
        modes = rng.choice(4, size=shape, p=shares.probabilities)
        first = worlds.actions * np.arange(worlds.contexts)[:, None]
        anywhere = first + rng.integers(worlds.actions, size=shape)
        member = rng.integers(committee.shape[1], size=shape)
        learn = np.take_along_axis(committee, member, axis=1)
        exploit = np.broadcast_to(exploited[:, None], shape)
        control = np.broadcast_to(self._baseline[:, None], shape)
        return np.choose(modes, [anywhere, learn, exploit, control]).ravel()

    def _release(
        self,
        played: Played,
        before: Learned,
        B: Floats,
        rounds: int,
        rng: Rng,
    ) -> Learned:
        """What the release of an epoch says: one pass, which adds what is not known before it."""
        multiplier = planned_multiplier(self._problem, rounds, self._budget, self._options)
        noise = self._options.noise
        error = played.variance_given(before, B) ** 0.5
        # A study does not know how noisy rewards are: what is not learned yet counts as noise.
        feared = math.sqrt(noise**2 + FEARED * UNSURE * error**2)
        residual = choose_clip(error, feared)
        signal = error
        kept = 1.0
        if residual == REWARDS:
            signal = self._options.signal
        else:
            inside, kept = clipping(residual.residual_clip / math.hypot(signal, noise))
            residual = replace(residual, attenuation=inside)
        r = residual.residual_clip
        a = allocate(
            played.d,
            played.target,
            horizon=rounds,
            multiplier=multiplier,
            variance=(signal / r) ** 2,
            mean_square=(signal**2 + noise**2) / r**2,
        )
        s = influence_quantile(played.Phi * a)
        [observed] = played.observations(
            rounds,
            a,
            s,
            kept * (signal**2 + noise**2),
            residual.attenuation,
            [2.0 * s * r * multiplier],
            residual == REWARDS,
        )
        said = played.learned([observed], rng.normal(size=(self._worlds.rank, 1)))
        return Learned(said.J, said.h[:, 0])
