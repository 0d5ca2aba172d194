"""Fourier features of stationary kernels, with frequencies from a lattice: the heaviest, or random
ones."""

from __future__ import annotations

import math

import numpy as np

from tacit._typing import Floats, Rng
from tacit.kernels import Kernel
from tacit.problem import Problem
from tacit_lab.arena.learners.features import Map, principal

CELLS = {1: 256, 2: 64, 3: 32, 4: 16, 5: 10, 6: 8}  # of the lattice, per dimension
NEGLIGIBLE = 0.02  # a kernel that has fallen so far may be repeated
SHIFTS = 64  # pairs of points on which a kernel must not notice a shift


class Fourier(Map):
    """k(w, w') = sum_j p_j cos(omega_j'(w - w')), with the features

    sqrt(p_j) cos omega_j'w,  sqrt(p_j) sin omega_j'w.
    """

    def __init__(self, frequencies: Floats, weights: Floats) -> None:
        self.frequencies = frequencies
        self.root = np.sqrt(weights)
        self._sine = np.any(frequencies != 0, axis=1)  # the sine of 0 says nothing
        self.size = len(weights) + int(self._sine.sum())

    def raw(self, points: Floats) -> Floats:
        angle = points @ self.frequencies.T
        cosines = self.root * np.cos(angle)
        sines = self.root[self._sine] * np.sin(angle[:, self._sine])
        return np.hstack([cosines, sines])


def quadrature(problem: Problem, rng: Rng, most: int, floor: float = 0.0) -> Map:
    """Quadrature Fourier features: sine and cosine at the heaviest frequencies, about `most`
    features in all.

    What they leave out of the kernel is at most the weight of the frequencies left out, at every
    pair of points. None has a mean square below `floor`. Where `most` features leave out half of
    the kernel (in many dimensions), or there is no spectrum at all (not stationary), the kernel's
    principal features are used instead.
    """
    spectrum = lattice(problem)
    if spectrum is None:
        return principal(problem, rng, most, floor)
    frequencies, weights = spectrum
    order = np.argsort(-weights, kind="stable")
    if weights[order[: most // 2]].sum() < 0.5:
        return principal(problem, rng, most, floor)
    heavy = int(np.count_nonzero(weights / 2.0 >= floor))
    heaviest = order[: min((most + 1) // 2, max(3, heavy))]
    return Fourier(frequencies[heaviest], weights[heaviest])


def random_fourier(problem: Problem, rng: Rng, size: int) -> Map:
    """Random Fourier features (Rahimi and Recht 2007): `size / 2` frequencies drawn from the
    kernel's spectrum."""
    spectrum = lattice(problem)
    if spectrum is None:
        return principal(problem, rng, size)
    frequencies, weights = spectrum
    drawn = rng.choice(len(weights), size=size // 2, p=weights)
    return Fourier(frequencies[drawn], np.full(len(drawn), 1.0 / len(drawn)))


def lattice(problem: Problem) -> tuple[Floats, Floats] | None:
    """The spectral integral of a stationary kernel by the rectangle rule: frequencies `2 pi n / P`,
    and their weights.

    On a lattice the rule's weights are the Fourier coefficients of the kernel repeated with period
    P. P >= 2 keeps the differences of points of the unit box apart. Each pair +-n stands once, with
    both weights; they add up to 1.
    """
    d = problem.dimension
    if d not in CELLS or not stationary(problem.k, d):
        return None
    n = CELLS[d]
    period = _period(problem.k, d)
    steps = np.asarray(np.fft.fftfreq(n, 1 / n), dtype=np.float64)  # 0 first, negative ones last
    grid = _grid(steps * (period / n), d)
    index = _grid(steps, d)
    values = problem.k(0.5 + grid, np.full((1, d), 0.5)).reshape((n,) * d)
    weights = np.maximum(np.fft.fftn(values).real.ravel(), 0.0)
    weights *= np.where(np.any(index != 0, axis=1), 2.0, 1.0)
    half = _leading(index) >= 0
    return 2.0 * math.pi / period * index[half], weights[half] / weights[half].sum()


def stationary(k: Kernel, dimension: int) -> bool:
    """Whether the kernel is the same after a shift, and not constant, on a fixed set of points."""
    rng = np.random.default_rng(0)
    A = rng.random((SHIFTS, dimension)) / 2.0
    B = rng.random((SHIFTS, dimension)) / 2.0
    shift = rng.random((SHIFTS, dimension)) / 2.0
    here = np.array([k(a[None], b[None])[0, 0] for a, b in zip(A, B, strict=True)])
    there = np.array([k(a[None], b[None])[0, 0] for a, b in zip(A + shift, B + shift, strict=True)])
    return bool(np.allclose(here, there, atol=1e-9) and np.ptp(here) > 0)


def _period(k: Kernel, dimension: int) -> float:
    """Twice the distance along a coordinate at which the kernel has become negligible, but between
    2 and 6."""
    distances = np.linspace(1.0, 3.0, 41)
    middle = np.full((1, dimension), 0.5)
    far = [r for r in distances if np.max(k(middle + r * np.eye(dimension), middle)) > NEGLIGIBLE]
    return 2.0 * max(far, default=1.0)


def _grid(axis: Floats, dimension: int) -> Floats:
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)


def _leading(index: Floats) -> Floats:
    """The first coordinate of each row that is not 0 (0 if all are): of +-n one has it positive."""
    return index[np.arange(len(index)), np.argmax(index != 0, axis=1)]
