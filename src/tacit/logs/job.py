"""What is to be fitted, as one value: the same for a table in memory and for files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Budget, Part, release_event
from tacit.core.parts import held_out_share
from tacit.design import Design, DesignOptions
from tacit.design.weights import choose_max_weight
from tacit.domains import require_numbers, require_types
from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.logs.parts import Layout, learning_part
from tacit.logs.run_options import RunOptions
from tacit.numerics.engine import Engine
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.residual.refine import refine


@dataclass(frozen=True)
class Job:
    """A problem, the columns to learn from, and what was chosen. All of it is public.

    `source` is the text that the problem was read from, if there is one, and `sample` the file of
    the public sample that it names. Both say more than the problem's own spec, in which neither
    comments nor generators are kept. `hold_out` is the share of people who are kept apart.
    """

    problem: Problem
    columns: LogColumns
    budget: Budget
    passes: int = 2
    options: DesignOptions = field(default_factory=DesignOptions)
    run: RunOptions = field(default_factory=RunOptions)
    source: str | None = None
    sample: Path | None = None
    hold_out: float | None = None

    def __post_init__(self) -> None:
        if self.hold_out is not None:
            held_out_share(self.hold_out)
        weighted = self.options.max_weight not in (None, 1)
        if weighted and self.columns.propensity is None:
            raise InputError(
                "max_weight is for logs with a column of propensities: name it by propensity=..., "
                "or leave max_weight out."
            )
        if self.options.max_weight == 1 and self.columns.propensity is not None:
            raise InputError(
                "max_weight must be above 1 for a log with propensities, or no action could count "
                "more than another: leave it out to have it chosen."
            )

    @property
    def digest(self) -> bytes:
        """Stands for the problem, and for how the log was played if that was not uniformly."""
        source = self.source
        if source is None:
            source = json.dumps(self.problem.spec(), sort_keys=True)
        found = hashlib.sha256(source.encode())
        if self.problem.play_facts is not None:
            found.update(self.problem.play_facts["digest"].encode())
        if self.columns.propensity is not None:
            found.update(f"propensity {self.columns.propensity}".encode())
        return found.digest()

    @property
    def seed(self) -> int:
        """Of the design's public coins. The same for the same problem, so that the same fit has the
        same design, and its request returns the policy that was released."""
        if self.options.seed is not None:
            return int(self.options.seed)
        return int.from_bytes(self.digest[:8], "big")

    @property
    def device(self) -> str | Engine | None:
        """Where this process computes products. The device of a cluster is that of its workers."""
        return self.options.device if self.run.engine == "local" else None

    @property
    def terms(self) -> dict[str, Any]:
        """What must be the same when a fit goes on: sums of different things do not add up."""
        return {
            "problem": self.digest.hex(),
            "budget": str(self.budget),
            "horizon": self.run.horizon,
            "rank": self.options.rank,
            "choice of design options": _described(self.options),
            "user column": self.columns.user,
            "play": self.problem.play_facts,
            "propensity column": self.columns.propensity,
            "mapping of columns": dict(self.columns.called),
            "request": self.run.request,
            "number of passes": self.passes,
            "share of people held out": self.hold_out,
        }

    @property
    def unit(self) -> str:
        """Whom the guarantee is for."""
        return "record" if self.columns.user is None else "user"

    def part(self, layout: Layout) -> Part | None:
        """The part of such a log to learn from; None if nobody is held out."""
        if self.hold_out is None:
            return None
        return learning_part(self.hold_out, self.unit, layout)

    def design(self, rows: int, part: Part | None = None, learned: int = 0) -> Design:
        """The design of the first pass over so many rows, `learned` of them of the part."""
        horizon = max(self.run.horizon or rows, rows)
        if part is not None:
            _require_both(rows, learned)
            # Of rounds that are planned beyond the data as large a share is to learn from.
            horizon = learned + round((horizon - rows) * (1.0 - part.share))
        options = replace(self.options, device=self.device)
        if self.columns.propensity is not None:
            weight = choose_max_weight(self.problem, horizon, self.budget, options)
            options = replace(options, max_weight=weight)
        design = Design.build(
            self.problem,
            horizon=horizon,
            budget=self.budget,
            rng=self.seed,
            unit=self.unit,
            passes=self.passes,
            options=options,
            progress=self.run.progress,
        )
        release_event(design.encoding, self.budget)  # fails if the budget cannot pay for a release
        return design if part is None else replace(design, cohort=part.cohort)

    def request(self, design: Design) -> str:
        """The name of the release, from which those of the earlier passes follow."""
        return self.run.request or f"fit-{design.fingerprint}"

    def next_design(self, policy: Policy) -> Design:
        """The design of the pass after the one that `policy` was released in."""
        return refine(policy, device=self.device, progress=self.run.progress)

    def require_types(self, kinds: Mapping[str, str], what: str) -> None:
        """Fails if a column of the data, by the kind of its type, cannot hold what the problem
        declares. No cell is read."""
        called = self.columns.called
        require_types(self.problem.actions, kinds, what, called)
        require_types(self.problem.contexts, kinds, what, called)
        reward = self.columns.reward
        require_numbers(kinds[reward], called[reward], what)
        propensity = self.columns.propensity
        if propensity is not None:
            require_numbers(kinds[propensity], called[propensity], what)

    def described(self, policy: Policy) -> Policy:
        """The same policy, whose facts name the column of propensities if there is one."""
        if self.columns.propensity is None:
            return policy
        weight = policy.releases[-1].design.max_weight
        play = f"propensity column {self.columns.propensity}, weights up to {weight:g}"
        return replace(policy, facts=policy.facts | {"play": play})

    def require_apart(self, paths: Sequence[Path]) -> None:
        """Fails if the public sample is one of these files, also by another name of it."""
        for path in paths:
            if self.sample is not None and self.sample.samefile(path):
                raise InputError(
                    f"{path} is both the data and the public sample of [generator], whose rows "
                    "would be published with the policy: name a table that is public already, or "
                    "none."
                )


def _require_both(rows: int, learned: int) -> None:
    """Fails if all rows of the log are of one part. Who is in which part is public."""
    if not 0 < learned < rows:
        lacks = "to learn from" if not learned else "to hold out"
        raise InputError(
            f"of {rows} rounds none are left {lacks}: there are too few rounds, or too few users."
        )


def _described(options: DesignOptions) -> dict[str, str]:
    """The options that have no name of their own among the terms; arrays by their digest."""
    names = [each.name for each in fields(options) if each.name not in ("rank", "device")]
    return {name: _digest(getattr(options, name)) for name in names}


def _digest(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return repr(value)
