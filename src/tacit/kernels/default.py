"""The kernel of a problem that names none."""

from __future__ import annotations

from tacit.domains import Categories, Domain, Mixed
from tacit.kernels.base import Kernel
from tacit.kernels.compose import Separable
from tacit.kernels.other import Categorical
from tacit.kernels.stationary import Matern

ORDERED = Matern(2.5, 0.3)  # for numbers, for ordered labels and for the features of items
# For labels without an order. Simulated dosing studies (3000 rounds, epsilon = 1, two to four
# labels that shift the right dose, change the whole reward, or mean nothing) had about the same
# decision error for similarities from 0 to 0.3, and a larger one from 0.5 on.
UNORDERED = Categorical(0.15)


def default_kernel(actions: Domain, contexts: Domain) -> Kernel:
    """`Matern(2.5, 0.3)`, except for labels without an order, which get `Categorical(0.15)`.

    Where there are such labels, the kernel is a product of one kernel on the columns that have an
    order and one on those that have none, for actions and for contexts.
    """
    on_actions = _part(actions)
    on_contexts = _part(contexts)
    if on_actions == ORDERED and on_contexts == ORDERED:
        return ORDERED
    return Separable(actions=on_actions, contexts=on_contexts)


def _part(domain: Domain) -> Kernel:
    parts = tuple(domain.parts) if isinstance(domain, Mixed) else (domain,)
    ordered: list[str] = []
    unordered: list[str] = []
    for part in parts:
        if _has_no_order(part):
            unordered += part.names
        else:
            ordered += part.names
    if not unordered:
        return ORDERED
    if not ordered:
        return UNORDERED
    return ORDERED.on(*ordered) * UNORDERED.on(*unordered)


def _has_no_order(domain: Domain) -> bool:
    return isinstance(domain, Categories) and not domain.ordered
