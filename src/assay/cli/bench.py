"""`assay bench`: latency and throughput of a function, a command or an address."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import applications, language, options, progress
from assay.cli.applications import AppChoice, AppSetting
from assay.cli.commands import SpokenCommand
from assay.cli.options import Output
from assay.cli.parameters import (
    NUMBER,
    POSITIVE,
    SHARE,
    WHOLE,
    Number,
    WordChoice,
    add_argument,
    add_option,
    option,
    takes,
)
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.results.bench import Bench
    from assay.serving.endpoints import Secret

_EXAMPLES = (
    "assay bench mymodule:rerank",
    "assay bench rerank:embedding,embedder=minilm",
    "assay bench mymodule:rerank --candidates 50 --runs 400 --reference -o bench.json",
    "assay bench mymodule:search --throughput",
    "assay bench mymodule:search --rate 50 --seconds 60 --threads 4",
    "assay bench http://127.0.0.1:8000/rerank --candidates 50 --key-env RERANK_KEY",
    "assay bench http://127.0.0.1:8000/search --body bodies.jsonl --ramp 5:80x5 --seconds 30",
    "assay bench http://127.0.0.1:8000/search --rate 20 --fail-over p95=300 --max-errors 0.01",
    "assay bench http://127.0.0.1:8000/v1/chat/completions --stream --body chat.json --fail-over first_token_p95=500",
    "assay bench --app http://127.0.0.1:8000/ask --queries questions.jsonl --threads 1,4 --seconds 30",
    "assay bench --runs 20 -- echo '{query}'",
)


class _BenchCommand(SpokenCommand):
    """A command that leaves alone what follows `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta["words"], args = args[place + 1 :], args[:place]
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Loading:
    """Under which loads a target is measured."""

    runs: int | None = option("--runs", type=POSITIVE)
    seconds: float | None = option("--seconds", type=NUMBER)
    throughput: bool = option("--throughput", default=False, is_flag=True)
    threads: str | None = option("--threads", metavar="N,N,...")
    rate: str | None = option("--rate", metavar="R,R,...")
    ramp: str | None = option("--ramp", metavar="FIRST:LASTxSTAGES")
    arrivals: str = option(
        "--arrivals", default="constant", show_default=True, type=WordChoice(["constant", "poisson"])
    )
    candidates: str | None = option("--candidates", metavar="N,N,...")
    warmup: int = option("--warmup", default=5, show_default=True, type=Number(least=0, whole=True))
    timeout: float = option("--timeout", default=30.0, show_default=True, type=NUMBER)
    alpha: float = option("--alpha", default=0.05, show_default=True, type=SHARE)
    seed: int = option("--seed", default=0, show_default=True, type=WHOLE)

    def settings(self) -> dict[str, Any]:
        """What `bench` takes."""
        plain = ("runs", "seconds", "throughput", "arrivals", "warmup", "timeout", "seed")
        if self.rate is not None and self.ramp is not None:
            raise UsageError(say("cli.rate_or_ramp"))
        rates = options.number_list(self.rate, "--rate", float) if self.ramp is None else _stages(self.ramp)
        return {
            **{name: getattr(self, name) for name in plain},
            "threads": options.number_list(self.threads, "--threads"),
            "candidates": options.number_list(self.candidates, "--candidates"),
            "rate": rates,
            "ramp": self.ramp is not None,
            "confidence_level": 1 - self.alpha,
        }


@dataclass(frozen=True)
class Thresholds:
    """What must not be passed."""

    fail_over: tuple[str, ...] = option(
        "--fail-over", default=(), multiple=True, metavar="NUMBER=LIMIT", section="limits"
    )
    max_errors: float = option(
        "--max-errors", default=0.0, show_default=True, type=NUMBER, metavar="SHARE", section="limits"
    )
    strict: bool = option("--strict", default=False, is_flag=True, section="limits")

    def settings(self) -> dict[str, Any]:
        """What `bench` takes."""
        return {"limits": options.numbers(self.fail_over, "--fail-over"), "max_errors": self.max_errors}


@dataclass(frozen=True)
class RequestOptions:
    """What a target is asked with."""

    queries: str | None = option("--queries", metavar="FILE", section="request")
    documents: str | None = option("--documents", metavar="FILE", section="request")
    passing: str | None = option("--pass", type=WordChoice(["nothing", "query", "candidates"]), section="request")
    method: str = option("--http-method", default="", metavar="METHOD", section="request")
    body: str | None = option("--body", metavar="FILE", section="request")
    stream: bool = option("--stream", default=False, is_flag=True, section="request")
    headers: tuple[str, ...] = option("--header", default=(), multiple=True, metavar="NAME=VALUE", section="request")
    header_env: tuple[str, ...] = option(
        "--header-env", default=(), multiple=True, metavar="NAME=VARIABLE", section="request"
    )
    key_env: str = option("--key-env", default="", metavar="NAME", section="request")

    def settings(self) -> dict[str, Any]:
        """What `bench` takes."""
        from assay.formats.documents import read_documents
        from assay.formats.queries import read_queries

        return {
            "queries": None if self.queries is None else list(read_queries(self.queries).texts().values()),
            "documents": None if self.documents is None else list(read_documents(self.documents).values()),
            "passing": self.passing,
            "method": self.method,
            "bodies": _bodies(self.body),
            "stream": self.stream,
            "headers": self._headers(),
        }

    def _headers(self) -> Mapping[str, Secret | str]:
        """Collect headers; those from the environment are secrets."""
        from assay.serving.endpoints import Secret, secret_from

        found: dict[str, Secret | str] = {}
        for text in self.headers:
            name, equals, value = text.partition("=")
            if not equals or not name:
                raise UsageError(say("cli.header_form"))
            found[name] = value
        for text in self.header_env:
            name, equals, variable = text.partition("=")
            if not equals or not name or not variable:
                raise UsageError(say("cli.header_env_form"))
            found[name] = secret_from(variable)
        if self.key_env:
            found["Authorization"] = Secret(secret_from(self.key_env).key, "Bearer")
        return found


@click.command(name="bench", cls=_BenchCommand, examples=_EXAMPLES)
@add_argument("target", required=False, metavar="TARGET")
@takes(app=AppChoice, setting=AppSetting, loading=Loading, limits=Thresholds, request=RequestOptions)
@add_option("--reference", is_flag=True)
@takes(out=Output)
def command(
    *, target: str | None, app: AppChoice, setting: AppSetting, loading: Loading, limits: Thresholds,
    request: RequestOptions, reference: bool, out: Output,
) -> None:  # fmt: skip
    """Measure and print; the exit code is 1 when calls failed or a limit is passed."""
    import gc

    from assay.analysis.bench import bench, check_answered

    gc.enable()  # a target is measured with the pauses that it has in service
    words = click.get_current_context().meta.get("words")
    if [target, words, app.app].count(None) != 2:  # noqa: PLR2004 - one of three
        raise UsageError(say("cli.one_target"))
    out.check()
    settings = {**loading.settings(), **limits.settings(), **request.settings()}
    if app.app is not None:
        from assay.formats.app_settings import find_application

        options.refuse("passing", "method", "body", because="cli.no_effect_with_app")
        target, told, _ = find_application(app.app, applications.read_settings(setting.settings))
        settings["app"] = told
    with progress.loads() as watch:
        found = bench(words if target is None else target, watch=watch, **settings)
    if found.interrupted and not any(load.count for load in found.loads):
        raise click.Abort
    check_answered(found)
    _report(found, out, reference=reference)
    if not found.passes(strict=limits.strict):
        sys.exit(1)


def _stages(text: str) -> list[float]:
    """Read FIRST:LASTxSTAGES."""
    from assay.analysis.bench import ramp_rates

    first, _, rest = text.partition(":")
    last, _, stages = rest.partition("x")
    try:
        return ramp_rates(float(first), float(last), int(stages))
    except ValueError:
        raise UsageError(say("cli.ramp_form", text=text)) from None


def _bodies(place: str | None) -> tuple[Any, ...]:
    if place is None:
        return ()
    from assay.formats.files import Input
    from assay.serving.endpoints import read_bodies

    return read_bodies(Input.at(place).text, place)


def _report(found: Bench, out: Output, *, reference: bool) -> None:
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import bench as serving
    from assay.results.result import make_result

    # Not the command line as it was typed: it may hold an address with a secret in it.
    result = make_result(found, command=f"assay bench {found.target}", warnings=found.warnings)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        if kind == "csv":
            return write([serving.bench_rows(found)], "csv", language.current())
        return write(serving.table(found, reference=reference), kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)
