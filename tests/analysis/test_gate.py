"""Gates: what passes, what fails, what stays open, and how a pipeline learns of it."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.stats

import assay
from assay.analysis.gate import gate
from assay.analysis.gate_rules import NotWorse, Threshold, measures_of_rules, read_rules, target_rules
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.messages import tell
from assay.stats.guarded import guard_interval
from assay.testing import assert_gate, seal_of
from commands import run_assay
from interval_oracles import adjusted_t_ends, score_ends


def system(values: list[int], name: str = "new"):
    """Scores whose reciprocal rank is 1 where the value is 1, else 0."""
    judged = {f"q{i:02}": {"a": 1} for i in range(len(values))}
    run = {f"q{i:02}": {"a" if value else "x": 1.0} for i, value in enumerate(values)}
    return assay.evaluate(judged, run, ["recip_rank", "unjudged@1"], name=name)


def outcome(scores, rule) -> str:
    return gate(scores, [rule]).outcome


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"at_least": 0.5}, "passed"), ({"at_least": 0.5, "strict": True}, "failed"), ({"at_least": 0.51}, "failed"),
        ({"at_least": 0.49, "strict": True}, "passed"), ({"at_most": 0.5}, "passed"), ({"at_most": 0.49}, "failed"),
        ({"at_most": 0.5, "strict": True}, "failed"),
    ],
)  # fmt: skip
def test_thresholds_hold_the_mean(rule, expected):
    assert outcome(system([1, 0] * 10), Threshold("reciprocal_rank", **rule)) == expected


def test_a_sure_threshold_holds_the_whole_interval():
    values = np.array([1, 0] * 20, dtype=float)
    clopper = scipy.stats.beta.ppf(0.05, 20, 21), scipy.stats.beta.ppf(0.95, 21, 20)  # the bounds, for shares
    low, high = min(score_ends(values, level=0.9)[0], clopper[0]), max(score_ends(values, level=0.9)[1], clopper[1])
    scores = system([1, 0] * 20)
    for goal, expected in (
        (low - 1e-6, "passed"),
        (low + 1e-6, "inconclusive"),
        (high - 1e-6, "inconclusive"),
        (high + 1e-6, "failed"),
    ):
        assert outcome(scores, Threshold("reciprocal_rank", at_least=goal, sure=True)) == expected
        turned = {"passed": "failed", "failed": "passed"}.get(expected, expected)
        assert outcome(scores, Threshold("reciprocal_rank", at_most=goal, sure=True)) == turned


def gaffke(change, risk: float, seed: int = 0) -> float:
    """Upper bound of the mean of values up to 1, by simulation from its definition (Gaffke 2005)."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(change) + 1), 100_000)
    return float(np.quantile(weights @ np.append(change, 1.0), 1 - risk))


@pytest.mark.parametrize("gained", [0, 2, 3])
def test_the_bounds_count_where_fewer_than_three_queries_are_on_one_side(gained):
    """Small losses in all queries but a few: t is sure of a loss, which rare large gains could undo."""
    change = np.r_[np.full(40 - gained, -0.03), np.full(gained, 0.02)] + np.linspace(0, 0.01, 40)
    found, student, bounds = guard_interval(change, 1.0), adjusted_t_ends(change, level=0.9), gaffke(change, 0.1)
    assert student[1] < 0 < bounds
    assert found.high == pytest.approx(student[1] if gained == 3 else bounds, abs=0.003)
    assert found.low == pytest.approx(student[0] if gained == 3 else -gaffke(-change, 0.1), abs=0.003)


def test_the_interval_reaches_as_far_as_students_and_as_the_bounds_at_twice_the_risk():
    before, after = [1, 0, 1, 1] * 10, [1, 1, 1, 0] * 9 + [1, 0, 0, 0]
    change = np.array(after, dtype=float) - np.array(before)
    low, high = adjusted_t_ends(change, level=0.9)
    (check,) = gate(system(after), [NotWorse("reciprocal_rank", system(before, "old"))]).checks
    assert check.interval.high == pytest.approx(max(high, gaffke(change, 0.1)), abs=0.003)
    assert check.interval.low == pytest.approx(min(low, -gaffke(-change, 0.1)), abs=0.003)
    assert check.interval.confidence_level == pytest.approx(0.9)


