"""Who may see which page: sessions, scopes, tokens of forms, a proxy's word, and this machine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from dashboards import Readers, make_clinic, pages
from services import Address, Serving
from tacit.core.database import connect
from tacit.dashboard.studio import Job, Studio
from tacit.dashboard.visitors import is_this_machine
from tacit.errors import InputError
from tacit.service.keys import Keys

pytest_plugins = ["databases", "services", "dashboards"]


@pytest.fixture(autouse=True, scope="module")
def _without_figures() -> Iterator[None]:
    """Nothing here is about what policies look like."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tacit.dashboard.study_page.portrait_job", lambda *_: None)
        yield


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study with keys; no test spends from it."""
    made = make_clinic(tmp_path_factory.mktemp("doors"))
    key_of(made, "read")
    return made


@pytest.fixture(scope="module")
def at(serving_long: Serving, url: str) -> Address:
    return serving_long(url, pages=pages())


def key_of(url: str, *scopes: str) -> str:
    return Keys(connect(url, create=False)).create("ann", list(scopes))


def known(at: Address, key: str) -> None:
    """Waits until the service has heard of a key."""
    until = time.monotonic() + 10
    while at.service.studies["clinic"].door.ring.find(key) is None:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_sign_in_with_a_key_gives_a_session_that_ends_with_the_key(
    at: Address, url: str, reads: Readers
) -> None:
    key = key_of(url, "read")
    known(at, key)
    reader = reads(at.url)
    sent = reader.get("/studies/clinic")
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=/studies/clinic")
    assert reader.get("/").status_code == 303
    wrong = reader.sign_in("tacit_0123456789ab_nothing")
    assert wrong.status_code == 401
    assert "no key that is good" in wrong.text
    into = reader.sign_in(key)
    assert into.status_code == 303
    cookie = into.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert key.split("_", 2)[2] not in cookie  # the secret is not in it
    assert reader.get("/studies/clinic").status_code == 200
    assert reader.post("/sign-out", {}).headers["location"] == "/sign-in"
    assert reader.get("/studies/clinic").status_code == 303
    reader.sign_in(key)
    Keys(connect(url, create=False)).revoke(key.split("_")[1])
    until = time.monotonic() + 10
    while reader.get("/studies/clinic").status_code == 200:
        assert time.monotonic() < until, "a revoked key still opens pages"
        time.sleep(0.1)


def test_a_session_that_was_changed_opens_nothing(at: Address, url: str, reads: Readers) -> None:
    key = key_of(url, "read")
    known(at, key)
    reader = reads(at.url)
    reader.sign_in(key)
    id, issued, mac = reader.client.cookies["tacit_session"].split(".")
    later = str(int(issued) + 1)
    early = str(int(issued) - 13 * 3600)
    forged = ("1" if mac[0] == "0" else "0") + mac[1:]
    for wrong in (f"{id}.{later}.{mac}", f"{id}.{early}.{mac}", f"{id}.{issued}.{forged}", "x"):
        other = reads(at.url)
        other.client.cookies.set("tacit_session", wrong)
        assert other.get("/studies/clinic").status_code == 303
    good = reads(at.url)
    good.client.cookies.set("tacit_session", f"{id}.{issued}.{mac}")
    assert good.get("/studies/clinic").status_code == 200


def test_a_key_without_the_scope_may_look_and_not_operate(
    at: Address, url: str, reads: Readers
) -> None:
    looks = key_of(url, "read")
    decides = key_of(url, "decide", "reward")
    known(at, decides)
    reader = reads(at.url)
    reader.sign_in(looks)
    assert "/operate" not in reader.get("/studies/clinic").text
    refused = reader.get("/studies/clinic/operate")
    assert refused.status_code == 403
    assert "scope &#39;operate&#39;" in refused.text
    begun = reader.post("/studies/clinic/operate/advance/begin", {"sure": "yes"})
    assert begun.status_code == 403
    assert reader.get("/studies/nothing").status_code == 404
    other = reads(at.url)
    other.sign_in(decides)
    assert other.get("/studies/clinic").status_code == 403
    assert "clinic" not in other.get("/").text.split("<main")[1]


def test_nothing_changes_without_the_token_of_the_visit(
    at: Address, url: str, reads: Readers
) -> None:
    key = key_of(url, "read", "operate")
    known(at, key)
    reader = reads(at.url)
    reader.sign_in(key)
    page = reader.get("/studies/clinic/operate/validate?rounds=50&split=0.5&b-dose=40").text
    form = dict(re.findall(r'name="(parameters|seen|key)" value="([^"]*)"', page))
    form["parameters"] = form["parameters"].replace("&#34;", '"')
    place = "/studies/clinic/operate/validate/begin"
    own = reader.token
    thief = reads(at.url)
    thief.sign_in(key)
    tries: list[tuple[str, dict[str, str]]] = [
        ("", {}),
        ("0" * 64, {}),
        (thief.token, {}),
        (own, {"Sec-Fetch-Site": "cross-site"}),
    ]
    for token, headers in tries:
        sent = form | {"sure": "yes", "csrf": token}
        assert reader.client.post(place, data=sent, headers=headers).status_code == 403
    assert reader.client.post(place, data=form | {"csrf": own}).status_code == 422  # not sure
    stale = form | {"sure": "yes", "csrf": own, "seen": "another"}
    assert reader.client.post(place, data=stale).status_code == 409
    assert reader.client.post("/sign-in", data={"key": key}).status_code == 403
    settings: Any = tacit.Study.open(url)
    assert len(settings.sizes) == 3  # nothing was planned
    done = reader.client.post(place, data=form | {"sure": "yes", "csrf": own})
    assert done.status_code == 303


def test_a_study_made_beside_others_with_keys_has_one_of_its_own(
    serving: Serving, tmp_path: Path, reads: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown once, and whoever made the study is signed in by it."""
    url = make_clinic(tmp_path)
    key = key_of(url, "read", "operate")
    made = make_clinic(tmp_path, "made")

    def done(studio: Studio, key: str, request: dict[str, Any]) -> Job:
        job = Job(key, request, result={"name": "made", "url": made})
        studio._jobs[key] = job
        job.over.set()
        return job

    monkeypatch.setattr(Studio, "job", done)
    at = serving(url, pages=pages(folder=tmp_path / "new"))
    reader = reads(at.url)
    reader.sign_in(key)
    reader.get("/new")
    form = {"name": "made", "a0-name": "dose", "a0-low": "0", "a0-high": "1", "c0-name": "age"}
    form |= {"c0-low": "0", "c0-high": "1", "low": "0", "high": "1", "rounds": "50"}
    form |= {"epsilon": "1", "delta": "1e-6", "epochs": "20,30"}
    assert "[budget]" in reader.post("/new", form | {"do": "review"}).text
    following = reader.post("/new/create", form).headers["location"]
    until = time.monotonic() + 20
    while "The study made is there" not in (page := reader.get(following).text):
        assert time.monotonic() < until
        time.sleep(0.05)
    own = re.search(r"tacit_\w{12}_[\w-]+", page)
    assert own is not None
    assert own[0] not in reader.get(following).text
    assert reader.get("/studies/made/operate").status_code == 200
    stranger = reads(at.url)
    assert stranger.get("/studies/made").status_code == 303
    assert stranger.sign_in(own[0]).status_code == 303
    assert stranger.get("/studies/made").status_code == 200
    assert stranger.get("/studies/clinic").status_code == 403


