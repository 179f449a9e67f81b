"""Means whose interval ends at a bound of their measure are named by every part that shows intervals of means."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import assay
from assay.analysis.answers import answer_details
from assay.analysis.diagnose import diagnose_scores
from assay.analysis.means import column_mean
from assay.analysis.report_data import report_data
from assay.formats.queries import Queries
from assay.report.views.result import pages
from assay.results.experiment import Findings, Quality, Row
from assay.results.result import Result
from assay.stats import difference_interval, mean_interval

QUERIES = [f"q{i}" for i in range(60)]
JUDGED = {query: {"a": 1} for query in QUERIES}
HALF = Queries(pl.DataFrame({"query_id": QUERIES, "kind": ["first"] * 30 + ["last"] * 30}))
TOLD = {
    ("top", "en"): "means next to the highest possible value",
    ("top", "zh"): "均值已接近指标的上限",
    ("bottom", "en"): "means next to the lowest possible value",
    ("bottom", "zh"): "均值已接近指标的下限",
}


def scores(hits):
    """A system whose first document is right for so many of 60 queries."""
    run = {query: {"a": 2.0 if i < hits else 0.5, "b": 1.0} for i, query in enumerate(QUERIES)}
    return assay.evaluate(JUDGED, run, ["hit_rate@1"], name="mine")


def answers(hits):
    rows = [{"id": query, "answer": "yes", "reference": "yes" if i < hits else "no"} for i, query in enumerate(QUERIES)]
    return answer_details([assay.answers(rows, "exact_match", name="mine")])


def sweep(hits):
    run = {query: {"a": 2.0, "b": 1.0} if i < hits else {"b": 1.0} for i, query in enumerate(QUERIES)}
    return assay.sweep(JUDGED, {"mine": run}, [1, 3], measures="hit_rate")


def experiment(hits):
    row = Row("mine", "done", quality={"hit_rate@1": Quality(column_mean(scores(hits), "hit_rate@1"))})
    return Findings((row,), "hit_rate@1", ("hit_rate@1",), "mine", "mine", scores=(scores(hits),))


def comparison(hits):
    return assay.compare([scores(hits), assay.evaluate(JUDGED, {q: {"a": 1.0} for q in QUERIES[::2]}, ["hit_rate@1"])])


VIEWS = {
    "answers": answers,
    "comparison": comparison,
    "diagnosis": lambda hits: diagnose_scores(scores(hits), queries=HALF),
    "experiment": experiment,
    "sweep": sweep,
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("hits", "told"), [(60, ["top"]), (59, ["top"]), (0, ["bottom"]), (30, [])])
@pytest.mark.parametrize("name", VIEWS)
def test_a_part_with_intervals_names_the_means_at_a_bound(name, hits, told, lang):
    if name == "diagnosis" and hits == 30:
        told = ["top", "bottom"]  # all the first queries are hits, none of the last
    record = VIEWS[name](hits)
    for kind in ("table", "markdown", "html"):
        text = re.sub(r"\s+", "" if lang == "zh" else " ", assay.show(record, kind, lang=lang))
        for end in ("top", "bottom"):
            assert (TOLD[end, lang] in text) == (end in told), (kind, end)


def test_the_page_of_an_evaluation_names_them_and_its_table_without_intervals_does_not():
    found = scores(59)
    sections = pages(report_data([Result(systems=(found,))]))
    assert any("hit_rate@1 of mine (0.9833, 0.9091 to 0.9991; the end is 1)" in str(one) for one in sections)
    assert "highest possible" not in assay.show(found)


def test_an_experiment_names_the_means_that_it_shows_and_each_end_once():
    of_common = comparison(60).warnings  # of what systems have in common, which may be fewer means
    found = replace(experiment(59), warnings=of_common)
    text = re.sub(r"\s+", " ", assay.show(found))
    assert text.count(TOLD["top", "en"]) == 1
    assert "hit_rate@1 of mine (0.9833, 0.9091 to 0.9991; the end is 1)" in text


def test_slices_are_named_by_their_queries():
    text = re.sub(r"\s+", " ", assay.show(diagnose_scores(scores(30), queries=HALF)))
    assert "hit_rate@1 of kind = first (1.0000, " in text and "hit_rate@1 of kind = last (0.0000, " in text


def test_an_end_is_near_a_bound_within_a_tenth_of_the_width():
    assert mean_interval(np.ones(60), bounds=(0, 1)).near == (1,)
    assert mean_interval(np.zeros(60), bounds=(0, 1)).near == (0,)
    assert mean_interval([0.0, 1.0], bounds=(0, 1)).near == (0, 1)
    assert mean_interval(np.tile([0.2, 0.8], 30), bounds=(0, 1)).near == ()
    for method in ("score", "t", "bca"):
        for values in (np.append(np.ones(40), [0.7, 0.1]), np.append(np.ones(50), np.full(9, 0.2))):
            found = mean_interval(values, bounds=(0, 1), method=method)
            assert found.near == ((1,) if 1 - found.high <= (found.high - found.low) / 10 else ())
    assert mean_interval(np.ones(60)).near == ()  # no bounds, no ends
    assert difference_interval([1.0] * 30 + [0.99] * 2, reach=1.0).near == (1,)


def test_a_measure_with_one_bound_has_one_end():
    few, many = (scores(hits) for hits in (1, 59))
    for bounds, found, near in (
        ((0.0, None), few, (0,)), ((None, 1.0), few, ()), ((None, 1.0), many, (1,)), ((0.0, None), many, ()),
    ):  # fmt: skip
        known = replace(found, columns=(replace(found.columns[0], bounds=bounds),))
        assert column_mean(known, "hit_rate@1").near == near
