"""Bombs end in one line, honest files of any size do not: what small files may make of themselves in memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import subprocess
import sys
import threading
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bombs
from assay import evaluate, read_judgments, read_run
from assay.data import limits
from assay.data.toml import decode_toml
from assay.errors import AssayError, InputError, UsageError
from assay.formats import parquet
from assay.formats.documents import read_documents
from assay.formats.files import _standard_input
from assay.formats.markup import text_of
from assay.online.guardrails import read_guardrail
from assay.online.trial_reading import read_trial
from assay.text import negation, numbers, refusals, segmentation, sentences, words
from conftest import STRESS

HOSTILE = {
    "numbers": ("1,", "5%", "½", "2020-1-", "one and ", "百分之", "第", "May "),
    "sentences": (".", "。", "1. ", "e.g. ", "\n", "（", "[1]", "”"),
    "tokens": ("a", "a'", "é", "_", "1."),
    "bag": ("n't ", "-", "\x1f", "中"),
    "language": ("中", "é"),
    "clauses": ("and ", ",", "("),
    "find_denied_words": ("not ", "or not "),
    "find_denied_pairs": ("不", "没有", "\u3000"),
    "is_negated": ("not", "无"),
    "is_refusal": ("I cannot ", "我无法"),
    "is_courtesy": ("sorry ", "谢谢"),
    "han_words": ("中", "中a"),
    "text_of": ("<!--", "<![CDATA[", "<a ", '<a x="', "</", "<script", "&#1", "<"),
}
FUNCTIONS = {
    function.__name__: function
    for function in (
        numbers.numbers, sentences.sentences, words.tokens, words.bag, words.language, negation.clauses, negation.find_denied_words,
        negation.find_denied_pairs, negation.is_negated, refusals.is_refusal, refusals.is_courtesy, segmentation.han_words, text_of,
    )
}  # fmt: skip


def cpu(function, text):
    """The least of three: what else the machine does only adds to it."""
    found = []
    for _ in range(3):
        start = time.process_time()
        function(text)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.skipif(os.environ.get("ASSAY_STRESS") != "1", reason="times are compared by make stress alone")
@pytest.mark.parametrize(("name", "sign"), [(name, sign) for name, signs in HOSTILE.items() for sign in signs])
def test_twice_the_text_takes_about_twice_the_time(name, sign):
    small, large = (sign * (size // len(sign)) for size in (1 << 15, 1 << 18))
    FUNCTIONS[name](small)  # patterns are compiled, caches filled
    # Eight times the text: 64 times as long where time grows with the square. Short times say nothing.
    assert cpu(FUNCTIONS[name], large) < 24 * max(cpu(FUNCTIONS[name], small), 0.02)


def test_hostile_names_of_measures_and_guardrails_are_told_at_once():
    """They did not end within a minute: patterns tried every way to share the blanks among their parts."""
    for text in ("x" + " " * 100_000 + "<", " " * 100_000 + "x<=", "x<=+" + "9" * 100_000, "a" * 100_000):
        with pytest.raises(UsageError, match="guardrail"):
            read_guardrail(text)
    users = pl.DataFrame({"variant": ["a", "b"], "clicks": [1, 2]})
    for name in (" " * 100_000 + "x", "x" + " " * 100_000 + "/" * 3):
        with pytest.raises(InputError, match="no column"):
            read_trial(users, [name])


def run_lines(queries, start=0, depth=50):
    rng = np.random.default_rng(start)
    return "".join(
        f"q{query} Q0 d{doc} {rank} {score:.6f} t\n"
        for query in range(start, start + queries)
        for rank, (doc, score) in enumerate(
            zip(rng.permutation(4 * depth)[:depth], np.sort(rng.random(depth))[::-1], strict=True), 1
        )
    )


def pack(data: bytes) -> bytes:
    return gzip.compress(data, 1)


def test_a_packed_run_is_read_in_pieces_and_gives_what_the_plain_one_gives(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.formats.trec.pieces._PIECE", 1 << 14)
    monkeypatch.setattr("assay.formats.trec.pieces._LOOK", 1 << 12)
    text = run_lines(200)
    plain, packed = tmp_path / "a.run", tmp_path / "a.run.gz"
    plain.write_text(text)
    packed.write_bytes(pack(text.encode()))
    judged = {f"q{q}": {line.split()[2]: 1} for q in range(200) for line in [text.split("\n")[q * 50 + q % 50]]}
    loads = []
    monkeypatch.setattr("assay.formats.files.Input.data", property(lambda self: loads.append(self.label)))
    one, other = (evaluate(judged, str(place), ["map", "ndcg@10"]) for place in (plain, packed))
    assert not loads  # nobody asked for all bytes
    assert one["map"] == other["map"] > 0


@pytest.mark.parametrize(
    "change",
    [lambda text: text, lambda text: text.rstrip("\n"), lambda text: text.replace("q7 ", "q7  ", 1), lambda text: text + text.replace("d", "e"),
     lambda text: text.replace("\n", "\r\n"), lambda text: "# comment\n" + text, lambda text: "".join(sorted(text.splitlines(keepends=True), key=lambda line: line.split()[3]))],
    ids=["clean", "no last line end", "two blanks", "each query twice", "carriage returns", "comment", "scattered"],
)  # fmt: skip
def test_packed_and_plain_runs_have_the_same_rows(tmp_path, monkeypatch, change):
    monkeypatch.setattr("assay.formats.trec.pieces._PIECE", 1 << 13)
    monkeypatch.setattr("assay.formats.trec.pieces._LOOK", 1 << 11)
    text = change(run_lines(40))
    (tmp_path / "a.run").write_text(text, newline="")
    (tmp_path / "b.run.gz").write_bytes(pack(text.encode()))
    judged = {
        f"q{q}": {line.split()[2]: 1 for line in text.split("\n")[5:2000:7] if line.startswith(f"q{q} ")}
        for q in range(40)
    }
    one, other = (evaluate(judged, str(tmp_path / name), ["map"]) for name in ("a.run", "b.run.gz"))
    assert one["map"] == other["map"] > 0
    assert read_run(tmp_path / "a.run").to_dict() == read_run(tmp_path / "b.run.gz").to_dict()


@pytest.mark.parametrize(
    "change", [lambda text: text, lambda text: text.replace("q7 ", "q7  ", 1)], ids=["clean", "two blanks"]
)
@pytest.mark.parametrize("spooled", [1 << 10, 1 << 26], ids=["file", "memory"])
def test_a_packed_run_from_a_pipe_is_read_in_pieces_too(tmp_path, monkeypatch, change, spooled):
    monkeypatch.setattr("assay.formats.trec.pieces._PIECE", 1 << 14)
    monkeypatch.setattr("assay.formats.trec.pieces._LOOK", 1 << 12)
    monkeypatch.setattr("assay.formats.pipes.HARMLESS", spooled)
    text = change(run_lines(200))
    (tmp_path / "a.run").write_text(text)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[pack(text.encode())])
    writer.start()
    judged = {f"q{q}": {line.split()[2]: 1} for q in range(200) for line in [text.split("\n")[q * 50 + q % 50]]}
    one, other = (evaluate(judged, str(tmp_path / name), ["map"]) for name in ("a.run", "pipe"))
    writer.join()
    assert one["map"] == other["map"] > 0


def test_a_clean_run_from_a_pipe_is_never_in_memory_as_a_whole(monkeypatch):
    text = run_lines(200)
    _standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(text.encode()))))
    loads = []
    monkeypatch.setattr("assay.formats.files.Input.data", property(lambda self: loads.append(self.label)))
    assert evaluate({"q1": {text.split("\n")[50].split()[2]: 1}}, "-", ["map"])["map"] > 0
    assert not loads
    _standard_input.cache_clear()


def test_a_gzip_bomb_ends_in_one_line_that_says_how_to_raise_the_limit(tmp_path):
    block = gzip.compress(b"q1 Q0 a 1 1 t\n" * 750_000, 9)
    (tmp_path / "bomb.run.gz").write_bytes(block * 200)  # 10 GB from 5 MB
    (tmp_path / "q").write_text("q1 0 a 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "assay", "evaluate", str(tmp_path / "q"), str(tmp_path / "bomb.run.gz"), "-m", "map"],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),  # of the minute that the whole would take
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "unpacks to more than 100 times its size" in done.stderr
    assert "ASSAY_MAX_RATIO" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.run", "x^2 Q0 a 1 5e-1 t\n"), ("a.csv", "x^,query_id,doc_id,score\n1,x^2,a,0.5\n"), ("a.tsv", "x^\tquery_id\tdoc_id\tscore\n1\tx^2\ta\t0.5\n")],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_text_that_begins_like_packed_bytes_is_read_as_it_is(tmp_path, name, text, packed):
    """Polars takes what begins with x^ for zlib."""
    place = tmp_path / (f"{name}.gz" if packed else name)
    place.write_bytes(pack(text.encode()) if packed else text.encode())
    assert read_run(place).to_dict() == {"x^2": {"a": 0.5}}
    assert evaluate({"x^2": {"a": 1}}, str(place), ["map"])["map"] == 1


def test_bytes_that_are_packed_twice_are_not_unpacked_twice(tmp_path):
    """Polars would unpack them, without a limit."""
    text = run_lines(2).encode()
    for inner in (gzip.compress(text), zlib.compress(text)):
        (tmp_path / "a.run.gz").write_bytes(pack(inner))
        with pytest.raises(InputError):
            read_run(tmp_path / "a.run.gz")


SMALL = ("gzip in gzip", "TOML, a key of 20,000 dots", "JSON lines, brackets", "answer of a million digits")


@pytest.mark.parametrize("title", bombs.BOMBS if STRESS else SMALL)
def test_a_bomb_ends_soon_in_one_line_and_takes_little_memory(tmp_path, title):
    code, seconds, megabytes, told = bombs.explode(tmp_path, title)
    assert code in {0, 2}, told
    assert len(told) <= 1 or code == 0
    assert megabytes <= bombs.MEGABYTES
    if STRESS:
        assert seconds <= bombs.SECONDS


def test_the_ratio_can_be_raised(tmp_path, monkeypatch):
    text = ("# " + "x" * 1000 + "\n") * 70_000 + "q1 0 a 1\n"
    (tmp_path / "q.gz").write_bytes(pack(text.encode()))
    with pytest.raises(InputError, match="more than 100 times"):
        read_judgments(tmp_path / "q.gz")
    monkeypatch.setenv("ASSAY_MAX_RATIO", "2000")
    assert len(read_judgments(tmp_path / "q.gz").frame) == 1
    monkeypatch.setenv("ASSAY_MAX_UNPACKED_MB", "10")
    with pytest.raises(InputError, match="ASSAY_MAX_UNPACKED_MB above 10"):
        read_judgments(tmp_path / "q.gz")
    monkeypatch.setenv("ASSAY_MAX_RATIO", "many")
    with pytest.raises(UsageError, match="whole number above 0"):
        read_judgments(tmp_path / "q.gz")


def test_tables_of_very_many_columns_are_refused(tmp_path, monkeypatch):
    names = ",".join(f"c{i}" for i in range(10_000))
    (tmp_path / "wide.csv").write_text(f"query_id,doc_id,score,{names}\nq1,a,1\n")
    (tmp_path / "wide.jsonl").write_text("".join(json.dumps({f"c{i}": 1}) + "\n" for i in range(10_001)))
    for name in ("wide.csv", "wide.jsonl"):
        with pytest.raises(InputError, match="ASSAY_MAX_COLUMNS above 10000"):
            read_run(tmp_path / name)
    (tmp_path / "sparse.jsonl").write_text("".join(json.dumps({f"c{i % 5000}": 1}) + "\n" for i in range(20_000)))
    with pytest.raises(InputError, match="ASSAY_MAX_SPARSE"):
        read_run(tmp_path / "sparse.jsonl")


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [("x.run", "q1 Q0 a 1 1 t\nq2 Q0 ", " 1 1 t\n"), ("x.jsonl", '{"query_id": "q1", "doc_id": "', '", "score": 1}'), ("x.csv", "query_id,doc_id,score\nq1,", ",1\n"), ("x.tsv", "query_id\tdoc_id\tscore\nq1\t", "\t1\n")],
)  # fmt: skip
def test_a_line_without_end_is_refused_and_many_lines_are_not(tmp_path, monkeypatch, name, start, end):
    monkeypatch.setattr("assay.formats.files._HEAD", 64)
    monkeypatch.setenv("ASSAY_MAX_LINE_MB", "1")
    place = tmp_path / name
    place.write_text(start + "a" * ((1 << 20) - len(end) - 60) + end)
    assert read_run(place).frame["doc_id"][-1].endswith("aaa")
    for packed in (False, True):
        data = (start + "a" * (1 << 20) + end).encode()
        place.write_bytes(pack(data) if packed else data)
        with pytest.raises(InputError, match=r"a line of more than 1 MB .*ASSAY_MAX_LINE_MB above 1"):
            read_run(place)
    header = "" if name in {"x.run", "x.jsonl"} else start.partition("\n")[0] + "\n"
    row = start.rpartition("\n")[2]
    place.write_text(header + "".join(f"{row}{'d' * (i % 7)}{i}{end.rstrip()}\n" for i in range(80_000)))
    assert place.stat().st_size > 1 << 20
    assert len(read_run(place).frame) == 80_000


def test_a_toml_file_that_nobody_would_write_is_refused():
    text = "".join(f"[t{i}.a.b]\nx = 1\n" for i in range(60_000))
    with pytest.raises(InputError, match=r"x\.toml: a TOML file of more than 1 MB .*ASSAY_MAX_TOML_MB above 1"):
        decode_toml(text, "x.toml")


def test_rows_that_are_much_shorter_than_their_header_are_refused(tmp_path, monkeypatch):
    """9,999 columns and 100,000 rows of one cell would be a thousand million cells, from 300 kB."""
    header = "query_id,doc_id,score," + ",".join(f"c{i}" for i in range(9000))
    for row in ("1", "", '"1\n"'):
        (tmp_path / "x.csv").write_text(f"{header}\n" + f"{row}\n" * 50_000)
        with pytest.raises(InputError, match="most cells of its rows are missing"):
            read_run(tmp_path / "x.csv")
    monkeypatch.setattr("assay.formats.tables._FEW_CELLS", 10)
    rows = "".join(f'q1,d{i},1,"{chr(10) * 50}"\n' for i in range(20))  # line ends in a text are no rows
    (tmp_path / "x.csv").write_text("query_id,doc_id,score,text\n" + rows)
    assert len(read_run(tmp_path / "x.csv").frame) == 20


def test_keys_depths_and_digits_of_toml_are_bounded():
    assert decode_toml("a.b.c = 1\nd = '''\n" + "." * 500 + "\n'''", "x") == {
        "a": {"b": {"c": 1}},
        "d": "." * 500 + "\n",
    }
    for text in (
        ".".join("a" * 20_000) + " = 1",
        "[" + ' . "a b"' * 100 + ".x]",
        "x = " + "[" * 100_000,
        "x = " + "9" * 400,
        "x = " + "9" * 5000,
        "x = {a = [1, -99999999999999999999]}",
    ):
        with pytest.raises(InputError):
            decode_toml(text, "x.toml")


class Oracle(HTMLParser):
    """Text between tags, by the standard library."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.silent = [], 0

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.silent += tag in {"script", "style"}

    def handle_endtag(self, tag):
        self.silent -= tag in {"script", "style"}

    def handle_data(self, data):
        if not self.silent:
            self.found.append(data)


