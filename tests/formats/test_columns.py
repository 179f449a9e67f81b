"""One table of column names for all files: what users of other tools and of other languages have is read."""

from __future__ import annotations

import json

import pytest

import assay
from assay.errors import InputError
from assay.formats import columns
from assay.formats.documents import read_documents, read_pairs
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments, read_records, read_run
from assay.formats.samples import as_samples, read_samples
from assay.pipeline.gold import read_gold


def write_rows(path, *rows: dict) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"corpus-id": "a", "text": "tea"}, "tea"),
        ({"doc_id": "a", "page_content": "tea"}, "tea"),
        ({"id": "a", "contents": "tea"}, "tea"),
        ({"_id": "a", "title": "Tea", "text": "hot"}, "Tea\n\nhot"),
        ({"docId": "a", "Content": "tea"}, "tea"),
        ({"pid": "a", "id": 7, "passage": "tea"}, "tea"),
        ({"id": "a", "document": "tea"}, "tea"),
        ({"文档ID": "a", "标题": "茶", "正文": "热"}, "茶\n\n热"),
        ({"编号": "a", "内容": "茶"}, "茶"),
        ({"文档编号": "a", "文档": "茶"}, "茶"),
    ],
)
def test_documents_are_read_under_many_names(row, text, tmp_path):
    write_rows(tmp_path / "d.jsonl", row)
    assert read_documents(tmp_path / "d.jsonl") == {"a": text}


@pytest.mark.parametrize(
    "row",
    [
        {"query_id": "q", "prompt": "tea"},
        {"topic": "q", "text": "tea"},
        {"query_id": "q", "topic": "tea"},
        {"id": "q", "topic": "tea"},
        {"number": 1, "qid": "q", "title": "tea"},
        {"Query ID": "q", "Question": "tea"},
        {"queryId": "q", "userInput": "tea"},
        {"id": "q", "question": "tea", "title": "about tea"},
        {"查询ID": "q", "查询": "tea"},
        {"编号": "q", "问题": "tea"},
    ],
)
def test_queries_are_read_under_many_names(row, tmp_path):
    write_rows(tmp_path / "q.jsonl", row)
    assert read_queries(tmp_path / "q.jsonl").texts() == {"q": "tea"}


@pytest.mark.parametrize(
    "header",
    [
        "查询,文档,相关性",
        "问题ID,文档ID,相关度",
        "task_id,corpus-id,rating",
        "Topic ID,DocNo,REL",
        "ｑｉｄ,文档编号,等级",
        "查询编号,文档号,相关性标注",
        "查询词,文档名,是否相关",
    ],
)
def test_judgments_are_read_under_many_names(header, tmp_path):
    (tmp_path / "j.csv").write_text(f"{header}\nq,a,2\n", encoding="utf-8")
    assert read_judgments(tmp_path / "j.csv").to_dict() == {"q": {"a": 2.0}}
    (tmp_path / "j").write_text(f"{header}\nq,a,2\n", encoding="utf-8")
    assert read_judgments(tmp_path / "j").to_dict() == {"q": {"a": 2.0}}


@pytest.mark.parametrize(
    "header",
    [
        "查询,文档,分数",
        "查询,文档,相似度",
        "题号,文章ID,检索得分",
        "查询ID,文档ID,得分",
        "qid,docId,Retrieval Score",
        "query-id,corpus-id,sim",
    ],
)
def test_runs_are_read_under_many_names(header, tmp_path):
    (tmp_path / "r.csv").write_text(f"{header}\nq,a,2\n", encoding="utf-8")
    assert read_run(tmp_path / "r.csv").to_dict() == {"q": {"a": 2.0}}


@pytest.mark.parametrize(
    "row",
    [
        {"问题": "When?", "回答": "1889.", "上下文": ["Built in 1889."], "参考答案": "1889"},
        {"input": "When?", "actualOutput": "1889.", "retrievalContext": ["Built in 1889."], "expectedOutput": "1889"},
        {"input": "When?", "actual_output": "1889.", "retrieval_context": ["Built in 1889."], "context": ["Ideal."], "expected_output": "1889"},
        {"用户问题": "When?", "模型回答": "1889.", "参考资料": ["Built in 1889."], "正确答案": "1889"},
        {"query": "When?", "response": "1889.", "source_nodes": [{"node": {"id_": "a", "text": "Built in 1889."}, "score": 0.8}], "reference": "1889"},
        {"query": "When?", "response": "1889.", "source_nodes": [{"node": {"id_": "a", "text_resource": {"text": "Built in 1889."}}}], "reference": "1889"},
        {"User Input": "When?", "Response": "1889.", "Retrieved Contexts": ["Built in 1889."], "Ground Truth": "1889"},
    ],
)  # fmt: skip
def test_samples_are_read_under_many_names(row, tmp_path):
    write_rows(tmp_path / "s.jsonl", row)
    for found in (read_samples(tmp_path / "s.jsonl"), as_samples([row])):
        (sample,) = found
        assert (sample.question, sample.answer, sample.references) == ("When?", "1889.", ("1889",))
        assert [context.text for context in sample.contexts] == ["Built in 1889."]


