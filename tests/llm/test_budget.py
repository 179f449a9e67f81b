"""Money: prices, what a call may cost, what it did cost, and a budget that holds."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from assay.errors import InputError, UsageError
from assay.llm import Client, Limits, Patience, PriceTable, Request, Usage
from assay.llm import tokens as count
from assay.llm.budget import Ledger
from assay.llm.hosts import Address
from assay.testing import Answer, FakeLLM

DASHSCOPE = Address.of("https://dashscope.aliyuncs.com/compatible-mode/v1")
TODAY = date(2026, 11, 16)


def prices(tmp_path, rows: str):
    path = tmp_path / "prices.toml"
    path.write_text(rows, encoding="utf-8")
    return path


def fake_prices(tmp_path, money_in: float = 10.0, money_out: float = 30.0):
    return prices(
        tmp_path,
        f'[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ndate = 2026-01-01\ninput = {money_in}\noutput = {money_out}\n',
    )


def cost(url: str, model: str, usage: Usage) -> float | None:
    price = PriceTable.load().price(Address.of(url), model, day=TODAY)
    return None if price is None else price.cost(usage)


# The table ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "prompt", "completion", "expected"),
    [
        ("qwen-plus", 1_000_000, 1_000_000, 0.40 + 1.20),
        ("qwen-max", 500_000, 100_000, 0.5 * 1.60 + 0.1 * 6.40),
        ("qwen-flash", 200_000, 1_000, 0.2 * 0.05 + 0.001 * 0.40),
        ("qwen3-max", 32_000, 1_000, 0.032 * 1.20 + 0.001 * 6.00),
        ("qwen3-max", 32_001, 1_000, 0.032001 * 2.40 + 0.001 * 12.00),
        ("qwen3-max", 128_001, 1_000, 0.128001 * 3.00 + 0.001 * 15.00),
    ],
)
def test_qwen_costs_what_its_list_says(model, prompt, completion, expected):
    price = PriceTable.load().price(DASHSCOPE, model, day=TODAY)
    assert price.cost(Usage(prompt, completion)) == pytest.approx(expected, rel=1e-12)


def test_cached_tokens_cost_their_own_price():
    expected = (600 * 2.5 + 400 * 1.25 + 50 * 10) / 1e6
    assert cost("https://api.openai.com/v1", "gpt-4o", Usage(1000, 50, cached_tokens=400)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("https://api.openai.com/v1", "gpt-99"),
        ("https://api.openai.com/v1", "qwen-plus"),
        ("https://openai.example.org/v1", "gpt-4o"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus-2030-01-01"),
        ("http://192.168.1.5:8000/v1", "qwen3-8b"),
        ("http://127.0.0.1:4000/v1", "gpt-4o"),
        ("http://127.0.0.1:11434/v1", "gpt-oss:120b-cloud"),
        ("http://127.0.0.1:4000/v1", "qwen3-max"),
    ],
)
def test_a_model_that_is_not_listed_has_no_price(url, model):
    assert cost(url, model, Usage(10, 10)) is None


@pytest.mark.parametrize(
    "model", ["qwen3:8b", "Qwen/Qwen2.5-7B-Instruct", "llama3.1:8b", "SmolLM2-135M-Instruct", "bge-m3"]
)
def test_open_models_on_this_machine_cost_nothing(model):
    assert cost("http://localhost:11434/v1", model, Usage(10_000, 10_000)) == 0.0


def test_a_prompt_beyond_the_last_tier_has_no_price():
    assert cost(DASHSCOPE.url, "qwen-flash", Usage(256_001, 1)) is None


def test_every_row_has_a_date_and_money_that_is_not_negative():
    rows = [row for part in PriceTable.load().parts for row in part]
    assert len(rows) > 50
    for row in rows:
        assert date(2025, 1, 1) <= row.date <= TODAY
        assert all(0 <= tier.cached <= tier.input and tier.output >= 0 for tier in row.tiers)


def test_users_rows_come_first_and_the_latest_that_is_not_in_the_future_counts(tmp_path):
    own = prices(
        tmp_path,
        """
