"""Who is best, what is shown about it, and what every sentence about a winner may say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.analysis.compare import compare
from assay.analysis.front import FrontPoint, find_front
from assay.results.comparison import Rules
from assay.results.conclusion import Conclusion, find_best
from assay.stats import holm, sign_flip

N = 60


def scores(name, values, measure="rr"):
    """A system whose reciprocal rank of query i is about the value: the rank of the one relevant document."""
    judged = {f"q{i:03}": {"a": 1} for i in range(len(values))}
    run = {
        query: {"a": 1.0} | {f"x{j}": 2.0 for j in range(round(1 / value) - 1)} if value else {"x": 1.0}
        for query, value in zip(judged, values, strict=True)
    }
    return assay.evaluate(judged, run, [measure], name=name)


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    weak, strong = 1 / rng.integers(2, 6, N), 1 / rng.integers(1, 3, N)
    other = np.where(rng.random(N) < 0.5, strong, 1 / rng.integers(1, 3, N))
    return [scores("weak", weak), scores("strong", strong), scores("other", other), scores("none", np.zeros(N))]


def test_all_that_share_the_best_mean_are_named_and_nobody_where_all_have_it():
    assert find_best({"a": 0.5, "b": 0.5 + 1e-15, "c": 0.2}, lower=False) == (("a", "b"), ("c",))
    assert find_best({"a": 0.5, "b": 0.5, "c": 0.2}, lower=True) == (("c",), ("a", "b"))
    assert find_best({"a": 0.0, "b": 0.0}, lower=False) == ((), ())
    assert find_best({"a": None, "b": 0.1}, lower=False) == (("b",), ())
    assert find_best({}, lower=False) == ((), ())


def test_the_best_is_tested_against_each_of_the_others_with_holms_correction(several):
    found = compare(several, ["rr"]).conclusion("rr")
    values = {one.name: one.column("rr") for one in several}
    best = max(values, key=lambda name: values[name].mean())
    others = [name for name in values if name != best]
    raw = sign_flip(np.stack([values[best] - values[name] for name in others], axis=1)).pvalue
    expected = dict(zip(others, holm(raw), strict=True))
    second = max(others, key=lambda name: values[name].mean())
    assert (found.best, found.second, found.against_second.first) == ((best,), (second,), best)
    assert found.against_second.adjusted == pytest.approx(expected[second])
    assert found.rivals == tuple(name for name in others if expected[name] > 0.05)
    assert (found.against_second.correction, found.against_second.tests) == ("holm", 3)


def test_a_baseline_by_default_is_called_so_and_turns_nothing_green(several):
    by_default, named = compare(several, ["rr"]), compare(several, ["rr"], baseline="weak")
    assert (by_default.conclusion("rr").baseline_named, named.conclusion("rr").baseline_named) == (False, True)
    assert by_default.conclusion("rr").against_baseline.decision == "better"
    assert (by_default.conclusion("rr").strength, named.conclusion("rr").strength) == ("open", "shown")
    assert "weak, the baseline by default" in assay.show(by_default, level="line")


def test_what_is_decided_of_the_baseline_is_not_decided_twice(several):
    found = compare(several, ["rr"], baseline="other")
    told = found.conclusion("rr")
    assert told.best == ("other",)
    contrast = found.contrast("strong", "rr")
    assert told.against_second.pvalue == contrast.pvalue
    assert told.against_second.difference.estimate == pytest.approx(-contrast.difference.estimate)
    assert (told.against_second.decision == "better") == (contrast.verdict == "worse")


def test_a_correction_that_turns_a_result_is_named():
    rng = np.random.default_rng(3)
    base = rng.random(N) < 0.5
    for seed in range(200):
        moved = np.random.default_rng(seed).random(N) < 0.09
        systems = [scores("base", base.astype(float))]
        systems += [
            scores(f"s{i}", (base ^ (moved if i == 0 else rng.random(N) < 0.05)).astype(float)) for i in range(4)
        ]
        found = compare(systems, ["rr"], n_resamples=2000)
        turned = [one for one in found.contrasts if one.fails_by_correction(0.05)]
        if turned:
            break
    text = assay.show(found).replace("\n", " ")
    assert turned[0].pvalue <= 0.05 < turned[0].adjusted
    assert "because of the correction for 4 systems" in text
    assert "因为对 4 个系统作了校正" in assay.show(found, lang="zh").replace("\n", "")


def test_the_detectable_difference_is_that_of_the_first_corrected_test(several):
    alone = compare(several[:2], ["rr"]).contrast("strong", "rr")
    corrected = compare(several, ["rr"]).contrast("strong", "rr")
    bonferroni = compare(several[:2], ["rr"], alpha=0.05 / 3).contrast("strong", "rr")
    assert corrected.detectable == pytest.approx(bonferroni.detectable)
    assert corrected.detectable > alone.detectable
    free = compare(several, ["rr"], correction="none").contrast("strong", "rr")
    assert free.detectable == pytest.approx(alone.detectable)


@pytest.mark.parametrize(
    ("holdout", "strength"),
    [("none", "shown"), ("confirmed", "shown"), ("not_confirmed", "open"), ("denied", "open")],
)
def test_a_choice_that_held_out_queries_do_not_confirm_is_not_shown(several, holdout, strength):
    found = replace(compare(several, ["rr"], baseline="weak").conclusion("rr"), holdout=holdout)
    assert found.strength == strength


def test_a_conclusion_says_what_it_can():
    plain = Conclusion("m", 2, ("a",), 0.5, ("b",), 0.4)
    assert plain.state == "untested"
    assert Conclusion("m", 2, (), None).state == "nothing"
    assert Conclusion("m", 1, ("a",), 0.0).state == "alone"
    assert Conclusion("m", 2, (), 0.0).state == "equal"


# The front ------------------------------------------------------------------------------------------------------------


def places(*points, **more):
    found = find_front([FrontPoint(*point) for point in points], Rules(n_resamples=500), **more)
    return [one.on_front for one in found], [one.within_noise for one in found]


def test_noise_of_times_takes_nobody_off_the_front():
    rng = np.random.default_rng(4)
    quality, free = rng.random(N), np.zeros(N)
    for _ in range(20):
        one, two = (10 * np.exp(rng.normal(0, 0.2, N)) for _ in range(2))
        assert places((quality, one, free), (quality, two, free)) == ([True, True], [True, True])


def test_what_is_as_good_and_surely_faster_or_cheaper_beats_the_other():
    rng = np.random.default_rng(5)
    quality, ms, free = rng.random(N), 10 * np.exp(rng.normal(0, 0.2, N)), np.zeros(N)
    assert places((quality, ms, free), (quality, 2 * ms, free))[0] == [True, False]
    assert places((quality, ms, free), (quality, ms, free + 0.001))[0] == [True, False]
    assert places((quality, ms, free), (quality, 1.1 * ms, free))[0] == [True, True], "a tenth is no difference"
    assert places((quality, ms / 100, free), (quality, ms / 50, free))[0] == [True, True], "nor is a tenth of a ms"
    assert places((quality, ms, free), (quality, None, free))[0] == [True, True], "unknown is not surely slower"


def test_a_higher_mean_is_not_given_up_for_speed_while_nobody_showed_that_the_other_is_as_good():
    rng = np.random.default_rng(6)
    quality, ms, free = rng.random(N), 10 * np.exp(rng.normal(0, 0.2, N)), np.zeros(N)
    assert places((quality, ms, free), (quality[::-1] + 0.01, 3 * ms, free), reach=2.0)[0] == [True, True]
    assert places((quality, ms, free), (quality + 0.1 * rng.random(N), 3 * ms, free), reach=2.0)[0] == [True, True]


def test_of_a_measure_that_should_be_small_the_smaller_is_better():
    rng = np.random.default_rng(7)
    quality, ms, free = rng.random(N), 10 * np.exp(rng.normal(0, 0.2, N)), np.zeros(N)
    worse = quality + 0.5 * rng.random(N)
    assert places((quality, ms, free), (worse, ms, free), sign=-1.0, reach=2.0)[0] == [True, False]
