"""`assay convert`: judgments or runs in another format."""

from __future__ import annotations

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.parameters import WordChoice, add_argument, add_option
from assay.cli.places import OUTPUT

_EXAMPLES = ("assay convert run bm25.run bm25.parquet", "assay convert judgments beir-folder qrels.txt")


@make_command("convert", _EXAMPLES)
@add_argument("what", type=WordChoice(["judgments", "run"]), metavar="judgments|run")
@add_argument("source", metavar="FILE")
@add_argument("output", type=OUTPUT, metavar="OUTPUT")
@options.encoding
@add_option("--input-format", metavar="FORMAT")
@add_option("--split", default="test", show_default=True, metavar="NAME")
@options.quiet
def command(*, what: str, source: str, output: str, input_format: str | None, split: str) -> None:
    """Read and write."""
    from assay.formats.reading import read_judgments, read_run
    from assay.formats.writing import write_judgments, write_run

    if what == "judgments":
        write_judgments(read_judgments(source, kind=input_format, split=split), output)
    else:
        write_run(read_run(source, kind=input_format), output)
    options.tell_written(output)
