"""Compute what each method costs per query and per day, from token prices or from machines and throughput."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.analysis.experiment_cost import cost_of_experiment, sum_stages
from assay.analysis.priced_methods import MOST, REFERENCES, PricedMethod, PricedStages
from assay.analysis.protocols import load_protocol
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats.detect import is_result_file
from assay.formats.files import read_toml
from assay.formats.results import read_record
from assay.messages import Said, say
from assay.results.bench import Bench
from assay.results.experiment import Findings
from assay.results.money import Costs, MethodCost, StageCost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from assay.data.protocol import Target
    from assay.llm.prices import Price, PriceTable

_MILLION = 1_000_000
_HOUR, _DAY = 3600, 86_400
_A_SEARCH = 100  # documents that a service bills as one search


_SETTINGS = ("queries_per_day", "documents_per_query", "currency")
Place = str | os.PathLike[str]
Described = tuple[str, Mapping[str, Any]]


def cost(
    methods: Sequence[PricedMethod | Described] | Mapping[str, Mapping[str, Any]] | Findings | Place = (),
    *,
    queries_per_day: float | None = None,
    documents_per_query: float | None = None,
    reference: bool = False,
    currency: str | None = None,
    prices: PriceTable | Place | None = None,
    day: date | None = None,
    batch: bool = False,
) -> Costs:
    """Compare the cost of methods; `reference` adds published figures of rerankers, scaled to these volumes.

    Methods are `PricedMethod`, {name: what is known of it} (with `bench`, a file of measured loads, for `throughput`),
    or a TOML file of them, which may set the volumes too; without any, there are the published figures. Volumes are
    100,000 queries a day and 50 documents a query unless given, money is in USD. `prices` are those of models. A method
    may have stages, {name: {stage: what is known of it}}, which are added up.

    The findings of an experiment, or its result file, cost what was measured, stage by stage; with `prices`, what the
    input and output tokens of its models cost at those, and with `batch`, what the same calls would cost as batch jobs.

    >>> import assay
    >>> assay.cost({"cross-encoder": {"price": 0.025, "tokens": 800}}).of("cross-encoder").per_query
    0.001
    """
    own: dict[str, Any] = {}
    if isinstance(methods, (str, os.PathLike)) and is_result_file(os.fspath(methods)):
        methods = read_record(methods, Findings, say("experiment"), hint=say("make one: assay run experiment.toml"))
    if isinstance(methods, Findings):
        if reference or documents_per_query is not None or (currency or "USD") != "USD":
            raise UsageError(say("the costs of an experiment are measured, in USD: only the queries a day can be set"))
        volume = _USUAL["queries_per_day"] if queries_per_day is None else queries_per_day
        table = _price_table(prices) if batch or prices is not None else None
        return cost_of_experiment(methods, volume, table, day, batch=batch)
    if batch:
        raise UsageError(say("batch jobs of an experiment are meant: of a method, say batch = true beside its model"))
    if isinstance(methods, (str, os.PathLike)):
        own, methods = read_methods(methods)
    asked = {"queries_per_day": queries_per_day, "documents_per_query": documents_per_query, "currency": currency}
    settled = {**_USUAL, **own, **{name: value for name, value in asked.items() if value is not None}}
    for name in _SETTINGS[:2]:
        if not 0 < settled[name] < MOST:
            raise UsageError(say("{name} must be above 0, not {value!r}", name=name, value=settled[name]))
    rows, notes = price_methods(methods, settled["documents_per_query"])
    names = [method.name for method in rows]
    if len(set(names)) < len(names):
        raise UsageError(
            say("two methods are called {name!r}: give each a name of its own", name=max(names, key=names.count))
        )
    table = _price_table(prices)
    job = _Calculation(settled["queries_per_day"], settled["documents_per_query"], settled["currency"], table, day)
    found = [MethodCost(say("cost.none"), 0.0, 0.0, "")]
    found += [job.cost_of(method) for method in rows]
    if reference or not rows:
        found += [job.by_price(method, method.price, 0.0, say("cost.reference")) for method in REFERENCES]
    volumes = (settled["documents_per_query"], settled["queries_per_day"])
    goal = price_goal(settled["currency"], found)
    return Costs(settled["currency"], *volumes, tuple(found), (*notes, *job.warnings), goal)


def price_goal(currency: str, found: Sequence[MethodCost]) -> Target | None:
    """The target price of a million tokens in the rerankers' protocol, if a method has a price in dollars."""
    if currency != "USD" or all(one.price is None for one in found):
        return None
    targets = load_protocol("rerank").targets
    return next((target for target in targets if target.measure == "cost_per_million_tokens"), None)


