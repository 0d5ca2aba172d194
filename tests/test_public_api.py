"""The public names: few parameters, plain types, and spending that shows in the name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from helpers import ROOT

MOST = 8
# `tacit.fit` and `tacit.evaluate` have one parameter for each thing that they must be told, and two
# objects of options;
# `Study.create` has one for each share of the traffic, and `plan` two of its parameters.
WIDER = {"tacit.fit": 13, "tacit.evaluate": 12, "tacit.Study.create": 15, "tacit.plan": 10}


def public_callables() -> Iterator[tuple[str, Any]]:
    """Public functions, and the public methods of public classes. Constructors of dataclasses are
    lists of fields, which are not counted."""
    for name in tacit.__all__:
        value = getattr(tacit, name)
        if inspect.isfunction(value):
            yield f"tacit.{name}", value
        if inspect.isclass(value) and not issubclass(value, Exception):
            for method, function in inspect.getmembers(value, callable):
                if not method.startswith("_") and inspect.isroutine(function):
                    yield f"tacit.{name}.{method}", function


def parameters(function: Any) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [parameter for parameter in found if parameter.name not in ("self", "cls")]


@pytest.mark.parametrize(("name", "function"), list(public_callables()))
def test_a_public_function_has_few_parameters_and_says_which(name: str, function: Any) -> None:
    found = parameters(function)
    assert len(found) <= WIDER.get(name, MOST)
    if not name.endswith(".of"):  # whose keywords are the names of columns
        assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in found)


def test_a_function_with_nine_parameters_would_be_seen() -> None:
    def wide(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int) -> None: ...

    assert len(parameters(wide)) > MOST


def test_public_names_are_all_there_and_say_what_they_are() -> None:
    for name in tacit.__all__:
        value = getattr(tacit, name)
        assert name == "__version__" or value.__doc__, name


def test_passes_have_one_default_everywhere() -> None:
    from tacit.planning import plan

    for function in (tacit.fit, tacit.Design.build, tacit.Study.create, plan):
        assert inspect.signature(function).parameters["passes"].default == 2


SPENDERS = ("release", "spend", "fit")


def spending(source: str) -> set[str]:
    """Functions of a module that call the core's ways to spend: `release_gaussian`,
    `release_choice`, or a ledger's `spend`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            called = ast.unparse(call.func).split(".")[-1]
            if called in ("release_gaussian", "release_choice", "spend"):
                found.add(node.name)
    return found


def test_what_costs_budget_is_called_release_or_spend() -> None:
    for path in (ROOT / "src" / "tacit").rglob("*.py"):
        for name in spending(path.read_text()):
            if path.parent.name == "audit":
                continue  # attacks spend on ledgers of their own
            assert name.startswith(SPENDERS), f"{path.name}: {name}"


def test_a_spender_with_another_name_would_be_seen(tmp_path: Path) -> None:
    source = "def decide_once(ledger):\n    return release_choice(ledger)\n"
    assert spending(source) == {"decide_once"}
    assert not "decide_once".startswith(SPENDERS)
