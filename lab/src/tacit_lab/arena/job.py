"""One job: one learner, one environment, one seed, from the first round to the last decision. It
makes one row."""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit._version import __version__
from tacit.errors import InputError, TacitError
from tacit_lab.arena.measure import LEARNER, NOISE, played_contexts, stream, yardstick
from tacit_lab.arena.memory import PeakMemory
from tacit_lab.arena.names import base_and_variant, environment_named, learner_named
from tacit_lab.arena.protocol import Environment, Setting

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What makes a row. Two jobs that are equal give the same row, but for seconds and memory."""

    learner: str
    environment: str
    rounds: int
    epsilon: float  # inf: no privacy
    delta: float
    seed: int

    @classmethod
    def of(cls, row: Row) -> Job:
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


class _World:
    """The environment as a learner meets it: rewards come one by one or all at once, from one
    stream of noise."""

    def __init__(self, environment: Environment, noise: Rng) -> None:
        self.environment = environment
        self.noise = noise
        self.seconds = 0.0

    def reward(self, actions: Floats, contexts: Floats) -> Floats:
        started = time.process_time()
        rewards = self.environment.reward(actions, contexts, self.noise)
        self.seconds += time.process_time() - started
        return rewards


def run_job(job: Job) -> Row:
    """Plays and decides. The environment, its contexts and its noise depend on (environment, seed)
    only."""
    base, _ = base_and_variant(job.environment)
    stick = yardstick(base, job.seed)
    _, tell_law = environment_named(job.environment)
    environment = tell_law(stick.environment)
    contexts, some, best = played_contexts(base, job.seed, job.rounds)
    world = _World(environment, stream(base, job.seed, NOISE))
    setting = Setting(environment.problem, job.rounds, job.epsilon, job.delta, environment.noise)
    with PeakMemory() as peak:
        started = time.process_time()
        learner = learner_named(job.learner)(setting, stream(base, job.seed, LEARNER))
        actions = _inside(learner.play(contexts, world.reward), contexts, environment, "played")
        decided = _inside(learner.decide(stick.fresh), stick.fresh, environment, "decided")
        seconds = time.process_time() - started - world.seconds
    earned = environment.mean(actions, contexts)
    regret = float(np.mean(np.maximum(best, earned[some]) - earned[some]))
    return asdict(job) | {
        "error_rate": stick.error_rate(decided),
        "cumulative_reward": float(earned.sum()),
        "seconds": seconds,
        "peak_memory": peak.megabytes,
        "cumulative_regret": job.rounds * regret,
        "uniform_error": stick.uniform_error,
        "menu_error": stick.menu_error,
        "scale": environment.scale,
        "actions": environment.problem.actions.dimension,
        "contexts": environment.problem.contexts.dimension,
        "version": __version__,
    }


def attempt(job: Job) -> Row:
    """`run_job`, or what went wrong in one sentence."""
    try:
        return run_job(job)
    except TacitError as error:
        return failure(job, str(error), traceback.format_exc())
    except Exception as error:
        sentence = type(error).__name__
        first_line = str(error).partition("\n")[0]
        if first_line:
            sentence += f": {first_line}"
        return failure(job, sentence, traceback.format_exc())


def failure(job: Job, sentence: str, trace: str = "") -> Row:
    return asdict(job) | {"failure": sentence, "trace": trace, "version": __version__}


def _inside(actions: Floats, contexts: Floats, environment: Environment, verb: str) -> Floats:
    """One action per context, in the domain; a rounding error outside it is forgiven."""
    domain = environment.problem.actions
    actions = np.asarray(actions, dtype=np.float64)
    if actions.shape != (len(contexts), domain.dimension) or not np.isfinite(actions).all():
        raise InputError(
            f"a learner must have {verb} one finite action for each of {len(contexts)} contexts, "
            f"{domain.dimension} numbers each; got shape {actions.shape}."
        )
    nearest = domain.project_points(actions)
    if not math.isclose(float(np.abs(nearest - actions).max(initial=0.0)), 0.0, abs_tol=1e-6):
        raise InputError(
            f"a learner {verb} actions outside the domain: project them, or choose from the menu."
        )
    return nearest
