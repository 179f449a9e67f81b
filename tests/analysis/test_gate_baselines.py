"""Gates against several baselines, folders of earlier results, slices, coverage, and results of several kinds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import assay
from assay.analysis.gate_rules import NotWorse, Threshold, read_rule
from assay.messages import tell
from assay.results.bench import Bench, Latency, Load
from assay.stats.intervals import Interval
from assay.testing import assert_gate


def system(values, name="new"):
    """Scores whose reciprocal rank is 1 where the value is 1, else 0."""
    judged = {f"q{i:03}": {"a": 1} for i in range(len(values))}
    run = {f"q{i:03}": {"a" if value else "x": 1.0} for i, value in enumerate(values)}
    return assay.evaluate(judged, run, ["recip_rank"], name=name)


def hits(n, of=100):
    return system([1] * n + [0] * (of - n), "mine")


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A folder of results with 80, 90 and 60 hits, a day apart, and files that are no results."""
    folder = tmp_path / "history"
    folder.mkdir()
    for day, (name, good) in enumerate((("a", 80), ("b", 90), ("c", 60))):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_700_000_000 + 86_400 * day))
        assay.write_result(hits(good), folder / f"{name}.json")
    (folder / "other.json").write_text('{"x": 1}')
    (folder / "notes.txt").write_text("nothing")
    return folder


# Folders --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("take", "file", "among", "outcome"),
    [("newest", "c.json", 1, "passed"), ("best", "b.json", 3, "failed"), ("best:2", "b.json", 2, "failed"),
     ("best:1", "c.json", 1, "passed")],
)  # fmt: skip
def test_one_of_a_folder_is_the_baseline_and_is_named(history, take, file, among, outcome):
    found = assay.gate(hits(70), not_worse_than=history, take=take)
    (check,), (base,) = found.checks, found.baselines
    assert (check.outcome, check.among, found.outcome) == (outcome, among, outcome)
    assert file in base.taken and "2023-11-1" in base.taken and file in check.name
    assert base.taken in found.notes
    assert check.interval.confidence_level == pytest.approx(1 - 2 * 0.05 / among)


def test_the_result_that_is_checked_is_no_baseline_of_its_own(history):
    assert "b.json" in assay.gate(history / "c.json", not_worse_than=history).baselines[0].taken


def test_results_that_cannot_be_compared_are_left_out_and_counted(history):
    assay.write_result(hits(10, of=50), history / "z.json")
    assert "1 result that cannot be compared is left out" in assay.gate(hits(70), not_worse_than=history).notes[1]
    only = history.parent / "only"
    only.mkdir()
    assay.write_result(hits(10, of=50), only / "z.json")
    (check,) = assay.gate(hits(70), not_worse_than=only).checks
    assert (check.outcome, "1 has other judgments" in check.message) == ("inconclusive", True)


def test_a_folder_without_a_result_yet_stops_nothing_and_says_so(tmp_path):
    found = assay.gate(hits(70), not_worse_than=tmp_path)
    assert (found.outcome, found.passes(), found.passes(strict=True)) == ("inconclusive", True, False)
    assert "nothing to compare with yet" in found.checks[0].message
    with pytest.raises(assay.AssayError):
        assay.gate(hits(70), not_worse_than=tmp_path / "nowhere")


def test_only_words_that_are_known_choose_a_baseline(history):
    with pytest.raises(assay.UsageError, match="newest"):
        assay.gate(hits(70), not_worse_than=history, take="worst")


# Several baselines ----------------------------------------------------------------------------------------------------


def test_each_of_several_baselines_is_checked_at_a_level_for_all_of_them():
    rng = np.random.default_rng(0)
    old, best = (system(rng.random(100) < share, name) for share, name in ((0.6, "last"), (0.9, "best")))
    found = assay.gate(hits(60), not_worse_than=[old, best])
    assert [check.outcome for check in found.checks] == ["passed", "failed"]
    assert {check.among for check in found.checks} == {2}
    same = assay.gate(hits(60), not_worse_than=[old, old])
    assert {check.among for check in same.checks} == {1}
    assert assay.gate(hits(60), NotWorse("rr", (old, best))).outcome == "failed"


