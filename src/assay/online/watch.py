"""`watch_log`: windows of a log that grows, held against targets, with alerts whose false alarms are budgeted."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.formats.traces.reading import is_traces
from assay.messages import say
from assay.online.watching.feeds import EventFeed, TraceFeed, refuse_missing
from assay.online.watching.settings import plan_watch, read_duration
from assay.online.watching.state import WatchState
from assay.online.watching.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from assay.data.protocol import Protocol
    from assay.formats.events.reading import Places
    from assay.llm.client import Client
    from assay.measures import Measure
    from assay.online.watching.judging import WatchJudge
    from assay.online.watching.outbox import Outbox
    from assay.online.watching.settings import WatchSettings
    from assay.results.watch import Watch

_SUFFIX = ".assay-watch"


def watch_log(
    log: Places,
    *,
    protocol: str | Protocol | None = None,
    measures: Sequence[str | Measure] | str = (),
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    window: str = "1h",
    lateness: str = "10m",
    false_alarms: float = 1.0,
    in_a_row: int | None = None,
    drift: float = 0.25,
    baseline: int | None = None,
    canary: Sequence[str] = (),
    judge: Client | None = None,
    judged: int = 20,
    max_cost: float | None = None,
    bad: str | os.PathLike[str] | None = None,
    evaluations: str | os.PathLike[str] | None = None,
    keep: str | None = None,
    state: str | os.PathLike[str] | None = None,
) -> Watch:
    r"""Read what is new in a log, close the windows of event time that are over, and say which alerts stand.

    The log is a file, several, or folders: UBI or traces (OTLP) in JSON lines, to which lines may be added between two
    calls, Parquet or CSV. Targets are those of a `protocol` that a log can be held against, and limits of your own
    (`at_least`, `at_most`). An alert begins when the intervals of several windows in a row are past a target;
    `false_alarms` is how many may be expected in a year for each measure with a target. A window is closed when the log
    has gone on for `lateness` after its end, or that much time has passed. What was counted is kept in the folder
    `state` (beside the log unless given), so that the next call counts only what is new.

    What is asked and found may drift: the stability index of every window against the first ones, as many as `baseline`
    says (a day, at least seven), should stay below `drift` (0: none is looked at). The lists of `canary` queries, named
    by their texts, should stay as they were at first.

    Of traces, a `judge` looks at a sample of answers of each window, `judged` of them, for at most `max_cost` a day;
    the probabilities of the sample weigh its mean. Requests that failed or were not answered are written as samples to
    the file `bad`; their texts are kept in the state, for as long as `keep` says (30d). The values of single answers
    are added to a file `evaluations` as OTLP in JSON lines, or sent to a server of OTLP/HTTP if it is an address.

    >>> import assay
    >>> from pathlib import Path
    >>> line = '{"query_id": "%d", "client_id": "u%d", "user_query": "tea", "timestamp": "2025-01-01T00:%02d:00Z"}\n'
    >>> _ = Path("ubi.ndjson").write_text("".join(line % (i, i, i) for i in range(60)))
    >>> found = assay.watch_log("ubi.ndjson", measures="query_latency")
    >>> [(one.start, one.requests) for one in found.windows]
    [('2025-01-01T00:00:00Z', 60)]
    """
    settings = plan_watch(
        protocol=protocol, measures=measures, at_least=at_least, at_most=at_most, window=window, lateness=lateness,
        false_alarms=false_alarms, in_a_row=in_a_row, drift=drift, baseline=baseline, canary=canary,
    )  # fmt: skip
    outbox = _make_outbox(evaluations)
    with closing(open_watch(log, settings, state, judge=_make_judge(judge, judged, max_cost))) as watcher:
        watcher.bad, watcher.keep = bad, None if keep is None else read_duration(keep)
        watcher.outbox = outbox
        return watcher.catch_up()


def follow_log(
    log: Places,
    *,
    state: str | os.PathLike[str] | None = None,
    pause: float = 5.0,
    traces: bool = False,
    judge: Client | None = None,
    judged: int = 20,
    max_cost: float | None = None,
    bad: str | os.PathLike[str] | None = None,
    evaluations: str | os.PathLike[str] | None = None,
    keep: str | None = None,
    **more: Any,
) -> Generator[Watch, None, None]:
    r"""Watch a log for ever: yields what was found at first, and again whenever windows were closed.

    `more` are the arguments of `watch_log`; files are looked at again after a `pause` in seconds. `traces` says that a
    folder will hold traces, which may still be empty.

    >>> import assay
    >>> from pathlib import Path
    >>> line = '{"query_id": "%d", "client_id": "u%d", "user_query": "tea", "timestamp": "2025-01-01T0%d:00:00Z"}\n'
    >>> _ = Path("ubi.ndjson").write_text("".join(line % (i, i, i) for i in range(4)))
    >>> following = assay.follow_log("ubi.ndjson")
    >>> len(next(following).windows)  # the last two are still open
    2
    >>> following.close()
    """
    asked, outbox = _make_judge(judge, judged, max_cost), _make_outbox(evaluations)
    with closing(open_watch(log, plan_watch(**more), state, traces=traces, judge=asked)) as watcher:
        watcher.bad, watcher.keep = bad, None if keep is None else read_duration(keep)
        watcher.outbox = outbox
        yield from watcher.follow(pause)


def open_watch(
    log: Places, settings: WatchSettings, state: str | os.PathLike[str] | None = None, *, traces: bool = False,
    judge: WatchJudge | None = None,
) -> Watcher:  # fmt: skip
    """Open the state of a watch, or begin one; it has to be closed. `traces`: they are expected in a folder."""
    places = tuple(os.fspath(one) for one in ([log] if isinstance(log, (str, os.PathLike)) else log))
    if not places:
        raise UsageError(say("no event log is given"))
    refuse_missing(places)
    folder = Path(state) if state is not None else Path(places[0].rstrip(os.sep) + _SUFFIX)
    kind = "traces" if traces or is_traces(places[0]) else "events"
    opened = WatchState.open(folder, settings.lasting, kind)
    try:
        return Watcher(places, settings, _open_feed(opened, settings), opened, judge=judge)
    except BaseException:
        opened.close()
        raise


def _make_judge(judge: Client | None, judged: int, max_cost: float | None) -> WatchJudge | None:
    if judge is None:
        return None
    from assay.online.watching.judging import WatchJudge

    return WatchJudge(judge, judged, max_cost)


def _make_outbox(place: str | os.PathLike[str] | None) -> Outbox | None:
    if place is None:
        return None
    from assay.online.watching.outbox import Outbox

    return Outbox(os.fspath(place))


def _open_feed(state: WatchState, settings: WatchSettings) -> EventFeed | TraceFeed:
    width = round(settings.width * 1_000_000)
    if state.kind == "events":
        return EventFeed(width)
    stored = None if state.waiting is None else state.place(state.waiting).read_bytes()
    return TraceFeed.of(width, settings.lateness, stored)
