"""Reading event logs: every row is kept, set aside with a reason, or counted."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from assay import read_events
from assay.data.events import EventFault, schema
from assay.errors import InputError

Document = dict[str, object]
START = datetime(2025, 1, 1, 12, tzinfo=UTC)


def query(name: str = "q1", **more: object) -> Document:
    return {"query_id": name, "client_id": "u1", "user_query": "tea", "timestamp": "2025-01-01T12:00:00Z", **more}


def event(action: str, doc: str = "d1", position: int | None = 1, name: str = "q1", **more: object) -> Document:
    attributes = {"object": {"object_id": doc}, "position": {"ordinal": position}}
    time = {"client_id": "u1", "timestamp": "2025-01-01T12:00:05Z", "event_attributes": attributes}
    return {"action_name": action, "query_id": name, **time, **more}


def write(folder: Path, *documents: Document | str) -> Path:
    place = folder / "ubi.ndjson"
    place.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents))
    return place


def rows(folder: Path, *documents: Document | str, **more: object) -> pl.DataFrame:
    return read_events(write(folder, *documents), **more).frame.collect()  # type: ignore[arg-type]


def faults(folder: Path, *documents: Document | str) -> dict[str, EventFault]:
    return {one.kind: one for one in read_events(write(folder, *documents)).faults}


def test_queries_and_events_become_rows_of_one_frame(tmp_path: Path) -> None:
    found = rows(tmp_path, query(query_response_hit_ids=["d1", "d2"]), event("click", "d2", 2), event("impression"))
    assert found.columns == list(schema())
    assert found["action"].to_list() == ["query", "click", "impression"]
    assert found["doc_id"].to_list() == [None, "d2", "d1"]
    assert found["position"].to_list() == [None, 2, 1]
    assert found["results"].to_list() == [["d1", "d2"], None, None]
    assert found["time"].to_list()[0] == START
    assert set(found["user"]) == {"u1"}


@pytest.mark.parametrize("lead", ["index", "create"])
def test_bulk_actions_are_no_rows(tmp_path: Path, lead: str) -> None:
    before = json.dumps({lead: {"_index": "ubi_queries", "_id": "7"}})
    assert len(rows(tmp_path, before, query(), before, event("click"))) == 2


def test_documents_of_an_export_are_unwrapped(tmp_path: Path) -> None:
    wrapped = [{"_index": "ubi", "_id": str(i), "_source": one} for i, one in enumerate((query(), event("click")))]
    assert rows(tmp_path, *wrapped)["action"].to_list() == ["query", "click"]


def test_names_of_earlier_versions_are_read(tmp_path: Path) -> None:
    old = {"action_name": "item_click", "query_id": "q1", "client_id": "u1", "timestamp": 1735732805000}
    attributes = {"object_id": 7, "position": 3, "session_id": "s", "dwell_time": 2.5}
    first = event("impression")
    found = rows(tmp_path, query(query_response_object_ids=["7"]), first, {**old, "event_attributes": attributes}).row(
        2, named=True
    )
    assert (found["action"], found["doc_id"], found["position"], found["session"]) == ("click", "7", 3, "s")
    assert found["time"] == START.replace(second=5)
    assert found["dwell_ms"] == 2500


def test_extensions_become_columns(tmp_path: Path) -> None:
    more = {
        "experiment": {"id": "e", "variant": "B"}, "propensity": 0.25, "latency_ms": 12,
        "usage": {"input_tokens": 100, "completion_tokens": 20, "cost": 0.01},
    }  # fmt: skip
    found = rows(tmp_path, query(query_attributes=more)).row(0, named=True)
    wanted = {"experiment": "e", "variant": "B", "propensity": 0.25, "latency_ms": 12.0, "input_tokens": 100,
              "output_tokens": 20, "cost": 0.01}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(1, 1), (-1, -1), ("up", 1), ("thumbs_down", -1), ({"stars": 4}, 4), (True, 1), ("👎", -1), ("odd", None)],
)
def test_ratings_are_numbers(tmp_path: Path, given: object, wanted: float | None) -> None:
    one = event("feedback", event_attributes={"feedback": given})
    assert rows(tmp_path, query(), one)["feedback"].to_list() == [None, wanted]


def test_thumbs_may_be_the_action(tmp_path: Path) -> None:
    found = rows(tmp_path, query(), event("thumbs_down", event_attributes={}))
    assert found.row(1, named=True)["action"] == "feedback"
    assert found["feedback"].to_list() == [None, -1]


def test_unknown_actions_keep_their_names(tmp_path: Path) -> None:
    found = rows(tmp_path, query(), event("global_click"), event("on_search"), event("product_click"))
    assert found["action"].to_list() == ["query", "global_click", "search", "click"]


def test_attributes_are_read_by_name(tmp_path: Path) -> None:
    more = {"interleaving": {"method": "team_draft", "teams": {"d1": "A"}}, "country": "DE"}
    found = rows(tmp_path, query(query_attributes=more), attributes=("interleaving.method", "interleaving", "country"))
    assert found.row(0)[-3:] == ("team_draft", json.dumps(more["interleaving"], separators=(",", ":")), "DE")


def test_gzip_is_read(tmp_path: Path) -> None:
    place = tmp_path / "ubi.ndjson.gz"
    place.write_bytes(gzip.compress(write(tmp_path, query(), event("click")).read_bytes()))
    assert len(read_events(place).frame.collect()) == 2


def test_two_files_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(json.dumps(query()))
    (tmp_path / "b.ndjson").write_text(json.dumps(event("impression")))
    log = read_events([tmp_path / "a.ndjson", tmp_path / "b.ndjson"])
    assert len(log.frame.collect()) == 2
    assert not log.faults
    assert [one.label for one in log.sources] == [str(tmp_path / "a.ndjson"), str(tmp_path / "b.ndjson")]


def test_positions_that_begin_at_0_become_those_that_begin_at_1(tmp_path: Path) -> None:
    shown = [event("impression", f"d{i}", i, name="q0") for i in range(3)]
    found = rows(tmp_path, query("q0"), *shown, query("q1"), event("impression"), event("click", "d9", 2))
    assert found.filter(query_id="q0")["position"].to_list() == [None, 1, 2, 3]
    assert found.filter(query_id="q1")["position"].to_list() == [None, 1, 2]


def test_a_query_that_shows_no_base_counts_like_the_others_of_its_application(tmp_path: Path) -> None:
    zero = [query("q0", application="a"), event("impression", "d", 0, name="q0", application="a")]
    one = [query("q1", application="b"), event("impression", "d", 1, name="q1", application="b")]
    lone = [query("q2", application="a"), event("click", "d", 1, name="q2", application="a")]
    other = [query("q3", application="b"), event("click", "d", 4, name="q3", application="b")]
    found = rows(tmp_path, *zero, *one, *lone, *other).filter(pl.col("action") == "click")
    assert found["position"].to_list() == [2, 4]


def test_positions_of_either_base_are_left_out(tmp_path: Path) -> None:
    zero = [query("q0"), event("impression", "d", 0, name="q0"), query("q1"), event("impression", "d", 1)]
    lone = [query("q2"), event("click", "d", 4, name="q2")]
    found = faults(tmp_path, *zero, *lone)
    assert found["unknown_positions"].rows == 1
    assert found["unknown_positions"].examples == ("ubi.ndjson:6",)
    read = rows(tmp_path, *zero, *lone)
    assert len(read) == 6
    assert read.filter(query_id="q2")["position"].to_list() == [None, None]
    told = read_events(tmp_path / "ubi.ndjson", first_position=1).frame.collect()
    assert told.filter(query_id="q2")["position"].to_list() == [None, 4]


def test_repeated_batches_count_once(tmp_path: Path) -> None:
    batch = [query(), event("impression"), event("click")]
    once, twice = rows(tmp_path, *batch), rows(tmp_path, *batch, *batch)
    assert twice.equals(once)
    found = faults(tmp_path, *batch, *batch)
    assert (found["duplicate"].rows, found["repeated_request"].rows) == (2, 1)


def test_requests_for_facets_are_merged_into_the_request_itself(tmp_path: Path) -> None:
    facets = query(query='{"size":0,"query":{}}', query_response_hit_ids=[])
    found = rows(tmp_path, facets, query(query='{"size":20}', query_response_hit_ids=["d1"]), facets)
    assert found["results"].to_list() == [["d1"]]
    assert rows(tmp_path, facets)["results"].to_list() == [None]
    assert rows(tmp_path, query(query_response_hit_ids=[]))["results"].to_list() == [[]]


def test_query_ids_of_two_users_are_found(tmp_path: Path) -> None:
    found = faults(tmp_path, query(), query(client_id="u2"))
    assert found["shared_query"].rows == 1
    assert found["shared_query"].fate == "quarantined"


def test_events_of_a_query_id_of_two_users_go_to_no_other_user(tmp_path: Path) -> None:
    log = [query(), query(client_id="u2"), event("click"), event("click", "d2", client_id="u2")]
    nobody = event("click", "d3", client_id=None)
    found = rows(tmp_path, *log, nobody)
    assert list(zip(found["action"], found["user"], found["doc_id"], strict=True)) == [
        ("query", "u1", None), ("click", "u1", "d1"),
    ]  # fmt: skip
    assert faults(tmp_path, *log, nobody)["shared_query"].rows == 3
    assert len(rows(tmp_path, query(), nobody)) == 2  # of one user's request, an event without a user is that user's


def test_two_ratings_or_durations_at_one_moment_are_no_repetition(tmp_path: Path) -> None:
    for name, values in (("feedback", (1, -1)), ("dwell_ms", (10, 20)), ("usage", ({"cost": 1}, {"cost": 2}))):
        log = [event("feedback", event_attributes={name: value}) for value in (*values, values[0])]
        assert len(rows(tmp_path, query(), *log)) == 3, name
        assert faults(tmp_path, query(), *log)["duplicate"].rows == 1


def test_numbers_that_cannot_be_below_0_are_left_out_and_counted(tmp_path: Path) -> None:
    usage = {"input_tokens": -1, "output_tokens": -2, "cost": -0.5}
    less = query(query_attributes={"latency_ms": -5, "usage": usage, "result_count": -3})
    click = event("click", event_attributes={"dwell_ms": -1, "feedback": -1})
    found = rows(tmp_path, less, click)
    numbers = ("latency_ms", "input_tokens", "output_tokens", "cost", "dwell_ms", "result_count")
    assert all(found[name].null_count() == 2 for name in numbers)
    assert found["feedback"].to_list() == [None, -1.0]
    assert faults(tmp_path, less, click)["bad_number"].rows == 2


def test_events_of_requests_set_aside_count_as_those_of_unknown_queries(tmp_path: Path) -> None:
    late = query("q2", timestamp="2999-01-01T00:00:00Z")
    log = [query(), late, event("click", name="q2"), event("click", name="q9"), event("click")]
    assert faults(tmp_path, *log)["unknown_query"].rows == rows(tmp_path, *log)["orphan"].sum() == 2


@pytest.mark.parametrize(
    ("time", "kind"),
    [
        ("1999-12-31T23:00:00Z", "clock"), ("2999-01-01T00:00:00Z", "clock"), ("yesterday", "bad_time"),
        ("2025-01-01T11:58:59Z", "long_before"),
    ],
)  # fmt: skip
def test_wrong_clocks_are_set_aside(tmp_path: Path, time: str, kind: str) -> None:
    log = read_events(write(tmp_path, query(), event("impression"), event("view", timestamp=time)))
    assert log.frame.collect()["action"].to_list() == ["query", "impression"]
    assert [(one.rows, one.examples) for one in log.quarantine] == [(1, ("ubi.ndjson:3",))]
    assert [one.kind for one in log.faults] == [kind]


def test_an_event_a_moment_before_its_query_is_kept(tmp_path: Path) -> None:
    early = event("click", timestamp="2025-01-01T11:59:30Z")
    assert faults(tmp_path, query(), early)["skew"].fate == "kept"
    assert len(rows(tmp_path, query(), early)) == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"action_name": "click", ', "truncated"), ("[1, 2]", "schema"), ('{"action_name": ["a"]}', "schema"),
        ("nonsense}", "no_json"), ('{"colour": "red"}', "no_document"), ('{"action_name": "\\ud800"}', "no_json"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_read_are_set_aside(tmp_path: Path, line: str, kind: str) -> None:
    found = faults(tmp_path, query(), "", event("impression"), line)
    assert {name: (one.rows, one.examples, one.fate) for name, one in found.items()} == {
        kind: (1, ("ubi.ndjson:4",), "quarantined")
    }
    assert len(rows(tmp_path, query(), "", event("click"), line)) == 2


def test_a_file_without_any_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_events(write(tmp_path, '{"colour": "red"}'))


def test_events_of_unknown_queries_and_without_attributes_are_kept_and_counted(tmp_path: Path) -> None:
    found = faults(tmp_path, query(), event("click", name="q9"), event("search", event_attributes=None))
    assert found["unknown_query"].rows == found["bare"].rows == 1
    assert len(rows(tmp_path, query(), event("click", name="q9"), event("search", event_attributes=None))) == 3


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    log = [query(), event("impression"), event("click"), query("q2"), event("impression", name="q2")]
    order = ["query_id", "action"]
    assert rows(tmp_path, *log).sort(order).equals(rows(tmp_path, *reversed(log)).sort(order))


def test_times_without_a_zone_are_taken_as_utc(tmp_path: Path) -> None:
    local = query(timestamp="2025-01-01T12:00:00")
    assert rows(tmp_path, local)["time"].to_list() == [START]
    assert faults(tmp_path, local)["no_zone"].rows == 1


def test_events_have_the_variant_of_their_request(tmp_path: Path) -> None:
    asked = query(query_attributes={"experiment": {"id": "e", "variant": "B"}}, client_id="u7")
    log = read_events(write(tmp_path, asked, event("click", client_id=None), event("view", client_id="u8")))
    found = log.frame.collect()
    assert found["variant"].to_list() == found["experiment"].str.replace("e", "B").to_list() == ["B"] * 3
    assert found["user"].to_list() == ["u7", "u7", "u8"]
    assert any("variant" in note for note in log.notes)


def test_events_of_unknown_queries_are_marked(tmp_path: Path) -> None:
    found = rows(tmp_path, query(), event("click"), event("click", name="q9"), event("view", query_id=None))
    assert found["orphan"].to_list() == [False, False, True, True]


def test_variants_in_two_spellings_are_found_and_folded_when_asked(tmp_path: Path) -> None:
    names = ["control", "control", "Control ", "new"]
    log = [query(f"q{i}", query_attributes={"experiment": {"variant": name}}) for i, name in enumerate(names)]
    assert faults(tmp_path, *log)["spellings"].examples == ("'Control ' = 'control'",)
    assert rows(tmp_path, *log)["variant"].to_list() == names
    assert rows(tmp_path, *log, fold_variants=True)["variant"].to_list() == ["control"] * 3 + ["new"]


def test_users_in_two_variants_are_found(tmp_path: Path) -> None:
    def seen(name: str, user: str, variant: str) -> Document:
        return query(name, client_id=user, query_attributes={"experiment": {"id": "e", "variant": variant}})

    log = [seen("1", "u1", "A"), seen("2", "u1", "A"), seen("3", "u2", "A"), seen("4", "u2", "B")]
    assert faults(tmp_path, *log)["two_variants"].rows == 1
    assert "two_variants" not in faults(tmp_path, *log[:3])


@pytest.mark.parametrize("name", ["quepid-nightly-bot", "crawler 7", "Spider"])
def test_bots_are_found_by_name_and_dropped_when_asked(tmp_path: Path, name: str) -> None:
    log = [query("q1", client_id="abbot"), query("q2", client_id=name)]
    assert faults(tmp_path, *log)["bots"].rows == 1
    assert len(rows(tmp_path, *log)) == 2
    assert rows(tmp_path, *log, bots="drop")["user"].to_list() == ["abbot"]


def test_bots_are_found_by_their_browser(tmp_path: Path) -> None:
    agent = "Mozilla/5.0 (compatible; Googlebot/2.1)"
    click = event("impression", event_attributes={"user_agent": agent})
    assert faults(tmp_path, query(), click)["bots"].rows == 2


def test_bots_are_found_by_how_fast_they_ask(tmp_path: Path) -> None:
    fast = [query(f"q{i}", timestamp=f"2025-01-01T12:00:{i:02}Z") for i in range(31)]
    assert faults(tmp_path, *fast)["bots"].rows == 31
    assert "bots" not in faults(tmp_path, *fast[:30])


def test_queries_with_clicks_alone_are_found(tmp_path: Path) -> None:
    assert faults(tmp_path, query(), event("click"), event("click", "d2", 2))["no_impressions"].rows == 1
    assert "no_impressions" not in faults(tmp_path, query(query_response_hit_ids=["d1"]), event("click"))


def test_the_public_sample_of_ubi(shared: Path) -> None:
    log = read_events(shared / "ubi" / "ubi_queries_events.ndjson")
    found = {one.kind: one for one in log.faults}
    assert found["unknown_query"].rows == 946
    assert found["bare"].rows == 506
    assert found["mixed_positions"].values["zeros"] == 200
    assert len(log.frame.collect()) == 473 + 3448 - found["duplicate"].rows - found["repeated_request"].rows
    ours = log.frame.filter(pl.col("action") == "query").collect()
    assert len(ours) == 284


def test_a_log_that_is_read_in_many_parts_has_the_same_rows_and_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents: list[Document | str] = [query(f"q{i}", query_response_hit_ids=["d1", "d2"]) for i in range(100)]
    documents += [event("click", f"d{i}", i % 7, f"q{i % 120}") for i in range(300)]
    documents += [documents[150], "no JSON", {"action_name": "click", "event_attributes": None}]
    place = write(tmp_path, *documents)
    whole = read_events(place)
    monkeypatch.setattr("assay.formats.events.slices._SIZE", 2000)
    parted = read_events(place)
    assert parted.frame.collect().equals(whole.frame.collect())
    assert parted.faults == whole.faults
    counts = {one.kind: one.rows for one in parted.faults}
    assert (counts["unknown_query"], counts["duplicate"], counts["no_json"]) == (20 + 20 + 1, 1, 1)


def test_parts_of_a_log_are_packed_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(tmp_path, *(query(f"q{i}") for i in range(200)))
    monkeypatch.setattr("assay.formats.events.slices._SIZE", 2000)
    assert "Parquet SCAN" in read_events(place).frame.explain()
    assert list(tmp_path.iterdir()) == [place]
