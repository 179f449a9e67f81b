"""Adjusted p-values and tests of signs and ranks, against SciPy and statsmodels."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.multitest import multipletests

from assay.errors import InputError, UnknownName, UsageError
from assay.stats import (
    adjust,
    benjamini_hochberg,
    bonferroni,
    holm,
    mcnemar,
    sign_test,
    wilcoxon,
)

NAN = math.nan
RNG = np.random.default_rng(21)
D = RNG.normal(0.2, 1, 35)
W = RNG.lognormal(0, 1, 35)
METHODS = {
    "bonferroni": (bonferroni, "bonferroni"),
    "holm": (holm, "holm"),
    "benjamini-hochberg": (benjamini_hochberg, "fdr_bh"),
}
ALTERNATIVES = ["two-sided", "greater", "less"]


@pytest.mark.parametrize("name", METHODS)
@given(p=st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.5]), min_size=1, max_size=12))
def test_adjusted_p_values_are_those_of_statsmodels(name, p):
    function, theirs = METHODS[name]
    assert function(p) == pytest.approx(multipletests(p, method=theirs)[1], rel=1e-12, abs=1e-300)
    assert np.array_equal(adjust(p, name), function(p))


@pytest.mark.parametrize("name", METHODS)
def test_nan_is_kept_aside(name):
    function, _ = METHODS[name]
    found = function([0.02, NAN, 0.01, NAN, 0.3])
    assert np.isnan(found[[1, 3]]).all()
    assert found[[0, 2, 4]].tolist() == function([0.02, 0.01, 0.3]).tolist()
    assert np.isnan(function([NAN])).all()
    assert function([]).tolist() == []


def test_adjusted_p_values_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(p).tolist() == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1, 1]
    assert bonferroni([0.9, 0.2]).tolist() == [1, 0.4]


def test_no_correction_returns_p_as_it_is():
    p = np.array([0.3, NAN, 0.1])
    found = adjust(p, "none")
    assert found[[0, 2]].tolist() == [0.3, 0.1]
    assert found is not p


def test_p_values_that_are_none_and_unknown_corrections_are_refused():
    for p in ([-0.1], [1.1], [math.inf], ["x"]):
        with pytest.raises(InputError):
            holm(p)
    with pytest.raises(UnknownName, match="did you mean bonferroni"):
        adjust([0.1], "bonferoni")
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("above", "below", "zero"), [(0, 0, 0), (1, 0, 0), (0, 1, 2), (5, 5, 3), (9, 2, 1), (2, 9, 0), (40, 30, 5)]
)
def test_the_sign_test_is_a_binomial_one(above, below, zero, alternative):
    found = sign_test([0.3] * above + [-2] * below + [0] * zero + [NAN], alternative=alternative)
    expected = scipy.stats.binomtest(above, above + below, alternative=alternative).pvalue if above + below else 1.0
    assert found.pvalue == pytest.approx(expected, rel=1e-12)
    assert (found.statistic, found.n, found.alternative) == (above, above + below, alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("x", [D, np.round(D, 0), D[:5], np.append(D[:9], [0, 0, NAN])])
def test_wilcoxons_test_is_that_of_scipy_without_zeros(x, alternative):
    kept = x[~np.isnan(x) & (x != 0)]
    theirs = scipy.stats.wilcoxon(kept, alternative=alternative)
    found = wilcoxon(x, alternative=alternative)
    assert (found.statistic, found.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)
    assert (found.n, found.alternative) == (len(kept), alternative)


def test_wilcoxons_test_of_nothing_has_p_1():
    for x in ([], [0.0, 0.0], [NAN]):
        found = wilcoxon(x)
        assert (found.statistic, found.pvalue, found.n, found.alternative) == (0, 1, 0, "two-sided")


def test_the_tests_that_do_not_test_the_mean_say_so():
    assert wilcoxon(D).warning.startswith("Wilcoxon's test does not test the mean")
    assert sign_test(D).warning.startswith("the sign test does not test the mean")
    assert wilcoxon([]).warning == wilcoxon(D).warning
    assert sign_test(D).alternative == "two-sided"


def test_p_of_signs_is_never_0():
    assert sign_test(np.ones(5000)).pvalue == 2 * sys.float_info.min
    assert wilcoxon(np.arange(1.0, 100_000)).pvalue == sys.float_info.min
    assert mcnemar(5000, 0).pvalue == 2 * sys.float_info.min
    assert mcnemar(5000, 0, exact=False).pvalue == sys.float_info.min


@pytest.mark.parametrize(("b", "c"), [(1, 0), (0, 1), (5, 2), (2, 5), (10, 25), (121, 59), (3, 4)])
def test_mcnemars_test_is_that_of_statsmodels(b, c):
    table = [[7, b], [c, 3]]
    for exact in (True, False):
        for correction in (True, False):
            theirs = their_mcnemar(table, exact=exact, correction=correction)
            found = mcnemar(b, c, exact=exact, correction=correction)
            assert (found.statistic, found.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-11)
            assert (found.exact, found.n) == (exact, b + c)
    assert mcnemar(b, c) == mcnemar(b, c, exact=True)
    assert mcnemar(b, c, exact=False) == mcnemar(b, c, exact=False, correction=True)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("count", [0, 1, 8])
def test_equal_counts_have_p_1(count, exact):
    found = mcnemar(count, count, exact=exact)
    assert found.pvalue == 1
    assert found.statistic == (count if exact else 0)


def test_counts_below_0_and_unknown_alternatives_are_refused():
    for counts in ((-1, 2), (2, -1)):
        with pytest.raises(UsageError, match="counts"):
            mcnemar(*counts)
    for test in (wilcoxon, sign_test):
        with pytest.raises(UnknownName, match="alternative"):
            test(D, alternative="more")
