"""Nuggets that several people edit: what comes of edits, conflicts and undoing, against a list kept beside them."""

from __future__ import annotations

import random
import threading

import pytest

import assay
from assay.curation.nugget_edits import REMOVED, NuggetConflict, NuggetEdit, apply_edits, edit_nuggets, undo_nugget_edit
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.nuggets import are_nuggets

TASK = "nuggets:n.jsonl"
BASE = [assay.Nugget("built in 1889", "vital"), assay.Nugget("300 m high", "okay"), assay.Nugget("in Paris")]


@pytest.fixture
def store(tmp_path):
    with assay.LabelStore(tmp_path / "labels") as found:
        yield found


def now(store, query="q1", base=BASE):
    return apply_edits(query, base, store.history(TASK))


def shown(store):
    return [(one.text, one.importance) for one in now(store) if not one.gone]


def edit(store, ids, importance, text, by="Ann", known=None, key=""):
    latest = {one.id: one.latest for one in now(store)}
    seen = {one: latest[one] for one in ids if one in latest} if known is None else known
    return edit_nuggets(store, TASK, BASE, NuggetEdit("q1", tuple(ids), importance, text, seen), by=by, key=key)


def test_edits_do_what_a_list_beside_them_does(store):
    """Random adding, rewording, weighing, removing, merging and undoing, on a plain dict of texts by id."""
    rng = random.Random(7)
    mirror = {one.id: (one.text, one.importance) for one in now(store)}
    stack = []
    for i in range(60):
        ids = list(mirror)
        what = rng.choice(["add", "change", "change", "remove", "merge", "undo"])
        before = dict(mirror)
        if what == "undo":
            undone = undo_nugget_edit(store, TASK, by="Ann")
            assert (undone is None) == (not stack)
            mirror = stack.pop() if stack else mirror
        elif what == "add" or len(ids) < 3:
            edit(store, [f"new{i}"], "okay", f"fact {i}")
            mirror[f"new{i}"] = (f"fact {i}", "okay")
            stack.append(before)
        elif what == "change":
            one = rng.choice(ids)
            edit(store, [one], "vital", f"other words  {i}")
            mirror[one] = (f"other words {i}", "vital")
            stack.append(before)
        elif what == "remove":
            one = rng.choice(ids)
            edit(store, [one], REMOVED, "")
            del mirror[one]
            stack.append(before)
        else:
            first, *others = rng.sample(ids, rng.choice([2, 3]))
            edit(store, [first, *others], "vital", mirror[first][0])
            mirror[first] = (mirror[first][0], "vital")
            for one in others:
                del mirror[one]
            stack.append(before)
        assert {one.id: (one.text, one.importance) for one in now(store) if not one.gone} == mirror
    assert len(stack) > 5


def test_who_edits_what_somebody_changed_meanwhile_is_told_and_changes_nothing(store):
    first = now(store)[0].id
    seen = {first: ""}
    edit(store, [first], "vital", "finished in 1889", by="Bo", known=seen)
    for ids, importance in (([first], "okay"), ([first], REMOVED), ([first, now(store)[1].id], "vital")):
        with pytest.raises(NuggetConflict, match="Bo has changed"):
            edit(store, ids, importance, "built 1889", known={**dict.fromkeys(ids, ""), **seen})
    assert shown(store)[0] == ("finished in 1889", "vital")
    edit(store, [first], "vital", "opened in 1889", by="Ann")
    with pytest.raises(NuggetConflict, match="Ann has changed"):
        undo_nugget_edit(store, TASK, by="Bo")
    assert undo_nugget_edit(store, TASK, by="Ann").note == "opened in 1889"
    assert undo_nugget_edit(store, TASK, by="Bo").note == "finished in 1889"
    assert shown(store) == [(one.text, one.importance) for one in BASE]


def test_people_who_edit_at_the_same_time_lose_and_double_nothing(store):
    """Four people add 10 each and all try to weigh the same nugget as they first saw it: one of them does."""
    first, told = now(store)[0].id, []

    def work(name):
        for i in range(10):
            edit_nuggets(store, TASK, BASE, NuggetEdit("q1", (f"{name}{i}",), "okay", f"{name} fact {i}", {}), by=name)
        try:
            edit(store, [first], "okay", "built in 1889", by=name, known={first: ""})
            told.append(name)
        except NuggetConflict:
            pass

    people = [threading.Thread(target=work, args=(name,)) for name in ("Ann", "Bo", "Cy", "Di")]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert len(told) == 1
    assert {text for text, _ in shown(store)[3:]} == {f"{name} fact {i}" for name in ("Ann", "Bo", "Cy", "Di") for i in range(10)}  # fmt: skip
    assert len(shown(store)) == 43


def test_a_request_that_is_sent_again_counts_once_and_nothing_is_listed_twice(store):
    for _ in range(2):
        edit(store, ["new"], "vital", "designed by Koechlin", key="k" * 32, known={})
    assert len(shown(store)) == 4
    with pytest.raises(UsageError, match="in the list already"):
        edit(store, ["other"], "okay", "Built  in 1889", known={})
    second = now(store)[1].id
    edit(store, [second], REMOVED, "")
    edit(store, ["other"], "okay", "300 m high", known={})
    with pytest.raises(UsageError, match="in the list already"):
        edit(store, [second], "okay", "300 m high")
    with pytest.raises(UsageError, match="put it back first"):
        edit(store, [now(store)[0].id, second], "okay", "x")
    with pytest.raises(UnknownName):
        edit(store, ["nothing"], "okay", "x", known={"nothing": ""})


@pytest.mark.parametrize(("importance", "text"), [("great", "x"), ("vital", " "), ("vital", "x" * 1001)])
def test_an_edit_that_says_nothing_of_use_is_refused(store, importance, text):
    with pytest.raises(UsageError):
        edit(store, ["new"], importance, text, known={})
    assert store.history(TASK) == []


# Files ------------------------------------------------------------------------------------------------------------------


def test_files_of_other_tools_and_of_sets_are_read(tmp_path):
    place = tmp_path / "n.jsonl"
    place.write_text(
        '{"query": "how old?", "qid": 7, "nuggets": [{"text": "1889", "importance": "vital", "assignment": "support"}, "in Paris"]}\n'
        '{"qid": "8", "nuggets": []}\n{"query_id": "8", "text": "hot", "importance": "okay"}\n'
    )
    assert assay.read_nuggets(place) == (
        assay.QuestionNuggets("7", "how old?", (assay.Nugget("1889", "vital"), assay.Nugget("in Paris"))),
        assay.QuestionNuggets("8", "", (assay.Nugget("hot", "okay"),)),
    )
    assert [one.kind for one in assay.check_files([place]).files] == ["nuggets"]
    assert are_nuggets(["query_id", "text"], "tea/nuggets.jsonl")
    assert not are_nuggets(["query_id", "text"], "tea/queries.jsonl")


@pytest.mark.parametrize("row", ['{"nuggets": []}', '{"qid": "", "nuggets": []}', '{"qid": "1", "nuggets": 3}', '{"qid": "1", "nuggets": [{}]}', '{"qid": "1", "nuggets": [{"text": "a", "importance": "high"}]}', '{"qid": "1", "nuggets": [{"text": "a", "importance": []}]}', ""])  # fmt: skip
def test_a_file_that_holds_something_else_is_refused_in_one_line(tmp_path, row):
    place = tmp_path / "n.jsonl"
    place.write_text(f"{row}\n")
    with pytest.raises(InputError):
        assay.read_nuggets(place)
