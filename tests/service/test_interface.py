"""The OpenAPI document is true: whatever schemathesis makes of it is answered as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from databases import make_study
from services import Address, Serving, make_shop
from tacit.service.service import CALLS
from tacit.study import Study

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Long work and streams are tested apart: they start processes, or do not end.
APART = ("advance", "release", "validate", "plan", "followStudy")
WHERE = {"study": "shop", "key": "shop", "event_id": "known", "work": "none"}


@pytest.fixture
def shop(tmp_path: Path, serving: Serving) -> Address:
    """A study in epochs, one of one release, and a policy alone."""
    url = make_shop(f"sqlite:///{tmp_path / 'shop.db'}", [200, 10_000])
    study: Any = Study.open(url)
    study.ask_many([[0.5]] * 200)
    study.advance()
    study.policy.save(tmp_path / "policy")
    other = f"sqlite:///{tmp_path / 'clinic.db'}"
    make_study(other, horizon=10_000)
    return serving(f"shop={url}", f"clinic={other}", policies=[f"alone={tmp_path / 'policy'}"])


def test_every_answer_is_as_the_document_says(shop: Address) -> None:
    schema = schemathesis.openapi.from_dict(shop("GET", "/openapi.json").json())
    schema.config.update(base_url=shop.url)
    shop.decide(event_id="known")
    tested = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if operation.definition.raw["operationId"] in APART:
            continue
        tested += 1

        @settings(
            max_examples=10,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def call(case: Any) -> None:
            for name in case.path_parameters or {}:
                if len(str(case.path_parameters[name])) % 2:  # half of them lead somewhere
                    case.path_parameters[name] = WHERE[name]
            case.call_and_validate(checks=CHECKS)

        given(case=operation.as_strategy())(call)()
    assert tested == len(CALLS) - len(APART)


def test_the_document_names_every_call_and_all_of_its_problems(shop: Address) -> None:
    document = shop("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    operations = {
        operation["operationId"]: operation
        for path in document["paths"].values()
        for operation in path.values()
    }
    assert set(operations) == {call.name for call in CALLS}
    for call in CALLS:
        assert set(map(str, call.answers)) <= set(operations[call.name]["responses"])
        if call.scope is not None:
            assert {"401", "403"} <= set(operations[call.name]["responses"])
