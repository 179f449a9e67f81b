"""A finished RAG application on loopback, as people run one, with the faults that such applications have.

What it does about a question is in the question: `slow`, `500`, `cut` (the connection breaks in the middle), `half`
(JSON that ends too early), `html`, `bare` (no contexts), `refuse`, `empty`, `error` (an error with status 200), `flaky`
(the first request fails). Any other question is answered.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

DOCUMENTS = {"a": "Sencha wants water of 70 degrees.", "b": "Black tea wants boiling water."}


def answer_to(question):
    """The whole reply to a question."""
    contexts = [{"id": name, "text": text} for name, text in DOCUMENTS.items()]
    return {
        "answer": f"Sencha wants water of 70 degrees ({question}).", "contexts": contexts,
        "usage": {"prompt_tokens": 40, "completion_tokens": 8}, "cost": 0.002, "latency_ms": 12.5,
    }  # fmt: skip


class RagApp(ThreadingHTTPServer):
    """The server; `asked` counts requests by question, `bodies` and `headers` hold what arrived."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *, delay=0.0, stream="", shape=answer_to):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.delay, self.stream, self.shape = delay, stream, shape
        self.asked, self.bodies, self.headers = Counter(), [], []
        self.lock, self.out, self.most_out, self.answered = threading.Lock(), 0, 0, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/ask"

    def handle_error(self, request, client_address):
        """Clients go away on purpose here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Say nothing."""

    def do_GET(self):
        self._handle(parse_qs(urlsplit(self.path).query).get("q", [""])[0], {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = body.get("question") or body.get("query") or body.get("messages", [{}])[-1].get("content", "")
        self._handle(found if isinstance(found, str) else json.dumps(found), body)

    def _handle(self, question, body):
        server = self.server
        with server.lock:
            server.asked[question] += 1
            server.bodies.append(body)
            server.headers.append(dict(self.headers))
            server.out += 1
            server.most_out = max(server.most_out, server.out)
        try:
            time.sleep(server.delay)
            self._answer(question)
            with server.lock:
                server.answered.append(question)
        finally:
            with server.lock:
                server.out -= 1

    def _answer(self, question):
        fault, reply = question.split()[0], self.server.shape(question)
        if fault == "slow":
            time.sleep(2)
        if fault == "500" or (fault == "flaky" and self.server.asked[question] == 1):
            self._send(json.dumps({"detail": "no more memory"}), status=500)
        elif fault == "cut":
            whole = json.dumps(reply).encode()
            self._head("application/json", len(whole))
            self.wfile.write(whole[: len(whole) // 2])
            self.close_connection = True
        elif fault == "half":
            self._send(json.dumps(reply)[:30])
        elif fault == "html":
            self._send("<!DOCTYPE html><html>Bad gateway</html>", kind="text/html")
        elif fault == "error":
            self._send(json.dumps({"error": {"message": "the index is gone"}}))
        elif self.server.stream:
            self._stream(reply)
        else:
            self._send(json.dumps(_changed(fault, reply)))

    def _head(self, kind, size, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(size))
        self.end_headers()

    def _send(self, text, *, kind="application/json", status=200):
        raw = text.encode()
        self._head(kind, len(raw), status)
        self.wfile.write(raw)

    def _stream(self, reply):
        """Pieces of the answer, then all that is known besides."""
        events = [{"answer": word + " "} for word in reply["answer"].split()]
        events.append({name: value for name, value in reply.items() if name != "answer"})
        kind = "text/event-stream" if self.server.stream == "events" else "application/x-ndjson"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            text = json.dumps(event)
            raw = (f"data: {text}\n\n" if self.server.stream == "events" else f"{text}\n").encode()
            self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _changed(fault, reply):
    if fault == "bare":
        return {"answer": reply["answer"]}
    if fault == "refuse":
        return {**reply, "answer": "I could not find any information about that in the documents."}
    return {**reply, "answer": ""} if fault == "empty" else reply


@contextmanager
def rag_app(**options):
    """Run one on a thread."""
    server = RagApp(**options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_questions(place, texts):
    """Write a file of queries; gives its path."""
    rows = (json.dumps({"query_id": f"q{n}", "text": text}) for n, text in enumerate(texts, 1))
    place.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place
