"""How far a judge can be trusted: agreement, bias, noise and corrected means against independent numbers."""

from __future__ import annotations

import json
import random
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix

import assay
from assay.analysis.calibrate import calibrate
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.stats.intervals import mean_interval
from commands import run_assay


def graded(queries: int = 30, docs: int = 5, noise: float = 0.3, seed: int = 0) -> tuple[Judgments, Judgments]:
    """People's grades from 0 to 3, and a judge that is off by one now and then, mostly upwards."""
    rng = random.Random(seed)
    human, judge = {}, {}
    for q in range(queries):
        human[f"q{q:02}"] = {f"d{d}": rng.choice([0, 0, 1, 2, 3]) for d in range(docs)}
        judge[f"q{q:02}"] = {
            doc: min(3, grade + (1 if rng.random() < noise else 0)) for doc, grade in human[f"q{q:02}"].items()
        }
    return replace(Judgments.from_dict(judge), judge="model (p-1, scale 0-3)"), Judgments.from_dict(human)


def columns(judge: Judgments, human: Judgments) -> tuple[list[int], list[int]]:
    pairs = [(q, d) for q, docs in human.to_dict().items() for d in docs]
    return [int(judge.to_dict()[q][d]) for q, d in pairs], [int(human.to_dict()[q][d]) for q, d in pairs]


def test_agreement_is_that_of_other_libraries():
    judge, human = graded()
    found = calibrate(judge, human)
    ours, theirs = columns(judge, human)
    assert found.pairs == 150
    assert found.kappa.value == pytest.approx(cohen_kappa_score(ours, theirs, weights="quadratic"), abs=1e-12)
    assert found.spearman.value == pytest.approx(stats.spearmanr(ours, theirs).statistic, abs=1e-12)
    assert found.exact == pytest.approx(sum(a == b for a, b in zip(ours, theirs, strict=True)) / 150)
    assert list(map(list, found.confusion.counts)) == confusion_matrix(theirs, ours).tolist()
    assert found.kappa.interval.low < found.kappa.value < found.kappa.interval.high


def test_bias_is_judge_less_people_by_peoples_grade():
    judge, human = graded()
    found = calibrate(judge, human)
    ours, theirs = columns(judge, human)
    assert found.bias.estimate == pytest.approx(statistics.fmean(a - b for a, b in zip(ours, theirs, strict=True)))
    for row in found.biases:
        mine = [a - b for a, b in zip(ours, theirs, strict=True) if b == row.grade]
        assert (row.pairs, row.mean.estimate) == (len(mine), pytest.approx(statistics.fmean(mine)))
    assert found.biases[-1].mean.estimate == 0.0


def test_fifty_labels_are_needed_and_a_hundred_wanted():
    judge, human = graded(queries=10)
    assert "only 50 labels: with fewer than 100" in "\n".join(calibrate(judge, human).warnings)
    fewer = Judgments.from_dict({q: docs for q, docs in human.to_dict().items() if q != "q00"})
    with pytest.raises(assay.InputError, match="only 45 pairs are graded by both"):
        calibrate(judge, fewer)
    assert not calibrate(*graded(queries=20)).warnings


def test_negative_grades_are_no_labels():
    judge, human = graded(queries=10)
    raw = human.to_dict()
    raw["q00"]["d0"] = -1
    with pytest.raises(assay.InputError, match="only 49 pairs"):
        calibrate(judge, Judgments.from_dict(raw))


def test_different_scales_are_doubted():
    judge, human = graded(queries=20)
    tenfold = Judgments.from_dict({q: {d: 3 * g for d, g in docs.items()} for q, docs in judge.to_dict().items()})
    assert "are these the same scale?" in "\n".join(calibrate(tenfold, human).warnings)


def test_repeats_show_the_judges_noise():
    judge, human = graded(queries=10)
    votes = [
        {"query_id": "q", "doc_id": doc, "judge": "m", "grade": grade}
        for doc, grades in {"a": [1, 1], "b": [1, 3], "c": [2], "d": [None, 2]}.items()
        for grade in grades
    ]
    noise = calibrate(judge, human, votes=votes).noise
    assert [(n.judge, n.pairs, n.differing) for n in noise] == [("m", 2, 0.5)]
    assert noise[0].deviation == pytest.approx(((0 + 2) / 2) ** 0.5)


def test_means_are_corrected_by_the_queries_that_people_graded_completely():
    judge, everything = graded(queries=40)
    labelled = {f"q{q:02}" for q in range(25)}
    human = Judgments.from_dict({q: docs for q, docs in everything.to_dict().items() if q in labelled})
    run = Run.from_dict({q: {f"d{d}": -float(d) for d in range(5)} for q in judge.to_dict()}, "sys")
    found = calibrate(judge, human, runs=[run], measures=["P@2"]).systems[0]

    def p2(grades):
        return {q: sum(docs[d] >= 1 for d in ("d0", "d1")) / 2 for q, docs in grades.to_dict().items()}

    mine, theirs = p2(judge), p2(human)
    y, f = np.array([theirs[q] for q in sorted(labelled)]), np.array([mine[q] for q in sorted(labelled)])
    g = np.array([mine[q] for q in sorted(mine) if q not in labelled])
    pooled = np.concatenate([f, g]).var(ddof=1)
    tuning = np.cov(y, f, ddof=1)[0, 1] / ((1 + len(y) / len(g)) * pooled)
    assert (found.labelled, found.queries) == (25, 40)
    assert found.human == pytest.approx(y.mean())
    assert found.judge == pytest.approx(f.mean())
    assert found.corrected.estimate == pytest.approx(y.mean() - found.corrected.tuning * (f.mean() - g.mean()))
    assert found.corrected.tuning == pytest.approx(tuning, rel=0.05)


