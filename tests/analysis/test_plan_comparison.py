"""How many queries a comparison needs, against another library and against tests that were simulated."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

import assay
from assay.stats import paired_t

JUDGED = {f"q{i:03}": {"a": 1} for i in range(40)}


def scores(name, found):
    runs = {q: {"a": 1.0} if hit else {"x": 2.0, "a": 1.0} for q, hit in zip(JUDGED, found, strict=True)}
    return assay.evaluate(JUDGED, runs, ["rr"], name=name)


@pytest.mark.parametrize(("difference", "deviation", "tests"), [(0.02, 0.2, 1), (0.02, 0.2, 5), (0.05, 0.3, 2)])
def test_the_queries_needed_are_those_of_another_library_at_the_corrected_level(difference, deviation, tests):
    plan = assay.plan_comparison(difference, deviation=deviation, tests=tests)
    expected = TTestPower().solve_power(effect_size=difference / deviation, alpha=0.05 / tests, power=0.8)
    assert plan.contrasts[0].needed == int(np.ceil(expected))
    back = assay.plan_comparison(n=plan.contrasts[0].needed, deviation=deviation, tests=tests).contrasts[0].detectable
    assert back == pytest.approx(difference, rel=2e-3)


def test_so_many_queries_show_the_difference_as_often_as_was_planned():
    plan = assay.plan_comparison(0.05, deviation=0.2).contrasts[0]
    rng = np.random.default_rng(8)
    shown = [paired_t(rng.normal(0.05, 0.2, plan.needed)).pvalue <= 0.05 for _ in range(1500)]
    assert np.mean(shown) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 1500))


def test_a_plan_takes_the_spread_of_a_result_file(tmp_path):
    rng = np.random.default_rng(9)
    systems = [scores(name, rng.random(40) < share) for name, share in (("a", 0.4), ("b", 0.5), ("c", 0.6))]
    assay.write_result(systems, tmp_path / "r.json")
    plan = assay.plan_comparison(0.1, tmp_path / "r.json")
    change = systems[1].column("rr") - systems[0].column("rr")
    assert plan.contrasts[0].deviation == pytest.approx(change.std(ddof=1))
    assert (plan.tests, plan.level, plan.baseline) == (2, 0.025, "a")
    assert plan == assay.plan_comparison(0.1, systems)
    assert "queries needed" in assay.show(plan)
    assert "所需查询数" in assay.show(plan, lang="zh")


def test_what_cannot_be_planned_is_refused_or_says_why():
    same = [scores(name, np.ones(40, bool)) for name in "ab"]
    assert assay.plan_comparison(0.1, same).contrasts[0].needed is None
    assert "do not vary" in assay.show(assay.plan_comparison(0.1, same), level="line")
    for options in (
        {"difference": 0.1},
        {"deviation": 0.2},
        {"difference": 0.0, "deviation": 0.2},
        {"n": 1, "deviation": 0.2},
    ):
        with pytest.raises(assay.UsageError):
            assay.plan_comparison(**options)


def test_a_plan_from_nothing_says_what_to_give():
    with pytest.raises(assay.UsageError, match="--deviation"):
        assay.plan_comparison(0.02)
    with pytest.raises(assay.UsageError, match="not both"):
        assay.plan_comparison(0.02, [scores(name, np.ones(40, bool)) for name in "ab"], deviation=0.2)


def test_a_difference_beyond_the_range_of_the_measure_is_refused():
    systems = [scores("a", np.ones(40, bool)), scores("b", np.arange(40) % 2 == 0)]
    with pytest.raises(assay.UsageError, match="difference -2: values of rr differ by 1 at most"):
        assay.plan_comparison(-2, systems)
    assert assay.plan_comparison(1, systems).contrasts[0].needed
