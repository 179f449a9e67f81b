"""`assay set`: build an evaluation set."""

from __future__ import annotations

from assay.cli import set_info, set_merge, set_pool, set_questions, set_split
from assay.cli.commands import group

_EXAMPLES = (
    "assay set questions docs.jsonl -n 200 -o questions",
    "assay set info tea",
    "assay set split tea --parts dev=0.3,test=0.7 -o parts",
    "assay set pool bm25.run dense.run --budget 500 -o pool.jsonl",
)


@group("set", _EXAMPLES)
def command() -> None:
    """Build an evaluation set from documents, runs and people's judgments."""


# Each of its commands is a module with a `command`, which is added here: command.add_command(set_NAME.command).
command.add_command(set_questions.command)
command.add_command(set_info.command)
command.add_command(set_split.command)
command.add_command(set_merge.command)
command.add_command(set_pool.command)
