"""`assay cost`: what each method costs per query and per day; with --roi, whether a gain in quality pays for it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from assay.cli import inputs, language, options, places
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import NUMBER, add_argument, add_option, option, takes
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.results.money import Costs, Gain, Roi

_EXAMPLES = (
    "assay cost --variant cross-encoder,price=0.025,tokens=800 --reference",
    'assay cost --variant "own GPU,machine=1.20,bench=bench.json" --documents-per-query 50 -o cost.json',
    "assay cost ladder-results/result.json --queries-per-day 10000",
    "assay cost costs.toml --variant service,price_per_search=0.002",
    "assay cost --roi --gain 0.2 --cost-per-query 0.001 --queries-per-day 100000 --revenue-per-query 0.01",
    "assay cost --roi comparison.json --costs cost.json --variant cross-encoder --revenue-per-query 0.01",
    "assay cost --roi ab.json --cost-per-query 0.001 --queries-per-day 100000 --revenue-per-query 0.01",
)
_TEXTS = ("model", "url", "bench")


@dataclass(frozen=True)
class Pricing:
    """What is priced, for how many queries."""

    variants: tuple[str, ...] = option(
        "--variant", default=(), multiple=True, metavar="NAME,KEY=VALUE,...", former=["--method"]
    )
    queries_per_day: float | None = option("--queries-per-day", type=NUMBER)
    documents_per_query: float | None = option("--documents-per-query", type=NUMBER)
    currency: str | None = option("--currency", metavar="CODE")
    prices: str | None = option("--prices", metavar="FILE")
    batch: bool = option("--batch", default=False, is_flag=True)
    reference: bool = option("--reference", default=False, is_flag=True)


@dataclass(frozen=True)
class Returning:
    """A gain in quality, what it costs and what it earns."""

    revenue_per_query: float | None = option("--revenue-per-query", type=NUMBER, only="roi")
    system: str | None = option("--system", metavar="NAME", only="roi")
    measure: str | None = option("-m", "--measure", metavar="MEASURE", only="roi")
    before: float | None = option("--before", type=NUMBER, only="roi")
    after: float | None = option("--after", type=NUMBER, only="roi")
    gain: float | None = option("--gain", type=NUMBER, only="roi")
    cost_per_query: float | None = option("--cost-per-query", type=NUMBER, only="roi")
    costs: str | None = option("--costs", metavar="FILE", only="roi")
    fixed_per_day: float = option("--fixed-per-day", default=0.0, show_default=True, type=NUMBER, only="roi")
    elasticity: float = option("--elasticity", default=1.0, show_default=True, type=NUMBER, only="roi")

    def quality(self, comparison: str | None) -> Gain | str:
        """The gain, from the one place that was given."""
        from assay.results.money import Band, Gain

        both = self.before is not None and self.after is not None
        if (comparison is not None) + both + (self.gain is not None) != 1:
            raise UsageError(say("cli.gain_one_way"))
        if comparison is not None:
            return comparison
        if self.before is not None and self.after is not None:
            return Gain.between(self.before, self.after)
        return Gain(Band(self.gain))


@make_command("cost", _EXAMPLES)
@add_argument("file", required=False, metavar="[COSTS|RESULT]")
@takes(pricing=Pricing)
@add_option("--roi", is_flag=True)
@takes(returning=Returning, out=Output)
def command(*, file: str | None, pricing: Pricing, roi: bool, returning: Returning, out: Output) -> None:
    """Compute and print."""
    if roi:
        _print_roi(file, pricing, returning, out)
    elif file is not None and inputs.is_result(file):
        _print_costs(_read_costs(file, pricing), out)
    else:
        _print_costs(_costs(file, pricing), out)


def _read_costs(file: str, pricing: Pricing) -> Costs:
    """Costs that a result file holds, or those of the experiment in it."""
    from assay.analysis.economics import cost, read_costs
    from assay.formats.files import Input
    from assay.formats.results import load_result
    from assay.results.experiment import Findings

    if load_result(Input.at(file)).part(Findings) is None:
        options.refuse(*(one.name for one in fields(Pricing)), because="cli.no_effect_on_costs")
        return read_costs(file)
    options.refuse("variants", "documents_per_query", "currency", "reference", because="cli.no_effect_on_experiment")
    return cost(file, queries_per_day=pricing.queries_per_day, prices=pricing.prices, batch=pricing.batch)


def _costs(file: str | None, pricing: Pricing) -> Costs:
    from assay.analysis.economics import cost, read_methods

    own, given = read_methods(file) if file is not None else ({}, [])
    given += [_split(text) for text in pricing.variants]
    settings = {name: getattr(pricing, name) for name in ("queries_per_day", "documents_per_query", "currency")}
    asked = own | {name: value for name, value in settings.items() if value is not None}
    places.check(*(values.get("bench") for _, values in given))
    return cost(given, reference=pricing.reference, prices=pricing.prices, batch=pricing.batch, **asked)


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Read NAME,KEY=VALUE,..."""
    name, *rest = (part.strip() for part in text.split(","))
    values: dict[str, Any] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not name or "=" in name or not equals or key in values:
            raise UsageError(say("cli.variant_form", text=text))
        try:
            values[key] = value if key in _TEXTS else float(value.replace("_", ""))
        except ValueError:
            raise UsageError(say("cli.variant_number", text=text, name=key, value=value)) from None
    if not name or "=" in name:
        raise UsageError(say("cli.variant_name", text=text))
    return name, values


def _print_costs(found: Costs, out: Output) -> None:
    from assay.report.document import write
    from assay.report.views import money as report

    def as_text(kind: str) -> str:
        blocks = [report.cost_rows(found)] if kind == "csv" else report.table(found)
        return write(blocks, kind, language.current())

    _emit(found, as_text, out)


def _print_roi(comparison: str | None, pricing: Pricing, asked: Returning, out: Output) -> None:
    from assay.analysis.roi import roi
    from assay.report.document import write
    from assay.report.views import money as report

    options.refuse("documents_per_query", "prices", "batch", "reference", because="cli.no_effect_in_roi")
    gain = asked.quality(comparison)
    if (asked.costs is None) == (asked.cost_per_query is None):
        raise UsageError(say("cli.cost_one_way"))
    if asked.revenue_per_query is None:
        raise UsageError(say("cli.revenue_needed"))
    if len(pricing.variants) > 1:
        raise UsageError(say("cli.one_variant"))
    found = roi(
        gain, revenue_per_query=asked.revenue_per_query, cost_per_query=asked.cost_per_query, costs=asked.costs,
        queries_per_day=pricing.queries_per_day, fixed_per_day=asked.fixed_per_day, elasticity=asked.elasticity,
        system=asked.system, measure=asked.measure, currency=pricing.currency,
        method="".join(pricing.variants) if asked.costs else "",
    )  # fmt: skip
    _emit(found, lambda kind: write(report.table(found), kind, language.current()), out)


def _emit(found: Costs | Roi, written: Any, out: Output) -> None:
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.results.result import make_result

    warnings = getattr(found, "warnings", ())
    result = make_result(found, command=inputs.command_line(), warnings=warnings)
    out.emit(lambda kind: to_json(result) if kind == "json" else written(kind))
    write_fresh(result, out.report)
