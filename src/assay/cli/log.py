"""`assay log`: what an event log says about a system that people use."""

from __future__ import annotations

from assay.cli import log_judgments, log_metrics, log_sample, log_watch
from assay.cli.commands import group

_EXAMPLES = ("assay log metrics events.jsonl --by day,variant",)


@group("log", _EXAMPLES)
def command() -> None:
    """Measure a system in use by its event log."""


# Each of its commands is a module with a `command`, which is added here: command.add_command(log_NAME.command).
command.add_command(log_metrics.command)
command.add_command(log_judgments.command)
command.add_command(log_sample.command)
command.add_command(log_watch.command)
