"""The text that a reader sees of an HTML page, in one pass: no character is looked at twice on any input.

Tags, comments and declarations end where they end for a browser; one that never ends hides the rest of the page.
"""

from __future__ import annotations

import re
from html import unescape

_SILENT = {"script", "style", "template", "noscript", "title"}  # not head, which many pages never close
_RAW = {"script", "style"}  # a tag inside is text
_BLOCKS = {
    "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article",
    "header", "footer", "pre", "blockquote", "dd", "dt", "figure", "hr", "main", "nav", "aside",
}  # fmt: skip
_OPENING = re.compile(r"<(?:(!--)|[!?]|(/?)([A-Za-z][^\s/>]*+)|/)")
# A quoted value may hold the sign that ends a tag; a quote that is never closed is a sign like others.
_REST = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+>""")
_NO_CHARACTER = re.compile("&#[0-9]{8,}+;?")
_END_OF_COMMENT = re.compile(r"--!?>")


def text_of(page: str) -> str:
    """Text of a page; blocks end lines."""
    parts: list[str] = []
    silent, at = 0, 0
    while at < len(page):
        found = _OPENING.search(page, at)
        if not silent:
            parts.append(_plain(page[at : found.start() if found else len(page)]))
        if found is None:
            break
        name = found[3].lower() if found[3] else ""
        at = _end(page, found, name)
        if name == "body" and not found[2]:
            silent = 0
        elif name in _SILENT:
            silent = max(0, silent - 1) if found[2] else silent + 1
            at = _end_of_raw(page, at, name) if name in _RAW and not found[2] else at
        if name in _BLOCKS:
            parts.append("\n")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _plain(text: str) -> str:
    """Text with characters for their names and numbers."""
    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        return unescape(_NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text))


def _end(page: str, found: re.Match[str], name: str) -> int:
    """Where a tag, a comment or a declaration ends."""
    if found[1]:
        start = found.end()
        if page.startswith((">", "->"), start):  # an empty comment, as browsers see it
            return page.index(">", start) + 1
        end = _END_OF_COMMENT.search(page, start)
        return end.end() if end else len(page)
    if name:
        rest = _REST.match(page, found.end())
        return rest.end() if rest else len(page)
    return page.find(">", found.end()) + 1 or len(page)


def _end_of_raw(page: str, start: int, name: str) -> int:
    """Where the end tag of a script or a style begins; without one, the page ends with it."""
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, start)
    return found.start() if found else len(page)
