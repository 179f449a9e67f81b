"""Reading an A/B test: an event log, one row per user, or sums over the users of each arm."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.data.events import Events
from assay.engines.spark import is_spark_frame
from assay.errors import UsageError
from assay.formats.events.recognition import is_event_log
from assay.formats.trial_users import DAY, VARIANT, find_counts, reduce_users
from assay.formats.trials import TrialData, check_groups, is_share, read_trial_table
from assay.lazy import pl
from assay.measures import parse
from assay.messages import say
from assay.online.log_tables import open_events
from assay.online.trial_events import users_of_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.engines.engine import Engine
    from assay.online.trial_events import LogUsers


def read_trial(
    given: Any,
    measures: Sequence[str] = (),
    *,
    cuped: bool = True,
    one_variant: bool = False,
    timezone: str = "UTC",
    experiment: str | None = None,
    engine: str | Engine | None = None,
) -> TrialData:
    """Read an event log, or what `read_trial_table` reads: a file or a frame of users or arms.

    An engine reads logs alone.
    """
    by_engine = (engine is not None and engine != "local") or is_spark_frame(given)
    if isinstance(given, Events) or by_engine or _is_log(given):
        with open_events(given, engine=engine) as events:
            label = events.sources[0].label if events.sources else ""
            users = users_of_log(
                events, measures, cuped=cuped, one_variant=one_variant, timezone=timezone, experiment=experiment,
                label=label,
            )  # fmt: skip
        return _reduce_log(users, label, planned=one_variant)
    if experiment is not None:
        raise UsageError(say("only an event log has experiments to choose from"))
    return read_trial_table(given, measures, cuped=cuped, one_variant=one_variant)


def _is_log(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return bool(given) and all(isinstance(one, (str, os.PathLike)) for one in given)
    return isinstance(given, (str, os.PathLike)) and is_event_log(os.fspath(given))


def _reduce_log(users: LogUsers, label: str, *, planned: bool) -> TrialData:
    frame = (
        users.frame.lazy()
        .rename({"variant": VARIANT})
        .with_columns(pl.col("day").cast(pl.String).fill_null("").alias(DAY))
    )
    names = check_groups(frame, None, label)
    daily = reduce_users(frame, users.parts)
    answers = TrialData(reduce_users(frame, users.answers) if users.answers else {})
    found = TrialData(
        daily,
        tuple(measure for measure, parts in users.parts.items() if parts[2]),
        file=label,
        variants=tuple(sorted(names)),
        lower=users.lower,
        answers={measure: answers.arms(measure) for measure in users.answers},
        notes=users.notes,
        full_days=users.full_days,
        crossed=users.crossed,
        declared=True,
        counts=find_counts(frame, {measure: parts[0] for measure, parts in users.parts.items()}) if planned else (),
        limited=tuple(measure for measure in users.parts if planned and parse(measure).bounds == (0, 1)),
    )
    return replace(found, shares=tuple(m for m in users.parts if all(is_share(arm) for arm in found.arms(m).values())))
