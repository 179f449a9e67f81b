"""Watching a log: windows equal to those of the whole log, each counted once, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pytest

import assay
from assay.errors import InputError, NoSuchFile, UsageError
from assay.online.watch import open_watch
from assay.online.watching import feeds, state
from assay.online.watching.settings import plan_watch, read_duration
from assay.report.document import write
from assay.report.views import watch as view
from commands import run_assay as run
from conftest import STRESS
from online.growing_logs import START, Killed, die, make_lines, write_lines

SETTINGS = {
    "measures": ["any_click", "query_latency(p=50)"],
    "at_most": {"zero_results": 0.1, "query_latency(p=95)": 300},
}


def numbers(found):
    return [(one.start, one.requests, one.users, one.values) for one in found.windows]


@pytest.fixture
def small_pieces(monkeypatch):
    """Files are read in pieces of some twenty lines."""
    read = feeds.read_new_lines
    monkeypatch.setattr(feeds, "read_new_lines", lambda place, position: read(place, position, 5000))


def test_windows_have_the_numbers_of_their_hours(tmp_path):
    """The same requests as logs of their own, measured by `log_metrics`."""
    lines = make_lines(4, slow={2})
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), **SETTINGS)
    assert len(found.windows) == 4
    for hour, window in enumerate(found.windows):
        own = [one for one in lines if one["query_id"].startswith(f"q{hour}-")]
        log = assay.read_events(write_lines(tmp_path / f"{hour}.jsonl", own))
        expected = assay.log_metrics(
            log, [*SETTINGS["measures"], *SETTINGS["at_most"]], confidence_level=found.rule.confidence_level
        )
        assert window.requests == 40
        assert {one.measure: one.interval for one in window.values} == {
            one.measure: one.interval for one in expected.values
        }


def test_a_log_that_grows_is_counted_as_if_it_were_read_at_once(tmp_path, small_pieces):
    lines = make_lines(5, slow={3})
    whole = assay.watch_log(write_lines(tmp_path / "whole.jsonl", lines), **SETTINGS)
    place = write_lines(tmp_path / "log.jsonl", lines[:50])
    opened = open_watch(place, plan_watch(**SETTINGS))
    try:
        opened.clock = lambda: 1_800_000_000_000_000
        for first in range(50, len(lines), 90):
            while opened.step():
                pass
            write_lines(place, lines[first : first + 90], "a")
    finally:
        opened.close()
    assert numbers(assay.watch_log(place, **SETTINGS)) == numbers(whole)


def test_rows_in_any_order_within_the_lateness_are_counted_where_they_belong(tmp_path, small_pieces):
    lines = make_lines(4)
    moved = sorted(lines, key=lambda one: random.Random(one["timestamp"]).random() * 500 + _seconds(one))
    ordered = assay.watch_log(write_lines(tmp_path / "a.jsonl", lines), **SETTINGS)
    found = assay.watch_log(write_lines(tmp_path / "b.jsonl", moved), **SETTINGS)
    assert moved != lines
    assert numbers(found) == numbers(ordered)
    assert found.left_out == {}


def test_rows_that_come_too_late_or_twice_are_counted_as_such_and_nowhere_else(tmp_path):
    lines = make_lines(3)
    place = write_lines(tmp_path / "log.jsonl", lines)
    first = assay.watch_log(place, **SETTINGS)
    write_lines(place, [*lines[:7], *make_lines(4)[len(lines) :]], "a")
    again = assay.watch_log(place, **SETTINGS)
    assert again.left_out == {"late": 7}
    assert numbers(again)[:3] == numbers(first)
    assert len(again.windows) == 4
    twice = assay.watch_log(write_lines(tmp_path / "twice.jsonl", lines + lines[::-1]), lateness="9h", **SETTINGS)
    assert numbers(twice) == numbers(first)
    assert sum(one.set_aside for one in twice.windows) == len(lines)


def test_a_file_that_is_renamed_and_begun_anew_is_read_on_where_it_was(tmp_path):
    """As a rotation does while windows are closed and open: half of the old file had not been read."""
    lines, folder = make_lines(6), tmp_path / "logs"
    folder.mkdir()
    whole = assay.watch_log(write_lines(tmp_path / "whole.jsonl", lines), **SETTINGS)
    write_lines(folder / "log.jsonl", lines[:150])
    opened = open_watch(folder, plan_watch(**SETTINGS), tmp_path / "state")
    while opened.step():
        pass
    opened.close()
    write_lines(folder / "log.jsonl", lines[150:200], "a")
    (folder / "log.jsonl").rename(folder / "log-1.jsonl")
    write_lines(folder / "log.jsonl", lines[200:])
    found = assay.watch_log(folder, state=tmp_path / "state", **SETTINGS)
    assert found.left_out == {"restarted": 1}
    assert (numbers(found), found.rows) == (numbers(whole), len(lines))


def test_a_click_after_the_end_of_the_window_counts_for_its_request(tmp_path):
    asked, clicked, later = START + timedelta(minutes=59), START + timedelta(minutes=61), START + timedelta(hours=3)
    lines = [
        {"query_id": "1", "client_id": "u", "user_query": "tea", "timestamp": asked.isoformat()},
        {"query_id": "1", "client_id": "u", "action_name": "click", "timestamp": clicked.isoformat()},
        {"query_id": "2", "client_id": "v", "user_query": "tea", "timestamp": later.isoformat()},
    ]
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), measures="any_click")  # the last has no clicks
    assert [(one.requests, one.values[0].interval.estimate) for one in found.windows if one.values] == [
        (1, 1.0),
        (1, 0.0),
    ]


def test_what_happens_within_the_lateness_counts_however_short_windows_are(tmp_path):
    minutes = [START + timedelta(minutes=number) for number in (0, 3, 8, 50)]
    lines = [
        {"query_id": "1", "client_id": "u", "user_query": "tea", "timestamp": minutes[0].isoformat()},
        {"query_id": "2", "client_id": "v", "user_query": "tea", "timestamp": minutes[1].isoformat()},
        {"query_id": "1", "client_id": "u", "action_name": "click", "timestamp": minutes[2].isoformat()},
        {"query_id": "3", "client_id": "w", "user_query": "tea", "timestamp": minutes[3].isoformat()},
    ]
    place = write_lines(tmp_path / "log.jsonl", lines)
    found = assay.watch_log(place, window="1m", measures="any_click", drift=0)
    clicks = {one.start[14:16]: one.value("any_click") for one in found.windows if one.requests}
    assert clicks["00"].interval.estimate == 1.0


def test_an_alert_begins_with_a_complete_row_and_ends_with_the_first_window_that_is_fine(tmp_path):
    lines = make_lines(9, slow={4, 5, 6})
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), **SETTINGS)
    alerts = {one.measure: one for one in found.alerts}
    assert set(alerts) == {"zero_results", "query_latency(p=95)"}
    latency = alerts["query_latency(p=95)"]
    assert (latency.first, latency.since, latency.until) == tuple(f"2026-03-01T0{hour}:00:00Z" for hour in (4, 5, 7))
    assert found.standing == ()
    past = [
        one["window"][12] for one in found.to_rows() if one["measure"] == "zero_results" and one["standing"] == "alert"
    ]
    assert past == ["4", "5", "6"]


def test_files_of_other_formats_are_read_once(tmp_path):
    lines = make_lines(3)
    log = assay.read_events(write_lines(tmp_path / "log.jsonl", lines))
    assay.write_events(log, tmp_path / "log.parquet")
    found = assay.watch_log(tmp_path / "log.parquet", **SETTINGS)
    assert numbers(found) == numbers(assay.watch_log(tmp_path / "log.jsonl", **SETTINGS))
    assert numbers(assay.watch_log(tmp_path / "log.parquet", **SETTINGS)) == numbers(found)


def test_files_of_a_folder_that_were_written_one_after_the_other_are_one_log(tmp_path, small_pieces):
    """Queries and events in files of their own, and a file for each half: no row is late because its file is read last."""
    lines = make_lines(4)
    folder = tmp_path / "logs"
    folder.mkdir()
    half = len(lines) // 2
    for i, part in enumerate((lines[:half], lines[half:])):
        write_lines(folder / f"queries-{i}.jsonl", [one for one in part if "user_query" in one])
        write_lines(folder / f"events-{i}.jsonl", [one for one in part if "user_query" not in one])
    whole = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), **SETTINGS)
    found = assay.watch_log(folder, state=tmp_path / "state", **SETTINGS)
    assert found.left_out == {}
    assert numbers(found) == numbers(whole)


def test_killed_at_any_write_nothing_is_lost_and_nothing_counted_twice(tmp_path, small_pieces, monkeypatch):
    """Every write of a run in turn (every third without ASSAY_STRESS) is its last, whole or in part; a second run ends as one that was not disturbed."""
    place = write_lines(tmp_path / "log.jsonl", make_lines(3, 12))
    expected = numbers(assay.watch_log(place, state=tmp_path / "whole", **SETTINGS))
    death = die(monkeypatch, (state, "add_entry"), (feeds, "write_atomically"))
    deaths = 0
    for moment in range(1, 100, 1 if STRESS else 3):
        death.left = moment
        folder = tmp_path / f"state-{moment}"
        try:
            assay.watch_log(place, state=folder, **SETTINGS)
            break
        except Killed:
            deaths += 1
        death.left = 0
        found = assay.watch_log(place, state=folder, **SETTINGS)
        assert numbers(found) == expected, moment
        assert found.rows == len(place.read_text().splitlines())
        assert list((folder / "rows").iterdir()) == []
    assert deaths > 3


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_killed_while_the_journal_is_written_anew_no_window_is_in_the_baseline_twice(tmp_path, monkeypatch):
    lines = [one for one in make_lines(5, 8) if "user_query" in one]
    place, more = write_lines(tmp_path / "log.jsonl", lines), {"measures": "zero_results", "baseline": 4}
    expected = numbers(assay.watch_log(place, state=tmp_path / "whole", **more))
    monkeypatch.setattr(state, "_LONG", 2)
    death = die(monkeypatch, (state, "add_entry"))
    for moment in range(1, 7):
        death.left = moment
        folder = tmp_path / f"state-{moment}"
        with pytest.raises(Killed):
            assay.watch_log(place, state=folder, **more)
        death.left = 0
        assert numbers(assay.watch_log(place, state=folder, **more)) == expected, moment


def test_killed_by_the_system_at_random_moments_a_watch_goes_on_where_it_was(tmp_path):
    """SIGKILL, anew until a run comes to its end: 40 times under ASSAY_STRESS."""
    lines = make_lines(60 if STRESS else 12)
    place = write_lines(tmp_path / "log.jsonl", lines)
    expected = numbers(assay.watch_log(place, state=tmp_path / "whole", **SETTINGS))
    script = (
        "import assay, assay.online.watching.feeds as feeds; from functools import partial\n"
        "feeds.read_new_lines = partial(feeds.read_new_lines, most=5000)\n"
        f"assay.watch_log({str(place)!r}, state={str(tmp_path / 'state')!r}, **{SETTINGS!r})"
    )
    rng, killed = random.Random(7), 0
    begun = tmp_path / "state" / "journal"
    while killed < (40 if STRESS else 1):
        size = begun.stat().st_size if begun.exists() else 0
        with subprocess.Popen([sys.executable, "-c", script]) as process:
            while process.poll() is None and (not begun.exists() or begun.stat().st_size == size):
                time.sleep(0.002)
            time.sleep(rng.random() * 0.1)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
        killed += 1
    assert killed > 0
    found = assay.watch_log(place, state=tmp_path / "state", **SETTINGS)
    assert numbers(found) == expected
    assert found.rows == len(lines)


def test_a_state_is_used_by_one_watch_at_a_time_and_by_its_own_settings_alone(tmp_path):
    place = write_lines(tmp_path / "log.jsonl", make_lines(2))
    watcher = open_watch(place, plan_watch(**SETTINGS))
    try:
        with pytest.raises(UsageError, match="in use"):
            assay.watch_log(place, **SETTINGS)
    finally:
        watcher.close()
    with pytest.raises(UsageError, match="another window"):
        assay.watch_log(place, window="1d", **SETTINGS)


def test_damage_to_the_journal_is_named_and_not_believed(tmp_path):
    place = write_lines(tmp_path / "log.jsonl", make_lines(3))
    assay.watch_log(place, **SETTINGS)
    journal = tmp_path / "log.jsonl.assay-watch" / "journal"
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b'"requests":40', b'"requests":41', 1))
    with pytest.raises(InputError, match="damaged"):
        assay.watch_log(place, **SETTINGS)


def test_a_log_that_is_not_there_and_a_duration_that_is_none_are_refused(tmp_path):
    with pytest.raises(NoSuchFile):
        assay.watch_log(tmp_path / "none.jsonl", **SETTINGS)
    with pytest.raises(UsageError, match="duration"):
        read_duration("soon")


def test_a_target_that_no_window_could_be_held_against_is_said(tmp_path):
    """An event log has no errors of requests: without a word, the target would look as if it were met."""
    place = write_lines(tmp_path / "log.jsonl", make_lines(2))
    found = assay.watch_log(place, at_most={"error_rate": 0.02}, canary=["no such query"], drift=0)
    lacking = {one.label: one.lacking for one in found.watched}
    assert set(lacking) == {"error_rate", "canary_rbo"}
    assert all("its target was not checked" in told for told in lacking.values())
    again = run(
        "log", "watch", place, "--once", "--at-most", "error_rate=0.02", "--drift", "0", "--state", tmp_path / "s"
    )
    assert "no measure of the log has a target" in again.stdout
    assert "no window has values of error_rate: its target was not checked" in again.stdout


def test_what_weakens_a_watch_is_said(tmp_path):
    """A judge without answers, and bounds so far out that few users do not reach them."""
    place = write_lines(tmp_path / "log.jsonl", make_lines(2))
    found = assay.watch_log(place, in_a_row=1, bad=tmp_path / "bad.jsonl", **SETTINGS)
    assert [str(one) for one in found.warnings] == [
        "a judge, requests that went wrong and values of single answers (assay log watch ... --judge, --bad, --evaluations) are for traces: this event log holds no answers"
    ]
    assert "99.99% bound: the end of the 99.98% interval" in write(view.table(found), "table", "en").replace(
        "\n  ", " "
    )
    assert "there may be more false alarms than that" in write(view.table(found), "table", "en").replace("\n  ", " ")


def test_numbers_that_make_no_sense_are_refused(tmp_path):
    place = write_lines(tmp_path / "log.jsonl", make_lines(1))
    with pytest.raises(UsageError, match="from 0 on"):
        assay.watch_log(place, drift=float("inf"))
    told = run("log", "watch", place, "--pause", "-1")
    assert (told.returncode, "--pause" in told.stderr, "Traceback" in told.stderr) == (2, True, False)


def test_the_command_exits_with_1_while_an_alert_stands(tmp_path):
    place = write_lines(tmp_path / "log.jsonl", make_lines(6, slow={4, 5}))
    words = ("log", "watch", place, "--protocol", "rerank", "--at-most", "zero_results=0.1", "--once")
    bad = run(*words)
    assert bad.returncode == 1
    assert "zero_results" in bad.stdout.splitlines()[0]
    assert "ndcg@10" in bad.stdout
    write_lines(place, make_lines(9, slow={4, 5})[len(make_lines(6, slow={4, 5})) :], "a")
    good = run(*words, "--format", "json")
    assert good.returncode == 0
    assert len(json.loads(good.stdout)["watch"]["windows"]) == 9


def _seconds(line):
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def test_queries_that_become_longer_and_of_another_language_are_an_alert_of_drift(tmp_path):
    """Seven windows as before, two as these, then others: the first of the new row is past, the second completes it."""
    lines = make_lines(12, 120)
    for line in lines:
        if "user_query" in line and int(line["query_id"][1:].split("-")[0]) > 8:
            line["user_query"] = "哪一种绿茶在早上喝最好，怎么泡"
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), measures="any_click", baseline=7)
    standing = {one.measure: one for one in found.standing}
    assert set(standing) == {"psi(query_length)", "psi(language)"}
    assert {(one.first[11:13], one.since[11:13]) for one in standing.values()} == {("09", "10")}
    assert [window.value("psi(language)") is None for window in found.windows] == [True] * 7 + [False] * 5
    early = assay.watch_log(tmp_path / "log.jsonl", measures="any_click", baseline=30, state=tmp_path / "early")
    told = {
        name: write(view.table(one), "table", "en").replace("\n  ", " ")
        for name, one in (("early", early), ("whole", found))
    }
    assert [(name, "the baseline, of 12 windows" in text, "psi: the" in text) for name, text in told.items()] == [("early", True, False), ("whole", False, True)]  # fmt: skip
    without = assay.watch_log(tmp_path / "log.jsonl", measures="any_click", drift=0, state=tmp_path / "state")
    assert without.watched == ()


@pytest.mark.parametrize(("known", "new"), [("12", "wiki"), ("007", "5")])
def test_sources_that_look_like_numbers_are_names(tmp_path, known, new):
    lines = make_lines(9, 60)
    for line in lines:
        if "user_query" in line:
            line["query_response_hit_ids"] = [f"{new if line['query_id'].startswith('q8') else known}#1", "5#1"]
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), measures="any_click", baseline=7)
    psi = [window.value("psi(source)").interval.estimate for window in found.windows[7:]]
    assert psi[0] == 0
    assert psi[1] > 0.25


def test_lists_of_canary_queries_that_change_are_an_alert(tmp_path):
    """Rank-biased overlap as `assay.rbo` has it, against the first list of every query."""
    lists = {hour: ["a", "b", "c"] if hour < 4 else ["c", "x", "a"] for hour in range(8)}
    lines = [
        {"query_id": f"{hour}{text}", "client_id": "probe", "user_query": text, "query_response_hit_ids": found,
         "timestamp": (START + timedelta(hours=hour, minutes=i)).isoformat()}
        for hour, found in lists.items() for i, text in enumerate(f"query {n}" for n in range(25))
    ]  # fmt: skip
    canary = sorted({line["user_query"] for line in lines})
    found = assay.watch_log(write_lines(tmp_path / "log.jsonl", lines), canary=canary, drift=0)
    values = [value.interval.estimate for _, value in found.history("canary_rbo")]
    expected = assay.rbo({"q": lists[0]}, {"q": lists[7]})["q"]
    assert values == pytest.approx([1.0] * 3 + [expected] * 4)
    assert [(one.measure, one.first[11:13]) for one in found.standing] == [("canary_rbo", "04")]


def test_a_watch_that_begins_anew_has_the_baseline_of_before(tmp_path):
    lines = [one for one in make_lines(10) if "user_query" in one]
    whole = assay.watch_log(write_lines(tmp_path / "whole.jsonl", lines), measures="zero_results", baseline=7)
    for hours in (4, 8, 10):
        part = [one for one in lines if one["timestamp"] < (START + timedelta(hours=hours)).isoformat()]
        found = assay.watch_log(write_lines(tmp_path / "log.jsonl", part), measures="zero_results", baseline=7)
    assert numbers(found) == numbers(whole)
    assert whole.windows[-1].value("psi(query_length)") is not None
