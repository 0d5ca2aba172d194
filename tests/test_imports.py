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
    ["_version", "_typing", "arrow", "errors", "progress", "quiet"],
    ["core"],
    ["tables", "spec", "spent", "typed"],
    ["numerics", "charts"],
    ["domains"],
    ["contexts", "kernels"],
    ["play"],
    ["problem"],
    ["paper", "residual"],
    ["design"],
    ["decoder"],
    ["policy"],
    ["residual/expected"],
    ["residual/refine"],
    ["report"],
    ["statistic"],
    ["passes", "single_decision"],
    ["evaluation"],
    ["epochs"],
    ["planning"],
    ["study", "logs"],
    ["migrations"],
    ["evaluating"],
    ["fitting"],
    ["sklearn"],
    ["audit"],
    ["demo"],
    ["client"],
    ["service"],
    ["dashboard"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}

# Methods that open a later room when they are called, for people: `design.statistic()` and
# `policy.report(path)`. There are no others.
CONVENIENCES = {"design/design.py imports statistic", "policy/policy.py imports report"}


def imports_of(source: str) -> set[str]:
    """Modules of the package that a module imports, at its top or in a function, as paths such as
    "core/budget". What stands under TYPE_CHECKING is not imported."""
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "tacit":
            names = [f"tacit.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        else:
            continue
        found |= {
            n.removeprefix("tacit.").replace(".", "/") for n in names if n.startswith("tacit.")
        }
    return found


def level_of(module: str) -> int:
    """Of "room/module", or of its room where it has none of its own."""
    return LEVEL[module] if module in LEVEL else LEVEL[module.split("/")[0]]


def violations(files: dict[str, str]) -> list[str]:
    """`files` maps 'room/module.py' to source."""
    wrong = []
    for name, source in files.items():
        own = level_of(name.removesuffix(".py"))
        later = [module for module in sorted(imports_of(source)) if level_of(module) > own]
        wrong += [f"{name} imports {module}" for module in later]
    return wrong


def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).as_posix() != "__init__.py"
    }


def test_every_import_goes_down_one_direction() -> None:
    assert set(violations(sources())) == CONVENIENCES


def test_the_test_would_see_a_wrong_import() -> None:
    wrong = {
        "core/bad.py": "from tacit.kernels import RBF\n",
        "policy/bad.py": "from tacit.statistic import Statistic\n",
        "design/bad.py": "from tacit import study\n",
        "contexts/late.py": "def f():\n    from tacit.design.design import Design\n",
        "residual/bad.py": "import tacit.decoder.parts\n",
    }
    assert violations(wrong) == [
        "core/bad.py imports kernels",
        "policy/bad.py imports statistic",
        "design/bad.py imports study",
        "contexts/late.py imports design/design",
        "residual/bad.py imports decoder/parts",
    ]
    typed = "if TYPE_CHECKING:\n    from tacit.statistic import Statistic\n"
    assert violations({"design/fine.py": typed}) == []


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
