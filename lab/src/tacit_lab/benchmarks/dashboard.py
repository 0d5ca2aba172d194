"""How long pages of a study with a million rounds and fifty epochs take on the server, and how
large they are:

    python -m tacit_lab.benchmarks.dashboard [--rounds N] [--epochs N] [--page docs/dashboard.md]
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from tacit.dashboard.rendering import static
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.loads.large_study import make_large_study
from tacit_lab.loads.servers import Server, free_port

PAGES = {
    "studies": "/",
    "study": "/studies/large",
    "plan": "/studies/large/plan",
    "ledger": "/studies/large/ledger",
    "statement": "/studies/large/statement",
    "try it": "/studies/large/try",
    "operate": "/studies/large/operate",
    "dry run": "/studies/large/operate/extend?rounds=20000&epochs=1",
}
HEADER = [
    "page",
    "first, ms",
    "median, ms",
    "slowest of 20, ms",
    "processor time, ms",
    "page, kB",
    "with all files, kB",
]
TIMES = 20
SECONDS = 900.0  # that figures may take


@dataclass(frozen=True)
class Measured:
    """One page: how long it took, and its size in bytes."""

    first: float
    times: list[float]
    cpu: float  # of the service's process, for each time
    size: int


def fetch(client: httpx.Client, path: str) -> tuple[float, httpx.Response]:
    started = time.perf_counter()
    found = client.get(path)
    taken = time.perf_counter() - started
    if found.status_code != 200:
        raise RuntimeError(f"{path} answered {found.status_code}.")
    return taken, found


def measure(client: httpx.Client, server: Server) -> dict[str, Measured]:
    """Every page right after the start, then again once figures and plans are there."""
    first = {name: fetch(client, path)[0] for name, path in PAGES.items()}
    until = time.monotonic() + SECONDS
    for path in PAGES.values():
        while 'http-equiv="refresh"' in fetch(client, path)[1].text:
            if time.monotonic() > until:
                raise RuntimeError(f"{path} is not drawn after {SECONDS:g} s.")
            time.sleep(0.5)
    found = {}
    for name, path in PAGES.items():
        before = server.cpu()
        answers = [fetch(client, path) for _ in range(TIMES)]
        times = [taken for taken, _ in answers]
        cpu = (server.cpu() - before) / TIMES
        found[name] = Measured(first[name], times, cpu, len(answers[-1][1].content))
    return found


def try_it(client: httpx.Client, server: Server) -> Measured:
    """A decision on the page: a form that is sent."""
    page = client.get("/studies/large/try").text
    token = re.search(r'name="csrf" value="(\w+)"', page)
    assert token is not None
    form = {"csrf": token[1], "c-age": "50", "c-weight": "80", "c-gene": "A/G"}
    times = []
    before = server.cpu()
    for _ in range(TIMES + 1):
        started = time.perf_counter()
        found = client.post("/studies/large/try", data=form)
        times.append(time.perf_counter() - started)
        assert found.status_code == 200
    cpu = (server.cpu() - before) / (TIMES + 1)
    return Measured(times[0], times[1:], cpu, len(found.content))


def rows_of(found: dict[str, Measured]) -> list[list[str]]:
    fixed = sum(len(static(name)[0]) for name in ("style.css", "script.js", "icon.svg"))
    return [
        [
            name,
            f"{1000 * each.first:.0f}",
            f"{1000 * median(each.times):.0f}",
            f"{1000 * max(each.times):.0f}",
            f"{1000 * each.cpu:.0f}",
            f"{each.size / 1000:.1f}",
            f"{(each.size + fixed) / 1000:.1f}",
        ]
        for name, each in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--page", type=Path, help="a page to put the table into")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        make_large_study(path, given.rounds, given.epochs)
        port = free_port()
        arguments = ["-m", "tacit", "serve", f"sqlite:///{path}", "--port", str(port)]
        server = Server(arguments, port, "/livez", None).wait()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                found = measure(client, server)
                found["try it, decided"] = try_it(client, server)
        finally:
            server.stop()
    rows = rows_of(found)
    title = f"Pages of a study with {given.rounds:,} rounds and {given.epochs} epochs"
    print_table(title, HEADER, rows, width=130)
    if given.page is not None:
        put_table(given.page, "pages", HEADER, rows)


if __name__ == "__main__":
    main()
