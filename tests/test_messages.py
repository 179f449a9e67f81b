"""Every sentence in two languages."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from assay.cli.hints import advice
from assay.measures.registry import SHARED_PARAMETERS
from assay.messages import say, some, tell
from assay.wordings import LANGUAGES, ROOMS, SAYING, texts

SOURCE = Path(__file__).parents[1] / "src" / "assay"


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", text))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_two_rooms_say_has_one_text(lang):
    names = ROOMS if lang == "en" else ROOMS + SAYING
    rooms = [import_module(f"assay.wordings.{lang}.{room}").TEXTS for room in names]
    assert [key for room in rooms for key, text in room.items() if texts(lang)[key] != text] == []


@pytest.mark.parametrize("room", ROOMS)
def test_both_languages_have_the_same_keys_in_the_same_order(room):
    english, chinese = (import_module(f"assay.wordings.{lang}.{room}").TEXTS for lang in LANGUAGES)
    assert list(english) == [key for key in chinese if key in english]


def test_both_languages_say_the_same_values():
    pairs = {key: (fields(english), fields(texts("zh")[key])) for key, english in texts("en").items()}
    lost = {key: english - chinese - {"en", "n"} for key, (english, chinese) in pairs.items()}  # n may choose a word
    added = {key: chinese - english - {"zh"} for key, (english, chinese) in pairs.items()}
    assert {key: names for key, names in lost.items() if names} == {}, "values that the Chinese does not say"
    assert {key: names for key, names in added.items() if names} == {}, "values that the English does not say"


def test_nothing_is_left_in_english():
    """Of four letters and more; names of methods are the same everywhere."""
    same = [key for key, english in texts("en").items() if texts("zh")[key] == english]
    names = {"text.either", "read.null", *(key for key in same if key.startswith("method."))}
    words = {key: re.sub(r"\{[^}]*\}|[^A-Za-z]", "", texts("en")[key]) for key in same if key not in names}
    assert [
        key for key, word in words.items() if word and texts("en")[key].islower() and len(texts("en")[key]) >= 4
    ] == []


def test_numbers_choose_words_and_lists_are_joined():
    one = say("doubt.missing", n=1, fate=say("fate.zero"), some="q1")
    assert one == "1 judged query is missing and counts as 0: q1"
    assert tell(one, "zh") == "1 个已标注查询在检索结果中缺失，按 0 计：q1"
    assert (
        say("doubt.missing", n=2, fate=say("fate.skip"), some="q1")
        == "2 judged queries are missing and count in no mean: q1"
    )
    rest = say("text.list", parts=["a", "b"])
    assert rest == "a, b"
    assert tell(rest, "zh") == "a、b"
    assert tell("plain", "zh") == "plain"


def test_the_last_of_a_list_is_set_off_as_chinese_writes_it():
    told = [
        tell(say("{names:or}", names=names), "zh") for names in (["a", "b"], ["甲（a）", "乙"], ["a", "b", " 乙 b"])
    ]
    assert told == ["a 或 b", "甲（a）或乙", "a、b 或乙 b"]


def test_a_shortened_list_says_that_there_are_more():
    short = say("it has {names}", names=some(range(4), 2))
    assert (short, tell(short, "zh")) == ("it has 0, 1 ...", "it has 0、1 等")
    assert say("it has {names}", names=some("ab", 2)) == "it has a, b"


def literals() -> dict[str, set[str]]:
    """What is said in English in the code: template -> the names of its values."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say" and node.args:
                for text in constants(node.args[0]):
                    found.setdefault(text, {word.arg for word in node.keywords if word.arg})
    return found


def constants(node: ast.expr) -> list[str]:
    """The texts that an expression can be, as far as they stand there."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    return []


# Of the parameters that measures share, every page says some; hints stand in tables.
SAID = literals() | {text: set() for text in (*SHARED_PARAMETERS.values(), *advice())}
ENGLISH = sorted(text for text in SAID if text not in texts("en"))


def test_percentages_are_written_in_one_way():
    written = {*SAID, *texts("en").values(), *texts("zh").values()}
    assert [text for text in written if re.search(r"[\d}] +%", text)] == []


def test_what_is_said_in_english_has_its_chinese():
    assert [text for text in ENGLISH if text not in texts("zh")] == []
    chinese = {text: texts("zh")[text] for text in ENGLISH}
    assert [text for text, other in chinese.items() if not fields(other) <= fields(text)] == []
    # A number may only choose a word in English.
    assert [text for text, other in chinese.items() if not fields(text) - fields(other) <= {"n"}] == []
    worded = [text for text in ENGLISH if re.search(r"[a-z]{3} [a-z]{3}", text)]
    assert [text for text in worded if not re.search(r"[\u4e00-\u9fff]", chinese[text])] == []


def test_no_chinese_text_is_left_without_its_english():
    assert [text for text in texts("zh") if text not in texts("en") and text not in SAID] == []


@pytest.mark.parametrize(
    "wrong",
    [
        r"[\u4e00-\u9fff][,;:?!()](?![\w/])|[,;:?!(][\u4e00-\u9fff]",
        r"[\u4e00-\u9fff][A-WYZa-z0-9]|[A-WYZa-z0-9][\u4e00-\u9fff]",
        r"[\u4e00-\u9fff] +[\u4e00-\u9fff]| [，。；：、（）]|[，。；：、（] ",
    ],
    ids=["half-width signs", "no blank beside Latin letters", "blanks too many"],
)
def test_chinese_is_set_as_chinese_is(wrong):
    """Full-width signs beside Chinese characters, and a blank between them and Latin letters or digits."""
    bare = {key: re.sub(r"\{[^}]*\}", "X", re.sub(r"\{\{|\}\}", "", text)) for key, text in texts("zh").items()}
    assert [(key, text) for key, text in bare.items() if re.search(wrong, text)] == []
