"""A policy as files: what is written, and what is checked when it is read again."""

from __future__ import annotations

import io
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._version import __version__
from tacit.core import Guarantee, Part
from tacit.decoder import Posterior
from tacit.errors import InputError
from tacit.policy import folders
from tacit.problem import Problem

if TYPE_CHECKING:
    from tacit.policy.policy import Policy

SCHEMA = 3
ARRAYS = ("landmarks", "weights", "reduction", "level_covariance")
MOST_CANDIDATES = 1 << 24


def save(policy: Policy, path: str | Path) -> Path:
    """Writes the two files, both or none (see `tacit.policy.folders`)."""
    folder = folders.as_folder(path)
    folders.write(folder, *dump(policy))
    return folder


def dump(policy: Policy) -> tuple[dict[str, Any], bytes]:
    """A policy as plain data and an npz archive."""
    posterior = policy.posterior
    about = {
        "schema": SCHEMA,
        "tacit": __version__,
        "private": policy.private,
        "guarantee": asdict(policy.guarantee),
        "receipt": policy.receipt,
        "problem": policy.problem.spec(),
        "posterior": {
            "scale": posterior.scale,
            "mean_square": posterior.mean_square,
            "level": posterior.level,
            "level_variance": posterior.level_variance,
            "retention": posterior.retention,
            "understated": posterior.understated,
            "lengthscales": list(posterior.lengthscales),
        },
        "candidates": policy.candidates,
        "facts": policy.facts,
    }
    arrays = io.BytesIO()
    kept = {name: getattr(posterior, name) for name in ARRAYS}
    if policy.visitors is not None:
        kept["visitors"] = policy.visitors
    np.savez(arrays, **kept)
    return about, arrays.getvalue()


def load(policy: type[Policy], path: str | Path, kernel: Any = None) -> Policy:
    """Reads the two files. Whatever is wrong with them is one `InputError`."""
    folder = folders.as_folder(path)
    about = folders.read_text(folder)
    _require_schema(folder, about)
    about, content = folders.read_arrays(folder, about)
    return restore(policy, folder, about, content, kernel)


def restore(
    policy: type[Policy], folder: Any, about: dict[str, Any], content: bytes, kernel: Any = None
) -> Policy:
    """The inverse of `dump`; `folder` names the place in errors."""
    _require_schema(folder, about)
    try:
        problem = Problem.from_spec(about["problem"], kernel=kernel)
        return policy(
            problem=problem,
            guarantee=_guarantee(about["guarantee"]),
            posterior=_posterior(problem, about["posterior"], content),
            visitors=_visitors(problem, content),
            facts=_facts(about["facts"]),
            candidates=_candidates(about["candidates"]),
            receipt=_receipt(about["receipt"]),
        )
    except InputError as error:
        raise InputError(f"the policy in {folder} cannot be read: {error}") from None
    except KeyError as error:
        raise InputError(
            f"the policy in {folder} is incomplete: it lacks {error.args[0]!r}; was it edited by "
            "hand?"
        ) from None
    except Exception as error:  # whatever nonsense in a file makes NumPy, zip or a domain raise
        raise InputError(
            f"the policy in {folder} cannot be read ({type(error).__name__}): it is damaged, or "
            "was edited by hand."
        ) from None


def _require_schema(folder: Any, about: dict[str, Any]) -> None:
    schema = about.get("schema")
    if isinstance(schema, str) and schema.startswith(("cautious", "blend")):
        raise InputError(
            f"{folder} holds a policy beside a baseline ({schema}): read it with tacit.policy.load."
        )
    if schema != SCHEMA or isinstance(schema, bool):
        raise InputError(
            f"{folder} holds a policy of schema {schema!r}; this version of Tacit reads {SCHEMA}: "
            f"use the version that wrote it ({about.get('tacit', 'unknown')})."
        )


def _posterior(problem: Problem, about: Any, content: bytes) -> Posterior:
    table = _table(about, "posterior")
    numbers: dict[str, Any] = {
        name: _number(value, name) for name, value in table.items() if name != "lengthscales"
    }
    for name in ("scale", "level_variance"):
        if numbers[name] < 0:
            raise InputError(f"its {name} must not be negative, got {numbers[name]!r}.")
    lengthscales = table["lengthscales"]
    if not isinstance(lengthscales, list):
        raise InputError(f"its lengthscales must be a list, got {type(lengthscales).__name__}.")
    return Posterior(
        problem.k,
        **_arrays(problem, content),
        **numbers,
        lengthscales=tuple(_number(value, "lengthscales") for value in lengthscales),
        advantage=problem.advantage,
    )


