"""Every text a user can meet: a package per language, in it a module for each part of the program, key -> text."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES = ("en", "zh")
# Texts with keys; modules of parts that also say texts in English have their Chinese beside them.
ROOMS = (
    "analysis", "answers", "cli", "engines", "errors", "events", "experiment", "formats", "fusion", "gate", "general",
    "grounding", "help", "interleaving", "judge", "llm", "log_grades", "measures", "online", "panels", "pipeline",
    "pools", "preferences", "proposal", "questions", "report", "serving", "sets", "text", "traces", "validation",
    "watch", "workbench",
)  # fmt: skip
# Texts said in English where they occur, which are their own keys, in modules named after the part that says them.
SAYING = (
    "data", "hints", "labels", "reference", "results", "server", "stats", "systems",
)  # fmt: skip


@cache
def texts(lang: str) -> Mapping[str, str]:
    """All texts of a language."""
    rooms = ROOMS if lang == "en" else ROOMS + SAYING
    return {key: text for room in rooms for key, text in import_module(f"assay.wordings.{lang}.{room}").TEXTS.items()}
