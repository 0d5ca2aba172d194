"""Decisions, predictions and files of a policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Guarantee
from tacit.decoder import Posterior, decode
from tacit.design import Release
from tacit.errors import InputError
from tacit.numerics.engine import Engine, engine
from tacit.policy import files
from tacit.policy.advantage import Advantage
from tacit.policy.blend import Blend
from tacit.policy.cautious import Cautious
from tacit.policy.deciding import Decider
from tacit.policy.facts import facts_of
from tacit.policy.health import Health, Notice
from tacit.policy.promise import promise_of
from tacit.policy.unread import require_read, unread_columns
from tacit.policy.visitors import draw_visitors
from tacit.problem import Problem

CANDIDATES = 256


@dataclass(frozen=True, eq=False)
class Policy:
    """Decides, predicts, and says how sure it is. Holds released numbers only.

    >>> visitors = {"age": [30, 60]}
    >>> doses = policy.decide(visitors)
    >>> low, high = policy.interval(doses, visitors, 0.9)
    >>> bool((low < policy.mean(doses, visitors)).all())
    True
    >>> folder = policy.save("policy/")
    >>> tacit.Policy.load(folder).guarantee == policy.guarantee
    True
    """

    problem: Problem
    guarantee: Guarantee
    posterior: Posterior
    facts: dict[str, Any] = field(default_factory=dict)
    candidates: int = CANDIDATES
    receipt: dict[str, Any] | None = None
    releases: tuple[Release, ...] = ()  # what it was read from, for further passes; not saved
    # Contexts in unit coordinates like those of the people in the data, as far as is known.
    visitors: Floats | None = None

    @classmethod
    def from_release(cls, release: Release) -> Policy:
        """The policy of this release and of those before it."""
        design = release.design
        releases = (*design.previous, release)
        promise = promise_of(releases, design.earlier)
        return cls(
            problem=design.problem,
            guarantee=replace(promise, private=promise.private and design.private),
            posterior=decode(releases),
            facts=facts_of(releases),
            receipt=release.released.receipt,
            releases=releases,
            visitors=draw_visitors(releases),
        )

    @property
    def private(self) -> bool:
        return self.guarantee.private

    # -- decisions --------------------------------------------------------------------------------

    def decide(
        self, contexts: Any, *, strict: bool = False, device: str | Engine | None = None
    ) -> Any:
        """The best action for each context: a dict for a dict, a table for a table, an array for an
        array.

        A missing or unknown coordinate counts as the middle of its range, and one outside as the
        nearest end. With `strict` a value that is missing, unknown or far outside is an error that
        names it (`unread` lists them). `device="cuda"` computes on a GPU. A policy that is not
        worth using warns of that once, unless `health` was asked.
        """
        self._notice.warn(stacklevel=2)
        table = self.problem.contexts.read(contexts, "contexts")
        if strict:
            require_read(self.problem.contexts, table, "contexts")
        actions = self.decide_points(self.problem.context_points(table), device)
        return table.answer(self.problem.actions.decode(actions))

    def unread(self, contexts: Any) -> list[list[str]]:
        """For each context, the names of the columns whose value is missing, unknown, or outside
        its range by more than half the width of it."""
        domain = self.problem.contexts
        return unread_columns(domain, domain.read(contexts, "contexts"))

    def decide_points(self, C: Floats, device: str | Engine | None = None) -> Floats:
        """Best actions for contexts in unit coordinates, in unit coordinates."""
        return self._decider(device).decide(C)

    def decide_alike_points(self, C: Floats) -> Floats:
        """The one action, as a row, that is best on average over contexts in unit coordinates."""
        return self._decider(None).decide_alike(C)

    def _decider(self, device: str | Engine | None) -> Decider:
        on = engine(device)
        if on not in self._deciders:
            posterior = self.posterior
            self._deciders[on] = Decider(
                self.problem.actions,
                posterior.kernel,
                posterior.landmarks,
                posterior.weights,
                self.candidates,
                on,
            )
        return self._deciders[on]

    @cached_property
    def _deciders(self) -> dict[Engine, Decider]:
        """One for each engine that was asked for."""
        return {}

    # -- what is expected -------------------------------------------------------------------------

    def mean(self, actions: Any, contexts: Any) -> Any:
        """The expected reward of each action in each context (row by row), in the user's units.

        For a problem with `advantage=True` it is the mean reward of random play over the people in
        the data, plus the advantage of the action. What no action changes, such as that the young
        fare better whatever is done, was then not learned. So on average over people like them it
        is the expected reward, and differences between actions in one context are right, too;
        but in one context it lacks by how much everybody like that fares better or worse than the
        average, and `std` and `interval` do not hold that either. `advantage` is free of it.
        """
        return self.problem.unscale_reward(
            self.posterior.reward(self.pair_points(actions, contexts))
        )

    def std(self, actions: Any, contexts: Any) -> Any:
        """The posterior standard deviation of `mean`, in the user's units."""
        return self._std(self.posterior.stated_variance(self.pair_points(actions, contexts)))

    def interval(self, actions: Any, contexts: Any, level: float = 0.9) -> tuple[Any, Any]:
        """The credible interval of the expected reward, `(low, high)`, in the user's units."""
        deviations = _deviations(level)
        half = deviations * self.std(actions, contexts)
        mean = self.mean(actions, contexts)
        return mean - half, mean + half

    def advantage(self, actions: Any, contexts: Any) -> Any:
        """By how much each action is expected to be better than a uniformly random one in the same
        context (row by row), in the user's units of reward. For problems of both kinds."""
        return self._half_range * self._advantage.mean(self.pair_points(actions, contexts))

    def advantage_std(self, actions: Any, contexts: Any) -> Any:
        """The posterior standard deviation of `advantage`, in the user's units of reward."""
        return self._std(self._advantage.stated_variance(self.pair_points(actions, contexts)))

    def advantage_interval(
        self, actions: Any, contexts: Any, level: float = 0.9
    ) -> tuple[Any, Any]:
        """The credible interval of `advantage`, `(low, high)`, in the user's units of reward."""
        deviations = _deviations(level)
        half = deviations * self.advantage_std(actions, contexts)
        mean = self.advantage(actions, contexts)
        return mean - half, mean + half

    def _std(self, variance: Floats) -> Floats:
        """A variance in the posterior's units as a standard deviation in the user's."""
        return self._half_range * np.sqrt(variance)

    @property
    def _half_range(self) -> float:
        """The user's units of reward in one unit of the posterior."""
        low, high = self.problem.reward_range
        return (high - low) / 2

    @cached_property
    def _advantage(self) -> Advantage:
        return Advantage(self.posterior, self.problem.actions)

    def sample(self, rng: np.random.Generator) -> Policy:
        """One draw of the reward function from the posterior, as a policy: its `mean` is the draw,
        and its `advantage` that of the draw.

        Deciding with a fresh draw each time is Thompson sampling. Costs no budget: the posterior is
        public. Its health is that of this policy.
        """
        if not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng must be a NumPy random generator, got {type(rng).__name__}: pass "
                "np.random.default_rng(0), and the same one again for the next draw."
            )
        drawn = replace(self, posterior=self.posterior.draw(rng))
        drawn.__dict__["_notice"] = self._notice
        return drawn

    # -- beside what is done now ------------------------------------------------------------------

    def cautious(self, baseline: Any, level: float = 0.95) -> Cautious:
        """The policy that does what a baseline does, except where this one is at least `level` sure
        that its own action is better.

        `baseline` is an action (`{"dose": 30}`), a policy, or a function of contexts. Free: all of
        it is computed from released numbers.
        """
        return Cautious(self, baseline, level)

    def blend(self, baseline: Any, share: float = 0.5) -> Blend:
        """The policy that decides as this one for a share of visitors, drawn by chance, and as a
        baseline for the others.

        Its law is public: `Problem(play=blend)` learns from what was logged with it.
        """
        return Blend(self, baseline, share)

    # -- whether it is worth using ----------------------------------------------------------------

    def health(self) -> Health:
        """Whether this policy is worth using: what it gains, how sure that is, and a verdict. Free:
        it is computed from released numbers."""
        return self._notice.tell()

    def warn_if_bad(self, stacklevel: int = 1) -> None:
        """Warns with a `PolicyWarning` if the policy is not worth using, unless that was said."""
        self._notice.warn(stacklevel + 1)

    @cached_property
    def _notice(self) -> Notice:
        return Notice(self)

    def pair_points(self, actions: Any, contexts: Any) -> Floats:
        """Actions beside their contexts (row by row) as joint points in unit coordinates."""
        chosen = self.problem.actions.read(actions, "actions")
        X = self.problem.actions.encode(chosen.columns)
        C = self.problem.context_points(self.problem.contexts.read(contexts, "contexts"))
        if len(X) != len(C) and 1 not in (len(X), len(C)):
            raise InputError(
                f"actions and contexts must have as many rows, got {len(X)} and {len(C)}."
            )
        n = max(len(X), len(C))
        return np.hstack([np.broadcast_to(X, (n, X.shape[1])), np.broadcast_to(C, (n, C.shape[1]))])

    # -- files ------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Writes a folder of plain JSON and npz, and returns it. No private data goes in, none is
        needed to load it.

        A policy that is there already is replaced, and other files stay. A crash leaves the old
        policy or the new one, never a half of either.
        """
        return files.save(self, path)

    def report(self, path: str | Path, *, baseline: Any = None) -> Path:
        """One HTML page about this policy, for people: what it decides, how sure it is, what it
        promises.

        With a `baseline` it is compared with that, too: another policy, one action for everybody,
        or a function from contexts (a dict of columns) to actions.
        """
        from tacit.report import write_report

        return write_report(self, path, baseline)

    @classmethod
    def load(cls, path: str | Path, *, kernel: Any = None) -> Policy:
        """The policy in a folder. `kernel` is needed only if it was made with a function of one's
        own."""
        return files.load(cls, path, kernel)

    def __repr__(self) -> str:
        return (
            f"Policy(rank={self.posterior.rank}, private={self.private}, "
            f"epsilon={self.guarantee.epsilon:.4g})"
        )


def _deviations(level: float) -> float:
    """Standard deviations to either side of the mean that hold this share of a normal law."""
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level!r}: 0.9 is the 90 % interval.")
    return NormalDist().inv_cdf((1 + level) / 2)