def test_a_margin_is_ruled_out_by_the_whole_interval():
    before, after = [1, 0, 1, 1] * 10, [1, 1, 1, 0] * 9 + [1, 0, 0, 0]
    base = system(before, "old")
    low = gate(system(after), [NotWorse("reciprocal_rank", base)]).checks[0].interval.low
    for margin, expected in ((-low + 1e-6, "passed"), (-low - 1e-6, "inconclusive")):
        assert outcome(system(after), NotWorse("reciprocal_rank", base, margin)) == expected
    worse = system([0] * 30 + after[30:])
    assert outcome(worse, NotWorse("reciprocal_rank", base, 0.01)) == "failed"


def test_a_drop_that_is_shown_but_estimated_below_the_margin_fails_nothing():
    base, worse = system([1] * 100, "old"), system([0] * 10 + [1] * 90)
    assert outcome(worse, NotWorse("reciprocal_rank", base, 0.09)) == "failed"
    (check,) = gate(worse, [NotWorse("reciprocal_rank", base, 0.11)]).checks
    assert (check.outcome, check.interval.high < 0) == ("inconclusive", True)
    assert "a drop is shown, but it is not clear whether it is above the tolerated 0.11" in check.message


def test_equal_values_pass_without_a_margin_and_say_what_they_could_not_see():
    """Of 100 queries none differs with probability (1 - d)^100, which is .05 for d = .0295."""
    (check,) = gate(system([1, 0] * 50), [NotWorse("reciprocal_rank", system([1, 0] * 50, "old"))]).checks
    assert check.outcome == "passed"
    assert check.message.endswith(
        "no query differs from old; with 100 queries, a true drop of up to 0.030 could go unnoticed"
    )


@pytest.mark.parametrize(
    ("n", "expected"), [(12, "inconclusive"), (100, "inconclusive"), (298, "inconclusive"), (299, "passed")]
)
def test_equal_values_rule_out_a_margin_only_where_there_are_enough(n, expected):
    """0.99^n is below .05 from n = 299 on."""
    (check,) = gate(system([1] * n), [NotWorse("reciprocal_rank", system([1] * n, "old"), 0.01)]).checks
    assert (check.outcome, check.needed) == (expected, 299)
    told = "reciprocal_rank against old: a margin of 0.01 needs about 300 queries" if n < 299 else ""
    assert check.power == told


@pytest.mark.parametrize("n", [12, 100, 298, 299, 449, 500, 1000])
def test_a_true_drop_of_the_margin_seldom_passes(n):
    """Each query of a hit rate is lost with probability .01: the chance of each number of losses is known."""
    losses = range(int(scipy.stats.binom(n, 0.01).isf(1e-6)) + 1)
    passing = [
        k
        for k in losses
        if outcome(system([0] * k + [1] * (n - k)), NotWorse("reciprocal_rank", system([1] * n, "old"), 0.01))
        == "passed"
    ]
    assert scipy.stats.binom(n, 0.01).pmf(passing).sum() <= 0.065


@pytest.mark.parametrize("margin", [None, 0.01])
def test_fewer_than_ten_queries_without_a_loss_decide_nothing(margin):
    for n, gains in ((1, 0), (9, 0), (9, 9), (9, 3)):
        base = system([0] * gains + [1] * (n - gains), "old")
        (check,) = gate(system([1] * n), [NotWorse("reciprocal_rank", base, margin)]).checks
        assert check.outcome == "inconclusive"
        assert f"{n} {'query is' if n == 1 else 'queries are'} too few to tell whether it is worse" in check.message


