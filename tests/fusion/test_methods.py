"""Fusion of runs: every method and normalisation against plain Python, ranx, and what must hold for it."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import statistics
from functools import cmp_to_key
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.fusion import methods as fusion
from assay.fusion import overlay
from assay.fusion.methods import METHODS
from assay.fusion.normalisation import NORMS
from assay.report.views.fusion import listing
from assay.wordings.reference import fusion_pages
from strategies import distinct_scores, tied_scores

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ranx_fusion.json").read_text(encoding="utf-8"))
ON_SCORES = [name for name, method in METHODS.items() if method.uses == "scores"]
ON_RANKS = [name for name, method in METHODS.items() if method.uses == "ranks"]
# (method, norm) pairs: all that make a difference
WAYS = [(m, n) for m in ON_SCORES for n in NORMS] + [(m, None) for m in ON_RANKS]


def rank_lists(docs: dict[str, float]) -> list[str]:
    """Order of one list: score descending, then document id descending."""
    return sorted(sorted(docs, reverse=True), key=lambda doc: -docs[doc])


def some_runs(seed: int, *, runs: int = 3, queries: int = 24) -> list[dict[str, dict[str, float]]]:
    """Small random runs with ties, negative scores, equal scores, lists of one and missing queries."""
    rng = random.Random(seed)
    found: list[dict[str, dict[str, float]]] = []
    for _ in range(runs):
        run = {}
        for query in ["q0", *rng.sample([f"q{i}" for i in range(1, queries)], 3 * queries // 4)]:
            docs = rng.sample([f"d{i}" for i in range(8)], rng.randint(1, 8))
            low, high = rng.choice([(-6, 12), (1, 12), (-9, -1), (3, 3)])
            run[query] = {doc: rng.randint(low, high) / 4 for doc in docs}
        found.append(run)
    return found


# The oracle: one query at a time, straight from the definitions ------------------------------------------------


def normalised(docs: dict[str, float], norm: str, candidates: set[str]) -> dict[str, float]:  # noqa: PLR0911
    low, high, n, c = min(docs.values()), max(docs.values()), len(docs), len(candidates)
    rank = {doc: i for i, doc in enumerate(rank_lists(docs), 1)}
    if norm == "none":
        return docs
    if norm == "min-max":
        return {d: (s - low) / (high - low) if high > low else 1.0 for d, s in docs.items()}
    if norm == "max":
        top = max(abs(s) for s in docs.values())
        return {d: s / top if top else 0.0 for d, s in docs.items()}
    if norm == "sum":
        whole = sum(s - low for s in docs.values())
        return {d: (s - low) / whole if whole else 1 / n for d, s in docs.items()}
    if norm == "z":
        mean, deviation = statistics.fmean(docs.values()), statistics.pstdev(docs.values())
        return {d: (s - mean) / deviation if high > low else 0.0 for d, s in docs.items()}
    if norm == "rank":
        return {d: 1 - (rank[d] - 1) / n for d in docs}
    rest = statistics.fmean(1 - (r - 1) / c for r in range(n + 1, c + 1)) if c > n else 0.0
    return {d: 1 - (rank[d] - 1) / c if d in docs else rest for d in candidates}


def by_scores(
    method: str, lists: list[dict[str, float]], norm: str, weights: list[float], unlisted: str
) -> dict[str, float]:
    candidates = {doc for docs in lists for doc in docs}
    pairs = [(normalised(docs, norm, candidates), w) for docs, w in zip(lists, weights, strict=True) if docs]
    if method in {"combsum", "combmnz", "weighted"} and unlisted == "lowest":
        pairs = [({d: s - min(0.0, *docs.values()) for d, s in docs.items()}, w) for docs, w in pairs]
    found = {}
    for doc in candidates:
        mine = [docs[doc] for docs, _ in pairs if doc in docs]
        found[doc] = {
            "combsum": lambda mine=mine: sum(mine),
            "combmnz": lambda mine=mine: len(mine) * sum(mine),
            "combanz": lambda mine=mine: sum(mine) / len(mine),
            "combmax": lambda mine=mine: max(mine),
            "combmin": lambda mine=mine: min(mine),
            "combmed": lambda mine=mine: statistics.median(mine),
            "weighted": lambda doc=doc: sum(w * docs[doc] for docs, w in pairs if doc in docs),
        }[method]()
    return found


def by_ranks(method: str, lists: list[dict[str, float]], weights: list[float]) -> dict[str, float]:
    candidates = {doc for docs in lists for doc in docs}
    ranks = [{doc: i for i, doc in enumerate(rank_lists(docs), 1)} for docs in lists]
    if method == "condorcet":
        return {d: sum(wins(d, e, ranks, weights) for e in candidates) for d in candidates}
    found = {}
    for doc in candidates:
        mine = [(rank[doc], w) for rank, w in zip(ranks, weights, strict=True) if doc in rank]
        square = sum(w / r**2 for r, w in mine)
        c = len(candidates)
        found[doc] = {
            "rrf": sum(w / (60 + r) for r, w in mine),
            "isr": len(mine) * square,
            "log_isr": math.log(len(mine)) * square,
            "rbc": sum(w * 0.2 * 0.8 ** (r - 1) for r, w in mine),
            "borda": sum(
                w * (c - rank[doc] + 1 if doc in rank else statistics.fmean(range(1, c - len(rank) + 1)))
                for rank, w in zip(ranks, weights, strict=True)
                if rank
            ),
        }[method]
    return found


def wins(one: str, other: str, ranks: list[dict[str, int]], weights: list[float]) -> int:
    """1 if the majority ranks one above the other, -1 if below, 0 if neither."""
    far = math.inf
    votes = [(rank.get(other, far), rank.get(one, far), w) for rank, w in zip(ranks, weights, strict=True)]
    lead = sum(w for b, a, w in votes if a < b) - sum(w for b, a, w in votes if a > b)
    return (lead > 1e-9) - (lead < -1e-9)


@pytest.mark.parametrize(("method", "norm"), WAYS)
def test_methods_agree_with_plain_python(method, norm, stress):
    for seed in range(60 if stress else 6):
        runs = some_runs(seed, runs=2 + seed % 3)
        weights = [1.0, 0.5, 0.25, 0.75][: len(runs)] if METHODS[method].weights != "no" and seed % 2 else None
        if METHODS[method].weights == "must":
            weights = weights or [1.0] * len(runs)
        unlisted = "zero" if seed % 4 == 0 else "lowest"
        got = assay.fuse(runs, method, norm=norm, weights=weights, unlisted=unlisted).to_dict()
        given_weights = weights or [1.0] * len(runs)
        for query in {q for run in runs for q in run}:
            lists = [run.get(query, {}) for run in runs]
            if method in ON_SCORES:
                want = by_scores(method, lists, norm, given_weights, unlisted)
            else:
                want = by_ranks(method, lists, given_weights)
            assert got[query] == pytest.approx(want, abs=1e-12)
            assert list(got[query]) == rank_lists(got[query])


@pytest.mark.parametrize("case", GOLDEN["fused"])
def test_methods_agree_with_ranx(case):
    method, *words = case.split()
    options = {name: value for name, _, value in (word.partition("=") for word in words)}
    options = {name: value if name == "norm" else float(value) for name, value in options.items() if name != "weights"}
    weights = GOLDEN["weights"] if "weights" in words else None
    got = assay.fuse(GOLDEN["runs"], method, weights=weights, unlisted="zero", **options).to_dict()
    assert {q: pytest.approx(docs, abs=1e-12) for q, docs in GOLDEN["fused"][case].items()} == got


def test_reciprocal_rank_fusion_by_hand():
    got = assay.fuse([{"q": ["a", "b", "c"]}, {"q": ["b", "d"]}]).to_dict()["q"]
    assert got == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63})
    assert list(got) == ["b", "a", "d", "c"]


def test_borda_points_of_unlisted_documents_are_shared_as_in_the_paper():
    got = assay.fuse([{"q": ["a", "b", "c"]}, {"q": ["d"]}], "borda").to_dict()["q"]
    assert got == {"a": 4 + 2, "b": 3 + 2, "c": 2 + 2, "d": 1 + 4}  # 3 + 2 + 1 points shared by a, b and c


# Condorcet -----------------------------------------------------------------------------------------------------


def majorities(lists: list[list[str]]) -> tuple[list[str], dict[tuple[str, str], int]]:
    ranks = [{doc: i for i, doc in enumerate(docs)} for docs in lists]
    docs = sorted({doc for docs in lists for doc in docs})
    return docs, {(a, b): wins(a, b, ranks, [1.0] * len(lists)) for a, b in itertools.permutations(docs, 2)}


def reachable(docs: list[str], beats: dict[tuple[str, str], int]) -> set[tuple[str, str]]:
    """Pairs of which the first reaches the second by majorities that are not lost."""
    found = {pair for pair, won in beats.items() if won >= 0}
    for middle, a, b in itertools.product(docs, repeat=3):
        if (a, middle) in found and (middle, b) in found:
            found.add((a, b))
    return found


@given(
    st.lists(
        st.permutations("abcdef").flatmap(lambda p: st.integers(1, 6).map(lambda n: p[:n])), min_size=1, max_size=5
    )
)
def test_condorcet_never_turns_round_what_the_majorities_decide(lists):
    docs, beats = majorities(lists)
    got = assay.fuse([{"q": docs} for docs in lists], "condorcet").to_dict()["q"]
    paths = reachable(docs, beats)
    for a, b in itertools.permutations(docs, 2):
        if (
            b,
            a,
        ) not in paths:  # no circle leads back: a stands above b in every order that the paper's sorting can give
            assert got[a] > got[b]


def test_condorcet_is_the_papers_sorting_where_majorities_make_an_order():
    lists = [list("abcde"), list("bacde"), list("acbed")]
    _, beats = majorities(lists)
    want = sorted("edcba", key=cmp_to_key(lambda a, b: -beats[a, b]))
    assert list(assay.fuse([{"q": docs} for docs in lists], "condorcet").to_dict()["q"]) == want


def test_condorcet_compares_large_lists_in_blocks(monkeypatch):
    runs = [{f"q{i}": random.Random(10 * i + r).sample("abcdefghij", 3 + i % 7) for i in range(9)} for r in range(3)]
    whole = assay.fuse(runs, "condorcet").to_dict()
    monkeypatch.setattr(fusion, "_PAIRS", 90)
    assert assay.fuse(runs, "condorcet").to_dict() == whole


# What must hold ------------------------------------------------------------------------------------------------

KEEPS_ORDER = [way for way in WAYS if way[0] != "log_isr"]


@pytest.mark.parametrize(("method", "norm"), KEEPS_ORDER)
def test_one_run_alone_keeps_its_order(method, norm):
    run = some_runs(1, queries=80)[0]
    weights = [0.3] if method == "weighted" else None
    fused = assay.fuse([run], method, norm=norm, weights=weights).to_dict()
    assert {query: list(docs) for query, docs in fused.items()} == {query: rank_lists(run[query]) for query in run}


def test_log_isr_of_one_run_alone_needs_nu():
    run = {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}
    fused = assay.fuse([run], "log_isr")
    assert set(fused.to_dict()["q"].values()) == {0.0}
    assert fused.notes == ("100% of the fused scores are tied: their order is that of document ids",)
    assert list(assay.fuse([run], "log_isr", nu=0.01).to_dict()["q"]) == ["c", "b", "a"]


@pytest.mark.parametrize(("method", "norm"), WAYS)
def test_the_order_of_runs_and_of_rows_does_not_matter_to_the_last_bit(method, norm):
    rng = random.Random(3)
    for seed in range(3):
        runs = [
            {q: {d: s + rng.random() for d, s in docs.items()} for q, docs in run.items()}
            for run in some_runs(seed, runs=4)
        ]
        weights = [0.1, 0.2, 0.3, 0.7] if METHODS[method].weights != "no" else None
        first = assay.fuse(runs, method, norm=norm, weights=weights)
        order = rng.sample(range(4), 4)
        moved = [
            {q: dict(rng.sample(list(docs.items()), len(docs))) for q, docs in reversed(run.items())} for run in runs
        ]
        second = assay.fuse(
            [moved[i] for i in order], method, norm=norm, weights=weights and [weights[i] for i in order]
        )
        assert first.frame.equals(second.frame)


@pytest.mark.parametrize("norm", ["min-max", "max", "sum", "z", "rank", "borda"])
@given(
    runs=st.lists(tied_scores(), min_size=2, max_size=3),
    factor=st.sampled_from([1e-300, 2**-30, 1 / 3, 7, 1e12, 1e300]),
)
def test_scaling_the_scores_of_one_run_changes_nothing(norm, runs, factor):
    queries = [{"q": docs} for docs in runs]
    scaled = [{"q": {d: s * factor for d, s in runs[0].items()}}, *queries[1:]]
    for method in ("combsum", "combmed"):
        before = assay.fuse(queries, method, norm=norm).to_dict()["q"]
        assert assay.fuse(scaled, method, norm=norm).to_dict()["q"] == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("norm", ["min-max", "sum", "z", "rank", "borda"])
@given(runs=st.lists(tied_scores(), min_size=2, max_size=3))
def test_shifting_the_scores_of_one_run_changes_nothing(norm, runs):
    queries = [{"q": docs} for docs in runs]
    shifted = [{"q": {d: s - 64 for d, s in runs[0].items()}}, *queries[1:]]
    before = assay.fuse(queries, "combsum", norm=norm).to_dict()["q"]
    assert assay.fuse(shifted, "combsum", norm=norm).to_dict()["q"] == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("method", ON_RANKS)
@given(runs=st.lists(distinct_scores(), min_size=2, max_size=3))
def test_methods_on_ranks_see_the_order_only(method, runs):
    before = assay.fuse([{"q": docs} for docs in runs], method)
    curved = [{"q": {d: math.exp(s / 5) for d, s in docs.items()}} for docs in runs]
    assert assay.fuse(curved, method).frame.equals(before.frame)


@pytest.mark.parametrize("norm", NORMS)
@given(
    runs=st.lists(
        st.dictionaries(st.sampled_from("abcdef"), st.floats(-1e300, 1e300), min_size=1), min_size=1, max_size=3
    )
)
def test_no_finite_score_makes_nan(norm, runs):
    for method in ("combmnz", "combmed"):
        frame = assay.fuse([{"q": docs} for docs in runs], method, norm=norm).frame
        assert frame["score"].is_finite().all()


def test_a_run_of_weight_0_is_as_if_it_were_not_given():
    runs = {"a": {"q": {"x": 1.0, "y": 0.5}}, "b": {"q": {"z": 3.0}, "r": {"z": 1.0}}}
    for method in ("weighted", "rrf", "borda", "condorcet"):
        weights = {"a": 2.0, "b": 0.0}
        fused = assay.fuse(runs, method, weights=weights)
        assert list(fused.to_dict()) == ["q"]
        assert list(fused.to_dict()["q"]) == ["x", "y"]
        assert fused.notes == ("b has weight 0 and is left out",)


@pytest.mark.parametrize("size", [1, 2, 7, 10**6])
def test_working_in_blocks_of_queries_changes_nothing(size, monkeypatch):
    runs = some_runs(5)
    whole = assay.fuse(runs, "combsum").frame
    monkeypatch.setattr(overlay, "_CELLS", size)
    assert assay.fuse(runs, "combsum").frame.equals(whole)


def test_every_method_and_normalisation_has_a_formula():
    for item in [*METHODS.values(), *NORMS.values()]:
        assert "Formula: " in item.text
        assert item.name == "none" or "Reference: " in item.text


def test_real_runs_gain_from_fusion(shared):
    runs = [shared / "robust03" / f"{name}.run.gz" for name in ("pircRBa1", "aplrob03a", "THUIRr0301")]
    judgments = assay.read_judgments(shared / "robust03" / "qrels.txt.gz")
    alone = max(assay.evaluate(judgments, run, ["ndcg@10"])["ndcg@10"] for run in runs)
    fused = assay.fuse(runs)
    assert assay.evaluate(judgments, fused, ["ndcg@10"])["ndcg@10"] > alone
    query = fused.frame["query_id"][0]
    lists = [assay.read_run(run).frame.filter(pl.col("query_id") == query) for run in runs]
    want = by_ranks("rrf", [dict(zip(frame["doc_id"], frame["score"], strict=True)) for frame in lists], [1.0] * 3)
    got = fused.to_dict()[query]
    assert got == pytest.approx({doc: want[doc] for doc in got}, abs=1e-15)
    assert list(got) == sorted(want, key=lambda doc: (want[doc], doc.encode()), reverse=True)[:1000]
    assert np.array_equal(fused.frame["query_id"].unique().sort(), fused.frame["query_id"].unique(maintain_order=True))


def test_every_method_and_normalisation_has_a_chinese_page_with_the_same_parts():
    things = {
        **{f"method:{name}": one for name, one in METHODS.items()},
        **{f"norm:{n}": one for n, one in NORMS.items()},
    }
    pages = fusion_pages("zh")
    assert list(pages) == list(things)
    heads = {"Formula": "公式", "Odd cases": "特殊情况", "Reference": "参考文献"}
    for name, one in things.items():
        wanted = [chinese for head, chinese in heads.items() if f"\n{head}: " in one.text]
        assert re.findall("^(公式|特殊情况|参考文献)：", pages[name], re.MULTILINE) == wanted, name


def test_the_chinese_list_of_methods_says_nothing_in_english_but_names():
    lines = [line for line in listing("zh").splitlines() if "参考文献" not in line]
    assert not [line for line in lines if re.search("[a-z]{2} [a-z]+ [a-z]{2}", line)]