_USUAL: dict[str, Any] = {"queries_per_day": 100_000, "documents_per_query": 50, "currency": "USD"}


def _price_table(given: PriceTable | Place | None) -> PriceTable | None:
    from assay.llm.prices import PriceTable

    return PriceTable.load(given) if isinstance(given, (str, os.PathLike)) else given or PriceTable.load()


def read_methods(place: Place) -> tuple[dict[str, Any], list[Described]]:
    """Read settings and methods of a TOML file."""
    raw = read_toml(os.fspath(place))
    tables = raw.pop("method", {})
    for key in raw:
        if key not in _SETTINGS:
            raise UnknownName(say("key in {place}", place=os.fspath(place)), key, [*_SETTINGS, "method"])
    numbers = [raw[name] for name in _SETTINGS[:2] if name in raw]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in numbers):
        raise InputError(say("queries_per_day and documents_per_query must be numbers"), path=os.fspath(place))
    if not isinstance(raw.get("currency", ""), str):
        raise InputError(say("currency must be a text such as USD"), path=os.fspath(place))
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InputError(say("a method must be a table such as [method.cross-encoder]"), path=os.fspath(place))
    return raw, [(name, dict(table)) for name, table in tables.items()]


def read_costs(place: Place) -> Costs:
    """Read the costs of a result file that `assay cost` wrote."""
    return read_record(place, Costs, "cost", hint=say("cost.make_one"))


def price_methods(
    given: Sequence[PricedMethod | Described] | Mapping[str, Mapping[str, Any]], documents: float
) -> tuple[list[PricedMethod | PricedStages], list[Said]]:
    """Make methods from the known figures; throughput taken from a bench file is noted."""
    listed = list(given.items()) if isinstance(given, Mapping) else list(given)
    notes: list[Said] = []
    found = [one if isinstance(one, PricedMethod) else _price_method(*one, documents, notes) for one in listed]
    return found, notes


def _price_method(
    name: str, known: Mapping[str, Any], documents: float, notes: list[Said]
) -> PricedMethod | PricedStages:  # fmt: skip
    """A method; one of several stages if it contains tables: [method.NAME.STAGE]."""
    tables = [isinstance(value, Mapping) for value in known.values()]
    if not any(tables):
        return _method(name, known, documents, notes)
    if not all(tables):
        raise UsageError(say("{name}: what is known stands in its stages, or there are no stages", name=name))
    return PricedStages(name, tuple(_method(stage, values, documents, notes) for stage, values in known.items()))


def _method(name: str, known: Mapping[str, Any], documents: float, notes: list[Said]) -> PricedMethod:
    values = dict(known)
    bench, threads = values.pop("bench", None), values.pop("threads", None)
    if bench is not None:
        if "throughput" in values:
            raise UsageError(say("{name}: give throughput or a bench file, not both", name=name))
        place = say("the measurement") if isinstance(bench, Bench) else str(bench)
        hint = say("make one: assay bench ... -o FILE.json")
        measured = bench if isinstance(bench, Bench) else read_record(place, Bench, say("bench result"), hint=hint)
        many = None if threads is None else _threads(name, threads)
        qps, used = fastest_load(measured, documents=documents, threads=many, place=place)
        values["throughput"] = qps
        notes.append(say("cost.measured", method=name, qps=qps, place=place, threads=used))
    elif threads is not None:
        raise UsageError(say("{name}: threads chooses a load of a bench file: give bench=FILE too", name=name))
    return PricedMethod.of(name, values, also=("bench", "threads"))


