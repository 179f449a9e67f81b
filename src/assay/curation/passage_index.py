"""All passages of a collection in memory, searched by words: which others might answer a question too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curation.passages import Passage, is_prose, passages_of, telling_words
from assay.messages import say
from assay.pipeline.bm25 import Bm25
from assay.pipeline.terms import query_words, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.curation.collection import Opener, ProgressCallback

DEPTH = 20  # passages that are looked at for each question
_TOLD = 4096
_LEAST = 4  # telling words of a passage that a question can be made from
_SAME = 0.8  # share of the words from which on two passages say the same


class PassageIndex:
    """Passages of a collection by BM25, and where each text stands."""

    def __init__(self, documents: Opener, tell: ProgressCallback) -> None:
        self.passages = list[Passage]()
        self._places = dict[str, list[int]]()
        self._index = Bm25().build_tokens(words(one.text) for one in self._read(documents, tell))

    def _read(self, documents: Opener, tell: ProgressCallback) -> Iterator[Passage]:
        for number, (doc, text) in enumerate(documents(), 1):
            for passage in passages_of(doc, text):
                self._places.setdefault(passage.text, []).append(len(self.passages))
                self.passages.append(passage)
                yield passage
            if number % _TOLD == 0:
                tell(say("questions.indexing"), number, number)

    def copies(self, passage: Passage) -> list[Passage]:
        """Other places where the same text stands."""
        found = [self.passages[place] for place in self._places[passage.text]]
        return [one for one in found if (one.doc_id, one.start) != (passage.doc_id, passage.start)]

    def find_others(self, text: str, own: tuple[Passage, ...]) -> list[Passage]:
        """The best passages for a text, each text once, without those it is about."""
        seen = {passage.text for passage in own}
        found: list[Passage] = []
        for place in self._index.search_tokens(query_words(text), DEPTH + 2 * len(own))[0]:
            passage = self.passages[place]
            if passage.text not in seen:
                seen.add(passage.text)
                found.append(passage)
        return found[:DEPTH]

    def find_partner(self, passage: Passage) -> Passage | None:
        """Another passage on the same subject, of another document if there is one, that does not say the same."""
        mine = set(telling_words(passage.text))
        fit = [
            one
            for one in self.find_others(passage.text, (passage,))
            if len(theirs := set(telling_words(one.text))) >= _LEAST
            and is_prose(one.text)
            and len(mine & theirs) < _SAME * min(len(mine), len(theirs))
        ]
        return next((one for one in fit if one.doc_id != passage.doc_id), fit[0] if fit else None)
