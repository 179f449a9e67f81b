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


WEIGHTS = {query: 20.0 if i == 0 else 1.0 for i, query in enumerate(JUDGED)}
BOTH = (20 + 1) ** 2 + 2**2 + 20**2  # weights of the clusters when the first query weighs 20: 21, 2 and 20


UNITS = {
    "clusters": ({"clusters": CLUSTERS}, WORTH),
    "weights": ({"weights": WEIGHTS}, f"{43**2 / (400 + 23):.1f}"),
    "both": ({"weights": WEIGHTS, "clusters": {**CLUSTERS, list(JUDGED)[1]: "c1"}}, f"{43**2 / BOTH:.1f}"),
}


def facts(units, place, lang="en"):
    assay.evaluate(JUDGED, RUNS["bm25"], ["ndcg@5"], **units).save(place)
    return re.sub(r"\s+", " ", assay.write_report(place, kind="markdown", lang=lang))


@pytest.mark.parametrize(("lang", "fact"), [("en", "24 (worth {worth})"), ("zh", "24（相当于 {worth}）")])
@pytest.mark.parametrize("name", UNITS)
def test_the_facts_of_a_report_name_the_effective_number(name, lang, fact, tmp_path):
    units, worth = UNITS[name]
    assert fact.format(worth=worth) in facts(units, tmp_path / "result.json", lang)


def test_the_facts_of_a_report_name_plain_queries_alone(tmp_path):
    assert "worth" not in facts({}, tmp_path / "result.json")


def test_weighted_results_name_the_effective_number_and_the_heaviest_query():
    found = list(assay.evaluate(JUDGED, RUNS, ["ndcg@5"], weights=WEIGHTS).values())
    worth = f"{(43**2) / (400 + 23):.1f}"
    for record in (
        found[0],
        assay.compare(found),
        diagnose_scores(found[0]),
        assay.gate(found[0], not_worse_than=found[1]),
    ):
        text = re.sub(r"\s+", " ", assay.show(record))
        assert worth in text and "q0" in text and "46.5%" in text
