"""Money and returns: the worked examples, what is unknown, and what makes no sense."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import assay
from assay.analysis.economics import cost, fastest_load, money
from assay.analysis.priced_methods import REFERENCES, PricedMethod
from assay.analysis.roi import gain_of, roi
from assay.errors import InputError, UnknownName, UsageError
from assay.llm.prices import PriceTable
from assay.pipeline.records import Hits, add_output_tokens
from assay.report.document import write
from assay.report.views import money as money_view
from assay.results.bench import Bench
from assay.results.experiment import Findings, Quality, Row, StageTime
from assay.results.money import Band, Gain
from assay.results.result import decode_result
from assay.stats.intervals import Interval
from interval_oracles import relative_ends

DAY = date(2026, 11, 16)


def one(method: PricedMethod, **volumes):
    return cost([method], day=DAY, **volumes).costs[1]


# Worked examples ------------------------------------------------------------------------------------------------------


def test_fifty_documents_of_800_tokens_cost_a_hundred_dollars_a_day():
    found = one(PricedMethod("cross-encoder", price=0.025, tokens=800), documents_per_query=50, queries_per_day=100_000)
    assert found.per_query == pytest.approx(0.001, rel=1e-12)
    assert found.per_day == pytest.approx(100.0, rel=1e-12)


def test_the_published_methods_have_their_published_costs():
    found = cost(reference=True)
    assert [(c.per_query, c.per_day) for c in found.costs] == [
        (0.0, 0.0),
        (pytest.approx(0.001), pytest.approx(100)),
        (pytest.approx(0.025), pytest.approx(2500)),
        (pytest.approx(0.05), pytest.approx(5000)),
    ]
    assert [c.method for c in found.costs] == ["no reranking", "cross-encoder", "LLM pointwise", "LLM listwise"]


def test_the_return_of_the_worked_example():
    found = roi(Gain.between(0.72, 0.87), cost_per_query=0.001, queries_per_day=100_000, revenue_per_query=0.01)
    assert found.gain.relative.value == pytest.approx(0.208333, abs=5e-7)
    assert found.revenue.value == pytest.approx(208.3333, abs=5e-5)
    assert found.cost == pytest.approx(100.0)
    assert found.roi.value == pytest.approx(1.083333, abs=5e-7)
    assert found.break_even_queries_per_day.value == 0  # no fixed cost: what pays pays at any volume
    assert found.break_even_price.value == pytest.approx(0.01 * 0.15 / 0.72)
    assert found.break_even_gain == pytest.approx(0.1)


# Prices of requests and what is unknown -----------------------------------------------------------------------------


def test_a_price_per_search_is_paid_for_every_call_of_a_query():
    once = one(PricedMethod("service", price_per_search=0.002), queries_per_day=1000)
    assert (once.per_query, once.per_day) == (0.002, 2.0)
    many = one(PricedMethod("service", price_per_search=0.002, calls=3, tokens=500), queries_per_day=1000)
    assert (many.per_query, many.per_day) == (pytest.approx(0.006), pytest.approx(6.0))
    assert (str(once.basis), str(many.basis)) == ("$0.002 a search", "$0.002 a search, 3 of them a query")


def test_every_100_documents_of_a_call_are_a_search():
    def searches(documents, **known):
        found = one(PricedMethod("service", price_per_search=1.0, **known), documents_per_query=documents)
        return found.per_query

    assert [searches(count) for count in (1, 100, 101, 200, 250)] == [1, 1, 2, 2, 3]
    assert searches(200, calls=2) == 2  # of 100 documents each
    assert searches(500, calls=2) == 6


def test_the_keys_that_a_method_may_have_are_all_named(call):
    code, _, err = call("cost", "--variant", "x,machine=1,throughput=2,treads=2")
    assert code == 2
    assert "bench, threads" in err


def test_a_price_per_search_excludes_other_ways():
    for other in ({"price": 1.0, "tokens": 10}, {"machine": 1.0, "throughput": 2}, {"per_query": 0.1}):
        with pytest.raises(UsageError, match="give only one of"):
            PricedMethod("x", price_per_search=0.002, **other)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ({"price": 1, "tokens": 1000, "output_tokens": 5}, "unknown: output_price is missing"),
        ({"tokens": 1000}, "unknown: no price is given"),
        ({}, "unknown: no price is given"),
        ({"model": "no-such-model", "tokens": 1000}, "unknown: the price of no-such-model is not known"),
    ],
)
def test_an_unknown_cost_says_what_is_missing(method, reason):
    found = one(PricedMethod("x", **method))
    assert (found.per_query, found.per_day, str(found.basis)) == (None, None, reason)


def test_the_command_takes_a_price_per_search_and_says_what_is_missing(call, tmp_path):
    code, out, _ = call(
        "cost", "--variant", "c,price_per_search=0.002", "--method", "x,price=1,tokens=1000,output_tokens=5"
    )
    assert code == 0
    rows = [line.split("  ") for line in out.splitlines()]
    assert next(row for row in rows if row[0] == "c")[-1].strip() == "$0.002 a search"
    assert next(row for row in rows if row[0] == "x")[-1].strip() == "unknown: output_price is missing"
    (tmp_path / "c.toml").write_text("[method.c]\nprice_per_search = 0.002\n")
    code, _, _ = call("cost", "c.toml", "-o", "c.json")
    costs = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["cost"]["costs"]
    assert (costs[1]["per_query"], costs[1]["per_day"], costs[1]["price_per_search"]) == (0.002, 200.0, 0.002)
    code, out, _ = call("cost", "--variant", "x,price=1,tokens=1000,output_tokens=5", "--lang", "zh")
    assert "未知：缺少 output_price" in out


# Costs ----------------------------------------------------------------------------------------------------------------


def test_a_machine_costs_its_hour_by_the_queries_of_an_hour():
    found = one(PricedMethod("own", machine=1.8, throughput=5), queries_per_day=1_000_000)
    assert found.per_query == pytest.approx(1.8 / 18_000)  # five a second are 18,000 an hour
    assert found.per_day == pytest.approx(100.0)
    assert found.machines == 3  # 1,000,000 / 432,000
    assert found.always_on_per_day == pytest.approx(3 * 24 * 1.8)


def test_a_machine_that_is_just_full_is_one():
    assert one(PricedMethod("own", machine=1.0, throughput=1), queries_per_day=86_400).machines == 1


def test_output_tokens_cost_their_own_price():
    found = one(PricedMethod("m", price=0.4, output_price=1.2, tokens=1000, output_tokens=200), documents_per_query=50)
    assert found.per_query == pytest.approx((50_000 * 0.4 + 200 * 1.2) / 1e6)


def test_a_models_price_is_looked_up():
    found = one(PricedMethod("m", model="qwen-plus", tokens=1000, output_tokens=200), documents_per_query=50)
    assert found.per_query == pytest.approx((50_000 * 0.40 + 200 * 1.20) / 1e6)
    assert "dashscope" in found.basis and "2026-11-01" in found.basis
    named = PricedMethod("m", model="qwen-plus", url="https://dashscope.aliyuncs.com/compatible-mode/v1", tokens=1000)
    assert one(named, documents_per_query=50).per_query == pytest.approx(0.02)


@pytest.mark.parametrize(("calls", "price"), [(50, 1.2), (1, 2.4)])
def test_prices_by_the_length_of_a_prompt_go_by_calls(calls, price):
    found = one(PricedMethod("m", model="qwen3-max", tokens=1000, calls=calls), documents_per_query=50)
    assert found.per_query == pytest.approx(50_000 * price / 1e6)


def test_an_unknown_price_is_an_unknown_cost_and_never_nothing():
    for method in (
        PricedMethod("a", model="nobody-knows-it", tokens=1000),
        PricedMethod("b", tokens=1000),
        PricedMethod("c", price=1.0, tokens=10, output_tokens=5),
        PricedMethod("d", model="qwen-plus", url="https://example.com/v1", tokens=10),
        PricedMethod("e", model="qwen-flash", tokens=300_000),
        PricedMethod("f", model="qwen3-8b", tokens=10),  # costs nothing only on one's own machine, whose hours it takes
    ):
        found = cost([method], day=DAY)
        assert (found.costs[1].per_query, found.costs[1].per_day) == (None, None), method.name
        assert found.costs[0].per_query == 0


def test_a_price_in_another_currency_is_refused():
    with pytest.raises(UsageError, match="the price is in USD, not in CNY"):
        cost([PricedMethod("m", model="qwen-plus", tokens=10)], currency="CNY", day=DAY)


def test_a_model_that_several_vendors_sell_needs_an_address(tmp_path):
    place = tmp_path / "prices.toml"
    rows = [
        f'{{ vendor = "{v}", model = "both", date = 2026-01-01, input = 1, output = 1 }}' for v in ("openai", "zai")
    ]
    place.write_text(f"price = [{', '.join(rows)}]\n")
    with pytest.raises(UsageError, match="several vendors offer both"):
        cost([PricedMethod("m", model="both", tokens=10)], prices=PriceTable.load(place), day=DAY)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"price": 1.0}, "needs tokens"), ({"machine": 1.0}, "needs throughput"), ({"price": -1.0, "tokens": 1}, "price = -1.0"),
        ({"price": 1.0, "tokens": 1, "machine": 2.0, "throughput": 1}, "give only one of"),
        ({"machine": 1.0, "throughput": 0}, "throughput = 0"), ({"price": "much", "tokens": 1}, "price = 'much'"), ({"prise": 1.0}, "did you mean price"),
        ({"price": float("nan"), "tokens": 1}, "price = nan"),
    ],
)  # fmt: skip
def test_methods_that_make_no_sense_are_refused(given, expected):
    with pytest.raises(UsageError, match=expected):
        cost([PricedMethod.of("m", given)])


def test_names_and_volumes_are_checked():
    with pytest.raises(UsageError, match="two methods are called"):
        cost([PricedMethod("m", per_query=1), PricedMethod("m", per_query=2)])
    with pytest.raises(UsageError, match="queries_per_day"):
        cost(queries_per_day=0)
    with pytest.raises(UnknownName, match="did you mean LLM listwise"):
        cost(reference=True).of("LLM listwize")


LOADS = [
    {"kind": "closed", "threads": threads, "candidates": size, "count": 10, "throughput_qps": qps}
    for threads, size, qps in ((1, 20, 90.0), (1, 50, 40.0), (4, 50, 150.0))
]


def bench_of(loads):
    return decode_result({"schema": 1, "bench": {"loads": loads}}).part(Bench)


def test_throughput_comes_from_the_load_with_as_many_candidates():
    assert fastest_load(bench_of(LOADS), documents=50) == (150.0, 4)
    assert fastest_load(bench_of(LOADS), documents=50, threads=1) == (40.0, 1)
    with pytest.raises(UsageError, match="with 20, 50 candidates, not with 100"):
        fastest_load(bench_of(LOADS), documents=100)
    with pytest.raises(UsageError, match="not measured with 8 threads"):
        fastest_load(bench_of(LOADS), documents=50, threads=8)
    with pytest.raises(UsageError, match="no closed loop"):
        fastest_load(bench_of([{**LOADS[0], "kind": "open"}]), documents=20)
    for damaged in (5, [{"kind": "closed"}], ["x"], [{**LOADS[0], "throughput_qps": "x"}]):
        with pytest.raises(InputError, match="damaged"):
            bench_of(damaged)


@pytest.mark.parametrize(
    ("value", "currency", "shown"),
    [
        (0.001, "USD", "$0.001"), (100.0, "USD", "$100.00"), (2500.0, "CNY", "¥2,500.00"), (0.0, "USD", "$0"), (-29.543, "USD", "-$29.54"),
        (8.3333e-6, "USD", "$0.00000833"), (None, "USD", "unknown"), (1.5, "SEK", "1.50 SEK"), (0.9999, "USD", "$1"), (0.5, "USD", "$0.5"),
    ],
)  # fmt: skip
def test_money_is_shown_with_digits_that_say_something(value, currency, shown):
    assert money(value, currency) == shown


# Stages ---------------------------------------------------------------------------------------------------------------

STAGES = """
queries_per_day = 1000
documents_per_query = 20

