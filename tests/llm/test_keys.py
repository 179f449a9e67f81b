"""Keys: where they come from, what they must look like, and that they are never seen again."""

from __future__ import annotations

import io
import logging
import pickle
import secrets
import subprocess
import sys
import traceback
from dataclasses import replace

import pytest

from assay.cli.asking import Asking, clients
from assay.errors import UsageError
from assay.llm import Cache, Client, Key, Limits, Patience, Request
from assay.llm.hosts import Address
from assay.llm.keys import find_key
from assay.testing import Answer, FakeLLM

OPENAI = Address.of("https://api.openai.com/v1")
DASHSCOPE = Address.of("https://dashscope.aliyuncs.com/compatible-mode/v1")
ELSEWHERE = Address.of("https://llm.example.org/v1")
LOCAL = Address.of("http://127.0.0.1:8000/v1")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("ASSAY_API_KEY", "OPENAI_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def canary() -> str:
    """A key that nobody has: made of pieces, so that no file holds one."""
    return "-".join(["sk", "canary", secrets.token_hex(12)]) + "/+="


def test_each_vendor_has_its_own_variable_and_no_other_host_gets_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    assert find_key(OPENAI).reveal() == "for-openai"
    assert find_key(ELSEWHERE) is None
    assert find_key(LOCAL) is None
    with pytest.raises(UsageError, match="DASHSCOPE_API_KEY"):
        find_key(DASHSCOPE)


def test_the_general_variable_comes_first_and_a_named_one_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    monkeypatch.setenv("ASSAY_API_KEY", "for-all")
    monkeypatch.setenv("MINE", "mine")
    (tmp_path / "key").write_text("from-file\n")
    assert find_key(OPENAI).reveal() == "for-all"
    assert find_key(LOCAL) is None
    assert find_key(LOCAL, env="MINE").reveal() == "mine"
    assert find_key(LOCAL, file=tmp_path / "key").reveal() == "from-file"
    with pytest.raises(UsageError, match="one way"):
        find_key(LOCAL, key=Key("a"), env="MINE")
    with pytest.raises(UsageError, match="not set"):
        find_key(LOCAL, env="NOT_MINE")


@pytest.mark.parametrize("text", ["abc", " abc ", "abc\n", "abc\r\n", "\ufeffabc\n", "\n\tabc"])
def test_blanks_and_line_ends_around_a_key_are_trimmed(text):
    assert Key(text).reveal() == "abc"


@pytest.mark.parametrize(
    "text", ["", " \n", "two words", "two\nlines", '"quoted"', "'quoted'", "schlüssel", "a\x00b", "a\u200bb", "a\tb"]
)
def test_a_key_that_is_none_is_refused_without_showing_it(text, tmp_path):
    (tmp_path / "key").write_text(text, encoding="utf-8")
    for attempt in (
        lambda: Key(text),
        lambda: Client(LOCAL.url, "m", key=text),
        lambda: find_key(LOCAL, file=tmp_path / "key"),
    ):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert not text.strip() or text not in str(caught.value)


def test_a_key_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match=path.name):
            find_key(LOCAL, file=path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not text"):
        find_key(LOCAL, file=tmp_path / "binary")


def test_a_key_does_not_travel_unencrypted():
    with pytest.raises(UsageError, match="https"):
        find_key(Address.of("http://llm.example.org/v1"), key=Key("abc"))
    assert find_key(Address.of("http://192.168.0.7:8000/v1"), key=Key("abc"))
    assert find_key(Address.of("http://server:8000/v1"), key=Key("abc"))


def test_the_server_gets_the_key():
    with FakeLLM() as server, Client(server.url, "m", key="abc", headers={"X-Team": "search"}) as client:
        client.complete(Request.asking("x"))
    assert server.requests[0].headers["authorization"] == "Bearer abc"
    assert server.requests[0].headers["x-team"] == "search"


def echoing(secret: str):
    """A server that quotes the key wherever it can."""
    said = [
        Answer(f"Your key is {secret}."),
        Answer(f"<think>{secret}</think>{secret}", finish_reason="length"),
        Answer(
            body='{"error": {"message": "Incorrect API key provided: ' + secret.replace("/", "\\/") + '"}}', status=400
        ),
        Answer.error(500, secret),
        Answer(broken="reset"),
        Answer(body=f"<html>{secret}</html>"),
        Answer.error(401, f"no such key: {secret}"),
    ]
    return lambda received: said[int(received.text) % len(said)]


def test_a_canary_key_is_seen_nowhere(tmp_path, caplog, capfd):
    secret = canary()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    caplog.set_level(logging.DEBUG)
    places: list[str] = []
    try:
        with FakeLLM(echoing(secret)) as server:
            cache = Cache(tmp_path / "c")
            patience = Patience(backoff=0.001, longest_wait=0.01)
            client = Client(
                server.url, "m", key=secret, cache=cache, patience=patience, limits=Limits(start=1, concurrency=1)
            )
            with client:
                replies = [client.complete(Request.asking(str(i))) for i in range(7)]
                places += [
                    repr(client),
                    str(client),
                    repr(client._settings),
                    repr(client._settings.key),
                    f"{client._settings.key}",
                ]
                places += [repr(vars(client)), repr(vars(client._service._link[1])), repr(client.spending)]
            places += [repr(reply) for reply in replies]
            assert sum(secret in received.headers["authorization"] for received in server.requests) >= 7
            cache.close()
    finally:
        logging.getLogger().removeHandler(handler)
    assert {reply.reason for reply in replies} == {"", "truncated", "request", "server", "network", "garbage", "key"}
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    captured = capfd.readouterr()
    places += [log.getvalue(), caplog.text, captured.out, captured.err, files.decode("utf-8", errors="replace")]
    assert log.getvalue(), "nothing was logged, so nothing was checked"
    core = secret.removesuffix("/+=")
    for place in places:
        assert core not in place


def frames_of(error: BaseException) -> str:
    """A traceback with all local variables, but for the frame of the test itself, which knows the key."""
    frames = list(traceback.walk_tb(error.__traceback__))[1:]
    return "".join(traceback.StackSummary.extract(iter(frames), capture_locals=True).format()) + repr(error)


def test_a_canary_key_is_in_no_traceback(tmp_path):
    secret = canary()
    (tmp_path / "key").write_text(secret + " " + secret)
    shown = []
    for arguments in (
        {"key": secret + "\n" + secret},
        {"key": f'"{secret}"'},
        {"key": secret, "headers": {"X": "ü"}},
        {"key": secret, "key_env": "X"},
        {"key": secret, "budget": 1.0},
        {"key_file": tmp_path / "key"},
    ):
        try:
            Client("http://127.0.0.1:1/v1", "m", **arguments)
        except UsageError as error:
            shown.append(frames_of(error))
    assert len(shown) == 6
    assert all("client.py" in text and secret.removesuffix("/+=") not in text for text in shown)


def test_a_fault_of_ours_in_the_middle_of_a_call_shows_no_key(caplog, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    secret = canary()
    monkeypatch.setattr("assay.llm.transport._content", broken)
    monkeypatch.setattr("assay.llm.engine.complaint_of", broken)
    with FakeLLM() as server, Client(server.url, "m", key=secret, patience=Patience(backoff=0.001)) as client:
        replies = [client.complete(Request.asking("x"))]
        monkeypatch.undo()
        monkeypatch.setattr("assay.llm.engine.complaint_of", broken)
        replies.append(client.complete(Request.asking("y")))
    assert [reply.reason for reply in replies] == ["network", "error"]
    assert "RuntimeError" in caplog.text
    assert all(record.exc_info is None for record in caplog.records if record.name.startswith("assay"))
    assert secret not in caplog.text


def test_a_key_is_not_pickled_and_compares_by_identity():
    key = Key(canary())
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    assert repr(key) == str(key) == f"{key}" == "Key(hidden)"
    assert key != Key(key.reveal())


def test_the_key_is_no_part_of_what_an_answer_is_found_by(tmp_path):
    with FakeLLM() as server:
        for secret in (canary(), canary()):
            with Client(server.url, "m", key=secret, cache=tmp_path / "c") as client:
                client.complete(Request.asking("x"))
        assert len(server.requests) == 1


def test_everything_that_shapes_the_answer_is_in_its_key():
    request = Request.asking("x")
    changes = [
        {"messages": Request.asking("y").messages}, {"model": "n"}, {"temperature": 0.5}, {"max_tokens": 7},
        {"top_p": 0.9}, {"seed": 1}, {"stop": ["a"]}, {"schema": {"type": "object"}}, {"logprobs": 3}, {"thinking": False},
        {"extra": {"a": 1}}, {"prompt_version": "2"}, {"repeat": 1},
    ]  # fmt: skip
    keys = [request.fingerprint("h", "m"), request.fingerprint("g", "m"), request.fingerprint("h", "n2")]
    keys += [replace(request, **change).fingerprint("h", "m") for change in changes]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)
    assert replace(request, model="m").fingerprint("h", "other") == request.fingerprint("h", "m")


def test_importing_the_package_loads_no_http_library():
    code = "import sys, assay.llm, assay.testing; print(sorted({'httpx2', 'httpcore2', 'anyio', 'polars', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_same_request_written_in_another_way_has_the_same_key():
    one = Request([{"role": "user", "content": "x"}], temperature=0, stop=["a"], extra={"a": 1, "b": 2})
    two = Request(({"content": "x", "role": "user"},), temperature=0.0, stop=("a",), extra={"b": 2, "a": 1})
    assert one.fingerprint("h", "m") == two.fingerprint("h", "m")


def test_a_request_does_not_change_with_what_it_was_made_of():
    message = {"role": "user", "content": "x"}
    request = Request([message])
    before = request.fingerprint("h", "m")
    message["content"] = "y"
    assert request.fingerprint("h", "m") == before


def test_the_general_key_of_another_server_is_not_taken(monkeypatch):
    monkeypatch.setenv("ASSAY_API_KEY", "for-one")
    assert find_key(ELSEWHERE, general=False) is None
    with pytest.raises(UsageError, match=r"DASHSCOPE_API_KEY, or name"):
        find_key(DASHSCOPE, general=False)
    monkeypatch.setenv("DASHSCOPE_API_KEY", "for-dashscope")
    assert find_key(DASHSCOPE, general=False).reveal() == "for-dashscope"


def keys_of(models, **told):
    """Which key the client of each model sends."""
    found = clients(models, Asking(no_cache=True, **told))
    return {name: key and key.reveal() for name, one in found.items() for key in (one._settings.key,)}


def test_judges_on_several_servers_share_no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_API_KEY", "general")
    monkeypatch.setenv("MINE", "mine")
    one, other = "a@https://one.example.org/v1", "b@https://other.example.org/v1"
    home = "https://one.example.org/v1"
    assert keys_of([one, "c@https://one.example.org/v2"]) == dict.fromkeys(
        (one, "c@https://one.example.org/v2"), "general"
    )
    assert keys_of([one, other]) == {one: None, other: None}
    assert keys_of([one, other], url=home) == {one: "general", other: None}
    assert keys_of([one, other], url=home, key_env="MINE") == {one: "mine", other: None}
    (tmp_path / "key").write_text("from-file")
    assert keys_of(["a", other], url=home, key_file=str(tmp_path / "key")) == {"a": "from-file", other: None}
    for told in ({}, {"url": "https://third.example.org/v1"}):
        with pytest.raises(UsageError, match="not clear for which server"):
            keys_of([one, other], key_env="MINE", **told)


def test_an_embedder_beside_a_judge_does_not_get_the_judges_key(monkeypatch):
    monkeypatch.setenv("ASSAY_API_KEY", "general")
    judge, embedder = "a@https://one.example.org/v1", "e@https://other.example.org/v1"
    for model, beside in ((judge, embedder), (embedder, judge)):
        (found,) = clients([model], Asking(no_cache=True), beside=[beside]).values()
        assert found._settings.key is None
