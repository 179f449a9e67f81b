"""`assay convert`: judgments, runs, event logs or evaluation sets in another format."""

from __future__ import annotations

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.event_logs import LogReading
from assay.cli.parameters import WordChoice, add_argument, add_option, takes
from assay.cli.places import OUTPUT

_EXAMPLES = (
    "assay convert run bm25.run bm25.parquet",
    "assay convert judgments beir-folder qrels.txt",
    "assay convert events ubi.ndjson ubi.parquet --hash-users @salt.txt --redact",
    "assay convert set beir-folder from-beir",
    "assay convert set tea tea.json --to llamaindex",
)


@make_command("convert", _EXAMPLES)
@add_argument("what", type=WordChoice(["judgments", "run", "events", "set"]), metavar="judgments|run|events|set")
@add_argument("source", metavar="FILE")
@add_argument("output", type=OUTPUT, metavar="OUTPUT")
@options.encoding
@add_option("--input-format", metavar="FORMAT")
@add_option("--split", default="test", show_default=True, metavar="NAME")
@add_option(
    "--to",
    type=WordChoice(["set", "beir", "ragas", "autorag", "llamaindex", "llamaindex-rag"]),
    default="set",
    show_default=True,
)
@takes(reading=LogReading)
@add_option("--attribute", "attributes", multiple=True, metavar="NAME", section="events")
@add_option("--hash-users", metavar="SALT|@FILE|env:NAME", section="events")
@add_option("--redact", is_flag=True, section="events")
@options.quiet
def command(
    *, what: str, source: str, output: str, input_format: str | None, split: str, to: str, reading: LogReading,
    attributes: tuple[str, ...], hash_users: str | None, redact: bool,
) -> None:  # fmt: skip
    """Read and write."""
    from assay.formats.events.privacy import read_salt
    from assay.formats.events.writing import write_events
    from assay.formats.reading import read_judgments, read_run
    from assay.formats.writing import write_judgments, write_run

    if what == "set":
        from assay.curation.exchange import convert_set

        options.note(convert_set(source, output, to, split=split))
    elif what == "events":
        salt = None if hash_users is None else read_salt(hash_users)
        write_events(reading.read([source], attributes, salt), output, redact=redact)
    elif what == "judgments":
        write_judgments(read_judgments(source, kind=input_format, split=split), output)
    else:
        write_run(read_run(source, kind=input_format), output)
    options.tell_written(output)
