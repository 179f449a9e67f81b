"""Run files are read in pieces; wherever a piece ends, the numbers are those of the whole."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import random
import re
import threading
import tracemalloc

import numpy as np
import pytest

import assay
from assay.data import joining
from assay.errors import Repeated
from assay.formats import files, pipes
from assay.formats.files import Input
from assay.formats.reading import open_run
from assay.formats.trec import pieces, reading
from assay.formats.trec.reading import locate

MEASURES = ["map", "ndcg@3", "recip_rank", "P@5", "bpref", "num_ret"]


@pytest.fixture(params=[1, 40, 200, 1000])
def small_pieces(request, monkeypatch):
    """Pieces of a few lines, looked for in windows that are too short at first."""
    monkeypatch.setattr(pieces, "_PIECE", request.param)
    monkeypatch.setattr(pieces, "_LOOK", 16)


def make(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    rng = random.Random(seed)
    queries = [f"q{number}" for number in range(12)]
    judgments = {q: {f"d{rng.randrange(30)}": rng.choice([-1, 0, 1, 2]) for _ in range(8)} for q in queries}
    scores = [round(rng.random(), 1) for _ in range(40)]
    run = {q: {f"d{d}": rng.choice(scores) for d in rng.sample(range(40), rng.randrange(1, 20))} for q in queries[2:]}
    return judgments, run


def lines(run: dict[str, dict[str, float]]) -> list[str]:
    return [f"{q} Q0 {d} 1 {s} tag\n" for q, docs in run.items() for d, s in docs.items()]


@pytest.mark.parametrize("seed", range(5))
def test_pieces_give_the_numbers_of_dicts(tmp_path, small_pieces, seed):
    judgments, run = make(seed)
    path = tmp_path / "some.run"
    path.write_text("".join(lines(run)))
    assert assay.evaluate(judgments, path, MEASURES).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()


def test_queries_in_several_places_are_put_together(tmp_path, small_pieces):
    judgments, run = make(7)
    rows = lines(run)
    random.Random(1).shuffle(rows)
    path = tmp_path / "some.run"
    path.write_text("".join(rows))
    assert assay.evaluate(judgments, path, MEASURES).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()


def test_a_document_twice_in_different_pieces_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE", 1)
    path = tmp_path / "some.run"
    path.write_text("a Q0 x 1 3 t\nb Q0 x 1 3 t\na Q0 x 2 1 t\n")
    with pytest.raises(assay.InputError, match=r"document 'x' is listed twice for query 'a' \(lines 1 and 3\)"):
        assay.evaluate({"a": {"x": 1}, "b": {"x": 1}}, path, ["map"])


def test_a_fault_in_a_late_piece_is_named_by_its_line(tmp_path, small_pieces):
    path = tmp_path / "some.run"
    path.write_text("".join(f"q{i} Q0 d 1 {i} t\n" for i in range(300)) + "q300 Q0 d 1 nan t\n")
    with pytest.raises(assay.InputError, match=r"some\.run:301: score 'nan' is not finite"):
        assay.evaluate({"q1": {"d": 1}}, path, ["map"])


def test_a_comment_in_a_late_piece_is_left_out(tmp_path, small_pieces):
    path = tmp_path / "some.run"
    path.write_text("".join(f"q{i} Q0 d 1 {i} t\n" for i in range(300)) + "# one two three four five\nq1 Q0 e 2 0 t\n")
    assert assay.evaluate({"q1": {"e": 1}}, path, ["recip_rank"])["recip_rank"] == 0.5


def test_pieces_hold_whole_queries_and_all_lines(tmp_path, small_pieces):
    _, run = make(3)
    path = tmp_path / "some.run"
    path.write_text("".join(lines(run)).rstrip("\n"))
    found = [load() for load in pieces.loaders(Input.at(path))]
    assert list(itertools.chain.from_iterable(rows.names for rows in found)) == list(run)
    assert sum(map(len, found)) == sum(map(len, run.values()))


def test_what_was_read_ahead_is_used_once(tmp_path, monkeypatch):
    judgments, run = make(4)
    path = tmp_path / "some.run"
    path.write_text("".join(lines(run)))
    monkeypatch.setattr(pieces, "_PIECE", 40)
    monkeypatch.setattr(pieces, "_AHEAD", 5)
    monkeypatch.setattr(files, "_HEAD", 60)  # so that it ends before what is read ahead
    pieces.read_ahead(str(path))
    assert [len(begun) for _, begun in pieces._started.values()] == [pieces._AHEAD]
    for _ in range(2):
        opened = open_run(str(path))
        assert (
            assay.evaluate(judgments, opened, MEASURES).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()
        )
        assert not pieces._started


def test_what_was_read_ahead_of_one_file_is_not_taken_for_another_of_its_name(tmp_path, monkeypatch):
    for folder, query in (("first", "q1"), ("second", "q2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "c.run").write_text(f"{query} Q0 d 1 1 t\n")
    monkeypatch.chdir(tmp_path / "first")
    pieces.read_ahead("c.run")  # by a command that ended before it asked for the run
    monkeypatch.chdir(tmp_path / "second")
    assert queries_of("c.run") == ["q2"]
    pieces.read_ahead("c.run")
    (tmp_path / "second" / "c.run").write_text("q3 Q0 d 1 1 t\nq4 Q0 d 1 1 t\n")
    assert queries_of("c.run") == ["q3", "q4"]


def queries_of(place):
    return [name for load in pieces.loaders(Input.at(place)) for name in load().names]


@pytest.mark.parametrize("text", ["", "one two\n", "a\tQ0 b 1 2 t\n", '{"q": {"d": 1}}'])
def test_only_clean_runs_are_read_ahead(tmp_path, text):
    path = tmp_path / "some.run"
    path.write_text(text)
    pieces._started.clear()
    pieces.read_ahead(str(path))
    pieces.read_ahead("-")
    pieces.read_ahead(str(tmp_path))
    pieces.read_ahead(str(tmp_path / "nowhere"))
    assert not pieces._started


def test_read_run_finds_faults_at_once(tmp_path):
    path = tmp_path / "some.run"
    path.write_text("q Q0 d 1 1 t\nq Q0 e 1 x t\n")
    with pytest.raises(assay.InputError, match=r"some\.run:2: score 'x' is not a number"):
        assay.read_run(path)


@pytest.mark.parametrize(("slot_bits", "distinct"), [(20, 1 << 60), (6, 1 << 60), (6, 700), (6, 40)])
def test_keys_are_matched_as_by_a_dict(monkeypatch, slot_bits, distinct):
    monkeypatch.setattr(joining, "_SLOT_BITS", slot_bits)
    rng = np.random.default_rng(slot_bits)
    key = rng.integers(distinct, size=500).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    pairs = np.unique(np.concatenate([key[:60], rng.integers(1 << 60, size=60).astype(np.uint64)]))
    wanted = rng.permutation(len(pairs))[:100]
    rows, needle, suspects = joining._match(key, pairs[wanted])
    pool = wanted[needle]
    places: dict[int, list[int]] = {}
    for row, value in enumerate(key.tolist()):
        places.setdefault(value, []).append(row)
    alike = {row for same in places.values() for row in same if len(same) > 1}
    assert alike <= set(suspects.tolist())
    assert (key[rows] == pairs[pool]).all()
    if slot_bits == 20 and distinct == 1 << 60:  # elsewhere there are suspects, and text decides
        assert not len(suspects)
        assert sorted(pool) == sorted(number for number in wanted if int(pairs[number]) in places)


def test_keys_that_never_get_a_slot_of_their_own_are_suspects(monkeypatch):
    monkeypatch.setattr(joining, "_SLOT_BITS", 20)  # whoever differs from bit 54 on is never told apart
    key = (np.arange(40, dtype=np.uint64) << np.uint64(54)) + np.uint64(12345)
    rows, pool, suspects = joining._match(key, key)
    assert set(rows.tolist()) | set(suspects.tolist()) == set(range(40)) and len(suspects) > 0
    assert (rows == pool).all()


@pytest.mark.parametrize("piece", [20, 1 << 20])
def test_of_a_document_listed_twice_the_higher_one_is_kept_wherever_it_stands(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(pieces, "_PIECE", piece)
    path = tmp_path / "some.run"
    path.write_text("1 Q0 b 1 5 t\n1 Q0 a 2 1 t\n2 Q0 x 1 1 t\n1 Q0 a 3 9 t\n")
    scores = assay.evaluate({"1": {"a": 1}, "2": {"x": 1}}, path, ["map"], dedupe=True)
    assert scores.to_dict()["1"]["map"] == 1.0


@pytest.mark.parametrize(
    ("line", "value"), [("2 \t Q0 x 1 5", 1.0), ("2 Q0 \tx 1 5 t", 1.0), ("2\t Q0 x 1 5 t", 1.0), ("2 Q0 x  1 5", 1.0)]
)
def test_blanks_and_tabs_far_down_a_clean_file_are_read_as_anywhere(tmp_path, line, value):
    path = tmp_path / "some.run"
    path.write_text("".join(f"1 Q0 d{i} {i} {1000 - i} t\n" for i in range(300)) + line + "\n")
    assert assay.evaluate({"1": {"d0": 1}, "2": {"x": 1}}, path, ["map"]).to_dict()["2"]["map"] == value


def test_a_line_that_lacks_a_field_is_refused_although_blanks_and_tabs_fill_it(tmp_path):
    path = tmp_path / "some.run"
    path.write_text("".join(f"1 Q0 d{i} {i} {1000 - i} t\n" for i in range(300)) + "2 \t Q0 x 1\n")
    with pytest.raises(assay.InputError, match=r"some\.run:301: 4 fields"):
        assay.evaluate({"1": {"d0": 1}}, path, ["map"])


@pytest.mark.parametrize("reader", [assay.read_run, lambda path: assay.evaluate({"1": {"d0": 1}}, path, ["map"])])
def test_a_blank_inside_an_id_far_down_a_clean_file_is_refused(tmp_path, monkeypatch, reader):
    monkeypatch.setattr(files, "_HEAD", 200)  # what is behind it was never looked at before it is read
    path = tmp_path / "some.run"
    path.write_text("".join(f"1 Q0 d{i} {i} {1000 - i} t\n" for i in range(300)) + "2 Q0 x y 1 5 t\n")
    with pytest.raises(assay.InputError, match=r"some\.run:301: the rank is 'y'"):
        reader(path)


UNCLEAN = {
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "two blanks": lambda text: text.replace(b" ", b"  "),
    "tabs here and there": lambda text: re.sub(rb" (Q0 d[13579])", rb"\t \1", text),
    "blanks around": lambda text: re.sub(rb"(?m)^(.*[13579] 1 .*)$", rb" \t\1 \f", text),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "no last line end": lambda text: text.rstrip(b"\n"),
    "comments and empty lines": lambda text: b"\n# q1 Q0 d1 1 9 t\n" + text.replace(b"\nq5", b"\n \n # q\n\nq5"),
    "no tags": lambda text: text.replace(b" tag", b""),
    "tags on some lines": lambda text: re.sub(rb"([13579]) tag", rb"\1", text),
    "long tags": lambda text: text.replace(b" tag", b" my tag"),
    "exponents": lambda text: re.sub(rb" (0\.[0-9]+) tag", rb" \1e0 tag", text),
}


@pytest.mark.parametrize("how", UNCLEAN)
def test_files_that_are_not_clean_give_the_numbers_of_dicts_and_are_read_in_pieces(
    tmp_path, small_pieces, monkeypatch, how
):
    monkeypatch.setattr(reading.RunPieces, "whole", lambda self: pytest.fail("all was read at once"))
    judgments, run = make(5)
    path = tmp_path / "some.run"
    path.write_bytes(UNCLEAN[how]("".join(lines(run)).encode()))
    want = assay.evaluate(judgments, run, MEASURES).to_dict()
    assert assay.evaluate(judgments, path, MEASURES).to_dict() == want
    packed = tmp_path / "some.run.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert assay.evaluate(judgments, packed, MEASURES).to_dict() == want


@pytest.mark.parametrize("how", ["carriage returns", "comments and empty lines", "a byte order mark"])
def test_a_fault_is_named_by_its_line_wherever_pieces_end(tmp_path, small_pieces, how):
    text = UNCLEAN[how]("".join(lines(make(5)[1])).encode() + b"q99 Q0 d1 1 high tag\n")
    path, packed = tmp_path / "some.run", tmp_path / "some.run.gz"
    path.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    for place in (path, packed):
        with pytest.raises(assay.InputError, match=f":{text.count(bytes([10]))}: score 'high' is not a number"):
            assay.evaluate({"q1": {"d1": 1}}, place, ["map"])


def test_a_file_of_comments_has_no_rows(tmp_path, small_pieces):
    path = tmp_path / "some.run"
    path.write_text("# q Q0 d 1 1 t\n" * 60 + "\n")
    with pytest.raises(assay.InputError, match="no rows"):
        assay.evaluate({"q": {"d": 1}}, path, ["map"])


@pytest.fixture
def piped(tmp_path):
    """Evaluate what comes through a pipe."""

    def run(text: bytes, judgments, measures=MEASURES):
        place = tmp_path / "pipe"
        place.unlink(missing_ok=True)
        os.mkfifo(place)

        def write() -> None:
            with contextlib.suppress(BrokenPipeError):
                place.write_bytes(text)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            return assay.evaluate(judgments, place, measures)
        finally:
            writer.join()

    return run


@pytest.mark.parametrize("kept", [1 << 26, 300])
@pytest.mark.parametrize("how", ["no last line end", "carriage returns"])
def test_a_pipe_is_read_in_pieces_whatever_is_kept_of_it(piped, small_pieces, monkeypatch, kept, how):
    monkeypatch.setattr(pipes, "HARMLESS", kept)
    monkeypatch.setattr(pipes, "MEGABYTE", 100)
    monkeypatch.setattr(files, "_HEAD", 200)
    judgments, run = make(6)
    text = UNCLEAN[how]("".join(lines(run)).encode())
    assert piped(text, judgments).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()


def test_a_long_pipe_cannot_be_read_a_second_time_and_its_faults_are_named(piped, small_pieces, monkeypatch):
    judgments, run = make(6)
    rows = lines(run)
    scattered = "".join([*rows[1:], rows[0]]).encode()
    assert piped(scattered, judgments).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()
    monkeypatch.setattr(pipes, "HARMLESS", 300)
    monkeypatch.setattr(pipes, "MEGABYTE", 100)
    monkeypatch.setattr(files, "_HEAD", 200)
    with pytest.raises(assay.InputError, match=r"more than .* came through the pipe.*give it as a file"):
        piped(scattered, judgments)
    with pytest.raises(assay.InputError, match=f":{len(rows) + 1}: score 'high' is not a number"):
        piped("".join([*rows, "q99 Q0 d1 1 high t\n"]).encode(), judgments)


def test_a_document_that_is_listed_twice_is_found_without_unpacking_the_rest(tmp_path):
    lines = [f"q{i // 1000} Q0 d{i} 1 {-i} t\n" for i in range(200_000)]
    lines[7] = lines[3]
    (tmp_path / "a.run.gz").write_bytes(gzip.compress("".join(lines).encode(), 1))
    file = Input.at(tmp_path / "a.run.gz")
    assert file.is_stream
    tracemalloc.start()
    try:
        found = locate(file.source, Repeated("q0", "d3", "listed"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "(lines 4 and 8)" in str(found)
    assert peak < 3_000_000 < sum(map(len, lines))
