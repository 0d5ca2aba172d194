"""Dashboards to test on: a small clinic with two released epochs, a service that shows it, and
Debian's Chromium to look at it. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, sync_playwright

import tacit
from helpers import BUDGET, COARSE, SMALL, create_study
from tacit.dashboard import Dashboard, DashboardOptions

# Planted in rounds of the clinic, with many digits: no page may show them.
SECRET_AGE = 43.2718281
SECRET_REWARD = 0.6180339
TOLD = (113, 107, 29)  # rewards that came in each epoch: as private as they are
SIZES = (120, 121, 200)
ASKED = (120, 121, 41)
DOSES = {"G/G": 70.0, "A/G": 50.0, "A/A": 30.0}


def clinic_problem() -> tacit.Problem:
    return tacit.Problem(
        actions=tacit.Box.of(dose=(0, 100)),
        contexts=tacit.Mixed.of(age=(18, 95), gene=list(DOSES)),
    )


def play(study: Any, n: int, told: int, rng: np.random.Generator) -> None:
    """`n` visitors, of whom `told` come back with a reward."""
    genes = rng.choice(list(DOSES), n)
    ages = rng.uniform(18, 95, n)
    ages[:5] = SECRET_AGE
    people: list[dict[str, Any]] = [
        {"age": float(a), "gene": str(g)} for a, g in zip(ages, genes, strict=True)
    ]
    decisions = study.ask_many(people)
    rewards = [
        1 - abs(each.action["dose"] - DOSES[one["gene"]]) / 100
        for each, one in zip(decisions, people, strict=True)
    ]
    rewards[:5] = [SECRET_REWARD] * 5
    study.tell_many(decisions[:told], rewards[:told])


@cache
def _clinic() -> Path:
    """Made once: most of its time goes into designs and releases."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "clinic.db"
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in COARSE.items():
            monkeypatch.setattr(name, value)
        study: Any = create_study(
            f"sqlite:///{path}",
            clinic_problem(),
            **SMALL | {"public_points": 500},
            horizon=sum(SIZES),
            budget=BUDGET,
            epochs=list(SIZES),
            exploit=0.1,
            control=0.1,
            baseline={"dose": 40},
        )
        for n, told in zip(ASKED[:2], TOLD[:2], strict=True):
            play(study, n, told, rng)
            assert study.advance().advanced
        play(study, ASKED[2], TOLD[2], rng)
    return path


def make_clinic(folder: Path, name: str = "clinic") -> str:
    """A copy of the clinic, to do anything with."""
    return copy_study(_clinic(), folder / f"{name}.db")


def copy_study(made: Path, path: Path) -> str:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(made)) as one, closing(sqlite3.connect(path)) as other:
        one.backup(other)
    return f"sqlite:///{path}"


def pages(**options: Any) -> Dashboard:
    return Dashboard(DashboardOptions(**options))


class Reader:
    """Somebody who looks at pages without a browser: cookies are kept, tokens are found."""

    def __init__(self, address: str, **headers: str) -> None:
        self.client = httpx.Client(base_url=address, headers=headers, timeout=60)
        self.token = ""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.client.close()

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self._met(self.client.get(path, **more))

    def post(self, path: str, data: dict[str, Any], **more: Any) -> httpx.Response:
        """A form of ours: with the token of the last page."""
        return self._met(self.client.post(path, data={"csrf": self.token} | data, **more))

    def sign_in(self, key: str) -> httpx.Response:
        self.get("/sign-in")
        return self.post("/sign-in", {"key": key})

    def _met(self, found: httpx.Response) -> httpx.Response:
        token = re.search(r'name="csrf" value="(\w+)"', found.text)
        if token is not None:
            self.token = token[1]
        return found


Readers = Callable[..., Reader]


@pytest.fixture
def reads() -> Iterator[Readers]:
    """Readers of an address, whose connections end with the test."""
    made: list[Reader] = []

    def reader(address: str, **headers: str) -> Reader:
        made.append(Reader(address, **headers))
        return made[-1]

    yield reader
    for each in made:
        each.client.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one module: while Playwright is there, other tests cannot run an event loop."""
    path = shutil.which("chromium")
    if path is None:
        missing = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing}; CI looks at pages always.")
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
