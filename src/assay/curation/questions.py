"""Make questions with gold spans from documents."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.curation.collection import open_collection
from assay.curation.known_items import make_known_items
from assay.curation.sets import source_of
from assay.errors import UnknownName, UsageError
from assay.formats.queries import read_queries
from assay.llm.adapters import as_client
from assay.messages import say
from assay.stats.inputs import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.curation.collection import Documents, ProgressCallback
    from assay.curation.question_briefs import Wishes
    from assay.messages import Lang
    from assay.results.questions import QuestionPlan, QuestionSet

    Seeds = str | os.PathLike[str] | Sequence[str]

_STYLES = ("short", "conversational", "both")
_LANGS = ("en", "zh")


def make_questions(
    documents: Documents,
    n: int = 200,
    *,
    judge: Any = None,
    categories: Mapping[str, float] | None = None,
    style: str = "both",
    users: Sequence[str] = (),
    style_seeds: Seeds = (),
    text_lang: Lang | None = None,
    allow_known: bool = False,
    seed: int = 0,
    deadline: float | None = None,
    progress: ProgressCallback | None = None,
) -> QuestionSet:
    """Make n questions from documents, each with the span of text that answers it.

    `documents` are a folder, a file, {id: text}, a list of (id, text), or a function that yields such pairs each time
    it is called, for collections that do not fit into memory. Without a `judge` the questions are known items: rare and
    telling words of a passage, headings, and questions that the text asks itself. They are fit to compare chunkers and
    retrievers on findability, not to claim quality for people. The same seed makes the same questions, and a larger n
    only adds some.

    `judge` is a client of a language model, or a function from messages to text: it writes the questions with reference
    answers, and checks each of them; nothing is believed that cannot be checked, and what falls is counted.
    `categories` are shares of fact, how-to, comparison, multi-passage and unanswerable; `style` is short,
    conversational or both, `users` describe who asks, `style_seeds` are real queries (texts, or a file of queries)
    whose style is imitated. Questions are in the language of their passage unless `text_lang` is en or zh.
    `allow_known` keeps questions that the model answers without any passage, for documents that everybody knows.
    `deadline` are seconds for all calls.

    >>> import assay
    >>> text = "Green tea is steamed right after picking. Black tea oxidises for hours, which darkens the leaves."
    >>> found = assay.make_questions({"tea": text}, 1)
    >>> [text[place.start : place.end] == place.text for one in found.questions for place in one.gold]
    [True]
    """
    check_whole(n, "n", least=1)
    tell = progress or (lambda *_: None)
    if judge is None:
        found = make_known_items(open_collection(documents), n, seed, tell)
    else:
        from assay.curation.model_questions import make_model_questions

        wishes = _wishes(categories, style, users, style_seeds, text_lang, allow_known=allow_known)
        found = make_model_questions(
            open_collection(documents), n, client=as_client(judge), wishes=wishes, seed=seed, tell=tell,
            deadline=deadline,
        )  # fmt: skip
    return replace(found, sources=(source_of(documents),)) if isinstance(documents, (str, os.PathLike)) else found


def estimate_questions(
    documents: Documents,
    n: int = 200,
    *,
    judge: Any,
    categories: Mapping[str, float] | None = None,
    style: str = "both",
    users: Sequence[str] = (),
    style_seeds: Seeds = (),
    text_lang: Lang | None = None,
    allow_known: bool = False,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> QuestionPlan:
    """Estimate what `make_questions` would cost with a client, without sending any request.

    >>> import assay
    >>> from assay.llm import Client
    >>> text = "Green tea is steamed right after picking. Black tea oxidises for hours, which darkens the leaves."
    >>> with Client("http://127.0.0.1:9/v1", "any-model") as client:
    ...     plan = assay.estimate_questions({"tea": text}, 1, judge=client)
    >>> plan.steps[0].estimate.calls
    1
    """
    from assay.curation.question_estimates import estimate_model_questions

    check_whole(n, "n", least=1)
    wishes = _wishes(categories, style, users, style_seeds, text_lang, allow_known=allow_known)
    return estimate_model_questions(
        open_collection(documents), n, client=judge, wishes=wishes, seed=seed, tell=progress or (lambda *_: None)
    )


def _wishes(
    categories: Mapping[str, float] | None, style: str, users: Sequence[str], seeds: Seeds, text_lang: str | None,
    *, allow_known: bool,
) -> Wishes:  # fmt: skip
    """Check what users wish for."""
    from assay.curation.question_briefs import Wishes, check_shares

    if style not in _STYLES:
        raise UnknownName(say("style"), style, _STYLES, hint=say("expected one of {names}", names=list(_STYLES)))
    if text_lang is not None and text_lang not in _LANGS:
        raise UnknownName("text_lang", text_lang, _LANGS, hint=say("expected one of {names}", names=list(_LANGS)))
    texts = tuple(read_queries(seeds).texts().values()) if isinstance(seeds, (str, os.PathLike)) else tuple(seeds)
    if isinstance(seeds, (str, os.PathLike)) and not texts:
        raise UsageError(say("{place} has no texts of queries", place=os.fspath(seeds)))
    lang: Any = text_lang
    return Wishes(check_shares(categories), style, tuple(users), texts, lang, allow_known)
