"""Rows of a kernel matrix for private records, each computed from its own record, whoever wrote the
kernel."""

from __future__ import annotations

from array_api_compat import array_namespace

from tacit._typing import Array
from tacit.kernels.base import Kernel, _device
from tacit.kernels.centred import Centred
from tacit.kernels.compose import Joint, On, Product, Separable, Sum
from tacit.kernels.other import Categorical, Linear
from tacit.kernels.pooled import Pooled
from tacit.kernels.stationary import RBF, Matern, RationalQuadratic

# Kernels of which row i of k(A, B) comes from row i of A alone.
OURS = (Categorical, Linear, Matern, RationalQuadratic, RBF)


def sees_batches(kernel: Kernel) -> bool:
    """Whether a kernel may be given many records at once: it is one of Tacit's own classes, and so
    are all of its parts. A subclass may do anything, so it is not.
    """
    kind = type(kernel)
    if kind is Product or kind is Sum:
        return all(sees_batches(part) for part in kernel.kernels)  # type: ignore[attr-defined]
    if kind is On or kind is Joint or kind is Centred or kind is Pooled:
        return sees_batches(kernel.kernel)  # type: ignore[attr-defined]
    if kind is Separable:
        return sees_batches(kernel.actions) and sees_batches(kernel.contexts)  # type: ignore[attr-defined]
    return kind in OURS


def one_by_one(kernel: Kernel, points: Array, U: Array) -> Array:
    """`k(points, U)` by a kernel that is not Tacit's own. It is shown one record at a time, in
    copies that lead to no other record.

    Where it fails, or returns anything but one row of numbers, the row is NaN, which adds nothing
    to a sum.
    """
    xp = array_namespace(points, U)
    where = _device(points)
    rows = xp.full((points.shape[0], U.shape[0]), xp.nan, dtype=points.dtype, device=where)
    for i in range(points.shape[0]):
        point = xp.asarray(points[i : i + 1, :], copy=True)
        try:
            row = xp.asarray(
                kernel(point, xp.asarray(U, copy=True)), dtype=points.dtype, device=where
            )
            if tuple(row.shape) == (1, U.shape[0]):
                rows[i, :] = row[0, :]
        except Exception:  # any error of such a kernel: its text could quote the record
            continue
    return rows
