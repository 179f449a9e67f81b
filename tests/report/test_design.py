"""The style sheet: contrast of every pair of tokens that text uses, and the markup that docs/design.md shows."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from assay.report.design import stylesheet
from assay.report.design.colours import GAIN, GRID, INK, LOSS, PALETTE, assign_colours

DOCS = Path(__file__).parents[2] / "docs" / "design.md"
SURFACES = ("paper", "sheet", "shade")
TEXT = [
    *itertools.product(("ink", "soft", "link"), SURFACES),
    *itertools.product(("good", "bad", "warn", "plain"), ("paper", "sheet", "shade")),
    *((tone, f"{tone}-bg") for tone in ("good", "bad", "warn", "plain")),
    *(("ink", f"{tone}-bg") for tone in ("good", "bad", "warn", "plain")),
    *((f"g{grade}-ink", f"g{grade}") for grade in range(4)),
    ("on-accent", "accent"), ("paper", "ink"), ("ink", "hit"), ("link", "plain-bg"),
]  # fmt: skip
SEEN = list(
    itertools.product(("edge", "focus", "gain", "loss", *(f"s{i}" for i in range(1, 11))), ("paper", "sheet", "shade"))
)


def blocks() -> dict[str, dict[str, str]]:
    """The colours of every theme, those of the light one where a theme has none of its own."""
    css = re.sub(r"/\*.*?\*/", "", stylesheet(), flags=re.DOTALL)
    colours = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", body)) for body in re.findall(r"\{([^{}]*)\}", css)]
    light, system, chosen, paper = (one for one in colours if "paper" in one)
    assert system == chosen, "a dark system and a page switched to dark look the same"
    return {"light": light, "dark": light | chosen, "print": light | paper}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def ratios(theme: str, pairs) -> dict[str, float]:
    known = blocks()[theme]
    return {f"{a} on {b}": contrast(known[a], known[b]) for a, b in pairs}


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_has_contrast_on_everything_it_stands_on(theme):
    assert {pair: ratio for pair, ratio in ratios(theme, TEXT).items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_and_edges_can_be_seen(theme):
    assert {pair: ratio for pair, ratio in ratios(theme, SEEN).items() if ratio < 3} == {}


def test_the_document_names_the_lowest_ratios():
    rows = ["| theme | text | marks |", "|---|---|---|"]
    for theme in ("light", "dark"):
        lowest = [min(ratios(theme, pairs).items(), key=lambda pair: pair[1]) for pairs in (TEXT, SEEN)]
        rows.append(f"| {theme} | " + " | ".join(f"{ratio:.2f} ({pair})" for pair, ratio in lowest) + " |")
    assert "\n".join(rows) in DOCS.read_text(encoding="utf-8"), "\n".join(rows)


def test_components_use_tokens_only():
    components = stylesheet().partition("/* ---- page")[2].partition("/* ---- print")[0]
    assert re.findall(r"#[0-9a-f]{3,8}\b", components) == []
    assert set(re.findall(r"var\(--([\w-]+)", components)) <= set(re.findall(r"--([\w-]+):", stylesheet()))


def test_the_colours_of_pictures_are_the_tokens():
    light = blocks()["light"]
    assert list(PALETTE) == [light[f"s{i}"] for i in range(1, 11)]
    assert [light[name] for name in ("gain", "loss", "ink", "line")] == [GAIN, LOSS, INK, GRID]


def test_a_colour_depends_on_the_order_of_the_names_alone():
    assert assign_colours(["b", "a", "c", "a"]) == assign_colours(("c", "b", "a")) == {"a": 1, "b": 2, "c": 3}
    assert assign_colours(f"{i:02}" for i in range(12))["10"] == 1


def gallery() -> str:
    """All markup of docs/design.md as one page."""
    page, *parts = re.findall(r"```html\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    body = page.replace("COMPONENTS", "\n".join(parts))
    head = (
        f'<meta charset="utf-8"><link rel="icon" href="data:,"><title>Components</title><style>{stylesheet()}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'


def test_the_document_shows_classes_that_exist():
    known = set(re.findall(r"\.([a-z][\w-]*)", stylesheet()))
    used = {name for names in re.findall(r'class="([^"]*)"', gallery()) for name in names.split()}
    assert used - known == set()


@pytest.mark.parametrize(("scheme", "wide"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_serious_in_the_components(browser, tmp_path, scheme, wide):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    (tmp_path / "gallery.html").write_text(gallery(), encoding="utf-8")
    size = {"width": wide, "height": 900}
    with browser.open(tmp_path / "gallery.html", color_scheme=scheme, viewport=size) as page:
        found = axe.Axe().run(page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in {"serious", "critical"}] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
