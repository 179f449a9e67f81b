"""Elasticsearch and OpenSearch: `_search` with a query template, and what their answers and errors mean."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from assay.errors import UsageError, excerpt
from assay.formats.samples import value_at
from assay.llm.keys import Key
from assay.messages import say
from assay.pipeline.search_engines import Item, SearchEngine
from assay.pipeline.stages import Setup, method
from assay.pipeline.templates import COUNT, QUERY, VECTOR, as_float, holds, names_of, read_template, vectors_for
from assay.pipeline.web import WebAddress, secret
from assay.pipeline.web_search import WebSearch

if TYPE_CHECKING:
    from assay.llm.policy import Kind


@method("retrieve", "elasticsearch")
def elasticsearch(
    setup: Setup,
    *,
    url: str,
    index: str,
    text: str = "text",
    body: dict[str, Any] | str | None = None,
    id: str = "_id",  # noqa: A002 - as the table has it
    embedder: str = "",
    key_env: str = "",
    login_env: str = "",
    timeout: float = 30.0,
    release: str = "",
) -> SearchEngine:
    """Elasticsearch: `body` is a search with {query}, {k}, {embedding}, else a match on `text`; `key_env` has a key."""
    told, more = (url, index, text, id), (body, embedder, timeout, release)
    return _engine(setup, "elasticsearch", told, more, _secrets("ApiKey", key_env, login_env))


@method("retrieve", "opensearch")
def opensearch(
    setup: Setup,
    *,
    url: str,
    index: str,
    text: str = "text",
    body: dict[str, Any] | str | None = None,
    id: str = "_id",  # noqa: A002 - as the table has it
    embedder: str = "",
    key_env: str = "",
    login_env: str = "",
    timeout: float = 30.0,
    release: str = "",
) -> SearchEngine:
    """OpenSearch: `body` is one with {query}, {k}, {embedding}, else a match on `text`; `login_env`: USER:PASSWORD."""
    told, more = (url, index, text, id), (body, embedder, timeout, release)
    return _engine(setup, "opensearch", told, more, _secrets("Bearer", key_env, login_env))


def _secrets(scheme: str, key_env: str, login_env: str) -> dict[str, tuple[str, Key]]:
    """The header of authorisation: a key, or a user and a password."""
    if key_env and login_env:
        raise UsageError(say("give the key one way: key_env or login_env"))
    if login_env:
        login = secret(login_env).reveal()
        return {"authorization": ("Basic", Key(base64.b64encode(login.encode()).decode()))}
    return {"authorization": (scheme, secret(key_env))} if key_env else {}


def _engine(
    setup: Setup,
    name: str,
    told: tuple[str, str, str, str],
    more: tuple[Any, str, float, str],
    secrets: dict[str, tuple[str, Key]],
) -> SearchEngine:
    body, embedder, timeout, release = more
    url, index, text, field = told
    template = read_template(body, "body") or {"query": {"match": {text: {"query": QUERY}}}}
    if not isinstance(template, dict) or not (holds(template, QUERY) or holds(template, VECTOR)):
        raise UsageError(say("body needs {query} or {embedding} where the query goes", query=QUERY, embedding=VECTOR))
    whole = {"size": COUNT, "_source": [one for one in (text, field) if one and one != "_id"], **template}
    address = WebAddress.of(f"{url.rstrip('/')}/{quote(index, safe=',*-')}/_search", {}, secrets)
    vectors = vectors_for(setup, embedder, wanted=holds(template, VECTOR), mark=VECTOR)
    identity = {
        "method": name, "url": url, "index": index, "body": whole, "id": field, "text": text, "release": release,
        "embedder": None if vectors is None else vectors.identity,
    }  # fmt: skip
    search = WebSearch(address, whole, vectors, partial(read_hits, field, text), timeout)
    setup.others.append(search)
    return SearchEngine(identity, search.find)


def read_hits(field: str, text: str, answer: Any) -> tuple[Kind | None, Any]:
    """The hits of an answer; one from some shards only, or cut short, is none: its list would be another one."""
    outer = answer.get("hits") if isinstance(answer, dict) else None
    rows = outer.get("hits") if isinstance(outer, dict) else None
    if not isinstance(rows, list):
        return "garbage", say("the answer has no hits: is this the address of Elasticsearch or OpenSearch?")
    if answer.get("timed_out"):
        return "slow", say("the search was cut short by its own timeout")
    shards = answer.get("_shards")
    failed = shards.get("failed") if isinstance(shards, dict) else 0
    if failed:
        return "server", say("{n} of its shards failed", n=failed)
    items = []
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            return "garbage", say("a hit is not an object: {row}", row=excerpt(row))
        source = row.get("_source")
        source = source if isinstance(source, dict) else {}
        name = row.get("_id") if field == "_id" else value_at(source, field)
        if not isinstance(name, (str, int)):
            return "request", say(
                "a hit has no field {field}; it has {names}", field=field, names=names_of(list(source))
            )
        found = value_at(source, text)
        items.append(
            Item(
                str(row.get("_id")),
                str(name),
                found if isinstance(found, str) else "",
                as_float(row.get("_score"), -float(place)),
            )
        )
    return None, items