def test_a_margin_needs_no_fewer_queries_than_its_bounds():
    """One of 100 queries gains a little: the spread asks for few queries, the bounds for log(.1)/log(.99) = 230."""
    judged = {f"q{i}": {"a": 1} for i in range(100)}
    new, old = (
        assay.evaluate(judged, {q: {"a": 1.0, "b": 2.0 * (q in worse)} for q in judged}, ["ndcg@10"], name=name)
        for name, worse in (("new", ()), ("old", ("q0",)))
    )
    (check,) = gate(new, [NotWorse("ndcg@10", old, 0.01)]).checks
    assert check.needed == 230
    assert check.outcome == "inconclusive"
    assert "no query is worse, 1 of 100 is better, but a drop of 0.01 is not ruled out" in check.message


def test_what_all_queries_lost_is_shown_by_five_of_them():
    """Gaffke's p of n values at one end of the range is (1/2)^n."""
    for n, expected in ((4, "inconclusive"), (5, "failed")):
        assert outcome(system([0] * n), NotWorse("reciprocal_rank", system([1] * n, "old"), 0.01)) == expected


def test_a_gain_in_some_queries_and_a_loss_in_none_is_not_worse():
    (check,) = gate(system([1] * 20), [NotWorse("reciprocal_rank", system([1] * 10 + [0] * 10, "old"))]).checks
    assert check.outcome == "passed"
    assert check.message.endswith("no query is worse, 10 of 20 are better")
    (check,) = gate(system([1] * 20), [NotWorse("reciprocal_rank", system([1] * 19 + [0], "old"))]).checks
    assert check.outcome == "passed"
    assert "no query is worse, 1 of 20 is better; a true drop of up to 0." in check.message


def test_where_lower_is_better_a_rise_is_worse():
    base, new = system([1] * 40, "old"), system([0] * 40)
    assert outcome(new, NotWorse("unjudged@1", base, 0.01)) == "failed"
    assert outcome(base, NotWorse("unjudged@1", new, 0.01)) == "passed"


def test_the_worst_outcome_is_the_gates():
    scores, base = system([1, 0] * 3), system([0, 1] * 3, "old")
    passed, failed = Threshold("reciprocal_rank", at_least=0.1), Threshold("reciprocal_rank", at_least=0.9)
    unsure = NotWorse("reciprocal_rank", base, 0.01)
    assert gate(scores, [passed, unsure]).outcome == "inconclusive"
    assert gate(scores, [passed, unsure, failed]).outcome == "failed"
    assert gate(scores, [passed]).outcome == "passed"
    with pytest.raises(assay.UsageError, match="no rule"):
        gate(scores, [])


def test_comparing_with_other_judgments_is_refused():
    other = assay.evaluate({"z": {"a": 1}}, {"z": {"a": 1.0}}, ["recip_rank"], name="old")
    with pytest.raises(assay.NotComparable, match="different judgments"):
        gate(system([1, 0]), [NotWorse("reciprocal_rank", other)])


def test_targets_become_rules():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, protocol="rerank")
    rules = [rule for rule in target_rules(scores.protocol.targets) if scores.find(rule.measure)]
    assert (rules[0].measure, rules[0].at_least, rules[0].strict) == ("ndcg@10", 0.85, True)
    assert {rule.measure for rule in rules} == {"ndcg@10", "reciprocal_rank", "recall@5", "precision@5", "recall@50"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"measure": "x"}, "one of at_least, at_most and not_worse_than"),
        ({"at_least": 0.5}, "a rule needs a measure"),
        ({"measure": "x", "at_least": 1, "at_most": 2}, "one of at_least"),
        ({"measure": "x", "atleast": 1}, "did you mean at_least"),
        ({"measure": "x", "at_least": "high"}, "at_least = 'high'"),
        ({"measure": "x", "at_least": True}, "at_least = True"),
        ({"measure": 3, "at_least": 0.5}, "measure = 3"),
        ({"measure": "x", "at_least": 0.5, "strict": 1}, "strict = 1"),
    ],
)
def test_wrong_rules_are_named(entry, message):
    with pytest.raises(assay.InputError, match=message):
        read_rules({"rule": [entry]}, "gate.toml")


def test_a_file_without_rules_is_refused():
    for raw in ({}, {"rule": []}, {"rule": "x"}):
        with pytest.raises(assay.InputError, match="no rules"):
            read_rules(raw, "gate.toml")


