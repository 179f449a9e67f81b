"""`assay ab interleave`: lists to serve, of two runs or more, with the team of each document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.event_logs import Printing
from assay.cli.options import Output
from assay.cli.parameters import POSITIVE, Number, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from assay.data.run import Run

_EXAMPLES = (
    "assay ab interleave old.run new.run -o lists.jsonl",
    "assay ab interleave old=bm25.run new=hybrid.run --lists 20 --propensities -o lists.jsonl",
    "assay ab interleave a.run b.run c.run --method multileave -o lists.jsonl",
)


@dataclass(frozen=True)
class Drafting:
    """How lists are merged."""

    method: str = option("--method", default="team-draft", show_default=True, type=WordChoice(
        ["team-draft", "optimised", "multileave", "balanced"]))  # fmt: skip
    k: int = option("--k", default=10, show_default=True, type=POSITIVE)
    per_query: int = option("--lists", default=1, show_default=True, type=POSITIVE)
    seed: int = option("--seed", default=0, show_default=True, type=Number(whole=True))
    propensities: bool = option("--propensities", default=False, is_flag=True)


@make_command("interleave", _EXAMPLES, wording="ab.interleave")
@add_argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@takes(drafting=Drafting)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@takes(printing=Printing)
def command(*, runs: tuple[str, ...], drafting: Drafting, output: str | None, printing: Printing) -> None:
    """Interleave, write, print."""
    from assay.cli.ab_output import emit
    from assay.online.interleaved_lists import interleave_runs
    from assay.report.views import interleaved_lists as view

    options.check_folder(output)
    places = [options.split_name(text)[1] for text in runs]
    options.read_once(places)
    found = interleave_runs(
        [_read(text) for text in runs],
        method=drafting.method,  # type: ignore[arg-type]
        k=drafting.k,
        per_query=drafting.per_query,
        seed=drafting.seed,
        propensities=drafting.propensities,
    )
    if output is not None:
        found.save(output)
    out = Output(kind=printing.kind, report=printing.report, quiet=printing.quiet)
    emit(found, view.table(found), out, places, kind="run", names=1)
    if output is not None:
        options.tell_written(output)


def _read(text: str) -> Run:
    from assay.formats.reading import read_run

    name, path = options.split_name(text)
    return read_run(path, name=name)
