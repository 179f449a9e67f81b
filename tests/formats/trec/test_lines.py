"""Clean lines are parsed with numpy: what comes out is what splitting each line and `float` give, or nothing at all."""

from __future__ import annotations

import itertools
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
from assay.formats.reading import read_judgments
from assay.formats.trec import pieces
from assay.formats.trec.decimals import MARGIN, decimals, divide
from assay.formats.trec.lines import LineRange, read_pool, read_rows

EDGE = b"\n" * MARGIN


def lines(text: str, separator: str = " ") -> LineRange:
    body = text.encode()
    return LineRange(EDGE + body + EDGE, MARGIN, MARGIN + len(body), separator.encode())


def parsed(text: str, separator: str = " ") -> list[tuple[str, str, float]] | None:
    rows = read_rows(lines(text, separator))
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
    st.integers(-(10**14), 10**14).map(str),
    st.decimals(-99999, 99999, places=6).map(str),
    st.decimals(0, 1, places=14).map("{:f}".format),
    st.floats(1e-4, 1e15).map(repr),
    st.floats(0.5, 2).map("{:.17f}".format),
    st.integers(0, 10**19 - 1).map(str),
    st.tuples(st.integers(0, 10**18 - 1), st.integers(1, 19)).map(pointed),
    st.integers(2**53 - 9, 2**53 + 2**11).map(str),
    st.integers(2**63 - 2**10, 2**63 + 2**12).map(str),
    st.sampled_from(
        [
            "0",
            "-0",
            "0.0",
            "-0.0",
            "5.",
            ".5",
            "-.5",
            "000.100",
            "99999999",
            "999999999",
            "1.23456789012345",
            "9999999999999999999",
        ]
    ),
    st.sampled_from(["9007199254740993", "9007199254740992.5", "4503599627370496.5", "4503599627370497.5"]),
    st.sampled_from(["0.00000000000000000001", "0.0000000000000000000001", "0.0073430", "0.40378"]),
)


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
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
        "1 Q0 d  5 t",
        "1 Q0 d 1  t",
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
        "1 Q0 d 1 12345678901234567890 t",  # more than 64 bits
        "1 Q0 d 1 1.2345678901234567890 t",
        "1 Q0 d 1 0.00000000000000000000001 t",
        "1 Q0 d 1 .00000000000000000000001 t",
        "1 Q0 d 1 0000000000000000000000001 t",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 50, 99])
@pytest.mark.parametrize("uneven", [False, True])
def test_what_is_not_clean_or_plain_is_left_to_other_readers(line, place, uneven):
    text = [f"{number} Q0 d{number} 1 {number}.5 t\n" for number in range(100)]
    if uneven:  # too many lines are not like the first for a guess
        text[::2] = [f"{number} Q0 {'d' * 20}{number} 1 {number}.5 t\n" for number in range(0, 100, 2)]
    assert parsed("".join(text)) is not None
    text[place] = line + "\n"
    assert parsed("".join(text)) is None


@pytest.mark.parametrize("uneven", [False, True])
def test_a_field_too_few_here_does_not_make_up_for_one_too_many_there(uneven):
    text = [f"{number} Q0 {'d' * (20 * uneven * (number % 2))}{number} 1 {number}.5 t\n" for number in range(100)]
    assert parsed("".join(text)) is not None
    text[40:42] = ["40 Q0 d 1 40.5\n", "41 Q0 d 1 41.5 t u\n"]
    assert parsed("".join(text)) is None


@pytest.mark.parametrize(
    "line", [b"1 Q0 d 1 5 t", b"1 Q0 d 1 5 t\nrest", b"1 Q0 \xff 1 5 t\n", b"1 Q0 d 1 \xba t\n", b"1 Q0 d 1 5 \xd0\n"]
)
def test_lines_need_an_end_and_must_be_text(line):
    assert read_rows(LineRange(EDGE + line + EDGE, MARGIN, MARGIN + len(line), b" ")) is None


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(st.lists(scores, min_size=1, max_size=40))
@example(["0.1", "0.2", "0.3", "123456789.123456", "-0"])
def test_decimals_are_rounded_as_floats_are(texts):
    data = EDGE + " ".join(texts).encode() + EDGE
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1 + MARGIN
    found = decimals(np.frombuffer(data, np.uint8), ends, np.array([len(text) for text in texts]))
    assert found is not None
    assert [repr(value) for value in found.tolist()] == [repr(float(text)) for text in texts]


