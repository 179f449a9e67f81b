"""The engine of this machine: Parquet folders, whose parts may come in any order."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import assay
from assay.demo import collection
from assay.engines.local import LocalEngine, parquet_files
from assay.errors import AssayError, InputError, UsageError
from lake import SUBTOPICS, random_rows, rows_of_run, scatter


def same(found, plain):
    """Every bit, and everything that is said about it."""
    assert (found.query_ids, found.counts, found.warnings) == (plain.query_ids, plain.counts, plain.warnings)
    assert found.values.tobytes() == plain.values.tobytes()
    assert np.array_equal(found.status, plain.status)
    assert found.mean() == pytest.approx(plain.mean(), abs=0, nan_ok=True)


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_a_folder_in_any_order_gives_what_its_run_gives(tmp_path, parts, stress):
    for seed in range(50 if stress else 3):
        rng = random.Random(seed)
        qrels, run = random_rows(rng, 5)
        folder = scatter(rows_of_run(run), tmp_path / str(seed), 4, rng)
        same(assay.evaluate(qrels, str(folder), engine="local", parts=parts, name="run"), assay.evaluate(qrels, run))


def test_weights_clusters_and_folding_are_those_of_an_evaluation(tmp_path):
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}, "q3": {"d": 1}}
    run = {"q1": {"b#1": 3.0, "a#2": 2.0, "a#1": 1.0}, "q2": {"x#1": 2.0, "c#9": 1.0}}
    options = {
        "fold": "after", "chunks": "{doc}#{chunk}", "weights": {"q1": 2.0, "q2": 1.0, "q3": 0.5},
        "clusters": {"q1": "A", "q2": "A", "q3": "B"},
    }  # fmt: skip
    folder = scatter(rows_of_run(run), tmp_path / "run", 2, random.Random(1))
    found = assay.evaluate(
        qrels, str(folder), "ndcg@2,P@1", engine="local", folder=tmp_path / "out", parts=2, **options
    )
    plain = assay.evaluate(qrels, run, "ndcg@2,P@1", **options)
    same(found, plain)
    (read,) = assay.read_result(tmp_path / "out")
    same(read, plain)
    assert (read.clusters, read.weights.tolist()) == (plain.clusters, plain.weights.tolist())


def test_subtopics_are_counted_within_their_query(tmp_path):
    rows = [("q1", "1", "a", 1), ("q1", "2", "a", 1), ("q1", "2", "b", 1), ("q2", "1", "a", 1), ("q2", "7", "c", 0)]
    judged = pl.DataFrame(rows, schema=["query_id", "subtopic", "doc_id", "grade"], orient="row")
    judged.write_parquet(tmp_path / "judged.parquet")
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 2.0, "a": 1.0}}
    folder = scatter(rows_of_run(run), tmp_path / "run", 3, random.Random(1))
    found = assay.evaluate(tmp_path / "judged.parquet", str(folder), SUBTOPICS, engine="local", parts=2)
    same(found, assay.evaluate(tmp_path / "judged.parquet", run, SUBTOPICS))


def test_a_column_names_the_runs(tmp_path):
    qrels, one = random_rows(random.Random(1), 3)
    other = {query: {doc: -score for doc, score in docs.items()} for query, docs in list(one.items())[1:]}
    rows = [rows_of_run(run).with_columns(run=pl.lit(name)) for name, run in (("old", one), ("new", other))]
    folder = scatter(pl.concat(rows), tmp_path / "runs", 3, random.Random(2))
    found = assay.evaluate(qrels, str(folder), engine="local")
    assert sorted(found) == ["new", "old"]
    same(found["old"], assay.evaluate(qrels, one))
    same(found["new"], assay.evaluate(qrels, other))


def test_chunks_are_folded_where_no_rule_says_how_as_without_an_engine(tmp_path):
    run = pl.DataFrame(
        [("q", "a", "a#1", 1.0), ("q", "b", "b#1", 4.0), ("q", "b", "b#2", 3.0), ("q", "a", "a#2", 2.0)],
        schema=["query_id", "doc_id", "chunk_id", "score"],
        orient="row",
    )
    folder = scatter(run, tmp_path / "run", 2, random.Random(1))
    found = assay.evaluate({"q": {"a": 1}}, str(folder), "P@2,map", engine="local")
    assert found.mean() == {"P@2": 0.5, "map": 0.5}  # b before a; of four chunks, a would be third
    assert found.notes == assay.evaluate({"q": {"a": 1}}, run, "P@2,map").notes != ()
    whole = run.with_columns(chunk_id=pl.col("doc_id")).unique("doc_id")
    folder = scatter(whole, tmp_path / "whole", 2, random.Random(1))
    assert assay.evaluate({"q": {"a": 1}}, str(folder), "P@2", engine="local").protocol.fold is None


@pytest.mark.parametrize("form", ["rows", "file", "folder", "subtopics"])
def test_judgments_of_a_sample_are_refused_in_one_line(tmp_path, form, call):
    drawn = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [1], "inclusion": [0.5]})
    (tmp_path / "judged").mkdir()
    drawn.with_columns(subtopic=pl.lit("1")).write_parquet(tmp_path / "judged" / "part-0.parquet")
    drawn.write_ndjson(tmp_path / "judged.jsonl")
    places = {"rows": drawn.to_dicts(), "file": tmp_path / "judged.jsonl"}
    folder = scatter(rows_of_run({"q": {"a": 1.0}}), tmp_path / "run", 1, random.Random(1))
    measures = "alpha_ndcg@2" if form == "subtopics" else "P@1"
    with pytest.raises(AssayError, match=r"are a sample \(column inclusion\), from which engines do not") as told:
        assay.evaluate(places.get(form, tmp_path / "judged"), str(folder), measures, engine="local")
    assert "\n" not in str(told.value)
    judged = "judged" if form in {"folder", "subtopics"} else "judged.jsonl"
    code, out, err = call("evaluate", judged, "run/", "-m", measures, "--engine", "local")
    assert (code, out, err.count("\n")) == (2, "", 1) and "without an engine" in err
    if form in places:
        assert assay.evaluate(places[form], {"q": {"a": 1.0}}, measures).sampling is not None


def test_a_part_without_a_column_is_named(tmp_path):
    folder = scatter(rows_of_run({"q": {"a": 1.0, "b": 2.0}}), tmp_path / "run", 2, random.Random(1))
    pl.DataFrame({"query_id": ["q"], "doc_id": ["c"]}).write_parquet(folder / "part-9.parquet")
    with pytest.raises(InputError, match=r"part-9\.parquet: no column for score"):
        assay.evaluate({"q": {"a": 1}}, str(folder), engine="local")


def test_a_part_that_is_cut_off_is_named(tmp_path):
    folder = scatter(rows_of_run({"q": {"a": 1.0, "b": 2.0}}), tmp_path / "run", 2, random.Random(1))
    part = folder / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"part-1\.parquet"):
        assay.evaluate({"q": {"a": 1}}, str(folder), engine="local")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ({"score": ["high"]}, "score.* does not hold numbers"),
        ({"doc_id": [1.5], "score": [1.0]}, "doc_id.* does not hold text"),
        ({"doc_id": [["a"]], "score": [1.0]}, "doc_id.* does not hold text"),
    ],
)
def test_a_column_of_another_type_is_refused_before_it_is_read(column, told):
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], **column})
    with pytest.raises(InputError, match=told):
        LocalEngine().scan(frame, "run")


def test_what_begins_with_a_dot_or_a_low_line_is_no_part(tmp_path):
    folder = scatter(rows_of_run({"q": {"a": 1.0}}), tmp_path / "run", 1, random.Random(1))
    (folder / "_temporary").mkdir()
    for name in (".draft.parquet", "_temporary/part-1.parquet"):
        (folder / name).write_bytes(b"PAR1")
    assert [path.name for path in parquet_files(str(folder))] == ["part-0.parquet"]


def test_an_output_among_the_parts_that_are_read_is_refused(tmp_path):
    folder = scatter(rows_of_run({"q": {"a": 1.0}}), tmp_path / "run", 1, random.Random(1))
    for output in (folder, folder / "scores"):
        with pytest.raises(UsageError, match="is also an input"):
            assay.evaluate({"q": {"a": 1}}, str(folder), "map", engine="local", folder=output)


def test_commands_say_of_a_result_folder_what_they_say_of_a_result_file(tmp_path, call, monkeypatch):
    """Comparisons with weights, clusters and slices, gates and diagnoses rest on the same rows."""
    monkeypatch.setenv("COLUMNS", "200")
    bm25, other = (assay.read_run(path).frame for path in collection().runs[:2])
    scatter(bm25, tmp_path / "one.parquet", 2, random.Random(1))
    scatter(other, tmp_path / "two.parquet", 2, random.Random(1))
    queries = [f"q{i:02}" for i in range(1, 51)]
    tables = {
        "weights.csv": ["query_id,weight", *(f"{query},{i % 3 + 1}" for i, query in enumerate(queries))],
        "topics.csv": ["query_id,cluster", *(f"{query},{i // 2}" for i, query in enumerate(queries))],
        "queries.csv": ["query_id,text,kind", *(f"{query},tea,{'ab'[i % 2]}" for i, query in enumerate(queries))],
    }
    for name, lines in tables.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    words = ("evaluate", str(collection().judgments), "one.parquet", "two.parquet", "-m", "map,ndcg@10")
    words += ("--weights", "weights.csv", "--cluster", "topics.csv")
    for place in ("folder/", "file.json"):
        assert call(*words, "-o", place, "--engine", "local", "--parts", "3")[0] == 0
    for each in (
        ("compare", "{}"), ("compare", "{}", "--by", "kind", "--queries", "queries.csv", "-m", "map"),
        ("gate", "{}", "--fail-under", "map=0.2"), ("diagnose", "{}"),
    ):  # fmt: skip
        of_folder, of_file = (call(*(word.format(place) for word in each)) for place in ("folder", "file.json"))
        assert of_folder == of_file and of_file[0] in {0, 1} and len(of_file[1]) > 100


def test_plain_evaluation_imports_nothing_of_spark_or_arrow():
    """Nor does the local engine, nor the package."""
    program = (
        "import sys, assay\n"
        "assay.evaluate({{'q': {{'a': 1}}}}, {{'q': {{'a': 1.0}}}}, 'map')\n"
        "{}\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in {{'pyspark', 'pyarrow', 'pandas'}} or "
        "name.startswith('assay.engines')))"
    )
    for more, least in (("pass", "[]"), ("import assay.engines.spark, assay.engines.sessions", None)):
        done = subprocess.run([sys.executable, "-c", program.format(more)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == least if least else "pyspark'" not in done.stdout and "pyarrow" not in done.stdout
