"""Mutants: one deliberate mistake in one function of the library, made and undone in this process.

A mutant names a function, a fragment of its source and what to write instead. The code of the
function is swapped in place, so that everybody who imported it runs the mistake. The mutant's
guard, an ordinary test, must then fail.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

Guard = Callable[..., None]  # a test without arguments, or one that takes `tmp_path`
LAYERS = {
    property: "fget",
    cached_property: "func",
    staticmethod: "__func__",
    classmethod: "__func__",
}


@dataclass(frozen=True)
class Mutant:
    """A mistake and the test that must see it.

    `target` is the dotted path of a function, method, property, or of a constant of a module or
    class. `old` must occur in its source exactly once, and becomes `new`. With an empty `old` the
    statement `new` is put at the beginning of the function's body, which survives any rewriting of
    the rest. For a constant, `old` and `new` are literals.
    """

    name: str
    target: str
    old: str
    new: str
    guard: Guard


def failure_under(mutant: Mutant, folder: Path) -> BaseException:
    """How the guard fails while the mutant is applied. Anything but a failed assertion is raised: a
    mutant that crashes for reasons of its own proves nothing about its guard."""
    arguments = [folder] if inspect.signature(mutant.guard).parameters else []
    with applied(mutant):
        try:
            mutant.guard(*arguments)
        except (AssertionError, pytest.fail.Exception) as failure:
            return failure
    raise AssertionError(
        f"the mutant survives: {mutant.guard.__name__} passes although {mutant.name}."
    )


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The library with the mistake in it; intact again afterwards, whatever happens."""
    owner, name = _owner(mutant.target)
    member = vars(owner)[name]
    function = _function(member)
    if function is None:
        change = _swapped_constant(mutant, owner, name, member)
    else:
        change = _swapped_code(function, _mutated(mutant, function))
    _forget_cached_results()
    try:
        with change:
            yield
    finally:
        _forget_cached_results()


@contextmanager
def _swapped_code(function: FunctionType, other: FunctionType) -> Iterator[None]:
    names = ("__code__", "__defaults__", "__kwdefaults__")
    before = {name: getattr(function, name) for name in names}
    try:
        for name in names:
            setattr(function, name, getattr(other, name))
        yield
    finally:
        for name, value in before.items():
            setattr(function, name, value)


@contextmanager
def _swapped_constant(mutant: Mutant, owner: Any, name: str, value: Any) -> Iterator[None]:
    if value != ast.literal_eval(mutant.old):
        _outdated(mutant, f"it is {value!r} and not {mutant.old}")
    setattr(owner, name, ast.literal_eval(mutant.new))
    try:
        yield
    finally:
        setattr(owner, name, value)


def _mutated(mutant: Mutant, function: FunctionType) -> FunctionType:
    """The function compiled anew, with the mistake, in the globals of its own module."""
    source = textwrap.dedent(inspect.getsource(function))
    times = source.count(mutant.old) if mutant.old else 1
    if times != 1:
        _outdated(mutant, f"the fragment {mutant.old!r} occurs {times} times, not once")
    definition = ast.parse(source.replace(mutant.old, mutant.new) if mutant.old else source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []  # the decorators keep the function object, whose code is swapped
    if not mutant.old:
        after_docstring = 1 if ast.get_docstring(definition) is not None else 0
        definition.body[after_docstring:after_docstring] = ast.parse(mutant.new).body
    # Not its own name: in the module that means the function whose code is swapped.
    definition.name = "__mutant__"
    # Free variables of the original (`__class__` of a method that calls super) are parameters of a
    # function around it.
    free = function.__code__.co_freevars
    factory = ast.parse(f"def factory({', '.join(free)}): return __mutant__").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body.insert(0, definition)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    flags = __future__.annotations.compiler_flag
    code = compile(module, f"<mutant of {mutant.target}>", "exec", flags=flags, dont_inherit=True)
    space: dict[str, Any] = {}
    exec(code, function.__globals__, space)  # noqa: S102
    made = space["factory"](*free)
    assert isinstance(made, FunctionType)
    if made.__code__.co_freevars != free:
        _outdated(mutant, f"it must use the same variables from outside, {free}")
    return made


def _owner(target: str) -> tuple[Any, str]:
    """The module or class that holds the target, and the target's name in it."""
    words = target.split(".")
    for length in range(len(words) - 1, 0, -1):
        try:
            owner: Any = import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:-1]:
            owner = getattr(owner, word, None)
        if words[-1] in getattr(owner, "__dict__", {}):
            return owner, words[-1]
    raise AssertionError(f"the mutant no longer applies: adapt it (there is no {target}).")


def _function(member: Any) -> FunctionType | None:
    """The innermost plain function behind decorators; None for a constant."""
    while not isinstance(member, FunctionType) or hasattr(member, "__wrapped__"):
        layer = next(
            (name for kind, name in LAYERS.items() if isinstance(member, kind)), "__wrapped__"
        )
        if not hasattr(member, layer):
            return None
        member = getattr(member, layer)
    return member


def _forget_cached_results() -> None:
    """What a cache of the library holds was computed by the intact code, or by the mutant."""
    for name, module in list(sys.modules.items()):
        if name == "tacit" or name.startswith("tacit."):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


def _outdated(mutant: Mutant, why: str) -> None:
    raise AssertionError(f"the mutant no longer applies: adapt it ({mutant.target}: {why}).")
