"""What one client may take: bodies, time, connections, requests; and what every answer carries."""

from __future__ import annotations

import gzip
import time
from contextlib import suppress

import httpx2
import pytest

from assay.server.app import SAFE_HEADERS
from assay.server.limits import Limits
from assay.server.rates import Rate
from tenant import SHORT, connect, listen, tenant


def ask(server, path="/v1/take", method="POST", heads=b""):
    return b"%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n" % (
        method.encode(),
        path.encode(),
        server.access.port,
        heads,
    )


def own(server):
    return f"Origin: {server.origin}\r\nCookie: {server.access.cookie}={server.access.session}\r\n".encode()


def test_every_answer_carries_the_safe_headers(server, client, stranger):
    answers = [client.get("/"), client.get("/nothing"), client.get("/fail"), stranger.get("/"), stranger.post("/v1/take"), stranger.get("/", headers={"host": "evil"})]  # fmt: skip
    assert [one.status_code for one in answers] == [200, 404, 400, 401, 200, 421]
    for one in answers:
        assert {name: one.headers[name] for name in SAFE_HEADERS} == SAFE_HEADERS
        assert "server" not in one.headers
    assert client.get("/").headers["cache-control"] == "no-store"
    policy = SAFE_HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "http" not in policy


def test_our_own_errors_are_one_line(client):
    assert client.get("/fail").text == "no such thing"


def test_static_files_are_those_of_the_table(client):
    found = client.get("/static/typed.txt")
    assert found.text.startswith('"""Every text a user can meet')
    assert client.get("/static/typed.txt", headers={"if-none-match": found.headers["etag"]}).status_code == 304


PATHS = [
    "../__init__.py", "..%2f__init__.py", "%2e%2e/__init__.py", "....//__init__.py", "/etc/passwd", "%2fetc%2fpasswd", "typed.txt/../__init__.py", "typed.txt%00.css",
    "..\\__init__.py", "..%5c__init__.py", "file:///etc/passwd", "typed.txt%20", "TYPED.TXT", "%c0%ae%c0%ae/", ".", "..", "",
]  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_no_path_from_the_client_opens_a_file(server, name):
    answer = listen(connect(server, ask(server, f"/static/{name}", "GET", own(server) + b"Connection: close\r\n")))
    assert answer.split(b" ", 2)[1] in {b"404", b"400", b"401"}


@pytest.mark.parametrize(
    "heads",
    [b"Content-Length: 999999999999\r\n", b"Content-Length: 5001\r\n", b"Content-Length: " + b"9" * 400 + b"\r\n"],
)
def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read(server, heads):
    began = time.monotonic()
    answer = listen(connect(server, ask(server, heads=heads)))
    assert answer.split(b" ", 2)[1] in {b"413", b"400"}
    assert time.monotonic() - began < 10  # it was not waited for


def test_a_body_in_pieces_is_counted_while_it_comes(server):
    line = connect(server, ask(server, heads=b"Transfer-Encoding: chunked\r\n"))
    piece = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    line.sendall(piece * 5)
    line.sendall(piece)
    assert listen(line).startswith(b"HTTP/1.1 413")


def test_pages_take_less_than_machines(server, client):
    heads = {"origin": server.origin}
    assert client.post("/write", content=b"x" * 1000, headers=heads).text == "wrote 1000"
    assert client.post("/write", content=b"x" * 1001, headers=heads).status_code == 413
    assert client.post("/v1/take", content=b"x" * 5000).text == "wrote 5000"
    assert client.post("/v1/take", content=b"x" * 5001).status_code == 413


def test_a_slow_body_ends_in_an_answer(server):
    line = connect(server, ask(server, heads=b"Content-Length: 100\r\n") + b"x")
    answer = listen(line)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()