def test_rules_are_taken_in_every_form_and_those_of_files_come_last(tmp_path):
    new, old = system([1, 0] * 20), system([1, 1, 1, 0] * 10, "old")
    assay.write_result(old, tmp_path / "old.json")
    file = tmp_path / "gate.toml"
    file.write_text(
        '[[rule]]\nmeasure = "reciprocal_rank"\nnot_worse_than = "old.json"\n'
        '[[rule]]\nmeasure = "recip_rank"\nat_least = 0.7\n'
    )
    mixed = [file, {"reciprocal_rank": 0.4}, Threshold("reciprocal_rank", at_most=0.6)]
    found = gate(new, mixed, at_most={"recip_rank": 0.45}, not_worse_than=tmp_path / "old.json", margin=0.5)
    assert [(check.name, check.outcome) for check in found.checks] == [
        ("reciprocal_rank >= 0.4", "passed"),
        ("reciprocal_rank <= 0.6", "passed"),
        ("recip_rank <= 0.45", "failed"),
        ("recip_rank not worse than old by 0.5", "passed"),
        ("reciprocal_rank not worse than old", "failed"),
        ("recip_rank >= 0.7", "failed"),
    ]
    assert measures_of_rules(mixed, ["map"]) == ["map", "reciprocal_rank"]  # which recip_rank is too
    with pytest.raises(assay.UsageError, match=r"margin does not apply to the rules of .*gate.toml"):
        gate(new, file, margin=0.5)
    with pytest.raises(assay.UsageError, match="min_coverage does not apply"):
        gate(new, file, min_coverage=0.5)
    with pytest.raises(assay.UsageError, match="a rule is a Threshold"):
        gate(new, [0.5])


def test_a_gate_reads_the_one_system_of_a_result_file(tmp_path):
    assay.write_result(system([1, 0] * 20), tmp_path / "new.json")
    assert gate(tmp_path / "new.json", {"reciprocal_rank": 0.5}).passed
    assay.write_result([system([1, 0], "a"), system([1, 0], "b")], tmp_path / "two.json")
    with pytest.raises(assay.UsageError, match="holds 2 systems"):
        gate(tmp_path / "two.json", {"reciprocal_rank": 0.5})


def test_a_gate_that_is_not_decided_passes_unless_it_is_strict():
    found = gate(system([1, 0] * 3), not_worse_than=system([0, 1] * 3, "old"))
    assert found.outcome == "inconclusive" and found.passed
    assert found.passes() and not found.passes(strict=True)


def test_a_gate_inside_a_test_names_what_failed(tmp_path):
    new, old = system([1, 0] * 20), system([1, 1, 1, 0] * 10, "old")
    assert assert_gate(new, at_least={"reciprocal_rank": 0.5}).outcome == "passed"
    with pytest.raises(AssertionError, match=r"new: reciprocal_rank is 0\.5000, not >= 0\.6"):
        assert_gate(new, at_least={"reciprocal_rank": 0.6}, at_most={"reciprocal_rank": 0.9})
    assay.write_result(old, tmp_path / "old.json")
    with pytest.raises(AssertionError, match=r"a drop is shown, and it is estimated at more than the 0\.01"):
        assert_gate(new, not_worse_than=tmp_path / "old.json", measures=["reciprocal_rank"])
    assert assert_gate(old, not_worse_than=new, measures=["reciprocal_rank"]).outcome == "passed"


def test_an_undecided_gate_fails_a_strict_test_only():
    new, old = system([1, 0] * 3), system([0, 1] * 3, "old")
    with pytest.warns(UserWarning, match="6 queries are too few"):
        assert assert_gate(new, not_worse_than=old, measures=["reciprocal_rank"]).outcome == "inconclusive"
    with pytest.raises(AssertionError, match="6 queries are too few"):
        assert_gate(new, not_worse_than=old, measures=["reciprocal_rank"], strict=True)


