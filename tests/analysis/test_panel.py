"""`assay.assess_panel`: agreement, flips, ties, labels, bands of systems; and the grades of a panel."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pytest

import assay
from assay.formats.verdicts import is_verdict, read_votes
from assay.judge.panel import verdict
from assay.judge.relevance import Pair
from assay.results.judging import Bill, Judging, Vote
from assay.testing import seal_of

BILL = Bill(1, 0, 10, 10, 0.0, 0.0, "USD", 0, 0, 20, 0.5)


def judging(votes: dict[tuple[str, str], dict[str, list[float | None]]], combine: str = "vote") -> Judging:
    """Judging with these grades: by pair and judge, one for each repeat."""
    verdicts = [
        verdict(
            Pair(query, doc, "", ""),
            [
                Vote(name, i, "failed" if grade is None else "scored", "timeout" if grade is None else "", grade, "")
                for name, grades in own.items()
                for i, grade in enumerate(grades)
            ],
            combine,
        )
        for (query, doc), own in votes.items()
    ]
    names = list(next(iter(votes.values())))
    return Judging("a + b (1 x vote)", tuple(verdicts), dict.fromkeys(names, BILL), 100, 0, combine, (0, 1, 2, 3))


def drawn(seed: int = 0, queries: int = 30, docs: int = 8, repeats: int = 1) -> tuple[Judging, dict]:
    """Two judges of which one is too kind and the other erratic, and people's grades."""
    rng = random.Random(seed)
    people: dict[str, dict[str, float]] = {}
    votes = {}
    for q in range(queries):
        for d in range(docs):
            grade = rng.choice([0, 0, 1, 2, 3])
            people.setdefault(f"q{q}", {})[f"d{d}"] = grade
            kind = [min(3.0, grade + (rng.random() < 0.6)) for _ in range(repeats)]
            erratic = [float(min(3, max(0, grade + rng.choice([-1, 0, 0, 1])))) for _ in range(repeats)]
            votes[f"q{q}", f"d{d}"] = {"a": kind, "b": erratic}
    return judging(votes), people


