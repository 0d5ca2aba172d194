"""The sections that have figures: each figure with its caption and a text for those who cannot see
it."""

from __future__ import annotations

from html import escape

from tacit.charts import Figure
from tacit.charts.formatting import listed
from tacit.report import choices, importance, rewards, sentences, uncertainty
from tacit.report.axes import Axis
from tacit.report.findings import MOST_CURVES, Findings

MOST_ACTIONS = 3
ADVANTAGE = (
    "This policy learned only how much better an action is than a random one in the same context: "
    "its advantage. The reward that everybody gets anyway is not part of it."
)
DOUBTED = (
    "The figures show what the policy expects. That is not to be relied on, as the verdict at the "
    "top of this page says."
)
BAND = (
    " The band holds the truth with 90 % probability as far as the model is right (mean ± 1.645 "
    "standard deviations); it includes the noise that was added for privacy. The model does not "
    "know the range of rewards, so a band may leave it."
)


def decides(found: Findings) -> str:
    """The chosen action across each context, and across the two that matter most."""
    actions = _actions(found)
    axes = [importance.axis for importance in found.importances]
    parts = [
        "<p>What is chosen as one context moves over its range, the one that matters most "
        "first.</p>"
    ]
    if len(axes) > 1:
        parts.append(f"<p>{sentences.typical(found)}</p>")
    parts += [_choice_curves(found, axes, action) for action in actions]
    if len(axes) > 1:
        pair = f"{_name(axes[0])} and {_name(axes[1])}"
        caption = (
            f"The chosen {_names(actions)} by {pair}, the two contexts that matter most."
            f"{_blank(found)}{sentences.holding(found, axes[:2])}{_bars(found, axes[:2])}"
        )
        alt = f"Map of the chosen {_plain(actions)} over {_plain(axes[:2])}."
        parts.append(_figure(choices.plane(found, actions, alt), caption))
    return "\n".join(parts)


def expects(found: Findings) -> str:
    """The expected reward of every action: a map, and slices of it with bands."""
    parts = []
    if found.withheld:
        parts.append(f"<p>{DOUBTED}</p>")
    if found.policy.problem.advantage:
        parts.append(f"<p>{ADVANTAGE}</p>")
    for i, action in enumerate(_actions(found)):
        parts.append(_reward_map(found, action))
        parts.append(_reward_slices(found, i, action))
    return "\n".join(parts)


def sure(found: Findings) -> str:
    """The advantage over random play with bands, and where the policy is unsure."""
    if found.withheld:
        return f"<p>{escape(found.withheld)}</p>"
    n = min(len(found.advantage.mean), uncertainty.LINES)
    drawn = "drawn evenly from all that are possible, the rare ones as often as the common ones"
    if found.policy.visitors is not None:
        drawn = "like those in the data, as far as the released counts of contexts say"
    advantage = _figure(
        uncertainty.advantage(
            found.advantage, f"Advantage over random play in {n} contexts, with 90 % bands."
        ),
        f"{n} contexts {drawn}. Each line is one of them: by how much the chosen action beats "
        "random play in expected reward, with its 90 % band. A band above zero means at least "
        "95 % sure.",
    )
    axes = [importance.axis for importance in found.importances[:2]]
    where = _names(axes)
    what = f"the standard deviation of the expected {found.view.quantity} at the chosen action"
    deviation = _figure(
        uncertainty.standard_deviation(found, f"Map of {what} over {_plain(axes)}."),
        f"Where the policy is unsure: {what}, by {where}, in units of reward.{_blank(found)}"
        f"{sentences.holding(found, axes)}",
    )
    said = [sentences.how_sure(found), *sentences.against_others(found)]
    paragraphs = [f"<p>{sentence}</p>" for sentence in said]
    return "\n".join([*paragraphs, advantage, deviation])


def matters(found: Findings) -> str:
    """What each context is worth, and how fast the reward changes with each coordinate."""
    if found.withheld:
        return f"<p>{escape(found.withheld)}</p>"
    actions = _actions(found)
    changes = " ".join(_change(action) for action in actions)
    stakes = _figure(
        importance.draw_importances(
            found.importances, actions, "Bars of what each context is worth and changes."
        ),
        "Reward at stake: the expected reward that is lost when the action is chosen for another "
        f"value of this context, drawn from {found.view.who} like the rest, as the policy sees it, "
        f"on average over {found.view.who}. {changes}",
    )
    return "\n".join([f"<p>{sentences.what_matters(found)}</p>", stakes, _lengthscales(found)])


