"""Proofs and code stay together: every mechanism has its page, and what a page names, quotes or
computes is so."""

from __future__ import annotations

import ast
import importlib
import io
import json
import math
import re
import sys
import tokenize
from collections.abc import Iterator
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from helpers import BUDGET, ROOT, create_study, small_problem, sqlite
from tacit.core import Encoding, integer_weights
from tacit.core.budget import epsilon_of_rho
from tacit.core.selection import sensitivity

CORE = Path(tacit.__file__).parent / "core"
GUARANTEE = ROOT / "docs" / "guarantee.md"

# Which page proves which files. Every file of the core has exactly one.
PROVES = {
    "contribution": ["contribution"],
    "sums": ["sums", "users"],
    "gaussian": ["noise", "release"],
    "selection": ["selection"],
    "accounting": ["budget", "curve", "events", "search"],
    "cohorts": ["cohorts"],
    "parts": ["parts"],
    "ledger": ["accounts", "database", "ledger"],
    "saved": ["saved"],
}
HEADINGS = ["Claim", "Neighbours", "Preconditions", "Pseudocode", "Argument", "What is not covered"]
READING = CORE.parent / "reading.md"  # of what comes before the core
READERS = [
    "tables.py",
    "quiet.py",
    "domains/records.py",
    "domains/types.py",
    "kernels/rows.py",
]
CORE_PROOFS = [CORE / f"{page}.md" for page in PROVES]
PROOFS = [*CORE_PROOFS, READING]
PAGES = [*PROOFS, GUARANTEE]
LETTERS = {"Delta", "Phi"}  # capitalised, and no class
FIELDS = ("guarantee.", "facts.")  # of policy.json, checked against a real one

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


# -- reading pages --------------------------------------------------------------------------------


def prose(text: str) -> str:
    """A page without its blocks of code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def quoted(text: str) -> set[str]:
    """What stands in backticks, and the names in the comments of pseudocode."""
    comments = re.findall(r"^    .*#\s(.*)$", text, flags=re.MULTILINE)
    named = {
        name for comment in comments for name in re.findall(r"[A-Za-z_]\w*(?:\.\w+)+", comment)
    }
    return set(re.findall(r"`([^`]+)`", prose(text))) | named


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, flags=re.MULTILINE)


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path, text: str) -> list[str]:
    dead = []
    for link in re.findall(r"\]\(([^)]+)\)", prose(text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            dead.append(link)
    return dead


# -- reading code ---------------------------------------------------------------------------------


@cache
def names_of_tests() -> set[str]:
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    return {name for text in texts for name in re.findall(r"^ *def (test_\w+)\(", text, re.M)}


def classes() -> dict[str, type]:
    """Every class that is there once all that Tacit exports is loaded."""
    for name in tacit.__all__:
        getattr(tacit, name)
    modules = [
        module for name, module in list(sys.modules.items()) if name.split(".")[0] == "tacit"
    ]
    return {
        name: thing
        for module in modules
        for name, thing in vars(module).items()
        if isinstance(thing, type) and thing.__module__.startswith("tacit")
    }


def exists(name: str) -> bool:
    """`Class.member`, `module.function` with a module of the core, or a full path from `tacit`."""
    first, *rest = name.split(".")
    if first in (known := classes()):
        return all(hasattr(known[first], part) or part in _fields(known[first]) for part in rest)
    path = name.split(".") if first == "tacit" else ["tacit", "core", *name.split(".")]
    for split in range(len(path), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(path[:split]))
        except ImportError:
            continue
        for part in path[split:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def _fields(cls: type) -> set[str]:
    return {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}


def unknown_names(page: Path, text: str) -> list[str]:
    known = classes()
    wrong = []
    for name in sorted(quoted(text)):
        if name.startswith("test_"):
            ok = name in names_of_tests()
        elif re.fullmatch(r"\w+\.(py|md)", name):
            ok = (CORE / name).exists() or (page.parent / name).exists()
        elif re.fullmatch(r"\w+\.(json|npz|toml|db)", name) or name.startswith(FIELDS):
            ok = True
        elif re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", name):
            ok = exists(name)
        elif re.fullmatch(r"[A-Z][a-z]\w*", name):
            ok = name in known or name in LETTERS
        else:
            ok = True
        if not ok:
            wrong.append(name)
    return wrong


def public_names(source: str) -> list[str]:
    nodes = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return [node.name for node in nodes if not node.name.startswith("_")]


def statements(source: str) -> int:
    """Lines of code without docstrings, comments and blanks; a statement counts once, however it is
    wrapped."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = sum(
        isinstance(node, documented) and ast.get_docstring(node) is not None
        for node in ast.walk(ast.parse(source))
    )
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type == tokenize.NEWLINE for token in tokens) - docstrings


