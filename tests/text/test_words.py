"""Words, stems, languages, negation and refusals in English and Chinese."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text import chinese, english, segmentation
from assay.text.lexicon import equivalents, is_general, opposites
from assay.text.negation import clauses, find_denied_pairs, find_denied_words, is_negated
from assay.text.numbers import numbers
from assay.text.refusals import is_courtesy, is_refusal
from assay.text.segmentation import han_words
from assay.text.sentences import sentences
from assay.text.stems import stem
from assay.text.words import bag, bags, form, has_han, is_strong, language, tokens


@pytest.mark.parametrize(
    "family",
    [
        "run runs running", "make makes making made", "study studies studied studying", "hope hopes hoped hoping",
        "plan plans planned planning", "judge judges judged judging", "provide provides provided providing",
        "go goes went gone", "child children", "box boxes", "process processes", "happy happily", "care cares cared caring",
        "leave leaves leaving", "serve served serving", "visit visited visiting", "hero heroes", "city cities",
    ],
)  # fmt: skip
def test_inflections_share_a_stem(family):
    stems = {stem(word) for word in family.split() if word != "leaves"}
    assert len(stems) == 1, stems


@pytest.mark.parametrize(
    "pair", ["care car", "new news", "king kin", "bus bu", "thing th", "wine win", "hope hop", "need ne"]
)
def test_different_words_keep_different_stems(pair):
    one, other = pair.split()
    assert stem(one) != stem(other)


def test_forms_are_equal_for_equal_meanings():
    assert form("3,000") == form("3000") == "#3000"
    assert form("two") == form("2") == form("2nd") == "#2"
    assert form("30%") == form("30％") == "#0.3"
    assert form("don't") == form("isn’t") == form("not") == "!not"
    assert form("court’s") == form("Courts") == "court"
    assert form("naïve") == form("NAIVE")
    assert form("The") == "%the"
    assert not is_strong(form("the")) and not is_strong(form("never"))
    assert is_strong(form("tea")) and is_strong(form("7"))


def test_first_person_claims_something():
    assert all(is_strong(form(word)) for word in english.FIRST_PERSON)


@given(st.text(alphabet="ab '-.,/()3é%中\n", max_size=60))
def test_a_bag_holds_the_forms_of_all_tokens(text):
    assert bag(text) == set(map(form, tokens(text)))


def test_bags_of_pieces_are_those_of_the_pieces():
    text = "A cat sat. Two (big) dogs ran/jumped; e.g. here."
    spans = [(0, 11), (11, len(text))]
    parts, every = bags(text, spans)
    assert parts == [bag(text[start:end]) for start, end in spans]
    assert every == parts[0] | parts[1]


def test_very_long_tokens_are_cut():
    assert max(map(len, tokens("x" * 10_000))) < 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat.", "en"), ("黑豹队的防守只丢了 308分，在联赛 (NFL) 中排名第六。", "zh"),
        ("请用 pip install 安装 the package named assay 然后 run it 吧", "mixed"), ("123 !?", "other"), ("", "other"),
        ("Größe und Maß", "en"),
    ],
)  # fmt: skip
def test_the_language_is_told_by_its_words(text, expected):
    assert language(text) == expected


def test_chinese_words_come_from_the_segmenter():
    pytest.importorskip("rjieba")
    assert han_words("联赛中排名第六, NFL") == ["联赛", "中", "排名", "第六"]
    assert segmentation.segmenter() == "rjieba"


def test_without_a_segmenter_pairs_of_characters_are_words():
    assert han_words("黑豹队的 NFL 人", how="bigrams") == ["黑豹", "豹队", "队的", "人"]


def test_the_segmenter_is_optional():
    code = (
        "import sys\nsys.modules['rjieba'] = None\n"
        "from assay.text.segmentation import han_words, segmenter\nprint(segmenter(), han_words('黑豹队'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.strip() == "bigrams ['黑豹', '豹队']"


def test_importing_words_loads_no_heavy_library():
    code = (
        "import sys, assay.text.words, assay.text.lexicon, assay.text.negation, assay.grounding.words\n"
        "print(sorted(set(sys.modules) & {'numpy', 'polars', 'rjieba', 'tokenizers', 'wordllama', 'logging'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_opposites_are_mutual_and_never_equivalents():
    pairs = [*english.OPPOSITES]
    assert all(len(pair) == 2 for pair in pairs)
    for one, other in pairs:
        assert form(other) in opposites(form(one)) and form(one) in opposites(form(other))
        assert form(other) not in equivalents(form(one))


def test_opposites_are_made_by_prefixes_and_suffixes():
    assert "unsuitabl" in opposites(form("suitable"))
    assert form("efficient") in opposites(form("inefficient"))
    assert form("careful") in opposites(form("careless"))
    assert "减少" in opposites("增加")


def test_equivalents_stand_for_each_other():
    assert form("purchase") in equivalents(form("bought"))
    assert "提高" in equivalents("提升")
    assert is_general(form("purchase")) and not is_general("kubernet")


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("the court does not consider new evidence", ["consider"]), ("a home is not only a good place", []),
        ("whether or not it rains", []), ("they cannot swim", ["swim"]), ("prices rose without warning", ["warn"]),
        ("nobody came", ["come"]), ("the answer is no", ["answer"]), ("a non-negligible effect", ["negligibl"]),
    ],
)  # fmt: skip
def test_a_negation_denies_the_next_word(clause, expected):
    assert find_denied_words(clause) == expected


def test_chinese_negation_leaves_words_alone_that_only_look_negative():
    assert find_denied_pairs("他不喜欢喝茶，但没有反对。") == {"喜欢", "反对"}
    assert find_denied_pairs("不同的人，非常好，无论如何，特别是未来。") == set()


def test_negation_is_found_in_both_languages():
    assert (
        is_negated("It isn't so")
        and is_negated("这不是真的")
        and not is_negated("It is so")
        and not is_negated("不仅如此")
    )


@pytest.mark.parametrize("cue", sorted(english.NEGATIONS - {"n't"}))
def test_every_english_cue_negates(cue):
    assert is_negated(f"They {cue} tea") and is_negated(cue.upper())


@pytest.mark.parametrize("cue", chinese.CUES.split("|"))
def test_every_chinese_cue_negates_what_follows(cue):
    assert is_negated(f"他{cue}喝茶")
    assert find_denied_pairs(f"他{cue}喝茶") == {"喝茶"} == find_denied_pairs(f"他{cue} 喝茶了")


@pytest.mark.parametrize("word", chinese.HARMLESS.split("|"))
def test_words_that_only_look_like_a_chinese_cue_negate_nothing(word):
    assert not is_negated(f"他{word}喝茶") and find_denied_pairs(f"他{word}喝茶") == set()


HOSTILE = st.text(alphabet="aAbnotNO 不没无非。！？.!?'’-,()（）3０三千万%\n\x00\ud800é😀Dr", max_size=80) | st.text(
    max_size=60
)
READERS = [
    sentences,
    tokens,
    bag,
    language,
    clauses,
    find_denied_words,
    find_denied_pairs,
    is_negated,
    numbers,
    is_refusal,
    is_courtesy,
]


@pytest.mark.parametrize("read", [*READERS, han_words, has_han], ids=lambda read: read.__name__)
@given(text=HOSTILE)
def test_any_text_can_be_read_and_reads_the_same_again(read, text):
    assert read(text) == read(text)


@given(HOSTILE)
def test_nothing_chinese_is_lost_between_words(text):
    han = [sign for sign in text if has_han(sign)]
    assert list("".join(han_words(text))) == han


@given(HOSTILE)
def test_tokens_stand_in_the_text_in_their_order(text):
    place = 0
    for token in tokens(text):
        found = text.find(token, place)
        assert found >= place
        place = found + len(token)


@given(st.text(alphabet="abcdefghilmnorstuvwy", min_size=1, max_size=12))
def test_a_stem_is_never_empty_nor_longer_than_a_letter_more(word):
    assert 0 < len(stem(word)) <= len(word) + 1


def test_clauses_end_at_punctuation_and_conjunctions():
    assert [part.strip() for part in clauses("He came, but she left because it rained.")] == [
        "He came",
        "she left",
        "it rained",
    ]


REFUSALS = [
    "I do not have specific information.", "The documents do not include information about regional differences.",
    "I'm sorry, but I can't find that in the provided text.", "This is not mentioned in the context.",
    "There is no information on this topic.", "I don't know.", "This cannot be determined from the passages.",
    "文档中没有提到相关信息。", "我不知道。", "根据现有资料无法确定。", "抱歉，我无法回答这个问题。",
]  # fmt: skip
CLAIMS = [
    "The documents do not specify jail sentences, but you can ask the agency to enforce the order.",
    "I'm not sure, but his books were translated into 42 languages.", "There is insufficient evidence that rats died.",
    "公立学校无法提供的教育。", "那段时期的历史几乎没有记录。", "The court does not consider new evidence.", "He does not know her.", "No country has more rivers.", "Tea is not coffee.",
    "他不知道这件事。", "公司没有提供午餐。", "这种方法不能用于儿童。",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_recognised(text):
    assert is_refusal(text)


@pytest.mark.parametrize("text", CLAIMS)
def test_denials_about_the_world_are_no_refusals(text):
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You're welcome!", True), ("Is there anything else I can help you with?", True), ("不客气！", True),
        ("Feel free to ask.", True), ("Thanks are due to the king.", True), ("The king is glad.", False), ("茶很好。", False),
        ("Sure, tea is healthy.", False),
    ],
)  # fmt: skip
def test_courtesies_are_recognised(text, expected):
    assert is_courtesy(text) is expected
    if expected and text.isascii():
        assert tokens(text)[0].lower() in english.COURTEOUS


def test_chinese_characters_are_seen_in_any_plane():
    assert has_han("𠀀") and has_han("中") and not has_han("ü😀") and not has_han("カナ")