def _visitors(problem: Problem, content: bytes) -> Any:
    """Contexts like those of the records; None if that is not known."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        if "visitors" not in file.files:
            return None
        visitors = file["visitors"]
    dimension = problem.contexts.dimension
    if visitors.dtype != np.float64 or visitors.ndim != 2 or visitors.shape[1] != dimension:
        raise InputError(
            f"its array visitors must be float64 with {dimension} columns, got {visitors.dtype} of "
            f"shape {visitors.shape}."
        )
    if not len(visitors) or not np.isfinite(visitors).all():
        raise InputError("its array visitors is empty, or has an entry that is not finite.")
    return visitors


def _arrays(problem: Problem, content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in ARRAYS}
    rank = len(arrays["weights"])
    shapes = {
        "landmarks": (rank, problem.dimension),
        "weights": (rank,),
        "reduction": (rank, rank),
        "level_covariance": (rank,),
    }
    for name, array in arrays.items():
        if array.dtype != np.float64 or array.shape != shapes[name] or not rank:
            raise InputError(
                f"its array {name} must be float64 of shape {shapes[name]}, got {array.dtype} of "
                f"shape {array.shape}."
            )
        if not np.isfinite(array).all():
            raise InputError(f"its array {name} has an entry that is not finite.")
    return arrays


def _guarantee(about: Any) -> Guarantee:
    table = _table(about, "guarantee")
    promise = Guarantee(**table)
    for name in ("rho", "epsilon", "delta"):
        if not _number(getattr(promise, name), name, finite=False) >= 0:
            raise InputError(f"its {name} must be at least 0, got {getattr(promise, name)!r}.")
    for name, kind in (("private", bool), ("unit", str), ("relation", str), ("mechanism", str)):
        if not isinstance(getattr(promise, name), kind):
            raise InputError(
                f"the entry {name!r} of its guarantee has the wrong type "
                f"({type(getattr(promise, name)).__name__})."
            )
    return promise


def _facts(value: Any) -> dict[str, Any]:
    """Those that `tacit.policy.health` and reports read are what they take them for. A policy of an
    earlier version lacks some."""
    facts = _table(value, "facts")
    if facts.get("usable") is not None:
        usable = _table(facts["usable"], "usable")
        _number(usable["share"], "share")
        if _number(usable["std"], "std") < 0:
            raise InputError(f"the std of its usable share is negative, {usable['std']!r}.")
    if facts.get("play_check") is not None:
        check = _table(facts["play_check"], "play_check")
        _require_type(check.get("contradicted", False), bool, "contradicted")
    if facts.get("play") is not None:
        _require_type(facts["play"], str, "play")
    if facts.get("hold_out") is not None:
        Part.restore(_table(facts["hold_out"], "hold_out"))
    for name in ("epoch", "validation"):  # what was measured in a study
        if facts.get(name) is not None:
            _table(facts[name], name)
    for name in ("records", "passes"):
        if facts.get(name) is not None:
            _require_type(facts[name], int, name)
    return facts


def _require_type(value: Any, kind: type, name: str) -> None:
    """A truth value is no number here."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InputError(
            f"the entry {name!r} of its facts has the wrong type ({type(value).__name__})."
        )


def _candidates(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_CANDIDATES:
        raise InputError(
            f"its candidates must be a whole number from 1 to {MOST_CANDIDATES}, got {value!r}."
        )
    return value


def _receipt(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    receipt = _table(value, "receipt")
    if not isinstance(receipt["request"], str):
        raise InputError(f"the request of its receipt must be a text, got {receipt['request']!r}.")
    return receipt


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"its entry {name!r} must be a table, got {type(value).__name__}.")
    return value


def _number(value: Any, name: str, finite: bool = True) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"its entry {name!r} must be a number, got {type(value).__name__}.")
    number = float(value)
    if math.isnan(number) or (finite and math.isinf(number)):
        raise InputError(f"its entry {name!r} must be a finite number, got {value!r}.")
    return number
