"""`assay judge`: judgments by a language model, within a budget."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import asking, inputs, language, options, progress, reporting
from assay.cli.asking import Asking
from assay.cli.commands import command as make_command
from assay.cli.options import KINDS, Output
from assay.cli.parameters import POSITIVE, Number, WordChoice, add_argument, add_option, list_typed, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say, tell

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.judge.relevance import Pair
    from assay.results.judging import Judging
    from assay.results.panel import Panel

_URL = "--url https://dashscope.aliyuncs.com/compatible-mode/v1"
_EXAMPLES = (
    f"assay judge bm25.run --queries queries.jsonl --documents docs.jsonl --judge qwen-plus {_URL} --dry-run",
    f"assay judge --pairs pairs.jsonl --judge qwen-plus {_URL} --max-cost 1 -o judged.qrels",
    "assay judge --pairs pairs.jsonl --judge qwen3:8b --url http://127.0.0.1:11434/v1 -o judged.qrels",
    "assay judge --pairs pairs.jsonl --judge a --judge b --repeats 3 --combine mean -o judged.jsonl",
    f"assay judge a.run b.run --queries queries.jsonl --documents docs.jsonl --judge a --judge b {_URL} -o panel.qrels",
    f"assay judge --pairs pairs.jsonl --judge a --judge b {_URL} --repeats 3 --labels human.qrels -o panel.qrels",
    f"assay judge --prefer before.jsonl new.jsonl --judge a {_URL} -o preferences.jsonl",
)


@dataclass(frozen=True)
class PairOptions:
    """What is judged."""

    queries: str | None = option("--queries", metavar="FILE")
    documents: str | None = option("--documents", metavar="FILE|DIR")
    depth: int = option("--depth", default=10, show_default=True, type=POSITIVE)
    pairs: str | None = option("--pairs", metavar="FILE")
    known: str | None = option("--known", metavar="FILE")


_OF_PAIRS = (
    "queries", "documents", "depth", "pairs", "known", "scale", "repeats", "temperature", "weighted", "combine",
    "labels", "measures", "details",
)  # fmt: skip


@dataclass(frozen=True)
class Prompting:
    """How a judge is asked."""

    scale: tuple[str, ...] = option("--scale", default=("0-3",), show_default=True, multiple=True, metavar="NAME|FILE")
    text_lang: str = option("--text-lang", default="en", show_default=True, type=WordChoice(["en", "zh"]))
    prompt: tuple[str, ...] = option("--prompt", default=("relevance",), multiple=True, metavar="FILE")
    repeats: int = option("--repeats", default=1, show_default=True, type=POSITIVE)
    temperature: float | None = option("--temperature", type=Number(least=0, most=2))
    weighted: bool = option("--weighted", default=False, is_flag=True)
    max_chars: int = option("--max-chars", default=20_000, show_default=True, type=POSITIVE)

    def settings(self) -> dict[str, Any]:
        """What judging takes."""
        return dict(vars(self))


@dataclass(frozen=True)
class Assessing:
    """How several votes become one, and what is said about them."""

    combine: str = option(
        "--combine", default="vote", show_default=True, type=WordChoice(["vote", "median", "mean", "calibrated"])
    )
    labels: str | None = option("--labels", metavar="FILE")
    measures: tuple[str, ...] = option("-m", "--measure", default=(), multiple=True, metavar="MEASURE")

    def is_asked(self, found: Judging) -> bool:
        """Return whether there is a panel to speak of: several judges or repeats, or people to compare with."""
        return len(found.judges) > 1 or found.repeats > 1 or bool(self.labels or self.measures)


@dataclass(frozen=True)
class Printing:
    """What is printed, and a page; the output are judgments."""

    kind: str | None = option("--format", type=WordChoice(KINDS), section="output")
    report: str | None = option("--report", type=OUTPUT, metavar="FILE", section="output")
    quiet: bool = option("-q", "--quiet", default=False, is_flag=True, callback=options.keep_quiet, section="output")


@make_command("judge", _EXAMPLES)
@add_argument("runs", nargs=-1, metavar="[RUN...]")
@add_option("--prefer", is_flag=True)
@takes(what=PairOptions)
@add_option("--judge", "models", multiple=True, envvar=["ASSAY_MODEL", "ASSAY_JUDGE"], metavar="NAME[@URL]",
            former=["--model"])  # fmt: skip
@takes(how=Prompting, assess=Assessing)
@options.encoding
@takes(ask=Asking)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@add_option("--details", type=OUTPUT, metavar="FILE", section="output")
@takes(printing=Printing)
def command(
    *, runs: tuple[str, ...], what: PairOptions, models: tuple[str, ...], how: Prompting, assess: Assessing,
    ask: Asking, output: str | None, details: str | None, printing: Printing, prefer: bool,
) -> None:  # fmt: skip
    """Judge, write, and say how far several judges agree."""
    import gc

    from assay.analysis.judging import estimate_judging, judge_pairs
    from assay.formats.documents import read_drawn
    from assay.formats.writing import check_place
    from assay.report.views import judging

    gc.enable()  # a long run makes cycles
    if prefer:
        _prefer(runs, models, how, ask=ask, output=output, printing=printing)
        return
    if output is None and not ask.dry_run:
        raise UsageError(say("cli.judge_where"))
    if assess.measures and not runs:
        raise UsageError(say("cli.judge_measures"))
    read = inputs.read_runs(runs)
    pairs = _pairs(read, what)
    labels = _labels(assess)
    if output is not None:
        ids = (one for pair in pairs for one in (pair.query_id, pair.doc_id))
        check_place(output, ids, sampled=bool(what.pairs) and bool(read_drawn(what.pairs or "")))
    options.check_folder(details)
    clients = asking.clients(models, ask)
    try:
        if ask.dry_run:
            plan = estimate_judging(pairs, judge=clients, **how.settings())
            options.tell_lines(judging.plan(plan, ask.max_cost))
            return
        with progress.calls() as show:
            found = judge_pairs(
                pairs, judge=clients, sample=what.pairs, **how.settings(), combine=assess.combine,  # type: ignore[arg-type]
                labels=labels if assess.combine == "calibrated" else None, deadline=ask.deadline, progress=show,
            )  # fmt: skip
    finally:
        for client in clients.values():
            client.close()
    assert output is not None
    _write(found, output, details)
    options.note(judging.summary(found, resumable=not ask.no_cache))
    _print(found, _panel(found, read, what, assess, labels), printing)
    if not found.complete:
        sys.exit(1)


def _prefer(
    places: tuple[str, ...], models: tuple[str, ...], how: Prompting, *, ask: Asking, output: str | None,
    printing: Printing,
) -> None:  # fmt: skip
    """Ask about answers two by two instead of pairs."""
    from assay.cli.judge_prefer import ask_and_print

    options.refuse(*_OF_PAIRS, because="cli.no_effect_with_prefer")
    if len(how.prompt) > 1:
        raise UsageError(say("cli.prefer_one_prompt"))
    chosen = how.prompt[0] if list_typed("prompt") else "preference"
    settings = {"text_lang": how.text_lang, "prompt": chosen, "max_chars": how.max_chars}
    out = Output(kind=printing.kind, report=printing.report, quiet=printing.quiet)
    ask_and_print(places, models, settings, ask=ask, output=output, out=out)


def _labels(assess: Assessing) -> Judgments | None:
    """Read people's labels before anything is paid; calibrated grades cannot do without."""
    from assay.formats.reading import read_judgments

    if assess.combine == "calibrated" and not assess.labels:
        raise UsageError(say("cli.judge_labels"))
    return read_judgments(assess.labels) if assess.labels else None


