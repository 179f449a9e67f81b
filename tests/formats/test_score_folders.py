"""Results as folders: nothing half-written is ever read as one."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.analysis.check_files import identify
from assay.analysis.query_kernel import EvaluateQueries
from assay.engines.local import LocalEngine
from assay.errors import InputError
from assay.formats.detect import MANIFEST, is_result_file
from assay.formats.files import RESULT
from assay.formats.text_folders import walk

QRELS = {f"q{number}": {"a": number % 3, "b": 1} for number in range(12)}
RUN = {f"q{number}": {"a": 1.0, "b": number / 7, "c": 0.3} for number in range(1, 14)}


@pytest.fixture
def run(tmp_path):
    rows = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    frame.write_parquet(tmp_path / "run.parquet")
    return str(tmp_path / "run.parquet")


def evaluate(run, folder, measures="ndcg@10,map", **options):
    return assay.evaluate(QRELS, run, measures, engine="local", folder=folder, parts=4, **options)


def parts_of(folder):
    return sorted(Path(folder).glob("part-*.parquet"))


def test_a_folder_is_read_like_a_result_file(tmp_path, run, call):
    one, other = (
        evaluate(run, tmp_path / "one", name="one"),
        evaluate(run, tmp_path / "other", "map,ndcg@10", name="other"),
    )
    (read,) = assay.read_result(tmp_path / "one")
    plain = assay.evaluate(QRELS, RUN, "ndcg@10,map")
    assert (read.mean(), read.counts, read.query_ids) == (plain.mean(), plain.counts, plain.query_ids)
    assert read.warnings == plain.warnings
    code, out, err = call("compare", "one", "other", "--baseline", "one", "-m", "map")
    assert code == 0 and "12 queries" in out + err, out + err
    assert call("gate", "one", "--baseline", "other", "--not-worse-than", "other", "-m", "map")[0] in {0, 1}
    code, out, err = call("report", "one", "-o", "r.html")
    assert code == 0 and (tmp_path / "r.html").read_text(encoding="utf-8").count("ndcg@10"), err
    assert one.mean().keys() == set(other.mean())


def test_folders_of_engines_and_of_experiments_are_results_side_by_side(tmp_path, run, call):
    evaluate(run, tmp_path / "docs" / "engine", name="engine")
    (tmp_path / "docs" / "experiment").mkdir()
    scores = assay.evaluate(QRELS, RUN, "map,ndcg@10", name="experiment")
    assay.write_result(scores, tmp_path / "docs" / "experiment" / RESULT)
    (tmp_path / "docs" / "tea.txt").write_text("Tea is a drink.\n", encoding="utf-8")
    for name in ("engine", "experiment"):
        (read,) = assay.read_result(tmp_path / "docs" / name)
        assert (read.name, read["map"]) == (name, scores["map"])
        assert identify(str(tmp_path / "docs" / name)) == "result"
    code, out, err = call("compare", "docs/engine", "docs/experiment", "--baseline", "engine", "-m", "map")
    assert code == 0 and "12 queries" in out + err, out + err
    assert [path.name for path in walk(tmp_path / "docs")] == ["tea.txt"]


def test_a_part_that_is_finished_is_not_done_again(tmp_path, run, monkeypatch):
    done = []
    whole = EvaluateQueries.__call__

    def stop_at_the_third(self, rows):
        done.append(sorted(rows["query_id"].unique()))
        if len(done) == 3:
            raise KeyboardInterrupt
        return whole(self, rows)

    monkeypatch.setattr(EvaluateQueries, "__call__", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        evaluate(run, tmp_path / "out")
    assert len(parts_of(tmp_path / "out")) == 2 and not is_result_file(str(tmp_path / "out"))
    evaluate(run, tmp_path / "out")
    assert done[3:] == [done[2], *done[4:]] and len(done) == 5, "parts one and two were there"
    (read,) = assay.read_result(tmp_path / "out")
    assert read.mean() == assay.evaluate(QRELS, RUN, "ndcg@10,map").mean()
    evaluate(run, tmp_path / "out")
    assert len(done) == 5, "the whole was there"


def test_other_rules_do_not_take_up_what_is_there(tmp_path, run):
    evaluate(run, tmp_path / "out")
    with pytest.raises(InputError, match="already holds another result"):
        evaluate(run, tmp_path / "out", "ndcg@10,map", ties="given")
    (read,) = assay.read_result(tmp_path / "out")
    assert read.protocol.ties == "docid"


def test_parts_of_another_input_are_not_taken(tmp_path, run):
    evaluate(run, tmp_path / "out")
    (tmp_path / "out" / MANIFEST).unlink()
    pl.read_parquet(run).with_columns(-pl.col("score")).write_parquet(run)
    changed = {query: {doc: -score for doc, score in docs.items()} for query, docs in RUN.items()}
    assert evaluate(run, tmp_path / "out").mean() == assay.evaluate(QRELS, changed, "ndcg@10,map").mean()
    assert len(parts_of(tmp_path / "out")) == 8
    assert assay.read_result(tmp_path / "out")[0].mean() == assay.evaluate(QRELS, changed, "ndcg@10,map").mean()


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "swap"])
def test_a_damaged_part_is_named_and_never_read(tmp_path, run, damage):
    evaluate(run, tmp_path / "out")
    first, second, *_ = parts_of(tmp_path / "out")
    data = first.read_bytes()
    if damage == "gone":
        first.unlink()
    elif damage == "swap":
        first.write_bytes(second.read_bytes())
    else:
        first.write_bytes(data[:-9] if damage == "cut" else data[:40] + bytes([data[40] ^ 1]) + data[41:])
    with pytest.raises(InputError, match=first.name):
        assay.read_result(tmp_path / "out")


def test_a_damaged_part_of_a_job_that_goes_on_is_done_again(tmp_path, run):
    evaluate(run, tmp_path / "out")
    (tmp_path / "out" / MANIFEST).unlink()
    first = parts_of(tmp_path / "out")[0]
    first.write_bytes(first.read_bytes()[:-9])
    evaluate(run, tmp_path / "out")
    assert assay.read_result(tmp_path / "out")[0].mean() == assay.evaluate(QRELS, RUN, "ndcg@10,map").mean()


@pytest.mark.parametrize("at", range(5))
def test_a_full_disk_leaves_no_result(tmp_path, run, monkeypatch, at):
    """The first, second ... of four parts and a manifest cannot be written; then there is room again."""
    count, real = iter(range(99)), os.fsync

    def fail(handle):
        if stat.S_ISREG(os.fstat(handle).st_mode) and next(count) == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="cannot be written"):
        evaluate(run, tmp_path / "out")
    assert not is_result_file(str(tmp_path / "out")) and len(parts_of(tmp_path / "out")) == at
    assert list((tmp_path / "out").glob(".*")) == []
    evaluate(run, tmp_path / "out")
    assert assay.read_result(tmp_path / "out")[0].mean() == assay.evaluate(QRELS, RUN, "ndcg@10,map").mean()


def test_of_two_writers_one_is_told_that_the_other_was_faster(tmp_path, run, monkeypatch):
    both, told, real = threading.Barrier(2), [], LocalEngine.scan

    def scan_together(self, *args, **more):
        both.wait(60)
        return real(self, *args, **more)

    monkeypatch.setattr(LocalEngine, "scan", scan_together)

    def write(measures):
        try:
            evaluate(run, tmp_path / "out", measures)
            told.append("")
        except InputError as error:
            told.append(str(error))

    threads = [threading.Thread(target=write, args=(measures,)) for measures in ("map", "ndcg@10")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("already holds another result" in one for one in told) == 1 and "" in told
    (read,) = assay.read_result(tmp_path / "out")
    (label,) = read.labels
    assert read[label] == assay.evaluate(QRELS, RUN, label)[label]


@pytest.mark.parametrize("change", [{"form": 9}, {"parts": []}, {"parts": ["x"]}, None])
def test_a_manifest_of_another_form_is_refused(tmp_path, run, change):
    evaluate(run, tmp_path / "out")
    path = tmp_path / "out" / MANIFEST
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["tables"] = None if change is None else plain["tables"] | change
    path.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        assay.read_result(tmp_path / "out")
