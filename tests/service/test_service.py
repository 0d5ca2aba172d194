"""The decision service: every call, and what it refuses."""

from __future__ import annotations

import io
import re
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import OperationalError

import tacit
from databases import Urls, make_study
from services import HERE, NO_TLS, Address, Serving, make_shop
from tacit.core.database import connect
from tacit.core.events import PermuteAndFlip
from tacit.epochs import cohort_of
from tacit.policy.archives import unpacked
from tacit.service import worker
from tacit.service.keys import Keys
from tacit.service.supervisor import STALE_SECONDS, Supervisor
from tacit.service.work import Work, Works
from tacit.service.worker import perform_work
from tacit.study import EpochStudy, Study
from tacit.study.store import deferred_table

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")


@pytest.fixture
def shop(sqlite_urls: Urls, serving: Serving) -> Address:
    return serving(f"shop={make_shop(sqlite_urls())}")


def study_of(address: Address) -> EpochStudy:
    found: Any = address.service.studies["shop"]
    study = Study.open(found.url)
    assert isinstance(study, EpochStudy)
    return study


# -- decisions ------------------------------------------------------------------------------------


def test_a_decision_is_on_disk_when_it_is_answered(shop: Address) -> None:
    answer = shop.decide().json()
    assert answer["mode"] == "explore"
    assert answer["epoch"] == 1
    assert answer["propensity"] == 1.0
    assert 0 <= answer["action"]["x"] <= 1
    study = study_of(shop)
    assert study.asked == 1
    study.tell(answer["event_id"], 0.5)


def test_the_same_event_id_and_body_get_the_same_answer(shop: Address) -> None:
    first = shop.decide(event_id="visit-1")
    again = shop.decide(event_id="visit-1")
    assert first.json() == again.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert study_of(shop).asked == 1


def test_another_body_under_the_same_event_id_is_refused(shop: Address) -> None:
    shop.decide(event_id="visit-1")
    other = shop.decide(event_id="visit-1", context={"c": 0.25})
    assert other.status_code == 422
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["type"] == "urn:tacit:problem:request-conflict"


def test_many_at_once_keep_their_order_and_fail_one_by_one(shop: Address) -> None:
    asked = [{"context": HERE, "event_id": f"v{i}"} for i in range(4)]
    asked[2] = {"context": {}}
    found = shop("POST", "/v1/studies/shop/decisions:batch", {"decisions": asked})
    items = found.json()["decisions"]
    assert [item["decision"] and item["decision"]["event_id"] for item in items] == [
        "v0",
        "v1",
        None,
        "v3",
    ]
    assert items[2]["error"]["status"] == 422
    assert study_of(shop).asked == 3


