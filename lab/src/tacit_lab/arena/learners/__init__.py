"""Private contextual bandits of the literature, and what they are measured against, each behind
`Learner`.

Every one is written from its paper. Noise is calibrated by the trusted core and drawn from a seeded
generator (`tacit_lab.arena.mechanisms`), so what an arena run puts out is not private.
"""

from __future__ import annotations

from tacit_lab.arena.learners.adassp import AdaSSP
from tacit_lab.arena.learners.adassp_boosted import BoostedAdaSSP
from tacit_lab.arena.learners.arms import UCB
from tacit_lab.arena.learners.arms_private import AdaCUCB, AdaPUCB
from tacit_lab.arena.learners.arms_shuffled import ArmElimination, ArmsShuffled
from tacit_lab.arena.learners.batched import Batched
from tacit_lab.arena.learners.bo_final import BOFinal
from tacit_lab.arena.learners.floor import BestFixed, Uniform
from tacit_lab.arena.learners.fts_private import FTS, FTSPrivate
from tacit_lab.arena.learners.glm_local import GLMLocal, GreedySGD
from tacit_lab.arena.learners.gp_threds import GPThreDS
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.learners.gpucb_jdp import GPUCBJDP
from tacit_lab.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit_lab.arena.learners.gpucb_private_rewards import GPUCBPrivateRewards
from tacit_lab.arena.learners.igpucb import IGPUCB
from tacit_lab.arena.learners.kernel_projected import KernelProjected, KernelProjectedLocal
from tacit_lab.arena.learners.linear import LinUCB
from tacit_lab.arena.learners.linear_agents import LinearAgents
from tacit_lab.arena.learners.linear_greedy import LinearGreedy, LinearLocalGreedy
from tacit_lab.arena.learners.linear_local import LinearLocal
from tacit_lab.arena.learners.linear_shuffled import LinearShuffled
from tacit_lab.arena.learners.linear_silos import LinearSilos
from tacit_lab.arena.learners.linear_weighted import LinearWeighted
from tacit_lab.arena.learners.linucb_tree import LinUCBTree
from tacit_lab.arena.learners.policies import PolicyElimination
from tacit_lab.arena.learners.policies_private import (
    PoliciesLocal,
    PoliciesPrivate,
    PoliciesShuffled,
)
from tacit_lab.arena.learners.ridge import Ridge
from tacit_lab.arena.learners.robin import FederatedGreedy, Robin
from tacit_lab.arena.learners.sgd_ridge import SGDRidge
from tacit_lab.arena.learners.shrinking import Shrinking
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
    "kernel-projected": KernelProjected,
    "linear-weighted": LinearWeighted,
    "linucb-tree": LinUCBTree,
    "gpucb-jdp": GPUCBJDP,
    "adassp": AdaSSP,
    "adassp-boosted": BoostedAdaSSP,
    "sgd-ridge": SGDRidge,
    "linear-agents": LinearAgents,
    "linear-silos": LinearSilos,
    "policies-private": PoliciesPrivate,
    "bo-final": BOFinal,
    "gpucb-outsourced": GPUCBOutsourced,
    "gpucb-private-rewards": GPUCBPrivateRewards,
    "kernel-projected-local": KernelProjectedLocal,
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
    "ridge": Ridge,
    "gpucb": GPUCB,
    "igpucb": IGPUCB,
    "batched": Batched,
    "shrinking": Shrinking,
    "linucb": LinUCB,
    "linear-greedy": LinearGreedy,
    "greedy-sgd": GreedySGD,
    "policy-elimination": PolicyElimination,
    "federated-greedy": FederatedGreedy,
    "fts": FTS,
    "gp-threds": GPThreDS,
    "ucb": UCB,
    "arm-elimination": ArmElimination,
    "uniform": Uniform,
    "best-fixed": BestFixed,
}

__all__ = ["LEARNERS"]
