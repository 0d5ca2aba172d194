"""The policies that are compared: each is one rule, or a mixture of rules with known shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.errors import InputError
from tacit.kernels.rows import sees_batches
from tacit.play import Committee, EpsilonGreedy, Fixed, PlayLaw, Uniform, as_baseline, as_law
from tacit.play.wrapped import Decisions, Function
from tacit.policy import Policy
from tacit.policy.blend import Blend
from tacit.policy.cautious import Cautious
from tacit.policy.derived import Derived
from tacit.policy.visitors import spread
from tacit.problem import Problem
from tacit.quiet import quiet
from tacit.spec import dump

SPREAD = 256  # pairs of actions and contexts at which predictions are compared
ROWS = 1024  # contexts decided at a time: always so many, so that one cannot change another


@dataclass(frozen=True, eq=False)
class Rule:
    """A part of a policy: which action it takes in each context, with which share."""

    share: float
    law: PlayLaw

    @property
    def uniform(self) -> bool:
        """Whether it takes a uniformly random action, and is no rule."""
        return isinstance(self.law, Uniform)

    def actions(self, C: Floats, contexts: Domain) -> Floats:
        """Its actions in private contexts, both in unit coordinates; NaN where it fails.

        Tacit's own policies see many contexts at a time, in blocks of one height. Functions and
        classes of somebody else could mix contexts, or fail: they see one context at a time.
        """
        if isinstance(self.law, Function):
            return _called(self.law, C, contexts)
        height = ROWS if _sees_batches(self.law) else 1
        starts = range(0, len(C), height)
        with quiet():
            found = [_decided(self.law, C[i : i + height], contexts, height) for i in starts]
        return np.vstack([np.empty((0, self.law.actions.dimension)), *found])


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy under its name, as rules whose shares add up to 1."""

    name: str
    rules: tuple[Rule, ...]
    description: str
    learned: tuple[Policy, ...] = ()  # the policies in it that were learned


def as_candidates(policies: Any, problem: Problem) -> tuple[Candidate, ...]:
    """The named policies on the actions of the problem."""
    _require_named(policies)
    return tuple(_candidate(str(name), policy, problem) for name, policy in policies.items())


def find_problem(policies: Any, problem: Problem | None = None) -> Problem:
    """The problem of the policies, which is the same for all of them."""
    _require_named(policies)
    found = problem
    for policy in learned(policies):
        if found is None:
            found = policy.problem
        if _terms(policy.problem) != _terms(found):
            raise InputError(
                "all policies must be of one problem, with the same actions, contexts and range of "
                "rewards: evaluate those of another problem by themselves."
            )
    if found is None:
        raise InputError(
            "none of the policies was learned, so that the problem is not known: pass problem=..., "
            "with the actions and contexts of the log."
        )
    return found


def _require_named(policies: Any) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise InputError(
            "policies must be a dict of names and policies, as in {'learned': policy, 'now': "
            "{'dose': 30}}."
        )


def find_model(candidates: tuple[Candidate, ...]) -> Policy | None:
    """The learned policy that is surest of its predictions; None if there is none."""
    learned = [policy for each in candidates for policy in each.learned]
    if len(learned) < 2:
        return learned[0] if learned else None
    return min(learned, key=_mean_variance)


def _mean_variance(policy: Policy) -> float:
    """Of the rewards that a policy expects, over evenly spread actions and contexts."""
    X = spread(policy.problem.actions, SPREAD)
    C = spread(policy.problem.contexts, SPREAD)
    turned = np.random.default_rng(0).permutation(SPREAD)
    return float(policy.posterior.reward_variance(np.hstack([X, C[turned]])).mean())


def learned(policies: Any) -> list[Policy]:
    """All policies that were learned, also those inside of blended and cautious ones."""
    found: list[Policy] = []
    for policy in policies.values() if isinstance(policies, Mapping) else ():
        found += _inside(policy)
    return found


def _inside(policy: Any) -> list[Policy]:
    if isinstance(policy, Policy):
        return [policy]
    if isinstance(policy, Decisions):
        return _inside(policy.policy)
    if isinstance(policy, Derived):
        return [*_inside(policy.policy), *_inside(policy.baseline)]
    if isinstance(policy, EpsilonGreedy):
        return _inside(policy.law)
    if isinstance(policy, Committee):
        return [each for law in policy.laws for each in _inside(law)]
    return []


