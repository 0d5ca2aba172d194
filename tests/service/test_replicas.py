"""Several services on one PostgreSQL, and a server that goes away."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
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


@pytest.mark.slow
def test_ten_seconds_without_a_server_lose_nothing(
    cluster: Cluster, postgres_urls: Urls, serving: Serving
) -> None:
    """Callers try again under their event ids, and a release is under way when it goes."""
    url = make_shop(postgres_urls())
    shop = serving(f"shop={url}")
    study_at(url).ask_many([[0.5]] * 20)
    begun = shop("POST", "/v1/studies/shop/advance", {})
    statuses: Counter[int] = Counter()
    slowest = 0.0

    def call(who: int) -> None:
        nonlocal slowest
        for i in range(5):
            while True:
                started = time.monotonic()
                found = shop.decide(event_id=f"{who}-{i}")
                slowest = max(slowest, time.monotonic() - started)
                statuses[found.status_code] += 1
                if found.status_code == 503:
                    assert found.headers["retry-after"] == "1"
                if found.status_code == 200:
                    break
                time.sleep(0.3)
            answers.append(found.json())

    answers: list[dict[str, Any]] = []
    cluster.crash()
    callers = [threading.Thread(target=call, args=(who,)) for who in range(4)]
    for caller in callers:
        caller.start()
    time.sleep(10.0)
    assert answers == []
    assert shop("GET", "/livez").status_code == 200
    assert shop("GET", "/readyz").status_code == 503
    cluster.start()
    for caller in callers:
        caller.join(timeout=60)
    assert statuses[503] > 40
    assert set(statuses) <= {200, 503}
    assert slowest < 5.0
    until = time.monotonic() + 60
    while shop("GET", begun.headers["location"]).json()["state"] != "done":
        assert time.monotonic() < until
        time.sleep(0.2)
    study = study_at(url)
    assert [charge.request for charge in study.ledger.charges()] == ["epoch 1/pass 1", "epoch 1"]
    assert study.asked == 40
    assert sorted(each["event_id"] for each in answers) == sorted(
        f"{who}-{i}" for who in range(4) for i in range(5)
    )
    for each in answers:
        assert shop.decide(event_id=each["event_id"]).json() == each


@pytest.mark.slow
def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path, serving: Serving) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("no small disk can be mounted here.")
    try:
        shop = serving(f"shop={make_shop(f'sqlite:///{disk}/shop.db', [2000, 2000])}")
        answers = {}
        statuses = set()
        for i in range(2000):
            found = shop.decide(event_id=f"{'x' * 100}{i}")
            statuses.add(found.status_code)
            if found.status_code == 503:
                break
            answers[f"{'x' * 100}{i}"] = found.json()
        assert statuses == {200, 503}
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        until = time.monotonic() + 10
        while shop.decide(event_id="more").status_code != 200:
            assert time.monotonic() < until
        asked = study_at(f"sqlite:///{disk}/shop.db").asked
        assert asked in (len(answers) + 1, len(answers) + 2)
        for id, each in answers.items():
            assert shop.decide(event_id=id).json() == each
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


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
