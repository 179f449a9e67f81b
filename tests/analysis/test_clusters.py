"""Queries that belong together: every interval and test counts clusters."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.results.codec import encode
from assay.stats import mean_interval, paired_t

JUDGED = {f"q{i:03}": {"a": 1} for i in range(120)}
CLUSTERS = {query: f"c{i // 4}" for i, query in enumerate(JUDGED)}


def run(seed):
    """Queries of one cluster have the same fate most of the time."""
    rng = np.random.default_rng(seed)
    fate = np.repeat(rng.integers(1, 4, 30), 4)
    return {
        query: {"a": 1.0} | {f"x{j}": 2.0 for j in range(rank - 1)} for query, rank in zip(JUDGED, fate, strict=True)
    }


@pytest.fixture(scope="module")
def systems():
    return list(assay.evaluate(JUDGED, {"a": run(1), "b": run(2)}, ["rr"], clusters=CLUSTERS).values())


def test_a_comparison_counts_clusters(systems):
    found = assay.compare(systems)
    change = (systems[1].column("rr") - systems[0].column("rr")).reshape(30, 4).mean(axis=1)
    alone = paired_t(change)
    contrast = found.contrast("b", "rr")
    assert contrast.t_pvalue == pytest.approx(alone.pvalue)
    assert contrast.effective_n == pytest.approx(30)
    plain = assay.compare(assay.evaluate(JUDGED, {"a": run(1), "b": run(2)}, ["rr"]))
    width = [one.difference.high - one.difference.low for one in (contrast, plain.contrast("b", "rr"))]
    assert width[0] > 1.5 * width[1]
    assert contrast.detectable > 1.5 * plain.contrast("b", "rr").detectable
    assert "queries in 30 clusters" in assay.show(found).replace("\n", " ")
    assert "30 个聚类" in assay.show(found, lang="zh")


def test_clusters_stay_with_the_scores(systems, tmp_path):
    assay.write_result(systems, tmp_path / "r.json")
    again = assay.read_result(tmp_path / "r.json")
    assert again[0].clusters == systems[0].clusters
    assert encode(assay.compare(again)) == encode(assay.compare(systems))


def test_targets_and_sweeps_have_the_intervals_of_clusters(systems):
    found = assay.sweep(JUDGED, {"a": run(1)}, [1, 2], measures="recall", clusters=CLUSTERS)
    values = found.scores[0].column("recall@1")
    expected = mean_interval(values, clusters=list(CLUSTERS.values()), bounds=(0, 1))
    assert found.curve("a", "recall").points[0] == expected


def test_clusters_that_differ_or_lack_a_query_are_refused(systems):
    other = assay.evaluate(JUDGED, run(3), ["rr"], name="c", clusters=dict.fromkeys(JUDGED, "one"))
    with pytest.raises(assay.NotComparable, match="different clusters"):
        assay.compare([systems[0], other])
    with pytest.raises(assay.InputError, match="119 queries have no cluster"):
        assay.evaluate(JUDGED, run(3), ["rr"], clusters={"q000": "c"})


def test_clusters_are_read_from_a_table(tmp_path):
    from assay.formats.queries import read_clusters

    (tmp_path / "c.csv").write_text("query_id,cluster\nq1,a\nq2,a\n")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q1", "passage": 3}\n{"query_id": "q2", "passage": null}\n')
    assert read_clusters(str(tmp_path / "c.csv")) == {"q1": "a", "q2": "a"}
    assert read_clusters(f"{tmp_path / 'q.jsonl'}:passage") == {"q1": "3", "q2": "q2"}
    (tmp_path / "t.csv").write_text("query_id,lang,topic\nq1,en,a\nq2,en,a\n")  # read as the text, too
    assert read_clusters(f"{tmp_path / 't.csv'}:topic") == {"q1": "a", "q2": "a"}
    with pytest.raises(assay.UnknownName, match="passage"):
        read_clusters(f"{tmp_path / 'q.jsonl'}:pasage")