# -- pages and code -------------------------------------------------------------------------------


def test_every_file_of_the_trusted_core_has_its_page() -> None:
    files = {path.stem for path in CORE.glob("*.py")} - {"__init__"}
    assert sorted(name for names in PROVES.values() for name in names) == sorted(files)
    assert {page.name for page in CORE_PROOFS} == {path.name for path in CORE.glob("*.md")}


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.name)
def test_every_proof_has_its_parts_in_order(page: Path) -> None:
    assert headings(page.read_text()) == HEADINGS


@pytest.mark.parametrize("page", PROVES)
def test_nothing_public_in_the_core_is_missing_from_its_page(page: str) -> None:
    words = set(re.findall(r"\w+", (CORE / f"{page}.md").read_text()))
    names = [
        name
        for module in PROVES[page]
        for name in public_names((CORE / f"{module}.py").read_text())
    ]
    assert [name for name in names if name not in words] == []


def test_nothing_public_in_reading_is_missing_from_its_page() -> None:
    words = set(re.findall(r"\w+", READING.read_text()))
    names = [name for path in READERS for name in public_names((READING.parent / path).read_text())]
    assert len(names) > 10
    assert [name for name in names if name not in words] == []


@each_page
def test_what_a_page_names_exists(page: Path) -> None:
    assert unknown_names(page, page.read_text()) == []


@each_page
def test_links_of_proofs_lead_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text()) == []


def test_the_guarantee_links_every_proof() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", GUARANTEE.read_text())
    assert {(GUARANTEE.parent / link).resolve() for link in links} >= {
        page.resolve() for page in PROOFS
    }


def test_a_wrong_page_would_be_seen() -> None:
    wrong = "`Encoding.vanish`, `noise.no_such`, `Nonsense`, `test_no_such_thing`, `gone.py`; "
    wrong += "`Encoding`, `noise.py`\n"
    assert unknown_names(CORE / "x.md", wrong + "\n    y = f(x)   # Ledger.lost\n") == [
        "Encoding.vanish",
        "Ledger.lost",
        "Nonsense",
        "gone.py",
        "noise.no_such",
        "test_no_such_thing",
    ]
    assert dead_links(CORE / "x.md", "[a](no.md) [b](sums.md#nowhere) [c](sums.md#claim)") == [
        "no.md",
        "sums.md#nowhere",
    ]
    assert headings("## Claim\n### Not this\n## Argument\n") == ["Claim", "Argument"]


def test_all_of_the_trusted_base_is_named_and_no_larger_than_the_guarantee_says() -> None:
    """Each part is smaller than its figure, and not by so much that the figure means nothing."""
    parts = re.findall(
        r"^\| .+ \| (`tacit/.+) \| (\d+) \|$", GUARANTEE.read_text(), flags=re.MULTILINE
    )
    named = set()
    for files, most in parts:
        paths = {
            path
            for name in re.findall(r"`tacit/([^`]+)`", files)
            for path in CORE.parent.glob(name)
        }
        count = sum(statements(path.read_text()) for path in paths)
        assert int(most) - 40 < count < int(most), files
        named |= {path.relative_to(CORE.parent).as_posix() for path in paths}
    assert named >= {
        *READERS,
        "statistic.py",
        "core/sums.py",
        "logs/columns.py",
        "logs/reading.py",
    }


def test_statements_are_counted_without_docstrings_comments_and_blanks() -> None:
    assignment = '"""Doc."""\n\n# why\nx = [\n    1,\n]\n'
    function = 'def f():\n    """Doc\n    more."""\n    return 1\n'
    assert statements(assignment) == 1
    assert statements(assignment + "\n\n" + function) == 3


# -- what pages compute ---------------------------------------------------------------------------


