"""The OpenAPI 3.1 document, made from the calls and the types of their bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from tacit._version import __version__
from tacit.service.calls import JSON, Call
from tacit.service.schemas import EVENT_ID, Problem

PROBLEM = "application/problem+json"
# What any call may answer: its key is missing or wrong, its address or method is.
ALWAYS = (405, 413)
KEYED = (401, 403, 429)


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """The whole interface."""
    types = _types(calls)
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit decision service",
            "version": __version__,
            "description": "Decisions that are durable before they are answered, and private.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(calls: Sequence[Call]) -> list[Any]:
    found: list[Any] = [Problem]
    for call in calls:
        wanted = [call.body, *call.answers.values()]
        found += [each for each in wanted if _is_struct(each) and each not in found]
    return found


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(call: Call) -> dict[str, Any]:
    answers = {str(status): _answer(call, status, kind) for status, kind in call.answers.items()}
    problems = {*call.problems, *ALWAYS, *(KEYED if call.scope else ())}
    if call.body is not None:
        problems |= {400, 422}
    for status in sorted(problems):
        told = answers.setdefault(str(status), {"description": HTTPStatus(status).phrase})
        told.setdefault("content", {})[PROBLEM] = {"schema": _reference(Problem)}
    found: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary,
        "parameters": _parameters(call),
        "responses": answers,
    }
    if call.scope is not None or 401 in problems:
        found["security"] = [{"key": []}, {}]
    if call.body is not None:
        content = {JSON: {"schema": _reference(call.body)}}
        found["requestBody"] = {"required": call.body_needed, "content": content}
    return found


def _parameters(call: Call) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in re.findall(r"{(\w+)}", call.path):
        schema: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
        if name == "event_id":
            schema = {"type": "string", "pattern": EVENT_ID}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    text = {"type": "string"}
    return found + [{"name": name, "in": "header", "schema": text} for name in call.headers]


def _answer(call: Call, status: int, kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if kind is not None:
        found["content"] = {call.media: {"schema": _reference(kind)}}
    return found


def _reference(kind: Any) -> dict[str, Any]:
    if _is_struct(kind):
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    if kind is bytes:
        return {"type": "string", "format": "binary"}
    if kind is str:
        return {"type": "string"}
    return {"type": "object"}
