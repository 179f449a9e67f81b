"""What is wrong with how a page looks, in any browser window."""

from __future__ import annotations


def faults_of_layout(page):
    """What sticks out of the window, and what axe finds to be serious."""
    from axe_playwright_python.sync_playwright import Axe

    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
    found = Axe().run(page).response["violations"]
    return (["wider than the window"] if wide else []) + [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found if one["impact"] in {"serious", "critical"}]  # fmt: skip