def test_warnings_of_a_baseline_have_its_name_alone():
    judged = {f"q{i}": {"a": 1, "b": 0} for i in range(20)}
    tied = assay.evaluate(judged, {q: {"a": 1.0, "b": 1.0} for q in judged}, ["rr"], name="old")
    new = assay.evaluate(judged, {q: {"a": 2.0, "b": 1.0} for q in judged}, ["rr"], name="new")
    notes = assay.gate(new, not_worse_than=tied).notes
    assert [text for text in notes if "ties" in text] and not [text for text in notes if text.startswith("new: old")]


# What queries can show ------------------------------------------------------------------------------------------------


def test_a_gate_says_which_drop_it_catches_and_how_many_queries_the_margin_needs():
    rng = np.random.default_rng(1)
    (check,) = assay.gate(system(rng.random(100) < 0.5), not_worse_than=system(rng.random(100) < 0.5, "old")).checks
    spread = 0.7  # of the difference of two fair coins
    assert check.detectable == pytest.approx(2.49 * spread / 10, rel=0.2)
    assert check.needed == pytest.approx((2.49 * spread / 0.01) ** 2, rel=0.2)
    assert "100 queries catch a drop of 0.1" in check.power and "a margin of 0.01 needs about" in check.power
    assert "90% interval" in check.message
    assert "80% 的概率" in tell(check.power, "zh") and "90% 置信区间" in tell(check.message, "zh")


# Slices ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def queries(tmp_path):
    place = tmp_path / "queries.csv"
    rows = [f"q{i:03},{'zh' if i < 30 else 'en' if i < 95 else 'de'},{i}\n" for i in range(100)]
    place.write_text("query_id,language,length\n" + "".join(rows))
    return place


def test_a_rule_holds_for_every_value_of_an_attribute(queries):
    old, new = hits(90), system([0] * 15 + [1] * 75 + [1] * 10, "mine2")
    found = assay.gate(new, not_worse_than=old, slices="language", queries=queries)
    assert [(check.slice, check.outcome, check.among) for check in found.checks] == [
        ("", "inconclusive", 1), ("language=de", "inconclusive", 3), ("language=en", "passed", 3),
        ("language=zh", "failed", 3),
    ]  # fmt: skip
    zh = found.checks[-1]
    assert zh.interval.n == 30 and zh.interval.confidence_level == pytest.approx(1 - 0.1 / 3)
    assert zh.name.startswith("language=zh: ") and "corrected for 3 checks" in zh.message
    one = assay.gate(new, NotWorse("rr", old, slice="language=zh"), queries=queries)
    assert [(check.slice, check.among) for check in one.checks] == [("language=zh", 1)]


def test_thresholds_hold_for_slices_and_sure_ones_are_corrected(queries):
    new = system([1] * 30 + [0] * 70)
    found = assay.gate(new, [Threshold("rr", at_least=0.3, slice="language")], queries=queries)
    assert [check.outcome for check in found.checks] == ["failed", "failed", "passed"]
    sure = assay.gate(new, [Threshold("rr", at_least=0.8, slice="language=zh", sure=True)], queries=queries).checks[0]
    assert (sure.outcome, sure.interval.low) == ("passed", pytest.approx(0.05 ** (1 / 30)))  # Clopper and Pearson's


def test_slices_need_attributes_that_exist_and_have_few_values(queries):
    for slices, given, message in (
        ("language", None, "--queries"), ("lang", queries, "language"), ("language=fr", queries, "value of language"),
        ("length", queries, "too many"),
    ):  # fmt: skip
        with pytest.raises(assay.UsageError, match=message):
            assay.gate(hits(90), {"rr": 0.1}, slices=slices, queries=given)


# Texts, coverage, results of several kinds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("p95_ms<=300", Threshold("p95_ms", at_most=300)), ("ndcg@10 >= .85", Threshold("ndcg@10", at_least=0.85)),
        ("map > 1e-1", Threshold("map", at_least=0.1, strict=True)), ("rr≤0.5", Threshold("rr", at_most=0.5)),
        ("ndcg(gain='exp')@10<0.5", Threshold("ndcg(gain='exp')@10", at_most=0.5, strict=True)), ("gate.toml", None),
    ],
)  # fmt: skip
def test_a_rule_may_be_a_text(text, rule):
    assert read_rule(text) == rule


def test_a_rule_with_a_wrong_number_is_named():
    with pytest.raises(assay.UsageError, match="expected a number"):
        read_rule("map>=1e")


