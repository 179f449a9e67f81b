"""Prompts of judges: built in, in English and Chinese, or a user's Markdown file."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from assay.errors import UnknownName
from assay.formats.files import Input
from assay.judge.rubric import read_scale
from assay.llm import prompts
from assay.messages import say, word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.judge.rubric import Rubric
    from assay.llm.prompts import Prompt
    from assay.llm.records import Reply
    from assay.messages import Lang

_KNOWN = ("query", "document", "rubric", "mark", "low", "high")
_SCALE = re.compile(r"^# scale[ \t]*\n(.*?)(?=^# )", re.MULTILINE | re.DOTALL)


def load_prompt(name: str, lang: Lang = "en", *, needed: tuple[str, ...] = ()) -> Prompt:
    """Load a built-in prompt by name, or a user's Markdown file; it must use the `needed` names."""
    return read_prompt(Input.at(name).text if name.endswith(".md") else _read_builtin(name, lang), name, needed)


def load_graded_prompt(name: str, lang: Lang, *, needed: tuple[str, ...] = ()) -> tuple[Prompt, Rubric]:
    """Load a built-in prompt that has its scale in a part of its own, and that scale.

    The version covers only the other parts, into which the words of the scale are filled.
    """
    text = _read_builtin(name, lang)
    found = _SCALE.search(text)
    assert found is not None, f"{name}.{lang}.md has no part # scale"
    scale = read_scale(found[1].splitlines(), name)
    return read_prompt(text[: found.start()] + text[found.end() :], name, needed), scale


def block(name: str, text: str, mark: str) -> str:
    """A text between lines with a mark that it cannot contain."""
    return f"[{name} {mark}]\n{text}\n[end of {name} {mark}]"


def cut(texts: Sequence[str], most: int) -> list[str]:
    """Cut texts to a total number of characters, from the end."""
    left, kept = most, []
    for text in texts:
        kept.append(text[: max(left, 0)])
        left -= len(text)
    return kept


def _read_builtin(name: str, lang: Lang) -> str:
    folder = files("assay.judge") / "prompts"
    known = sorted({item.name.partition(".")[0] for item in folder.iterdir() if item.name.endswith(".md")})
    if name not in known:
        raise UnknownName(say("prompt"), name, known, hint=say("or a file that ends in .md"))
    return (folder / f"{name}.{lang}.md").read_text(encoding="utf-8")


def explain_failure(reply: Reply, message: str = "") -> str:
    """Why a judge gave no verdict: the reason of the call in a word, and what is known about it."""
    return say("judged.failed", reason=word("call", reply.reason or "parse"), message=message or reply.message)


def read_prompt(text: str, place: str, needed: tuple[str, ...] = ()) -> Prompt:
    """Check the text of a judge's prompt."""
    return prompts.read_prompt(text, place, needed=needed, known=_KNOWN)
