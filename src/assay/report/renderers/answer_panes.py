"""Answers side by side for a page without the report's script: the same markup, with the evidence in its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import say, tell
from assay.report.renderers.html import render_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.messages import Lang
    from assay.report.blocks import AnswerView

_AROUND = 140  # characters of a context on both sides of a sentence
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def answer_panes(views: Sequence[AnswerView], lang: Lang, colours: Mapping[str, int]) -> str:
    """Write the answers of systems beside each other; a reference that all share comes first, once."""
    shared = len({view.references for view in views}) == 1
    panes = [_pane(view, lang, colours, shared=shared) for view in views]
    references = [tell(say("page.reference", text=text), lang) for text in (views[0].references if shared else ())]
    return render_part("answers.html", lang, panes=panes, references=references)


def _pane(view: AnswerView, lang: Lang, colours: Mapping[str, int], *, shared: bool) -> dict[str, Any]:
    return {
        "system": view.system, "colour": colours.get(view.system, 0), "tone": view.tone,
        "stage": tell(view.stage, lang), "method": tell(view.method, lang), "spans": view.statements,
        "references": [] if shared else [tell(say("page.reference", text=text), lang) for text in view.references],
        "statements": [
            {"text": one.text, "support": f"{one.support:.2f}", "tone": one.tone, "context": one.context,
             "quote": quote(_whole(one.context, one.evidence, view), one.evidence) if one.evidence else None,
             "reason": tell(one.reason, lang)}
            for one in view.statements if one.support is not None
        ],
        "contexts": [(name or f"#{place}", text) for place, (name, text) in enumerate(view.contexts, 1)],
    }  # fmt: skip


def _whole(name: str, sentence: str, view: AnswerView) -> str:
    """The context that a sentence is from."""
    return next((text for own, text in view.contexts if sentence in text and own in {name, ""}), sentence)


def quote(text: str, sentence: str) -> tuple[str, str, str]:
    """A sentence of a text with some of what stands before and behind it.

    >>> quote("Rinse it. Steep it for a minute. Drink it.", "Steep it for a minute.")
    ('Rinse it. ', 'Steep it for a minute.', ' Drink it.')
    """
    at = text.find(sentence)
    if at < 0:
        return "", sentence, ""
    before, behind = text[:at], text[at + len(sentence) :]
    return (
        before if len(before) <= _AROUND else _ELLIPSIS + before[-_AROUND:],
        sentence,
        behind if len(behind) <= _AROUND else behind[:_AROUND] + _ELLIPSIS,
    )
