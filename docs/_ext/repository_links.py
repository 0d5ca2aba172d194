"""Links of pages to files of the repository: those that are pages of the site lead to them.

A page in docs/ links to `../src/tacit/core/sums.md`, which a forge shows. On the site the proofs
are pages of their own, made by `generated`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PROOFS = "concepts/generated"
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?(?=\))")
# Files of the repository that the site has as pages.
PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "RELEASING.md": "project/releasing.md",
    "SECURITY.md": "project/security.md",
}


def proofs() -> list[Path]:
    """The proofs that stand beside the code."""
    core = sorted((ROOT / "src" / "tacit" / "core").glob("*.md"))
    return [*core, ROOT / "src" / "tacit" / "reading.md"]


def resolved(text: str, folder: Path, docname: str) -> str:
    """The text of a page in `folder`, with links for the page `docname` of the site."""
    pages = {ROOT / name: page for name, page in PAGES.items()}
    pages |= {proof: f"{PROOFS}/{proof.stem}.md" for proof in proofs()}
    docs = ROOT / "docs"
    here = (docs / docname).parent

    def target(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / match[1]))
        if path in pages:
            path = docs / pages[path]
        elif not path.exists():
            return match[0]  # Sphinx says that it leads nowhere
        return os.path.relpath(path, here) + (match[2] or "")

    return LINK.sub(target, text)


def _read(app: Any, docname: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md" and "generated" not in path.parts:
        source[0] = resolved(source[0], path.parent, docname)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