currency = "CNY"
[[price]]
vendor = "dashscope"
model = "qwen-plus"
date = 2020-01-01
input = 0.8
output = 2
[[price]]
vendor = "dashscope"
model = "qwen-plus"
date = 2026-06-01
input = 0.7
output = 2
[[price]]
vendor = "dashscope"
model = "qwen-plus"
date = 2027-01-01
input = 99
output = 99
""",
    )
    found = PriceTable.load(own).price(DASHSCOPE, "qwen-plus", day=TODAY)
    assert (found.currency, found.tiers[0].input) == ("CNY", 0.7)
    assert PriceTable.load(own).price(DASHSCOPE, "qwen-max", day=TODAY).currency == "USD"
    assert PriceTable.load(own).price(DASHSCOPE, "qwen-plus", day=date(2020, 5, 5)).tiers[0].input == 0.8


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("price = 3", "no prices"),
        ("[[price]]\nmodel = 'm'", "needs date"),
        ("[[price]]\nhost = 'h'\nmodel = 'm'\ndate = 2026-01-01\ninput = 1", "needs output"),
        ("[[price]]\nhost = 'h'\nmodel = 'm'\ndate = 2026-01-01\ninput = -1\noutput = 1", "needs input"),
        ("[[price]]\nmodel = 'm'\ndate = 2026-01-01\ninput = 1\noutput = 1", "needs vendor or host"),
        ("[[price]]\nhost = 'h'\nmodel = 'm'\ndate = 2026-01-01\ninptu = 1\noutput = 1", "did you mean input"),
        (
            "[[price]]\nhost = 'h'\nmodel = 'm'\ndate = 2026-01-01\ntiers = [{up_to = 9, input = 1, output = 1}, {up_to = 3, input = 1, output = 1}]",
            "rising order",
        ),
        ("[[price", "not valid TOML"),
    ],
)
def test_a_file_of_prices_with_a_mistake_is_refused_with_its_name(tmp_path, rows, complaint):
    with pytest.raises(InputError, match=complaint) as caught:
        PriceTable.load(prices(tmp_path, rows))
    assert "prices.toml" in str(caught.value)


def test_the_most_a_call_can_cost_is_never_too_little():
    rng = random.Random(5)
    table = PriceTable.load()
    for _ in range(500):
        price = table.price(DASHSCOPE, rng.choice(["qwen-plus", "qwen3-max"]), day=TODAY)
        prompt, completion = rng.randrange(1, 300_000), rng.randrange(1, 5_000)
        usage = Usage(rng.randrange(prompt + 1), rng.randrange(completion + 1))
        assert price.cost(usage) <= price.most(prompt, completion) * (1 + 1e-12)


def test_the_bound_of_tokens_holds_for_texts_of_all_kinds():
    """One token has at least one byte, so the number of bytes cannot be exceeded; the estimate stays below it."""
    for text in ["plain English words", "中文文本的长度", "mixed 中文 and English", "🙂🙂", ""]:
        assert count.most(text) == len(text.encode())
        assert count.estimate(text) <= count.most(text)


# The ledger -----------------------------------------------------------------------------------------------------------


def test_money_set_aside_is_waited_for_and_what_never_fits_is_refused():
    async def story() -> list[object]:
        ledger = Ledger(10.0, "USD")
        assert await ledger.hold(6.0)
        second = asyncio.ensure_future(ledger.hold(6.0))
        await asyncio.sleep(0)
        waited = second.done()
        ledger.settle(6.0, spent=1.0)
        fits = await second
        third = asyncio.ensure_future(ledger.hold(8.0))
        await asyncio.sleep(0)
        ledger.settle(6.0, spent=5.0)
        never = await third
        rest = await ledger.hold(4.0)
        ledger.settle(4.0, spent=3.0, possible=1.0)
        return [waited, fits, never, rest, await ledger.hold(0.5), ledger.spent, ledger.possible, ledger.held]

    assert asyncio.run(story()) == [False, True, False, True, False, 9.0, 1.0, 0.0]


def test_many_calls_of_all_sizes_never_overshoot_the_ledger():
    rng = random.Random(1)
    highest = 0.0

    async def call(ledger: Ledger) -> bool:
        nonlocal highest
        most = rng.uniform(0.01, 0.5)
        if not await ledger.hold(most):
            return False
        highest = max(highest, ledger.spent + ledger.possible + ledger.held)
        await asyncio.sleep(rng.uniform(0, 0.002))
        ledger.settle(most, spent=rng.uniform(0, most))
        return True

    async def story() -> list[bool]:
        ledger = Ledger(20.0, "USD")
        served = await asyncio.gather(*(call(ledger) for _ in range(500)))
        assert ledger.spent <= 20.0
        assert ledger.held == 0.0
        return served

    served = asyncio.run(story())
    assert highest <= 20.0 * (1 + 1e-9)
    assert 40 < sum(served) < 500


# The client -----------------------------------------------------------------------------------------------------------


def test_the_cost_of_a_reply_is_its_tokens_times_their_price(tmp_path):
    said = Answer("x", usage={"prompt_tokens": 1000, "completion_tokens": 200})
    with FakeLLM(said) as server, Client(server.url, "m", prices=fake_prices(tmp_path)) as client:
        reply = client.complete(Request.asking("q"))
        assert reply.cost.amount == pytest.approx((1000 * 10 + 200 * 30) / 1e6)
        assert client.spending.spent == pytest.approx(reply.cost.amount)
    assert not reply.cost.estimated


def test_a_model_without_a_price_has_no_cost_rather_than_none():
    with FakeLLM() as server, Client(server.url, "m") as client:
        assert client.complete(Request.asking("q")).cost is None
        assert client.spending.unpriced_calls == 1


def test_a_budget_is_not_overshot(tmp_path):
    """Each call may cost up to 100 tokens' worth of answer; the server charges between 1 and 100."""
    charged = random.Random(3)

    def answer(received):
        usage = {"prompt_tokens": 20, "completion_tokens": charged.randrange(1, 101)}
        return Answer("x", usage=usage, delay=0.002)

    budget = 0.2
    with FakeLLM(answer) as server:
        client = Client(
            server.url, "m", prices=fake_prices(tmp_path), budget=budget, limits=Limits(concurrency=32, start=32)
        )
        with client:
            replies = [
                reply for _, reply in client.complete_many(Request.asking(f"q{i}", max_tokens=100) for i in range(400))
            ]
            spending = client.spending
    paid = sum(reply.cost.amount for reply in replies)
    assert {reply.reason for reply in replies} == {"", "budget"}
    assert len(server.requests) == sum(reply.ok for reply in replies)
    assert paid == pytest.approx(spending.spent)
    assert paid <= budget
    assert paid > 0.95 * budget


