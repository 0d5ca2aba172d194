"""Visitors with columns of both kinds, as tables have them: numbers and labels.

Numbers follow a Beta law each, labels have probabilities that differ, and columns are independent.
All of it is drawn anew for each seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains import Mixed
from tacit.kernels import Categorical, Kernel, Matern

SHAPES = (1.0, 3.0)  # between which both parameters of a column's Beta law are drawn
EVENNESS = 4.0  # of the Dirichlet law of the probabilities of labels

# (contexts) -> what they add, in [-1, 1], row by row
Effect = Callable[[Floats], Floats]


class Visitors:
    """Columns c0, c1, ..., and who comes. `levels` has one entry per column: the number of its
    labels, or 0 if it holds numbers from 0 to 1."""

    def __init__(self, levels: Sequence[int], rng: Rng) -> None:
        self.levels = tuple(levels)
        columns = {f"c{i}": _declared(n) for i, n in enumerate(self.levels)}
        self.domain = Mixed.of(columns)
        self._laws = [_law(n, rng) for n in self.levels]

    def draw(self, n: int, rng: Rng) -> Floats:
        return np.column_stack([law(n, rng) for law in self._laws])

    def kernel(self) -> Kernel:
        """One that knows that no single column changes much."""
        numbers = [f"c{i}" for i, n in enumerate(self.levels) if not n]
        labels = [f"c{i}" for i, n in enumerate(self.levels) if n]
        return Matern(2.5, 2.0).on(*numbers) * Categorical(0.8).on(*labels)

    def effect(self, number: int, rng: Rng) -> Effect:
        """The sum of what `number` columns, drawn at random, add: all others are irrelevant."""
        chosen = rng.choice(len(self.levels), size=number, replace=False)
        weights = rng.uniform(0.5, 1.0, number)
        weights /= weights.sum()
        terms = [_term(int(i), self.levels[i], rng) for i in chosen]

        def effect(contexts: Floats) -> Floats:
            values = np.array([term(contexts) for term in terms])
            return np.asarray(weights @ values)

        return effect


def _declared(levels: int) -> tuple[float, float] | list[str]:
    if levels:
        return list(ascii_uppercase[:levels])
    return (0.0, 1.0)


def _law(levels: int, rng: Rng) -> Callable[[int, Rng], Floats]:
    """Of one column, in unit coordinates."""
    if levels:
        places = np.linspace(0.0, 1.0, levels)
        probabilities = rng.dirichlet(np.full(levels, EVENNESS))
        return lambda n, rng: rng.choice(places, size=n, p=probabilities)
    a, b = rng.uniform(*SHAPES, size=2)
    return lambda n, rng: rng.beta(a, b, size=n)


def _term(column: int, levels: int, rng: Rng) -> Effect:
    """What one column adds: half a wave of a number, an even scale of labels in random order."""
    if levels:
        values = rng.permutation(np.linspace(-1.0, 1.0, levels))
        return lambda c: values[np.rint(c[:, column] * (levels - 1)).astype(int)]
    phase = rng.random()
    return lambda c: np.cos(np.pi * (c[:, column] + phase))
