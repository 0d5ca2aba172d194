"""Problems to throw odd records at: with domains and kernels of ours, or with a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tacit
from tacit import Box, Budget, Categories, Design, DesignOptions, Matern, Mixed, Problem
from tacit._typing import Floats, Rng
from tacit.domains import Domain
from tacit.kernels import Kernel
from tacit.tables import Columns
from tacit_lab.benchmarks.odd_values import CELLS, CONTAINERS, column

BUDGET = Budget(epsilon=1.0, delta=1e-6)
CROWD = 1000  # records that are added together
REWARD = "reward"
Record = dict[str, Any]


# -- a stranger's code ----------------------------------------------------------------------------


class Nosy(Box):
    """A stranger's domain that looks at all the records it is given."""

    def encode(self, columns: Columns) -> Floats:
        values = np.column_stack([np.array(columns[name], dtype=np.float64) for name in self.names])
        centred = values - np.nanmean(values, axis=0)
        spread = np.nanstd(values, axis=0) + 1.0
        return np.asarray(0.5 + np.tanh(centred / spread - values / 1e3) / 2.0)


class Standardising(Matern):
    """A stranger's subclass of one of ours: in units of the batch's own range."""

    def __call__(self, A: Any, B: Any) -> Any:
        return super().__call__(A / (1.0 + 3.0 * np.ptp(A, axis=0)), B)


class Ranking(Kernel):
    """Raises for some records, returns nonsense for others, and otherwise looks at the ranks of its
    batch."""

    whole = True

    def __call__(self, A: Any, B: Any) -> Any:
        if A.shape[0] == 1 and A[0, -1] > 0.95:
            raise ValueError(f"what a strange record: {A}")
        if A.shape[0] == 1 and A[0, -1] < 0.05:
            return "nonsense"
        rank = np.argsort(np.argsort(A[:, -1])) / max(1, A.shape[0] - 1)
        distance = np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=2)
        return np.exp(-2.0 * distance) * (1.0 - 0.5 * rank[:, None])


# -- problems -------------------------------------------------------------------------------------


def problem(columns: str = "several", kernel: Any = None, stranger: bool = False) -> Problem:
    """With one column on each side, or several; with domains of ours, or a stranger's."""
    box = Nosy if stranger else Box
    k = Matern(2.5, 0.5) if kernel is None else kernel
    dose = Box([0.0], [100.0], ["dose"])
    if columns == "one":
        return Problem(dose, box([18.0], [95.0], ["age"]), k)
    age = Box([18.0], [95.0], ["age"])
    weight = box([40.0], [140.0], ["weight"])
    contexts = Mixed([age, weight, Categories([0, 1, 2], "copies")])
    return Problem(Mixed([dose, Categories(["a", "b"], "route")]), contexts, k)


STRANGERS: dict[str, Problem] = {
    "a subclass of Matern that standardises its batch": problem("one", Standardising(2.5, 0.5)),
    "the same inside a sum": problem("one", Standardising(1.5, 0.5) + tacit.RBF(0.5)),
    "a kernel that ranks its batch and raises": problem("one", Ranking()),
    "a domain that looks at its batch": problem("one", stranger=True),
    "the same beside domains of ours": problem("several", stranger=True),
}


def build(of: Problem, horizon: int = CROWD, unit: str = "record") -> Design:
    return Design.build(
        of,
        horizon=horizon,
        budget=BUDGET,
        rng=0,
        unit=unit,
        passes=1,
        options=DesignOptions(rank=8, tau=10.0, public_points=1000),
    )


# -- records --------------------------------------------------------------------------------------


def plain(rng: Rng, n: int) -> list[Record]:
    """Records that nobody would wonder at."""
    doses = rng.uniform(0, 100, n).tolist()
    ages = rng.uniform(18, 95, n).tolist()
    weights = rng.uniform(40, 140, n).tolist()
    rewards = rng.random(n).tolist()
    return [
        {
            "dose": doses[i],
            "route": "ab"[i % 2],
            "age": ages[i],
            "weight": weights[i],
            "copies": i % 3,
            REWARD: rewards[i],
        }
        for i in range(n)
    ]


def odd(rng: Rng, record: Record) -> Record:
    """The same with one to three of its values replaced by any others."""
    names = rng.permutation(list(record))[: rng.integers(1, 4)]
    return record | {str(name): CELLS[rng.integers(len(CELLS))] for name in names}


def tables(
    of: Problem, records: Sequence[Record], name: str, kind: int = 0
) -> tuple[Any, Any, Any]:
    """Actions, contexts and rewards of these records, in containers of this name and kind."""

    def fill(side: Domain) -> Any:
        cells = [[record[field] for field in side.names] for record in records]
        return CONTAINERS[name](cells, side.names)

    rewards = [record[REWARD] for record in records]
    return fill(of.actions), fill(of.contexts), column(kind, rewards)
