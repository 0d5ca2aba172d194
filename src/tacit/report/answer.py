"""The answer that the page leads with: is the policy better than what is done now, and how is that
known? Measured where it was evaluated; otherwise the first line says that it is only expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from tacit.charts import Dots, Figure, Intervals, Note, Panel, Rule, Scale
from tacit.charts.formatting import clean, number
from tacit.charts.marks import Mark
from tacit.policy import Policy
from tacit.policy.facts import described

WIDTH = 760.0  # of a figure
FINE = 0.1  # digits that tell apart a thousandth of the reward range
MEASURED = {
    "off policy": "Measured off policy: from rounds whose actions were chosen by a known law.",
    "on policy": "Measured on policy: by people who were given its actions.",
}
EXPECTED = (
    "<b>ONLY EXPECTED.</b> Nobody has measured what this policy earns. All rewards on this page "
    "are what it expects itself; a policy is learned where its expectations are too high. Evaluate "
    "it on people that it was not learned from: <code>tacit evaluate</code>."
)


@dataclass(frozen=True)
class Interval:
    """A released number with the ends of its interval."""

    value: float
    low: float
    high: float
    level: float

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Interval:
        return cls(*(float(facts[name]) for name in ("value", "low", "high", "level")))

    def text(self, span: float) -> str:
        ends = f"{number(self.low, span)} to {number(self.high, span)}"
        return f"{number(self.value, span)} ({100 * self.level:g} % interval {ends})"


@dataclass(frozen=True)
class Answer:
    """What an evaluation that is attached to a policy says, read from its facts."""

    name: str
    against: str
    difference: Interval
    values: dict[str, Interval]
    told: dict[str, Any]

    @classmethod
    def of(cls, policy: Policy) -> Answer | None:
        """None where there is no evaluation, or one of nothing to compare with."""
        told = policy.facts.get("evaluation")
        if not isinstance(told, Mapping) or not told.get("differences"):
            return None
        name, difference = next(iter(told["differences"].items()))
        values = {key: Interval.of(each) for key, each in told["values"].items()}
        return cls(name, str(told["against"]), Interval.of(difference), values, dict(told))

    @property
    def baseline(self) -> str:
        """The name of the baseline, with what it is."""
        return described(self.against, self.told)

    def sentence(self, span: float) -> str:
        """By how much it is better, or that this cannot be decided."""
        found = self.difference
        against = escape(self.baseline)
        if found.low > 0:
            more = Interval(found.value, found.low, found.high, found.level)
            return f"The policy earns more than {against}, by {more.text(span)}."
        if found.high < 0:
            less = Interval(-found.value, -found.high, -found.low, found.level)
            return f"The policy earns LESS than {against}, by {less.text(span)}."
        return (
            f"It cannot be decided whether the policy is better than {against}: the difference is "
            f"{found.text(span)}."
        )

    def basis(self) -> str:
        """How it was measured, on whom, and what that cost."""
        facts = self.told.get("facts", {})
        promise = self.told.get("guarantee", {})
        how = MEASURED.get(str(facts.get("how")), "Measured.")
        unit = "users" if promise.get("unit") == "user" else "rounds"
        usable = facts.get("usable", facts.get("records", 0))
        people = f"It rests on about {usable:,.0f} usable {unit}"
        if facts.get("people"):
            people += f" ({escape(str(facts['people']))})"
        if not promise.get("private", False):
            return f"{how} {people}. NOT PRIVATE: simulated with a seed."
        spent = f"epsilon = {promise['epsilon']:.3g} at delta = {promise['delta']:.3g}"
        return f"{how} {people}. Privacy spent on it, per person of these: {spent}."


def block(policy: Policy) -> str:
    """The first lines of the page, with the figure where there is something to draw."""
    answer = Answer.of(policy)
    if answer is None:
        return f'<p class="answer">{EXPECTED}</p>'
    low, high = policy.problem.reward_range
    span = FINE * (high - low)
    figure = draw(answer, span).svg()
    return (
        f'<p class="answer"><b>{answer.sentence(span)}</b> {answer.basis()}</p>\n'
        f"<figure>{figure}<figcaption>The mean reward of each, and the difference: the dot is the "
        "estimate, and the bar holds the truth with the stated probability. It covers sampling "
        "error and the noise that was added for privacy.</figcaption></figure>"
    )


def draw(answer: Answer, span: float, width: float = WIDTH) -> Figure:
    """Values to the left, the difference to the right, each a dot on its interval."""
    names = list(answer.values)
    values = [answer.values[name] for name in names]
    ends = [end for each in values for end in (each.low, each.high)]
    up = Scale.of_labels([clean(name) for name in names], down=True)
    marks: list[Mark] = []
    for i, (name, each) in enumerate(zip(names, values, strict=True)):
        marks += _bar(float(i), each, "other" if name == answer.against else "accent", span)
    found = answer.difference
    kind = "accent" if found.low > 0 else "middle"
    one = Scale.of_labels(["difference"])
    panels = [
        Panel(Scale.around(ends, pad=0.15), up, marks, "Mean reward"),
        Panel(
            Scale.around([found.low, found.high, 0.0], pad=0.15),
            one,
            [Rule(0.0, upright=True), *_bar(0.0, found, kind, span)],
            f"More than {clean(answer.baseline)}",
        ),
    ]
    height = 70.0 + 34.0 * len(names)
    return Figure(panels, _alt(answer, span), width, height, 2 if width > 500 else 1)


def _bar(y: float, found: Interval, kind: str, span: float) -> list[Mark]:
    text = number(found.value, span)
    return [
        Intervals([y], [found.low], [found.high], kind, flat=True),
        Dots([found.value], [y], kind, 5.0),
        Note(found.value, y, text, "middle", rise=-9.0, right=0.0),
    ]


def _alt(answer: Answer, span: float) -> str:
    values = ", ".join(f"{name} {each.text(span)}" for name, each in answer.values.items())
    return f"Mean rewards: {values}. Difference: {answer.difference.text(span)}."
