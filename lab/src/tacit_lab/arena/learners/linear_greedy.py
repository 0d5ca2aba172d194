"""Linear learners that play what looks best and trust the contexts to explore."""

from __future__ import annotations

from typing import ClassVar

from tacit_lab.arena.learners.linear import LinearUCB, LinUCB
from tacit_lab.arena.learners.linear_local import LinearLocal


class Greedy(LinearUCB):
    """Plays argmax of phi'theta: linear UCB of width 0."""

    def renew(self) -> None:
        super().renew()
        self._width = 0.0


class LinearGreedy(Greedy, LinUCB):
    """Greedy least squares without privacy."""

    name: ClassVar[str] = "Greedy linear"
    source: ClassVar[str] = (
        "Bastani, Bayati, Khosravi 2021, Mostly Exploration-Free Algorithms for Contextual Bandits"
    )


class LinearLocalGreedy(Greedy, LinearLocal):
    """LDP-OLS: every user chooses greedily at home and sends phi phi' and phi y with Gaussian
    noise; the server solves the shifted least squares.

    Algorithm 1 of the paper with (3) and (4), checked against its text: theta = 0 to begin with, no
    confidence width, a shift that grows like the root of the rounds. Chosen here: one Gaussian
    mechanism in zCDP for matrix and vector together, where the paper has one for each; the
    constants of the shift; the features of `LinearUCB`. The paper's proof needs contexts so diverse
    that greedy play explores, which nothing here promises.
    """

    name: ClassVar[str] = "LDP greedy least squares"
    source: ClassVar[str] = (
        "Han, Liang, Wang, Zhang 2021, Generalized Linear Bandits with Local Differential Privacy"
    )
    counterpart: ClassVar[str | None] = "linear-greedy"
