"""Prompts: Markdown files with a version line, filled in one pass so that no text can change their structure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from assay.errors import InputError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assay.messages import Lang

_VERSION = re.compile(r"\Aversion:[ \t]*(\S+)[ \t]*\n")
_PART = re.compile(r"^# (system|user)[ \t]*\n", re.MULTILINE)
_MARK = 16
_KNOWN = ("query", "document", "rubric", "mark", "low", "high")
_BUILT_IN = ("relevance", "support", "answer_relevance", "correctness")


@dataclass(frozen=True)
class Prompt:
    """Text of the system and the user message with $names to be filled in; the digest is part of the version."""

    version: str
    system: str
    user: str

    def messages(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """Fill in the values; what they contain is never read again."""
        return [{"role": role, "content": "".join(_filled(parts, values))} for role, parts in self._parts.items()]

    @cached_property
    def _parts(self) -> dict[str, list[str]]:
        return {"system": _parted(self.system), "user": _parted(self.user)}


def _parted(text: str) -> list[str]:
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


def _filled(parts: list[str], values: Mapping[str, str]) -> Iterator[str]:
    return (values[part] if place % 2 else part for place, part in enumerate(parts))


def load_prompt(name: str, lang: Lang = "en", *, needed: tuple[str, ...] = ()) -> Prompt:
    """Load a built-in prompt by name, or a user's Markdown file; it must use the `needed` names."""
    if name.endswith(".md"):
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", path=name) from None
    elif name not in _BUILT_IN:
        raise UnknownName("prompt", name, _BUILT_IN, hint="or a file that ends in .md")
    else:
        text = (files("assay.judge") / "prompts" / f"{name}.{lang}.md").read_text(encoding="utf-8")
    return read_prompt(text.replace("\r\n", "\n"), name, needed)


def read_prompt(text: str, place: str, needed: tuple[str, ...] = ()) -> Prompt:
    """Check a prompt's text."""
    version = _VERSION.match(text)
    parts = _PART.split(text)
    found = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    if version is None or set(found) != {"system", "user"}:
        raise InputError(
            "not a prompt", path=place, hint="expected a first line version: NAME, then the parts # system and # user"
        )
    both = found["system"] + "\n" + found["user"]
    if not Template(both).is_valid():
        raise InputError("a $ stands where no name follows", path=place, hint="write $$ for a dollar sign")
    used = set(Template(both).get_identifiers())
    strange = sorted(used - {*_KNOWN, *needed})
    if strange:
        raise InputError(f"${strange[0]} means nothing here", path=place, hint=f"there are ${', $'.join(_KNOWN)}")
    if not set(needed) <= used:
        lacking = ", ".join(f"${name}" for name in needed if name not in used)
        raise InputError(f"the prompt does not use {lacking}", path=place)
    digest = sha256(text.encode()).hexdigest()[:8]
    return Prompt(f"{version[1]}+{digest}", found["system"], found["user"])


def mark_for(*texts: str) -> str:
    """A mark that the texts cannot contain: it is made from them, so nobody can write it into them beforehand."""
    return sha256("\0".join(texts).encode("utf-8", "backslashreplace")).hexdigest()[:_MARK]
