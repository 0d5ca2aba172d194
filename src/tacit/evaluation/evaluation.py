"""What policies are worth, as one public value."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tacit._version import __version__
from tacit.core import Guarantee
from tacit.errors import InputError
from tacit.evaluation.estimates import Estimate
from tacit.policy import Policy
from tacit.policy.facts import described

SCHEMA = "evaluation-1"


@dataclass(frozen=True)
class Subgroup:
    """Values and differences among the people of one group, and about how many they were."""

    values: dict[str, Estimate]
    differences: dict[str, Estimate]
    usable: float

    def to_json(self) -> dict[str, Any]:
        return {
            "values": {name: each.facts() for name, each in self.values.items()},
            "differences": {name: each.facts() for name, each in self.differences.items()},
            "usable": self.usable,
        }

    @classmethod
    def restore(cls, facts: dict[str, Any]) -> Subgroup:
        return cls(
            {name: Estimate.restore(each) for name, each in facts["values"].items()},
            {name: Estimate.restore(each) for name, each in facts["differences"].items()},
            float(facts["usable"]),
        )


@dataclass(frozen=True)
class Evaluation:
    """Mean rewards of policies, and how much better each is than the baseline. Public: released
    numbers only.

    | field | what it is |
    |---|---|
    | `values` | the mean reward of each policy, by its name, an `Estimate` each |
    | `differences` | the value of each policy minus that of the baseline |
    | `against` | the name of the baseline |
    | `subgroups` | the same among the people of each group, if `by` was stated |
    | `guarantee`, `receipt` | what is promised to whoever was counted, and what shows the charge |
    | `facts` | how it was measured, as plain data |

    >>> found = tacit.evaluate(
    ...     {"learned": policy, "now": {"dose": 30}}, log, play="uniform", budget=budget,
    ...     ledger="sqlite:///others.db", options=tacit.EvaluationOptions(other_people=True),
    ... )
    >>> found.against, list(found.differences)
    ('now', ['learned'])
    >>> tacit.Evaluation.load(found.save("found.json")).values == found.values
    True
    """

    values: dict[str, Estimate]
    differences: dict[str, Estimate]
    against: str
    guarantee: Guarantee
    receipt: dict[str, Any] | None = None
    subgroups: dict[str, Subgroup] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        return self.guarantee.private

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "schema": SCHEMA,
            "tacit": __version__,
            "values": {name: each.facts() for name, each in self.values.items()},
            "differences": {name: each.facts() for name, each in self.differences.items()},
            "against": self.against,
            "subgroups": {name: each.to_json() for name, each in self.subgroups.items()},
            "guarantee": asdict(self.guarantee),
            "receipt": self.receipt,
            "facts": self.facts,
        }

    @classmethod
    def from_json(cls, about: Any) -> Evaluation:
        """The inverse of `to_json`."""
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            raise InputError("this is no evaluation: expected what Evaluation.save wrote.")
        try:
            return cls(
                {name: Estimate.restore(each) for name, each in about["values"].items()},
                {name: Estimate.restore(each) for name, each in about["differences"].items()},
                str(about["against"]),
                Guarantee(**about["guarantee"]),
                about["receipt"],
                {name: Subgroup.restore(each) for name, each in about["subgroups"].items()},
                dict(about["facts"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"this evaluation cannot be read ({type(error).__name__}): was it edited by hand?"
            ) from None

    def attached_to(self, policy: Policy) -> Policy:
        """The policy with this evaluation among its facts: it is saved with it, and its report
        leads with it."""
        return replace(policy, facts=policy.facts | {"evaluation": self.to_json()})

    def save(self, path: str | Path) -> Path:
        """Writes one JSON file, and returns its path."""
        file = Path(path)
        try:
            file.write_text(json.dumps(self.to_json(), indent=2) + "\n")
        except OSError as error:
            raise InputError(f"{file} cannot be written ({error.strerror}).") from None
        return file

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """The evaluation in a file that `save` wrote."""
        file = Path(path)
        try:
            about = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise InputError(
                f"{file} cannot be read as JSON ({type(error).__name__}): pass the file that "
                "Evaluation.save wrote."
            ) from None
        return cls.from_json(about)

    def __str__(self) -> str:
        lines = [] if self.private else [str(self.guarantee)]
        against = described(self.against, {"facts": self.facts})
        for name, found in self.differences.items():
            lines.append(sentence(name, against, found))
        for name, found in self.values.items():
            lines.append(f"  value of {name}: {found}")
        for group, subgroup in self.subgroups.items():
            lines.append(f"  among {self.facts.get('by')} {group} (about {subgroup.usable:,.0f}):")
            for name, found in subgroup.differences.items():
                lines.append(f"    {sentence(name, self.against, found)}")
        if self.subgroups:
            lines.append(f"  {self.facts.get('comparisons')}")
        lines.append(
            f"Measured off policy on about {self.facts.get('usable', 0):,.0f} usable "
            f"{'users' if self.guarantee.unit == 'user' else 'rounds'} ({self.facts.get('people')})"
            f"; {100 * self.level:g} % intervals hold sampling and privacy noise."
        )
        return "\n".join(lines)

    @property
    def level(self) -> float:
        return next(iter(self.values.values())).level


def sentence(name: str, against: str, found: Estimate) -> str:
    """A difference in words."""
    much = f"{abs(found.value):.3g}"
    if found.low > 0:
        return f"{name} earns {much} more than {against} ({found.low:.3g} to {found.high:.3g})."
    if found.high < 0:
        ends = f"{-found.high:.3g} to {-found.low:.3g}"
        return f"{name} earns {much} LESS than {against} ({ends})."
    return (
        f"{name} and {against} cannot be distinguished: the difference is {found.value:.3g} "
        f"({found.low:.3g} to {found.high:.3g})."
    )
