"""The commands of the service, and its page."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from openfeature import api
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

from databases import Urls
from helpers import ROOT
from services import Serving, make_shop
from tacit.cli import app
from tacit.errors import InputError
from tacit.service import running as serving_module
from tacit.service.keys import SCOPES
from tacit.service.running import _named_path, _named_url
from tacit.study import Study
from tacit_lab.loads.servers import running, service

pytest_plugins = ["databases", "services"]
pytestmark = pytest.mark.usefixtures("coarse_fits")
PAGE = (ROOT / "docs" / "service.md").read_text()
VISITOR = {"loyalty": 0.5, "days_away": 3.0, "device": "phone"}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_keys_are_made_listed_and_revoked(sqlite_urls: Urls) -> None:
    url = make_shop(sqlite_urls())
    made = run("keys", "create", url, "--name", "shop", "--scope", "decide", "--expires", "90d")
    key = made.stdout.split()[0]
    assert re.fullmatch(r"tacit_[0-9a-f]{12}_[\w-]{43}", key)
    listed = run("keys", "list", url, "--json")
    (about,) = json.loads(listed.stdout)["keys"]
    assert about["scopes"] == ["decide"]
    assert about["expires"] - about["created"] == pytest.approx(90 * 86_400)
    assert key.split("_", 2)[2] not in listed.stdout
    assert about["id"] in run("keys", "list", url).stdout
    run("keys", "revoke", url, about["id"])
    (about,) = json.loads(run("keys", "list", url, "--json").stdout)["keys"]
    assert about["revoked"]
    with pytest.raises(InputError, match="one scope or more"):
        run("keys", "create", url, "--name", "shop", "--scope", "everything")


def test_the_help_of_every_command_teaches() -> None:
    for command in (["serve"], ["keys", "create"], ["db", "upgrade"]):
        found = run(*command, "--help")
        assert found.exit_code == 0
        assert "tacit" in found.stdout


def test_studies_are_named_by_their_databases_unless_they_are_named() -> None:
    assert _named_url("sqlite:///a/shop.db") == ("shop", "sqlite:///a/shop.db")
    assert _named_url("x=postgresql://h/clinic?a=b") == ("x", "postgresql://h/clinic?a=b")
    assert _named_url("postgresql://h/clinic?a=b")[0] == "clinic"
    assert _named_path("p=out/dosing") == ("p", "out/dosing")
    with pytest.raises(InputError, match="no name of a study"):
        _named_url("sqlite:///a/my shop.db")


def test_the_command_serves_until_it_is_told_to_end(sqlite_urls: Urls, tmp_path: Path) -> None:
    """The same entry point as that of the container, in a process of its own."""
    url = make_shop(sqlite_urls())
    log = tmp_path / "log"
    with running(service([f"shop={url}"], log=log)) as up:
        path = f"http://127.0.0.1:{up.port}"
        answer = httpx.post(f"{path}/v1/studies/shop/decisions", json={"context": {"c": 0.25}})
        assert answer.status_code == 200
        with httpx.stream("GET", f"{path}/v1/studies/shop/events") as stream:
            next(stream.iter_lines())
            assert up.stop() in (0, -15)
    assert Study.open(url).asked == 1
    assert "0.25" not in log.read_text()


def test_the_container_serves_by_the_same_command_and_settings(
    sqlite_urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its command, its variables and its health check, in a folder that cannot be written to."""
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text()
    compose = (ROOT / "docker" / "compose.yaml").read_text()
    command = json.loads(re.search(r"command: (\[.*\])", compose)[1])  # type: ignore[index]
    health = json.loads(re.search(r"CMD (\[\"python\".*\])", dockerfile)[1])  # type: ignore[index]
    assert 'ENTRYPOINT ["tacit"]' in dockerfile
    assert command == ["serve", "--host", "0.0.0.0", "--behind-proxy"]
    url = make_shop(sqlite_urls())
    made = run("keys", "create", url, "--name", "x", "--scope", "decide", "--json")
    for name, value in re.findall(r"(\w+)=(\w+)", re.search(r"ENV (.*)", dockerfile)[1]):  # type: ignore[index]
        if name != "PATH":
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("TACIT_STUDIES", f"shop={url}")
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o500)
    monkeypatch.chdir(empty)
    with running(service(command[3:])) as up:  # on the loopback address
        path = f"http://127.0.0.1:{up.port}"
        until = time.monotonic() + 30
        while httpx.get(f"{path}/readyz").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
        check = [sys.executable, *health[1:-1], health[-1].replace("8070", str(up.port))]
        assert subprocess.run(check, check=False).returncode == 0
        headers = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
        body = {"context": {"c": 0.25}}
        asked = httpx.post(f"{path}/v1/studies/shop/decisions", json=body, headers=headers)
        assert asked.status_code == 200
    assert list(empty.iterdir()) == []
    assert subprocess.run(check, check=False, stderr=subprocess.DEVNULL).returncode != 0