def test_without_a_measure_it_is_the_one_that_the_baselines_have(tmp_path):
    judged = {f"q{i:02}": {"a": 1} for i in range(20)}
    run = {query: {"a": 1.0} for query in judged}
    new, old, two = (
        assay.evaluate(judged, run, measures, name=name)
        for name, measures in (("new", ["map", "rr", "ndcg@10"]), ("old", ["ndcg@10"]), ("two", ["rr", "ndcg@10"]))
    )
    assay.write_result(old, tmp_path / "old.json")
    for given in (old, tmp_path / "old.json", [old, two]):
        assert {check.measure for check in gate(new, not_worse_than=given).checks} == {"ndcg@10"}
    with pytest.raises(assay.UsageError, match=r"name a measure with -m: two has rr, ndcg@10"):
        gate(new, not_worse_than=two)


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    judged = {f"q{i:02}": {"a": 1} for i in range(40)}
    assay.write_judgments(Judgments.from_dict(judged), folder / "qrels.txt")
    for name, good in (("old", 20), ("new", 30), ("bad", 5)):
        run = {q: {"a" if i < good else "x": 1.0} for i, q in enumerate(judged)}
        assay.write_run(Run.from_dict(run, name), folder / f"{name}.run")
        assay.write_result(assay.evaluate(judged, run, ["recip_rank"], name=name), folder / f"{name}.json")
    (folder / "gate.toml").write_text(
        '[[rule]]\nmeasure = "reciprocal_rank"\nat_least = 0.7\n\n[[rule]]\nmeasure = "reciprocal_rank"\nnot_worse_than = "old.json"\nmargin = 0.02\n'
    )
    return folder


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["new.json", "--fail-under", "reciprocal_rank=0.75"], 0),
        (["new.json", "--fail-under", "reciprocal_rank=0.76"], 1),
        (["new.json", "--fail-over", "reciprocal_rank=0.5"], 1),
        (["new.json", "--not-worse-than", "old.json"], 0),
        (["bad.json", "--not-worse-than", "old.json"], 1),
        (["qrels.txt", "new.run", "--not-worse-than", "old.run", "-m", "recip_rank"], 0),
        (["qrels.txt", "bad.run", "--not-worse-than", "old.json", "-m", "recip_rank"], 1),
        (["new.json", "--rules", "gate.toml"], 0),
        (["bad.json", "--rules", "gate.toml"], 1),
        (["new.json", "--fail-under", "reciprocal_rank=0.7", "--sure"], 0),
        (["new.json", "--fail-under", "reciprocal_rank=0.7", "--sure", "--strict"], 1),
        (["new.json"], 2),
        (["new.json", "--fail-under", "reciprocal_rank"], 2),
        (["new.json", "--fail-under", "ndcg@10=0.5"], 2),
        (["new.json", "--not-worse-than", "old.run"], 2),
        (["new.json", "--targets"], 2),
        (["new.json", "--rules", "nowhere.toml"], 2),
        (["new.json", "--not-worse-than", "old.json", "--margin", "-1"], 2),
    ],
)
def test_exit_codes(files, words, code):
    done = run_assay("gate", *words, cwd=files)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_junit_holds_every_rule(files, tmp_path):
    run_assay(
        "gate",
        "bad.json",
        "--rules",
        "gate.toml",
        "--fail-under",
        "reciprocal_rank=0.1",
        "--junit",
        tmp_path / "gate.xml",
        cwd=files,
    )
    suite = ET.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "bad",
        "3",
        "2",
        "0",
    )
    cases = suite.findall("testcase")
    assert [case.find("failure") is not None for case in cases] == [False, True, True]
    assert "not >= 0.7" in cases[1].find("failure").get("message")


def test_an_open_rule_is_skipped_or_fails_where_strict(files, tmp_path):
    words = ["gate", "new.json", "--fail-under", "reciprocal_rank=0.7", "--sure", "--junit", tmp_path / "gate.xml"]
    done = run_assay(*words, cwd=files)
    assert "to make it fail: assay gate" in done.stdout
    assert ET.parse(tmp_path / "gate.xml").getroot().find("testsuite/testcase/skipped") is not None
    run_assay(*words, "--strict", cwd=files)
    assert ET.parse(tmp_path / "gate.xml").getroot().find("testsuite/testcase/failure") is not None


