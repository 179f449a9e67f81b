"""Every part of a result says the same in every format and in both languages, and is shown without computing anything."""

from __future__ import annotations

import html as entities
import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import pytest

import assay
import assay.stats
from assay.analysis import compare, diagnose, evaluate, report_data, sweep
from assay.analysis.answers import answer_details
from assay.data.scores import Scores
from assay.messages import Said, tell
from assay.report.blocks import Cases, Chart, Drilldown, Facts, Fold, Heading, Lines, Section, Verdict
from assay.report.document import RENDERERS, write
from assay.report.show import blocks_of
from assay.report.tables import Table, plain
from assay.report.views.result import PAGES, pages
from assay.results.codec import read_json, write_json
from assay.results.parts import all_parts
from assay.results.result import decode_result, encode_result, make_result
from assay.stats.intervals import Interval
from assay.wordings import texts
from parts import SAMPLES_OF_PARTS

FORMATS = ("table", "markdown", "latex", "html", "notebook")
LEVELS = ("line", "table", "page")
# Words that a decision or a kind is known by: one name for each of them in one language.
NAMED = ("status.", "verdict.", "outcome.", "stage.", "method.")
NUMBER = re.compile(r"[-+~]?\d+(?:,\d{3})*(?:\.\d+)?")
DECIMAL = re.compile(r"[-+]?\d+\.\d+")
LATEX = (
    (re.compile(r"\\textdagger\{\}"), "†"), (re.compile(r"\\textdaggerdbl\{\}"), "‡"), (re.compile(r"\\textmu\{\}"), "µ"),
    (re.compile(r"\\textasciitilde\{\}"), "~"), (re.compile(r"\\(?:begin|end)\{tabular\}(?:\{\w+\})?"), ""),
    (re.compile(r"\\(?:textbf|textsuperscript|subsection\*)\{"), " "), (re.compile(r"\\([%&_#$])"), r"\1"),
)  # fmt: skip


@cache
def sample(name: str):
    return SAMPLES_OF_PARTS[name]()


def plain_text(text: str, kind: str) -> str:
    """What a reader of a format sees: markup and pictures taken out."""
    if kind in {"html", "notebook"}:
        main = re.search(r"<main[^>]*>(.*)</main>", text, re.DOTALL)
        text = main[1] if main else text
        text = re.sub(r"<(script|style|svg|noscript)\b.*?</\1>", " ", text, flags=re.DOTALL)
        return entities.unescape(re.sub(r"<[^>]*>", " ", text))
    if kind == "latex":
        for pattern, instead in LATEX:
            text = pattern.sub(instead, text)
        return text.replace("\\\\", " ").replace("&", " ")
    return text.replace("**", " ") if kind == "markdown" else text


def said_in(blocks) -> list[str]:
    """Every text of a document."""
    found: list[str] = []
    for block in blocks:
        match block:
            case Section() | Fold():
                found += [block.title, *said_in(block.blocks)]
            case Heading() | Verdict():
                found.append(block.text)
            case Lines():
                found += block.lines
            case Facts():
                found += [text for item in block.items for text in item]
            case Chart():
                found += [block.title, *said_in([block.table])]
            case Cases():
                found += [text for one in block.cases for text in (one.suite, one.name, one.outcome, one.message)]
            case Table():
                cells = [plain(cell) for row in block.rows for cell in row]
                found += [block.caption, *block.headers, *(cell.text for cell in cells), *(cell.mark for cell in cells)]
            case Drilldown():
                raise AssertionError("the view of queries is data for a script")
    return found


def facts(text: str, blocks, lang: str) -> dict[str, Counter]:
    """Numbers, marks, and names of decisions in a text, with how often each stands there."""
    names = {tell(one, lang) for one in said_in(blocks) if isinstance(one, Said) and one.key.startswith(NAMED)}
    return {
        "numbers": Counter(NUMBER.findall(text)),
        "marks": Counter(char for char in text if char in "†‡*~µ"),
        "names": Counter({name: text.count(name) for name in names}),
    }


def test_there_is_a_sample_of_every_part():
    assert set(SAMPLES_OF_PARTS) == set(all_parts())


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(all_parts()))
def test_every_heading_of_a_report_has_a_wording(name, lang):
    text = assay.write_report(make_result(sample(name)), kind="html", lang=lang)
    assert re.findall(r"<(?:h1|h2|h3|title)[^>]*>[a-z_]+\.[a-z_]+<", text) == []
    assert re.search(r'<footer class="foot"><p>.*\d{4}-\d\d-\d\d', text)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", sorted(all_parts()))
def test_every_format_has_the_same_numbers_marks_and_statuses(name, level, lang):
    blocks = blocks_of(sample(name), level)
    told = {kind: facts(plain_text(write(blocks, kind, lang), kind), blocks, lang) for kind in FORMATS}
    for kind in FORMATS[1:]:
        for what in ("numbers", "marks", "names"):
            assert told[kind][what] == told["table"][what], (kind, what)