def _choice_curves(found: Findings, axes: list[Axis], action: Axis) -> str:
    who = found.view.who
    caption = f"The chosen {_name(action)} as each context is moved by itself, for {who}."
    if len(axes) > 1:
        caption = f"{caption[:-1]}, whose other contexts stay as they are."
    if action.labels:
        caption += " How high a colour is shows for how many of them it is chosen."
    else:
        caption += (
            " The line is the median, and the shade shows where the choice lies for the middle "
            "80 % of them: if it is wide, the other contexts matter too."
        )
    caption += _bars(found, axes[:MOST_CURVES])
    if len(axes) > MOST_CURVES:
        caption += f" The {MOST_CURVES} contexts that matter most of {len(axes)} are shown."
    alt = f"Chosen {action.title} against each of {_plain(axes[:MOST_CURVES])}."
    return _figure(choices.curves(found, action, alt), caption)


def _reward_map(found: Findings, action: Axis) -> str:
    what = found.view.quantity
    first = found.importances[0].axis
    name = _name(action)
    caption = (
        f"Expected {what} of every {name} by {_name(first)}; darker is more. Black marks what "
        "is chosen."
    )
    if len(found.view.actions.axes) > 1:
        caption += " The rest of the action is as chosen for that context."
    if len(action.labels) > rewards.SHOWN:
        caption += f" The {rewards.SHOWN} best of {len(action.labels):,} are shown."
    caption += sentences.holding(found, [first])
    alt = (
        f"Map of the expected {what} over {first.title} and {action.title}, with the chosen "
        f"{action.title} marked."
    )
    return _figure(rewards.surface(found, action, alt), caption)


def _reward_slices(found: Findings, i: int, action: Axis) -> str:
    first = found.importances[0].axis
    caption = f"The same for {len(rewards.three(found))} values of {_name(first)}."
    if found.view.knows_people and not first.labels:
        caption += " A tenth, half and nine tenths of the people in the data have less."
    if i == 0:
        caption += BAND
    alt = (
        f"Expected {found.view.quantity} against {action.title} with 90 % bands, for low, middle "
        f"and high {first.title}."
    )
    return _figure(rewards.slices(found, action, alt), caption)


def _lengthscales(found: Findings) -> str:
    if not found.inverse_lengthscales:
        return "<p>The kernel of this problem has no lengthscales that could be compared.</p>"
    return _figure(
        importance.draw_inverse_lengthscales(
            found.inverse_lengthscales,
            "Bars of one over the lengthscale of each coordinate, found and assumed.",
        ),
        f"How fast the expected {found.view.quantity} changes with each coordinate: hardly, where "
        "a bar is short. The release says which lengthscales explain it best, at no cost to "
        "anybody's privacy; where it says little, they stay near the design's. Where a coordinate "
        "has several, the shortest counts.",
    )


def _blank(found: Findings) -> str:
    """A sentence about blank parts of a map, if there are any."""
    return "" if found.plane.inside.all() else " What is blank cannot occur."


def _bars(found: Findings, axes: list[Axis]) -> str:
    """A sentence about the bars that mark where people are, if there are any."""
    if not found.view.knows_people or all(axis.labels for axis in axes):
        return ""
    return " Black bars along the axes span the middle 90 % of the people in the data."


def _change(action: Axis) -> str:
    name = _name(action)
    if action.labels:
        return (
            f"Changed {name}: how often moving this context over its range changes the choice at "
            "all."
        )
    return (
        f"Change of {name}: how far moving this context over its range moves the choice, on "
        "average."
    )


def _actions(found: Findings) -> list[Axis]:
    return list(found.view.actions.axes[:MOST_ACTIONS])


def _name(axis: Axis) -> str:
    return escape(axis.title)


def _plain(axes: list[Axis]) -> str:
    """Names for texts that are escaped where they are drawn."""
    return listed(axis.title for axis in axes)


def _names(axes: list[Axis]) -> str:
    return escape(listed(axis.title for axis in axes))


def _figure(figure: Figure, caption: str) -> str:
    return f"<figure>\n{figure.svg()}\n<figcaption>{caption}</figcaption>\n</figure>"