def test_a_trusted_proxy_says_who_is_calling(
    serving: Serving, tmp_path: Path, reads: Readers
) -> None:
    """And serves the pages below another address."""
    options: dict[str, Any] = {"user_header": "X-Forwarded-User", "operators": frozenset({"ann"})}
    shown = pages(behind_proxy=True, **options)
    at = serving(make_clinic(tmp_path), pages=shown, behind_proxy=True, root_path="/tacit/")
    nobody = reads(at.url).get("/studies/clinic")
    assert nobody.headers["location"] == "/tacit/sign-in?next=/studies/clinic"
    bob = reads(at.url, **{"X-Forwarded-User": "bob"})
    assert bob.get("/studies/clinic/operate").status_code == 403
    ann = reads(at.url, **{"X-Forwarded-User": "ann"})
    page = ann.get("/studies/clinic/operate")
    links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert len(links) > 6
    assert all(link.startswith("/tacit/") for link in links)
    assert 'aria-current="page"' in page.text
    fresh = bob.get("/studies/clinic")
    assert fresh.status_code == 200
    with pytest.raises(InputError, match="--behind-proxy"):
        pages(user_header="X-Forwarded-User")


def test_without_keys_pages_are_for_this_machine_alone(
    serving: Serving, tmp_path: Path, reads: Readers
) -> None:
    """A site whose name was made to point here is shown nothing."""
    at = serving(make_clinic(tmp_path), pages=pages())
    assert reads(at.url).get("/studies/clinic").status_code == 200
    assert reads(at.url, Host="evil.example").get("/studies/clinic").status_code == 303
    here = ["127.0.0.1:8070", "localhost", "localhost:80", "[::1]:8070", "[::1]"]
    assert all(is_this_machine(host) for host in here)
    others = ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""]
    assert not any(is_this_machine(host) for host in others)


def test_no_address_elsewhere_is_followed_after_sign_in(
    at: Address, url: str, reads: Readers
) -> None:
    key = key_of(url, "read")
    known(at, key)
    for evil in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"):
        reader = reads(at.url)
        reader.get("/sign-in")
        sent = reader.post("/sign-in", {"key": key, "next": evil})
        assert sent.headers["location"] == "/"
