"""Print how often intervals hold the truth and how often tests cry wolf, on populations whose truth is known.

    python tools/coverage.py                          4,000 samples of everything, some minutes
    python tools/coverage.py --cases 400 means pairs  fewer samples, some tables
    python tools/coverage.py --robust03 FOLDER real   samples of the queries of six real runs

Every population is a pool of queries; samples are drawn from it with replacement, so its own mean is the truth. An
interval that cannot be given, because no value of the sample varies, excludes nothing and counts as one that holds.
All samples are computed at once; the first of each are checked against the functions of `assay.stats`.
The standard error of a coverage of .95 over 4,000 samples is .0034.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

import assay
from assay.stats import difference_interval, mean_interval, paired_t, relative_interval, sign_flip
from assay.stats.bounded import extend_end, reach_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.stats import Interval

    Floats = NDArray[np.float64]
    Ends = tuple[Floats, Floats]

Method = Literal["auto", "t"]
SIZES = (20, 50, 100, 300, 1000)
CASES = 4000
BOUNDS = (0.0, 1.0)
POOL = 20_000
NOTHING = 1e-12
CHECKED = 20  # samples of every cell whose ends are compared with those of the functions that users call
MEASURES = ("ndcg@10", "map", "rr", "hit_rate@1", "hit_rate@10", "precision@5")


class Cover(NamedTuple):
    """What intervals of many samples did: share that hold the truth, share that are empty, median width."""

    held: float
    empty: float
    width: float


def pool(*parts: tuple[float, float]) -> Floats:
    """A pool of values with so many queries each: (value, how many)."""
    return np.repeat([value for value, _ in parts], [int(count) for _, count in parts]).astype(np.float64)


def mean_populations() -> dict[str, Floats]:
    """Bounded values with many ties and values at the ends, and some without."""
    rng = np.random.default_rng(1)
    return {
        "hit rate .50": pool((1, 1), (0, 1)),
        "hit rate .10": pool((1, 1), (0, 9)),
        "hit rate .95": pool((1, 95), (0, 5)),
        "hit rate .98": pool((1, 98), (0, 2)),
        "hit rate .995": pool((1, 995), (0, 5)),
        "reciprocal rank .93": pool((1, 90), (0.5, 6), (0, 4)),
        "reciprocal rank .99": pool((1, 980), (0.5, 15), (1 / 3, 5)),
        "precision@5 .10": pool((0, 70), (0.2, 20), (0.4, 5), (0.6, 3), (1, 2)),
        "nDCG .69, 30 % of it 1, 5 % 0": np.r_[np.ones(6000), np.zeros(1000), rng.beta(3, 2, 13_000)],
        "AP .20": rng.beta(0.5, 2, POOL),
        "AP .03": rng.beta(0.2, 6, POOL),
        "symmetric .50": rng.beta(2, 2, POOL),
        "ceiling .89": rng.beta(4, 0.5, POOL),
        "3 % above 0": np.r_[np.zeros(9700), rng.beta(1, 1, 300)],
        "2 % at 0, the others near .95": np.r_[rng.beta(40, 2, 9800), np.zeros(200)],
    }


# Where the mean is not near an end and values spread over the range: the interval should be about as wide as Student's.
PLAIN_MEANS = ("hit rate .50", "hit rate .10", "nDCG .69, 30 % of it 1, 5 % 0", "AP .20", "symmetric .50")
PLAIN_PAIRS = ("nDCG moves", "AP moves")


def pair_populations() -> dict[str, tuple[Floats, Floats]]:
    """Values before and after; most of them tie near the ceiling."""
    rng = np.random.default_rng(2)

    def ranks(*shares: float) -> Floats:
        return np.array([1, 1 / 2, 1 / 3, 1 / 4, 0])[rng.choice(5, POOL, p=shares)]

    def hits(share: float) -> Floats:
        return (rng.random(POOL) < share).astype(np.float64)

    def move(before: Floats, share: float, to: Floats | float) -> Floats:
        return np.where(rng.random(POOL) < share, to, before)

    near, nearer = ranks(0.9, 0.05, 0.02, 0.01, 0.02), ranks(0.97, 0.01, 0.01, 0.005, 0.005)
    high, higher, low, half = hits(0.95), hits(0.98), hits(0.1), hits(0.5)
    spread, small, even = rng.beta(2, 2, POOL), rng.beta(0.5, 2, POOL), np.full(POOL, 0.6)
    return {
        "RR .94, 10 % drawn again": (move(near, 0.1, ranks(0.93, 0.03, 0.02, 0.01, 0.01)), near),
        "RR .98, 5 % drawn again": (move(nearer, 0.05, ranks(0.9, 0.05, 0.02, 0.02, 0.01)), nearer),
        "hit rate .95, 10 % drawn again": (move(high, 0.1, hits(0.97)), high),
        "hit rate .98, 5 % drawn again": (move(higher, 0.05, hits(0.99)), higher),
        "hit rate .10, 10 % won": (move(low, 0.1, 1.0), low),
        "hit rate .50, 4 % turned": (move(half, 0.04, 1 - half), half),
        "nDCG moves": (np.clip(spread + rng.normal(0.02, 0.15, POOL), 0, 1), spread),
        "AP moves": (np.clip(small * rng.lognormal(0, 0.4, POOL), 0, 1), small),
        "4 % won": (move(spread, 0.04, 1.0), spread),
        "3 % won, the others alike": (move(even, 0.03, 1.0), even),
    }


def adverse_populations() -> dict[str, tuple[Floats, Floats]]:
    """Pairs of which a small sample shows too little, and whose values say so: few or none lie on one side of 0."""
    rng = np.random.default_rng(3)
    high, chance = rng.beta(3, 1, POOL), rng.random(POOL)
    more, half, rare, rarer, often = np.minimum(1.02 * high, 1), 0.5, 0.05, 0.02, 0.9

    def turned(won: float, lost: float) -> tuple[Floats, Floats]:
        before = np.where(chance < half, 1.0, 0.0)
        return np.where(chance < lost, 0.0, np.where(chance > 1 - won, 1.0, before)), before

    rescued = np.where(chance < rare, 1.0, more), np.where(chance < rare, 0.0, high)
    some = np.where(chance > often, np.minimum(high + 0.1, 1), high)
    return {
        "1 % won by 1, 2 % lost by 1": turned(0.01, 0.02),
        "10 % won by 1, 4 % lost by 1": turned(0.1, 0.04),
        "5 % lost, the others gain 2 %": (np.where(chance < rare, 0.0, more), high),
        "5 % rescued, the others gain 2 %": rescued,
        "2 % lost, 10 % gain .1": (np.where(chance < rarer, 0.0, some), high),
    }


def limit_populations() -> dict[str, tuple[Floats, Floats]]:
    """Pairs of which a small sample shows too little without a sign of it: what is rare hides among small moves."""
    rng = np.random.default_rng(3)
    high, small = rng.beta(3, 1, POOL), 0.3 * rng.beta(0.5, 2, POOL)
    moved = np.clip(high + rng.normal(0.01, 0.02, POOL), 0, 1)
    return {
        "5 % lost, the others move by .02": (np.where(rng.random(POOL) * 20 < 1, 0.0, moved), high),
        "AP .06 with a long tail": (np.clip(small * rng.lognormal(0, 0.5, POOL), 0, 1), small),
    }


def read_runs(folder: Path) -> dict[str, dict[str, Floats]]:
    """Values of the queries of every run of a folder, by measure and run."""
    scores = assay.evaluate(
        folder / "qrels.txt.gz",
        {path.name.partition(".")[0]: path for path in sorted(folder.glob("*.run.gz"))},
        list(MEASURES),
    )
    found = scores.values() if isinstance(scores, dict) else [scores]
    return {measure: {one.name: one.column(measure) for one in found} for measure in MEASURES}


def standard(rows: Floats) -> tuple[int, Floats, Floats, Floats]:
    """Number of values, and mean, standard error and skewness of the mean of each row."""
    n, mean = rows.shape[1], rows.mean(axis=1)
    away = rows - mean[:, None]
    error = np.sqrt((away**2).sum(axis=1) / (n - 1) / n)
    return n, mean, error, _skewness((away**3).sum(axis=1) / n**3, error)


def _skewness(cube: Floats, error: Floats) -> Floats:
    return np.divide(cube, error**3, out=np.zeros_like(cube), where=error > NOTHING)


def _student(n: int) -> float:
    return float(stdtrit(n - 1, 0.975))


def extend(t: float, skewness: Floats) -> Floats:
    """Standard errors to the end on the side where the skewness is this, as `stats.intervals.quantile_by_skewness`."""
    a = np.maximum(t * skewness / 2, 0)
    found: Floats = t * (a + np.sqrt(1 + a * a))
    return found


def mean_ends(rows: Floats, method: str) -> Ends:
    """Ends of the interval of the mean of each row, all rows at once."""
    n, mean, error, _ = standard(rows)
    t = _student(n)
    if method == "t":
        ends = np.maximum(mean - t * error, 0), np.minimum(mean + t * error, 1)
        return tuple(np.where(error > NOTHING, end, np.nan) for end in ends)  # type: ignore[return-value]
    padded = np.c_[rows, np.zeros(len(rows)), np.ones(len(rows))]
    phi = padded.var(axis=1) / (padded.mean(axis=1) * (1 - padded.mean(axis=1)))
    step, trials = t * t * phi / n, n / phi
    half = np.sqrt(step * (mean * (1 - mean) + step / 4)) / (1 + step)
    centre = (mean + step / 2) / (1 + step)
    least = np.where(mean > 0, betaincinv(np.maximum(mean * trials, NOTHING), (1 - mean) * trials + 1, 0.05), 0)
    most = np.where(mean < 1, betaincinv(np.maximum((1 - mean) * trials, NOTHING), mean * trials + 1, 0.05), 0)
    low, high = np.minimum(np.maximum(centre - half, 0), least), np.maximum(np.minimum(centre + half, 1), 1 - most)
    return -farther(-rows, -low, 0.0), farther(rows, high, 1.0)


def farther(rows: Floats, ends: Floats, upper: float) -> Floats:
    """Upper ends, at least as far out as the bounds require that count on what was not seen."""
    extended = (extend_end(row, None, float(end), upper=upper, risk=0.025) for row, end in zip(rows, ends, strict=True))
    return np.fromiter(extended, np.float64, len(rows))


def difference_ends(rows: Floats, method: str) -> Ends:
    """Ends of the interval of the mean difference of each row; NaN where the differences do not vary."""
    n, mean, error, skewness = standard(rows)
    away = [extend(_student(n), side * skewness * (method != "t")) for side in (-1, 1)]
    ends = np.maximum(mean - away[0] * error, -1), np.minimum(mean + away[1] * error, 1)
    low, high = (np.where(error > NOTHING, end, np.nan) for end in ends)
    known: dict[bytes, tuple[float, float]] = {}
    for row in () if method == "t" else unopposed(rows, error):
        key = np.sort(rows[row]).tobytes()
        if key not in known:
            down = -reach_bound(-rows[row], None, -low[row], upper=1.0, risk=0.05)
            known[key] = down, reach_bound(rows[row], None, high[row], upper=1.0, risk=0.05)
        low[row], high[row] = known[key]
    return low, high


def unopposed(changes: Floats, error: Floats) -> list[int]:
    """Samples that differ, and of which fewer than three values lie above 0 or below it."""
    opposed = np.minimum((changes > NOTHING).sum(axis=1), (changes < -NOTHING).sum(axis=1))
    found: list[int] = np.flatnonzero((opposed < 3) & (error > NOTHING)).tolist()  # noqa: PLR2004
    return found


def relative_ends(after: Floats, before: Floats, method: str) -> Ends:
    """Ends of the interval of the relative change of each row, by halving; NaN where there are none."""
    n, t = after.shape[1], _student(after.shape[1])
    base = before.mean(axis=1)
    known = base > NOTHING
    base = np.where(known, base, 1.0)
    ratio, b = after.mean(axis=1) / base, before / base[:, None] - 1
    e = after / base[:, None] - ratio[:, None] * (b + 1)
    squares = [(e ** (2 - i) * b**i).sum(axis=1) / n / (n - 1) for i in range(3)]
    cubes = [(e ** (3 - i) * b**i).sum(axis=1) / n**3 for i in range(4)]
    skewed = float(method != "t")

    def reaches(d: Floats, side: float) -> NDArray[np.bool_]:
        error = np.sqrt(np.maximum(squares[0] - 2 * d * squares[1] + d * d * squares[2], 0))
        cube = cubes[0] - 3 * d * cubes[1] + 3 * d * d * cubes[2] - d**3 * cubes[3]
        inside: NDArray[np.bool_] = np.abs(d) <= extend(t, side * skewed * _skewness(cube, error)) * error
        return inside

    error = np.sqrt(squares[2])
    clear = extend(t, -skewed * _skewness(cubes[3], error)) * error < 1
    given = known & clear & (np.sqrt(squares[0]) > NOTHING)
    ends = []
    for side in (-1.0, 1.0):
        near, far = np.zeros(len(ratio)), np.full(len(ratio), 1e4)
        for _ in range(60):
            middle = (near + far) / 2
            inside = reaches(side * middle, side)
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        ends.append(np.where(given, np.maximum(ratio - 1 + side * near, -1.0), np.nan))
    given_ends: dict[bytes, Interval] = {}
    for row in () if method == "t" else unopposed(after - before, np.where(given, 1.0, 0.0)):
        key = np.sort(after[row] + 1j * before[row]).tobytes()
        if key not in given_ends:
            given_ends[key] = relative_interval(after[row], before[row], bounds=BOUNDS)
        ends[0][row], ends[1][row] = given_ends[key].low, given_ends[key].high
    return ends[0], ends[1]


def agree(ends: Ends, give: Callable[[int], Interval]) -> None:
    """Check the first rows against the functions that users call."""
    for row in range(min(CHECKED, len(ends[0]))):
        found = give(row)
        expected = [np.nan if end is None else end for end in (found.low, found.high)]
        np.testing.assert_allclose([end[row] for end in ends], expected, rtol=1e-7, atol=1e-7)


def cover(ends: Ends, truth: float) -> Cover:
    """How often intervals hold the truth; an empty one excludes nothing."""
    low, high = ends
    held = ~((low - 1e-12 > truth) | (high + 1e-12 < truth))
    given = ~np.isnan(low)
    return Cover(
        float(held.mean()), float(1 - given.mean()), float(np.median((high - low)[given])) if given.any() else math.nan
    )


def cover_mean(values: Floats, n: int, cases: int, method: Method = "auto") -> Cover:
    """Intervals of the mean of samples of n values."""
    drawn = np.random.default_rng(n).choice(values, (cases, n))
    ends = mean_ends(drawn, method)
    agree(ends, lambda row: mean_interval(drawn[row], bounds=BOUNDS, method=method))
    return cover(ends, float(values.mean()))


def cover_difference(pair: tuple[Floats, Floats], n: int, cases: int, method: Method = "auto") -> Cover:
    """Intervals of the mean difference of samples of n pairs."""
    change = pair[0] - pair[1]
    drawn = np.random.default_rng(n).choice(change, (cases, n))
    ends = difference_ends(drawn, method)
    agree(ends, lambda row: difference_interval(drawn[row], reach=1.0, method=method))
    return cover(ends, float(change.mean()))


def cover_relative(pair: tuple[Floats, Floats], n: int, cases: int, method: Method = "auto") -> Cover:
    """Intervals of the relative change of samples of n pairs."""
    rows = np.random.default_rng(n).integers(len(pair[0]), size=(cases, n))
    after, before = pair[0][rows], pair[1][rows]
    ends = relative_ends(after, before, method)
    agree(ends, lambda row: relative_interval(after[row], before[row], bounds=BOUNDS, method=method))
    return cover(ends, float(pair[0].mean() / pair[1].mean() - 1))


def false_alarms(change: Floats, n: int, cases: int) -> float:
    """Share of samples with p <= .05 by the sign-flip test, where the mean difference of the pool is 0."""
    drawn = np.random.default_rng(n).choice(change - change.mean(), (n, cases))
    return float(np.mean(sign_flip(drawn, n_resamples=2000).pvalue <= 0.05))  # noqa: PLR2004


class Clustered(NamedTuple):
    """Coverage of mean and difference, and false alarms of both tests, with whole clusters and (last) without."""

    mean: float
    difference: float
    t: float
    sign_flip: float
    without: float


def cover_clusters(sizes: Sequence[int], cases: int) -> Clustered:
    """Questions on passages, whose values and differences depend strongly on the passage (correlation about .8)."""
    rng = np.random.default_rng(sum(sizes))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    held = held_change = alarms = 0
    changes = np.empty((len(codes), cases))
    for case in range(cases):
        values = (rng.random(len(codes)) < rng.beta(0.3, 0.1, len(sizes))[codes]).astype(np.float64)
        held += not mean_interval(values, clusters=codes, bounds=BOUNDS).excludes(0.75)
        change = np.clip(rng.normal(0, 0.2, len(sizes))[codes] + rng.normal(0, 0.1, len(codes)), -1, 1)
        held_change += not difference_interval(change, clusters=codes, reach=1.0).excludes(0.0)
        alarms += (paired_t(change, clusters=codes).pvalue or 0.0) <= 0.05  # noqa: PLR2004
        changes[:, case] = change
    flipped = sign_flip(changes, clusters=codes, n_resamples=2000).pvalue <= 0.05  # noqa: PLR2004
    plain = sign_flip(changes, n_resamples=2000).pvalue <= 0.05  # noqa: PLR2004
    return Clustered(held / cases, held_change / cases, alarms / cases, float(flipped.mean()), float(plain.mean()))


def tell(line: str) -> None:
    """Write one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tell_means(populations: Mapping[str, Floats], cases: int) -> None:
    """Coverage of the score interval and of Student's, and how much wider the first is."""
    tell(f"\n| mean of | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for name, values in populations.items():
        cells = []
        for n in SIZES:
            ours, student = cover_mean(values, n, cases), cover_mean(values, n, cases, "t")
            cells.append(f"{ours.held:.3f} ({student.held - student.empty:.3f}) {_ratio(ours.width, student.width)}")
        tell(f"| {name} | {' | '.join(cells)} |")


def tell_pairs(populations: Mapping[str, tuple[Floats, Floats]], cases: int) -> None:
    """Coverage of differences and relative changes, beside Student's, width, and how many are empty."""
    for title, measure in (("difference", cover_difference), ("relative change", cover_relative)):
        tell(f"\n| {title} | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
        for name, pair in populations.items():
            cells = []
            for n in SIZES:
                ours, student = measure(pair, n, cases), measure(pair, n, cases, "t")
                empty = f", {ours.empty:.0%} empty" if ours.empty > 0.005 else ""  # noqa: PLR2004
                cells.append(f"{ours.held:.3f} ({student.held:.3f}) {_ratio(ours.width, student.width)}{empty}")
            tell(f"| {name} | {' | '.join(cells)} |")


def _ratio(ours: float, theirs: float) -> str:
    return f"x{ours / theirs:.2f}" if theirs > 0 else ""


def tell_clusters(cases: int) -> None:
    """Coverage and false alarms of clustered values."""
    tell(
        "\n| clusters | mean | difference | false alarms: t | sign flips | sign flips without clusters |\n"
        "|---|---|---|---|---|---|"
    )
    for passages in (20, 50, 100, 200):
        for name, sizes in (("5 each", [5] * passages), ("1 to 9 each", [1, 3, 5, 7, 9] * (passages // 5))):
            found = cover_clusters(sizes, cases)
            tell(f"| {passages}, {name} | " + " | ".join(f"{value:.3f}" for value in found) + " |")


def tell_real(folder: Path, cases: int) -> None:
    """Means, pairs and false alarms of real runs."""
    runs = read_runs(folder)
    names = list(next(iter(runs.values())))
    tell_means({f"{measure} of {names[0]}": runs[measure][names[0]] for measure in MEASURES}, cases)
    pairs = {
        f"{measure}, {a} and {b}": (runs[measure][b], runs[measure][a])
        for measure in MEASURES
        for a, b in zip(names[:-1:2], names[1::2], strict=True)
    }
    tell_pairs(pairs, cases)
    tell(f"\n| false alarms | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for name, (after, before) in pairs.items():
        if name.startswith(("ndcg", "map")):
            tell(f"| {name} | " + " | ".join(f"{false_alarms(after - before, n, cases):.3f}" for n in SIZES) + " |")


def main() -> None:
    """Print the tables that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="means, pairs, adverse, limits, clusters, real")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--robust03", type=Path)
    asked = parser.parse_args()
    tables = asked.tables or ["means", "pairs", "adverse", "limits", "clusters", *(["real"] if asked.robust03 else [])]
    tell(f"{asked.cases} samples; standard error at .95: {math.sqrt(0.95 * 0.05 / asked.cases):.4f}.")
    tell("Coverage (Student's in brackets, for means with empty ones as misses), median width beside Student's.")
    if "means" in tables:
        tell_means(mean_populations(), asked.cases)
    if "pairs" in tables:
        tell_pairs(pair_populations(), asked.cases)
    if "adverse" in tables:
        tell_pairs(adverse_populations(), asked.cases)
    if "limits" in tables:
        tell_pairs(limit_populations(), asked.cases)
    if "clusters" in tables:
        tell_clusters(asked.cases)
    if "real" in tables:
        tell_real(asked.robust03, asked.cases)


if __name__ == "__main__":
    main()
