"""The client against the real service: with it, without it, and in between."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from databases import Urls
from services import HERE, Address, Serving, make_shop
from tacit.client import (
    AsyncClient,
    Client,
    ClientOptions,
    RefusedError,
    ServiceUnavailableError,
)
from tacit.client.outbox import Outbox
from tacit.core.database import connect
from tacit.errors import InputError
from tacit.service.keys import Keys
from tacit.study import EpochStudy, Study
from tacit_lab.loads.servers import free_port

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")
DEFAULT = {"x": 0.125}


def study_at(url: str) -> EpochStudy:
    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    return study


def rewards(url: str) -> dict[str, float]:
    study = study_at(url)
    pages = study._epochs.rounds(0, study.asked)
    return {row.id: row.reward for _, rows in pages for row in rows if row.told}


def until(what: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def url(sqlite_urls: Urls) -> str:
    return make_shop(sqlite_urls())


@pytest.fixture
def shop(url: str, serving: Serving) -> Address:
    return serving(f"shop={url}")


def test_a_client_decides_and_rewards(shop: Address, url: str) -> None:
    with Client(shop.url, "shop") as client:
        decision = client.decide(HERE)
        assert decision.counts
        assert decision.epoch == 1
        client.reward(decision, 1.0)
        client.reward(decision.id, 1.0)
        with pytest.raises(RefusedError, match="another reward") as caught:
            client.reward(decision, 0.0)
        assert caught.value.status == 409
        shown = client.decide(HERE, event_id="a", defer=True)
        client.activate(shown)
        with pytest.raises(RefusedError, match="lacks 'c'"):
            client.decide({}, default=DEFAULT)
    assert rewards(url) == {decision.id: 1.0}
    assert study_at(url).asked == 2


def test_the_caller_decides_where_the_service_is_down() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", "shop") as client:
        decision = client.decide(HERE, default=DEFAULT)
        assert decision.action == DEFAULT
        assert not decision.counts
        client.reward(decision, 1.0)
        with pytest.raises(ServiceUnavailableError, match="does not answer"):
            client.decide(HERE)


def test_rewards_wait_on_disk_and_are_delivered_once(
    tmp_path: Path, url: str, serving: Serving
) -> None:
    shop = serving(f"shop={url}")
    ids = [shop.decide().json()["event_id"] for _ in range(5)]
    options = ClientOptions(outbox=tmp_path / "outbox.db", timeout=1.0, tries=1)
    with Client(f"http://127.0.0.1:{free_port()}", "shop", options=options) as client:
        for i, id in enumerate(ids):
            client.reward(id, i / 4)
        client.reward(ids[0], 0.9)  # the first one stays
        client.reward("nobody", 1.0)
    assert (tmp_path / "outbox.db").stat().st_mode & 0o077 == 0
    assert rewards(url) == {}
    shop.reward(ids[1], 0.25)  # as if an answer had been lost
    with Client(shop.url, "shop", options=options) as client:
        until(lambda: len(client.outbox or ()) == 0)
        assert client.outbox is not None
        assert client.outbox.refused() == [("nobody", 404)]
    assert rewards(url) == {id: pytest.approx(2 * (i / 4) - 1) for i, id in enumerate(ids)}


def test_an_outbox_keeps_what_a_better_key_could_deliver(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox.db")
    outbox.put("a", 1.0)
    for status in (401, 403, 429, 500, 503):
        assert not outbox.settle("a", status)
        assert len(outbox) == 1
    assert outbox.settle("a", 204)
    assert len(outbox) == 0
    outbox.close()


def test_a_policy_that_was_fetched_decides_without_requests(
    shop: Address, url: str, serving: Serving
) -> None:
    study = study_at(url)
    study.ask_many([[0.5]] * 20)
    study.advance()
    until(lambda: shop("GET", "/v1/studies/shop/policy").status_code == 200)
    options = ClientOptions(local=True, refresh=0.0, tries=1, timeout=1.0)
    with Client(shop.url, "shop", options=options) as client:
        decision = client.decide(HERE)
        assert decision.source == "local"
        assert decision.action == study.policy.decide(HERE)
        assert client.decide(HERE).action == decision.action  # not changed: 304
        client._http.base_url = f"http://127.0.0.1:{free_port()}"
        assert client.decide(HERE).action == decision.action  # although the service is down
    assert study_at(url).asked == 20


def test_where_nothing_is_released_the_service_decides(shop: Address) -> None:
    with Client(shop.url, "shop", options=ClientOptions(local=True)) as client:
        assert client.decide(HERE).source == "service"


def test_the_same_for_asyncio(tmp_path: Path, url: str, serving: Serving) -> None:
    key = Keys(connect(url)).create("shop", ["decide", "reward", "read"])
    shop = serving(f"shop={url}")

    async def use() -> list[Any]:
        options = ClientOptions(outbox=tmp_path / "outbox.db")
        async with AsyncClient(shop.url, "shop", key=key, options=options) as client:
            decision = await client.decide(HERE)
            await client.reward(decision, 1.0)
            shown = await client.decide(HERE, event_id="a", defer=True)
            await client.activate(shown)
            while await client.deliver():
                await asyncio.sleep(0.02)
        quick = ClientOptions(local=True, tries=1)
        async with AsyncClient(shop.url, "shop", key=key, options=quick) as client:
            assert (await client.decide(HERE)).source == "service"
            await client.reward(decision, 1.0)
        async with AsyncClient(shop.url, "shop", options=quick) as client:
            with pytest.raises(RefusedError, match="needs a key"):
                await client.decide(HERE)
        async with AsyncClient(f"http://127.0.0.1:{free_port()}", "shop") as client:
            assert (await client.decide(HERE, default=DEFAULT)).action == DEFAULT
            with pytest.raises(ServiceUnavailableError):
                await client.decide(HERE)
        return [decision.id]

    (id,) = asyncio.run(use())
    assert rewards(url) == {id: 1.0}


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="at least one try"):
        ClientOptions(tries=0)
