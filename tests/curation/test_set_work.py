"""Sets described, split and merged: counts that add up, queries that keep their part, contradictions by name."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

import assay
from assay.curation.describe_sets import accept_changes
from assay.errors import AssayError, InputError, UsageError
from assay.formats.set_folders import read_manifest

DOCUMENTS = {"d1": "Green tea is steamed.", "d2": "Black tea is oxidised.", "d3": "白茶不揉捻。"}


def rows(n=60):
    return [
        {"query_id": f"q{i}", "text": f"tea {i}", "made_by": ("person", "model")[i % 2], "category": "abc"[i % 3]}
        for i in range(n)
    ]


def write(folder, n=60, **others):
    judged = assay.Judgments.from_dict({f"q{i}": {"d1": 2, "d2": 0} for i in range(0, n, 2)})
    gold = [{"query_id": f"q{i}", "doc_id": "d1", "text": "Green tea", "grade": 1} for i in range(0, n, 3)]
    given = {"queries": rows(n), "documents": DOCUMENTS, "judgments": judged, "gold": gold, **others}
    return assay.write_set(folder, **given)


def ids_of(folder):
    return [json.loads(line)["query_id"] for line in (folder / "queries.jsonl").read_text().splitlines()]


def test_a_description_counts_what_is_in_the_files(tmp_path):
    write(tmp_path / "tea")
    found = assay.describe_set(tmp_path / "tea")
    assert (found.queries, found.documents, found.kinds) == (60, 3, {"real": 30, "model": 30})
    assert found.grades == {"2": 30, "0": 30}
    assert found.categories == {"category": {"a": 20, "b": 20, "c": 20}}
    assert (found.spans, found.gold_queries, found.scorable) == (20, 20, 40)
    assert [len(text.split()) > 3 for text in found.missing] == [True, True]
    assert any("20 of 60 queries have no relevant document" in text for text in found.missing)
    assert any("60 of 60 queries have no reference" in text for text in found.missing)


def test_a_description_says_that_nothing_can_be_scored(tmp_path):
    assay.write_set(tmp_path / "bare", queries=[{"query_id": "q", "text": "茶"}, {"query_id": "r"}])
    found = assay.describe_set(tmp_path / "bare")
    assert (found.documents, found.languages) == (None, {"zh": 1})
    assert [text.split(":")[0] for text in found.missing[:3]] == [
        "no documents",
        "1 query has no text and cannot be asked",
        "no judgments and no gold",
    ]


def test_a_description_gives_the_probabilities_of_having_been_drawn(tmp_path):
    drawn = [{**row, "probability": 0.1 + i / 100} for i, row in enumerate(rows(5))]
    write(tmp_path / "tea", 5, queries=drawn)
    (one,) = assay.describe_set(tmp_path / "tea").inclusion
    assert (one.role, one.rows, one.least, one.most) == ("queries", 5, 0.1, pytest.approx(0.14))


def test_changes_by_hand_become_a_new_version_when_they_are_accepted(tmp_path):
    before = write(tmp_path / "tea", 5)
    place = tmp_path / "tea" / "queries.jsonl"
    place.write_text(place.read_text() + '{"query_id": "new", "text": "oolong", "made_by": "person"}\n')
    with pytest.raises(InputError, match="--accept"):
        assay.describe_set(tmp_path / "tea")
    found = assay.describe_set(tmp_path / "tea", accept=True)
    assert found.version != before.version
    assert found.kinds == {"real": 4, "model": 2}
    assert next(one for one in found.files if one.role == "queries").edited_at
    assert assay.describe_set(tmp_path / "tea").version == found.version


def test_plain_files_become_a_set_when_they_are_accepted(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q", "text": "tea"}\n')
    (tmp_path / "judgments.qrels").write_text("q 0 d 1\n")
    found = assay.describe_set(tmp_path, accept=True)
    assert (found.queries, found.pairs_judged, found.kinds) == (1, 1, {"unknown": 1})


@pytest.mark.parametrize("text", ["", "not json\n", '{"text": "no id"}\n'])
def test_files_that_cannot_be_read_are_not_accepted(tmp_path, text):
    (tmp_path / "queries.jsonl").write_text(text)
    with pytest.raises(AssayError):
        accept_changes(tmp_path)
    assert not (tmp_path / "set.json").exists()


def test_a_split_follows_the_hash_of_the_id_and_the_seed(tmp_path):
    write(tmp_path / "tea")
    found = assay.split_set(tmp_path / "tea", tmp_path / "parts", {"dev": 0.3, "test": 0.7}, by="category", seed=5)
    dev = {
        f"q{i}"
        for i in range(60)
        if int(hashlib.sha256(f"5\nq{i}".encode()).hexdigest()[:16], 16) / 16**16 < 0.3
    }  # fmt: skip
    assert set(ids_of(tmp_path / "parts" / "dev")) == dev
    assert set(ids_of(tmp_path / "parts" / "test")) == {f"q{i}" for i in range(60)} - dev
    counted = Counter("abc"[int(query[1:]) % 3] for query in dev)
    assert found.parts[0].strata == dict(sorted(counted.items()))


def test_queries_that_are_added_move_no_other(tmp_path):
    write(tmp_path / "small", 40)
    write(tmp_path / "large", 80)
    parts = {"dev": 0.5, "test": 0.5}
    for name in ("small", "large"):
        assay.split_set(tmp_path / name, tmp_path / f"{name}-parts", parts)
    for part in parts:
        small, large = (set(ids_of(tmp_path / f"{name}-parts" / part)) for name in ("small", "large"))
        assert small == {query for query in large if int(query[1:]) < 40}


def test_sizes_are_close_to_the_shares(tmp_path):
    assay.write_set(tmp_path / "many", queries=[{"query_id": f"q{i}", "text": "t"} for i in range(4000)])
    found = assay.split_set(tmp_path / "many", tmp_path / "parts", {"a": 0.1, "b": 0.2, "c": 0.7})
    for one, share in zip(found.parts, (0.1, 0.2, 0.7), strict=True):
        deviation = (4000 * share * (1 - share)) ** 0.5
        assert abs(one.queries - 4000 * share) < 4 * deviation


def test_every_part_is_a_set_with_its_own_judgments_and_gold_and_its_origin(tmp_path):
    source = write(tmp_path / "tea")
    assay.split_set(tmp_path / "tea", tmp_path / "parts", {"dev": 0.4, "test": 0.6})
    pairs, spans = 0, 0
    for part in ("dev", "test"):
        found = assay.read_set(tmp_path / "parts" / part)
        own = set(ids_of(tmp_path / "parts" / part))
        assert set(found.judgments.by_query) <= own
        assert {one.query_id for one in found.spans} <= own
        assert found.documents == DOCUMENTS
        assert source.manifest.label in read_manifest(tmp_path / "parts" / part).files["queries.jsonl"].sources
        pairs, spans = pairs + len(found.judgments), spans + len(found.spans)
    assert (pairs, spans) == (60, 20)


def test_queries_that_share_documents_stay_together(tmp_path):
    chain = [("q1", "a"), ("q2", "a"), ("q2", "b"), ("q3", "b"), ("q4", "c"), ("q5", "d"), ("q6", "d"), ("q7", "e")]
    judged: dict[str, dict[str, float]] = {}
    for query, doc in chain:
        judged.setdefault(query, {})[doc] = 1
    judged["q7"]["a"] = 0  # judged, but not relevant
    queries = [{"query_id": query, "text": query} for query in judged]
    assay.write_set(tmp_path / "tea", queries=queries, judgments=assay.Judgments.from_dict(judged))
    for seed in range(12):
        place = tmp_path / f"parts-{seed}"
        try:
            found = assay.split_set(tmp_path / "tea", place, {"a": 0.5, "b": 0.5}, together="documents", seed=seed)
        except UsageError:
            continue
        assert found.units == 4
        parts = [set(ids_of(place / part)) for part in ("a", "b")]
        for group in ({"q1", "q2", "q3"}, {"q5", "q6"}):
            assert any(group <= part for part in parts)


def test_without_shares_every_value_of_a_column_is_a_part(tmp_path):
    write(tmp_path / "tea", 10)
    found = assay.split_set(tmp_path / "tea", tmp_path / "kinds", by="made_by")
    assert [(one.name, one.queries) for one in found.parts] == [("model", 5), ("person", 5)]
    assert assay.read_set(tmp_path / "kinds" / "model").manifest.kinds() == {"model": 5}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parts": {"dev": 0.5, "test": 0.6}}, "add up to 1.1"),
        ({"parts": {"dev": -1, "test": 2}}, "share of dev"),
        ({"parts": {"../dev": 0.5, "test": 0.5}}, "name of a folder"),
        ({"parts": {"dev": 1e-9, "test": 1 - 1e-9}}, "'dev' would have no query"),
        ({}, "say how to split"),
        ({"by": "colour"}, "colour"),
    ],
)
def test_a_split_that_cannot_be_is_refused_and_leaves_nothing(tmp_path, given, said):
    write(tmp_path / "tea", 10)
    with pytest.raises(AssayError, match=said):
        assay.split_set(tmp_path / "tea", tmp_path / "parts", **given)
    assert [one.name for one in tmp_path.iterdir()] == ["tea"]


def test_parts_that_are_merged_again_hold_what_the_set_held(tmp_path):
    source = write(tmp_path / "tea")
    assay.split_set(tmp_path / "tea", tmp_path / "parts", {"dev": 0.4, "test": 0.6})
    found = assay.merge_sets([tmp_path / "parts" / "dev", tmp_path / "parts" / "test"], tmp_path / "again")
    again = assay.read_set(tmp_path / "again")
    assert again.judgments.to_dict() == source.judgments.to_dict()
    assert again.documents == DOCUMENTS
    assert sorted(map(str, again.spans)) == sorted(map(str, source.spans))
    assert {row["query_id"]: row["made_by"] for row in again.rows("queries")} == {
        row["query_id"]: row["made_by"] for row in rows()
    }
    assert found.kinds == {"real": 30, "model": 30}
    assert any("3 documents are in several" in note for note in found.notes)
    origin = again.manifest.files["queries.jsonl"].sources
    assert [text.split()[0] for text in origin] == ["tea", "tea-dev", "tea-test"]


def two(tmp_path, **second):
    assay.write_set(
        tmp_path / "one", queries=[{"query_id": "q", "text": "tea"}], documents={"d": "Tea."},
        judgments=assay.Judgments.from_dict({"q": {"d": 1}}),
    )  # fmt: skip
    given = {"queries": [{"query_id": "q", "text": "tea"}], "documents": {"d": "Tea."}, **second}
    assay.write_set(tmp_path / "two", **given)
    return [tmp_path / "one", tmp_path / "two"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"queries": [{"query_id": "q", "text": "coffee"}]}, "query 'q' has different texts"),
        ({"documents": {"d": "Coffee."}}, "document 'd' has different texts"),
        ({"judgments": assay.Judgments.from_dict({"q": {"d": 2}})}, "grades 1 and 2"),
    ],
)
def test_contradictions_are_named_or_settled_by_the_first_set(tmp_path, second, said):
    sets = two(tmp_path, **second)
    with pytest.raises(InputError, match=said):
        assay.merge_sets(sets, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assay.merge_sets(sets, tmp_path / "out", on_conflict="first")
    found = assay.read_set(tmp_path / "out")
    assert (found.queries.texts(), found.documents) == ({"q": "tea"}, {"d": "Tea."})
    assert found.judgments.to_dict() == {"q": {"d": 1.0}}


def test_ids_that_mean_different_things_can_be_renamed(tmp_path):
    sets = two(
        tmp_path, queries=[{"query_id": "q", "text": "coffee"}], documents={"d": "Coffee."},
        judgments=assay.Judgments.from_dict({"q": {"d": 3}}), gold=[{"query_id": "q", "doc_id": "d", "text": "Coffee"}],
    )  # fmt: skip
    assay.merge_sets(sets, tmp_path / "out", on_conflict="rename")
    found = assay.read_set(tmp_path / "out")
    assert found.queries.texts() == {"q": "tea", "two:q": "coffee"}
    assert found.documents == {"d": "Tea.", "two:d": "Coffee."}
    assert found.judgments.to_dict() == {"q": {"d": 1.0}, "two:q": {"two:d": 3.0}}
    assert [(one.query_id, one.doc_id) for one in found.spans] == [("two:q", "two:d")]


def test_the_same_query_under_two_ids_is_kept_and_counted(tmp_path):
    sets = two(tmp_path, queries=[{"query_id": "r", "text": "tea"}])
    found = assay.merge_sets(sets, tmp_path / "out")
    assert found.queries == 2
    assert any("1 query has the text of another" in note for note in found.notes)