def test_a_process_that_serves_has_one_thread_of_linear_algebra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[int] = []

    class Server:
        def run(self) -> None:
            np.ones((2, 2)) @ np.ones((2, 2))
            pools = [each for each in threadpool_info() if each["user_api"] == "blas"]
            found.extend(each["num_threads"] for each in pools)
            warnings.warn("nobody reads this", stacklevel=1)

    monkeypatch.setattr(serving_module, "server", lambda *_: Server())
    serving_module.run(Any, serving_module.Listening())  # type: ignore[arg-type]
    assert found
    assert set(found) == {1}


def test_it_speaks_tls(sqlite_urls: Urls, serving: Serving, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed.")
    certificate = tmp_path / "cert.pem"
    key = tmp_path / "key.pem"
    made = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    named = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run(["openssl", *made.split(), *named], check=True, capture_output=True)
    url = make_shop(sqlite_urls())
    shop = serving(f"shop={url}", certificate=certificate, private_key=key)
    trusted = ssl.create_default_context(cafile=certificate)
    with httpx.Client(verify=trusted) as client:
        found = client.get(f"https://127.0.0.1:{shop.port}/v1/studies/shop")
    assert found.status_code == 200
    with pytest.raises(InputError, match="pass both, or neither"):
        serving(f"shop={url}", certificate=certificate)


def test_a_missing_extra_is_named(sqlite_urls: Urls) -> None:
    program = "import sys; sys.modules['msgspec'] = None; from tacit.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", make_shop(sqlite_urls())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'tacit-dp[serve]'" in done.stderr


def test_the_page_on_the_service_runs(
    tmp_path: Path, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python, against a shop; and of its commands those that end."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 20)
    lines = re.findall(r"^    tacit (.+?)(?:  +#.*)?$", PAGE, flags=re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["study", "keys", "serve"]
    made, key = (run(*line.split()) for line in lines[:2])
    assert made.exit_code == 0
    clinic = serving(lines[2].split()[1])
    clinic.key = key.stdout.split()[0]
    visit, reward = (json.loads(body) for body in re.findall(r"-d '(\{.*\})'", PAGE))
    printed = next(line for line in PAGE.splitlines() if line.startswith('    {"event_id"'))
    answer = clinic("POST", "/v1/studies/study/decisions", visit).json()
    assert {**answer, "action": None} == {**json.loads(printed), "action": None}
    assert clinic.reward(answer["event_id"], **reward).status_code == 204
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    made = ["study", "create", url, "examples/pricing.toml", "--rounds", "500", "--epochs", "2"]
    assert run(*made).exit_code == 0
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    key = json.loads(run("keys", "create", url, "--name", "x", *scopes, "--json").stdout)["key"]
    shop = serving(url)
    names: dict[str, Any] = {"KEY": key, "VISITOR": VISITOR}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block.replace("http://127.0.0.1:8070", shop.url), names)  # noqa: S102
    api.shutdown()
    assert names["found"].error_code is None
    assert names["decision"].counts
    assert Study.open(url).asked == 2
