"""Whether a policy is worth using: plain facts from released numbers, and a verdict.

Everything here is free, because it is computed from what was released.

**What "learned" means.** A policy maximises the posterior mean, so its own expected gain is
positive even if it learned nothing. So a gain counts only if it is more than `CLEAR` posterior
standard deviations of the very same difference, and if a test on contrasts that do not depend on
what was released (`tacit.policy.effects`) says that there is an effect.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit._typing import Floats
from tacit.errors import PolicyWarning
from tacit.kernels import Separable
from tacit.policy.comparison import Comparer, Comparison, Play
from tacit.policy.effects import Effects
from tacit.policy.visitors import spread

if TYPE_CHECKING:
    from tacit.policy.policy import Policy

CLEAR = 2.0  # standard deviations that a gain is above zero
CHANCE = 0.001  # of calling an effect what is none
SURELY = 3.0  # standard deviations by which too few records are usable
FEWEST_USABLE = 0.5  # of all records
RANDOM_ACTIONS = 32  # that stand for random play
PEOPLE = 512  # contexts over which gains are averaged,
FEW_PEOPLE = 40  # and for a kernel that is no product: each decision costs many kernel rows
TRIED_PEOPLE = 24  # in whose contexts actions are tested for an effect,
TRIED_ACTIONS = 12  # and the number of these

OK = "ok"
SAME_FOR_ALL = "same for all"
NO_USABLE_RECORDS = "no usable records"
PLAY_CONTRADICTED = "play contradicted"
NOTHING_LEARNED = "nothing learned"


class Estimate(NamedTuple):
    """A number that is known up to noise."""

    mean: float
    std: float

    @property
    def clear(self) -> bool:
        """Whether it is above zero by more than its own uncertainty."""
        return self.mean > CLEAR * self.std


@dataclass(frozen=True)
class Health:
    """What is known about how good a policy is. Gains are in the user's units of reward, on average
    over the people in the data as far as that is known.

    `verdict` is one of five stable codes, the worst that applies:

    | verdict               | good | meaning                                                    |
    |-----------------------|------|------------------------------------------------------------|
    | `"no usable records"` | no   | clearly less than half of the records could be read        |
    | `"play contradicted"` | no   | the actions in the log were not played as was stated       |
    | `"nothing learned"`   | no   | no action is clearly better than any other                 |
    | `"same for all"`      | yes  | one action for everybody is as good, as far as is known    |
    | `"ok"`                | yes  | the policy is clearly better than any fixed action         |

    >>> policy.health().verdict
    'ok'
    """

    usable_share: Estimate | None  # of records that could be read; None where that is not known
    gain_over_random: Estimate  # of the policy over random play
    gain_over_fixed: Estimate  # of the policy over the best fixed action
    fixed_over_random: Estimate  # of the best fixed action over random play
    p_no_effect: float  # the probability of such a release if no action mattered
    p_same_effect: float  # the same if actions mattered equally in all contexts
    play: Any  # how actions were chosen, as it was stated; None where that is not known
    play_contradicted: bool | None  # None where it was not checked
    understated: float = 1.0  # effects, and gains, may be so many times as large

    @property
    def actions_matter(self) -> bool:
        """Whether some action, for everybody or for each, is clearly better than random play."""
        clear = self.gain_over_random.clear or self.fixed_over_random.clear
        return clear and self.p_no_effect < CHANCE

    @property
    def contexts_matter(self) -> bool:
        """Whether the policy is clearly better than the best fixed action."""
        return self.gain_over_fixed.clear and self.p_same_effect < CHANCE

    @property
    def verdict(self) -> str:
        if self._unusable:
            return NO_USABLE_RECORDS
        if self.play_contradicted:
            return PLAY_CONTRADICTED
        if not self.actions_matter:
            return NOTHING_LEARNED
        if not self.contexts_matter:
            return SAME_FOR_ALL
        return OK

    @property
    def good(self) -> bool:
        """Whether the policy may be used. That one action suits everybody is no fault of it."""
        return self.verdict in (OK, SAME_FOR_ALL)

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        if self.verdict == NO_USABLE_RECORDS:
            assert self.usable_share is not None
            share = min(max(self.usable_share.mean, 0.0), 1.0)
            return (
                f"Only about {100 * share:.0f} % of the records could be read, so the policy "
                "learned little or nothing: check the types and labels of the columns."
            )
        sentence = SENTENCES[self.verdict]
        if self.good and self.understated > 1.0:
            sentence += f" {UNDERSTATED.format(self.understated)}"
        return sentence

    @property
    def banner(self) -> str:
        """What must be read first: the verdict and its sentence. Empty for a good policy."""
        if self.good:
            return ""
        return f"{self.verdict.upper()}: {self.sentence}"

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        found: dict[str, Any] = {"verdict": self.verdict, "good": self.good}
        found["sentence"] = self.sentence
        for field in fields(self):
            value = getattr(self, field.name)
            found[field.name] = value._asdict() if isinstance(value, Estimate) else value
        found["actions_matter"] = self.actions_matter
        found["contexts_matter"] = self.contexts_matter
        return found

    @property
    def _unusable(self) -> bool:
        if self.usable_share is None:
            return False
        return self.usable_share.mean + SURELY * self.usable_share.std < FEWEST_USABLE


SENTENCES = {
    OK: "The policy is clearly better than random play and than any fixed action.",
    SAME_FOR_ALL: (
        "One and the same action for everybody is as good as this policy, as far as the release "
        "shows."
    ),
    PLAY_CONTRADICTED: (
        "The actions in the log were not played as was stated, so what the policy expects is "
        "wrong: state how they were chosen. (If that is right: propensities may need a larger "
        "max_weight, and play that follows several contexts a generator that knows how they "
        "depend on each other.)"
    ),
    NOTHING_LEARNED: (
        "No action is better than another by more than the policy's own uncertainty: its choices "
        "are no better than chance; more records, or a larger budget, may tell more."
    ),
}


UNDERSTATED = (
    "Columns of contexts depend on each other, which one histogram for each does not show: which "
    "action is best is not affected, but expected rewards may be up to {:g} times as far from "
    "their mean as stated. A public sample of contexts, or a generator, would tell."
)


class Notice:
    """The health of a policy, found out once, and reported once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._told = False

    @cached_property
    def _health(self) -> Health:
        return examine(self._policy)

    def tell(self) -> Health:
        """The health, for somebody who asked: no warning has to follow."""
        self._told = True
        return self._health

    def warn(self, stacklevel: int) -> None:
        """Warns of a policy that is not good, unless that was reported already."""
        if self._told:
            return
        banner = self.tell().banner
        if banner:
            warnings.warn(banner, PolicyWarning, stacklevel=stacklevel + 1)


