"""Prompts of stages: Markdown files with a version line, filled in one pass so that no text changes their structure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.formats.files import Input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PARTS = re.compile(
    r"\Aversion:[ \t]*(\S+)[ \t]*\n\s*# system[ \t]*\n(.*?)^# user[ \t]*\n(.*)\Z", re.DOTALL | re.MULTILINE
)
_NAMES = {"query", "passage", "passages", "count", "mark"}


@dataclass(frozen=True)
class Prompt:
    """Texts of the system and the user message with $names; the version carries a digest of the text."""

    version: str
    system: str
    user: str

    def messages(self, **values: str) -> list[dict[str, str]]:
        """Fill in the values; what they contain is never read again."""
        mark = sha256("\0".join([self.version, *values.values()]).encode("utf-8", "backslashreplace")).hexdigest()[:16]
        filled = {**values, "mark": mark}
        return [
            {"role": "system", "content": Template(self.system).substitute(filled)},
            {"role": "user", "content": Template(self.user).substitute(filled)},
        ]


def load_prompt(name: str, path: Path | None, needed: Sequence[str]) -> Prompt:
    """Load a built-in prompt, or a user's file in its place; it must use the needed names."""
    if path is None:
        text, place = (files("assay.pipeline") / "prompts" / f"{name}.md").read_text(encoding="utf-8"), name
    else:
        text, place = Input.at(path).text.replace("\r\n", "\n"), str(path)
    found = _PARTS.match(text)
    if found is None:
        hint = "expected a first line version: NAME, then the parts # system and # user"
        raise InputError("not a prompt", path=place, hint=hint)
    both = Template(found[2] + found[3])
    used = set(both.get_identifiers()) if both.is_valid() else {"$"}
    if not used <= _NAMES or not set(needed) <= used:
        raise InputError(
            f"the prompt must use ${', $'.join(needed)}", path=place, hint=f"known: ${', $'.join(sorted(_NAMES))}"
        )
    digest = sha256(text.encode()).hexdigest()[:8]
    return Prompt(f"{found[1]}+{digest}", found[2].strip(), found[3].strip())


def numbered(passages: Sequence[str], limit: int) -> str:
    """Passages under their numbers, each cut to so many characters."""
    return "\n\n".join(f"[passage {number}]\n{text[:limit]}" for number, text in enumerate(passages, 1))
