"""Actions and contexts in one problem, whose columns must have different names."""

from __future__ import annotations

from dataclasses import replace

from tacit.domains.base import Domain
from tacit.domains.finite import Finite
from tacit.domains.parts import renamed
from tacit.domains.product import Mixed
from tacit.domains.records import OURS


def contexts_beside(actions: Domain, contexts: Domain) -> Domain:
    """The contexts, with default names that the actions have too replaced by c0, c1, ...

    Names that somebody gave are never changed.
    """
    taken = set(actions.names)
    if type(contexts) is Mixed and taken & set(contexts.names):
        return replace(contexts, parts=tuple(_beside(taken, part) for part in contexts.parts))
    return _beside(taken, contexts)


def _beside(taken: set[str], domain: Domain) -> Domain:
    # A domain of somebody's own may not be made again from its fields, so it keeps its names.
    if not domain.unnamed or not taken & set(domain.names) or type(domain) not in OURS:
        return domain
    if isinstance(domain, Finite):
        return renamed(domain, [f"context_{domain.names[0]}"])
    return renamed(domain, [f"c{i}" for i in range(len(domain.names))])
