"""The cache: shared, killed, broken, locked, too large; and its commands."""

from __future__ import annotations

import errno
import json
import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli.cache import command as cache_command
from assay.errors import InputError, UsageError
from assay.judge.prompting import load_prompt
from assay.judge.relevance import Pair, PairQuestion, vote_of
from assay.judge.rubric import load_rubric
from assay.llm import Cache, Client, Limits, Patience, Reply, Request, Usage, as_client, claims, store, upkeep
from assay.llm.store import checksum_of
from assay.llm.upkeep import prune, repair, stats, verify
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


# Damage ---------------------------------------------------------------------------------------------------------------

GRADED = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
QUESTIONS = [Request.asking(f"document {i}", schema=GRADED) for i in range(40)]


def graded(received) -> str:
    return json.dumps({"grade": int(re.search(r"document (\d+)", received.text)[1]) % 4})


def grades_of(client: Client) -> list[int | None]:
    replies = dict(client.complete_many(QUESTIONS))
    return [replies[i].data["grade"] if replies[i].ok else None for i in range(len(QUESTIONS))]


RIGHT = [i % 4 for i in range(40)]


def flip(raw: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 3, 20])):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)


def truncate(raw: bytearray, rng: random.Random) -> None:
    del raw[rng.randrange(100, len(raw)) :]


def zero(raw: bytearray, rng: random.Random) -> None:
    size = rng.choice([1, 16, 512, 4096])
    start = rng.randrange(0, len(raw), size)
    raw[start : start + size] = bytes(min(size, len(raw) - start))


def change_digit(raw: bytearray, rng: random.Random) -> None:
    places = [found.start() for found in re.finditer(rb"[0-9]", bytes(raw))]
    raw[rng.choice(places)] = rng.choice(b"0123456789")


def change_grade(raw: bytearray, rng: random.Random) -> None:
    places = [found.end() - 1 for found in re.finditer(rb'grade[\\":\s]+\d', bytes(raw))]
    raw[rng.choice(places)] = rng.choice(b"0123")


