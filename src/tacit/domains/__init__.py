"""Public sets of actions and contexts."""

from tacit.domains.ball import Ball
from tacit.domains.base import Domain
from tacit.domains.box import Box
from tacit.domains.declared import Declared
from tacit.domains.finite import Catalogue, Categories
from tacit.domains.meeting import contexts_beside
from tacit.domains.product import Mixed
from tacit.domains.ranges import Range
from tacit.domains.records import record_points, sees_batches
from tacit.domains.schema import kind_of_column, kinds_of
from tacit.domains.simplex import Simplex
from tacit.domains.types import record_kinds, require_numbers, require_types

REGISTRY: dict[str, type] = {
    cls.__name__.lower(): cls for cls in (Ball, Box, Catalogue, Categories, Mixed, Simplex)
}

__all__ = [
    "Ball",
    "Box",
    "Catalogue",
    "Categories",
    "Declared",
    "Domain",
    "Mixed",
    "REGISTRY",
    "Range",
    "Simplex",
    "contexts_beside",
    "kind_of_column",
    "kinds_of",
    "record_kinds",
    "record_points",
    "require_numbers",
    "require_types",
    "sees_batches",
]