def examine(policy: Policy) -> Health:
    """The health of a policy, from its posterior and its facts."""
    over = comparer(policy)
    chosen = Play.of_each(policy.decide_points(over.C))
    fixed = Play.of_all(policy.decide_alike_points(over.C))
    random = random_play(policy)
    effects = Effects(policy.posterior, over.C[:TRIED_PEOPLE], _tried_actions(policy))
    usable = policy.facts.get("usable")
    check = policy.facts.get("play_check")
    return Health(
        usable_share=None if usable is None else Estimate(usable["share"], usable["std"]),
        gain_over_random=_average(over.compare(chosen, random)),
        gain_over_fixed=_average(over.compare(chosen, fixed)),
        fixed_over_random=_average(over.compare(fixed, random)),
        p_no_effect=effects.p_none,
        p_same_effect=effects.p_same,
        play=policy.facts.get("play"),
        play_contradicted=None if check is None else bool(check.get("contradicted", False)),
        understated=policy.posterior.understated,
    )


def people(policy: Policy) -> Floats:
    """Contexts like those of the people in the data, or evenly drawn where nothing is known of
    them."""
    n = PEOPLE if isinstance(policy.problem.k, Separable) else FEW_PEOPLE
    if policy.visitors is None:
        return spread(policy.problem.contexts, n)
    return policy.visitors[:n]


def comparer(policy: Policy) -> Comparer:
    """Compares over such people."""
    low, high = policy.problem.reward_range
    return Comparer(policy.posterior, people(policy), (high - low) / 2)


def random_play(policy: Policy) -> Play:
    """Actions drawn evenly in every context."""
    return Play.of_all(spread(policy.problem.actions, RANDOM_ACTIONS))


def _tried_actions(policy: Policy) -> Floats:
    """Some actions, well spread; all of them where they are few."""
    menu = policy.problem.actions.candidate_points(TRIED_ACTIONS)
    at = np.linspace(0, len(menu) - 1, min(len(menu), TRIED_ACTIONS))
    return menu[at.round().astype(int)]


def _average(measured: Comparison) -> Estimate:
    return Estimate(measured.average, measured.average_std)
