"""`assay evaluate --explain`: one query's calculation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.cli import language, options
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.cli.options import Output, PlainRules


def print_steps(
    judgments: str, runs: tuple[str, ...], query: str, measures: tuple[str, ...], *, rules: PlainRules, out: Output
) -> None:
    """Show how each measure comes about for one query of each run, rank by rank."""
    from assay.analysis.explain import explain
    from assay.cli.inputs import command_line
    from assay.formats.reading import read_judgments, read_run
    from assay.formats.results import to_json
    from assay.measures import split_measures
    from assay.report.show import show
    from assay.results.result import make_result

    if not runs:
        raise UsageError(say("cli.explain_needs_run"))
    options.refuse(
        *options.OF_SEVERAL_LISTS, "everything", "per_query", "report", "sweep", because="cli.no_effect_in_explain"
    )
    if rules.ties == "expected":
        raise UsageError(say("cli.explain_ties"))
    kind = rules.input_format
    judged = read_judgments(judgments, kind=None if kind == "trec" else kind, split=rules.split)
    given: dict[str, Any] = {"protocol": rules.protocol, **options.PlainRules.overrides(rules)}
    asked: list[Any] = list(split_measures(measures)) or [None]
    found = [
        explain(judged, run, query, measure, **given)
        for run in (read_run(path, kind=kind, name=name) for name, path in map(options.split_name, runs))
        for measure in asked
    ]

    def as_text(kind: str) -> str:
        if kind != "json":
            return "\n".join(show(one, kind, lang=language.current()) for one in found)
        if len(found) > 1:
            raise UsageError(say("cli.explain_one"))
        return to_json(make_result(found[0], command=command_line()))

    out.emit(as_text)
