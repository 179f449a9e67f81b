"""How good judgments of a part of the pool are: a table for docs/pools.md.

    python benchmarks/pooling.py RUNS_FOLDER [--samples 1000] [--depth 1000]
    python benchmarks/pooling.py --made SEED

The folder holds *.run.gz and qrels.txt.gz (TREC); `--made` draws a collection of which all is known. The pool are
the documents in the first ranks of any run whose judgment is known; the truth is the value under all of them.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import assay
from assay.analysis.evaluate import rank
from assay.analysis.settings import Settings
from assay.curation import pools
from assay.measures.sampled import SampledRanking, estimate
from assay.stats.sampling import inclusion_probabilities, pareto_order, sampling_error, spend

MEASURES = ("P@10", "AP", "ndcg", "ndcg@10")
SHARES = (0.05, 0.1, 0.2, 0.4)
GRID = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of judgments needed
BIAS, RIGHT = 0.005, 0.95  # what is good enough


class Collection:
    """Runs, and the judgments of the pool that some of them make."""

    def __init__(self, folder: Path, depth: int, makers: list[str] | None = None) -> None:
        known = assay.read_judgments(folder / "qrels.txt.gz").by_query
        self.runs = {
            path.name.removesuffix(".run.gz"): assay.read_run(path) for path in sorted(folder.glob("*.run.gz"))
        }
        chosen = [run for name, run in self.runs.items() if makers is None or name in makers]
        self.pools = [
            replace(one, doc_ids=tuple(d for d, k in zip(one.doc_ids, keep, strict=True) if k), ranks=one.ranks[keep])
            for one in pools.collect_pools(chosen, depth)
            if one.query_id in known
            for keep in (np.array([doc in known[one.query_id] for doc in one.doc_ids]),)
            if keep.any()
        ]
        self.grades: pools.Grades = {
            one.query_id: {doc: max(known[one.query_id][doc], 0) for doc in one.doc_ids} for one in self.pools
        }
        self.judgments = assay.Judgments.from_dict(self.grades)  # type: ignore[arg-type]
        settings = Settings.of(self.judgments, list(MEASURES), "trec", min_relevance=1)
        self.measures = list(settings.measures.values())
        self.rankings = {name: rank(self.judgments, run, settings.protocol)[0] for name, run in self.runs.items()}
        self.sizes = [len(one.doc_ids) for one in self.pools]
        queries = self.judgments.query_ids
        self.used = np.isin(next(iter(self.rankings.values())).query_ids, queries)
        self.truth = self.values(self.rankings)

    def values(self, rankings: dict[str, Any]) -> np.ndarray:
        """Values by system, measure and query."""
        return np.stack([[np.nan_to_num(m.compute(r))[self.used] for m in self.measures] for r in rankings.values()])

    def significant(self) -> list[list[tuple[int, int]]]:
        """Pairs of systems that differ under all judgments, by measure (paired t test, level .05)."""
        systems = range(len(self.runs))
        return [
            [(a, b) for a, b in itertools.combinations(systems, 2)
             if stats.ttest_rel(self.truth[a, m], self.truth[b, m]).pvalue < 0.05]
            for m in range(len(self.measures))
        ]  # fmt: skip

    def numbers(self, share: float) -> list[int]:
        """How many documents of each query make up a share of all, as even as the pools allow."""
        total, number = round(share * sum(self.sizes)), np.zeros(len(self.sizes), dtype=int)
        while number.sum() < total:
            open_ = np.flatnonzero(number < self.sizes)[: total - int(number.sum())]
            number[open_] += 1
        return number.tolist()


def sampled(data: Collection, share: float, samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Estimated means and half the widths of their 95 % intervals, by sample, system and measure."""
    rng, numbers = np.random.default_rng(seed), data.numbers(share)
    chances = [inclusion_probabilities(one.odds, n) for one, n in zip(data.pools, numbers, strict=True)]
    first = np.cumsum([0, *data.sizes])
    means = np.empty((samples, len(data.runs), len(MEASURES)))
    errors = np.empty_like(means)
    for s in range(samples):
        judged = np.zeros(first[-1], dtype=bool)
        for one, n, start in zip(data.pools, numbers, first, strict=False):
            judged[start + pareto_order(one.odds, rng.random(len(one.odds)))[:n]] = True
        for i, ranking in enumerate(data.rankings.values()):
            sample = SampledRanking.of(ranking, np.minimum(np.concatenate(chances), 1.0), judged)
            for j, measure in enumerate(data.measures):
                found = estimate(measure, sample)
                variance = sample.variance(found.influence)[data.used]
                means[s, i, j] = np.nan_to_num(found.values)[data.used].mean()
                errors[s, i, j] = sampling_error(variance, sample.degrees[data.used], 0.95)[1] / data.used.sum()
    return means, errors


