"""Cut documents into chunks: spans of the unchanged text, so that gold spans can be found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assay.errors import InputError, MissingPackage, UsageError, excerpt
from assay.llm.calls import Call
from assay.messages import say
from assay.pipeline.external import answer_of
from assay.pipeline.records import Chunk, Document
from assay.pipeline.sources import source_digest
from assay.pipeline.stages import Setup, at_least, identity_of, load, method
from assay.text.embeddings import embed_all
from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.spans import Span
    from assay.text.embeddings import Embedder


class Chunker(Protocol):
    """Anything that cuts texts into chunks."""

    identity: dict[str, Any]

    def split(self, texts: Sequence[str]) -> list[list[Span]]:
        """Spans of each text."""


def cut(chunker: Chunker, documents: Sequence[Document]) -> list[Chunk]:
    """Cut documents into chunks, without the spaces around them; a chunk of spaces alone is dropped."""
    found = []
    for document, spans in zip(documents, chunker.split([document.text for document in documents]), strict=True):
        tight = [span for span in (_strip_span(document.text, *span) for span in spans) if span[0] < span[1]]
        whole = len(tight) == 1
        for number, (start, end) in enumerate(tight):
            name = document.id if whole else f"{document.id}#{number}"
            found.append(Chunk(name, document.id, document.text[start:end], start, end))
    return found


def _strip_span(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))


class _PerTextChunker:
    """A chunker that looks at one text at a time."""

    def __init__(self, function: Any, **identity: Any) -> None:
        self._function, self.identity = function, identity

    def split(self, texts: Sequence[str]) -> list[list[Span]]:
        return [self._function(text) for text in texts]


@method("chunk", "none")
def none(setup: Setup) -> Chunker:
    """Whole documents."""
    del setup
    return _PerTextChunker(lambda text: [(0, len(text))])


@method("chunk", "fixed")
def fixed(setup: Setup, *, size: int = 800, overlap: int = 0) -> Chunker:
    """Pieces of `size` characters, each beginning `overlap` characters before the end of the one before."""
    del setup
    at_least("size", size, 1)
    at_least("overlap", overlap, 0)
    if overlap >= size:
        raise UsageError(
            say("overlap = {overlap}: expected less than size, which is {size}", overlap=overlap, size=size)
        )
    step = size - overlap

    def pieces(text: str) -> list[Span]:
        last = max(len(text) - overlap, 1)
        return [(start, min(start + size, len(text))) for start in range(0, last, step)]

    return _PerTextChunker(pieces)


@method("chunk", "sentence")
def sentence(setup: Setup, *, size: int = 800, overlap: int = 0) -> Chunker:
    """Whole sentences up to `size` characters (a longer sentence stays whole); `overlap` counts repeated sentences."""
    del setup
    at_least("size", size, 1)
    at_least("overlap", overlap, 0)
    return _PerTextChunker(lambda text: _pack(sentences(text), size, overlap))


def _pack(units: Sequence[Span], size: int, overlap: int = 0) -> list[Span]:
    """Join neighbouring units while they fit."""
    found: list[Span] = []
    first = 0
    while first < len(units):
        last = first
        while last + 1 < len(units) and units[last + 1][1] - units[first][0] <= size:
            last += 1
        found.append((units[first][0], units[last][1]))
        if last + 1 == len(units):
            break
        first = max(first + 1, last + 1 - overlap)
    return found


@method("chunk", "recursive")
def recursive(setup: Setup, *, size: int = 800, overlap: int = 0) -> Chunker:
    """The largest units that fit into `size` characters: paragraphs, else sentences, else words."""
    del setup
    return _splitter("TextSplitter", size, overlap)


@method("chunk", "markdown")
def markdown(setup: Setup, *, size: int = 800, overlap: int = 0) -> Chunker:
    """Like recursive, along the headings, lists and blocks of Markdown."""
    del setup
    return _splitter("MarkdownSplitter", size, overlap)


def _splitter(name: str, size: int, overlap: int) -> Chunker:
    try:
        import semantic_text_splitter
    except ImportError:
        raise MissingPackage(say("this chunker"), "semantic-text-splitter", "pipeline") from None
    at_least("size", size, 1)
    at_least("overlap", overlap, 0)
    if overlap >= size:
        raise UsageError(
            say("overlap = {overlap}: expected less than size, which is {size}", overlap=overlap, size=size)
        )
    splitter = getattr(semantic_text_splitter, name)(size, overlap=overlap, trim=False)
    return _PerTextChunker(lambda text: [(start, start + len(piece)) for start, piece in splitter.chunk_indices(text)])


@method("chunk", "semantic")
def semantic(
    setup: Setup, *, embedder: str = "auto", percentile: float = 80.0, size: int = 1600, least: int = 100
) -> Chunker:
    """Sentences together until the subject changes: a break where neighbours are further apart than most.

    Distances are one minus the cosine similarity; `percentile` of all neighbours of the collection are nearer. `size`
    is the most characters of a chunk, `least` the fewest before a break.
    """
    if not 0 < percentile < 100:  # noqa: PLR2004
        raise UsageError(say("percentile = {percentile:g}: expected a number between 0 and 100", percentile=percentile))
    at_least("size", size, 1)
    return _Semantic(setup.embedder(embedder), percentile, size, least)


class _Semantic:
    def __init__(self, embedder: Embedder, percentile: float, size: int, least: int) -> None:
        self.identity = {"embedder": identity_of(embedder)}
        self._embedder, self._percentile, self._size, self._least = embedder, percentile, size, least

    def split(self, texts: Sequence[str]) -> list[list[Span]]:
        units = [sentences(text) for text in texts]
        pieces = [text[start:end] for text, spans in zip(texts, units, strict=True) for start, end in spans]
        if not pieces:
            return [[] for _ in texts]
        rows = embed_all(self._embedder, pieces).rows
        owner = np.repeat(np.arange(len(texts)), [len(spans) for spans in units])
        distance = 1.0 - np.einsum("ij,ij->i", rows[1:], rows[:-1])
        inside = owner[1:] == owner[:-1]
        limit = float(np.percentile(distance[inside], self._percentile)) if inside.any() else 2.0
        far = np.append(False, inside & (distance > limit))
        first, found = 0, []
        for spans in units:
            found.append(self._join(spans, far[first : first + len(spans)].tolist()))
            first += len(spans)
        return found

    def _join(self, spans: list[Span], breaks: list[bool]) -> list[Span]:
        found: list[Span] = []
        for (start, end), apart in zip(spans, breaks, strict=True):
            begin = found[-1][0] if found else start
            if found and end - begin <= self._size and not (apart and start - begin >= self._least):
                found[-1] = (begin, end)
            else:
                found.append((start, end))
        return found


def plugin_chunker(text: str, setup: Setup, params: Mapping[str, Any]) -> Chunker:
    """A user's own chunker: module:callable of a text, or an endpoint: POST {"text"} -> {"chunks"}.

    It gives texts that occur in this order, or [start, end] pairs.
    """
    identity: dict[str, Any] = {"plugin": text, "parameters": dict(params)}
    if text.startswith(("http://", "https://")):
        client, rest = setup.endpoint(text, "chunker", params)

        def call(given: str) -> Any:
            asked = Call("", "chunker", {"text": given, **rest}, lambda answer: answer.get("chunks"))
            return answer_of(client.call_many([asked])[0])
    else:
        thing = load(text, setup.folder)
        identity["source"] = source_digest(thing, text)

        def call(given: str) -> Any:
            return thing(given, **params)

    return _PerTextChunker(lambda given: _locate(given, call(given), text), **identity)


def _locate(text: str, pieces: Any, name: str) -> list[Span]:
    """Spans of what a user's chunker gave; texts are searched from where the one before began."""
    found: list[Span] = []
    start = 0
    for piece in pieces:
        if isinstance(piece, str):
            start = text.find(piece.strip(), start)
            if start < 0:
                raise InputError(
                    say(
                        "{name} returned {piece}, which the document does not contain after the piece before",
                        name=name,
                        piece=excerpt(piece),
                    )
                )
            found.append((start, start + len(piece.strip())))
            start += 1
        elif isinstance(piece, (list, tuple)) and len(piece) == 2 and all(isinstance(one, int) for one in piece):  # noqa: PLR2004
            found.append((max(0, piece[0]), min(len(text), piece[1])))
        else:
            raise InputError(
                say("{name} returned {piece}, expected texts or [start, end]", name=name, piece=excerpt(piece))
            )
    return found
