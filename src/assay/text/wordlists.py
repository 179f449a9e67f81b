"""Reading the word lists beside this module: sections of words, or of groups of words between bars."""

from __future__ import annotations

from importlib.resources import files


def read_lists(name: str) -> dict[str, str]:
    """Text of each [section] of a list, without comments and empty lines."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (files("assay.text") / "lists" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return {section: "\n".join(part) for section, part in found.items()}


def groups(text: str) -> tuple[tuple[str, ...], ...]:
    """Groups of words that are separated by bars or on lines of their own."""
    return tuple(tuple(group.split()) for group in text.replace("\n", "|").split("|"))
