"""Event logs as Parquet in our own columns, so that a large log is read and cleaned once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.data.events import EventFault, Events, schema
from assay.errors import UsageError
from assay.formats import redaction
from assay.formats.files import check_outputs, write_by
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    import os

_KEY = "assay.events"
_VERSION = 1
_LATER = ("rating_scale", "teams")  # columns that the first files do not have


class Marks(msgspec.Struct):
    """What a file of ours says of itself: that it was cleaned, and what was found then."""

    version: int
    attributes: tuple[str, ...]
    faults: tuple[EventFault, ...]


def write_events(log: Events, place: str | os.PathLike[str], *, redact: bool = False) -> None:
    """Write a log as Parquet, completely or not at all; `redact` takes personal data out of the texts of queries.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("ubi.ndjson").write_text('{"query_id": "1", "client_id": "u", "user_query": "mail ann@example.com"}')
    >>> assay.write_events(assay.read_events("ubi.ndjson"), "ubi.parquet", redact=True)
    >>> assay.read_events("ubi.parquet").frame.collect()["text"].item()
    'mail [email]'
    """
    if Path(place).suffix.lower() != ".parquet":
        raise UsageError(say("event logs are written as Parquet: expected a file that ends in .parquet"))
    check_outputs([place], [one.path for one in log.sources])
    marks = Marks(_VERSION, log.attributes, log.faults)
    frame = log.frame.with_columns(redaction.redact(pl.col("text"))) if redact else log.frame
    metadata = {_KEY: msgspec.json.encode(marks).decode()}
    write_by(place, lambda file: frame.sink_parquet(file, metadata=metadata, compression="zstd"))


def marks_of(path: Path) -> Marks | None:
    """What a Parquet file says of itself, if it is one of ours."""
    try:
        told = pl.read_parquet_metadata(path).get(_KEY)
        marks = None if told is None else msgspec.json.decode(told, type=Marks)
    except (OSError, pl.exceptions.PolarsError, msgspec.MsgspecError):
        return None
    known = None if marks is None else pl.read_parquet_schema(path)
    is_ours = known is not None and all(
        known.get(name) == kind for name, kind in schema().items() if name not in _LATER
    )
    return marks if is_ours and marks is not None and marks.version == _VERSION else None
