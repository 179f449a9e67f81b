"""How often a gate fails, stays open and passes, by simulation: the operating curve that docs/decisions.md states.

Full counts with ASSAY_STRESS=1, which also prints the tables; fewer normally. Differences between real systems are drawn
with weights that give them the wanted mean; extremes are made up.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import brentq

import assay
from assay.analysis.gate_rules import NotWorse
from assay.data.scores import Counts, Scores
from assay.stats.bounded import bounded_pvalue
from assay.stats.guarded import guard_interval
from assay.stats.intervals import mean_interval

COLUMN = assay.parse("ndcg@10").column("ndcg@10")
PROTOCOL = assay.load_protocol("trec")
MOST = 0.065


def scores(name: str, values) -> Scores:
    return Scores(
        name, [str(i) for i in range(len(values))], (COLUMN,), np.array(values)[:, None],
        np.zeros((len(values), 1), dtype=np.uint8), {"ndcg@10": Counts(len(values))}, PROTOCOL, judgments="same",
    )  # fmt: skip


def outcome(change, **rule) -> str:
    """What a gate says of differences, whatever the values are that they are between."""
    base = np.clip(-change, 0, 1)
    found = assay.gate(scores("new", base + change), NotWorse("ndcg@10", scores("old", base), **rule))
    return found.outcome


@pytest.fixture(scope="module")
def pairs(shared):
    """Differences in nDCG@10 between real systems, query by query."""
    folder = shared / "robust03"
    runs = [run for run in sorted(folder.glob("*.run.gz")) if "hum" not in run.name]
    values = [assay.evaluate(folder / "qrels.txt.gz", run, ["ndcg@10"]).column("ndcg@10") for run in runs]
    return [one - other for one, other in itertools.combinations(values, 2)]


@pytest.fixture(scope="module")
def all_scores(shared):
    folder = shared / "robust03"
    runs = sorted(folder.glob("*.run.gz"))
    return [assay.evaluate(folder / "qrels.txt.gz", run, ["ndcg@10", "map"]) for run in runs if "hum" not in run.name]


@pytest.fixture(scope="module")
def all_pairs(all_scores):
    """Differences between real systems by measure, query by query."""
    return {
        label: [one.column(label) - other.column(label) for one, other in itertools.combinations(all_scores, 2)]
        for label in ("ndcg@10", "map")
    }


@pytest.fixture(scope="module")
def all_values(all_scores):
    return np.stack([one.column("ndcg@10") for one in all_scores], axis=1)


def draws(pairs, drop: float, n: int, each: int):
    """Samples of n differences whose true mean is -drop, so many of each pair of systems."""
    rng = np.random.default_rng([n, int(1000 * drop)])
    for change in pairs:

        def shares(tilt, change=change):
            found = np.exp(tilt * change - np.abs(tilt * change).max())
            return found / found.sum()

        tilt = brentq(lambda tilt, shares=shares, change=change: shares(tilt) @ change + drop, -200, 200)
        yield from change[rng.choice(len(change), (each, n), p=shares(tilt))]


def rates(samples, **rule) -> dict[str, float]:
    told = Counter(outcome(one, **rule) for one in samples)
    return {name: told[name] / sum(told.values()) for name in ("failed", "inconclusive", "passed")}


def no_more_than(share: float, count: int) -> float:
    """The largest rate that chance leaves so many draws of something that is as frequent as this."""
    return scipy.stats.binom(count, share).isf(1e-3) / count


@pytest.mark.parametrize("n", [50, 100, 200, 500])
def test_the_operating_curve_is_that_of_the_documentation(n, pairs, stress):
    each = 400 if stress else 3
    drops = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08) if stress else (0.0, 0.05)
    found = {drop: rates(draws(pairs, drop, n, each)) for drop in drops}
    if stress:
        for drop, one in found.items():
            shown = " | ".join(f"{100 * one[name]:.1f}" for name in ("failed", "inconclusive", "passed"))
            sys.stdout.write(f"\n| {n} | {drop:g} | {shown} |")
        sys.stdout.write(f" error at most {100 * math.sqrt(0.25 / each / len(pairs)):.1f}\n")
    assert found[0.0]["failed"] <= no_more_than(0.05, each * len(pairs))
    assert found[0.0]["passed"] >= 0.6
    assert found[0.05]["failed"] >= {50: 0.05, 100: 0.4, 200: 0.7, 500: 0.9}[n]


def fails(samples):
    """Which of many samples fail the default rule: what `outcome` says, at a hundredth of its time.

    A drop is shown where the end of the interval that allows for skewness is below 0, and where fewer than three queries
    gain, the bounds at twice the risk are, too.
    """
    n, mean = samples.shape[1], samples.mean(axis=1)
    away = samples - mean[:, None]
    error = np.sqrt((away**2).sum(axis=1) / (n - 1) / n)
    varied = error > 1e-12
    skewness = np.divide((away**3).sum(axis=1) / n**3, error**3, out=np.zeros_like(mean), where=varied)
    t = scipy.stats.t.ppf(0.95, n - 1)
    a = np.maximum(t * skewness / 2, 0)
    found = varied & (mean + t * (a + np.sqrt(1 + a * a)) * error < 0) & (mean <= -0.01)
    for i in np.flatnonzero(found & ((samples > 0).sum(axis=1) < 3)):
        found[i] = bounded_pvalue(samples[i], 0.0, upper=1.0, beyond=0.1) <= 0.1
    return found


@pytest.mark.parametrize("measure", ["ndcg@10", "map"])
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500])
def test_how_often_a_build_fails_by_its_true_drop(measure, n, all_pairs, stress):
    each = 400 if stress else 10
    shares = []
    for drop in (0.0, 0.01, 0.02, 0.05, 0.1) if stress else (0.0, 0.1):
        samples = np.array(list(draws(all_pairs[measure], drop, n, each)))
        failed = fails(samples)
        some = np.r_[np.flatnonzero(failed)[:3], np.flatnonzero(~failed)[:3]]
        assert [outcome(samples[i]) == "failed" for i in some] == failed[some].tolist()
        shares.append(failed.mean())
    if stress:
        sys.stdout.write(f"\n| {measure} | {n} | " + " | ".join(f"{100 * one:.1f}" for one in shares) + " |\n")
    assert shares[0] <= (MOST if stress else no_more_than(MOST, each * len(all_pairs[measure])))
    assert shares[-1] >= (0.9 if n >= 200 else shares[0])


def histories(values, n, count, drop, rng, commits=50):
    """Values of n queries after each commit: each draws a tenth of them again from several systems, of which none is better.

    From the first commit after half of them on, every value is smaller by the share that lowers the mean by `drop`.
    """
    rows, systems = values.shape
    queries = rng.integers(rows, size=(count, n))
    now = values[queries, rng.integers(systems, size=(count, n))]
    found = [now]
    for _ in range(commits):
        again = rng.random((count, n)) < 0.1
        now = np.where(again, values[queries, rng.integers(systems, size=(count, n))], now)
        found.append(now)
    shrink = 1 - drop / values.mean()
    return [one if i <= commits // 2 else one * shrink for i, one in enumerate(found)]


@pytest.mark.parametrize("n", [50, 100, 200])
def test_builds_over_fifty_commits(n, all_values, stress):
    """Without a drop some build of many fails in the end; a drop that is not seen at once is seen later, if at all."""
    count, told = 4000 if stress else 40, []
    for drop in (0.0, 0.02, 0.05):
        after = histories(all_values, n, count, drop, np.random.default_rng([n, int(100 * drop)]))
        fixed = np.array([fails(one - after[0]) for one in after[1:]])
        last = np.array([fails(one - before) for before, one in itertools.pairwise(after)])
        late = fixed[25:] & ~fixed[:25].any(axis=0)  # of histories that were quiet before the drop
        quiet = (~fixed[:25].any(axis=0)).mean()
        told.append([fixed.mean(), fixed.any(axis=0).mean(), last.mean(), last.any(axis=0).mean(),
                     *(late[:k].any(axis=0).mean() / quiet for k in (1, 5, 25)), last[25].mean()])  # fmt: skip
    if stress:
        for drop, one in zip((0.0, 0.02, 0.05), told, strict=True):
            sys.stdout.write(f"\n| {n} | {drop:g} | " + " | ".join(f"{100 * share:.1f}" for share in one) + " |\n")
    assert told[0][0] <= (MOST if stress else no_more_than(MOST, count) + 0.05)
    assert told[2][6] > told[0][6]


@pytest.mark.parametrize("n", [100, 200])
def test_the_drop_that_is_said_to_be_caught_is_caught_in_four_of_five_cases(n, pairs, stress):
    each = 400 if stress else 4
    told = [guard_interval(one, 1.0) for one in draws(pairs, 0.0, n, 2)]
    drop = {100: 0.0555, 200: 0.0388}[n]
    mean = np.mean([one.high - one.estimate for one in told])
    assert drop == pytest.approx(mean + 0.845 * 0.218 / math.sqrt(n), rel=0.1)
    found = rates(draws(pairs, drop, n, each))
    if stress:
        sys.stdout.write(f"\n{n} queries, drop {drop}: failed {found['failed']:.3f}\n")
    spread = 4 * math.sqrt(0.16 / each / len(pairs))
    assert 0.8 - spread <= found["failed"] <= 0.8 + spread


def extremes(kind: str, n: int, count: int):
    """Differences with a true mean of 0, of the kinds that mislead Student's t or leave it little to see."""
    rng = np.random.default_rng([n, len(kind)])
    if kind == "hit rate .98":
        return rng.binomial(1, 0.98, (count, n)) - rng.binomial(1, 0.98, (count, n)).astype(float)
    if kind == "reciprocal rank .96":
        ranks = np.array([1, 1 / 2, 1 / 3, 1 / 5, 0])
        both = rng.choice(ranks, (2, count, n), p=[0.94, 0.03, 0.01, 0.01, 0.01])
        return both[1] - both[0]
    share, loss = {"rare gains, half losses": (0.01, 0.5), "rare gains, small losses": (0.02, 0.1),
                   "rare gains, all else loses": (0.03, 0.03 / 0.97)}[kind]  # fmt: skip
    drawn = rng.random((count, n))
    return np.where(drawn < share, 1.0, np.where(drawn < share + share / loss + 1e-12, -loss, 0.0))


