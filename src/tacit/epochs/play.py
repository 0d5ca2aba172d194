"""How the people of one epoch are played. Public: it depends on releases, never on data.

Every round is played by a coin that is stored with it:

| mode | plays | why |
|---|---|---|
| explore | uniform actions | guards against a posterior that is too sure |
| learn | Thompson sampling: the best action of a posterior draw | explores where it matters |
| exploit | the policy's own decision | its mean reward is what the policy is worth |
| control | a public baseline | what that is compared with |

Draws are a committee that is fixed when the epoch begins, so that the law of the action is known in
every context, and propensities are exact.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.decoder import Posterior
from tacit.domains import Domain
from tacit.errors import InputError
from tacit.numerics.engine import NUMPY
from tacit.play import PlayLaw
from tacit.play.base import SAME, PointLaw, rows, same_actions, some
from tacit.policy import Policy
from tacit.policy.deciding import Decider
from tacit.problem import Problem
from tacit.spec import Spec
from tacit.tables import Columns

MODES = ("explore", "learn", "exploit", "control")
MEMBERS = 64  # draws of a committee
EPOCH_CANDIDATES = 256


@dataclass(frozen=True)
class Shares:
    """The shares of an epoch's rounds that are not played by Thompson sampling."""

    explore: float = 0.1
    exploit: float = 0.0
    control: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0.0 <= value <= 1.0:
                raise InputError(f"{name} must be a share from 0 to 1, got {value!r}.")
        if self.learn < 0.0:
            raise InputError(
                f"explore, exploit and control must be 1 together at most, got {1 - self.learn:g}."
            )

    @property
    def learn(self) -> float:
        """The share of Thompson sampling."""
        rest = 1.0 - self.explore - self.exploit - self.control
        return 0.0 if abs(rest) < SAME else rest

    def uninformed(self) -> Shares:
        """The same where nothing is learned yet: all that is not the baseline's explores."""
        return Shares(explore=1.0 - self.control, control=self.control)

    def exploring(self) -> Shares:
        """The same with uniform play instead of Thompson sampling. Arms stay as they are."""
        return Shares(1.0 - self.exploit - self.control, self.exploit, self.control)

    @property
    def probabilities(self) -> Floats:
        """In the order of `MODES`."""
        return np.array([self.explore, self.learn, self.exploit, self.control])

    @property
    def description(self) -> str:
        """In words: "explore 5%, learn 95%"."""
        named = zip(MODES, self.probabilities, strict=True)
        return ", ".join(f"{mode} {share:.0%}" for mode, share in named if share)


class Propensity(NamedTuple):
    """How likely an action was in its context: a probability, or a density in the user's units.

    On continuous actions uniform play has a density, and decisions are single actions that have a
    probability.
    """

    value: float
    density: bool


@dataclass(frozen=True, eq=False)
class Learned:
    """What play depends on of a posterior: its mean k_U(w)' weights, and draws from it."""

    landmarks: Floats
    weights: Floats
    committee: Floats  # the weights of draws, one row each

    @classmethod
    def of(cls, posterior: Posterior, rng: Rng, members: int = MEMBERS) -> Learned:
        drawn = posterior.draw_weights(members, rng)
        return cls(posterior.landmarks, posterior.weights, drawn)

    def spread(self, spread: float) -> Learned:
        """The same with draws that are so many times as far from the mean."""
        drawn = self.weights + spread * (self.committee - self.weights)
        return Learned(self.landmarks, self.weights, drawn)