def nearly_halfway(places: int) -> list[int]:
    """Integers that, divided by 10**places, miss the middle between two floats by the least that is possible."""
    fives = 5**places
    found = []
    for twos, miss in itertools.product(range(30, 60), (1, -1)):
        first = miss * pow(2**twos, -1, fives) % fives
        for number in range(first, 10**19, fives * max(1, 10**19 // fives // 40)):
            middle = (number * 2**twos - miss) // fives
            if number > 2**53 and middle % 2 and 2**53 <= middle < 2**54:
                found.append(number)
    return found


@pytest.mark.parametrize("places", [20, 21, 22])
def test_what_is_nearly_halfway_between_floats_is_in_doubt_and_right(places):
    numbers = nearly_halfway(places)
    assert len(numbers) > 40
    _, doubtful = divide(np.array(numbers, np.uint64), np.float64(10.0**places))
    assert len(doubtful) == len(numbers)
    texts = [f"0.{number:0{places}d}" for number in numbers]
    data = EDGE + " ".join(texts).encode() + EDGE
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1 + MARGIN
    found = decimals(np.frombuffer(data, np.uint8), ends, np.array([len(text) for text in texts]))
    assert found is not None and found.tolist() == [float(text) for text in texts]


# Texts ---------------------------------------------------------------------------------------------------------------

texts = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.text(st.sampled_from("a\0é"), max_size=4),
        st.text(st.sampled_from("ab"), max_size=3).map(lambda end: "https://example.org/" + end),
        st.text(st.sampled_from("ab"), max_size=2).map(lambda end: "x" * 255 + end),
    ),
    max_size=12,
)
ZEROS = ["a", "a\0", "a", "a\0\0", "\0a", "", "\0"]
LONG = ["x" * 300 + "a", "x" * 300 + "b", "x" * 256, "x" * 256 + "y", "x" * 256, "x" * 257]


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(texts)
@example(ZEROS)
@example(LONG)
def test_texts_keep_what_they_were_made_of(given_texts):
    found = Texts.of(given_texts)
    assert found.to_list() == given_texts
    assert [found[number] for number in range(len(found))] == given_texts
    assert found.take(slice(None, None, -1)).to_list() == given_texts[::-1]


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(texts)
@example(ZEROS)
@example(LONG)
def test_like_texts_have_like_hashes_and_others_differ(given_texts):
    found = Texts.of(given_texts)
    hashes = dict(zip(given_texts, found.hashes().tolist(), strict=True))
    assert found.hashes().tolist() == [hashes[text] for text in given_texts]
    assert len(set(hashes.values())) == len(hashes)


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(texts, st.integers(0, 9))
@example(ZEROS, 1)
@example(LONG, 1)
def test_texts_are_compared_one_by_one(given_texts, turn):
    others = given_texts[turn:] + given_texts[:turn]
    same = Texts.of(given_texts).equals(Texts.of(others))
    assert same.tolist() == [one == other for one, other in zip(given_texts, others, strict=True)]
    fresh = Texts.of(given_texts).changes().tolist()
    assert fresh == [number == 0 or text != given_texts[number - 1] for number, text in enumerate(given_texts)]


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(
    texts,
    st.lists(st.integers(0, 2), min_size=12),
    st.sampled_from(["rising", "falling"]),
    st.sampled_from([1, 1 << 20]),
)
@example(ZEROS, [0] * 12, "rising", 1)
@example(ZEROS, [0] * 12, "falling", 1)
@example(LONG, [0] * 12, "rising", 1)
@example(LONG, [0, 1] * 6, "falling", 1 << 20)
def test_texts_are_ordered_by_group_and_bytes(given_texts, groups, way, factor):
    falling = way == "falling"
    group = [number * factor for number in groups[: len(given_texts)]]
    ordered = sorted(range(len(given_texts)), key=lambda number: given_texts[number].encode(), reverse=falling)
    ordered.sort(key=group.__getitem__)
    order, fresh = Texts.of(given_texts).order(np.array(group, np.int64), falling=falling)
    assert order.tolist() == ordered
    pairs = [(group[number], given_texts[number]) for number in ordered]
    assert fresh.tolist() == [place == 0 or pair != pairs[place - 1] for place, pair in enumerate(pairs)]