def test_callers_at_once_get_rounds_of_their_own(shop: Address) -> None:
    found: list[str] = []

    def ask() -> None:
        found.extend(shop.decide().json()["event_id"] for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 20
    assert study_of(shop).asked == 20


# -- rewards --------------------------------------------------------------------------------------


def test_a_reward_is_taken_once(shop: Address) -> None:
    id = shop.decide().json()["event_id"]
    assert shop.reward(id, 0.7).status_code == 204
    assert shop.reward(id, 0.7).status_code == 204
    assert shop.reward(id, 0.6).status_code == 409
    assert shop.reward("nobody", 0.7).status_code == 404
    (rows,) = [rows for _, rows in study_of(shop)._epochs.rounds(0, 1)]
    assert rows[0].told == 1
    assert rows[0].reward == pytest.approx(0.4)  # 0.7 of [0, 1], scaled


def test_a_reward_that_comes_too_late_is_gone(shop: Address) -> None:
    ids = [shop.decide().json()["event_id"] for _ in range(20)]
    shop.reward(ids[0], 0.5)
    study_of(shop).advance()
    assert shop.reward(ids[1], 0.5).status_code == 410
    assert shop.reward(ids[0], 0.5).status_code == 204  # was taken in time, and is repeated


def test_a_deferred_decision_counts_once_it_is_activated(shop: Address) -> None:
    first = shop.decide(event_id="a", defer_activation=True).json()
    assert first["epoch"] is None
    assert study_of(shop).asked == 0
    assert shop.reward("a", 0.5).status_code == 409
    for _ in range(2):
        assert shop("POST", "/v1/decisions/a/activate").status_code == 204
    assert study_of(shop).asked == 1
    assert shop.reward("a", 0.5).status_code == 204
    assert shop.decide(event_id="a", defer_activation=True).json() == first
    assert shop("POST", "/v1/decisions/nobody/activate").status_code == 404


def test_a_deferred_decision_of_an_old_law_does_not_count(shop: Address) -> None:
    shop.decide(event_id="a", defer_activation=True)
    for _ in range(20):
        shop.decide()
    study_of(shop).advance()
    assert shop("POST", "/v1/decisions/a/activate").status_code == 410
    assert study_of(shop).asked == 20


def test_deferred_decisions_that_were_never_activated_are_forgotten(shop: Address) -> None:
    """Those of the law before are kept, so that who comes too late is told; then all are gone."""
    engine = study_of(shop)._epochs.engine
    kept = select(func.count()).select_from(deferred_table)
    for name in ("a", "b"):
        shop.decide(event_id=name, defer_activation=True)
    assert shop("POST", "/v1/decisions/b/activate").status_code == 204
    study_of(shop).ask_many([[0.5]] * 19)
    study_of(shop).advance()
    with engine.connect() as connection:
        assert connection.execute(kept).scalar_one() == 1
    shop.decide(event_id="c", defer_activation=True)
    study_of(shop).ask_many([[0.5]] * 30)
    study_of(shop).advance()
    with engine.connect() as connection:
        assert connection.execute(kept).scalar_one() == 0
    assert shop("POST", "/v1/decisions/a/activate").status_code == 404
    assert study_of(shop).asked == 50
    after = shop.decide(event_id="d", defer_activation=True).json()
    assert after["policy"] == "epoch-2"  # which decides, and defers nothing
    with engine.connect() as connection:
        assert connection.execute(kept).scalar_one() == 0
    repeated = shop.decide(event_id="b", defer_activation=True).json()
    assert repeated["policy"] == "law-1"  # it was activated, and stays


# -- a whole study --------------------------------------------------------------------------------


def test_a_study_goes_from_its_first_decision_to_its_policy(shop: Address) -> None:
    for _ in range(20):
        shop.reward(shop.decide().json()["event_id"], 0.5)
    done = shop.work("advance", {})
    assert done["state"] == "done"
    assert done["result"]["advanced"]
    assert done["result"]["epoch"] == 2
    within_a_second(lambda: shop.decide().json()["policy"] == "law-2")
    epochs = shop("GET", "/v1/studies/shop/history").json()["epochs"]
    assert [epoch["stage"] for epoch in epochs] == ["released", "open"]
    ledger = shop("GET", "/v1/ledgers/shop").json()
    assert [charge["request"] for charge in ledger["charges"]] == ["epoch 1/pass 1", "epoch 1"]
    for _ in range(29):
        shop.decide()
    assert shop.decide().status_code == 409  # full
    study_of(shop).advance()
    within_a_second(lambda: shop.decide().json().get("mode") == "exploit")
    free = shop.decide().json()
    assert free["epoch"] is None
    policy = study_of(shop).policy
    assert free["action"] == pytest.approx(policy.decide(HERE))


def test_the_policy_can_be_fetched_and_is_the_one_that_was_released(shop: Address) -> None:
    assert shop("GET", "/v1/studies/shop/policy").status_code == 409
    for _ in range(20):
        shop.decide()
    study = study_of(shop)
    study.advance()
    path = "/v1/studies/shop/policy"
    within_a_second(lambda: shop("GET", path).status_code == 200)
    found = shop("GET", path)
    assert sorted(zipfile.ZipFile(io.BytesIO(found.content)).namelist()) == [
        "policy.json",
        "policy.npz",
    ]
    assert unpacked(found.content).decide(HERE) == study.policy.decide(HERE)
    assert shop("GET", path, If_None_Match=found.headers["etag"]).status_code == 304


def test_others_are_told_when_an_epoch_is_opened(shop: Address) -> None:
    for _ in range(20):
        shop.decide()
    heard: list[str] = []
    with httpx.stream(
        "GET", f"{shop.url}/v1/studies/shop/events", timeout=10, verify=NO_TLS
    ) as stream:
        lines = stream.iter_lines()
        next(lines)
        study_of(shop).advance()
        started = time.monotonic()
        for line in lines:
            heard.append(line)
            if "policy" in line and "data" in line:
                break
        assert time.monotonic() - started < 1.5
    assert "event: epoch" in heard
    assert "event: policy" in heard


def test_work_is_begun_once_and_one_at_a_time(
    shop: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.supervisor.Supervisor.look", lambda self: None)
    for _ in range(20):
        shop.decide()
    path = "/v1/studies/shop/advance"
    first = shop("POST", path, {}, Idempotency_Key="monday").json()
    again = shop("POST", path, {}, Idempotency_Key="monday").json()
    assert first["id"] == again["id"]
    assert shop("POST", path, {"early": True}, Idempotency_Key="monday").status_code == 422
    assert shop("POST", path, {}, Idempotency_Key="tuesday").status_code == 409
    assert shop("POST", "/v1/studies/shop/release", {}).status_code == 409
    assert shop("GET", "/v1/studies/shop/work/none").status_code == 404


def test_work_that_was_left_by_a_dead_process_is_taken_up(sqlite_urls: Urls) -> None:
    """Its beat stands still. Work whose beat grows is left alone."""
    now = 0.0
    url = make_shop(sqlite_urls())
    Study.open(url).ask_many([[0.5]] * 20)
    works = Works(connect(url))
    begun: list[Work] = []

    class Watched(Supervisor):
        def _start(self, work: Work) -> None:
            begun.append(work)

    supervisor = Watched(works, url, clock=lambda: now)
    left = works.begin("advance", {}, "left")
    assert works.claim(left.id, left.beat)  # by a process that works on it,
    for beat in range(1, 4):
        supervisor.look()
        now += STALE_SECONDS - 1
        assert works.beat(left.id, beat, "")
    assert begun == []
    supervisor.look()
    now += STALE_SECONDS + 1  # and then dies
    supervisor.look()
    assert [work.id for work in begun] == [left.id]
    perform_work(url, left.id, begun[0].beat)
    done = works.get(left.id)
    assert done.state == "done"
    assert done.result is not None
    assert done.result["advanced"]
    assert not works.beat(left.id, begun[0].beat, "")  # whoever had it sees that
    perform_work(url, left.id, begun[0].beat)  # and who comes late does nothing
    assert len(Study.open(url).ledger.charges()) == 2


def test_work_goes_on_once_a_database_that_was_away_answers(
    sqlite_urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_shop(sqlite_urls())
    Study.open(url).ask_many([[0.5]] * 20)
    works = Works(connect(url))
    work = works.begin("advance", {}, None)
    away = [OperationalError("", {}, Exception()) for _ in range(3)]
    done = worker.done

    def sometimes(*given: Any) -> dict[str, Any]:
        if away:
            raise away.pop()
        return done(*given)

    monkeypatch.setattr(worker, "done", sometimes)
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0.0)
    perform_work(url, work.id, work.beat)
    assert away == []
    assert works.get(work.id).state == "done"
    assert len(Study.open(url).ledger.charges()) == 2
    away.append(OperationalError("", {}, Exception()))
    monkeypatch.setattr(worker, "PATIENCE_SECONDS", -1.0)
    with pytest.raises(OperationalError):  # so that another process takes it up
        worker.patiently(sometimes)


def test_work_that_fails_says_why(sqlite_urls: Urls) -> None:
    url = make_shop(sqlite_urls())
    works = Works(connect(url))
    work = works.begin("release", {}, None)
    perform_work(url, work.id, work.beat)
    failed = works.get(work.id)
    assert failed.state == "failed"
    assert failed.result is not None
    assert failed.result["status"] == 409
    assert "advance()" in failed.result["detail"]


def test_a_validation_epoch_is_planned_as_long_work(sqlite_urls: Urls, serving: Serving) -> None:
    url = make_shop(sqlite_urls(), baseline={"x": 0.5}, control=0.1)
    works = Works(connect(url))
    work = works.begin("validate", {"rounds": 40, "split": 0.5}, None)
    perform_work(url, work.id, work.beat)
    assert works.get(work.id).result == {"epoch": 2}
    Study.open(url).ask_many([[0.5]] * 20)
    Study.open(url).advance()
    shop = serving(f"shop={url}")
    assert shop.decide().json()["mode"] in ("exploit", "control")
    epochs = shop("GET", "/v1/studies/shop/history").json()["epochs"]
    assert [epoch["more"]["kind"] for epoch in epochs] == ["learning", "validation"]


def test_a_budget_that_does_not_suffice_says_what_it_was_spent_on(sqlite_urls: Urls) -> None:
    url = make_shop(sqlite_urls())
    study: Any = Study.open(url)
    study.ask_many([[0.5]] * 20)
    first = cohort_of(1, 0, 20)
    study.ledger.add_cohort(first)
    study.ledger.spend("other", PermuteAndFlip(0.1), {}, lambda: b"x", cohort=first)
    works = Works(connect(url))
    work = works.begin("advance", {}, None)
    perform_work(url, work.id, work.beat)
    found = works.get(work.id).result
    assert found is not None
    assert found["type"] == "urn:tacit:problem:budget"
    assert "asked" in found["detail"]
    assert "left" in found["detail"]
    assert [each.partition(":")[0] for each in found["charges"]] == ["other", "epoch 1/pass 1"]
    assert found["charges"][0] == "other: rho=0.005"


# -- policies alone -------------------------------------------------------------------------------


def test_a_released_policy_is_served_alone(
    tmp_path: Path, sqlite_urls: Urls, serving: Serving
) -> None:
    url = make_shop(sqlite_urls())
    study: Any = Study.open(url)
    study.ask_many([[0.5]] * 20)
    study.advance()
    study.policy.save(tmp_path / "shop")
    shop = serving(policies=[str(tmp_path / "shop")])
    answer = shop.decide().json()
    assert answer["action"] == pytest.approx(study.policy.decide(HERE))
    assert answer["propensity"] == 1.0
    cells = [0.0, 1.0, 7, "0.25", True, None, "nothing"]
    asked = {"decisions": [{"context": {"c": cell}} for cell in cells]}
    items = shop("POST", "/v1/studies/shop/decisions:batch", asked).json()["decisions"]
    for cell, item in zip(cells, items, strict=True):
        assert item["decision"]["action"] == pytest.approx(study.policy.decide({"c": cell}))
    ids = {item["decision"]["event_id"] for item in items}
    assert len(ids) == len(cells)
    assert all(re.fullmatch("[0-9a-f]{24}", id) for id in ids)
    assert shop("HEAD", "/v1/studies/shop").status_code == 200
    assert shop("PUT", "/v1/studies/shop/decisions").status_code == 405
    assert shop.reward(answer["event_id"], 0.5).status_code == 404
    assert shop("POST", "/v1/studies/shop/advance", {}).status_code == 404
    assert shop("GET", "/v1/studies/shop").json()["stage"] == "released"


def test_a_study_of_one_release_is_served_and_then_its_policy(
    sqlite_urls: Urls, serving: Serving
) -> None:
    url = sqlite_urls()
    make_study(url, horizon=12)
    shop = serving(f"shop={url}")
    context = {"age": 61, "weight": 74}
    for _ in range(12):
        answer = shop.decide(context=context).json()
        assert shop.reward(answer["event_id"], 0.5).status_code == 204
    assert shop.decide(context=context).status_code == 409
    Study.open(url).release()
    within_a_second(lambda: shop.decide(context=context).status_code == 200, seconds=20)
    assert shop.reward(answer["event_id"], 0.5).status_code == 204
    assert shop("GET", "/v1/studies/shop/history").json() == {"epochs": []}


# -- people who come back -------------------------------------------------------------------------


def test_somebody_who_comes_back_is_decided_and_counts_once(
    sqlite_urls: Urls, serving: Serving
) -> None:
    shop = serving(f"shop={make_shop(sqlite_urls(), unit='user')}")
    assert shop.decide().status_code == 422
    for i in range(20):
        assert shop.decide(user=f"u{i}").status_code == 200
    study_of(shop).advance()
    back = shop.decide(user="u3", event_id="back").json()
    assert back["epoch"] is None
    assert shop.decide(user="u3", event_id="back").json() == back
    assert shop.reward("back", 0.5).status_code == 204
    assert study_of(shop).asked == 20


# -- keys -----------------------------------------------------------------------------------------


def keyed(serving: Serving, url: str) -> tuple[Address, Keys]:
    keys = Keys(connect(url))
    shop = serving(f"shop={url}")
    return shop, keys


def test_every_call_needs_a_key_of_its_scope(sqlite_urls: Urls, serving: Serving) -> None:
    url = make_shop(sqlite_urls())
    keys = Keys(connect(url))
    deciding = keys.create("shop", ["decide"])
    telling = keys.create("shop", ["reward"])
    reading = keys.create("board", ["read"])
    shop = serving(f"shop={url}")
    path = "/v1/studies/shop/decisions"
    assert shop("POST", path, {"context": HERE}).status_code == 401
    assert shop("POST", path, {"context": HERE}).headers["www-authenticate"] == "Bearer"
    assert shop("POST", path, {"context": HERE}, key=deciding[:-1] + "x").status_code == 401
    assert shop("POST", path, {"context": HERE}, key="tacit_" + "0" * 12 + "_x").status_code == 401
    assert shop("POST", path, {"context": HERE}, key=telling).status_code == 403
    found = shop("POST", path, {"context": HERE}, key=deciding)
    assert found.status_code == 200
    told = f"/v1/decisions/{found.json()['event_id']}/reward"
    assert shop("PUT", told, {"value": 0.5}).status_code == 401
    assert shop("PUT", told, {"value": 0.5}, key=deciding).status_code == 403
    assert shop("PUT", told, {"value": 0.5}, key=telling).status_code == 204
    assert shop("GET", "/v1/studies/shop", key=reading).status_code == 200
    assert shop("GET", "/v1/studies/shop", key=deciding).status_code == 403
    assert shop("POST", "/v1/studies/shop/advance", {}, key=reading).status_code == 403
    assert shop("POST", "/v1/plans", {}, key=reading).status_code == 403
    assert shop("GET", "/v1/studies/nope", key="x").status_code == 401
    for free in ("/livez", "/readyz", "/version", "/metrics", "/openapi.json"):
        assert shop("GET", free).status_code == 200


def test_nobody_gets_the_answer_of_another_caller(sqlite_urls: Urls, serving: Serving) -> None:
    """Who knows an event id could otherwise find out by trial whose context it is."""
    url = make_shop(sqlite_urls())
    keys = Keys(connect(url))
    mine, renewed = (keys.create("shop", ["decide"]) for _ in range(2))
    other = keys.create("other", ["decide"])
    shop = serving(f"shop={url}")
    path = "/v1/studies/shop/decisions"
    body = {"context": HERE, "event_id": "visit-1"}
    first = shop("POST", path, body, key=mine)
    assert shop("POST", path, body, key=renewed).json() == first.json()  # of the same name
    right = shop("POST", path, body, key=other)
    wrong = shop("POST", path, body | {"context": {"c": 0.25}}, key=other)
    assert (right.status_code, right.text) == (wrong.status_code, wrong.text)
    assert right.status_code == 422


def test_a_key_that_was_revoked_or_has_expired_is_refused(
    sqlite_urls: Urls, serving: Serving
) -> None:
    url = make_shop(sqlite_urls())
    keys = Keys(connect(url))
    first = keys.create("shop", ["read"])
    brief = keys.create("shop", ["read"], expires=0.7)
    shop = serving(f"shop={url}")
    path = "/v1/studies/shop"
    assert shop("GET", path, key=first).status_code == 200
    assert shop("GET", path, key=brief).status_code == 200
    keys.revoke(first.split("_")[1])
    within_a_second(lambda: shop("GET", path, key=first).status_code == 401)
    within_a_second(lambda: shop("GET", path, key=brief).status_code == 401)
    with pytest.raises(tacit.TacitError, match="no key"):
        keys.revoke(first.split("_")[1])


def test_secrets_are_not_in_the_database(sqlite_urls: Urls) -> None:
    url = make_shop(sqlite_urls())
    made = Keys(connect(url)).create("shop", ["read"])
    secret = made.split("_", 2)[2]
    assert len(secret) >= 43  # 256 bits
    path = Path(url.removeprefix("sqlite:///"))
    kept = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert secret.encode() not in kept
    assert made.split("_")[1].encode() in kept


def test_a_key_has_a_rate(sqlite_urls: Urls, serving: Serving) -> None:
    url = make_shop(sqlite_urls())
    key = Keys(connect(url)).create("shop", ["read"], rate=2)
    shop = serving(f"shop={url}")
    now = 0.0
    shop.service.studies["shop"].door.clock = lambda: now
    found = [shop("GET", "/v1/studies/shop", key=key).status_code for _ in range(6)]
    assert found == [200] * 4 + [429] * 2
    now = 1.0
    found = [shop("GET", "/v1/studies/shop", key=key).status_code for _ in range(3)]
    assert found == [200] * 2 + [429]


def test_without_keys_nobody_outside_is_let_in(sqlite_urls: Urls, serving: Serving) -> None:
    url = make_shop(sqlite_urls())
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(tacit.InputError, match="loopback"):
            serving(url, host=host)


# -- what is refused ------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(shop: Address) -> None:
    path = f"{shop.url}/v1/studies/shop/decisions"
    assert httpx.post(path, content=b"x" * 10_000_000, verify=NO_TLS).status_code == 413

    def chunks() -> Any:
        for _ in range(100):
            yield b"x" * 100_000

    with suppress(httpx.WriteError):  # the connection may be cut while it is sending
        assert httpx.post(path, content=chunks(), verify=NO_TLS).status_code == 413
    assert shop.decide().status_code == 200


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"context": 3}',
    b'{"context": {"c": {}}}',
    b'{"context": {"c": 0.5}, "event_id": "../../x"}',
    b'{"context": {"c": 0.5}, "event_id": ""}',
    b'{"context": {"c": 0.5}, "more": 1}',
    b'{"context": {"c": 0.5}, "user": 7}',
    b'{"context": {"c": 0.5}, "user": "u"}',
    b'{"context": {"d": 0.5}}',
    b"\xff\xfe",
    b'{"context": {"c": "\xff"}}',
    b"[" * 100_000,
]


