"""Comparing systems: every number against SciPy or plain Python, every refusal named."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import assay
from assay.analysis.comparable import align_systems
from assay.analysis.compare import compare
from assay.analysis.decision import decide
from assay.analysis.listwise import ceilings, likeness
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.messages import tell
from assay.report.blocks import Lines
from assay.report.views import comparison as report
from assay.results.comparison import Rules
from commands import run_assay
from interval_oracles import adjusted_t_ends, mean_ends


def lists(seed: int, queries: int = 60, skill: float = 0.5) -> dict[str, dict[str, float]]:
    """Rank ten documents of each query; relevant ones (d0, d1, d2) get a bonus in proportion to the skill."""
    rng = random.Random(seed)
    return {
        f"q{q:03}": {f"d{d}": round(rng.random() + (skill if d < 3 else 0), 6) for d in range(10)}
        for q in range(queries)
    }


def judgments(queries: int = 60) -> dict[str, dict[str, int]]:
    return {f"q{q:03}": {"d0": 2, "d1": 1, "d2": 1, "d3": 0} for q in range(queries)}


def scores(name: str, run: dict[str, dict[str, float]], measures=("ndcg@10", "P@5"), **options):
    queries = options.pop("queries", 60)
    return assay.evaluate(judgments(queries), run, list(measures), name=name, **options)


@pytest.fixture(scope="module")
def systems():
    return [
        scores("weak", lists(1, skill=0.1)),
        scores("strong", lists(2, skill=0.7)),
        scores("same", lists(3, skill=0.1)),
    ]


def test_intervals_of_differences_that_hardly_any_query_opposes_say_so(systems):
    """With no query of 60 worse, large losses may not have been seen."""
    found = compare(systems, rules=Rules(correction="none"))
    contrast = found.contrast("strong", "precision@5")
    low, high = adjusted_t_ends(systems[1].column("precision@5") - systems[0].column("precision@5"))
    assert (contrast.losses, contrast.verdict) == (0, "better")
    assert 0 < contrast.difference.low < low < high < contrast.difference.high
    assert contrast.relative.is_bounded
    said = [tell(line, "en") for block in report.table(found) if isinstance(block, Lines) for line in block.lines]
    assert any("fewer than three worse: strong (P@5)" in line for line in said)


def test_differences_and_their_tests_are_scipys(systems):
    found = compare(systems, rules=Rules(correction="none"))
    for label in ("ndcg@10", "precision@5"):
        base, strong = systems[0].column(label), systems[1].column(label)
        t = stats.ttest_rel(strong, base)
        contrast = found.contrast("strong", label)
        assert contrast.difference.estimate == pytest.approx(statistics.fmean(strong - base), abs=1e-12)
        assert contrast.t_pvalue == pytest.approx(t.pvalue, rel=1e-9)
        same = found.contrast("same", label).difference
        assert (same.low, same.high) == pytest.approx(adjusted_t_ends(systems[2].column(label) - base), rel=1e-9)
        plain = compare(systems, rules=Rules(interval="t")).contrast("strong", label).difference
        assert (plain.low, plain.high) == pytest.approx(tuple(t.confidence_interval(0.95)), rel=1e-9)
        assert (same.method, found.contrast("same", label).relative.method, plain.method) == (
            "adjusted t",
            "fieller",
            "t",
        )
        assert contrast.effect_size == pytest.approx((strong - base).mean() / (strong - base).std(ddof=1), rel=1e-9)
        assert contrast.wins == int((strong > base).sum())
        assert contrast.ties == int((strong == base).sum())
        assert contrast.losses == int((strong < base).sum())
        shuffled = stats.permutation_test(
            (strong, base),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=9999,
            rng=5,
        )
        assert contrast.pvalue == pytest.approx(shuffled.pvalue, abs=3 * math.sqrt(0.25 / 9999) + 1e-3)


def test_means_have_intervals_that_stay_within_the_bounds_of_the_measure(systems):
    values = systems[1].column("ndcg@10")
    mean = compare(systems).means["ndcg@10"][1]
    assert (mean.estimate, mean.low, mean.high) == pytest.approx((values.mean(), *mean_ends(values)), rel=1e-6)
    assert mean.method == "score"
    plain = compare(systems, rules=Rules(interval="t")).means["ndcg@10"][1]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (plain.low, plain.high, plain.method) == (pytest.approx(low), pytest.approx(high), "t")


def test_holm_runs_over_the_systems_of_a_measure(systems):
    raw = compare(systems, rules=Rules(correction="none"))
    held = compare(systems, rules=Rules(correction="holm"))
    for label in raw.measures:
        p = sorted((c.pvalue, c.system) for c in raw.contrasts if c.measure == label)
        first = min(1.0, 2 * p[0][0])
        expected = {p[0][1]: first, p[1][1]: max(first, p[1][0])}
        for system, value in expected.items():
            assert held.contrast(system, label).adjusted == pytest.approx(value, rel=1e-12)


def test_one_family_of_all_measures_is_stricter(systems):
    one = compare(systems, rules=Rules(correction="bonferroni"))
    every = compare(systems, rules=Rules(correction="bonferroni", family="all"))
    for contrast in one.contrasts:
        assert every.contrast(contrast.system, contrast.measure).adjusted == pytest.approx(
            min(1.0, 4 * contrast.pvalue)
        )
        assert contrast.adjusted == pytest.approx(min(1.0, 2 * contrast.pvalue))


def test_the_baseline_can_be_named(systems):
    found = compare(systems, baseline="strong")
    assert found.systems == ("strong", "weak", "same")
    assert found.contrast("weak", "ndcg@10").verdict == "worse"
    assert [one.best for one in found.conclusions] == [("strong",), ("strong",)]
    with pytest.raises(assay.UsageError, match="unknown baseline 'stron'; did you mean strong"):
        compare(systems, baseline="stron")


@pytest.mark.parametrize(
    ("change", "adjusted", "sign", "verdict"),
    [
        ([0.2, 0.3, 0.25, 0.1] * 20, 0.001, 1, "better"),
        ([0.2, 0.3, 0.25, 0.1] * 20, 0.001, -1, "worse"),
        ([0.2, 0.3, 0.25, 0.1] * 20, 0.06, 1, "inconclusive"),
        ([0.2, 0.3, 0.25, 0.1] * 20, 0.05, 1, "better"),
        ([0.001, -0.001] * 200, 1.0, 1, "equivalent"),
        ([0.001, -0.001] * 40, 1.0, 1, "inconclusive"),
        ([0.004, 0.005, 0.006] * 400, 0.001, 1, "equivalent"),
        ([0.004, 0.005, 0.006] * 40, 0.001, 1, "inconclusive"),  # one loss of 1 in 200 queries would undo it
        ([0.02, 0.03] * 70, 0.001, 1, "better"),
        ([0.5, -0.5] * 10, 1.0, 1, "inconclusive"),
        ([0.0] * 299, 1.0, 1, "equivalent"),
        ([0.0] * 298, 1.0, 1, "inconclusive"),
        ([0.0] * 298 + [math.nan], 1.0, 1, "inconclusive"),
        ([0.2, 0.3] * 5, 0.002, 1, "inconclusive"),  # 1.2^-5 1.3^-5 = .11
        ([0.2, 0.3] * 8, 0.002, 1, "better"),  # .03
        ([0.2, 0.3] * 4 + [0.2], 0.004, 1, "inconclusive"),
    ],
)
def test_verdicts(change, adjusted, sign, verdict):
    assert decide(np.array(change), Rules(), adjusted=adjusted, sign=sign, weights=None) == verdict


def test_where_lower_is_better_a_fall_is_an_improvement():
    few = scores("few", {q: {"d0": 2.0, "d1": 1.0} for q in judgments()}, ["unjudged@2"])
    many = scores("many", {q: {"x": 2.0, "d1": 1.0} for q in judgments()}, ["unjudged@2"])
    contrast = compare([many, few]).contrast("few", "unjudged@2")
    assert (contrast.wins, contrast.losses, contrast.improves, contrast.verdict) == (60, 0, True, "better")
    assert compare([many, few]).conclusion("unjudged@2").best == ("few",)


def test_movers_are_the_largest_changes_and_only_real_ones(systems):
    contrast = compare(systems).contrast("strong", "ndcg@10")
    change = systems[1].column("ndcg@10") - systems[0].column("ndcg@10")
    assert [m.after - m.before for m in contrast.gained] == pytest.approx(sorted(change, reverse=True)[:5])
    losers = sorted(c for c in change if c < 0)[:5]
    assert [m.after - m.before for m in contrast.lost] == pytest.approx(losers)


def test_weights_count_everywhere():
    weights = {f"q{q:03}": float(1 + q % 3) for q in range(60)}
    both = [scores("a", lists(1), weights=weights), scores("b", lists(2, skill=0.8), weights=weights)]
    found = compare(both)
    w = np.array([weights[q] for q in both[0].query_ids])
    change = both[1].column("ndcg@10") - both[0].column("ndcg@10")
    assert found.weighted
    assert found.contrast("b", "ndcg@10").difference.estimate == pytest.approx((w * change).sum() / w.sum())
    assert found.means["ndcg@10"][0].estimate == pytest.approx(both[0]["ndcg@10"])


# Refusals ------------------------------------------------------------------------------------------------------------


def test_different_judgments_are_refused():
    other = assay.evaluate({"q000": {"d0": 1}}, lists(1), ["ndcg@10"], name="other")
    with pytest.raises(assay.NotComparable, match="a and other were evaluated on different judgments"):
        compare([scores("a", lists(1), ["ndcg@10"]), other])


def test_different_rules_are_refused():
    strict = scores("strict", lists(1), min_relevance=2)
    with pytest.raises(assay.NotComparable, match=r"different rules \(min_relevance = 1\.0 and 2"):
        compare([scores("a", lists(1)), strict])


def test_different_definitions_under_one_label_are_refused():
    one = scores("a", lists(1), ["ndcg@10"])
    two = replace(scores("b", lists(2), ["ndcg@10"]), columns=(assay.parse("ndcg(gain='exp')@10").column("ndcg@10"),))
    with pytest.raises(assay.NotComparable, match=r"ndcg@10 is ndcg@10 for a, but ndcg\(gain='exp'\)@10 for b"):
        compare([one, two])


def test_other_measures_in_the_file_do_not_matter():
    one, two = scores("a", lists(1), ["ndcg@10", "P@5"]), scores("b", lists(2), ["ndcg@10", "recall@5"])
    assert compare([one, two]).measures == ("ndcg@10",)


def test_different_query_sets_are_refused():
    short = {q: docs for q, docs in lists(2).items() if q not in {"q003", "q004"}}
    pair = [scores("a", lists(1), missing="skip"), scores("b", short, missing="skip")]
    with pytest.raises(assay.NotComparable, match=r"b has no value for 2 that a has \(q003, q004\)"):
        compare(pair)


def test_totals_and_geometric_means_are_not_tested(systems):
    both = [scores(n, lists(i), ["gm_map", "num_ret", "ndcg@10"]) for i, n in enumerate("ab")]
    assert compare(both).measures == ("ndcg@10",)
    with pytest.raises(assay.UsageError, match="num_ret is not a mean over queries"):
        compare(both, ["num_ret"])


def test_one_system_is_no_comparison(systems):
    with pytest.raises(assay.UsageError, match="two systems or more"):
        compare(systems[:1])
    with pytest.raises(assay.UsageError, match="two systems are called 'weak'"):
        compare([systems[0], systems[0]])


@pytest.mark.parametrize("rules", [{"alpha": 0.0}, {"alpha": 0.5}, {"smallest_effect": 0.0}, {"n_resamples": 0}])
def test_rules_that_make_no_sense_are_refused(rules):
    with pytest.raises(assay.UsageError):
        Rules(**rules)


# All pairs -----------------------------------------------------------------------------------------------------------


def test_letters_part_exactly_the_systems_that_differ():
    many = [scores(f"s{i}", lists(i, skill=0.15 * i), ["ndcg@10"]) for i in range(6)]
    found = compare(many, all_pairs=True).pairs[0]
    for (i, one), (j, other) in itertools.combinations(enumerate(found.letters), 2):
        assert bool(set(one) & set(other)) == (found.pvalues[i][j] > 0.05)
    assert set(found.letters[5]) & {"a"}


def test_forty_systems_get_letters():
    rng = random.Random(0)
    many = [
        scores(f"s{i:02}", {q: {"d0": 1.0, "x": rng.random() + i / 20} for q in judgments()}, ["recip_rank"])
        for i in range(40)
    ]
    found = compare(many, all_pairs=True, rules=Rules(n_resamples=200)).pairs[0]
    assert len(found.letters) == 40
    assert all(found.letters)


# Lists ---------------------------------------------------------------------------------------------------------------


def best_possible(run, measure):
    """Sort every list by its grades and evaluate that."""
    judged = judgments()
    ideal = {
        q: {d: -i for i, d in enumerate(sorted(docs, key=lambda d: -judged[q].get(d, 0)))} for q, docs in run.items()
    }
    return assay.evaluate(judged, ideal, [measure])[measure]


@pytest.mark.parametrize("measure", ["ndcg@3", "P@2", "map", "recip_rank", "recall@5", "bpref", "err(max_grade=2)@4"])
def test_the_ceiling_is_the_best_order_of_the_candidates(measure):
    run = {q: dict(list(docs.items())[1:6]) for q, docs in lists(5).items()}
    judged = Judgments.from_dict(judgments())
    settings = Settings.of(judged, [measure], "trec")
    found = ceilings(judged, Run.from_dict(run), settings)
    assert next(iter(found.values())) == pytest.approx(best_possible(run, measure), rel=1e-12)


def test_measures_that_order_can_hurt_have_no_ceiling():
    judged = Judgments.from_dict(judgments())
    settings = Settings.of(judged, ["unjudged@5", "ndcg@5"], "trec")
    assert list(ceilings(judged, Run.from_dict(lists(1)), settings)) == ["ndcg@5"]


def test_a_reranker_is_recognised_by_its_documents():
    base = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "base")
    rerank = likeness(base, Run.from_dict({"q": {"c": 3.0, "a": 2.0}}, "r"), k=2)
    assert (rerank.reranks, rerank.overlap, rerank.from_candidates) == (True, 0.5, 1.0)
    other = likeness(base, Run.from_dict({"q": {"c": 3.0, "x": 2.0}}, "r"), k=2)
    assert (other.reranks, other.overlap, other.from_candidates) == (False, 0.0, 0.5)


# What a reviewer would raise -----------------------------------------------------------------------------------------


def warned(systems, **options) -> str:
    return "\n".join(compare(systems, **options).warnings)


def test_few_queries_are_doubted():
    few = [scores(n, lists(i, queries=49), queries=49) for i, n in enumerate("ab")]
    assert "only 49 queries: with fewer than 50" in warned(few)
    assert "only" not in warned([scores(n, lists(i, queries=50), queries=50) for i, n in enumerate("ab")])


def test_uncorrected_tests_are_doubted(systems):
    assert "4 tests without correction" in warned(systems, rules=Rules(correction="none"))
    assert "2 measures, each corrected on its own" in warned(systems)
    assert "correct" not in warned(systems, rules=Rules(family="all"))
    assert "correct" not in warned(systems[:2], measures=["ndcg@10"])


def test_relative_gains_of_small_means_are_doubted():
    def run(good: int):
        return {q: {"d0" if i < good else "x": 1.0} for i, q in enumerate(judgments())}

    pair = [scores("a", run(2), ["P@1"]), scores("b", run(9), ["P@1"])]
    assert "P@1: the baseline's mean is below 0.05" in warned(pair)
    assert "baseline's mean" not in warned(pair[::-1])


def test_uneven_unjudged_shares_are_doubted():
    judged = {q: {"d0": 3.0, "d3": 1.0} for q in judgments()}
    unjudged = {q: {"d0": 3.0, "x": 2.0, "y": 1.0} for q in judgments()}
    text = warned([scores("old", judged, ["P@2"]), scores("new", unjudged, ["P@2"])])
    assert "P@2: 50% of the documents of new are unjudged, 0% of old: that favours old" in text


def test_shares_of_unjudged_documents_are_compared_between_lists_of_one_length():
    short = {q: {"d0": 9.0, "d3": 8.0} for q in judgments()}
    long = {q: {"d0": 9.0, "d3": 8.0} | {f"x{i}": 7.0 - i for i in range(6)} for q in judgments()}
    text = warned([scores("short", short, ["map", "P@2"]), scores("long", long, ["map", "P@2"])])
    assert (
        "map: short lists 2 documents per query, long lists 8: a measure without a cutoff favours longer lists" in text
    )
    assert "unjudged" not in text
    other = {q: {"d0": 9.0} | {f"x{i}": 7.0 - i for i in range(7)} for q in judgments()}
    text = warned(
        [
            scores("other", other, ["map"]),
            scores(
                "judged",
                {q: {"d0": 9.0, "d1": 8.0, "d2": 7.0, "d3": 6.0, "x": 5.0, "y": 4.0} for q in judgments()},
                ["map"],
            ),
        ]
    )
    assert "map: 88% of the documents of other are unjudged, 33% of judged: that favours judged" in text
    assert "longer lists" not in text


def test_lengths_that_nobody_knows_say_nothing_of_measures_without_a_cutoff():
    def stored(name: str, run, measure: str):
        found = scores(name, run, [measure])
        return replace(found, counts={key: replace(one, listed=None) for key, one in found.counts.items()})

    judged = {q: {"d0": 3.0, "d3": 1.0} for q in judgments()}
    unjudged = {q: {"d0": 3.0, "x": 2.0} for q in judgments()}
    assert "unjudged" in warned([stored("old", judged, "P@2"), stored("new", unjudged, "P@2")])
    assert "unjudged" not in warned([stored("old", judged, "map"), stored("new", unjudged, "map")])


def test_lists_shorter_than_the_cutoff_are_doubted():
    short = {q: dict(list(docs.items())[:4]) for q, docs in lists(1).items()}
    text = warned([scores("a", lists(1), ["P@5"]), scores("short", short, ["P@5"])])
    assert "short: 60 of 60 queries have fewer results than the cutoff of P@5" in text


# Commands and renderers ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    assay.write_judgments(Judgments.from_dict(judgments()), folder / "qrels.txt")
    for name, run in {"weak": lists(1, skill=0.1), "strong": lists(2, skill=0.7)}.items():
        assay.write_run(Run.from_dict(run, name), folder / f"{name}.run")
        assay.write_result(scores(name, run), folder / f"{name}.json")
    return folder


def test_runs_and_result_files_give_the_same_comparison(files):
    by_runs = run_assay(
        "compare", "qrels.txt", "weak.run", "strong.run", "-m", "ndcg@10", "-m", "P@5", "--format", "csv", cwd=files
    )
    by_results = run_assay("compare", "weak.json", "strong.json", "--format", "csv", cwd=files)
    assert by_runs.returncode == 0, by_runs.stderr
    assert by_runs.stdout == by_results.stdout
    assert by_runs.stdout.startswith("measure,system,baseline,mean,baseline_mean,difference,low,high,")


def test_a_comparison_is_a_result_file_too(files, tmp_path):
    done = run_assay("compare", "weak.json", "strong.json", "-o", tmp_path / "both.json", cwd=files)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "both.json").read_text())
    assert data["seed"] == 0
    assert data["comparison"]["baseline"] == "weak"
    assert data["comparison"]["contrasts"][0]["verdict"] == "better"
    assert [s.name for s in assay.read_result(tmp_path / "both.json")] == ["weak", "strong"]
    again = run_assay("compare", tmp_path / "both.json", "new=strong.json", "--baseline", "new", cwd=files)
    assert again.returncode == 0, again.stderr


def test_the_lists_of_a_reranker_are_shown_with_their_ceiling(files):
    text = run_assay("compare", "qrels.txt", "weak.run", "strong.run", "--protocol", "rerank", cwd=files).stdout
    assert "What strong makes of the candidates of weak" in text
    assert "so by this rule the reranker pays" in text
    assert "a setting; 15% is a rule of thumb" in text
    assert "100.0%" in text


def test_options_of_an_evaluation_are_refused_with_result_files(files):
    done = run_assay("compare", "weak.json", "strong.json", "--ties", "given", cwd=files)
    assert done.returncode == 2
    assert "--ties has no effect on result files" in done.stderr


def test_one_name_does_not_fit_a_file_of_two_systems(files, tmp_path):
    run_assay("compare", "weak.json", "strong.json", "-o", tmp_path / "both.json", cwd=files)
    done = run_assay("compare", f"new={tmp_path / 'both.json'}", "strong.json", cwd=files)
    assert done.returncode == 2
    assert "holds 2 systems" in done.stderr


def lists_of(order: str) -> dict[str, dict[str, float]]:
    """The same list for 20 queries: documents in this order."""
    return {f"q{i}": {doc: float(-place) for place, doc in enumerate(order)} for i in range(20)}


def test_lists_and_lifts_are_there_in_python_too(tmp_path):
    judged = {f"q{i}": {"c": 1} for i in range(20)}
    runs = {"found": lists_of("abc"), "reranked": lists_of("acb"), "other": lists_of("cxy")}
    scores = [assay.evaluate(judged, run, ["mrr"], name=name) for name, run in runs.items()]
    assert assay.compare(scores).likeness == ()
    found = assay.compare(scores, runs=runs)
    assert [(one.system, one.from_candidates) for one in found.likeness] == [("reranked", 1.0), ("other", 1 / 3)]
    (lift,) = found.lifts
    assert (lift.system, lift.before, lift.after, lift.ceiling) == ("reranked", pytest.approx(1 / 3), 0.5, 1.0)
    assert assay.compare(scores, runs=list(runs.values())) == found
    assert assay.compare(scores, runs=runs, baseline="other").lifts == ()
    assay.write_result(scores, tmp_path / "r.json")
    stored = assay.read_result(tmp_path / "r.json")
    with pytest.raises(assay.UsageError, match="give the judgments too"):
        assay.compare(stored, runs=runs)
    assert assay.compare(stored, runs=runs, judgments=judged).lifts == found.lifts
    with pytest.raises(assay.NotComparable, match="not the judgments that the scores were made with"):
        assay.compare(stored, runs=runs, judgments={"q0": {"c": 1}})
    with pytest.raises(assay.UsageError, match="2 runs of 3 systems"):
        assay.compare(scores, runs=list(runs.values())[:2])
    with pytest.raises(assay.UsageError, match="no run of other"):
        assay.compare(scores, runs={name: runs[name] for name in ("found", "reranked")})


def test_descriptions_belong_to_the_comparison():
    judged = {f"q{i}": {"c": 1} for i in range(20)}
    scores = [assay.evaluate(judged, lists_of(order), ["mrr"], name=order) for order in ("abc", "cab")]
    found = assay.compare(scores, descriptions={"cab": "with memory"})
    assert "with memory" in found.to_markdown()
    with pytest.raises(assay.UnknownName, match="bca"):
        assay.compare(scores, descriptions={"bca": "?"})


def test_descriptions_make_an_ablation_table(files, tmp_path):
    (tmp_path / "labels.csv").write_text("variant,description\nstrong,everything\nweak,without memory\n")
    done = run_assay(
        "compare",
        "strong.json",
        "weak.json",
        "--labels",
        tmp_path / "labels.csv",
        "--brief",
        "--format",
        "markdown",
        cwd=files,
    )
    assert "| variant | description | ndcg@10 | P@5 |" in done.stdout
    assert "| weak | without memory |" in done.stdout
    (tmp_path / "labels.csv").write_text("variant,description\nstorng,everything\n")
    done = run_assay("compare", "strong.json", "weak.json", "--labels", tmp_path / "labels.csv", cwd=files)
    assert done.returncode == 2
    assert "did you mean strong" in done.stderr


def test_the_same_seed_gives_the_same_bytes(files):
    both = [
        run_assay("compare", "weak.json", "strong.json", "--all-pairs", "--seed", "7", cwd=files).stdout
        for _ in range(2)
    ]
    assert both[0] == both[1] != ""
    other = run_assay("compare", "weak.json", "strong.json", "--all-pairs", "--seed", "8", cwd=files).stdout
    assert "seed 8" in other


def test_the_best_is_bold_and_marks_are_superscripts(systems):
    table = report.summary(compare(systems))
    from assay.report.document import write

    latex = write([table], "latex")
    assert r"strong & \textbf{" in latex
    assert r"}\textsuperscript{\textdagger{}}" in latex
    assert write([table], "csv").splitlines()[0] == "system,ndcg@10,ndcg@10 marks,P@5,P@5 marks"


def test_robust03_gives_one_table(shared):
    place = shared / "robust03"
    words = [word for m in ("map", "P_10", "ndcg@10", "recip_rank", "recall@1000") for word in ("-m", m)]
    runs = sorted(place.glob("*.run.gz"))
    done = run_assay("compare", place / "qrels.txt.gz", *runs, *words, "--all-pairs", "--brief")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[0].split() == ["system", "map", "P_10", "ndcg@10", "recip_rank", "recall@1000"]
    assert len(rows[2:8]) == len(runs) == 6
    assert any(row.startswith("pircRBa1") and "0.3101 a " in row for row in rows)
    aligned_runs = align_systems([assay.evaluate(place / "qrels.txt.gz", run, ["map"]) for run in runs])
    assert aligned_runs.values.shape == (100, 1, 6)


def test_rounding_is_no_difference():
    """Relevant at ranks 1 and 12, or at 2 and 3: both have an average precision of 7/12, in different bits."""
    judged = {f"q{i:02}": {"a": 1, "b": 1} for i in range(40)}
    one = {q: {"a": 20.0, **{f"x{i}": 19.0 - i for i in range(10)}, "b": 1.0} for q in judged}
    two = {q: {"x": 3.0, "a": 2.0, "b": 1.0} for q in judged}
    pair = [assay.evaluate(judged, run, ["map"], name=name) for name, run in (("one", one), ("two", two))]
    assert pair[0]["map"] == pytest.approx(7 / 12)
    contrast = compare(pair).contrast("two", "map")
    assert (contrast.wins, contrast.ties, contrast.losses, contrast.pvalue) == (0, 40, 0, 1.0)
    assert contrast.changes_nothing
    assert contrast.difference.estimate == 0


def test_measures_are_matched_by_definition(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(6)}
    run = {q: {"a": 1.0} for q in judged}
    named = assay.evaluate(judged, run, protocol="trec", name="all")
    asked = assay.evaluate(judged, run, ["map", "P@10"], name="few")
    assert set(compare([named, asked]).measures) == {"map", "P_10"}
    assert set(compare([asked, named]).measures) == {"map", "P@10"}


def test_coverage_of_runs_with_other_queries_does_not_stop_a_comparison(tmp_path):
    judged = {f"q{i}": {"a": 5} for i in range(6)}
    one = assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, protocol="llm-graded", min_relevance=1, name="one")
    two = assay.evaluate(
        judged, {q: {"a": 1.0} for q in list(judged)[1:]}, protocol="llm-graded", min_relevance=1, name="two"
    )
    assert not any("coverage" in label for label in compare([one, two]).measures)


def test_settings_of_a_comparison_may_be_given_one_by_one():
    judged = {f"q{i}": {"a": 1} for i in range(4)}
    pair = [assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, ["map"], name=name) for name in "ab"]
    assert compare(pair, alpha=0.01).rules.alpha == 0.01
    assert compare(pair).contrast("b", "AP").measure == "map"
    for wrong in (
        lambda: compare(pair, alfa=0.1),
        lambda: compare(pair[0]),
        lambda: compare(["a.json"]),
    ):
        with pytest.raises(assay.UsageError):
            wrong()


@pytest.mark.parametrize(("protocol", "lifted"), [("trec", False), ("rerank", True)])
def test_lists_that_lost_documents_are_no_rerankers_unless_the_protocol_says_so(protocol, lifted):
    judged = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    whole = {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in judged}
    runs = {
        "first": whole,
        "damaged": {query: {"b": 2.0, "c": 1.0} for query in judged},
        "reordered": {query: {"b": 3.0, "a": 2.0, "c": 1.0} for query in judged},
        "cut": {query: {"b": 3.0, "a": 2.0} for query in judged},
    }
    scores = [assay.evaluate(judged, run, ["ndcg@10"], name=name, protocol=protocol) for name, run in runs.items()]
    found = assay.compare(scores, runs=runs)
    damaged, *rerankers = found.likeness
    assert (damaged.from_candidates, damaged.reordered, damaged.reranks) == (1.0, 0.0, False)
    assert [(one.reordered, one.reranks) for one in rerankers] == [(1.0, True), (1.0, True)]
    assert [lifts[0].system for lifts in found.lifts_by_system()] == (["damaged"] if lifted else []) + [
        "reordered",
        "cut",
    ]


def test_means_next_to_a_bound_of_their_measure_are_named_with_their_intervals():
    judged = {f"q{i}": {"a": 1} for i in range(60)}

    def found(misses):
        return {query: {"a": 0.5 if i < misses else 2.0, "b": 1.0} for i, query in enumerate(judged)}

    def told(misses):
        measured = assay.evaluate(judged, {"old": found(20), "new": found(misses)}, ["hit_rate@1"])
        return [text for text in compare(measured).warnings if "highest possible" in text]

    (told_of_one,) = told(1)
    assert "hit_rate@1 of new (0.9833, 0.9091 to 0.9991; the end is 1)" in told_of_one  # Wilson's interval of 59/60
    assert "old" not in told_of_one
    assert not told(6)
    worst = assay.evaluate(judged, {"old": found(20), "new": found(60)}, ["hit_rate@1"])
    assert any(
        "lowest possible" in text and "hit_rate@1 of new (0.0000, 0.0000 to" in text for text in compare(worst).warnings
    )
