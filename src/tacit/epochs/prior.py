"""The policy of another study as what is known before the first epoch. It is public, and free."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.decoder import Posterior
from tacit.decoder.decoding import LEVEL_VARIANCE
from tacit.design.earlier import Earlier
from tacit.errors import InputError
from tacit.numerics import linalg
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.residual.reward_law import ReleasedRewards

KNOWN = 1e-9  # the least that counts of what a posterior knows more than its prior


def require_same_problem(policy: Any, problem: Problem) -> None:
    """Fails if a policy is not about this problem: its weights would mean something else."""
    if not isinstance(policy, Policy):
        raise InputError(f"prior must be a tacit.Policy, got {type(policy).__name__}.")
    if policy.problem.spec() != problem.spec():
        raise InputError(
            "the prior is the policy of another problem: actions, contexts, kernel and reward "
            "range must be the same."
        )


def as_earlier(policy: Policy) -> Earlier:
    """What a policy knows, as if it had been observed in an epoch before the first."""
    posterior = policy.posterior
    return Earlier(
        people="another study",
        records=0.0,
        observation=_observation(posterior),
        features=np.zeros(posterior.rank),
        rewards=ReleasedRewards(0.0, 1.0, None, 1.0, None, 1.0),
        noise=(),
        mean_square=posterior.mean_square,
        guarantee=policy.guarantee,
        is_prior=True,
    )


def _observation(posterior: Posterior) -> Floats:
    """Rows of an observation that turns the prior N(0, diag(v I, o)) of (theta, level) into this
    posterior N(m, S).

    With D = diag(v I, o) and D^-1/2 S D^-1/2 = V diag(e) V' the precision that it adds is
    D^-1/2 V diag(1 / e - 1) V' D^-1/2, and A' z = S^-1 m.
    """
    L = linalg.cholesky(np.asarray(posterior.kernel(posterior.landmarks, posterior.landmarks)))
    rank = posterior.rank
    S = np.empty((rank + 1, rank + 1))
    S[:-1, :-1] = posterior.scale * np.eye(rank) - L.T @ posterior.reduction @ L
    S[-1, -1] = posterior.level_variance
    S[:-1, -1] = L.T @ posterior.level_covariance
    S[-1, :-1] = S[:-1, -1]
    mean = np.append(L.T @ posterior.weights, posterior.level)
    root = np.sqrt(np.append(np.full(rank, posterior.scale), LEVEL_VARIANCE))
    e, V = linalg.eigh(S / np.outer(root, root))
    e = np.clip(e, KNOWN, 1.0)
    gained = 1.0 / e - 1.0
    known = gained > KNOWN
    scale = np.sqrt(gained[known])
    half = V[:, known].T / root
    z = (half @ mean) / (e[known] * scale)
    nothing = np.zeros_like(z)
    return np.column_stack([scale[:, None] * half, nothing, z, nothing])