def _terms(problem: Problem) -> Any:
    return dump(problem.actions), dump(problem.contexts), tuple(problem.reward_range)


def _candidate(name: str, policy: Any, problem: Problem) -> Candidate:
    law = _law_of(policy).on(problem.actions)
    return Candidate(name, tuple(_rules(law, 1.0)), _described(law), tuple(_inside(policy)))


def _described(law: PlayLaw) -> str:
    """What a policy is, in public words: "dose = 35" where it is a fixed action."""
    if not isinstance(law, Fixed):
        return law.description
    columns = law.actions.decode(law.point())
    cells = {name: column.tolist()[0] for name, column in columns.items()}
    return ", ".join(f"{name} = {_cell(cell)}" for name, cell in cells.items())


def _cell(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _law_of(policy: Any) -> PlayLaw:
    if isinstance(policy, str) and policy == "uniform":
        return Uniform()
    if isinstance(policy, PlayLaw):
        return policy
    if isinstance(policy, list | tuple):
        return as_law(policy)
    return as_baseline(policy)


def _rules(law: PlayLaw, share: float) -> list[Rule]:
    """The rules that a law is a mixture of."""
    if isinstance(law, Blend):
        policy = Decisions(law.policy).on(law.problem.actions)
        parts = [(law.share, policy), (1.0 - law.share, law.baseline)]
    elif isinstance(law, EpsilonGreedy):
        uniform = Uniform().on(law.actions)
        parts = [(1.0 - law.epsilon, law.law), (law.epsilon, uniform)]
    elif isinstance(law, Committee):
        parts = [(1.0 / len(law.laws), each) for each in law.laws]
    elif law.chance and not isinstance(law, Uniform):
        raise InputError(
            f"a policy to evaluate must be an action, a policy, a function of contexts, or a "
            f"mixture of these, got {law.description}: pass what it consists of."
        )
    else:
        return [Rule(share, law)]
    return [rule for part, each in parts if part > 0 for rule in _rules(each, share * part)]


def _sees_batches(law: PlayLaw) -> bool:
    """Whether each action that it takes comes from its own context alone."""
    if isinstance(law, Fixed):
        return True
    if isinstance(law, Decisions):
        return type(law.policy) is Policy and sees_batches(law.policy.posterior.kernel)
    if type(law) is Cautious:
        return sees_batches(law.policy.posterior.kernel) and _sees_batches(law.baseline)
    return False


def _called(law: Function, C: Floats, contexts: Domain) -> Floats:
    """The actions of a function, which is called with one context at a time."""
    names = law.actions.names
    cells: dict[str, Any] = {name: np.full(len(C), None, dtype=object) for name in names}
    with quiet():
        columns = contexts.decode(C)
        for i in range(len(C)):
            one = {name: column[i : i + 1].copy() for name, column in columns.items()}
            try:
                action = law(one, np.random.default_rng(0))
                for name in names:
                    cells[name][i] = _only(action[name] if isinstance(action, Mapping) else action)
            except Exception:  # whatever it raises at a context: its text could quote it
                for name in names:
                    cells[name][i] = None
        return law.actions.encode(cells)


def _only(value: Any) -> Any:
    """The one cell of a column."""
    (cell,) = np.ravel(np.asarray(value)).tolist()
    return cell


def _decided(law: PlayLaw, C: Floats, contexts: Domain, height: int) -> Floats:
    """One block, padded to its height."""
    n = len(C)
    padded = np.vstack([C, np.tile(C[-1:], (height - n, 1))]) if n < height else C
    try:
        if isinstance(law, Decisions) and type(law.policy) is Policy:
            points = law.policy.decide_points(padded)
        elif isinstance(law, Cautious):
            points = law.decide_points(padded)
        else:
            points = law.draw(padded, contexts, np.random.default_rng(0))
    except Exception:  # whatever somebody's function raises at a context: its text could quote it
        return np.full((n, law.actions.dimension), np.nan)
    return np.asarray(points, dtype=np.float64)[:n]
