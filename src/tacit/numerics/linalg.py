"""The factorisations that Tacit needs, all in one place, on NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from tacit._typing import Floats

ROUNDING = 1e-7  # of the largest singular value: its square is what rounding leaves in A'A


def cholesky(K: Floats) -> Floats:
    """The lower Cholesky factor of a positive definite matrix.

    Where rounding left it indefinite, the smallest jitter that helps is added to the diagonal, in
    units of its mean.
    """
    mean = float(np.trace(K)) / len(K)
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            return np.asarray(linalg.cholesky(K + jitter * mean * np.eye(len(K)), lower=True))
        except linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError(
        "the kernel matrix of the landmarks is not positive definite: is the kernel?"
    )


def solve_lower(L: Floats, B: Floats) -> Floats:
    """L^-1 B"""
    return np.asarray(linalg.solve_triangular(L, B, lower=True))


def solve_upper(L: Floats, B: Floats) -> Floats:
    """L'^-1 B"""
    return np.asarray(linalg.solve_triangular(L, B, lower=True, trans="T"))


def eigh(S: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns."""
    values, vectors = linalg.eigh(S)
    return np.asarray(values), np.asarray(vectors)


def root(K: Floats) -> Floats:
    """The symmetric square root of a positive semidefinite matrix."""
    values, V = eigh(K)
    return (V * np.sqrt(np.maximum(values, 0.0))) @ V.T


def thin(A: Floats) -> tuple[Floats, Floats]:
    """A = B C, where B has as many orthonormal columns as A has singular values that are more than
    rounding. They are the roots of the eigenvalues of A'A, which takes a fraction of the time of a
    decomposition of A."""
    values, V = eigh(A.T @ A)
    kept = values > ROUNDING**2 * values[-1]
    s = np.sqrt(values[kept])
    return np.asarray(A @ V[:, kept] / s), np.asarray(s[:, None] * V[:, kept].T)