def test_malformed_requests_are_refused(shop: Address) -> None:
    for body in MALFORMED:
        found = shop("POST", "/v1/studies/shop/decisions", body)
        assert found.status_code in (400, 422), body[:50]
        assert found.headers["content-type"] == "application/problem+json"
    assert shop.decide().status_code == 200


def test_odd_cells_are_read_as_cells_are_read_everywhere(shop: Address) -> None:
    """They are no error: a cell that cannot be read is missing."""
    for cell in ("nonsense", None, True, -5, 10**30, "0.5"):
        assert shop.decide(context={"c": cell}).status_code == 200
    too_large = shop("POST", "/v1/studies/shop/decisions", b'{"context": {"c": 1e400}}')
    assert too_large.status_code in (200, 400, 422)


def test_ten_thousand_malformed_requests_do_no_harm(shop: Address) -> None:
    import asyncio

    from tacit_lab.loads.wire import Wire

    async def pelt() -> set[int]:
        wire = await Wire(shop.port).open()
        found = set()
        for i in range(2500):
            body = MALFORMED[i % 12]
            status, _ = await wire.send("POST", "/v1/studies/shop/decisions", body)
            found.add(status)
        wire.close()
        return found

    async def all_of_them() -> list[set[int]]:
        return await asyncio.gather(*(pelt() for _ in range(4)))

    for found in asyncio.run(all_of_them()):
        assert found <= {400, 422}
    assert shop.decide().status_code == 200
    assert study_of(shop).asked == 1


