"""The history of a folder: what is kept about results beside them, and what happens when it or they change."""

from __future__ import annotations

import json
import sqlite3

import pytest

import assay
from assay.analysis import history_index
from assay.analysis.history_index import HistoryIndex
from assay.analysis.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    """Six results of one system on the same judgments, a day apart, and one of another system."""
    place = tmp_path / "work"
    (place / "workbench").mkdir(parents=True)
    for day in range(1, 7):
        write(place, f"r{day}", day, grade=day)
    write(place, "zz-other", 3, system="<i>other</i>")
    (place / "broken.json").write_text('{"schema": 2, "systems": 7}')
    return place


def write(place, name, day, *, grade=1, system="mine"):
    run = {f"q{i}": {"a": 2.0, "b": 1.0} if i < grade else {"b": 2.0, "a": 1.0} for i in range(8)}
    scores = assay.evaluate({f"q{i}": {"a": 1} for i in range(8)}, run, ["rr"], name=system)
    scores.save(place / f"{name}.json")
    plain = json.loads((place / f"{name}.json").read_text())
    (place / f"{name}.json").write_text(json.dumps({**plain, "date": f"2026-01-0{day}T00:00:00Z"}))


def look(folder, **asked):
    """A page of a fresh server."""
    index = HistoryIndex(Workspace(folder), folder / "workbench" / "history.sqlite")
    found = index.page(asked.get("sought", ""), asked.get("at", 1), asked.get("size", 50))
    index.close()
    return found


def expected(grade):
    """The mean reciprocal rank of 8 queries, of which so many have their document first."""
    return (grade + (8 - grade) / 2) / 8


def test_results_come_by_date_with_the_means_before_them(folder):
    found = look(folder)
    assert [one.name for one in found.entries] == ["r6.json", "r5.json", "r4.json", "zz-other.json", "r3.json", "r2.json", "r1.json"]  # fmt: skip
    assert found.entries[0].trend == pytest.approx([expected(grade) for grade in range(1, 7)])
    assert found.entries[3].trend == (expected(1),)
    assert [one.name for one in found.broken] == ["broken.json"]
    second = look(folder, at=2, size=3)
    assert [one.name for one in second.entries] == ["zz-other.json", "r3.json", "r2.json"]
    assert second.entries[1].trend == pytest.approx([expected(grade) for grade in range(1, 4)])
    assert (second.matching, second.total) == (7, 7)
    sought = look(folder, sought="<I>OTHER")
    assert ([one.name for one in sought.entries], sought.matching, sought.total) == (["zz-other.json"], 1, 7)


def test_no_result_is_read_twice_and_what_changed_is(folder, monkeypatch):
    before, read = look(folder), []
    load = history_index.load
    monkeypatch.setattr(history_index, "load", lambda place: read.append(place) or load(place))
    assert look(folder) == before
    assert read == []
    write(folder, "r6", 6, grade=8)
    (folder / "r1.json").unlink()
    write(folder, "new", 9)
    found = look(folder)
    assert sorted(place.rpartition("/")[2] for place in read) == ["new.json", "r6.json"]
    assert [one.name for one in found.entries][:2] == ["new.json", "r6.json"]
    assert found.entries[1].mean.estimate == 1.0
    assert found.entries[1].trend == pytest.approx([*(expected(grade) for grade in range(2, 6)), 1.0])
    assert "r1.json" not in {one.name for one in found.entries}


def test_one_server_sees_what_comes_and_goes(folder):
    index = HistoryIndex(Workspace(folder), folder / "workbench" / "history.sqlite")
    assert index.page("", 1, 50).total == 7
    write(folder, "new", 9)
    assert index.page("", 1, 1).entries[0].name == "new.json"
    (folder / "new.json").unlink()
    assert index.page("", 1, 50).total == 7
    assert [one.name for one in index.with_part("experiment")] == []
    index.close()


@pytest.mark.parametrize("at", [0, 0.3, 0.5, 0.9, 0.99])
def test_an_index_that_is_damaged_is_made_again(folder, at):
    before, place = look(folder), folder / "workbench" / "history.sqlite"
    whole = place.read_bytes()
    start = int(at * len(whole))
    place.write_bytes(
        whole[:start] + bytes(byte ^ 0x5A for byte in whole[start : start + 4096]) + whole[start + 4096 :]
    )
    assert look(folder) == before
    place.write_bytes(whole[:start])
    assert look(folder) == before


def test_a_number_that_was_changed_in_the_index_is_never_shown(folder):
    before, place = look(folder), folder / "workbench" / "history.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE entries SET entry = replace(entry, '2026-01-06', '2099-01-06')")
    assert look(folder) == before


def test_many_results_are_read_in_steps(folder, monkeypatch):
    """The latest files first; each page goes on where the one before ended."""
    monkeypatch.setattr(history_index, "_BUDGET", 0.0)
    index = HistoryIndex(Workspace(folder), folder / "workbench" / "history.sqlite")
    pages = [index.page("", 1, 50) for _ in range(9)]
    assert [one.total for one in pages] == [0, 1, 2, 3, 4, 5, 6, 7, 7]  # the one that is broken was written last
    assert [one.waiting for one in pages] == [7, 6, 5, 4, 3, 2, 1, 0, 0]
    index.close()


def test_a_folder_that_takes_nothing_has_a_history(folder):
    (folder / "workbench").rmdir()
    assert look(folder).total == 7
    assert not (folder / "workbench").exists()
