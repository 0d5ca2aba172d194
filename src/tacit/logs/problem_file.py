"""Problem files: a problem as TOML, with what a fit needs besides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.contexts import PublicSample
from tacit.core import Budget
from tacit.errors import InputError
from tacit.logs.small_tables import read_table
from tacit.play import EpsilonGreedy, Fixed, PlayLaw, Probabilities, as_law
from tacit.policy import load as load_policy
from tacit.problem import Problem

KNOWN = {
    "horizon",
    "user",
    "actions",
    "contexts",
    "kernel",
    "reward",
    "budget",
    "generator",
    "columns",
    "play",
}
LAWS = ("law", "policy", "probabilities", "action", "propensity")


@dataclass(frozen=True)
class ProblemFile:
    """A problem and what a fit needs besides: the columns, and a horizon and a budget if the file
    names them."""

    problem: Problem
    reward: str
    user: str | None
    horizon: int | None
    budget: Budget | None
    text: str
    columns: Mapping[str, str] = field(default_factory=dict)
    sample: Path | None = None  # the file of the generator's public sample
    play: str | None = None  # "uniform", or "problem" if the problem has the law; None if not said
    propensity: str | None = None


def read_problem(path: str | Path) -> ProblemFile:
    """Reads a problem from TOML:

    horizon = 5000                      # optional: the number of rows otherwise

    [actions]
    type = "box"
    low = [0.0]
    high = [100.0]
    names = ["dose"]

    [contexts]
    type = "box"
    low = [18, 40]
    high = [95, 140]
    names = ["age", "weight"]

    [kernel]                            # optional: see tacit.kernels.default_kernel
    type = "matern"
    smoothness = 2.5
    lengthscale = 0.3

    [reward]
    range = [0.0, 1.0]
    column = "reward"

    [budget]
    epsilon = 1.0
    delta = 1e-6

    [columns]                           # optional: what the data files call the problem's columns
    dose = "amount_mg"

    [play]                              # how the actions of a log were chosen: one of these
    law = "uniform"                     # each drawn uniformly at random
    propensity = "p"                    # as this column says, row by row
    policy = "policy/"                  # by the policy in this folder,
    probabilities = {A = 0.9, B = 0.1}  # by fixed probabilities of labels,
    action = "A"                        # always the same; or action = {dose = 50},
    epsilon = 0.1                       # each of the last three: or uniformly, so often

    [generator]                         # optional: contexts that are public already, not the data
    sample = "census.parquet"
    """
    path = Path(path)
    try:
        text = path.read_text()
        spec = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(
            f"there is no problem file {path}: see examples/dosing.toml for one."
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} cannot be read as TOML: {error}.") from None
    if unknown := sorted(set(spec) - KNOWN):
        raise InputError(
            f"{path} has an unknown entry {unknown[0]!r}: it takes {', '.join(sorted(KNOWN))}."
        )
    sample = None
    generator = None
    if "generator" in spec:
        sample = path.parent / spec["generator"].get("sample", "")
        generator = PublicSample(read_table(sample))
    statement, law, propensity = _play(spec.get("play"), path)
    budget = None
    if "budget" in spec:
        budget = _budget(spec["budget"])
    user = spec.get("user")
    horizon = spec.get("horizon")
    if horizon is not None and (not isinstance(horizon, int) or horizon < 1):
        raise InputError(
            f"horizon must be a whole number of at least 1, got {horizon!r} in {path}."
        )
    return ProblemFile(
        problem=Problem.from_spec(spec, generator=generator, play=law),
        reward=str(spec.get("reward", {}).get("column", "reward")),
        user=None if user is None else str(user),
        horizon=horizon,
        budget=budget,
        text=text,
        columns=_columns(spec.get("columns", {})),
        sample=sample,
        play=statement,
        propensity=propensity,
    )


def _play(spec: Any, path: Path) -> tuple[str | None, PlayLaw | None, str | None]:
    """What the file says about play: "uniform" or "problem", the problem's law, the column of
    propensities."""
    if spec is None:
        return None, None, None
    if not isinstance(spec, dict) or not set(spec) <= {*LAWS, "epsilon"}:
        raise InputError(f"[play] takes one of {', '.join(LAWS)}, and epsilon, got {spec!r}.")
    named = [name for name in LAWS if name in spec]
    if len(named) != 1:
        raise InputError(f"[play] takes exactly one of {', '.join(LAWS)}, got {len(named)}.")
    name = named[0]
    value = spec[name]
    if name in ("law", "propensity"):
        if "epsilon" in spec:
            raise InputError(f"[play] takes epsilon for a policy or another law, not with {name}.")
        if not isinstance(value, str) or (name == "law" and value != "uniform"):
            takes = '"uniform"' if name == "law" else "the name of a column"
            raise InputError(f"{name} in [play] takes {takes}, got {value!r}.")
        if name == "law":
            return "uniform", None, None
        return None, None, value
    law: PlayLaw
    if name == "policy":
        law = as_law(load_policy(path.parent / str(value)))
    elif name == "probabilities":
        law = Probabilities(value)
    else:
        law = Fixed(value)
    if "epsilon" in spec:
        law = EpsilonGreedy(law, spec["epsilon"])
    return "problem", law, None


def _budget(spec: Any) -> Budget:
    if not isinstance(spec, dict) or not set(spec) <= {"epsilon", "delta", "rho"}:
        raise InputError(f"[budget] takes epsilon and delta, or rho, got {spec!r}.")
    return Budget(**spec)


def _columns(spec: Any) -> dict[str, str]:
    if not isinstance(spec, dict) or not all(isinstance(name, str) for name in spec.values()):
        raise InputError(
            f'[columns] takes names of columns, as in dose = "amount_mg", got {spec!r}.'
        )
    return dict(spec)
