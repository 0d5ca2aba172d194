"""Private contextual bandits of the literature, and what they are measured against, each behind `Learner`.

Every one is written from its paper. Noise is calibrated by the trusted core and drawn from a seeded generator
(`tacit.arena.mechanisms`), so what an arena run puts out is not private.
"""

from __future__ import annotations

from tacit.arena.learners.batched import Batched
from tacit.arena.learners.bo_final import BOFinal
from tacit.arena.learners.floor import BestFixed, Uniform
from tacit.arena.learners.fts_private import FTS, FTSPrivate
from tacit.arena.learners.gpucb import GPUCB
from tacit.arena.learners.gpucb_jdp import GPUCBJDP
from tacit.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit.arena.learners.gpucb_private_rewards import GPUCBPrivateRewards
from tacit.arena.learners.linear import LinUCB
from tacit.arena.learners.linear_agents import LinearAgents
from tacit.arena.learners.linear_local import LinearLocal
from tacit.arena.learners.linear_shuffled import LinearShuffled
from tacit.arena.learners.linucb_tree import LinUCBTree
from tacit.arena.learners.tacit_release import Tacit, TacitOnce, TacitPure
from tacit.arena.learners.uniform_posterior import UniformPosterior
from tacit.arena.learners.usca import USCA
from tacit.arena.protocol import Learner

LEARNERS: dict[str, type[Learner]] = {
    "tacit": Tacit,
    "tacit-once": TacitOnce,
    "tacit-pure": TacitPure,
    "usca": USCA,
    "linucb-tree": LinUCBTree,
    "gpucb-jdp": GPUCBJDP,
    "linear-agents": LinearAgents,
    "bo-final": BOFinal,
    "gpucb-outsourced": GPUCBOutsourced,
    "gpucb-private-rewards": GPUCBPrivateRewards,
    "linear-local": LinearLocal,
    "linear-shuffled": LinearShuffled,
    "fts-private": FTSPrivate,
    "uniform-posterior": UniformPosterior,
    "gpucb": GPUCB,
    "batched": Batched,
    "linucb": LinUCB,
    "fts": FTS,
    "uniform": Uniform,
    "best-fixed": BestFixed,
}

__all__ = ["LEARNERS"]