def alpha(rows: list[list[float]]) -> float:
    """Krippendorff's ordinal alpha from its definition: pairs of values within units against pairs of all values."""
    values = [value for row in rows for value in row]
    counts = {value: values.count(value) for value in sorted(set(values))}

    def apart(c: float, k: float) -> float:
        low, high = min(c, k), max(c, k)
        return (sum(n for value, n in counts.items() if low <= value <= high) - (counts[c] + counts[k]) / 2) ** 2

    within = sum(apart(c, k) * 2 / (len(row) - 1) for row in rows for c, k in combinations(row, 2)) / len(values)
    among = sum(apart(c, k) * 2 for c, k in combinations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - within / among


def test_agreement_of_two_judges_is_that_of_scikit_learn_and_of_the_definition():
    metrics = pytest.importorskip("sklearn.metrics")
    found, _ = drawn()
    panel = assay.assess_panel(found)
    own = [[next(v.grade for v in one.votes if v.judge == name) for name in ("a", "b")] for one in found.verdicts]
    first, second = zip(*own, strict=True)
    (pair,) = panel.agreements
    assert pair.kappa.value == pytest.approx(metrics.cohen_kappa_score(first, second, weights="quadratic"), abs=1e-12)
    assert pair.exact == pytest.approx(np.mean(np.array(first) == np.array(second)))
    assert panel.alpha.value == pytest.approx(alpha(own), abs=1e-9)
    assert panel.alpha.interval.low < panel.alpha.value < panel.alpha.interval.high


def test_intervals_draw_whole_queries():
    """Ten pairs of a query that say the same ten times over are worth one pair."""
    rng = random.Random(4)
    once = {(f"q{q}", "d0"): {"a": [float(rng.randrange(4))], "b": [float(rng.randrange(4))]} for q in range(40)}
    often = {(query, f"d{d}"): grades for (query, _), grades in once.items() for d in range(10)}
    few, many = (assay.assess_panel(judging(votes)).agreements[0].kappa for votes in (once, often))
    assert many.value == pytest.approx(few.value)
    width = few.interval.high - few.interval.low
    assert many.interval.high - many.interval.low == pytest.approx(width, rel=0.05)


def test_a_flip_is_a_pair_whose_grade_was_not_the_same_each_time():
    found = judging(
        {
            ("q1", "a"): {"m": [1.0, 1.0, 1.0]}, ("q1", "b"): {"m": [1.0, 2.0, 1.0]},
            ("q2", "a"): {"m": [0.0, 1.0, 2.0]}, ("q2", "b"): {"m": [3.0, None, 3.0]},
            ("q3", "a"): {"m": [None, None, 3.0]},
        }
    )  # fmt: skip
    (one,) = assay.assess_panel(found).judges
    assert (one.repeated, one.asked, one.graded, one.pairs) == (4, 15, 12, 5)
    assert one.flips.estimate == pytest.approx(2 / 4)
    assert one.apart.estimate == pytest.approx((0 + 2 / 3 + 1 + 0) / 4)
    assert one.failures == {"timeout": 3}


def test_the_flip_rate_of_a_judge_with_known_noise_is_found():
    """A judge that says another grade in one of five answers, and is less sure on some queries than on others."""
    held, estimates = 0, []
    for seed in range(60):
        rng = random.Random(seed)
        votes = {}
        for q in range(40):
            noise = rng.choice([0.0, 0.4])  # 0.2 on average
            for d in range(5):
                votes[f"q{q}", f"d{d}"] = {"m": [float(rng.random() < noise) for _ in range(2)]}
        (one,) = assay.assess_panel(judging(votes)).judges
        truth = 2 * 0.4 * 0.6 / 2
        held += one.flips.low <= truth <= one.flips.high
        estimates.append(one.flips.estimate)
        assert one.apart.estimate == pytest.approx(one.flips.estimate)
    assert np.mean(estimates) == pytest.approx(0.24, abs=0.01)
    assert held >= 51  # of 60; with 95 %, fewer are seen once in 10,000 times


def test_ties_are_decided_by_rule_and_counted():
    votes = {
        ("q", "a"): {"m": [0.0], "n": [3.0]}, ("q", "b"): {"m": [2.0], "n": [2.0]}, ("q", "c"): {"m": [1.0], "n": [2.0]},
    }  # fmt: skip
    for combine in ("vote", "median"):
        found = judging(votes, combine)
        assert [one.grade for one in found.verdicts] == [0.0, 2.0, 1.0]
        assert assay.assess_panel(found).tied == 2
    mean = judging(votes, "mean")
    assert [one.grade for one in mean.verdicts] == [1.5, 2.0, 1.5]
    assert assay.assess_panel(mean).tied == 0


def test_the_median_is_the_middle_grade_also_where_others_are_commoner():
    (one,) = judging({("q", "a"): {"m": [0.0, 0.0], "n": [1.0, 2.0], "o": [3.0]}}, "median").verdicts
    assert one.grade == 1.0


def test_a_judge_that_fails_on_a_pair_leaves_it_to_the_others():
    votes = {
        ("q", "a"): {"m": [1.0], "n": [None]},
        ("q", "b"): {"m": [None], "n": [None]},
        ("q", "c"): {"m": [2.0], "n": [2.0]},
    }
    panel = assay.assess_panel(judging(votes))
    assert (panel.pairs, panel.graded, panel.by_all) == (3, 2, 1)
    assert [(one.pairs, one.failures) for one in panel.judges] == [(2, {"timeout": 1}), (1, {"timeout": 2})]
    said = panel.to_markdown()
    assert "2 of 3 pairs have a grade of the panel, 1 of them from every judge" in said
    assert "n left 2 pairs to the other judges" in said


# Systems --------------------------------------------------------------------------------------------------------------

VOTES = {
    ("q1", "a"): {"m": [3.0], "n": [1.0]}, ("q1", "b"): {"m": [0.0], "n": [2.0]},
    ("q2", "a"): {"m": [3.0], "n": [3.0]}, ("q2", "b"): {"m": [1.0], "n": [0.0]},
}  # fmt: skip
RUNS = {
    "first": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}},
    "second": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 2.0, "b": 1.0}},
}


def test_a_systems_band_is_its_score_under_each_judge():
    panel = assay.assess_panel(judging(VOTES), RUNS, "ndcg@10")
    for band in panel.systems:
        for name in ("m", "n"):
            alone = {}
            for (query, doc), grades in VOTES.items():
                alone.setdefault(query, {})[doc] = grades[name][0]
            assert band.judges[name] == pytest.approx(assay.evaluate(alone, RUNS[band.system], "ndcg@10")["ndcg@10"])
        assert (band.low, band.high) == (min(band.judges.values()), max(band.judges.values()))


def test_systems_that_change_places_are_named_with_the_judge_that_differs():
    panel = assay.assess_panel(judging(VOTES, "mean"), RUNS, "ndcg@10")
    (swap,) = panel.swaps
    assert (swap.first, swap.second, swap.against) == ("first", "second", ("n",))
    worst = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)) - 1  # of one query of two
    assert swap.low == pytest.approx(worst / 2)
    assert swap.high == pytest.approx((1 - 1 / math.log2(3)) / 2)
    assert panel.pairs_of_systems == 1
    assert "depends on the judge" in panel.to_markdown()


