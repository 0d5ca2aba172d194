"""Real tables that come with scikit-learn, read as logs of bandits.

| name | rows | context columns | action | right action |
|---|---|---|---|---|
| `diabetes` | 442 | 9 numbers, 1 label | a number from 0 to 350 | progression of the disease |
| `wine` | 178 | 13 numbers | one of three cultivars | the wine's own |
| `cancer` | 569 | 30 numbers | malignant or benign | the tumour's own |
| `digits` | 1797 | 16 numbers | a digit | the one that was written |

A class earns 1 if it is the right one and -1 otherwise, so `(1 + value) / 2` is the accuracy. A
number earns `1 - min(1, |number - right| / 100)`, scaled to [-1, 1], as in `warfarin`. Columns are
scaled by ranges that are declared below. An image of 8 by 8 pixels is reduced to the averages of
its 16 blocks of 2 by 2.

There are few rows. So every round, or visitor, is a row drawn with replacement, whose numbers are
moved by at most 1 % of their range; the reward is that of the nearest row of the table. One row in
five never plays: decisions are measured on these. The best action for each is its own right one,
which no policy can know. Learners are told nothing of who comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tacit._typing import Floats, Rng
from tacit.domains import Box, Categories, Mixed
from tacit.kernels import Categorical, Matern, Separable
from tacit.problem import Problem
from tacit.tables import Columns
from tacit_lab.arena.environments.data import HELD_OUT
from tacit_lab.arena.protocol import Environment

JITTER = 0.01  # the most by which a number is moved, in ranges
NOISE = 0.4  # about how far a reward is from what the context explains
LARGEST_NUMBER = 350.0  # of the diabetes table's action
REACH = 100.0  # a number that is so far from the right one earns nothing
LABELS = {"sex": ["1", "2"]}
DIABETES = {
    "age": (18, 80),
    "bmi": (15, 45),
    "bp": (60, 140),
    "s1": (90, 310),
    "s2": (40, 250),
    "s3": (20, 100),
    "s4": (1, 10),
    "s5": (3, 6.5),
    "s6": (55, 130),
}
WINE = {
    "alcohol": (11, 15),
    "malic_acid": (0, 6),
    "ash": (1, 3.5),
    "alcalinity_of_ash": (10, 30),
    "magnesium": (70, 170),
    "total_phenols": (0.5, 4),
    "flavanoids": (0, 5.5),
    "nonflavanoid_phenols": (0, 0.7),
    "proanthocyanins": (0, 4),
    "color_intensity": (1, 13),
    "hue": (0.4, 1.8),
    "od280/od315_of_diluted_wines": (1, 4),
    "proline": (250, 1700),
}
# Of the cells in one image: the mean, its standard error, and the mean of the three largest.
CELLS = {
    "radius": ((5, 30), (0, 3), (5, 40)),
    "texture": ((5, 40), (0, 5), (10, 50)),
    "perimeter": ((40, 200), (0, 22), (40, 260)),
    "area": ((100, 2600), (0, 550), (150, 4300)),
    "smoothness": ((0.04, 0.18), (0, 0.035), (0.06, 0.24)),
    "compactness": ((0, 0.36), (0, 0.14), (0, 1.1)),
    "concavity": ((0, 0.45), (0, 0.4), (0, 1.3)),
    "concave points": ((0, 0.21), (0, 0.055), (0, 0.3)),
    "symmetry": ((0.1, 0.32), (0, 0.08), (0.1, 0.7)),
    "fractal dimension": ((0.04, 0.1), (0, 0.03), (0.04, 0.22)),
}
CANCER = {
    pattern.format(cell): ranges[i]
    for i, pattern in enumerate(("mean {}", "{} error", "worst {}"))
    for cell, ranges in CELLS.items()
}
INK = (0, 16)  # of a pixel
BLOCKS = [f"block{row}{column}" for row in range(4) for column in range(4)]
DIGITS = dict.fromkeys(BLOCKS, INK)
CLASSES: dict[str, Mapping[str, Any]] = {"wine": WINE, "cancer": CANCER, "digits": DIGITS}
LENGTHSCALE = 2.0  # of contexts: they have many columns, each of which says a little


class Rows:
    """The rows of a table in unit coordinates. One in five is kept for the decisions."""

    def __init__(self, contexts: Floats, numbers: Sequence[int], rng: Rng) -> None:
        self.contexts = contexts
        self.numbers = list(numbers)  # of the columns that are moved a little
        order = rng.permutation(len(contexts))
        self.later = order[::HELD_OUT]
        self.now = np.delete(order, np.s_[::HELD_OUT])
        self._tree = cKDTree(contexts)

    def draw(self, n: int, rng: Rng) -> Floats:
        return self._moved(rng.choice(self.now, size=n), rng)

    def draw_later(self, n: int, rng: Rng) -> Floats:
        """Of those that never play, each once before any is drawn twice."""
        return self._moved(np.resize(rng.permutation(self.later), n), rng)

    def nearest(self, contexts: Floats) -> NDArray[np.intp]:
        """The number of the row that is closest to each context."""
        return np.asarray(self._tree.query(contexts)[1], dtype=np.intp)

    def _moved(self, rows: NDArray[np.intp], rng: Rng) -> Floats:
        contexts = self.contexts[rows]
        steps = rng.uniform(-JITTER, JITTER, size=(len(rows), len(self.numbers)))
        contexts[:, self.numbers] = np.clip(contexts[:, self.numbers] + steps, 0.0, 1.0)
        return contexts


def diabetes(rng: Rng) -> Environment:
    columns, target, _ = _loaded("diabetes")
    contexts = Mixed.of({**DIABETES, **LABELS})
    on_contexts = Matern(2.5, LENGTHSCALE).on(*DIABETES) * Categorical(0.8).on(*LABELS)
    problem = Problem(
        Box([0.0], [LARGEST_NUMBER], ["number"]),
        contexts,
        Separable(Matern(2.5, 0.3), on_contexts),
        (-1.0, 1.0),
    )
    rows = Rows(contexts.encode(columns), range(len(DIABETES)), rng)

    def worth(number: Floats, right: Floats) -> Floats:
        return 1.0 - 2.0 * np.minimum(1.0, np.abs(number - right) / REACH)

    def mean(actions: Floats, contexts: Floats) -> Floats:
        return worth(LARGEST_NUMBER * actions[:, 0], target[rows.nearest(contexts)])

    def surface(actions: Floats, contexts: Floats) -> Floats:
        right = target[rows.nearest(contexts)]
        return worth(LARGEST_NUMBER * actions[None, :, 0], right[:, None])

    return _environment("diabetes", problem, rows, (mean, surface), "reward in [0, 1]")


def classes(name: str, rng: Rng) -> Environment:
    """A table of rows that belong to classes; the action is a class."""
    columns, target, labels = _loaded(name)
    actions = Categories(labels, "class")
    contexts = Box.of(CLASSES[name])
    kernel = Separable(Categorical(0.0), Matern(2.5, LENGTHSCALE))
    problem = Problem(actions, contexts, kernel, (-1.0, 1.0))
    rows = Rows(contexts.encode(columns), range(contexts.dimension), rng)

    def mean(points: Floats, contexts: Floats) -> Floats:
        right = actions.nearest(points) == target[rows.nearest(contexts)]
        return np.where(right, 1.0, -1.0)

    def surface(points: Floats, contexts: Floats) -> Floats:
        right = actions.nearest(points) == target[rows.nearest(contexts)][:, None]
        return np.where(right, 1.0, -1.0)

    return _environment(name, problem, rows, (mean, surface), "accuracy")


TABLES: dict[str, Callable[[Rng], Environment]] = {
    "diabetes": diabetes,
    **{name: partial(classes, name) for name in CLASSES},
}


def _environment(
    name: str, problem: Problem, rows: Rows, means: tuple[Any, Any], unit: str
) -> Environment:
    """Its rewards are known facts about the rows."""
    mean, surface = means
    return Environment(
        name,
        problem,
        mean,
        rows.draw,
        noise=NOISE,
        sample=lambda actions, contexts, rng: mean(actions, contexts),
        fresh_contexts=rows.draw_later,
        surface=surface,
        scale=0.5,
        unit=unit,
    )


@lru_cache(maxsize=4)
def _loaded(name: str) -> tuple[Columns, Any, list[str]]:
    """The columns of contexts, what is right for each row, and the names of classes."""
    from sklearn import datasets

    if name == "diabetes":
        found = datasets.load_diabetes(scaled=False)
        return dict(zip(found.feature_names, found.data.T, strict=True)), found.target, []
    if name == "digits":
        found = datasets.load_digits()
        blocks = found.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
        columns = dict(zip(BLOCKS, blocks.reshape(-1, len(BLOCKS)).T, strict=True))
    else:
        found = datasets.load_wine() if name == "wine" else datasets.load_breast_cancer()
        columns = dict(zip(found.feature_names, found.data.T, strict=True))
    return columns, found.target, [str(label) for label in found.target_names]
