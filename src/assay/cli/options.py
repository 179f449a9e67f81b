"""Options that several commands share, meaning one thing everywhere, in groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import language
from assay.cli.parameters import NUMBER, Number, WordChoice, add_option, list_typed, option
from assay.cli.places import OUTPUT
from assay.errors import UsageError, clean
from assay.messages import say, tell
from assay.report.document import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FORMATS = {".json": "json", **COMMANDS}
KINDS = ("table", "json", *(name for name in COMMANDS.values() if name != "table"))


def _use_encoding(ctx: click.Context, _param: click.Parameter, name: str | None) -> None:
    """Read files that are not UTF-8 in the named encoding until the command is done."""
    if name is not None:
        from assay.formats.encodings import fallback_encoding

        ctx.with_resource(fallback_encoding(name))


def keep_quiet(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001
    """Remember that nothing is to be printed that was not asked for."""
    ctx.meta[_QUIET] = value
    return value


_QUIET = "assay.quiet"
measures = add_option("-m", "--measure", "measures", multiple=True, metavar="MEASURE")
encoding = add_option("--encoding", metavar="NAME", expose_value=False, callback=_use_encoding)
weights = add_option("--weights", metavar="FILE", section="rules")
quiet = add_option("-q", "--quiet", is_flag=True, expose_value=False, callback=keep_quiet, section="output")


@dataclass(frozen=True)
class PlainRules:
    """Rules that hold for a single list: no folding, no missing queries, ties by document id or as given."""

    protocol: str = option("--protocol", default="trec", show_default=True, metavar="NAME|FILE", section="rules")
    min_relevance: float | str | None = option(
        "--min-relevance", type=Number(word="positive"), metavar="GRADE|positive", section="rules"
    )
    max_grade: float | None = option("--max-grade", type=NUMBER, section="rules")
    ties: str | None = option("--ties", type=WordChoice(["docid", "given"]), section="rules")
    ignore_same_id: bool | None = option("--ignore-same-id", is_flag=True, section="rules")
    input_format: str | None = option("--input-format", metavar="FORMAT", section="rules")
    split: str = option("--split", default="test", show_default=True, metavar="NAME", section="rules")

    def overrides(self) -> dict[str, Any]:
        """The rules that differ from the protocol."""
        return {name: getattr(self, name) for name in ("min_relevance", "max_grade", "ties", "ignore_same_id")}


@dataclass(frozen=True)
class RuleOptions(PlainRules):
    """Rules that override those of a protocol."""

    ties: str | None = option("--ties", type=WordChoice(["docid", "given", "expected"]), section="rules")
    missing: str | None = option("--missing", type=WordChoice(["zero", "skip"]), section="rules")
    undefined: str | None = option("--undefined", type=WordChoice(["zero", "skip"]), section="rules")
    fold: str | None = option("--fold", type=WordChoice(["after", "before"]), section="rules")
    chunk_map: str | None = option("--chunk-map", metavar="FILE|PATTERN", section="rules")
    calibration: str | None = option("--calibration", metavar="FILE", section="rules")
    dedupe: bool = option("--dedupe", default=False, is_flag=True, section="rules")
    cluster: str | None = option("--cluster", metavar="FILE[:COLUMN]", section="rules")

    def overrides(self) -> dict[str, Any]:
        """The rules that differ from the protocol."""
        more = {name: getattr(self, name) for name in ("missing", "undefined", "fold")}
        return {**super().overrides(), **more}


@dataclass(frozen=True)
class RagRules(RuleOptions):
    """The same under the protocol of retrieval for answers, unless another is named."""

    protocol: str = option("--protocol", default="rag", show_default=True, metavar="NAME|FILE", section="rules")


RULES = (*PlainRules.__dataclass_fields__, *RuleOptions.__dataclass_fields__, "weights")
# Rules that the calculation of a single list does not know.
OF_SEVERAL_LISTS = ("missing", "undefined", "fold", "chunk_map", "calibration", "dedupe", "cluster", "weights")


@dataclass(frozen=True)
class Output:
    """Where a result goes: `output` is a file (its suffix sets the format), `kind` what is printed, `report` a page."""

    output: str | None = option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
    kind: str | None = option("--format", type=WordChoice(KINDS), section="output")
    report: str | None = option("--report", type=OUTPUT, metavar="FILE", section="output")
    quiet: bool = option("-q", "--quiet", default=False, is_flag=True, callback=keep_quiet, section="output")

    @property
    def file_format(self) -> str | None:
        """The format of the file: by its suffix; where that is .txt or says nothing, what --format says."""
        if self.output is None or self.output == "-":
            return None
        if self.kind is not None and FORMATS.get(_suffix(self.output), "table") == "table":
            return self.kind
        return format_for(self.output, FORMATS)

    @property
    def format_to_print(self) -> str | None:
        """The format for standard output; with --quiet, only one that --format asks for and no file takes."""
        if self.quiet:
            return None if self.file_format == self.kind else self.kind
        return self.kind or "table"

    def check(self) -> None:
        """Refuse an output that cannot be written, before anything is done."""
        _ = self.file_format
        check_folder(self.output)

    def emit(self, render: Callable[[str], str]) -> None:
        """Write the file and print; `render` gives the text of a format."""
        written, printed = self.file_format, self.format_to_print
        texts = {kind: render(kind) for kind in dict.fromkeys((written, printed)) if kind is not None}
        if written is not None and self.output is not None:
            from assay.formats.files import write_atomically

            write_atomically(self.output, texts[written])
        if printed is not None:
            click.echo(texts[printed], nl=False)
        if written is not None and self.output is not None:
            tell_written(self.output)


def save(text: str, place: str) -> None:
    """Write a file completely or not at all, and say so."""
    from assay.formats.files import write_atomically

    write_atomically(place, text)
    tell_written(place)


def tell_written(place: str) -> None:
    """Say that a file was written."""
    note([say("cli.wrote", place=place)])


def tell_lines(lines: Sequence[str]) -> None:
    """Print messages in the user's language."""
    for line in lines:
        click.echo(tell(line, language.current()))


