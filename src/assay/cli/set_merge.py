"""`assay set merge`: several evaluation sets as one."""

from __future__ import annotations

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import WordChoice, add_argument, add_option, takes
from assay.cli.places import OUTPUT
from assay.cli.set_printing import Printing, print_record

_EXAMPLES = (
    "assay set merge people simulated -o both",
    "assay set merge people simulated --on-conflict rename -o both",
)


@make_command("merge", _EXAMPLES, wording="set.merge")
@add_argument("folders", nargs=-1, required=True, metavar="SET...")
@add_option("--on-conflict", type=WordChoice(["first", "rename"]))
@add_option("-o", "--output", required=True, type=OUTPUT, metavar="FOLDER", section="output")
@takes(printing=Printing)
def command(*, folders: tuple[str, ...], on_conflict: str | None, output: str, printing: Printing) -> None:
    """Merge and print."""
    from assay.curation.merge_sets import merge_sets

    found = merge_sets(folders, output, on_conflict=on_conflict)  # type: ignore[arg-type]
    print_record(found, Output(kind=printing.kind, report=printing.report, quiet=printing.quiet))
    options.tell_written(output)
