"""Several services on one PostgreSQL, and a server that goes away."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from databases import Cluster, Urls
from services import HERE, Address, Serving, make_shop
from tacit.study import EpochStudy, Study

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")


def study_at(url: str) -> EpochStudy:
    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    return study


def at_once(*work: Any) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_services_share_horizon_epochs_and_budget_exactly(
    postgres_urls: Urls, serving: Serving
) -> None:
    url = make_shop(postgres_urls())
    services = [serving(f"shop={url}") for _ in range(2)]
    answers: list[dict[str, Any]] = []
    refused: list[int] = []

    def ask(address: Address, who: int) -> None:
        for i in range(10):
            body = {"decisions": [{"context": HERE, "event_id": f"{who}-{i}-{j}"} for j in (0, 1)]}
            found = address("POST", "/v1/studies/shop/decisions:batch", body).json()["decisions"]
            answers.extend(each["decision"] for each in found if each["decision"])
            refused.extend(each["error"]["status"] for each in found if each["error"])

    def advance() -> None:
        while study_at(url).asked < 20:
            time.sleep(0.01)
        study_at(url).advance()

    callers = [lambda a=a, who=who: ask(a, who) for who, a in enumerate(services * 2)]
    at_once(*callers, advance, advance)
    study = study_at(url)
    assert len(answers) == study.asked == 50
    assert set(refused) == {409}
    assert len(refused) == 30
    assert sorted(each["epoch"] for each in answers) == [1] * 20 + [2] * 30
    assert [charge.request for charge in study.ledger.charges()] == ["epoch 1/pass 1", "epoch 1"]
    for address in services:  # the same answers, whoever is asked
        for each in answers[:3]:
            again = address.decide(event_id=each["event_id"]).json()
            assert again == each
    at_once(*(lambda a=a: a.reward(answers[-1]["event_id"], 0.5) for a in services))
    assert {address.reward(answers[-1]["event_id"], 0.5).status_code for address in services} == {
        204
    }


def test_every_service_notices_within_a_second_that_an_epoch_was_opened(
    postgres_urls: Urls, serving: Serving
) -> None:
    url = make_shop(postgres_urls())
    services = [serving(f"shop={url}") for _ in range(2)]
    study = study_at(url)
    study.ask_many([[0.5]] * 20)
    study.advance()
    until = time.monotonic() + 1.0
    for address in services:
        assert address.decide().json()["policy"] == "law-2"  # at once, where it counts
        while address("GET", "/v1/studies/shop/policy").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_a_server_that_goes_away_is_said_and_nothing_is_lost(
    cluster: Cluster, postgres_urls: Urls, serving: Serving
) -> None:
    url = make_shop(postgres_urls())
    shop = serving(f"shop={url}")
    first = shop.decide(event_id="before").json()
    cluster.crash()
    down = shop.decide(event_id="during")
    assert down.status_code == 503
    assert down.headers["retry-after"] == "1"
    assert shop.reward("before", 0.5).status_code == 503
    assert shop("GET", "/livez").status_code == 200
    until = time.monotonic() + 5
    while shop("GET", "/readyz").status_code != 503:
        assert time.monotonic() < until
        time.sleep(0.05)
    cluster.start()
    until = time.monotonic() + 5
    while shop.decide(event_id="during").status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert shop.decide(event_id="before").json() == first
    assert shop.reward("before", 0.5).status_code == 204
    while shop("GET", "/readyz").status_code != 200:
        assert time.monotonic() < until + 5
        time.sleep(0.05)
    assert study_at(url).asked == 2


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps_changes_no_answer_and_stops_nothing(
    sqlite_urls: Urls, serving: Serving, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    shop = serving(f"shop={make_shop(sqlite_urls())}")
    first = shop.decide(event_id="a").json()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + jump)
    found: Any = shop.service.studies["shop"]
    found.desk.store.clock = time.time
    assert shop.decide(event_id="a").json() == first
    assert shop.decide(event_id="b").status_code == 200
    assert shop.reward("a", 0.5).status_code == 204
    assert shop("GET", "/readyz").status_code == 200
