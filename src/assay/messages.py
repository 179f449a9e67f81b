"""The messages of Assay, in English and Chinese.

A text made by `say` is a plain English string that keeps its key and values, so that a renderer can `tell` it in
another language later. Texts that results keep have a key, so that their English may change; errors, help and progress
are said in English where they occur, and their Chinese is found by it. `{n:query|queries}` chooses a word by number,
`{names}` joins a list, `{names:or}` and `{names:and}` with such a word before the last; a list that `some` shortened
says that there are more.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any, Literal

from assay.wordings import texts

if TYPE_CHECKING:
    from collections.abc import Iterable

Lang = Literal["en", "zh"]
_DIGITS = 9
_MORE = "..."
_SIGNS = tuple("，。；：、！？（）“”［］")  # full-width characters: no space belongs beside them
_LAST = {"en": {"or": " or ", "and": " and "}, "zh": {"or": "或", "and": "和"}}


class Said(str):
    """A text that knows its message and the values in it."""

    __slots__ = ("key", "values")

    key: str
    values: dict[str, Any]


class _Words(string.Formatter):
    def __init__(self, lang: Lang) -> None:
        self.lang = lang

    def tell(self, template: str, values: dict[str, Any]) -> str:
        """Fill values into a text; in Chinese with spaces beside them only where they belong."""
        if self.lang == "en":
            return self.vformat(template, (), values)
        told = ""
        for literal, name, spec, conversion in self.parse(template):
            told = _beside(told, literal)
            if name is not None:
                value, _ = self.get_field(name, (), values)
                told = _beside(told, self.format_field(self.convert_field(value, conversion), spec or ""))
        return told

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        if isinstance(value, (list, tuple)):
            return self._join(
                [tell(part if isinstance(part, str) else str(part), self.lang) for part in value], format_spec
            )
        return format(tell(value, self.lang) if isinstance(value, str) else value, format_spec)

    def _join(self, parts: list[str], word: str) -> str:
        comma = "、" if self.lang == "zh" else ", "
        if parts[-1:] == [_MORE]:
            return comma.join(parts[:-1]) + (" 等" if self.lang == "zh" else f" {_MORE}")
        if not word or len(parts) < 2:  # noqa: PLR2004 - a list of one has no last but one
            return comma.join(parts)
        last = _LAST[self.lang][word]
        if self.lang == "zh":
            return _beside(_beside(comma.join(parts[:-1]), last), parts[-1])
        return comma.join(parts[:-1]) + last + parts[-1]


def _beside(before: str, after: str) -> str:
    """Join two pieces of a Chinese text: with a space between Chinese and Latin, without one between Chinese."""
    if not before or not after:
        return before + after
    end, start = before.rstrip(" ")[-1:], after.lstrip(" ")[:1]
    if (_is_chinese(end) and _is_chinese(start)) or end in _SIGNS or start in _SIGNS:
        return before.rstrip(" ") + after.lstrip(" ")
    apart = (_is_chinese(end) and _is_latin(start)) or (_is_latin(end) and _is_chinese(start))
    return f"{before} {after}" if apart and before[-1] != " " != after[0] else before + after


def _is_chinese(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def say(text: str, /, **values: Any) -> Said:
    """Make a translatable message from its key or its English text."""
    said = Said(_Words("en").tell(texts("en").get(text, text), values))
    said.key, said.values = text, values
    return said


def tell(text: str, lang: Lang) -> str:
    """Translate a text into a language; what was not made by `say` stays unchanged."""
    if lang == "en" or not isinstance(text, Said):
        return str(text)
    return _Words(lang).tell(texts(lang).get(text.key, text.key), text.values)


def some(items: Iterable[object], most: int) -> list[str]:
    """Show the first items of a list, and that there are more, for a value of `say`."""
    shown = [item if isinstance(item, str) else str(item) for item in items]
    return shown if len(shown) <= most else [*shown[:most], _MORE]


def word(family: str, name: str) -> str:
    """The translatable word for a name kept in records, such as a failure reason; unknown names stay as they are."""
    return say(f"{family}.{name}") if is_known(f"{family}.{name}") else name


def is_known(key: object) -> bool:
    """Return whether a message with this key, or this English, exists."""
    return isinstance(key, str) and (key in texts("en") or key in texts("zh"))


def ends(low: float | None, high: float | None, form: str) -> str:
    """Format the two ends of an interval, with enough digits to differ; empty if there is no interval.

    Files of earlier versions hold intervals of width 0 for values that do not vary.
    """
    if low is None or high is None or low == high:
        return ""
    head, digits, kind = form[:-2], int(form[-2]), form[-1]
    while True:
        shown = [f"{end:{head}{digits}{kind}}" for end in (low, high)]
        if float(shown[0].rstrip("%")) != float(shown[1].rstrip("%")) or digits == _DIGITS:  # -0.0 is 0.0
            return f"[{shown[0]}, {shown[1]}]"
        digits += 1