def _threads(name: str, told: Any) -> int:
    try:
        return int(told)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            say("{name}: threads must be a whole number, not {value}", name=name, value=excerpt(told))
        ) from None


class _Calculation:
    """Volumes and prices for which costs are computed, and the notes collected on the way."""

    def __init__(
        self, queries: float, documents: float, currency: str, prices: PriceTable | None, day: date | None
    ) -> None:
        self.queries, self.documents, self.currency, self.prices, self.day = queries, documents, currency, prices, day
        self.warnings: list[Said] = []

    def cost_of(self, method: PricedMethod | PricedStages) -> MethodCost:
        """The cost of a method; with several stages their sum, unknown if one of them is."""
        if isinstance(method, PricedMethod):
            return self.cost(method)
        stages = tuple(self._stage(stage) for stage in method.stages)
        return sum_stages(method.name, stages, self.queries)

    def _stage(self, stage: PricedMethod) -> StageCost:
        found = self.cost(stage)
        by_tokens = stage.price is not None or stage.model
        tokens = stage.read(self.documents) + stage.output_tokens if by_tokens else None
        return StageCost(stage.name, found.per_query, found.per_day, found.basis, tokens)

    def cost(self, method: PricedMethod) -> MethodCost:
        if method.per_query is not None:
            return MethodCost(method.name, method.per_query, method.per_query * self.queries, say("cost.fixed"))
        if method.machine is not None:
            return self._by_machine(method)
        if method.price_per_search is not None:
            return self._by_search(method, method.price_per_search)
        if method.model:
            return self._by_model(method)
        if method.price is None:
            self.warnings.append(say("cost.no_price_given", method=method.name))
        return self.by_price(method, method.price, method.output_price, say("cost.given"))

    def by_price(
        self, method: PricedMethod, price: float | None, output_price: float | None, basis: Said,
        cached_price: float | None = None,
    ) -> MethodCost:  # fmt: skip
        """Tokens times their price; unknown, with the reason, when a price that is needed is not known."""
        asked, cached = method.read(self.documents), method.cached_tokens
        if price is None:
            return _unknown(method, say("cost.lacks_price"))
        if method.output_tokens and output_price is None:
            lacks = say("cost.lacks_output_of", model=method.model) if method.model else say("cost.lacks_output_price")
            return _unknown(method, lacks, price)
        if cached > asked:
            raise UsageError(say("{name}: more tokens are cached than read", name=method.name))
        known = cached_price if method.cached_price is None else method.cached_price
        cheaper = cached * (price if known is None else known)
        money = ((asked - cached) * price + cheaper + method.output_tokens * (output_price or 0.0)) / _MILLION
        return MethodCost(method.name, money, money * self.queries, basis, price, method.tokens)

    def _by_model(self, method: PricedMethod) -> MethodCost:
        row = self._row(method)
        if row is None:
            self.warnings.append(say("cost.no_price", method=method.name, model=method.model))
            return _unknown(method, say("cost.lacks_model", model=method.model))
        if row.currency != self.currency:
            raise UsageError(
                say(
                    "{name}: the price is in {currency}, not in {wanted} (see currency)",
                    name=method.name,
                    currency=row.currency,
                    wanted=self.currency,
                )
            )
        length = method.read(self.documents) / method.calls
        tier = row.tier(length)
        if tier is None:
            told = say("cost.too_long", method=method.name, model=method.model, tokens=round(length))
            self.warnings.append(told)
            return _unknown(method, say("cost.lacks_tier", tokens=round(length)))
        basis = say("cost.listed", model=method.model, vendor=row.vendor or row.host, date=row.date.isoformat())
        if not method.batch:
            return self.by_price(method, tier.input, tier.output, basis, tier.cached)
        if row.batch is None:
            return _unknown(method, say("cost.lacks_batch", model=method.model))
        paid, written = tier.input * row.batch, tier.output * row.batch
        # A row has no price for cached tokens of a batch job: they count like all others.
        return self.by_price(method, paid, written, say("cost.batch", basis=basis), paid)

    def _row(self, method: PricedMethod) -> Price | None:
        from assay.llm.hosts import Address
        from assay.llm.prices import PriceTable

        table = self.prices or PriceTable.load()
        if method.url:
            return table.price(Address.of(method.url), method.model, day=self.day)
        rows = table.prices_of(method.model, day=self.day)
        if len(rows) > 1:
            vendors = [row.vendor or row.host for row in rows]
            raise UsageError(
                say(
                    "{name}: several vendors offer {model} ({vendors}): choose one by its url",
                    name=method.name,
                    model=method.model,
                    vendors=vendors,
                )
            )
        return rows[0] if rows else None

    def _by_search(self, method: PricedMethod, price: float) -> MethodCost:
        shown = money(price, self.currency)
        searches = method.calls * max(1, math.ceil(self.documents / method.calls / _A_SEARCH - 1e-9))
        each = price * searches
        basis = say("cost.search", money=shown)
        if searches != 1:
            basis = say("cost.searches", money=shown, calls=searches)
        return MethodCost(
            method.name,
            each,
            each * self.queries,
            basis,
            tokens=method.tokens,
            price_per_search=method.price_per_search,
        )

    def _by_machine(self, method: PricedMethod) -> MethodCost:
        assert method.machine is not None and method.throughput is not None
        per_query = method.machine / (_HOUR * method.throughput)
        busy = self.queries / (_DAY * method.throughput)
        machines = max(1, math.ceil(busy - 1e-9))
        daily = machines * 24 * method.machine
        self.warnings.append(
            say("cost.always_on", method=method.name, machines=machines, money=money(daily, self.currency),
                share=busy / machines)
        )  # fmt: skip
        basis = say("cost.machine", hour=money(method.machine, self.currency), qps=method.throughput)
        each = (per_query, per_query * self.queries)
        return MethodCost(method.name, *each, basis, machines=machines, always_on_per_day=daily)


