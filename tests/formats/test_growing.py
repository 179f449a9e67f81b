"""Files that grow: whole lines once each, whatever happens to the file between two looks."""

from __future__ import annotations

import random

import pytest

import otlp
from assay.errors import InputError
from assay.formats.growing import Position, read_new_lines
from assay.formats.traces.reading import read_new_traces


def test_lines_are_read_once_and_only_when_they_are_whole(tmp_path):
    path, text = tmp_path / "log", "".join(f"line {i} ä\n" for i in range(200)).encode()
    rng, position, found, written = random.Random(1), Position(), b"", 0
    with path.open("wb") as file:
        while written < len(text):
            step = rng.randrange(1, 40)
            file.write(text[written : written + step])
            file.flush()
            written += step
            new = read_new_lines(path, Position(position.offset, position.mark))
            assert not new.data or new.data.endswith(b"\n")
            found, position = found + new.data, new.position
    assert found == text
    assert read_new_lines(path, position).data == b""


def test_the_last_line_of_a_file_that_has_ended_counts_without_an_end(tmp_path):
    (tmp_path / "log").write_bytes(b"a\nb")
    first = read_new_lines(tmp_path / "log")
    assert first.data == b"a\n"
    last = read_new_lines(tmp_path / "log", first.position, ended=True)
    assert (last.data, last.position.offset) == (b"b", 3)
    assert read_new_lines(tmp_path / "log", most=2, ended=True).data == b"a\n"


def test_a_large_addition_comes_in_parts(tmp_path):
    (tmp_path / "log").write_bytes(b"0123456789\n" * 100)
    position, found = Position(), []
    while (new := read_new_lines(tmp_path / "log", position, most=25)).data:
        found.append(new.data)
        position = new.position
    assert b"".join(found) == b"0123456789\n" * 100
    assert max(map(len, found)) == 22


def test_a_file_that_is_replaced_or_cut_is_begun_anew(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a1\na2\n")
    at = read_new_lines(path).position
    path.write_bytes(b"b1\n")
    new = read_new_lines(path, at)
    assert (new.data, new.restarted) == (b"b1\n", True)
    path.rename(tmp_path / "old")
    assert read_new_lines(path, new.position).data == b""
    path.write_bytes(b"c1\nc2\nc3\n")
    again = read_new_lines(path, new.position)
    assert (again.data, again.restarted) == (b"c1\nc2\nc3\n", True)
    with path.open("r+b") as file:  # emptied and written again, so that it is as long as it was
        file.truncate(0)
        file.write(b"d1\nd2\nd3\n")
    assert read_new_lines(path, again.position).data == b"d1\nd2\nd3\n"


def test_a_file_that_was_emptied_and_has_grown_longer_is_known_though_it_begins_alike(tmp_path):
    """As lines of traces do, and as a rotation that copies and empties leaves them."""
    path, head = tmp_path / "log", b'{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": '
    path.write_bytes(head + b'"a"\n')
    at = read_new_lines(path).position
    path.write_bytes(head + b'"b"\n' + b"more\n")
    new = read_new_lines(path, at)
    assert (new.data, new.restarted) == (head + b'"b"\n' + b"more\n", True)


def test_the_first_lines_of_a_file_may_be_short(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\n")
    at = read_new_lines(path).position
    with path.open("ab") as file:
        file.write(b"b" * 100 + b"\n")
    assert read_new_lines(path, at).data == b"b" * 100 + b"\n"


def test_a_line_without_an_end_is_refused_beyond_the_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_MAX_LINE_MB", "1")
    (tmp_path / "log").write_bytes(b"x" * 1_500_000)
    with pytest.raises(InputError, match="a line of more than 1 MB"):
        read_new_lines(tmp_path / "log", most=500_000)
    with pytest.raises(InputError, match="cannot be read"):
        read_new_lines(tmp_path)


def test_traces_of_a_growing_file_are_read_with_what_is_no_trace_counted(tmp_path):
    path = otlp.write(tmp_path / "traces.jsonl", *otlp.rag(1), each=2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    first, position, _ = read_new_traces(path)
    assert (len(first.spans), first.rejected) == (2, 0)
    path.write_bytes(whole + b"what is this\n\n")
    second, position, _ = read_new_traces(path, position)
    assert (len(second.spans), second.rejected) == (2, 1)
    assert read_new_traces(path, position) == (type(first)(), position, False)
