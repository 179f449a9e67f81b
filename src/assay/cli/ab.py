"""`assay ab`: plan and decide A/B tests and tests by interleaving, replay rankings on a log, and look back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.cli import ab_interleave, ab_replay, options
from assay.cli.ab_output import emit
from assay.cli.commands import group
from assay.cli.engines import EngineChoice
from assay.cli.event_logs import LogReading
from assay.cli.options import Output
from assay.cli.parameters import NUMBER, POSITIVE, SHARE, Number, add_argument, add_option, option, takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.ab_test import ABTest
    from assay.results.interleaving import InterleavingTest

_EXAMPLES = (
    "assay ab plan --mean 0.05 --lift 0.04 --users-per-day 3000",
    "assay ab analyse users.csv -m clicks --control old --guardrail 'latency_ms<=+5%'",
)
_PLANS = (
    "assay ab plan --mean 0.05 --lift 0.04 --users-per-day 3000",
    "assay ab plan users.csv -m clicks/impressions --lift 0.02",
    "assay ab plan users.csv -m clicks --users 20000",
    "assay ab plan log.ndjson -m any_click --lift 0.05 --users-per-day 3000",
)
_ANALYSES = (
    "assay ab analyse users.csv -m clicks -m bought --control old --planned 20000",
    "assay ab analyse users.csv -m clicks/impressions --control old --guardrail 'latency_ms<=+5%' --report ab.html",
    "assay ab analyse log.ndjson -m any_click --control old --guardrail 'query_latency<=+5%'",
    "assay ab analyse table:lake.events -m any_click --control old --engine spark --remote sc://gateway",
    "assay ab analyse arms.csv --control A --sequential --days 9 --format json",
    "assay ab analyse interleaved.ndjson --control old --planned 5000",
)
_HISTORIES = (
    "assay ab history comparison.json=ab.json",
    "assay ab history comparison.json=ab.json -m ndcg@10 --format markdown",
)


@group("ab", _EXAMPLES)
def command() -> None:
    """Plan and decide A/B tests."""


@dataclass(frozen=True)
class TrialPlanning:
    """What a test should show, and from how many users."""

    measure: str | None = option("-m", "--measure", metavar="MEASURE")
    mean: float | None = option("--mean", type=NUMBER)
    deviation: float | None = option("--deviation", type=NUMBER)
    lift: float | None = option("--lift", type=SHARE)
    absolute: float | None = option("--absolute", type=NUMBER)
    size: int | None = option("--users", type=POSITIVE)
    users_per_day: float | None = option("--users-per-day", type=NUMBER)
    power: float = option("--power", default=0.8, show_default=True, type=Number(least=0, most=1))
    alpha: float = option("--alpha", default=0.05, show_default=True, type=Number(least=0, most=1))
    tests: int = option("--tests", default=1, show_default=True, type=POSITIVE)
    ratio: float = option("--ratio", default=1.0, show_default=True, type=NUMBER)


@dataclass(frozen=True)
class TrialLog(LogReading):
    """How an event log is read, and whose days are counted."""

    experiment: str | None = option("--experiment", metavar="NAME", section="events")
    timezone: str = option("--timezone", default="UTC", show_default=True, metavar="NAME", section="events")

    def open(self, files: Sequence[str], where: EngineChoice) -> Any:
        """The log that the files hold; a file of users or arms is left to the analysis."""
        from assay.formats.events.recognition import is_event_log

        if where.is_far(files):
            return self.read_where(where, files)
        if len(files) == 1 and not self.columns and not is_event_log(files[0]):
            options.refuse("bots", "fold_variants", "timezone", because="cli.only_with_log")
            return files[0]
        return self.read_where(where, files)


@dataclass(frozen=True)
class Deciding:
    """What is compared, and how it is decided."""

    measures: tuple[str, ...] = option("-m", "--measure", default=(), multiple=True, metavar="MEASURE")
    control: str | None = option("--control", metavar="NAME")
    guardrails: tuple[str, ...] = option("--guardrail", default=(), multiple=True, metavar="RULE")
    lower: tuple[str, ...] = option("--lower-is-better", default=(), multiple=True, metavar="MEASURE")
    planned: int | None = option("--planned", type=POSITIVE)
    days: int | None = option("--days", type=Number(least=0, whole=True))
    sequential: bool = option("--sequential", default=False, is_flag=True)
    tuning: int = option("--tuning", default=10_000, show_default=True, type=POSITIVE, only="sequential")
    shares: tuple[str, ...] = option("--share", default=(), multiple=True, metavar="VARIANT=SHARE")
    no_cuped: bool = option("--no-cuped", default=False, is_flag=True)
    alpha: float = option("--alpha", default=0.05, show_default=True, type=Number(least=0, most=1))
    strict: bool = option("--strict", default=False, is_flag=True)

    def settings(self) -> dict[str, Any]:
        """The parameters of `ab_test`."""
        return {
            **self.rules(),
            "guardrails": self.guardrails,
            "lower_is_better": self.lower,
            "cuped": not self.no_cuped,
            "shares": options.numbers(self.shares, "--share"),
        }

    def rules(self) -> dict[str, Any]:
        """The parameters that a test by interleaving has too."""
        names = ("control", "days", "planned", "sequential", "tuning", "alpha")
        return {name: getattr(self, name) for name in names}


@command.command("plan", examples=_PLANS, wording="ab.plan")
@add_argument("users", required=False, metavar="[EVENTS|USERS]")
@takes(planning=TrialPlanning, out=Output)
def plan(*, users: str | None, planning: TrialPlanning, out: Output) -> None:
    """Print how many users are needed, or what so many show."""
    from assay.online.ab_plan import plan_ab_test
    from assay.report.views import ab_plan as view

    settings = {name: getattr(planning, name) for name in ("mean", "deviation", "lift", "absolute", "users_per_day",
                                                            "power", "alpha", "ratio")}  # fmt: skip
    found = plan_ab_test(users, planning.measure, size=planning.size, tests=planning.tests, **settings)
    emit(found, view.table(found), out, [users] if users else [])


@command.command("analyse", examples=_ANALYSES, wording="ab.analyse")
@add_argument("files", nargs=-1, required=True, metavar="EVENTS|USERS|ARMS...")
@options.encoding
@takes(log=TrialLog, deciding=Deciding, where=EngineChoice, out=Output)
def analyse(*, files: tuple[str, ...], log: TrialLog, deciding: Deciding, where: EngineChoice, out: Output) -> None:
    """Decide, print, exit."""
    from assay.online.ab import ab_test
    from assay.online.preferences import interleaving_test
    from assay.online.team_clicks import is_interleaved
    from assay.report.views import ab_test as trial_view
    from assay.report.views import interleaving as interleaving_view

    given = log.open(files, where)
    found: ABTest | InterleavingTest
    if is_interleaved(given, deciding.measures):
        options.refuse("measures", "guardrails", "lower", "shares", "no_cuped", "timezone", because="cli.interleaved")
        found = interleaving_test(given, experiment=log.experiment, **deciding.rules())
        emit(found, interleaving_view.table(found), out, files, names=3)
    else:
        found = ab_test(given, list(deciding.measures), timezone=log.timezone, experiment=log.experiment,
                        **deciding.settings())  # fmt: skip
        emit(found, trial_view.table(found), out, files)
    if not found.passes(strict=deciding.strict):
        sys.exit(1)


@command.command("history", examples=_HISTORIES, wording="ab.history")
@add_argument("results", nargs=-1, required=True, metavar="RESULT|COMPARISON=TEST...")
@add_option("-m", "--measure", metavar="MEASURE")
@add_option("--online-measure", metavar="MEASURE")
@takes(out=Output)
def history(*, results: tuple[str, ...], measure: str | None, online_measure: str | None, out: Output) -> None:
    """Print what comparisons predicted and what tests found."""
    from assay.online.ab_history import ab_history
    from assay.report.views import ab_history as view

    given = [(first, second) if first else second for first, second in map(options.split_name, results)]
    found = ab_history(given, measure=measure, online_measure=online_measure)
    emit(found, view.table(found), out, [place for text in results for place in options.split_name(text) if place])


command.add_command(ab_interleave.command)
command.add_command(ab_replay.command)
