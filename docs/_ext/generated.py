"""Pages that are made from the code: the command line, the HTTP interface, the proofs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command_line import command_line_page
from http_interface import http_page
from repository_links import PAGES, PROOFS, ROOT, proofs, resolved

from tacit.service.openapi import document
from tacit.service.service import CALLS


def write_all(docs: Path) -> None:
    reference = docs / "reference" / "generated"
    _write(reference / "command-line.md", command_line_page())
    about = document(CALLS)
    _write(reference / "http.md", http_page(about))
    _write(reference / "openapi.json", json.dumps(about, indent=2) + "\n")
    for proof in proofs():
        name = f"{PROOFS}/{proof.stem}"
        _write(docs / f"{name}.md", resolved(proof.read_text(), proof.parent, name))
    for source, page in PAGES.items():
        text = resolved((ROOT / source).read_text(), ROOT, page.removesuffix(".md"))
        _write(docs / page, text)


def _write(path: Path, text: str) -> None:
    """Leaves a file alone that is the same already: Sphinx then does not read it again."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _generate(app: Any) -> None:
    write_all(Path(app.srcdir))


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _generate)
    return {"parallel_read_safe": True}
