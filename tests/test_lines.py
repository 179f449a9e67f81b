"""Clean lines are parsed with numpy: what comes out is what splitting each line and `float` give, or nothing at all."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import assay
from assay.data.pool import Pool
from assay.data.texts import Texts
from assay.formats.decimals import MARGIN, decimals
from assay.formats.lines import Lines, judged_pool, run_rows
from assay.formats.reading import read_judgments

EDGE = b"\n" * MARGIN


def lines(text: str, separator: str = " ") -> Lines:
    body = text.encode()
    return Lines(EDGE + body + EDGE, MARGIN, MARGIN + len(body), separator.encode())


def parsed(text: str, separator: str = " ") -> list[tuple[str, str, float]] | None:
    rows = run_rows(lines(text, separator))
    if rows is None:
        return None
    queries = np.repeat(rows.names, rows.sizes).tolist()
    return list(zip(queries, rows.docs.to_list(), rows.score.tolist(), strict=True))


def expected(text: str) -> list[tuple[str, str, float]]:
    fields = [line.split() for line in text.splitlines()]
    return [(query, doc, float(score)) for query, _, doc, _, score, _ in fields]


def pointed(of: tuple[int, int]) -> str:
    digits, places = f"{of[0]:020d}", of[1]
    return digits[:-places] + "." + digits[-places:]


ids = st.text(st.sampled_from("ab01-_.:/é字"), min_size=1, max_size=30)
scores = st.one_of(
    st.integers(-(2**53), 2**53).map(str),
    st.decimals(-99999, 99999, places=6).map(str),
    st.decimals(0, 1, places=14).map("{:f}".format),
    st.tuples(st.integers(0, 2**53), st.integers(1, 19)).map(pointed),
    st.sampled_from(
        ["0", "-0", "0.0", "-0.0", "5.", ".5", "-.5", "000.100", "99999999", "999999999", "1.23456789012345"]
    ),
    st.sampled_from(["9007199254740992", "-9007199254.740992", "0.00000000000000000001", "0.0000000000000000000001"]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(ids, ids, scores), min_size=1, max_size=60), st.sampled_from(" \t"))
def test_lines_are_parsed_as_by_splitting_them(rows, separator):
    text = "".join(
        separator.join((query, "Q0", doc, str(rank), score, "tag")) + "\n"
        for rank, (query, doc, score) in enumerate(rows, 1)
    )
    assert parsed(text, separator) == expected(text)


@pytest.mark.parametrize("seed", range(3))
def test_many_lines_whose_fields_are_of_every_length(seed):
    rng = random.Random(seed)
    longest = rng.choice([4, 9, 40])

    def word() -> str:
        return "".join(rng.choices("0123456789", k=rng.randint(1, longest)))

    text = "".join(
        f"{query} Q0 {word()} {rank} {rng.uniform(-20, 1000):.{rng.randint(1, 9)}f} {word()}\n"
        for query in (word() for _ in range(40))
        for rank in range(1, 200)
    )
    assert parsed(text) == expected(text)


def test_a_blank_where_another_is_likely_does_not_lead_astray():
    """Of the second line, the end of the rank is where the end of the document was in the first."""
    text = "".join(f"{q} Q0 1234567 1 5.5 t\n{q} Q0 123 456 5.5 t\n{q} Q0 1 2 3 t\n" for q in range(500))
    assert parsed(text) == expected(text)


@pytest.mark.parametrize(
    "line",
    [
        "1 Q0 d 1 5",  # a field is missing
        "1 Q0 d 1 5 t more",
        "1 Q0  d 1 5",  # as many blanks as there should be
        "1  Q0 d 1 5",
        "1 Q0 d 1 5 ",
        " 1 Q0 d 1 5",
        "1 Q0 d\t1 5 t",
        "1\tQ0\td\t1\t5\tt",
        "1 Q0 d 1 5 t\r",
        "1 Q0 d 1 5é t",
        "1 Q0 d 1 \u01f65 t",
        "1 Q0 d 1 12345678.\u02ba5 t",
        "# a b c 5 t",
        "",
        "1 Q0 d 1 x t",
        "1 Q0 d 1 1e5 t",
        "1 Q0 d 1 nan t",
        "1 Q0 d 1 inf t",
        "1 Q0 d 1 +5 t",
        "1 Q0 d 1 - t",
        "1 Q0 d 1 . t",
        "1 Q0 d 1 -. t",
        "1 Q0 d 1 1.2.3 t",
        "1 Q0 d 1 1-2 t",
        "1 Q0 d 1 --2 t",
        "1 Q0 d 1 0x10 t",
        "1 Q0 d 1 1:5 t",
        "1 Q0 d 1 1/5 t",
        "1 Q0 d 1 12345678:12345678 t",
        "1 Q0 d 1 :12345678 t",
        "1 Q0 d 1 9007199254740993 t",  # more than a float surely holds
        "1 Q0 d 1 9.007199254740993 t",
        "1 Q0 d 1 12345678901234567890 t",
        "1 Q0 d 1 1.2345678901234567890 t",
        "1 Q0 d 1 0.00000000000000000000001 t",
        "1 Q0 d 1 0000000000000000000000001 t",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 50, 99])
def test_what_is_not_clean_or_plain_is_left_to_other_readers(line, place):
    text = [f"{number} Q0 d{number} 1 {number}.5 t\n" for number in range(100)]
    assert parsed("".join(text)) is not None
    text[place] = line + "\n"
    assert parsed("".join(text)) is None


@pytest.mark.parametrize("line", [b"1 Q0 d 1 5 t", b"1 Q0 \xff 1 5 t\n", b"1 Q0 d 1 \xba t\n", b"1 Q0 d 1 5 \xd0\n"])
def test_lines_need_an_end_and_must_be_text(line):
    assert run_rows(Lines(EDGE + line + EDGE, MARGIN, MARGIN + len(line), b" ")) is None


@settings(max_examples=500, deadline=None)
@given(st.lists(scores, min_size=1, max_size=40))
@example(["0.1", "0.2", "0.3", "123456789.123456", "-0"])
def test_decimals_are_rounded_as_floats_are(texts):
    data = EDGE + " ".join(texts).encode() + EDGE
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1 + MARGIN
    found = decimals(np.frombuffer(data, np.uint8), ends, np.array([len(text) for text in texts]))
    assert found is not None
    assert [repr(value) for value in found.tolist()] == [repr(float(text)) for text in texts]


# Texts ---------------------------------------------------------------------------------------------------------------

texts = st.lists(st.one_of(st.text(max_size=20), st.text(st.sampled_from("a\0é"), max_size=4), st.just("x" * 300)))


@settings(max_examples=300, deadline=None)
@given(texts)
def test_texts_keep_what_they_were_made_of(given_texts):
    found = Texts.of(given_texts)
    assert found.to_list() == given_texts
    assert [found[number] for number in range(len(found))] == given_texts
    assert found.take(slice(None, None, -1)).to_list() == given_texts[::-1]


@settings(max_examples=300, deadline=None)
@given(texts)
def test_like_texts_have_like_hashes_and_others_differ(given_texts):
    found = Texts.of(given_texts)
    hashes = dict(zip(given_texts, found.hashes().tolist(), strict=True))
    assert found.hashes().tolist() == [hashes[text] for text in given_texts]
    assert len(set(hashes.values())) == len(hashes)


@settings(max_examples=300, deadline=None)
@given(texts, st.randoms())
def test_texts_are_compared_one_by_one(given_texts, rng):
    others = given_texts.copy()
    rng.shuffle(others)
    same = Texts.of(given_texts).equals(Texts.of(others))
    assert same.tolist() == [one == other for one, other in zip(given_texts, others, strict=True)]
    fresh = Texts.of(given_texts).fresh().tolist()
    assert fresh == [number == 0 or text != given_texts[number - 1] for number, text in enumerate(given_texts)]


@settings(max_examples=300, deadline=None)
@given(texts, st.data(), st.booleans(), st.sampled_from([2, 1 << 20]))
def test_texts_are_ordered_by_group_and_bytes(given_texts, data, falling, groups):
    group = [data.draw(st.integers(0, groups)) for _ in given_texts]
    numbers = range(len(given_texts))
    ordered = sorted(numbers, key=lambda number: given_texts[number].encode(), reverse=falling)
    if falling:  # like texts stay in their order
        ordered = sorted(numbers, key=lambda number: [255 - byte for byte in given_texts[number].encode()] + [256])
    ordered.sort(key=lambda number: group[number])
    assert Texts.of(given_texts).order(np.array(group, np.int64), falling=falling).tolist() == ordered


def test_a_column_of_a_frame_becomes_texts():
    import polars as pl

    column = pl.Series(["a", "", "日本", "x" * 300])
    assert Texts.of_series(column).to_list() == column.to_list()
    assert Texts.of_series(column.clear()).to_list() == []


# Judgments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_judgments_of_plain_lines_are_those_of_the_other_reader(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    rows = {(rng.choice(["q1", "q10", "q2", "x"]), f"d{rng.randrange(500)}") for _ in range(300)}
    text = "".join(f"{query} 0 {doc} {rng.choice(['-1', '0', '1', '2.5'])}\n" for query, doc in rows)
    path = tmp_path / "qrels.txt"
    path.write_text(text.rstrip("\n") if seed % 2 else text)
    plain = read_judgments(path)
    assert isinstance(plain.rows, Pool)
    monkeypatch.setattr("assay.formats.reading.pool_of", lambda source: None)
    other = read_judgments(path)
    assert not isinstance(other.rows, Pool)
    assert plain.frame.equals(other.frame) and plain.frame.schema == other.frame.schema
    assert plain.digest == other.digest
    for name in ("query_ids", "max_grade", "least_positive", "by_query"):
        assert getattr(plain, name) == getattr(other, name)
    assert plain.pool.docs.to_list() == other.pool.docs.to_list()


def test_a_document_judged_twice_is_left_to_the_other_reader():
    assert judged_pool(lines("q 0 d 1\nr 0 d 1\nq 0 d 2\n")) is None
    assert judged_pool(lines("q 0 d 1\nr 0 d 1\nq 0 e 2\n")) is not None


# Commands ------------------------------------------------------------------------------------------------------------


def write(path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_evaluating_plain_files_needs_no_polars(tmp_path):
    judgments = write(tmp_path / "qrels.txt", "q 0 a 1\nq 0 b 2\n")
    run = write(tmp_path / "some.run", "q Q0 b 1 2.5 t\nq Q0 c 2 1.5 t\n")
    script = (
        "import sys, assay\n"
        "from assay.cli import app\n"
        f"app(['evaluate', {judgments!r}, {run!r}, '-m', 'ndcg@10', '--format', 'csv'], standalone_mode=False)\n"
        "assay.evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}, ['map'])\n"
        "print('polars' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert done.stdout.splitlines()[1].startswith("some,0.")


NUMBERS = {
    "exponents": lambda rng: f"{rng.uniform(0, 1):e}",
    "17 digits": lambda rng: repr(rng.uniform(0, 1)),
    "plain": lambda rng: f"{rng.uniform(0, 20):.4f}",
}
LETTERS = {"ascii": "d{}", "other letters": "документ-{}", "long": "d" * 280 + "-{}", "a comment": "#d{}"}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_files_of_every_kind_give_the_numbers_of_dicts(tmp_path, number, letters, separator):
    rng = random.Random(5)
    name = LETTERS[letters].format
    run = {
        f"q{query}": {name(doc): float(NUMBERS[number](rng)) for doc in rng.sample(range(60), 30)}
        for query in range(20)
    }
    judgments = {f"q{query}": {name(doc): rng.choice([0, 1, 2]) for doc in range(0, 60, 3)} for query in range(20)}
    rows = [(q, "Q0", doc, "1", repr(score), "t") for q, docs in run.items() for doc, score in docs.items()]
    path = write(tmp_path / "some.run", "".join(separator.join(row) + "\n" for row in rows))
    measures = ["map", "ndcg@10", "bpref", "num_rel_ret"]
    assert assay.evaluate(judgments, path, measures).to_dict() == assay.evaluate(judgments, run, measures).to_dict()
