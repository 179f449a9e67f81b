"""Turn English texts of earlier files back into messages, so that they can be translated.

Files of schema 1 kept texts without their keys. A text is a message if the English of that message, with values taken
out of the text, is the text again to the letter; anything else stays as it is.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.messages import Said, say
from assay.wordings import texts
from assay.wordings.former import FORMER

if TYPE_CHECKING:
    from collections.abc import Iterator

# Families of messages that results kept.
_FAMILIES = (
    "agreement.", "blank.", "calibrate.", "check.", "concern.", "conflict.", "cost.", "embeddings.", "evaluate.",
    "fate.", "load.", "loop.", "left.", "read.", "reason.", "reply.", "rule.", "stage_why.", "validate.",
    "answers.", "bench.", "doubt.", "experiment.", "gate.", "no call of the reranker succeeded",
)  # fmt: skip
# Messages that put others together: they are known by those.
_FRAMES = {
    "doubt.of_all": ("text",),
    "doubt.of_one": ("text",),
    "answers.also": ("before", "after"),
    "blank.fault": ("field", "fault"),
    "reason.embedding": ("reason",),
}
_LATER = {"gate.of_file"}  # said since, with hardly a word of its own
_NUMBER = re.compile(r"[,+]?(\.\d)?[fg%]|,")
_ONE = "__one"  # of a word chosen by a number that appears nowhere else


@dataclass(frozen=True)
class _Form:
    """One way in which a message was said; `numbers` are values that were written as numbers."""

    key: str
    template: str
    pattern: re.Pattern[str]
    numbers: frozenset[str]

    @property
    def rank(self) -> tuple[int, int]:
        """Frames first, then what says most by itself."""
        literals = [literal for literal, *_ in string.Formatter().parse(self.template)]
        return -len(_FRAMES.get(self.key, ())), -len("".join(literals))


def recognise(text: str) -> str:
    """Find the message that says this text; a text that no message says stays."""
    return text if isinstance(text, Said) else next(_readings(text), text)


def _readings(text: str) -> Iterator[Said]:
    for form in _forms():
        found = form.pattern.fullmatch(text)
        if found is None:
            continue
        values = _values(found.groupdict(), form.numbers)
        if say(form.template, **values) == text:
            known = {name: _inside(value) if isinstance(value, str) else value for name, value in values.items()}
            if all(isinstance(known[name], Said) for name in _FRAMES.get(form.key, ())):
                yield say(form.key, **known)


def _values(parts: dict[str, str | None], numbers: frozenset[str]) -> dict[str, Any]:
    """Values as they were written; a number that only chose a word is 1 or more."""
    values: dict[str, Any] = {}
    for name, part in parts.items():
        plain, chosen, _ = name.partition(_ONE)
        if chosen:
            values.setdefault(plain, 2 if part is None else 1)
        else:
            values[plain] = _number(part or "") if plain in numbers else part
    return values


def _number(part: str) -> float:
    plain = part.replace(",", "")
    if plain.endswith("%"):
        return float(plain[:-1]) / 100
    return int(plain) if re.fullmatch(r"\d+", plain) else float(plain)


def _inside(part: str) -> Any:
    """A value: a message, a list of messages, or a text of its own."""
    listed = [recognise(one) for one in part.split(", ")]
    return listed if len(listed) > 1 and all(isinstance(one, Said) for one in listed) else recognise(part)


@cache
def _forms() -> tuple[_Form, ...]:
    """Every way in which messages of results were said."""
    known = [key for key in texts("zh") if key.startswith(_FAMILIES) and key not in _LATER]
    told = [(key, texts("en").get(key, key)) for key in known]
    forms = (_form(key, text) for key, text in [*told, *((key, text) for text, key in FORMER.items())])
    return tuple(sorted((one for one in forms if one is not None), key=lambda one: one.rank))


def _form(key: str, template: str) -> _Form | None:
    """The form of a template; None for one that has hardly a letter of its own besides its values."""
    pieces = list(string.Formatter().parse(template))
    names = [name for _, name, _, _ in pieces if name]
    if not re.search(r"[A-Za-z]{2}", "".join(literal for literal, *_ in pieces)) and key not in _FRAMES:
        return None
    if not all(map(str.isidentifier, names)):
        return None
    pattern, numbers, seen = "", set(), set()
    for place, (literal, name, spec, _) in enumerate(pieces):
        pattern += re.escape(literal)
        if not name:
            continue
        if "|" in (spec or ""):
            one, many = map(re.escape, (spec or "").split("|"))
            pattern += f"(?:(?P<{name}{_ONE}{place}>{one})|{many})"
            continue
        is_number = name == "n" or (spec and _NUMBER.fullmatch(spec))
        written = r"[-+]?[\d.,]+%?" if is_number else ".+?"
        pattern += f"(?P={name})" if name in seen else f"(?P<{name}>{written})"
        seen.add(name)
        numbers |= {name} if is_number else set()
    return _Form(key, template, re.compile(pattern, re.DOTALL), frozenset(numbers))
