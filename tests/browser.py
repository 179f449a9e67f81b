"""A real browser for tests: Debian's chromium driven by playwright; tests that need it are skipped without it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

# Nothing of the browser itself may talk to the network while we look whether the page does.
FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
]  # fmt: skip


def chromium() -> str | None:
    return os.environ.get("ASSAY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Watched:
    """A page with everything that must not happen on it: errors, requests, dialogs."""

    def __init__(self, page, address: str, inside: str = "") -> None:
        self.page, self.faults = page, []
        page.on("console", lambda message: self.faults.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url, address))
        page.on("dialog", self._dialog)
        page.goto(f"{address}#{inside}" if inside else address)

    def _asked(self, url: str, address: str) -> None:
        if url.split("#", maxsplit=1)[0] != address and not url.startswith(("data:,", "blob:")):
            self.faults.append(f"request: {url}")

    def _dialog(self, dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


class Browser:
    def __init__(self, browser) -> None:
        self.browser = browser

    @contextlib.contextmanager
    def open(self, path, **options):
        """Open a file, at an address within it if one stands behind a #; leaving checks that nothing forbidden happened."""
        context = self.browser.new_context(**options)
        name, _, inside = str(path).partition("#")
        try:
            watched = Watched(context.new_page(), Path(name).as_uri(), inside)
            yield watched.page
            watched.page.wait_for_timeout(50)
            assert watched.faults == []
        finally:
            context.close()


def _absent(why: str) -> NoReturn:
    """Skip, or fail where a browser is required, as it is in continuous integration."""
    if os.environ.get("ASSAY_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)


def launched():
    """A browser, or the reason why there is none."""
    place = chromium()
    if place is None:
        _absent("chromium is not installed: apt-get install chromium, or set ASSAY_CHROMIUM")
    try:
        from playwright import sync_api as playwright
    except ImportError:
        _absent("playwright is not installed: pip install 'assay-eval[test]'")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=place, args=FLAGS)
        yield Browser(started)
        started.close()
