"""Services to test on: the real one, on a free port of this machine, in a thread.

A test module says `pytest_plugins = ["databases", "services"]` and asks for `serving`, a function
that serves what it is given and returns its `Address`. (PYTEST_DONT_REWRITE)
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sqlite3
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from databases import make_epoch_study
from tacit.service.running import Listening, make_service, server
from tacit.service.service import Service
from tacit_lab.loads.servers import free_port

HERE = {"c": 0.5}
# These calls are not encrypted. For each of them httpx would load all certificates that this
# machine trusts, which takes far longer than the answer.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class Address:
    """Where a service answers."""

    port: int
    service: Service
    key: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __call__(
        self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str
    ) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if key or self.key:
            named["Authorization"] = f"Bearer {key or self.key}"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = None if body is None else content
        return httpx.request(
            method, self.url + path, content=given, headers=named, timeout=30, verify=NO_TLS
        )

    def decide(self, study: str = "shop", context: Any = None, **more: Any) -> httpx.Response:
        body = {"context": context or HERE} | more
        return self("POST", f"/v1/studies/{study}/decisions", body)

    def reward(self, id: str, value: float) -> httpx.Response:
        return self("PUT", f"/v1/decisions/{id}/reward", {"value": value})

    def work(self, kind: str, body: Any = None, seconds: float = 180.0, **headers: str) -> Any:
        """Long work on the shop, until it is over."""
        begun = self("POST", f"/v1/studies/shop/{kind}", body, **headers)
        assert begun.status_code == 202, begun.text
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self("GET", begun.headers["location"]).json()
            if found["state"] in ("done", "failed"):
                return found
            time.sleep(0.05)
        raise AssertionError(f"the work is not over: {found}")


Serving = Callable[..., Address]


@pytest.fixture
def serving() -> Iterator[Serving]:
    yield from serve_all()


@pytest.fixture(scope="module")
def serving_long() -> Iterator[Serving]:
    """The same for all tests of a module."""
    yield from serve_all()


def serve_all() -> Iterator[Serving]:
    """A function that serves what it is given; in the end all of it is ended."""
    started: list[tuple[Any, threading.Thread]] = []

    def start(
        *studies: str, policies: Sequence[str] = (), pages: Any = None, **options: Any
    ) -> Address:
        listening = Listening(port=free_port(), **options)
        service = make_service(studies, policies, listening, pages)
        running = server(service, listening)
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        started.append((running, thread))
        until = time.monotonic() + 30
        while not running.started:
            assert time.monotonic() < until, "the service does not start"
            assert thread.is_alive(), "the service ended"
            time.sleep(0.01)
        return Address(listening.port, service)

    yield start
    for running, thread in started:
        running.should_exit = True
        thread.join(timeout=30)
        assert not thread.is_alive()


def make_shop(url: str, sizes: Sequence[int] = (20, 30), **given: Any) -> str:
    """A small study in epochs at this address. On SQLite it is a copy of one that was made before:
    most of a study's time goes into its design."""
    if not url.startswith("sqlite"):
        make_epoch_study(url, list(sizes), **given)
        return url
    template = _template(tuple(sizes), json.dumps(given, sort_keys=True))
    path = Path(url.removeprefix("sqlite:///"))
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(template)) as made, closing(sqlite3.connect(path)) as copy:
        made.backup(copy)
    return url


@cache
def _template(sizes: tuple[int, ...], given: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tacit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_epoch_study(f"sqlite:///{folder / 'shop.db'}", list(sizes), **json.loads(given))
    return folder / "shop.db"
