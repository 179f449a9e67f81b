"""`assay bench`: latency and throughput of a function, a command or an address."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.analysis.bench import Step
    from assay.messages import Lang
    from assay.results.bench import Bench
    from assay.serving.endpoints import Secret

_HELP = """Measure latency and throughput of TARGET: a function (MODULE:FUNCTION), a reranker of assay run
(rerank:METHOD,KEY=VALUE), an address (http://...) or a command (cmd:'PROGRAM ...', or -- PROGRAM ...).

A function of no argument is just called; one of a query gets queries; one of a query and documents, such as a
reranker, is measured with 20, 50, 100 and 200 candidates. Coroutine functions are awaited. Ctrl-C prints what was
measured. MODULE is imported, from the current folder first: its code runs.

\b
assay bench mymodule:rerank
assay bench rerank:embedding,embedder=minilm
assay bench mymodule:rerank --candidates 50 --runs 400 --reference -o bench.json
assay bench mymodule:search --throughput
assay bench mymodule:search --rate 50 --seconds 60 --threads 4
assay bench http://127.0.0.1:8000/rerank --candidates 50 --key-env RERANK_KEY
assay bench http://127.0.0.1:8000/search --body bodies.jsonl --rate 20,50,100
assay bench --runs 20 -- grep -c '{query}' documents.jsonl
"""


class _BenchCommand(click.Command):
    """A command that leaves alone what follows `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta["words"], args = args[place + 1 :], args[:place]
        return super().parse_args(ctx, args)


@click.command(name="bench", help=_HELP, cls=_BenchCommand)
@click.argument("target", required=False)
@click.option("--runs", type=click.IntRange(min=1), help="Calls of each load.  [default: 100, unless --seconds]")
@click.option("--seconds", type=float, help="Length of each load, instead of a number of calls.")
@click.option("--throughput", is_flag=True, help="1 and 4 threads for 60 seconds each, unless said otherwise.")
@click.option("--threads", metavar="N,N,...", help="How many calls at once.  [default: 1]")
@click.option("--rate", metavar="R,R,...", help="Open loop: calls come so many a second, done or not.")
@click.option(
    "--arrivals", type=click.Choice(["constant", "poisson"]), default="constant", show_default=True,
    help="Of an open loop: evenly spaced, or at random.",
)  # fmt: skip
@click.option("--candidates", metavar="N,N,...", help="Documents a call.  [default: 20,50,100,200 for rerankers]")
@click.option("--queries", metavar="FILE", help="Queries with their texts; the bundled ones unless given.")
@click.option("--documents", metavar="FILE", help="Documents with their texts; the bundled ones unless given.")
@click.option("--pass", "passing", type=click.Choice(["nothing", "query", "candidates"]), help="What a function takes.")
@click.option("--warmup", type=click.IntRange(min=0), default=5, show_default=True, help="Calls before each load.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds for a request or a command.")
@click.option(
    "--http-method",
    "method",
    default="",
    metavar="METHOD",
    help="Of an address.  [default: POST with a body, else GET]",
)
@click.option("--body", metavar="FILE", help="JSON to send, or one a line; {query} and {documents} are filled in.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header that is no secret.")
@click.option("--header-env", multiple=True, metavar="NAME=VARIABLE", help="A header from the environment.")
@click.option(
    "--key-env", default="", metavar="NAME", help="Environment variable with the key (Authorization: Bearer)."
)
@click.option("--reference", is_flag=True, help="Show published figures of rerankers beside the measured ones.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of random arrivals.")
@options.output
def command(*, target: str | None, output: str | None, kind: str | None, lang: Lang, **rest: Any) -> None:
    """Measure and print."""
    import gc

    from assay.errors import UsageError

    gc.enable()  # a target is measured with the pauses that it has in service

    words = click.get_current_context().meta.get("words")
    if (target is None) == (words is None):
        raise UsageError("give one target: MODULE:FUNCTION, http://..., cmd:'PROGRAM ...' or -- PROGRAM ...")
    reference = rest.pop("reference")
    kind = kind or options.format_for(output, options.FORMATS)
    options.check_folder(output)
    found = _measured(words if target is None else target, rest)
    if not any(load.count for load in found.loads):
        _nothing(found)
    _report(found, reference=reference, output=output, kind=kind, lang=lang)


def _nothing(found: Bench) -> None:
    """Say why there is nothing to show."""
    from assay.errors import UsageError

    if found.interrupted:
        raise click.Abort
    errors = {kind: n for load in found.loads for kind, n in load.errors.items()}
    said = [text for load in found.loads for text in load.examples.values() if text]
    counted = ", ".join(f"{kind} {n}" for kind, n in errors.items()) or "none was made"
    raise UsageError(f"no call succeeded: {counted}" + (f" ({said[0]})" if said else ""))


def _measured(target: Any, rest: dict[str, Any]) -> Bench:
    from assay.analysis.bench import bench
    from assay.formats.documents import read_documents
    from assay.formats.queries import read_queries

    if rest.pop("throughput"):
        rest["threads"] = rest["threads"] or "1,4"
        rest["seconds"] = rest["seconds"] or (60.0 if rest["runs"] is None else None)
    queries, documents, headers = rest.pop("queries"), rest.pop("documents"), _headers(rest)
    try:
        return bench(
            target,
            threads=_numbers(rest.pop("threads"), "--threads", int),
            candidates=_numbers(rest.pop("candidates"), "--candidates", int),
            rate=_numbers(rest.pop("rate"), "--rate", float),
            queries=None if queries is None else list(read_queries(queries).texts().values()),
            documents=None if documents is None else list(read_documents(documents).values()),
            bodies=_bodies(rest.pop("body")),
            headers=headers,
            confidence_level=1 - rest.pop("alpha"),
            watch=_bar,
            **rest,
        )
    finally:
        if sys.stderr.isatty():
            click.echo("\r" + " " * 100 + "\r", err=True, nl=False)


def _numbers(text: str | None, option: str, kind: type) -> list[Any] | None:
    """Read 1,2,4 or, of whole numbers, 1-4."""
    from assay.errors import UsageError

    if text is None:
        return None
    found: list[Any] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            whole = kind is int and dash and first
            found += range(int(first), int(last) + 1) if whole else [kind(part)]
    except ValueError:
        found = []
    if not found:
        raise UsageError(f"{option} {text}: expected numbers such as 1,2,4")
    return found


def _bodies(place: str | None) -> tuple[Any, ...]:
    if place is None:
        return ()
    from assay.formats.files import Input
    from assay.serving.endpoints import read_bodies

    return read_bodies(Input.at(place).text, place)


def _headers(rest: dict[str, Any]) -> Mapping[str, Secret | str]:
    """Collect headers; those from the environment are secrets."""
    from assay.errors import UsageError
    from assay.serving.endpoints import Secret, secret_from

    found: dict[str, Secret | str] = {}
    for text in rest.pop("headers"):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError("--header: expected NAME=VALUE")
        found[name] = value
    for text in rest.pop("header_env"):
        name, equals, variable = text.partition("=")
        if not equals or not name or not variable:
            raise UsageError("--header-env: expected NAME=VARIABLE, the name of an environment variable")
        found[name] = secret_from(variable)
    key = rest.pop("key_env")
    if key:
        found["Authorization"] = Secret(secret_from(key).key, "Bearer")
    return found


def _bar(step: Step) -> Callable[[int, float], None]:
    """Show how far a load is, on a terminal only."""
    plan, label = step.plan, f"load {step.number + 1}/{step.of}"
    if step.candidates is not None:
        label += f", {step.candidates} candidates"
    label += f", {plan.threads} at once" if plan.threads > 1 else ""

    def show(done: int, seconds: float) -> None:
        if not sys.stderr.isatty():
            return
        timed = plan.seconds is not None and (plan.runs is None or seconds / plan.seconds > done / plan.runs)
        share = min(1.0, seconds / plan.seconds if timed and plan.seconds else done / plan.limit)
        filled = int(24 * share)
        ends = f"{seconds:.0f}/{plan.seconds:g} s, {done:,} calls" if timed else f"{done:,}/{plan.limit:,} calls"
        click.echo(f"\r{label} [{'#' * filled}{'.' * (24 - filled)}] {ends}"[:100].ljust(100), err=True, nl=False)

    return show


def _report(found: Bench, *, reference: bool, output: str | None, kind: str, lang: Lang) -> None:
    from assay.analysis.protocols import load_protocol
    from assay.report.document import write
    from assay.report.views import bench as serving

    if kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        # Not the command line as it was typed: it may hold an address with a secret in it.
        result = make_result(found, command=f"assay bench {found.target}", warnings=found.warnings)
        options.emit(to_json(result), output)
    elif kind == "csv":
        options.emit(write([serving.bench_rows(found)], "csv", lang), output)
    else:
        rerank = any(load.candidates is not None for load in found.loads)
        blocks = serving.bench(found, reference=reference, protocol=load_protocol("rerank") if rerank else None)
        options.emit(write(blocks, kind, lang), output)  # type: ignore[arg-type]
