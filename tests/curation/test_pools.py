"""What to judge next: orders that five lines of plain Python give, and the state in files alone."""

import json
import os

import numpy as np
import pytest
import scipy.stats

import assay
from assay.wordings import texts

SEEDS = 400 if os.environ.get("ASSAY_STRESS") else 15
RUNS = {
    "good": {"q": {f"g{i}": 9.0 - i for i in range(4)}, "r": {"x": 1.0}},
    "bad": {"q": {f"b{i}": 9.0 - i for i in range(4)}, "r": {"y": 1.0}},
}


def listed(*args, **options):
    return [(one.query_id, one.doc_id) for one in assay.pool_judgments(*args, **options).pairs]


def of_q(*args, **options):
    return [doc for query, doc in listed(*args, **options) if query == "q"]


def test_depth_goes_down_the_ranks_of_all_runs():
    assert listed(RUNS, 5) == [("q", "b0"), ("q", "g0"), ("r", "x"), ("r", "y"), ("q", "b1")]
    assert listed(RUNS, 99, depth=1) == [("q", "b0"), ("q", "g0"), ("r", "x"), ("r", "y")]


@pytest.mark.parametrize("method", ["move-to-front", "bandit"])
def test_what_was_relevant_brings_its_run_to_the_front(method):
    judged = {"q": {"g0": 1, "g1": 1, "b0": 0}}
    assert of_q(RUNS, 4, method=method, judgments=judged)[:2] == ["g2", "b1"] or of_q(
        RUNS, 4, method=method, judgments=judged
    )[:2] == ["g2", "g3"]
    other = {"q": {"g0": 0, "b0": 1, "b1": 1}}
    assert of_q(RUNS, 4, method=method, judgments=other)[0] == "b2"


@pytest.mark.parametrize("method", ["depth", "move-to-front", "bandit"])
def test_every_document_of_the_pool_comes_once_whatever_the_method(method):
    assert sorted(listed(RUNS, 99, method=method)) == sorted(assay.pool(RUNS))


def test_the_document_that_decides_has_the_largest_effect_on_the_difference():
    runs = {"a": {"q": {"same": 3.0, "top": 2.0, "low": 1.0}}, "b": {"q": {"same": 3.0, "low": 2.0, "far": 1.0}}}
    known = {"q": {"same": 1}}
    found = assay.pool_judgments(runs, 9, method="decide", between=["a", "b"], measure="P@2", judgments=known)
    effects = {one.doc_id: one.effect for one in found.pairs}
    for doc in ("top", "low", "far"):  # the same by evaluating twice
        more = {"q": {"same": 1, doc: 1}}
        change = [
            assay.evaluate(judged, runs["b"], "P@2")["P@2"] - assay.evaluate(judged, runs["a"], "P@2")["P@2"]
            for judged in (known, more)
        ]
        assert effects[doc] == pytest.approx(abs(change[1] - change[0])), doc
    assert list(effects) == ["low", "top", "far"]


