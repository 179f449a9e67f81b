"""Labels are kept: whatever happens to a process, a page or the index, and in the order in which they were given."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import assay
from assay.analysis.label_exports import add_human_columns, fill_in, judgments_of_labels, preference_rows
from assay.curation.labelling import is_shared, label_agreement, next_turn, stands_left
from assay.curation.labels import LabelConflict, LabelStore
from assay.data.label import Label
from assay.errors import AssayError, InputError
from assay.formats.label_log import read_label_log


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "labels") as found:
        yield found


def give(store, doc, value, by="Ann", **more):
    return store.add("pool", "relevance", ("q1", doc), value, by=by, **more)


def values(store):
    return {(one.by, one.item[1]): one.value for one in store.current("pool")}


def label(item, value, by="Ann", kind="relevance", **more):
    return Label("k", "2026-01-01", by, "t", kind, item, value, **more)


# The store ------------------------------------------------------------------------------------------------------------


def test_the_last_label_of_a_person_counts_and_undoing_brings_back_the_one_before(store):
    give(store, "a", 1)
    give(store, "b", 3, by="Bo")
    give(store, "a", 2, note="on second thoughts")
    assert values(store) == {("Ann", "a"): 2, ("Bo", "b"): 3}
    assert store.undo("pool", by="Ann").value == 2
    assert values(store) == {("Ann", "a"): 1, ("Bo", "b"): 3}
    assert store.undo("pool", by="Ann").value == 1
    assert store.undo("pool", by="Ann") is None
    assert values(store) == {("Bo", "b"): 3}


def test_a_request_that_is_sent_twice_counts_once(store):
    give(store, "a", 1, key="x")
    assert give(store, "a", 3, key="x").value == 1
    store.undo("pool", by="Ann", key="u")
    assert store.undo("pool", by="Ann", key="u").value == 1
    assert values(store) == {}
    assert len(store.log.read_text().splitlines()) == 2


def test_a_page_that_does_not_know_the_latest_label_overwrites_nothing(store):
    first = give(store, "a", 1, instead_of="")
    with pytest.raises(LabelConflict) as found:
        give(store, "a", 2, instead_of="")
    assert found.value.now == first
    give(store, "a", 2, instead_of=first.key)
    assert values(store) == {("Ann", "a"): 2}


def test_the_index_can_be_lost_or_damaged(store, tmp_path):
    expected = {("Ann", f"d{i}"): i % 4 for i in range(20)}
    for (_, doc), value in expected.items():
        give(store, doc, value)
    store.undo("pool", by="Ann")
    del expected["Ann", "d19"]
    store.close()
    index = tmp_path / "labels" / "labels.sqlite"
    for damage in (b"", b"no database at all" * 100, index.read_bytes()[:5000], index.read_bytes()):
        index.write_bytes(damage)
        with LabelStore(tmp_path / "labels") as again:
            assert values(again) == expected


def test_a_log_that_was_changed_by_hand_is_read_again(store):
    give(store, "a", 1)
    give(store, "b", 2)
    lines = store.log.read_bytes().splitlines(keepends=True)
    store.log.write_bytes(lines[1])
    assert values(store) == {("Ann", "b"): 2}
    store.log.write_bytes(b"".join(reversed(lines)))
    assert values(store) == {("Ann", "a"): 1, ("Ann", "b"): 2}


def test_a_last_line_without_its_end_is_left_out_with_a_note_at_every_place_where_it_can_break(tmp_path):
    whole = tmp_path / "whole"
    with LabelStore(whole) as store:
        give(store, "a", 1)
        give(store, "b", 2, note="\N{SNOWMAN} 好")
    data = (whole / "labels.jsonl").read_bytes()
    second = data.index(b"\n") + 1
    for end in range(second, len(data), 7):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / "labels.jsonl").write_bytes(data[:end])
        with LabelStore(folder) as torn:
            assert values(torn) == {("Ann", "a"): 1}
            assert len(torn.notes) == (end > second)
            give(torn, "c", 3)
            assert values(torn) == {("Ann", "a"): 1, ("Ann", "c"): 3}


def test_a_line_that_only_lacks_its_end_was_kept_and_is_not_doubled_when_it_is_sent_again(store):
    give(store, "a", 1, key="x")
    store.log.write_bytes(store.log.read_bytes()[:-1])
    give(store, "a", 1, key="x")
    give(store, "b", 2)
    assert [one.item[1] for one in read_label_log(store.log).labels] == ["a", "b"]


def test_a_damaged_line_is_not_believed(store):
    for doc in "abc":
        give(store, doc, 1)
    store.close()
    store.log.write_bytes(store.log.read_bytes().replace(b'"b"], "value": 1', b'"b"], "value": 3'))
    assert values(store) == {("Ann", "a"): 1, ("Ann", "c"): 1}
    assert "1 damaged line" in store.notes[0]


@pytest.mark.parametrize(("by", "note"), [("", ""), (" ", ""), ("x" * 101, ""), ("Ann", "x" * 4001)])
def test_names_and_notes_have_limits(store, by, note):
    with pytest.raises(AssayError, match="characters"):
        give(store, "a", 1, by=by, note=note)


_WRITER = """
import sys
from assay.curation.labels import LabelStore
store, name = LabelStore(sys.argv[1]), sys.argv[2]
for i in range(int(sys.argv[3])):
    label = store.add("pool", "relevance", (f"q{i}", name), i % 4, by=name, key=f"{name}-{i}")
    print(label.key, flush=True)
