"""Who may come in: names, tokens, cookies, passwords, origins."""

from __future__ import annotations

import httpx2
import pytest

from assay.errors import InputError, UsageError
from assay.server.access import Access
from assay.server.running import WebServer
from tenant import connect, listen, tenant


def test_the_token_is_once_in_the_address_and_then_a_cookie(server):
    with httpx2.Client(base_url=server.origin) as client:
        first = client.get(f"/?q=1&token={server.access.token}")
        assert (first.status_code, first.headers["location"]) == (303, "/?q=1")
        cookie = first.headers["set-cookie"]
        assert server.access.token not in cookie
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert client.get("/?q=1").text == "page 1"


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/?token=", "/nothing", "/static/typed.txt", "/static/nothing"])
def test_without_the_cookie_there_is_nothing_to_see(stranger, path):
    found = stranger.get(path)
    assert found.status_code == 401
    assert "page" not in found.text


def test_a_wrong_cookie_is_no_cookie(server, stranger):
    stranger.cookies.set(server.access.cookie, server.access.session[:-1] + "~")
    assert stranger.get("/").status_code == 401


def test_the_token_does_not_lead_to_another_server(server, stranger):
    """A path that begins with two slashes is the address of a host for a browser."""
    answer = listen(
        connect(
            server,
            f"GET //evil.example/?token={server.access.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.access.port}\r\nConnection: close\r\n\r\n".encode(),
        )
    )
    assert b"location: /evil.example/\r\n" in answer.lower()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_answered(server, client, name):
    assert client.get("/", headers={"host": f"{name}:{server.access.port}"}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost.evil.example:{port}", "127.0.0.1.nip.io:{port}", "0.0.0.0:{port}", "169.254.1.1:{port}",
        "127.0.0.1:{port}:80", "127.0.0.1:{port}@evil.example", "", "[::1", "２7.0.0.1:{port}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/v1/take"])
def test_a_name_that_was_made_to_point_here_is_refused(server, client, name, path):
    """With the cookie too: a browser sends it to whatever host the attacker's DNS names, if it has one for it."""
    host = name.format(port=server.access.port).encode()
    cookie = f"{server.access.cookie}={server.access.session}".encode()
    asked = b"POST %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (path.encode(), host, cookie)  # fmt: skip
    assert listen(connect(server, asked)).split(b" ", 2)[1] in {b"421", b"400"}


@pytest.mark.parametrize("heads", [b"", b"Host: localhost:{port}\r\nHost: evil.example\r\n"])
def test_a_request_names_one_host(server, heads):
    asked = b"GET / HTTP/1.1\r\n%sConnection: close\r\n\r\n" % heads.replace(
        b"{port}", str(server.access.port).encode()
    )
    assert listen(connect(server, asked)).startswith(b"HTTP/1.1 400")


def test_a_write_needs_the_origin_of_this_server(server, client):
    assert client.post("/write", content=b"abc", headers={"origin": server.origin}).text == "wrote 3"
    for origin in (
        "http://evil.example",
        "null",
        f"{server.origin}.evil.example",
        "http://127.0.0.1:1",
        "http://localhost",
        "",
    ):
        assert client.post("/write", content=b"abc", headers={"origin": origin}).status_code == 403
    assert client.post("/write", content=b"abc").status_code == 403


def test_programs_send_without_a_token_but_pages_of_others_do_not(stranger):
    assert stranger.post("/v1/take", content=b"abc").text == "wrote 3"
    for heads in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert stranger.post("/v1/take", content=b"abc", headers=heads).status_code == 403


def test_other_pages_may_not_read_what_is_answered(server, client):
    found = client.options(
        "/v1/take", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert found.status_code == 403
    assert not [name for name in found.headers if name.startswith("access-control")]


def test_beyond_this_machine_a_password_is_demanded():
    for host in ("0.0.0.0", "192.168.0.7", "::", "example.org"):
        with pytest.raises(UsageError, match="choose a password"):
            Access(host)
    with pytest.raises(UsageError, match="fewer than 12"):
        Access("0.0.0.0", password="short")
    assert Access("127.0.0.2").is_local
    assert Access("::1").origin == "http://[::1]:0"


def test_a_server_beyond_this_machine_answers_to_addresses_and_named_names():
    access = Access("0.0.0.0", 8000, "a long password", ("assay.example.org",))
    assert all(map(access.answers_to, ["10.1.2.3:8000", "[fe80::1]:8000", "localhost:8000", "assay.example.org"]))
    assert not any(map(access.answers_to, ["evil.example:8000", "10.1.2.3:80", "assay.example.org.evil.example"]))
    assert not Access("10.1.2.3", 8000, "a long password").answers_to("10.1.2.4:8000")
    assert Access("localhost", 80).answers_to("localhost")


@pytest.fixture(scope="module")
def guarded():
    with tenant(password="correct horse") as running:
        yield running


def test_a_password_opens_pages(guarded):
    with httpx2.Client(base_url=guarded.origin) as client:
        first = client.get("/")
        assert (first.status_code, first.headers["location"]) == (303, "/login")
        assert "<form" in client.get("/login").text
        assert client.get(f"/?token={guarded.access.token}").headers["location"] == "/login"
        own = {"origin": guarded.origin}
        wrong = client.post("/login", data={"password": "wrong <b>"}, headers=own)
        assert (wrong.status_code, "<b>" in wrong.text) == (401, False)
        assert client.post("/login", data={"password": "correct horse"}).status_code == 403  # without an origin
        assert client.post("/login", data={"password": "correct horse"}, headers=own).headers["location"] == "/"
        assert client.get("/").text == "page "


def test_machines_send_the_password_as_a_bearer_token(guarded):
    def send(**heads):
        return httpx2.post(f"{guarded.origin}/v1/take", content=b"abc", headers=heads).status_code

    assert send(authorization="Bearer correct horse") == 200
    assert [send(), send(authorization="Bearer wrong"), send(authorization="Basic correct horse")] == [401] * 3


def test_passwords_cannot_be_tried_out():
    with tenant(password="correct horse") as running, httpx2.Client(base_url=running.origin) as client:
        own = {"origin": running.origin}
        tried = [client.post("/login", data={"password": str(i)}, headers=own).status_code for i in range(15)]
        assert (tried[:10], tried[-1]) == ([401] * 10, 429)
        assert client.post("/login", data={"password": "correct horse"}, headers=own).status_code == 429


def test_passwords_cannot_be_tried_out_as_tokens_either():
    with tenant(password="correct horse") as running, httpx2.Client(base_url=running.origin) as client:

        def send(**heads):
            return client.post("/v1/take", content=b"abc", headers=heads).status_code

        assert [send() for _ in range(15)] == [401] * 15, "who says nothing tries nothing"
        tried = [send(authorization=f"Bearer {i}") for i in range(15)]
        assert (tried[:10], tried[-1]) == ([401] * 10, 429)
        assert send(authorization="Bearer correct horse") == 429


def test_a_port_that_is_taken_is_an_error_with_a_cure(server):
    with pytest.raises(InputError, match=r"cannot listen there.*another --port"):
        WebServer(port=server.access.port)
