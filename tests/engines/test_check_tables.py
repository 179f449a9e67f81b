"""Judgments and runs in Parquet folders are checked as files are."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

import assay
from assay.analysis.check_kernels import CheckGrades, CheckLists, merge
from assay.analysis.check_tables import check_tables
from assay.engines.engine import part_of
from assay.errors import InputError
from assay.messages import tell
from lake import faulty_rows, scatter


def told(found):
    """Everything that is said, but for rows out of order, which rows of a table cannot be."""
    return [
        (one.kind, one.count, one.message, tell(one.message, "zh"), one.error)
        for one in found.findings
        if one.kind != "unsorted run"
    ]


@pytest.fixture(scope="module", params=range(4))
def case(request, tmp_path_factory):
    """Judgments and a run, as files and as folders."""
    rng = random.Random(request.param)
    place = tmp_path_factory.mktemp("case")
    judged, run = faulty_rows(rng, 8)
    for name, rows in (("judged", judged), ("run", run)):
        rows.write_parquet(place / f"{name}.parquet")
        scatter(rows, place / name, 3, rng)
    return place


@pytest.mark.parametrize("carried", [0, 10**6])
def test_folders_have_the_findings_of_files(case, carried):
    plain = assay.check(str(case / "judged.parquet"), [str(case / "run.parquet")])
    found = check_tables(str(case / "judged"), [str(case / "run")], carried=carried)
    # Judged documents that are not sent to the workers are not compared with others by their ids.
    far = {"ids in other forms", "ids look like chunks"} if carried == 0 else set()
    kinds = {one[0] for one in told(plain)}
    assert len(kinds) >= 9 and [one for one in told(found) if one[0] not in far or "query_id" in one[2]] == [
        one for one in told(plain) if one[0] not in far or "query_id" in one[2]
    ]
    for one in found.findings:
        assert (list(one.examples) == sorted(one.examples) and len(one.examples) == min(one.count, 3)) or one.error


def test_tallies_of_two_halves_add_up_to_those_of_the_whole():
    for seed in range(20):
        judged, run = faulty_rows(random.Random(seed), 6)
        for kernel, rows in ((CheckGrades(), judged), (CheckLists(judged), run)):
            half = pl.col("query_id").map_elements(lambda query: part_of(query, 2), pl.Int64) == 0
            parts = pl.concat([kernel(rows.filter(half)), kernel(rows.filter(~half))])
            assert merge(parts) == merge(kernel(rows)) != {}


def test_each_run_of_a_table_has_findings_of_its_own(tmp_path):
    rows = [("old", "q", "a", 1.0), ("old", "q", "a", 1.0), ("new", "q", "a", 2.0), ("new", "r", "b", 1.0)]
    run = pl.DataFrame(rows, schema=["system", "query_id", "doc_id", "score"], orient="row")
    folder = str(scatter(run, tmp_path / "runs", 2, random.Random(1)))
    found = assay.check({"q": {"a": 1}}, [folder], engine="local")
    assert [(one.where, one.kind, one.count, one.examples) for one in found.findings] == [
        (f"{folder}: new", "query without judgments", 1, ("r",)),
        (f"{folder}: old", "duplicate document", 1, ("q a 1",)),
        (f"{folder}: old", "all scores tied", 1, ("q",)),
    ]


def test_the_command_checks_folders_alone_and_together(tmp_path, call):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], "rank": [2, 1]})
    scatter(run, tmp_path / "run", 2, random.Random(1))
    judged = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [0.5]})
    scatter(judged, tmp_path / "judged", 1, random.Random(1))
    code, out, _ = call("check", "run")
    assert code == 1 and "run: a run, 1 query, 2 rows" in out and "rank contradicts score: 1 query" in out
    code, out, _ = call("check", "judged", "run", "--format", "json")
    found = json.loads(out)
    assert [one["kind"] for one in found["findings"]] == [
        "fractional grade", "rank contradicts score", "unjudged documents",
    ]  # fmt: skip
    assert [one["kind"] for one in found["files"]] == ["judgments", "run"]
    pl.DataFrame({"query_id": ["q"], "text": ["tea"]}).write_parquet(tmp_path / "queries.parquet")
    code, out, err = call("check", "queries.parquet", "--engine", "local")
    assert (code, out, err.count("\n")) == (2, "", 1) and "checks judgments and runs" in err


def test_a_row_without_a_document_is_refused(tmp_path):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", None], "score": [2.0, 1.0]})
    folder = scatter(run, tmp_path / "run", 2, random.Random(1))
    with pytest.raises(InputError, match="no id or no score"):
        assay.check({"q": {"a": 1}}, [str(folder)], engine="local")
