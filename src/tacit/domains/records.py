"""Private records to unit coordinates, each from its own cells, whoever wrote the domain."""

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
from tacit.domains.types import require_record_types
from tacit.quiet import quiet
from tacit.tables import Table, alone, records

# Domains of which each row that they encode comes from that row's cells alone.
OURS = (Ball, Box, Catalogue, Categories, Simplex)


def sees_batches(domain: Domain) -> bool:
    """Whether a domain may encode many records at once: it is one of Tacit's own classes, and so
    are all of its parts. A subclass may do anything, so it is not.
    """
    if type(domain) is Mixed:
        return all(sees_batches(part) for part in domain.parts)
    return type(domain) in OURS


def record_points(domain: Domain, data: Any, what: str, *, single: bool = False) -> Floats:
    """The unit coordinates of private records (see `tacit.tables.records`); a record with a missing
    or unknown value is NaN.

    A table with a column whose type cannot hold what the domain declares is refused. No cell is
    looked at for that.
    """
    if not single:
        require_record_types(domain, data, what)
    table = records(data, tuple(domain.names), what, single=single)
    with quiet():
        if sees_batches(domain):
            return domain.encode(table.columns)
        return _one_by_one(domain, table)


def _one_by_one(domain: Domain, table: Table) -> Floats:
    """A domain that is not Tacit's own is shown one record at a time. Where it fails, or returns
    anything but one row of numbers, the record is NaN."""
    points = np.full((table.rows, int(domain.dimension)), np.nan)
    for i in range(table.rows):
        cells = {name: alone(column[i]) for name, column in table.columns.items()}
        try:
            row = np.array(domain.encode(cells), dtype=np.float64)
        except Exception:  # any error of such a domain: its text could quote the record
            continue
        if row.shape == points[i : i + 1].shape:
            points[i] = row[0]
    return points
