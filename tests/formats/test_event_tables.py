"""Event logs as tables say the same as UBI does."""

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from assay import read_events
from assay.data.events import schema
from assay.errors import AssayError, InputError, UnknownName

TIME = datetime(2025, 1, 1, 12, tzinfo=UTC)
ROWS = [
    {"query_id": "q1", "user": "u1", "time": TIME, "action": "query", "text": "tea", "results": ["d1", "d2"]},
    {"query_id": "q1", "user": "u1", "time": TIME.replace(second=1), "action": "impression", "doc_id": "d1", "position": 1},
    {"query_id": "q1", "user": "u1", "time": TIME.replace(second=2), "action": "click", "doc_id": "d1", "position": 1},
    {"query_id": "q1", "user": "u1", "time": TIME.replace(second=9), "action": "feedback", "feedback": -1.0, "cost": 0.5},
]  # fmt: skip
WANTED = [
    {**dict.fromkeys(schema()), **row, "result_count": len(row["results"]) if "results" in row else None, "orphan": False,  # type: ignore[arg-type]
     "rating_scale": "thumbs" if "feedback" in row else None}
    for row in ROWS
]  # fmt: skip
NAMES = ("query_id", "user", "time", "action", "doc_id", "position", "text", "results", "feedback", "cost")
CHINESE = ("查询ID", "用户ID", "时间", "行为", "文档ID", "位置", "查询词", "结果列表", "评分", "费用")
THEIRS = ("qid", "client_id", "ts", "event", "item_id", "rank", "query", "result_ids", "rating", "cost_usd")


def read(place: Path, **more: object) -> list[dict[str, object]]:
    return read_events(place, **more).frame.collect().to_dicts()  # type: ignore[arg-type]


def cells(row: dict[str, object]) -> list[object]:
    """The row as text: times in ISO 8601, lists with | between ids."""
    values = [row.get(name) for name in NAMES]
    texts = ["|".join(one) if isinstance(one, list) else one for one in values]
    return [one.isoformat() if isinstance(one, datetime) else "" if one is None else one for one in texts]