def test_text_of_pages_is_that_of_the_standard_library():
    fragments = [
        "<p>", "</p>", "<a href='x>y'>", "</a>", "hello &amp; you", " a<br/>b ", "<!-- c > d -->", "<script>if (a<b) x('<p>')</script>", "5 < 6 ", "<style>p{}</style>",
        '<a title=don\'t "x">', "&lt;i&gt;", "\n", "<!DOCTYPE html>", "<?xml version='1'?>", "<body>", "中文 ", '<img alt=\'a"b\'>', "<li>x",
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    for _ in range(2000):
        page = "".join(rng.choice(fragments, rng.integers(1, 12)))
        oracle = Oracle()
        oracle.feed(page)
        oracle.close()
        assert text_of(page).split() == " ".join("".join(oracle.found).split()).split() or "".join(
            text_of(page).split()
        ) == "".join("".join(oracle.found).split()), page


@pytest.mark.parametrize(
    ("page", "text"),
    [("a<!-->b", "ab"), ("a<!-- never ends <p>b", "a"), ("a<script>b", "a"), ("x<a title=", "x"), ("&#" + "9" * 5000 + ";", "\N{REPLACEMENT CHARACTER}"), ("<p>a</p><p>b", "a\nb"), ("<title>t</title>x", "x"), ("<title>t<body>x", "x")],
)  # fmt: skip
def test_what_never_ends_takes_the_rest_of_the_page(page, text):
    assert text_of(page).replace("\n", " ").split() == text.split()


def table(size=50):
    return pl.DataFrame(
        {"query_id": ["q"] * size, "doc_id": [f"d{i}" for i in range(size)], "score": [float(i) for i in range(size)]}
    )


def parquet_bytes(frame=None, **options):
    found = io.BytesIO()
    (table() if frame is None else frame).write_parquet(found, **options)
    return found.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "uncompressed", "lz4"])
