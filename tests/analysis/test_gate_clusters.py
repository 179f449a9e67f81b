"""Gates over queries that belong together count clusters, in the whole and in every slice."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.analysis.gate_slices import restrict
from interval_oracles import adjusted_t_ends

GROUPS, EACH = 20, 5
QUERIES = [f"q{group:02}{i}" for group in range(GROUPS) for i in range(EACH)]
CLUSTERS = {query: query[:3] for query in QUERIES}
JUDGED = {query: {"a": 1} for query in QUERIES}


def system(name: str, hits, clusters=CLUSTERS) -> assay.Scores:
    """Scores whose reciprocal rank is 1 where a query hits, else 0."""
    run = {query: {"a" if hit else "x": 1.0} for query, hit in zip(QUERIES, hits, strict=True)}
    return assay.evaluate(JUDGED, run, ["reciprocal_rank"], name=name, clusters=clusters)


def hits() -> tuple[np.ndarray, np.ndarray]:
    """Of 20 clusters, 3 lose nearly all of their queries, 4 gain most and one query changes in others."""
    before, after = np.zeros((GROUPS, EACH), dtype=int), np.zeros((GROUPS, EACH), dtype=int)
    before[:3, :4], after[3:7, :3], before[7:10, 0], after[10:15, 1] = 1, 1, 1, 1
    return before.ravel(), after.ravel()


def test_the_interval_is_that_of_the_clusters():
    before, after = hits()
    check, alone = (
        assay.gate(system("new", after, clusters), not_worse_than=system("old", before, clusters)).checks[0]
        for clusters in (CLUSTERS, None)
    )
    means = (after - before).reshape(GROUPS, EACH).mean(axis=1)  # all of one size: an ordinary sample of 20
    weights = np.random.default_rng(0).dirichlet(np.ones(GROUPS + 1), 200_000)
    bounds = [np.quantile(weights @ np.append(side * means, 1.0), 0.9) for side in (-1, 1)]
    low, high = adjusted_t_ends(means, level=0.9)
    assert check.interval.estimate == pytest.approx(means.mean())
    assert check.interval.low == pytest.approx(min(low, -bounds[0]), abs=0.003)
    assert check.interval.high == pytest.approx(max(high, bounds[1]), abs=0.003)
    assert check.interval.low < alone.interval.low and check.interval.high > alone.interval.high
    assert check.detectable > alone.detectable
    effect = (means.var(ddof=1) / GROUPS) / ((after - before).var(ddof=1) / len(QUERIES))
    assert check.needed == pytest.approx(effect * alone.needed, rel=0.01)


def test_harmless_changes_of_whole_clusters_seldom_fail(stress):
    """Each cluster rises or falls as a whole, with a mean of 0: without clusters a fifth of the gates fails."""
    count, rng = 1000 if stress else 40, np.random.default_rng(3)
    failed = 0
    for _ in range(count):
        before, after = (np.repeat(rng.binomial(1, 0.5, GROUPS), EACH) for _ in range(2))
        failed += assay.gate(system("new", after), not_worse_than=system("old", before)).outcome == "failed"
    assert failed / count <= (0.065 if stress else 0.15)


def test_slices_of_clustered_results_are_checked(tmp_path):
    before, after = hits()
    new, old = system("new", after), system("old", before)
    table = tmp_path / "queries.csv"
    table.write_text("query_id,kind\n" + "".join(f"{query},{'ab'[int(query[3]) % 2]}\n" for query in QUERIES))
    found = assay.gate(new, {"reciprocal_rank": 0.0}, not_worse_than=old, sure=True, slices="kind", queries=table)
    parts = {check.slice: check.interval.n for check in found.checks if check.slice}
    assert parts == {"kind=a": 60, "kind=b": 40}
    cut = restrict(new, frozenset(QUERIES[2:7]))
    assert cut.clusters == ("q00", "q00", "q00", "q01", "q01")


def test_few_clusters_are_too_few_however_many_queries_they_hold():
    before, after = hits()
    few = {query: f"c{int(query[1:3]) % 8}" for query in QUERIES}
    (check,) = assay.gate(system("new", after, few), not_worse_than=system("old", before, few)).checks
    assert check.outcome == "inconclusive"
    assert "8 clusters of queries are too few to tell whether it is worse" in check.message
