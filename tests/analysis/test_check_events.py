"""`assay check` of an event log: rows by fault, in both languages."""

from __future__ import annotations

import json

import pytest

import assay
from assay.analysis.check_files import identify

QUERY = {"query_id": "q1", "client_id": "u1", "user_query": "tea", "timestamp": "2025-01-01T12:00:00Z"}
SHOWN = {
    "action_name": "impression", "query_id": "q1", "client_id": "u1", "timestamp": "2025-01-01T12:00:01Z",
    "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 1}},
}  # fmt: skip
CLICK = {**SHOWN, "action_name": "click", "timestamp": "2025-01-01T12:00:05Z"}
ZERO = [
    {**QUERY, "query_id": "q0"},
    {**SHOWN, "query_id": "q0", "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 0}}},
]


def write(folder, name, *documents):
    (folder / name).write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents) + "\n")
    return folder / name


def kinds(*places):
    return {str(one.kind): one.count for one in assay.check_files(places).findings}


def test_a_clean_log_has_no_findings(tmp_path):
    found = assay.check_files([write(tmp_path, "log.ndjson", QUERY, SHOWN, CLICK)])
    assert found.clean
    assert [(one.kind, str(one.holds)) for one in found.files] == [("events", "1 query, 2 events")]


@pytest.mark.parametrize(
    ("more", "kind", "count"),
    [
        (["{"], "last line cut off", 1),
        (['{"action_name": {}}'], "schema", 1),
        ([{**SHOWN, "query_id": "q9"}], "unknown query", 1),
        ([{**CLICK, "action_name": "search", "event_attributes": None}], "no attributes", 1),
        ([CLICK, CLICK], "duplicate event", 2),
        ([{**CLICK, "timestamp": "1990-01-01T00:00:00Z"}], "clock", 1),
        ([{**CLICK, "timestamp": "2024-12-31T00:00:00Z"}], "event before its query", 1),
        ([{**QUERY, "query_id": "q2", "client_id": "nightly-bot"}], "bots", 1),
        ([{**QUERY, "query_id": "q2"}, {**CLICK, "query_id": "q2"}], "no impressions", 1),
        (ZERO, "positions from 0 and from 1", 1),
        (
            [{**QUERY, "query_id": name, "query_attributes": {"experiment": {"id": "e", "variant": name}}} for name in "AB"],
            "users in two variants",
            1,
        ),
    ],
)  # fmt: skip
def test_every_fault_is_a_finding(tmp_path, more, kind, count):
    assert kinds(write(tmp_path, "log.ndjson", QUERY, SHOWN, CLICK, *more)) == {kind: count}


def test_queries_and_events_in_two_files_are_one_log(tmp_path):
    queries, events = write(tmp_path, "queries.ndjson", QUERY), write(tmp_path, "events.ndjson", SHOWN, CLICK)
    assert kinds(queries, events) == {}
    assert kinds(events) == {"unknown query": 2}


def test_logs_of_every_format_are_recognised(tmp_path):
    bulk = json.dumps({"index": {"_index": "ubi_events"}})
    assert identify(str(write(tmp_path, "bulk.ndjson", bulk, CLICK))) == "events"
    assert identify(str(write(tmp_path, "clicks.csv", "user,time,action,doc_id\nu,2025-01-01,click,d"))) == "events"
    assert (
        identify(str(write(tmp_path, "clicks.tsv", "用户ID\t时间\t行为\t文档ID\nu\t2025-01-01\t点击\td"))) == "events"
    )
    (tmp_path / "log").mkdir()
    write(tmp_path / "log", "day1.ndjson", QUERY)
    assert identify(str(tmp_path / "log")) == "events"
    assert identify(str(write(tmp_path, "judged.json", '{"index": {"d1": 1}}'))) == "judgments"


def test_the_command_says_it_in_both_languages_and_exits_with_1(call, tmp_path):
    write(tmp_path, "log.ndjson", QUERY, SHOWN, CLICK, {**CLICK, "query_id": "q9"})
    code, out, _ = call("check", "log.ndjson")
    assert code == 1
    assert out.startswith("log.ndjson: an event log, 1 query, 3 events\n")
    assert "unknown query: 1 event belongs to queries that are not in the log" in out
    code, out, _ = call("check", "log.ndjson", "--lang", "zh")
    assert code == 1
    assert "未知查询：1 个事件所属的查询不在日志中" in out


def test_columns_can_be_named(call, tmp_path):
    write(tmp_path, "log.csv", "a,b,c\nq1,query,u1\nq1,impression,u1")
    assert call("check", "log.csv", "--map", "query_id=a", "--map", "action=b", "--map", "user=c")[0] == 0
    code, _, err = call("check", "log.csv", "--map", "action=zz")
    assert (code, err.count("\n")) == (2, 1)


def test_the_public_sample_of_ubi(shared):
    found = kinds(shared / "ubi" / "ubi_queries_events.ndjson")
    assert found["unknown query"] == 946
    assert found["no attributes"] == 506
    said = next(
        one for one in assay.check_files([shared / "ubi" / "ubi_queries_events.ndjson"]).findings
        if one.kind == "positions from 0 and from 1"
    )  # fmt: skip
    assert "200 queries from 0" in said.message
