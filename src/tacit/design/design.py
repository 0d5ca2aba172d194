"""The design: everything that is fixed before private data is touched. All of it is public.

landmarks U -> phi(w) = L^-1 k_U(w) -> q(w) = A phi(w), A'A = (T E[phi phi'] + tau I)^-1 -> clip |q|
at s
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._typing import Array, Floats
from tacit.contexts import Drawn
from tacit.core import Budget, Cohort, Encoding, private_sum
from tacit.design.choices import (
    NOISE,
    SIGNAL,
    choose_landmarks,
    choose_layout,
    default_rank,
    first_part,
    tune,
)
from tacit.design.cube import WellSpread, evenly
from tacit.design.earlier import Earlier
from tacit.design.features import Features, KernelMap, Moments, shrinkage
from tacit.design.layout import Layout
from tacit.design.public import PublicPoints, largest_influence, law_of, second_moment
from tacit.design.tuning import influence_quantile
from tacit.errors import InputError
from tacit.kernels import one_by_one, sees_batches
from tacit.numerics import linalg
from tacit.numerics.engine import NUMPY, Engine, engine
from tacit.problem import Problem
from tacit.progress import Progress, silent

if TYPE_CHECKING:
    from tacit.statistic import Statistic

CLIP_POINTS = 8192
LAW_POINTS = 32_768
KEPT_CONTEXTS = LAW_POINTS // 2  # of the problem's generator
# what contexts that the generator may not know weigh against its own, before they are fitted to
# counts
ELSEWHERE = 0.1


@dataclass(frozen=True, eq=False)
class Design:
    """Public: landmarks, whitening, clip, and the moments that the decoder needs."""

    problem: Problem
    horizon: int
    budget: Budget
    features: Features
    whitening: Floats  # A, rank x rank
    tau: float
    clip: float
    moments: Moments
    layout: Layout
    unit: str = "record"
    earlier: Earlier | None = None  # records tell what this got wrong
    whole: Budget | None = None  # of two passes at the same records, of which this is the first
    expected: Floats | None = None  # contexts that the problem's generator drew, if it has one
    simulated: bool = (
        False  # a part of what it was made from, which may not be kept, is marked as not private
    )

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        horizon: int,
        budget: Budget,
        rng: np.random.Generator | int,
        unit: str = "record",
        rank: int | None = None,
        tau: float | None = None,
        clip: float | None = None,
        landmarks: Floats | None = None,
        public_points: Floats | int | None = None,
        context_share: float | None = None,
        plain: bool = False,
        passes: int = 1,
        signal: float = SIGNAL,
        noise: float = NOISE,
        device: str | Engine | None = None,
        earlier: Earlier | None = None,
        progress: Progress = silent,
    ) -> Design:
        """Builds a design from public coins.

        `unit` says whom the guarantee is for: one "record", or one "user" with all of their records
        together. `rank` is the largest number of landmarks (fewer where the kernel needs fewer):
        500, or up to 1000 where there are far more rounds. `tau` and `clip` are chosen by predicted
        accuracy unless given; `clip=math.inf` is the paper's unclipped influence. `signal` and
        `noise` are guesses of the standard deviations of the reward function and of the noise, in
        units of half the reward range. `context_share` of the budget learns who really comes, for
        the decoder: 15 % where the problem has no generator, 5 % to check the one it has; `plain`
        releases USCA's own statistic and nothing else. `passes=2` keeps most of the budget for a
        second pass at the same records, which is more accurate (`tacit.refine`; it also passes
        `earlier`). `device="cuda"` does the heavy work on a GPU. `landmarks` and `public_points` (a
        number, or the points in unit coordinates) are for experts and tests.
        """
        rng = _generator(rng)
        _check(horizon, budget, rank, tau, clip, context_share)
        private_sum(Encoding(size=1, horizon=horizon), unit)  # an unknown unit fails here
        whole, budget = (budget, first_part(budget)) if _twice(budget, passes) else (None, budget)
        points = PublicPoints(problem, public_points, rng)
        progress("choosing tau and landmarks", 0, 2)
        if tau is None:
            tau = tune(problem, horizon, budget, signal=signal, noise=noise, rng=rng)
        progress("choosing tau and landmarks", 1, 2)
        if landmarks is None:
            landmarks = choose_landmarks(problem, tau / horizon, rank or default_rank(horizon), rng)
        features = Features.on(problem.k, landmarks)
        progress("choosing tau and landmarks", 2, 2)

        if earlier is None:
            d, V = linalg.eigh(second_moment(features, points, engine(device), progress))
        else:
            d, V = earlier.design.spectrum
        d = np.maximum(d, 0.0)
        scale = np.sqrt(horizon * d + tau)
        A = (
            (V / scale) @ V.T
        )  # the symmetric root: no free signs, so the same coins give the same design everywhere
        if clip is None:
            clip = influence_quantile(features(points.take(CLIP_POINTS)) @ A.T)
        elif math.isinf(clip):
            clip = largest_influence(features, A, points)
        law = law_of(features, A, clip, points, engine(device), progress)
        layout = choose_layout(
            problem, features.rank, budget, context_share, plain, first=whole is not None
        )
        expected = None if problem.generator is None else problem.draw_contexts(KEPT_CONTEXTS, rng)
        return cls(
            problem,
            horizon,
            budget,
            features,
            A,
            float(tau),
            float(clip),
            law,
            layout,
            unit,
            earlier,
            whole,
            expected,
        )

    @property
    def rank(self) -> int:
        return self.features.rank

    @property
    def private(self) -> bool:
        """False if anything that it was made from is marked as not private, and so is every policy
        that comes of it."""
        before = self.earlier is None or (
            self.earlier.guarantee.private and self.earlier.design.private
        )
        return before and self.problem.private and not self.simulated

    @property
    def rest(self) -> Budget | None:
        """What is kept for the second pass: nothing is lost between the two."""
        if self.whole is None:
            return None
        if self.budget.rho != self.whole.rho:  # a design of an earlier version states parts as rho
            return Budget(rho=self.whole.zcdp - self.budget.zcdp)
        return replace(self.whole, share=self.whole.share - self.budget.share)

    @property
    def encoding(self) -> Encoding:
        """The public shape of a contribution: integers, bits, bound."""
        return Encoding(size=self.layout.size, horizon=self.horizon)

    @property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of E[phi phi'], from A = (T E[phi phi'] + tau I)^(-1/2)."""
        w, V = linalg.eigh(self.whitening)
        return (w**-2.0 - self.tau) / self.horizon, V

    @cached_property
    def influence_map(self) -> Floats:
        """W with q(w) = W k_U(w), so that a record costs one kernel row and one matrix product."""
        return linalg.solve_upper(self.features.L, self.whitening.T).T

    @cached_property
    def _influences(self) -> KernelMap:
        return KernelMap(
            self.problem.k, self.features.U, np.ascontiguousarray(self.influence_map.T)
        )

    def influence(self, points: Floats) -> Floats:
        """Rows q(w), not clipped. `|q(w)|` is the paper's sigmabar(w). Row i depends on point i
        alone."""
        map = self._influences
        return (
            map(points)
            if sees_batches(map.kernel)
            else one_by_one(map.kernel, points, map.U) @ map.R
        )

    def writer(self, engine: Engine) -> Callable[[Array, Array, Array], Array]:
        """What records write into the sum: (points, y, known) to rows of norm at most 1 (up to
        rounding)."""
        if engine not in self._writers:
            self._writers[engine] = self._writer(engine)
        return self._writers[engine]

    @cached_property
    def _writers(self) -> dict[Engine, Callable[[Array, Array, Array], Array]]:
        """One for each engine: a GPU compiles it."""
        return {}

    def _writer(self, engine: Engine) -> Callable[[Array, Array, Array], Array]:
        problem = self.problem
        layout = self.layout
        clip = self.clip
        at = self.problem.actions.dimension
        U = engine.put(self.features.U)
        R = engine.put(self._influences.R)
        kernel = (
            engine.fused(problem.k.__call__)
            if sees_batches(problem.k)
            else partial(one_by_one, problem.k)
        )
        earlier = self.earlier
        weights = engine.put(self.earlier.weights if self.earlier else [])

        def finish(k_U: Array, q: Array, points: Array, y: Array, known: Array) -> Array:
            if earlier is not None:
                y = known * engine.xp.clip(
                    (y - earlier.level - k_U @ weights) / earlier.reach, -1.0, 1.0
                )
            return layout.rows(q, shrinkage(q, clip) / clip, y, points[:, at:], known)

        fused = engine.fused(finish)

        def rows(points: Array, y: Array, known: Array) -> Array:
            k_U = kernel(points, U)
            return fused(k_U, k_U @ R, points, y, known)

        return rows

    def rows(self, points: Floats, y: Floats, known: Floats) -> Floats:
        """The same on NumPy."""
        return self.writer(NUMPY)(points, y, known)

    def moments_given(self, counts: Floats, noise: float, records: int) -> Moments:
        """The law of the statistic, given noisy counts of who came."""
        if (points := self.points_given(counts, noise, records)) is None:
            return self.moments
        supply = PublicPoints(self.problem, points, np.random.default_rng(0))
        return law_of(self.features, self.whitening, self.clip, supply, NUMPY, silent)

    def points_given(self, counts: Floats, noise: float, records: int) -> Floats | None:
        """Points like those of the records, given noisy counts of their contexts: the same public
        coins every time.

        Where the problem has a generator, its contexts are weighted as the counts demand, together
        with some that only the counts know of. None where they demand nothing: the generator
        stands.
        """
        problem = self.problem
        cells = self.layout.cells
        rng = np.random.default_rng(int(self.fingerprint, 16))
        assert cells is not None
        believed = None if self.expected is None else cells.onehot(self.expected).mean(axis=0)
        laws = cells.column_probabilities(counts, noise, records, believed)
        if believed is not None and np.allclose(np.concatenate(laws), believed):
            return None
        cube = WellSpread(cells.columns + problem.actions.cube_dimension, rng).take(LAW_POINTS)
        contexts = cells.from_cube(laws, cube[:, : cells.columns])
        cube = cube[:, cells.columns :]
        if self.expected is not None:
            contexts[:KEPT_CONTEXTS] = self.expected
            weights = np.where(np.arange(LAW_POINTS) < KEPT_CONTEXTS, 1.0, ELSEWHERE)
            contexts = contexts[evenly(cells.fitted(contexts, weights, laws))]
        actions = (
            problem.actions.from_cube(cube)
            if problem.play is None
            else problem.draw_actions(LAW_POINTS, rng)
        )
        return np.hstack([actions, contexts])

    def statistic(
        self, device: str | Engine | None = None, cohort: Cohort | None = None
    ) -> Statistic:
        """An empty statistic of this design, ready for private records; `device="cuda"` works on a
        GPU.

        With a `cohort` it takes records of that cohort only, and its releases are charged to that
        cohort's account.
        """
        from tacit.statistic import Statistic

        return Statistic(self, device, cohort)

    @cached_property
    def fingerprint(self) -> str:
        """Names this design in the ledger. It changes with the problem, a landmark or a setting,
        and not with the last bits of a matrix product, which differ between machines."""
        digest = hashlib.sha256(np.ascontiguousarray(self.features.U, dtype="<f8").tobytes())
        numbers = [f"{value:.6e}" for value in (self.tau, self.clip, np.trace(self.whitening))]
        if self.earlier is not None:
            numbers += [f"{value:.6e}" for value in (self.earlier.reach, self.earlier.level)]
            numbers += [f"{np.linalg.norm(self.features.L.T @ self.earlier.weights):.4e}"]
        digest.update(
            json.dumps(
                [
                    self.problem.spec(),
                    self.horizon,
                    str(self.budget),
                    self.unit,
                    self.layout.context_share,
                    numbers,
                ]
            ).encode()
        )
        return digest.hexdigest()[:32]

    def arrays(self) -> dict[str, Floats]:
        """What has to be kept to have this design again."""
        return {
            "landmarks": self.features.U,
            "cholesky": self.features.L,
            "whitening": self.whitening,
            "signal": self.moments.signal,
            "energy": self.moments.energy,
            "mean": self.moments.mean,
        } | {
            **({} if self.expected is None else {"expected": self.expected}),
            **({} if self.earlier is None else self.earlier.arrays()),
        }

    def facts(self) -> dict[str, Any]:
        """The scalars that go with `arrays()`."""
        return {
            "horizon": self.horizon,
            "budget": asdict(self.budget),
            "tau": self.tau,
            "clip": self.clip,
            "unit": self.unit,
            "context_share": self.layout.context_share,
            "plain": not self.layout.energy_share,
            "earlier": None if self.earlier is None else self.earlier.facts(),
            "whole": None if self.whole is None else asdict(self.whole),
            "private": self.private,
        }

    @classmethod
    def restore(cls, problem: Problem, facts: dict[str, Any], arrays: dict[str, Floats]) -> Design:
        """The inverse of `facts()` and `arrays()`. A generator that was not kept draws from what is
        left of it."""
        expected = arrays.get("expected")
        private = bool(facts.get("private", True))
        if problem.generator is None and expected is not None:
            problem = replace(problem, generator=Drawn(expected, private))
        features = Features(problem.k, arrays["landmarks"], arrays["cholesky"])
        budget = Budget(**facts["budget"])
        return cls(
            problem=problem,
            horizon=facts["horizon"],
            budget=budget,
            features=features,
            whitening=arrays["whitening"],
            tau=facts["tau"],
            clip=facts["clip"],
            moments=Moments(arrays["signal"], arrays["energy"], arrays["mean"]),
            layout=choose_layout(
                problem,
                features.rank,
                budget,
                facts["context_share"],
                facts["plain"],
                bool(facts.get("whole")),
            ),
            unit=facts["unit"],
            earlier=Earlier.restore(partial(cls.restore, problem), facts["earlier"], arrays)
            if facts.get("earlier")
            else None,
            whole=Budget(**facts["whole"]) if facts.get("whole") else None,
            expected=expected,
            simulated=not private,
        )

    def __repr__(self) -> str:
        return (
            f"Design(rank={self.rank}, horizon={self.horizon}, budget=({self.budget}), "
            f"tau={self.tau:.3g}, clip={self.clip:.3g})"
        )