def test_a_column_of_a_frame_becomes_texts():
    import polars as pl

    column = pl.Series("doc_id", ["a", "", "日本", "x" * 300])
    assert Texts.of_series(column).to_list() == column.to_list()
    assert Texts.of_series(column.cast(pl.Categorical)).to_list() == column.to_list()
    assert Texts.of_series(column.clear()).to_list() == []
    with pytest.raises(assay.InputError, match="row 5 has no doc_id"):
        Texts.of_series(pl.Series("doc_id", [*column, None]))


@pytest.mark.parametrize("kind", ["UInt32", "Int64", "Boolean", "Float32"])
def test_scores_of_a_frame_may_be_of_any_type(kind):
    import polars as pl

    scores = pl.Series([0, 1, 0] if kind == "Boolean" else [-(2**63) if kind == "Int64" else 0, 2, 1])
    frame = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "score": scores.cast(getattr(pl, kind))})
    assert assay.evaluate({"q": {"b": 1}}, assay.Run(frame), ["map"])["map"] == 1.0


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
    assert read_pool(lines("q 0 d 1\nr 0 d 1\nq 0 d 2\n")) is None
    assert read_pool(lines("q 0 d 1\nr 0 d 1\nq 0 e 2\n")) is not None


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
LETTERS = {"ascii": "d{}", "other letters": "документ-{}", "long": "d" * 280 + "-{}", "a hash": "#d{}"}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_files_of_every_kind_give_the_numbers_of_dicts(tmp_path, number, letters, separator):
    rng = random.Random(5)
    name = LETTERS[letters].format
    text = {f"q{query}": {name(doc): NUMBERS[number](rng) for doc in rng.sample(range(60), 30)} for query in range(20)}
    run = {query: {doc: float(score) for doc, score in docs.items()} for query, docs in text.items()}
    judgments = {f"q{query}": {name(doc): rng.choice([0, 1, 2]) for doc in range(0, 60, 3)} for query in range(20)}
    rows = [(q, "Q0", doc, "1", score, "t") for q, docs in text.items() for doc, score in docs.items()]
    path = write(tmp_path / "some.run", "".join(separator.join(row) + "\n" for row in rows))
    measures = ["map", "ndcg@10", "bpref", "num_rel_ret"]
    assert assay.evaluate(judgments, path, measures).to_dict() == assay.evaluate(judgments, run, measures).to_dict()


@pytest.mark.parametrize("score", ["{}.5", "{}.5e0"])
def test_a_byte_order_mark_within_a_file_belongs_to_the_query(tmp_path, monkeypatch, score):
    monkeypatch.setattr(pieces, "_PIECE", 20)
    lines = [f"q1 Q0 d{rank} {rank} {score.format(9 - rank)} t\n" for rank in range(1, 9)]
    path = write(tmp_path / "some.run", "".join(lines) + f"\ufeffq2 Q0 a 1 {score.format(2)} t\n")
    found = assay.evaluate({"q1": {"d1": 1}, "q2": {"a": 1}}, path, ["map"]).to_dict()
    assert found["q2"]["map"] == 0.0
    assert list(assay.read_run(path).to_dict()) == ["q1", "\ufeffq2"]


def test_of_a_document_judged_twice_the_first_grade_is_kept_if_asked(tmp_path):
    path = write(tmp_path / "qrels.txt", "q 0 a 1\nq 0 b 0\nq 0 a 2\n")
    with pytest.raises(assay.InputError, match=r"'a' is judged twice for query 'q' \(lines 1 and 3\)"):
        read_judgments(path)
    assert read_judgments(path, dedupe=True).to_dict() == {"q": {"a": 1.0, "b": 0.0}}


@pytest.mark.parametrize("number", [10**400, "x", None])
def test_numbers_that_are_none_are_named(number):
    with pytest.raises(assay.InputError, match="document 'a' for query 'q'"):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": number}}, ["map"])
    with pytest.raises(assay.InputError):
        assay.evaluate({"q": {"a": number}}, {"q": {"a": 1}}, ["map"])