def test_no_metric_depends_on_rewards(shop: Address) -> None:
    id = shop.decide().json()["event_id"]
    before = shop("GET", "/metrics").text
    shop.reward(id, 0.5)
    shop.reward(id, 0.7)
    shop.reward("nobody", 0.7)
    assert shop("GET", "/metrics").text == before
    assert "tacit_decisions_total 1" in before


def test_no_log_line_tells_of_a_request(
    shop: Address, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG", logger="tacit")
    id = shop.decide(context={"c": 0.31337}).json()["event_id"]
    shop.reward(id, 0.31337)
    shop.reward(id, 0.5)
    shop("POST", "/v1/studies/shop/decisions", b"{")
    mine = [record for record in caplog.records if record.name.startswith(("tacit", "uvicorn"))]
    assert mine == []
    heard = capfd.readouterr()
    assert "31337" not in heard.out + heard.err
    assert id not in heard.out + heard.err


# -- databases that fail --------------------------------------------------------------------------


def test_a_full_disk_is_said_and_nothing_is_acknowledged(
    sqlite_urls: Urls, serving: Serving
) -> None:
    """SQLite refuses to let the file grow, as it does where the disk is full."""
    shop = serving(f"shop={make_shop(sqlite_urls(), [300, 300])}")
    found: Any = shop.service.studies["shop"]
    full = True

    @event.listens_for(found.desk.store.engine, "begin")
    def _limit(connection: Any) -> None:
        most = connection.exec_driver_sql("PRAGMA page_count").scalar() if full else 2**30
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

    asked = [{"context": HERE, "event_id": f"{'x' * 100}{i}"} for i in range(300)]
    path = "/v1/studies/shop/decisions:batch"
    items = shop("POST", path, {"decisions": asked}).json()["decisions"]
    assert {item["error"]["status"] for item in items if item["error"]} == {503}
    assert study_of(shop).asked == sum(item["decision"] is not None for item in items)
    full = False
    again = shop("POST", path, {"decisions": asked}).json()["decisions"]
    assert all(item["decision"] for item in again)
    for item, later in zip(items, again, strict=True):
        assert item["decision"] in (None, later["decision"])
    assert study_of(shop).asked == 300


def within_a_second(what: Any, seconds: float = 1.5) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)
