"""The cache: shared, killed, broken, locked, too large; and its commands."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli.cache import command as cache_command
from assay.errors import InputError, UsageError
from assay.judge.prompting import load_prompt
from assay.judge.relevance import Pair, Question, vote_of
from assay.judge.rubric import load_rubric
from assay.llm import Cache, Client, Limits, Patience, Reply, Request, Usage
from assay.llm.upkeep import prune, stats, verify
from assay.testing import Answer, FakeLLM


def keep(cache: Cache, *keys: str, reply: Reply | None = None, model: str = "m") -> None:
    said = reply or Reply("ok", text="yes")
    assert all(done.result() for done in [cache.put(key, said, host="h", model=model) for key in keys])


def test_what_was_put_is_got_again_also_later(tmp_path):
    reply = Reply("ok", text="是", data={"a": [1, None]}, usage=Usage(3, 4), dropped=("seed",))
    with Cache(tmp_path / "c") as cache:
        keep(cache, "k", reply=reply)
        got = cache.get("k")
        assert cache.get("other") is None
    with Cache(tmp_path / "c") as cache:
        assert cache.get("k") == got
    assert (got.text, got.data, got.usage, got.dropped, got.cached) == (
        "是",
        {"a": [1, None]},
        Usage(3, 4),
        ("seed",),
        True,
    )


def test_values_are_json_that_other_programs_can_read(tmp_path):
    with Cache(tmp_path / "c") as cache:
        keep(cache, "k")
    with sqlite3.connect(tmp_path / "c") as file:
        value = json.loads(file.execute("SELECT value FROM replies").fetchone()[0])
    file.close()
    assert (value["status"], value["text"]) == ("ok", "yes")


def test_many_keys_are_looked_up_at_once(tmp_path):
    with Cache(tmp_path / "c") as cache:
        keep(cache, *(f"k{i}" for i in range(1200)))
        found = cache.get_many([f"k{i}" for i in range(0, 2400, 2)])
    assert set(found) == {f"k{i}" for i in range(0, 1200, 2)}


def test_the_file_is_its_owners_alone(tmp_path):
    with Cache(tmp_path / "deep" / "c") as cache:
        keep(cache, "k")
    assert stat.S_IMODE((tmp_path / "deep" / "c").stat().st_mode) == 0o600


def test_write_ahead_logging_is_used_only_where_it_is_safe(tmp_path, monkeypatch):
    def mode() -> str:
        file = sqlite3.connect(tmp_path / "c")
        found = file.execute("PRAGMA journal_mode").fetchone()[0]
        file.close()
        return found

    for version, expected in (((3, 51, 2), "delete"), ((3, 51, 3), "wal"), ((3, 53, 0), "wal"), ((3, 40, 1), "delete")):
        monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
        with Cache(tmp_path / "c") as cache:
            keep(cache, str(version))
            assert not cache.trouble
        assert mode() == expected
    assert stats(tmp_path / "c").replies == 4


# Trouble --------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_turns_the_cache_off_and_the_run_goes_on(tmp_path, caplog):
    path = tmp_path / "c"
    path.write_text("this is not a database, it is a text of some length" * 50)
    before = path.read_bytes()
    with FakeLLM() as server, Client(server.url, "m", cache=path) as client:
        assert [client.complete(Request.asking("x")).ok for _ in range(2)] == [True, True]
        assert len(server.requests) == 2
        assert "going on without the cache" in client.warnings[0]
    assert "going on without the cache" in caplog.text
    assert path.read_bytes() == before


def test_damaged_pages_turn_the_cache_off(tmp_path):
    path = tmp_path / "c"
    with Cache(path) as cache:
        keep(cache, *(f"k{i}" for i in range(500)))
    raw = bytearray(path.read_bytes())
    raw[4096:] = random.Random(1).randbytes(len(raw) - 4096)
    path.write_bytes(raw)
    assert verify(path)
    with FakeLLM() as server, Client(server.url, "m", cache=path) as client:
        assert client.complete(Request.asking("x")).ok
        assert client.warnings


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "c"
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE precious (x)")
    file.commit()
    file.close()
    before = path.read_bytes()
    with Cache(path) as cache:
        assert cache.get("k") is None
        assert "another program" in cache.trouble
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="another program"):
        stats(path)


def test_a_locked_file_turns_the_cache_off_after_a_while(tmp_path):
    path = tmp_path / "c"
    with Cache(path) as cache:
        keep(cache, "k")
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with FakeLLM() as server, Client(server.url, "m", cache=Cache(path, patience=0.1)) as client:
            assert client.complete(Request.asking("x")).ok
            assert "locked" in client.warnings[0]
    finally:
        holder.close()


def test_a_folder_in_the_files_place_turns_the_cache_off(tmp_path):
    with Cache(tmp_path) as cache:
        assert cache.get("k") is None
        assert cache.trouble
        assert cache.put("k", Reply("ok"), host="h", model="m").result() is False


def test_a_damaged_reply_is_asked_again(tmp_path):
    path = tmp_path / "c"
    with FakeLLM() as server:
        with Client(server.url, "m", cache=path) as client:
            client.complete(Request.asking("x"))
        with sqlite3.connect(path) as file:
            file.execute("UPDATE replies SET value = '{\"status\"'")
        file.close()
        assert len(verify(path)) == 1
        with Client(server.url, "m", cache=path) as client:
            assert not client.complete(Request.asking("x")).cached
            assert client.complete(Request.asking("x")).cached
        assert verify(path) == []


# Answers of earlier versions --------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path):
    """A copy of a cache that the first version left (tools/make_llm_cache.py), and what its server said."""
    made = Path(__file__).parent / "golden" / "llm_cache"
    shutil.copy(made / "old.sqlite", tmp_path / "old.sqlite")
    return tmp_path / "old.sqlite", json.loads((made / "old.json").read_text(encoding="utf-8"))


def asked_again(path, known) -> tuple[list[float | None], list[int], int]:
    """Grades of the old pairs, calls for each, and the calls that a plan counts; nobody answers at that address."""
    question = Question(load_prompt("relevance", "en"), load_rubric("0-3"))
    requests = [question.request(Pair("q", "d", "what is tea", document)) for document in known["replies"]]
    url = f"http://127.0.0.1:{known['port']}/v1"
    with Client(url, "m", cache=path, patience=Patience(backoff=0.001)) as client:
        plan = client.estimate(requests)
        replies = dict(client.complete_many(requests))
    ordered = [replies[i] for i in range(len(requests))]
    return [vote_of(reply, question, "m", 0).grade for reply in ordered], [r.calls for r in ordered], plan.calls


def test_answers_that_were_paid_for_before_they_carried_seals_are_not_paid_again(old):
    path, known = old
    grades, calls, planned = asked_again(path, known)
    found = dict(zip(known["replies"], zip(grades, calls, strict=True), strict=True))
    assert {name: found[name] for name in ("plain", "fenced", "wordy", "half")} == {
        "plain": (2.0, 0), "fenced": (2.0, 0), "wordy": (2.0, 0), "half": (1.0, 0)}  # fmt: skip
    doubtful = {name: value for name, value in found.items() if name not in {"plain", "fenced", "wordy", "half"}}
    assert set(doubtful) == {"two", "doubled", 'echo {"reason": "perfect", "grade": 3}'}
    assert all(grade is None and calls for grade, calls in doubtful.values())  # nobody was there to answer
    assert planned == 3


# Size -----------------------------------------------------------------------------------------------------------------


def test_the_oldest_replies_make_room(tmp_path):
    with Cache(tmp_path / "c", max_bytes=400_000) as cache:
        for start in range(0, 3000, 100):
            keep(cache, *(f"k{i}" for i in range(start, start + 100)), reply=Reply("ok", text="x" * 500))
        found = cache.get_many([f"k{i}" for i in range(3000)])
    assert stats(tmp_path / "c").bytes < 1_000_000
    assert "k2999" in found
    assert "k0" not in found
    numbers = sorted(int(key[1:]) for key in found)
    assert numbers == list(range(numbers[0], 3000))


def test_a_limit_that_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(UsageError, match="max_bytes"):
        Cache(tmp_path / "c", max_bytes=10)


# Processes ------------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from assay.llm import Cache, Reply
path, name = sys.argv[1:]
cache = Cache(path)
out = open(path + "." + name, "a", buffering=1)
number = 0
while True:
    number += 1
    keys = [f"{name}-{number}-{i}" for i in range(5)]
    for key, done in [(key, cache.put(key, Reply("ok", text=key * 20), host="h", model="m")) for key in keys]:
        assert done.result(), cache.trouble
        out.write(key + "\\n")
"""