def ordered(means: np.ndarray, data: Collection) -> list[float]:
    """The share of the significant pairs in the right order, by measure."""
    truth = data.truth.mean(axis=2)
    return [
        float(np.mean([(means[..., a, m] - means[..., b, m]) * (truth[a, m] - truth[b, m]) > 0 for a, b in pairs]))
        for m, pairs in enumerate(data.significant())
    ]


def chosen(data: Collection, method: str, share: float) -> np.ndarray:
    """Means when only what a method lists is judged, and the rest counts as not relevant."""
    orders = {
        "depth": lambda: pools.by_depth(data.pools),
        "move-to-front": lambda: pools.by_front(data.pools, data.grades, 1),
        "bandit": lambda: pools.by_bandit(data.pools, data.grades, 1),
    }
    first = np.cumsum([0, *data.sizes])
    taken = itertools.islice(orders[method](), round(share * int(first[-1])))
    judged = np.zeros(first[-1], dtype=bool)
    judged[[first[q] + d for q, d in taken]] = True
    ones = np.ones(int(first[-1]))
    rankings = {name: SampledRanking.of(ranking, ones, judged).ranking for name, ranking in data.rankings.items()}
    return np.asarray(data.values(rankings).mean(axis=2))


def line(name: str, share: float, data: Collection, means: np.ndarray, errors: np.ndarray | None = None) -> None:
    """Print a row: the largest bias over systems, coverage of 95 % intervals, and pairs ordered right."""
    truth = data.truth.mean(axis=2)
    bias = np.abs(np.atleast_3d(means.T).T.mean(axis=0) - truth).max(axis=0) if errors is not None else np.abs(
        means - truth).max(axis=0)  # fmt: skip
    cells = [f"{name:14} {share:5.0%}"]
    cover = None if errors is None else (np.abs(means - truth) <= errors).mean(axis=0)
    for m, label in enumerate(MEASURES):
        tau = stats.kendalltau(np.mean(means, axis=0)[:, m] if errors is not None else means[:, m], truth[:, m])[0]
        told = "" if cover is None else f" cover {cover[:, m].mean():.3f} (least {cover[:, m].min():.3f})"
        cells.append(f"{label}: bias {bias[m]:.4f}{told} right {ordered(means, data)[m]:.3f} tau {tau:.2f}")
    print(" | ".join(cells), flush=True)


def needed(data: Collection, samples: int) -> None:
    """Print the least share of the judgments from which on a method is good enough, for each measure."""
    truth, each = data.truth.mean(axis=2), sum(data.sizes) / len(data.sizes)
    for method in ("depth", "move-to-front", "bandit", "sample"):
        good = np.empty((len(GRID), 2, len(MEASURES)), dtype=bool)
        for place, share in enumerate(GRID):
            means = sampled(data, share, samples)[0] if method == "sample" else chosen(data, method, share)[None]
            good[place] = np.abs(means.mean(axis=0) - truth).max(axis=0) < BIAS, np.array(ordered(means, data)) >= RIGHT
        from_there_on = np.flip(np.logical_and.accumulate(np.flip(good, axis=0)), axis=0)
        for what, enough in zip(("values", "order"), from_there_on.transpose(1, 2, 0), strict=True):
            cells = (
                f"{label}: {GRID[int(np.argmax(one))]:.0%} ({GRID[int(np.argmax(one))] * each:.0f})"
                if one.any() else f"{label}: over {GRID[-1]:.0%}" for label, one in zip(MEASURES, enough, strict=True)
            )  # fmt: skip
            print(f"{method:14} needs for good {what:6} | " + " | ".join(cells), flush=True)


def left_out(folder: Path, depth: int, share: float, samples: int) -> None:
    """Print what happens to each run when the others make the pool: against the pool's truth, and against all."""
    names = list(Collection(folder, depth).runs)
    whole = Collection(folder, depth).truth.mean(axis=2)
    for i, name in enumerate(names):
        data = Collection(folder, depth, [other for other in names if other != name])
        means, errors = sampled(data, share, samples)
        of_pool = data.truth.mean(axis=2)[i]
        cover = (np.abs(means[:, i] - of_pool) <= errors[:, i]).mean(axis=0)
        bias = means[:, i].mean(axis=0)
        print(f"left out {name:12} against the pool", (bias - of_pool).round(4), "coverage", cover.round(3), flush=True)
        print("    against all judgments", (bias - whole[i]).round(4), flush=True)


