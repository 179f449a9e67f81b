"""`assay judge --prefer`: which of two systems' answers is better, in both orders."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from assay.cli import asking, inputs, language, options, progress, reporting
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.analysis.preferring import ModelPreferences
    from assay.cli.asking import Asking
    from assay.cli.options import Output


def ask_and_print(
    places: tuple[str, ...], models: tuple[str, ...], settings: dict[str, Any], *, ask: Asking, output: str | None,
    out: Output,
) -> None:  # fmt: skip
    """Ask, write every preference, and print what they come to."""
    from assay.analysis.preferring import ask_preferences, estimate_preferences
    from assay.report.views import judging

    systems = _systems(places)
    if output is None and not ask.dry_run:
        raise UsageError(say("cli.prefer_where"))
    if output is not None and not output.endswith((".jsonl", ".ndjson")):
        raise UsageError(say("cli.prefer_suffix", place=output))
    options.check_folder(output)
    clients = asking.clients(models, ask)
    try:
        if ask.dry_run:
            options.tell_lines(judging.plan(estimate_preferences(systems, judge=clients, **settings), ask.max_cost))
            return
        with progress.calls() as show:
            found = ask_preferences(systems, judge=clients, **settings, deadline=ask.deadline, progress=show)
    finally:
        for client in clients.values():
            client.close()
    assert output is not None
    _write(found, output, out)
    if found.failed:
        sys.exit(1)


def _systems(places: tuple[str, ...]) -> dict[str, Any]:
    """Read the answers of each system: NAME=FILE, or what the file is called."""
    from assay.formats.files import system_name
    from assay.formats.samples import read_samples

    named = [(name or system_name(path), path) for name, path in map(options.split_name, places)]
    twice = next((name for name, _ in named if [one for one, _ in named].count(name) > 1), None)
    if twice is not None:
        raise UsageError(say("cli.same_system", name=twice))
    return {name: read_samples(path) for name, path in named}


def _write(found: ModelPreferences, output: str, out: Output) -> None:
    from assay.analysis.preferences import preferences
    from assay.formats.files import write_atomically
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import judging
    from assay.report.views import preferences as view
    from assay.results.result import make_result

    if found.rows:
        write_atomically(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.rows))
        options.tell_written(output)
    done = say("prefer.done", n=found.comparisons, failed=found.failed, unanswered=found.unanswered)
    options.note(
        [done, *(say("doubt.of_one", system=name, text=judging.money(one)) for name, one in found.bills.items())]
    )
    if not found.rows:
        return
    made = preferences(found.rows)
    result = make_result(made, command=inputs.command_line(), models={"judge": ", ".join(found.bills)})

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write([exact_table(made.to_rows(), 2)] if kind == "csv" else view.table(made), kind, language.current())

    out.emit(as_text)
    reporting.write_fresh(result, out.report)
