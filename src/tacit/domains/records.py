"""Private records to unit coordinates, each by itself, whoever wrote the domain."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.domains.ball import Ball
from tacit.domains.base import Domain
from tacit.domains.box import Box
from tacit.domains.finite import Catalogue, Categories
from tacit.domains.product import Mixed
from tacit.domains.simplex import Simplex
from tacit.quiet import quiet
from tacit.tables import Table, alone, records

OURS = (
    Ball,
    Box,
    Catalogue,
    Categories,
    Simplex,
)  # each row of what they encode comes from that row's cells alone


def sees_batches(domain: Domain) -> bool:
    """Whether a domain may encode many records at once: it is exactly one of ours, and so are all
    of its parts.

    A subclass is not: it may do anything.
    """
    if type(domain) is Mixed:
        return all(sees_batches(part) for part in domain.parts)
    return type(domain) in OURS


def record_points(domain: Domain, data: Any, what: str, *, single: bool = False) -> Floats:
    """The unit coordinates of private records (see `tacit.tables.records`); a record that means
    nothing is NaN."""
    table = records(data, tuple(domain.names), what, single=single)
    with quiet():
        return domain.encode(table.columns) if sees_batches(domain) else _one_by_one(domain, table)


def _one_by_one(domain: Domain, table: Table) -> Floats:
    """A stranger's domain is shown one record at a time; where it fails, or returns no such row,
    the record is NaN."""
    points = np.full((table.rows, int(domain.dimension)), np.nan)
    for i in range(table.rows):
        cells = {name: alone(column[i]) for name, column in table.columns.items()}
        try:
            row = np.array(domain.encode(cells), dtype=np.float64)
        except Exception:  # whatever a stranger's code raises: it could quote the record
            continue
        if row.shape == points[i : i + 1].shape:
            points[i] = row[0]
    return points
