"""The plan: the error to expect, what limits it, and the answers to the inverse questions.

Everything before the data is public, and so is the law of the released vector given the reward
function. So studies can be drawn from their law and judged (see `tacit.planning.simulation`)
without work that grows with `T`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget
from tacit.design import Design, DesignOptions
from tacit.design.choices import (
    by_ridge,
    choose_landmarks,
    default_rank,
    most_levels,
    planned_multipliers,
    tolerance,
)
from tacit.design.options import require_rounds
from tacit.design.public import public_total
from tacit.epochs import Shares
from tacit.errors import InputError
from tacit.kernels import Kernel
from tacit.planning.columns import RANK as COLUMN_RANK
from tacit.planning.columns import ColumnWorth, Comparer, Learning, paired
from tacit.planning.epochs import EpochPlan, plan_epochs
from tacit.planning.leaving_out import Reduced, reduced_problems
from tacit.planning.priors import (
    ABOUT_RELATIVES,
    LEAST,
    OWN,
    RELATIVES,
    choose_prior,
    truths_in_range,
)
from tacit.planning.releases import Releases, expected_releases
from tacit.planning.simulation import Simulation
from tacit.problem import Problem
from tacit.progress import Progress, silent

FINER = 3  # reward functions are drawn on so many times as many points as there may be landmarks
MOST_ROUNDS = 10**9
REPORTING_DELTA = 1e-6  # where the budget states none
SMALLEST_EPSILON = 1e-3
NO_NOISE = 1e-3  # the multiplier of noise that does not matter, beside that of any budget
LARGEST_EPSILON = 100.0


@dataclass(frozen=True)
class Forecast:
    """What to expect of one study. Errors are in the user's units of reward."""

    rounds: int
    epsilon: float | None
    delta: float
    expected_error: float
    band: tuple[float, float]
    uniform_error: float
    nonprivate_error: float
    rank: int
    tau: float
    clip: float
    public_points: int
    effective_dimension: float
    noise: float
    limited_by: str
    prior: str = OWN  # which reward functions it is about: those of the kernel, or of its relatives

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@overload
def plan(  # type: ignore[overload-overlap]  # 1 is a number of epochs, too
    problem: Problem,
    *,
    horizon: int,
    budget: Budget,
    epochs: Literal[1] = 1,
    explore: float = 0.05,
    rng: np.random.Generator | int = 0,
    lengthscales: Sequence[float] | None = None,
    passes: int = 2,
    options: DesignOptions | None = None,
    progress: Progress = silent,
) -> Plan: ...


@overload
def plan(
    problem: Problem,
    *,
    horizon: int,
    budget: Budget,
    epochs: int | Sequence[int] | Literal["auto"],
    explore: float = 0.05,
    rng: np.random.Generator | int = 0,
    lengthscales: Sequence[float] | None = None,
    passes: int = 2,
    options: DesignOptions | None = None,
    progress: Progress = silent,
) -> EpochPlan: ...


def plan(
    problem: Problem,
    *,
    horizon: int,
    budget: Budget,
    epochs: int | Sequence[int] | str = 1,
    explore: float = 0.05,
    rng: np.random.Generator | int = 0,
    lengthscales: Sequence[float] | None = None,
    passes: int = 2,
    options: DesignOptions | None = None,
    progress: Progress = silent,
) -> Plan | EpochPlan:
    """Plans a study: the error to expect, what limits it, and the answers to the inverse questions.

    `options.signal` and `options.noise` are guesses of the standard deviations of the reward
    function and of rewards around it, in units of half the reward range. `lengthscales=(low, high)`
    says in which range the true ones may lie where that is not known well; the problem's own are
    taken as true otherwise. In so many dimensions that no study could learn functions of the
    problem's own kernel, they are those of its relatives, which a fit finds by itself (see
    `relatives`). `passes` is how often the release will read the records (see
    `tacit.refine`). `rng` draws public coins; the default makes plans repeatable.

    The plan is for the play of the problem, which is uniform unless it states another. For a log
    with propensities pass `options.max_weight`: the plan is then for one that explores uniformly in
    a share `1 / max_weight` of its rounds.

    With several `epochs` (how many, their sizes, or "auto") it is the plan of a study that goes on,
    which plays a share `explore` of its rounds uniformly from the second epoch on and the others
    by Thompson sampling: see `EpochPlan`. Its first epoch makes two passes, later ones one.

    >>> plan = tacit.plan(problem, horizon=2000, budget=tacit.Budget(1.0, 1e-6))
    >>> plan.forecast.expected_error < plan.forecast.uniform_error
    True
    """
    horizon = require_rounds(horizon)
    options = options or DesignOptions()
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    truths = None
    if lengthscales is not None:
        truths = truths_in_range(problem, lengthscales)
    if isinstance(epochs, bool) or epochs != 1:
        return plan_epochs(
            problem,
            horizon,
            budget,
            epochs,
            shares=Shares(explore),
            rng=generator,
            truths=truths,
            options=options,
            progress=progress,
        )
    return Plan(problem, horizon, budget, generator, truths, passes, options, progress)


