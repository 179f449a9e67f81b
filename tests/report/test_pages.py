"""Pages of measures and protocols in both languages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from assay.analysis.protocols import builtin_names, load_protocol, read_protocol
from assay.measures import REGISTRY, chinese, measure
from assay.report.pages import SECTIONS, listing, page, protocol_listing, protocol_page, sections, summary
from assay.report.tables import width
from assay.report.wrapping import wrap

OWN = [name for name, spec in REGISTRY.items() if spec.function.__module__.startswith("assay.")]
NUMBER = re.compile(r"(?<![\w.])\d*\.?\d+(?![\w]|\.\d)")
# What is written as code: names with an underscore or a cutoff, choices in quotes, parameters with values.
CODE = re.compile(r"\w+_\w+|'\w+'|\b[A-Za-z]+@\w+|\w+=(?:'\w+'|[\w.]*\w)", re.ASCII)
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b")
PROSE = {"Odd cases", "Reading", "Use when", "Not when"}
HAN = re.compile(r"[\u3400-\u9fff]")


def numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in NUMBER.findall(re.sub(r"(?<=\d),(?=\d{3})", "", text))}


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_page_has_the_sections_of_the_english_one(name):
    english, translated = sections(REGISTRY[name]), sections(REGISTRY[name], "zh")
    assert list(english) == list(translated)
    assert all(HAN.search(text) for head, text in translated.items() if head in PROSE)
    assert HAN.search(summary(REGISTRY[name], "zh"))


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_page_has_the_numbers_of_the_english_one(name):
    english, translated = sections(REGISTRY[name]), sections(REGISTRY[name], "zh")
    for head, text in english.items():
        assert numbers(translated[head]) == numbers(text), head


def code(text: str) -> set[str]:
    return {re.sub(r"=\.(?=\d)", "=0.", found) for found in CODE.findall(text)}


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_page_has_the_code_names_of_the_english_one(name):
    english, translated = sections(REGISTRY[name]), sections(REGISTRY[name], "zh")
    for head, text in english.items():
        assert code(translated[head]) == code(text), head


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_page_describes_every_parameter(name):
    english, translated = (sections(REGISTRY[name], lang).get("Parameters", "") for lang in ("en", "zh"))
    described = re.findall(r"^- (\w+)：", translated, re.MULTILINE)
    assert described == re.findall(r"^ *(\w+): ", english, re.MULTILINE)
    shown = page(name, lang="zh")
    assert all(f"\n  {parameter}：" in shown for parameter in REGISTRY[name].parameters)


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_page_holds_no_english_sentence(name):
    quotation = re.compile(r'"[^"]*"|trec_eval -\S.*?；')
    shown = page(name, lang="zh")
    told = shown.replace(shown[shown.find("\n参考文献\n") : shown.find("\n一致的实现\n")], "")
    assert not ENGLISH.search(quotation.sub("", told))
    formula = re.compile(r"(?:min|max)\([^)]*\)")
    assert not re.search(r"[\u3400-\u9fff][,;:?!]", formula.sub("", told))


@pytest.mark.parametrize("name", OWN)
def test_references_are_the_same_in_both_languages(name):
    english, translated = (sections(REGISTRY[name], lang).get("Reference", "") for lang in ("en", "zh"))
    assert " ".join(english.split()) == translated


@pytest.mark.parametrize("name", OWN)
def test_an_english_page_shows_no_chinese_name(name):
    assert not HAN.search(page(name).rpartition("Also known as")[2].partition("\n")[2]) or name == "abstention"


def test_no_chinese_page_is_left_over():
    from assay.wordings.reference import measure_pages

    for subject in ("rankings", "answers", "spans", "events"):
        own = {name for name in OWN if REGISTRY[name].of == subject}
        assert set(measure_pages("zh", subject)) == own


def test_the_chinese_list_has_names_and_a_line_each():
    lines = listing("table", "zh").splitlines()
    assert lines[0].split() == ["指标", "指标名", "说明"]
    (row,) = [line for line in lines if line.startswith("recall@k ")]
    assert row.split() == ["recall@k", "召回率", "全部相关文档中出现在前", "k", "个结果里的比例。"]
    assert sum(line.rstrip().endswith("。") for line in lines) == len(OWN)
    assert not HAN.search(listing("table"))


def test_the_pages_in_markdown_have_titles():
    assert "\n**特殊情况**\n" in page("ndcg", "markdown", "zh")
    assert page("召回率", "markdown", "zh").startswith("## recall@k 召回率\n")
    assert page("ndcg", lang="zh").startswith(f"ndcg[@k] {chinese.NAMES['ndcg']}\n")


def test_a_measure_of_a_user_keeps_its_english_page():
    @measure
    def of_a_user(ranking, k):
        """What a user wrote.

        Definition: one thing.
        """

    try:
        shown = page("of_a_user", lang="zh")
        assert "What a user wrote." in shown
        assert "\n定义\n  one thing." in shown
    finally:
        del REGISTRY["of_a_user"]


def test_chinese_pages_are_read_only_when_asked_for():
    code = (
        "import assay, assay.report.pages as p, assay.wordings.reference as r; p.page('ndcg'); p.listing('table');"
        "before = r.measure_pages.cache_info().currsize; p.page('ndcg', lang='zh');"
        "print(before, r.measure_pages.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "1"]


@pytest.mark.parametrize("name", builtin_names())
def test_a_protocol_says_the_same_in_chinese(name):
    protocol = load_protocol(name)
    assert HAN.search(protocol.title_zh)
    assert HAN.search(protocol.description_zh)
    assert numbers(protocol.description_zh) == numbers(protocol.description)
    assert code(protocol.description_zh) == code(protocol.description)
    assert all(HAN.search(target.advice_zh) for target in protocol.targets)
    shown = protocol_page(protocol, "zh")
    assert not ENGLISH.search(shown)
    assert shown.startswith(f"{name}：{protocol.title_zh}\n")
    assert all(target.advice_zh in shown for target in protocol.targets)
    assert not HAN.search(protocol_page(protocol))


def test_the_list_of_protocols_is_chinese():
    shown = protocol_listing(map(load_protocol, builtin_names()), "zh")
    assert len(shown.splitlines()) == 12
    assert not ENGLISH.search(shown)


def test_a_protocol_without_chinese_texts_keeps_its_own():
    text = 'name = "mine"\ntitle = "My own rules"\ndescription = "As we do it"\n[measures]\nmap = "map"\n'
    shown = protocol_page(read_protocol(text, "mine.toml"), "zh")
    assert "mine：My own rules\n\nAs we do it\n\n规则\n" in shown


def test_lines_are_broken_between_chinese_characters_and_not_before_a_mark():
    text = "召回率很高，精确率（precision）也不低。" * 6
    lines = wrap(text, 40, "  ")
    assert all(width(line) <= 40 for line in lines)
    assert min(map(width, lines[:-1])) > 25
    assert not any(line.strip()[0] in "，。）" for line in lines)
    assert "".join(line.strip() for line in lines) == text


def test_latin_lines_are_broken_at_blanks():
    assert wrap("one two\n three four", 9) == ["one two", "three", "four"]
    assert wrap("one two three", 9, "- ", "  ") == ["- one two", "  three"]


def test_the_order_of_parts_is_that_of_the_docstrings():
    assert list(sections(REGISTRY["ndcg"], "zh")) == list(SECTIONS)
