"""Sentences: nothing is lost, and boundaries stand where a reader would put them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.sentences import sentences

PIECES = [
    *("a", "B", "I", ". ", ".", "!", "?", "\n", "\n\n", " ", "。", "！", "”", "“", '"', "(", ")", "…", "Dr.", "3.5"),
    *(
        "\r\n",
        "\t",
        "é",
        "😀",
        "；",
        "，",
        "\u200b",
        "\u2028",
        "\u00a0",
        "\u3000",
        "\x85",
        "J.",
        "（",
        "）",
        "[1]",
        "\x00",
    ),
    *("1. ", "2. ", ": ", "？”他问", "\v", "\x1c", "12.", "U.S. ", "- ", "\ud800"),
    *("：1.", "《甲》2.", "乙3.", "第2.", "共"),
]


def split(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text())
def test_the_spans_are_the_text(text):
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_character_of_the_passages_is_lost(shared, language):
    data = json.loads((shared / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))
    passages = [part["context"] for article in data["data"] for part in article["paragraphs"]]
    assert len(passages) == 240
    for text in passages:
        assert "".join(text[start:end] for start, end in sentences(text)) == text
    assert sum(len(sentences(text)) for text in passages) > 3 * len(passages)


CASES = {
    "abbreviations": (
        "Mr. Smith (born Jan. 5, 1990) met J. K. Rowling at 5 p.m. in Washington D.C. He left.",
        ["Mr. Smith (born Jan. 5, 1990) met J. K. Rowling at 5 p.m. in Washington D.C.", "He left."],
    ),
    "a country before a name": ("U.S. Steel rose. It fell.", ["U.S. Steel rose.", "It fell."]),
    "numbers and addresses": (
        "It cost $3.5 million. Visit www.example.com today! See Fig. 3.",
        ["It cost $3.5 million.", "Visit www.example.com today!", "See Fig. 3."],
    ),
    "a quotation that goes on": (
        '"Really?" she asked. They said: "Go." Then left.',
        ['"Really?" she asked.', 'They said: "Go."', "Then left."],
    ),
    "small letters go on": ("Use e.g. this one. and more", ["Use e.g. this one. and more"]),
    "citations stay": ("Tea is old.[1] It is green. [2, 3] Yes.", ["Tea is old.[1]", "It is green. [2, 3]", "Yes."]),
    "a list": (
        "Heading\n1. First item\n2. Second item\n- bullet",
        ["Heading", "1. First item", "2. Second item", "- bullet"],
    ),
    "a list in a line": (
        "It is caused by: 1. Low quality 2. Drugs 3. Age. He scored 12. The next was 3. Then",
        ["It is caused by:", "1. Low quality", "2. Drugs", "3. Age.", "He scored 12.", "The next was 3.", "Then"],
    ),
    "wrapped lines": (
        "A line that goes\non here. Next\n\nparagraph",
        ["A line that goes\non here.", "Next", "paragraph"],
    ),
    "Chinese": ("天很冷……真的！？是的；他来了。", ["天很冷……", "真的！？", "是的；", "他来了。"]),
    "Chinese quotations": (
        "他说：“我走了。”然后离开。“你是谁？”他问。",
        ["他说：“我走了。”", "然后离开。", "“你是谁？”他问。"],
    ),
    "Chinese brackets": ("他来了（昨天。今天）。好。", ["他来了（昨天。今天）。", "好。"]),
    "a Chinese list in a line": (
        "推荐：1.《甲》2.《乙》3.其他。",
        ["推荐：", "1.《甲》", "2.《乙》", "3.其他。"],
    ),
    "a Chinese list with blanks": ("步骤： 1. 打开 2. 关闭。完成。", ["步骤：", "1. 打开", "2. 关闭。", "完成。"]),
    "a Chinese list without a colon": (
        "推荐如下1.苹果2.香蕉3.梨。都好吃。",
        ["推荐如下", "1.苹果", "2.香蕉", "3.梨。", "都好吃。"],
    ),
    "a Chinese list of Latin names": (
        "常用语言：1.Python语言2.Java语言3.其他。",
        ["常用语言：", "1.Python语言", "2.Java语言", "3.其他。"],
    ),
    "a Chinese list of ten": (
        "依次为：" + "".join(f"{n}.甲" for n in range(1, 12)),
        ["依次为：", *(f"{n}.甲" for n in range(1, 12))],
    ),
    "sentences within Chinese items": (
        "如下：1.甲好。价低。2.乙差。",
        ["如下：", "1.甲好。", "价低。", "2.乙差。"],
    ),
    "Chinese numbers that begin no item": (
        "答案：42。版本3.Python没有变化。他得了12.真不少。",
        ["答案：42。", "版本3.Python没有变化。", "他得了12.", "真不少。"],
    ),
    "full-width forms": ("价格是３．５元。Ｎｅｘｔ！好", ["价格是３．５元。", "Ｎｅｘｔ！", "好"]),
    "mixed": ("Done.中文。See this. 中文！ABC", ["Done.", "中文。", "See this.", "中文！", "ABC"]),
    "nothing": ("", []),
    "only blanks": (" \n ", [""]),
}


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_where_a_reader_would_end_them(case):
    text, expected = CASES[case]
    assert split(text) == expected