EXTREMES = ["hit rate .98", "reciprocal rank .96", "rare gains, half losses", "rare gains, small losses",
            "rare gains, all else loses"]  # fmt: skip


@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize("kind", EXTREMES)
def test_harmless_changes_seldom_fail_in_extremes(kind, n, stress):
    count = 2000 if stress else 100
    samples = extremes(kind, n, count)
    student = np.mean([_by_student(one) for one in samples])
    suspect = [one for one in samples if _by_student(one)]  # nothing else can fail
    failed = sum(outcome(one) == "failed" for one in suspect) / count
    if stress:
        sys.stdout.write(f"\n| {kind} | {n} | {100 * student:.1f} | {100 * failed:.1f} |\n")
    assert failed <= (MOST if stress else no_more_than(MOST, count))


def _by_student(change) -> bool:
    found = mean_interval(change, confidence_level=0.9)
    return found.high is None or found.high < 0


def slide(pairs, commits: int, step: float, n: int, rng):
    """Values of a system after each commit: each changes queries a little, and loses `step` on average."""
    values = [np.full(n, 0.5)]
    for _ in range(commits):
        change = 0.15 * rng.choice(pairs[rng.integers(len(pairs))], n)
        values.append(np.clip(values[-1] + change - step, 0, 1))
    return values


