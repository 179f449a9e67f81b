"""Estimates from judgments of a sample: exact where all is judged, right on average where it is not."""

import numpy as np
import pytest

import assay
from assay.stats.sampling import inclusion_probabilities, pareto_order

MEASURES = ["P@10", "recall@20", "AP", "ndcg@10", "ndcg", "ndcg(gain='exp')@10", "dcg@10", "num_rel"]
QUERIES, DOCS = 30, 120
SAMPLES = 150


def collection():
    """Grades that fall with the rank in either of two runs, which order the documents differently."""
    rng = np.random.default_rng(7)
    grades, runs = {}, {"one": {}, "two": {}}
    for q in range(QUERIES):
        good = rng.random(DOCS)
        grades[f"q{q}"] = {f"d{d}": int(rng.binomial(2, 0.6 * good[d] ** 3)) for d in range(DOCS)}
        grades[f"q{q}"]["d0"] = 1
        for name, noise in (("one", 0.2), ("two", 0.5)):
            runs[name][f"q{q}"] = {f"d{d}": float(good[d] + noise * rng.normal()) for d in range(DOCS)}
    return grades, runs


def rows_of(grades, chances):
    return [
        {"query_id": q, "doc_id": doc, "grade": grade, "inclusion": chances[q][doc]}
        for q, docs in grades.items()
        for doc, grade in docs.items()
        if doc in chances[q]
    ]


def test_a_sample_that_is_everything_gives_the_measures_themselves():
    grades, runs = collection()
    drawn = rows_of(grades, {q: dict.fromkeys(docs, 1.0) for q, docs in grades.items()})
    whole, found = assay.evaluate(grades, runs["one"], MEASURES), assay.evaluate(drawn, runs["one"], MEASURES)
    for label in whole.labels:
        np.testing.assert_allclose(found.column(label), whole.column(label), rtol=1e-9, err_msg=label)
    assert found.sampling.errors.max() == 0


def draw(grades, runs, rng, share=0.5):
    """A sample of each query by the best rank of its documents."""
    chances = {}
    for q, docs in grades.items():
        ranks = [np.argsort(np.argsort([-run[q][doc] for doc in docs])) + 1 for run in runs.values()]
        odds = 1 / (60 + np.min(ranks, axis=0))
        n, names = int(share * len(docs)), list(docs)
        chance = inclusion_probabilities(odds, n)
        chances[q] = {names[row]: float(chance[row]) for row in pareto_order(odds, rng.random(len(odds)))[:n]}
    return rows_of(grades, chances)


def test_estimates_of_half_of_the_judgments_are_right_on_average_and_their_intervals_cover():
    grades, runs = collection()
    wanted, rng = MEASURES[:5], np.random.default_rng(11)
    truth = {name: scores.mean() for name, scores in assay.evaluate(grades, runs, wanted).items()}
    means, covered, apart = [], [], []
    for _ in range(SAMPLES):
        found = assay.sampled_scores(list(assay.evaluate(draw(grades, runs, rng), runs, wanted).values()))
        means.append([one.estimate - truth[one.system][one.measure] for one in found.means])
        covered.append([not one.sampling.excludes(truth[one.system][one.measure]) for one in found.means])
        apart.append([
            not one.sampling.excludes(truth["two"][one.measure] - truth["one"][one.measure]) for one in found.differences
        ])  # fmt: skip
    assert np.abs(np.mean(means, axis=0)).max() < 0.008
    assert np.mean(covered) > 0.92
    assert np.mean(apart) > 0.92
    assert np.mean(covered) < 0.99  # intervals that always cover are too wide


def test_measures_that_cannot_be_estimated_are_refused_by_name():
    drawn = [{"query_id": "q", "doc_id": "a", "grade": 1, "inclusion": 0.5}]
    with pytest.raises(assay.UsageError, match=r"mrr cannot be estimated .* average_precision, dcg, ndcg"):
        assay.evaluate(drawn, {"q": {"a": 1.0}}, ["mrr", "P@1"])
    found = assay.evaluate(drawn, {"q": {"a": 1.0}})
    assert "recip_rank" not in found.labels
    assert any("left out" in note for note in found.notes)


def test_a_document_that_stands_for_two_counts_twice():
    drawn = [
        {"query_id": "q", "doc_id": "a", "grade": 1, "inclusion": 0.5},
        {"query_id": "q", "doc_id": "b", "grade": 0, "inclusion": 0.5},
    ]
    assert assay.evaluate(drawn, {"q": {"a": 2.0, "b": 1.0}}, ["P@10"])["P@10"] == pytest.approx(0.2)
    assert assay.evaluate(drawn, {"q": {"b": 2.0}}, ["num_rel"])["num_rel"] == pytest.approx(2)


def test_documents_that_were_never_in_the_pool_are_told():
    drawn = [{"query_id": "q", "doc_id": f"d{i}", "grade": 1, "inclusion": 1.0} for i in range(4)]
    run = {"q": {**{f"d{i}": 20.0 - i for i in range(4)}, **{f"new{i}": 9.0 - i for i in range(6)}}}
    found = assay.sampled_scores([assay.evaluate(drawn, run, ["P@10"])])
    assert found.unpooled == {"run": pytest.approx(0.6)}


def test_what_was_drawn_and_not_judged_is_not_counted_as_irrelevant():
    some = [{"query_id": "q", "doc_id": f"d{i}", "grade": 1, "inclusion": 0.5} for i in range(39)]
    left = {"query_id": "q", "doc_id": "d39", "grade": None, "inclusion": 0.5}
    found = assay.evaluate([*some, left], {"q": {f"d{i}": 1.0 - i / 100 for i in range(40)}}, ["num_rel"])
    assert found["num_rel"] == pytest.approx(80)  # 40 drawn stand for 80, and all that were judged are relevant
    with pytest.raises(assay.InputError, match="have no grade"):
        assay.evaluate([*some[:10], left], {"q": {"d0": 1.0}}, ["num_rel"])


def test_whatever_takes_judgments_for_complete_refuses_a_sample():
    drawn = [{"query_id": "q", "doc_id": "a", "grade": 1, "inclusion": 0.5}]
    with pytest.raises(assay.UsageError, match="these judgments are a sample"):
        assay.diagnose(drawn, {"q": {"a": 1.0}})


def test_estimates_are_stamped_and_kept(tmp_path):
    drawn = [{"query_id": "q", "doc_id": d, "grade": g, "inclusion": p} for d, g, p in (("a", 1, 1.0), ("b", 1, 0.5))]
    found = assay.evaluate(drawn, {"q": {"a": 2.0, "b": 1.0}}, ["P@2", "AP"])
    assert any("estimates from sampled judgments" in text for text in found.warnings)
    found.save(tmp_path / "r.json")
    (read,) = assay.read_result(tmp_path / "r.json")
    np.testing.assert_allclose(read.sampling.errors, found.sampling.errors)
    assert (read.sampling.judged, read.sampling.pooled) == (2, 3)
    assay.write_judgments(assay.evaluate(drawn, {"q": {"a": 1.0}}, ["P@2"]).judgments, tmp_path / "j.csv")
    assert assay.read_judgments(tmp_path / "j.csv").inclusion.tolist() == [1.0, 0.5]
    with pytest.raises(assay.UsageError, match="no place for the probabilities"):
        assay.write_judgments(found.judgments, tmp_path / "j.qrels")
    with pytest.raises(assay.InputError, match="row 1: inclusion 2 is not a probability"):
        assay.evaluate([{**drawn[0], "inclusion": 2}], {"q": {"a": 1.0}}, ["P@2"])
