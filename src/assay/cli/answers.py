"""`assay answers`: how good the answers of a RAG system are, and which sentence is the problem."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from assay.cli import applications, asking, inputs, language, options, progress
from assay.cli.applications import AppChoice, AppRound, AppSetting
from assay.cli.asking import Asking
from assay.cli.commands import command as make_command
from assay.cli.engines import EngineOptions, is_folder
from assay.cli.options import Output
from assay.cli.parameters import POSITIVE, WordChoice, add_argument, add_option, list_typed, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say
from assay.report.views.judging import money, prices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.analysis.answer_plan import AnswerPlan
    from assay.data.samples import Samples
    from assay.data.scores import Scores
    from assay.llm.client import Client
    from assay.llm.progress import Progress
    from assay.results.answers import AnswerDetails

_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1"
_EXAMPLES = (
    "assay answers samples.jsonl",
    "assay answers samples.csv -m faithfulness,token_f1 --map question=my_column",
    f"assay answers samples.jsonl --judge qwen-plus --url {_URL} --dry-run",
    f"assay answers samples.jsonl --judge qwen-plus --url {_URL} --max-cost 1 -o result.json",
    f"assay answers samples.jsonl -m tone.md --judge qwen-plus --url {_URL}",
    "assay answers --app http://127.0.0.1:8000/ask --queries questions.jsonl -m faithfulness -o result.json",
    "assay answers samples.jsonl --nuggets nuggets.jsonl -m nugget_recall",
    "assay answers before.jsonl after=new.jsonl -o result.json --report answers.html",
    "assay answers s3a://lake/samples/ --engine spark --method words -o scores/",
    "assay compare before.json after.json -m faithfulness",
)


@dataclass(frozen=True)
class JudgingOptions:
    """How answers are judged."""

    measures: tuple[str, ...] = option("-m", "--measure", default=(), multiple=True, metavar="MEASURE")
    method: str | None = option("--method", type=WordChoice(["auto", "s4", "llm", "embedding", "words"]))
    judge: str | None = option("--judge", envvar="ASSAY_JUDGE", metavar="NAME[@URL]")
    embedder: str = option("--embedder", default="auto", show_default=True, metavar="NAME|FOLDER|NAME@URL")
    text_lang: str | None = option("--text-lang", type=WordChoice(["en", "zh"]))
    protocol: str = option("--protocol", default="answers", show_default=True, metavar="NAME|FILE")
    mix: bool = option("--mix", default=False, is_flag=True)
    cluster: str | None = option("--cluster", metavar="COLUMN|FILE[:COLUMN]")
    nuggets: str | None = option("--nuggets", metavar="FILE")
    max_chars: int = option("--max-chars", default=60_000, show_default=True, type=POSITIVE)


@make_command("answers", _EXAMPLES)
@add_argument("samples", nargs=-1, metavar="[NAME=]SAMPLES...")
@takes(how=JudgingOptions, app=AppChoice)
@add_option("--queries", metavar="FILE", only="app", section="app")
@takes(setting=AppSetting, again=AppRound)
@add_option("--map", "columns", multiple=True, metavar="FIELD=COLUMN")
@add_option("--input-format", metavar="FORMAT")
@options.encoding
@takes(ask=Asking)
@add_option("--per-sample", type=OUTPUT, metavar="FILE", section="output")
@takes(where=EngineOptions, out=Output)
def command(
    *, samples: tuple[str, ...], how: JudgingOptions, app: AppChoice, queries: str | None, setting: AppSetting,
    again: AppRound, columns: tuple[str, ...], input_format: str | None, ask: Asking, per_sample: str | None,
    where: EngineOptions, out: Output,
) -> None:  # fmt: skip
    """Evaluate and print."""
    import gc

    from assay.analysis.answer_plan import plan_answers
    from assay.analysis.answers import answer_details, score_answers, score_systems
    from assay.results.codec import write_json

    gc.enable()  # a judge makes cycles
    if where.is_asked_for([path for _, path in map(options.split_name, samples)], out.output):
        _score_tables(samples, how, columns=columns, input_format=input_format, where=where, out=out)
        return
    _check_place(per_sample)
    out.check()
    _check_source(app.app, samples)
    if app.app is None:
        name, read = _read(samples, columns, input_format)
    elif ask.dry_run:
        _tell_plan(app.app, queries, setting, ask.cache, fresh=again.fresh)
        return
    else:
        name = "app"
        read = applications.ask_samples(app.app, queries, setting.settings, ask.cache, fresh=again.fresh)
    client, embedder = _client(how, ask), _embedder(how, ask)
    last: list[Progress] = []
    try:
        with progress.calls() as show:
            plan = plan_answers(
                read, list(how.measures) or None, method=how.method, judge=client,  # type: ignore[arg-type]
                embedder=embedder, text_lang=how.text_lang, protocol=how.protocol, name=name,  # type: ignore[arg-type]
                mix=how.mix, cluster=_clusters(how.cluster), nuggets=how.nuggets, max_chars=how.max_chars,
                progress=_tracker(how.judge, last, show), deadline=ask.deadline,
            )  # fmt: skip
            if client is not None and plan.here.judge is None and how.method in {"words", "embedding"}:
                raise UsageError(say("cli.judge_unused", method=how.method))
            if ask.dry_run:
                _estimate(plan, client, how, ask)
                return
            several = len(read.systems) > 1
            found = list(score_systems(plan).values()) if several else [score_answers(plan)]
    finally:
        for one in (client, embedder):
            if not isinstance(one, str) and one is not None:
                one.close()
    part = answer_details(found)
    if per_sample:
        options.save("".join(write_json(one.to_row(), indent=None) + "\n" for one in part.samples), per_sample)
    _emit(found, part, plan.name, out)
    options.note([say("doubt.of_one", system=how.judge, text=money(now)) for now in last])
    if any(scores.failed for scores in found):
        sys.exit(1)


def _tell_plan(app: str, queries: str | None, setting: AppSetting, cache: str | None, *, fresh: bool) -> None:
    """Say how many questions an application would be asked."""
    from assay.analysis.applications import plan_application

    place, settings = applications.need_queries(queries), applications.read_settings(setting.settings)
    applications.tell_plan([plan_application(app, place, settings=settings, cache=cache, fresh=fresh)])


def _score_tables(
    samples: tuple[str, ...], how: JudgingOptions, *, columns: tuple[str, ...], input_format: str | None,
    where: EngineOptions, out: Output,
) -> None:  # fmt: skip
    """Evaluate samples with an engine, and print."""
    from assay.analysis.answer_tables import answer_tables, details_of

    options.refuse(
        "app", "judge", "per_sample", "mix", "text_lang", "max_chars", "nuggets", because="cli.no_engine_for"
    )
    if len(samples) != 1:
        raise UsageError(say("an engine takes one table of samples, in which a column names the systems"))
    ((name, place),) = map(options.split_name, samples)
    folder = out.output if is_folder(out.output) else None
    found = list(
        answer_tables(
            place, list(how.measures) or None, engine=where.start([place]), method=how.method,  # type: ignore[arg-type]
            embedder=how.embedder, columns=dict(options.pair(text, "--map", "FIELD=COLUMN") for text in columns),
            protocol=how.protocol, cluster=_clusters(how.cluster), name=name, folder=folder, parts=where.parts,
            lines=None if input_format is None else input_format == "jsonl", command=inputs.command_line(),
        ).values()
    )  # fmt: skip
    _emit(found, details_of(found), name or "", replace(out, output=None) if folder else out, bare=True)
    if folder:
        options.tell_written(folder)
    if any(scores.failed for scores in found):
        sys.exit(1)


def _clusters(told: str | None) -> str | dict[str, str] | None:
    """A column of the samples, or what a file says of each."""
    from pathlib import Path

    from assay.formats.queries import read_clusters

    is_file = told is not None and (Path(told).exists() or Path(told.rpartition(":")[0]).is_file())
    return read_clusters(told) if told is not None and is_file else told


def _check_source(app: str | None, samples: tuple[str, ...]) -> None:
    if (app is None) == (not samples):
        raise UsageError(say("cli.samples_or_app") if samples else say("usage.missing_argument", name="SAMPLES"))


def _check_place(place: str | None) -> None:
    """Refuse what cannot be written before anything is paid for."""
    from pathlib import Path

    if place is None:
        return
    if Path(place).suffix.lower() not in {".jsonl", ".ndjson"}:
        raise UsageError(say("cli.per_sample", place=place))
    options.check_folder(place)


def _read(places: tuple[str, ...], columns: tuple[str, ...], input_format: str | None) -> tuple[str | None, Samples]:
    """Read the samples, and the name that one file was given; several files are systems of their own."""
    from assay.formats.files import system_name
    from assay.formats.samples import join_samples

    asked = dict(options.pair(text, "--map", "FIELD=COLUMN") for text in columns)
    options.read_once(places)
    parts: dict[str, Samples] = {}
    for name, path in map(options.split_name, places):
        read = _file(path, asked, input_format)
        if name is not None and len(read.systems) > 1:
            raise UsageError(say("cli.one_name", place=path, n=len(read.systems)))
        if len(places) == 1:
            return name, read
        several = read.systems if len(read.systems) > 1 else ()
        for own in several or (name or system_name(path),):
            if own in parts:
                raise UsageError(say("cli.same_system", name=own))
            parts[own] = read.of(own) if several else read
    return None, join_samples(parts)


def _file(path: str, asked: dict[str, str], input_format: str | None) -> Samples:
    from assay.formats.samples import read_samples

    if inputs.is_result(path):
        raise UsageError(say("cli.result_not_samples", place=path))
    return read_samples(path, kind=input_format, columns=asked)


def _client(how: JudgingOptions, ask: Asking) -> Client | None:
    if not how.judge:
        served = "@" in (how.embedder or "")  # an embedder on a server takes all but these three
        asks = (
            {"dry_run", "cache"} if list_typed("app") else set()
        )  # of an application, these say what they say of a judge
        names = ("max_cost", "dry_run", "url", *(() if served else (one.name for one in fields(ask))))
        paid = list_typed(*(one for one in names if one not in asks))
        if paid:
            raise UsageError(say("cli.no_judge", option=paid[0]))
        return None
    return next(
        iter(asking.clients([how.judge], ask, beside=[how.embedder] if _is_served(how.embedder) else []).values())
    )


def _embedder(how: JudgingOptions, ask: Asking) -> Client | str:
    """A model on a server, or the name of one on this machine."""
    if not _is_served(how.embedder):
        return how.embedder
    beside = [how.judge] if how.judge else []
    return next(iter(asking.clients([how.embedder], ask.unpaid(), beside=beside).values()))


def _is_served(embedder: str) -> bool:
    return "@" in embedder and "://" in embedder


def _tracker(name: str | None, last: list[Progress], show: Callable[[str, Progress], None]) -> Any:
    """Show progress, and keep the last of it for the bill."""
    if not name:
        return None

    def note(now: Progress) -> None:
        last[:] = [now]
        show(name, now)

    return note


def _estimate(plan: AnswerPlan, client: Client | None, how: JudgingOptions, ask: Asking) -> None:
    judge = plan.here.judge
    if judge is None or not judge.is_asked or client is None:
        options.tell_lines([say("cli.nothing_to_ask")])
        return
    found = client.estimate(one.request for _, _, one in judge.requests(plan.samples.rows))
    options.tell_lines([
        say("answers.plan", samples=len(plan.samples), judges=how.judge, calls=found.calls, cached=found.cached),
        say("judge.tokens", prompt=found.prompt_tokens, completion=found.completion_tokens),
        *prices([found], ask.max_cost),
    ])  # fmt: skip


def _emit(found: Sequence[Scores], part: AnswerDetails, name: str, out: Output, *, bare: bool = False) -> None:
    """Print means and what was found about the samples, and write them; `bare` results hold scores alone."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import answers as shown
    from assay.report.views.scores import stamp
    from assay.results.result import make_result

    lang = language.current()
    told = list(dict.fromkeys(text for scores in found for text in (*_own_warnings(scores, found), *scores.notes)))
    if bare:
        result = make_result(systems=found, command=inputs.command_line(), warnings=told)
    else:
        result = make_result(part, command=inputs.command_line(), warnings=told)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        if kind == "csv":
            return write([shown.values(found)], "csv", lang, stamp=stamp(found))
        return write(shown.table(part, name=name), kind, lang)

    out.emit(as_text)
    write_fresh(result, out.report)  # last, so that the findings are saved even if the page fails


def _own_warnings(scores: Scores, found: Sequence[Scores]) -> list[str]:
    """Warnings of one system, under its name where they do not hold for all."""
    shared = [text for text in scores.warnings if all(text in other.warnings for other in found)]
    return [text if text in shared else say("doubt.of_one", system=scores.name, text=text) for text in scores.warnings]
