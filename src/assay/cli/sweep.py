"""`assay evaluate --sweep`: measures against k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.cli import inputs, language, options
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.cli.options import Output, RuleOptions


def print_sweep(
    judgments: str, runs: tuple[str, ...], cutoffs: str, measures: tuple[str, ...], *, rules: RuleOptions, out: Output,
    weights: str | None, recall_target: float, alpha: float,
) -> None:  # fmt: skip
    """Evaluate runs at several k and say which k to choose."""
    from assay.analysis.sweep import sweep
    from assay.formats.results import to_json
    from assay.measures import defaults
    from assay.report.document import write
    from assay.report.views import sweep as report
    from assay.report.views.scores import sentences, stamp
    from assay.results.result import make_result

    options.refuse("everything", "per_query", because="cli.no_effect_in_sweep")
    k = _cutoffs(cutoffs)
    job = inputs.prepare(judgments, runs, [f"{defaults.CLEAN}@{k[0]}"], rules, weights=weights)
    found = sweep(
        job.judgments, list(job.runs()), k, measures=measures or defaults.CURVES, protocol=rules.protocol,
        recall_target=recall_target, alpha=alpha, chunks=job.chunks, weights=job.weights, clusters=job.clusters,
        dedupe=job.dedupe,
        calibration=job.calibration, **job.overrides,
    )  # fmt: skip
    judged, lang = stamp(found.scores), language.current()
    result = make_result(found, command=inputs.command_line(), warnings=sentences(found.scores)[1:])

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        blocks = [report.sweep_points(found)] if kind == "csv" else report.table(found)
        return write(blocks, kind, lang, stamp=judged)

    out.emit(as_text)
    job.report(result, out.report)


def _is_cutoff(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10  # noqa: PLR2004 - no list is longer


def _cutoffs(text: str) -> list[int]:
    """Read 1,3,5-8."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_cutoff(first) or (dash and not _is_cutoff(last)):
            raise UsageError(say("cli.cutoffs", text=text))
        if dash and int(last) < int(first):
            raise UsageError(say("cli.cutoffs_backwards", text=part))
        found += range(int(first), int(last or first) + 1)
    return found
