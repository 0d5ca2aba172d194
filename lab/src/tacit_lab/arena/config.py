"""Which jobs to run: a TOML file, or the same as keyword arguments.

seeds = 10                                # 0 to 9, or a list
delta = 1e-6
limit_seconds = 600                       # a job that takes longer is ended and counts as failed
learners = "all"                          # or a list; "joint": all with joint privacy

[caps]                                    # the most rounds of slow learners
usca = 300

[[runs]]
environments = ["matern52-1+1", "dosing@none"]
rounds = [300, 1000, 3000]
epsilons = [0.3, 1.0]                     # learners that protect nothing run once, without
learners = ["tacit", "uniform"]           # optional, as are seeds: for these runs only
skip = ["usca"]                           # optional
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit_lab.arena.job import Job
from tacit_lab.arena.names import environment_named, is_private, known_learners, learner_named
from tacit_lab.arena.pool import LIMIT
from tacit_lab.arena.promise import Promise, promise_of

KNOWN = {"seeds", "delta", "limit_seconds", "learners", "caps", "runs"}
KNOWN_RUN = {"environments", "rounds", "epsilons", "learners", "seeds", "skip"}


@dataclass(frozen=True)
class Config:
    """Jobs in the order in which they run: seed by seed, so that an interrupted study is a smaller
    one."""

    jobs: tuple[Job, ...]
    limit_seconds: float = LIMIT
    capped: Mapping[str, int] = field(default_factory=dict)


def read_config(path: Path) -> Config:
    if not path.is_file():
        raise InputError(f"{path} is not there: pass a TOML file (see docs/arena.md).")
    try:
        return parse(tomllib.loads(path.read_text()), str(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no TOML: {error}.") from None


def quick_config() -> Config:
    """Every learner once on a few environments: minutes."""
    text = resources.files("tacit_lab.arena").joinpath("quick.toml").read_text()
    return parse(tomllib.loads(text), "quick.toml")


def parse(spec: Mapping[str, Any], where: str) -> Config:
    _check(spec, KNOWN, where)
    caps = dict(spec.get("caps", {}))
    delta = float(spec.get("delta", 1e-6))
    jobs: set[Job] = set()
    for run in spec.get("runs", ()):
        _check(run, KNOWN_RUN, f"a run of {where}")
        learners = _learners(run.get("learners", spec.get("learners", "all")))
        skipped = run.get("skip", ())
        jobs |= make_jobs(
            [name for name in learners if name not in skipped],
            _required(run, "environments", where),
            _required(run, "rounds", where),
            _required(run, "epsilons", where),
            _seeds(run.get("seeds", spec.get("seeds", 5))),
            delta,
            caps,
        )
    if not jobs:
        raise InputError(
            f"{where} asks for nothing: "
            "write at least one [[runs]] with environments, rounds, epsilons."
        )
    return Config(tuple(sorted(jobs, key=_order)), float(spec.get("limit_seconds", LIMIT)), caps)


def make_jobs(
    learners: Iterable[str],
    environments: Sequence[str],
    rounds: Sequence[int],
    epsilons: Sequence[float],
    seeds: Sequence[int],
    delta: float = 1e-6,
    caps: Mapping[str, int] | None = None,
) -> set[Job]:
    """Every combination; a learner without privacy has no epsilon, and none plays more rounds than
    its cap."""
    for name in environments:
        environment_named(name)  # an unknown one fails here
    return {
        Job(learner, environment, int(horizon), float(epsilon), delta, int(seed))
        for learner in learners
        for environment in environments
        for horizon in rounds
        if horizon <= (caps or {}).get(learner, math.inf)
        for epsilon in (epsilons if is_private(learner) else (math.inf,))
        for seed in seeds
    }


def _learners(names: Any) -> list[str]:
    """A list may have the names of groups among those of learners."""
    known = known_learners()
    groups = {
        "all": list(known),
        "joint": [name for name, kind in known.items() if promise_of(kind) is Promise.JOINT],
    }
    wanted = [names] if isinstance(names, str) else names
    chosen = [each for name in wanted for each in groups.get(name, [name])]
    for name in chosen:
        learner_named(name)  # an unknown one fails here
    return chosen


def _seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, int):
        return list(range(seeds))
    return [int(seed) for seed in seeds]


def _order(job: Job) -> tuple[Any, ...]:
    """Neighbours share an environment, which a process then need not draw again."""
    return job.seed, job.environment, job.rounds, job.learner, job.epsilon


def _required(run: Mapping[str, Any], name: str, where: str) -> Any:
    if not run.get(name):
        raise InputError(f"a run of {where} has no {name}: write {name} = [...].")
    return run[name]


def _check(spec: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = set(spec) - known
    if unknown:
        raise InputError(
            f"{where} has {', '.join(sorted(unknown))}, but may have only "
            f"{', '.join(sorted(known))}."
        )