@pytest.mark.parametrize("name", sorted(all_parts()))
def test_both_languages_tell_the_same_numbers_and_marks_in_tables(name):
    def cells(lang: str) -> list[tuple]:
        tables = [block for block in blocks_of(sample(name)) if isinstance(block, Table)]
        rows = [row for table in tables for row in table.translate(lang).rows]
        return [(NUMBER.findall(plain(cell).text), plain(cell).mark, plain(cell).tone) for row in rows for cell in row]

    assert cells("en") == cells("zh")


@pytest.mark.parametrize("name", sorted(all_parts()))
def test_a_mark_is_explained_wherever_it_stands(name):
    for level in ("table", "page"):
        text = write(blocks_of(sample(name), level), "table")
        marks = {mark for mark in "†‡" if mark in text}
        assert all(f"{mark} {word} than" in text or f"{mark} {word} and" in text or f"and {mark} {word}" in text
                   for mark, word in (("†", "better"), ("‡", "worse")) if mark in marks)  # fmt: skip
        assert "(*)" in text or not re.search(r"\s\*$", text, re.MULTILINE)
        assert "‡ worse" in text or "†" not in text


@pytest.mark.parametrize("name", sorted(all_parts()))
def test_a_line_is_one_paragraph_of_the_record(name):
    (block,) = blocks_of(sample(name), "line")
    assert isinstance(block, Verdict)
    assert isinstance(block.text, Said)
    assert "\n" not in block.text


def test_junit_is_a_format_of_outcomes_and_of_nothing_else():
    text = write(blocks_of(sample("gates")), "junit", "zh")
    assert text.count("<testcase") == len(sample("gates").checks)
    assert not re.search(r"[\u4e00-\u9fff]", text), "what is for machines does not depend on a language"
    with pytest.raises(assay.UsageError, match="outcomes of rules"):
        write(blocks_of(sample("cost")), "junit")


def test_every_renderer_is_a_module_of_its_own_and_in_the_table():
    import assay.report.renderers as folder

    modules = {one.name for one in iter_modules(folder.__path__)} - {"answer_panes", "drilldown", "plain", "tips"}
    assert modules == {one.module for one in RENDERERS}
    assert all(callable(import_module(f"assay.report.renderers.{name}").write) for name in modules)


# Stored results -------------------------------------------------------------------------------------------------------


def stored(name: str):
    """A result with one part, written and read again."""
    return decode_result(read_json(write_json(encode_result(make_result(sample(name))))))


def refuse(*_args, **_options):
    raise AssertionError("computed again")


@pytest.fixture
def nothing_computes(monkeypatch):
    """Every function of the statistics and of the analyses that make records raises, wherever it is used."""
    for name in all_parts():
        sample(name)  # made before, also the modules that do
    for module in (compare, sweep, diagnose, evaluate):
        for label, one in list(vars(module).items()):
            if callable(one) and not isinstance(one, type) and getattr(one, "__module__", "").startswith("assay."):
                monkeypatch.setattr(module, label, refuse)
    for info in iter_modules(assay.stats.__path__):
        module = import_module(f"assay.stats.{info.name}")
        for label, one in list(vars(module).items()):
            if callable(one) and not isinstance(one, type) and getattr(one, "__module__", "") == module.__name__:
                monkeypatch.setattr(module, label, refuse)
    for label in ("compare", "sweep", "diagnose", "diagnose_scores", "answer_means", "latency_goal", "price_goal"):
        monkeypatch.setattr(report_data, label, refuse)


@pytest.mark.parametrize("name", sorted(all_parts()))
def test_a_stored_part_is_shown_without_computing_anything(name, nothing_computes):
    result = stored(name)
    shown = {level: write(blocks_of(result, level), "table") for level in LEVELS}
    fresh = write(blocks_of(sample(name)), "table")
    assert shown["table"] == fresh
    assert set(DECIMAL.findall(shown["line"])) <= set(DECIMAL.findall(shown["page"]))


@pytest.mark.parametrize("name", sorted(set(all_parts()) - {"diagnoses", "gates", "sweep"}))
def test_the_report_of_a_stored_part_computes_only_what_the_file_lacks(name, monkeypatch):
    result = stored(name)
    own = {"comparison": "compare", "reranker": "compare", "answers": "answer_means", "bench": "latency_goal"}
    for label in {own.get(name, "sweep"), "sweep"}:
        monkeypatch.setattr(report_data, label, refuse)
    shown = pages(report_data.report_data([result]))
    keys = [page.key for page in shown]
    assert keys[0] == "summary" and keys[-2:] == ["input", "origin"]
    text = write(shown, "table")
    assert set(DECIMAL.findall(write(blocks_of(result, "line"), "table"))) <= set(DECIMAL.findall(text))


def test_reports_of_stored_sweeps_and_diagnoses_take_them_as_they_are(monkeypatch):
    for name, own in (("sweep", ("sweep",)), ("diagnoses", ("diagnose", "diagnose_scores"))):
        with monkeypatch.context() as patch:
            for label in own:
                patch.setattr(report_data, label, refuse)
            if name == "sweep":
                patch.setattr(report_data, "_diagnoses", lambda *_: ())
            assert pages(report_data.report_data([stored(name)]))