def test_json_and_markdown_say_the_same(files):
    data = json.loads(run_assay("gate", "new.json", "--rules", "gate.toml", "--format", "json", cwd=files).stdout)
    assert data["gates"][0]["outcome"] == "passed"
    assert [check["outcome"] for check in data["gates"][0]["checks"]] == ["passed", "passed"]
    text = run_assay(
        "gate", "new.json", "--rules", "gate.toml", "--format", "markdown", "--lang", "zh", cwd=files
    ).stdout
    assert text.startswith("## new 的质量门禁：通过")
    assert "| reciprocal_rank >= 0.7 | 通过 |" in text


def test_the_method_behind_a_measure_of_answers_stands_in_its_row():
    rows = [{"question": "q", "answer": "Cats sleep.", "contexts": ["Cats sleep."]}]
    scores = assay.answers(rows, ["faithfulness", "exact_match"], method="words")
    (check,) = assay.gate(scores, [assay.Threshold("faithfulness", at_least=0.5)]).checks
    assert str(check.message) == "faithfulness [words] is 1.0000 (>= 0.5)"


# Coverage ------------------------------------------------------------------------------------------------------------

SAMPLES = [
    {
        "id": str(i),
        "question": "When?",
        "answer": f"It opened in {1880 + i}.",
        "contexts": [f"It opened in {1880 + i}."],
    }
    for i in range(40)
]


def judged(answered: int, *, broken: int = 0, rows=SAMPLES, method="auto", name="new"):
    """Scores of a judge who finds everything supported and answers the first calls only; some samples are unreadable."""
    calls = itertools.count()  # calls come from several threads

    def judge(messages):
        if next(calls) >= answered:
            raise RuntimeError("dead")
        return json.dumps({"seal": seal_of(messages), "1": {"reason": "x", "verdict": "yes", "contexts": [1]}})

    bad = [{**row, "contexts": 7} for row in rows[len(rows) - broken :]]
    return assay.answers(
        [*rows[: len(rows) - broken], *bad],
        ["faithfulness"],
        judge=judge,
        method=method,
        embedder="wordllama",
        name=name,
    )


def test_a_measure_over_part_of_the_samples_fails():
    scores = judged(4)
    assert scores["faithfulness"] == 1.0
    (check,) = gate(scores, [Threshold("faithfulness", at_least=0.5)]).checks
    assert (check.outcome, check.value) == ("failed", 1.0)
    assert str(check.message) == (
        "faithfulness [llm] is 1.0000 over 4 of 40 samples that should count (10.0%, 100.0% needed): 36 judged by words"
    )
    assert tell(check.message, "zh") == (
        "faithfulness [llm] 为 1.0000，应计入的 40 个样本只有 4 个有值（10.0%，需 100.0%）：36 个由 words 评判"
    )


@pytest.mark.parametrize(
    ("least", "expected"), [(0.1, "passed"), (0.1 + 1e-9, "failed"), (0.0, "passed"), (1.0, "failed")]
)
def test_the_share_that_needs_a_value_can_be_told(least, expected):
    assert outcome(judged(4), Threshold("faithfulness", at_least=0.5, min_coverage=least)) == expected


def test_failed_samples_count_against_a_measure_and_refusals_do_not():
    scores = judged(40, broken=1)
    assert outcome(scores, Threshold("faithfulness", at_least=0.5)) == "failed"
    assert outcome(scores, Threshold("faithfulness", at_least=0.5, min_coverage=39 / 40)) == "passed"
    refusing = [{**row, "answer": "I don't know."} if i % 2 else row for i, row in enumerate(SAMPLES)]
    unasked = [{**row, "contexts": None} if i % 3 == 0 else row for i, row in enumerate(refusing)]
    for rows in (refusing, unasked):
        scores = assay.answers(rows, ["faithfulness"], method="words")
        assert scores.counts["faithfulness"].queries < 40
        assert outcome(scores, Threshold("faithfulness", at_least=0.5)) == "passed"


