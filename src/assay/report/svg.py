"""Pictures made safe and repeatable: only known elements and attributes, ids of their own, a title for readers."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.messages import say
from assay.report.design.colours import GAIN, GRID, INK, LOSS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

_SPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {
    "svg",
    "g",
    "path",
    "rect",
    "line",
    "text",
    "tspan",
    "circle",
    "defs",
    "clipPath",
    "linearGradient",
    "stop",
}
_ATTRIBUTES = {
    "clip-path", "d", "dx", "dy", "fill", "fill-opacity", "font-family", "font-size", "font-style", "font-weight",
    "height", "id", "offset", "opacity", "stop-color", "stroke", "stroke-dasharray", "stroke-dashoffset",
    "stroke-linecap", "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor", "transform", "viewBox",
    "width", "x", "x1", "x2", "y", "y1", "y2", "cx", "cy", "r", "version",
}  # fmt: skip
_TAG = re.compile(r"<(\w+)[^<>]*>")
_PAINT = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')
_TOKENS = {colour: str(i) for i, colour in enumerate(PALETTE, 1)} | {GAIN: "-gain", LOSS: "-loss"}
_POINT = re.compile(r"#(\d+)")
_REFERENCE = re.compile(r"url\(['\"]?#([^)'\"]+)['\"]?\)")


def tidy(picture: str, title: str, name: str = "") -> str:
    """Keep what draws, rename ids so that pictures of one page do not share them, and give the picture its title.

    Pictures that are alike differ by their `name`.
    """
    from xml.etree import ElementTree as ET

    root = ET.fromstring(picture)  # noqa: S314 - made by our own converter a moment ago
    _keep(root)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if "url(" in value and not _REFERENCE.fullmatch(value):
                found = f"{attribute}={value[:40]}"
                raise AssayError(say("a chart refers to something outside itself: {text}", text=found))
    _rename(root, name)
    root.set("role", "img")
    root.set("aria-label", title)
    ET.register_namespace("", "http://www.w3.org/2000/svg")
    return ET.tostring(root, encoding="unicode")


def inline(picture: str) -> str:
    """Make a picture inside a page use the colours of the page, light or dark: tokens by their classes."""
    return _TAG.sub(_use_tokens, picture)


def _use_tokens(tag: re.Match[str]) -> str:
    classes: list[str] = []

    def replace_paint(found: re.Match[str]) -> str:
        kind, colour = found.groups()
        if colour == INK:
            return f'{kind}="currentColor"'
        if colour == GRID and kind == "stroke":
            classes.append("faint")
            return 'stroke="currentColor"'
        if colour not in _TOKENS:
            return found[0]
        classes.append(("c" if kind == "fill" else "l") + _TOKENS[colour])
        return ""

    text = _PAINT.sub(replace_paint, tag[0])
    return text.replace("<" + tag[1], f'<{tag[1]} class="{" ".join(classes)}"', 1) if classes else text


def _keep(element: Element) -> None:
    for child in list(element):
        if child.tag.removeprefix(_SPACE) not in _ELEMENTS:
            element.remove(child)
        else:
            _keep(child)
    point = _POINT.fullmatch(element.get("aria-label", ""))
    for name in [name for name in element.attrib if name not in _ATTRIBUTES]:
        del element.attrib[name]
    if point:
        element.set("data-p", point[1])
    if element.tag == f"{_SPACE}g":
        for child in [child for child in element if _draws_nothing(child)]:
            element.remove(child)


def _draws_nothing(element: Element) -> bool:
    """Return whether an element draws nothing, such as an empty frame or group."""
    kind = element.tag.removeprefix(_SPACE)
    if kind == "g":
        return not len(element)
    return kind == "path" and not {"fill", "stroke"} & set(element.attrib)


def _rename(root: Element, name: str) -> None:
    """Number ids in order, with a prefix that comes from the picture: a converter counts on from picture to picture."""
    known = {element.get("id", ""): i for i, element in enumerate(_with_id(root))}
    for element in _with_id(root):
        element.set("id", f"c{known[element.get('id', '')]}")
    for element in root.iter():
        for key, value in element.attrib.items():
            found = _REFERENCE.fullmatch(value)
            if found:
                element.set(key, f"url(#c{known[found[1]]})")
    from xml.etree import ElementTree as ET

    prefix = sha256(ET.tostring(root) + name.encode()).hexdigest()[:8]
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{value}-{prefix}")
            elif _REFERENCE.fullmatch(value):
                element.set(key, value.replace(")", f"-{prefix})"))


def _with_id(root: Element) -> Iterator[Element]:
    return (element for element in root.iter() if "id" in element.attrib)
