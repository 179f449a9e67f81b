"""Former names of commands: the command of today with the parameters that the name had, and a line that says so."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from assay.cli.commands import CommandGroup, SpokenCommand
from assay.cli.parameters import Option
from assay.messages import Said, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Former:
    """The meaning of a former name: a current command, what to type, and parameters that differ.

    `params` takes the place of those of the same name; a value instead of a parameter is what the command is given.
    """

    of: str
    now: str
    params: Mapping[str, Any] = field(default_factory=dict)


def _argument(name: str, metavar: str, **more: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **more)


def _table() -> dict[str, Former]:
    from assay.cli.parameters import NUMBER

    return {
        "sweep": Former(
            "evaluate", "assay evaluate --sweep K,K,...",
            {"sweep": Option(["--k", "sweep"], default="1,3,5,10,20", show_default=True, metavar="K,K,...")},
        ),
        "explain": Former(
            "evaluate", "assay evaluate --explain QUERY",
            {"runs": _argument("runs", "RUN", nargs=1, callback=lambda _, __, value: (value,)),
             "explain": _argument("explain", "QUERY")},
        ),
        "validate": Former("calibrate", "assay calibrate", {"judged": _argument("judged", "ANSWERS"), "people": None}),
        "rerank-eval": Former(
            "run", "assay run --candidates RUN",
            {"first": _argument("first", "JUDGMENTS"), "candidates": _argument("candidates", "RUN"),
             **{name: Option([f"--{name}"], required=True, metavar=metavar) for name, metavar in
                (("reranker", "NAME"), ("queries", "FILE"), ("documents", "FILE|DIR"))}},
        ),
        "roi": Former(
            "cost", "assay cost --roi",
            {"roi": True, "revenue_per_query": Option(["--revenue-per-query"], required=True, type=NUMBER)},
        ),
        "plot": Former("report", "assay report --chart", {"chart": Option(["--chart"], default="", metavar="NAME")}),
        "models": Former("env.models", "assay env models"),
        "cache": Former("env.cache", "assay env cache"),
        "measures": Former("help", "assay help", {"topic": "measures"}),
        "protocols": Former("help", "assay help", {"topic": "protocols"}),
    }  # fmt: skip


def find_former(name: str) -> click.Command:
    """The current command behind a former name."""
    former = _table()[name]
    target: Any = importlib.import_module(f"assay.cli.{former.of.rpartition('.')[2]}").command
    told = say("usage.moved", old=f"assay {name}", new=former.now)
    if isinstance(target, CommandGroup):
        return _alias_group(target, told)
    params, given = [], {}
    for param in target.params:
        if param.name not in former.params:
            params.append(param)
            continue
        value = former.params[param.name]
        if isinstance(value, click.Parameter):
            params.append(value)
        else:
            given[param.name] = value
    return SpokenCommand(
        name, params=[one for one in params if one.name != "lang"], callback=_with(target.callback, given),
        examples=target.examples, wording=target.wording, told_by=lambda: told,
    )  # fmt: skip


def _with(callback: Callable[..., Any], given: Mapping[str, Any]) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        return callback(*args, **more, **given)

    return call


def _alias_group(target: CommandGroup, told: Said) -> CommandGroup:
    """A group under its former name, whose commands say where they have moved."""
    found = copy.copy(target)
    found.commands = {}
    for name, inner in target.commands.items():
        again = copy.copy(inner)
        if isinstance(again, SpokenCommand):
            again.told_by = lambda: told
        found.commands[name] = again
    return found
