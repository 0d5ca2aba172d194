"""What is typed into forms about actions and contexts, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.charts.formatting import number
from tacit.domains import Domain
from tacit.errors import InputError
from tacit.report.axes import Axis
from tacit.report.frames import Frame


@dataclass(frozen=True)
class Field:
    """One column of a form: a number with its range, or a list of labels."""

    name: str
    title: str
    labels: tuple[str, ...]
    low: float | None
    high: float | None
    says: str
    value: str

    @property
    def id(self) -> str:
        return f"field-{self.title.replace(' ', '-')}"


def fields_of(domain: Domain, typed: Mapping[str, str], prefix: str = "") -> list[Field]:
    """The columns of a domain, with what was typed or a value in the middle."""
    axes = {axis.name: axis for axis in Frame.of(domain).axes}
    middle = {name: column[0] for name, column in domain.decode(Frame.of(domain).middle).items()}
    return [
        _field(name, axes.get(name), typed.get(prefix + name), middle[name])
        for name in domain.names
    ]


def _field(name: str, axis: Axis | None, typed: str | None, middle: Any) -> Field:
    if axis is None or not axis.labels:
        low, high = (0.0, 1.0) if axis is None else axis.range
        span = high - low
        value = typed if typed is not None else number(float(middle), span).replace(",", "")
        says = f"{number(low, span)} to {number(high, span)}"
        return Field(name, name, (), low, high, says, value)
    labels = tuple(str(label) for label in axis.part.labels)  # type: ignore[attr-defined]
    value = typed if typed is not None else str(middle)
    return Field(name, name, labels, None, None, f"one of {len(labels)}", value)


def read_cells(domain: Domain, typed: Mapping[str, str], what: str) -> dict[str, Any]:
    """One value for each column, as the domain knows them. What is typed is the visitor's own."""
    found: dict[str, Any] = {}
    for each in fields_of(domain, typed):
        text = typed.get(each.name, "").strip()
        if not text:
            raise InputError(f"{what} lacks {each.name!r}: type a value for it.")
        if each.labels:
            found[each.name] = text
            continue
        try:
            found[each.name] = float(text)
        except ValueError:
            raise InputError(f"{each.name!r} takes a number, {each.says}.") from None
    return found
