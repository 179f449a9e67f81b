"""Whole pages in one language: a Chinese page has no English sentence, an English one no Chinese character."""

from __future__ import annotations

import html as entities
import json
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest

import assay
import assay.stats
from assay.messages import Said, say, tell
from assay.report.document import write
from assay.report.intervals import REASONS
from assay.report.show import blocks_of
from assay.results.codec import read_json, write_json
from assay.results.parts import all_parts
from assay.results.recognition import recognise
from assay.results.result import decode_result, encode_result, make_result
from assay.wordings import texts
from parts import SAMPLES_OF_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE = Path(__file__).parent / "archive" / "schema-1"
OLD = sorted(path.stem for path in ARCHIVE.glob("*.json"))
KINDS = ("table", "markdown", "html")
# Fields of a result file with what users, models and papers wrote, and with definitions: the same in every language.
OWN = {"question", "answer", "contexts", "references", "evidence", "command", "definitions", "source", "worst", "description"}  # fmt: skip
FROM_ELSEWHERE = {"no such model"}  # what a server said
# Options, names, files, definitions, and whatever has a capital letter, a digit or a sign in it.
NOT_LANGUAGE = re.compile(r"-{1,2}[a-zA-Z][\w-]*( [A-Z][A-Z_]+)*|assay( [\w.:@=-]+)*|\S*[^\sa-z',;]\S*")
SENTENCE = re.compile(r"\b[a-z]+(?: [a-z']+){2,}\b")
HAN = re.compile(r"[\u3001-\u9fff\uff01-\uff5e]+")


def english_in(text: str, own: str = "") -> list[str]:
    """Runs of three words or more that are not users' texts, code, names or definitions."""
    lines = re.sub(HAN, "\n", text).splitlines()
    found = [one[0] for line in lines for one in SENTENCE.finditer(NOT_LANGUAGE.sub("#", line))]
    return [one for one in found if one not in own]


def chinese_in(text: str, own: str = "") -> list[str]:
    """Runs of Chinese characters and signs that are not users' texts."""
    return [one for one in HAN.findall(text) if one not in own]


def read_by_people(text: str, kind: str) -> str:
    """What a reader sees, in the page itself or by its script."""
    if kind != "html":
        return text
    text = re.sub(r"<style\b.*?</style>|<script(?![^>]*json)[^>]*>.*?</script>", "\n", text, flags=re.DOTALL)
    return entities.unescape(re.sub(r"<[^>]*>", "\n", text)).replace('"', "\n")