def test_a_query_counts_as_labelled_only_when_all_its_pairs_are():
    judge, human = graded(queries=20)
    raw = human.to_dict()
    del raw["q03"]["d4"]
    run = Run.from_dict({q: {"d0": 1.0} for q in raw}, "sys")
    assert calibrate(judge, Judgments.from_dict(raw), runs=[run], measures=["P@1"]).systems[0].labelled == 19


def test_the_order_of_systems_is_compared():
    judge, human = graded(queries=20, noise=0.0)
    runs = [
        Run.from_dict({q: {f"d{(d + s) % 5}": -float(d) for d in range(3)} for q in human.to_dict()}, f"s{s}")
        for s in range(4)
    ]
    assert calibrate(judge, human, runs=runs, measures=["ndcg@3"]).ranking.value == pytest.approx(1.0)
    assert calibrate(judge, human, runs=runs[:2], measures=["ndcg@3"]).ranking is None


def test_a_calibration_file_takes_the_stamp_away_from_its_own_judge_only(tmp_path):
    judge, human = graded()
    assay.write_judgments(judge, tmp_path / "judged.qrels")
    assay.write_judgments(human, tmp_path / "human.qrels")
    assay.write_run(Run.from_dict({q: {"d0": 1.0} for q in human.to_dict()}, "a"), tmp_path / "a.run")
    assay.write_run(Run.from_dict({q: {"d1": 1.0} for q in human.to_dict()}, "b"), tmp_path / "b.run")
    done = run_assay(
        "calibrate", "judged.qrels", "human.qrels", "--run", "a.run", "-m", "P@1", "-o", "c.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "c.json").read_text())["calibration"]
    assert data["stamp"]["text"] == f"kappa {data['kappa']['value']:.2f} on 150 labels"
    plain = run_assay("evaluate", "judged.qrels", "a.run", "-m", "P@1", cwd=tmp_path).stdout
    assert plain.count("uncalibrated judge") == 2
    sure = run_assay("evaluate", "judged.qrels", "a.run", "-m", "P@1", "--calibration", "c.json", cwd=tmp_path).stdout
    assert "uncalibrated" not in sure
    assert "agreement with people: kappa" in sure
    wrong = run_assay("evaluate", "human.qrels", "a.run", "-m", "P@1", "--calibration", "c.json", cwd=tmp_path)
    assert (wrong.returncode, "were made by people" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("kind", ["table", "json", "csv", "markdown", "latex"])
def test_every_output_of_an_uncalibrated_judge_is_stamped(tmp_path, kind):
    judge, human = graded()
    assay.write_judgments(judge, tmp_path / "judged.qrels")
    for name, doc in (("a", "d0"), ("b", "d1")):
        assay.write_run(Run.from_dict({q: {doc: 1.0} for q in human.to_dict()}, name), tmp_path / f"{name}.run")
    for words in (
        ["evaluate", "judged.qrels", "a.run"],
        ["evaluate", "judged.qrels", "a.run", "--per-query"],
        ["compare", "judged.qrels", "a.run", "b.run"],
        ["compare", "judged.qrels", "a.run", "b.run", "--brief"],
        ["sweep", "judged.qrels", "a.run"],
        ["diagnose", "judged.qrels", "a.run"],
        ["gate", "judged.qrels", "a.run", "--fail-under", "P@1=0.1"],
    ):
        measures = [] if words[0] in {"sweep", "diagnose"} else ["-m", "P@1"]
        done = run_assay(*words, *measures, "--format", kind, cwd=tmp_path)
        assert done.returncode in {0, 1}, done.stderr
        assert "uncalibrated judge" in done.stdout, words


def test_a_chinese_calibration_is_aligned(tmp_path):
    judge, human = graded()
    assay.write_judgments(judge, tmp_path / "judged.qrels")
    assay.write_judgments(human, tmp_path / "human.qrels")
    text = run_assay("calibrate", "judged.qrels", "human.qrels", "--lang", "zh", cwd=tmp_path).stdout
    assert "二次加权 kappa" in text
    assert "人工等级（行）与评审模型等级" in text


def test_a_judge_and_people_are_compared_on_the_same_queries():
    from dataclasses import replace

    from assay.analysis.calibrate import calibrate

    queries = [f"q{i:02}" for i in range(40)]
    everything = {q: {"a": 1, "b": 0, "c": 0} for q in queries}
    flipped = {q: {"a": 0, "b": 1, "c": 2} if i >= 20 else docs for i, (q, docs) in enumerate(everything.items())}
    judge = replace(Judgments.from_dict(flipped), judge="m")
    human = Judgments.from_dict({q: everything[q] for q in queries[:20]})
    runs = [
        Run.from_dict({q: {d: -float(i) for i, d in enumerate(order)} for q in queries}, order)
        for order in ("abc", "bac", "bca")
    ]
    found = calibrate(judge, human, runs=runs, measures=["recip_rank", "num_rel_ret"])
    assert found.ranking.value == pytest.approx(1.0)
    assert {row.measure for row in found.systems} == {"recip_rank"}
    with pytest.raises(assay.InputError, match="these grades are not people's"):
        calibrate(human, judge)


def test_the_noise_of_a_judge_has_an_interval_whose_units_are_queries():
    judge, human = graded(queries=10)
    votes = [
        {"query_id": f"q{q}", "doc_id": f"d{d}", "judge": "m", "grade": grade}
        for q in range(12)
        for d in range(10)
        for grade in (1, 1 + (q % 2))
    ]
    (noise,) = calibrate(judge, human, votes=votes).noise
    expected = mean_interval([float(q % 2) for q in range(12)], bounds=(0.0, 1.0))  # ten pairs of a query are one
    assert (noise.interval.low, noise.interval.high) == pytest.approx((expected.low, expected.high))
