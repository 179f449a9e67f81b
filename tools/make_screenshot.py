"""Take the pictures of the README and the docs from the report of the bundled collection, with a headless Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 860}
SCREEN = {"width": 1280, "height": 620}  # of the first page, which is the decision
QUERY = "q24"  # in English, so that every browser has the letters


def report(folder: Path, lang: str) -> Path:
    """Write the demo's report."""
    words = [sys.executable, "-m", "assay", "demo", "--output", str(folder / lang), "--lang", lang]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return folder / lang / "report.html"


def has_chinese() -> bool:
    """Say whether the browser will find a font for Chinese."""
    lister = shutil.which("fc-list")
    found = subprocess.run([lister, ":lang=zh"], capture_output=True, check=True).stdout if lister else b""
    return bool(found.strip())


def take(browser: Browser, file: Path, name: str, part: str, **options: Any) -> None:
    """Open a page of the file, such as #summary or #query=ID, and save the picture."""
    size = SCREEN if part == "summary" else SIZE
    page = browser.new_page(viewport=size, reduced_motion="reduce", **options)  # type: ignore[arg-type]
    page.goto(f"{file.as_uri()}#{part}")
    page.wait_for_timeout(1000)
    page.screenshot(path=IMAGES / name)
    page.close()
    print(f"wrote {(IMAGES / name).relative_to(IMAGES.parents[1])}")


def take_workbench(browser: Browser, folder: Path) -> None:
    """Save a picture of the workbench over the demo: a document to grade, after a few others."""
    import assay
    from assay.server.workbench.opening import open_workbench

    tea = folder / "tea"
    runs = {name: tea / f"{name}.run" for name in ("bm25", "ngrams")}
    found = assay.pool_judgments(runs, 60, queries=tea / "queries.jsonl", documents=tea / "documents.jsonl")
    found.save(folder / "pool.jsonl")
    with open_workbench(folder) as server:
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
        page.goto(server.address)
        page.goto(f"{server.origin}/label")
        page.get_by_role("link", name="pool.jsonl").click()
        page.keyboard.type("Ann")
        page.keyboard.press("Enter")
        for key in "3102":
            page.wait_for_selector(".card")
            with page.expect_navigation():
                page.keyboard.press(key)
        page.screenshot(path=IMAGES / "workbench.png")
        page.close()
    print("wrote docs/images/workbench.png")


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    place = os.environ.get("ASSAY_CHROMIUM") or shutil.which("chromium")
    if place is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=["--no-sandbox"])
        english = report(Path(folder), "en")
        take(browser, english, "report.png", "summary")
        take(browser, english, "queries.png", "queries")
        take(browser, english, "query.png", f"query={QUERY}", color_scheme="dark")
        take_workbench(browser, english.parent)
        if has_chinese():
            take(browser, report(Path(folder), "zh"), "report.zh.png", "summary")
        else:
            print("no font for Chinese is installed: docs/images/report.zh.png is left as it is")
        browser.close()


if __name__ == "__main__":
    main()