def test_records_pairs_and_gold_are_read_under_many_names(tmp_path):
    write_rows(tmp_path / "r.jsonl", {"查询": "q", "检索结果": ["a", "b"], "相关文档": ["b"]})
    assert read_records(tmp_path / "r.jsonl").judgments.to_dict() == {"q": {"b": 1.0}}
    write_rows(tmp_path / "p.jsonl", {"qid": "q", "Query Text": "tea", "corpus_id": "a", "page_content": "hot"})
    assert read_pairs(tmp_path / "p.jsonl") == [("q", "a", "tea", "hot")]
    write_rows(tmp_path / "g.jsonl", {"qid": "q", "文档": "a", "text": "hot"})
    (span,) = read_gold(tmp_path / "g.jsonl", {"a": "tea is hot"})
    assert (span.query_id, span.doc_id, span.start) == ("q", "a", 7)
    write_rows(tmp_path / "g.jsonl", {"问题ID": "q", "文档ID": "a", "起始": 7, "结束": 10, "等级": 2})
    (span,) = read_gold(tmp_path / "g.jsonl", {"a": "tea is hot"})
    assert (span.start, span.end, span.grade) == (7, 10, 2.0)


@pytest.mark.parametrize(
    ("read", "row", "field"),
    [
        (read_documents, {"docno": "a", "pid": "b", "text": "tea"}, "doc_id"),
        (read_documents, {"id": "a", "_id": "b", "text": "tea"}, "doc_id"),
        (read_documents, {"id": "a", "body": "x", "contents": "tea"}, "text"),
        (read_queries, {"qid": "a", "topic_id": "b", "text": "tea"}, "query_id"),
        (read_queries, {"qid": "a", "question": "b", "prompt": "tea"}, "text"),
        (read_judgments, {"qid": "a", "topic": "b", "doc_id": "d", "grade": 1}, "query_id"),
        (read_judgments, {"query_id": "a", "doc_id": "d", "相关性": 1, "rel": 1}, "grade"),
        (read_run, {"query_id": "a", "doc_id": "d", "sim": 1, "得分": 1}, "score"),
        (read_samples, {"回答": "a", "response": "b"}, "answer"),
    ],
)
def test_two_columns_that_could_be_the_same_are_an_error(read, row, field, tmp_path):
    write_rows(tmp_path / "x.jsonl", row)
    with pytest.raises(InputError, match=f"could each be {field}"):
        read(tmp_path / "x.jsonl")


def test_our_own_name_wins_over_others(tmp_path):
    write_rows(tmp_path / "j.jsonl", {"query_id": "q", "topic": "x", "doc_id": "a", "docno": "y", "grade": 1, "rel": 0})
    assert read_judgments(tmp_path / "j.jsonl").to_dict() == {"q": {"a": 1.0}}


def test_the_names_that_were_used_are_told(tmp_path):
    write_rows(tmp_path / "j.jsonl", {"查询": "q", "文档": "a", "相关性": 1})
    scores = assay.evaluate(tmp_path / "j.jsonl", {"q": {"a": 1.0}}, "mrr")
    assert [str(note) for note in scores.notes] == [
        "column '查询' is read as query_id", "column '文档' is read as doc_id", "column '相关性' is read as grade",
    ]  # fmt: skip


def test_within_one_heading_no_name_appears_twice():
    headings = [value for value in vars(columns).values() if isinstance(value, columns.ColumnName)]
    for heading in (*headings, *columns.SAMPLE.values()):
        names = (heading.name, *heading.others, *heading.else_first)
        assert len({columns.key_of(name) for name in names}) == len(names), heading


def test_flags_and_values_of_people_are_known_under_many_names():
    from assay.analysis.labels import find_human
    from assay.grounding.answerability import read_answerable

    (sample,) = as_samples([{"answer": "x", "Is Answerable": "no", "人工评分": 3}])
    assert read_answerable(sample) is False
    assert find_human(as_samples([{"answer": "x", "人工评分": 3}])) == "人工评分"


