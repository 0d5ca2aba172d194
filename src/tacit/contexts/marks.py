"""Marks of what is not private. Whatever refers to a marked thing is marked too.

A mark is an attribute `private` that is False. A simulated `Guarantee` has it, and so has every
generator and policy that was learned with a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

# References that are followed from a thing to a mark: say, from a method to its object, to a list
# in that, to a generator in the list, to its guarantee.
MOST_STEPS = 12
MOST_THINGS = 10_000  # that are looked at
MOST_PARTS = 64  # of a container; a longer one is data
PLAIN = (ModuleType, type, str, bytes, int, float, complex, type(None))


def is_private(thing: Any) -> bool:
    """Whether neither the thing nor anything that it refers to is marked as not private.

    Followed are the fields of objects, the object of a method, what a `functools.partial` holds,
    and the variables and defaults of a function. Plain numbers carry no mark: a table that was
    drawn from a marked generator has lost it.
    """
    known: dict[int, Any] = {}
    near = {id(thing): thing}
    for _ in range(MOST_STEPS):
        if not all(_unmarked(part) for part in near.values()):
            return False
        known |= near
        inner = [part for whole in near.values() for part in _parts(whole)]
        new = (part for part in inner if id(part) not in known and not isinstance(part, PLAIN))
        near = {id(part): part for part in islice(new, MOST_THINGS - len(known))}
    return True


def _unmarked(thing: Any) -> bool:
    with suppress(Exception):  # whatever attributes of somebody else's class raise
        return getattr(thing, "private", True) is not False
    return True


def _parts(thing: Any) -> Iterator[Any]:
    """What a thing refers to."""
    if isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        yield from (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
        yield from _contents(thing.__closure__ or ())
        yield from (
            thing.__globals__[name] for name in _names(thing.__code__) if name in thing.__globals__
        )
    elif isinstance(thing, dict):
        yield from islice(thing.values(), MOST_PARTS)
    elif isinstance(thing, list | tuple):
        yield from thing[:MOST_PARTS]
    else:
        yield from list(getattr(thing, "__dict__", {}).values())


def _contents(cells: tuple[CellType, ...]) -> Iterator[Any]:
    for cell in cells:
        with suppress(ValueError):  # a variable that has no value yet
            yield cell.cell_contents


def _names(code: CodeType) -> Iterator[str]:
    """The global names that a function uses, also in functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
