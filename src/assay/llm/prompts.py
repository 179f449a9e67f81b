"""Prompts: Markdown files with a version line, filled in one pass so that no text can change their structure."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import count
from string import Template
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_VERSION = re.compile(r"\Aversion:[ \t]*(\S+)[ \t]*\n")
_PART = re.compile(r"^# (system|user)[ \t]*\n", re.MULTILINE)
_MARK = 16
_CONSONANTS, _VOWELS = b"bdfgklmnprstvz", b"aeiou"
_SYLLABLES = 3  # of a seal; one more after every so many attempts, so that one is always found
_ATTEMPTS = 64
# A sign that JSON escapes, with backslashes that are escaped themselves: a chain of them is undone in one pass.
_ESCAPED = re.compile(r"(?<!\\)\\+(?:u005[cC]\\*)*u([0-9a-fA-F]{4})")
_PASSES = 32  # escapes of escapes that are undone
_NO_LETTERS = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz"))


@dataclass(frozen=True)
class Prompt:
    """Text of the system and the user message with $names to be filled in; the digest is part of the version."""

    version: str
    system: str
    user: str

    def messages(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """Fill in the values; what they contain is never read again."""
        return [{"role": role, "content": "".join(_fill(parts, values))} for role, parts in self._parts.items()]

    @cached_property
    def _parts(self) -> dict[str, list[str]]:
        return {"system": _split(self.system), "user": _split(self.user)}


def _split(text: str) -> list[str]:
    """Plain text and names in turns, beginning and ending with plain text."""
    parts = [""]
    end = 0
    for found in Template.pattern.finditer(text):
        parts[-1] += text[end : found.start()]
        end = found.end()
        if found["escaped"] is None:
            parts += [found["named"] or found["braced"], ""]
        else:
            parts[-1] += Template.delimiter
    parts[-1] += text[end:]
    return parts


def _fill(parts: list[str], values: Mapping[str, str]) -> Iterator[str]:
    return (values[part] if place % 2 else part for place, part in enumerate(parts))


def read_prompt(text: str, place: str, *, needed: Sequence[str], known: Sequence[str]) -> Prompt:
    """Check a prompt's text: it must use the `needed` names, and may use the `known` ones."""
    text = text.replace("\r\n", "\n")
    version = _VERSION.match(text)
    parts = _PART.split(text)
    found = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    if version is None or set(found) != {"system", "user"}:
        raise InputError(
            say("not a prompt"),
            path=place,
            hint=say('expected "version: NAME" in the first line, then the parts # system and # user'),
        )
    both = found["system"] + "\n" + found["user"]
    if not Template(both).is_valid():
        raise InputError(say("a $ is not followed by a name"), path=place, hint=say("write $$ for a dollar sign"))
    used = set(Template(both).get_identifiers())
    strange = sorted(used - {*known, *needed})
    if strange:
        raise InputError(
            say("unknown name ${name}", name=strange[0]),
            path=place,
            hint=say("the names are {names}", names=[f"${name}" for name in known]),
        )
    if not set(needed) <= used:
        lacking = [f"${name}" for name in needed if name not in used]
        raise InputError(
            say("the prompt does not use {names}", names=lacking),
            path=place,
            hint=say("it must use {names}", names=[f"${name}" for name in needed]),
        )
    digest = sha256(text.encode()).hexdigest()[:8]
    return Prompt(f"{version[1]}+{digest}", found["system"], found["user"])


def mark_for(*texts: str) -> str:
    """A mark that the texts cannot contain: it is made from them, so it cannot be written into them beforehand."""
    return sha256("\0".join(texts).encode("utf-8", "backslashreplace")).hexdigest()[:_MARK]


def seal_for(*texts: str) -> str:
    """A made-up word that the texts do not contain in any spelling: only a reader of this call can write it.

    It follows from the texts, so a call is the same each time. A short word is easily copied by a small model, but
    the author of a text can try out which word will follow from it; so a word that a text already holds (with
    other letters' case, spaces or signs in between, or escaped) is passed over for the next one. It has letters only:
    a digit could be taken for a grade.
    """
    whole = "\0".join(texts)
    letters = _letters(whole)
    root = sha256(whole.encode("utf-8", "backslashreplace")).digest()
    for attempt in count():
        noise = sha256(root + attempt.to_bytes(4, "big")).digest()[: 2 * min(_SYLLABLES + attempt // _ATTEMPTS, 16)]
        pairs = zip(noise[::2], noise[1::2], strict=True)
        word = bytes(sign for a, b in pairs for sign in (_CONSONANTS[a % len(_CONSONANTS)], _VOWELS[b % len(_VOWELS)]))
        if word not in letters:
            return word.decode()
    raise AssertionError  # pragma: no cover - a text has an end


def _letters(text: str) -> bytes:
    """The plain letters of a text in lower case, with escapes undone, also those of escapes."""
    for _ in range(_PASSES):
        plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "\\" in text else text
        if plain == text:
            break
        text = plain
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.lower().encode("ascii", "ignore").translate(None, _NO_LETTERS)
