"""Actions and contexts in one problem: their columns must have different names."""

from __future__ import annotations

from dataclasses import replace

from tacit.domains.base import Domain
from tacit.domains.finite import Finite
from tacit.domains.parts import renamed
from tacit.domains.product import Mixed
from tacit.domains.records import OURS


def contexts_beside(actions: Domain, contexts: Domain) -> Domain:
    """The contexts, whose coordinates are called c0, c1, ... if nobody named them and the actions
    have their names.

    Nothing that somebody named is renamed, and nothing that shares no name with the actions.
    """
    taken = set(actions.names)
    if type(contexts) is Mixed and taken & set(contexts.names):
        return replace(contexts, parts=tuple(_beside(taken, part) for part in contexts.parts))
    return _beside(taken, contexts)


def _beside(taken: set[str], domain: Domain) -> Domain:
    # A stranger's domain may not be made again from its fields, so it keeps its names.
    if not domain.unnamed or not taken & set(domain.names) or type(domain) not in OURS:
        return domain
    if isinstance(domain, Finite):
        return renamed(domain, [f"context_{domain.names[0]}"])
    return renamed(domain, [f"c{i}" for i in range(len(domain.names))])
