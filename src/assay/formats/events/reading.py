"""Reading event logs from files of any format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.formats.events.cleaning import Cleaning, Rules, clean
from assay.formats.events.faults import Tally
from assay.formats.events.rows import Rows, columns_of
from assay.formats.events.slices import slices_of
from assay.formats.files import Input
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import Events

    Places = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read_events(
    places: Places, *, encoding: str | None = None, attributes: Sequence[str] = (), first_position: int | None = None
) -> Events:
    r"""Read an event log from one file or several: UBI queries and events in JSON lines.

    `attributes` are names under `query_attributes` and `event_attributes` that become columns of text,
    `experiment.owner` one with dots. `first_position` says that all positions begin at 0 or at 1, where that cannot be
    found out.

    >>> import assay
    >>> from pathlib import Path
    >>> query = '{"query_id": "1", "client_id": "u", "user_query": "tea", "timestamp": "2025-01-01T00:00:00Z"}'
    >>> click = '{"query_id": "1", "client_id": "u", "action_name": "click", "timestamp": "2025-01-01T00:00:05Z"}'
    >>> _ = Path("ubi.ndjson").write_text(query + "\n" + click)
    >>> assay.read_events("ubi.ndjson").frame.select("action").collect()["action"].to_list()
    ['query', 'click']
    """
    return clean_events(places, encoding=encoding, attributes=attributes, first_position=first_position).events


def clean_events(
    places: Places, *, encoding: str | None = None, attributes: Sequence[str] = (), first_position: int | None = None
) -> Cleaning:
    """Read an event log as `read_events` does, with all the faults that were found."""
    named = [places] if isinstance(places, (str, os.PathLike)) else list(places)
    files = [_read_lines(Input.at(place, encoding), attributes) for place in named]
    return clean(files, attributes, Rules(first_position))


def _read_lines(source: Input, attributes: Sequence[str]) -> Rows:
    """Read UBI's JSON lines."""
    from assay.formats.events.ubi import read_slice

    tally = Tally()
    frames = [read_slice(data, line, source.source.portable, attributes, tally) for line, data in slices_of(source)]
    frame = pl.concat(frames, how="vertical").select(columns_of(attributes))
    if frame.is_empty():
        first = next(iter(tally.faults), None)
        raise InputError(
            say("no line of this file is a query or an event") if first is None else first.sentence,
            path=source.label,
            hint=say("expected UBI queries and events, one JSON object per line"),
        )
    return Rows(frame.lazy(), source.source, tuple(tally.faults))
