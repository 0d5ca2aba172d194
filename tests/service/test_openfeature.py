"""The real OpenFeature SDK, with its provider for remote evaluation, gets decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

import tacit
from databases import Urls
from helpers import BUDGET, SMALL, create_study
from services import Address, Serving, make_shop
from tacit.core.database import connect
from tacit.service.keys import Keys
from tacit.study import Study

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")
VISIT = EvaluationContext(attributes={"c": 0.5, "browser": "lynx"})


@pytest.fixture
def shop(sqlite_urls: Urls, serving: Serving) -> Iterator[Address]:
    yield serving(f"shop={make_shop(sqlite_urls())}")
    api.shutdown()


def features(address: Address, key: str | None = None) -> Any:
    headers = None if key is None else lambda: {"Authorization": f"Bearer {key}"}
    api.set_provider(OFREPProvider(address.url, headers_factory=headers))
    return api.get_client()


def test_a_flag_is_a_decision_and_its_metadata_name_the_round(shop: Address) -> None:
    details = features(shop).get_object_details("shop", {}, VISIT)
    assert details.error_code is None
    assert 0 <= details.value["x"] <= 1
    assert details.reason == "SPLIT"
    assert shop.reward(details.flag_metadata["event_id"], 0.5).status_code == 204
    assert details.flag_metadata["epoch"] == 1


def test_one_column_of_an_action_is_a_flag_of_its_own(shop: Address) -> None:
    client = features(shop)
    visit = EvaluationContext(attributes={"c": 0.5, "event_id": "visit-1"})
    x = client.get_float_value("shop.x", -1.0, visit)
    assert client.get_object_value("shop", {}, visit) == {"x": x}  # the same round


def test_labels_are_strings(sqlite_urls: Urls, serving: Serving) -> None:
    problem = tacit.Problem(tacit.Mixed.of(offer=["a", "b"]), tacit.Box.of(c=(0, 1)))
    url = sqlite_urls()
    create_study(url, problem, horizon=50, budget=BUDGET, **SMALL)
    address = serving(f"shop={url}")
    details = features(address).get_string_details("shop.offer", "none", VISIT)
    assert details.value in ("a", "b")
    assert details.variant == details.value
    api.shutdown()


def test_what_cannot_be_decided_is_the_callers_default(shop: Address) -> None:
    client = features(shop)
    missing = client.get_object_details("nothing", {"x": 9}, VISIT)
    assert (missing.value, missing.error_code) == ({"x": 9}, ErrorCode.FLAG_NOT_FOUND)
    wrong = client.get_object_details("shop", {"x": 9}, EvaluationContext())
    assert (wrong.value, wrong.error_code) == ({"x": 9}, ErrorCode.INVALID_CONTEXT)


def test_users_are_targeting_keys_and_keys_are_headers(sqlite_urls: Urls, serving: Serving) -> None:
    url = make_shop(sqlite_urls(), unit="user")
    key = Keys(connect(url)).create("shop", ["decide"])
    address = serving(f"shop={url}")
    user = EvaluationContext(targeting_key="u1", attributes={"c": 0.5})
    assert features(address).get_object_details("shop", {}, user).error_code == ErrorCode.GENERAL
    client = features(address, key)
    nobody = client.get_object_details("shop", {}, VISIT)
    assert nobody.error_code == ErrorCode.TARGETING_KEY_MISSING
    assert client.get_object_details("shop", {}, user).flag_metadata["epoch"] == 1
    api.shutdown()


def test_who_fetches_all_flags_asks_no_round_until_one_is_shown(shop: Address) -> None:
    path = "/ofrep/v1/evaluate/flags"
    (flag,) = shop("POST", path, {"context": {"c": 0.5}}).json()["flags"]
    found: Any = shop.service.studies["shop"]
    assert Study.open(found.url).asked == 0
    id = flag["metadata"]["event_id"]
    assert shop("POST", f"/v1/decisions/{id}/activate").status_code == 204
    assert Study.open(found.url).asked == 1
    (failed,) = shop("POST", path, {}).json()["flags"]
    assert failed["errorCode"] == "INVALID_CONTEXT"
