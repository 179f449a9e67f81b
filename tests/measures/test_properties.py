"""Properties that hold for every measure of the registry; a new measure is covered the moment it is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import assay
import oracles
import strategies
from assay.data.joining import rank_run
from assay.data.judgments import Judgments
from assay.data.mappings import rank_mapping
from assay.data.run import Run
from assay.data.spans import GoldSpan, SpanCase
from assay.errors import UsageError
from assay.measures import REGISTRY, Measure, parse
from assay.pipeline.records import Chunk

if TYPE_CHECKING:
    from assay.data.ranking import Ranking

K = 3
BUILTIN = [name for name, spec in REGISTRY.items() if spec.of == "rankings" and not spec.needs_subtopics]
TOP = {"max_grade": 3.0}


# All measures look at the same rankings, so that more of them can be drawn.
MORE = settings(max_examples=3 * settings.default.max_examples)


def ready(name: str, k: int | None = K) -> Measure:
    """A measure with its defaults, the scale of the test data and, where it takes one, a cutoff."""
    measure = Measure(name).bind({}, **TOP)
    return measure @ k if k and measure.spec.cutoff != "none" else measure


def ready_all(names: list[str]) -> list[Measure]:
    return [ready(name) for name in names]


ALL = ready_all(BUILTIN)
WITH_SUBTOPICS = ready_all([name for name, spec in REGISTRY.items() if spec.of == "rankings"])
CUT = ready_all([name for name in BUILTIN if REGISTRY[name].cutoff != "none"])
SWAP_SAFE = ready_all([name for name in BUILTIN if REGISTRY[name].swap_safe])
BEST_IS_ONE = [
    ready(name, K if REGISTRY[name].cutoff == "required" else None) for name in BUILTIN if REGISTRY[name].ideal_is_one
]


def rank(judgments: dict, run: dict) -> Ranking:
    return rank_mapping(Judgments.from_dict(judgments), run)


def differing(measures: list[Measure], one: Ranking, other: Ranking, *, within: float) -> list[str]:
    """The measures whose values of two rankings differ."""
    pairs = [(measure, measure.compute(one), measure.compute(other)) for measure in measures]
    return [
        f"{measure}: {a} and {b}"
        for measure, a, b in pairs
        if not np.allclose(a, b, rtol=0, atol=within, equal_nan=True)
    ]


@MORE
@given(pair=strategies.judged_lists(strategies.tied_scores()))
def test_values_stay_within_the_declared_bounds(pair):
    ranking, beyond = rank(*pair), []
    for measure in ALL:
        low, high = measure.spec.bounds
        found = measure.compute(ranking)
        found = found[~np.isnan(found)]
        if (found < low - 1e-12).any() or (found > high + 1e-12).any():
            beyond.append(f"{measure}: {found} is not within {low} and {high}")
    assert beyond == []


def variants(name: str) -> list[Measure]:
    """A measure with each choice of its parameters that are words, thresholds about 0, and gains from a table."""
    spec, found = REGISTRY[name], [ready(name)]
    for parameter, hint in spec.hints.items():
        words = [word for part in (hint, *get_args(hint)) for word in get_args(part) if isinstance(word, str)]
        found += [ready(name)(**{parameter: word}).bind({}, **TOP) for word in words]
        if parameter == "min_relevance":
            found += [one(min_relevance=grade) for one in found[:] for grade in (0, 0.5, 2)]
        elif parameter == "gain" and name in {"ndcg", "dcg"}:
            found += [ready(name)(gain={0: 0.25, 1: 0.5})]
    return found


@MORE
@given(pair=strategies.judged_lists(strategies.tied_scores()))
def test_measures_that_ignore_zeros_are_computed_without_them_to_the_last_bit(pair):
    ranking = rank(*pair)
    for measure in [one for name in BUILTIN if REGISTRY[name].ignores_zeros for one in variants(name)]:
        whole = measure.spec.function(ranking, measure.k, **measure.arguments)
        found = measure.compute(ranking)
        some = ~np.isnan(found)  # queries without relevant documents are undefined
        assert found[some].tolist() == whole[some].tolist(), measure


@MORE
@given(pair=strategies.judged_lists(strategies.tied_scores()), seed=st.randoms())
def test_the_order_of_rows_does_not_matter(pair, seed):
    judgments, run = pair
    rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    mixed = list(rows)
    seed.shuffle(mixed)
    judged = Judgments.from_dict(judgments)
    frames = [pl.DataFrame(r, schema=["query_id", "doc_id", "score"], orient="row") for r in (rows, mixed)]
    assert differing(ALL, *(rank_run(judged, Run(frame)) for frame in frames), within=0) == []


@given(pair=strategies.judged_lists(strategies.tied_scores()), ties=st.sampled_from(["docid", "given", "expected"]))
def test_dicts_and_frames_give_the_same_ranking(pair, ties):
    judgments, run = Judgments.from_dict(pair[0]), pair[1]
    a, b = rank_mapping(judgments, run, ties=ties), rank_run(judgments, Run.from_dict(run), ties=ties)
    for field in ("judged", "in_run", "retrieved", "query", "rank", "grade", "tie_first", "tie_last", "pool_of_hit"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


@MORE
@given(pair=strategies.judged_lists(strategies.distinct_scores()), order=st.permutations(strategies.DOCS))
def test_renaming_documents_changes_nothing_without_ties(pair, order):
    new = dict(zip(strategies.DOCS, order, strict=True))
    renamed = [{q: {new[d]: v for d, v in docs.items()} for q, docs in part.items()} for part in pair]
    one, other = rank(*pair), rank(*renamed)
    assert one.query_ids == other.query_ids
    assert differing(ALL, one, other, within=1e-12) == []


@MORE
@given(pair=strategies.judged_lists(strategies.distinct_scores()))
def test_appending_below_k_changes_nothing(pair):
    judgments, run = pair
    full = {q: docs for q, docs in run.items() if len(docs) >= K}
    assume(full)
    longer = {
        q: {**docs, **{d: -99.0 - i for i, d in enumerate(strategies.DOCS) if d not in docs}}
        for q, docs in full.items()
    }
    one, other = rank(judgments, full), rank(judgments, longer)
    assert one.query_ids == other.query_ids
    assert differing(CUT, one, other, within=1e-12) == []


@MORE
@given(pair=strategies.judged_lists(strategies.tied_scores(), low=0), which=st.integers(0, 1))
def test_queries_alone_or_together_score_the_same(pair, which):
    judgments, run = pair
    together = rank_run(with_subtopics(judgments), Run.from_dict(run))
    values = {str(measure): measure.compute(together) for measure in WITH_SUBTOPICS}
    some = np.arange(which, len(together), 2)
    part = together.only(some)
    assert part.query_ids == together.query_ids[which::2]
    for measure in WITH_SUBTOPICS:
        np.testing.assert_allclose(
            measure.compute(part), values[str(measure)][some], rtol=0, atol=1e-14, err_msg=str(measure)
        )
    for query in judgments:
        alone = rank_run(
            with_subtopics({query: judgments[query]}), Run.from_dict({q: d for q, d in run.items() if q == query})
        )
        here, there = alone.query_ids.index(query), together.query_ids.index(query)
        pairs = {name: (measure.compute(alone)[here], values[name][there]) for name, measure in named(WITH_SUBTOPICS)}
        assert {name: pair for name, pair in pairs.items() if not same(*pair)} == {}


def named(measures: list[Measure]) -> list[tuple[str, Measure]]:
    return [(str(measure), measure) for measure in measures]


def same(one: float, other: float) -> bool:
    return bool(np.isclose(one, other, rtol=0, atol=1e-14, equal_nan=True))


def test_folded_chunks_of_some_queries_stay_where_they_are():
    rows = [("a", "x", -1.0), ("a", "y", -4.0), ("b", "x", -2.0), ("c", "y", -1.0), ("c", "x", -3.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    judged = Judgments.from_dict({query: {"x": 1, "z": 2} for query in "abc"})
    ranking = rank_run(judged, Run(frame), ties="given", folded=True)
    part = ranking.only(np.array([0, 2]))
    assert ranking.count_shown(3).tolist() == [1, 1, 2] and part.count_shown(3).tolist() == [1, 2]
    assert part.position.tolist() == [1, 3] and part.query.tolist() == [0, 1] and part.pool_of_hit.tolist() == [0, 2]


def with_subtopics(judgments: dict) -> Judgments:
    """Put every document into one or two subtopics, by its number."""
    rows = [
        (query, doc, float(grade), f"s{(int(doc[1:]) + extra) % 4}")
        for query, docs in judgments.items()
        for doc, grade in docs.items()
        for extra in range(1 + int(doc[1:]) % 2)
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "grade", "subtopic"], orient="row")
    return Judgments.of(frame, groups="subtopics")


@MORE
@given(judged=strategies.grades(), order=st.permutations(strategies.DOCS), which=st.integers(0, 12))
def test_moving_a_better_document_up_never_lowers_the_value(judged, order, which):
    worth = [judged.get(doc, -1) for doc in order]
    places = [i for i in range(len(order) - 1) if worth[i + 1] > max(worth[i], -1)]
    assume(places)
    place = places[which % len(places)]
    swapped = [*order[:place], order[place + 1], order[place], *order[place + 2 :]]
    before, after = (
        rank({"q": judged}, {"q": {doc: float(-i) for i, doc in enumerate(docs)}}) for docs in (order, swapped)
    )
    changes = {str(measure): (measure.compute(before)[0], measure.compute(after)[0]) for measure in SWAP_SAFE}
    defined = {name: pair for name, pair in changes.items() if not np.isnan(pair[0])}
    assert {name: pair for name, pair in defined.items() if not pair[1] >= pair[0] - 1e-12} == {}


@MORE
@given(judged=strategies.grades(low=0))
def test_the_ideal_ranking_scores_1(judged):
    assume(max(judged.values()) >= 1)
    best = sorted(judged, key=lambda doc: -judged[doc])
    ranking = rank({"q": judged}, {"q": {doc: float(-i) for i, doc in enumerate(best)}})
    values = {str(measure): measure.compute(ranking)[0] for measure in BEST_IS_ONE}
    assert values == pytest.approx(dict.fromkeys(values, 1.0), abs=1e-12)


EXPECTED = {
    "precision@3": lambda r, g: oracles.precision(r, g, 3),
    "recall@3": lambda r, g: oracles.recall(r, g, 3),
    "hit_rate@3": lambda r, g: oracles.hit_rate(r, g, 3),
    "reciprocal_rank": oracles.reciprocal_rank,
    "reciprocal_rank@3": lambda r, g: oracles.reciprocal_rank(r, g, 3),
    "average_precision": oracles.average_precision,
    "average_precision@3": lambda r, g: oracles.average_precision(r, g, 3),
    "ndcg": oracles.ndcg,
    "ndcg@3": lambda r, g: oracles.ndcg(r, g, 3),
    "ndcg(gain='exp')@2": lambda r, g: oracles.ndcg(r, g, 2, "exp"),
}


@pytest.mark.parametrize("text", EXPECTED)
@given(
    judged=st.dictionaries(st.sampled_from(strategies.DOCS[:6]), st.integers(0, 3), min_size=1),
    run=st.dictionaries(st.sampled_from(strategies.DOCS[:6]), st.integers(0, 2).map(float), min_size=1),
)
def test_expected_ties_are_the_mean_over_all_orders(text, judged, run):
    assume(max(judged.values()) >= 1)
    ranking = rank_mapping(Judgments.from_dict({"q": judged}), {"q": run}, ties="expected")
    orders = oracles.all_orders(run)
    mean = sum(EXPECTED[text](order, judged) for order in orders) / len(orders)
    assert parse(text).compute(ranking)[0] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in BUILTIN if not REGISTRY[n].order_free and not REGISTRY[n].expected])
def test_other_measures_refuse_expected_ties(name):
    ranking = rank_mapping(Judgments.from_dict({"q": {"a": 1}}), {"q": {"a": 1.0, "b": 1.0}}, ties="expected")
    with pytest.raises(UsageError, match="cannot be averaged over orders of tied documents"):
        ready(name).compute(ranking)


@given(pair=strategies.judged_lists(strategies.tied_scores()))
def test_condensed_lists_hold_only_judged_documents(pair):
    judgments, run = pair
    kept = {q: {d: s for d, s in docs.items() if judgments.get(q, {}).get(d, -1) >= 0} for q, docs in run.items()}
    whole, condensed = rank(judgments, run), rank(judgments, kept)
    for name in ("precision", "ndcg", "average_precision", "err", "bpref", "unjudged"):
        got, expected = ready(name)(judged_only=True).compute(whole), ready(name).compute(condensed)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12, err_msg=name)


# Gold spans -----------------------------------------------------------------------------------------------------------

OF_SPANS = [name for name, spec in REGISTRY.items() if spec.of == "spans"]
CHUNKS = st.lists(strategies.pieces(), max_size=6)


def case(spans: list, chunks: list) -> SpanCase:
    return SpanCase(
        [GoldSpan("q", *places[0], 1.0, tuple((a, b) for _, a, b in places[1:])) for places in spans],
        [Chunk(f"{doc}#{i}", doc, "x" * (b - a), a, b) for i, (doc, a, b) in enumerate(chunks)],
    )


def test_the_measures_of_gold_spans_are_registered():
    assert OF_SPANS == ["span_recall", "span_precision"]


@given(
    spans=strategies.gold_spans(),
    chunks=CHUNKS,
    k=st.integers(1, 7),
    share=st.sampled_from([0.1, 0.5, 0.75, 1.0]),
)
def test_measures_of_spans_count_characters_as_a_set_does(spans, chunks, k, share):
    found = parse(f"span_recall(share={share})@{k}").span_value(case(spans, chunks))
    assert found == oracles.span_recall(spans, chunks, k, share)
    found = parse(f"span_precision@{k}").span_value(case(spans, chunks))
    assert found == pytest.approx(oracles.span_precision(spans, chunks, k), abs=1e-12)


@pytest.mark.parametrize("name", OF_SPANS)
@given(spans=strategies.gold_spans(), chunks=CHUNKS, more=CHUNKS, order=st.randoms())
def test_measures_of_spans_depend_on_the_first_k_chunks_alone_and_on_no_order(name, spans, chunks, more, order):
    measure = Measure(name) @ max(len(chunks), 1)
    value = measure.span_value(case(spans, chunks))
    low, high = REGISTRY[name].bounds
    assert low <= value <= high
    mixed, others = list(spans), list(chunks)
    order.shuffle(mixed)
    order.shuffle(others)
    assert measure.span_value(case(mixed, others)) == pytest.approx(value, abs=1e-12)
    if chunks:
        assert measure.span_value(case(spans, [*chunks, *more])) == value
    renamed = [[({"d": "e", "e": "d"}[doc], a, b) for doc, a, b in places] for places in (*spans, chunks)]
    assert measure.span_value(case(renamed[:-1], renamed[-1])) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in OF_SPANS if REGISTRY[name].ideal_is_one])
@given(spans=strategies.gold_spans())
def test_chunks_that_are_the_gold_spans_score_1(name, spans):
    measure = Measure(name) @ len(spans)
    assert measure.span_value(case(spans, [places[0] for places in spans])) == 1.0


@given(spans=strategies.gold_spans(), chunks=CHUNKS, k=st.integers(1, 6))
def test_a_further_chunk_never_lowers_the_recall_of_spans(spans, chunks, k):
    here = case(spans, chunks)
    assert parse(f"span_recall@{k}").span_value(here) <= parse(f"span_recall@{k + 1}").span_value(here)


@pytest.mark.parametrize("text", ["span_recall@5", "span_recall(share=0.8)@3", "span_precision@1"])
def test_measures_of_spans_read_as_they_print(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("span_recall(share=0)@5", r"span_recall\(share=0\): expected a share above 0 and at most 1"),
        ("span_recall(share=1.1)@5", r"span_recall\(share=1\.1\): expected a share above 0 and at most 1"),
        ("span_recall(share='half')@5", "expected a number"),
        ("span_precision(share=0.5)@5", "unknown parameter of span_precision 'share'"),
        ("span_recall(judged_only=true)@5", "unknown parameter of span_recall 'judged_only'"),
        ("span_recall", "span_recall needs a cutoff"),
    ],
)
def test_parameters_that_measures_of_spans_cannot_use_are_refused(text, told):
    with pytest.raises(UsageError, match=told):
        parse(text).span_value(case([[("d", 0, 9)]], []))


def test_measures_of_spans_are_refused_where_there_are_no_spans():
    told = r"^span_recall@5 needs gold spans: name their file in an experiment, \[data\] gold = FILE, for assay run$"
    with pytest.raises(UsageError, match=told):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["span_recall@5"])
    with pytest.raises(UsageError, match=told):
        assay.answers([{"question": "?", "answer": "tea", "contexts": ["tea"]}], ["span_recall@5"])
    with pytest.raises(UsageError, match="ndcg@5 is a measure of rankings, not of gold spans: use assay evaluate"):
        parse("ndcg@5").span_value(case([[("d", 0, 9)]], []))
