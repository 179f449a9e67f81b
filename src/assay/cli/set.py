"""`assay set`: build an evaluation set."""

from __future__ import annotations

from assay.cli import set_questions
from assay.cli.commands import group

_EXAMPLES = ("assay set questions docs.jsonl -n 200 -o questions",)


@group("set", _EXAMPLES)
def command() -> None:
    """Build an evaluation set from documents, runs and people's judgments."""


# Each of its commands is a module with a `command`, which is added here: command.add_command(set_NAME.command).
command.add_command(set_questions.command)
