"""Every public name has an example in its docstring, and each of them runs."""

from __future__ import annotations

import doctest
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference_names import globals_of_examples, names_with_examples

import tacit

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
COUNT = {"examples": 0}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What docs/reference/index.md says that examples begin with."""
    names: dict[str, Any] = {"tacit": tacit, "np": np, "pd": pd}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("shared"))
        exec(globals_of_examples(), names)  # noqa: S102
    return names


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        yield


def examples_of(name: str, thing: Any) -> list[doctest.DocTest]:
    """Those of the docstring, and of the methods of a class."""
    found = doctest.DocTestFinder(recurse=inspect.isclass(thing)).find(
        thing, name, module=False, globs={}
    )
    return [each for each in found if each.examples]


@pytest.mark.parametrize(("name", "thing"), names_with_examples())
def test_a_public_name_has_an_example_that_runs(
    name: str, thing: Any, shared: dict[str, Any], tmp_path: Path
) -> None:
    found = examples_of(name, thing)
    assert found, f"the docstring of {name} has no example"
    names = dict(shared)
    url = f"sqlite:///{tmp_path}/fixture.db"
    if name in ("tacit.BudgetError",):
        names["ledger"] = tacit.Ledger.create(url, tacit.Budget(1.0, 1e-6))
    if name in ("tacit.Decision", "tacit.StateError"):
        names["study"] = tacit.Study.create(
            url, names["problem"], horizon=50, budget=names["budget"]
        )
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for each in found:
        each.globs = dict(names)
        said: list[str] = []
        runner.run(each, out=said.append)
        assert not runner.failures, "".join(said)
        COUNT["examples"] += len(each.examples)


def test_the_number_of_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{COUNT['examples']} lines of examples of the reference were executed")
    assert COUNT["examples"] > 80


def test_a_name_without_an_example_would_be_seen() -> None:
    def nothing() -> None:
        """Does nothing."""

    assert not examples_of("nothing", nothing)
