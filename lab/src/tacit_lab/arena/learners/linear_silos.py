"""Private linear UCB for several silos that do not trust their server."""

from __future__ import annotations

import math
from typing import ClassVar

from tacit._typing import Floats
from tacit_lab.arena.learners.linear_agents import AGENTS, LinearAgents

BATCH = 25  # rounds that a silo plays between two meetings


class LinearSilos(LinearAgents):
    """Four silos take turns. All play by what was shared at the last meeting; when they meet, after
    every 25 rounds of each, a silo adds these rounds to a tree of its own and shares new nodes with
    noise, so that the server sees noisy sums only.

    This corrects Dubey and Pentland: the meetings are fixed in advance instead of following from
    raw data, and the widths reckon with the noise of all silos together. One more leak is closed
    here. The authors' published code has a silo play by its own raw rounds since the last meeting
    as well: with another person in one round those that follow change, and the shared sum moves
    further than its noise assumes (a test shows this for `LinearAgents`). Without these rounds a
    person is protected from everybody but their own silo's server, and from the other people of the
    silo as well. Verified: abstract, reviews and published code, whose batch of 25 is used; the
    paper's own pseudocode and batch size could not be read. Chosen here: four silos, zCDP, the last
    decision by the roots, the features and widths of `LinearUCB`. The paper's two shuffled
    protocols are not here. Without privacy silos meet after every round.
    """

    name: ClassVar[str] = "Private linear silos"
    source: ClassVar[str] = (
        "Zhou, Chowdhury 2024, On Differentially Private Federated Linear Contextual Bandits"
    )
    protects: ClassVar[str] = "context and reward"
    refuted_by: ClassVar[str | None] = None

    @property
    def batch(self) -> int:
        return AGENTS * BATCH if self.setting.private else 1

    def schedule(self) -> int:
        return math.ceil(self.setting.horizon / self.batch)

    def collect(self, row: Floats) -> None:
        if self.add(row):
            self.renew()

    def released(self) -> tuple[Floats, float]:
        """What every silo can see."""
        return self.shared, self._sigma