@dataclass(frozen=True, eq=False)
class EpochPlay(PointLaw):
    """The play of one epoch. In the first one nothing is `learned` yet, and all rounds explore that
    are not the baseline's."""

    problem: Problem  # of the study; its own play is not looked at
    shares: Shares
    learned: Learned | None = None
    baseline: PlayLaw | None = None
    candidates: int = EPOCH_CANDIDATES
    private: bool = True  # False if it was learned with a seed

    def __post_init__(self) -> None:
        if self.shares.control and self.baseline is None:
            raise InputError(
                "a control share plays a baseline: pass baseline=..., or leave control out."
            )
        object.__setattr__(self, "_actions", self.problem.actions)
        if self.baseline is not None:
            object.__setattr__(self, "baseline", self.baseline.on(self.problem.actions))
        if self.learned is None and self.shares.explore + self.shares.control < 1.0:
            object.__setattr__(self, "shares", self.shares.uninformed())

    @classmethod
    def validating(cls, policy: Policy, baseline: PlayLaw, split: float) -> EpochPlay:
        """The play of a validation epoch: a coin gives this share of the rounds to a policy, which
        decides as it does for anybody, and the others to a baseline."""
        posterior = policy.posterior
        weights = posterior.weights
        return cls(
            replace(policy.problem, play=None),
            Shares(explore=0.0, exploit=split, control=1.0 - split),
            Learned(posterior.landmarks, weights, weights[None, :]),
            baseline,
            policy.candidates,
            policy.private,
        )

    @property
    def description(self) -> str:
        return self.shares.description

    @property
    def uniform(self) -> bool:
        """Whether all rounds explore."""
        return self.shares.explore == 1.0

    def draw_modes(self, C: Floats, rng: Rng) -> tuple[Floats, NDArray[np.intp]]:
        """Actions for contexts, both in unit coordinates, and the number of the mode of each."""
        C = self._readable(C)
        n = len(C)
        modes = rng.choice(len(MODES), size=n, p=self.shares.probabilities)
        points = self.actions.sample_points(n, rng)
        learn = modes == MODES.index("learn")
        if learn.any():
            committee = self._learned.committee
            member = rng.integers(len(committee), size=int(learn.sum()))
            points[learn] = self._decider.decide(C[learn], committee[member])
        exploit = modes == MODES.index("exploit")
        if exploit.any():
            points[exploit] = self._decider.decide(C[exploit])
        control = modes == MODES.index("control")
        if control.any():
            points[control] = self._baseline_points(C[control])
        return points, modes

    def decide(self, C: Floats) -> Floats:
        """What the policy decides, in unit coordinates."""
        return self._decider.decide(self._readable(C))

    def propensities(self, C: Floats, X: Floats, modes: NDArray[np.intp]) -> list[Propensity]:
        """Of actions that were drawn in these modes, in unit coordinates."""
        C = self._readable(C)
        continuous = self.actions.continuous
        everywhere = self.shares.explore * self.actions.uniform_density
        # Uniform play of continuous actions never meets a single action of the others.
        single = np.full(len(C), True) if not continuous else modes != MODES.index("explore")
        atoms = np.zeros(len(C))
        if single.any():
            atoms[single] = self._atoms(C[single], X[single])
        if not continuous:
            return [Propensity(everywhere + float(atom), density=False) for atom in atoms]
        return [
            Propensity(float(atom), density=False) if atom else Propensity(everywhere, density=True)
            for atom in atoms
        ]

    def propensity(self, c: Floats, x: Floats) -> Propensity:
        """Of one action in one context, both in unit coordinates. On continuous actions it is a
        density where nothing but uniform play would choose it."""
        unknown = np.array([MODES.index("learn")])
        return self.propensities(c[None, :], x[None, :], unknown)[0]

    def _atoms(self, C: Floats, X: Floats) -> Floats:
        """How likely the parts of the law that are not uniform choose these very actions."""
        atoms = np.zeros(len(C))
        if self.shares.learn:
            committee = self._learned.committee
            atoms += self.shares.learn * self._decider.agreeing(C, X, committee)
        if self.shares.exploit:
            atoms += self.shares.exploit * same_actions(self._decider.decide(C), X)
        if self.shares.control:
            atoms += self.shares.control * same_actions(self._baseline_points(C), X)
        return atoms

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        return self.draw(self.problem.contexts.encode(contexts), self.problem.contexts, rng)

    def draw(self, contexts: Floats, domain: Domain, rng: Rng) -> Floats:
        return self.draw_modes(contexts, rng)[0]

    def on(self, actions: Domain) -> EpochPlay:
        return self

    def spec(self) -> Spec:
        """Names the law by a digest of its numbers: two committees are two laws."""
        digest = hashlib.sha256()
        for array in self.arrays().values():
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return self.facts() | {"type": "epoch", "digest": digest.hexdigest()}

    def facts(self) -> dict[str, Any]:
        """The law as plain data, without its arrays and its baseline."""
        return {
            "shares": asdict(self.shares),
            "baseline": None if self.baseline is None else self.baseline.description,
            "candidates": self.candidates,
            "private": self.private,
        }

    def arrays(self) -> dict[str, Floats]:
        """What goes with `facts()`."""
        if self.learned is None:
            return {}
        names = ("landmarks", "weights", "committee")
        return {name: getattr(self.learned, name) for name in names}

    @classmethod
    def restore(
        cls,
        problem: Problem,
        facts: dict[str, Any],
        arrays: dict[str, Floats],
        baseline: PlayLaw | None,
    ) -> EpochPlay:
        """The inverse of `facts()` and `arrays()`."""
        return cls(
            problem,
            Shares(**facts["shares"]),
            Learned(**arrays) if arrays else None,
            baseline,
            facts["candidates"],
            facts["private"],
        )

    def _readable(self, C: Floats) -> Floats:
        """Contexts with the middle of the range where a coordinate is missing or unknown, as
        `Problem.context_points` has it for visitors of a policy."""
        known = np.isfinite(C)
        if known.all():
            return C
        return self.problem.contexts.project_points(np.where(known, C, 0.5))

    @property
    def _learned(self) -> Learned:
        assert self.learned is not None
        return self.learned

    def _baseline_points(self, C: Floats) -> Floats:
        assert self.baseline is not None
        # A baseline is a rule: it has no coins of its own.
        return self.baseline.draw(C, self.problem.contexts, np.random.default_rng(0))

    @cached_property
    def _decider(self) -> Decider:
        known = self._learned
        return Decider(
            self.problem.actions,
            self.problem.k,
            known.landmarks,
            known.weights,
            self.candidates,
            NUMPY,
        )


@dataclass(frozen=True, eq=False)
class Mixture(PointLaw):
    """Each round is played by one of several laws, drawn with these probabilities."""

    laws: tuple[PlayLaw, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_actions", self.laws[0].actions)

    @property
    def description(self) -> str:
        return f"a mixture of {len(self.laws)} laws"

    def points(self, contexts: Columns, rng: Rng) -> Floats:
        member = rng.choice(len(self.laws), size=rows(contexts), p=self.probabilities)
        found = np.empty((len(member), self.actions.dimension))
        for i, law in enumerate(self.laws):
            found[member == i] = law.points(some(contexts, member == i), rng)
        return found

    def draw(self, contexts: Floats, domain: Domain, rng: Rng) -> Floats:
        member = rng.choice(len(self.laws), size=len(contexts), p=self.probabilities)
        found = np.empty((len(member), self.actions.dimension))
        for i, law in enumerate(self.laws):
            found[member == i] = law.draw(contexts[member == i], domain, rng)
        return found

    def on(self, actions: Domain) -> Mixture:
        return self

    def spec(self) -> Spec:
        laws = [law.spec() for law in self.laws]
        return {"type": "mixture", "laws": laws, "probabilities": list(self.probabilities)}
