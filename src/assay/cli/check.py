"""`assay check`: what is wrong or doubtful in the input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from assay.cli import language, options
from assay.cli.commands import command as make_command
from assay.cli.engines import EngineChoice
from assay.cli.parameters import WordChoice, add_argument, add_option, takes
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from assay.results.check import InputCheck

_EXAMPLES = (
    "assay check qrels.txt bm25.run dense.run",
    "assay check samples.jsonl",
    "assay check experiment.toml result.json",
    "assay check queries.ndjson events.ndjson",
    "assay check clicks.csv --map user=client --map time=ts",
    "assay check judgments/ runs/ --engine spark --master spark://head:7077",
    "assay check qrels.txt bm25.run --format json",
)


@make_command("check", _EXAMPLES)
@add_argument("first", metavar="FILE")
@add_argument("others", nargs=-1, metavar="[NAME=]FILE...")
@add_option("--input-format", metavar="FORMAT")
@options.encoding
@add_option("--map", "columns", multiple=True, metavar="FIELD=COLUMN")
@add_option("--split", default="test", show_default=True, metavar="NAME")
@takes(where=EngineChoice)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@add_option("--format", "kind", type=WordChoice(["table", "json", "csv", "markdown"]), section="output")
@options.quiet
def command(
    *, first: str, others: tuple[str, ...], input_format: str | None, columns: tuple[str, ...], split: str,
    where: EngineChoice, output: str | None, kind: str | None,
) -> None:  # fmt: skip
    """Check and print the findings."""
    from assay.analysis.check_files import check_files

    paths = [options.split_name(text)[1] for text in (first, *others)]
    named = dict(options.pair(text, "--map", "FIELD=COLUMN") for text in columns)
    found = check_files(paths, kind=input_format, split=split, map=named, engine=where.start_for(paths))
    options.Output(output=output, kind=kind, quiet=options.is_quiet()).emit(lambda form: _render(found, form))
    if not found.clean:
        sys.exit(1)


def _render(found: InputCheck, kind: str) -> str:
    from assay.report.show import show
    from assay.report.views.check import lines

    if kind == "json":
        from assay.results.codec import encode, write_json

        return write_json({"schema": 1, "findings": encode(found.findings), "files": encode(found.files)}) + "\n"
    return lines(found, language.current()) if kind == "table" else show(found, kind, lang=language.current())
