"""The text to search with: the query itself, from another file, from a template, or rewritten by a function.

Retrieval and reranking see that text; answers are given to the original question.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats.queries import read_queries
from assay.llm.calls import Call
from assay.messages import say
from assay.pipeline.external import answer_of
from assay.pipeline.sources import source_digest
from assay.pipeline.stages import Setup, load, method
from assay.pipeline.terms import words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.pipeline.records import Query


class Rewriter(Protocol):
    """Anything that gives the text of a query; `works` means that this takes time and is worth caching."""

    identity: dict[str, Any]
    works: bool

    def rewrite(self, query: Query) -> str:
        """The text to ask with."""


@method("query", "none")
def none(setup: Setup) -> None:
    """The texts of the queries, unchanged."""
    del setup


@method("query", "file")
def file(setup: Setup, *, file: str) -> Rewriter:
    """The texts of another file, which has the same query ids."""
    place = setup.path(file)
    texts = read_queries(place).texts()
    lacking = [name for name in setup.queries if name not in texts]
    if lacking:
        told = {"query": excerpt(lacking[0]), "n": len(lacking) - 1}
        raise InputError(
            say("query {query} and {n} {n:other|others} have no text in it", **told)
            if told["n"]
            else say("query {query} has no text in it", query=told["query"]),
            path=str(place),
            hint=_same_ids(),
        )
    unknown = next((name for name in texts if name not in setup.queries), None)
    if unknown is not None:
        raise InputError(
            say("query {query} is not among the queries of the experiment", query=excerpt(unknown)),
            path=str(place),
            hint=_same_ids(),
        )
    return FixedTexts(texts)


@method("query", "template")
def template(setup: Setup, *, text: str) -> Rewriter:
    """A text with $text and other columns of the queries, as in "$profile $text"."""
    made = Template(text)
    if not made.is_valid():
        raise UsageError(
            say("text = {text} is not a template: columns are written as $text or ${{text}}", text=excerpt(text))
        )
    known = list(dict.fromkeys(name for row in setup.queries.values() for name in row))
    for name in made.get_identifiers():
        if name not in known:
            raise UnknownName(say("column"), name, known, hint=say("the columns are {names}", names=known))
    filled = {
        query: " ".join(made.substitute({name: "" if row.get(name) is None else row[name] for name in known}).split())
        for query, row in setup.queries.items()
    }
    return FixedTexts(filled)


def _same_ids() -> str:
    return say("the files of one experiment need the same query ids, as they share the judgments")


class FixedTexts:
    """Texts that are there before anything is asked."""

    works = False

    def __init__(self, texts: Mapping[str, str]) -> None:
        wordless = next((name for name, text in texts.items() if not words(text)), None)
        if wordless is not None:
            raise InputError(
                say("query {id} has no words: {text}", id=excerpt(wordless), text=excerpt(texts[wordless]))
            )
        self._texts = dict(texts)
        self.identity = {"method": "written"}  # the texts themselves are in the keys of the stages that use them

    def rewrite(self, query: Query) -> str:
        """Look the text up."""
        return self._texts[query.id]


class OwnRewriter:
    """A user's function from text to text."""

    works = True

    def __init__(self, call: Callable[..., Any], name: str, params: Mapping[str, Any]) -> None:
        self._call, self._name, self._params = call, name, dict(params)
        self.identity = {"plugin": name, "source": source_digest(call, name), "parameters": self._params}

    def rewrite(self, query: Query) -> str:
        """Call it, and check that it gave a query."""
        found = self._call(query.text, **self._params)
        if not isinstance(found, str):
            raise InputError(say("{name} returned {found}, expected a text", name=self._name, found=excerpt(found)))
        if not words(found):
            raise InputError(say("{name} returned {found}, which has no words", name=self._name, found=excerpt(found)))
        return found


def plugin_rewriter(text: str, setup: Setup, params: Mapping[str, Any]) -> Rewriter:
    """A user's own way of asking: module:callable, or an endpoint: POST {"query"} -> {"query"}."""
    if not text.startswith(("http://", "https://")):
        return OwnRewriter(load(text, setup.folder), text, params)
    client, sent = setup.endpoint(text, "rewriter", params)

    def ask(query: str, **rest: Any) -> Any:
        body = {"query": query, **rest}
        return answer_of(client.call_many([Call("", "rewriter", body, lambda answer: answer.get("query"))])[0])

    return OwnRewriter(ask, text, sent)
