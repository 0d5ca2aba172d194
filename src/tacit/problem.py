"""The problem: everything that is known before any data, all of it public."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit import domains, kernels
from tacit._typing import Floats, Rng
from tacit.contexts import Law, PublicSample, is_private, sampler
from tacit.domains import Domain
from tacit.errors import InputError
from tacit.kernels import Custom, Kernel, natural
from tacit.play import Play, PlayLaw, Uniform, as_law, law_digest
from tacit.spec import Spec, dump, load
from tacit.tables import Table

ALIKE = 1e-9  # the largest prior variance of an advantage where all actions are one to the kernel


@dataclass(frozen=True)
class Problem:
    """Which action is best for which context?

    A plain kernel such as `Matern(2.5, 0.3)` is read as the product of itself on actions and itself
    on contexts. Without one it is that of `tacit.kernels.default_kernel`, which pools contexts and
    treats labels as unordered unless they are declared to be ordered. Contexts that nobody named
    are called c0, c1, ... where the actions have the same default names. `generator` is a public
    guess of the distribution of contexts (uniform by default).

    `play` is how the actions of a log were chosen, if that was not uniformly at random: a function
    `(contexts, rng) -> actions` on columns in the user's units, a `Policy`, a list of these (a
    committee: each round is played by one of them), probabilities of labels `{"A": 0.8, "B": 0.2}`,
    or something with `sample(n, rng)` that does not depend on contexts. `tacit.play` has more. It
    is public: it must not depend on the rounds of the log.

    `advantage=True` learns only what decisions need: how much better an action is than a random one
    in the same context (`policy.advantage`). No budget goes to the part of the reward that no
    action changes, of which only the mean over everybody is learned (`policy.mean` adds it).

    >>> problem = tacit.Problem(
    ...     actions=tacit.Box.of(dose=(0, 100)),
    ...     contexts=tacit.Mixed.of(age=(18, 95), weight=(40, 140), gene=["G/G", "A/G", "A/A"]),
    ... )
    >>> problem.contexts.names
    ('age', 'weight', 'gene')
    """

    actions: Domain
    contexts: Domain
    kernel: Kernel | Callable[[Any, Any], Any] | None = None
    reward_range: Sequence[float] = (0.0, 1.0)
    generator: Law | None = None
    play: Play | None = None
    advantage: bool = False

    def __post_init__(self) -> None:
        for name in ("actions", "contexts"):
            value = getattr(self, name)
            if not isinstance(value, Domain):
                kind = type(value).__name__  # the kind only: it could be somebody's table
                raise InputError(
                    f"{name} must be a domain, got {kind}: pass for example tacit.Box([0.0], "
                    "[1.0])."
                )
        if self.actions.fills:
            raise InputError(
                "actions must not fill missing values, since nothing is learned of an action that "
                "is not known: leave out missing=..."
            )
        object.__setattr__(self, "contexts", domains.contexts_beside(self.actions, self.contexts))
        if shared := set(self.actions.names) & set(self.contexts.names):
            given = ", ".join(sorted(shared))
            raise InputError(
                f"actions and contexts must not share column names, both have {given}: pass "
                "names=[...]."
            )
        object.__setattr__(self, "reward_range", _increasing(self.reward_range))
        kernel = self._chosen_kernel()
        object.__setattr__(self, "kernel", kernel)
        k = natural(kernel, self._columns, self.actions.dimension)
        if self.advantage:
            k = _centred(k, self.actions)
        object.__setattr__(self, "_k", k)
        if isinstance(self.play, Uniform):
            object.__setattr__(self, "play", None)
        law = None if self.play is None else as_law(self.play).on(self.actions)
        object.__setattr__(self, "_law", law)
        object.__setattr__(self, "_draw_contexts", sampler(self.contexts, self.generator))

    def _chosen_kernel(self) -> Kernel:
        if self.kernel is None:
            kernel = kernels.default_kernel(self.actions, self.contexts)
            return kernels.with_levels(kernel, self.actions, self.contexts)
        if isinstance(self.kernel, Kernel):
            return kernels.with_levels(self.kernel, self.actions, self.contexts)
        return _wrapped(self.kernel)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        action: str | Sequence[str],
        contexts: Sequence[str] | None = None,
        ranges: Mapping[str, Any] | None = None,
        levels: Mapping[str, Any] | None = None,
        reward_range: Sequence[float] = (0.0, 1.0),
        kernel: Kernel | Callable[[Any, Any], Any] | None = None,
    ) -> Problem:
        """A problem on columns of a table, whose ranges and levels are declared here.

        >>> problem = tacit.Problem.from_table(
        ...     {"dose": float, "age": int, "gene": str},  # or the table itself
        ...     action="dose",
        ...     ranges={"dose": (0, 100), "age": (18, 95)},
        ...     levels={"gene": ["G/G", "A/G", "A/A"]},
        ... )

        `table` is a frame, a schema, or a mapping of names to dtypes. Only names and dtypes are
        taken from it, to check the declarations: a range needs a column that may hold numbers, and
        at least one of the levels must be able to occur. Ranges and levels are never learned from
        rows. The smallest and the largest age among private records, or the rarest gene, are facts
        about single people, and a domain is public: learning it would be a release without noise.
        So declare what is known without the data, such as who may take part in the study.

        `contexts` are all declared columns that are no actions, in the table's order, unless they
        are named. Levels that have an order are declared as `Categories([...], ordered=True)`, and
        what a missing cell is read as by `Range(18, 95, missing=50)` or `Categories([...],
        missing="unknown")`.
        Columns that are not declared are left out (`unused_columns` lists them).
        """
        declared = domains.Declared.of(table, ranges, levels)
        actions = [action] if isinstance(action, str) else list(action)
        if isinstance(contexts, str):
            raise InputError(
                f"contexts must be a list of column names, got {contexts!r}: write [{contexts!r}]."
            )
        if contexts is None:
            others = [name for name in declared.columns if name not in actions]
        else:
            others = list(contexts)
        for name, columns in (("action", actions), ("contexts", others)):
            if not columns:
                raise InputError(
                    f"{name} names no column: declare a range or levels for at least one."
                )
        return cls(declared.domain(actions), declared.domain(others), kernel, reward_range)

    def unused_columns(self, table: Any) -> tuple[str, ...]:
        """The columns of a table, or of a schema, that are neither actions nor contexts of this
        problem."""
        used = {*self.actions.names, *self.contexts.names}
        return tuple(name for name in domains.kinds_of(table) if name not in used)

    @property
    def k(self) -> Kernel:
        """The kernel on joint points: unit coordinates of the action, then of the context."""
        return self._k  # type: ignore[attr-defined]

    @property
    def law(self) -> PlayLaw | None:
        """The play as a law on the actions; None if it is uniform."""
        return self._law  # type: ignore[attr-defined]

    @cached_property
    def play_facts(self) -> dict[str, str] | None:
        """The name of the play and a digest that tells it from others; None if it is uniform."""
        if self.law is None:
            return None
        digest = law_digest(self.law, self.contexts)
        return {"name": self.law.description, "digest": digest}

    @property
    def dimension(self) -> int:
        return self.actions.dimension + self.contexts.dimension

    @property
    def private(self) -> bool:
        """Whether no part of it was learned with a seed, as a generator by `simulate_marginals` or
        play by a simulation is."""
        parts = (self.actions, self.contexts, self.kernel, self.generator, self.play, self.law)
        return all(is_private(part) for part in parts)

    @property
    def _columns(self) -> tuple[str, ...]:
        """One name per unit coordinate; an item's features share the item's name."""
        return (*self.actions.coordinates, *self.contexts.coordinates)

    def require_apart(self, contexts: Any, actions: Any = None) -> None:
        """Fails if a table of private records is also this problem's public sample (see
        `PublicSample`)."""
        if isinstance(self.generator, PublicSample) and contexts is not None:
            self.generator.require_apart(contexts, self.contexts.names)
        if isinstance(self.play, PublicSample) and actions is not None:
            self.play.require_apart(actions, self.actions.names)

    def public_points(self, n: int, rng: Rng) -> Floats:
        """`n` joint points: contexts from the generator, and actions as they are played in them.
        Never from data."""
        if self.law is None:
            actions = self.actions.sample_points(n, rng)
            return np.hstack([actions, self.draw_contexts(n, rng)])
        contexts = self.draw_contexts(n, rng)
        return np.hstack([self.draw_actions(contexts, rng), contexts])

    def draw_actions(self, contexts: Floats, rng: Rng) -> Floats:
        """An action for each of these contexts, as it is played; all in unit coordinates."""
        if self.law is None:
            return self.actions.sample_points(len(contexts), rng)
        return self.law.draw(contexts, self.contexts, rng)

    def draw_contexts(self, n: int, rng: Rng) -> Floats:
        """`n` contexts from the public generator, in unit coordinates."""
        return self._draw_contexts(n, rng)  # type: ignore[attr-defined]

    def context_points(self, table: Table) -> Floats:
        """A visitor's contexts in unit coordinates; a missing or unknown coordinate is the middle
        of its range."""
        with np.errstate(all="ignore"):  # NumPy would warn of odd values
            points = self.contexts.encode(table.columns)
        if np.isfinite(points).all():
            return points
        return self.contexts.project_points(np.where(np.isfinite(points), points, 0.5))

    def scale_reward(self, rewards: Floats) -> Floats:
        """Rewards to [-1, 1], clipped; NaN stays NaN."""
        low, high = self.reward_range
        inside = np.clip(rewards, low, high)  # first, so that nothing overflows
        return np.clip((inside - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)

    def unscale_reward(self, values: Floats) -> Floats:
        """Scaled rewards back in the user's units."""
        low, high = self.reward_range
        return (low + high) / 2 + values * (high - low) / 2

    def require_play(self, facts: dict[str, str] | None) -> None:
        """Fails if this problem states another play than a design that was built before."""
        own = self.play_facts
        if (own and own["digest"]) == (facts and facts["digest"]):
            return
        before = "uniform" if facts is None else facts["name"]
        raise InputError(
            f"this was made for another play ({before}): pass the problem with that play, since no "
            "file holds it."
        )

    def spec(self) -> Spec:
        """The problem as plain data, for TOML and JSON, without its generator and play."""
        kernel = {"type": "custom"} if isinstance(self.kernel, Custom) else dump(self.kernel)
        reward: Spec = {"range": list(self.reward_range)}
        if self.advantage:
            reward["advantage"] = True
        return {
            "actions": dump(self.actions),
            "contexts": dump(self.contexts),
            "kernel": kernel,
            "reward": reward,
        }

    @classmethod
    def from_spec(
        cls,
        spec: Spec,
        *,
        kernel: Any = None,
        generator: Law | None = None,
        play: Play | None = None,
    ) -> Problem:
        if not isinstance(spec, Mapping):
            raise InputError(f"a problem must be a table with actions and contexts, got {spec!r}.")
        for name in ("actions", "contexts"):
            if name not in spec:
                raise InputError(
                    f"the problem has no [{name}] table: say what they are, for example type = "
                    '"box".'
                )
        reward = spec.get("reward", {})
        if not isinstance(reward, Mapping):
            raise InputError(
                f"reward must be a table, got {reward!r}: write range = [low, high] in it."
            )
        if kernel is None and spec.get("kernel") == {"type": "custom"}:
            raise InputError(
                "this problem was made with a kernel of somebody's own: pass it again as kernel=..."
            )
        if kernel is None and "kernel" in spec:
            kernel = load(spec["kernel"], kernels.REGISTRY, "kernel")
        return cls(
            actions=load(spec["actions"], domains.REGISTRY, "domain"),
            contexts=load(spec["contexts"], domains.REGISTRY, "domain"),
            kernel=kernel,
            reward_range=reward.get("range", (0.0, 1.0)),
            generator=generator,
            play=play,
            advantage=bool(reward.get("advantage", False)),
        )


