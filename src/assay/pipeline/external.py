"""Retrievers that are not ours: a run file, a user's function, an endpoint, objects of other frameworks."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UsageError, excerpt
from assay.formats.reading import read_run
from assay.llm.calls import Call
from assay.messages import say, word
from assay.pipeline.sources import source_digest
from assay.pipeline.stages import Setup, load, method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from assay.llm import Reply
    from assay.pipeline.records import Chunk, Query
    from assay.pipeline.retrieval import Ranked

_IDS = ("chunk_id", "doc_id", "id", "id_", "node_id", "ref_doc_id", "document_id", "source", "_id")
_TEXTS = ("page_content", "content", "text")


@method("retrieve", "run")
def run_file(setup: Setup, *, file: str) -> RunFile:
    """The lists of an existing run file, instead of a search."""
    return RunFile(setup.path(file))


class ExternalRetriever:
    """A search that needs no index of ours; what it returns is found among the chunks by id, else by text."""

    parts = ()

    def __init__(self, ask: Callable[[Query, int], Sequence[Any]], identity: dict[str, Any]) -> None:
        self._ask, self.identity = ask, identity
        self._seen: Sequence[Chunk] | None = None

    def search_in(self, chunks: Sequence[Chunk], query: Query, k: int) -> Ranked:
        """Ask, and find the chunks that are meant."""
        if self._seen is not chunks:
            self._seen = chunks
            self._names, self._texts = _numbers_of(chunks)
        numbers: list[int] = []
        scores: list[float] = []
        found = list(self._ask(query, k))[:k]
        for place, item in enumerate(found):
            number = self._number(item)
            if number not in numbers:
                numbers.append(number)
                scores.append(_score(item, default=float(len(found) - place)))
        order = sorted(range(len(numbers)), key=lambda i: -scores[i])
        return [numbers[i] for i in order], [scores[i] for i in order]

    def fuse(self, lists: Sequence[Ranked], k: int) -> Ranked:
        """There is one list."""
        numbers, scores = lists[0]
        return numbers[:k], scores[:k]

    def _number(self, item: Any) -> int:
        names = [name for name in _names(item) if name in self._names]
        if names:
            number = self._names[names[0]]
            if number is None:
                raise InputError(
                    say(
                        "the retriever returned document {doc}, which is cut into several chunks", doc=excerpt(names[0])
                    ),
                    hint=say('use chunk.method = "none" with this retriever, or return chunk ids'),
                )
            return number
        text = _text(item)
        if text is not None and text.strip() in self._texts:
            return self._texts[text.strip()]
        shown = next(iter(_names(item)), text or item)
        raise InputError(
            say("the retriever returned {found}, which is not a document or chunk here", found=excerpt(shown))
        )


def _numbers_of(chunks: Sequence[Chunk]) -> tuple[dict[str, int | None], dict[str, int]]:
    """Numbers of chunks by id, by the document's id where it has one chunk, and by text."""
    names: dict[str, int | None] = {}
    for number, chunk in enumerate(chunks):
        names[chunk.doc_id] = None if chunk.doc_id in names else number
    names |= {chunk.id: number for number, chunk in enumerate(chunks)}
    return names, {chunk.text: number for number, chunk in reversed(list(enumerate(chunks)))}


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _inside(item: Any) -> list[Any]:
    """An item, what it wraps (LlamaIndex: node), and its metadata (LangChain: metadata, Haystack: meta)."""
    node = _field(item, "node")
    whole = [item] if node is None else [item, node]
    extra = [_field(one, name) for one in whole for name in ("metadata", "meta")]
    return [*[one for one in extra if isinstance(one, dict)], *whole]


def _names(item: Any) -> list[str]:
    if isinstance(item, (tuple, list)) and item:
        item = item[0]
    if isinstance(item, (str, int)):
        return [str(item)]
    found = [_field(one, name) for name in _IDS for one in _inside(item)]
    return [str(name) for name in found if isinstance(name, (str, int)) and not isinstance(name, bool)]


