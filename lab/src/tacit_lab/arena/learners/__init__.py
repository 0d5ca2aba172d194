"""Private contextual bandits of the literature, and what they are measured against, each behind
`Learner`.

Every one is written from its paper. Noise is calibrated by the trusted core and drawn from a seeded
generator (`tacit_lab.arena.mechanisms`), so what an arena run puts out is not private.
"""

from __future__ import annotations

from tacit_lab.arena.learners.arms import UCB
from tacit_lab.arena.learners.arms_private import AdaCUCB, AdaPUCB
from tacit_lab.arena.learners.arms_shuffled import ArmElimination, ArmsShuffled
from tacit_lab.arena.learners.batched import Batched
from tacit_lab.arena.learners.bo_final import BOFinal
from tacit_lab.arena.learners.floor import BestFixed, Uniform
from tacit_lab.arena.learners.fts_private import FTS, FTSPrivate
from tacit_lab.arena.learners.glm_local import GLMLocal, GreedySGD
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.learners.gpucb_jdp import GPUCBJDP
from tacit_lab.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit_lab.arena.learners.gpucb_private_rewards import GPUCBPrivateRewards
from tacit_lab.arena.learners.linear import LinUCB
from tacit_lab.arena.learners.linear_agents import LinearAgents
from tacit_lab.arena.learners.linear_greedy import LinearGreedy, LinearLocalGreedy
from tacit_lab.arena.learners.linear_local import LinearLocal
from tacit_lab.arena.learners.linear_shuffled import LinearShuffled
from tacit_lab.arena.learners.linear_silos import LinearSilos
from tacit_lab.arena.learners.linucb_tree import LinUCBTree
from tacit_lab.arena.learners.policies import PolicyElimination
from tacit_lab.arena.learners.policies_private import (
    PoliciesLocal,
    PoliciesPrivate,
    PoliciesShuffled,
)
from tacit_lab.arena.learners.robin import FederatedGreedy, Robin
from tacit_lab.arena.learners.tacit_epochs import TacitEpochs
from tacit_lab.arena.learners.tacit_release import Tacit, TacitOnce, TacitPure
from tacit_lab.arena.learners.uniform_posterior import UniformPosterior
from tacit_lab.arena.learners.usca import USCA
from tacit_lab.arena.protocol import Learner

LEARNERS: dict[str, type[Learner]] = {
    "tacit": Tacit,
    "tacit-once": TacitOnce,
    "tacit-epochs": TacitEpochs,
    "tacit-pure": TacitPure,
    "usca": USCA,
    "linucb-tree": LinUCBTree,
    "gpucb-jdp": GPUCBJDP,
    "linear-agents": LinearAgents,
    "linear-silos": LinearSilos,
    "policies-private": PoliciesPrivate,
    "bo-final": BOFinal,
    "gpucb-outsourced": GPUCBOutsourced,
    "gpucb-private-rewards": GPUCBPrivateRewards,
    "linear-local": LinearLocal,
    "linear-local-greedy": LinearLocalGreedy,
    "glm-local": GLMLocal,
    "policies-local": PoliciesLocal,
    "linear-shuffled": LinearShuffled,
    "policies-shuffled": PoliciesShuffled,
    "fts-private": FTSPrivate,
    "robin": Robin,
    "adap-ucb": AdaPUCB,
    "adac-ucb": AdaCUCB,
    "arms-shuffled": ArmsShuffled,
    "uniform-posterior": UniformPosterior,
    "gpucb": GPUCB,
    "batched": Batched,
    "linucb": LinUCB,
    "linear-greedy": LinearGreedy,
    "greedy-sgd": GreedySGD,
    "policy-elimination": PolicyElimination,
    "federated-greedy": FederatedGreedy,
    "fts": FTS,
    "ucb": UCB,
    "arm-elimination": ArmElimination,
    "uniform": Uniform,
    "best-fixed": BestFixed,
}

__all__ = ["LEARNERS"]
