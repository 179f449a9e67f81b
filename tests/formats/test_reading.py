"""Every input format reads to the same judgments and runs, and what is written reads back."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.errors import InputError
from assay.formats import decoding
from assay.formats.documents import read_documents
from assay.formats.files import system_name
from assay.formats.queries import read_queries
from assay.formats.reading import read_chunk_map, read_judgments, read_records, read_run, read_weights
from assay.formats.samples import read_samples
from assay.formats.writing import write_judgments, write_run

GRADES = {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d1": 1.0, "d3": -1.0}}
SCORES = {"q1": {"d2": 1.5, "d1": 0.25}, "q2": {"d1": -3.0}}
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 -1\n"
RUN = "q1 Q0 d2 1 1.5 tag\nq1 Q0 d1 2 0.25 tag\nq2 Q0 d1 1 -3 tag\n"


def rows(nested: dict, value: str) -> list[dict]:
    return [{"query_id": q, "doc_id": d, value: v} for q, docs in nested.items() for d, v in docs.items()]


VARIANTS = {
    "tabs": lambda text: text.replace(" ", "\t"),
    "many blanks": lambda text: text.replace(" ", "   \t "),
    "leading blanks": lambda text: "".join(f"  {line}\n" for line in text.splitlines()),
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "comments": lambda text: "# first\n" + text.replace("\nq2", "\n# between\nq2"),
    "blank lines": lambda text: "\n\n" + text + "\n",
    "byte order mark": lambda text: "\ufeff" + text,
    "no final newline": lambda text: text.rstrip("\n"),
    "trailing blanks": lambda text: text.replace("\n", " \n"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_trec_files_in_every_layout(variant, tmp_path):
    (tmp_path / "a.qrels").write_bytes(VARIANTS[variant](QRELS).encode())
    (tmp_path / "a.run").write_bytes(VARIANTS[variant](RUN).encode())
    assert read_judgments(tmp_path / "a.qrels").to_dict() == GRADES
    assert read_run(tmp_path / "a.run").to_dict() == SCORES


def test_trec_run_with_trailing_fields(tmp_path):
    (tmp_path / "a.run").write_text(RUN.replace(" tag", " tag more fields"))
    assert read_run(tmp_path / "a.run").to_dict() == SCORES


def test_trec_run_without_tag(tmp_path):
    (tmp_path / "a.run").write_text(RUN.replace(" tag", ""))
    assert read_run(tmp_path / "a.run").to_dict() == SCORES


def test_document_ids_may_contain_hashes_quotes_and_unicode(tmp_path):
    (tmp_path / "a.run").write_text('q1 Q0 doc#1 1 3 t\nq1 Q0 "d2 2 2 t\nq1 Q0 文档 3 1 t\n')
    assert read_run(tmp_path / "a.run").to_dict() == {"q1": {"doc#1": 3.0, '"d2': 2.0, "文档": 1.0}}


def test_gzip_and_standard_input(tmp_path, monkeypatch):
    (tmp_path / "a.run.gz").write_bytes(gzip.compress(RUN.encode()))
    assert read_run(tmp_path / "a.run.gz").to_dict() == SCORES
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert read_run("-").to_dict() == SCORES


FILES = {
    "j.json": json.dumps(GRADES),
    "j.jsonl": "".join(json.dumps(row) + "\n" for row in rows(GRADES, "grade")),
    "rows.json": json.dumps(rows(GRADES, "relevance")),
    "j.csv": "qid,docno,rel\nq1,d1,2\nq1,d2,0\nq2,d1,1\nq2,d3,-1\n",
    "j.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\nq2\td3\t-1\n",
    "j.txt": "query_id,doc_id,grade\nq1,d1,2\nq1,d2,0\nq2,d1,1\nq2,d3,-1\n",
    "noheader.tsv": QRELS.replace(" ", "\t"),
    "guessed": json.dumps(GRADES),
}


@pytest.mark.parametrize("name", FILES)
def test_judgments_in_other_formats(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    assert read_judgments(tmp_path / name).to_dict() == GRADES


def test_columns_under_other_names_are_mentioned(tmp_path):
    (tmp_path / "j.csv").write_text(FILES["j.csv"])
    assert read_judgments(tmp_path / "j.csv").notes == (
        "column 'qid' is read as query_id",
        "column 'docno' is read as doc_id",
        "column 'rel' is read as grade",
    )


def test_runs_by_rank_and_as_lists(tmp_path):
    (tmp_path / "r.csv").write_text("query_id,doc_id,rank\nq1,d2,1\nq1,d1,2\n")
    assert read_run(tmp_path / "r.csv").to_dict() == {"q1": {"d2": -1.0, "d1": -2.0}}
    (tmp_path / "r.json").write_text('{"q1": ["d2", "d1"]}')
    assert read_run(tmp_path / "r.json").to_dict() == {"q1": {"d2": -1.0, "d1": -2.0}}


def test_parquet_and_numeric_ids(tmp_path):
    pl.DataFrame({"query_id": [1, 1], "doc_id": [10, 11], "score": [2.0, 1.0]}).write_parquet(tmp_path / "r.parquet")
    assert read_run(tmp_path / "r.parquet").to_dict() == {"1": {"10": 2.0, "11": 1.0}}


def test_beir_folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(FILES["j.tsv"])
    assert read_judgments(tmp_path).to_dict() == GRADES
    with pytest.raises(assay.InputError, match="no split 'dev'"):
        read_judgments(tmp_path, split="dev")


FRAMES = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "lazy": lambda data: pl.DataFrame(data).lazy(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_as_input(kind):
    judged = {"query_id": ["a", "a"], "doc_id": ["x", "y"], "grade": [1, 0]}
    listed = {"query_id": ["a", "a"], "doc_id": ["y", "x"], "score": [2.0, 1.0]}
    scores = assay.evaluate(FRAMES[kind](judged), FRAMES[kind](listed), ["mrr"])
    assert scores["reciprocal_rank"] == 0.5


def test_dicts_with_numbers_as_ids():
    assert assay.evaluate({1: {10: 1}}, {1: {10: 0.5, 11: 0.9}}, ["mrr"])["reciprocal_rank"] == 0.5


def test_dicts_in_another_order_score_the_same():
    judgments, run = {"a": {"x": 1}, "b": {"y": 1}}, {"b": {"y": 1.0}, "a": {"x": 1.0}}
    assert assay.evaluate(judgments, run, ["mrr"])["reciprocal_rank"] == 1.0


@pytest.mark.parametrize("suffix", ["qrels", "json", "jsonl", "csv", "tsv", "parquet"])
def test_written_judgments_read_back(suffix, tmp_path):
    judgments = assay.Judgments.from_dict({"q1": {"d1": 2, "d2": 0.5}, "q2": {"d3": -1}})
    assay.write_judgments(judgments, tmp_path / f"j.{suffix}")
    assert read_judgments(tmp_path / f"j.{suffix}").to_dict() == judgments.to_dict()


@pytest.mark.parametrize("suffix", ["run", "json", "jsonl", "csv", "tsv", "parquet"])
def test_written_runs_read_back(suffix, tmp_path):
    run = assay.Run.from_dict(SCORES)
    assay.write_run(run, tmp_path / f"r.{suffix}")
    assert read_run(tmp_path / f"r.{suffix}").to_dict() == SCORES


def test_an_id_with_blanks_is_not_written_to_a_trec_file(tmp_path):
    with pytest.raises(assay.InputError, match="contain blanks"):
        assay.write_run(assay.Run.from_dict({"q": {"a b": 1.0}}), tmp_path / "r.run")


def test_records_of_retrieved_and_relevant(tmp_path):
    (tmp_path / "r.jsonl").write_text(
        '{"query": "a", "retrieved": ["d1", "d5", "d3"], "relevant": ["d1", "d3"]}\n'
        '{"query": "b", "retrieved": [], "relevant": {"d2": 2}}\n'
    )
    records = read_records(tmp_path / "r.jsonl")
    assert records.judgments.to_dict() == {"a": {"d1": 1.0, "d3": 1.0}, "b": {"d2": 2.0}}
    assert records.runs[0].to_dict() == {"a": {"d1": -1.0, "d5": -2.0, "d3": -3.0}}
    assert records.runs[0].empty == ("b",)


def test_gold_as_and_of_ors_counts_satisfied_groups(tmp_path):
    (tmp_path / "r.jsonl").write_text(
        '{"query_id": "1", "retrieved_ids": ["x", "b", "c"], "retrieval_gt": [["a", "b"], ["c"], ["d"]]}\n'
    )
    records = read_records(tmp_path / "r.jsonl")
    scores = assay.evaluate(records.judgments, records.runs[0], ["recall@2", "recall@3", "precision@3"])
    assert scores["recall@2"] == pytest.approx(1 / 3)
    assert scores["recall@3"] == pytest.approx(2 / 3)
    assert scores["precision@3"] == pytest.approx(2 / 3)


def test_chunk_maps_and_weights(tmp_path):
    (tmp_path / "map.tsv").write_text("c1 A\nc2 B\n")
    (tmp_path / "map.json").write_text('{"c1": "A", "c2": "B"}')
    (tmp_path / "map.csv").write_text("chunk_id,doc_id\nc1,A\nc2,B\n")
    for name in ("map.tsv", "map.json", "map.csv"):
        assert read_chunk_map(str(tmp_path / name)) == {"c1": "A", "c2": "B"}
    (tmp_path / "w.csv").write_text("query_id,traffic\nq1,3\nq2,1\n")
    assert read_weights(str(tmp_path / "w.csv")) == {"q1": 3.0, "q2": 1.0}


def test_a_run_with_a_document_column_folds_by_it(tmp_path):
    (tmp_path / "r.csv").write_text("query_id,chunk_id,doc_id,score\nq,a1,A,5\nq,a2,A,4\nq,b1,B,3\n")
    run = read_run(tmp_path / "r.csv")
    scores = assay.evaluate({"q": {"B": 1}}, run, ["mrr"], fold="before")
    assert scores["reciprocal_rank"] == 0.5


@pytest.mark.parametrize(
    ("path", "name"),
    [("out/bm25.run", "bm25"), ("a.b.run.gz", "a.b"), ("results.test", "results.test"), ("v1.2.json", "v1.2")],
)
def test_systems_are_named_after_their_files(path, name):
    assert system_name(path) == name


ROW = '{"query_id": "q1", "doc_id": "a", "score": 1, "score": 9}'
GRADE = '{"query_id": "q1", "doc_id": "a", "grade": 1, "grade": 2}'
TWICE = {
    "run.jsonl": (ROW + "\n", read_run, "score", 1),
    "run.json": (f"[{ROW}]", read_run, "score", None),
    "judgments.jsonl": ("\n" + GRADE + "\n", read_judgments, "grade", 2),
    "records.jsonl": ('{"query": "q", "retrieved": ["a"], "relevant": {"a": 1, "a": 2}}\n', read_records, "a", 1),
    "records.json": ('[{"query": "q", "relevance": [1], "relevance": [0]}]', read_records, "relevance", None),
    "lists.json": ('{"q": [1, 0], "q": [0, 1]}', read_records, "q", None),
    "samples.jsonl": ('{"question": "?", "answer": "a", "answer": "b"}\n', read_samples, "answer", 1),
    "samples.json": ('{"data": [{"question": "?", "answer": "a", "answer": "b"}]}', read_samples, "answer", None),
    "inner.jsonl": ('{"answer": "a", "contexts": [{"id": 1, "text": "x", "text": "y"}]}\n', read_samples, "text", 1),
    "queries.jsonl": ('{"query_id": "q1", "text": "a", "text": "b"}\n', read_queries, "text", 1),
    "documents.jsonl": ('{"doc_id": "d1", "text": "a", "text": "b"}\n', read_documents, "text", 1),
    "weights.json": ('{"q1": 1, "q1": 2}', read_weights, "q1", None),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_key_that_appears_twice_in_one_json_object_is_refused(tmp_path, name):
    text, reader, key, line = TWICE[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(assay.InputError, match=f"key '{key}' appears twice in one object") as caught:
        reader(str(tmp_path / name))
    assert caught.value.line == line


def test_a_key_that_appears_twice_in_a_cell_is_a_fault_of_that_sample(tmp_path):
    cell = '[{""id"": 1, ""text"": ""x"", ""text"": ""y""}]'
    (tmp_path / "s.csv").write_text(f'question,answer,contexts\n?,a,"{cell}"\n?,b,"[""x""]"\n')
    samples = read_samples(tmp_path / "s.csv")
    assert [dict(sample.faults) for sample in samples] == [{"contexts": "key 'text' appears twice in one object"}, {}]


# Ids that a spreadsheet would run ------------------------------------------------------------------------------------

RUNNING = [
    "=cmd|x",
    "@SUM(1)",
    "+A1(2)",
    "-2+3+cmd|' /C calc'!A0",
    "\t=1",
    "＝1+1",
    "'=1",
    "''@x",
    '=HYPERLINK("x","y")',
]
PLAIN = ["-abc_12", "+49", "-12", "d1", "'", "'quoted'", "a=b", "1e5", "甲", "#1", "it's"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
@pytest.mark.parametrize("chunks", [False, True])
def test_ids_that_a_spreadsheet_would_run_are_guarded_and_read_back_as_they_were(suffix, chunks, tmp_path):
    ids = [*RUNNING, *PLAIN]
    place = tmp_path / f"r.{suffix}"
    frame = pl.DataFrame({"query_id": ids, "doc_id": ids[::-1], "score": [1.5] * len(ids)})
    if chunks:
        frame = frame.with_columns(chunk_id=pl.col("doc_id") + "#1")
    write_run(Run(frame, "r"), place)
    read = read_run(place)
    assert read.frame.select(frame.columns).equals(frame)
    data = gzip.decompress(place.read_bytes()) if suffix.endswith("gz") else place.read_bytes()
    cells = pl.read_csv(io.BytesIO(data), separator="\t" if suffix == "tsv" else ",", infer_schema=False)[
        "query_id"
    ].to_list()
    assert [cell[0] for cell in cells[: len(RUNNING)]] == ["'"] * len(RUNNING)
    assert cells[len(RUNNING) :] == PLAIN
    judged = Judgments.from_dict({name: {name: 1} for name in ids})
    write_judgments(judged, tmp_path / f"j.{suffix}")
    assert read_judgments(tmp_path / f"j.{suffix}").digest == judged.digest


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "trec"])
def test_files_that_no_spreadsheet_runs_hold_ids_as_they_are(suffix, tmp_path):
    ids = [name for name in (*RUNNING, *PLAIN) if not set(name) & set(" \t#")]
    run = Run(pl.DataFrame({"query_id": ids, "doc_id": ids, "score": [1.0] * len(ids)}), "r")
    write_run(run, tmp_path / f"r.{suffix}")
    assert sorted(read_run(tmp_path / f"r.{suffix}").frame["doc_id"]) == sorted(ids)
    if suffix == "trec":
        assert "'=cmd" not in (tmp_path / "r.trec").read_text(encoding="utf-8")


@given(st.lists(st.text("=+-@'\t(|!ab１＝", min_size=1), min_size=1, unique=True))
def test_a_guard_is_taken_away_exactly(ids):
    from assay.formats.formulas import guard, guard_texts, unguard, unguard_texts

    assert [unguard(guard(text)) for text in ids] == ids
    frame = pl.DataFrame({"doc_id": ids})
    held = guard_texts(frame)
    assert held["doc_id"].to_list() == [guard(text) for text in ids]
    assert unguard_texts(held, ["doc_id"]).equals(frame)
    assert not any(text[0] in "=@＝" for text in held["doc_id"])


def test_a_split_file_guards_its_ids_too(tmp_path):
    from assay.formats.splits import read_training, write_split

    write_split(["=cmd|x", "q1"], ["@x"], tmp_path / "s.tsv")
    assert "\n'=cmd|x\ttrain\n" in (tmp_path / "s.tsv").read_text(encoding="utf-8")
    assert sorted(read_training(tmp_path / "s.tsv")) == ["=cmd|x", "q1"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.csv", "query_id,doc_id,score,score\nq1,a,1,9\n"), ("j.tsv", "query_id\tdoc_id\tgrade\tgrade\nq1\ta\t1\t2\n")],
)
def test_a_column_that_appears_twice_in_a_header_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(assay.InputError, match=r"column '(score|grade)' appears twice in the header"):
        (read_run if name == "r.csv" else read_judgments)(str(tmp_path / name))


def test_looking_for_the_key_that_appears_twice_takes_one_pass():
    compared = []

    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            compared.append(self)
            return str(self) == str(other)

        def __hash__(self):
            return hash(str(self))

    keys = [Key(f"query-{number}") for number in range(200)]
    with pytest.raises(decoding.RepeatedKey, match="key 'query-7' appears twice"):
        decoding._unique([(key, 1) for key in [*keys, Key("query-7")]])
    assert len(compared) < 3 * len(keys)


def test_two_blanks_before_the_rank_do_not_shift_the_fields(tmp_path):
    judged = {"q": {"a": 1, "b": 0}}
    for gap in (" ", "  "):
        (tmp_path / "some.run").write_text(
            "".join(f"q Q0 {doc}{gap}{rank} {score}\n" for doc, rank, score in (("b", 1, 5), ("a", 2, 9)))
        )
        assert assay.evaluate(judged, tmp_path / "some.run", ["recip_rank"])["recip_rank"] == 1.0
        assert assay.read_run(tmp_path / "some.run").to_dict() == {"q": {"b": 5.0, "a": 9.0}}


def test_tables_without_a_header_are_id_and_text(tmp_path):
    from assay.formats.documents import read_documents
    from assay.formats.queries import read_queries

    (tmp_path / "q.tsv").write_text("0\tHow many?\n1\tWhat is it?\n")
    assert read_queries(tmp_path / "q.tsv").texts() == {"0": "How many?", "1": "What is it?"}
    assert read_documents(tmp_path / "q.tsv") == {"0": "How many?", "1": "What is it?"}


def test_comments_in_the_middle_name_the_judge_too(tmp_path):
    (tmp_path / "both.qrels").write_text("q 0 a 1\n# judge: model (p-1)\nq 0 b 2\n")
    assert assay.read_judgments(tmp_path / "both.qrels").judge == "model (p-1)"


def test_a_pipe_is_read_once_and_whole(tmp_path):
    lines = "".join(f"q{i} Q0 d 1 1 r\n" for i in range(30_000)).encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(lines,))
    writer.start()
    assert len(read_run(pipe)) == 30_000
    writer.join()


def test_a_run_is_not_taken_for_judgments(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 0.5 r\n")
    (tmp_path / "a.csv").write_text("query_id,doc_id,score,rank\nq,d,0.5,1\n")
    with pytest.raises(InputError, match="this is a run, not judgments"):
        read_judgments(tmp_path / "a.run")
    with pytest.raises(InputError, match="make a run, not judgments"):
        read_judgments(tmp_path / "a.csv")


def test_blanks_inside_ids_are_noticed(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 my doc 1 0.9 tag\n")
    with pytest.raises(InputError, match=r"a\.run:1: the rank is 'doc', not a number"):
        read_run(tmp_path / "a.run")
    (tmp_path / "b.run").write_bytes("q1 Q0 a\u3000b 1 0.9 tag\r\n".encode())
    assert read_run(tmp_path / "b.run").to_dict() == {"q1": {"a\u3000b": 0.9}}


def test_a_line_with_two_blanks_and_a_field_missing_is_noticed(tmp_path):
    good = "".join(f"q1 Q0 d{i} {i} {-i} r\n" for i in range(9000))
    (tmp_path / "a.run").write_text(good + "q2  Q0 d1 1 0.5\n")
    assert read_run(tmp_path / "a.run").to_dict()["q2"] == {"d1": 0.5}


def test_repeated_documents_are_named_with_their_lines(tmp_path):
    (tmp_path / "a.run").write_text("# x\nq Q0 d 1 2 r\nq Q0 e 2 1 r\nq Q0 d 3 0 r\n")
    with pytest.raises(InputError, match=r"document 'd' is listed twice for query 'q' \(lines 2 and 4\)"):
        assay.evaluate({"q": {"d": 1}}, tmp_path / "a.run", ["mrr"])
    (tmp_path / "a.qrels").write_text("q 0 d 1\nq 0 d 0\n")
    with pytest.raises(InputError, match=r"judged twice for query 'q' \(lines 1 and 2\)"):
        read_judgments(tmp_path / "a.qrels")


CHUNKS = [("q", "a", "a#1", 3.0), ("q", "b", "b#1", 2.0), ("q", "a", "a#2", 1.0)]


def chunk_run(rows: list[tuple[str, str, str, float]]) -> Run:
    return Run(pl.DataFrame(rows, schema=["query_id", "doc_id", "chunk_id", "score"], orient="row"), "mine")


@pytest.mark.parametrize("suffix", ["run", "json"])
def test_a_run_whose_chunks_are_whole_documents_fits_where_chunks_do_not(suffix, call, tmp_path):
    write_run(chunk_run([("q", "a", "a", 2.0), ("q", "b", "b", 1.0)]), tmp_path / "whole.jsonl")
    write_run(chunk_run(CHUNKS), tmp_path / "chunks.jsonl")
    assert call("convert", "run", "whole.jsonl", f"whole.{suffix}")[0] == 0
    assert read_run(tmp_path / f"whole.{suffix}").to_dict() == {"q": {"a": 2.0, "b": 1.0}}
    code, _, error = call("convert", "run", "chunks.jsonl", f"chunks.{suffix}")
    assert code == 2 and "a run with chunk ids does not fit" in error


def test_a_run_of_chunks_is_folded_to_documents_and_that_is_said(call, tmp_path):
    write_run(chunk_run(CHUNKS), tmp_path / "chunks.jsonl")
    (tmp_path / "qrels").write_text("q 0 b 1\n")
    code, values, notes = call("evaluate", "qrels", "chunks.jsonl", "-m", "mrr", "--format", "csv")
    assert (code, values.split()[-1]) == (0, "chunks,0.5")
    assert "folded to documents" in notes
    folded = call("evaluate", "qrels", "chunks.jsonl", "-m", "mrr", "--fold", "before", "--format", "csv")
    assert folded[1] == values


def test_a_result_is_written_scores_first(tmp_path):
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"])
    with pytest.raises(assay.UsageError, match="comes first, then the file"):
        assay.write_result(tmp_path / "out.json", [scores])
    assert not (tmp_path / "out.json").exists()
