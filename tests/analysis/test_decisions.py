"""What is said of a difference follows one decision: verdicts, marks, gains that pay, intervals that cannot be given."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import assay
from assay.analysis.compare import compare
from assay.analysis.decision import decide
from assay.analysis.gate import NotWorse, Threshold, gate
from assay.analysis.listwise import lifts
from assay.analysis.roi import gain_of, roi
from assay.data.scores import Counts, Scores
from assay.messages import ends, tell
from assay.report.document import write
from assay.report.intervals import between, describe_interval
from assay.report.views import comparison as report
from assay.report.views import experiment, money
from assay.results.codec import read_json
from assay.results.comparison import Comparison, Rules
from assay.results.experiment import Findings, Quality, Row
from assay.results.money import Roi
from assay.results.result import decode_result
from assay.stats.intervals import Interval
from commands import run_assay

NO_SPREAD = "the values do not vary"


def scores(name: str, values, label: str = "ndcg@10", weights=None) -> Scores:
    """Scores of one measure as given, one query each."""
    column = np.array(values, dtype=float)
    return Scores(
        name, [f"q{i}" for i in range(len(column))], (assay.parse(label).column(label),), column[:, None],
        np.zeros((len(column), 1), dtype=np.uint8), {label: Counts(len(column))}, assay.load_protocol("trec"),
        weights=None if weights is None else np.array(weights, dtype=float), judgments="same",
    )  # fmt: skip


def contrast_of(before, after, label: str = "ndcg@10", weights=None, **rules):
    found = compare([scores("a", before, label, weights), scores("b", after, label, weights)], **rules)
    return found, found.contrast("b", label)


def sentence(before, after, label: str = "ndcg@10", weights=None, lang="en", **rules) -> str:
    found, contrast = contrast_of(before, after, label, weights, **rules)
    return tell(report.verdict(found, contrast), lang)


# Equivalent -----------------------------------------------------------------------------------------------------------


def test_queries_without_a_difference_are_equivalent_only_where_they_could_have_shown_one():
    assert contrast_of([0.5] * 298, [0.5] * 298)[1].verdict == "inconclusive"
    assert contrast_of([0.5] * 299, [0.5] * 299)[1].verdict == "equivalent"
    assert contrast_of([0.5] * 59, [0.5] * 59, smallest_effect=0.05)[1].verdict == "equivalent"
    assert contrast_of([0.5] * 58, [0.5] * 58, smallest_effect=0.05)[1].verdict == "inconclusive"


def test_the_sentence_names_what_queries_without_a_difference_cannot_exclude():
    text = sentence([1.0] * 30, [1.0] * 30, "hit_rate@1")
    assert "no query differs in hit_rate@1, but 30 queries cannot exclude a mean difference of 0.0950" in text
    assert pytest.approx(0.0950, abs=5e-5) == 1 - 0.05 ** (1 / 30)
    assert "at least 299 queries are needed to show that it is below 0.01" in text
    assert "无法排除 0.0950 的平均差值" in sentence([1.0] * 30, [1.0] * 30, "hit_rate@1", lang="zh")
    text = sentence([1.0] * 400, [1.0] * 400, "hit_rate@1")
    assert "are equivalent in hit_rate@1: no query differs, and 400 queries exclude a mean difference of 0.0075" in text


@pytest.mark.parametrize("differing", [1, 2])
def test_one_or_two_small_differences_among_ties_are_no_proof_either(differing):
    change = np.zeros(100)
    change[:differing] = 0.01
    assert decide(change, Rules(), adjusted=1.0, sign=1.0, weights=None) == "inconclusive"
    more = np.zeros(600)
    more[:differing] = 0.01
    assert decide(more, Rules(), adjusted=1.0, sign=1.0, weights=None) == "equivalent"


def test_a_wider_range_needs_more_queries_and_an_unbounded_measure_is_never_called_equivalent():
    same = np.zeros(400)
    verdicts = [
        decide(same, Rules(), adjusted=1.0, sign=1.0, weights=None, reach=reach) for reach in (1.0, 1.3, 1.4, None)
    ]
    assert verdicts == ["equivalent", "equivalent", "inconclusive", "inconclusive"]
    assert contrast_of([1.5] * 2000, [1.5] * 2000, "dcg@10")[1].verdict == "inconclusive"
    assert "a measure without an upper bound is not called equivalent" in sentence([1.5] * 20, [1.5] * 20, "dcg@10")
    small = np.tile([0.001, -0.001, 0.002, -0.002], 40)
    assert "without an upper bound" in sentence(np.full(160, 1.5), 1.5 + small, "dcg@10")


def test_values_beyond_the_declared_bounds_of_a_measure_are_not_called_equivalent():
    change = np.tile([0.0, 0.0, 1.2, -1.2], 2000)
    assert decide(change, Rules(smallest_effect=0.1), adjusted=1.0, sign=1.0, weights=None) == "inconclusive"


def test_a_measure_whose_values_leave_its_declared_bounds_has_no_reach():
    rules = {"smallest_effect": 0.1}
    assert contrast_of([0.5] * 400, [0.5] * 400, **rules)[1].reach == 1.0
    _, found = contrast_of([2.0] * 400, [2.0] * 400, **rules)
    assert (found.reach, found.limit, found.verdict) == (None, None, "inconclusive")
    check = gate(scores("new", [2.0] * 40), [Threshold("ndcg@10", at_least=0.5, sure=True)]).checks[0]
    assert (check.outcome, check.interval.reason) == ("inconclusive", NO_SPREAD)


def test_a_small_interval_of_too_few_queries_says_how_many_it_takes():
    change = np.tile([0.001, -0.001], 60)
    text = sentence(np.full(120, 0.5), 0.5 + change)
    assert "no conclusion" in text
    assert "at least 299 queries are needed to show that it is below 0.01" in text
    rare = np.tile([0.05, -0.05], 160)
    rare[0] = 0.9
    assert "rare large differences may have been missed" in sentence(np.full(320, 0.5), 0.5 + rare / 2)


def test_uneven_weights_make_equivalence_harder_to_show():
    even, uneven = np.ones(400), np.ones(400)
    uneven[:40] = 20.0
    assert contrast_of([0.5] * 400, [0.5] * 400, weights=even)[1].verdict == "equivalent"
    _, found = contrast_of([0.5] * 400, [0.5] * 400, weights=uneven)
    assert found.verdict == "inconclusive"
    assert found.limit > 1 - 0.05 ** (1 / found.effective_n)


def test_queries_of_weight_0_are_neither_wins_nor_losses():
    before, after, weights = np.full(400, 0.5), np.full(400, 0.5), np.ones(400)
    after[:3], weights[:3] = 1.0, 0.0
    found, contrast = contrast_of(before, after, weights=weights)
    assert (contrast.wins, contrast.ties, contrast.losses, contrast.gained) == (0, 397, 0, ())
    assert (contrast.changes_nothing, found.queries) == (True, 397)
    assert contrast.limit == pytest.approx(1 - 0.05 ** (1 / 397))
    new, old = scores("new", after, weights=weights), scores("old", before, weights=weights)
    check = gate(new, [NotWorse("ndcg@10", old)]).checks[0]
    assert str(check.message).startswith("ndcg@10: no query differs from old; with 397 queries")


def test_a_smallest_effect_that_no_difference_can_exceed_is_refused():
    expected = "smallest effect 1: differences in ndcg@10 cannot be larger than 1, so none could matter"
    with pytest.raises(assay.UsageError, match=expected):
        contrast_of([0.5] * 40, [0.6] * 40, smallest_effect=1.0)
    assert decide(np.zeros(400), Rules(smallest_effect=1), adjusted=1.0, sign=1.0, weights=None) == "inconclusive"


# Few queries ----------------------------------------------------------------------------------------------------------


def test_below_ten_queries_there_is_no_verdict():
    before, after = np.linspace(0.1, 0.2, 9), np.linspace(0.7, 0.9, 9)
    _, nine = contrast_of(before, after)
    assert (nine.verdict, nine.adjusted < 0.01) == ("inconclusive", True)
    assert "no verdict on ndcg@10, because 9 queries are too few (at least 10 are needed)" in sentence(before, after)
    assert "9 个查询太少" in sentence(before, after, lang="zh")
    assert contrast_of([*before, 0.1], [*after, 0.8])[1].verdict == "better"


def test_marks_and_the_verdict_column_follow_the_verdict():
    before, after = np.linspace(0.1, 0.2, 9), np.linspace(0.7, 0.9, 9)
    found, _ = contrast_of(before, after)
    text = write(report.table(found, protocol="trec"), "table")
    assert "too few queries" in text
    assert "\N{DAGGER}" not in report.summary(found).rows[1][1].mark
    found, _ = contrast_of([*before, 0.1], [*after, 0.8])
    assert report.summary(found).rows[1][1].mark == "\N{DAGGER}"


def test_a_real_difference_too_small_to_matter_has_no_dagger():
    small = np.tile([0.004, 0.005, 0.006], 400)
    found, contrast = contrast_of(np.full(1200, 0.5), 0.5 + small)
    assert (contrast.verdict, contrast.adjusted < 0.001) == ("equivalent", True)
    assert report.summary(found).rows[1][1].mark == ""


def test_a_difference_that_is_real_is_never_called_small_without_the_verdict_equivalent():
    rng = np.random.default_rng(4)
    gains = np.abs(rng.normal(0.0085, 0.001, 400))  # an interval of t far below 0.01; 400 queries cannot show that
    text = sentence(np.full(400, 0.5), 0.5 + gains)
    assert "b is better than a in ndcg@10" in text
    assert "which is less than" not in text
    assert text.endswith("], perhaps by less than 0.01, the smallest difference that matters.")
    assert "但可能小于有意义的最小差值 0.01" in sentence(np.full(400, 0.5), 0.5 + gains, lang="zh")
    assert "perhaps" not in sentence(np.full(60, 0.1), 0.1 + np.tile([0.3, 0.5], 30))


def test_the_sentence_about_equivalent_systems_shows_no_interval_of_another_test():
    small = np.tile([0.004, 0.005, 0.006], 400)
    text = sentence(np.full(1200, 0.5), 0.5 + small)
    expected = "b and a are equivalent in ndcg@10: the difference of +0.0050 is shown to be smaller than 0.01"
    assert text == f"{expected}, the smallest difference that matters."
    chinese = sentence(np.full(1200, 0.5), 0.5 + small, lang="zh")
    assert chinese == "b 与 a 的 ndcg@10 等效：可确认差值 +0.0050 小于有意义的最小差值 0.01。"


def test_letters_part_no_systems_below_ten_queries():
    base = np.linspace(0.1, 0.2, 9)
    columns = {"a": base, "b": base + 0.1, "c": base + np.linspace(0.5, 0.7, 9)}
    found = compare([scores(name, values) for name, values in columns.items()], all_pairs=True)
    assert found.pairs[0].pvalues[0][2] < 0.05
    assert set(found.pairs[0].letters) == {"a"}
    assert found.conclusion("ndcg@10").rivals == ("a", "b")
    more = {name: [*values, values[-1] + 0.01] for name, values in columns.items()}
    parted = compare([scores(name, values) for name, values in more.items()], all_pairs=True)
    assert len(set(parted.pairs[0].letters)) > 1


def test_two_queries_with_a_swap_far_down_are_not_equivalent(tmp_path):
    with (tmp_path / "q").open("w") as q, (tmp_path / "a.run").open("w") as a, (tmp_path / "b.run").open("w") as b:
        for i in (1, 2):
            docs = list(range(200))
            other = docs.copy()
            j = 148 + 2 * i
            other[j], other[j + 1] = other[j + 1], other[j]
            q.writelines(f"q{i} 0 d{d} {d % 2}\n" for d in docs)
            for file, order in ((a, docs), (b, other)):
                file.writelines(f"q{i} Q0 d{d} {k} {300 - k} s\n" for k, d in enumerate(order))
    done = run_assay("compare", "q", "a.run", "b.run", "-m", "ndcg", cwd=tmp_path)
    assert "equivalent" not in done.stdout
    assert "because 2 queries are too few" in " ".join(done.stdout.split())
    assert "[0.8177, 0.8177]" not in done.stdout
    assert "[+0.0000, +0.0000]" not in done.stdout


def test_weights_that_leave_few_queries_give_no_verdict_and_name_the_heaviest():
    rng = np.random.default_rng(1)
    before, after = rng.random(50), rng.random(50)
    weights = np.ones(50)
    weights[7] = 150.0
    share, effective = 150 / 199, 199**2 / (150**2 + 49)
    found, contrast = contrast_of(before, after, weights=weights)
    assert contrast.effective_n == pytest.approx(effective)
    assert (found.weight.heaviest, found.weight.share) == ("q7", pytest.approx(share))
    text = tell(report.verdict(found, contrast), "en")
    assert f"the weights make 50 queries worth only {effective:.1f} equally weighted ones" in text
    head = report.heading(found, "trec")
    assert f"worth {effective:.1f} equally weighted ones (q7 has {share:.1%} of the weight)" in head
    assert f"相当于 {effective:.1f} 个等权查询（q7 占总权重的 {share:.1%}）" in tell(head, "zh")


def test_a_number_just_below_the_least_is_shown_with_the_digits_that_part_them():
    weights = np.ones(10)
    weights[0] = 1.01  # 10.01^2 / (9 + 1.01^2) = 9.99991
    text = sentence(np.linspace(0.1, 0.2, 10), np.linspace(0.4, 0.7, 10), weights=weights)
    assert "10 queries worth only 9.9999 equally weighted ones (at least 10 are needed)" in text
    weights[0] = 1 + 1e-9
    assert contrast_of(np.linspace(0.1, 0.2, 10), np.linspace(0.4, 0.7, 10), weights=weights)[1].verdict == "better"


def test_the_settings_name_resamples_only_where_there_were_some():
    def settings(n, lang="en", **more):
        rng = np.random.default_rng(1)
        found = contrast_of(rng.random(n), rng.random(n), **more)[0]
        return write(report.table(found, protocol="trec"), "table", lang)

    assert "Exact permutation test; differences below 0.01 do not matter." in settings(12)
    assert "精确置换检验；小于 0.01 的差值视为无意义。" in settings(12, "zh")
    assert "Permutation test with 10,000 resamples, seed 0" in settings(60)
    assert "10,000 resamples" in settings(12, interval="bca")
    assert "Means over 1 query, protocol" in settings(1)


def test_several_systems_are_told_that_equivalence_is_not_corrected():
    base = np.linspace(0.1, 0.9, 20)
    columns = {"a": base, "b": base + 0.01, "c": base + 0.02}
    found = compare([scores(name, values) for name, values in columns.items()])
    text = write(report.table(found, protocol="trec"), "table").replace("\n", " ")
    assert "Equivalence is tested system by system, without a correction." in text
    two = compare([scores(name, columns[name]) for name in "ab"])
    assert "system by system" not in write(report.table(two, protocol="trec"), "table")


def test_weighted_means_name_the_effective_number_and_the_heaviest_query():
    judged = {f"q{i}": {"d": 1} for i in range(4)}
    run = {f"q{i}": {"d": 1.0} for i in range(4)}
    found = assay.evaluate(judged, run, ["ndcg@10"], weights={"q0": 1.0, "q1": 1.0, "q2": 6.0, "q3": 0.0})
    text = next(text for text in found.warnings if "weighted by query" in text)
    assert "3 queries are worth 1.7 equally weighted ones" in text  # 8^2 / (1 + 1 + 36)
    assert "the heaviest, q2, has 75.0% of the weight" in text


# Intervals that cannot be given ---------------------------------------------------------------------------------------


def test_a_constant_difference_has_no_interval_in_any_format(tmp_path):
    (tmp_path / "q").write_text("".join(f"q{i} 0 a 1\n" for i in range(12)))
    (tmp_path / "good.run").write_text("".join(f"q{i} Q0 a 1 1 s\n" for i in range(12)))
    (tmp_path / "none.run").write_text("".join(f"q{i} Q0 x 1 1 n\n" for i in range(12)))
    words = ("compare", "q", "none.run", "good.run", "-m", "hit_rate@1")
    for kind, lang, reason in (
        ("table", "en", "values do not vary"), ("markdown", "en", "values do not vary"),
        ("latex", "en", "values do not vary"), ("table", "zh", "取值无变化"), ("markdown", "zh", "取值无变化"),
    ):  # fmt: skip
        text = run_assay(*words, "--format", kind, "--lang", lang, cwd=tmp_path).stdout
        assert reason in text
        assert not re.search(r"\[\+?1\.0000, \+?1\.0000\]|\[0\.0000, 0\.0000\]", text)
    header, row = run_assay(*words, "--format", "csv", cwd=tmp_path).stdout.splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["low"], cells["high"], cells["reason"]) == ("", "", NO_SPREAD)
    data = json.loads(run_assay(*words, "--format", "json", cwd=tmp_path).stdout)["comparison"]
    found = data["contrasts"][0]["difference"]
    assert (found["low"], found["high"], found["reason"]) == (None, None, NO_SPREAD)
    mean = data["means"]["hit_rate@1"][0]  # 0 of 12: Wilson's interval, with t = 2.201
    assert (mean["low"], mean["high"]) == (0.0, pytest.approx(2.201**2 / (12 + 2.201**2), abs=1e-4))
    done = run_assay(*words, "--report", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "values do not vary" in page
    assert "[1.0000, 1.0000]" not in page and "[+1.0000, +1.0000]" not in page


def test_the_same_difference_of_all_queries_is_beyond_the_smallest_that_matters_when_there_are_enough():
    _, found = contrast_of([0.0] * 60, [0.5] * 60)
    assert (found.verdict, found.difference.low, found.at_least_smallest) == ("better", None, True)
    _, found = contrast_of([0.2] * 21, [0.4] * 21)
    assert (found.verdict, found.at_least_smallest) == ("better", False)


def test_the_same_difference_of_few_queries_is_real_only_where_rare_losses_are_ruled_out():
    # 95 % of queries at +0.05 and 5 % at -0.95 have a mean of 0, and 10 queries are all alike in 60 % of samples
    _, found = contrast_of([0.5] * 10, [0.55] * 10)
    assert (found.verdict, found.adjusted < 0.01) == ("inconclusive", True)
    assert contrast_of([0.55] * 10, [0.5] * 10)[1].verdict == "inconclusive"
    # p = (1 / 1.2)^n: 0.0261 at 20 queries and 0.0217 at 21
    assert contrast_of([0.2] * 20, [0.4] * 20)[1].verdict == "inconclusive"
    assert contrast_of([0.2] * 21, [0.4] * 21)[1].verdict == "better"
    assert contrast_of([0.4] * 21, [0.2] * 21)[1].verdict == "worse"
    assert contrast_of([1.5] * 10, [1.6] * 10, "dcg@10")[1].verdict == "better"


def test_a_sweep_of_constant_values_shows_wilsons_interval(tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 1 s\nq2 Q0 a 1 1 s\n")
    text = run_assay("sweep", "q", "r", "-m", "hit_rate", "--k", "1", cwd=tmp_path).stdout
    assert "1.0000 [0.0122, 1.0000]" in text  # 2/(2 + 12.706^2)


def test_a_report_of_one_system_says_why_one_query_has_no_interval(tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 1 s\n")
    for lang, reason in (("en", "(no interval: one value only)"), ("zh", "（无置信区间：只有一个值）")):
        done = run_assay("evaluate", "q", "r", "-m", "ndcg@10", "--report", "r.html", "--lang", lang, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "r.html").read_text()
        assert reason in page
        assert "[1.0000, 1.0000]" not in page


def test_answers_that_are_all_alike_have_wilsons_interval():
    samples = [
        {"query_id": str(i), "question": "When?", "answer": "In 1889.", "reference": "In 1889."} for i in range(3)
    ]
    found = assay.answers(samples, ["exact_match"], method="words").interval("exact_match")
    assert (found.estimate, found.low, found.high) == (1.0, pytest.approx(3 / (3 + 4.30265**2), rel=1e-4), 1.0)


def test_perfect_agreement_has_no_interval_of_width_0():
    from assay.stats import kappa

    found = kappa([0, 1, 2, 0, 1, 2] * 5, [0, 1, 2, 0, 1, 2] * 5, n_resamples=200).interval
    assert (found.estimate, found.low, found.high) == (1.0, None, None)
    assert between(found) == "resamples do not vary"


@pytest.mark.parametrize(
    ("low", "high", "form", "shown"),
    [
        (0.25, 0.75, ".4f", "[0.2500, 0.7500]"),
        (0.81770, 0.81772, ".4f", "[0.81770, 0.81772]"),
        (0.0000012, 0.0000031, "+.4f", "[+0.000001, +0.000003]"),
        (0.5, 0.5, ".4f", ""),
        (None, 0.5, ".4f", ""),
        (0.1234, 0.1235, "+.1%", "[+12.34%, +12.35%]"),
        (-0.00001, 0.00002, "+.4f", "[-0.00001, +0.00002]"),
        (-0.0001, 0.0002, "+.1%", "[-0.01%, +0.02%]"),
        (-0.25, 0.25, "+.4f", "[-0.2500, +0.2500]"),
    ],
)
def test_ends_that_look_the_same_get_the_digits_that_tell_them_apart(low, high, form, shown):
    assert ends(low, high, form) == shown


def test_an_interval_of_width_0_of_an_earlier_file_is_shown_as_none():
    old = Interval(1.0, 1.0, 1.0, 0.95, "t", 2, NO_SPREAD)
    assert between(old) == "values do not vary"
    assert tell(describe_interval(old), "zh") == "（无置信区间：取值无变化）"


def test_earlier_result_files_with_intervals_of_width_0_are_readable(tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 x 1 2 s\nq1 Q0 a 2 1 s\nq2 Q0 x 1 2 s\nq2 Q0 a 2 1 s\n")
    (tmp_path / "b.run").write_text("q1 Q0 a 1 2 s\nq1 Q0 x 2 1 s\nq2 Q0 a 1 2 s\nq2 Q0 x 2 1 s\n")
    run_assay("compare", "q", "a.run", "b.run", "-m", "rr", "-o", "new.json", cwd=tmp_path)
    data = json.loads((tmp_path / "new.json").read_text())
    data["schema"] = 1
    for system in data["systems"]:
        system["aggregates"] = dict.fromkeys(system["metrics"], "mean")
        del system["measures"], system["warnings"], system["notes"]
    data["lifts"], data["lists"] = data["comparison"].pop("lifts"), data["comparison"].pop("likeness")
    data["lifts"][0]["pays"] = True
    flat = {"low": 1.0, "high": 1.0}
    data["lifts"][0]["relative"] |= flat
    contrast = data["comparison"]["contrasts"][0]
    contrast["relative"] |= flat
    for name in ("effective_n", "too_few", "reach", "limit"):
        del contrast[name]
    del data["comparison"]["weight"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    done = run_assay("report", "old.json", "-o", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "may be more or less than 15%" in page
    gain = gain_of(decode_result(read_json(json.dumps(data))).part(Comparison))
    assert (gain.relative.value, gain.relative.low, gain.relative.high) == (1.0, None, None)


def test_a_sweep_in_an_earlier_file_loses_its_width_0():
    from assay.analysis.report_data import report_data

    system = {
        "name": "r", "file": None, "metrics": {"hit_rate@1": 1.0}, "definitions": {"hit_rate@1": "hit_rate@1"},
        "asked": {}, "aggregates": {"hit_rate@1": "mean"}, "counts": {"hit_rate@1": {"queries": 2}},
    }  # fmt: skip
    point = {"estimate": 1.0, "low": 1.0, "high": 1.0, "confidence_level": 0.95, "method": "t", "n": 2}
    result = {
        "schema": 1, "systems": [system], "judgments": "x", "protocol": assay.load_protocol("trec").to_dict(),
        "per_query": {"query_id": ["a", "b"], "values": {"r": {"hit_rate@1": [1.0, 1.0]}},
                      "status": {"r": {"hit_rate@1": {}}}},
        "sweep": {"curves": [{"system": "r", "measure": "hit_rate", "k": [1], "points": [point | {"reason": NO_SPREAD}]}],
                  "choices": [{"system": "r", "f1": 1, "recall": 1, "answers": None, "survey": None}],
                  "recall_target": 0.7},
    }  # fmt: skip
    found = report_data([decode_result(result)]).groups[0].curves[0].points[0]
    assert (found.estimate, found.low, found.high, found.reason) == (1.0, None, None, NO_SPREAD)


def cells(quality: Quality):
    """The cells of a combination for the deciding measure: its mean with its mark, and the interval."""
    row = Row("x", "done", quality={"map": quality}, latency_ms={})
    cell, interval = experiment.summary(Findings((row,), "map", ("map",), "b", "x")).rows[0][1:3]
    return str(cell.text), cell.mark, tell(interval, "en"), tell(interval, "zh")


def test_cells_of_an_experiment_follow_the_verdict_and_show_no_width_0():
    now = Quality(Interval(1.0, None, None, 0.95, "t", 9, NO_SPREAD), 0.01, "inconclusive")
    assert cells(now) == ("1.0000", "", "values do not vary", "取值无变化")
    assert [cells(replace(now, verdict=verdict))[1] for verdict in ("better", "worse")] == ["†", "‡"]
    named = {"name": "x", "status": "done", "latency_ms": {}, "stages": []}
    base = {**named, "name": "b", "quality": {"map": {"mean": 0.5, "low": 0.25, "high": 0.75, "pvalue": None}}}
    flat = {**named, "quality": {"map": {"mean": 1.0, "low": 1.0, "high": 1.0, "pvalue": 0.01}}}
    plain = {"schema": 1, "experiment": {"combinations": [base, flat], "baseline": "b", "winner": {"name": "x"}}}
    before, earlier = (row.quality["map"] for row in decode_result(plain).part(Findings).combinations)
    assert cells(earlier)[:3] == ("1.0000", "†", "values do not vary")
    assert cells(before)[:3] == ("0.5000", "", "[0.2500, 0.7500]")


# Gains that pay -------------------------------------------------------------------------------------------------------


def payment(before, after, label="ndcg@10", weights=None, **rules):
    return contrast_of(before, after, label, weights, **rules)[1].pays


def test_a_gain_is_above_or_below_what_pays_only_where_the_queries_show_it():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.5, 100)
    assert payment(base, base * rng.uniform(1.5, 1.9, 100)) == "above"
    assert payment(base, base * rng.uniform(0.85, 0.95, 100)) == "below"
    assert payment(base, base * rng.uniform(1.1, 1.2, 100)) == "open"
    assert payment(base, base * rng.uniform(1.5, 1.9, 100), worth=0.7) == "open"
    assert payment(np.full(100, 0.0), rng.uniform(0.3, 0.5, 100)) is None


def test_queries_without_a_change_are_below_what_pays_once_there_are_enough():
    # y = -0.15 * 0.5 in each query and 1 at most: p = (1 / 1.075)^n, which is 0.0269 at 50 queries and 0.0233 at 52
    assert (payment([0.5] * 50, [0.5] * 50), payment([0.5] * 52, [0.5] * 52)) == ("open", "below")
    assert payment([0.05] * 200, [0.05] * 200) == "open"


def test_a_small_interval_of_few_queries_does_not_show_that_a_gain_is_too_small():
    change = np.tile([0.001, -0.001], 6)
    assert payment(np.full(12, 0.5), 0.5 + change) == "open"
    change[0] = 0.4
    assert payment(np.full(12, 0.1), 0.1 + change) == "open"


def test_a_gain_of_a_measure_without_bounds_or_of_few_queries_stays_open():
    assert payment([1.5] * 400, [1.5] * 400, "dcg@10") == "open"
    assert payment([0.1] * 9, [0.9] * 9) == "open"
    weights = np.ones(50)
    weights[7] = 150.0
    assert payment([0.5] * 50, [0.5] * 50, weights=weights) == "open"


def test_a_negative_gain_that_pays_is_refused():
    with pytest.raises(assay.UsageError, match="worth -2: expected a number, 0 or more"):
        Rules(worth=-2)


def test_a_run_that_changes_nothing_says_what_its_queries_cannot_rule_out():
    text = told_gain([0.5] * 20, [0.5] * 20)
    assert "On these 20 queries ndcg@10 does not change; that is too few to rule out a gain of 15%." in text
    assert "在这 20 个查询上 ndcg@10 没有变化；查询太少，尚不能排除 15% 的提升。" in told_gain(
        [0.5] * 20, [0.5] * 20, lang="zh"
    )
    text = told_gain([0.5] * 200, [0.5] * 200)
    assert "ndcg@10 does not change in any query: the gain is shown to be below 15%" in text
    text = told_gain([1.5] * 20, [1.5] * 20, label="dcg@10")
    assert "dcg@10 does not change; for a measure without an upper bound, that does not rule out a gain of 15%." in text


def told_gain(before, after, lang="en", label="ndcg@10", **rules) -> str:
    found, _ = contrast_of(before, after, label, **rules)
    return write(report.lifts(found, lifts(found, "b", {}, label)), "table", lang).replace("\n", " ")


def test_the_sentence_about_a_gain_follows_what_is_shown():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.5, 60)
    # No query opposes either change, so both intervals count on queries that 60 need not show, and are wide.
    text = told_gain(base, base * rng.uniform(1.3, 1.5, 60))
    assert re.search(r"ndcg@10 gains 4\d\.\d% \[\+2\d\.\d%, \+5\d\.\d%\]: the gain is shown to be above 15%", text)
    text = told_gain(base, base * rng.uniform(0.85, 0.95, 60))
    assert re.search(r"ndcg@10 loses 1?\d\.\d% \[-1\d\.\d%, \+3\.\d%\]: the gain is shown to be below 15%", text)
    noisy = np.clip(base + rng.normal(0.06, 0.4, 60), 0, 1)
    text = told_gain(base, noisy)
    assert "the gain may be more or less than 15%, so it is not shown whether the reranker pays" in text
    assert "gains -" not in text and "gains +" not in text
    assert "a setting; 15% is a rule of thumb, not a law" in text
    assert "above a gain of 30% is a setting" in told_gain(base, noisy, worth=0.3)
    assert "尚未得到证实" in told_gain(base, noisy, lang="zh")
    assert "下降" in told_gain(base, base * rng.uniform(0.85, 0.95, 60), lang="zh")


def test_few_queries_never_show_that_a_reranker_pays():
    base = np.array([0.3, 0.31, 0.32, 0.33, 0.34, 0.35])
    assert "may be more or less than 15%" in told_gain(base, base * [2, 2.1, 2, 2.1, 2, 2.1])
    assert "may be more or less than 15%" in told_gain(base, base * [1, 1.01, 1, 1.01, 1, 1.01])


def test_a_measure_that_should_be_small_has_no_gain_that_pays():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.5, 60)
    assert "15%" not in told_gain(base, base * rng.uniform(0.4, 0.6, 60), label="unjudged@10")


# Gates ----------------------------------------------------------------------------------------------------------------


def checked(before, after, **rule):
    found = gate(scores("new", after), [NotWorse("ndcg@10", scores("old", before), **rule)]).checks[0]
    return found.outcome, str(found.message), found.interval


def test_a_gate_without_a_differing_query_says_so():
    outcome, message, interval = checked([0.5] * 30, [0.5] * 30)
    assert outcome == "passed"
    unseen = 1 - 0.05 ** (1 / 30)
    assert (
        message
        == f"ndcg@10: no query differs from old; with 30 queries, a true drop of up to {unseen:.2g} could go unnoticed"
    )
    assert interval.high == pytest.approx(unseen)
    assert checked([0.5], [0.5])[0] == "inconclusive"


def test_a_gate_on_the_same_difference_in_every_query_has_the_interval_of_the_bounds():
    outcome, message, _ = checked([0.2] * 20, [0.4] * 20)
    assert (outcome, "no query is worse, 20 of 20 are better" in message) == ("passed", True)
    outcome, message, interval = checked([0.4] * 20, [0.2] * 20)
    assert (outcome, "a drop is shown" in message, interval.method) == ("failed", True, "bounded")
    gone, there = (interval.high - 1) / (interval.high + 0.2), -1 / 20  # Gaffke's p of values alike: (1 + gap/rest)^-n
    assert (1 - 1 / gone) ** (1 / there) == pytest.approx(0.05, abs=1e-6)


def test_a_gate_shows_ends_near_0_with_the_digits_that_tell_them_apart():
    found = gate(scores("new", 0.5 + np.tile([3e-5, -1e-5], 2000)), [NotWorse("ndcg@10", scores("old", [0.5] * 4000))])
    low, high = found.checks[0].interval.low, found.checks[0].interval.high
    assert ends(low, high, "+.4f") in found.checks[0].message
    assert ends(1e-5, 2e-5, "+.4f") == "[+0.00001, +0.00002]"


def test_a_gate_on_one_query_that_differs_is_open_without_nan():
    outcome, message, _ = checked([0.4], [0.2])
    assert outcome == "inconclusive"
    assert message == "ndcg@10 differs by -0.2000 from old: too few queries to tell whether it is worse"


@pytest.mark.parametrize(
    ("n", "goal", "expected"), [(100, 0.97, "passed"), (100, 0.98, "inconclusive"), (2, 0.5, "inconclusive")]
)
def test_a_sure_threshold_of_constant_values_asks_for_enough_of_them(n, goal, expected):
    check = gate(scores("new", [1.0] * n), [Threshold("ndcg@10", at_least=goal, sure=True)]).checks[0]
    score = n / (n + scipy.stats.t.ppf(0.95, n - 1) ** 2)  # Wilson's, with Student's quantile
    unseen = 0.05 ** (1 / n)  # lower means would have shown a lower value with more than 95 %
    assert (check.outcome, check.interval.low) == (expected, pytest.approx(min(score, unseen)))


# Money ----------------------------------------------------------------------------------------------------------------


def returned(before, after, **changes):
    found = contrast_of(before, after)[0]
    part = replace(found, contrasts=(replace(found.contrasts[0], **changes),))
    return roi(gain_of(part), cost_per_query=0.0001, queries_per_day=1000, revenue_per_query=0.01)


def test_a_return_pays_only_where_the_comparison_calls_the_system_better():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.5, 60)
    better = base * rng.uniform(1.3, 1.5, 60)
    assert returned(base, better).outcome == "pays"
    found = returned(base, better, verdict="inconclusive")
    assert (found.outcome, found.net.low > 0) == ("open", True)
    text = write(money.table(replace(found, method="b", currency="$")), "table").replace("\n", " ")
    assert "the comparison does not show that b is better" in text
    assert "It pays" not in text and "holds both" not in text
    assert "比较并未证实 b 更好" in write(money.table(replace(found, method="b", currency="$")), "table", "zh")


def test_a_return_on_few_queries_or_an_unsure_baseline_has_no_interval():
    base = np.array([0.3, 0.31, 0.32])
    few = returned(base, base * [2.0, 2.1, 2.2])
    assert (few.outcome, few.roi.low) == ("no_interval", None)
    unsure = np.zeros(40)
    unsure[:3] = 0.5  # a mean of .0375, a standard error of .0211
    found = returned(unsure, np.minimum(unsure + 0.4, 1))
    assert (found.outcome, found.roi.low) == ("no_interval", None)


def test_a_return_on_a_gain_without_an_interval_claims_nothing():
    found, _ = contrast_of([0.4] * 20, [0.5] * 20)
    got = roi(gain_of(found), cost_per_query=0.0001, queries_per_day=1000, revenue_per_query=0.01)
    assert (got.outcome, got.roi.low, got.roi.high) == ("no_interval", None, None)
    text = write(money.table(replace(got, method="b", currency="$")), "table")
    assert "The comparison gives no reliable interval of the gain" in text
    assert "[never, never]" not in text


@pytest.mark.parametrize(
    ("low", "high", "tone"),
    [(0.1, 0.9, "good"), (-0.9, -0.1, "bad"), (-0.1, 0.9, "warn"), (None, None, "warn"), (0.5, 0.5, "warn")],
)
def test_the_colour_of_a_return_follows_its_interval(low, high, tone):
    part = {"currency": "USD", "costs": [], "roi": {"value": 0.5, "low": low, "high": high}}
    found = decode_result({"schema": 1, "economics": part}).part(Roi)
    assert money.line(found).tone == tone


def test_a_constant_difference_that_is_too_small_is_equivalent():
    for value, verdict in ((0.005, "equivalent"), (0.02, "better")):
        change = np.full(600, value)
        assert decide(change, Rules(), adjusted=0.0001, sign=1.0, weights=None) == verdict
