"""Pictures of every page of the dashboard, made by Debian's Chromium:

    python -m tacit_lab.benchmarks.screens --out out/screens [--study FILE] [--pictures docs/images]

With --pictures the two of the README are made, and nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tacit_lab.loads.large_study import make_small_study
from tacit_lab.loads.servers import Server, free_port

SIZES = [2000, 3000, 4000]
ASKED = [2000, 3000, 1500]
SECONDS = 300_000.0  # milliseconds that figures may take
PAGES = {
    "studies": "/",
    "study": "/studies/dosing",
    "plan": "/studies/dosing/plan",
    "ledger": "/studies/dosing/ledger",
    "statement": "/studies/dosing/statement",
    "try": "/studies/dosing/try",
    "operate": "/studies/dosing/operate",
    "dry-run": "/studies/dosing/operate/advance?early=yes",
    "new": "/new",
    "sign-in": "/sign-in",
}
READY = "() => !document.querySelector('[data-wait], [data-again]')"


def take(page: Page, address: str, out: Path) -> None:
    """Every page as a whole, light and dark, on a desk and in a pocket."""
    for name, path in PAGES.items():
        page.set_viewport_size({"width": 1180, "height": 820})
        page.emulate_media(color_scheme="light")
        page.goto(address + path)
        page.wait_for_function(READY)
        if name == "try":
            page.click("text=Decide")
        page.screenshot(path=out / f"{name}.png", full_page=True)
        if name == "study":
            page.screenshot(path=out / "study-top.png")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=out / f"{name}-dark.png", full_page=True)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 320, "height": 640})
        page.screenshot(path=out / f"{name}-320.png", full_page=True)
        print(f"{name}: {out / name}.png")
    page.goto(address + PAGES["statement"])
    page.pdf(path=out / "statement.pdf")


def pictures(page: Page, address: str, out: Path) -> None:
    """The two of the README: what a study earned and decides, and a decision that is tried."""
    page.set_viewport_size({"width": 1180, "height": 1500})
    page.goto(address + PAGES["study"])
    page.wait_for_function(READY)
    page.evaluate("document.querySelector('#value').scrollIntoView()")
    page.screenshot(path=out / "dashboard.png")
    page.set_viewport_size({"width": 1180, "height": 1130})
    page.goto(address + PAGES["try"])
    page.click("text=Decide")
    page.screenshot(path=out / "dashboard-try.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/screens"))
    parser.add_argument("--study", type=Path, help="a database to show; one is made otherwise")
    parser.add_argument("--pictures", type=Path, help="a folder for the two of the README")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "dosing.db"
        if given.study is None:
            make_small_study(path, SIZES, ASKED)
        else:
            shutil.copy(given.study, path)
        port = free_port()
        arguments = ["-m", "tacit", "dashboard", "--folder", folder, "--port", str(port)]
        server = Server([*arguments, "--no-browser"], port, "/livez", None).wait()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        try:
            page = browser.new_page(device_scale_factor=0.75 if given.pictures else 1.0)
            page.set_default_timeout(SECONDS)
            make = pictures if given.pictures else take
            make(page, f"http://127.0.0.1:{port}", given.pictures or given.out)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