def test_an_id_column_goes_before_a_chinese_text_column(tmp_path):
    (tmp_path / "j.csv").write_text("问题ID,问题,文档ID,文档,相关性\nq,茶好吗,a,茶很好,2\n", encoding="utf-8")
    assert read_judgments(tmp_path / "j.csv").to_dict() == {"q": {"a": 2.0}}
    (tmp_path / "r.csv").write_text("查询ID,查询,文档ID,文档,排名\nq,茶好吗,a,茶很好,1\n", encoding="utf-8")
    assert read_run(tmp_path / "r.csv").to_dict() == {"q": {"a": -1.0}}


def test_documents_and_queries_are_read_under_chinese_names(tmp_path):
    (tmp_path / "d.csv").write_text("文档编号,题目,全文\na,茶,茶很好\n", encoding="utf-8")
    assert read_documents(tmp_path / "d.csv") == {"a": "茶\n\n茶很好"}
    (tmp_path / "d.tsv").write_text("分块编号\t片段内容\na\t茶很好\n", encoding="utf-8")
    assert read_documents(tmp_path / "d.tsv") == {"a": "茶很好"}
    (tmp_path / "q.csv").write_text("问题编号,用户提问,类别\nq,茶好吗,饮品\n", encoding="utf-8")
    found = read_queries(tmp_path / "q.csv")
    assert (found.texts(), found.attributes) == ({"q": "茶好吗"}, ["类别"])
    (tmp_path / "q2.csv").write_text("序号,查询词\nq,茶好吗\n", encoding="utf-8")
    assert read_queries(tmp_path / "q2.csv").texts() == {"q": "茶好吗"}


def test_records_of_lists_are_read_under_chinese_names(tmp_path):
    write_rows(tmp_path / "r.jsonl", {"问题": "q", "相关性列表": [2, 0, 1]})
    assert read_records(tmp_path / "r.jsonl").judgments.to_dict() == {"q": {"#1": 2.0, "#2": 0.0, "#3": 1.0}}
    write_rows(tmp_path / "r.jsonl", {"问题": "q", "等级": [2, 0], "得分": [0.1, 0.9]})
    assert read_records(tmp_path / "r.jsonl").runs[0].to_dict() == {"q": {"#1": 0.1, "#2": 0.9}}


def test_ids_of_nodes_are_ids_of_contexts():
    row = {
        "response": "x",
        "source_nodes": [{"node": {"id_": "a", "text": "t"}}, {"node_id": "b", "node": {"text": "u"}}],
    }
    (sample,) = as_samples([row])
    assert [(context.id, context.text) for context in sample.contexts] == [("a", "t"), ("b", "u")]


NESTED = {"inputs": {"question": "When?"}, "outputs": {"answers": [{"text": "1889."}]}, "id": "q"}
PATHS = {"question": "inputs.question", "answer": "outputs.answers.0.text"}


def test_a_field_is_read_from_inside_an_object(tmp_path):
    write_rows(tmp_path / "s.jsonl", NESTED)
    (tmp_path / "s.csv").write_text(
        "id,inputs,outputs\n"
        + ",".join(
            '"' + json.dumps(value).replace('"', '""') + '"' for value in ("q", NESTED["inputs"], NESTED["outputs"])
        ),
        encoding="utf-8",
    )
    for found in (
        read_samples(tmp_path / "s.jsonl", columns=PATHS),
        read_samples(tmp_path / "s.csv", columns=PATHS),
        as_samples([NESTED], columns=PATHS),
    ):
        (sample,) = found
        assert (sample.question, sample.answer) == ("When?", "1889.")
        assert found.mapping["question"] == "inputs.question"


def test_a_path_that_leads_nowhere_is_an_error_that_names_what_is_inside():
    with pytest.raises(InputError, match=r"no column 'inputs\.query' for question .*'inputs\.question'"):
        as_samples([NESTED], columns={**PATHS, "question": "inputs.query"})


def test_a_column_with_a_dot_in_its_name_goes_first():
    row = {"inputs.question": "Whole?", "inputs": {"question": "Inner?"}, "answer": "x"}
    (sample,) = as_samples([row], columns={"question": "inputs.question"})
    assert sample.question == "Whole?"


def test_a_sample_without_the_path_has_no_value():
    first, second = as_samples(
        [{"a": {"b": "When?"}, "answer": "x"}, {"a": None, "answer": "y"}], columns={"question": "a.b"}
    )
    assert (first.question, second.question) == ("When?", None)
