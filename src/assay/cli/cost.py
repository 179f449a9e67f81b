"""`assay cost`: what each method costs per query and per day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import options, places

if TYPE_CHECKING:
    from assay.analysis.economics import PricedMethod
    from assay.messages import Lang, Said
    from assay.results.money import Costs

_HELP = """Set methods of reranking side by side: money per query and per day.

A method is a name and what is known of it: price (money per million tokens), or model (its price is looked up) and url;
tokens (of a document, with all that is sent along), output_tokens (of a query), output_price, calls (of a query); or
price_per_search (of up to 100 documents of a call); or machine (its price an hour) with throughput (queries a
second) or bench (a file of assay bench) and threads; or per_query. The same as a TOML FILE: queries_per_day,
documents_per_query, currency, and a table [method.NAME] for each. Without a method, published figures are shown.

\b
assay cost --method cross-encoder,price=0.025,tokens=800 --method listwise,model=qwen-plus,tokens=1000,output_tokens=200
assay cost --method "own GPU,machine=1.20,bench=bench.json" --documents-per-query 50 -o cost.json
assay cost --method service,price_per_search=0.002 --method service-200,price_per_search=0.002,calls=2
assay cost costs.toml --reference
"""
_TEXTS = ("model", "url", "bench")
_SETTINGS = ("queries_per_day", "documents_per_query", "currency")


@click.command(name="cost", help=_HELP)
@click.argument("file", required=False)
@click.option("--method", "methods", multiple=True, metavar="NAME,KEY=VALUE,...", help="A method; may be repeated.")
@click.option("--queries-per-day", type=float, help="[default: 100000]")
@click.option("--documents-per-query", type=float, help="[default: 50]")
@click.option("--currency", help="Of all prices.  [default: USD]")
@click.option("--prices", metavar="FILE", help="Prices of your own (TOML).")
@click.option("--reference", is_flag=True, help="Add published figures of rerankers.")
@options.output
def command(
    *, file: str | None, methods: tuple[str, ...], prices: str | None, reference: bool, output: str | None,
    kind: str | None, lang: Lang, **settings: Any,
) -> None:  # fmt: skip
    """Compute and print."""
    from assay.analysis.economics import cost
    from assay.llm.prices import PriceTable

    given: list[tuple[str, dict[str, Any]]] = []
    asked = {name: value for name, value in settings.items() if value is not None}
    if file is not None:
        own, given = _read(file)
        asked = own | asked
    given += [_split(text) for text in methods]
    places.check(*(values.get("bench") for _, values in given))
    kind = kind or options.format_for(output, options.FORMATS)
    notes: list[Said] = []
    rows = [_method(name, values, float(asked.get("documents_per_query", 50)), notes) for name, values in given]
    table = PriceTable.load(*([prices] if prices else []))
    found = cost(rows, reference=reference or not rows, prices=table, **asked)
    _report(found, notes, output=output, kind=kind, lang=lang)


def _read(place: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Read settings and methods of a TOML file."""
    from assay.errors import InputError, UnknownName
    from assay.formats.files import read_toml

    raw = read_toml(place)
    tables = raw.pop("method", {})
    for key in raw:
        if key not in _SETTINGS:
            raise UnknownName(f"key in {place}", key, [*_SETTINGS, "method"])
    numbers = [raw[name] for name in _SETTINGS[:2] if name in raw]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in numbers):
        raise InputError("queries_per_day and documents_per_query must be numbers", path=place)
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InputError("methods are tables such as [method.cross-encoder]", path=place)
    return raw, [(name, dict(table)) for name, table in tables.items()]


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Read NAME,KEY=VALUE,..."""
    from assay.errors import UsageError

    name, *rest = (part.strip() for part in text.split(","))
    values: dict[str, Any] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not name or "=" in name or not equals or key in values:
            raise UsageError(
                f"--method {text}: expected NAME,KEY=VALUE,... such as cross-encoder,price=0.025,tokens=800"
            )
        try:
            values[key] = value if key in _TEXTS else float(value.replace("_", ""))
        except ValueError:
            raise UsageError(f"--method {text}: {key} must be a number, not {value!r}") from None
    if not name or "=" in name:
        raise UsageError(f"--method {text}: the name comes first, as in cross-encoder,price=0.025,tokens=800")
    return name, values


def _method(name: str, values: dict[str, Any], documents: float, notes: list[Said]) -> PricedMethod:
    """Make a method; a bench file gives its throughput."""
    from assay.analysis.economics import PricedMethod, fastest_load
    from assay.errors import UsageError
    from assay.formats.results import read_record
    from assay.messages import say
    from assay.results.bench import Bench

    place, threads = values.pop("bench", None), values.pop("threads", None)
    if place is not None:
        if "throughput" in values:
            raise UsageError(f"{name}: give throughput or a bench file, not both")
        measured = read_record(str(place), Bench, "bench", hint="make one: assay bench ... -o FILE.json")
        many = None if threads is None else int(threads)
        qps, used = fastest_load(measured, documents=documents, threads=many, place=str(place))
        values["throughput"] = qps
        notes.append(say("cost.measured", method=name, qps=qps, place=str(place), threads=used))
    elif threads is not None:
        raise UsageError(f"{name}: threads says which load of a bench file counts: give bench=FILE too")
    return PricedMethod.of(name, values, also=("bench", "threads"))


def _report(found: Costs, notes: list[Said], *, output: str | None, kind: str, lang: Lang) -> None:
    from dataclasses import replace

    from assay.analysis.protocols import load_protocol
    from assay.cli.inputs import command_line
    from assay.report.document import write
    from assay.report.views import money as report

    found = replace(found, warnings=(*notes, *found.warnings))
    if kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        options.emit(to_json(make_result(found, command=command_line(), warnings=found.warnings)), output)
    elif kind == "csv":
        options.emit(write([report.cost_rows(found)], "csv", lang), output)
    else:
        options.emit(write(report.costs(found, load_protocol("rerank")), kind, lang), output)  # type: ignore[arg-type]
