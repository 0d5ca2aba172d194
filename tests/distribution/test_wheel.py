"""Wheels and the source distribution, built and installed where nothing but their own requirements
is: fit, decide, plan, ledger and study run without any extra, and a slim machine serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

import tacit
from helpers import PROBLEM, ROOT
from tacit_lab.benchmarks.sizes import closure, installed, normal

WHEEL = f"tacit_dp-{tacit.__version__}-py3-none-any.whl"
SLIM = f"tacit_dp_slim-{tacit.__version__}-py3-none-any.whl"
SOURCES = f"tacit_dp-{tacit.__version__}.tar.gz"

# All commands in one interpreter: each would take a second to start.
PROGRAM = """
import importlib.metadata, json, pathlib, sys
import numpy as np
import tacit, tacit.design.choices
from typer.testing import CliRunner
from tacit.cli import app

tacit.design.choices.COARSE_RANK = 30
tacit.design.choices.TUNING_POINTS = 512

def run(line):
    done = CliRunner().invoke(app, [*line.split(), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)

rng = np.random.default_rng(0)
rows = rng.uniform([0, 18, 40, 0], [100, 95, 140, 1], (300, 4))
np.savetxt("log.csv", rows, delimiter=",", header="dose,age,weight,reward", comments="")
np.savetxt("new.csv", rows[:2, 1:3], delimiter=",", header="age,weight", comments="")
run("plan problem.toml --rank 8 --rounds 300")
run("fit problem.toml log.csv --rank 8 --out policy")
decided = run("decide policy new.csv --out decided.csv")
spent = run("ledger show sqlite:///log.csv.ledger.db")
run("study create sqlite:///study.db problem.toml --rounds 20 --rank 8")
study = tacit.Study.open("sqlite:///study.db")
study.tell(study.ask({"age": 61, "weight": 74}), 0.5)
released = run("study release sqlite:///study.db --out released")
found = {
    "where": tacit.__file__,
    "packages": sorted({each.name for each in importlib.metadata.distributions()}),
    "decided": decided["rows"],
    "private": [tacit.Policy.load(each).private for each in ("policy", "released")],
    "arrow": "pyarrow" in sys.modules,
}
print(json.dumps(found))
"""

# What a policy decides over HTTP, and what it decides here.
SERVING = """
import json, threading, time, urllib.request
import tacit
from tacit.service.running import Listening, make_service, server
listening = Listening(port=0)
made = server(make_service([], ["policy"], listening), listening)
threading.Thread(target=made.run, daemon=True).start()
while not made.started:
    time.sleep(0.01)
port = made.servers[0].sockets[0].getsockname()[1]
def get(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    return json.load(urllib.request.urlopen(asked))
contexts = {"age": 61, "weight": 74}
local = tacit.Policy.load("policy").decide(contexts)
served = get("/v1/studies/policy/decisions", {"context": contexts})
print(json.dumps({"served": served, "local": local, "opendp": get("/version")["opendp"]}))
made.should_exit = True
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what would be uploaded."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    for target, where in (("sdist", ROOT), ("wheel", ROOT), ("wheel", ROOT / "slim")):
        subprocess.run([*build, "-t", target], cwd=where, check=True, capture_output=True)
    return folder


def requirements_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as file:
        name = next(each for each in file.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(file.read(name).decode()).get_all("Requires-Dist") or []


def environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """The interpreter of an environment with a wheel and, by links to the files that are here, with
    the packages that it requires and no others."""
    venv.create(folder, symlinks=True)
    names = sysconfig.get_path("purelib", vars={"base": str(folder)})
    site = Path(names)
    for name in closure(requirements_of(wheel), frozenset(extras)):
        package = installed(name)
        assert package is not None, f"{name} is not installed here"
        for top in {file.parts[0] for file in package.files or () if file.parts[0] != ".."}:
            if not (site / top).exists() and top != "__pycache__":
                (site / top).symlink_to(str(package.locate_file(top)))
    with zipfile.ZipFile(wheel) as file:
        file.extractall(site)
    return folder / "bin" / "python"


def run(python: Path, program: str, folder: Path) -> dict[str, object]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", program],
        cwd=folder,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_types_proofs_and_migrations_are_in_both_wheels(built: Path) -> None:
    names = []
    for wheel in (WHEEL, SLIM):
        with zipfile.ZipFile(built / wheel) as file:
            names.append({each for each in file.namelist() if each.startswith("tacit/")})
    assert names[0] == names[1]
    package = ROOT / "src" / "tacit"
    kept = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert names[0] == {path.relative_to(package.parent).as_posix() for path in kept}
    assert {"tacit/py.typed", "tacit/core/gaussian.md"} <= names[0]


def test_a_slim_machine_has_everything_but_opendp(built: Path) -> None:
    full = set(requirements_of(built / WHEEL))
    slim = set(requirements_of(built / SLIM))
    assert slim <= full
    core = {each for each in full - slim if "extra" not in each}
    assert {each.partition(">")[0] for each in core} == {"opendp"}
    assert "opendp" not in closure(sorted(slim), frozenset(["serve"]))


def test_the_sources_make_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / SOURCES) as file:
        # Python 3.11 has the filter from its fourth patch on; these sources are our own.
        safe: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        file.extractall(tmp_path, **safe)
    (unpacked,) = tmp_path.iterdir()
    assert (unpacked / "tests" / "distribution" / "test_wheel.py").exists()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    subprocess.run(build, cwd=unpacked, check=True, capture_output=True)
    assert (tmp_path / "out" / WHEEL).read_bytes() == (built / WHEEL).read_bytes()


def test_a_wheel_alone_fits_decides_plans_and_keeps_ledgers_and_studies(
    built: Path, tmp_path: Path
) -> None:
    """And a slim machine serves the policy that it fitted."""
    python = environment(tmp_path / "core", built / WHEEL)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    found = run(python, PROGRAM, tmp_path)
    assert str(found["where"]).startswith(str(tmp_path))
    assert found["decided"] == 2
    assert found["private"] == [True, True]
    assert not found["arrow"]
    packages = {normal(name) for name in found["packages"]}  # type: ignore[attr-defined]
    assert packages == closure(requirements_of(built / WHEEL)) | {"tacit-dp"}

    slim = environment(tmp_path / "slim", built / SLIM, "serve")
    served = run(slim, SERVING, tmp_path)
    assert served["opendp"] == "not installed"
    assert served["served"]["action"] == pytest.approx(served["local"])  # type: ignore[index]


@pytest.mark.slow
def test_pip_installs_the_wheel_from_the_index(built: Path, tmp_path: Path) -> None:
    """With whatever versions are newest: hundreds of megabytes."""
    venv.create(tmp_path / "core", with_pip=True)
    python = tmp_path / "core" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", built / WHEEL], check=True)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    assert run(python, PROGRAM, tmp_path)["decided"] == 2
