"""What a worker does: reads a span of rows and sends back their sum. It needs no OpenDP, and no
database."""

from __future__ import annotations

import secrets
from typing import Any

from tacit.design import Design
from tacit.errors import TacitError
from tacit.logs.columns import LogColumns
from tacit.logs.counting import Span
from tacit.logs.dumping import dump
from tacit.logs.local import count
from tacit.play import Stated
from tacit.problem import Problem
from tacit.statistic import Statistic

_counters: dict[tuple[str, str | None], Statistic] = {}  # the last one that this worker prepared


def shipped(design: Design) -> dict[str, Any]:
    """A design as plain data and arrays, under a name of its own. Ray keeps it once a machine."""
    spec = design.problem.spec()
    name = secrets.token_hex(8)
    return {"name": name, "problem": spec, "facts": design.facts(), "arrays": design.arrays()}


def counter_for(shipment: dict[str, Any], device: str | None) -> Statistic:
    name = (shipment["name"], device)
    if name not in _counters:
        _counters.clear()
        facts = shipment["facts"]
        # A law of play need not travel: records can be counted without it.
        play = None if facts["play"] is None else Stated(**facts["play"])
        problem = Problem.from_spec(shipment["problem"], play=play)
        design = Design.restore(problem, facts, shipment["arrays"])
        _counters[name] = design.statistic(device, design.cohort)
    return _counters[name]


def count_span(
    shipment: dict[str, Any], columns: LogColumns, span: Span, device: str | None
) -> dict[str, Any]:
    """The sum of these rows as arrays, or one sentence about what went wrong, which quotes none."""
    try:
        span.file.require_unchanged()
        counter = counter_for(shipment, device)
        total = counter.design.statistic(cohort=counter.design.cohort)
        for _, statistic in count(counter, columns, span):
            total.merge(statistic)
        return dict(dump(total))
    except TacitError as error:
        return {"error": str(error)}
    except Exception as error:
        where = f"rows {span.start} to {span.stop} of {span.file.path}"
        return {"error": f"{where} could not be counted ({type(error).__name__})."}
