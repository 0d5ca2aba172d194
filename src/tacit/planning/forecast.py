"""The plan: the error to expect, what limits it, and the answers to the inverse questions.

Everything before the data is public, and so is the law of the released vector given the reward
function. So studies can be drawn from their law and judged (see `tacit.planning.simulation`)
without work that grows with `T`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget
from tacit.design import Design
from tacit.design.choices import (
    COARSE_RANK,
    NOISE,
    SIGNAL,
    TUNING_POINTS,
    choose_landmarks,
    choose_layout,
    default_rank,
    first_part,
)
from tacit.design.earlier import WHOLE, clipping, reach_for
from tacit.design.features import clipped
from tacit.design.public import public_total
from tacit.design.tuning import choose_tau, influence_quantile
from tacit.errors import InputError
from tacit.kernels import Kernel
from tacit.kernels.ard import lengthscales as lengthscales_of
from tacit.kernels.ard import spread, with_lengthscales
from tacit.planning.simulation import Look, Simulation
from tacit.problem import Problem
from tacit.progress import Progress, silent

FINER = 3  # reward functions are drawn on so many times as many points as there may be landmarks,
LEAST = 500  # and on so many where the kernel has as many to tell
TRUTHS = 4  # kernels that stand for a range of lengthscales
MOST_ROUNDS = 10**9
SMALLEST_EPSILON = 1e-3
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def plan(
    problem: Problem,
    *,
    horizon: int,
    budget: Budget,
    rng: np.random.Generator | int = 0,
    rank: int | None = None,
    signal: float = SIGNAL,
    noise: float = NOISE,
    lengthscales: Sequence[float] | None = None,
    passes: int = 2,
    progress: Progress = silent,
) -> Plan:
    """Plans a study: the error to expect, what limits it, and the answers to the inverse questions.

    `signal` and `noise` are guesses of the standard deviations of the reward function and of the
    reward around it, in units of half the reward range. `lengthscales=(low, high)` says in which
    range the true ones may lie where that is not known well; the problem's own are taken as true
    otherwise. `looks=1` is for a study that looks at its records only once (see `tacit.refine`).
    `rng` draws public coins; the default makes plans repeatable.
    """
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise InputError(
            f"horizon must be a whole number of rounds of at least 1, got {horizon!r}."
        )
    for name, value in (("signal", signal), ("noise", noise)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(
                f"{name} must be positive, got {value!r}: it is a standard deviation, 1 is half "
                "the range."
            )
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    truths = _truths(problem, lengthscales)
    rank = rank or default_rank(int(horizon))
    return Plan(
        problem, int(horizon), budget, generator, rank, signal, noise, truths, passes, progress
    )


def _truths(problem: Problem, lengthscales: Sequence[float] | None) -> list[Kernel]:
    """The kernels that reward functions are drawn from."""
    if lengthscales is None:
        return [problem.k]
    try:
        low, high = (float(value) for value in lengthscales)
    except (TypeError, ValueError):
        raise InputError(
            f"lengthscales must be a range (low, high), got {lengthscales!r}."
        ) from None
    if not 0 < low <= high < math.inf:
        raise InputError(
            f"lengthscales must be positive and increasing, got ({low}, {high}): pass (low, high)."
        )
    whole = spread(problem.k, problem.dimension)
    count = len(lengthscales_of(whole))
    if not count:
        raise InputError("this kernel has no lengthscales: leave lengthscales out.")
    return [
        with_lengthscales(whole, [float(value)] * count)
        for value in np.geomspace(low, high, TRUTHS)
    ]


class Plan:
    """A planned study. `plan.forecast` is about the study itself; the methods ask what if."""

    def __init__(
        self,
        problem: Problem,
        horizon: int,
        budget: Budget,
        rng: np.random.Generator,
        rank: int,
        signal: float,
        noise: float,
        truths: Sequence[Kernel],
        passes: int = 2,
        progress: Progress = silent,
    ) -> None:
        self.problem = problem
        self.horizon = horizon
        self.budget = budget
        self.passes = passes
        self.signal = signal
        self.noise = noise
        self._rank = rank
        self._progress = progress
        progress("placing landmarks", 0, 2)
        # Landmarks for far more rounds than planned: what-if questions go up.
        points = choose_landmarks(problem, 1.0 / (30 * horizon), max(FINER * rank, LEAST), rng)
        progress("placing landmarks", 1, 2)
        self._simulation = Simulation(problem, points[:rank], points[rank:], truths, signal, rng)
        progress("placing landmarks", 2, 2)

    @cached_property
    def forecast(self) -> Forecast:
        """The error to expect of this study, with everything that explains it."""
        return self.at(self.horizon, self.budget)

    def at(self, rounds: int, budget: Budget) -> Forecast:
        """The same for another number of rounds or another budget."""
        multipliers = self._multipliers(budget)
        tau, q, s = self._tuned(rounds, multipliers[0], self.signal, self.noise)
        passes, without = self._looks(rounds, tau, s, multipliers)
        if budget.pure:
            scale = 2.0 * s / (budget.epsilon or math.inf)
            known = self.problem.generator is not None
            errors = self._simulation.errors_of_draws(without[0], tau, rounds, scale, known)
        else:
            errors = self._simulation.errors(passes)
        nonprivate = float(np.mean(self._simulation.errors(without)))
        uniform = self._simulation.uniform_error
        d = self._simulation.d
        error = float(np.mean(errors))
        return Forecast(
            rounds=rounds,
            epsilon=budget.epsilon if budget.epsilon is not None else budget.as_epsilon(1e-6),
            delta=budget.delta or (0.0 if budget.pure else 1e-6),
            expected_error=self._unit * error,
            band=(
                self._unit * float(np.quantile(errors, 0.05)),
                self._unit * float(np.quantile(errors, 0.95)),
            ),
            uniform_error=self._unit * uniform,
            nonprivate_error=self._unit * nonprivate,
            rank=self._needed(tau / rounds),
            tau=tau,
            clip=s,
            public_points=public_total(self._needed(tau / rounds)),
            effective_dimension=float(np.sum(rounds * d / (rounds * d + tau))),
            noise=2.0
            * s
            * multipliers[0]
            * float(np.sqrt(np.mean(np.sum(clipped(q, s) ** 2, axis=1))))
            * self._unit,
            limited_by=self._limit(error, nonprivate, uniform),
        )

    def _multipliers(self, budget: Budget) -> list[float]:
        """Of the privacy noise in each pass."""
        if budget.pure:
            rhos = [(budget.epsilon or 0.0) ** 2 / 8]
        elif self.passes == 1:
            rhos = [budget.gaussian * choose_layout(self.problem, 1, budget).influence_share]
        else:
            first = first_part(budget)
            rhos = [
                first.gaussian * choose_layout(self.problem, 1, budget, first=True).influence_share,
                (budget.gaussian - first.gaussian)
                * choose_layout(self.problem, 1, budget).influence_share,
            ]
        return [1.0 / math.sqrt(2.0 * rho) for rho in rhos]

    def _tuned(
        self, rounds: int, multiplier: float, signal: float, noise: float
    ) -> tuple[float, Floats, float]:
        """(tau, influences, clip)"""
        top = slice(-COARSE_RANK, None)  # tau hardly depends on the small eigenvalues
        Phi = self._simulation.Phi
        d = self._simulation.d
        tau = choose_tau(
            Phi[:TUNING_POINTS, top],
            d[top],
            horizon=rounds,
            multiplier=multiplier,
            signal=signal,
            noise=noise,
        )
        q = self._simulation.influences(rounds, tau)
        return tau, q, influence_quantile(q)

    def _looks(
        self, rounds: int, tau: float, s: float, multipliers: Sequence[float]
    ) -> list[list[Look]]:
        """What the releases will be like, and the same without privacy noise."""
        look = self._simulation.look
        variance = self.signal**2 + self.noise**2
        found = [
            [first] for first in look(rounds, tau, s, variance, [2.0 * s * multipliers[0], 0.0])
        ]
        if len(multipliers) == 2:
            error = self._simulation.left(found[0][0])
            reach, gain = found_reach = reach_for(error, self.noise)
            told = error if found_reach != WHOLE else self.signal
            variance = told**2 + self.noise**2
            tau, _, s = self._tuned(rounds, multipliers[1], told / reach, self.noise / reach)
            square = clipping(reach / math.sqrt(variance))[1] if found_reach != WHOLE else 1.0
            sigmas = [2.0 * s * reach * multipliers[1], 0.0]
            for passes, second in zip(
                found, look(rounds, tau, s, square * variance, sigmas, gain), strict=True
            ):
                passes.append(second.beside(passes[0]))
        return found

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

    def explain(self) -> str:
        """The plan in a few lines of plain words."""
        f = self.forecast
        why = {
            "rounds": "Even without privacy it would hardly do better: more rounds are what helps.",
            "privacy": "The privacy noise is what limits it: more rounds or a larger epsilon help about equally.",
            "rank": "The landmarks are what limits it: allow a larger rank.",
            "nothing": "There is little left to gain.",
        }[f.limited_by]
        low, high = f.band
        return "\n".join(
            [
                f"With {f.rounds} rounds and {self.budget} the policy should lose "
                f"{f.expected_error:.3g} reward a decision "
                f"(90 % of reward functions: {low:.3g} to {high:.3g}).",
                f"Random actions lose {f.uniform_error:.3g}; the same rounds without privacy "
                f"{f.nonprivate_error:.3g}.",
                f"The rounds resolve {f.effective_dimension:.0f} directions of the kernel (rank "
                f"{f.rank}, tau {f.tau:.3g}, "
                f"clip {f.clip:.3g}); privacy adds noise of {f.noise:.3g} to a prediction before "
                "it is "
                "smoothed.",
                why,
            ]
        )

    def design(
        self, *, rng: np.random.Generator | int, unit: str = "record", progress: Progress = silent
    ) -> Design:
        """The design of the planned study, or of its first pass: its rounds, budget, rank and tau."""
        return Design.build(
            self.problem,
            horizon=self.horizon,
            budget=self.budget,
            rng=rng,
            unit=unit,
            rank=self._rank,
            tau=self.forecast.tau,
            passes=self.passes,
            progress=progress,
        )

    @property
    def _unit(self) -> float:
        low, high = self.problem.reward_range
        return (high - low) / 2

    def _needed(self, floor: float) -> int:
        """How many directions stand above what the regularisation shrinks away."""
        return min(self._rank, int(np.sum(self._simulation.d > 0.01 * floor)))

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