def _centred(k: Kernel, actions: Domain) -> Kernel:
    """The kernel of advantages: its factor on actions centred over a fixed set of them."""
    if not isinstance(k, kernels.Separable):
        raise InputError(
            "advantage=True needs a kernel on actions times one on contexts: not a Joint or Custom "
            "one."
        )
    points = actions.candidate_points(64 if actions.dimension == 1 else 256)
    centred = kernels.Centred(k.actions, points)
    if centred.diagonal(points).max() < ALIKE:
        raise InputError(
            "advantage=True needs at least two actions that the kernel tells apart, since it "
            "learns how they differ: declare more actions, or leave it out."
        )
    return replace(k, actions=centred)


def _wrapped(kernel: Any) -> Kernel:
    if not callable(kernel) or isinstance(kernel, type):
        raise InputError(
            f"kernel must be a kernel or a function k(A, B), got {kernel!r}: pass for example "
            "tacit.Matern(2.5, 0.3)."
        )
    return Custom(kernel)


def _increasing(reward_range: Any) -> tuple[float, float]:
    try:
        low, high = (float(value) for value in reward_range)
    except (TypeError, ValueError):
        kind = type(reward_range).__name__  # the kind only: it could be somebody's rewards
        raise InputError(
            f"reward_range must be two numbers, got {kind}: pass (low, high)."
        ) from None
    if not (math.isfinite(high - low) and low < high):
        raise InputError(
            f"reward_range must be finite and increasing, got ({low}, {high}): pass (low, high)."
        )
    return low, high
