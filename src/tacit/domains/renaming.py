"""Other names for the coordinates of a domain."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tacit.domains.base import Domain
from tacit.domains.finite import Categories


def renamed(domain: Domain, names: Sequence[str]) -> Domain:
    """The same domain with these names: one of ours that is not made of parts."""
    if isinstance(domain, Categories):
        return dataclasses.replace(domain, name=names[0])
    return dataclasses.replace(domain, names=tuple(names))  # type: ignore[type-var]