def _twice(budget: Budget, passes: int) -> bool:
    """Two passes are two releases. A pure budget pays for none: its decisions get all of it."""
    if passes not in (1, 2):
        raise InputError(f"passes must be 1 or 2, got {passes!r}.")
    return passes == 2 and not budget.pure


def _generator(rng: np.random.Generator | int) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and rng >= 0:
        return np.random.default_rng(rng)
    raise InputError(f"rng must be a numpy Generator or a non-negative seed, got {rng!r}.")


def _check(
    horizon: int,
    budget: Budget,
    rank: int | None,
    tau: float | None,
    clip: float | None,
    context_share: float | None,
) -> None:
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise InputError(
            f"horizon must be a whole number of rounds of at least 1, got {horizon!r}."
        )
    if not isinstance(budget, Budget):
        raise InputError(
            f"budget must be a tacit.Budget, got {budget!r}: write Budget(epsilon=1.0, delta=1e-6)."
        )
    if rank is not None and (not isinstance(rank, int | np.integer) or rank < 1):
        raise InputError(f"rank must be a whole number of at least 1, got {rank!r}.")
    _ = budget.amount(budget.measure)  # a budget too small to be counted fails here
    for name, value in (("tau", tau), ("clip", clip)):
        if value is not None and not value > 0:
            raise InputError(f"{name} must be positive, got {value!r}.")
    if context_share is not None and not 0 <= context_share < 0.9:
        raise InputError(
            f"context_share must be in [0, 0.9), got {context_share!r}: it is a share of the "
            "budget."
        )
