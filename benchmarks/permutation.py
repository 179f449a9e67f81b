"""Time the sign-flip test beside scipy.stats.permutation_test for the same work.

    python benchmarks/permutation.py          SciPy does a slice of the resamples, its time is scaled up
    python benchmarks/permutation.py --full   SciPy does them all (minutes)

The work: 10,000 resamples of 6,980 rows of differences, 75 columns (15 measures x 5 systems). SciPy is called
vectorised over all columns at once, along its faster axis and with the batch size that was fastest on a few resamples.
Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import scipy
from scipy.stats import permutation_test

from assay.stats import sign_flip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROWS, MEASURES, SYSTEMS = 6980, 15, 5
BATCHES = (8, 16, 32, 64)


def make_differences() -> Floats:
    """Differences of measures in [0, 1] with many ties, as systems that differ a little have them."""
    rng = np.random.default_rng(20261116)
    moved = rng.random((ROWS, MEASURES * SYSTEMS)) < 0.4
    return np.where(moved, rng.normal(rng.normal(0, 0.003, MEASURES * SYSTEMS), 0.2, moved.shape), 0.0)


def scipy_pvalues(columns: Floats, n_resamples: int, batch: int) -> tuple[float, Floats]:
    started = time.perf_counter()
    found = permutation_test(
        (columns,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=batch,
        axis=-1,
        rng=1,
    )
    return time.perf_counter() - started, np.asarray(found.pvalue)


def fastest_batch(columns: Floats) -> int:
    return min(BATCHES, key=lambda batch: scipy_pvalues(columns, BATCHES[-1], batch)[0])


def errors_apart(ours: Floats, theirs: Floats, counts: tuple[int, int]) -> float:
    """Largest difference of p in standard errors; SciPy doubles the smaller tail, so its error is larger."""
    p = (ours * counts[0] + theirs * counts[1]) / sum(counts)
    variance = p * (1 - p) / counts[0] + p * (2 - p) / counts[1]
    return float(np.max(np.abs(ours - theirs) / np.sqrt(variance)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="let SciPy do all resamples")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--slice", type=int, default=400, help="resamples that SciPy does without --full")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    differences = make_differences()
    times = []
    for _ in range(options.repeat):
        started = time.perf_counter()
        ours = sign_flip(differences, n_resamples=options.resamples, rng=1)
        times.append(time.perf_counter() - started)
    columns = np.ascontiguousarray(differences.T)
    batch = fastest_batch(columns)
    done = options.resamples if options.full else min(options.slice, options.resamples)
    seconds, theirs = scipy_pvalues(columns, done, batch)
    scaled, median = seconds * options.resamples / done, statistics.median(times)
    share = "all" if done == options.resamples else f"{done:,} timed ({seconds:.1f} s) and scaled up"
    print(f"{options.resamples:,} resamples x {ROWS:,} rows x {len(columns)} columns, SciPy {scipy.__version__}\n")
    print("| what | seconds | ratio |\n|---|---:|---:|")
    print(f"| assay sign_flip, with maxT, median of {options.repeat} | {median:.2f} | 1 |")
    print(f"| scipy permutation_test, batch {batch}, {share} | {scaled:.0f} | {scaled / median:.0f} |")
    apart = errors_apart(ours.pvalue, theirs, (options.resamples, done))
    print(f"\nlargest difference of p: {np.abs(ours.pvalue - theirs).max():.4f}, {apart:.1f} standard errors")


if __name__ == "__main__":
    main()
