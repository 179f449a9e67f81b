"""`assay ab replay`: what another ranking would have earned on a log with propensities."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import Number, add_argument, option, takes

_EXAMPLES = (
    "assay ab replay impressions.csv --policy uniform",
    "assay ab replay shown.ndjson --policy new.run --queries queries.jsonl --report replay.html",
    "assay ab replay impressions.parquet --policy ranking:policy --map doc_id=article --format json",
)


@dataclass(frozen=True)
class Replaying:
    """What is replayed, and how the log is read."""

    policy: str = option("--policy", required=True, metavar="uniform|RUN|module:callable")
    queries: str | None = option("--queries", metavar="FILE")
    columns: tuple[str, ...] = option("--map", default=(), multiple=True, metavar="FIELD=COLUMN")
    confidence: float = option("--confidence", default=0.95, show_default=True, type=Number(least=0, most=1))


@make_command("replay", _EXAMPLES, wording="ab.replay")
@add_argument("log", metavar="LOG")
@takes(replaying=Replaying, out=Output)
def command(*, log: str, replaying: Replaying, out: Output) -> None:
    """Replay, print; exit with 1 where the log cannot tell."""
    from assay.cli.ab_output import emit
    from assay.formats.queries import read_queries
    from assay.online.replay import replay
    from assay.report.views import replay as view
    from assay.results.replay import ReplayRules

    known = read_queries(replaying.queries).texts() if replaying.queries else None
    found = replay(
        log,
        replaying.policy,
        map=dict(options.pair(text, "--map", "FIELD=COLUMN") for text in replaying.columns) or None,
        queries=known,
        rules=ReplayRules(confidence_level=replaying.confidence),
    )
    emit(found, view.table(found), out, [log], kind="events", names=2)
    if not found.overlap:
        sys.exit(1)