def test_an_order_that_all_judges_share_is_said_to_hold():
    same = {pair: {"m": grades["m"], "n": grades["m"]} for pair, grades in VOTES.items()}
    panel = assay.assess_panel(judging(same), RUNS, "ndcg@10")
    assert panel.swaps == ()
    assert "the same order under every judge" in panel.to_markdown()


def test_known_judgments_count_under_every_judge():
    known = {"q1": {"c": 3}, "q3": {"a": 1}}
    runs = {"one": {"q1": {"c": 2.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}}}
    (band,) = assay.assess_panel(judging(VOTES), runs, "success@1", known=known).systems
    assert band.judges == {"m": 1.0, "n": 1.0}
    (without,) = assay.assess_panel(judging(VOTES), runs, "success@1").systems
    assert without.judges == {"m": 0.5, "n": 0.5}


def test_measures_without_runs_are_refused():
    with pytest.raises(assay.UsageError, match="no runs to compute"):
        assay.assess_panel(judging(VOTES), measures="ndcg@10")


# People ---------------------------------------------------------------------------------------------------------------


def test_agreement_with_people_is_given_for_each_judge_and_for_the_panel():
    metrics = pytest.importorskip("sklearn.metrics")
    found, people = drawn()
    some = {query: docs for query, docs in people.items() if int(query[1:]) % 2}
    panel = assay.assess_panel(found, labels=some)
    rows = [one for one in found.verdicts if one.query_id in some]
    theirs = [some[one.query_id][one.doc_id] for one in rows]
    for place, judge in enumerate(panel.judges):
        ours = [one.votes[place].grade for one in rows]
        expected = metrics.cohen_kappa_score(ours, theirs, weights="quadratic")
        assert judge.people.value == pytest.approx(expected, abs=1e-12)
        assert judge.bias.estimate == pytest.approx(np.mean(np.array(ours) - theirs))
    ours = [one.grade for one in rows]
    assert panel.people.value == pytest.approx(metrics.cohen_kappa_score(ours, theirs, weights="quadratic"), abs=1e-12)
    assert panel.labels == len(rows) == 120
    assert panel.calibration.error < min(panel.calibration.errors.values())
    assert panel.calibration.mean.low < 1.2 < panel.calibration.mean.high  # the mean of 0, 0, 1, 2, 3
    assert panel.calibration.plain > 1.3


def by_label(people: dict, shift: int):
    """A judge of pairs whose texts tell their grade: it says a grade more or less than people."""

    def answer(messages) -> str:
        text = str(messages[-1]["content"])
        number = int(text.partition("level ")[2][0])
        return json.dumps({"seal": seal_of(messages), "reason": "", "grade": max(0, min(3, number + shift))})

    return answer


def graded(people: dict, labels: dict, **more) -> Judging:
    pairs = [(query, doc) for query, docs in people.items() for doc in docs]
    texts = {f"{query} {doc}": f"level {people[query][doc]}" for query, doc in pairs}
    documents = {f"{query} {doc}": texts[f"{query} {doc}"] for query, doc in pairs}
    return assay.judge_pairs(
        [(query, f"{query} {doc}") for query, doc in pairs], queries=dict.fromkeys(people, "x"), documents=documents,
        judge={"kind": by_label(people, 1)}, combine="calibrated",
        labels={query: {f"{query} {doc}": grade for doc, grade in docs.items()} for query, docs in labels.items()}, **more,
    )  # fmt: skip


def test_calibrated_grades_are_on_the_scale_of_people_and_no_label_judges_itself():
    _, people = drawn(2, queries=24, docs=5)
    people = {query: {doc: min(grade, 2) for doc, grade in docs.items()} for query, docs in people.items()}
    labels = {query: docs for query, docs in people.items() if int(query[1:]) < 12}
    found = graded(people, labels)
    for one in found.verdicts:
        assert one.grade == pytest.approx(people[one.query_id][one.doc_id.split()[1]], abs=1e-6)  # kind says one more
    wrong = {**labels, "q0": {doc: 2 - grade for doc, grade in labels["q0"].items()}}
    turned = graded(people, wrong)
    mine = [one.grade for one in found.verdicts if one.query_id == "q0"]
    assert [one.grade for one in turned.verdicts if one.query_id == "q0"] == mine
    assert turned.judge != found.judge
    assert "calibrated on 60 labels" in found.judge