def looks(data: Collection, shares: list[float], samples: int, seed: int = 1) -> None:
    """Print how often a growing sample, looked at again and again, ever excludes the true difference of two systems."""
    rng, queries = np.random.default_rng(seed), int(data.used.sum())
    pairs = list(itertools.combinations(range(len(data.runs)), 2))
    truth = data.truth.mean(axis=2)
    missed = np.zeros((len(pairs), len(MEASURES)))
    first = np.cumsum([0, *data.sizes])
    for _ in range(samples):
        orders = [pareto_order(one.odds, rng.random(len(one.odds))) for one in data.pools]
        wrong = np.zeros_like(missed, dtype=bool)
        for look, share in enumerate(shares, 1):
            judged, chances = np.zeros(first[-1], dtype=bool), []
            for one, n, order, start in zip(data.pools, data.numbers(share), orders, first, strict=False):
                judged[start + order[:n]] = True
                chances.append(inclusion_probabilities(one.odds, n))
            chance = np.minimum(np.concatenate(chances), 1.0)
            drawn = [SampledRanking.of(ranking, chance, judged) for ranking in data.rankings.values()]
            for m, measure in enumerate(data.measures):
                found = [estimate(measure, one) for one in drawn]
                for p, (a, b) in enumerate(pairs):
                    values = np.nan_to_num(found[b].values - found[a].values)[data.used]
                    variance = drawn[a].variance(found[b].influence - found[a].influence)[data.used]
                    _, reach = sampling_error(variance, drawn[a].degrees[data.used], 1 - spend(0.05, look))
                    wrong[p, m] |= abs(values.mean() - (truth[b, m] - truth[a, m])) > reach / queries
        missed += wrong
    told = ", ".join(
        f"{label} {row.mean():.3f} (most {row.max():.2f})"
        for label, row in zip(MEASURES, missed.T / samples, strict=True)
    )
    print(f"{len(shares)} looks, {samples} samples of {len(pairs)} pairs, truth ever excluded: {told}", flush=True)


def make_collection(folder: Path, seed: int, queries: int = 80, documents: int = 1500) -> None:
    """Write six runs of different quality, and grades; from 3 to some hundred documents of a query are relevant."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.6, 2.0, 6)
    runs: list[list[str]] = [[] for _ in skill]
    grades = []
    for q in range(queries):
        relevant = int(np.clip(rng.lognormal(3.0, 1.0), 3, documents // 4))
        grade = np.zeros(documents, dtype=int)
        grade[:relevant] = 1 + (rng.random(relevant) < 0.3)
        grades += [f"q{q} 0 d{d} {g}\n" for d, g in enumerate(grade)]
        ease, shared = rng.uniform(0.5, 1.5), rng.normal(size=documents)  # what misleads one system misleads others
        for lines, strength in zip(runs, skill, strict=True):
            score = strength * ease * np.minimum(grade, 1.5) + 0.6 * shared + 0.8 * rng.normal(size=documents)
            lines += [f"q{q} Q0 d{d} {k} {score[d]:.6f} t\n" for k, d in enumerate(np.argsort(-score)[:1000], 1)]
    for name, text in [("qrels.txt.gz", grades), *((f"s{i}.run.gz", lines) for i, lines in enumerate(runs))]:
        (folder / name).write_bytes(gzip.compress("".join(text).encode(), 1))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--made", type=int, metavar="SEED")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES)
    parser.add_argument("--left-out", type=int, default=0, metavar="SAMPLES")
    parser.add_argument("--needed", type=int, default=0, metavar="SAMPLES")
    parser.add_argument("--looks", type=int, default=0, metavar="SAMPLES")
    asked = parser.parse_args()
    if asked.made is None and asked.folder is None:
        parser.error("name a folder, or --made SEED")
    if asked.made is None:
        report(asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        asked.folder = Path(folder)
        make_collection(asked.folder, asked.made)
        report(asked)


def report(asked: argparse.Namespace) -> None:
    """Print what methods and samples give, by share of the judgments."""
    data = Collection(asked.folder, asked.depth)
    print(f"{sum(data.sizes):,} documents, {len(data.sizes)} queries, {len(data.runs)} runs", flush=True)
    for share in asked.shares:
        for method in ("depth", "move-to-front", "bandit"):
            line(method, share, data, chosen(data, method, share))
        line("sample", share, data, *sampled(data, share, asked.samples))
    if asked.needed:
        needed(data, asked.needed)
    if asked.looks:
        looks(data, [0.05, 0.1, 0.15, 0.2, 0.3], asked.looks)
    if asked.left_out:
        left_out(asked.folder, asked.depth, 0.2, asked.left_out)


if __name__ == "__main__":
    main()
