"""Prompts of stages: built in, or a user's Markdown file."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from assay.formats.files import Input
from assay.llm.prompts import Prompt, mark_for, read_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_KNOWN = ("query", "passage", "passages", "count", "mark")


def load_prompt(name: str, path: Path | None, needed: Sequence[str]) -> Prompt:
    """Load a built-in prompt, or a user's file in its place; it must use the needed names."""
    if path is None:
        text = (files("assay.pipeline") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
        return read_prompt(text, name, needed=needed, known=_KNOWN)
    return read_prompt(Input.at(path).text, str(path), needed=needed, known=_KNOWN)


def fill_prompt(prompt: Prompt, **values: str) -> list[dict[str, str]]:
    """Fill in the values, and a mark that they cannot contain."""
    return prompt.messages({**values, "mark": mark_for(prompt.version, *values.values())})


def number_passages(passages: Sequence[str], limit: int) -> str:
    """Passages under their numbers, each cut to so many characters."""
    return "\n\n".join(f"[passage {number}]\n{text[:limit]}" for number, text in enumerate(passages, 1))
