"""The pages as a server gives them: who may see what, what they never show, and how large they
are."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from dashboards import (
    SECRET_AGE,
    SECRET_REWARD,
    TOLD,
    Reader,
    Readers,
    clinic_problem,
    make_clinic,
    pages,
    play,
)
from helpers import BUDGET, SMALL, create_study
from services import Address, Serving
from tacit.dashboard.making import Wanted
from tacit.dashboard.rendering import static
from tacit.errors import InputError
from tacit.logs import read_problem
from tacit.spent import coin_toss
from tacit.study import EpochStudy

pytest_plugins = ["databases", "services", "dashboards"]
OF_A_STUDY = ["", "/plan", "/ledger", "/statement", "/try", "/operate"]
MOST = 100_000


@pytest.fixture(scope="module")
def at(serving_long: Serving, tmp_path_factory: pytest.TempPathFactory) -> Address:
    """A clinic; and two more, in whose present epoch 60 other people came, of whom none or all came
    back with a reward. And its policy alone."""
    folder = tmp_path_factory.mktemp("pages")
    url = make_clinic(folder)
    one = make_clinic(folder, "one")
    other = make_clinic(folder, "other")
    for seed, (each, told) in enumerate(((one, 0), (other, 60))):
        play(tacit.Study.open(each), 60, told, np.random.default_rng(seed))
    tacit.Study.open(url).policy.save(folder / "dosing")
    return serving_long(url, one, other, policies=[str(folder / "dosing")], pages=pages())


@pytest.fixture(scope="module")
def found(at: Address) -> dict[str, str]:
    """Every page of the clinic."""
    return all_pages(at.url)


def drawn(reader: Reader, path: str, seconds: float = 60.0) -> str:
    """A page once everything on it is there."""
    until = time.monotonic() + seconds
    while True:
        text = reader.get(path).text
        if 'http-equiv="refresh"' not in text or time.monotonic() > until:
            return text
        time.sleep(0.2)


# -- what they never show --------------------------------------------------------------------------


def private_values() -> list[str]:
    """Planted values as a page might write them, in the user's units and in the database's. With
    five figures at least: no released number, which is random, is shown with so many."""
    unit = (SECRET_AGE - 18) / (95 - 18)
    scaled = 2 * SECRET_REWARD - 1
    numbers = (SECRET_AGE, SECRET_REWARD, unit, scaled)
    return [f"{value:.{digits}g}" for value in numbers for digits in (5, 6, 7)]


def counts() -> list[str]:
    """How many rewards came: in single epochs, and in all. Those above 100, which are no
    percentage and no dose."""
    return [str(count) for count in [*TOLD, sum(TOLD), sum(TOLD[:2])] if count > 100]


def shown(text: str, value: str) -> bool:
    """Whether a number stands in a text by itself, and not within a hash or a coordinate. One with
    a sign is a released difference, which is random: counts have none."""
    body = re.sub(r'<svg.*?</svg>|name="csrf" value="\w+"|\?v=\w+', " ", text, flags=re.DOTALL)
    return re.search(rf"(?<![\w.,+-]){re.escape(value)}(?![\w.,])", body) is not None


def all_pages(address: str, study: str = "clinic", dry: bool = True) -> dict[str, str]:
    """Every page of a study, once it is drawn, as somebody who may do anything sees it."""
    with Reader(address) as reader:
        return _all_pages(reader, study, dry)


def _all_pages(reader: Reader, study: str, dry: bool) -> dict[str, str]:
    found = {"/": drawn(reader, "/")}
    paths = [f"/studies/{study}{path}" for path in OF_A_STUDY if path != "/plan"]
    if dry:  # they have a plan made, which is not waited for
        paths += [f"/studies/{study}/operate/{kind}" for kind in ("advance?early=yes", "advance")]
        paths.append(f"/studies/{study}/plan")
    paths.append(f"/studies/{study}/operate/validate?rounds=50&split=0.5&b-dose=40")
    for path in paths:
        waits = "/operate/" not in path and not path.endswith("/plan")
        found[path] = drawn(reader, path) if waits else reader.get(path).text
    reader.get(f"/studies/{study}/try")
    tried = reader.post(f"/studies/{study}/try", {"c-age": "50", "c-gene": "A/G"})
    found["tried"] = tried.text
    return found


def test_no_page_shows_private_values_or_how_many_rewards_came(found: dict[str, str]) -> None:
    assert len(found) == 11
    for path, text in found.items():
        assert "</html>" in text, path
        leaks = [value for value in [*private_values(), *counts()] if shown(text, value)]
        assert not leaks, (path, leaks)
    study = found["/studies/clinic"]
    assert "What the policy decides now" in study  # it was drawn, so there was something to leak
    assert study.count("<svg") >= 5
    # The test would see them.
    assert shown("<td>43.272</td>", private_values()[0])
    assert shown(f"<p>{TOLD[0]} rewards</p>", counts()[0])


def test_pages_do_not_depend_on_who_came_and_which_rewards_came(at: Address) -> None:
    """Before a release: other people, with all of their rewards and with none."""
    one = normal(all_pages(at.url, "one", dry=False))
    assert one == normal(all_pages(at.url, "other", dry=False))
    assert len(one) == 8


def test_that_test_would_see_a_page_that_depends_on_rewards(
    at: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(study: Any) -> str:
        with study._epochs.engine.connect() as connection:
            count = connection.exec_driver_sql("SELECT sum(told) > 300 FROM tacit_rounds").scalar()
        return "many" if count else "few"

    monkeypatch.setattr(EpochStudy, "missing", property(told))
    one = normal(all_pages(at.url, "one", dry=False))
    other = normal(all_pages(at.url, "other", dry=False))
    assert {path for path in one if one[path] != other[path]} == {
        "/studies/study",
        "/studies/study/operate",
    }


def normal(found: dict[str, str]) -> dict[str, str]:
    """Pages without what differs between any two studies and any two moments."""

    def plain(text: str) -> str:
        text = re.sub(r"\b(one|other)\b", "study", text)
        text = re.sub(r'name="(csrf|key|seen)" value="\w+"', "", text)
        text = re.sub(r"\d+ \w{3} \d{4}(, \d\d:\d\d UTC)?", "a day", text)
        text = re.sub(r"present pace of [^ ]+ rounds", "", text)
        return re.sub(r"<code>\w{16}</code>", "", text)

    return {re.sub("one|other", "study", path): plain(text) for path, text in found.items()}


# -- what they are made of -------------------------------------------------------------------------


def test_every_page_is_small_and_refuses_what_is_not_its_own(
    at: Address, found: dict[str, str], reads: Readers
) -> None:
    fixed = sum(len(static(name)[0]) for name in ("style.css", "script.js", "icon.svg"))
    for path, text in found.items():
        assert len(text.encode()) + fixed < MOST, path
        assert " style=" not in text  # which the policy below would refuse
        assert not re.search(r"<script(?! src=)|\bon\w+=|https?://", text), path
    reader = reads(at.url)
    page = reader.get("/studies/clinic")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    style = re.search(r'href="([^"]*style.css[^"]*)"', page.text)
    assert style is not None
    got = reader.get(style[1])
    assert got.headers["content-type"].startswith("text/css")
    assert "immutable" in got.headers["cache-control"]


def test_what_goes_wrong_is_a_page_that_says_what_to_do(at: Address, reads: Readers) -> None:
    reader = reads(at.url)
    assert "no study of this name" in reader.get("/studies/nothing").text
    assert reader.get("/new").status_code == 404  # no folder to put studies into
    bad = reader.get("/studies/clinic/plan?rounds=many")
    assert bad.status_code == 422
    assert "are numbers" in bad.text
    reader.get("/studies/clinic/try")
    wrong = reader.post("/studies/clinic/try", {"c-age": "old", "c-gene": "A/G"})
    assert wrong.status_code == 422
    assert "takes a number" in wrong.text
    assert reader.get("/studies/clinic/operate/release").status_code == 409
    assert reader.get("/studies/clinic/operate/dance").status_code == 404
    assert reader.get("/nowhere").status_code == 404


def test_a_policy_alone_has_pages(at: Address, reads: Readers) -> None:
    reader = reads(at.url)
    page = drawn(reader, "/studies/dosing")
    assert "What the policy decides now" in page
    assert reader.get("/studies/dosing/ledger").status_code == 404
    reader.get("/studies/dosing/try")
    tried = reader.post("/studies/dosing/try", {"c-age": "50", "c-gene": "A/A"})
    assert "The decision: dose" in tried.text
    assert "90 % band" in tried.text


@pytest.mark.usefixtures("coarse_fits")
def test_a_study_of_one_release_has_pages(serving: Serving, tmp_path: Path, reads: Readers) -> None:
    url = f"sqlite:///{tmp_path / 'once.db'}"
    small = SMALL | {"public_points": 500}
    study = create_study(url, clinic_problem(), **small, horizon=60, budget=BUDGET)
    play(study, 60, 60, np.random.default_rng(0))
    reader = reads(serving(url, pages=pages()).url)
    assert "The study can be released now" in reader.get("/studies/once").text
    assert "Nothing was spent yet" in reader.get("/studies/once/ledger").text
    assert reader.get("/studies/once/operate/advance").status_code == 409
    page = reader.get("/studies/once/operate/release").text
    assert "of each of 60 rounds" in page
    study.release()
    assert "It was released already" in reader.get("/studies/once/operate").text
    statement = reader.get("/studies/once/statement").text
    assert "73 of 100 cases" in statement
    assert "release/pass 1 (gaussian)" in statement


# -- the form --------------------------------------------------------------------------------------


def wanted(**given: Any) -> Wanted:
    usual: dict[str, Any] = {
        "name": "dosing",
        "actions": {"dose": (0.0, 100.0)},
        "contexts": {"age": (18.0, 95.0), "gene": ["G/G", 'A"G', "Ä\\x"]},
        "reward_range": (0.0, 1.0),
        "rounds": 5000,
        "epsilon": 1.0,
        "delta": 1e-6,
    }
    return Wanted(**usual | given)


def test_the_form_writes_the_problem_file_that_the_command_line_reads(tmp_path: Path) -> None:
    made = wanted(epochs="500,4500", control=0.1, baseline=("dose=30",), user=True, wait="7d")
    path = tmp_path / "dosing.toml"
    path.write_text(made.toml, encoding="utf-8")
    tomllib.loads(made.toml)
    spec = read_problem(path)
    assert spec.problem.spec() == made.problem.spec()
    assert (spec.horizon, spec.user) == (5000, "user")
    assert spec.budget == tacit.Budget(1.0, 1e-6)
    assert made.command == (
        "tacit study create sqlite:///dosing.db dosing.toml --epochs 500,4500 --control 0.1 "
        "--baseline dose=30 --wait 7d"
    )
    made.check()
    many = wanted(contexts={"site": [f"s{i}" for i in range(40)]})
    assert tomllib.loads(many.toml)["contexts"]["levels"][-1] == "s39"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "../evil"}, "letters, digits"),
        ({"actions": {}}, "has actions"),
        ({"rounds": 3}, "10 rounds"),
        ({"control": 0.1}, "plays a baseline"),
        ({"baseline": ("dose=300",)}, "one of the actions"),
        ({"epochs": "few"}, "number of epochs"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        wanted(**given).check()


def test_prices_in_words_are_those_of_the_guarantee() -> None:
    # docs/guarantee.md: 52.5 %, 57.4 %, 73.1 %, 95.3 %
    found = [coin_toss(epsilon) for epsilon in (0.0, 0.1, 0.3, 1.0, 3.0, 1000.0)]
    assert found == ["50 : 50", "52 : 48", "57 : 43", "73 : 27", "95 : 5", "100.00 : 0.00"]
