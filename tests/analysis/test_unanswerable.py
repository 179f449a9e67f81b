"""Questions that no document answers: asked of whatever answers, scored by their refusals, in no mean of rankings."""

from __future__ import annotations

import json
import sys

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.results.experiment import Findings
from experiments import lines, short_experiment
from rag_app import answer_to, rag_app

REFUSED = "I do not know."
OWN = f"""
def answer(question, contexts):
    if "mars" in question:
        raise RuntimeError("out of memory")
    return {REFUSED!r} if "moon" in question else contexts[0]
"""
APART = {
    "u1": {"text": "tea on the moon", "kind": "unanswerable"},
    "u2": {"text": "price of tea", "answerable": False},
    "u3": {"text": "tea of the moon people", "category": "Unanswerable"},
}
GENERATED = (
    '[[retrieve]]\nmethod = "bm25"\n[[generate]]\nmethod = "own_refusing:answer"\n[[generate]]\nmethod = "extractive"\n'
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a module of the user's; the caller adds questions to it."""
    (tmp_path / "own_refusing.py").write_text(OWN, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "own_refusing", raising=False)
    return tmp_path


def experiment(folder, body=GENERATED, apart=None, **options):
    path = short_experiment(folder, body, **options)
    rows = [{"query_id": name, **row} for name, row in (APART if apart is None else apart).items()]
    with (folder / "q.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines(rows))
    return path


def test_they_are_scored_by_refusals_and_are_in_no_mean_of_rankings(home):
    with_them = assay.run_experiment(experiment(home)).findings
    own, extractive = with_them.refusals
    assert (own.questions, own.refused, own.failed, own.answered) == (3, 2, 0, "price of tea")
    assert own.right.estimate == pytest.approx(2 / 3)
    assert (extractive.refused, extractive.right.estimate) == (0, 0.0)
    without = assay.run_experiment(experiment(home, apart={})).findings
    assert without.refusals == ()
    for one, other in zip(with_them.scores, without.scores, strict=True):
        assert list(one.query_ids) == list(other.query_ids) == ["q1", "q2"]
        assert one.mean() == other.mean()
    assert [row.quality for row in with_them.done] == [row.quality for row in without.done]


def test_where_nothing_answers_they_are_not_asked_and_that_is_said(home):
    found = assay.run_experiment(experiment(home, '[retrieve]\nmethod = "bm25"\n'))
    assert found.findings.refusals == ()
    assert "3 unanswerable questions are not asked: nothing here answers" in found.collection.notes


def test_without_judgments_they_are_still_set_apart(home):
    found = assay.run_experiment(experiment(home, judged=""))
    assert [one.questions for one in found.findings.refusals] == [3, 3]
    assert {query.id for query in found.collection.queries} == {"q1", "q2"}


def test_a_question_with_judgments_is_asked_as_any_other(home):
    path = experiment(home, apart={"u1": APART["u1"]})
    with (home / "j.qrels").open("a") as file:
        file.write("u1 0 a 1\n")
    found = assay.run_experiment(path)
    assert (found.findings.refusals, len(found.collection.queries)) == ((), 3)


def test_a_combination_that_fails_on_them_says_why_and_keeps_its_other_numbers(home):
    found = assay.run_experiment(experiment(home, apart={"u": {"text": "tea on mars", "answerable": "no"}})).findings
    own, extractive = found.refusals
    assert "out of memory" in own.reason and own.right.estimate is None
    assert extractive.questions == 1
    assert all(row.done and row.quality for row in found.combinations)


def test_an_application_is_asked_them_once_and_failures_are_no_refusals(home):
    def reply(question):
        return {**answer_to(question), "answer": REFUSED} if "moon" in question else answer_to(question)

    apart = {**APART, "u4": {"text": "500 moon", "answerable": False}}
    with rag_app(shape=reply) as server:
        app = f'[[app]]\nmethod = "{server.url}"\nbackoff = 0.001\n'
        path = experiment(home, app, apart)
        first = assay.run_experiment(path)
        asked = sum(server.asked.values())
        again = assay.run_experiment(path)
    (one,) = first.findings.refusals
    assert (one.questions, one.refused, one.failed) == (4, 2, 1)
    assert one.right.estimate == pytest.approx(2 / 3)
    assert one.money is None  # what the failed call cost is not known
    assert first.findings.combinations[0].outcomes[0].questions == 2
    assert sum(server.asked.values()) - asked == server.asked["500 moon"] / 2  # only what failed is asked again
    assert again.findings.refusals == first.findings.refusals


def test_a_dry_run_counts_them_and_fresh_answers_stay_in_one_round(home):
    from assay.analysis.applications import plan_file

    with rag_app() as server:
        path = experiment(home, f'[[app]]\nmethod = "{server.url}"\n')
        assert [one.requests for one in plan_file(path)] == [5]
        assay.run_experiment(path, fresh=True)
        assert [one.requests for one in plan_file(path)] == [0]


def test_their_answers_are_written_for_assay_answers(home):
    found = assay.run_experiment(experiment(home))
    place = found.save(home / "out").parent
    rows = [json.loads(line) for line in next((place / "unanswerable").glob("answer*")).read_text().splitlines()]
    assert [(row["query_id"], row["answerable"]) for row in rows] == [("u1", False), ("u2", False), ("u3", False)]
    scores = assay.answers(next((place / "unanswerable").glob("answer*")), ["right_refusals"])
    assert scores["right_refusals"] == pytest.approx(2 / 3)
    assert len(next((place / "samples").glob("answer*")).read_text().splitlines()) == 2


def test_answers_of_an_application_know_which_questions_have_no_answer(home):
    experiment(home)
    with rag_app(shape=lambda question: {**answer_to(question), "answer": REFUSED}) as server:
        samples = assay.ask_application(server.url, home / "q.jsonl", cache=home / "cache")
    assert assay.answers(samples, ["right_refusals"]).counts["right_refusals"].queries == 3


def test_findings_with_refusals_are_stored_and_read(home):
    found = assay.run_experiment(experiment(home)).findings
    found.save(home / "r.json")
    part = load_result(Input.at(home / "r.json")).part(Findings)
    assert part.refusals == found.refusals
    assert [row["refused_share"] for row in found.to_rows()] == [pytest.approx(2 / 3), 0.0]
