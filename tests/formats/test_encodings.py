"""Files that are not UTF-8: UTF-16 with its mark, GBK and others by name."""

from __future__ import annotations

import codecs
import gzip
import io
import sys

import pytest

import assay
from assay.errors import InputError, UsageError
from assay.formats.documents import read_documents, read_pairs
from assay.formats.encodings import codec_of, fallback_encoding
from assay.formats.files import Input, _standard_input
from assay.formats.queries import read_queries
from assay.messages import tell
from commands import run_assay

QRELS = "问题1 0 文档1 2\n问题2 0 文档2 1\n"
RUN = "问题1 Q0 文档1 1 2.5 甲\n问题2 Q0 文档3 1 1.5 甲\n"
CHINESE = ["gb18030", "gbk", "GB2312", "cp936", "big5"]
KINDS = {
    "judgments.qrels": ("問題1 0 文件1 2\n", lambda place, **more: assay.read_judgments(place, **more).to_dict()),
    "judgments.csv": (
        "query_id,doc_id,grade\n問題1,文件1,2\n",
        lambda place, **more: assay.read_judgments(place, **more).to_dict(),
    ),
    "judgments.json": ('{"問題1": {"文件1": 2}}', lambda place, **more: assay.read_judgments(place, **more).to_dict()),
    "a.run": ("問題1 Q0 文件1 1 2.5 t\n", lambda place, **more: assay.read_run(place, **more).to_dict()),
    "run.tsv": (
        "query_id\tdoc_id\tscore\n問題1\t文件1\t2.5\n",
        lambda place, **more: assay.read_run(place, **more).to_dict(),
    ),
    "run.jsonl": (
        '{"query_id": "問題1", "doc_id": "文件1", "score": 2.5}\n',
        lambda place, **more: assay.read_run(place, **more).to_dict(),
    ),
    "samples.jsonl": (
        '{"question": "問題", "answer": "回答", "contexts": ["內容"]}\n',
        lambda place, **more: [(one.question, one.answer) for one in assay.read_samples(place, **more)],
    ),
    "samples.csv": (
        "question,answer\n問題,回答\n",
        lambda place, **more: [(one.question, one.answer) for one in assay.read_samples(place, **more)],
    ),
    "documents.tsv": ("doc_id\ttext\n文件1\t內容\n", read_documents),
    "queries.csv": ("query_id,text\n問題1,天氣\n", lambda place, **more: read_queries(place, **more).texts()),
    "pairs.csv": ("query,document\n天氣,內容\n", read_pairs),
    "records.jsonl": (
        '{"query": "問題", "retrieved": ["文件1"], "relevant": ["文件1"]}\n',
        lambda place, **more: assay.read_records(place, **more).runs[0].to_dict(),
    ),
}


def written(folder, name, text, encoding):
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(text.encode(encoding))
    return place


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "utf-16", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_is_read_in_a_named_encoding(name, encoding, tmp_path):
    text, read = KINDS[name]
    plain = written(tmp_path / "plain", name, text, "utf-8")
    other = written(tmp_path / "other", name, text, encoding)
    assert read(other, encoding=encoding) == read(plain)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("name", KINDS)
def test_a_byte_order_mark_of_utf_16_is_enough(name, mark, tmp_path):
    text, read = KINDS[name]
    plain = written(tmp_path / "plain", name, text, "utf-8")
    other = tmp_path / "other" / name
    other.parent.mkdir()
    other.write_bytes(mark + text.encode("utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"))
    assert read(other) == read(plain)


@pytest.mark.parametrize("name", ["gb18030", "gbk", "GB2312", "cp936"])
def test_names_of_the_chinese_encodings_mean_the_largest(name):
    assert codec_of(name) == "gb18030"
    assert "镕".encode("gb18030").decode(codec_of(name)) == "镕"  # GB2312 has it not


@pytest.mark.parametrize("name", ["klingon", "", "base64", "gb\0"])
def test_an_unknown_encoding_is_refused(name):
    with pytest.raises(UsageError, match="gb18030"):
        codec_of(name)


@pytest.mark.parametrize("name", ["judgments.qrels", "judgments.csv", "judgments.json", "samples.jsonl"])
def test_the_error_of_a_gbk_file_names_the_cure(name, tmp_path):
    text, read = KINDS[name]
    place = written(tmp_path, name, text, "gb18030")
    with pytest.raises(InputError) as caught:
        read(place)
    assert "GBK" in str(caught.value)
    assert "--encoding gb18030" in str(caught.value)
    told = tell(caught.value.message, "zh")
    assert "看起来是 GBK 编码：请加 --encoding gb18030" in told


