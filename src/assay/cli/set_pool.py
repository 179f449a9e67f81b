"""`assay set pool`: what to judge next, and whether enough is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import NUMBER, POSITIVE, SHARE, Number, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT
from assay.cli.set_questions import Printing

if TYPE_CHECKING:
    from assay.results.pool import JudgingPool

_EXAMPLES = (
    "assay set pool bm25.run dense.run --budget 500 -o pool.csv",
    "assay set pool bm25.run dense.run --method sample --depth 100 --budget 2000 -o pool.jsonl",
    "assay set pool bm25.run dense.run --method sample --judgments pool.jsonl --between bm25,dense -o next.jsonl",
    "assay set pool bm25.run dense.run --method bandit --judgments judged.qrels --budget 200 -o next.jsonl",
)


@dataclass(frozen=True)
class SystemPair:
    """Which two systems are to be told apart, and by what."""

    between: str | None = option("--between", metavar="A,B", section="decide")
    measure: str | None = option("-m", "--measure", metavar="MEASURE", section="decide")
    smallest_effect: float = option("--smallest-effect", default=0.01, show_default=True, type=NUMBER, section="decide")
    alpha: float = option("--alpha", default=0.05, show_default=True, type=SHARE, section="decide")

    def settings(self) -> dict[str, Any]:
        """The same as the function takes them."""
        names = None if self.between is None else [name.strip() for name in self.between.split(",")]
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {**given, "between": names}


@dataclass(frozen=True)
class PairTexts:
    """Texts of what is to be judged, and the grades that count as relevant."""

    queries: str | None = option("--queries", metavar="FILE")
    documents: str | None = option("--documents", metavar="FILE|DIR")
    min_relevance: float = option("--min-relevance", default=1, show_default=True, type=NUMBER)


@make_command("pool", _EXAMPLES, wording="set.pool")
@add_argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@add_option("--method", default="depth", show_default=True,
            type=WordChoice(["depth", "move-to-front", "bandit", "decide", "sample"]))  # fmt: skip
@add_option("--depth", default=20, show_default=True, type=POSITIVE)
@add_option("--budget", default=500, show_default=True, type=Number(least=0, whole=True))
@add_option("--judgments", metavar="FILE")
@takes(texts=PairTexts)
@add_option("--seed", default=0, show_default=True, type=Number(whole=True))
@options.encoding
@takes(deciding=SystemPair)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@takes(printing=Printing)
def command(
    *, runs: tuple[str, ...], method: str, depth: int, budget: int, judgments: str | None, texts: PairTexts, seed: int,
    deciding: SystemPair, output: str | None, printing: Printing,
) -> None:  # fmt: skip
    """List, write, print."""
    from assay.analysis.pools import pool_judgments

    options.check_folder(output)
    options.read_once([one for one in (*runs, judgments) if one])
    read = inputs.read_runs(runs)
    found = pool_judgments(
        {run.name: run for run in read}, budget, method=method, depth=depth,  # type: ignore[arg-type]
        judgments=judgments, seed=seed, **vars(texts), **deciding.settings(),
    )  # fmt: skip
    if output is not None:
        found.save(output)
    _print(found, printing)
    if output is not None:
        options.tell_written(output)


def _print(found: JudgingPool, printing: Printing) -> None:
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import pool as view
    from assay.results.result import make_result

    result = make_result(found, command=inputs.command_line())

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write(
            [exact_table(found.to_rows(), 2)] if kind == "csv" and found.pairs else view.table(found), kind,
            language.current(),
        )  # fmt: skip

    Output(kind=printing.kind, report=printing.report, quiet=printing.quiet).emit(as_text)
    write_fresh(result, printing.report)
