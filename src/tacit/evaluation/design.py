"""The design of an evaluation: what is asked, how records are scored and mixed, how it is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.core import Budget, Released, release_event
from tacit.core.contribution import Encoding
from tacit.domains.records import sees_batches
from tacit.errors import InputError
from tacit.evaluation.candidates import Candidate, find_model
from tacit.evaluation.choosing import choose_width, widths, window_errors
from tacit.evaluation.estimates import Estimate
from tacit.evaluation.evaluation import Evaluation, Subgroup
from tacit.evaluation.groups import Groups, find_groups
from tacit.evaluation.layout import Layout, Scale, Totals, estimates
from tacit.evaluation.options import EvaluationOptions
from tacit.evaluation.scoring import Scorer, public_bounds
from tacit.evaluation.shape import Mix
from tacit.evaluation.windows import Window
from tacit.play import law_digest
from tacit.policy import Policy
from tacit.policy.visitors import spread
from tacit.problem import Problem

Named = dict[str, Estimate]

PUBLIC_CONTEXTS = 512
MOST_POLICIES = 8


@dataclass(frozen=True, eq=False)
class EvaluationDesign:
    """How some policies are compared on so many records. Public."""

    scorer: Scorer
    layout: Layout
    groups: Groups | None
    mix: Mix
    group_mix: Mix | None
    options: EvaluationOptions
    budget: Budget
    records: int
    cut: Floats
    windows: tuple[float, ...]
    unit: str = "record"

    @classmethod
    def build(
        cls,
        problem: Problem,
        candidates: tuple[Candidate, ...],
        *,
        records: int,
        budget: Budget,
        against: str | None = None,
        options: EvaluationOptions | None = None,
        unit: str = "record",
        propensity: bool = False,
    ) -> EvaluationDesign:
        """The design for rounds that were played as the problem says, or with propensities. All
        of them have the prediction of the learned policy that is surest of its own."""
        _require_own(problem)
        options = options or EvaluationOptions()
        model = find_model(candidates)
        baseline = _baseline(candidates, against)
        groups = find_groups(problem.contexts, options.by)
        parts = 1 if groups is None else 1 + len(groups.names)
        encoding = Encoding(size=3 * len(candidates) * parts, horizon=records)
        noise = release_event(encoding, budget).scale / encoding.bound / records
        C = public_contexts(problem, model)
        ratio = options.max_weight if propensity else None
        window = Window(problem.actions, options.window or widths(problem.actions)[0])
        scorer = Scorer(problem, candidates, window, (), model, problem.law, ratio)
        scorer, cut = _bounded(scorer, C, options.max_weight)
        if options.window is None and problem.actions.continuous:
            known = None if model is None else (model, C)
            noises = Layout(scorer.bounds, baseline).noises(records, noise)
            width = choose_width(candidates, problem.actions, known, records, noises, baseline)
            scorer = replace(scorer, window=Window(problem.actions, width))
            scorer, cut = _bounded(scorer, C, options.max_weight)
        layout = Layout(scorer.bounds, baseline)
        errors = [0.0] * (2 * len(candidates) - 1)
        if model is not None:
            errors = window_errors(candidates, scorer.window, model, C, baseline)
        mix = layout.mix(records, noise, centred=True)
        group_mix = None
        if groups is not None:
            few = max(1, records // len(groups.names))
            share = options.group_share
            mix = mix.scaled((1.0 - share) ** 0.5)
            group_mix = layout.mix(few, noise * records / few, centred=False).scaled(share**0.5)
        return cls(
            scorer,
            layout,
            groups,
            mix,
            group_mix,
            options,
            budget,
            records,
            cut,
            tuple(errors),
            unit,
        )

    @property
    def encoding(self) -> Encoding:
        parts = 1 if self.groups is None else 1 + len(self.groups.names)
        return Encoding(size=self.layout.size * parts, horizon=self.records)

    def rows(
        self, psi: Floats, usable: NDArray[np.bool_], group: NDArray[np.int64] | None
    ) -> Floats:
        """What records write, one row each, of norm at most 1 up to rounding."""
        z = self.layout.entries(psi) * usable[:, None]
        rows = [self.mix.rows(z)]
        if self.group_mix is not None:
            assert self.groups is not None
            assert group is not None
            own = self.group_mix.rows(z)
            rows += [own * (group == g)[:, None] for g in range(len(self.groups.names))]
        return np.hstack(rows)

    def read(self, released: Released, about: dict[str, Any]) -> Evaluation:
        """The values and differences that were released; `about` are further facts."""
        sums = released.values / 2.0**released.bits
        noise = released.scale / 2.0**released.bits
        whole, *parts = self._totals(sums, noise, released.records)
        values, differences = self._told(whole, self.options.level)
        subgroups = {}
        for g, totals in enumerate(parts):
            assert self.groups is not None
            # Bonferroni: all subgroups hold the truth together as often as one interval alone.
            level = 1.0 - (1.0 - self.options.level) / len(parts)
            subgroups[self.groups.names[g]] = Subgroup(*self._told(totals, level), totals.usable)
        return Evaluation(
            values,
            differences,
            self.scorer.candidates[self.layout.baseline].name,
            released.guarantee,
            released.receipt,
            subgroups,
            self.facts() | about | _counts(whole.usable, released.records),
        )

    def _totals(self, values: Floats, noise: float, records: int) -> list[Totals]:
        """The sums over everybody and over each group, by least squares where there are both."""
        K = self.layout.size
        offset = np.zeros(len(values))
        offset[:K] = records * (self.mix.matrix @ self.mix.centre)
        seen = values + offset
        if self.group_mix is None:
            inverse = np.linalg.inv(self.mix.matrix)
            return [Totals(self.layout, inverse @ seen, noise**2 * inverse @ inverse.T)]
        assert self.groups is not None
        G = len(self.groups.names)
        design = np.vstack(
            [np.tile(self.mix.matrix, (1, G)), np.kron(np.eye(G), self.group_mix.matrix)]
        )
        covariance = np.linalg.inv(design.T @ design)
        every = covariance @ (design.T @ seen)
        pick = [np.eye(G * K)[g * K : (g + 1) * K] for g in range(G)]
        pick.insert(0, np.tile(np.eye(K), (1, G)))
        return [Totals(self.layout, P @ every, noise**2 * P @ covariance @ P.T) for P in pick]

    def _told(self, totals: Totals, level: float) -> tuple[Named, Named]:
        """Values and differences by the names of policies."""
        low, high = self.scorer.problem.reward_range
        found = estimates(totals, Scale(low, high, level), self.windows)
        names = [candidate.name for candidate in self.scorer.candidates]
        others = [names[j] for j in self.layout.others]
        return dict(zip(names, found[0], strict=True)), dict(zip(others, found[1], strict=True))

    def facts(self) -> dict[str, Any]:
        """How it is measured, as plain data."""
        scorer = self.scorer
        facts: dict[str, Any] = {
            "how": "off policy",
            "policies": {each.name: each.description for each in scorer.candidates},
            "unit": self.unit,
            "play": self._play,
            "window": scorer.window.width if scorer.problem.actions.continuous else None,
            "weights": [bounds.weight for bounds in scorer.bounds],
            "cut": [float(share) for share in self.cut],
            "reward_range": list(scorer.problem.reward_range),
            "budget": asdict(self.budget),
            "options": {
                "max_weight": self.options.max_weight,
                "level": self.options.level,
                "group_share": self.options.group_share,
            },
        }
        if self.groups is not None:
            count = len(self.groups.names)
            level = 1.0 - (1.0 - self.options.level) / count
            facts["by"] = self.groups.column
            facts["comparisons"] = (
                f"{count} subgroups are compared, so their intervals are at {100 * level:.4g} % "
                f"(Bonferroni): all of them together hold with {100 * self.options.level:g} %."
            )
        return facts

    @property
    def _play(self) -> str:
        if self.scorer.max_ratio is not None:
            return f"propensities, weights up to {self.scorer.max_ratio:g}"
        law = self.scorer.law
        return "uniform" if law is None else law.description

    @cached_property
    def fingerprint(self) -> str:
        """Tells one evaluation from another."""
        contexts = self.scorer.problem.contexts
        content = {
            "problem": self.scorer.problem.spec(),
            "play": self.scorer.problem.play_facts,
            "policies": [
                [each.name, [[rule.share, law_digest(rule.law, contexts)] for rule in each.rules]]
                for each in self.scorer.candidates
            ],
            "facts": self.facts(),
            "baseline": self.layout.baseline,
            "groups": None if self.groups is None else [*self.groups.names],
            "records": self.records,
        }
        text = json.dumps(content, sort_keys=True, default=str)
        mixes = [np.round(self.mix.matrix, 9).tobytes()]
        if self.group_mix is not None:
            mixes.append(np.round(self.group_mix.matrix, 9).tobytes())
        return hashlib.sha256(text.encode() + b"".join(mixes)).hexdigest()[:16]


def _bounded(scorer: Scorer, C: Floats, most: float) -> tuple[Scorer, Floats]:
    """The scorer with bounds for its window, and the shares of contexts whose weights are cut."""
    bounds, cut = public_bounds(scorer, C, most)
    return replace(scorer, bounds=bounds), cut


def _counts(usable: float, records: int) -> dict[str, Any]:
    """How many records there were, and about how many of them could be used."""
    return {"usable": min(usable, float(records)), "records": records}


def public_contexts(problem: Problem, model: Policy | None) -> Floats:
    """Contexts like those of the people in the data, as far as is known; never from data."""
    if model is not None and model.visitors is not None:
        return model.visitors[:PUBLIC_CONTEXTS]
    if problem.generator is not None:
        return problem.draw_contexts(PUBLIC_CONTEXTS, np.random.default_rng(0))
    return spread(problem.contexts, PUBLIC_CONTEXTS)


def _require_own(problem: Problem) -> None:
    """Fails for domains of somebody else: one could look at several records at a time."""
    if not (sees_batches(problem.actions) and sees_batches(problem.contexts)):
        raise InputError(
            "policies are evaluated on domains of Tacit's own, whose subclasses might look at "
            "several records at a time: declare actions and contexts as Box, Categories, Mixed, ..."
        )


def _baseline(candidates: tuple[Candidate, ...], against: str | None) -> int:
    names = [candidate.name for candidate in candidates]
    if len(names) > MOST_POLICIES:
        raise InputError(
            f"at most {MOST_POLICIES} policies are evaluated together, got {len(names)}: they "
            "share one release, and each makes the others noisier."
        )
    if against is None:
        return len(names) - 1
    if against not in names:
        raise InputError(
            f"against must name one of the policies, got {against!r}: they are {', '.join(names)}."
        )
    return names.index(against)
