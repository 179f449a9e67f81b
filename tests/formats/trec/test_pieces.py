"""Run files are read in pieces; wherever a piece ends, the numbers are those of the whole."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import assay
from assay.data import joining
from assay.formats.files import Input
from assay.formats.reading import open_run
from assay.formats.trec import pieces

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
    pieces.read_ahead(str(path))
    assert len(pieces._started[str(path)][1]) == pieces._AHEAD
    for _ in range(2):
        opened = open_run(str(path))
        assert (
            assay.evaluate(judgments, opened, MEASURES).to_dict() == assay.evaluate(judgments, run, MEASURES).to_dict()
        )
        assert str(path) not in pieces._started


@pytest.mark.parametrize("text", ["", "one two\n", "a\tQ0 b 1 2 t\n", '{"q": {"d": 1}}'])
def test_only_clean_runs_are_read_ahead(tmp_path, text):
    path = tmp_path / "some.run"
    path.write_text(text)
    pieces.read_ahead(str(path))
    pieces.read_ahead("-")
    pieces.read_ahead(str(tmp_path))
    pieces.read_ahead(str(tmp_path / "nowhere"))
    assert str(path) not in pieces._started


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