def note(lines: Sequence[str]) -> None:
    """Print on standard error, in the user's language, what is good to know; with --quiet, nothing."""
    if not is_quiet():
        for line in lines:
            click.echo(clean(tell(line, language.current())), err=True)


def is_quiet() -> bool:
    """Return whether the command that runs was given --quiet."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_QUIET))


def numbers(texts: Sequence[str], name: str) -> dict[str, float]:
    """Read NAME=VALUE texts."""
    found = {}
    for text in texts:
        key, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        found[key] = number
        if not key or not math.isfinite(number):
            raise UsageError(say("cli.expected_number", option=name, text=text))
    return found


def number_list(text: str | None, name: str, kind: type = int) -> list[Any] | None:
    """Read a list such as 1,2,4, or with ranges such as 1-4 of whole numbers."""
    if text is None:
        return None
    found: list[Any] = []
    try:
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            whole = kind is int and dash and first
            found += range(int(first), int(last) + 1) if whole else [kind(part)]
    except ValueError:
        found = []
    if not found:
        raise UsageError(say("cli.expected_numbers", option=name, text=text))
    return found


def pair(text: str, name: str, form: str) -> tuple[str, str]:
    """Split NAME=VALUE at the first sign of equality; `form` says what is expected."""
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise UsageError(say("cli.expected_form", option=name, text=text, form=form))
    return key, value


def split_name(text: str) -> tuple[str | None, str]:
    """Split NAME=FILE; a plain path has no name."""
    from assay.formats.files import is_there

    name, equals, path = text.partition("=")
    return (name, path) if equals and name and not is_there(text) else (None, text)


def read_once(places: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if list(places).count("-") > 1:
        raise UsageError(say("cli.stdin_once"))


def format_for(output: str | None, known: dict[str, str]) -> str:
    """Choose the format by the suffix of the output file."""
    if output is None or output == "-":
        return "table"
    found = known.get(_suffix(output))
    if found is None:
        raise UsageError(say("cli.unknown_suffix", place=output, suffixes=list(known)))
    return found


def _suffix(place: str) -> str:
    from pathlib import Path

    return Path(place).suffix.lower()


def check_folder(output: str | None) -> None:
    """Refuse a file that cannot be written, before a long run begins."""
    from pathlib import Path

    from assay.formats.files import is_there

    folder = Path(output or "").parent
    if output is not None and output != "-" and not (is_there(folder) and folder.is_dir()):
        raise UsageError(say("cli.no_folder", place=output))


def refuse(*names: str, because: str) -> None:
    """Refuse options that were typed and have no effect here; `because` is the key of a message with {option}."""
    given = list_typed(*names)
    if given:
        raise UsageError(say(because, option=given[0]))
