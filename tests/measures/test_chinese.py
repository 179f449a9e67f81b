"""Measures by their Chinese names."""

from __future__ import annotations

import pytest

import assay
from assay.errors import UnknownName, UsageError
from assay.measures import ALIASES, REGISTRY, chinese, parse, split_measures

OWN = [name for name, spec in REGISTRY.items() if spec.function.__module__.startswith("assay.")]
JUDGMENTS = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}
RUN = {"q1": {"a": 3.0, "c": 2.0}, "q2": {"b": 2.0, "a": 1.0}}
# What Chinese papers and courses call them.
WELL_KNOWN = {
    "召回率@5": "recall@5",
    "查全率@5": "recall@5",
    "精确率@10": "precision@10",
    "查准率@10": "precision@10",
    "归一化折损累计增益@10": "ndcg@10",
    "归一化折扣累积增益(gain='exp')@10": "ndcg(gain='exp')@10",
    "平均精度": "average_precision",
    "平均精度均值@10": "average_precision@10",
    "倒数排名": "reciprocal_rank",
    "平均倒数排名@10": "reciprocal_rank@10",
    "命中率@3": "hit_rate@3",
    "F1 值@5": "f1@5",
    "f1值@5": "f1@5",
    "R精确率": "r_precision",
    "忠实度": "faithfulness",
    "幻觉率": "hallucination_rate",
    "答案相关性": "answer_relevance",
    "上下文召回率": "context_recall",
    "上下文精确率": "context_precision",
    "精确匹配": "exact_match",
    "召回率＠５": "recall@5",
    "归一化折损累计增益（gain='exp'）@10": "ndcg(gain='exp')@10",
}


def test_every_measure_has_a_chinese_name():
    assert list(chinese.NAMES) and set(chinese.NAMES) == set(OWN)


def test_no_chinese_name_means_two_measures():
    listed = [*chinese.NAMES.values(), *chinese._OTHERS]
    compared = [chinese.alias_of(name) for name in listed]
    assert len(compared) == len(set(compared))
    assert not set(compared) & set(chinese.AMBIGUOUS)
    assert not set(compared) & set(REGISTRY)


@pytest.mark.parametrize("name", OWN)
def test_a_chinese_name_is_read_as_its_measure(name):
    assert parse(chinese.NAMES[name]).name == name
    assert ALIASES[chinese.alias_of(chinese.NAMES[name])] == name


@pytest.mark.parametrize("text", WELL_KNOWN)
def test_well_known_chinese_names_are_read(text):
    assert parse(text) == parse(WELL_KNOWN[text])


def test_a_column_keeps_the_chinese_name_that_was_asked_for():
    scores = assay.evaluate(JUDGMENTS, RUN, ["召回率@5", "平均精度", "归一化折损累计增益＠10"])
    assert scores.labels == ("召回率@5", "平均精度", "归一化折损累计增益＠10")
    assert scores["召回率@5"] == scores["recall@5"] == 0.75
    assert scores.definitions["平均精度"] == "average_precision"


def test_chinese_commas_part_measures():
    assert split_measures("召回率@5，ndcg@10、命中率@3") == ["召回率@5", "ndcg@10", "命中率@3"]
    assert split_measures("归一化折损累计增益（gain='exp'，ideal='full'）@10") == [
        "归一化折损累计增益（gain='exp'，ideal='full'）@10"
    ]


def test_a_rubric_may_have_a_comma_in_its_name(tmp_path):
    place = tmp_path / "语气，文风.md"
    place.write_text("x", encoding="utf-8")
    assert split_measures(str(place)) == [str(place)]


@pytest.mark.parametrize("word", chinese.AMBIGUOUS)
def test_an_ambiguous_word_is_refused_with_the_right_spellings(word):
    with pytest.raises(UsageError) as caught:
        parse(f"{word}@5")
    for name in chinese.AMBIGUOUS[word]:
        cut = "" if REGISTRY[name].cutoff == "none" else "@5"
        assert f"{name}{cut} ({chinese.NAMES[name]}{cut})" in str(caught.value)
        assert parse(f"{chinese.NAMES[name]}{cut}").name == name


def test_a_chinese_name_with_a_slip_is_corrected():
    with pytest.raises(UnknownName, match="召回率"):
        parse("召回律@5")
