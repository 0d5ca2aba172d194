"""The public names that the reference shows with an example."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import tacit

INDEX = Path(__file__).parent.parent / "reference" / "index.md"
# Public names of rooms that `tacit` itself does not list.
FURTHER = (
    "tacit.contexts.PublicSample",
    "tacit.play",
    "tacit.planning.ValidationPlan",
    "tacit.policy.Blend",
    "tacit.policy.Cautious",
    "tacit.policy.Health",
    "tacit.sklearn.PolicyLearner",
)


def names_with_examples() -> list[tuple[str, Any]]:
    own = [(f"tacit.{name}", getattr(tacit, name)) for name in tacit.__all__]
    found = [(name, thing) for name, thing in own if name != "tacit.__version__"]
    return found + [(name, _imported(name)) for name in FURTHER]


def globals_of_examples() -> str:
    """The code that the reference says examples begin with."""
    match = re.search(r"```python\n(.*?)```", INDEX.read_text(), flags=re.DOTALL)
    assert match is not None
    return match[1]


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, last = name.rsplit(".", 1)
        return getattr(importlib.import_module(module), last)
