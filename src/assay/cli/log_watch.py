"""`assay log watch`: windows of a growing log against targets, and the alerts that stand."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import NUMBER, POSITIVE, Number, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.results.watch import Watch
    from assay.server.watching import WatchEndpoint

_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1"
_EXAMPLES = (
    "assay log watch logs/ --protocol rerank --once",
    "assay log watch events.jsonl --at-most zero_results=0.05 --at-most 'query_latency(p=95)=800'",
    "assay log watch logs/ --protocol rerank --prometheus assay.prom --rules assay.yml --dashboard assay.json",
    "assay log watch --listen 4318 --state watch --at-most error_rate=0.02",
    f"assay log watch traces.jsonl --judge qwen-plus --url {_URL} --evaluations evaluations.jsonl --once",
    "assay log watch events.jsonl --window 1d --lateness 2h --at-least any_click=0.4 --once --report watch.html",
)

_STATE = "assay-watch"  # of a watch that only listens


@dataclass(frozen=True)
class Watching:
    """What is watched, and how."""

    protocol: str | None = option("--protocol", metavar="NAME|FILE", section="watching")
    at_least: tuple[str, ...] = option(
        "--at-least", default=(), multiple=True, metavar="MEASURE=VALUE", section="watching"
    )
    at_most: tuple[str, ...] = option(
        "--at-most", default=(), multiple=True, metavar="MEASURE=VALUE", section="watching"
    )
    window: str = option("--window", default="1h", show_default=True, metavar="DURATION", section="watching")
    lateness: str = option("--lateness", default="10m", show_default=True, metavar="DURATION", section="watching")
    false_alarms: float = option("--false-alarms", default=1.0, show_default=True, type=NUMBER, section="watching")
    in_a_row: int | None = option("--in-a-row", type=POSITIVE, section="watching")
    drift: float = option("--drift", default=0.25, show_default=True, type=NUMBER, section="watching")
    baseline: int | None = option("--baseline", type=POSITIVE, section="watching")
    canary: str | None = option("--canary", metavar="FILE", section="watching")
    state: str | None = option("--state", type=OUTPUT, metavar="DIR", section="watching")

    def more(self, measures: tuple[str, ...], state: str | None) -> dict[str, Any]:
        """The arguments of `watch_log`."""
        return {
            "protocol": self.protocol,
            "measures": measures,
            "at_least": options.numbers(self.at_least, "--at-least"),
            "at_most": options.numbers(self.at_most, "--at-most"),
            "window": self.window,
            "lateness": self.lateness,
            "false_alarms": self.false_alarms,
            "in_a_row": self.in_a_row,
            "drift": self.drift,
            "baseline": self.baseline,
            "canary": self._canary(),
            "state": self.state or state,
        }

    def _canary(self) -> list[str]:
        """The texts of the canary queries."""
        from assay.formats.queries import read_queries

        return [] if self.canary is None else list(read_queries(self.canary).texts().values())


@dataclass(frozen=True)
class WatchingJudge:
    """A language model that judges a sample of each window."""

    judge: str | None = option("--judge", envvar="ASSAY_JUDGE", metavar="NAME[@URL]", section="asking")
    judged: int = option("--judged", default=20, show_default=True, type=POSITIVE, section="asking", only="judge")
    url: str | None = option("--url", envvar="ASSAY_BASE_URL", metavar="URL", section="asking")
    max_cost: float | None = option("--max-cost", type=NUMBER, section="asking", only="judge")
    key_env: str = option("--key-env", default="", metavar="NAME", section="asking", only="judge")
    key_file: str | None = option("--key-file", metavar="FILE", section="asking", only="judge")
    prices: str | None = option("--prices", metavar="FILE", section="asking", only="judge")
    cache: str | None = option("--cache", type=OUTPUT, metavar="DIR", section="asking", only="judge")

    def more(self) -> dict[str, Any]:
        """The arguments of `watch_log`."""
        if self.judge is None:
            return {}
        from assay.cli.asking import Asking, clients

        asking = Asking(
            url=self.url, key_env=self.key_env, key_file=self.key_file, prices=self.prices, cache=self.cache
        )
        return {
            "judge": next(iter(clients([self.judge], asking).values())),
            "judged": self.judged,
            "max_cost": self.max_cost,
        }


@dataclass(frozen=True)
class Receiving:
    """Where traces are received, and what is kept of them."""

    listen: str | None = option("--listen", metavar="[HOST:]PORT", section="receiving")
    salt: str | None = option("--salt", metavar="TEXT|@FILE|env:NAME", section="receiving", only="listen")
    redact: bool = option("--redact", default=False, is_flag=True, section="receiving", only="listen")
    keep: str | None = option("--keep", metavar="DURATION", section="receiving")
    bad: str | None = option("--bad", type=OUTPUT, metavar="FILE", section="receiving")
    evaluations: str | None = option("--evaluations", type=OUTPUT, metavar="FILE|URL", section="receiving")

    def check_evaluations(self) -> None:
        """Refuse a place that cannot be written to, before anything is read."""
        if self.evaluations is not None and "://" not in self.evaluations:
            options.check_folder(self.evaluations)

    @contextmanager
    def open(self, state: str | None) -> Iterator[WatchEndpoint | None]:
        """Listen, if that is asked for; what is received goes into a folder of the state."""
        if self.listen is None:
            yield None
            return
        from assay.formats.events.privacy import read_salt
        from assay.online.watching.settings import read_duration
        from assay.server.watching import WatchEndpoint

        days = None if self.keep is None else read_duration(self.keep) / 86_400
        salt = None if self.salt is None else read_salt(self.salt)
        folder = Path(state or _STATE) / "received"
        with WatchEndpoint.at(
            self.listen, folder, salt=salt, redact=self.redact, keep_days=days, lang=language.current()
        ) as endpoint:
            options.note([say("cli.watch_listens", origin=endpoint.origin)])
            yield endpoint


@dataclass(frozen=True)
class Monitoring:
    """Files for monitoring systems."""

    prometheus: str | None = option("--prometheus", type=OUTPUT, metavar="FILE", section="monitoring")
    rules: str | None = option("--rules", type=OUTPUT, metavar="FILE", section="monitoring")
    dashboard: str | None = option("--dashboard", type=OUTPUT, metavar="FILE", section="monitoring")

    def check(self) -> None:
        """Refuse files that cannot be written, before anything is read."""
        for place in (self.prometheus, self.rules, self.dashboard):
            options.check_folder(place)

    def write(self, found: Watch) -> None:
        """Write them."""
        from assay.formats.monitoring import write_monitoring

        write_monitoring(found, prometheus=self.prometheus, rules=self.rules, dashboard=self.dashboard)


@make_command("watch", _EXAMPLES, wording="log.watch")
@add_argument("events", nargs=-1, metavar="EVENTS|TRACES...")
@options.measures
@add_option("--once", is_flag=True)
@add_option("--pause", default=5.0, show_default=True, type=Number(least=0, most=86_400))
@takes(watching=Watching, judging=WatchingJudge, receiving=Receiving, monitoring=Monitoring, out=Output)
def command(
    *, events: tuple[str, ...], measures: tuple[str, ...], once: bool, pause: float, watching: Watching,
    judging: WatchingJudge, receiving: Receiving, monitoring: Monitoring, out: Output,
) -> None:  # fmt: skip
    """Read what is there, and print; or follow, and print what is new."""
    from assay.online.watch import follow_log, watch_log

    out.check()
    monitoring.check()
    options.check_folder(receiving.bad)
    receiving.check_evaluations()
    more = {**watching.more(measures, None if receiving.listen is None else _STATE), **judging.more()}
    more |= {"bad": receiving.bad, "evaluations": receiving.evaluations, "keep": receiving.keep}
    if once:
        if receiving.listen is not None:
            raise UsageError(say("--once reads what is there, and --listen waits for what comes: choose one of them"))
        found = watch_log(list(events), **more)
        monitoring.write(found)
        _print(found, out)
        sys.exit(1 if found.standing else 0)
    gc.enable()  # this process is not short-lived
    with receiving.open(watching.state) as endpoint:
        places = [*events, *([] if endpoint is None else [str(endpoint.folder.folder)])]
        if not places:
            raise UsageError(say("name the logs to watch, or --listen for traces"))
        for found in follow_log(places, pause=pause, traces=endpoint is not None, **more):
            if endpoint is not None:
                endpoint.show(found)
            monitoring.write(found)
            _print(found, out)


def _print(found: Watch, out: Output) -> None:
    """Print what was found, and write its file and its page."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import watch as view
    from assay.results.result import make_result

    result = make_result(found, command=inputs.command_line(), warnings=found.warnings)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        rows: Any = found.to_rows() if kind == "csv" else ()
        return write([exact_table(rows, 2)] if rows else view.table(found), kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)
