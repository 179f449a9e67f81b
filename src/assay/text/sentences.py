"""Sentences of English, Chinese and mixed text, as spans that together are the whole text."""

from __future__ import annotations

import re

from assay.text.english import NEVER_LAST, SOMETIMES_LAST

Span = tuple[int, int]
"""Where a piece of a text starts, and where the next one does."""

_LINE_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_CITED = r"(?:[ ]?\[\d{1,3}(?:[,，–-][ ]?\d{1,3}){0,9}\]){0,9}+"
_CHINESE_ITEM = r"(?<=[\u3000-\u303f\u3400-\u9fff\uff00-\uffef][0-9][.])(?=[A-Za-z])"
# The search leaps from mark to mark; repeats are possessive and a mark after one of its kind starts nothing, so that
# no character is looked at twice on any input.
_ENDS = re.compile(
    rf"""[.!?。！？；｡…{_LINE_ENDS}](?:
     (?<=[.!?])(?<![.!?][.!?])([.!?]*+)[]"'”’»)}}）」』】》〕*_`]*+{_CITED}(?:\s++|\Z|(?=[\u3400-\u9fff《“（「【])|{_CHINESE_ITEM})
    |(?<=[。！？；｡…])(?<![。！？；｡…][。！？；｡…])([。！？；｡…]*+)[”’」』】》〉〕）)\]"]*+{_CITED}\s*+
    |(?<=[{_LINE_ENDS}])()\s*+)""",
    re.VERBOSE,
)
_ITEM = re.compile(r"(?:[-–—•·*+>#]+|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])\s")
_SECOND = re.compile(r"(?<![0-9A-Za-z.])2\.(?=[\u3400-\u9fff《“（「【A-Za-z])")
_ITEM_REACH = 120  # characters in which the second item of a list follows the first
_COUNTING = frozenset("第共约近超过")  # a number after these belongs to what it counts
_REPORTS = re.compile(r"[\u3400-\u9fff]{0,5}?[说问道喊叫答想]")
_OPENING, _CLOSING = "（(【〔《", "）)】〕》"
_BRACKETS = re.compile(f"[{_OPENING}{_CLOSING}]")
_REACH = 8  # longer words are not abbreviations
_TAILS = frozenset(word[-2:] for word in NEVER_LAST | SOMETIMES_LAST)

_BRACKET = 40  # longer brackets hold sentences of their own

_BEGINNINGS = re.compile(
    r"(?:The|A|An|It|He|She|They|We|I|You|This|That|These|Those|In|On|At|For|But|And|However|His|Her|Its|Their|There|As|If|When)\b"
)


def sentences(text: str) -> list[Span]:
    """Split a text into sentences; the spans follow each other without a gap from the first character to the last.

    White space, closing quotes and brackets, and citation marks such as [1] belong to the sentence before them. Items
    of a list are sentences of their own, with their numbers.
    """
    spans: list[Span] = []
    start, item, size = 0, 0, len(text)
    for found in _ENDS.finditer(text):
        mark, end = found.span()
        number = 0
        if text[mark - 1] in "0123456789" and found.lastindex == 1:
            number = _item_number(text, start, found)
        if number:
            place = mark - len(str(number))
            if place > start and (number == item + 1 > 1 or _opens_list(text, start, place, number)):
                spans.append((start, place))
                start = place
            if place == start:
                item = number
                continue
        if end == mark + 1 < size and text[mark] == "." and text[end].isascii() and text[end].isalpha():
            continue  # a number inside a Chinese word that could have been an item's
        if end == size or _ends(text, start, found):
            spans.append((start, end))
            if item and not text[start].isdigit():
                item = 0
            start = end
    if start < size:
        spans.append((start, size))
    return spans


def _item_number(text: str, start: int, found: re.Match[str]) -> int:
    """Number of one or two digits that a single full stop follows, as before an item of a list; else 0."""
    mark = found.start()
    if mark == start or text[mark] != "." or found[1]:
        return 0
    digits = text[max(start, mark - 3) : mark].rsplit(maxsplit=1)[-1]
    before = digits.rstrip("0123456789")[-1:]
    if before and not before.isascii() and before not in _COUNTING:  # Chinese puts no space before a number
        digits = digits.rpartition(before)[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and digits[0] != "0" and len(digits) < 3 else 0  # noqa: PLR2004


def _opens_list(text: str, start: int, place: int, number: int) -> bool:
    """Return whether a number begins a list within a line: after a colon or, in Chinese, if the next is near."""
    if text.endswith((":", ": "), start, place):
        return True
    if number != 1 or text[place - 1].isascii():
        return number == 1 and text.endswith("： ", start, place)
    return text[place - 1] == "：" or _SECOND.search(text, place, place + _ITEM_REACH) is not None


def _ends(text: str, start: int, found: re.Match[str]) -> bool:
    """Return whether a sentence that begins at `start` ends with a mark that was found."""
    mark, end = found.span()
    kind = found.lastindex
    follows = text[end]
    if kind == 1:
        if follows.islower():
            return "\n" in text[mark:end] and _line_ends(text, found)
        return not (text[mark] == "." and not found[1] and _is_abbreviation(text, start, mark, end))
    if kind == 2:  # noqa: PLR2004
        return not _is_inside(text, start, found)
    return not follows.islower() or _line_ends(text, found)


def _line_ends(text: str, found: re.Match[str]) -> bool:
    """Return whether a line break before a small letter ends a sentence: at a blank line or a list item."""
    lines = found.group().rstrip(" \t\xa0\u3000").splitlines()
    return len(lines) > 1 or _ITEM.match(text, found.end()) is not None


def _is_abbreviation(text: str, start: int, mark: int, end: int) -> bool:
    tail = text[mark - 2 : mark] if mark - start > 1 else ""
    if tail.isascii() and tail.isalnum() and tail.lower() not in _TAILS:  # nearly every word
        return False
    word = text[max(start, mark - _REACH - 1) : mark].rpartition(" ")[2]
    if len(word) > _REACH:
        return False
    word = word.lstrip("(\"'“‘[*_\n\t")
    if len(word) == 1:
        return word.isupper() or mark - start == 1
    word = word.lower()
    return word in NEVER_LAST or (word in SOMETIMES_LAST and not _BEGINNINGS.match(text, end))


def _is_inside(text: str, start: int, found: re.Match[str]) -> bool:
    """Return whether a Chinese mark is inside brackets that close soon, or ends a quotation within the sentence."""
    mark, end = found.start(), found.end()
    if text[end - 1] in "”」』" and text[mark] in "！？" and _REPORTS.match(text, end):
        return True
    before = _BRACKETS.findall(text, max(start, mark - _BRACKET), mark)
    if not before or before[-1] in _CLOSING:
        return False
    after = _BRACKETS.search(text, end, end + _BRACKET)
    return after is not None and after.group() in _CLOSING