@pytest.mark.parametrize("names", [NAMES, CHINESE, THEIRS])
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_table_has_names_of_its_own(tmp_path: Path, names: tuple[str, ...], suffix: str, separator: str) -> None:
    place = tmp_path / f"log.{suffix}"
    lines = [names, *map(cells, ROWS)]
    place.write_text("\n".join(separator.join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    assert read(place) == WANTED


def test_any_column_can_be_named(tmp_path: Path) -> None:
    place = tmp_path / "log.csv"
    names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    place.write_text("\n".join(",".join(map(str, line)) for line in [names, *map(cells, ROWS)]) + "\n")
    assert read(place, map=dict(zip(NAMES, names, strict=True))) == WANTED
    with pytest.raises(InputError, match="action"):
        read_events(place)
    with pytest.raises(UnknownName, match="client"):
        read_events(place, map={"client": "b"})
    with pytest.raises(InputError, match="no column 'zz' for user"):
        read_events(place, map={"action": "d", "user": "zz"})


def test_a_frame_of_our_columns_is_read_from_parquet(tmp_path: Path) -> None:
    place = tmp_path / "log.parquet"
    pl.DataFrame(ROWS).write_parquet(place)
    assert read(place) == WANTED


def test_ubi_in_parquet_has_objects_for_attributes(tmp_path: Path) -> None:
    asked = pl.DataFrame(
        {"query_id": ["q1"], "client_id": ["u1"], "user_query": ["tea"], "timestamp": [TIME],
         "query_response_hit_ids": [["d1", "d2"]], "query_attributes": [{"experiment": {"id": "e", "variant": "B"}}]}
    )  # fmt: skip
    place = {"object": {"object_id": "d1"}, "position": {"ordinal": 0}, "usage": {"cost": 0.5}, "country": "DE"}
    done = pl.DataFrame(
        {"query_id": ["q1"], "client_id": ["u1"], "action_name": ["item_click"], "timestamp": [TIME],
         "event_attributes": [place]}
    )  # fmt: skip
    (tmp_path / "log" / "dt=1").mkdir(parents=True)
    asked.write_parquet(tmp_path / "log" / "queries.parquet")
    done.write_parquet(tmp_path / "log" / "dt=1" / "events.parquet")
    (tmp_path / "log" / "_SUCCESS").write_text("")
    found = read(tmp_path / "log", attributes=["country"])
    wanted = dict.fromkeys(schema()) | {
        "query_id": "q1", "user": "u1", "time": TIME, "action": "click", "doc_id": "d1", "position": 1,
        "experiment": "e", "variant": "B", "cost": 0.5, "orphan": False, "country": "DE",
    }  # fmt: skip
    assert next(row for row in found if row["action"] == "click") == wanted
    assert next(row for row in found if row["action"] == "query")["results"] == ["d1", "d2"]


def test_attributes_may_be_texts_of_json(tmp_path: Path) -> None:
    attributes = json.dumps({"object": {"object_id": "d1"}, "position": {"ordinal": 1}}).replace('"', '""')
    (tmp_path / "log.csv").write_text(
        f'query_id,client_id,action_name,timestamp,event_attributes\nq1,u1,impression,1735732800000,"{attributes}"\n'
    )
    found = read(tmp_path / "log.csv")[0]
    assert (found["doc_id"], found["position"], found["time"]) == ("d1", 1, TIME)


def test_flat_json_lines_are_a_table(tmp_path: Path) -> None:
    place = tmp_path / "log.jsonl"
    place.write_text("\n".join(json.dumps(row, default=datetime.isoformat) for row in ROWS) + '\n{"query_id')
    assert read(place) == WANTED
    assert [(one.kind, one.rows) for one in read_events(place).faults] == [("truncated", 1)]


def test_one_list_of_documents_is_read(tmp_path: Path) -> None:
    place = tmp_path / "log.json"
    place.write_text(json.dumps(ROWS, default=datetime.isoformat, indent=2))
    assert read(place) == WANTED


def test_a_table_that_is_cut_off_loses_its_last_line_with_a_word(tmp_path: Path) -> None:
    place = tmp_path / "log.csv"
    place.write_text("query_id,user,action\nq1,u1,query\nq1,u")
    log = read_events(place)
    assert len(log.frame.collect()) == 1
    assert [(one.kind, one.examples) for one in log.faults] == [("truncated", ("log.csv:3",))]


def test_numbers_that_cannot_be_read_are_left_out_and_counted(tmp_path: Path) -> None:
    place = tmp_path / "log.csv"
    place.write_text(
        "query_id,action,position,cost\nq1,query,,\nq1,impression,1,\nq1,click,first,1\nq1,click,-2,\nq1,click,1,much\n"
    )
    log = read_events(place)
    assert log.frame.collect()["position"].to_list() == [None, 1, None, None, 1]
    assert [(one.kind, one.rows) for one in log.faults] == [("bad_number", 3)]


def test_a_table_of_requests_needs_no_action(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query_id,query,results\nq1,tea,d1|d2\nq2,water,[]\nq3,milk,\n")
    found = read(tmp_path / "queries.csv")
    assert {row["action"] for row in found} == {"query"}
    assert [row["results"] for row in found] == [["d1", "d2"], [], None]
    assert [row["result_count"] for row in found] == [2, 0, None]


@pytest.mark.parametrize("text", ["", "a,b\n", "a,b\n1,2\n", "{}", "[]", "[1]", "PAR1", "\0\0"])
def test_what_is_no_log_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(AssayError):
        read_events(tmp_path / "log").frame.collect()


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no event logs"):
        read_events(tmp_path)


def test_an_attribute_that_no_row_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("query_id,action,country\nq1,query,DE\n")
    assert read(tmp_path / "log.csv", attributes=["country"])[0]["country"] == "DE"
    with pytest.raises(InputError, match="county"):
        read_events(tmp_path / "log.csv", attributes=["county"])


@pytest.mark.parametrize("more", ['"answer": "In 1889."', '"reference": "In 1889."', '"gold_ids": ["d1"]'])
def test_questions_with_what_only_samples_have_are_no_log(tmp_path, more):
    (tmp_path / "samples.jsonl").write_text(f'{{"question": "When was it built?", {more}}}')
    with pytest.raises(InputError, match="these are samples"):
        read_events(tmp_path / "samples.jsonl")
    (tmp_path / "log.jsonl").write_text(f'{{"question": "When was it built?", "time": "2025-01-01T00:00:00Z", {more}}}')
    assert read_events(tmp_path / "log.jsonl").frame.collect()["text"].to_list() == ["When was it built?"]