def _panel(
    found: Judging, runs: list[Run], what: PairOptions, assess: Assessing, labels: Judgments | None
) -> Panel | None:
    """Say how far the judges agree, where there is something to say about it."""
    from assay.analysis.panel import assess_panel

    if not (assess.is_asked(found) and found.any_graded):
        return None
    return assess_panel(found, runs, list(assess.measures) or None, labels=labels, known=what.known or None)


def _print(found: Judging, panel: Panel | None, printing: Printing) -> None:
    """Print what a panel says, and write its page; of single answers, only what was asked for."""
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import result as view
    from assay.results.result import make_result

    if panel is None and not (printing.kind or printing.report):
        return
    records = [found] if panel is None else [found, panel]
    result = make_result(records, command=inputs.command_line(), warnings=panel.warnings if panel else ())
    shown = panel or found

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        rows = [exact_table(shown.to_rows())] if kind == "csv" else view.table(shown)
        return write(rows, kind, language.current())

    Output(kind=printing.kind, report=printing.report, quiet=printing.quiet).emit(as_text)
    reporting.write_fresh(result, printing.report)


def _pairs(runs: list[Run], what: PairOptions) -> list[Pair]:
    """Read what to judge from runs with texts, or from a file of pairs."""
    from assay.analysis.judging import choose_pairs
    from assay.analysis.pools import pool

    if bool(runs) == bool(what.pairs):
        raise UsageError(say("cli.judge_what"))
    if what.pairs:
        options.refuse("queries", "documents", "depth", because="cli.no_effect_with_pairs")
    if runs and not (what.queries and what.documents):
        raise UsageError(say("cli.judge_texts"))
    given = pool(runs, what.depth) if runs else what.pairs or ()
    return choose_pairs(given, known=what.known or None, queries=what.queries or None, documents=what.documents or None)


def _write(found: Judging, output: str, details: str | None) -> None:
    """Write judgments and every verdict with its reasons; an empty file of judgments would pass for one."""
    from assay.formats.writing import write_verdicts

    if details:
        write_verdicts(found, details)
    if found.any_graded:
        found.save(output)
        wrote = say("cli.wrote_two", place=output, other=details) if details else say("cli.wrote", place=output)
        options.note([wrote])
    else:
        click.echo(f"assay: {tell(found.trouble, language.current())}", err=True)
