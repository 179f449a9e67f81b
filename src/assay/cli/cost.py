"""`assay cost`: what each method costs per query and per day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import options, places

if TYPE_CHECKING:
    from assay.messages import Lang
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
    from assay.analysis.economics import cost, read_methods

    own, given = read_methods(file) if file is not None else ({}, [])
    given += [_split(text) for text in methods]
    asked = own | {name: value for name, value in settings.items() if value is not None}
    places.check(*(values.get("bench") for _, values in given))
    kind = kind or options.format_for(output, options.FORMATS)
    _report(cost(given, reference=reference, prices=prices, **asked), output=output, kind=kind, lang=lang)


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


def _report(found: Costs, *, output: str | None, kind: str, lang: Lang) -> None:
    from assay.analysis.protocols import load_protocol
    from assay.cli.inputs import command_line
    from assay.report.document import write
    from assay.report.views import money as report

    if kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        options.emit(to_json(make_result(found, command=command_line(), warnings=found.warnings)), output)
    elif kind == "csv":
        options.emit(write([report.cost_rows(found)], "csv", lang), output)
    else:
        options.emit(write(report.costs(found, load_protocol("rerank")), kind, lang), output)  # type: ignore[arg-type]
