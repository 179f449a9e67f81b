"""Applications on the command line: `--app` with its settings, for every command that asks one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.cli import options, progress
from assay.cli.parameters import option
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.analysis.experiment_runner import FinishedExperiment
    from assay.data.samples import Samples
    from assay.pipeline.app_runner import AppPlan


@dataclass(frozen=True)
class AppChoice:
    """Which application is asked."""

    app: str | None = option("--app", metavar="URL|MODULE:CALLABLE|FILE", section="app")


@dataclass(frozen=True)
class AppSetting:
    """How it is asked, where a command has no other settings of this name."""

    settings: tuple[str, ...] = option(
        "--set", default=(), multiple=True, metavar="NAME=VALUE", only="app", section="app"
    )


@dataclass(frozen=True)
class AppRound:
    """Whether it is asked again."""

    fresh: bool = option("--fresh", default=False, is_flag=True, section="app")


def read_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE texts: numbers, true, false and JSON are converted."""
    found: dict[str, Any] = {}
    for text in texts:
        name, value = options.pair(text, "--set", "NAME=VALUE")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, (int, float, bool, dict, list)) else text


def tell_plan(plans: Iterable[AppPlan]) -> None:
    """Print how many requests would be sent."""
    listed = list(plans)
    if not listed:
        raise UsageError(say("cli.no_application"))
    for one in listed:
        kept = [say("app.plan_kept", kept=one.kept, day=one.oldest)] if one.kept else []
        options.tell_lines([say("app.plan", name=one.name, n=one.questions, requests=one.requests), *kept])


def tell_kept(found: FinishedExperiment) -> None:
    """Say how many answers are from an earlier run, as nothing else shows it."""
    kept = found.reused.get("app", 0)
    days = [one.day for outcome in found.outcomes for one in outcome.asked if one.day]
    if kept:
        whole = sum(len(outcome.asked) for outcome in found.outcomes)
        options.note([say("app.kept", kept=kept, n=whole, day=min(days, default=""))])


def ask_samples(app: str, queries: str | None, settings: Sequence[str], cache: str | None, *, fresh: bool) -> Samples:
    """Ask an application all questions of a file."""
    from assay.analysis.applications import ask_application

    with progress.stages() as show:
        return ask_application(
            app, need_queries(queries), settings=read_settings(settings), cache=cache, fresh=fresh,
            tell=lambda done, total: show(app, done, total),
        )  # fmt: skip


def need_queries(queries: str | None) -> str:
    """The file of questions, without which there is nothing to ask."""
    if queries is None:
        raise UsageError(say("cli.app_needs_queries"))
    return queries


def find_queries(queries: str | None, judgments: str | None) -> tuple[str, str | None]:
    """The questions and their judgments, where one set may be both."""
    from assay.formats.set_folders import is_set

    if queries is not None:
        return queries, judgments
    if judgments is None or not is_set(judgments):
        raise UsageError(say("cli.app_needs_set"))
    return judgments, None
