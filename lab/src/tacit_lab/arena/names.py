"""From a name to a learner or an environment.

A name is a key of the registry, or `file.py:Name` or `module:Name` for somebody's own. An
environment's name may end in `@none` or `@wrong`: what the learner is told about the contexts.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit._typing import Rng
from tacit.errors import InputError
from tacit_lab.arena.environments import ENVIRONMENTS, VARIANTS
from tacit_lab.arena.protocol import Environment, Learner


def known_learners() -> dict[str, type[Learner]]:
    from tacit_lab.arena.learners import LEARNERS

    return LEARNERS


def learner_named(name: str) -> type[Learner]:
    known = known_learners()
    found = known[name] if name in known else _own(name, known, "learner")
    if not (isinstance(found, type) and issubclass(found, Learner)):
        raise InputError(
            f"{name} must be a subclass of tacit_lab.arena.Learner, got {type(found).__name__}."
        )
    return found


def environment_named(
    name: str,
) -> tuple[Callable[[Rng], Environment], Callable[[Environment], Environment]]:
    """What draws it, and what changes the learner's knowledge of the contexts."""
    base, variant = base_and_variant(name)
    if variant not in VARIANTS:
        raise InputError(f"{name} ends in @{variant}, which is none of @{', @'.join(VARIANTS)}.")
    found = ENVIRONMENTS[base] if base in ENVIRONMENTS else _own(base, ENVIRONMENTS, "environment")
    if not callable(found):
        raise InputError(
            f"{name} must be a function of a random generator, got {type(found).__name__}."
        )
    return found, VARIANTS[variant]


def base_and_variant(name: str) -> tuple[str, str]:
    base, _, variant = name.partition("@")
    return base, variant or "public"


def is_private(name: str) -> bool:
    """Whether epsilon means anything to this learner."""
    return learner_named(name).counterpart is not None


def own_name(name: str) -> str:
    """The same wherever the file lies: what random numbers are seeded with."""
    return name.rpartition(":")[2]


def _own(name: str, known: Iterable[str], what: str) -> Any:
    place, _, attribute = name.rpartition(":")
    if not place:
        raise InputError(
            f"there is no {what} {name!r}: it is one of {', '.join(known)}; "
            "your own is file.py:Name or module:Name."
        )
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    if not hasattr(module, attribute):
        raise InputError(f"{place} has no {attribute}: name the {what} that is defined there.")
    return getattr(module, attribute)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"the module {name} cannot be imported ({error}): is it installed?"
        ) from None


def _file(path: Path) -> ModuleType:
    file = str(path.resolve())
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return module
    name = f"tacit_arena_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path} is not there: pass the path of a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(f"{path} cannot be loaded ({type(error).__name__}: {error}).") from error
    return module
