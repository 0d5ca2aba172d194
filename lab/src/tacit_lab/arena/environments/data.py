"""Where real data is: `tacit arena --data DIR`, or the environment variable TACIT_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.errors import InputError
from tacit.problem import Problem
from tacit_lab.arena.protocol import Environment, Mean

VARIABLE = "TACIT_DATA"
HELD_OUT = 5  # one person in five never plays: decisions are measured on them
NOISE = 0.4  # about how far a reward is from what the context explains


def data_file(name: str, source: str) -> Path:
    """The file `name` of the data folder; `source` says where to get it."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise InputError(
            f"{name} is real data: pass --data DIR, the folder that has it, or set {VARIABLE}. "
            f"{source}"
        )
    path = Path(folder) / name
    if not path.is_file():
        raise InputError(f"{path} is not there. {source}")
    return path


class People:
    """Real people, each with a context. One in five is kept for the decisions. Two who look the
    same are one group."""

    def __init__(self, contexts: Floats, rng: Rng, what: str) -> None:
        self.contexts = contexts
        self.what = what
        order = rng.permutation(len(contexts))
        self.later = order[::HELD_OUT]
        self.now = np.delete(order, np.s_[::HELD_OUT])
        groups: dict[bytes, list[int]] = {}
        for i, row in enumerate(contexts):
            groups.setdefault(row.tobytes(), []).append(i)
        self.groups = list(groups.values())
        self._number = {row: i for i, row in enumerate(groups)}

    def draw(self, n: int, rng: Rng) -> Floats:
        """Nobody plays twice."""
        if n > len(self.now):
            raise InputError(
                f"{self.what} has {len(self.now)} people to play with, got {n} rounds: ask for "
                "fewer."
            )
        return self.contexts[rng.permutation(self.now)[:n]]

    def draw_later(self, n: int, rng: Rng) -> Floats:
        """Of those who never play, each once before anybody is drawn twice."""
        return self.contexts[np.resize(rng.permutation(self.later), n)]

    def number(self, contexts: Floats) -> NDArray[np.intp]:
        """The number of each row's group."""
        rows = np.ascontiguousarray(contexts, dtype=np.float64)
        return np.array([self._number[row.tobytes()] for row in rows], dtype=np.intp)

    def environment(self, problem: Problem, mean: Mean, surface: Mean, unit: str) -> Environment:
        """Its rewards are known facts about these people, scaled from [0, 1] to [-1, 1]."""
        return Environment(
            self.what,
            problem,
            mean,
            self.draw,
            noise=NOISE,
            sample=lambda actions, contexts, rng: mean(actions, contexts),
            fresh_contexts=self.draw_later,
            surface=surface,
            scale=0.5,
            unit=unit,
        )

    def by_group(self, values: Floats) -> Floats:
        """One row per group: the values of its people, then NaN where other groups have more."""
        table = np.full((len(self.groups), max(map(len, self.groups))), np.nan)
        for row, group in zip(table, self.groups, strict=True):
            row[: len(group)] = values[group]
        return table
