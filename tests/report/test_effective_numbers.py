"""Every view that says how many queries there are says what they are worth, where weights or clusters matter."""

from __future__ import annotations

import re
from dataclasses import fields

import polars as pl
import pytest

import assay
from assay.analysis.answers import answer_details
from assay.analysis.diagnose import diagnose_scores
from assay.formats.queries import Queries
from assay.results.codec import UNSTORED
from assay.results.experiment import Findings, Quality, Row
from assay.results.parts import all_parts
from parts import JUDGED, RUNS, interval

# 24 queries in four clusters of 1, 1, 2 and 20: (24)^2/(1 + 1 + 4 + 400) = 1.4 independent ones.
CLUSTERS = {query: ["c1", "c2", "c3", "c3"][i] if i < 4 else "c4" for i, query in enumerate(JUDGED)}
WORTH = "1.4"
KINDS = Queries(pl.DataFrame({"query_id": list(JUDGED), "kind": ["a", "b"] * 12}))


def scores():
    runs = {name: run for name, run in RUNS.items() if name != "broken"}
    return list(assay.evaluate(JUDGED, runs, ["ndcg@5"], clusters=CLUSTERS).values())


def answers():
    rows = [
        {"id": query, "answer": "yes", "reference": "yes" if i % 2 else "no", "passage": CLUSTERS[query]}
        for i, query in enumerate(JUDGED)
    ]
    return answer_details([assay.answers(rows, "exact_match", cluster="passage")])


def experiment():
    found = scores()
    rows = tuple(Row(one.name, "done", quality={"ndcg@5": Quality(interval(0.5))}) for one in found)
    return Findings(rows, "ndcg@5", ("ndcg@5",), found[0].name, found[0].name, scores=tuple(found))


# Parts that hold scores and so say how many queries there are; what has no weights or clusters is named with its reason.
VIEWS = {
    "answers": answers,
    "comparison": lambda: assay.compare(scores()),
    "diagnoses": lambda: diagnose_scores(scores()[0], queries=KINDS),
    "experiment": experiment,
    "gates": lambda: assay.gate(scores()[0], not_worse_than=scores()[1]),
    "slices": lambda: assay.compare_slices(scores(), "kind", dict.fromkeys(JUDGED, "all")),
    "sweep": lambda: assay.sweep(JUDGED, RUNS, [1, 3], clusters=CLUSTERS),
}
WITHOUT = {"reranker": "it takes no weights and no clusters"}


def test_the_list_of_views_is_complete():
    held = {
        name for name, shape in all_parts().items() if any(one.metadata == UNSTORED for one in fields(shape.record))
    }
    assert held == {*VIEWS, *WITHOUT}


@pytest.mark.parametrize("kind", ["table", "markdown", "html"])
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", VIEWS)
def test_clustered_results_say_how_many_queries_they_are_worth(name, lang, kind):
    text = re.sub(r"\s+", " ", assay.show(VIEWS[name](), kind, lang=lang))
    assert re.search(rf"(?<![\d.]){re.escape(WORTH)}(?!\d)", text)


def test_evaluations_say_it_too():
    text = re.sub(r"\s+", " ", assay.show(scores()[0]))
    assert "24 queries in 4 clusters are worth 1.4 independent ones; the heaviest, c4, has 83.3% of the weight" in text


def test_weighted_results_name_the_effective_number_and_the_heaviest_query():
    weights = {query: 20.0 if i == 0 else 1.0 for i, query in enumerate(JUDGED)}
    found = list(assay.evaluate(JUDGED, RUNS, ["ndcg@5"], weights=weights).values())
    worth = f"{(43**2) / (400 + 23):.1f}"
    for record in (
        found[0],
        assay.compare(found),
        diagnose_scores(found[0]),
        assay.gate(found[0], not_worse_than=found[1]),
    ):
        text = re.sub(r"\s+", " ", assay.show(record))
        assert worth in text and "q0" in text and "46.5%" in text