def _text(item: Any) -> str | None:
    if isinstance(item, (tuple, list)) and item:
        item = item[0]
    if isinstance(item, str):
        return item
    found = [_field(one, name) for one in reversed(_inside(item)) for name in _TEXTS]
    return next((text for text in found if isinstance(text, str)), None)


def _score(item: Any, *, default: float) -> float:
    raw = item[1] if isinstance(item, (tuple, list)) and len(item) > 1 else _field(item, "score")
    if isinstance(raw, bool) or not isinstance(raw, Real):
        return default
    if not math.isfinite(raw):
        raise InputError(say("the retriever returned the score {score}, expected a finite number", score=excerpt(raw)))
    return float(raw)


class RunFile(ExternalRetriever):
    """The lists of a run file."""

    def __init__(self, path: Path) -> None:
        run = read_run(path)
        frame = run.frame.sort(["query_id", "score"], descending=[False, True], maintain_order=True)
        name = "chunk_id" if "chunk_id" in frame.columns else "doc_id"
        self.lists: dict[str, list[tuple[str, float]]] = {}
        for query, doc, score in frame.select("query_id", name, "score").iter_rows():
            self.lists.setdefault(query, []).append((doc, score))
        digest = run.source.sha256 if run.source else None
        super().__init__(lambda query, k: self.lists.get(query.id, [])[:k], {"method": "run", "sha256": digest})


def plugin_retriever(text: str, setup: Setup, params: Mapping[str, Any]) -> ExternalRetriever:
    """A user's own retriever: an object with a method we know, a function of query and k, or an endpoint."""
    if text.startswith(("http://", "https://")):
        return ExternalRetriever(_Endpoint(text, setup, params), {"endpoint": text, "parameters": dict(params)})
    thing = load(text, setup.folder)
    identity = {"plugin": text, "source": source_digest(thing, text), "parameters": dict(params)}
    return ExternalRetriever(as_search(thing, text, params), identity)


def as_search(thing: Any, text: str, params: Mapping[str, Any]) -> Callable[[Query, int], Sequence[Any]]:
    """Recognise a retriever by its method: LangChain's invoke, LlamaIndex's retrieve, Haystack's run; or a function."""
    for name in ("invoke", "get_relevant_documents", "retrieve"):
        call = getattr(thing, name, None)
        if callable(call):
            return _by_text(call)
    run = getattr(thing, "run", None)
    if callable(run):
        return _by_text(lambda query: run(query=query)["documents"])
    if callable(thing):
        return lambda query, k: thing(query.text, k, **params)
    raise UsageError(
        say("{name} is not a retriever: expected a function of query and k, or invoke, retrieve or run", name=text)
    )


def _by_text(call: Callable[[str], Sequence[Any]]) -> Callable[[Query, int], Sequence[Any]]:
    """A search that knows by itself how many to give."""

    def search(query: Query, k: int) -> Sequence[Any]:
        del k
        return call(query.text)

    return search


class _Endpoint:
    """POST {"query", "k", ...} -> {"results": [{"id", "score"}]}."""

    def __init__(self, url: str, setup: Setup, params: Mapping[str, Any]) -> None:
        self._client, self._params = setup.endpoint(url, "retriever", params)

    def __call__(self, query: Query, k: int) -> Sequence[Any]:
        body = {"query": query.text, "k": k, **self._params}
        found: list[Any] = answer_of(self._client.call_many([Call("", "retriever", body, _results)])[0])
        return found


def _results(answer: Mapping[str, Any]) -> list[Any] | None:
    found = answer.get("results")
    return found if isinstance(found, list) else None


def answer_of(reply: Reply) -> Any:
    """What an endpoint gave, or an error that says why it gave nothing."""
    if not reply.ok:
        raise InputError(
            say("the endpoint failed ({reason}): {message}", reason=word("call", reply.reason), message=reply.message)
        )
    return reply.data