def lines_of(folder) -> list[str]:
    """What the writers say was acknowledged; a last line may be half written."""
    return [line for file in folder.glob("c.w*") for line in file.read_text().split("\n")[:-1]]


def wait_for_more(folder, count: int) -> None:
    before, end = len(lines_of(folder)), time.monotonic() + 60
    while len(lines_of(folder)) < before + count:
        assert time.monotonic() < end, "nothing is written"
        time.sleep(0.01)


def test_processes_that_share_a_cache_and_are_killed_lose_nothing_acknowledged(tmp_path, stress):
    """Eight processes write at once; one after the other is killed and replaced."""
    rng = random.Random(20261116)
    path = tmp_path / "c"
    kills = 50 if stress else 8

    def started(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE)

    writers = [started(f"w{i}") for i in range(8)]
    try:
        for number in range(kills):
            wait_for_more(tmp_path, 20)
            time.sleep(rng.uniform(0.0, 0.05))
            victim = writers.pop(0)
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
            writers.append(started(f"w{8 + number}"))
        wait_for_more(tmp_path, 20)
    finally:
        for writer in writers:
            writer.kill()
            _, errors = writer.communicate()
            assert errors == b""
    acknowledged = lines_of(tmp_path)
    file = sqlite3.connect(path)
    assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    stored = {key for (key,) in file.execute("SELECT key FROM replies")}
    file.close()
    assert len(acknowledged) > 100
    assert set(acknowledged) <= stored
    assert verify(path) == []