def test_calibrated_grades_need_labels_of_people_on_the_scale():
    _, people = drawn(3, queries=12, docs=5)
    people = {query: {doc: min(grade, 2) for doc, grade in docs.items()} for query, docs in people.items()}
    with pytest.raises(assay.InputError, match="only 5 judged pairs have a label: calibrated grades need 50"):
        graded(people, {"q0": people["q0"]})
    with pytest.raises(assay.InputError, match="reach to 7, the scale of the judges from 0 to 3"):
        graded(people, {**people, "q0": dict.fromkeys(people["q0"], 7)})
    with pytest.raises(assay.UsageError, match="need people's labels, and only they do"):
        assay.judge_pairs(
            [("q", "d")], judge=by_label({}, 0), queries={"q": ""}, documents={"d": ""}, combine="calibrated"
        )
    found, labels = drawn()
    made = replace(assay.Judgments.from_dict(labels), judge="another model")
    with pytest.raises(assay.InputError, match="not people's: another model"):
        assay.assess_panel(found, labels=made)


# Judges ---------------------------------------------------------------------------------------------------------------

TEXTS = {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}


def say_two(messages) -> str:
    return json.dumps({"seal": seal_of(messages), "reason": "", "grade": 2})


def test_a_changed_prompt_is_another_judge(tmp_path):
    text = "version: strict-1\n# system\nBe strict: $rubric\n# user\n$mark $query $document\n"
    (tmp_path / "strict.md").write_text(text)
    seen = []

    def answer(messages) -> str:
        seen.append("Be strict" in messages[0]["content"])
        return say_two(messages)

    prompts = ["relevance", str(tmp_path / "strict.md")]
    found = assay.judge_pairs([("q", "d")], judge=answer, prompt=prompts, **TEXTS)
    assert found.judges == ("answer [relevance]", "answer [strict]")
    assert sorted(seen) == [False, True]
    assert "relevance-en-1+" in found.judge and "strict-1+" in found.judge
    plan = [len(found.verdicts[0].votes), found.repeats]
    assert plan == [2, 1]


def test_a_rubric_with_other_words_is_another_judge(tmp_path):
    names = []
    for words in ("helps a little", "helps a lot"):
        (tmp_path / "mine.toml").write_text(f'name = "mine"\n[grades]\n0 = "no"\n2 = "{words}"\n')
        names.append(assay.judge_pairs([("q", "d")], judge=say_two, scale=str(tmp_path / "mine.toml"), **TEXTS).judge)
    assert names[0] != names[1]
    assert all("scale mine+" in name for name in names)


def test_rubrics_with_other_grades_are_no_panel(tmp_path):
    with pytest.raises(assay.UsageError, match="different grades"):
        assay.judge_pairs([("q", "d")], judge=say_two, scale=["0-2", "0-3"], **TEXTS)
    with pytest.raises(assay.UsageError, match="the same name"):
        assay.judge_pairs([("q", "d")], judge=say_two, scale=["0-3", "0-3"], **TEXTS)


def test_verdicts_are_written_one_for_each_pair_judge_and_repeat(tmp_path):
    found, _ = drawn(1, queries=3, docs=2, repeats=2)
    assay.write_verdicts(found, tmp_path / "d.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert len(rows) == len({(row["query_id"], row["doc_id"], row["judge"], row["repeat"]) for row in rows}) == 24
    assert rows == read_votes(tmp_path / "d.jsonl")
    grades = {(one.query_id, one.doc_id): one.grade for one in found.verdicts}
    assert {(row["query_id"], row["doc_id"]): row["panel_grade"] for row in rows} == grades


def test_verdicts_of_earlier_versions_are_read(tmp_path):
    found, _ = drawn(1, queries=3, docs=2, repeats=2)
    old = "".join(json.dumps(asdict(one)) + "\n" for one in found.verdicts)
    (tmp_path / "old.jsonl").write_text(old)
    assay.write_verdicts(found, tmp_path / "new.jsonl")
    new = [
        {name: value for name, value in row.items() if name != "panel_grade"}
        for row in read_votes(tmp_path / "new.jsonl")
    ]
    assert read_votes(tmp_path / "old.jsonl") == new


def test_details_are_told_from_judgments(tmp_path):
    found, _ = drawn(1, queries=3, docs=2)
    assay.write_verdicts(found, tmp_path / "d.jsonl")
    assert is_verdict(json.loads((tmp_path / "d.jsonl").read_text().splitlines()[0]))
    assert not is_verdict({"query_id": "q", "doc_id": "d", "grade": 1, "judge": "m"})
    (tmp_path / "bare.jsonl").write_text('{"query_id": "q", "doc_id": "d"}\n')
    with pytest.raises(assay.InputError, match="contains no votes"):
        read_votes(tmp_path / "bare.jsonl")