def _unknown(method: PricedMethod, reason: Said, price: float | None = None) -> MethodCost:
    return MethodCost(method.name, None, None, reason, price, method.tokens)


def fastest_load(
    bench: Bench, *, documents: float, threads: int | None = None, place: str | None = None
) -> tuple[float, int]:
    """Queries a second in the bench load with this many candidates, and the threads that it used.

    Of several loads the one with the highest throughput counts, unless `threads` says which.
    """
    place = place or say("the measurement")
    loads = [load for load in bench.loads if load.count and load.kind == "closed"]
    if not loads:
        raise UsageError(
            say("{place} has no closed loop with successful calls, so its throughput is not known", place=place)
        )
    sizes = sorted({load.candidates for load in loads if load.candidates is not None})
    if sizes and documents not in sizes:
        raise UsageError(
            say(
                "{place} was measured with {sizes} candidates, not with {documents:g} documents per query",
                place=place,
                sizes=sizes,
                documents=documents,
            )
        )
    fitting = [load for load in loads if not sizes or load.candidates == documents]
    if threads is not None:
        fitting = [load for load in fitting if load.threads == threads]
        if not fitting:
            raise UsageError(say("{place} was not measured with {threads} threads", place=place, threads=threads))
    best = max(fitting, key=lambda load: load.throughput_qps)
    return best.throughput_qps, best.threads


_SIGNS = {"USD": "$", "CNY": "¥", "EUR": "€", "GBP": "£"}


def money(value: float | None, currency: str) -> str:
    """Format an amount: with cents from one unit on, below that with three significant digits."""
    if value is None:
        return say("cost.unknown")
    size = abs(value)
    digits = 2 if size >= 1 or not size else 2 - math.floor(math.log10(size))
    shown = f"{size:,.{digits}f}"
    if size < 1:
        whole, _, rest = shown.partition(".")
        rest = rest.rstrip("0")
        shown = f"{whole}.{rest}" if rest else whole
    sign = _SIGNS.get(currency)
    return f"{'-' if value < 0 else ''}{sign}{shown}" if sign else f"{'-' if value < 0 else ''}{shown} {currency}"
