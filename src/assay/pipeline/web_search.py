"""Search over HTTP: any endpoint whose answer has a list of results somewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, excerpt
from assay.formats import columns
from assay.formats.samples import value_at
from assay.llm.records import Reply, failure
from assay.messages import say, word
from assay.pipeline.search_engines import Item, Listing, SearchEngine, in_order
from assay.pipeline.stages import Setup, method
from assay.pipeline.templates import (
    COUNT,
    QUERY,
    QUERY_ID,
    VECTOR,
    as_float,
    fill,
    holds,
    names_of,
    read_template,
    vectors_for,
)
from assay.pipeline.web import WebAddress, WebCall, secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.llm.policy import Kind
    from assay.llm.transport import Exchange
    from assay.pipeline.records import Query
    from assay.pipeline.templates import QueryVectors

_FATAL = {"key", "quota", "model", "request", "too_long"}  # another query would fail alike
_LISTS = ("results", "hits", "documents", "data", "items", "matches", "result")
_IDS = (*columns.CONTEXT_ID, "_id", "url")
_SCORES = ("score", "_score", "similarity", "relevance_score")


@method("retrieve", "http")
def http(
    setup: Setup,
    *,
    url: str,
    body: dict[str, Any] | str | None = None,
    results: str = "",
    id: str = "",  # noqa: A002 - as the table has it
    text: str = "",
    score: str = "",
    embedder: str = "",
    key_env: str = "",
    headers: dict[str, Any] | None = None,
    header_env: dict[str, Any] | None = None,
    timeout: float = 30.0,
    release: str = "",
) -> SearchEngine:
    """Any search over HTTP: `body` is JSON with {query} and {k}, else the address has them; the others are paths."""
    template = read_template(body, "body")
    if template is None and QUERY not in url:
        template = {"query": QUERY, "k": COUNT}
    secrets = {name: ("", secret(variable)) for name, variable in (header_env or {}).items()}
    secrets |= {"authorization": ("Bearer", secret(key_env))} if key_env else {}
    address = WebAddress.of(url, headers or {}, secrets)
    vectors = vectors_for(setup, embedder, wanted=holds([template, url], VECTOR), mark=VECTOR)
    paths = {"results": results, "id": id, "text": text, "score": score}
    identity = {
        "method": "http", "url": url, "body": template, "paths": paths, "headers": headers or {}, "release": release,
        "embedder": None if vectors is None else vectors.identity,
    }  # fmt: skip
    search = WebSearch(address, template, vectors, lambda answer: read_results(answer, paths), timeout)
    setup.others.append(search)
    return SearchEngine(identity, search.find)


class WebSearch:
    """Sends filled templates to an address, one at a time, and reads the results."""

    def __init__(
        self, address: WebAddress, template: Any, vectors: QueryVectors | None,
        read: Callable[[Any], tuple[Kind | None, Any]], timeout: float,
    ) -> None:  # fmt: skip
        self._address, self._template, self._vectors, self._read = address, template, vectors, read
        self._client = address.client(timeout=timeout)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def find(self, query: Query, k: int) -> Listing:
        """Search for one query; what would fail for any other as well is an error."""
        values: dict[str, Any] = {QUERY: query.text, COUNT: k, QUERY_ID: query.id}
        ms, tokens, money = 0.0, 0, 0.0  # type: tuple[float, int, float | None]
        cached = False
        if self._vectors is not None:
            values[VECTOR], ms, account = self._vectors.embed(query.text)
            tokens, money, cached = account.tokens, account.money, account.cached
        path = self._address.fill({mark: str(value) for mark, value in values.items() if mark != VECTOR})
        payload = None if self._template is None else fill(self._template, values)
        (reply,) = [one for _, one in self._client.send([("0", WebCall(path, payload, self._understand))])]
        ms += 1000 * reply.seconds
        if reply.ok:
            return Listing(in_order([Item(*row) for row in reply.data], k), ms, "", tokens, money, cached)
        if reply.reason in _FATAL:
            message = self._address.hide(reply.message)
            raise InputError(
                say(
                    "the search engine failed ({reason}): {message}", reason=word("call", reply.reason), message=message
                )
            )
        return Listing((), ms, reply.reason, tokens, money, cached)

    def _understand(self, exchange: Exchange) -> tuple[Kind | None, Reply]:
        try:
            answer = json.loads(exchange.body)
        except (ValueError, RecursionError):
            return "garbage", failure("garbage", say("reply.no_json"))
        kind, found = self._read(answer)
        if kind is not None:
            return kind, failure("server", found)
        return None, Reply("ok", data=[list(item) for item in found])


def read_results(answer: Any, paths: dict[str, str]) -> tuple[Kind | None, Any]:
    """The results of an answer, or the kind of failure and a message."""
    found = answer if not paths["results"] else value_at(answer, paths["results"]) if isinstance(answer, dict) else None
    if isinstance(found, dict) and not paths["results"]:
        found = next((one for name in _LISTS if isinstance(one := found.get(name), list)), None)
    if not isinstance(found, list):
        keys = names_of(list(answer)) if isinstance(answer, dict) else []
        return "request", say(
            "the answer has no list of results at {path}; its keys are {names}",
            path=paths["results"] or "results",
            names=keys,
        )
    items = []
    for place, raw_row in enumerate(found):
        row = {"id": raw_row} if isinstance(raw_row, (str, int)) else raw_row
        if not isinstance(row, dict):
            return "request", say("a result is neither an object nor an id: {row}", row=excerpt(row))
        name = value_at(row, paths["id"]) if paths["id"] else columns.first_of(row, _IDS)
        if not isinstance(name, (str, int)):
            return "request", say(
                "a result has no id; its keys are {names}: name the path, id = ...", names=names_of(list(row))
            )
        text = value_at(row, paths["text"]) if paths["text"] else columns.first_of(row, columns.CONTEXT_TEXT)
        raw = value_at(row, paths["score"]) if paths["score"] else columns.first_of(row, _SCORES)
        items.append(Item(str(name), str(name), text if isinstance(text, str) else "", as_float(raw, -float(place))))
    return None, items
