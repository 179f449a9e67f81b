"""`assay set split`: parts of an evaluation set that stay as they are when queries are added."""

from __future__ import annotations

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import Number, add_argument, add_option, takes
from assay.cli.places import OUTPUT
from assay.cli.set_printing import Printing, print_record

_EXAMPLES = (
    "assay set split tea --parts dev=0.3,test=0.7 -o tea-parts",
    "assay set split tea --parts dev=0.3,test=0.7 --by category --together documents -o tea-parts",
    "assay set split tea --by category -o tea-kinds",
)


@make_command("split", _EXAMPLES, wording="set.split")
@add_argument("folder", metavar="SET")
@add_option("--parts", metavar="NAME=SHARE,...")
@add_option("--by", metavar="COLUMN")
@add_option("--together", metavar="COLUMN|documents")
@add_option("--seed", default=0, show_default=True, type=Number(whole=True))
@add_option("-o", "--output", required=True, type=OUTPUT, metavar="FOLDER", section="output")
@takes(printing=Printing)
def command(
    *, folder: str, parts: str | None, by: str | None, together: str | None, seed: int, output: str, printing: Printing
) -> None:
    """Split and print."""
    from assay.curation.split_sets import split_set

    if parts is None:
        options.refuse("together", "seed", because="cli.only_with_parts")
    shares = None if parts is None else options.numbers(parts.split(","), "--parts")
    found = split_set(folder, output, shares, by=by, together=together, seed=seed)
    print_record(found, Output(kind=printing.kind, report=printing.report, quiet=printing.quiet))
    options.tell_written(output)
