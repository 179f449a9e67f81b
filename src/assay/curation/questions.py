"""Make questions with gold spans from documents."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.curation.collection import open_collection
from assay.curation.known_items import make_known_items
from assay.curation.sets import source_of
from assay.stats.inputs import check_whole

if TYPE_CHECKING:
    from assay.curation.collection import Documents, ProgressCallback
    from assay.results.questions import QuestionSet


def make_questions(
    documents: Documents,
    n: int = 200,
    *,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> QuestionSet:
    """Make n questions from documents, each with the span of text that answers it.

    `documents` are a folder, a file, {id: text}, a list of (id, text), or a function that yields such pairs each time
    it is called, for collections that do not fit into memory. The questions are known items: rare and telling words of
    a passage, headings, and questions that the text asks itself. They are fit to compare chunkers and retrievers on
    findability, not to claim quality for people. The same seed makes the same questions, and a larger n only adds some.

    >>> import assay
    >>> text = "Green tea is steamed right after picking. Black tea oxidises for hours, which darkens the leaves."
    >>> found = assay.make_questions({"tea": text}, 1)
    >>> [text[place.start : place.end] == place.text for one in found.questions for place in one.gold]
    [True]
    """
    check_whole(n, "n", least=1)
    found = make_known_items(open_collection(documents), n, seed, progress or (lambda *_: None))
    return replace(found, sources=(source_of(documents),)) if isinstance(documents, (str, os.PathLike)) else found
