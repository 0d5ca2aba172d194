"""The page of the HTTP interface, from its OpenAPI document."""

from __future__ import annotations

import json
from typing import Any

HEAD = """# The HTTP interface

Made from the OpenAPI {openapi} document that a running service has at `/openapi.json`
({{download}}`openapi.json`). How to run and secure the service is in
[the decision service](../../service.md).

Errors are `application/problem+json` (RFC 9457), one sentence each. Where the service has keys a
request carries one, as `Authorization: Bearer KEY` or `X-API-Key: KEY`.
"""
METHODS = ("get", "post", "put", "patch", "delete")


def http_page(about: dict[str, Any]) -> str:
    parts = [HEAD.format(openapi=about["openapi"])]
    for path, methods in about["paths"].items():
        known = [method for method in METHODS if method in methods]
        parts += [_operation(path, method, methods[method]) for method in known]
    parts.append("## Bodies\n")
    for name, schema in sorted(about["components"]["schemas"].items()):
        parts.append(_schema(name, schema))
    return "\n".join(parts)


def _operation(path: str, method: str, about: dict[str, Any]) -> str:
    lines = [f"## {method.upper()} {path}", "", about["summary"], ""]
    if about["parameters"]:
        lines += ["| parameter | where | type |", "|---|---|---|"]
        for each in about["parameters"]:
            lines.append(f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} |")
        lines.append("")
    body = about.get("requestBody")
    if body is not None:
        schema = body["content"]["application/json"]["schema"]
        needed = "" if body["required"] else " (optional)"
        lines += [f"Body{needed}: {_type(schema)}", ""]
    lines += ["| status | meaning | answer |", "|---|---|---|"]
    for status, answer in sorted(about["responses"].items()):
        kinds = [_type(each["schema"]) for each in answer.get("content", {}).values()]
        lines.append(f"| {status} | {answer['description']} | {', '.join(kinds)} |")
    return "\n".join([*lines, ""])


def _schema(name: str, about: dict[str, Any]) -> str:
    lines = [f"(body-{name.lower()})=", f"### {name}", "", about.get("description", ""), ""]
    properties = about.get("properties", {})
    if properties:
        needed = about.get("required", [])
        lines += ["| field | type | |", "|---|---|---|"]
        for field, schema in properties.items():
            state = "needed" if field in needed else f"default {_default(schema)}"
            lines.append(f"| `{field}` | {_type(schema)} | {state} |")
    return "\n".join([*lines, ""])


def _default(schema: dict[str, Any]) -> str:
    return f"`{json.dumps(schema.get('default'))}`"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#body-{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f'`"{each}"`' for each in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array of {_type(schema.get('items', {}))}"
    limits = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "at least"), ("maximum", "at most"), ("pattern", "matches"))
        if key in schema and key != "pattern"
    ]
    if "pattern" in schema:
        limits.append(f"matches `{schema['pattern'].replace('|', chr(92) + '|')}`")
    return ", ".join([str(kind), *limits])
