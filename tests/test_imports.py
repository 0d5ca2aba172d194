"""Imports go one way: from the trusted core and the public maths up to the command line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tacit

ROOT = Path(tacit.__file__).parent

# Each room may import from itself and from the rooms above it in this list. What is public (policy)
# stands above what is private (statistic): it cannot even import it.
ROOMS = [
    ["_version", "errors", "progress", "quiet"],
    ["core"],
    ["tables", "spec", "linalg"],
    ["arrays"],
    ["domains"],
    ["contexts", "kernels"],
    ["problem"],
    ["paper", "design"],
    ["decoder", "planning", "scoring"],
    ["policy"],
    ["refinement"],
    ["report"],
    ["statistic"],
    ["once", "partial"],
    ["bandit", "files"],
    ["collect"],
    ["audit"],
    ["demo", "arena", "bench"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def imports_of(source: str) -> set[str]:
    """Rooms that a module imports at its top; what stands under TYPE_CHECKING or in a function
    waits."""
    found: set[str] = set()
    tree = ast.parse(source)
    for node in tree.body:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "tacit"
        ):
            rest = node.module.split(".")[1:]
            found |= {rest[0]} if rest else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tacit.")
            }
    return found


def violations(files: dict[str, str]) -> list[str]:
    """`files` maps 'room/module.py' to source."""
    wrong = []
    for name, source in files.items():
        room = name.split("/")[0].removesuffix(".py")
        wrong += [
            f"{name} imports {other}" for other in imports_of(source) if LEVEL[other] > LEVEL[room]
        ]
    return wrong


def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).as_posix() != "__init__.py"
    }


def test_every_import_goes_down_one_direction() -> None:
    assert violations(sources()) == []


def test_the_test_would_see_a_wrong_import() -> None:
    assert violations({"core/bad.py": "from tacit.kernels import RBF\n"}) == [
        "core/bad.py imports kernels"
    ]
    assert violations({"policy.py": "from tacit.statistic import Statistic\n"}) == [
        "policy.py imports statistic"
    ]
    assert violations({"design/bad.py": "from tacit import bandit\n"}) == [
        "design/bad.py imports bandit"
    ]


def test_the_trusted_core_imports_no_numerics_even_late() -> None:
    allowed = {"core", "errors"}
    for path in (ROOT / "core").glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        modules = [
            (node.module or "").split(".") for node in nodes if isinstance(node, ast.ImportFrom)
        ]
        assert all(module[1] in allowed for module in modules if module[0] == "tacit"), path.name
        assert not any(module[0] == "scipy" for module in modules), path.name


def test_the_heavy_stages_work_where_opendp_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['opendp'] = None; sys.path.insert(0, sys.argv[1])\n"
        "from helpers import small_design, records\n"
        "s = small_design().statistic().add(*records(300)); print(s)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "records=300" in done.stdout
