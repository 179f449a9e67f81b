"""Event logs in memory."""

from datetime import UTC, datetime

import polars as pl
import pytest

from assay.data.events import Events, schema
from assay.errors import InputError


def test_a_log_has_every_column_whatever_the_frame_lacks() -> None:
    frame = pl.DataFrame({"query_id": ["q"], "action": ["click"], "position": [2]})
    found = Events.of(frame).frame.collect()
    assert found.columns == list(schema())
    assert found.schema == pl.Schema(schema())
    assert found.row(0, named=True) == dict.fromkeys(schema()) | {"query_id": "q", "action": "click", "position": 2}


def test_times_keep_their_moment() -> None:
    moment = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)
    assert Events.of(pl.DataFrame({"time": [moment]})).frame.collect()["time"].to_list() == [moment]


def test_attributes_follow_the_columns_of_the_log() -> None:
    log = Events.of(pl.DataFrame({"query_id": ["q"], "country": ["DE"], "other": [1]}), ["country"])
    assert log.frame.collect().columns == [*schema(), "country"]


def test_a_column_of_another_kind_is_refused_when_it_is_read() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError):
        Events.of(pl.DataFrame({"position": ["first"]})).frame.collect()


@pytest.mark.parametrize(
    ("name", "value"), [("position", 0), ("latency_ms", -1.0), ("cost", -0.1), ("input_tokens", -5), ("dwell_ms", -2.0)]
)
def test_numbers_that_cannot_be_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=name):
        Events.of(pl.DataFrame({name: [None, 3, value]}, strict=False))
    assert len(Events.of(pl.DataFrame({name: [None, 1, 2]})).frame.collect()) == 3
