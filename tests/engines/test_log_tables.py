"""Event logs that an engine cleans and reduces in parts: whole requests, then whole users, are what all of them are."""

from __future__ import annotations

import random

import pytest

import assay
from assay.engines import batches
from assay.engines.local import LocalEngine
from assay.errors import InputError, UsageError
from assay.online.log_tables import read_event_tables
from conftest import STRESS
from lake import random_log, say_all, scatter

SEEDS = range(200 if STRESS else 2)
READING = [{}, {"bots": "drop"}, {"fold_variants": True, "salt": "salt and pepper"}, {"first_position": 0}]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Some sixty rows at a time."""
    monkeypatch.setattr(batches.whole_groups, "__defaults__", ("query_id", 60))


@pytest.mark.parametrize("how", READING)
def test_a_log_in_parts_says_what_it_says_in_one_place(tmp_path, how):
    """The files of a folder are parts of one table; rows without a query id are in many of the parts."""
    compared = 0
    for seed in SEEDS:
        place, rng = tmp_path / f"{seed}", random.Random(seed)
        scatter(random_log(rng, 60 + 240 * (seed % 2)), place, 2, rng)
        whole = say_all(assay.read_events(place, attributes=["area"], **how))
        with read_event_tables(place, engine=LocalEngine(), attributes=["area"], **how) as log:
            found = say_all(log)
        # Where a log cannot be used, one error names its first file and the other the table.
        assert found == [one.replace("/part-0.parquet", "") if isinstance(one, str) else one for one in whole]
        compared += sum(isinstance(one, dict) for one in whole)
    assert compared > 3 * len(SEEDS)  # most of it can be computed


def test_lines_of_ubi_and_tables_without_order_are_read_in_parts(tmp_path):
    """A line that is no JSON, one that is no document, and one that repeats another."""
    lines = [
        f'{{"query_id": "{i % 7}", "client_id": "u{i % 3}", "action_name": "click", "timestamp": "2025-01-01T00:0{i % 7}:05Z"}}'
        for i in range(9)
    ]
    lines += [f'{{"query_id": "{i}", "user_query": "tea", "timestamp": "2025-01-01T00:0{i}:00Z"}}' for i in range(6)]
    place = tmp_path / "events.ndjson"
    place.write_text("\n".join([*lines[:3], "no json", "", '{"a": 1}', *lines[3:]]))
    with read_event_tables(place, engine=LocalEngine()) as log:
        assert say_all(log) == say_all(assay.read_events(place))
        assert [one.rows for one in log.quarantine] == [1, 1]
    flat = tmp_path / "flat.jsonl"
    flat.write_text('{"query": "1", "action": "query", "user": "u"}\n')
    with pytest.raises(InputError, match="no line of this file"), read_event_tables(flat, engine=LocalEngine()):
        pass
    (tmp_path / "log.csv").write_text("query_id,action\n1,query\n")
    with (
        pytest.raises(InputError, match="not in files of this kind"),
        read_event_tables(tmp_path / "log.csv", engine=LocalEngine()),
    ):
        pass


def test_an_attribute_that_no_row_has_is_refused_and_so_is_what_needs_every_event(tmp_path):
    place = tmp_path / "log.parquet"
    random_log(random.Random(0)).write_parquet(place)
    with (
        pytest.raises(InputError, match="attribute 'region'"),
        read_event_tables(place, engine=LocalEngine(), attributes=["region"]),
    ):
        pass
    with read_event_tables(place, engine=LocalEngine()) as log, pytest.raises(UsageError, match="in one place"):
        assay.sample_log(log, 3)