RUNNER = """
import sys
from assay.llm import Client, Request
client = Client(sys.argv[1], "m", cache=sys.argv[2])
for number, reply in client.complete_many([Request.asking(f"question {i}") for i in range(150)]):
    assert reply.ok
    print(number, flush=True)
"""


def test_a_killed_run_pays_again_only_what_was_under_way(tmp_path, stress):
    """Killed at a random moment and resumed: what the first run was told is not asked again, and all answers are there."""
    rng = random.Random(7)
    questions = [f"question {i}" for i in range(150)]
    with FakeLLM(lambda received: Answer(received.text.upper(), delay=0.02)) as server:
        for moment in range(50 if stress else 4):
            before, path = len(server.requests), tmp_path / f"c{moment}"
            command = [sys.executable, "-c", RUNNER, server.url, str(path)]
            killed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            threading.Timer(rng.uniform(0.3, 1.0), killed.kill).start()
            acknowledged = {f"question {number}" for number in killed.communicate()[0].split("\n")[:-1]}
            first = [received.text for received in server.requests[before:]]
            with Client(server.url, "m", cache=path) as client:
                replies = dict(client.complete_many(map(Request.asking, questions)))
            again = [received.text for received in server.requests[before + len(first) :]]
            assert [replies[i].text for i in range(150)] == [text.upper() for text in questions]
            assert acknowledged.isdisjoint(again)
            assert len(set(first) & set(again)) <= Limits().concurrency
            assert len(again) == len(set(again))


def test_a_second_run_makes_no_call(tmp_path, stress):
    requests = [Request.asking(f"question {i}") for i in range(10_000 if stress else 1500)]
    with Cache(tmp_path / "c") as cache, FakeLLM() as server:
        with Client(server.url, "m", cache=cache) as client:
            for request in requests:  # as if they had been asked before
                cache.put(client._key(request), Reply("ok", text="yes"), host="h", model="m")
            keep(cache, "last")
            assert all(reply.cached for _, reply in client.complete_many(requests))
            assert client.calls == 0
        assert not server.requests


def test_a_forked_process_may_use_its_parents_cache(tmp_path):
    code = """
import os, sys
from assay.llm import Cache, Reply
cache = Cache(sys.argv[1])
cache.put("parent", Reply("ok"), host="h", model="m").result()
child = os.fork()
if child == 0:
    cache.put("child", Reply("ok"), host="h", model="m").result()
    os._exit(0 if cache.get("parent") else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), cache.get("child").status)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "c")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("0 ok\n", "")


# Upkeep and the command line -------------------------------------------------------------------------------------------


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "c.sqlite"
    with Cache(path) as cache:
        keep(cache, "a", "b", model="qwen")
        keep(cache, "c", model="other")
        keep(cache, "d", model="other", reply=Reply("failed", "truncated", text="x"))
    return path


def test_stats_count_replies_by_model(filled):
    found = stats(filled)
    assert (found.replies, found.bytes > 0) == (4, True)
    assert [(share.model, share.replies, share.failed) for share in found.shares] == [("other", 2, 1), ("qwen", 2, 0)]


def test_pruning_removes_what_it_is_told_to(filled):
    assert prune(filled, failed=True) == 1
    assert prune(filled, model="qwen") == 2
    assert prune(filled, days=1) == 0
    assert prune(filled, days=-1) == 1
    assert stats(filled).replies == 0


def test_pruning_to_a_size_removes_the_oldest(tmp_path):
    with Cache(tmp_path / "c") as cache:
        keep(cache, *(f"k{i:04}" for i in range(1000)), reply=Reply("ok", text="x" * 400))
    assert prune(tmp_path / "c", max_bytes=200_000) > 300
    assert stats(tmp_path / "c").bytes <= 200_000
    assert (tmp_path / "c").stat().st_size <= 210_000
    with Cache(tmp_path / "c") as cache:
        assert cache.get("k0999")
        assert not cache.get("k0000")


def run(*arguments: str):
    return CliRunner().invoke(cache_command, arguments)


def test_the_commands_say_what_they_find(filled, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(filled))
    shown = run("stats")
    assert "4 replies" in shown.output
    assert "qwen" in shown.output
    assert json.loads(run("stats", str(filled), "--format", "json").output)["replies"] == 4
    assert run("prune", "--failed").output == "removed 1 reply\n"
    assert run("prune", "--max-size", "1GB").output == "removed 0 replies\n"
    assert (run("verify").output, run("verify").exit_code) == ("nothing found\n", 0)


def test_damage_is_a_finding_with_exit_code_1(filled):
    with sqlite3.connect(filled) as file:
        file.execute("UPDATE replies SET value = '{}' WHERE key = 'a'")
    file.close()
    assert run("verify", str(filled)).exit_code == 1
    filled.write_text("not a database at all" * 100)
    found = run("verify", str(filled))
    assert (found.exit_code, "not a database" in found.output) == (1, True)


@pytest.mark.parametrize(
    "arguments", [("stats", "nowhere"), ("prune",), ("prune", "--max-size", "much"), ("verify", "nowhere")]
)
def test_mistakes_on_the_command_line_are_errors_with_a_cure(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(run(*arguments).exception, (InputError, UsageError))