def texts_in(plain: object, *, inside: bool = False) -> Iterator[str]:
    """Texts of users in a result file."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from texts_in(value, inside=inside or key in OWN)
    elif isinstance(plain, list):
        for value in plain:
            yield from texts_in(value, inside=inside)
    elif isinstance(plain, str) and inside:
        yield plain


def stored(name: str) -> str:
    """A result file: one that an earlier version wrote, or one with a part of this name that is written now."""
    old = ARCHIVE / f"{name.removeprefix('old ')}.json"
    if name.startswith("old "):
        return old.read_text(encoding="utf-8")
    return write_json(encode_result(make_result(SAMPLES_OF_PARTS[name]())))


@pytest.mark.parametrize("name", [*sorted(all_parts()), *(f"old {name}" for name in OLD)])
def test_a_page_is_in_one_language(name):
    text = stored(name)
    own = " ".join(" ".join([*texts_in(json.loads(text)), *FROM_ELSEWHERE]).split())
    result = decode_result(read_json(text))
    for lang, foreign in (("zh", english_in), ("en", chinese_in)):
        shown = {kind: assay.write_report(result, kind=kind, lang=lang) for kind in KINDS}
        shown |= {level: write(blocks_of(result, level), "table", lang) for level in ("line", "table", "page")}
        assert {kind: found for kind, one in shown.items() if (found := foreign(read_by_people(one, kind), own))} == {}


def test_a_sentence_in_the_other_language_is_found():
    assert english_in("bm25：3 queries have no judgments") == ["queries have no judgments"]
    assert english_in("见 assay env cache verify；--format markdown；ndcg(gain='exp')@10、full text", "full text") == []
    assert chinese_in("mean 均值，ok") == ["均值，"]


# Texts without keys ---------------------------------------------------------------------------------------------------


def reasons() -> set[str]:
    """Every reason that statistics give for a number they lack: sentences in capital names."""
    modules = [import_module(f"assay.stats.{info.name}") for info in iter_modules(assay.stats.__path__)]
    named = [(name, text) for module in modules for name, text in vars(module).items() if name.isupper()]
    return {text for _, text in named if isinstance(text, str) and " " in text}


def test_every_reason_of_the_statistics_can_be_told():
    assert reasons() == set(REASONS)
    assert all(HAN.fullmatch(re.sub(r"[\d %]", "", tell(say(key), "zh"))) for key in REASONS.values())


@pytest.mark.parametrize(
    ("text", "key", "chinese"),
    [
        ("the answer refuses", "reason.refuses", "回答为拒答"),
        ("not applicable: there are no contexts", "blank.fault", "不适用：没有上下文"),
        ("bm25: 34% of the documents behind ndcg@10 are unjudged and count as not relevant", "doubt.of_one", "bm25：ndcg@10"),
        ("a: ndcg@10 of 1 query hangs on tied scores, broken by document id", "doubt.of_one", "按文档 ID 排序"),
        ("f: over 2 of 8 samples (2 refused, 4 not applicable)", "answers.fewer", "2 个拒答、4 个不适用"),
        ("number: 1950; name: Peru", "answers.also", "数字：1950；名称：Peru"),
    ],
)  # fmt: skip
def test_a_finished_text_is_recognised_as_the_message_it_was(text, key, chinese):
    found = recognise(text)
    assert isinstance(found, Said)
    assert found.key == key
    assert chinese in tell(found, "zh")


@pytest.mark.parametrize("text", ["", "because the tower is old", "Steep it: three minutes", "a; b", "ndcg@10"])
def test_a_text_that_no_message_says_stays(text):
    assert type(recognise(text)) is str


def test_reasons_for_which_rows_were_left_out_are_told_in_any_language():
    rows = [
        {"answer": answer, "contexts": [f"It was built in {year}."], "human": answer.endswith(f"{year}.")}
        for year in range(1880, 1900)
        for answer in (f"It was built in {year}.", "Bananas are yellow.", "I do not know.")
    ]
    result = make_result(assay.validate(rows, ["words"], n_resamples=20))
    again = decode_result(read_json(write_json(encode_result(result))))
    for one in (result, again):
        assert "剔除 20 行：拒答：回答为拒答" in assay.show(one, lang="zh")


def test_what_the_cache_logs_is_told_in_the_language_of_the_user(capsys, monkeypatch):
    import logging

    from assay.cli.logs import tell_logs

    monkeypatch.setenv("ASSAY_LANG", "zh")
    tell_logs()
    tell_logs()
    logging.getLogger("assay.llm").warning(say("this is not a result file"))
    assert capsys.readouterr().err == "这不是结果文件\n"


# Words and signs ------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted((ROOT / "src/assay/wordings/zh").rglob("*.md")),
    ROOT / "src/assay/wordings/zh/formats_page.txt",
    ROOT / "README.zh-CN.md",
]
PROTOCOL = re.compile(r'(?:title_zh|advice_zh) = "([^"]*)"|description_zh = """(.*?)"""', re.DOTALL)
CODE = re.compile(
    r"```.*?```|(?:max|min)\([^)]*\)|`[^`]*`|^ {4}.*$|^- \w+：|\]\([^)]*\)|\{[^}]*\}", re.DOTALL | re.MULTILINE
)


def glossary() -> list[tuple[list[str], list[str]]]:
    """Rows of the glossary: the words that are used, and those that are not."""
    text = (ROOT / "docs/glossary.zh.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    return [(words(used), words(refused)) for used, _, refused in rows]


def words(cell: str) -> list[str]:
    return [one for one in re.split(r"[、，]|简称|（[^）]*）", cell.strip()) if one]


def chinese_texts() -> dict[str, str]:
    """Every Chinese text: messages by their keys, pages and protocols by their files, without code."""
    found = {**texts("zh")}
    found |= {path.name: CODE.sub("X", path.read_text(encoding="utf-8")) for path in PAGES}
    for path in sorted((ROOT / "src/assay/analysis/protocols").glob("*.toml")):
        parts = PROTOCOL.findall(path.read_text(encoding="utf-8"))
        found[path.name] = "\n".join(one or other for one, other in parts)
    return found


def test_one_idea_has_one_chinese_word():
    used = sorted({one for ours, _ in glossary() for one in ours}, key=len, reverse=True)
    ours = re.compile("|".join(map(re.escape, used)))
    refused = re.compile("|".join(re.escape(one) for _, others in glossary() for one in others))
    texts = {key: text for key, text in chinese_texts().items() if key != "rag.toml"}  # it quotes its source's advice
    found = {key: refused.findall(ours.sub("#", text)) for key, text in texts.items()}
    assert {key: others for key, others in found.items() if others} == {}


def test_the_glossary_names_no_word_twice():
    used = [one for ours, _ in glossary() for one in ours]
    refused = [one for _, others in glossary() for one in others]
    assert len(set(used)) == len(used)
    assert set(used) & set(refused) == set()


@pytest.mark.parametrize("name", [path.name for path in PAGES] + ["rag.toml", "rerank.toml", "answers.toml"])
def test_pages_are_set_as_chinese_is(name):
    """A blank between Chinese and Latin or digits, none beside full-width signs or before a percent sign."""
    text = chinese_texts()[name]
    assert re.findall(r".{6}[\u4e00-\u9fff][A-Za-z0-9].{4}|.{6}[A-Za-z0-9][\u4e00-\u9fff].{4}", text) == []
    assert (
        re.findall(
            r".{6}[\u4e00-\u9fff] +[\u4e00-\u9fff].{4}|.{4} [，。；：、（）].{4}|.{4}[，。；：、（] +\S.{4}", text
        )
        == []
    )
    assert re.findall(r".{6}[\u4e00-\u9fff][,;:?!](?![\w/]).{2}|\d %", text) == []


def test_messages_have_no_blank_before_a_percent_sign():
    assert [key for key, text in texts("zh").items() if re.search(r"[\d}] %", text)] == []