[method.rag.embed]
price = 0.02
input_tokens = 15

[method.rag.rerank]
price_per_search = 0.002

[method.rag.generate]
model = "gpt-4o-mini"
input_tokens = 3000
cached_tokens = 1000
output_tokens = 250
"""
# By hand: 15 tokens at 0.02; one search; 2,000 tokens at 0.15, 1,000 cached ones at 0.075, 250 written at 0.60.
BY_HAND = {
    "embed": 15 * 0.02 / 1e6, "rerank": 0.002, "generate": (2000 * 0.15 + 1000 * 0.075 + 250 * 0.60) / 1e6,
}  # fmt: skip


def test_an_answer_costs_the_sum_of_its_stages(tmp_path, call):
    (tmp_path / "costs.toml").write_text(STAGES)
    found = cost(tmp_path / "costs.toml", day=DAY).of("rag")
    assert {stage.stage: stage.per_query for stage in found.stages} == pytest.approx(BY_HAND)
    assert found.per_query == pytest.approx(sum(BY_HAND.values()))
    assert found.per_day == pytest.approx(1000 * sum(BY_HAND.values()))
    rows = cost(tmp_path / "costs.toml", day=DAY).to_rows()
    assert [row["stage"] for row in rows] == ["", "embed", "rerank", "generate", ""]
    for lang, total in (("en", "total"), ("zh", "合计")):
        code, out, _ = call("cost", str(tmp_path / "costs.toml"), "--lang", lang)
        assert code == 0 and total in out and "$0.00253" in out


def test_one_stage_that_is_not_known_leaves_the_whole_unknown():
    found = cost({"rag": {"embed": {"price": 1.0, "input_tokens": 5}, "generate": {"model": "nobody", "tokens": 9}}})
    assert found.of("rag").per_query is None
    assert found.of("rag").stages[0].per_query == pytest.approx(5e-6)


def test_batch_jobs_pay_their_share_of_every_price_and_cached_tokens_like_all_others(tmp_path):
    given = {"model": "gpt-4o-mini", "input_tokens": 3000, "cached_tokens": 1000, "output_tokens": 250, "batch": True}
    unknown = cost({"x": given}, day=DAY).of("x")
    assert unknown.per_query is None
    assert "no batch price of gpt-4o-mini; give it in a file for assay cost" in unknown.basis
    known = cost({"x": given}, prices=halving(tmp_path), day=DAY).of("x")
    assert known.per_query == pytest.approx((3000 * 0.075 + 250 * 0.3) / 1e6)


def halving(folder):
    """A list of one price, of which batch jobs pay half."""
    row = 'vendor = "openai", model = "gpt-4o-mini", date = 2026-11-01, input = 0.15, output = 0.6, cached = 0.075, batch = 0.5'
    (folder / "own.toml").write_text(f"price = [{{{row}}}]")
    return str(folder / "own.toml")


@pytest.mark.parametrize(
    "given",
    [
        {"price": 1.0, "tokens": 1, "input_tokens": 1}, {"price": 1.0, "input_tokens": 1, "batch": True},
        {"price": 1.0, "input_tokens": 1, "cached_tokens": 2}, {"price": 1.0, "generate": {"price": 1.0}},
    ],
)  # fmt: skip
def test_stages_and_tokens_that_make_no_sense_are_refused(given):
    with pytest.raises(UsageError):
        cost({"x": given})


def test_an_experiment_costs_what_was_measured(tmp_path, call):
    """50 queries: 500 tokens of queries for 0.001, reranking for 0.1, and answers whose server told no tokens."""
    stages = (
        StageTime("retrieve", 1.0, 2.0, 500, 0.001),
        StageTime("rerank", 1.0, 2.0, 0, 0.1),
        StageTime("generate", 1.0, 2.0, 100_000, 0.05, estimated=True, money_estimated=True),
    )
    mean = Quality(Interval(0.5, 0.4, 0.6, 0.95, "t", 50))
    chosen = {"generate": {"method": "llm", "model": "gpt-4o-mini"}, "rerank": {"method": "endpoint", "model": "r"}}
    done = {"quality": {"ndcg@10": mean}, "latency_ms": {"p95": 2.0}, "stages_chosen": chosen}
    rows = (
        Row("full", "done", stages=stages, cost_per_query=0.151 / 50, cost_estimated=True, **done),
        Row("free", "done", stages=(StageTime("retrieve", 1.0, 2.0, 0, 0.0),), cost_per_query=0.0, **done),
        Row("unpriced", "done", stages=(StageTime("generate", 1.0, 2.0, 10, None),), **done),
        Row("broken", "failed", "no luck"),
    )
    findings = Findings(rows, "ndcg@10", ("ndcg@10",), "full", "full")
    found = cost(findings, queries_per_day=1000)
    assert [one.method for one in found.costs] == ["full", "free", "unpriced"]
    full = found.of("full")
    assert [stage.per_query for stage in full.stages] == pytest.approx([0.001 / 50, 0.1 / 50, 0.05 / 50])
    assert [stage.tokens for stage in full.stages] == pytest.approx([10, 0, 2000])
    assert (full.per_query, full.per_day, full.estimated) == (pytest.approx(0.00302), pytest.approx(3.02), True)
    assert (found.of("free").per_query, found.of("unpriced").per_query) == (0.0, None)
    assert cost(findings, queries_per_day=1000, batch=True, day=DAY).of("full").stages[2].per_query is None
    halved = cost(findings, queries_per_day=1000, batch=True, prices=halving(tmp_path), day=DAY).of("full")
    assert halved.stages[2].per_query == pytest.approx(0.05 / 50 / 2)
    assert halved.stages[1].per_query is None and halved.per_query is None  # nobody lists a batch price of r
    findings.save(tmp_path / "result.json")
    code, out, _ = call("cost", str(tmp_path / "result.json"), "--queries-per-day", "1000", "-o", "cost.json")
    assert code == 0 and "~$0.00302" in out and "~2,000" in out
    assert call("gate", "cost.json", "--fail-over", "per_query=0.01")[0] == 0
    assert call("gate", "cost.json", "--fail-over", "per_query=0.001")[0] == 1
    assert "~$3.02" in call("cost", "cost.json", "--lang", "zh")[1]


# Returns --------------------------------------------------------------------------------------------------------------


def test_the_interval_of_the_gain_goes_into_every_number():
    found = roi(
        Gain(Band(0.2, 0.05, 0.35)),
        cost_per_query=0.001,
        queries_per_day=10_000,
        revenue_per_query=0.01,
        fixed_per_day=2.0,
    )
    for part, gain in (("value", 0.2), ("low", 0.05), ("high", 0.35)):
        revenue, paid = 10_000 * 0.01 * gain, 10_000 * 0.001 + 2.0
        assert getattr(found.revenue, part) == pytest.approx(revenue)
        assert getattr(found.net, part) == pytest.approx(revenue - paid)
        assert getattr(found.roi, part) == pytest.approx((revenue - paid) / paid)
        price = 0.01 * gain - 2.0 / 10_000
        assert getattr(found.break_even_price, part) == pytest.approx(price)
    volume = found.break_even_queries_per_day
    assert volume.value == pytest.approx(2.0 / (0.002 - 0.001))
    assert volume.low == pytest.approx(2.0 / (0.0035 - 0.001))  # the best gain breaks even first
    assert volume.high is None  # at the worst one no volume pays
    assert found.outcome == "open"


def test_at_the_break_even_point_nothing_is_won_or_lost():
    given = {"cost_per_query": 0.001, "queries_per_day": 10_000, "revenue_per_query": 0.01, "fixed_per_day": 2.0}
    found = roi(0.2, **given)
    again = roi(0.2, **{**given, "queries_per_day": found.break_even_queries_per_day.value})
    assert again.net.value == pytest.approx(0, abs=1e-9)
    assert roi(0.2, **{**given, "cost_per_query": found.break_even_price.value}).net.value == pytest.approx(0, abs=1e-9)
    assert roi(found.break_even_gain, **given).net.value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.12, 0.3, "pays"), (-0.1, 0.08, "loses"), (0.05, 0.15, "open"), (None, None, "no_interval")],
)
def test_the_outcome_says_how_sure_it_is(low, high, outcome):
    found = roi(Gain(Band(0.1, low, high)), cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("verdict", "low", "high", "shown"),
    [
        ("better", 0.05, 0.35, True), ("worse", -0.4, -0.1, True), ("inconclusive", -0.05, 0.35, False),
        ("equivalent", -0.01, 0.01, False), ("", 0.05, 0.35, True), ("", -0.05, 0.35, False),
    ],
)  # fmt: skip
def test_a_gain_that_is_not_shown_has_money_and_no_per_cent(verdict, low, high, shown):
    """B3: -1 dollar a day, give or take 37, is something to say; a return of -100 % [-3826 %, +3626 %] is not."""
    gain = Gain(Band(0.0, low, high), 0.5, 0.5, 0.95, "b", "a", "ndcg@10", 3, verdict)
    found = roi(gain, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)
    assert (found.net.value, found.net.low, found.net.high) == pytest.approx((-1.0, 10 * low - 1, 10 * high - 1))
    assert (found.roi.value is not None, found.change_is_shown) == (shown, shown)
    for lang in ("en", "zh"):
        text = write(money_view.table(found), "table", lang)
        assert ("ROI  " in text or "投资回报率  " in text) == shown
        lines = text.splitlines()
        net = next(number for number, line in enumerate(lines) if line.startswith(("net a day", "每天净收益")))
        assert all("%" not in line for line in lines[:net] if not line.startswith("ndcg") and "[" in line)
        told = [line for line in lines[:net] if line.startswith(("Verdict of the comparison", "比较的结论"))]
        assert len(told) == bool(verdict)


def test_an_unknown_cost_has_no_return():
    found = roi(0.2, cost_per_query=None, queries_per_day=1000, revenue_per_query=0.01)
    assert (found.roi.value, found.net.value, found.cost, found.outcome) == (None, None, None, "no_cost")
    assert found.break_even_price.value == pytest.approx(0.002)
    assert found.curve == ()


def test_a_loss_has_no_break_even_price():
    found = roi(-0.2, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)
    assert found.break_even_price.value is None
    assert found.break_even_queries_per_day.value is None
    assert roi(0.2, cost_per_query=0.0, queries_per_day=1000, revenue_per_query=0.01).roi.value is None


def test_the_curve_is_the_net_at_each_volume():
    found = roi(
        Gain(Band(0.2, 0.1, 0.3)), cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01, fixed_per_day=5
    )
    assert found.curve[0].queries_per_day == pytest.approx(10)
    assert found.curve[-1].queries_per_day == pytest.approx(10_000)
    for point in found.curve:
        assert point.net_per_day == pytest.approx(point.queries_per_day * 0.001 - 5)
        assert point.low == pytest.approx(-5)


def test_elasticity_scales_the_revenue():
    given = {"cost_per_query": 0.001, "queries_per_day": 1000, "revenue_per_query": 0.01}
    assert roi(0.2, elasticity=0.5, **given).revenue.value == pytest.approx(roi(0.1, **given).revenue.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"queries_per_day": 0},
        {"revenue_per_query": -1},
        {"cost_per_query": -0.1},
        {"fixed_per_day": float("inf")},
        {"elasticity": 0},
    ],
)
def test_returns_that_make_no_sense_are_refused(changes):
    with pytest.raises(UsageError):
        roi(0.2, **{"cost_per_query": 0.001, "queries_per_day": 1000, "revenue_per_query": 0.01, **changes})
    with pytest.raises(UsageError, match="above 0"):
        Gain.between(0.0, 0.5)
    for gain in (float("nan"), float("inf")):
        with pytest.raises(UsageError, match="the gain is"):
            roi(gain, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)


# From files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def compared(call, tmp_path):
    """A comparison file of two systems whose reciprocal ranks are known."""
    (tmp_path / "q.qrels").write_text("".join(f"q{i} 0 a 1\n" for i in range(40)))
    ranks = {"before": [2, 4] * 20, "after": [1, 2, 4, 1] * 10}
    for name, all_of in ranks.items():
        lines = []
        for i, rank in enumerate(all_of):
            documents = [*["x", "y", "z"][: rank - 1], "a"]
            lines += [f"q{i} Q0 {doc} 1 {9 - place} r\n" for place, doc in enumerate(documents)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    assert (
        call("compare", "q.qrels", "before.run", "after.run", "-m", "mrr", "-m", "unjudged@1", "-o", "c.json")[0] == 0
    )
    return [1 / r for r in ranks["before"]], [1 / r for r in ranks["after"]]


def test_the_gain_and_its_interval_come_from_a_comparison_file(call, compared):
    before, after = compared
    words = (
        "cost",
        "--roi",
        "c.json",
        "--cost-per-query",
        "0.001",
        "--queries-per-day",
        "1000",
        "--revenue-per-query",
        "0.01",
    )
    assert call(*words, "-o", "roi.json")[0] == 0
    roi = json.loads(Path("roi.json").read_text())["roi"]
    expected = (sum(after) / sum(before) - 1, *relative_ends(after, before))
    gain = roi["gain"]["relative"]
    assert (gain["value"], gain["low"], gain["high"]) == pytest.approx(expected)
    assert roi["roi"]["value"] == pytest.approx((10 * expected[0] - 1) / 1)
    assert roi["roi"]["low"] == pytest.approx(10 * expected[1] - 1)
    assert roi["roi"]["high"] == pytest.approx(10 * expected[2] - 1)
    assert (roi["method"]["text"], roi["cost_per_query"], roi["cost"]) == (
        f"{roi['gain']['system']} instead of {roi['gain']['baseline']}",
        0.001,
        pytest.approx(1.0),
    )
    assert set(roi["curve"][0]) >= {"queries_per_day", "net_per_day"}


def test_costs_flow_from_file_to_file(call, compared):
    words = ("cost", "--variant", "ce,price=0.025,tokens=800", "--method", "what,tokens=5", "--queries-per-day", "1000")
    assert call(*words, "-o", "cost.json")[0] == 0
    data = json.loads(Path("cost.json").read_text())
    assert (data["schema"], data["cost"]["currency"]) == (2, "USD")
    rows = data["cost"]["costs"]
    assert [(text_of(row["method"]), row["per_query"], row["per_day"]) for row in rows] == [
        ("no reranking", 0.0, 0.0), ("ce", pytest.approx(0.001), pytest.approx(1.0)), ("what", None, None),
    ]  # fmt: skip
    code, out, _ = call(
        "cost", "--roi", "c.json", "--costs", "cost.json", "--variant", "ce", "--revenue-per-query", "0.01"
    )
    assert code == 0
    assert "Return of ce at 1,000 queries a day" in out and "per M tokens" in out
    code, out, _ = call(
        "cost", "--roi", "c.json", "--costs", "cost.json", "--variant", "what", "--revenue-per-query", "0.01"
    )
    assert code == 0
    assert "unknown" in out and "there is no ROI" in out


def test_a_bench_file_gives_the_throughput(call, tmp_path):
    (tmp_path / "bench.json").write_text(json.dumps({"schema": 1, "bench": {"loads": LOADS}}))
    code, out, _ = call("cost", "--variant", "own,machine=1.2,bench=bench.json", "--format", "json")
    assert code == 0
    row = json.loads(out)["cost"]["costs"][1]
    assert row["per_query"] == pytest.approx(1.2 / 3600 / 150)


def test_costs_are_read_from_toml(call, tmp_path):
    (tmp_path / "c.toml").write_text(
        "queries_per_day = 1000\ndocuments_per_query = 10\n[method.ce]\nprice = 0.025\ntokens = 800\n[method.own]\nmachine = 1\nthroughput = 2\n"
    )
    code, out, _ = call("cost", "c.toml", "--reference", "--format", "csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()] == [
        "method",
        "no reranking",
        "ce",
        "own",
        "cross-encoder",
        "LLM pointwise",
        "LLM listwise",
    ]
    assert out.splitlines()[2].split(",")[3] == repr(10 * 800 * 0.025 / 1e6)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cost", "--variant", "ce,price=x,tokens=1"), "price must be a number"), (("cost", "--variant", "ce,price"), "expected NAME,KEY=VALUE"),
        (("cost", "--variant", "price=1"), "the name comes first"), (("cost", "--variant", "ce,prise=1,tokens=2"), "did you mean price"),
        (("cost", "no.toml"), "no such file"), (("cost", "bad.toml"), "did you mean"), (("cost", "--variant", "m,machine=1,bench=c.json"), "this file has no bench result"),
        (("cost", "--variant", "m,machine=1,threads=2,throughput=1"), "give bench=FILE too"),
        (("cost", "--roi", "--gain", "0.2", "--cost-per-query", "1", "--revenue-per-query", "1"), "give --queries-per-day"),
        (("cost", "--roi", "--cost-per-query", "1", "--revenue-per-query", "1"), "give the gain one way"),
        (("cost", "--roi", "--gain", "0.2", "--revenue-per-query", "1"), "give the extra cost one way"),
        (("cost", "--roi", "q.qrels", "--cost-per-query", "1", "--revenue-per-query", "1"), "this looks like judgments"),
        (("cost", "--roi", "c.json", "--system", "afer", "--cost-per-query", "1", "--queries-per-day", "1", "--revenue-per-query", "1"), "did you mean after"),
        (("cost", "--roi", "c.json", "-m", "unjudged@1", "--cost-per-query", "1", "--queries-per-day", "1", "--revenue-per-query", "1"), "unjudged@1"),
        (("cost", "--roi", "--gain", "0.2", "-m", "x", "--cost-per-query", "1", "--revenue-per-query", "1"), "choose from a comparison"),
    ],
)  # fmt: skip
def test_wrong_calls_end_in_one_line(call, compared, tmp_path, words, expected):
    (tmp_path / "bad.toml").write_text("query_per_day = 5\n")
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert expected in err and err.count("\n") == 1


def test_a_newer_file_is_refused_by_its_schema(call, tmp_path):
    (tmp_path / "new.json").write_text('{"schema": 3, "comparison": {}}')
    code, _, err = call(
        "cost", "--roi", "new.json", "--cost-per-query", "1", "--queries-per-day", "1", "--revenue-per-query", "1"
    )
    assert code == 2
    assert "schema 3" in err


def test_a_comparison_of_several_systems_needs_a_choice():
    lists = {"q": {"x": 1.0}}
    comparison = assay.compare([assay.evaluate({"q": {"x": 1}}, lists, ["map"], name=name) for name in "abc"])
    with pytest.raises(UsageError, match=r"choose one with --system \(b, c\)"):
        gain_of(comparison)


@pytest.mark.parametrize("kind", ["table", "markdown", "latex"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_tables_exist_in_both_languages(call, compared, kind, lang):
    code, out, _ = call("cost", "--format", kind, "--lang", lang)
    assert code == 0 and ("不重排" if lang == "zh" else "no reranking") in out
    words = (
        "cost",
        "--roi",
        "c.json",
        "--cost-per-query",
        "0.001",
        "--queries-per-day",
        "1000",
        "--revenue-per-query",
        "0.01",
    )
    code, out, _ = call(*words, "--format", kind, "--lang", lang)
    assert code == 0 and ("投资回报率" if lang == "zh" else "ROI") in out


def test_the_published_methods_are_named_once():
    assert len({method.name for method in REFERENCES}) == 3


def text_of(stored):
    """A text as a file holds it, which is a message where it can be told in another language."""
    return stored if isinstance(stored, str) else stored["text"]


# From Python ----------------------------------------------------------------------------------------------------------


def test_costs_are_taken_as_a_dict_and_as_a_file(tmp_path):
    (tmp_path / "c.toml").write_text(
        "queries_per_day = 10\ndocuments_per_query = 20\n[method.m]\nprice = 1.0\ntokens = 100\n"
    )
    of_file = assay.cost(tmp_path / "c.toml")
    assert of_file.of("m").per_query == pytest.approx(0.002) and of_file.of("m").per_day == pytest.approx(0.02)
    assert assay.cost(tmp_path / "c.toml", documents_per_query=10).of("m").per_query == pytest.approx(0.001)
    methods = {"m": {"price": 1.0, "tokens": 100}}
    assert assay.cost(methods, queries_per_day=10, documents_per_query=20) == of_file
    assert [str(one.method) for one in assay.cost().costs][1:] == ["cross-encoder", "LLM pointwise", "LLM listwise"]


def test_returns_are_computed_from_a_comparison_and_costs_in_memory():
    judged = {f"q{i}": {"a": 1} for i in range(20)}
    first = {q: {"b": 2.0, "a": 1.0} for q in judged}
    scores = [assay.evaluate(judged, run, ["mrr"], name=name) for name, run in (("old", first), ("new", judged))]
    costs = assay.cost({"m": {"per_query": 0.001}}, queries_per_day=1000, currency="CNY")
    found = assay.roi(assay.compare(scores), costs=costs, revenue_per_query=0.01)
    assert (found.gain.relative.value, found.currency, found.queries_per_day) == (pytest.approx(1.0), "CNY", 1000)
    assert found.net.value == pytest.approx(1000 * 0.01 - 1.0)
    with pytest.raises(assay.UsageError, match="is in CNY, not in USD"):
        assay.roi(0.1, costs=costs, revenue_per_query=0.01, currency="USD")
    with pytest.raises(assay.UsageError, match="only once"):
        assay.roi(0.1, costs=costs, cost_per_query=1.0, revenue_per_query=0.01)


# What an experiment's systems cost more than its baseline -------------------------------------------------------------


def measured(name, money, tokens, written):
    """A system whose 100 queries cost so much and used so many tokens, some of them written."""
    mean = Quality(Interval(0.5, 0.4, 0.6, 0.95, "t", 100))
    chosen = {"generate": {"method": "llm", "model": "small"}}
    stage = StageTime("generate", 1.0, 2.0, tokens, money, output_tokens=written)
    per_query = None if money is None else money / 100
    return Row(name, "done", stages=(stage,), cost_per_query=per_query, quality={"m": mean}, stages_chosen=chosen)


def test_the_return_of_an_experiment_counts_what_the_winner_costs_more_than_the_baseline():
    """S3: nDCG .72 -> .87 for $0.001 more a query, 100,000 queries a day at $0.01."""
    rows = (measured("plain", 0.05, 100, 50), measured("reranked", 0.15, 300, 50))
    costs = cost(Findings(rows, "m", ("m",), "plain", "reranked"), queries_per_day=100_000)
    assert costs.of("reranked").per_query == pytest.approx(0.0015)
    gain = replace(Gain.between(0.72, 0.87), system="reranked", baseline="plain", measure="m")
    for given in (gain, Gain.between(0.72, 0.87)):  # the costs know the baseline, too
        found = roi(given, costs=costs, method="reranked", revenue_per_query=0.01)
        assert found.gain.relative.value == pytest.approx(0.208333, abs=1e-6)
        assert found.revenue.value == pytest.approx(208.33, abs=0.005)
        assert found.cost == pytest.approx(100.0)
        assert (found.net.value / found.cost) == pytest.approx(1.0833, abs=5e-5)
    assert str(found.method) == "reranked instead of plain"
    saving = roi(
        replace(gain, system="plain", baseline="reranked"), costs=costs, method="plain", revenue_per_query=0.01
    )
    assert saving.cost == pytest.approx(-100.0) and saving.roi.value is None


def test_costs_of_whole_systems_without_a_baseline_are_refused():
    costs = replace(cost(Findings((measured("a", 0.1, 9, 1),), "m", ("m",), "a", "a")), baseline="")
    with pytest.raises(UsageError, match="whole systems"):
        roi(0.2, costs=costs, method="a", revenue_per_query=0.01)


def test_measured_input_and_output_tokens_have_prices_of_their_own(tmp_path):
    """100 queries read 900 tokens and write 100 each; a million read cost 1, a million written 4."""
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nvendor = "openai"\nmodel = "small"\ndate = 2026-01-01\ninput = 1.0\noutput = 4.0\n'
    )
    rows = (measured("a", None, 100_000, 10_000), measured("old", 0.5, 100_000, None))
    findings = Findings(rows, "m", ("m",), "a", "a")
    found = cost(findings, prices=tmp_path / "prices.toml", day=DAY)
    assert found.of("a").per_query == pytest.approx((900 * 1.0 + 100 * 4.0) / 1e6)
    assert found.of("a").stages[0].output_tokens == pytest.approx(100)
    assert found.of("old").per_query == pytest.approx(0.005)  # a file without the two apart keeps what was measured
    assert cost(findings).of("a").per_query is None


def test_stages_record_input_and_output_tokens_apart():
    kept = Hits((1,), (0.5,), 1.0, 120, 0.1, output_tokens=20)
    assert Hits.from_json(kept.to_json()) == kept
    before = {key: value for key, value in kept.to_json().items() if key != "output_tokens"}
    assert Hits.from_json(before).output_tokens is None  # a cache of an earlier version
    with pytest.raises(ValueError, match="tokens"):
        Hits.from_json({**before, "output_tokens": 121})
    silent = Hits((1,), (0.5,))
    assert add_output_tokens([kept, silent]) == 20
    assert add_output_tokens([kept, Hits.from_json(before)]) is None
