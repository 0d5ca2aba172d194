"""Public objects as plain data: a frozen dataclass to a JSON/TOML table and back.

dump(Matern(1.5, 0.2))  ==  {"type": "matern", "smoothness": 1.5, "lengthscale": 0.2}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.errors import InputError

Spec = dict[str, Any]


def dump(thing: Any) -> Spec:
    """`{"type": name, field: value, ...}`, fields at their default left out."""
    spec: Spec = {"type": type(thing).__name__.lower()}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if field.init and not _same(value, field.default):
            spec[field.name] = _plain(value)
    return spec


def load(spec: Any, registry: Mapping[str, type], what: str) -> Any:
    """The object that a spec describes; what is wrong with a spec is an error."""
    if not _is_spec(spec):
        raise InputError(
            f'{what} must be a table with a "type" (one of {", ".join(sorted(registry))}), got '
            f"{spec!r}."
        )
    kind = str(spec["type"]).lower()
    if kind not in registry:
        raise InputError(
            f"unknown {what} type {spec['type']!r}: choose one of {', '.join(sorted(registry))}."
        )
    cls = registry[kind]
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    given = {key: value for key, value in spec.items() if key != "type"}
    if unknown := sorted(set(given) - set(fields)):
        raise InputError(
            f"{what} {kind!r} has no field {unknown[0]!r}: it takes {', '.join(sorted(fields))}."
        )
    required = [name for name, field in fields.items() if _required(field)]
    if missing := [name for name in required if name not in given]:
        raise InputError(f"{what} {kind!r} is incomplete: it needs {', '.join(missing)}.")
    parsed = {key: _parse(value, registry, what) for key, value in given.items()}
    try:
        return cls(**parsed)
    except TypeError as error:
        raise InputError(f"{what} {kind!r} has a field of the wrong kind: {error}.") from None


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parse(value: Any, registry: Mapping[str, type], what: str) -> Any:
    if _is_spec(value):
        return load(value, registry, what)
    if isinstance(value, list) and value and all(_is_spec(v) for v in value):
        return tuple(load(v, registry, what) for v in value)
    return value


def _is_spec(value: Any) -> bool:
    return isinstance(value, Mapping) and "type" in value


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return dump(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    raise InputError(
        f"a {type(value).__name__} cannot be written to a file: use Tacit's own parts, or save it "
        "yourself."
    )


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(type(value) is type(default) and value == default)
    except ValueError:  # arrays have no one truth value
        return False