# Names ----------------------------------------------------------------------------------------------------------------

# Rooms of what tables and pages show.
SHOWN = ("analysis", "answers", "experiment", "gate", "general", "report", "serving", "validation")
# Texts that are the same in one language and not in the other, with the reason.
ONE_ENGLISH = {
    "samples": "a column that counts them is 样本数, the things are 样本",
    "queries": "a column that counts them is 查询数, the things are 查询",
    "systems": "the number of them is 系统数, the page is 系统",
    "failed": "a rule of a gate 未通过, a combination or a query 失败",
    "unknown": "a price that no list has is 未知, a stage that cannot be told 无法判断",
}
ONE_CHINESE = {
    "检索": "a stage of an experiment, and a column of what it found",
    "回答": "a stage of an experiment, and what it makes",
    "没有相关文档": "the stage at which a query fails, and what check finds",
}


def singular(text: str) -> str:
    """Chinese has no plural: what differs in it alone is the same."""
    return re.sub(r"ies\b", "y", text.lower()).removesuffix("s")


def groups(first: str, second: str, key) -> dict[str, set[str]]:
    """Texts of a language with more than one in the other; help and errors say what they need in their sentences."""
    found: dict[str, set[str]] = {}
    shown = {name for room in SHOWN for name in import_module(f"assay.wordings.en.{room}").TEXTS}
    for name, text in texts(first).items():
        if name not in shown:
            continue
        found.setdefault(text.lower(), set()).add(key(texts(second).get(name, name)))
    return {text: others for text, others in found.items() if len(others) > 1}


def test_each_english_text_has_one_chinese_text():
    assert set(groups("en", "zh", str)) == set(ONE_ENGLISH)


def test_each_chinese_text_has_one_english_text():
    assert set(groups("zh", "en", singular)) == set(ONE_CHINESE)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("prefix", NAMED)
def test_names_of_one_kind_differ(prefix, lang):
    names = [text for key, text in texts(lang).items() if key.startswith(prefix)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["answers", "calibration", "diagnoses", "experiment", "validation"])
def test_headers_of_intervals_name_the_level_of_the_record(name):
    blocks = blocks_of(at_level(sample(name), 0.9), "page")
    headers = [text for text in said_in(blocks) if isinstance(text, Said) and text.key == "column.interval"]
    assert headers
    assert {str(text) for text in headers} == {"90% interval"}


def at_level(value, level: float):
    """The same record with all its intervals at another level."""
    if isinstance(value, Interval):
        return replace(value, confidence_level=level)
    if isinstance(value, tuple):
        return tuple(at_level(one, level) for one in value)
    if isinstance(value, dict):
        return {key: at_level(one, level) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, Scores):
        return replace(value, **{field.name: at_level(getattr(value, field.name), level) for field in fields(value)})
    return value


# Texts that the command line alone says, which may name an option by itself.
SAID_BY_COMMANDS = ("cli.", "usage.", "help.", "option.", "error.", "demo.", "app.", "spark.")


def test_pages_name_no_option_without_its_command():
    option = re.compile(r"(?<![\w-])--[a-z]")
    shown = {key: text for key, text in texts("en").items() if not key.startswith(SAID_BY_COMMANDS)}
    shown |= {key: text for key, text in texts("zh").items() if key in shown}
    bare = [key for key, text in shown.items() if option.search(text) and not re.search(r"assay [a-z]+.*?--", text)]
    assert bare == []


def test_a_page_of_answers_names_systems_method_and_the_way_to_compare_them():
    samples = [{"id": f"{name}-{i}", "system": name, "question": "When?", "answer": answer, "contexts": ["In 1889."]}
               for i in range(3) for name, answer in (("worse", "In 1789."), ("best", "In 1889."))]  # fmt: skip
    found = list(assay.answer_systems(samples, ["faithfulness"], method="words").values())
    text = assay.write_report(answer_details(found), kind="markdown")
    head = text.partition("## Systems")[0]
    assert "Highest faithfulness [words] of 2: best (1.0000)" in head
    assert "(method: words): best 3 of 3, worse 0 of 3." in head
    assert "assay answers ... --map query_id=COLUMN" in head
    assert "answers judged: 6" in head
    assert "judged queries" not in head
    assert "protocol answers sets no targets" not in head.lower()


def test_the_title_of_a_result_without_systems_says_what_it_is_and_of_what():
    title = re.compile("<title>(.*?)</title>")
    assert title.search(assay.write_report(sample("bench")))[1] == "Latency: http://localhost/rerank"
    assert title.search(assay.write_report(sample("calibration"), lang="zh"))[1] == "评审模型与人工标注：m"
    assert title.search(assay.write_report(sample("cost")))[1] == "Cost and return"
    assert title.search(assay.write_report(sample("gates")))[1] == "bm25: evaluation report"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_part_has_the_name_of_its_page(language):
    grouped = {"comparison", "diagnoses", "sweep"}  # shown on the page of the systems
    lacking = [name for name in all_parts() if f"page.{PAGES.get(name, name)}" not in texts(language)]
    assert set(lacking) <= grouped
