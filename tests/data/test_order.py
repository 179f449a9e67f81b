"""The order of a list: ties, rows as given, chunks of one document."""

from __future__ import annotations

import polars as pl

import assay


def one(measure: str, judgments: dict, run: object, **options: object) -> float:
    return assay.evaluate(judgments, run, [measure], **options)[measure]


def test_given_order_holds_within_float32_ties_of_unsorted_rows():
    rows = [("q", "a", 1.0), ("q", "b", 1.0 + 1e-9), ("q", "c", 2.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    for data in (frame, {"q": {doc: score for _, doc, score in rows}}):
        assert one("reciprocal_rank", {"q": {"a": 1}}, data, protocol="trec9", ties="given") == 0.5


def test_judged_only_keeps_the_cut_of_folded_chunks():
    run = {"q": {"X#1": 4.0, "A#1": 3.0, "C#1": 2.0}}
    options = {"fold": "after", "chunks": "{doc}#{chunk}"}
    assert one("recall@2", {"q": {"A": 1, "C": 1}}, run, **options) == 0.5
    assert one("recall(judged_only=true)@2", {"q": {"A": 1, "C": 1}}, run, **options) == 0.5


def test_tied_chunks_are_ordered_by_their_own_ids():
    run = {"q": {"A#1": 1.0, "B#9": 1.0}}
    assert one("reciprocal_rank", {"q": {"A": 1}}, run, fold="before", chunks="{doc}#{chunk}") == 0.5
    assert one("reciprocal_rank", {"q": {"A": 1}}, run, fold="before", chunks="{doc}#{chunk}", ties="given") == 1.0


def test_the_last_separator_of_a_chunk_id_counts():
    assert (
        one("reciprocal_rank", {"q": {"a#b": 1}}, {"q": {"a#b#3": 1.0}}, fold="before", chunks="{doc}#{chunk}") == 1.0
    )
