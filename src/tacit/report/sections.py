"""The sections that have figures: each figure with its caption and a text for those who cannot see
it."""

from __future__ import annotations

from html import escape
from typing import Any

from tacit.report import choices, doubts, rewards, words
from tacit.report.axes import Axis
from tacit.report.canvas import inline_svg
from tacit.report.findings import Findings
from tacit.report.text import listed

MOST_ACTIONS = 3
ADVANTAGE = (
    "This policy learned only how much better an action is than a random one in the same context: "
    "its advantage. The "
    "reward that everybody gets anyway is not part of it."
)
BAND = (
    " The band holds the truth with 90 % probability as far as the model is right (mean ± 1.645 "
    "standard deviations); "
    "it includes the noise that was added for privacy. The model does not know the range of "
    "rewards, so a band may "
    "leave it."
)


def decides(found: Findings) -> str:
    actions = _actions(found)
    axes = [matter.axis for matter in found.matters]
    parts = [
        "<p>What is chosen as one context moves over its range, the one that matters most "
        "first.</p>",
        *(_curves(found, axes, i, action) for i, action in enumerate(actions)),
    ]
    if len(axes) > 1:
        pair = f"{_name(axes[0])} and {_name(axes[1])}"
        caption = f"The chosen {_names(actions)} by {pair}, the two contexts that matter most.{_blank(found)}"
        caption += words.holding(found, axes[:2])
        says = f"Map of the chosen {_names(actions)} over {pair}."
        parts.append(_figure(choices.plane(found, actions), "plane", says, caption))
    return "\n".join(parts)


def expects(found: Findings) -> str:
    what = found.view.quantity
    parts = [f"<p>{ADVANTAGE}</p>"] if found.policy.problem.advantage else []
    for i, action in enumerate(_actions(found)):
        first = found.matters[0].axis
        name = _name(action)
        rest = (
            " The rest of the action is as chosen for that context."
            if len(found.view.actions.axes) > 1
            else ""
        )
        many = len(action.labels) > rewards.SHOWN
        best = f" The {rewards.SHOWN} best of {len(action.labels):,} are shown." if many else ""
        caption = (
            f"Expected {what} of every {name} by {_name(first)}; darker is more. Black marks what "
            "is chosen."
            f"{rest}{best}{words.holding(found, [first])}"
        )
        says = f"Map of the expected {what} over {_name(first)} and {name}, with the chosen {name} marked."
        parts.append(_figure(rewards.surface(found, action), f"surface{i}", says, caption))
        caption = f"The same for {len(rewards.three(found))} values of {_name(first)}." + (
            BAND if i == 0 else ""
        )
        says = f"Expected {what} against {name} with 90 % bands, for low, middle and high {_name(first)}."
        parts.append(_figure(rewards.slices(found, action), f"slices{i}", says, caption))
    return "\n".join(parts)


def sure(found: Findings) -> str:
    axes = [matter.axis for matter in found.matters[:2]]
    where = _names(axes)
    what = f"the standard deviation of the expected {found.view.quantity} at the chosen action"
    caption = f"Where the policy is unsure: {what}, by {where}, in units of reward.{_blank(found)}"
    caption += words.holding(found, axes)
    says = f"Map of {what} over {where}."
    n = len(found.gain.mean)
    gained = (
        f"{n} contexts drawn evenly from all that are possible, the rare ones as often as the "
        "common ones. Each line "
        "is one of them: by how much the chosen action beats random play in expected reward, with "
        "its 90 % band. A "
        "band above zero means at least 95 % sure."
    )
    return "\n".join(
        [
            f"<p>{words.how_sure(found)}</p>",
            _figure(
                doubts.gain(found),
                "gain",
                f"Advantage over random play in {n} contexts, with 90 % bands.",
                gained,
            ),
            _figure(doubts.doubt(found), "doubt", says, caption),
        ]
    )


def matters(found: Findings) -> str:
    actions = _actions(found)
    caption = (
        "Reward at stake: the expected reward that is lost when the action is chosen for a random "
        "other value of this "
        "context, as the policy sees it, on average over evenly drawn contexts. "
    )
    caption += " ".join(_change(action) for action in actions)
    parts = [
        f"<p>{words.what_matters(found)}</p>",
        _figure(
            doubts.stakes(found, actions),
            "stakes",
            "Bars of what each context is worth and changes.",
            caption,
        ),
    ]
    if found.scales:
        caption = (
            f"How fast the expected {found.view.quantity} changes with each coordinate: hardly, "
            "where a bar is short. "
            "The release says which lengthscales explain it best, at no cost to anybody's privacy; "
            "where it says "
            "little, they stay near the design's. Where a coordinate has several, the shortest "
            "counts."
        )
        says = "Bars of one over the lengthscale of each coordinate, found and assumed."
        parts.append(_figure(doubts.scales(found), "scales", says, caption))
    else:
        parts.append(
            "<p>The kernel of this problem has no lengthscales that could be compared.</p>"
        )
    return "\n".join(parts)


def _curves(found: Findings, axes: list[Axis], i: int, action: Axis) -> str:
    caption = f"The chosen {_name(action)}, each context moved by itself.{words.holding(found, [])}"
    if not action.labels:
        caption += (
            " The shade shows where the choice lies for the middle 80 % of evenly drawn contexts: "
            "if it is wide, the "
            "other contexts matter too."
        )
    if len(axes) > choices.MOST_PANELS:
        caption += f" The {choices.MOST_PANELS} contexts that matter most of {len(axes)} are shown."
    says = f"Chosen {_name(action)} against each of {_names(axes[: choices.MOST_PANELS])}."
    return _figure(choices.curves(found, action), f"curves{i}", says, caption)


def _blank(found: Findings) -> str:
    return "" if found.plane.inside.all() else " What is blank cannot occur."


def _change(action: Axis) -> str:
    if action.labels:
        return f"Changed {_name(action)}: how often moving this context over its range changes the choice at all."
    return f"Change of {_name(action)}: how far moving this context over its range moves the choice, on average."


def _actions(found: Findings) -> list[Axis]:
    return list(found.view.actions.axes[:MOST_ACTIONS])


def _name(axis: Axis) -> str:
    return escape(axis.title)


def _names(axes: list[Axis]) -> str:
    return escape(listed(axis.title for axis in axes))


def _figure(figure: Any, name: str, says: str, caption: str) -> str:
    return (
        f"<figure>\n{inline_svg(figure, name, says)}\n<figcaption>{caption}</figcaption>\n</figure>"
    )
