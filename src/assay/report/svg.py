"""Pictures made safe and repeatable: only known elements and attributes, ids of their own, a title for readers."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.messages import say

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
_REFERENCE = re.compile(r"url\(['\"]?#([^)'\"]+)['\"]?\)")


def tidy(picture: str, title: str) -> str:
    """Keep what draws, rename ids so that pictures of one page do not share them, and name the picture."""
    from xml.etree import ElementTree as ET

    root = ET.fromstring(picture)  # noqa: S314 - made by our own converter a moment ago
    _keep(root)
    for element in root.iter():
        for name, value in element.attrib.items():
            if "url(" in value and not _REFERENCE.fullmatch(value):
                raise AssayError(say("a chart refers to something outside itself: {text}", text=f"{name}={value[:40]}"))
    _rename(root)
    root.set("role", "img")
    root.set("aria-label", title)
    ET.register_namespace("", "http://www.w3.org/2000/svg")
    return ET.tostring(root, encoding="unicode")


def inline(picture: str, ink: str, grid: str) -> str:
    """Make a picture inside a page use the text colour of the page, light or dark."""
    return picture.replace(f'"{ink}"', '"currentColor"').replace(
        f'stroke="{grid}"', 'stroke="currentColor" class="faint"'
    )


def _keep(element: Element) -> None:
    for child in list(element):
        if child.tag.removeprefix(_SPACE) not in _ELEMENTS:
            element.remove(child)
        else:
            _keep(child)
    for name in [name for name in element.attrib if name not in _ATTRIBUTES]:
        del element.attrib[name]
    if element.tag == f"{_SPACE}g":
        for child in [child for child in element if _draws_nothing(child)]:
            element.remove(child)


def _draws_nothing(element: Element) -> bool:
    """Return whether an element draws nothing, such as an empty frame or group."""
    kind = element.tag.removeprefix(_SPACE)
    if kind == "g":
        return not len(element)
    return kind == "path" and not {"fill", "stroke"} & set(element.attrib)


def _rename(root: Element) -> None:
    """Number ids in order, with a prefix that comes from the picture: a converter counts on from picture to picture."""
    known = {element.get("id", ""): i for i, element in enumerate(_with_id(root))}
    for element in _with_id(root):
        element.set("id", f"c{known[element.get('id', '')]}")
    for element in root.iter():
        for name, value in element.attrib.items():
            found = _REFERENCE.fullmatch(value)
            if found:
                element.set(name, f"url(#c{known[found[1]]})")
    from xml.etree import ElementTree as ET

    prefix = sha256(ET.tostring(root)).hexdigest()[:8]
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{value}-{prefix}")
            elif _REFERENCE.fullmatch(value):
                element.set(name, value.replace(")", f"-{prefix})"))


def _with_id(root: Element) -> Iterator[Element]:
    return (element for element in root.iter() if "id" in element.attrib)
