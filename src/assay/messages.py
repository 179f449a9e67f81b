"""What Assay says, in English and Chinese.

A text made by `say` is a plain English string that remembers how it came about, so that a renderer can `tell` it in
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
_LAST = {"en": {"or": " or ", "and": " and "}, "zh": {"or": "或", "and": "和"}}


class Said(str):
    """A text that knows its message and the values in it."""

    __slots__ = ("key", "values")

    key: str
    values: dict[str, Any]


class _Words(string.Formatter):
    def __init__(self, lang: Lang) -> None:
        self.lang = lang

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
            parts = [parts[0], *(part.strip() for part in parts[1:])]
            last = _blank(parts[-2][-1:]) + last + _blank(parts[-1][:1])
        return comma.join(parts[:-1]) + last + parts[-1]


def _blank(beside: str) -> str:
    """The blank between a Chinese word and what is beside it: one where that is Latin."""
    return " " if beside.isascii() and beside.strip() else ""


def say(text: str, /, **values: Any) -> Said:
    """Say a message, given by its key or its English, translatable later."""
    said = Said(_Words("en").vformat(texts("en").get(text, text), (), values))
    said.key, said.values = text, values
    return said


def tell(text: str, lang: Lang) -> str:
    """Put a text into a language; what was not made by `say` stays as it is."""
    if lang == "en" or not isinstance(text, Said):
        return str(text)
    return _Words(lang).vformat(texts(lang).get(text.key, text.key), (), text.values).replace(" （", "（")


def some(items: Iterable[object], most: int) -> list[str]:
    """Show the first items of a list, and that there are more, for a value of `say`."""
    shown = [item if isinstance(item, str) else str(item) for item in items]
    return shown if len(shown) <= most else [*shown[:most], _MORE]


def word(family: str, name: str) -> str:
    """The word for a name that records keep, such as the reason of a failed call; one that is not known stays."""
    return say(f"{family}.{name}") if is_known(f"{family}.{name}") else name


def is_known(key: object) -> bool:
    """Whether a message with this key, or this English, exists."""
    return isinstance(key, str) and (key in texts("en") or key in texts("zh"))


def ends(low: float | None, high: float | None, form: str) -> str:
    """Show two ends, with as many more digits as it takes to tell them apart; nothing where there is no interval.

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