def test_money_of_calls_that_timed_out_is_counted_as_possibly_spent(tmp_path):
    patience = Patience(timeout=0.2, backoff=0.01)
    with FakeLLM([Answer(broken="stall"), Answer(broken="reset")]) as server:
        server.answer = Answer("x", usage={"prompt_tokens": 10, "completion_tokens": 1})
        with Client(server.url, "m", prices=fake_prices(tmp_path), patience=patience) as client:
            reply = client.complete(Request.asking("q", max_tokens=100))
            spending = client.spending
    assert reply.ok
    assert reply.calls == 3
    assert reply.cost.amount == pytest.approx((10 * 10 + 1 * 30) / 1e6)
    assert reply.cost.possible >= 2 * 100 * 30 / 1e6
    assert reply.cost.estimated
    assert spending.possible == pytest.approx(reply.cost.possible)


def test_a_refused_connection_costs_nothing(tmp_path):
    with FakeLLM() as server:
        url = server.url
    with Client(url, "m", prices=fake_prices(tmp_path), patience=Patience(backoff=0.01)) as client:
        reply = client.complete(Request.asking("q"))
    assert (reply.reason, reply.cost.amount, reply.cost.possible) == ("network", 0.0, 0.0)


def test_a_budget_that_cannot_hold_is_refused(tmp_path):
    with pytest.raises(UsageError, match="price"):
        Client("http://127.0.0.1:1/v1", "m", budget=1.0)
    with pytest.raises(UsageError, match="budget"):
        Client("http://127.0.0.1:1/v1", "m", budget=0)
    with pytest.raises(UsageError, match="CNY"):
        Client("http://127.0.0.1:1/v1", "m", prices=fake_prices(tmp_path), budget=1.0, currency="CNY")
    with FakeLLM() as server, Client(server.url, "m", prices=fake_prices(tmp_path), budget=1.0) as client:
        assert client.complete(Request.asking("q", max_tokens=None)).reason == "budget"
        assert client.complete(Request.asking("q", model="other")).reason == "budget"
        assert not server.requests


def test_the_estimate_counts_what_is_not_cached(tmp_path):
    requests = [Request.asking("word " * 100, repeat=i, max_tokens=50) for i in range(10)]
    with FakeLLM() as server, Client(server.url, "m", prices=fake_prices(tmp_path), cache=tmp_path / "c") as client:
        before = client.estimate(requests)
        client.complete(requests[0])
        after = client.estimate(requests)
        assert len(server.requests) == 1
    assert (before.calls, before.cached, before.completion_tokens) == (10, 0, 500)
    assert 900 <= before.prompt_tokens <= 1500
    assert before.cost == pytest.approx((before.prompt_tokens * 10 + 500 * 30) / 1e6)
    assert (after.calls, after.cached) == (9, 1)
    with Client("http://127.0.0.1:1/v1", "m") as client:
        assert client.estimate(requests).cost is None


def test_clients_that_share_a_budget_stay_within_it_together(tmp_path):
    """Each server charges between 1 and 100 tokens for an answer; alone, either client would spend 0.2 and more."""
    charged = random.Random(4)

    def answer(_):
        return Answer("x", usage={"prompt_tokens": 20, "completion_tokens": charged.randrange(1, 101)}, delay=0.002)

    budget = Ledger(0.2, "USD")
    with FakeLLM(answer) as server:
        clients = [Client(server.url, "m", prices=fake_prices(tmp_path), budget=budget) for _ in range(2)]

        def ask(client: Client) -> list:
            return [
                reply for _, reply in client.complete_many(Request.asking(f"q{i}", max_tokens=100) for i in range(250))
            ]

        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(ask, clients))
        for client in clients:
            client.close()
    paid = [sum(reply.cost.amount for reply in replies) for replies in found]
    assert min(paid) > 0
    assert 0.95 * 0.2 < sum(paid) <= 0.2
    assert sum(paid) == pytest.approx(budget.spent)
    assert budget.held == 0.0
    assert {reply.reason for replies in found for reply in replies} == {"", "budget"}
