"""Adding queries to a set: each once, the set whole at every moment, and where each came from."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import assay
from assay.curation.grow_sets import AddedQuery
from assay.errors import AssayError
from assay.formats.set_folders import FOLLOWING, find_changes, read_manifest


@pytest.fixture
def tea(tmp_path):
    assay.write_set(tmp_path / "tea", queries=[{"query_id": "q1", "text": "green tea", "made_by": "person"}], documents={"d": "Green tea."})  # fmt: skip
    return tmp_path / "tea"


def test_a_query_is_added_with_its_origin_and_the_set_gets_a_new_version(tea):
    before = assay.read_set(tea)
    rows = before.rows("queries")
    row = {"query_id": "t9", "text": "为什么茶会苦", "reference": "Too hot.", "added_by": "Ann"}
    added = assay.add_query(tea, row, source="log watch watch/result.json")
    after = assay.read_set(tea)
    assert added == AddedQuery("t9", after.version, is_new=True)
    assert after.version != before.version
    assert after.rows("queries") == (*rows, {**row, "made_by": "log"})
    told = after.manifest.files["queries.jsonl"]
    assert (told.rows, told.made_by, told.sources) == (2, {"person": 1, "log": 1}, ("log watch watch/result.json",))
    assert after.documents == before.documents


def test_what_is_there_is_not_added_again(tea):
    version = assay.read_set(tea).version
    assert assay.add_query(tea, {"query_id": "q1", "text": "another text"}) == AddedQuery("q1", version, is_new=False)  # fmt: skip
    assert assay.add_query(tea, {"query_id": "q7", "text": " green tea\n"}).query_id == "q1"
    assert assay.read_set(tea).version == version


@pytest.mark.parametrize("row", [{"query_id": "", "text": "a"}, {"query_id": "a"}, {"query_id": "a", "text": "x" * 20_001}, {"query_id": "a", "text": "b", "c": {1}}])  # fmt: skip
def test_what_is_no_query_is_refused(tea, row):
    before = (tea / "queries.jsonl").read_bytes()
    with pytest.raises(AssayError):
        assay.add_query(tea, row)
    assert (tea / "queries.jsonl").read_bytes() == before


def test_a_set_that_was_changed_by_hand_is_not_added_to(tea):
    (tea / "documents.jsonl").write_text("{}\n")
    with pytest.raises(AssayError, match=r"documents\.jsonl"):
        assay.add_query(tea, {"query_id": "a", "text": "b"})


def test_many_threads_add_every_query_once(tea):
    def add(start: int) -> None:
        for i in range(start, 6):
            assay.add_query(tea, {"query_id": f"n{i}", "text": f"question {i}"})

    threads = [threading.Thread(target=add, args=(i % 3,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(row["query_id"] for row in assay.read_set(tea).rows("queries")) == [*(f"n{i}" for i in range(6)), "q1"]  # fmt: skip


def test_at_every_write_that_fails_the_set_is_whole_and_can_go_on(tea, monkeypatch):
    """Whatever of the writes is the last one, readers see the set before or after, and the next addition works."""
    from assay.curation import grow_sets

    real, count = grow_sets.write_atomically, 0
    real_manifest = grow_sets.write_manifest
    for last in range(5):
        left = [last]

        def counted(function):
            def write(*args, **options):
                if left[0] == 0:  # noqa: B023 - used within this turn
                    raise KeyboardInterrupt
                left[0] -= 1  # noqa: B023
                return function(*args, **options)

            return write

        monkeypatch.setattr(grow_sets, "write_atomically", counted(real))
        monkeypatch.setattr(grow_sets, "write_manifest", counted(real_manifest))
        try:
            assay.add_query(tea, {"query_id": f"k{last}", "text": f"text {last}"})
        except KeyboardInterrupt:
            count += 1
        known = [row["query_id"] for row in assay.read_set(tea).rows("queries")]
        assert known.count(f"k{last}") == (last >= 2), "the second write is the manifest that follows"
        monkeypatch.undo()
    assert count == 4
    assay.add_query(tea, {"query_id": "after", "text": "after"})
    assert not (tea / FOLLOWING).exists()
    assert [row["query_id"] for row in assay.read_set(tea).rows("queries")] == ["q1", "k2", "k3", "k4", "after"]


_ADD = """
import sys, assay
for i in range(int(sys.argv[2]), 100_000):
    done = assay.add_query(sys.argv[1], {"query_id": f"k{i}", "text": f"text {i}"})
    print(done.query_id, flush=True)
"""


def test_killed_at_any_moment_nothing_is_lost_doubled_or_torn(tea, stress):
    rng, told = random.Random(7), []
    for _ in range(100 if stress else 2):
        process = subprocess.Popen([sys.executable, "-c", _ADD, str(tea), str(len(told))], stdout=subprocess.PIPE, text=True)  # fmt: skip
        told.append(process.stdout.readline().strip())
        time.sleep(rng.random() / 20)
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().split()
        process.wait()
        process.stdout.close()
        assert find_changes(tea, read_manifest(tea)) == []
        kept = [json.loads(line)["query_id"] for line in (tea / "queries.jsonl").read_text().splitlines()]
        assert len(kept) == len(set(kept))
        assert set(told) <= set(kept)
