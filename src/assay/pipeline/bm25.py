"""BM25 by bm25s, with English and Chinese words; unknown words and short collections are not errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import MissingPackage, UsageError
from assay.messages import say
from assay.pipeline.retrieval import ProgressCallback, Ranked, Retriever, Single, ignore_progress, top_places
from assay.pipeline.stages import Setup, at_least, method
from assay.pipeline.terms import query_words, words
from assay.text.segmentation import segmenter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from assay.pipeline.records import Chunk, Query

VARIANTS = ("lucene", "robertson", "atire")
_TOLD = 256  # chunks after which progress is reported


@method("retrieve", "bm25")
def bm25(setup: Setup, *, k1: float = 1.5, b: float = 0.75, variant: str = "lucene") -> Retriever:
    """Words in common, weighted by how rare they are (Robertson and others 1994; variants as in bm25s)."""
    del setup
    return Single(Bm25(k1=k1, b=b, variant=variant))


class Bm25:
    """Builds BM25 indexes."""

    def __init__(self, *, k1: float = 1.5, b: float = 0.75, variant: str = "lucene") -> None:
        at_least("k1", k1, 0)
        if not 0 <= b <= 1:
            raise UsageError(say("b = {b:g}: expected a number from 0 to 1", b=b))
        if variant not in VARIANTS:
            raise UsageError(
                say("variant = {variant!r}: expected one of {variants}", variant=variant, variants=list(VARIANTS))
            )
        self.k1, self.b, self.variant = float(k1), float(b), variant
        self.identity = {
            "method": "bm25", "k1": self.k1, "b": self.b, "variant": variant, "segmenter": segmenter(),
        }  # fmt: skip

    def build(self, chunks: Sequence[Chunk], tell: ProgressCallback = ignore_progress) -> Bm25Index:
        """Index chunks."""
        return self.build_tokens(_count((words(chunk.text) for chunk in chunks), len(chunks), tell))

    def build_tokens(self, texts: Iterable[Sequence[str]]) -> Bm25Index:
        """Index texts that are already words; a collection without any word gets a word that no query has.

        A word is kept as its number: as a string of its own each time, it takes ten times the memory.
        """
        model = _package().BM25(k1=self.k1, b=self.b, method=self.variant)
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in text] for text in texts]
        if not vocabulary:
            ids[0] = [vocabulary.setdefault("\0", 0)]
        model.index((ids, vocabulary), show_progress=False)
        return Bm25Index(model)

    def load(self, folder: Path, count: int) -> Bm25Index:
        """Load an index of this many chunks that `save` wrote."""
        model = _package().BM25(k1=self.k1, b=self.b, method=self.variant)
        arrays = {name: np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")}
        rest = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        _check(arrays, rest, count)
        model.scores = {**arrays, "num_docs": rest["num_docs"]}
        model.vocab_dict = rest["vocabulary"]
        model.unique_token_ids_set = set(model.vocab_dict.values())
        model.nonoccurrence_array = None
        return Bm25Index(model)


class Bm25Index:
    """Searches by words."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def search(self, query: Query, k: int) -> Ranked:
        """Find the best k chunks; chunks without a word of the query are not found."""
        return self.search_tokens(query_words(query.text), k)

    def search_tokens(self, tokens: list[str], k: int) -> Ranked:
        """Search by words."""
        known = self._model.vocab_dict
        ids = [known[token] for token in tokens if token in known and token]
        if not ids:
            return [], []
        scores = self._model.get_scores_from_ids(ids)
        places = top_places(scores, k)
        found = scores[places]
        some = int(np.count_nonzero(found > 0))
        return places[:some].tolist(), found[:some].astype(np.float64).tolist()

    def save(self, folder: Path) -> None:
        """Write arrays and vocabulary."""
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.npy", self._model.scores[name])
        rest = {"num_docs": int(self._model.scores["num_docs"]), "vocabulary": self._model.vocab_dict}
        (folder / "vocabulary.json").write_text(json.dumps(rest, ensure_ascii=False), encoding="utf-8")


def _count(texts: Iterable[list[str]], total: int, tell: ProgressCallback) -> Iterator[list[str]]:
    """Yield the same texts, reporting progress now and then."""
    for number, text in enumerate(texts, 1):
        yield text
        if number % _TOLD == 0 or number == total:
            tell(number, total)


def _check(arrays: dict[str, Any], rest: Any, count: int) -> None:
    """Refuse arrays that are not an index of this many chunks."""
    if not isinstance(rest, dict) or not isinstance(rest["vocabulary"], dict):
        raise TypeError("not the words of an index")
    data, indices, starts = (arrays[name] for name in ("data", "indices", "indptr"))
    terms = sorted(number for word, number in rest["vocabulary"].items() if word)  # bm25s adds one without a column
    fits = (
        rest["num_docs"] == count
        and len(data) == len(indices) == starts[-1]
        and starts[0] == 0
        and bool((np.diff(starts) >= 0).all())
        and bool((indices >= 0).all() and (indices < count).all() and np.isfinite(data).all())
        and 0 <= terms[0] <= terms[-1] < len(starts) - 1
    )
    if not fits:
        raise ValueError("not the index of these chunks")


def _package() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingPackage("bm25", "bm25s", "pipeline") from None
    return bm25s