def test_other_bytes_are_not_called_gbk(tmp_path):
    place = written(tmp_path, "a.qrels", "café 0 naïve 1\nélan 0 x 1\n", "latin-1")
    with pytest.raises(InputError, match="--encoding NAME") as caught:
        assay.read_judgments(place)
    assert "GBK" not in str(caught.value)


def test_utf_16_without_a_mark_is_recognised(tmp_path):
    place = written(tmp_path, "a.qrels", "q1 0 d1 1\n", "utf-16-le")
    with pytest.raises(InputError, match="--encoding utf-16-le"):
        assay.read_judgments(place)
    assert assay.read_judgments(place, encoding="utf-16-le").to_dict() == {"q1": {"d1": 1.0}}


def test_a_file_that_is_not_in_the_named_encoding_is_refused_with_its_line(tmp_path):
    place = tmp_path / "a.qrels"
    place.write_bytes("问题1 0 甲 1\n".encode("gb18030") + b"q2 0 \xff 1\n")
    with pytest.raises(InputError, match=r"a\.qrels:2: the bytes from 0xff on are not gb18030 text"):
        assay.read_judgments(place, encoding="gbk")


def test_packed_files_are_unpacked_first(tmp_path):
    place = tmp_path / "a.qrels.gz"
    place.write_bytes(gzip.compress(QRELS.encode("gb18030")))
    assert assay.read_judgments(place, encoding="gb18030").to_dict()["问题1"] == {"文档1": 2.0}


def test_the_line_of_a_repeated_document_is_found_in_any_encoding(tmp_path):
    place = written(tmp_path, "a.qrels", QRELS + QRELS, "gb18030")
    with pytest.raises(InputError, match="lines 1 and 3"):
        assay.read_judgments(place, encoding="gb18030")


def test_a_parquet_file_has_no_encoding(tmp_path):
    import polars as pl

    place = tmp_path / "a.parquet"
    pl.DataFrame({"query_id": ["问题"], "doc_id": ["a"], "grade": [1]}).write_parquet(place)
    assert assay.read_judgments(place, encoding="gb18030").to_dict() == {"问题": {"a": 1.0}}


def test_the_fallback_leaves_files_alone_that_are_utf_8(tmp_path):
    old = written(tmp_path, "old.qrels", QRELS, "gb18030")
    new = written(tmp_path, "new.run", RUN, "utf-8")
    with fallback_encoding("gbk"):
        judgments, run = assay.read_judgments(old), assay.read_run(new)
    assert assay.evaluate(judgments, run, "hit_rate@1")["hit_rate@1"] == 0.5
    with pytest.raises(InputError):
        assay.read_judgments(old)


def test_utf_8_files_are_read_from_the_disk_as_before(tmp_path):
    place = written(tmp_path, "a.run", RUN, "utf-8")
    source = Input.at(place)
    assert not source.is_packed
    assert source.part(0, 3) == "问".encode()
    assert "data" not in vars(source)


def test_standard_input_may_be_in_another_encoding(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QRELS.encode("gb18030"))))
    _standard_input.cache_clear()
    try:
        assert assay.read_judgments("-", encoding="gb18030").to_dict()["问题2"] == {"文档2": 1.0}
    finally:
        _standard_input.cache_clear()


def test_commands_take_the_encoding(tmp_path):
    def run(*words):
        return run_assay(*words, cwd=tmp_path, ASSAY_LANG="en")

    written(tmp_path, "a.qrels", QRELS, "gb18030")
    written(tmp_path, "a.run", RUN, "utf-16")
    written(tmp_path, "samples.csv", "问题,回答,上下文\n天气如何,晴。,今天晴。\n", "gb18030")
    assert run("evaluate", "a.qrels", "a.run", "-m", "召回率@1", "--encoding", "gbk").returncode == 0
    assert run("check", "a.qrels", "a.run", "--encoding", "gbk").returncode in {0, 1}
    assert run("convert", "judgments", "a.qrels", "b.csv", "--encoding", "gbk").returncode == 0
    assert "问题1" in (tmp_path / "b.csv").read_text(encoding="utf-8")
    shown = run("answers", "samples.csv", "-m", "忠实度", "--method", "words", "--encoding", "gbk")
    assert shown.returncode == 0
    assert "1.0000" in shown.stdout
    wrong = run("evaluate", "a.qrels", "a.run", "-m", "map")
    assert wrong.returncode == 2
    assert "--encoding gb18030" in wrong.stderr
