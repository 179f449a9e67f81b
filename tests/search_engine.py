"""A stand-in for Elasticsearch and OpenSearch on loopback, which refuses what their documentation does not allow.

A request must be `POST /INDEX/_search` with `content-type: application/json` and a body with known keys and a whole
`size` of at most 10,000. Answers and errors have the documented shape.
"""

from __future__ import annotations

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Keys of a search body that both document: query DSL, paging, fields, sorting, vectors, retrievers and limits.
KEYS = {
    "query", "size", "from", "_source", "fields", "sort", "knn", "min_score", "track_total_hits", "timeout", "rescore",
    "post_filter", "collapse", "highlight", "aggs", "retriever", "rank", "explain", "stored_fields", "docvalue_fields",
}  # fmt: skip
DOCUMENTS = {
    "1": {"content": "Sencha wants water of 70 degrees.", "doc": "a", "doc_id": "a"},
    "2": {"content": "Black tea wants boiling water.", "doc": "b", "doc_id": "b"},
    "3": {"content": "Trains leave at noon.", "doc": "c", "doc_id": "c"},
}


class SearchEngine(ThreadingHTTPServer):
    """The server; `requests` holds (path, headers, body) of what arrived."""

    daemon_threads = True

    def __init__(self, *, index="tea", login=None, key=None, fault=""):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.index, self.fault, self.requests = index, fault, []
        self.authorization = (
            f"ApiKey {key}" if key else f"Basic {base64.b64encode(login.encode()).decode()}" if login else None
        )

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """Clients go away on purpose here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Say nothing."""

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        self.server.requests.append((self.path, dict(self.headers), body))
        status, answer = self._answer(body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body):  # noqa: PLR0911 - one for each kind of answer
        server, wanted = self.server, f"/{self.server.index}/_search"
        if server.authorization is not None and self.headers.get("authorization") != server.authorization:
            return _error(401, "security_exception", "missing authentication credentials for REST request")
        if self.headers.get("content-type") != "application/json":
            return 406, {"error": "Content-Type header is not supported", "status": 406}
        if self.path != wanted:
            index = self.path.strip("/").partition("/")[0]
            return _error(404, "index_not_found_exception", f"no such index [{index}]")
        wrong = sorted(set(body) - KEYS)
        if wrong:
            return _error(400, "parsing_exception", f"unknown key for a START_OBJECT in [{wrong[0]}].")
        size = body.get("size", 10)
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= 10_000:
            return _error(400, "illegal_argument_exception", f"[size] parameter is {size}")
        if server.fault == "busy" and len(server.requests) == 1:
            return _error(429, "es_rejected_execution_exception", "rejected execution of coordinating operation")
        if server.fault == "down":
            return _error(503, "cluster_block_exception", "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered]")
        return 200, self._results(_words(body), size)

    def _results(self, words, size):
        scored = [(len(words & set(_split(one["content"]))), name) for name, one in DOCUMENTS.items()]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1]))[:size]
        rows = [
            {"_index": self.server.index, "_id": name, "_score": float(score), "_source": DOCUMENTS[name]}
            for score, name in ranked
        ]
        failed = 1 if self.server.fault == "partial" else 0
        shards = {"total": 2, "successful": 2 - failed, "skipped": 0, "failed": failed}
        top = rows[0]["_score"] if rows else None
        whole = {"total": {"value": len(rows), "relation": "eq"}, "max_score": top, "hits": rows}
        return {"took": 2, "timed_out": self.server.fault == "timed_out", "_shards": shards, "hits": whole}


def _error(status, kind, reason):
    cause = {"type": kind, "reason": reason}
    return status, {"error": {"root_cause": [cause], **cause}, "status": status}


def _split(text):
    return text.lower().replace(".", "").split()


def _words(body):
    """All words of the texts in a query, whatever clauses hold them."""
    found, waiting = set(), [body.get("query"), body.get("knn")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found |= set(_split(part))
        elif isinstance(part, (dict, list)):
            waiting += part.values() if isinstance(part, dict) else part
    return found


@contextmanager
def search_engine(**options):
    """Run one on a thread."""
    server = SearchEngine(**options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
