"""Everything that the page says in numbers: a function of the released policy and nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.policy import Policy
from tacit.policy.health import NO_USABLE_RECORDS, NOTHING_LEARNED, PLAY_CONTRADICTED, Health
from tacit.report.advantage import Comparison, Gains, measure_gains
from tacit.report.axes import Axis, Ruler
from tacit.report.frames import Mask, crossed
from tacit.report.importance import (
    Importance,
    InverseLengthscale,
    chosen_along,
    context_importances,
    inverse_lengthscales,
    values_of,
)
from tacit.report.view import View

MOST_CURVES = 9  # contexts along which choices are shown, those that matter most
NEGLIGIBLE = 0.1  # of the largest reward at stake
NOTHING = 0.005  # of the reward range: no context is worth more than this

# Why a policy with a bad verdict is not believed what it says of itself.
REASONS = {
    NO_USABLE_RECORDS: "it would be about the few records that could be read",
    PLAY_CONTRADICTED: "it would rest on a play that the released counts contradict",
    NOTHING_LEARNED: "the largest of noisy numbers promises a gain even where there is none",
}


@dataclass(frozen=True, eq=False)
class Plane:
    """What is chosen across the two contexts that matter most, or the only one, the others as for
    somebody typical."""

    across: Ruler
    up: Ruler | None
    contexts: Floats
    actions: Floats
    inside: Mask

    def laid_out(self, values: Floats) -> Floats:
        """One value per point as `(up, across)`; NaN outside of the domain."""
        return np.where(self.inside, values, np.nan).reshape(-1, len(self.across))


@dataclass(frozen=True, eq=False)
class Curve:
    """What is chosen for some people as one of their contexts moves over its range, the others as
    they are."""

    ruler: Ruler
    chosen: Floats  # the action at (person, place), in unit coordinates

    def values(self, action: Axis) -> Floats:
        """One coordinate of the action, `(people, places)`."""
        return values_of(action, self.chosen)

    def quantiles(self, action: Axis) -> Floats:
        """At each place, the median of a number over these people and the ends of their middle
        80 %: `(3, places)`."""
        return np.quantile(self.values(action), [0.1, 0.5, 0.9], axis=0)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a policy decides, how sure it is, and which context matters (the most important
    first)."""

    view: View
    importances: list[Importance]
    gains: Gains
    inverse_lengthscales: list[InverseLengthscale]

    @classmethod
    def of(cls, policy: Policy, baseline: Any = None) -> Findings:
        """Compared with random play, with the best fixed action and with a `baseline`, if any (see
        `Policy.report`)."""
        view = View(policy)
        return cls(
            view,
            context_importances(view),
            measure_gains(view, baseline),
            inverse_lengthscales(view),
        )

    @property
    def policy(self) -> Policy:
        return self.view.policy

    @property
    def health(self) -> Health:
        return self.policy.health()

    @property
    def withheld(self) -> str:
        """Why gains, how sure they are, and which context matters are not stated; empty where they
        are, for a policy with a good verdict."""
        verdict = self.health.verdict
        if self.health.good:
            return ""
        return (
            "What the policy gains, how sure that is, and which context matters are not stated: "
            f"{REASONS[verdict]} (verdict: {verdict})."
        )

    @property
    def advantage(self) -> Comparison:
        """Over random play."""
        return self.gains.over_random

    @cached_property
    def curves(self) -> list[Curve]:
        """What is chosen as each of the contexts that matter most moves over its range."""
        view = self.view
        C = view.people[: view.detail.averaged]
        found = []
        for importance in self.importances[:MOST_CURVES]:
            ruler = importance.axis.ruler(view.detail.steps)
            found.append(Curve(ruler, chosen_along(view, ruler, C)))
        return found

    @cached_property
    def plane(self) -> Plane:
        frame = self.view.contexts
        detail = self.view.detail
        first = self.importances[0].axis
        if len(self.importances) == 1:
            across = first.ruler(detail.curve)
            C, inside = frame.place(self.view.typical, (across.axis, across.places))
            return Plane(across, None, C, self.view.decide(C), inside)
        across = first.ruler(detail.side)
        up = self.importances[1].axis.ruler(detail.side)
        C, inside = frame.place(self.view.typical, *crossed(across, up))
        return Plane(across, up, C, self.view.decide(C), inside)

    @cached_property
    def same_for_all(self) -> bool:
        """Whether no context is worth anything to speak of."""
        return self.importances[0].reward_at_stake < NOTHING * 2 * self.view.half_range

    @cached_property
    def negligible(self) -> list[Importance]:
        """The coordinates with less than a tenth of the first one's reward at stake."""
        first, *others = self.importances
        limit = NEGLIGIBLE * first.reward_at_stake
        return [importance for importance in others if importance.reward_at_stake < limit]

    def drawn(self, action: Axis) -> Floats:
        """The values of one action coordinate that are chosen for the people in the data."""
        return action.values(self.view.chosen[:, action.columns])

    def shown(self, action: Axis) -> Floats:
        """The values of one action coordinate that figures show as chosen."""
        values = [curve.values(action).ravel() for curve in self.curves]
        mapped = self.plane.actions[self.plane.inside]
        return np.concatenate([*values, action.values(mapped[:, action.columns])])

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The best fixed action by names, in the user's units."""
        columns = self.policy.problem.actions.decode(self.gains.fixed)
        return {name: column.tolist()[0] for name, column in columns.items()}

    @cached_property
    def typical(self) -> dict[str, Any]:
        """The context at which maps hold what does not move, by names, in the user's units; None
        where it is missing."""
        columns = self.policy.problem.contexts.decode(self.view.typical)
        values = {name: column.tolist()[0] for name, column in columns.items()}
        return {name: None if value != value else value for name, value in values.items()}

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        policy = self.policy
        contexts = []
        for importance in self.importances:
            moves = {
                action.name: importance.action_change(action) for action in self.view.actions.axes
            }
            contexts.append(
                {
                    "name": importance.axis.name,
                    "reward_at_stake": importance.reward_at_stake,
                    "moves_action_by": moves,
                }
            )
        return {
            "private": policy.private,
            "guarantee": asdict(policy.guarantee),
            "receipt": policy.receipt,
            "records": policy.facts.get("records"),
            "rank": policy.posterior.rank,
            "health": self.health.to_json(),
            "evaluation": policy.facts.get("evaluation"),
            "averages_over": self.view.who,
            "typical_context": self.typical,
            "contexts": contexts,
            "gain_over_random_play": _gain(self.gains.over_random),
            "gain_over_best_fixed_action": {"action": self.fixed} | _gain(self.gains.over_fixed),
            "gain_over_baseline": _gain(self.gains.over_baseline),
            "inverse_lengthscales": [asdict(row) for row in self.inverse_lengthscales],
        }


def _gain(measured: Comparison | None) -> dict[str, Any]:
    if measured is None:
        return {}
    return {
        "contexts": len(measured.mean),
        "mean": measured.average,
        "std": measured.average_std,
        "share_of_contexts_95_percent_sure": measured.share_sure,
    }
