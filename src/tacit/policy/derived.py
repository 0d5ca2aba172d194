"""Policies that are made of a learned one and a baseline."""

from __future__ import annotations

import hashlib
import io
import json
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit._typing import Floats
from tacit._version import __version__
from tacit.contexts import is_private
from tacit.errors import InputError
from tacit.play import Fixed, PlayLaw, as_baseline
from tacit.play.wrapped import Decisions
from tacit.policy import files, folders
from tacit.policy.unread import require_read
from tacit.problem import Problem
from tacit.spec import Spec
from tacit.tables import Table

if TYPE_CHECKING:
    from tacit.policy.policy import Policy


class Derived(PlayLaw):
    """A policy that sometimes does what a baseline does. It decides as every policy does, and is a
    law of play.

    A subclass is a frozen dataclass of a policy, a baseline and one number. The baseline may be
    given as an action, a policy or a function of contexts.
    """

    policy: Policy
    baseline: Any
    schema: ClassVar[str]  # of its files; a policy's own is a number
    number: ClassVar[str]  # the name of the third field

    @abstractmethod
    def decide_points(self, C: Floats) -> Floats:
        """Actions for contexts, both in unit coordinates."""

    @property
    def problem(self) -> Problem:
        return self.policy.problem

    @property
    def private(self) -> bool:
        return is_private(self.policy) and is_private(self.baseline)

    def baseline_points(self, C: Floats) -> Floats:
        """What the baseline does in contexts, both in unit coordinates."""
        if not len(C):
            return np.empty((0, self.problem.actions.dimension))
        # A baseline is a rule: it has no coins of its own.
        points: Floats = self.baseline.draw(C, self.problem.contexts, np.random.default_rng(0))
        return points

    def spec(self) -> Spec:
        """Names the law by what it is made of. Fails for a baseline that is a function."""
        reduction = np.ascontiguousarray(self.policy.posterior.reduction, dtype="<f8")
        return {
            "type": self.schema,
            self.number: getattr(self, self.number),
            "policy": Decisions(self.policy).spec(),
            "uncertainty": hashlib.sha256(reduction.tobytes()).hexdigest(),
            "baseline": self.baseline.spec(),
        }

    def save(self, path: str | Path) -> Path:
        """Writes a folder, as `Policy.save` does, and returns it: `tacit.policy.load` reads it
        again. Fails for a baseline that is a function."""
        folder = folders.as_folder(path)
        folders.write(folder, *self.dump())
        return folder

    def dump(self) -> tuple[dict[str, Any], bytes]:
        """The policy and its baseline as plain data and an npz archive."""
        policy, content = files.dump(self.policy)
        baseline, other = self._dump_baseline()
        about = {
            "schema": self.schema,
            "tacit": __version__,
            "guarantee": policy["guarantee"],
            "receipt": policy["receipt"],
            self.number: float(getattr(self, self.number)),
            "policy": policy,
            "baseline": baseline,
        }
        arrays = io.BytesIO()
        np.savez(
            arrays,
            policy=np.frombuffer(content, np.uint8),
            baseline=np.frombuffer(other, np.uint8),
        )
        return about, arrays.getvalue()

    def _dump_baseline(self) -> tuple[dict[str, Any], bytes]:
        baseline = self.baseline
        if isinstance(baseline, Fixed) and _is_plain(baseline.action):
            return {"action": baseline.action}, b""
        if isinstance(baseline, Derived):
            about, content = baseline.dump()
            return {"policy": about}, content
        # `Policy` imports this module, and so cannot be named here.
        if isinstance(baseline, Decisions) and isinstance(baseline.policy, type(self.policy)):
            about, content = files.dump(baseline.policy)
            return {"policy": about}, content
        raise InputError(
            f"a baseline that is {baseline.description} cannot be saved: use an action or a "
            "policy, or save the policy alone and make this one again."
        )

    def _set_baseline(self) -> None:
        """The baseline as a rule on the actions of the policy; an action in plain values."""
        actions = self.problem.actions
        baseline = as_baseline(self.baseline).on(actions)
        if isinstance(baseline, Fixed):
            columns = actions.decode(baseline.point())
            action = {name: column.tolist()[0] for name, column in columns.items()}
            baseline = Fixed(action).on(actions)
        object.__setattr__(self, "baseline", baseline)

    def _read(self, contexts: Any, strict: bool) -> tuple[Table, Floats]:
        """Visitors as a table, and in unit coordinates."""
        table = self.problem.contexts.read(contexts, "contexts")
        if strict:
            require_read(self.problem.contexts, table, "contexts")
        return table, self.problem.context_points(table)


def _is_plain(action: Any) -> bool:
    try:
        json.dumps(action)
    except (TypeError, ValueError):
        return False
    return True