class Plan:
    """A planned study. `plan.forecast` is about the study itself; the methods ask what if."""

    def __init__(
        self,
        problem: Problem,
        horizon: int,
        budget: Budget,
        rng: np.random.Generator,
        truths: Sequence[Kernel] | None,
        passes: int,
        options: DesignOptions,
        progress: Progress = silent,
    ) -> None:
        self.problem = problem
        self.horizon = horizon
        self.budget = budget
        self.passes = passes
        self.options = options
        self._rank = options.rank or default_rank(horizon, most_levels(problem))
        self._progress = progress
        self._nonprivate: dict[tuple[int, int, bool], tuple[float, float]] = {}
        progress("placing landmarks", 0, 2)
        # Landmarks for far more rounds than planned: what-if questions go up.
        most = max(FINER * self._rank, LEAST)
        points = choose_landmarks(problem, 1.0 / (30 * horizon), most, rng)
        progress("placing landmarks", 1, 2)
        self._truths, self.prior, points = choose_prior(
            problem, truths, points, few=max(2 * self._rank, LEAST)
        )
        landmarks = points[: self._rank]
        finer = points[self._rank :]
        self._simulation = Simulation(problem, landmarks, finer, self._truths, options.signal, rng)
        progress("placing landmarks", 2, 2)

    @cached_property
    def forecast(self) -> Forecast:
        """The error to expect of this study, with everything that explains it."""
        return self.at(self.horizon, self.budget)

    def at(self, rounds: int, budget: Budget) -> Forecast:
        """The same for another number of rounds or another budget."""
        multipliers = self._multipliers(rounds, budget)
        planned = self._releases(rounds, multipliers, budget)
        simulation = self._simulation
        tau = planned.influences.tau
        s = planned.influences.clip
        if budget.pure:
            scale = 2.0 * s * self._max_weight / (budget.epsilon or math.inf)
            known = self.problem.generator is not None
            errors = simulation.errors_of_draws(planned.exact[0], tau, rounds, scale, known)
        else:
            errors = simulation.errors(planned.private)
        nonprivate, learnable = self._without_privacy(rounds, len(multipliers), budget)
        uniform = simulation.uniform_error
        error = float(np.mean(errors))
        needed = self._needed(tau / rounds)
        # By how much privacy widens what is unknown of the reward function.
        unknown = simulation.unexplained(planned.private)
        noise = max(unknown**2 - learnable**2, 0.0) ** 0.5
        epsilon = budget.epsilon
        if epsilon is None:
            epsilon = budget.as_epsilon(REPORTING_DELTA)
        low, high = np.quantile(errors, [0.05, 0.95])
        return Forecast(
            rounds=rounds,
            epsilon=epsilon,
            delta=budget.delta or (0.0 if budget.pure else REPORTING_DELTA),
            expected_error=self._unit * error,
            band=(self._unit * float(low), self._unit * float(high)),
            uniform_error=self._unit * uniform,
            nonprivate_error=self._unit * nonprivate,
            rank=needed,
            tau=tau,
            clip=s,
            public_points=public_total(needed),
            effective_dimension=simulation.resolved(planned.private),
            noise=self._unit * noise,
            limited_by=self._limit(error, nonprivate, uniform),
            prior=self.prior,
        )

    def _multipliers(
        self, rounds: int, budget: Budget, problem: Problem | None = None
    ) -> list[float]:
        """Of the privacy noise in each pass, for this problem or another one."""
        problem = problem or self.problem
        passes = 1 if budget.pure or self.options.plain else self.passes
        found = planned_multipliers(problem, rounds, budget, self.options, passes)
        return [self._max_weight * multiplier for multiplier in found]

    @property
    def _max_weight(self) -> float:
        """W, of a record of a log with propensities. Noise hides W times as much. Such a log is
        taken to explore uniformly in a share 1 / W of its rounds: these count with the weight W,
        the others hardly, so that E[w] = 1 and E[w^2] = W."""
        return float(self.options.max_weight or 1.0)

    def _releases(self, rounds: int, multipliers: Sequence[float], budget: Budget) -> Releases:
        """What the release of each pass will be like, with and without privacy noise."""
        return expected_releases(
            self._simulation,
            rounds,
            multipliers,
            self.options,
            self._max_weight,
            by_ridge(budget, self.options),
        )

    def _without_privacy(self, rounds: int, passes: int, budget: Budget) -> tuple[float, float]:
        """The error without privacy, and what is not known of the reward function then: the same
        for every budget. Without noise to share, every direction is worth its while."""
        ridge = by_ridge(budget, self.options)
        known = (rounds, passes, ridge)
        if known not in self._nonprivate:
            releases = self._releases(rounds, [NO_NOISE] * passes, budget).exact
            error = float(np.mean(self._simulation.errors(releases)))
            self._nonprivate[known] = error, self._simulation.unexplained(releases)
        return self._nonprivate[known]

    def rounds_for(self, error: float) -> int:
        """The fewest rounds whose expected error is at most `error`, to within 5 %."""
        return round(
            self._search(
                error,
                lambda rounds: self.at(round(rounds), self.budget),
                10.0,
                MOST_ROUNDS,
                "rounds",
            )
        )

    def epsilon_for(self, error: float) -> float:
        """The smallest epsilon whose expected error is at most `error` at the planned rounds, to
        within 5 %."""
        delta = self.budget.delta or (0.0 if self.budget.pure else 1e-6)

        def forecast(epsilon: float) -> Forecast:
            return self.at(self.horizon, Budget(epsilon=epsilon, delta=delta))

        return self._search(error, forecast, SMALLEST_EPSILON, LARGEST_EPSILON, "epsilon")

    def curve(self, rounds: Iterable[int], epsilons: Iterable[float]) -> list[Forecast]:
        """Forecasts over a grid, for tables and figures."""
        delta = self.budget.delta or 1e-6
        settings = [(t, e) for e in epsilons for t in rounds]
        found = []
        for i, (t, e) in enumerate(settings):
            found.append(self.at(t, Budget(epsilon=e, delta=delta)))
            self._progress("what if", i + 1, len(settings))
        return found

    def columns(self) -> list[ColumnWorth]:
        """What it is worth to ask for each context column.

        Asking for a column costs accuracy, since there is more to learn, and leaving it out costs
        what it explains. Nobody knows before the data whether a column matters. So both are
        forecast: what a policy gains by it if it matters as much as the kernel says, and what it
        costs if it does not. `break_even` is how likely it has to matter to be worth asking.
        """
        if self.budget.pure:
            raise InputError(
                "columns are compared for releases, not for single decisions: plan with a delta, "
                "for example Budget(epsilon=1.0, delta=1e-6)."
            )
        rank = min(self._rank, max(COLUMN_RANK, most_levels(self.problem)))
        todo = reduced_problems(self.problem)
        comparer = Comparer(
            self.problem,
            self._truths,
            self.options.signal,
            rank,
            1.0 / (30 * self.horizon),
            self._simulation.seed,
        )
        found = []
        for i, reduced in enumerate(todo):
            found.append(self._worth(comparer, reduced))
            self._progress("leaving out columns", i + 1, len(todo))
        return found

    def _worth(self, comparer: Comparer, reduced: Reduced) -> ColumnWorth:
        asked = self._multipliers(self.horizon, self.budget)
        left_out = self._multipliers(self.horizon, self.budget, reduced.problem)
        studies = comparer.compare(reduced)
        gain, gain_error = paired(
            self._errors(studies.matters_left_out, left_out),
            self._errors(studies.matters_asked, asked),
        )
        cost, cost_error = paired(
            self._errors(studies.idle_asked, asked),
            self._errors(studies.idle_left_out, left_out),
        )
        return ColumnWorth(
            column=reduced.column,
            kind=reduced.kind,
            gain=self._unit * gain,
            gain_error=self._unit * gain_error,
            cost=self._unit * cost,
            cost_error=self._unit * cost_error,
        )

    def _errors(self, study: Learning, multipliers: Sequence[float]) -> Floats:
        """Of each function, at the planned rounds."""
        planned = expected_releases(
            study,
            self.horizon,
            multipliers,
            self.options,
            self._max_weight,
            by_ridge(self.budget, self.options),
        )
        return study.errors(planned.private)

    def explain(self) -> str:
        """The plan in a few lines of plain words."""
        f = self.forecast
        why = {
            "rounds": "Even without privacy it would hardly do better: more rounds are what helps.",
            "privacy": "The privacy noise is what limits it: more rounds or a larger epsilon help "
            "about equally.",
            "rank": "The landmarks are what limits it: allow a larger rank.",
            "nothing": "There is little left to gain.",
        }[f.limited_by]
        low, high = f.band
        about = []
        if f.prior == RELATIVES:
            about = [ABOUT_RELATIVES]
        if self.problem.law is not None:
            about.append(f"Actions are played by {self.problem.law.description}.")
        if self._max_weight > 1.0:
            about.append(
                "This is for a log with propensities, which explores uniformly in "
                f"{100 / self._max_weight:.3g} % of its rounds; weights are up to "
                f"{self._max_weight:g}."
            )
        return "\n".join(
            [
                f"With {f.rounds} rounds and {self.budget} the policy should lose "
                f"{f.expected_error:.3g} reward a decision "
                f"(90 % of reward functions: {low:.3g} to {high:.3g}).",
                f"Random actions lose {f.uniform_error:.3g}; the same rounds without privacy "
                f"{f.nonprivate_error:.3g}.",
                f"The rounds resolve {f.effective_dimension:.3g} directions of the kernel (rank "
                f"{f.rank}, tau {f.tau:.3g}, "
                f"clip {f.clip:.3g}); privacy adds an uncertainty of {f.noise:.3g} to a "
                "prediction.",
                *about,
                why,
            ]
        )

    def design(
        self,
        *,
        rng: np.random.Generator | int,
        unit: str = "record",
        progress: Progress = silent,
    ) -> Design:
        """The design of the first pass of the planned study: its rounds, budget and rank."""
        return Design.build(
            self.problem,
            horizon=self.horizon,
            budget=self.budget,
            rng=rng,
            unit=unit,
            passes=self.passes,
            options=replace(self.options, rank=self._rank),
            progress=progress,
        )

    @property
    def _unit(self) -> float:
        low, high = self.problem.reward_range
        return (high - low) / 2

    def _needed(self, floor: float) -> int:
        """How many landmarks the design will have: what they leave unexplained is well below what
        the regularisation shrinks away (see `choose_landmarks`)."""
        enough = self._simulation.unexplained_kernel <= tolerance(floor)
        if not enough.any():
            return self._simulation.rank
        return int(enough.argmax()) + 1

    def _limit(self, error: float, nonprivate: float, uniform: float) -> str:
        if error < 0.01 * uniform:
            return "nothing"
        if self._simulation.rank >= self._rank and self._simulation.rank_error > 0.5 * error:
            return "rank"
        return "privacy" if error > 2.0 * nonprivate else "rounds"

    def _search(self, error: float, forecast: Any, low: float, high: float, what: str) -> float:
        """Bisection on a log scale; the error falls as `what` grows."""
        if not (math.isfinite(error) and error > 0):
            raise InputError(
                f"error must be positive, got {error!r}: it is a loss of reward per decision."
            )
        if forecast(low).expected_error <= error:
            return low
        reached = forecast(high).expected_error
        if reached > error:
            raise InputError(
                f"an error of {error:g} is not reachable within {what} = {high:g}: the best there "
                f"is {reached:.3g}; "
                "ask for less, or change the other side of the trade-off."
            )
        while high / low > 1.05:
            middle = math.sqrt(low * high)
            low, high = (
                (low, middle) if forecast(middle).expected_error <= error else (middle, high)
            )
        return high
