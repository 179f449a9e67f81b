"""Known items: gold that stands in its document, the same queries every time, and nothing that others match as well."""

from __future__ import annotations

import itertools
import json
import random
import tracemalloc

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter

import assay
from assay.curation.drawing import Frequencies
from assay.curation.passages import passages_of, telling_words
from assay.errors import InputError, UsageError
from assay.messages import tell
from assay.pipeline.gold import read_gold
from commands import run_assay as run

ENGLISH = [
    "river",
    "harbour",
    "lantern",
    "granite",
    "meadow",
    "copper",
    "violin",
    "glacier",
    "orchard",
    "compass",
    "thunder",
    "saddle",
    "falcon",
    "marble",
]
CHINESE = [
    "长江",
    "港口",
    "灯笼",
    "花岗岩",
    "草地",
    "铜矿",
    "提琴",
    "冰川",
    "果园",
    "罗盘",
    "雷声",
    "马鞍",
    "猎鹰",
    "大理石",
]


NAMES = ["".join(one) for one in itertools.product("bdfgklmnprstvz", "aeiou", "lmnrst", "ao")]


def collection(n: int = 60, seed: int = 3) -> dict[str, str]:
    """Documents of two folders: three sentences of words, some of them common, most of them rare."""
    chance = random.Random(seed)
    found = {}
    for number in range(n):
        sentences = [
            " ".join([*chance.sample(ENGLISH, 3), *chance.sample(NAMES, 5)]).capitalize() + "." for _ in range(3)
        ]
        found[f"{'ab'[number % 2]}/{number}.txt"] = " ".join(sentences)
    return found


def check_gold(found, documents) -> None:
    for one in found.questions:
        assert one.gold
        for place in one.gold:
            assert documents[place.doc_id][place.start : place.end] == place.text != ""