"""


def test_two_processes_write_one_log_and_one_that_is_killed_loses_nothing_it_was_told_is_kept(tmp_path, stress):
    """The second is killed at a random moment; what it printed was kept."""
    random.seed(7)
    for turn in range(20 if stress else 2):
        folder = tmp_path / str(turn)
        writers = [
            subprocess.Popen([sys.executable, "-c", _WRITER, str(folder), name, str(n)], stdout=subprocess.PIPE, text=True)
            for name, n in (("Ann", 30), ("Bo", 100_000))
        ]  # fmt: skip
        heard = [writers[1].stdout.readline().strip() for _ in range(random.randint(1, 60))]
        writers[1].kill()
        heard += [line.strip() for line in writers[1].stdout if line.endswith("\n")]
        steady = writers[0].communicate()[0].split()
        writers[1].wait()
        writers[1].stdout.close()
        kept = [one.key for one in read_label_log(folder / "labels.jsonl").labels]
        assert set(heard + steady) <= set(kept)
        assert len(kept) == len(set(kept)) <= len(heard + steady) + 1
        with LabelStore(folder) as store:
            assert len(store.current("pool")) == len(kept)


def test_the_log_is_its_owners_alone(store):
    give(store, "a", 1)
    assert store.log.stat().st_mode & 0o077 == 0


def test_a_file_that_is_no_log_is_named(tmp_path):
    place = tmp_path / "labels.jsonl"
    place.write_text('{"query_id": "q"}\n')
    with pytest.raises(InputError, match="not a log of labels"):
        read_label_log(place)


# What is asked next, and agreement ------------------------------------------------------------------------------------

ITEMS = [("q", f"d{i}") for i in range(200)]


def test_two_people_label_the_shared_items_both_and_the_others_once():
    labels = []
    for turn in range(400):
        by = ("Ann", "Bo")[turn % 2]
        place = next_turn(ITEMS, labels, by, overlap=0.25).place
        if place is not None:
            labels.append(label(ITEMS[place], 1, by))
    twice = [item for item in ITEMS if sum(one.item == item for one in labels) == 2]
    assert twice == [item for item in ITEMS if is_shared(item, 0.25)]
    assert len(labels) == len(ITEMS) + len(twice)
    assert 30 < len(twice) < 70
    own = [ITEMS.index(one.item) for one in labels if one.by == "Ann"]
    assert all(one < other for one, other in pairwise(own)), "the order of the list is kept"


def test_what_was_skipped_comes_again_last_and_is_open_to_others():
    labels = [label(ITEMS[0], "skipped")]
    found = next_turn(ITEMS[:3], labels, "Ann", overlap=0)
    assert (found.place, found.done, found.skipped, found.total) == (1, 0, 1, 3)
    assert next_turn(ITEMS[:3], labels, "Bo", overlap=0).place == 0
    labels += [label(ITEMS[1], 1), label(ITEMS[2], "cannot_tell")]
    assert next_turn(ITEMS[:3], labels, "Ann", overlap=0).place == 0
    assert next_turn(ITEMS[:3], [*labels, label(ITEMS[0], 2)][1:], "Ann", overlap=0).place is None


def test_an_item_that_somebody_is_looking_at_is_not_given_to_another():
    assert next_turn(ITEMS[:2], [], "Ann", overlap=0, taken=[ITEMS[0]]).place == 1
    assert next_turn(ITEMS[:2], [], "Ann", overlap=1, taken=[ITEMS[0]]).place == 0


def test_systems_change_sides_between_questions_and_people():
    sides = [stands_left((f"q{i}", "new", "old"), by) for i in range(200) for by in ("Ann", "Bo")]
    assert 160 < sum(sides) < 240
    assert sides == [stands_left((f"q{i}", "new", "old"), by) for i in range(200) for by in ("Ann", "Bo")]


def test_agreement_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 60)
    second = np.clip(first + rng.integers(-1, 2, 60), 0, 3)
    labels = [label(("q", f"d{i}"), int(g), by) for by, grades in (("Ann", first), ("Bo", second)) for i, g in enumerate(grades)]  # fmt: skip
    labels += [label(("q", "d0"), "cannot_tell", "Cy"), label(("q", "d99"), 2, "Ann")]
    found = label_agreement("relevance", labels)
    (pair,) = found.pairs
    assert (pair.n, found.shared, found.items, found.raters) == (60, 60, 61, {"Ann": 61, "Bo": 60})
    assert pair.kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert pair.weighted.value == pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))
    assert pair.exact == np.mean(first == second)


def test_words_agree_without_a_distance():
    said = [("Ann", "first"), ("Bo", "first"), ("Ann", "tie"), ("Bo", "second")]
    labels = [label((f"q{i // 2}", "a", "b"), value, by, "preference") for i, (by, value) in enumerate(said)]
    found = label_agreement("preference", labels)
    assert found.pairs[0].weighted is None
    assert found.pairs[0].exact == 0.5
    # Two units, values a a | c b: observed 1/2; expected 1 - 2*1/(4*3) = 5/6.
    assert found.alpha.value == pytest.approx(1 - (1 / 2) / (5 / 6))


# Exports --------------------------------------------------------------------------------------------------------------


def test_grades_of_several_people_become_their_lower_median():
    said = {"a": [3], "b": [0, 3], "c": [3, 1, 2], "d": ["cannot_tell"], "e": ["skipped", 2]}
    labels = [label(("q", doc), v, f"p{i}") for doc, own in said.items() for i, v in enumerate(own)]
    judged = judgments_of_labels(labels)
    assert judged.to_dict() == {"q": {"a": 3.0, "b": 0.0, "c": 2.0, "e": 2.0}}
    scores = assay.evaluate(judged, {"q": {"a": 2.0, "x": 1.0}}, ["p@1"])
    assert scores["p@1"] == 1.0
    with pytest.raises(InputError, match="nothing is labelled"):
        judgments_of_labels(labels[6:8])


def test_a_list_that_is_filled_in_keeps_what_makes_it_a_sample(tmp_path):
    rows = [
        {"query_id": "q", "doc_id": d, "grade": g, "inclusion": 0.5, "round": 1} for d, g in (("a", None), ("b", 1.0))
    ]
    filled = fill_in(rows, [label(("q", "a"), 2)])
    place = tmp_path / "pool.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in filled))
    judged = assay.read_judgments(place)
    assert judged.to_dict() == {"q": {"a": 2.0, "b": 1.0}}
    assert judged.inclusion.tolist() == [0.5, 0.5]


def test_preferences_are_read_by_the_house():
    labels = [label((f"q{i}", "new", "old"), v, kind="preference", shown=s) for i, (v, s) in enumerate([("first", "old"), ("second", "new"), ("tie", "new"), ("both_bad", "old"), ("first", "new"), ("skipped", "new")])]  # fmt: skip
    found = assay.preferences(preference_rows(labels))
    (pair,) = found.pairs
    names = {pair.first: pair.wins, pair.second: pair.losses}
    assert names == {"new": 2, "old": 1}
    assert pair.ties == 2
    assert found.left.estimate == pytest.approx(1 / 3)


def test_people_columns_are_found_by_calibrate(tmp_path):
    answers = [("In 1889. By Eiffel.", "By Eiffel."), ("Nobody knows.", "It rained."), ("By Eiffel.", "In 1889.")]
    rows = [{"id": f"s{i}", "question": "When?", "answer": answers[i % 3][i % 2], "contexts": ["Eiffel built it in 1889."]} for i in range(14)]  # fmt: skip
    items = [(f"s{i}", "") for i in range(14)]
    labels = [
        label((*items[0], "0:x"), "supported", kind="statement"), label((*items[0], "1:y"), "unsupported", kind="statement"),
        label((*items[1], "0:x"), "supported", kind="statement"), label(items[1], 4, kind="mark"),
        label((*items[2], "0:x"), "cannot_tell", kind="statement"),
        *(label((*items[i], "0:x"), ("supported", "unsupported")[i % 2], kind="statement") for i in range(3, 14)),
    ]  # fmt: skip
    filled = add_human_columns(rows, items, labels)
    assert [row.get("human") for row in filled[:3]] == [{"faithfulness": 0.5}, {"faithfulness": 1.0, "mark": 0.8}, None]
    place = tmp_path / "rated.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in filled))
    found = assay.validate(place, methods=["words"], n_resamples=10)
    assert found.human == "human.faithfulness"
    assert found.rows == 14
    assert found.compared == 13
