"""The kernel of a problem that names none."""

from __future__ import annotations

from tacit.domains import Categories, Domain, Mixed
from tacit.kernels.base import Kernel
from tacit.kernels.compose import Separable
from tacit.kernels.other import Categorical
from tacit.kernels.stationary import Matern

SCALE = Matern(2.5, 0.3)  # of numbers, of ordered labels and of the features of items
# Of labels without an order. Simulated dosing studies (3000 rounds, epsilon = 1, two to four labels
# that shift the right dose, change the whole reward, or mean nothing) had about the same decision
# error for similarities from 0 to 0.3, and a larger one from 0.5 on.
LABELS = Categorical(0.15)


def default_kernel(actions: Domain, contexts: Domain) -> Kernel:
    """`Matern(2.5, 0.3)`, but for unordered labels, of which all pairs are equally far apart.

    Where there are such labels, the kernel is a product of one kernel on the columns that have an
    order and one on those that have none, for actions and for contexts.
    """
    parts = _part(actions), _part(contexts)
    if parts == (SCALE, SCALE):
        return SCALE
    return Separable(actions=parts[0], contexts=parts[1])


def _part(domain: Domain) -> Kernel:
    parts = tuple(domain.parts) if isinstance(domain, Mixed) else (domain,)
    labels = [name for part in parts if _has_no_order(part) for name in part.names]
    scales = [name for part in parts if not _has_no_order(part) for name in part.names]
    if not labels:
        return SCALE
    if not scales:
        return LABELS
    return SCALE.on(*scales) * LABELS.on(*labels)


def _has_no_order(domain: Domain) -> bool:
    return isinstance(domain, Categories) and not domain.ordered
