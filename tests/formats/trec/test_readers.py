"""The readers of TREC files agree: numpy, Polars and the one that goes line by line read the same rows, or all refuse.

The rule is trec_eval's: a field ends at what C calls a blank (space, tab, vertical tab, form feed, carriage return), a
line at a line feed. Every other sign belongs to an id.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import TYPE_CHECKING

import pytest

import assay
from assay.data.rows import Unclean
from assay.errors import AssayError, InputError
from assay.formats import files
from assay.formats.files import Input
from assay.formats.reading import read_chunk_map, read_judgments, read_run, read_weights
from assay.formats.trec import by_line, pieces, scan
from assay.formats.trec import reading as trec

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
ODD = [
    "\v",
    "\f",
    "\r",
    "\u00a0",
    "\u3000",
    "\u2003",
    "\u0085",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\ufeff",
    "\u2028",
    '"',
    "é",
    "字",
]
SCORES = ["1", "2", "0.5", "-3", "1e-3", "2E2", "+4", ".5", "5.", "1.00000000000000000001", "123456789.123456789", "-0"]
WRONG = ["x", "1e", "nan", "inf", "1_0", "--1", "0x1", "1,5", "1e999"]
Rows = list[tuple[str, str, float]] | None


def plainly(data: bytes, fields: range, number: int) -> Rows:
    """Split every line at ASCII blanks, as `bytes.split` does; None where a file is wrong."""
    lines = [line.split() for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    rows = [line for line in lines if line and not line[0].startswith(b"#")]
    good = rows and all(len(row) in fields and NUMBER.fullmatch(row[number]) for row in rows)
    good = good and all(NUMBER.fullmatch(row[3]) for row in rows if len(row) > 6)
    if not good or data.decode(errors="ignore").encode() != data or any(abs(float(r[number])) > 1e300 for r in rows):
        return None
    return [(row[0].decode(), row[2].decode(), float(row[number])) for row in rows]


def run_by_pieces(path: Path) -> Rows:
    source = Input.at(path)
    try:
        found = [load() for load in pieces.loaders(source)]
    except Unclean:
        return run_by_line(path)
    if not sum(map(len, found)):
        return None
    each = [zip(rows.names, rows.sizes.tolist(), strict=True) for rows in found]
    queries = [name for pairs in each for name, size in pairs for _ in range(size)]
    docs = list(itertools.chain.from_iterable(rows.docs.to_list() for rows in found))
    return list(zip(queries, docs, itertools.chain.from_iterable(rows.score.tolist() for rows in found), strict=True))


def run_at_once(path: Path) -> Rows:
    return read_run(path, kind="trec").frame.rows()


def run_by_line(path: Path) -> Rows:
    return lines_of(path, scan.RUN).rows()


def lines_of(path: Path, layout: scan.Layout) -> pl.DataFrame:
    found = by_line.read_lines(Input.at(path).text, str(path), layout)
    if not len(found):
        raise InputError("no rows")
    return found


def judgments_by_default(path: Path) -> Rows:
    return read_judgments(path, kind="trec", dedupe=False).frame.rows()


def judgments_at_once(path: Path) -> Rows:
    return trec.read_trec(Input.at(path), scan.QRELS).select("query_id", "doc_id", "grade").rows()


def judgments_by_line(path: Path) -> Rows:
    return lines_of(path, scan.QRELS).select("query_id", "doc_id", "grade").rows()


def read(reader, path: Path) -> Rows:
    try:
        return reader(path)
    except InputError:
        return None


class Maker:
    """Makes small files, most of them clean but for one thing."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dirt = self.rng.choice([0.0, 0.0, 0.03, 0.2])
        self.separator = self.rng.choice([" ", " ", " ", "\t"])
        self.end = self.rng.choice(["\n", "\n", "\n", "\r\n"])

    def odd(self) -> bool:
        return self.rng.random() < self.dirt

    def id(self, letter: str) -> str:
        name = f"{letter}{self.rng.randrange(9)}" + "long" * (30 if self.odd() else 0)
        if self.odd():
            place = self.rng.randint(0, len(name))
            name = name[:place] + self.rng.choice(ODD) + name[place:]
        return name

    def blank(self) -> str:
        return (
            self.rng.choice(["  ", "\t", " \t", "\r", "\v", "\f", " \u00a0", "\u3000"])
            if self.odd()
            else self.separator
        )

    def line(self, fields: list[str]) -> str:
        if self.odd():
            fields = self.rng.choice([fields[:-1], [*fields, "more"], fields[:-2], [*fields, "3", "4"]])
        text = "".join(itertools.chain.from_iterable((field, self.blank()) for field in fields[:-1])) + fields[-1]
        if self.odd():
            edge = self.rng.choice([" ", "\t", "\r", "\v", "\u3000", "\u00a0", "#"])
            text = edge + text if self.rng.random() < 0.5 else text + edge
        return text + (self.rng.choice(["\n\n", "\n# note\n", "\n \t\n", "\r\n"]) if self.odd() else self.end)

    def number(self) -> str:
        return self.rng.choice(WRONG) if self.rng.random() < self.dirt / 4 else self.rng.choice(SCORES)

    def file(self, lines: list[list[str]]) -> bytes:
        text = "".join(map(self.line, lines))
        if self.rng.random() < 0.3:
            text = text.removesuffix("\n")
        data = ("\ufeff" * self.odd() + text).encode()
        return data.replace(self.rng.choice([b"long", b"t", b"0"]), b"\xff", 1) if self.odd() else data

    def pair(self) -> tuple[bytes, bytes]:
        places = [(self.id("q"), self.id("d")) for _ in range(self.rng.randint(1, 12))]
        judged = [
            [query, "0", doc, self.rng.choice("012") if self.rng.random() < 0.7 else self.number()]
            for query, doc in places
        ]
        listed = [[query, "Q0", doc, "1", self.number(), "t"] for query, doc in sorted(places)]
        return self.file(judged), self.file(listed)


