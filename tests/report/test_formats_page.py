"""The page about formats: one screen or two, and every example in it can be read."""

from __future__ import annotations

import re

import pytest

from assay import read_events
from assay.formats.detect import FORMATS
from assay.formats.documents import read_documents
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments, read_records, read_run
from assay.formats.samples import read_samples
from assay.report.formats_page import formats_page
from assay.report.tables import width

LANGUAGES = ["en", "zh"]
READERS = {
    "qrels.txt": lambda place: len(read_judgments(place).to_dict()),
    "judgments.csv": lambda place: len(read_judgments(place).to_dict()),
    "judgments.json": lambda place: len(read_judgments(place).to_dict()),
    "bm25.run": lambda place: len(read_run(place).to_dict()),
    "run.csv": lambda place: len(read_run(place).to_dict()),
    "records.jsonl": lambda place: len(read_records(place).judgments.to_dict()),
    "samples.jsonl": lambda place: sum(one.question is not None and not one.faults for one in read_samples(place)),
    "corpus.jsonl": lambda place: len(read_documents(place)),
    "queries.tsv": lambda place: len(read_queries(place).texts()),
    "events.csv": lambda place: read_events(place).frame.collect()["action"].is_in(["impression", "click"]).sum(),
}
FOUND = dict(zip(READERS, (2, 2, 3, 2, 2, 3, 3, 3, 2, 2), strict=True))


def examples(lang: str) -> dict[str, str]:
    """Lines of each example by the file name that stands above them."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in formats_page(lang).splitlines():
        if line.startswith("    "):
            found.setdefault(name, []).append(line[4:])
        elif line.startswith("  "):
            name = re.split(r"[ ,:：、（]", line.strip())[0]
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_is_short_and_narrow(lang):
    lines = formats_page(lang).splitlines()
    assert len(lines) <= 62
    assert max(map(width, lines)) <= 110


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_example_has_three_lines_and_can_be_read(lang, tmp_path):
    found = examples(lang)
    assert list(found) == list(READERS)
    for name, text in found.items():
        assert text.count("\n") == 3
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert READERS[name](tmp_path / name) == FOUND[name], name


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_format_is_on_the_page(lang):
    page = formats_page(lang).lower()
    assert all(name in page for name in FORMATS)


def test_both_pages_name_the_same_options_and_files():
    english, chinese = (
        [set(re.findall(pattern, formats_page(lang))) for pattern in (r"--[a-z-]+", r"\.[a-z]+\b", r"\w+_id\b")]
        for lang in LANGUAGES
    )
    for one, other in zip(english, chinese, strict=True):
        assert one >= other
    assert english[0] == chinese[0]


def test_the_english_page_holds_no_chinese():
    assert not re.search(r"[\u3400-\u9fff]", formats_page())


def test_the_chinese_page_holds_no_english_sentence():
    assert not re.search(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b", formats_page("zh"))
