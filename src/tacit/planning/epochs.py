"""The plan of a study that goes on: what each epoch costs and teaches, and how many there should
be.

Reward functions are drawn from the prior, and the epochs are played out in each of them (see
`tacit.planning.playing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Rng
from tacit.core import Budget
from tacit.design import DesignOptions
from tacit.design.choices import (
    choose_landmarks,
    default_rank,
    most_levels,
    pass_budget,
    tune,
)
from tacit.design.options import require_rounds
from tacit.epochs import Shares, epoch_sizes
from tacit.epochs.design import FIRST_PASSES
from tacit.epochs.sizes import FIRST_SHARE, LEAST_ROUNDS, largest_ratio
from tacit.errors import InputError
from tacit.kernels import Kernel
from tacit.planning.playing import PlayedEpoch, Player
from tacit.planning.priors import ABOUT_RELATIVES, LEAST, RELATIVES, choose_prior
from tacit.planning.worlds import Worlds
from tacit.problem import Problem
from tacit.progress import Progress, silent

AUTO = "auto"
WORLDS = 64  # reward functions that a plan is played out in
COMPARED_WORLDS = 16  # the first of them, in which "auto" compares plans
MOST_LANDMARKS = 200  # landmarks of a plan: a study may have more, at little use before 10^5 rounds
FINER = 3  # functions are drawn on so many times as many points
MOST_COMPARED = 6  # epochs
OTHER_FIRST = (0.5, 2.0)  # first epochs that are tried besides the usual one, as multiples of it
MOST_ERROR = 1.2  # of a plan that "auto" may choose, as a multiple of that of one epoch
# So much of the regret must each further epoch save. A plan knows the kernel's parameters; a study
# has to find them, the worse the smaller its first epoch is.
WORTHWHILE = 0.1
HALVINGS = 7  # of the range in which the least first epoch is sought


@dataclass(frozen=True)
class EpochForecast:
    """What to expect of one epoch. Rewards are in the user's units; shares are of what uniform play
    loses."""

    number: int
    rounds: int
    regret: float  # reward lost per round, against the best action of each context
    regret_share: float
    mean_reward: float  # of its rounds
    error: float  # reward lost per decision by the policy that it ends with
    error_share: float


@dataclass(frozen=True)
class Compared:
    """A plan that "auto" looked at, by fewer functions than the one it chose."""

    sizes: tuple[int, ...]
    regret_share: float
    error_share: float
    allowed: bool  # whether its final error is close enough to that of one epoch


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """A planned study in epochs. `epochs` has a forecast for each; the rest is about all of them.

    Errors and rewards are in the user's units, and shares are of what uniform play loses.
    """

    horizon: int
    budget: Budget
    shares: Shares
    epochs: tuple[EpochForecast, ...]
    band: tuple[float, float]  # of the final error: where 90 % of reward functions lie
    uniform_error: float
    fixed_error: float  # of the one action that is best on average
    one_epoch_error: float  # the final error of a study with the same rounds that only explores
    compared: tuple[Compared, ...]  # the plans that "auto" looked at
    prior: str
    _player: Player

    @property
    def sizes(self) -> list[int]:
        return [epoch.rounds for epoch in self.epochs]

    @property
    def final_error(self) -> float:
        """Reward lost per decision by the last policy."""
        return self.epochs[-1].error

    @property
    def final_error_share(self) -> float:
        return self.epochs[-1].error_share

    @property
    def regret(self) -> float:
        """Reward lost in all rounds together."""
        return sum(epoch.rounds * epoch.regret for epoch in self.epochs)

    @property
    def regret_share(self) -> float:
        """The same as a share of what uniform play would lose in as many rounds."""
        return self.regret / (self.horizon * self.uniform_error)

    @property
    def mean_reward(self) -> float:
        """Of all rounds."""
        return sum(epoch.rounds * epoch.mean_reward for epoch in self.epochs) / self.horizon

    @cached_property
    def least_first_epoch(self) -> int | None:
        """The fewest rounds, to within a few percent, after which a first epoch's policy is better
        than the best fixed action; None if all rounds are too few."""
        wanted = self.fixed_error / self.uniform_error
        low = float(LEAST_ROUNDS)
        high = float(self.horizon)
        if self._first_share(self.horizon) > wanted:
            return None
        if self._first_share(LEAST_ROUNDS) <= wanted:
            return LEAST_ROUNDS
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            if self._first_share(round(middle)) <= wanted:
                high = middle
            else:
                low = middle
        return round(high)

    def _first_share(self, rounds: int) -> float:
        error = self._player.first_error(rounds)
        return float(error.mean() / self._player.uniform_regret)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        epsilon = self.budget.epsilon
        return {
            "rounds": self.horizon,
            "epsilon": epsilon,
            "delta": self.budget.delta,
            "shares": asdict(self.shares),
            "sizes": self.sizes,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "final_error": self.final_error,
            "final_error_share": self.final_error_share,
            "band": list(self.band),
            "regret": self.regret,
            "regret_share": self.regret_share,
            "mean_reward": self.mean_reward,
            "uniform_error": self.uniform_error,
            "fixed_error": self.fixed_error,
            "one_epoch_error": self.one_epoch_error,
            "least_first_epoch": self.least_first_epoch,
            "prior": self.prior,
            "compared": [asdict(each) for each in self.compared],
        }

    def explain(self) -> str:
        """The plan in a few lines of plain words."""
        return "\n".join([*self._outcome(), *self._first(), *self._choice(), *self._about()])

    def _outcome(self) -> Iterator[str]:
        low, high = self.band
        sizes = ", ".join(f"{size:,}" for size in self.sizes)
        several = "1 epoch" if len(self.epochs) == 1 else f"{len(self.epochs)} epochs"
        yield (
            f"With {self.horizon:,} rounds in {several} ({sizes}) and {self.budget} the rounds "
            f"should lose {self.regret:.3g} reward together, {_percent(self.regret_share)} of what "
            f"uniform actions would; their mean reward should be {self.mean_reward:.3g}."
        )
        yield (
            f"The last policy should lose {self.final_error:.3g} a decision (90 % of reward "
            f"functions: {low:.3g} to {high:.3g}), against {self.one_epoch_error:.3g} if all "
            f"rounds explored uniformly in one epoch. Random actions lose "
            f"{self.uniform_error:.3g}, the best fixed action {self.fixed_error:.3g}."
        )

    def _first(self) -> Iterator[str]:
        if len(self.epochs) == 1:
            return
        least = self.least_first_epoch
        if least is None:
            yield (
                "Even a first epoch of all rounds would leave the policy no better than one fixed "
                "action: collect more rounds, or allow a larger epsilon."
            )
        elif least > LEAST_ROUNDS:
            first = self.sizes[0]
            more = "" if first >= least else ": its policy is a worse one"
            yield (
                f"A first epoch below {least:,} rounds would leave the policy no better than one "
                f"fixed action; this one has {first:,}{more}."
            )

    def _choice(self) -> Iterator[str]:
        if not self.compared:
            return
        yield (
            f"These sizes were chosen out of {len(self.compared)} plans from 1 to "
            f"{max(len(each.sizes) for each in self.compared)} epochs: the least regret with a "
            f"final error of at most {MOST_ERROR:g} times that of one epoch, where each further "
            f"epoch has to save {_percent(WORTHWHILE)} of the regret."
        )
        refused = [each for each in self.compared if not each.allowed]
        if refused:
            yield (
                f"{len(refused)} of them would learn too little: the final error of "
                f"{len(refused[0].sizes)} epochs that begin with {refused[0].sizes[0]:,} rounds "
                f"would be {_percent(refused[0].error_share)} of that of random actions."
            )

    def _about(self) -> Iterator[str]:
        if len(self.epochs) > 1:
            shares = self.shares
            yield (
                f"From the second epoch on {_percent(shares.explore)} of the rounds explore "
                f"uniformly and {_percent(shares.learn)} play the best action of a posterior draw."
            )
        if self.prior == RELATIVES:
            yield ABOUT_RELATIVES


def plan_epochs(
    problem: Problem,
    horizon: int,
    budget: Budget,
    epochs: int | Sequence[int] | str,
    *,
    shares: Shares | None = None,
    rng: Rng | None = None,
    truths: Sequence[Kernel] | None = None,
    options: DesignOptions | None = None,
    progress: Progress = silent,
) -> EpochPlan:
    """Plans a study in epochs; see `tacit.plan`, which has the same arguments in a simpler form.

    `shares` are those of the traffic from the second epoch on. What the control share plays is not
    known here: it counts as one fixed action.
    """
    shares = shares or Shares()
    options = options or DesignOptions()
    rng = rng or np.random.default_rng(0)
    horizon = require_rounds(horizon)
    _require_plannable(problem, budget, options)
    if isinstance(epochs, str) and epochs != AUTO:
        raise InputError(f'epochs must be a number, a list of sizes or "{AUTO}", got {epochs!r}.')
    sizes = None if isinstance(epochs, str) else epoch_sizes(horizon, epochs)
    progress("placing landmarks", 0, 1)
    rank = options.rank or min(default_rank(horizon, most_levels(problem)), MOST_LANDMARKS)
    points = choose_landmarks(problem, 1.0 / (30 * horizon), max(FINER * rank, LEAST), rng)
    prior = choose_prior(problem, truths, points, few=max(2 * rank, LEAST))
    tau = tune(problem, horizon, pass_budget(budget, FIRST_PASSES), options, rng)
    rank = min(rank, len(choose_landmarks(problem, tau / horizon, rank, rng)))
    worlds = Worlds(problem, prior.points, rank, prior.truths, options.signal, WORLDS, rng)
    player = Player(problem, worlds, budget, shares, options, int(rng.integers(2**32)))
    progress("placing landmarks", 1, 1)
    compared: list[Compared] = []
    if sizes is None:
        compared = _compare(player, horizon, progress)
        sizes = list(_best(compared).sizes)
    played = player.play(sizes, worlds.count, progress)
    low, high = problem.reward_range
    unit = (high - low) / 2
    uniform = player.uniform_regret
    return EpochPlan(
        horizon=horizon,
        budget=budget,
        shares=shares,
        epochs=tuple(
            _forecast(k + 1, epoch, uniform, unit, (low + high) / 2)
            for k, epoch in enumerate(played)
        ),
        band=_band(unit * played[-1].error),
        uniform_error=unit * uniform,
        fixed_error=unit * float(worlds.fixed_regret.mean()),
        one_epoch_error=unit * float(player.first_error(horizon).mean()),
        compared=tuple(compared),
        prior=prior.name,
        _player=player,
    )


def planned_sizes(
    problem: Problem,
    horizon: int,
    budget: Budget,
    epochs: Any,
    shares: Shares,
    options: DesignOptions,
    progress: Progress = silent,
) -> list[int]:
    """The sizes of the epochs of a study: those that are stated, or those of a plan."""
    if isinstance(epochs, str):
        options = replace(options, landmarks=None)
        planned = plan_epochs(
            problem, horizon, budget, epochs, shares=shares, options=options, progress=progress
        )
        return planned.sizes
    return epoch_sizes(horizon, epochs)


def _require_plannable(problem: Problem, budget: Budget, options: DesignOptions) -> None:
    if budget.pure:
        raise InputError(
            "a study in epochs releases policies, which need a delta: write "
            "Budget(epsilon=1.0, delta=1e-6)."
        )
    if problem.play is not None or options.max_weight not in (None, 1):
        raise InputError(
            "a study in epochs chooses its own actions: leave out play and max_weight, which are "
            "for data that was logged some other way."
        )


def _forecast(
    number: int, epoch: PlayedEpoch, uniform: float, unit: float, middle: float
) -> EpochForecast:
    regret = float(epoch.regret.mean())
    error = float(epoch.error.mean())
    return EpochForecast(
        number=number,
        rounds=epoch.rounds,
        regret=unit * regret,
        regret_share=regret / uniform,
        mean_reward=middle + unit * float(epoch.reward.mean()),
        error=unit * error,
        error_share=error / uniform,
    )


def _band(errors: Any) -> tuple[float, float]:
    low, high = np.quantile(errors, [0.05, 0.95])
    return float(low), float(high)


def _compare(player: Player, horizon: int, progress: Progress) -> list[Compared]:
    """Plans of 1 to 6 epochs; then the best of them with smaller and larger first epochs."""
    candidates = [epoch_sizes(horizon, 1)]
    for count in range(2, MOST_COMPARED + 1):
        candidates += _growing(horizon, count, FIRST_SHARE[count])
    total = len(candidates) + len(OTHER_FIRST)
    found: list[Compared] = []
    for sizes in candidates:
        found.append(_judge(player, sizes, found))
        progress("comparing plans", len(found), total)
    best = _best(found)
    for factor in OTHER_FIRST:
        if len(best.sizes) > 1:
            count = len(best.sizes)
            for sizes in _growing(horizon, count, factor * FIRST_SHARE[count]):
                found.append(_judge(player, sizes, found))
        progress("comparing plans", min(len(found), total), total)
    return found


def _growing(horizon: int, count: int, share: float) -> list[list[int]]:
    """Epochs each of which has so many times the rounds of the one before, and the last one the
    rest; nothing where it would be smaller than that before it, or the first one too small."""
    sizes = [math.ceil(share * horizon * largest_ratio(count) ** i) for i in range(count - 1)]
    last = horizon - sum(sizes)
    if last < sizes[-1] or sizes[0] < LEAST_ROUNDS:
        return []
    return [[*sizes, last]]


def _judge(player: Player, sizes: Sequence[int], before: Sequence[Compared]) -> Compared:
    """`before` begins with the plan of one epoch."""
    played = player.play(sizes, COMPARED_WORLDS)
    uniform = player.uniform_regret_of(COMPARED_WORLDS)
    regret = sum(epoch.rounds * float(epoch.regret.mean()) for epoch in played)
    error = float(played[-1].error.mean()) / uniform
    one = before[0].error_share if before else error
    return Compared(tuple(sizes), regret / (sum(sizes) * uniform), error, error <= MOST_ERROR * one)


def _best(compared: Sequence[Compared]) -> Compared:
    """The least regret among those that are allowed; more epochs must be worth it."""
    best = compared[0]
    for each in sorted(compared[1:], key=lambda plan: len(plan.sizes)):
        further = len(each.sizes) - len(best.sizes)
        enough = (1.0 - WORTHWHILE) ** further * best.regret_share
        if each.allowed and each.regret_share < enough:
            best = each
    return best


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
