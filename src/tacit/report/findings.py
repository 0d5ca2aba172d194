"""Everything that the page says in numbers: a function of the released policy, and of nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.policy import Policy
from tacit.report import gain as gains
from tacit.report.axes import Axis, Ruler
from tacit.report.frames import Mask, crossed
from tacit.report.gain import Gain
from tacit.report.matters import Matter, Scale, matters, scales
from tacit.report.view import View

HARDLY = 0.1  # of the largest stake
NOTHING = 0.005  # of the reward range: no context is worth more than this


@dataclass(frozen=True, eq=False)
class Plane:
    """What is chosen across the two contexts that matter most, or the only one, the others in the
    middle."""

    across: Ruler
    up: Ruler | None
    contexts: Floats
    actions: Floats
    inside: Mask

    def laid_out(self, values: Floats) -> Floats:
        """One value per point as `(up, across)`; NaN outside of the domain."""
        return np.where(self.inside, values, np.nan).reshape(-1, len(self.across))


@dataclass(frozen=True, eq=False)
class Findings:
    """What a policy decides, how sure it is, and which context matters (the most important first)."""

    view: View
    matters: list[Matter]
    gain: Gain
    scales: list[Scale]

    @classmethod
    def of(cls, policy: Policy) -> Findings:
        view = View(policy)
        C = view.contexts.spread(view.detail.contexts)
        return cls(view, matters(view, C), gains.measure(view, C, view.decide(C)), scales(view))

    @property
    def policy(self) -> Policy:
        return self.view.policy

    @cached_property
    def curves(self) -> list[tuple[Ruler, Floats]]:
        """What is chosen as each context moves over its range, the others in the middle."""
        frame = self.view.contexts
        found = []
        for matter in self.matters:
            ruler = matter.axis.ruler(self.view.detail.curve)
            C, _ = frame.place(frame.middle, (ruler.axis, ruler.places))
            found.append((ruler, self.view.decide(C)))
        return found

    @cached_property
    def plane(self) -> Plane:
        frame = self.view.contexts
        detail = self.view.detail
        if len(self.matters) == 1:
            across = self.matters[0].axis.ruler(detail.curve)
            up = None
            C, inside = frame.place(frame.middle, (across.axis, across.places))
        else:
            across, up = (matter.axis.ruler(detail.side) for matter in self.matters[:2])
            C, inside = frame.place(frame.middle, *crossed(across, up))
        return Plane(across, up, C, self.view.decide(C), inside)

    @cached_property
    def same_for_all(self) -> bool:
        """Whether no context is worth anything to speak of."""
        return self.matters[0].stake < NOTHING * 2 * self.view.half_range

    @cached_property
    def hardly(self) -> list[Matter]:
        """The coordinates that matter at most a tenth as much as the first."""
        return [
            matter for matter in self.matters[1:] if matter.stake < HARDLY * self.matters[0].stake
        ]

    def drawn(self, action: Axis) -> Floats:
        """The values of one action coordinate that were chosen in evenly drawn contexts."""
        X = np.vstack(
            [matter.chosen.reshape(-1, matter.chosen.shape[2]) for matter in self.matters]
        )
        return action.values(X[:, action.columns])

    def shown(self, action: Axis) -> Floats:
        """The values of one action coordinate that figures show as chosen."""
        X = np.vstack([*(X for _, X in self.curves), self.plane.actions[self.plane.inside]])
        return action.values(X[:, action.columns])

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        policy = self.policy
        gain = self.gain
        return {
            "private": policy.private,
            "guarantee": asdict(policy.guarantee),
            "receipt": policy.receipt,
            "records": policy.facts.get("records"),
            "rank": len(policy.posterior.landmarks),
            "contexts": [
                {
                    "name": matter.axis.name,
                    "reward_at_stake": matter.stake,
                    "moves_action_by": {
                        axis.name: matter.moves(axis) for axis in self.view.actions.axes
                    },
                }
                for matter in self.matters
            ],
            "gain_over_random_play": {
                "contexts": len(gain.mean),
                "mean": gain.average,
                "std": gain.average_std,
                "share_of_contexts_95_percent_sure": gain.share_sure,
            },
            "inverse_lengthscales": [asdict(scale) for scale in self.scales],
        }
