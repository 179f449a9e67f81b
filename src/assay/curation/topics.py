"""Topics of passages: clusters of their embeddings where an embedder is installed, else of their words."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.curation.known_items import terms_of
from assay.errors import AssayError
from assay.text.embeddings import choose_embedder, embed_all, name_fast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_FEW = 20  # passages to a topic, at least
_MOST = 12  # topics
_WIDTH = 1000  # words that are compared
_SHARED = 3  # passages that have a word which says what they have in common
_NAMED = 3  # words that name a topic
_CHARACTERS = 2000  # of a passage that are looked at


class Topics(NamedTuple):
    """The topic of every passage, named by its telling words, and what they were found by."""

    names: list[str]
    by: str


def find_topics(texts: Sequence[str], seed: int, tell: Callable[[int, int], object]) -> Topics:
    """Group passages by what they are about; few passages are one topic without a name."""
    count = min(_MOST, len(texts) // _FEW)
    if count < 2:  # noqa: PLR2004 - one topic says nothing
        return Topics([""] * len(texts), "")
    from scipy.cluster.vq import kmeans2

    looked_at = [text[:_CHARACTERS] for text in texts]
    terms = [terms_of(text) for text in looked_at]
    rows, by = _vectors(looked_at, [[term.form for term in found] for found in terms], tell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a cluster without passages is no topic
        _, labels = kmeans2(rows, count, iter=20, minit="++", rng=np.random.default_rng(seed))
    written = [{term.form: term.written for term in found} for found in terms]
    names = _name(labels.tolist(), written)
    return Topics([names[label] for label in labels.tolist()], by)


def _vectors(
    texts: Sequence[str], terms: Sequence[Sequence[str]], tell: Callable[[int, int], object]
) -> tuple[NDArray[np.float64], str]:
    try:
        embedder = choose_embedder(name_fast("auto"), texts).embedder
        return embed_all(embedder, texts, tell=tell).rows.astype(np.float64), embedder.name
    except AssayError:  # none is installed
        return _word_vectors(terms), "words"


def _word_vectors(terms: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """What passages have in common by the words that they share (latent semantic analysis)."""
    spread = Counter(term for found in terms for term in found)
    shared = sorted((term for term, n in spread.items() if n >= _SHARED), key=lambda term: (-spread[term], term))
    places = {term: place for place, term in enumerate(shared[:_WIDTH])}
    rows = np.zeros((len(terms), max(1, len(places))))
    for row, found in zip(rows, terms, strict=True):
        for term in found:
            if term in places:
                row[places[term]] = math.log(len(terms) / spread[term])
    left, sizes, _ = np.linalg.svd(_scale(rows), full_matrices=False)
    return _scale(left[:, :_MOST] * sizes[:_MOST])


def _scale(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1; those without any word stay as they are."""
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return rows / np.where(length > 0, length, 1)


def _name(labels: Sequence[int], written: Sequence[dict[str, str]]) -> dict[int, str]:
    """Words that many passages of a topic have and few others."""
    every = Counter(term for found in written for term in found)
    names: dict[int, str] = {}
    for label in sorted(set(labels)):
        mine = [found for one, found in zip(labels, written, strict=True) if one == label]
        inside = Counter(term for found in mine for term in found)
        weight = {term: n * n / every[term] for term, n in inside.items()}
        best = sorted(weight, key=lambda term: (-weight[term], term))[:_NAMED]
        spelt = {term: text for found in reversed(mine) for term, text in found.items()}
        names[label] = ", ".join(spelt[term] for term in best)
    return names
