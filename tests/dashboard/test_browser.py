"""The pages in a real Chromium: every one of them, for everybody, and a whole study from its form
to its statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import tacit
from dashboards import DOSES, make_clinic, pages
from services import Address, Serving
from tacit.core.database import connect
from tacit.service.keys import Keys

pytest_plugins = ["databases", "services", "dashboards"]
SECONDS = 120_000.0  # milliseconds that anything may take on a busy machine
OF_A_STUDY = ["", "/ledger", "/statement", "/try", "/operate", "/plan"]
DRY_RUN = "/operate/validate?rounds=50&split=0.5&b-dose=40"
NEW = {
    "name": "trial",
    "a0-name": "dose",
    "a0-low": "0",
    "a0-high": "100",
    "c0-name": "gene",
    "c0-labels": ", ".join(DOSES),
    "rounds": "1500",
    "epochs": "1000,500",
    "baseline": "dose=40",
    "rank": "8",
}
Looks = Callable[..., Page]


@pytest.fixture(scope="module")
def at(serving_long: Serving, tmp_path_factory: pytest.TempPathFactory) -> Address:
    folder = tmp_path_factory.mktemp("browser")
    url = make_clinic(folder)
    return serving_long(url, pages=pages(folder=folder / "new"))


@pytest.fixture
def looks(chromium: Browser) -> Iterator[Looks]:
    """Opens pages; in the end no page may have broken its own policy or thrown anything."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def look(**options: Any) -> Page:
        context = chromium.new_context(**options)
        context.set_default_timeout(SECONDS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        return page

    yield look
    for context in contexts:
        context.close()
    assert not [each for each in wrong if "status of 4" not in each]


def drawn(page: Page, address: str) -> None:
    """Goes to a page and waits until everything on it is there."""
    page.goto(address)
    page.wait_for_function("() => !document.querySelector('[data-wait], [data-again]')")


def faults(page: Page) -> list[str]:
    """What axe finds fault with."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


# -- for everybody ---------------------------------------------------------------------------------


def test_axe_finds_no_fault_with_any_page(at: Address, looks: Looks) -> None:
    page = looks()
    places = ["/", "/new", "/sign-in", "/studies/nothing"]
    places += [f"/studies/clinic{path}" for path in [*OF_A_STUDY, DRY_RUN]]
    for place in places:
        drawn(page, at.url + place)
        assert faults(page) == [], place
    page.emulate_media(color_scheme="dark")
    drawn(page, f"{at.url}/studies/clinic")
    assert faults(page) == []


def test_axe_would_find_a_fault(at: Address, looks: Looks) -> None:
    page = looks()
    page.goto(f"{at.url}/studies/clinic/try")
    page.evaluate("document.querySelectorAll('label').forEach(each => each.remove())")
    assert any(fault.startswith("label") for fault in faults(page))


def test_pages_fit_a_small_and_a_large_screen(at: Address, looks: Looks) -> None:
    page = looks()
    for width in (320, 3840):
        page.set_viewport_size({"width": width, "height": 700})
        for place in ["/", "/new", *(f"/studies/clinic{path}" for path in [*OF_A_STUDY, DRY_RUN])]:
            page.goto(at.url + place)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (place, width)


def test_pages_are_read_and_forms_are_sent_without_a_script(at: Address, looks: Looks) -> None:
    page = looks(java_script_enabled=False)
    page.goto(f"{at.url}/studies/clinic")
    page.wait_for_selector("text=For whom it changed")  # the page looks again by itself
    assert page.locator("svg").count() >= 5
    page.goto(f"{at.url}/studies/clinic/plan?rounds=441")
    page.wait_for_selector("text=What would 2,000 more people buy?")
    page.goto(f"{at.url}/studies/clinic/try")
    page.select_option("select", "A/A")
    page.click("text=Decide")
    assert page.inner_text("#decision").startswith("The decision: dose")
    page.goto(f"{at.url}/studies/clinic/operate")
    page.click("section[aria-labelledby=validate] button")
    assert "Nothing now" in page.inner_text("main")


def test_sliders_and_keys_move_the_plan(at: Address, looks: Looks) -> None:
    page = looks()
    drawn(page, f"{at.url}/studies/clinic/plan?rounds=441")
    before = page.inner_text("#answer")
    page.focus("[data-for=epsilon]")
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("before => answer.innerText != before", arg=before)
    assert page.input_value("#epsilon") != "1"
    assert page.locator("#answer .tiles, #answer progress").count() == 1  # there, or on its way


def test_signing_in_a_wrong_scope_and_a_forged_form(
    serving: Serving, tmp_path: Path, looks: Looks
) -> None:
    url = make_clinic(tmp_path)
    keys = Keys(connect(url, create=False))
    reads = keys.create("ann", ["read"])
    operates = keys.create("bob", ["read", "operate"])
    at = serving(url, pages=pages())
    page = looks()
    page.goto(f"{at.url}/studies/clinic/ledger")
    page.fill("#key", "tacit_no_key")
    page.click("main button")
    assert "no key that is good" in page.inner_text("[role=alert]")
    page.fill("#key", reads)
    page.click("main button")
    assert page.url == f"{at.url}/studies/clinic/ledger"
    assert page.inner_text("h1") == "Ledger"
    cookies = {each["name"]: each for each in page.context.cookies()}
    assert cookies["tacit_session"]["httpOnly"]
    assert cookies["tacit_session"]["sameSite"] == "Lax"
    page.goto(f"{at.url}/studies/clinic/operate")
    assert "scope 'operate'" in page.inner_text("[role=alert]")
    page.goto(f"{at.url}/sign-in?next=/studies/clinic{DRY_RUN.replace('&', '%26')}")
    page.fill("#key", operates)
    page.click("main button")
    page.evaluate("document.querySelector('.confirm [name=csrf]').value = 'forged'")
    page.check("[name=sure]")
    page.click(".confirm button")
    assert "not one of this visit's own" in page.inner_text("[role=alert]")
    page.click("text=Sign out")
    assert page.locator("h1").inner_text() == "Sign in"


# -- a whole study ---------------------------------------------------------------------------------


def visitors(at: Address, url: str, n: int, rng: np.random.Generator) -> None:
    """People who come to the service, and whose rewards come later."""
    genes = [str(gene) for gene in rng.choice(list(DOSES), n)]
    body = {"decisions": [{"context": {"gene": gene}} for gene in genes]}
    answer = at("POST", "/v1/studies/trial/decisions:batch", body)
    decisions = [each["decision"] for each in answer.json()["decisions"]]
    rewards = [
        1 - abs(each["action"]["dose"] - DOSES[gene]) / 100 + 0.05 * rng.standard_normal()
        for each, gene in zip(decisions, genes, strict=True)
    ]
    tacit.Study.open(url).tell_many([each["event_id"] for each in decisions], rewards)


def confirm(page: Page) -> None:
    """From a dry run to the end of the work."""
    page.wait_for_selector(".confirm")
    page.check("[name=sure]")
    page.click(".confirm button")
    page.wait_for_selector("text=To the study")


def test_a_whole_study_from_its_form_to_its_statement(at: Address, looks: Looks) -> None:
    rng = np.random.default_rng(3)
    page = looks()
    page.goto(f"{at.url}/")
    page.click("text=New study")
    page.select_option("[name=c0-kind]", "labels")
    for name, value in NEW.items():
        page.fill(f"[name={name}]", value)
    page.click("p button[value=review]")
    assert 'levels = ["G/G", "A/G", "A/A"]' in page.inner_text("main")
    assert "tacit study create sqlite:///trial.db trial.toml" in page.inner_text("main")
    with page.expect_download() as download:
        page.click("text=Download the file")
    file = Path(str(download.value.path())).read_text()
    assert page.inner_text("pre >> nth=0").strip() == file.strip()
    page.click("text=Create the study")
    page.wait_for_selector("text=The study trial is there")
    page.click("text=To the study")
    assert page.inner_text("h1") == "Which dose for which gene?"

    url: str = at.service.studies["trial"].url  # type: ignore[attr-defined]
    visitors(at, url, 1000, rng)
    page.goto(f"{at.url}/studies/trial/operate")
    page.fill("#v-rounds", "1000")
    page.click("section[aria-labelledby=validate] button")
    assert "Nothing now" in page.inner_text("main")
    confirm(page)
    assert "will compare the policy with the baseline" in page.inner_text("main")
    page.click("text=Back")
    page.click("section[aria-labelledby=advance] button")
    assert "epsilon=1" in page.inner_text(".costs")
    assert "1,000 people" in page.inner_text(".confirm")
    confirm(page)
    assert "epoch 2 is open" in page.inner_text("main")
    visitors(at, url, 1000, rng)
    page.goto(f"{at.url}/studies/trial/operate/advance")
    assert "± " in page.inner_text("main")  # what the validation buys
    confirm(page)

    until = time.monotonic() + SECONDS / 1000
    while "Epoch 2: the policy of epoch 1 earns" not in page.inner_text("main"):
        assert time.monotonic() < until
        drawn(page, f"{at.url}/studies/trial")
    assert page.inner_text("tbody tr:nth-child(2) th") == "2 (validation)"
    study: Any = tacit.Study.open(url)
    gain = study.history[1].gain
    assert f"{gain.value:+.3g} ({gain.low:+.3g} to {gain.high:+.3g})" in page.inner_text("main")
    page.goto(f"{at.url}/studies/trial/statement")
    told = page.inner_text("main")
    for charge in study.ledger.charges():
        assert f"{charge.request} (gaussian)" in told
    assert "ε = 1 at δ = 1e-06" in told
    assert "73 of 100 cases" in told
    assert page.pdf()[:4] == b"%PDF"
