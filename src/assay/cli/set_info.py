"""`assay set info`: what is in an evaluation set, where it came from, and what it lacks."""

from __future__ import annotations

from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import add_argument, add_option, takes
from assay.cli.set_printing import print_record

_EXAMPLES = (
    "assay set info tea",
    "assay set info tea --accept",
    "assay set info tea -o tea.json --report tea.html",
)


@make_command("info", _EXAMPLES, wording="set.info")
@add_argument("folder", metavar="SET")
@add_option("--accept", is_flag=True)
@takes(out=Output)
def command(*, folder: str, accept: bool, out: Output) -> None:
    """Describe and print."""
    from assay.curation.describe_sets import describe_set

    out.check()
    print_record(describe_set(folder, accept=accept), out)
