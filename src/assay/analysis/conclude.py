"""Name the best system on each measure of a comparison, and whether it is shown to beat each of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.decision import decide, too_few
from assay.data.scores import aggregate
from assay.results.conclusion import Conclusion, PairTest, describe_best
from assay.stats.inputs import paired_differences
from assay.stats.intervals import difference_interval
from assay.stats.moments import moments
from assay.stats.multiplicity import adjust
from assay.stats.signflip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.comparable import AlignedScores
    from assay.data.segments import Floats
    from assay.results.comparison import Contrast, Pairs, Rules
    from assay.results.conclusion import Decision


def conclude(
    data: AlignedScores,
    rules: Rules,
    *,
    contrasts: Sequence[Contrast] = (),
    pairs: Sequence[Pairs] = (),
    named: bool = True,
) -> tuple[Conclusion, ...]:
    """Return a conclusion for every measure, testing the best system against each of the others.

    The tests of one measure are corrected together, by the method of the rules; where all pairs were tested at
    once, their p-values are taken instead. The first system is the baseline where there are contrasts with it. What
    is decided of a system and the baseline holds for them here, too, so that nothing is decided twice. That the
    best one is chosen by the same queries needs no more correction: the test that counts is the one against the
    nearest of the others, and choosing the two largest of several equal means brings them closer together (Gutmann
    and Maymin 1987).
    """
    base = data.names[0] if contrasts else ""
    plain = [_by_means(data, place, base, named=named) for place in range(len(data.labels))]
    tested = _test_columns(data, plain, rules)
    found = []
    for place, one in enumerate(plain):
        if len(one.best) != 1 or not one.second:
            found.append(one)
            continue
        tukey = next((p for p in pairs if p.measure == one.measure), None)
        of = {c.system: c for c in contrasts if c.measure == one.measure}
        tests = (
            _tests(data, place, one, of, tested, rules=rules)
            if tukey is None
            else _tukey(data, place, one, tukey, rules)
        )
        found.append(_with_tests(one, tests))
    return tuple(found)


def _with_tests(plain: Conclusion, tests: Mapping[str, PairTest]) -> Conclusion:
    return replace(
        plain,
        rivals=tuple(name for name, test in tests.items() if test.decision != "better"),
        against_second=tests[plain.second[0]],
        against_baseline=tests.get(plain.baseline),
    )


def _by_means(data: AlignedScores, place: int, base: str, *, named: bool) -> Conclusion:
    means = {}
    for i, name in enumerate(data.names):
        values = data.values[:, place, i]
        mean = aggregate(values, ~np.isnan(values), "mean", data.weights)
        means[name] = None if np.isnan(mean) else mean
    lower = bool(data.signs()[place] < 0)
    return describe_best(data.labels[place], means, lower=lower, baseline=base, baseline_named=named)


def _changes(data: AlignedScores, place: int, best: str, other: str) -> Floats:
    values = data.values[:, place]
    return paired_differences(values[:, data.names.index(best)], values[:, data.names.index(other)])


def _test_columns(data: AlignedScores, plain: Sequence[Conclusion], rules: Rules) -> dict[tuple[str, str], float]:
    """P of the best system of each measure against every other one but the baseline, by measure and other system."""
    wanted = [
        (place, one.best[0], other)
        for place, one in enumerate(plain)
        if len(one.best) == 1 and one.best[0] != one.baseline
        for other in data.names
        if other not in {one.baseline, one.best[0]}
    ]
    if not wanted:
        return {}
    columns = np.stack([_changes(data, *which) for which in wanted], axis=1)
    found = sign_flip(
        columns, weights=data.weights, clusters=data.clusters, n_resamples=rules.n_resamples, rng=rules.seed
    ).pvalue
    return {(data.labels[place], other): float(p) for (place, _, other), p in zip(wanted, found, strict=True)}


def _tests(
    data: AlignedScores,
    place: int,
    plain: Conclusion,
    contrasts: Mapping[str, Contrast],
    tested: Mapping[tuple[str, str], float],
    *,
    rules: Rules,
) -> dict[str, PairTest]:
    """Test the best system against every other one; the result against the baseline is already known."""
    best, base = plain.best[0], plain.baseline
    size = rules.family_size(len(data.names) - 1, len(data.labels))
    if best == base:
        return {name: _swap(one.as_test(base, rules, size)) for name, one in contrasts.items()}
    others = [name for name in data.names if name != best]
    raw = [contrasts[best].pvalue if name == base else tested[plain.measure, name] for name in others]
    adjusted = adjust(raw, method=rules.correction)
    found = {base: contrasts[best].as_test(base, rules, size)} if base else {}
    for name, p, corrected in zip(others, raw, adjusted.tolist(), strict=True):
        if name != base:
            how = (rules.correction, len(others))
            found[name] = _pair_test(data, place, (best, name), (p, corrected), how, rules=rules)
    return {name: found[name] for name in others}


def _tukey(data: AlignedScores, place: int, plain: Conclusion, pairs: Pairs, rules: Rules) -> dict[str, PairTest]:
    best, n = data.names.index(plain.best[0]), len(data.names)
    return {
        name: _pair_test(
            data, place, (plain.best[0], name), (pairs.pvalues[best][i],) * 2, ("tukey", n * (n - 1) // 2), rules=rules
        )
        for i, name in enumerate(data.names)
        if i != best
    }  # fmt: skip


def _pair_test(
    data: AlignedScores,
    place: int,
    pair: tuple[str, str],
    tested: tuple[float, float],
    corrected: tuple[str, int],
    *,
    rules: Rules,
) -> PairTest:
    change = _changes(data, place, *pair)
    limits = data.columns[place].limits(data.values[:, place])
    reach = None if limits is None else limits[1] - limits[0]
    of: dict[str, Any] = {"weights": data.weights, "clusters": data.clusters}
    sign = float(data.signs()[place])
    decision = decide(change, rules, pvalue=tested[0], adjusted=tested[1], sign=sign, reach=reach, **of)
    interval = difference_interval(change, reach=reach, confidence_level=rules.confidence_level, **of)
    few = too_few(moments(change, **of).effective_n)
    turned = decision == "inconclusive" and not few and tested[0] <= rules.alpha < tested[1]
    return PairTest(*pair, interval, *tested, decision, *corrected, turned=turned, too_few=few)


def _swap(test: PairTest) -> PairTest:
    """The same test seen from the other system."""
    of = test.difference
    opposite: dict[str, Decision] = {"better": "worse", "worse": "better"}
    turned = replace(
        of,
        estimate=None if of.estimate is None else -of.estimate,
        low=None if of.high is None else -of.high,
        high=None if of.low is None else -of.low,
        near=tuple(-bound for bound in reversed(of.near)),
    )
    decision = opposite.get(test.decision, test.decision)
    return replace(test, first=test.second, second=test.first, difference=turned, decision=decision)