def test_sound_parquet_is_read_here(compression):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    nested = pl.DataFrame({"a": [[1, 2], [], None] * 50, "b": [None, "x", "y"] * 50})
    for frame in (table(), table(5000), nested):
        data = parquet_bytes(frame, compression=compression)
        assert parquet.is_sound(data, "x")
        assert parquet.read_parquet(data, "x").equals(frame)
        other = io.BytesIO()
        pyarrow.write_table(
            frame.to_arrow(),
            other,
            data_page_version="2.0",
            compression={"uncompressed": "none"}.get(compression, compression),
        )
        assert parquet.is_sound(other.getvalue(), "x")


def test_damaged_parquet_is_an_error_of_ours_wherever_the_damage_is(capfd):
    whole = parquet_bytes(compression="uncompressed")
    for place in range(0, len(whole), 3):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            parquet.read_parquet(damaged, "x.parquet")
        except AssayError as error:
            assert str(error).startswith("x.parquet: ")  # noqa: PT017
    assert capfd.readouterr().err == ""  # nothing of a panic is shown


def test_a_parquet_bomb_is_refused():
    bomb = parquet_bytes(pl.DataFrame({"query_id": ["q"] * 30_000_000}))
    assert len(bomb) < 1 << 20
    with pytest.raises(InputError, match="unpacks to more than 100 times"):
        parquet.read_parquet(bomb, "x.parquet")


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("x.jsonl", '{"query_id":"q1","doc_id":"a","score":{"x":1}}', read_run), ("x.json", '[{"query_id":"q1","doc_id":"a","score":{}}]', read_run),
        ("x.jsonl", '{"query_id":"q1","doc_id":"\\ud800","score":1}', read_run), ("x.json", '{"q1":{"\\ud800":1}}', read_run),
        ("x.json", '{"q1":{"a":' + "9" * 400 + "}}", read_run), ("x.jsonl", '{"query_id":"q1","doc_id":"a","score":' + "9" * 5000 + "}", read_run),
        ("x.jsonl", '{"doc_id":{"a":1},"text":"x"}', read_documents), ("x.jsonl", '{"doc_id":"a","text":["x"]}', read_documents),
        ("x.csv", "query_id,doc_id,score\n", read_run), ("x.txt", "[" * 100_000, read_run),
    ],
)  # fmt: skip
def test_values_that_make_no_column_are_refused(tmp_path, name, text, read):
    (tmp_path / name).write_text(text + "\n")
    with pytest.raises(InputError):
        read(tmp_path / name)


def test_every_limit_that_can_be_raised_is_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    for limit in vars(limits).values():
        if isinstance(limit, limits.Limit):
            assert f"`{limit.variable}`" in text