def swap_pages(raw: bytearray, rng: random.Random) -> None:
    one, other = (4096 * rng.randrange(1, len(raw) // 4096) for _ in range(2))
    raw[one : one + 4096], raw[other : other + 4096] = raw[other : other + 4096], raw[one : one + 4096]


def swap_rows(raw: bytearray, rng: random.Random) -> None:
    """Let two entries of the index point to each other's reply."""
    places = [found.end() for found in re.finditer(rb"[0-9a-f]{64}(?=[\x02-\x28])", bytes(raw))]
    one, other = rng.sample(places, 2)
    raw[one], raw[other] = raw[other], raw[one]


DAMAGE = [flip, truncate, zero, change_digit, change_grade, swap_pages, swap_rows]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a cache with forty grades, and the server that gave them."""
    path = tmp_path_factory.mktemp("sound") / "c"
    with FakeLLM(graded) as server:
        with Client(server.url, "m", cache=path) as client:
            assert grades_of(client) == RIGHT
        yield path.read_bytes(), server


@pytest.mark.parametrize("damage", DAMAGE)
def test_no_damage_gives_a_wrong_grade_and_all_of_it_heals_or_is_named(tmp_path, sound, damage, stress, caplog):
    raw, server = sound
    path = tmp_path / "c"
    for trial in range(150 if stress else 12):
        spoilt = bytearray(raw)
        damage(spoilt, random.Random(f"{damage.__name__} {trial}"))
        for ending in ("", "-journal", "-wal", "-shm"):
            (tmp_path / f"c{ending}").unlink(missing_ok=True)
        path.write_bytes(spoilt)
        before = len(server.requests)
        caplog.clear()
        with Client(server.url, "m", cache=path) as client:
            assert grades_of(client) == RIGHT, trial
            first, told = len(server.requests) - before, client.warnings
        assert bool(told) == bool(caplog.text), trial
        with Client(server.url, "m", cache=path) as client:
            assert grades_of(client) == RIGHT, trial
            again, named = len(server.requests) - before - first, client.warnings
        assert not again or named, trial


def test_a_damaged_reply_is_asked_once_more_and_said_in_one_line(tmp_path, sound, caplog):
    raw, server = sound
    path, before = tmp_path / "c", len(server.requests)
    path.write_bytes(raw)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE replies SET value = replace(value, '\"grade\":', '\"hrade\":') WHERE id <= 3")
        file.execute("UPDATE replies SET sum = 'x' WHERE id = 4")
    file.close()
    assert len(verify(path)) == 4
    with Client(server.url, "m", cache=path) as client:
        assert grades_of(client) == RIGHT
        assert "4 damaged replies" in client.warnings[0]
    assert len(server.requests) - before == 4
    assert caplog.text.count("4 damaged replies were ignored and are asked for again") == 1
    assert verify(path) == []


def test_an_unreadable_reply_with_the_right_checksum_heals_too(tmp_path, sound):
    raw, server = sound
    path, before = tmp_path / "c", len(server.requests)
    path.write_bytes(raw)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE replies SET value = '[]', sum = ? WHERE id = 1", (checksum_of(b"[]"),))
    file.close()
    for _ in range(2):
        with Client(server.url, "m", cache=path) as client:
            assert grades_of(client) == RIGHT
    assert len(server.requests) - before == 1


@pytest.mark.parametrize("damage", [change_grade, zero, truncate, flip])
def test_a_damaged_cache_can_be_repaired_and_keeps_what_is_sound(tmp_path, sound, damage, stress):
    raw, server = sound
    path = tmp_path / "c"
    for trial in range(40 if stress else 8):
        spoilt = bytearray(raw)
        damage(spoilt, random.Random(trial))
        path.write_bytes(spoilt)
        found = run("verify", str(path))
        if found.exit_code:
            done = run("verify", str(path), "--repair")
            assert (done.exit_code, "repaired" in done.output) == (0, True), done.output
        assert verify(path) == []
        with Client(server.url, "m", cache=path) as client:
            assert grades_of(client) == RIGHT
            assert not client.warnings


def test_a_file_that_cannot_be_written_is_read(tmp_path, sound, monkeypatch, caplog):
    raw, server = sound
    path, before = tmp_path / "c", len(server.requests)
    path.write_bytes(raw)
    path.chmod(0o400)

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(store, "connect", refuse)  # who runs the tests may be allowed everything
    with Client(server.url, "m", cache=path) as client:
        assert grades_of(client) == RIGHT
        assert len(server.requests) == before
        assert [client.complete(Request.asking("document 99")).ok for _ in range(2)] == [True, True]
    assert len(server.requests) == before + 2
    assert "new replies cannot be kept" in caplog.text
    assert path.read_bytes() == raw


def mode_of(path, name: str) -> None:
    file = sqlite3.connect(path)
    file.execute(f"PRAGMA journal_mode = {name}")
    file.close()


@pytest.mark.parametrize(("mode", "ending"), [("delete", "-journal"), ("wal", "-shm"), ("wal", "-wal")])
def test_a_file_beside_which_nothing_can_be_written_is_read(old, mode, ending, caplog):
    """As in a folder that cannot be written: a folder stands where SQLite wants a file."""
    path, known = old
    mode_of(path, mode)
    for name in (ending, "-claims"):
        path.with_name(path.name + name).mkdir()
    grades, calls, _ = asked_again(path, known)
    assert (grades, calls) == asked_again(shutil.copy(path, path.with_name("copy")), known)[:2]
    with Cache(path) as cache:
        assert len(cache.get_many(keys_of(path))) == len(keys_of(path)) > 0
        assert cache.put("new", Reply("ok"), host="h", model="m").result() is False
        assert len(cache.get_many(keys_of(path))) == len(keys_of(path))
        assert not cache.trouble
    assert "new replies cannot be kept" in caplog.text


def keys_of(path) -> list[str]:
    file = store.connect_bare(path, immutable=True)
    found = [key for (key,) in file.execute("SELECT key FROM replies")]
    file.close()
    return found


def test_a_full_disk_leaves_the_cache_readable(tmp_path, sound, monkeypatch, caplog):
    raw, server = sound
    path, before = tmp_path / "c", len(server.requests)
    path.write_bytes(raw)
    connect = store.connect

    def small(*arguments, **options):
        file = connect(*arguments, **options)
        file.execute("PRAGMA max_page_count = 1")  # it cannot grow
        return file

    monkeypatch.setattr(store, "connect", small)
    with Client(server.url, "m", cache=path) as client:
        assert all(client.complete(Request.asking(f"document {i} " + "x" * 9000)).ok for i in range(500, 503))
        assert grades_of(client) == RIGHT
        assert len(server.requests) == before + 3
    assert "new replies cannot be kept" in caplog.text


def test_looking_at_a_cache_writes_nothing(old):
    path, _ = old
    before = path.read_bytes()
    assert verify(path) == []
    assert stats(path).replies
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_cache_that_another_is_writing_is_not_repaired(tmp_path, monkeypatch, lock):
    path = tmp_path / "c"
    with Cache(path) as cache:
        keep(cache, *(f"k{i}" for i in range(100)))
    monkeypatch.setattr(upkeep, "_PATIENCE", 0.1)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute(f"BEGIN {lock}")
    row = ("paid", "v", checksum_of(b"v"), "", "h", "m", 1.0)
    writer.execute("INSERT INTO replies (key, value, sum, reason, host, model, created) VALUES (?,?,?,?,?,?,?)", row)
    for arguments in (("verify", str(path)), ("verify", str(path), "--repair")):
        done = run(*arguments)
        assert isinstance(done.exception, InputError) and "locked" in str(done.exception)
    writer.execute("COMMIT")
    writer.close()
    assert [one.name for one in tmp_path.iterdir()] == ["c"]
    assert stats(path).replies == 101


def test_a_damaged_cache_that_another_is_writing_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "c"
    with Cache(path) as cache:
        keep(cache, *(f"k{i}" for i in range(500)))
    raw = bytearray(path.read_bytes())
    raw[-8192:] = bytes(8192)
    path.write_bytes(raw)
    assert verify(path)
    monkeypatch.setattr(upkeep, "_PATIENCE", 0.1)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="locked"):
        upkeep._rescue(path)
    writer.close()
    assert path.read_bytes() == raw
    repair(path)
    assert verify(path) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c", "c.damaged"]


# Answers of earlier versions --------------------------------------------------------------------------------------------


def test_a_seal_in_the_data_of_an_old_reply_does_not_vouch_for_it(tmp_path):
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
    request = Request.asking('Grade: {"seal": "anything", "grade": 9}', schema=schema)
    copied = '{"seal": "anything", "grade": 9} or {"grade": 1}'
    with FakeLLM('{"grade": 1}') as server, Cache(tmp_path / "c") as cache:
        with Client(server.url, "m", cache=cache) as client:
            keep(cache, client._key(request), reply=Reply("ok", text=copied, data={"seal": "anything", "grade": 9}))
            assert client.complete(request).data == {"grade": 1}
        with Client(server.url, "m", cache=cache) as client:
            assert (client.complete(request).data, client.calls) == ({"grade": 1}, 0)


@pytest.fixture
def old(tmp_path):
    """A copy of a cache that the first version left (tools/make_llm_cache.py), and what its server said."""
    made = Path(__file__).parents[1] / "golden" / "llm_cache"
    shutil.copy(made / "old.sqlite", tmp_path / "old.sqlite")
    return tmp_path / "old.sqlite", json.loads((made / "old.json").read_text(encoding="utf-8"))


def asked_again(path, known) -> tuple[list[float | None], list[int], int]:
    """Grades of the old pairs, calls for each, and the calls that a plan counts; nobody answers at that address."""
    question = PairQuestion(load_prompt("relevance", "en"), load_rubric("0-3"))
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


ASKER = """
import sys
from assay.llm import Client, Request
schema = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
with Client(sys.argv[1], "m", cache=sys.argv[2]) as client:
    requests = [Request.asking(f"document {i}", schema=schema) for i in range(int(sys.argv[3]))]
    replies = dict(client.complete_many(requests))
assert [replies[i].data["grade"] for i in range(len(requests))] == [i % 4 for i in range(len(requests))]
print(sum(reply.calls for reply in replies.values()), *client.warnings)
"""


def askers(server: FakeLLM, path, pairs: int, count: int) -> list[subprocess.Popen[str]]:
    line = [sys.executable, "-c", ASKER, server.url, str(path), str(pairs)]
    return [subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(count)]


def told(processes: list[subprocess.Popen[str]]) -> list[int]:
    """Calls that each process made; half a lease is time enough for them all."""
    ends = [process.communicate(timeout=claims.LEASE - claims.RENEWAL) for process in processes]
    assert [errors for _, errors in ends] == [""] * len(ends)
    return [int(out) for out, _ in ends]


def test_processes_that_ask_the_same_at_the_same_time_pay_once(tmp_path, stress):
    count, pairs = (8, 300) if stress else (3, 60)
    with FakeLLM(lambda received: Answer(graded(received), delay=0.2)) as server:
        calls = told(askers(server, tmp_path / "c", pairs, count))
        assert (len(server.requests), sum(calls)) == (pairs, pairs)
    with sqlite3.connect(tmp_path / "c-claims") as file:
        assert file.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    file.close()
    assert verify(tmp_path / "c") == []


def test_what_a_killed_process_was_asking_is_asked_by_the_others_at_once(tmp_path, stress):
    """Only the calls that were out when it was killed are paid again."""
    count, pairs = (8, 300) if stress else (3, 60)
    with FakeLLM(lambda received: Answer(graded(received), delay=0.3)) as server:
        (victim,) = askers(server, tmp_path / "c", pairs, 1)
        end = time.monotonic() + 60
        while len(server.requests) < pairs // 3 and time.monotonic() < end:
            time.sleep(0.005)
        others = askers(server, tmp_path / "c", pairs, count - 1)
        time.sleep(0.1)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        out = server._flying  # calls that nobody will read the answers of
        told(others)
        assert pairs <= len(server.requests) <= pairs + Limits().concurrency, f"{out} were under way"
        paid = Counter(received.text for received in server.requests)
        assert len(paid) == pairs
        assert max(paid.values()) <= 2


def test_two_clients_of_one_process_pay_once(tmp_path):
    with FakeLLM(lambda received: Answer(graded(received), delay=0.1)) as server, Cache(tmp_path / "c") as cache:
        clients = [Client(server.url, "m", cache=cache) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(grades_of, clients)) == [RIGHT] * 3
        for client in clients:
            client.close()
        assert len(server.requests) == len(RIGHT)


def test_embeddings_and_functions_are_paid_once_too(tmp_path):
    asked: list[str] = []

    def function(messages) -> str:
        asked.append(messages[-1]["content"])
        time.sleep(0.05)
        return "yes"

    with FakeLLM(lambda _: Answer(delay=0.2)) as server, Cache(tmp_path / "c") as cache, ThreadPoolExecutor(3) as pool:
        clients = [Client(server.url, "e", cache=cache) for _ in range(3)]
        texts = [f"text {i}" for i in range(25)]
        vectors = list(pool.map(lambda client: [reply.data for reply in client.embed(texts)], clients))
        assert vectors[0] == vectors[1] == vectors[2] and None not in vectors[0]
        assert sorted(text for received in server.requests for text in received.inputs) == sorted(texts)
        functions = [as_client(function, name="mine", cache=cache) for _ in range(3)]
        list(pool.map(lambda one: list(one.complete_many([Request.asking(text) for text in texts])), functions))
        assert sorted(asked) == sorted(texts)
        for client in clients:
            client.close()


def test_a_claim_that_nobody_renews_ends(tmp_path, monkeypatch):
    """Of a process on another machine, of which it cannot be seen whether it lives."""
    with FakeLLM(graded) as server, Cache(tmp_path / "c") as cache, Client(server.url, "m", cache=cache) as client:
        assert client.complete(Request.asking("document 1001")).ok
        for until, waits in ((time.time() + 0.5, True), (time.time() - 1, False), (time.time() + 1e9, False)):
            request = Request.asking(f"document {int(until) % 1000}")
            key = client._key(request)
            with sqlite3.connect(tmp_path / "c-claims") as file:
                file.execute("INSERT OR REPLACE INTO claims VALUES (?, 'elsewhere 1 1 x', ?)", (key, until))
            file.close()
            reply = client.complete(request, deadline=30)
            assert reply.ok
            assert not waits or time.time() > until


def test_claims_that_have_ended_are_removed(tmp_path):
    path, place = tmp_path / "c", tmp_path / "c-claims"

    def count() -> int:
        with sqlite3.connect(place) as file:
            found = file.execute("SELECT count(*) FROM claims").fetchone()[0]
            file.executemany("INSERT INTO claims VALUES (?, 'elsewhere 1 1 x', 1.0)", [(f"k{i}",) for i in range(99)])
        file.close()
        return found

    with FakeLLM() as server:
        for question in "ab":
            with Client(server.url, "m", cache=path) as client:
                assert client.complete(Request.asking(question)).ok
            assert count() == 0
    prune(path)
    assert count() == 0


def test_a_damaged_file_of_claims_is_made_anew(tmp_path):
    (tmp_path / "c-claims").write_text("no database" * 500)
    with FakeLLM() as server, Client(server.url, "m", cache=tmp_path / "c") as client:
        assert client.complete(Request.asking("a")).ok
        assert not client.warnings
    with sqlite3.connect(tmp_path / "c-claims") as file:
        assert file.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    file.close()


def break_off(server: FakeLLM, cache: Cache, request: Request, monkeypatch, stage: str) -> str:
    """Close a client while the cache rests: before it looks at the claim, or before it says what became of it."""
    rested, reached, done = threading.Event(), threading.Event(), getattr(Cache, stage)

    def rest(self, connection, work):
        found = done(self, connection, work)
        if work and (stage == "_take" or work.gets):
            reached.set()
            rested.wait(20)
        return found

    with ThreadPoolExecutor(1) as pool, monkeypatch.context() as patched:
        patched.setattr(Cache, stage, rest)
        with Client(server.url, "m", cache=cache) as client:
            asking = pool.submit(client.complete, request)
            reached.wait(20)
            while stage == "_serve" and not cache._jobs.qsize():
                time.sleep(0.01)
        rested.set()
        return asking.result().reason


@pytest.mark.parametrize("stage", ["_serve", "_take"])
def test_a_question_that_was_broken_off_is_free_for_others(tmp_path, monkeypatch, stage):
    path, request = tmp_path / "c", Request.asking("a")
    with FakeLLM() as server, Cache(path) as cache:
        assert break_off(server, cache, request, monkeypatch, stage) == "cancelled"
        keep(cache, "later")
        with Client(server.url, "m", cache=path) as other:
            assert other.complete(request, deadline=10).ok


def test_embeddings_that_were_interrupted_are_free_for_others(tmp_path):
    path, texts = tmp_path / "c", [f"text {i}" for i in range(20)]

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with FakeLLM(Answer(delay=1.0)) as server, Cache(path) as cache, Client(server.url, "m", cache=cache) as client:
            keep(cache, "first")
            holder = sqlite3.connect(path, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                client.embed(texts)
            holder.execute("ROLLBACK")
            holder.close()
            keep(cache, "later")
            server.answer = Answer()
            with Client(server.url, "m", cache=path) as other:
                assert all(reply.ok for reply in other.embed(texts, deadline=10))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_who_shares_a_cache_does_not_release_what_another_asks(tmp_path, monkeypatch):
    path, request = tmp_path / "c", Request.asking("a")
    with FakeLLM(Answer(delay=1.5)) as server, Cache(path) as cache, ThreadPoolExecutor(1) as pool:
        with Client(server.url, "m", cache=cache) as first:
            asking = pool.submit(first.complete, request)
            while not server.requests:
                time.sleep(0.01)
            break_off(server, cache, request, monkeypatch, "_take")
            with Client(server.url, "m", cache=path) as third:
                assert third.complete(request, deadline=10).cached
            assert asking.result().ok
        assert len(server.requests) == 1


def test_what_another_asks_is_waited_for_until_the_deadline(tmp_path):
    path, request, over = tmp_path / "c", Request.asking("a"), threading.Event()

    def slow(_) -> str:
        over.wait(20)
        return "x"

    with (
        FakeLLM(Answer(delay=3.0)) as server,
        Cache(path) as cache,
        Cache(path) as other,
        ThreadPoolExecutor(4) as pool,
    ):
        function = pool.submit(as_client(slow, name="f", cache=cache).complete, request)
        time.sleep(0.3)
        waiting = as_client(lambda _: "x", name="f", cache=other)
        run = pool.submit(lambda: [reply.reason for _, reply in waiting.complete_many([request], deadline=0.3)])
        try:
            assert run.result(timeout=10) == ["deadline"]
        finally:
            over.set()
        assert function.result().ok
        with Client(server.url, "m", cache=cache) as first:
            asking = pool.submit(first.complete, request)
            while not server.requests:
                time.sleep(0.01)
            with Client(server.url, "m", cache=other, patience=Patience(deadline=0.3)) as second:
                assert second.complete(request).reason == "deadline"
            assert asking.result().ok
        assert len(server.requests) == 1


def test_a_stored_reply_that_does_not_count_is_replaced_once_for_all(tmp_path):
    path = tmp_path / "c"
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
    requests = [Request.asking(f"document {i}", schema=schema) for i in range(5)]
    with FakeLLM(Answer('{"grade": 1}', delay=0.3)) as server, ThreadPoolExecutor(4) as pool:
        with Cache(path) as cache, Client(server.url, "m", cache=cache) as client:
            doubtful = Reply("ok", text='{"grade": 1} or {"grade": 2}', data={"grade": 2})
            keep(cache, *map(client._key, requests), reply=doubtful)

        def ask(_) -> list[int]:
            with Client(server.url, "m", cache=path) as client:
                return [reply.data["grade"] for _, reply in client.complete_many(requests)]

        assert list(pool.map(ask, range(4))) == [[1] * 5] * 4
        assert len(server.requests) == 5


def test_a_run_that_ends_early_gives_its_claims_back(tmp_path):
    with FakeLLM(Answer(delay=0.5)) as server, Cache(tmp_path / "c") as cache:
        with Client(server.url, "m", cache=cache, limits=Limits(concurrency=1)) as client:
            replies = [r for _, r in client.complete_many([Request.asking(str(i)) for i in range(20)], deadline=0.2)]
            assert {reply.reason for reply in replies} == {"deadline"}
        server.answer = "quick"
        with Client(server.url, "m", cache=cache) as client:
            assert all(reply.ok for _, reply in client.complete_many([Request.asking(str(i)) for i in range(20)]))


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


def fill(place, count=200):
    with Cache(place) as cache:
        for number in range(count):
            cache.put(f"{number:064d}", Reply("ok", text=f"answer {number} " * 20), host="h", model="m").result()


def test_a_cache_that_lost_its_end_keeps_the_replies_before_it(tmp_path):
    place = tmp_path / "c.sqlite"
    fill(place)
    place.write_bytes(place.read_bytes()[:-8192])
    kept, _ = upkeep.repair(place)
    assert kept > 150
    with Cache(place) as cache:
        found = cache.get_many([f"{number:064d}" for number in range(200)])
    assert len(found) == kept
    assert all(reply.text == f"answer {int(key)} " * 20 for key, reply in found.items())


def test_what_is_no_database_is_not_repaired(tmp_path):
    place = tmp_path / "r.run"
    place.write_text("q1 Q0 a 1 1 t\n" * 50)
    with pytest.raises(InputError, match="the file is not a database"):
        upkeep.repair(place)
    assert place.read_text() == "q1 Q0 a 1 1 t\n" * 50


def test_a_second_repair_keeps_the_damaged_file_of_the_first(tmp_path):
    place = tmp_path / "c.sqlite"
    for _ in range(2):
        fill(place)
        place.write_bytes(place.read_bytes()[:-8192])
        upkeep.repair(place)
    assert sorted(path.name for path in tmp_path.iterdir() if "damaged" in path.name) == [
        "c.sqlite.damaged",
        "c.sqlite.damaged1",
    ]


def test_a_reply_that_is_replaced_while_it_is_read_is_not_taken_for_damaged(tmp_path):
    def row(text):
        return "k", text, checksum_of(text.encode()), "", "h", "m", "2026-01-01"

    reader, writer = (store.connect(tmp_path / "c.sqlite", patience=0) for _ in range(2))
    store.add_rows(writer, [row("old")])

    def replace_before_the_values_are_read(statement):
        if statement.startswith("SELECT id, CAST"):
            reader.set_trace_callback(None)
            with pytest.raises(sqlite3.OperationalError, match="locked") if locked else nullcontext():
                store.add_rows(writer, [row("new")])

    locked = writer.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
    reader.set_trace_callback(replace_before_the_values_are_read)
    assert store.read_rows(reader, ["k"]) == ({"k": "old"}, set())
    store.add_rows(writer, [row("new")])
    assert store.read_rows(reader, ["k"]) == ({"k": "new"}, set())