def unique(rows: list[tuple[str, str, float]]) -> bool:
    return len({row[:2] for row in rows}) == len(rows)


def test_all_readers_read_what_splitting_at_ascii_blanks_gives(tmp_path, monkeypatch, stress):
    """Heads and pieces are small here, so that what is odd stands behind a clean beginning, too."""
    qrels, run = tmp_path / "q", tmp_path / "r"
    read_rows = refused = evaluated = 0
    for seed in range(5000 if stress else 200):
        head = random.Random(seed).choice([1 << 16, 60, 25])
        monkeypatch.setattr(files, "_HEAD", head)
        monkeypatch.setattr(pieces, "_PIECE", random.Random(seed).choice([1 << 22, 50]))
        monkeypatch.setattr(pieces, "_LOOK", 40)
        monkeypatch.setattr(trec, "_SLICE", random.Random(seed).choice([1 << 23, 30]))
        judged, listed = Maker(seed).pair()
        qrels.write_bytes(judged)
        run.write_bytes(listed)
        want = plainly(judged, range(4, 5), 3), plainly(listed, range(5, 10), 4)
        for reader in (run_by_pieces, run_at_once, run_by_line):
            assert read(reader, run) == want[1], (seed, reader.__name__, listed)
        for reader in (judgments_at_once, judgments_by_line):
            assert read(reader, qrels) == want[0], (seed, reader.__name__, judged)
        ordered = sorted(want[0]) if want[0] is not None and unique(want[0]) else None
        assert read(judgments_by_default, qrels) == ordered, (seed, judged)
        read_rows += sum(rows is not None for rows in want)
        refused += sum(rows is None for rows in want)
        if (
            ordered is None
            or want[1] is None
            or not unique(want[1])
            or not {r[0] for r in ordered} & {r[0] for r in want[1]}
        ):
            continue
        measures = ["map", "ndcg@3", "mrr", "num_ret", "judged@2"]
        plain: dict[str, dict[str, dict[str, float]]] = {"judged": {}, "listed": {}}
        for name, rows in (("judged", ordered), ("listed", want[1])):
            for query, doc, number in rows:
                plain[name].setdefault(query, {})[doc] = number
        assert (
            assay.evaluate(qrels, run, measures).mean()
            == assay.evaluate(plain["judged"], plain["listed"], measures).mean()
        )
        evaluated += 1
    assert min(read_rows, refused, evaluated) > 30, (read_rows, refused, evaluated)


def test_a_no_break_space_belongs_to_the_id_for_every_reader(tmp_path):
    (tmp_path / "q").write_text("\u00a0q1 0 a\u00a0 1\n")
    for line in (
        "\u00a0q1 Q0 a\u00a0 1 1 t\n",
        "\u00a0q1  Q0 a\u00a0 1 1 t\n",
        "\u00a0q1 Q0 a\u00a0 1 1e0 t\n",
        " \u00a0q1 Q0 a\u00a0 1 1 t \r\n",
    ):
        (tmp_path / "r").write_bytes(line.encode())
        assert assay.evaluate(tmp_path / "q", tmp_path / "r", ["map"])["map"] == 1.0, line


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("问题1\u30000\u3000文档1\u30001\n", ["1 field ", "U+3000", "IDEOGRAPHIC SPACE"]),
        ("q1\u00a00\u00a0d1\u00a01\n", ["1 field ", "U+00A0", "NO-BREAK SPACE"]),
        ("q1 0 d1 1\u3000\n", ["U+3000", "not a number"]),
        ("q1 0 d1\n", ["3 fields"]),
    ],
)
def test_a_blank_that_separates_nothing_is_named(tmp_path, text, named):
    (tmp_path / "w").write_text(text)
    with pytest.raises(InputError) as caught:
        read_judgments(tmp_path / "w")
    assert all(word in str(caught.value) for word in [*named, ":1:"]), caught.value
    assert ("U+" in str(caught.value)) == ("U+" in " ".join(named))


