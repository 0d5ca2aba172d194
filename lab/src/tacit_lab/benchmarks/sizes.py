"""What each extra takes: megabytes on disk, and time to import what it is for.

    python -m tacit_lab.benchmarks.sizes             # in an environment with the extras to measure
    python -m tacit_lab.benchmarks.sizes --json

Sizes are those of the files that the packages in this environment own, without bytecode. What an
extra brings is followed through the requirements that the packages state; what is not installed
here is named, and counts as nothing. Times are processor time of a fresh interpreter, in units of
the time that `import numpy` takes in the same run, the smallest of several.
"""

from __future__ import annotations

import json as encoding
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table

MEGABYTE = 1e6
NUMPY = "import numpy"
# What is imported to do something.
USES = {
    "import tacit": "import tacit",
    "a policy": "from tacit import Policy",
    "a fit": "from tacit import fit",
    "a study": "from tacit import Study",
    "the command line": "import tacit.cli",
    "files": "from tacit import fit; import pyarrow.parquet, pyarrow.csv",
    "serve": "import tacit.service.running, uvicorn",
    "client": "import tacit.client",
    "plot": "import tacit.report; from matplotlib.figure import Figure",
    "sklearn": "import tacit.sklearn",
    "postgres": "from tacit import Study; import psycopg",
    "ray": "from tacit import fit; import ray",
}


def normal(name: str) -> str:
    """The name of a distribution as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted_by(requirements: list[str], extras: frozenset[str]) -> Iterator[Requirement]:
    """The requirements that hold here with these extras."""
    for text in requirements:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield requirement


def closure(requirements: list[str], extras: frozenset[str] = frozenset()) -> set[str]:
    """The names of all distributions that these requirements bring with them, installed or not."""
    found: set[str] = set()
    todo = [(each.name, frozenset(each.extras)) for each in wanted_by(requirements, extras)]
    done = set()
    while todo:
        asked = todo.pop()
        if asked in done:
            continue
        done.add(asked)
        name, inner = asked
        found.add(normal(name))
        if (package := installed(name)) is not None:
            more = wanted_by(list(package.requires or ()), inner)
            todo += [(each.name, frozenset(each.extras)) for each in more]
    return found


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def size_of(name: str) -> float:
    """Megabytes of the files of a distribution, without bytecode; 0 if it is not installed."""
    package = installed(name)
    if package is None:
        return 0.0
    paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
    kept = [path for path in paths if path.suffix != ".pyc" and path.is_file()]
    return sum(path.stat().st_size for path in kept) / MEGABYTE


def seconds(program: str, repeats: int) -> float | None:
    """Processor time of a fresh interpreter, the smallest of several; None if it fails."""
    times = []
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(repeats + 1):  # the first one writes bytecode
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            return None
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


def measure_sizes(name: str) -> dict[str, Any]:
    """Megabytes of the core and of what each extra adds to it, package by package."""
    package = distribution(name)
    requirements = list(package.requires or ())
    core = closure(requirements)
    extras = sorted(package.metadata.get_all("Provides-Extra") or ())
    brought = {extra: closure(requirements, frozenset([extra])) - core for extra in extras}
    lists = {"core": core} | brought
    return {
        which: {
            "megabytes": sum(map(size_of, names)),
            "packages": {each: size_of(each) for each in sorted(names, key=size_of, reverse=True)},
            "missing": sorted(each for each in names if installed(each) is None),
        }
        for which, names in lists.items()
    }


def measure_times(repeats: int) -> dict[str, float | None]:
    """Import times in units of that of NumPy, without that of the interpreter itself."""
    bare = seconds("pass", repeats) or 0.0
    unit = (seconds(NUMPY, repeats) or 0.0) - bare
    times = {use: seconds(program, repeats) for use, program in USES.items()}
    return {use: None if time is None else (time - bare) / unit for use, time in times.items()}


def main(
    name: Annotated[str, typer.Option(help="The distribution to measure.")] = "tacit-dp",
    repeats: Annotated[int, typer.Option(help="Interpreters started per import.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Megabytes and import times of the core and of each extra."""
    sizes = measure_sizes(name)
    times = measure_times(repeats)
    if json:
        print(encoding.dumps({"sizes": sizes, "times": times}, indent=1))
        return
    table = Table("extra", "MB", "of which", title="What an extra adds")
    for which, found in sizes.items():
        largest = [f"{each} {size:.0f}" for each, size in found["packages"].items() if size >= 1]
        missing = [f"{each} (not installed)" for each in found["missing"]]
        table.add_row(which, f"{found['megabytes']:.0f}", ", ".join(largest + missing))
    Console().print(table)
    table = Table("to use", "times `import numpy`", title="Import time")
    for use, ratio in times.items():
        table.add_row(use, "not installed" if ratio is None else f"{ratio:.1f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
