"""Event logs that an engine cleans and reduces in parts: whole requests, then whole users, are what all of them are."""

from __future__ import annotations

import random

import pytest

import assay
from assay.engines import batches
from assay.engines.local import LocalEngine
from assay.errors import AssayError
from assay.online.log_tables import read_event_tables
from conftest import STRESS
from lake import random_log

SEEDS = range(200 if STRESS else 2)
READING = [{}, {"bots": "drop"}, {"fold_variants": True, "salt": "salt and pepper"}, {"first_position": 0}]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Some sixty rows at a time."""
    monkeypatch.setattr(batches.whole_groups, "__defaults__", ("query_id", 60))


def say_all(log) -> list:
    """All that the three commands make of a log."""
    found = [log.remarks]
    for make in (
        lambda: assay.log_metrics(log, by=["variant", "area"]),
        lambda: assay.log_metrics(log, "any_click,query_latency,query_latency(p=95)", by="day", timezone="Asia/Tokyo"),
        lambda: assay.click_judgments(log, least=1),
        lambda: assay.click_judgments(log, "pbm", least=2, queries={"q7": "GREEN tea"}),
        lambda: assay.click_judgments(log, "ctr", least=1, cuts="value"),
        lambda: assay.ab_test(log, "any_click,query_latency,clicks", control="new", least_users=1, planned=2),
    ):
        try:
            found.append(make().to_dict())
        except AssayError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("how", READING)
def test_a_log_in_parts_says_what_it_says_in_one_place(tmp_path, how):
    compared = 0
    for seed in SEEDS:
        place = tmp_path / f"{seed}.parquet"
        random_log(random.Random(seed)).write_parquet(place)
        whole = say_all(assay.read_events(place, attributes=["area"], **how))
        with read_event_tables(place, engine=LocalEngine(), attributes=["area"], **how) as log:
            assert say_all(log) == whole
        compared += sum(isinstance(one, dict) for one in whole)
    assert compared > 3 * len(SEEDS)  # most of it can be computed