def test_judgments_with_a_fifth_field_are_refused_as_by_trec_eval(tmp_path):
    """Files of sampled judgments have the stratum where others have the grade."""
    (tmp_path / "q").write_text("q1 0 d1 3 1\n")
    with pytest.raises(InputError, match="5 fields where a line of judgments has 4"):
        read_judgments(tmp_path / "q")


def test_a_run_line_with_a_blank_inside_an_id_is_refused(tmp_path):
    (tmp_path / "r").write_text("q1 Q0 my doc 1 5 t\n")
    with pytest.raises(InputError, match="the rank is 'doc', not a number"):
        read_run(tmp_path / "r")


def test_maps_and_weights_of_two_columns_are_split_by_the_same_rule(tmp_path):
    (tmp_path / "map").write_text("# chunk and document\n\nc\u00a01 d\u30001\n\tc2\f d2 \r\n")
    assert read_chunk_map(str(tmp_path / "map")) == {"c\u00a01": "d\u30001", "c2": "d2"}
    (tmp_path / "weights").write_text("q\u00a01 0.5\n")
    assert read_weights(str(tmp_path / "weights")) == {"q\u00a01": 0.5}
    (tmp_path / "map").write_text("# chunk and document\n\nc1 d1\nc2\n")
    with pytest.raises(AssayError, match=":4: 1 field, expected two"):
        read_chunk_map(str(tmp_path / "map"))


@pytest.mark.parametrize("line", ["q1 Q0 a 1 1 tag\u00a0x\n", " q1\tQ0 a 1 1 tag\u00a0x more\r\n#\n"])
def test_the_tag_of_a_run_is_its_sixth_field(tmp_path, line):
    (tmp_path / "r").write_bytes(line.encode())
    assert trec.last_tag(str(tmp_path / "r")) == "tag\u00a0x"


def test_what_is_written_is_read_again_and_what_could_not_be_is_refused(tmp_path):
    run = assay.Run.from_dict({"q\u00a01": {"a\u3000b": 2.0, "\x1fc": 1.0}}, name="my\tnew\nsystem")
    assay.write_run(run, tmp_path / "r.run")
    assert read_run(tmp_path / "r.run").to_dict() == run.to_dict()
    assert trec.last_tag(str(tmp_path / "r.run")) == "my_new_system"
    for sign in " \t\r\n\v\f":
        with pytest.raises(InputError, match="contain blanks"):
            assay.write_run(assay.Run.from_dict({"q": {f"a{sign}b": 1.0}}), tmp_path / "r.run")
    with pytest.raises(InputError, match="contain blanks"):
        assay.write_run(assay.Run.from_dict({"q": {"": 1.0}}), tmp_path / "r.run")


@pytest.mark.parametrize("size", [1, 7, 40, 1 << 20])
def test_a_file_that_is_read_in_slices_gives_the_same_rows_and_line_numbers(tmp_path, monkeypatch, size):
    monkeypatch.setattr(by_line, "_SLICE", size)
    monkeypatch.setattr(trec, "_SLICE", size)
    lines = ["# a comment", "", *(f"q{i // 3}  Q0 d{i} {i} {9 - i}.5 tag" for i in range(9)), "", "# the end"]
    place = tmp_path / "r.run"
    for end in ("\n", "\r\n"):
        place.write_bytes(end.join(lines).encode())
        rows = read_run(str(place)).frame.select("query_id", "doc_id", "score").rows()
        assert rows == [(f"q{i // 3}", f"d{i}", 9.5 - i) for i in range(9)]
    place.write_text("\n".join([*lines[:8], "q2  Q0 d6 6 many tag", *lines[9:]]))
    with pytest.raises(InputError, match="'many' is not a number") as caught:
        read_run(str(place))
    assert caught.value.line == 9
    place.write_text("# nothing\n\n" * 5)
    with pytest.raises(InputError, match="no rows"):
        read_run(str(place), kind="trec")


def test_the_lines_of_a_repeated_document_are_named_behind_a_byte_order_mark(tmp_path):
    path = tmp_path / "q"
    path.write_bytes(b"\xef\xbb\xbfq 0 d 1\nq 0 e 1\nq 0 d 1\n")
    with pytest.raises(InputError, match=r"'d' is judged twice for query 'q' \(lines 1 and 3\)"):
        read_judgments(path)


def test_a_byte_order_mark_alone_has_no_rows(tmp_path):
    path = tmp_path / "r.run"
    path.write_bytes(b"\xef\xbb\xbf")
    for reader in (read_run, lambda place: assay.evaluate({"q": {"d": 1}}, place, ["map"])):
        with pytest.raises(InputError, match="no rows"):
            reader(path)
