"""Samples in Parquet folders and JSON lines get the values that they get in a file."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

import assay
from assay.analysis.answer_tables import answer_tables
from assay.errors import InputError, UsageError
from lake import random_samples, scatter


@pytest.fixture(scope="module")
def samples():
    return random_samples(random.Random(1), 40)


@pytest.fixture(scope="module")
def places(samples, tmp_path_factory):
    """The same samples as a Parquet folder and as a folder of JSON lines."""
    place = tmp_path_factory.mktemp("samples")
    scatter(pl.DataFrame(samples), place / "parquet", 3, random.Random(1))
    (place / "lines").mkdir()
    for part in range(2):
        lines = [json.dumps(row) for row in samples[::-1][part::2]]
        (place / "lines" / f"part-{part}.json").write_text("\n".join([*lines, "", ""]))
    return {"parquet": str(place / "parquet"), "lines": str(place / "lines")}


def facts(scores):
    """Every bit, in the order of the ids, and everything that is said about it."""
    order = sorted(range(len(scores.query_ids)), key=lambda place: scores.query_ids[place])
    clusters = None if scores.clusters is None else [scores.clusters[place] for place in order]
    return (
        [scores.query_ids[place] for place in order], scores.labels, scores.values[order].tobytes(),
        scores.status[order].tolist(), scores.mean(), scores.counts, scores.warnings, scores.notes, clusters,
        scores.judgments_digest, scores.embedder, sorted(scores.stages.items()),
    )  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "lines"])
@pytest.mark.parametrize(
    "how",
    [{}, {"method": "words", "cluster": "area"}, {"method": "embedding", "embedder": "wordllama"},
     {"measures": ["faithfulness", "token_f1", "citation_recall"]}],
    ids=str,
)  # fmt: skip
def test_values_statuses_counts_and_notes_are_those_of_a_file(samples, places, form, how):
    plain = assay.answer_systems(samples, **how)
    found = answer_tables(places[form], parts=3, **how)
    assert sorted(found) == sorted(plain) == ["new", "old"]
    assert len(set(plain["old"].clusters)) < 40
    for name, scores in plain.items():
        assert facts(found[name]) == facts(scores)


def test_a_result_folder_of_answers_is_read_and_taken_up(places, tmp_path, monkeypatch):
    options = {"folder": tmp_path / "scores", "parts": 2}
    found = answer_tables(places["parquet"], ["faithfulness", "exact_match"], **options)
    read = {scores.name: scores for scores in assay.read_result(tmp_path / "scores")}
    for name, scores in found.items():
        assert (read[name].query_ids, read[name].mean()) == (scores.query_ids, scores.mean())
        assert read[name].values.tobytes() == scores.values.tobytes()
    (tmp_path / "scores" / "assay-result.json").unlink()
    part = next((tmp_path / "scores").glob("part-00001-*"))
    part.unlink()
    done = []
    kernel = assay.analysis.answer_kernel.JudgeSamples
    judge = kernel.__call__
    monkeypatch.setattr(kernel, "__call__", lambda self, rows: done.append(len(rows)) or judge(self, rows))
    again = answer_tables(places["parquet"], ["faithfulness", "exact_match"], **options)
    assert {name: scores.mean() for name, scores in again.items()} == {n: s.mean() for n, s in found.items()}
    assert len(done) == 1, "the other part was kept"


@pytest.mark.parametrize(
    ("rows", "how", "told"),
    [
        ([{"id": "1", "answer": "a"}, {"id": "1", "answer": "b"}], {}, "two samples '1'"),
        ([{"id": "1", "answer": "a"}, {"id": None, "answer": "b"}], {}, "a sample has no id"),
        ([{"answer": "a"}], {}, "no column for query_id among .*every sample needs an id"),
        ([{"id": "1", "answer": "a", "system": "x"}, {"id": "2", "answer": "b", "system": None}], {}, "others do not"),
        ([{"id": "1", "answer": "a"}], {"method": "llm"}, "asks no language model"),
        ([{"id": "1", "answer": "a"}], {"method": "embedding"}, "name the embedder"),
        ([{"id": "1", "answer": "a"}], {"embedder": "wordllama"}, "one method judges all"),
        ([{"id": "1", "question": "x", "answer": "a", "system": "x"},
          {"id": "1", "question": "y", "answer": "b", "system": "y"}], {}, "not the same in the systems"),
    ],
)  # fmt: skip
def test_what_an_engine_cannot_judge_is_refused_in_one_line(tmp_path, rows, how, told):
    folder = scatter(pl.DataFrame(rows), tmp_path / "samples", 1, random.Random(1))
    with pytest.raises((InputError, UsageError), match=told) as caught:
        answer_tables(str(folder), ["exact_match", "faithfulness"], **how)
    assert "\n" not in str(caught.value)


def test_a_line_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"id": "1", "answer": "a"}\n[1]\n')
    with pytest.raises(InputError, match=r"s\.jsonl: expected a JSON object, not '\[1\]'"):
        answer_tables(str(tmp_path / "s.jsonl"), ["exact_match"], engine="local")


def test_the_command_writes_a_folder_that_is_compared(places, call):
    code, out, _ = call("answers", places["parquet"], "-m", "faithfulness,token_f1", "-o", "scores/", "--parts", "2")
    assert code == 0 and "Where answers go wrong" in out
    again = call("answers", places["parquet"], "-m", "faithfulness,token_f1", "-o", "scores/", "--parts", "2")[1]
    assert "Where answers go wrong" not in again and out.splitlines()[3:8] == again.splitlines()[3:8]
    assert "Highest faithfulness of 2" in call("compare", "scores", "-m", "faithfulness")[1]
    code, out, err = call("answers", places["parquet"], "--engine", "local", "--judge", "m")
    assert (code, out, err.count("\n")) == (2, "", 1) and "--judge has no effect" in err
