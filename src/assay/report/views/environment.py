"""What is installed and reachable, as a table and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.installation import install_command
from assay.messages import Said, say
from assay.report.blocks import Block, Lines
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.analysis.environment import Engines, Environment


def view(found: Environment) -> list[Block]:
    """The version, what is installed and what is missing, models, keys by name, the server."""
    rows: list[tuple[str, ...]] = [
        (say(f"env.extra_{one.name}"), one.name, _state(one.missing), one.command) for one in found.extras
    ]
    rows += [
        (say("env.model"), name, place or say("env.absent"), "" if place else _fetch(name))
        for name, place in found.models.items()
    ]
    headers = tuple(say(f"env.column_{name}") for name in ("what", "name", "state", "command"))
    lines = [
        say("env.keys", names=found.keys) if found.keys else say("env.no_keys"),
        say("env.settings", names=found.settings) if found.settings else say("env.no_settings"),
        say("env.cache", place=found.cache),
    ]
    if found.server:
        lines.append(say("env.reachable" if found.reachable else "env.unreachable", server=found.server))
    head = say("env.version", version=found.version, python=found.python, system=found.system)
    return [Lines((head,)), Table(headers, tuple(rows), names=4), Lines(tuple(lines))]


def _state(missing: tuple[str, ...]) -> Said:
    return say("env.missing", names=missing) if missing else say("env.here")


def _fetch(model: str) -> str:
    return "assay env models get minilm" if model == "minilm" else install_command("text")


def view_engines(found: Engines) -> list[Block]:
    """The engines, what Spark needs and what is missing."""
    here = say("env.here")
    rows: list[tuple[str, ...]] = [
        ("local", here, ""),
        ("spark", found.spark or say("env.absent"), "" if found.spark else install_command("spark")),
        ("spark connect", here if found.spark and found.connect else say("env.absent"),
         "" if found.connect else install_command("connect")),
        ("Java", say("env.absent") if found.java is None else str(found.java), ""),
    ]  # fmt: skip
    lines: list[str] = [say("env.worker_python", python=found.python)]
    if found.cluster and not found.problem:
        lines.append(say("env.cluster_works", cluster=found.cluster))
    if found.problem:
        lines.append(found.problem)
    headers = tuple(say(f"env.column_{name}") for name in ("name", "state", "command"))
    return [Table(headers, tuple(rows), names=3), Lines(tuple(lines))]
