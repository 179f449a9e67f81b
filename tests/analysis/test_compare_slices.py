"""Systems compared slice by slice: each number from its definition, and the level of all slices together."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats

import assay
from assay.analysis.compare_slices import compare_slices
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import Input
from assay.formats.queries import Queries
from assay.formats.results import load_result
from assay.messages import tell
from assay.report.views.slices import sentences
from assay.results.comparison import Rules

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "robust03"


def scored(values, name, **more):
    """Scores whose reciprocal ranks are 1/v: v is the rank of the one relevant document."""
    judged = {f"q{i}": {"a": 1} for i in range(len(values))}
    run = {f"q{i}": {**{f"x{j}": 99.0 - j for j in range(v - 1)}, "a": 1.0} for i, v in enumerate(values)}
    return assay.evaluate(judged, run, ["mrr"], name=name, **more)


def pair(seed=3, n=44, **more):
    rng = np.random.default_rng(seed)
    before, after = rng.integers(1, 6, n), rng.integers(1, 4, n)
    return (1 / before, 1 / after), [scored(before.tolist(), "old", **more), scored(after.tolist(), "new", **more)]


def exact_p(change):
    """The sign-flip test from its definition: the share of all sign patterns with as large a sum."""
    kept = change[change != 0]
    sums = [abs(sum(s * d for s, d in zip(signs, kept, strict=True))) for signs in itertools.product((1, -1), repeat=len(kept))]  # fmt: skip
    return np.mean(np.array(sums) >= abs(kept.sum()) - 1e-9)


def holm(pvalues):
    order, found, highest = np.argsort(pvalues), np.empty(len(pvalues)), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(pvalues) - rank) * pvalues[place]))
        found[place] = highest
    return found


KIND = {f"q{i}": "abc"[i // 14] if i < 42 else "rare" for i in range(44)}


def test_every_number_of_a_slice_is_that_of_its_queries_alone():
    (before, after), systems = pair()
    found = compare_slices(systems, "kind", KIND)
    assert [one.value for one in found.lifts] == ["a", "b", "c", "rare"]
    ps = [exact_p((after - before)[14 * i : 14 * i + 14]) for i in range(3)]
    for i, (one, corrected) in enumerate(zip(found.lifts[:3], holm(ps), strict=True)):
        rows = slice(14 * i, 14 * i + 14)
        assert (one.n, one.effective_n) == (14, 14)
        assert one.before == pytest.approx(before[rows].mean())
        assert one.after == pytest.approx(after[rows].mean())
        assert one.difference.estimate == pytest.approx((after - before)[rows].mean())
        assert one.relative.estimate == pytest.approx(after[rows].mean() / before[rows].mean() - 1)
        assert one.pvalue == pytest.approx(ps[i])
        assert one.adjusted == pytest.approx(corrected)
    assert found.tests == 3


def test_a_slice_of_few_queries_has_no_verdict_and_no_part_in_the_correction():
    _, systems = pair()
    few = compare_slices(systems, "kind", KIND).lifts[-1]
    assert (few.n, few.pvalue, few.adjusted, few.verdict, few.too_few) == (2, None, None, "inconclusive", True)
    assert few.difference.estimate is not None


def test_tests_of_all_systems_are_corrected_together():
    (_, _), systems = pair()
    third = scored([2] * 44, "flat")
    found = compare_slices([*systems, third], "kind", KIND)
    assert found.tests == 6
    ps = [one.pvalue for one in found.lifts if not one.too_few]
    assert [one.adjusted for one in found.lifts if not one.too_few] == pytest.approx(list(holm(np.array(ps))))


def test_what_the_correction_turned_is_said_in_both_languages():
    before, after = [2] * 80, [1] * 6 + [2] * 74
    kinds = {f"q{i}": f"k{i // 10}" for i in range(80)}
    found = compare_slices([scored(before, "old"), scored(after, "new")], "kind", kinds)
    assert found.lifts[0].pvalue == pytest.approx(2 / 2**6)
    assert found.lifts[0].adjusted == pytest.approx(8 * 2 / 2**6)
    assert [one.turned for one in found.lifts] == [True] + [False] * 7
    told = sentences(found)[1]
    assert "kind = k0 (p 0.0312, corrected 0.2500)" in str(told)
    assert "因对 8 项检验作了校正而无法判定：kind = k0" in tell(told, "zh")


def test_slices_count_weights_and_clusters():
    n = 40
    weights = {f"q{i}": 9.0 if i == 0 else 1.0 for i in range(n)}
    clusters = {f"q{i}": f"c{i // 5}" for i in range(n)}
    kinds = {f"q{i}": "a" if i < 20 else "b" for i in range(n)}
    _, weighted = pair(n=n, weights=weights)
    one = compare_slices(weighted, "kind", kinds).lifts[0]
    assert one.effective_n == pytest.approx(28**2 / (81 + 19))  # Kish: (sum w)^2 / sum w^2
    assert (one.weight.heaviest, one.weight.share) == ("q0", pytest.approx(9 / 28))
    _, clustered = pair(n=n, clusters=clusters)
    one = compare_slices(clustered, "kind", kinds).lifts[0]
    assert one.effective_n == pytest.approx(4)
    assert one.too_few


def test_a_number_with_many_values_is_cut_into_ranges_in_their_order():
    _, systems = pair(n=60)
    frame = pl.DataFrame({"query_id": [f"q{i}" for i in range(60)], "words": [1 + i % 12 for i in range(60)]})
    found = compare_slices(systems, "words", Queries(frame))
    assert [(one.value, one.n) for one in found.lifts] == [("<= 4", 20), ("> 4, <= 8", 20), ("> 8", 20)]


def test_unknown_attributes_too_many_slices_and_other_ids_are_refused(tmp_path):
    _, systems = pair()
    frame = pl.DataFrame({"query_id": ["q1"], "kind": ["a"]})
    with pytest.raises(UnknownName, match="langage"):
        compare_slices(systems, "langage", Queries(frame))
    with pytest.raises(UsageError, match="44 values"):
        compare_slices(systems, "name", {q: f"name {q}" for q in KIND})
    (tmp_path / "q.csv").write_text("query_id,kind\nz1,a\n")
    with pytest.raises(InputError, match="none of the query ids"):
        compare_slices(systems, "kind", tmp_path / "q.csv")


def test_queries_without_attributes_are_counted():
    _, systems = pair()
    assert compare_slices(systems, "kind", {q: k for q, k in KIND.items() if k != "c"}).lacking == 14


def test_a_result_file_holds_the_slices(tmp_path):
    _, systems = pair()
    found = compare_slices(systems, "kind", KIND)
    found.save(tmp_path / "slices.json")
    assert load_result(Input.at(tmp_path / "slices.json")).parts["slices"] == found


# The level of all slices together -------------------------------------------------------------------------------------

SLICES = 8


@pytest.fixture(scope="module")
def real():
    if not DATA.exists():
        pytest.skip(f"no {DATA.name} beside the project")
    runs = sorted(DATA.glob("*.run.gz"))[:6]
    return np.stack([assay.evaluate(DATA / "qrels.txt.gz", run, ["ndcg@10"]).column("ndcg@10") for run in runs], axis=1)


def null_alarm(real, template, n, i):
    """Whether any of eight slices is called better or worse where the two systems are exchanged at random."""
    rng = np.random.default_rng([17, n, i])
    drawn = real[rng.integers(len(real), size=n)][:, rng.permutation(real.shape[1])[:2]]
    values = rng.permuted(drawn, axis=1)
    systems = [assay.Scores(**{**template, "name": name, "values": values[:, [j]]}) for j, name in enumerate("ab")]
    kinds = {f"q{i}": f"k{k}" for i, k in enumerate(rng.integers(SLICES, size=n).tolist())}
    found = compare_slices(systems, "kind", kinds, rules=Rules(n_resamples=999))
    shown = [one for one in found.lifts if one.verdict in {"better", "worse"}]
    return bool(shown), any(one.pvalue is not None and one.pvalue <= 0.05 for one in found.lifts)


@pytest.mark.parametrize("n", [160, 400])
def test_equal_systems_are_seldom_called_different_in_any_of_eight_slices(real, n, stress):
    count = 4000 if stress else 40
    first = scored([1] * n, "a")
    template = {name: getattr(first, name) for name in first.__dataclass_fields__}
    alarms = np.array([null_alarm(real, template, n, i) for i in range(count)])
    corrected, raw = alarms.mean(axis=0)
    error = 100 * np.sqrt(corrected * (1 - corrected) / count)
    if stress:
        sys.stdout.write(f"\n| {n} | {100 * corrected:.1f} | {error:.1f} | {100 * raw:.1f} |\n")
    allowed = 0.065 * count if stress else scipy.stats.binom(count, 0.05).isf(1e-4)
    assert alarms[:, 0].sum() <= allowed
    assert raw > 2 * 0.05  # without the correction there are many more