def test_a_body_that_drips_has_one_deadline(server):
    line = connect(server, ask(server, heads=b"Content-Length: 1000\r\n"))
    answer = b""
    line.settimeout(0.2)
    for _ in range(40):
        try:
            line.sendall(b"x")
            answer += line.recv(1000)
        except TimeoutError:
            continue
        except OSError:
            break
        if answer:
            break
    line.close()
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("start", [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_come_closes_the_connection(server, start):
    assert listen(connect(server, start)) == b""


def test_a_head_that_drips_has_one_deadline(server):
    line, sent = connect(server, b"GET / HTTP/1.1\r\n"), 0
    try:
        while sent < 40:
            line.sendall(b"a")
            time.sleep(0.1)
            sent += 1
    except OSError:
        pass
    line.close()
    assert sent < 40


def test_a_second_request_on_a_connection_has_a_deadline_too(server):
    line = connect(server, ask(server, heads=b"Content-Length: 0\r\n"))
    answer = line.recv(65536)
    while not answer.endswith(b"wrote 0"):  # head and body may come one after the other
        answer += line.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200")
    line.sendall(b"P")
    assert listen(line) == b""


def test_a_head_that_is_too_long_is_refused(server):
    assert listen(connect(server, b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000)).startswith(b"HTTP/1.1 400")


def test_a_client_that_does_not_read_its_answer_is_let_go(server):
    line = connect(server, ask(server, "/huge", "GET", own(server)))
    time.sleep(2 * SHORT.send_seconds)
    assert len(listen(line)) < 50_000_000


def test_half_open_connections_keep_nobody_out(server, client):
    """500 connections, of which the server holds 20 at once."""
    lines = [connect(server, b"GET / HTTP/1.1\r\n" if i % 2 else b"") for i in range(500)]
    try:
        for _ in range(3):  # on a busy machine, 500 connections may take longer than a head may
            with suppress(httpx2.TransportError):
                assert client.get("/").status_code == 200
                break
        else:
            pytest.fail("nobody came in")
        assert httpx2.post(f"{server.origin}/v1/take", content=b"abc").text == "wrote 3"
        assert len(server.connections) <= SHORT.connections
    finally:
        for line in lines:
            line.close()


def test_a_request_in_progress_is_not_what_makes_room(server):
    line = connect(server, ask(server, "/slow", "GET", own(server) + b"Connection: close\r\n"))
    time.sleep(0.1)
    others = [connect(server) for _ in range(60)]
    assert listen(line).endswith(b"done")
    for one in others:
        one.close()


def test_who_asks_too_often_is_told_to_wait():
    with (
        tenant(limits=Limits(machine_rate=0.01, machine_burst=3, stop_seconds=1)) as running,
        httpx2.Client(base_url=running.origin) as client,
    ):
        found = [client.post("/v1/take") for _ in range(4)]
        assert [one.status_code for one in found] == [200, 200, 200, 429]
        assert found[-1].headers["retry-after"] == "1"


def test_a_bucket_fills_at_its_rate_and_no_further():
    rate = Rate(2, 3)
    assert [rate.allows("a", now) for now in (0, 0, 0, 0, 0.4, 0.5, 0.5, 1.5, 1.5, 1.5)] == [True] * 3 + [False, False, True, False, True, True, False]  # fmt: skip
    assert rate.allows("b", 0)
    for i in range(5000):
        rate.allows(str(i), 0)
    assert len(rate.buckets) <= 1024


def test_a_request_in_progress_ends_before_the_server_does():
    running = tenant()
    with running:
        line = connect(running, ask(running, "/slow", "GET", own(running)))
        time.sleep(0.1)
    assert listen(line).endswith(b"done")
    with pytest.raises(ConnectionRefusedError):
        connect(running)


def test_packed_bytes_are_left_to_who_reads_them(stranger):
    packed = gzip.compress(bytes(4000))
    assert (
        stranger.post("/v1/take", content=packed, headers={"content-encoding": "gzip"}).text == f"wrote {len(packed)}"
    )


def test_no_request_of_a_websocket_is_answered_by_one(server):
    heads = (
        own(server)
        + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"
    )
    assert listen(connect(server, ask(server, "/", "GET", heads))).startswith(b"HTTP/1.1 200")