def test_a_larger_sample_contains_the_smaller_one_whatever_was_judged_since(tmp_path):
    runs = {"a": {f"q{i}": {f"d{j}": 50.0 - j for j in range(50)} for i in range(4)}}
    first = assay.pool_judgments(runs, 40, method="sample", depth=50)
    first.save(tmp_path / "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert sum(row["inclusion"] for row in rows) < 40  # those drawn are likelier than others, but not certain
    filled = "\n".join(json.dumps({**row, "grade": i % 3 % 2}) for i, row in enumerate(rows))
    (tmp_path / "f.jsonl").write_text(filled)
    more = assay.pool_judgments(runs, 40, method="sample", depth=50, judgments=tmp_path / "f.jsonl")
    assert [one.doc_id for one in more.pairs[:40]] == [one.doc_id for one in first.pairs]
    assert [one.round for one in more.pairs] == [1] * 40 + [2] * 40
    assert more.to_judge == 40
    assert all(b.inclusion > a.inclusion for a, b in zip(first.pairs, more.pairs, strict=False))
    done = assay.pool_judgments(runs, 0, method="sample", depth=50, judgments=tmp_path / "f.jsonl")
    assert [one.inclusion for one in done.pairs] == [one.inclusion for one in first.pairs]


def test_a_list_filled_in_in_a_spreadsheet_is_judgments(tmp_path):
    found = assay.pool_judgments(RUNS, 4)
    found.save(tmp_path / "p.csv")
    header, *lines = (tmp_path / "p.csv").read_text().splitlines()
    place = header.split(",").index("grade")
    cells = [line.split(",") for line in lines]
    for row, grade in zip(cells, ("1", "0", "", ""), strict=True):
        row[place] = grade
    (tmp_path / "p.csv").write_text("\n".join([header, *map(",".join, cells)]) + "\n")
    assert assay.read_judgments(tmp_path / "p.csv").to_dict() == {"q": {"b0": 1, "g0": 0}}


def test_looks_are_counted_by_the_rounds_of_the_file_and_refused_without(tmp_path):
    rng = np.random.default_rng(0)
    runs = {
        name: {f"q{i}": {f"d{j}": float(s * -j + rng.random()) for j in range(20)} for i in range(12)}
        for name, s in (("a", 1), ("b", -1))
    }
    options = {"method": "sample", "between": ["a", "b"], "measure": "P@5"}
    first = assay.pool_judgments(runs, 150, **options)
    assert first.stopping is None
    rows = [{**row, "grade": int(int(row["doc_id"][1:]) < 8)} for row in first.to_rows()]
    (tmp_path / "f.jsonl").write_text("\n".join(map(json.dumps, rows)))
    stop = assay.pool_judgments(runs, 5, judgments=tmp_path / "f.jsonl", **options).stopping
    assert (stop.look, stop.verdict, stop.spent) == (1, "apart", 0.025)
    third = [{**row, "round": 1 + i % 3} for i, row in enumerate(rows)]
    (tmp_path / "f.jsonl").write_text("\n".join(map(json.dumps, third)))
    stop = assay.pool_judgments(runs, 5, judgments=tmp_path / "f.jsonl", **options).stopping
    assert (stop.look, round(stop.spent, 5)) == (3, 0.00417)
    with pytest.raises(assay.UsageError, match="looks cannot be counted"):
        assay.pool_judgments(runs, 5, judgments=rows, **options)


def test_looking_again_and_again_at_equal_systems_seldom_finds_a_difference():
    rng = np.random.default_rng(5)
    queries, docs, wrong = 10, 30, 0
    for seed in range(SEEDS):
        grades = {f"q{i}": {f"d{j}": int(rng.random() < 0.4) for j in range(docs)} for i in range(queries)}
        one = {q: {d: rng.random() for d in names} for q, names in grades.items()}
        # The other run has the same grades at every rank, of other documents where it can.
        two = {}
        for q, names in grades.items():
            order = sorted(one[q], key=one[q].get, reverse=True)
            same = {g: [d for d in order if names[d] == g] for g in (0, 1)}
            swapped = {g: iter(same[g][::-1]) for g in same}
            two[q] = {next(swapped[names[d]]): float(-i) for i, d in enumerate(order)}
        judged = {}
        for look in (1, 2, 3):
            found = assay.pool_judgments(
                {"one": one, "two": two}, 60, method="sample", depth=30, seed=seed, judgments=judged or None,
            )  # fmt: skip
            judged = {**{q: dict(v) for q, v in judged.items()}}
            for pair in found.pairs:
                judged.setdefault(pair.query_id, {})[pair.doc_id] = grades[pair.query_id][pair.doc_id]
            stop = assay.pool_judgments(
                {"one": one, "two": two}, 0, method="sample", depth=30, seed=seed, judgments=judged,
                between=["one", "two"], measure="P@10", look=look, smallest_effect=1e-9,
            ).stopping  # fmt: skip
            if stop.verdict == "apart":
                wrong += 1
                break
    assert wrong <= scipy.stats.binom.ppf(0.999, SEEDS, 0.05)


def test_a_wrong_request_is_told_in_one_line():
    with pytest.raises(assay.UsageError, match=texts("en")["pool.needs_two"]):
        assay.pool_judgments(RUNS, method="decide")
    with pytest.raises(assay.UnknownName, match="nobody"):
        assay.pool_judgments(RUNS, method="decide", between=["good", "nobody"])
    with pytest.raises(assay.UsageError, match="budget -1"):
        assay.pool_judgments(RUNS, -1)
    with pytest.raises(assay.UnknownName, match="best"):
        assay.pool_judgments(RUNS, method="best")
