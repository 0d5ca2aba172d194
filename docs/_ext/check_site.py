"""Checks a built site: every internal link leads to a page, and to an anchor of it; every public
name has an entry.

    python docs/_ext/check_site.py out/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reference_names import names_with_examples
from sphinx.util.inventory import InventoryFile


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            if name in ("href", "src") and tag != "link":
                self.links.append(value)


def broken_links(site: Path) -> tuple[int, int, list[str]]:
    """How many pages and internal links there are, and what leads nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    checked = 0
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            checked += 1
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target = target / "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site.resolve())}: {link} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site.resolve())}: {link} has no such anchor")
    return len(pages), checked, broken


def names_without_entry(site: Path) -> list[str]:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    known = {name for kind in inventory.data.values() for name in kind}
    return [name for name, _ in names_with_examples() if name not in known]


def main() -> int:
    site = Path(sys.argv[1])
    pages, checked, broken = broken_links(site)
    missing = names_without_entry(site)
    for each in broken:
        sys.stderr.write(f"{each}\n")
    for each in missing:
        sys.stderr.write(f"{each} has no entry in the reference\n")
    sys.stdout.write(f"{checked} internal links on {pages} pages were checked\n")
    return 1 if broken or missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
