"""The kernel of a problem that names none."""

from __future__ import annotations

from dataclasses import replace

from tacit.domains import Categories, Domain, Mixed
from tacit.kernels.base import Kernel
from tacit.kernels.compose import Separable
from tacit.kernels.other import Categorical
from tacit.kernels.pooled import Pooled
from tacit.kernels.stationary import Matern

SMOOTHNESS = 2.5  # of numbers, of ordered labels and of the features of items
# Lengthscales of a single column, and of one among many, whose effects are usually weaker and
# simpler.
LENGTHSCALE = 0.3
LONGEST = 0.6
ITEMS = (0.1, 0.9, 0.0)  # weights of actions of many coordinates
FEW = 3  # coordinates of actions: which of these go together is all that there is to learn
# For labels without an order. Simulated dosing studies (3000 rounds, epsilon = 1, two to four
# labels that shift the right dose, change the whole reward, or mean nothing) had about the same
# decision error for similarities from 0 to 0.3, and a larger one from 0.5 on.
UNORDERED = Categorical(0.15)


def default_kernel(actions: Domain, contexts: Domain) -> Kernel:
    """Pooled in the contexts, and in actions of many coordinates such as the features of items:
    first what all have in common, then what single columns change, then the rest.

    Numbers are compared by `Matern(2.5, ...)`, labels without an order by `Categorical(0.15)`.
    """
    on_actions = _part(actions)
    if actions.dimension > FEW:
        on_actions = Pooled(on_actions, ITEMS)
    return Separable(actions=on_actions, contexts=Pooled(_part(contexts)))


def with_levels(kernel: Kernel, actions: Domain, contexts: Domain) -> Kernel:
    """The same kernel, whose pooled parts know the numbers of labels of the columns."""
    if isinstance(kernel, Pooled) and kernel.levels is None:
        return replace(kernel, levels=_levels(actions) + _levels(contexts))
    if isinstance(kernel, Separable):
        on_actions = kernel.actions
        on_contexts = kernel.contexts
        if isinstance(on_actions, Pooled) and on_actions.levels is None:
            on_actions = replace(on_actions, levels=_levels(actions))
        if isinstance(on_contexts, Pooled) and on_contexts.levels is None:
            on_contexts = replace(on_contexts, levels=_levels(contexts))
        return replace(kernel, actions=on_actions, contexts=on_contexts)
    return kernel


def _part(domain: Domain) -> Kernel:
    lengthscale = min(LENGTHSCALE * domain.dimension**0.3, LONGEST)
    matern = Matern(SMOOTHNESS, round(lengthscale, 2))
    ordered: list[str] = []
    unordered: list[str] = []
    for part in _parts(domain):
        if _has_no_order(part):
            unordered += part.names
        else:
            ordered += part.names
    if not unordered:
        return matern
    if not ordered:
        return UNORDERED
    return matern.on(*ordered) * UNORDERED.on(*unordered)


def _levels(domain: Domain) -> tuple[int, ...]:
    """The number of labels of each coordinate; 0 for numbers and for labels with an order."""
    found: list[int] = []
    for part in _parts(domain):
        levels = len(part.labels) if _has_no_order(part) else 0  # type: ignore[attr-defined]
        found += [levels] * part.dimension
    return tuple(found)


def _parts(domain: Domain) -> tuple[Domain, ...]:
    return tuple(domain.parts) if isinstance(domain, Mixed) else (domain,)


def _has_no_order(domain: Domain) -> bool:
    return isinstance(domain, Categories) and not domain.ordered
