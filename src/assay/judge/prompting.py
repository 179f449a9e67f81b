"""Prompts of judges: built in, in English and Chinese, or a user's Markdown file."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from assay.errors import UnknownName
from assay.formats.files import Input
from assay.llm import prompts

if TYPE_CHECKING:
    from assay.llm.prompts import Prompt
    from assay.messages import Lang

_KNOWN = ("query", "document", "rubric", "mark", "low", "high")
_BUILT_IN = ("relevance", "support", "answer_relevance", "correctness")


def load_prompt(name: str, lang: Lang = "en", *, needed: tuple[str, ...] = ()) -> Prompt:
    """Load a built-in prompt by name, or a user's Markdown file; it must use the `needed` names."""
    if name.endswith(".md"):
        text = Input.at(name).text
    elif name not in _BUILT_IN:
        raise UnknownName("prompt", name, _BUILT_IN, hint="or a file that ends in .md")
    else:
        text = (files("assay.judge") / "prompts" / f"{name}.{lang}.md").read_text(encoding="utf-8")
    return read_prompt(text, name, needed)


def read_prompt(text: str, place: str, needed: tuple[str, ...] = ()) -> Prompt:
    """Check the text of a judge's prompt."""
    return prompts.read_prompt(text, place, needed=needed, known=_KNOWN)