def wild_rows(size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    rows = rng.normal(size=(20, size))
    yield rows / np.linalg.norm(rows, axis=1, keepdims=True)
    yield rows * 10.0 ** rng.integers(-9, 9, size=(20, 1))
    odd = rows.copy()
    odd[rng.random(odd.shape) < 0.05] = np.nan
    odd[rng.random(odd.shape) < 0.05] = np.inf
    yield odd


@pytest.mark.parametrize(("size", "bits"), [(1, 1), (1, 30), (3, 24), (7, 29), (50, 20)])
def test_the_code_of_a_contribution_equals_its_pseudocode(size: int, bits: int) -> None:
    names: dict[str, Any] = {
        "isfinite": math.isfinite,
        "isqrt": math.isqrt,
        "sign": lambda x: (x > 0) - (x < 0),
    }
    (block,) = python_blocks((CORE / "contribution.md").read_text())
    exec(compile(block, "contribution.md", "exec"), names)  # noqa: S102
    encoding = Encoding(size=size, horizon=10, bits=bits)
    rng = np.random.default_rng(size)
    for rows in wild_rows(size, rng):
        assert encoding.encode(rows).tolist() == [
            names["encode"](row, bits) for row in rows.tolist()
        ]
    integers = rng.integers(-(2**62), 2**62, size=(20, size)) >> rng.integers(0, 62, size=(20, 1))
    assert encoding.shrink(integers).tolist() == [
        names["shrink"](row, bits) for row in integers.tolist()
    ]


@pytest.mark.parametrize("candidates", [2, 40, 1500])
def test_scores_move_apart_by_at_most_twice_the_sensitivity(candidates: int) -> None:
    """In exact integers, for the worst pair of candidates; with half of it the worst records would
    break the bound."""
    encoding = Encoding(size=4, horizon=100)
    rng = np.random.default_rng(candidates)
    theta = integer_weights(rng.normal(size=(candidates, 4)) + 3.0, encoding)
    moved = []
    for x, y in rng.integers(candidates, size=(30, 2)):
        towards = (theta[x] - theta[y]) / max(1.0, float(np.linalg.norm(theta[x] - theta[y])))
        up, down = encoding.encode(np.array([towards, -towards]))
        delta = [int(t @ (up - down).astype(object)) for t in theta.astype(object)]
        moved.append(max(delta) - min(delta))
    claimed = 2 * sensitivity(theta, encoding)
    assert max(moved) <= claimed
    assert candidates > 1024 or max(moved) > 0.9 * claimed


@pytest.mark.parametrize("delta", [1e-300, 1e-9, 1e-6, 0.01, 0.5])
@pytest.mark.parametrize("rho", [1e-6, 0.02, 3.0, 4e6])
def test_the_conversion_covers_its_own_rounding(rho: float, delta: float) -> None:
    """Never below the smallest value of the formula, computed with 50 digits, and not above it by
    much."""
    with localcontext() as context:
        context.prec = 50
        log_delta = Decimal(delta).ln()
        golden = (Decimal(5).sqrt() - 1) / 2

        def f(log_excess: Decimal) -> Decimal:
            x = log_excess.exp()
            return (
                (1 + x) * Decimal(rho) + log_excess - (1 + x).ln() - (log_delta + (1 + x).ln()) / x
            )

        low = Decimal(-30)
        high = Decimal(40)
        for _ in range(80):
            left = high - golden * (high - low)
            right = low + golden * (high - low)
            low, high = (low, right) if f(left) <= f(right) else (left, high)
        exact = max(Decimal(0), f((low + high) / 2))
        ours = Decimal(epsilon_of_rho(rho, delta))
        assert exact <= ours <= exact * (1 + Decimal("1e-11")) + Decimal("1e-11")


def table_rows(text: str, first: str) -> list[list[float]]:
    """The numbers of the table whose first column is called so."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return [
        [float(cell.strip(" %")) for cell in line.strip("|").split("|")]
        for line in lines[start:end]
    ]


def test_the_figures_of_the_guarantee_are_those_of_its_formulas() -> None:
    rows = table_rows(GUARANTEE.read_text(), "epsilon")
    assert [row[0] for row in rows] == [0.1, 0.3, 1.0, 3.0]
    for epsilon, *shown in rows:
        factor = math.exp(epsilon)
        mu = math.sqrt(2 * tacit.Budget(epsilon, 1e-6).gaussian)
        odds = factor / 99
        shares = [
            odds / (1 + odds),
            (factor + 1e-6) / (factor + 1),
            (factor - 1 + 2e-6) / (factor + 1),
            math.erf(mu / 2 / math.sqrt(2)),  # 2 Phi(mu / 2) - 1
        ]
        assert shown == [round(factor, 3), *(round(100 * share, 1) for share in shares)]


def test_a_policy_is_checked_as_the_guarantee_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000, "rng": 0}
    study = create_study(sqlite(tmp_path), small_problem(), horizon=50, budget=BUDGET, **small)
    asked = study.ask_many([[61, 74]] * 20)
    study.tell_many([decision.id for decision in asked], [0.5] * 20)
    study.release().save("policy")
    (block,) = python_blocks(GUARANTEE.read_text())
    exec(compile(block, "guarantee.md", "exec"), {})  # noqa: S102

    about = json.loads(Path("policy/policy.json").read_text())
    assert about["private"] is True
    for field in (name for name in quoted(GUARANTEE.read_text()) if name.startswith(FIELDS)):
        part, key = field.split(".")
        assert key in about[part], field

    # A promise of half the epsilon for the same noise does not pass.
    about["guarantee"]["epsilon"] /= 2
    Path("policy/policy.json").write_text(json.dumps(about))
    with pytest.raises(AssertionError):
        exec(compile(block, "guarantee.md", "exec"), {})  # noqa: S102
