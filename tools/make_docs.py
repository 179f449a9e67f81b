"""Write docs/measures.md, docs/protocols.md and docs/commands.md from the program itself."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.analysis.protocols import builtin_names, load_protocol
from assay.cli import app
from assay.report.pages import listing, measures_in_order, page, protocol_page

DOCS = Path(__file__).parents[1] / "docs"


def measures_text() -> str:
    """List of the measures and a page for each."""
    pages = [page(spec.name, "markdown") for spec in measures_in_order()]
    return "# Measures\n\nMade by `tools/make_docs.py` from the measures' own docstrings.\n\n" + "\n".join(
        [listing("markdown"), *pages]
    )


def chinese_measures_text() -> str:
    """The same in Chinese."""
    pages = [page(spec.name, "markdown", "zh") for spec in measures_in_order()]
    head = "# 指标\n\n由 `tools/make_docs.py` 根据各指标的中文说明页生成。英文版见 [Measures](measures.md)。\n\n"
    return head + "\n".join([listing("markdown", "zh"), *pages])


def protocols_text() -> str:
    """Page of every built-in protocol, with the TOML format."""
    head = (DOCS / "protocols.head.md").read_text(encoding="utf-8")
    pages = [f"## {name}\n\n```text\n{protocol_page(load_protocol(name))}```\n" for name in builtin_names()]
    return head + "\n" + "\n".join(pages)


def commands_text() -> str:
    """The help of every command and of its own commands."""
    head = (DOCS / "commands.head.md").read_text(encoding="utf-8")
    os.environ["ASSAY_LANG"] = "en"
    top = click.Context(app, info_name="assay", terminal_width=100, max_content_width=100)
    return "\n".join([head, *_command(app, top, 1)])


def _command(command: click.Command, context: click.Context, depth: int) -> list[str]:
    title = [] if depth == 1 else [f"{'#' * min(depth, 3)} {context.command_path}\n"]
    found = [*title, f"```text\n{context.get_help().rstrip()}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            size = {"terminal_width": 100, "max_content_width": 100}
            found += _command(inner, click.Context(inner, context, info_name=name, **size), depth + 1)  # type: ignore[arg-type]
    return found


def main() -> None:
    """Write the files."""
    (DOCS / "measures.md").write_text(measures_text(), encoding="utf-8")
    (DOCS / "measures.zh.md").write_text(chinese_measures_text(), encoding="utf-8")
    (DOCS / "protocols.md").write_text(protocols_text(), encoding="utf-8")
    (DOCS / "commands.md").write_text(commands_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
