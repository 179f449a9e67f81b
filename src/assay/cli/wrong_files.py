"""A file of another kind than a command reads: what it is, and the command that reads it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import split_name
from assay.cli.parameters import Option
from assay.cli.places import is_read
from assay.errors import AssayError, InputError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

# Words of the help for a parameter, names of options: the kinds of files that are right there, or whose mistakes the
# reader explains itself.
_JUDGMENTS = frozenset({"judgments", "records"})
_TRIAL = frozenset({"events", "users", "arms"})
_RIGHT: dict[str, frozenset[str]] = {
    "JUDGMENTS": _JUDGMENTS, "JUDGED": _JUDGMENTS, "HUMAN": _JUDGMENTS, "QRELS": _JUDGMENTS, "--judgments": _JUDGMENTS,
    "--known": _JUDGMENTS, "RUN": frozenset({"run"}), "--run": frozenset({"run"}),
    "RESULT": frozenset({"result"}), "ANSWERS": frozenset({"samples"}),
    "SAMPLES": frozenset({"samples", "result", "traces"}),
    "EVENTS": frozenset({"events", "traces"}), "USERS": _TRIAL, "ARMS": _TRIAL, "EXPERIMENT": frozenset({"experiment"}),
    "COSTS": frozenset({"costs", "result"}), "--costs": frozenset({"costs", "result"}),
    "--rules": frozenset({"gate rules"}), "--queries": frozenset({"queries", "samples", "records"}),
    "--documents": frozenset({"documents", "queries"}), "--weights": frozenset({"weights"}),
    "--labels": frozenset({"labels"}), "--pairs": frozenset({"pairs"}), "--votes": frozenset({"verdicts"}),
    "--prices": frozenset({"prices"}), "--nuggets": frozenset({"nuggets"}),
}  # fmt: skip
# Kinds that a few lines or column names show, and the command that reads them.
_USES = {
    "users": "assay ab analyse {place}",
    "arms": "assay ab analyse {place}",
    "events": "assay ab analyse {place}",
    "traces": "assay log metrics {place}",
    "judgments": "assay evaluate {place} my.run",
    "run": "assay evaluate qrels.txt {place}",
    "records": "assay evaluate {place}",
    "samples": "assay answers {place}",
    "queries": "assay diagnose qrels.txt my.run --queries {place}",
    "documents": "assay report result.json --documents {place}",
    "weights": "assay evaluate qrels.txt my.run --weights {place}",
    "labels": "assay compare qrels.txt a.run b.run --labels {place}",
    "pairs": "assay judge --pairs {place}",
    "verdicts": "assay calibrate judged.qrels human.qrels --votes {place}",
    "result": "assay report {place}",
    "experiment": "assay run {place}",
    "gate rules": "assay gate result.json --rules {place}",
    "costs": "assay cost {place}",
    "prices": "assay cost --prices {place}",
    "rubric": "assay answers samples.jsonl -m {place}",
    "nuggets": "assay answers samples.jsonl --nuggets {place}",
}
_MAKE_RESULTS = frozenset({"users", "arms", "events", "judgments", "run", "records", "samples", "costs"})
_TOML = frozenset({"experiment", "gate rules", "costs", "prices"})
_LINE = re.compile(r"\S+\s+\S+\s+\S+\s+(-?\d+|\d+\s+[-+.\deE]+(\s+\S+)?)\s*")  # of judgments or a run


def explain_wrong_file(error: AssayError, ctx: click.Context) -> AssayError | None:
    """Say which of the files that a failed command was given is of another kind; None where none is, or it is said."""
    for param, place in _files_of(ctx):
        if isinstance(error, InputError) and error.path not in {None, place}:
            continue
        kind, right = _kind_at(place), _right_kinds(param, ctx)
        if kind not in _USES or kind in right or not (isinstance(error, InputError) or kind in _TOML):
            continue
        if right == _RIGHT["RESULT"] or not _is_told(error, kind, place):
            return _explain(place, kind, right)
    return None


def refuse(place: str, kinds: frozenset[str]) -> None:
    """Refuse a file that is surely of one of some kinds, where its reader would take it for something else."""
    kind = _kind_at(place) if Path(place).is_file() else ""
    if kind in kinds:
        raise _explain(place, kind, frozenset())


def _is_told(error: AssayError, kind: str, place: str) -> bool:
    """Return whether an error says already what the file is: readers of judgments and runs know each other."""
    return kind in {"judgments", "run"} and say(f"check.kind_{kind}") in error.message.replace(place, "")


def _files_of(ctx: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        for text in value if isinstance(value, tuple) else (value,):
            if text and is_read(param):
                place = split_name(text)[1]
                if Path(place).is_file():
                    yield param, place


def _right_kinds(param: click.Parameter, ctx: click.Context) -> frozenset[str]:
    """The kinds that belong to a parameter; nearly every one where its help does not say."""
    names = re.findall(r"[A-Z]{2,}", param.metavar or "") + (param.spellings if isinstance(param, Option) else [])
    if "EXPERIMENT" in names and not ctx.params.get("candidates"):
        names.remove("JUDGMENTS")  # which have candidates with them
    if "RUN" in names and ctx.params.get("prefer"):
        names = ["ANSWERS"]  # whose answers are compared
    known = [_RIGHT[name] for name in names if name in _RIGHT]
    return frozenset().union(*known) if known else frozenset(_USES) - {"users", "arms"} - _TOML


def _kind_at(place: str) -> str:
    """What a file surely is; nothing where that is a guess."""
    from assay.analysis.check_files import identify
    from assay.formats.files import Input
    from assay.judge.criteria import read_rubric

    with suppress(AssayError, OSError):
        kind = identify(place)
        if kind == "rubric":
            read_rubric(place)
        if kind in {"records", "queries"} and not _is_sure(Input.at(place).text, kind):
            return ""
        by_line = kind in {"judgments", "run"} and Path(place).suffix not in {".csv", ".jsonl", ".parquet"}
        if not by_line or _LINE.fullmatch(Input.at(place).text.lstrip().partition("\n")[0]):
            return kind
    return ""


def _is_sure(text: str, kind: str) -> bool:
    """Return whether records are objects, and queries have no lists of documents."""
    start = text.lstrip()[:4096]
    return start[:1] in "[{" if kind == "records" else '"retrieved"' not in start


def _explain(place: str, kind: str, right: frozenset[str]) -> InputError:
    told, use = say(f"check.kind_{kind}"), _USES[kind].format(place=place)
    if right == _RIGHT["RESULT"] and kind in _MAKE_RESULTS:
        hint = say("make one: {command}", command=f"{use} -o result.json")
        return InputError(say("this is not a result file but {kind}", kind=told), path=place, hint=hint)
    return InputError(say("this looks like {kind}", kind=told), path=place, hint=say("read by: {command}", command=use))