pieces = st.sampled_from(
    [*ENGLISH, *CHINESE, "the", "的", "3.5", "2019", "\n", "\n\n", " ", ". ", "。", "? ", "？", "# ", "## Big harbour\n", "é", "\u00a0",
     "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "|", "\r\n\r\n", "Mr. ", "“", "”", "x" * 300]
)  # fmt: skip
texts = (
    st.lists(pieces, max_size=120).map(" ".join) | st.lists(pieces, max_size=120).map("".join) | st.text(max_size=300)
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a", "b/c", "d.md", "b/e"]), texts, min_size=1),
    st.integers(1, 9),
    st.integers(0, 3),
)
@example(
    {
        "a": "river harbour lantern granite? Meadow copper violin glacier.\n\n# Big harbour\n\nOrchard compass thunder saddle."
    },
    3,
    0,
)
def test_every_gold_span_stands_literally_in_its_document_and_counts_add_up(documents, n, seed):
    try:
        found = assay.make_questions(documents, n, seed=seed)
    except InputError:
        return
    check_gold(found, documents)
    assert found.drawn == len(found.questions) + sum(one.fell for one in found.filters)
    assert len(found.questions) <= n
    assert (
        len({one.query_id for one in found.questions})
        == len({one.text for one in found.questions})
        == len(found.questions)
    )


@settings(max_examples=60, deadline=None)
@given(texts)
def test_passages_are_slices_in_order_that_hold_every_word_of_the_text(text):
    found = list(passages_of("d", text))
    assert all(text[one.start : one.end] == one.text == one.text.strip() for one in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


def test_every_word_of_prose_is_in_exactly_one_passage():
    chance = random.Random(1)
    lines = [" ".join(chance.sample(NAMES, chance.randint(3, 60))) + "." for _ in range(60)]
    text = "".join(line + chance.choice([" ", "\n", "\n\n", "\n \n\n"]) for line in lines)
    found = list(passages_of("d", text))
    assert [word for one in found for word in one.text.split()] == text.split()
    assert max(len(one.text) for one in found) <= 1000


def test_the_same_seed_makes_the_same_queries_in_whatever_order_documents_come():
    documents = collection()
    turned = dict(reversed(documents.items()))
    first, second = (assay.make_questions(one, 20, seed=5).questions for one in (documents, turned))
    assert first == second
    assert first != assay.make_questions(documents, 20, seed=6).questions


def test_a_larger_number_only_adds_queries():
    few, many = (assay.make_questions(collection(), n).questions for n in (10, 30))
    assert many[:10] == few


def test_sources_and_lengths_are_all_drawn_from():
    documents = collection(80) | {"rare/1.txt": "Volcano pepper trumpet anchor basalt."}
    found = assay.make_questions(documents, 12)
    assert {one.source for one in found.questions} == {"a", "b", "rare"}
    assert sum(one.passages for one in found.strata) == 81
    assert sum(one.questions for one in found.strata) == 12


def test_words_of_a_query_are_rare_ones_of_its_gold_and_no_function_words():
    chance = random.Random(4)
    documents = {
        f"{i}": "The common report of the day is about {} and its {} in the {} of {}.".format(*chance.sample(NAMES, 4))
        for i in range(60)
    }
    found = assay.make_questions(documents, 50)
    used = {word.lower() for one in found.questions for word in one.text.split()}
    assert used <= set(NAMES)
    for one in found.questions:
        assert set(telling_words(one.text)) <= set(telling_words(one.gold[0].text))


def test_a_query_whose_words_another_passage_has_too_falls():
    documents = {
        "a": "Granite harbour lantern meadow.",
        "b": "Granite harbour lantern meadow with a copper violin glacier.",
    }
    found = assay.make_questions(documents, 5)
    assert {one.name: one.fell for one in found.filters}["ambiguous"] >= 1
    assert [one.gold[0].doc_id for one in found.questions] in ([], ["b"])


def test_copies_of_a_passage_join_its_gold_and_boilerplate_falls():
    text = "Granite harbour lantern meadow orchard compass thunder."
    twice = assay.make_questions({"a": text, "b": f"# Another head\n\n{text}", **collection(3)}, 9)
    copied = [one for one in twice.questions if len(one.gold) == 2]
    assert {place.doc_id for one in copied for place in one.gold} == {"a", "b"}
    many = assay.make_questions({str(i): text for i in range(12)}, 5)
    assert many.questions == ()
    assert {one.name: one.fell for one in many.filters}["boilerplate"] == 1
    assert "only 0 of 5" in tell(many.warnings[0], "en")


def test_questions_and_headings_of_a_text_become_queries_with_what_follows_as_gold():
    body = "Steam it for two minutes over granite. Then roll the leaves in copper pans."
    asked = {f"{i}": f"How is sencha tea number{i} made in Uji? {body} Lot{i} follows." for i in range(12)}
    found = [one for one in assay.make_questions(asked, 12).questions if one.kind == "question"]
    assert found
    assert all(
        one.text.endswith("Uji?") and "Steam" in one.gold[0].text and "Uji" not in one.gold[0].text for one in found
    )
    headed = {f"{i}": f"# Harvest calendar valley{i}\n\n{body} Lot{i} follows." for i in range(12)}
    found = [one for one in assay.make_questions(headed, 12).questions if one.kind == "heading"]
    assert found
    assert all(one.text.startswith("Harvest calendar") and one.gold[0].text.startswith("Steam") for one in found)


def test_chinese_and_mixed_text_gives_queries_of_its_own_words():
    chance = random.Random(2)
    documents = {f"zh/{i}": "，".join(chance.sample(CHINESE, 9)) + f"，{chance.choice(NAMES)} 型。" for i in range(20)}
    found = assay.make_questions(documents, 10)
    check_gold(found, documents)
    assert len(found.questions) == 10
    assert {one.language for one in found.questions} <= {"zh", "mixed"}
    for one in found.questions:
        assert all(word in one.gold[0].text for word in one.text.split())
        assert any("\u4e00" <= sign <= "\u9fff" for sign in one.text)


def test_counting_forgets_the_rarest_words_instead_of_growing_without_bound():
    counted = Frequencies(most=1000)
    for number in range(20_000):
        counted.add(telling_words(f"harbour unique{number}"))
    assert len(counted.counts) <= 1001
    assert counted.of("harbour") == 20_000
    assert counted.of("unique7") == 1


def test_memory_does_not_grow_with_the_collection():
    def peak(n: int) -> int:
        def documents():
            for number in range(n):
                yield (
                    f"{number}",
                    f"Harbour lantern granite meadow near place{number % 50}, ship{number % 70} with copper and violin.",
                )

        tracemalloc.start()
        assay.make_questions(documents, 5)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(2000) < peak(200) + 300_000


def test_what_is_written_is_read_as_gold_by_an_experiment(tmp_path):
    documents = collection()
    folder = tmp_path / "docs"
    for name, text in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    done = run("set", "questions", "docs", "-n", "15", "-o", "made", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not to claim quality for people" in " ".join(done.stdout.split())
    spans = read_gold(tmp_path / "made/gold.jsonl", documents)
    rows = [json.loads(line) for line in (tmp_path / "made/queries.jsonl").read_text().splitlines()]
    assert len(rows) == 15 == len({span.query_id for span in spans})
    assert {row["made_by"] for row in rows} == {"known_items"}
    assert "simulated known items" in " ".join(json.loads((tmp_path / "made/set.json").read_text())["notes"])
    experiment = '[data]\ndocuments = "docs"\nqueries = "made/queries.jsonl"\ngold = "made/gold.jsonl"\n[retrieve]\nmethod = "bm25"\n'
    (tmp_path / "e.toml").write_text(experiment)
    done = run("run", "e.toml", "-o", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "15" in done.stdout


def test_large_files_of_json_lines_are_read_line_by_line_with_the_same_questions(tmp_path, monkeypatch):
    documents = collection()
    file = tmp_path / "docs.jsonl"
    rows = [{"doc_id": name, "title": "A head", "text": text} for name, text in documents.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = assay.make_questions(file, 10)
    monkeypatch.setattr("assay.curation.collection._LARGE", 0)
    assert assay.make_questions(file, 10) == whole
    file.write_text(file.read_text() + json.dumps(rows[0]))
    with pytest.raises(InputError, match="occurs twice"):
        assay.make_questions(file, 10)


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ({}, "no document has text"),
        ({"a": "  "}, "no document has text"),
        ({"a": "one two"}, "enough words"),
    ],
)
def test_documents_without_words_are_refused_in_one_line(documents, said):
    with pytest.raises(InputError, match=said):
        assay.make_questions(documents, 3)


def test_an_iterator_is_refused_because_it_can_be_read_only_once():
    with pytest.raises(UsageError, match="a function that returns a new iterator"):
        assay.make_questions(iter([("a", "text")]), 3)


def test_one_document_and_too_few_passages_are_said(tmp_path):
    (tmp_path / "one.txt").write_text("Granite harbour lantern meadow orchard compass thunder.")
    done = run("set", "questions", "one.txt", "-n", "5", cwd=tmp_path)
    assert done.returncode == 0
    assert "only 1 of 5 questions" in " ".join(done.stdout.split())
    assert "only one document" in " ".join(done.stdout.split())


def test_an_empty_folder_and_a_scanned_pdf_are_refused_in_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    done = run("set", "questions", "empty", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    scans = tmp_path / "scans"
    scans.mkdir()
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(scans / "page.pdf")
    done = run("set", "questions", "scans", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "text" in done.stderr


def test_rows_carry_the_attributes_of_each_query():
    frame = pl.DataFrame(assay.make_questions(collection(), 5).to_rows())
    assert frame.columns == ["query_id", "text", "kind", "made_by", "reference", "source", "length", "language"]
