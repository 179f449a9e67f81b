"""Gold as spans of text: where a text stands that occurs several times, and rows that name what is not there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data.spans import GoldSpan, SpanCase, inside
from assay.errors import InputError
from assay.measures import parse
from assay.pipeline.gold import chunks_judged, read_gold
from assay.pipeline.records import Chunk
from experiments import SHORT_DOCUMENTS, lines, short_experiment

GUIDE = (
    "The word timeout appears in the index of terms. "
    + "Filler about gardens and rivers. " * 20
    + "\n\nTo set the timeout, call set_timeout with seconds: the timeout is thirty seconds by default. "
    + "Network notes and retries. " * 10
)
TEXTS = {"guide.md": GUIDE, "茶.md": "茶是茶。绿茶不发酵，红茶发酵。"}


def occurrences(text, part):
    """Where a text stands in another, each beginning counted, also where they overlap."""
    return [place for place in range(len(text)) if text.startswith(part, place)]


def gold(folder, *rows, name="gold.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def row(**more):
    return {"query_id": "q1", "doc_id": "guide.md", **more}


def places(span):
    return [(span.start, span.end), *span.others]


@pytest.mark.parametrize(("doc", "text"), [("guide.md", "timeout"), ("茶.md", "茶")])
def test_a_text_that_occurs_several_times_stands_in_all_of_its_places(tmp_path, doc, text):
    (span,) = read_gold(gold(tmp_path, row(doc_id=doc, text=text)), TEXTS)
    assert places(span) == [(place, place + len(text)) for place in occurrences(TEXTS[doc], text)]
    assert len(places(span)) == 4


def test_an_occurrence_or_a_start_means_one_place(tmp_path):
    starts = occurrences(GUIDE, "timeout")
    for number, start in enumerate(starts, 1):
        for more in ({"occurrence": number}, {"start": start}, {"start": start, "end": start + 7}):
            (span,) = read_gold(gold(tmp_path, row(text="timeout", **more)), TEXTS)
            assert places(span) == [(start, start + 7)]


def test_places_are_read_from_a_table_of_text_too(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(
        "query_id,doc_id,text,start,end,occurrence,grade\nq1,guide.md,,4,8,,2\nq1,茶.md,茶,,,2,\nq1,guide.md,word,4,,,\n",
        encoding="utf-8",
    )
    found = read_gold(path, TEXTS)
    assert [(span.start, span.end, span.others, span.grade) for span in found] == [
        (4, 8, (), 2.0),
        (2, 3, (), 1.0),
        (4, 8, (), 1.0),
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"text": "time out"},
            r"row 1: document 'guide\.md' does not contain 'time out' \(if the documents have changed",
        ),
        (
            {"text": "timeout", "occurrence": 5},
            r"row 1: occurrence = 5, but document 'guide\.md' contains 'timeout' only 4 times",
        ),
        ({"text": "timeout", "occurrence": 0}, "row 1: occurrence = 0: expected a whole number of 1 or more"),
        ({"text": "timeout", "start": 8}, r"row 1: document 'guide\.md' has ' timeou' at position 8, not 'timeout'"),
        ({"text": "timeout", "start": 9, "end": 20}, "row 1: start and end do not fit the length of the text"),
        ({"text": "timeout", "start": 9, "occurrence": 1}, "row 1: give start or occurrence, not both"),
        ({"start": 3, "occurrence": 1}, "row 1: occurrence needs a text"),
        ({"start": 5, "end": 99999}, r"row 1 has no span inside document 'guide\.md'"),
        ({"start": "five", "end": 9}, "row 1: start = 'five': expected a whole number"),
        ({"start": -1, "end": 9}, r"row 1 has no span inside document 'guide\.md'"),
        ({"text": ""}, "row 1 has no span inside"),
        ({"text": "word", "grade": "good"}, "row 1: grade = 'good': expected a number"),
        ({"text": "word", "grade": float("nan")}, "row 1: grade = .*: expected a number"),
        ({"doc_id": "guide", "text": "word"}, r"row 1: there is no document 'guide' \(if the documents have changed"),
    ],
)
def test_a_row_that_names_no_place_is_named(tmp_path, wrong, said):
    with pytest.raises(InputError, match=said):
        read_gold(gold(tmp_path, row(**wrong)), TEXTS)


@given(
    text=st.text("ab", min_size=1, max_size=30),
    parts=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3),
    cuts=st.lists(st.tuples(st.integers(0, 29), st.integers(1, 8)), min_size=1, max_size=4),
    k=st.integers(1, 4),
)
def test_recall_takes_any_occurrence_and_precision_all_of_them(tmp_path_factory, text, parts, cuts, k):
    parts = [part for part in parts if part in text]
    cuts = [(start, min(start + size, len(text))) for start, size in cuts if start < len(text)]
    if not parts or not cuts:
        return
    path = gold(tmp_path_factory.mktemp("gold"), *({"query_id": "q", "doc_id": "d", "text": part} for part in parts))
    spans = read_gold(path, {"d": text})
    chunks = [Chunk(f"d#{i}", "d", text[a:b], a, b) for i, (a, b) in enumerate(cuts)]
    case = SpanCase(spans, chunks)

    top = cuts[:k]
    held = {place for a, b in top for place in range(a, b)}
    signs = [[set(range(at, at + len(part))) for at in occurrences(text, part)] for part in parts]
    found = [any(len(one & held) >= 0.5 * len(part) for one in ones) for ones, part in zip(signs, parts, strict=True)]
    golden = {place for ones in signs for one in ones for place in one}
    inside = sum(len(golden & set(range(a, b))) for a, b in top)
    assert parse(f"span_recall@{k}").span_value(case) == sum(found) / len(found)
    assert parse(f"span_precision@{k}").span_value(case) == pytest.approx(inside / sum(b - a for a, b in top))
    relevant = {
        chunk.id
        for chunk in chunks
        if any(
            2 * len(one & set(range(chunk.start, chunk.end))) >= min(len(part), chunk.end - chunk.start)
            for ones, part in zip(signs, parts, strict=True)
            for one in ones
        )
    }
    assert set(chunks_judged(spans, chunks).to_dict().get("q", {})) == relevant


def experiment(folder, *rows):
    (folder / "docs").mkdir()
    for name, text in TEXTS.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    asked = [{"query_id": "q1", "text": "set_timeout seconds default thirty"}, {"query_id": "q2", "text": "绿茶"}]
    gold(folder, *asked, name="queries.jsonl")
    gold(folder, *rows)
    path = folder / "e.toml"
    path.write_text(
        '[data]\ndocuments = "docs"\nqueries = "queries.jsonl"\ngold = "gold.jsonl"\n'
        '[chunk]\nmethod = "recursive"\nsize = 300\n[retrieve]\nmethod = "bm25"\n'
        '[evaluate]\nmeasures = ["span_recall@1", "span_precision@1"]\n',
        encoding="utf-8",
    )
    return path


def test_an_ambiguous_span_counts_anywhere_and_is_told_with_its_count(tmp_path):
    path = experiment(
        tmp_path, row(text="timeout"), row(text="thirty seconds"), {"query_id": "q2", "doc_id": "茶.md", "text": "茶"}
    )
    found = assay.run_experiment(path)
    assert found.findings.systems[0].mean()["span_recall@1"] == 1.0  # the chunk with the answer has three of the four
    (said,) = [text for text in found.findings.warnings if "several times" in str(text)]
    assert said == (
        "2 of 3 gold spans occur several times in their document, and any occurrence counts: 'timeout' appears 4 times in"
        " guide.md. To pick one of them, give start or occurrence in the gold file."
    )
    from assay.messages import tell

    assert tell(said, "zh").startswith(
        "3 个标准答案片段中有 2 个在其文档中出现多次，任一处均算命中：'timeout' 在 guide.md 中出现 4 次。"
    )


def test_a_span_that_is_located_counts_there_alone(tmp_path):
    found = assay.run_experiment(experiment(tmp_path, row(text="timeout", occurrence=1)))
    assert found.findings.systems[0].mean()["span_recall@1"] == 0.0  # the index of terms is not what was found
    assert not [text for text in found.findings.warnings if "several times" in str(text)]


def test_queries_and_documents_that_do_not_exist_are_named(tmp_path):
    path = experiment(tmp_path, row(text="thirty seconds"), row(query_id="q9", text="word"))
    notes = assay.run_experiment(path).collection.notes
    assert "1 judged query has no text and is not asked, such as 'q9'" in notes
    (tmp_path / "j.qrels").write_text("q1 0 guide.md 1\nq1 0 gone.md 1\nq1 0 lost.md 0\n", encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace('gold = "gold.jsonl"', 'judgments = "j.qrels"')
                    .replace("span_recall@1", "recall@1").replace("span_precision@1", "ndcg@5"), encoding="utf-8")  # fmt: skip
    notes = assay.run_experiment(path).collection.notes
    assert "2 judged documents are not in the collection, such as 'gone.md'" in notes


def test_a_gold_span_of_grade_nought_is_not_relevant(tmp_path):
    rows = [{"query_id": "q1", "doc_id": "a", "start": 0, "end": 5, "grade": 0}, {"query_id": "q1", "doc_id": "b", "start": 0, "end": 5},
            {"query_id": "q1", "doc_id": "c", "start": 0, "end": 5, "grade": 2}, {"query_id": "q1", "doc_id": "c", "start": 6, "end": 9, "grade": -1}]  # fmt: skip
    (tmp_path / "gold.jsonl").write_text(lines(rows), encoding="utf-8")
    found = read_gold(tmp_path / "gold.jsonl", SHORT_DOCUMENTS)
    assert found == [GoldSpan("q1", "b", 0, 5, 1.0), GoldSpan("q1", "c", 0, 5, 2.0)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 15)), max_size=6), st.integers(0, 30), st.integers(1, 20))
def test_characters_of_overlapping_spans_count_once(pairs, start, size):
    chunk = Chunk("d", "d", "x" * size, start, start + size)
    spans = [GoldSpan("q", "d", a, a + n) for a, n in pairs]
    signs = {i for a, n in pairs for i in range(a, a + n)}
    assert inside(chunk, [*spans, GoldSpan("q", "e", 0, 99)]) == len(signs & set(range(start, start + size)))


def test_precision_of_overlapping_spans_is_a_share_of_distinct_characters(tmp_path):
    rows = [
        {"query_id": "q1", "doc_id": "b", "start": 0, "end": 5},
        {"query_id": "q1", "doc_id": "b", "start": 0, "end": 9},
    ]
    (tmp_path / "gold.jsonl").write_text(lines(rows), encoding="utf-8")
    body = '[retrieve]\nmethod = "run"\nfile = "old.run"\n[evaluate]\nmeasures = ["span_precision@1"]\n'
    (tmp_path / "old.run").write_text("q1 Q0 b 1 1 x\n", encoding="utf-8")
    found = assay.run_experiment(short_experiment(tmp_path, body, judged='gold = "gold.jsonl"'))
    assert found.findings.systems[0]["span_precision@1"] == pytest.approx(9 / len(SHORT_DOCUMENTS["b"]))


# Measures of spans in experiments -------------------------------------------------------------------------------------


def spans_of(folder, evaluate="", *, judgments=False):
    """An experiment on two passages of the guide, with what its table [evaluate] says."""
    path = experiment(folder, row(text="thirty seconds"), row(text="Network notes"))
    text = path.read_text(encoding="utf-8").partition("[evaluate]")[0]
    if judgments:
        (folder / "j.qrels").write_text("q1 0 guide.md 1\nq1 0 茶.md 0\n", encoding="utf-8")
        text = text.replace("[chunk]", 'judgments = "j.qrels"\n[chunk]')
    path.write_text(f"{text}[evaluate]\n{evaluate}\n", encoding="utf-8")
    return path


def test_measures_of_spans_lead_where_gold_is_spans_and_nothing_else_is_asked_for(tmp_path):
    found = assay.run_experiment(spans_of(tmp_path)).findings
    assert found.measure == "span_recall@5"
    assert found.measures[:3] == ("span_recall@5", "span_precision@5", "map")
    (scores,) = found.systems
    assert scores.about("span_recall@5").subject == "spans"
    assert scores.about("span_recall@5").k == 5
    assert list(scores.counts) == list(scores.labels)


def test_the_measure_of_the_protocol_leads_where_documents_were_judged_too(tmp_path):
    found = assay.run_experiment(spans_of(tmp_path, judgments=True)).findings
    assert found.measure == "map"
    assert found.measures[-2:] == ("span_recall@5", "span_precision@5")


def test_columns_stand_in_the_order_in_which_they_were_asked_for(tmp_path):
    asked = '["span_precision@2", "recall@1", "span_recall(share=0.9)@2", "faithfulness", "ndcg@3"]'
    path = spans_of(tmp_path, f"measures = {asked}")
    path.write_text(path.read_text(encoding="utf-8") + '[generate]\nmethod = "extractive"\n', encoding="utf-8")
    found = assay.run_experiment(path).findings
    assert found.measures == ("span_precision@2", "recall@1", "span_recall(share=0.9)@2", "faithfulness", "ndcg@3")
    assert found.measure == "span_precision@2"
    (scores,) = found.systems
    assert [column.subject for column in scores.columns] == ["spans", "rankings", "spans", "answers", "rankings"]


def test_the_share_of_a_span_is_part_of_the_measure(tmp_path):
    asked = 'measures = ["span_recall@1", "span_recall(share=0.2)@1", "span_precision@1"]\nspan_share = 0.9'
    found = assay.run_experiment(spans_of(tmp_path, asked)).findings
    assert found.systems[0].definitions == {
        "span_recall@1": "span_recall(share=0.9)@1",
        "span_recall(share=0.2)@1": "span_recall(share=0.2)@1",
        "span_precision@1": "span_precision@1",
        "map": "average_precision",
    }


def test_a_protocol_may_have_measures_of_spans(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nprimary = "found"\n[measures]\n"recall@1" = "recall@1"\nfound = "span_recall@3"\n'
        "[defaults.span_recall]\nshare = 0.7\n",
        encoding="utf-8",
    )
    name = f'protocol = "{tmp_path}/mine.toml"'
    found = assay.run_experiment(spans_of(tmp_path, name, judgments=True)).findings
    assert found.measures == ("recall@1", "found")
    assert found.measure == "found"
    assert found.systems[0].definitions["found"] == "span_recall(share=0.7)@3"
    asked = spans_of_again(tmp_path, name + '\nmeasures = ["recall@1", "found"]')
    assert assay.run_experiment(asked).findings.measures == ("recall@1", "found")


def spans_of_again(folder, evaluate):
    path = folder / "e.toml"
    text = path.read_text(encoding="utf-8").partition("[evaluate]")[0]
    path.write_text(f"{text}[evaluate]\n{evaluate}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("evaluate", "told"),
    [
        ('measures = ["span_recal@5"]', "unknown measure 'span_recal'; did you mean span_recall"),
        ('measures = ["span_recall"]', "span_recall needs a cutoff: write span_recall@10"),
        ('measures = ["span_recall(share=2)@5"]', r"span_recall\(share=2\): expected a share above 0 and at most 1"),
        ('span_share = "half"', "expected a number"),
        ("span_share = 0", r"span_recall\(share=0\): expected a share above 0"),
        ('measures = ["span_recall@5", "span_recall@5"]', "span_recall@5 is asked for twice"),
        ('measures = ["precision"]', "precision needs a cutoff: write precision@10"),
        ('measures = ["rbp(p=2)"]', "the persistence p = 2 of rbp must lie between 0 and 1"),
        ('measures = ["alpha_ndcg@5"]', "alpha_ndcg needs judgments with subtopics"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_anything_runs(tmp_path, evaluate, told):
    path = spans_of(tmp_path, evaluate)
    with pytest.raises(InputError, match=rf"e\.toml: evaluate.*{told}") as caught:
        assay.run_experiment(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / ".assay-cache").exists()


def test_a_share_of_queries_that_is_none_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(assay.UsageError, match="holdout = 2: expected a share between 0 and 1"):
        assay.run_experiment(spans_of(tmp_path), holdout=2)
    assert not (tmp_path / ".assay-cache").exists()
