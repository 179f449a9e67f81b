"""The kernel of whole queries: what it makes of some is not changed by others."""

from __future__ import annotations

import pickle
import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import assay
from assay.analysis.query_kernel import EvaluateQueries, rows_of
from assay.analysis.query_rows import scores_of
from assay.analysis.settings import Settings
from assay.engines.batches import whole_groups
from assay.engines.engine import part_of
from assay.errors import InputError
from assay.measures import REGISTRY
from lake import MEASURES, RULES, judged_rows, random_rows, rows_of_run


def kernel_of(judgments, measures, systems=("run",), **rules):
    settings = Settings.of(judgments, measures, "trec", **rules)
    return EvaluateQueries.of(settings, systems, judgments)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_rows_of_two_halves_are_the_rows_of_the_whole(rules, stress):
    for seed in range(200 if stress else 15):
        qrels, run = random_rows(random.Random(seed), 6)
        kernel = kernel_of(assay.Judgments.from_dict(qrels), MEASURES[rules.get("ties", "docid")], **rules)
        rows = rows_of_run(run)
        half = pl.col("query_id").map_elements(lambda query: part_of(query, 2), pl.Int64) == 0
        parts = [kernel(one) for one in (rows.filter(half), rows.filter(~half)) if len(one)]
        assert_frame_equal(pl.concat(parts).sort("query_id"), kernel(rows), check_exact=True)


def test_all_measures_of_rankings_are_among_those_that_are_compared():
    named = {assay.parse(text).name for text in MEASURES["docid"]}
    known = {
        name
        for name, spec in REGISTRY.items()
        if spec.of == "rankings" and spec.function.__module__.startswith("assay")
    }
    assert known - named == {name for name in known if REGISTRY[name].needs_subtopics}


def test_judgments_that_come_as_rows_give_what_those_of_the_kernel_give():
    qrels, run = random_rows(random.Random(3), 6)
    judgments = assay.Judgments.from_dict(qrels)
    carried = kernel_of(judgments, "ndcg@10,map")
    settings = carried.settings
    brought = EvaluateQueries.of(settings, ("run",), None)
    rows = pl.concat([rows_of_run(run), judged_rows(judgments)], how="diagonal")
    found = brought(rows)
    absent = carried.evaluate_absent("run", sorted(set(qrels) - set(run)))
    assert_frame_equal(found.sort("query_id"), pl.concat([carried(rows_of_run(run)), absent]).sort("query_id"))


def test_a_kernel_that_was_sent_to_a_worker_gives_the_same():
    qrels, run = random_rows(random.Random(4), 4)
    kernel = kernel_of(assay.Judgments.from_dict(qrels), "ndcg@10,err(max_grade=6)")
    assert_frame_equal(pickle.loads(pickle.dumps(kernel))(rows_of_run(run)), kernel(rows_of_run(run)))


def test_scores_of_rows_are_the_scores_of_an_evaluation():
    qrels, run = random_rows(random.Random(5), 6)
    kernel = kernel_of(assay.Judgments.from_dict(qrels), None)
    rows = pl.concat([kernel(rows_of_run(run)), kernel.evaluate_absent("run", sorted(set(qrels) - set(run)))])
    found, plain = scores_of(rows_of(rows, kernel.settings), kernel.settings), assay.evaluate(qrels, run)
    assert (found.mean(), found.counts, found.query_ids) == (plain.mean(), plain.counts, plain.query_ids)


@pytest.mark.parametrize("name", ["query_id", "doc_id", "score"])
def test_a_row_that_lacks_something_is_refused(name):
    kernel = kernel_of(assay.Judgments.from_dict({"q": {"a": 1}}), "map")
    rows = rows_of_run({"q": {"a": 1.0, "b": 0.5}})
    rows = rows.with_columns(pl.when(pl.col("doc_id") == "b").then(None).otherwise(pl.col(name)).alias(name))
    with pytest.raises(InputError, match="no id or no score"):
        kernel(rows)


@pytest.mark.parametrize("least", [1, 2, 5, 100])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_batches_are_joined_to_whole_groups(least, size):
    queries = [f"q{number}" for number in range(6) for _ in range(number % 4 + 1)]
    frame = pl.DataFrame({"query_id": queries, "place": range(len(queries))})
    found = list(whole_groups((frame[at : at + size] for at in range(0, len(frame), size)), least=least))
    assert_frame_equal(pl.concat(found), frame)
    seen = [query for rows in found for query in rows["query_id"].unique()]
    assert len(seen) == len(set(seen)), "a query is in two of them"
    assert least > len(frame) or len(found) > 1