def test_coverage_is_a_rule_and_says_how_much_the_other_rules_need():
    judged = {f"q{i}": {"a": 1} for i in range(50)}
    part = assay.evaluate(judged, {f"q{i}": {"a": 1.0} for i in range(49)}, ["rr"], missing="skip")
    assert assay.gate(part, "rr>=0.5").outcome == "failed"
    found = assay.gate(part, ["rr>=0.5", "coverage>=0.98"])
    assert [check.outcome for check in found.checks] == ["passed", "passed"]
    assert found.checks[1].message == "coverage is 98.0% (>= 0.98): rr has a value for 49 of 50 queries"
    assert [check.outcome for check in assay.gate(part, ["rr>=0.5", "coverage>=0.99"]).checks] == ["failed"] * 2


def bench(p95: float) -> Bench:
    point = Interval(p95, p95 - 10, p95 + 10, confidence_level=0.95, method="order", n=100)
    load = Load("closed", 1, None, None, 1.0, 99, {"timeout": 1}, {}, 100.0,
                Latency(point, point, point, p95, 0.0), None, None)  # fmt: skip
    return Bench("x", (load,))


def test_one_gate_takes_quality_latency_and_cost():
    rules = ["rr>=0.5", "p95_ms<=300", "cost_per_1000<=0.5", "coverage>=0.98"]
    costs = assay.cost({"own": {"per_query": 0.002}}, queries_per_day=1000)
    found = assay.gate_result([hits(60), bench(250.0), costs], rules)
    told = [(str(one.system), check.measure, check.outcome) for one in found for check in one.checks]
    assert told == [
        ("mine", "rr", "passed"), ("mine", "coverage", "passed"), ("x", "p95_ms", "passed"), ("x", "coverage", "passed"),
        ("no reranking", "cost_per_1000", "passed"), ("own", "cost_per_1000", "failed"),
    ]  # fmt: skip
    with pytest.raises(assay.UnknownName, match="ndcg@10"):
        assay.gate_result([hits(60), bench(250.0)], "ndcg@10>=0.5")
    assert assay.gate(bench(250.0), "p95_ms<=200").outcome == "failed"


def test_a_measure_that_applies_to_no_query_fails_and_says_so():
    none = assay.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["recall@5"], undefined="skip")
    (check,) = assay.gate(none, "recall@5>=0.5").checks
    assert (check.outcome, check.value) == ("failed", None)
    assert check.message == "recall@5 has no value: it applies to none of the 1 query"
    assert "nan" not in str(assay.gate(none, "recall@5>=0.5").to_dict()).lower()


def test_a_test_suite_takes_every_rule(history, queries):
    assert_gate(hits(70), ["rr>=0.5"], at_least={"rr": 0.6}, not_worse_than=history, slices="language=en",
                queries=queries, margin=0.5)  # fmt: skip
    with pytest.raises(AssertionError, match="a drop is shown"):
        assert_gate(hits(70), not_worse_than=history, take="best")


def test_the_command_and_rule_files_take_all_of_it(history, queries, call, tmp_path):
    assay.write_result(hits(70), tmp_path / "new.json")
    bench(250.0).save(tmp_path / "bench.json")
    (tmp_path / "gate.toml").write_text(
        '[[rule]]\nmeasure = "rr"\nnot_worse_than = ["history", "history/b.json"]\ntake = "best:2"\nslice = "language"\n'
        '[[rule]]\nmeasure = "p95_ms"\nat_most = 300\nmin_coverage = 0.9\n'
    )
    words = [
        "gate",
        "new.json",
        "bench.json",
        "--rules",
        "gate.toml",
        "--rules",
        "coverage>=0.9",
        "--queries",
        str(queries),
    ]
    code, out, err = call(*words, "--junit", "g.xml", "-o", "g.json")
    assert (code, err.count("Traceback")) == (1, 0)
    assert "b.json" in out and "language=zh" in out and "nan" not in (out + (tmp_path / "g.xml").read_text()).lower()
    data = json.loads((tmp_path / "g.json").read_text())
    assert [len(one["checks"]) for one in data["gates"]] == [7, 2]
    one = ["gate", "new.json", "--not-worse-than", "history"]
    assert [call(*one, *more)[0] for more in ([], ["--take", "best"], ["--not-worse-than", "history/b.json"])] == [
        0,
        1,
        1,
    ]
    assert call(*one, "--take", "worst")[0] == 2
