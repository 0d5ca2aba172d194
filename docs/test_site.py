"""The check of a built site sees what is broken."""

from __future__ import annotations

from pathlib import Path

from check_site import broken_links


def write(site: Path, body: str) -> None:
    (site / "index.html").write_text(f'<html><body id="top">{body}</body></html>')
    (site / "other.html").write_text('<html><body><h1 id="here">Other</h1></body></html>')


def test_good_links_pass(tmp_path: Path) -> None:
    write(
        tmp_path, '<a href="other.html#here">a</a><a href="#top">b</a><a href="https://x.y">c</a>'
    )
    assert broken_links(tmp_path) == (2, 2, [])


def test_a_missing_page_and_a_missing_anchor_are_seen(tmp_path: Path) -> None:
    write(tmp_path, '<a href="gone.html">a</a><a href="other.html#gone">b</a><img src="gone.png">')
    _, _, broken = broken_links(tmp_path)
    assert broken == [
        "index.html: gone.html leads nowhere",
        "index.html: other.html#gone has no such anchor",
        "index.html: gone.png leads nowhere",
    ]
