"""The design: everything that is fixed before private data is touched. All of it is public.

landmarks U -> phi(w) = L^-1 k_U(w) -> q(w) = A phi(w) -> clip |q| at s,
where A gives the directions of phi as much as is worth while (`tacit.design.allocation`);
A'A = (T E[phi phi'] + tau I)^-1 is the paper's
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._typing import Array, Floats
from tacit.contexts import Drawn
from tacit.contexts.pairs import Pairs
from tacit.core import Budget, Cohort, Encoding, private_sum
from tacit.design.building import Assembly, assemble
from tacit.design.choices import choose_layout, pass_budget, with_pairs
from tacit.design.earlier import Earlier
from tacit.design.features import Features, KernelMap, Moments, shrinkage
from tacit.design.layout import Layout
from tacit.design.options import DesignOptions, require_rounds
from tacit.design.pooling import Weights, choose_pooling
from tacit.design.public import public_total
from tacit.design.release import Release
from tacit.errors import InputError
from tacit.kernels import one_by_one, sees_batches
from tacit.numerics import linalg
from tacit.numerics.engine import NUMPY, Engine
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.residual.target import Residual

if TYPE_CHECKING:
    from tacit.statistic import Statistic

MOST_PASSES = 8
RowsOf = Callable[[Array, Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Design:
    """Landmarks, whitening, clip, and the moments that the decoder needs. Public.

    A design is of one pass over the records. `passes_left` more may follow, which share
    `total_budget` with it; `previous` are the releases of the passes before it. The design of an
    epoch of a study knows its `cohort`, and what was released of `earlier` ones.

    >>> design = tacit.Design.build(problem, horizon=2000, budget=budget, rng=7)
    >>> design.statistic().records  # private: ready for records, and shows no more than this
    0
    """

    problem: Problem
    horizon: int
    budget: Budget  # of this pass
    total_budget: Budget  # of all passes
    features: Features
    whitening: Floats  # A, rank x rank
    tau: float
    clip: float
    moments: Moments
    layout: Layout
    unit: str = "record"
    max_weight: float = 1.0  # of a record of a log with propensities
    passes_left: int = 0
    residual: Residual | None = None  # what records add instead of their rewards
    previous: tuple[Release, ...] = ()
    cohort: Cohort | None = None  # the people that it was made for; None for any
    earlier: tuple[Earlier, ...] = ()  # epochs of other people before these
    generator_sample: Floats | None = None  # contexts drawn from the problem's generator
    pooling: Weights | None = None  # of the prior that it whitens for; None for the kernel's own
    moment: Floats | None = None  # E[phi phi'], while passes are left that need it
    simulated: bool = False  # something that it was made from is marked as not private

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        horizon: int,
        budget: Budget,
        rng: np.random.Generator | int,
        unit: str = "record",
        passes: int = 2,
        options: DesignOptions | None = None,
        progress: Progress = silent,
    ) -> Design:
        """Builds the design of a study's first pass from public coins.

        `unit` says whom the guarantee is for: one "record", or one "user" with all of their records
        together. With `passes=2` it spends a part of the budget and keeps the rest for a second
        pass over the same records, which is more accurate (see `tacit.refine`).
        """
        options = options or DesignOptions()
        horizon = require_rounds(horizon)
        _check(budget, passes)
        private_sum(Encoding(size=1, horizon=horizon), unit)  # an unknown unit fails here
        _ = problem.play_facts  # a law of play with randomness of its own fails here
        passes = int(passes)
        if budget.pure or options.plain:
            passes = 1  # a pure budget pays for no release; a plain one says too little to go on
        own = pass_budget(budget, passes)
        if not (budget.pure or options.plain or options.pooling):
            options = replace(options, pooling=choose_pooling(problem, horizon, budget.gaussian))
        parts = assemble(problem, horizon, own, _generator(rng), options, progress)
        return cls(
            problem=problem,
            horizon=horizon,
            budget=own,
            total_budget=budget,
            layout=choose_layout(problem, parts.features.U, own, options, last=passes == 1),
            unit=unit,
            max_weight=float(options.max_weight or 1.0),
            passes_left=passes - 1,
            pooling=_weights(options.pooling),
            **_fields(parts, passes - 1),
        )

    def build_next(
        self,
        previous: tuple[Release, ...],
        residual: Residual,
        *,
        budget: Budget,
        rng: np.random.Generator | int,
        options: DesignOptions,
        progress: Progress = silent,
    ) -> Design:
        """The design of another pass over the same records, after the releases `previous`.

        It has the same landmarks and eigenvectors. `tacit.refine` chooses the rest.
        """
        planned = self.passes_left > 0 and budget == self.next_budget
        passes_left = self.passes_left - 1 if planned else 0
        share = self.layout.context_share
        options = replace(options, landmarks=self.features.U, context_share=share)
        options = replace(options, max_weight=self.max_weight, pooling=self.pooling)
        parts = assemble(
            self.problem,
            self.horizon,
            budget,
            _generator(rng),
            options,
            progress,
            self.moment,
            residual,
        )
        layout = choose_layout(self.problem, self.features.U, budget, options, last=not passes_left)
        layout = with_pairs(layout, options.columns, self.horizon, budget)
        return replace(
            self,
            budget=budget,
            total_budget=self.total_budget if planned else budget,
            layout=layout.for_arms() if self.layout.arm_share else layout,
            passes_left=passes_left,
            residual=residual,
            previous=previous,
            **_fields(parts, passes_left),
        )

    def build_epoch(
        self,
        problem: Problem,
        cohort: Cohort,
        earlier: tuple[Earlier, ...],
        residual: Residual,
        *,
        budget: Budget,
        rng: np.random.Generator | int,
        options: DesignOptions,
        progress: Progress = silent,
    ) -> Design:
        """The design of one pass over other people, who are played as `problem.play` says.

        It has the same landmarks. `tacit.epochs` chooses the rest.
        """
        coins = _generator(rng)
        horizon = cohort.last - cohort.first
        # Drawn once for all that is made of them: decisions of a committee take long.
        points = problem.public_points(public_total(self.rank) // 2, coins)
        options = replace(
            options,
            landmarks=self.features.U,
            context_share=self.layout.context_share,
            public_points=points,
            pooling=choose_pooling(problem, horizon, budget.gaussian),
        )
        parts = assemble(problem, horizon, budget, coins, options, progress, residual=residual)
        layout = choose_layout(problem, self.features.U, budget, options, last=True)
        return replace(
            self,
            problem=problem,
            horizon=horizon,
            budget=budget,
            total_budget=budget,
            layout=with_pairs(layout, options.columns, horizon, budget),
            passes_left=0,
            residual=residual,
            previous=(),
            cohort=cohort,
            earlier=earlier,
            pooling=_weights(options.pooling),
            **_fields(parts, 0),
        )

    def with_arms(self) -> Design:
        """The same for rounds of which some are arms of a comparison (see
        `tacit.evaluation.arms`): a share of the budget is for what they earn."""
        return replace(self, layout=self.layout.for_arms())

    @property
    def rank(self) -> int:
        return self.features.rank

    @property
    def private(self) -> bool:
        """False if anything that it was made from is marked as not private; then so is every policy
        that comes of it."""
        before = all(
            release.released.guarantee.private and release.design.private
            for release in self.previous
        )
        before = before and all(each.guarantee.private for each in self.earlier)
        return before and self.problem.private and not self.simulated

    @property
    def remaining_budget(self) -> Budget | None:
        """What is kept for the passes after this one; None if this is the last."""
        if not self.passes_left:
            return None
        spent = sum(release.design.budget.share for release in self.previous) + self.budget.share
        return replace(self.total_budget, share=self.total_budget.share - spent)

    @property
    def next_budget(self) -> Budget | None:
        """What the next pass spends of that."""
        if self.remaining_budget is None:
            return None
        return pass_budget(self.remaining_budget, self.passes_left)

    @property
    def encoding(self) -> Encoding:
        """The public shape of a contribution: integers, bits, bound."""
        return Encoding(size=self.layout.size, horizon=self.horizon)

    # -- what a record adds ------------------------------------------------------------------------

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
        if sees_batches(map.kernel):
            return map(points)
        return one_by_one(map.kernel, points, map.U) @ map.R

    def writer(self, engine: Engine) -> RowsOf:
        """The function from (points, y, known, weights) to rows of norm at most 1, up to rounding:
        what records add to the sum. `known` is 0 for records that add nothing; `weights` are shares
        of `max_weight`."""
        if engine not in self._writers:
            self._writers[engine] = self._writer(engine)
        return self._writers[engine]

    @cached_property
    def _writers(self) -> dict[Engine, RowsOf]:
        """One for each engine, because a GPU compiles it."""
        return {}

    def _writer(self, engine: Engine) -> RowsOf:
        layout = self.layout
        clip = self.clip
        U = engine.put(self.features.U)
        R = engine.put(self._influences.R)
        k = self.problem.k
        kernel = engine.fused(k.__call__) if sees_batches(k) else partial(one_by_one, k)
        residual = self.residual
        weights = engine.put([] if residual is None else residual.weights)

        def finish(k_U: Array, q: Array, points: Array, y: Array, known: Array, w: Array) -> Array:
            told = y
            if residual is not None:
                r = (y - residual.level - k_U @ weights) / residual.residual_clip
                told = known * engine.xp.clip(r, -1.0, 1.0)
            return layout.rows(q, shrinkage(q, clip) / clip, told, points, known, w, y)

        fused = engine.fused(finish)

        def rows(points: Array, y: Array, known: Array, weights: Array) -> Array:
            k_U = kernel(points, U)
            return fused(k_U, k_U @ R, points, y, known, weights)

        return rows

    def rows(
        self, points: Floats, y: Floats, known: Floats, weights: Floats | None = None
    ) -> Floats:
        """The same on NumPy; all weights are 1 unless they are given."""
        if weights is None:
            weights = np.ones(len(y))
        return self.writer(NUMPY)(points, y, known, weights)

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

    # -- names and files ---------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """Names this design in the ledger. It changes with the problem, a landmark or a setting,
        and not with the last bits of a matrix product, which differ between machines."""
        digest = hashlib.sha256(np.ascontiguousarray(self.features.U, dtype="<f8").tobytes())
        numbers = [f"{value:.6e}" for value in (self.tau, self.clip, np.trace(self.whitening))]
        if self.residual is not None:
            known = np.linalg.norm(self.features.L.T @ self.residual.weights)
            numbers.append(f"{self.residual.residual_clip:.6e}")
            numbers.append(f"{self.residual.level:.6e}")
            numbers.append(f"{known:.4e}")
        named = [
            self.problem.spec(),
            self.horizon,
            str(self.budget),
            self.unit,
            self.layout.context_share,
            numbers,
        ]
        if not self.layout.square_share and not self.budget.pure:
            named.append("plain")  # otherwise it has the name of a design with context_share=0
        if self.max_weight != 1.0:
            named.append(f"max_weight {self.max_weight:.6e}")
        if self.layout.pairs is not None:
            cuts = " ".join(f"{cut:.6e}" for cut in self.layout.pairs.cuts)
            named.append(f"pairs {self.layout.pair_share:.6e} {cuts}")
        if self.layout.arm_share:
            named.append(f"arms {self.layout.arm_share:.6e}")
        if self.problem.play_facts is not None:
            named.append(self.problem.play_facts["digest"])
        if self.cohort is not None:
            named.append(self.cohort.name)
        digest.update(json.dumps(named).encode())
        return digest.hexdigest()[:32]

    def facts(self) -> dict[str, Any]:
        """This design and the releases before it as plain data, without the arrays."""
        return self.own_facts() | {
            "previous": [release.facts() for release in self.previous],
            "cohort": self.cohort and asdict(self.cohort),
            "earlier": [each.facts() for each in self.earlier],
        }

    def arrays(self) -> dict[str, Floats]:
        """What goes with `facts()`: what has to be kept to have this design again."""
        found = self.own_arrays()
        parts = {f"previous_{i}_": release.arrays() for i, release in enumerate(self.previous)}
        parts |= {f"earlier_{i}_": each.arrays() for i, each in enumerate(self.earlier)}
        for prefix, arrays in parts.items():
            found |= {prefix + name: array for name, array in arrays.items()}
        return found

    def own_facts(self) -> dict[str, Any]:
        """The same without the releases before it."""
        residual = self.residual
        return {
            "horizon": self.horizon,
            "budget": asdict(self.budget),
            "total_budget": asdict(self.total_budget),
            "passes_left": self.passes_left,
            "tau": self.tau,
            "clip": self.clip,
            "unit": self.unit,
            "max_weight": self.max_weight,
            "context_share": self.layout.context_share,
            "pair_share": self.layout.pair_share,
            "arm_share": self.layout.arm_share,
            "pooling": self.pooling,
            "plain": not self.layout.square_share,
            "residual": residual and residual.facts(),
            "private": self.private,
            "play": self.problem.play_facts,
        }

    def own_arrays(self) -> dict[str, Floats]:
        """The same without the releases before it."""
        found = {
            "landmarks": self.features.U,
            "cholesky": self.features.L,
            "whitening": self.whitening,
            "moments_cross": self.moments.cross,
            "moments_square": self.moments.square,
            "moments_mean": self.moments.mean,
            "moments_shift": self.moments.shift,
        }
        if self.generator_sample is not None:
            found["generator_sample"] = self.generator_sample
        if self.moment is not None:
            found["moment"] = self.moment
        if self.layout.pairs is not None:
            found["pair_cuts"] = self.layout.pairs.cuts
        if self.residual is not None:
            found |= self.residual.arrays()
        return found

    @classmethod
    def restore(cls, problem: Problem, facts: dict[str, Any], arrays: dict[str, Floats]) -> Design:
        """The inverse of `facts()` and `arrays()`. A generator that was not kept draws from its
        sample."""
        earlier = tuple(
            Earlier.restore(kept, _under(arrays, f"earlier_{i}_"))
            for i, kept in enumerate(facts["earlier"])
        )
        cohort = None if facts["cohort"] is None else Cohort(**facts["cohort"])
        previous: tuple[Release, ...] = ()
        for i, kept in enumerate(facts["previous"]):
            own = _under(arrays, f"previous_{i}_")
            design = cls._restore(problem, kept["design"], own, previous)
            design = replace(design, cohort=cohort, earlier=earlier)
            previous = (*previous, Release.restore(design, kept, own))
        design = cls._restore(problem, facts, arrays, previous)
        return replace(design, cohort=cohort, earlier=earlier)

    @classmethod
    def _restore(
        cls,
        problem: Problem,
        facts: dict[str, Any],
        arrays: dict[str, Floats],
        previous: tuple[Release, ...],
    ) -> Design:
        problem.require_play(facts.get("play"))
        sample = arrays.get("generator_sample")
        private = bool(facts["private"])
        if problem.generator is None and sample is not None:
            problem = replace(problem, generator=Drawn(sample, private))
        features = Features(problem.k, arrays["landmarks"], arrays["cholesky"])
        budget = Budget(**facts["budget"])
        options = DesignOptions(context_share=facts["context_share"], plain=facts["plain"])
        residual = None
        if facts["residual"] is not None:
            residual = Residual.restore(facts["residual"], arrays)
        last = not facts["passes_left"]
        layout = choose_layout(problem, features.U, budget, options, last=last)
        layout = replace(layout, arm_share=facts.get("arm_share", 0.0))  # earlier versions had none
        if "pair_cuts" in arrays:
            assert layout.cells is not None
            pairs = Pairs(layout.cells, arrays["pair_cuts"])
            layout = layout.for_pairs(pairs, facts["pair_share"])
        return cls(
            problem=problem,
            horizon=facts["horizon"],
            budget=budget,
            total_budget=Budget(**facts["total_budget"]),
            features=features,
            whitening=arrays["whitening"],
            tau=facts["tau"],
            clip=facts["clip"],
            moments=Moments(
                arrays["moments_cross"],
                arrays["moments_square"],
                arrays["moments_mean"],
                arrays["moments_shift"],
            ),
            layout=layout,
            unit=facts["unit"],
            max_weight=facts.get("max_weight", 1.0),
            passes_left=facts["passes_left"],
            pooling=_weights(facts.get("pooling")),  # earlier versions had none
            residual=residual,
            previous=previous,
            generator_sample=sample,
            moment=arrays.get("moment"),  # estimated once more where it is not kept
            simulated=not private,
        )

    def __repr__(self) -> str:
        return (
            f"Design(rank={self.rank}, horizon={self.horizon}, budget=({self.budget}), "
            f"tau={self.tau:.3g}, clip={self.clip:.3g})"
        )


def _under(arrays: dict[str, Floats], prefix: str) -> dict[str, Floats]:
    """The arrays whose names begin so, without that."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _fields(parts: Assembly, passes_left: int) -> dict[str, Any]:
    """What a design keeps of its parts: the second moment only for passes after it."""
    found = parts._asdict()
    if not passes_left:
        found["moment"] = None
    return found


def _weights(pooling: Any) -> Weights | None:
    if pooling is None:
        return None
    common, main, full = (float(weight) for weight in pooling)
    return common, main, full


def _generator(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and rng >= 0:
        return np.random.default_rng(rng)
    raise InputError(f"rng must be a numpy Generator or a non-negative seed, got {rng!r}.")


def _check(budget: Any, passes: Any) -> None:
    if not isinstance(budget, Budget):
        raise InputError(
            f"budget must be a tacit.Budget, got {budget!r}: write Budget(epsilon=1.0, delta=1e-6)."
        )
    _ = budget.amount(budget.measure)  # a budget too small to be counted fails here
    if not isinstance(passes, int | np.integer) or not 1 <= passes <= MOST_PASSES:
        raise InputError(f"passes must be 1 to {MOST_PASSES}, got {passes!r}: 2 is the default.")
