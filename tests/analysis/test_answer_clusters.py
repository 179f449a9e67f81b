"""Questions on one passage and turns of one conversation: answers and experiments count them as one."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import assay
from assay.analysis.compare import compare
from assay.analysis.front import FrontPoint, find_front
from assay.analysis.means import column_mean
from assay.errors import InputError, UnknownName
from assay.results.comparison import Rules
from assay.stats import mean_interval
from commands import call_assay
from experiments import lines, write

PASSAGES, QUESTIONS = 30, 5


def sample(i, *, right=True, **more):
    return {
        "id": f"s{i:03}",
        "question": f"What is {i}?",
        "answer": "yes" if right else "no",
        "reference": "yes",
        **more,
    }


def samples(right=None):
    """Thirty passages with five questions each."""
    n = PASSAGES * QUESTIONS
    right = [True] * n if right is None else right
    return [sample(i, right=bool(right[i]), passage=f"p{i // QUESTIONS}") for i in range(n)]


def test_a_column_says_which_samples_belong_together():
    right = np.repeat(np.random.default_rng(1).random(PASSAGES) < 0.6, QUESTIONS)
    found = assay.answers(samples(right), "exact_match", cluster="passage")
    expected = mean_interval(right.astype(float), clusters=[i // 5 for i in range(150)], bounds=(0, 1))
    assert found.interval("exact_match") == expected
    plain = assay.answers(samples(right), "exact_match").interval("exact_match")
    assert expected.high - expected.low > 2 * (plain.high - plain.low)


def test_comparisons_of_answers_count_clusters(tmp_path):
    right = np.repeat(np.random.default_rng(2).random((2, PASSAGES)) < 0.6, QUESTIONS, axis=1)
    rows = [{**one, "system": name} for name, own in zip("ab", right, strict=True) for one in samples(own)]
    found = compare(assay.answer_systems(rows, "exact_match", cluster="passage"))
    assert found.clusters == PASSAGES
    assert found.contrasts[0].effective_n == pytest.approx(PASSAGES)
    (tmp_path / "rows.jsonl").write_text(lines(rows), encoding="utf-8")
    words = ["answers", str(tmp_path / "rows.jsonl"), "-m", "exact_match", "--cluster", "passage"]
    assert call_assay([*words, "-o", str(tmp_path / "r.json")])[0] == 0
    assert json.loads((tmp_path / "r.json").read_text())["per_query"]["clusters"]["s149"] == "p29"


def test_an_unknown_column_is_refused_with_those_that_exist():
    with pytest.raises(UnknownName, match="passag"):
        assay.answers(samples(), "exact_match", cluster="passag")


def test_turns_of_one_conversation_belong_together_without_being_told():
    def turn(i, *said):
        return sample(i, history=[{"role": "user" if j % 2 == 0 else "assistant", "content": text} for j, text in enumerate(said)])  # fmt: skip

    rows = [
        turn(0),  # What is 0?
        turn(1, "What is 0?", "It is nothing."),
        turn(2, "What is 0?", "It is nothing.", "What is 1?", "One."),
        turn(3),
        turn(4, "What is 9?", "Nine."),
        turn(5, "What is 9?", "Nine."),  # another question at the same point
        turn(6, "Hello.", "Good morning."),
        turn(7, "Hello.", "Good evening."),  # the same greeting is not the same conversation
    ]
    found = assay.answers(rows, "exact_match")
    assert found.clusters == ("s000", "s000", "s000", "s003", "s004", "s004", "s006", "s007")
    assert any(getattr(note, "key", "") == "answers.conversations" for note in found.notes)
    assert assay.answers(rows[3:4], "exact_match").clusters is None


def experiment(folder, queries, *, cluster, gold=""):
    documents = [{"doc_id": f"d{i}", "text": f"word{i} tea of kind{i % 3}"} for i in range(20)]
    (folder / "docs.jsonl").write_text(lines(documents), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    (folder / "j.qrels").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(20)), encoding="utf-8")
    data = f'[data]\ndocuments = "docs.jsonl"\nqueries = "queries.jsonl"\njudgments = "j.qrels"\ncluster = "{cluster}"\n{gold}'  # fmt: skip
    return write(folder, '#data\n[retrieve]\nmethod = "bm25"\nk1 = [0.5, 1.5]\n', data)


def asked(i):
    return {"query_id": f"q{i}", "text": f"word{i} kind{(i + 1) % 3}"}


def test_experiments_read_clusters_of_queries_and_count_them(tmp_path):
    path = experiment(tmp_path, [{**asked(i), "passage": f"p{i // 5}"} for i in range(20)], cluster="passage")
    found = assay.run_experiment(path)
    first = found.findings.scores[0]
    assert dict(zip(first.query_ids, first.clusters, strict=True)) == {f"q{i}": f"p{i // 5}" for i in range(20)}
    label = found.findings.measure
    assert found.findings.combinations[0].quality[label].mean == column_mean(first, label)
    split = assay.run_experiment(path, holdout=0.5).findings
    assert {len(set(scores.clusters)) for scores in split.scores} == {2}  # no passage is on both sides


def test_experiments_read_clusters_of_gold(tmp_path):
    spans = [{"query_id": f"q{i}", "doc_id": f"d{i}", "text": f"word{i}", "passage": f"p{i // 5}"} for i in range(20)]
    (tmp_path / "gold.jsonl").write_text(lines(spans), encoding="utf-8")
    path = experiment(tmp_path, [asked(i) for i in range(20)], cluster="passage", gold='gold = "gold.jsonl"\n')
    assert len(set(assay.run_experiment(path).findings.scores[0].clusters)) == 4


def test_a_cluster_column_that_does_not_exist_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(InputError, match="passage"):
        assay.run_experiment(experiment(tmp_path, [asked(i) for i in range(20)], cluster="passage"))


def test_the_front_counts_weights_and_clusters():
    """One heavy query, or one passage with many questions, is not enough to beat a combination."""
    rng = np.random.default_rng(5)
    passage = np.repeat(np.arange(12), 10)
    shift = np.repeat(np.where(rng.random(12) < 0.7, 0.2, -0.2), 10)
    points = [FrontPoint(np.full(120, 0.5) + shift, np.ones(120), None), FrontPoint(np.full(120, 0.5), np.ones(120), None)]  # fmt: skip
    assert [one.on_front for one in find_front(points, Rules())] == [True, False]
    assert all(one.on_front for one in find_front(points, Rules(), clusters=passage.astype(str)))
    heavy = np.where(np.arange(120) == 0, 10_000.0, 1.0)
    assert all(one.on_front for one in find_front(points, Rules(), weights=heavy))


# Simulations: five questions per passage, whose answers are right with a chance of the passage -------------------------


def outcomes(rng, systems):
    """Right or wrong of every question; passages differ much more than questions (correlation .67)."""
    chance = rng.beta(0.3, 0.2, (systems, PASSAGES))
    return (rng.random((systems, PASSAGES, QUESTIONS)) < chance[:, :, None]).reshape(systems, -1).astype(float)


TRUTH = 0.3 / (0.3 + 0.2)


@pytest.fixture(scope="module")
def count(stress):
    return 4000 if stress else 150


def most(count):
    return 0.065 * count if count >= 2000 else scipy.stats.binom(count, 0.05).isf(1e-4)


def tell(stress, what, misses, count):
    if stress:
        share = misses / count
        sys.stdout.write(f"\n| {what} | {100 * share:.1f} | {100 * np.sqrt(share * (1 - share) / count):.1f} |\n")


def test_intervals_and_comparisons_of_clustered_answers_keep_their_level(count, stress):
    pair = assay.answer_systems([{**one, "system": name} for name in "ab" for one in samples()], "exact_match", cluster="passage")  # fmt: skip
    missed = alarms = 0
    for i in range(count):
        drawn = outcomes(np.random.default_rng([5, i]), 2)
        systems = [replace(one, values=own[:, None]) for one, own in zip(pair.values(), drawn, strict=True)]
        missed += column_mean(systems[0], "exact_match").excludes(TRUTH)
        alarms += compare(systems, rules=Rules(n_resamples=999)).contrasts[0].verdict in {"better", "worse"}
    tell(stress, "answers: interval misses", missed, count)
    tell(stress, "answers: better or worse", alarms, count)
    assert max(missed, alarms) <= most(count)


def test_equal_combinations_with_clustered_queries_stay_on_the_front_together(count, stress):
    clusters = np.repeat(np.arange(PASSAGES), QUESTIONS).astype(str)
    beaten = blind = 0
    for i in range(count):
        points = [FrontPoint(own, np.ones(len(own)), None) for own in outcomes(np.random.default_rng([6, i]), 2)]
        rules = Rules(n_resamples=499)
        beaten += not all(one.on_front for one in find_front(points, rules, clusters=clusters))
        blind += not all(one.on_front for one in find_front(points, rules))
    tell(stress, "experiments: one leaves the front", beaten, count)
    tell(stress, "experiments without clusters", blind, count)
    assert beaten <= most(count)
    assert blind > 0.15 * count