def test_slow_slides_are_seen_from_afar(pairs, stress):
    """Ten commits lose 0.006 each: not all are seen step by step, and the first result tells what the last one does not."""
    count = 200 if stress else 12
    rng = np.random.default_rng(5)
    centred = [one - one.mean() for one in pairs]
    tallies: Counter[str] = Counter()
    for _ in range(count):
        values = [scores(f"c{i}", v) for i, v in enumerate(slide(centred, 10, 0.006, 100, rng))]
        steps = [assay.gate(new, not_worse_than=old).outcome for old, new in itertools.pairwise(values)]
        tallies["last"] += "failed" in steps
        tallies["first"] += assay.gate(values[-1], not_worse_than=values[0]).outcome == "failed"
        tallies["both"] += assay.gate(values[-1], not_worse_than=[values[-2], values[0]]).outcome == "failed"
    if stress:
        sys.stdout.write(f"\nslow slide of {count}: {dict(tallies)}\n")
    assert tallies["first"] > count / 2
    assert tallies["last"] < tallies["first"]


def test_the_best_of_several_equal_results_fails_few_harmless_changes(stress):
    """The best of five is the best by chance; the level is corrected for that."""
    count = 1000 if stress else 60
    rng = np.random.default_rng(6)
    alarms = Counter()
    for _ in range(count):
        values = rng.beta(2, 2, (6, 100))
        best = values[np.argmax(values[:5].mean(axis=1))]
        alarms["plain"] += outcome(values[5] - best) == "failed"
        alarms["corrected"] += outcome(values[5] - best, among=5) == "failed"
    if stress:
        sys.stdout.write(f"\nbest of five: {dict(alarms)} of {count}\n")
    assert alarms["corrected"] / count <= (MOST if stress else no_more_than(MOST, count))
    assert alarms["corrected"] <= alarms["plain"]
