"""What Assay says, in English and Chinese.

A text made by `say` is a plain English string that remembers how it came about, so that a renderer can `tell` it in
another language later. A format such as `{n:query|queries}` chooses a word by number, `{names}` joins a list.
"""

from __future__ import annotations

import string
from typing import Any, Literal

from assay.wordings import WORDINGS

Lang = Literal["en", "zh"]
_DIGITS = 9


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
            return ("、" if self.lang == "zh" else ", ").join(
                tell(part if isinstance(part, str) else str(part), self.lang) for part in value
            )
        return format(tell(value, self.lang) if isinstance(value, str) else value, format_spec)


def say(key: str, **values: Any) -> Said:
    """Say a message in English, translatable later."""
    said = Said(_Words("en").vformat(WORDINGS[key][0], (), values))
    said.key, said.values = key, values
    return said


def tell(text: str, lang: Lang) -> str:
    """Put a text into a language; what was not made by `say` stays as it is."""
    if lang == "en" or not isinstance(text, Said):
        return str(text)
    return _Words(lang).vformat(WORDINGS[text.key][1], (), text.values)


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