def test_a_missing_answer_counts_against_a_measure_that_gives_it_no_value():
    rows = [*SAMPLES[:39], {**SAMPLES[39], "answer": ""}]
    scores = assay.answers(
        [{**row, "reference": "It opened in 1880."} for row in rows], ["faithfulness", "exact_match"], method="words"
    )
    (check,) = gate(scores, [Threshold("faithfulness", at_least=0.5)]).checks
    assert "39 of 40 samples" in check.message and check.message.endswith(": 1 without an answer")
    assert outcome(scores, Threshold("exact_match", at_most=1.0)) == "passed"  # it counts as 0 there
    assert outcome(scores, Threshold("exact_match", at_least=1 / 40, strict=True)) == "failed"


def test_a_measure_without_a_single_value_fails_and_says_why():
    scores = judged(0, method="llm")
    (check,) = gate(scores, [Threshold("faithfulness", at_least=0.5)]).checks
    assert (check.outcome, check.value) == ("failed", None)
    assert (
        str(check.message) == "faithfulness [llm] has no value: 0 of 40 samples that should count have one: 40 failed"
    )


def test_queries_missing_from_a_run_count_against_it_where_they_are_left_out():
    judged_ = {f"q{i}": {"a": 1} for i in range(10)}
    run = {f"q{i}": {"a": 1.0} for i in range(4)} | {"extra": {"a": 1.0}}
    for rule, expected in (("skip", "failed"), ("zero", "passed")):
        scores = assay.evaluate(judged_, run, ["rr"], missing=rule)
        found = gate(scores, [Threshold("rr", at_least=0.3)])
        assert found.outcome == expected
    (check,) = gate(assay.evaluate(judged_, run, ["rr"], missing="skip"), [Threshold("rr", at_least=0.3)]).checks
    assert str(check.message) == (
        "rr is 1.0000 over 4 of 10 queries that should count (40.0%, 100.0% needed): 6 missing from the run"
    )


@pytest.mark.parametrize("few", ["new", "old"])
def test_a_comparison_over_part_of_the_samples_fails(few):
    new, old = judged(10 if few == "new" else 40), judged(10 if few == "old" else 40, name="old")
    (check,) = gate(new, [NotWorse("faithfulness", old)]).checks
    assert check.outcome == "failed"
    assert "over 10 of 40 samples" in check.message and ("old" in check.message) == (few == "old")
    assert outcome(new, NotWorse("faithfulness", old, min_coverage=0.1)) == "passed"


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(least):
    with pytest.raises(assay.UsageError, match="min_coverage"):
        gate(judged(40), [Threshold("faithfulness", at_least=0.5, min_coverage=least)])


def test_the_command_and_its_rules_know_the_share(tmp_path):
    assay.write_result(judged(4), tmp_path / "r.json")
    rule = ["gate", "r.json", "--fail-under", "faithfulness=0.5"]
    assert run_assay(*rule, cwd=tmp_path).returncode == 1
    assert run_assay(*rule, "--min-coverage", "0.1", cwd=tmp_path).returncode == 0
    text = '[[rule]]\nmeasure = "faithfulness"\nat_least = 0.5\n'
    (tmp_path / "all.toml").write_text(text)
    (tmp_path / "few.toml").write_text(text + "min_coverage = 0.1\n")
    assert run_assay("gate", "r.json", "--rules", "all.toml", cwd=tmp_path).returncode == 1
    assert run_assay("gate", "r.json", "--rules", "few.toml", cwd=tmp_path).returncode == 0
    lost = run_assay("gate", "r.json", "--rules", "all.toml", "--min-coverage", "0.1", cwd=tmp_path)
    assert (lost.returncode, "set it in that file" in lost.stderr) == (2, True)
    data = json.loads(run_assay(*rule, "--format", "json", cwd=tmp_path).stdout)
    assert data["gates"][0]["checks"][0]["outcome"] == "failed"


def test_a_test_suite_fails_over_part_of_the_samples(tmp_path):
    with pytest.raises(AssertionError, match="4 of 40 samples"):
        assert_gate(judged(4), at_least={"faithfulness": 0.5})
    assert_gate(judged(4), at_least={"faithfulness": 0.5}, min_coverage=0.1)
