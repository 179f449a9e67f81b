"""Measures of answers against samples worked out by hand, and the two languages, stages and statuses of samples."""

from __future__ import annotations

import itertools
import math
import random
import re
import string
from collections import Counter

import pytest

import assay
from assay.analysis.answer_stages import stage_of
from assay.analysis.protocols import read_protocol
from assay.formats.samples import as_samples
from assay.grounding.agreement import FIGURES, ORDERS
from assay.grounding.case import Case
from assay.grounding.citations import blank_marks, marks
from assay.grounding.matrix import JudgeMatrix, WordsMatrix
from assay.grounding.record import Blank
from assay.grounding.words import by_words, relevance_by_words
from assay.measures import REGISTRY, parse
from assay.measures.references import common_subsequence


def case_of(**row) -> Case:
    (sample,) = as_samples([{"answer": None, **row}])
    return Case(sample, "words", judge=by_words, relevance=relevance_by_words)


def value(measure: str, **row):
    """Value of a measure by words, or status and reason."""
    found = parse(measure).value(case_of(**row))
    return (found.status, found.reason) if isinstance(found, Blank) else found


TEA = "Green tea is made in Japan."
CAT = "Cats sleep for sixteen hours."
SEA = "The sea covers most of the planet."

# Faithfulness and its kin --------------------------------------------------------------------------------------------


def test_a_copy_is_faithful_and_an_invention_is_not():
    assert value("faithfulness", answer=TEA, contexts=[CAT, TEA]) == 1.0
    assert value("hallucination_rate", answer=TEA, contexts=[CAT, TEA]) == 0.0
    assert value("faithfulness", answer="Elephants dance tango.", contexts=[TEA]) == 0.0
    assert value("hallucination_rate", answer="Elephants dance tango.", contexts=[TEA]) == 1.0
    assert value("faithfulness", answer="绿茶产自日本。", contexts=["绿茶产自日本。"]) == 1.0


def test_no_contexts_make_an_answer_unfaithful_and_a_refusal_abstained():
    assert value("faithfulness", answer=TEA, contexts=[]) == 0.0
    assert value("faithfulness", answer="I don't know.", contexts=[])[0] == "abstained"
    assert value("faithfulness", answer="文中没有提到。", contexts=["绿茶。"])[0] == "abstained"


def test_the_recipes_of_others_are_there_by_name():
    row = {"answer": "Green tea is blue. Green tea is made in Japan.", "contexts": [TEA]}
    # of green, tea, blue, green, tea, made, Japan the contexts lack blue
    assert value("faithfulness(method='overlap')", **row) == pytest.approx(6 / 7)
    assert value("faithfulness(method='contains')", **row) == 0.5
    assert value("context_utilisation(match='contains')", **row) == 0.5


def test_the_sigmoid_recipe_has_its_constants_as_parameters():
    same, turned = [1.0, 0.0], [0.6, 0.8]

    def embed(texts):
        return [same if text.startswith(("A", "B")) else turned for text in texts]

    rows = [{"answer": "Apples grow on trees.", "contexts": ["Boats are fast.", "Cars are red."]},
            {"answer": "Apples grow on trees.", "contexts": ["Cars are red."]}]  # fmt: skip
    names = ["faithfulness(method='sigmoid')", "faithfulness(method='sigmoid', midpoint=0, slope=1)"]
    found = assay.answers(
        [{**row, "id": str(i)} for i, row in enumerate(rows)], names, embedder=embed, method="embedding"
    )
    for label, slope, midpoint in zip(names, (10, 1), (0.5, 0), strict=True):
        expected = [1 / (1 + math.exp(-slope * (cosine - midpoint))) for cosine in (1.0, 0.6)]
        assert found.column(label) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["words", "embedding", "llm", "auto"])
def test_the_sigmoid_recipe_asks_the_given_embedder_whatever_method_judges(method):
    name = "faithfulness(method='sigmoid')"
    row = {"answer": TEA, "contexts": [CAT], "question": "Where?"}

    def embed(texts):
        return [[1.0, 0.0] if text == TEA else [0.6, 0.8] for text in texts]

    found = assay.answers([row], [name], method=method, embedder=embed, judge=lambda _: "{}")
    assert found[name] == pytest.approx(1 / (1 + math.exp(-10 * (0.6 - 0.5))), abs=1e-6)


def test_an_embedder_that_fails_in_a_recipe_is_a_failed_cell_with_the_true_reason():
    name = "faithfulness(method='sigmoid')"

    def broken(texts):
        raise RuntimeError("out of memory")

    def nothing(texts):
        return [[1.0, 0.0] if text == TEA else None for text in texts]

    for embed, reason in (
        (broken, "embedding: RuntimeError: out of memory"),
        (nothing, "embedding: no vector came back"),
    ):
        found = assay.answers([{"answer": TEA, "contexts": [CAT]}], [name], method="words", embedder=embed)
        cell = found.outcomes[0].cells[name]
        assert (cell.value, cell.status, cell.reason) == (None, "failed", reason)


def test_utilisation_counts_statements_from_the_threshold_on():
    row = {"answer": f"{TEA} Elephants dance tango. {CAT}", "contexts": [TEA, CAT]}
    assert value("context_utilisation", **row) == pytest.approx(2 / 3)
    assert value("context_utilisation(threshold=0)", **row) == 1.0


# Contexts ------------------------------------------------------------------------------------------------------------


def test_context_precision_is_the_share_of_contexts_that_support_the_reference():
    row = {"answer": "x", "contexts": [CAT, TEA, SEA, TEA], "reference": TEA}
    assert value("context_precision", **row) == 0.5
    assert value("context_precision(over='ranks')", **row) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert value("context_precision(by='answer')", **{**row, "answer": SEA}) == 0.25
    assert value("context_precision", **{**row, "contexts": []})[0] == "undefined"


def test_context_recall_is_the_support_of_the_reference():
    assert value("context_recall", answer="x", contexts=[CAT, TEA], reference=f"{TEA}") == 1.0
    assert value("context_recall", answer="x", contexts=[], reference=TEA) == 0.0
    assert value("context_recall", answer="x", contexts=[TEA], reference="The context does not say.")[0] == "abstained"


def test_gold_ids_are_an_and_of_ors():
    row = {"answer": "x", "contexts": ["p", "q", "r"], "context_ids": ["a", "b", "c"], "gold_ids": [["a", "z"], ["y"]]}
    assert value("context_recall(by='gold')", **row) == 0.5
    assert value("context_precision(by='gold')", **row) == pytest.approx(1 / 3)
    assert value("context_recall(by='gold')", answer="x", contexts=["p"], gold_ids=["a"])[0] == "not_applicable"
    named = {"answer": "x", "contexts": [{"id": "y", "text": "p"}], "gold_ids": [["a", "z"], ["y"]]}
    assert value("context_recall(by='gold')", **named) == 0.5


def test_noise_sensitivity_blames_contexts_for_what_the_reference_lacks():
    row = {"answer": f"{TEA} {CAT} Elephants dance tango.", "contexts": [TEA, CAT], "reference": TEA}
    assert value("noise_sensitivity", **row) == pytest.approx(1 / 3)  # the cats; nobody said that about elephants
    assert value("noise_sensitivity(contexts='irrelevant')", **row) == pytest.approx(1 / 3)
    assert value("noise_sensitivity(contexts='relevant')", **row) == 0.0
    both = {**row, "contexts": [f"{TEA} {CAT}"]}
    assert value("noise_sensitivity(contexts='relevant')", **both) == pytest.approx(1 / 3)
    assert value("noise_sensitivity(contexts='irrelevant')", **both) == 0.0


def test_a_part_of_the_matrix_is_what_judging_with_fewer_contexts_gives():
    contexts = [TEA, CAT, SEA, "Green tea is sold in Brazil.", "绿茶产自日本。"]
    answer = f"{TEA} Cats sleep for ten hours. The sea covers Japan. 绿茶产自巴西。"
    (sample,) = as_samples([{"answer": answer, "contexts": contexts, "question": "Where?"}])
    fast, slow = WordsMatrix(sample, by_words(sample)), JudgeMatrix(sample, by_words(sample), by_words)
    for size in range(6):
        for chosen in itertools.combinations(range(5), size):
            for place in range(4):
                assert fast.joint(place, chosen) == slow.joint(place, chosen)


# Citations -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea [1].", [(0,)]), ("Tea [1][3].", [(0,), (2,)]), ("Tea [1, 2].", [(0, 1)]), ("Tea [1-3].", [(0, 1, 2)]),
        ("茶【2】。", [(1,)]), ("茶 [1、2]", [(0, 1)]), ("Tea [9].", [(None,)]), ("In [2019] it rained.", []), ("Tea [a note].", []),
        ("Tea [doc-b].", [(1,)]), ("Tea [source 2].", [(1,)]), ("Tea [0].", [(None,)]), ("Tea [].", []), ("[" * 9 + "1", []),
    ],
)  # fmt: skip
def test_citation_marks_name_contexts(text, expected):
    (sample,) = as_samples([{"answer": text, "contexts": [{"id": f"doc-{x}", "text": x} for x in "abc"]}])
    found = marks(sample.answer, sample.contexts)
    assert [mark.contexts or tuple(None for _ in mark.absent) for mark in found] == expected
    clean = blank_marks(text, found)
    assert len(clean) == len(text)
    assert all(a == b for a, b in zip(clean, text, strict=True) if a != " ")


def test_citations_are_right_when_they_support_their_statement():
    contexts = [TEA, CAT, SEA]
    row = {"answer": f"{TEA[:-1]} [1]. {CAT} [3] {SEA}", "contexts": contexts}
    assert value("citation_precision", **row) == 0.5
    assert value("citation_recall", **row) == pytest.approx(1 / 3)
    chinese = {
        "answer": "绿茶产自日本【1】。猫每天睡十六小时【1】。",
        "contexts": ["绿茶产自日本。", "猫每天睡十六小时。"],
    }
    assert value("citation_precision", **chinese) == 0.5
    assert value("citation_recall", **chinese) == 0.5


def test_a_citation_that_adds_nothing_is_wrong_and_one_that_does_not_exist_too():
    assert value("citation_precision", answer=f"{TEA} [1][2]", contexts=[TEA, CAT]) == 0.5
    assert value("citation_recall", answer=f"{TEA} [1][2]", contexts=[TEA, CAT]) == 1.0
    assert value("citation_precision", answer=f"{TEA} [7]", contexts=[TEA, CAT]) == 0.0
    for marked in (
        "[1][8][9]",
        "[1, 8, 9]",
        "[1][8-9]",
        "[1][8][9][8]",
    ):  # a number twice is one citation, as [1][1] is
        row = {"answer": f"{TEA} {marked}", "contexts": [TEA, CAT]}
        assert value("citation_precision", **row) == pytest.approx(1 / 3)
        assert value("citation_recall", **row) == 1.0
    assert value("citation_precision", answer=TEA, contexts=[TEA]) == (
        "not_applicable",
        "the answer has no citation marks",
    )


def test_two_contexts_that_support_a_statement_only_together_are_both_right():
    whole = "Green tea comes from Japan while black coffee comes from Brazil."
    halves = ["Green tea comes from Japan.", "Black coffee comes from Brazil."]
    row = {"answer": f"{whole} [1][2]", "contexts": halves}
    assert value("citation_precision(threshold=0.7)", **row) == 1.0
    assert value("citation_recall(threshold=0.7)", **row) == 1.0


# Refusals ------------------------------------------------------------------------------------------------------------

REFUSALS = ["I don't know.", "The context does not mention it.", "我不知道。", "文中没有提到这一点。"]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_right_where_the_contexts_do_not_hold_the_answer(refusal):
    good = {"answer": refusal, "contexts": [CAT], "reference": TEA, "question": "Where is green tea made?"}
    bad = {**good, "contexts": [TEA]}
    names = ("abstention", "right_refusals", "wrong_refusals")
    held, lacked = "the contexts hold the answer", "the contexts do not hold the answer"
    assert [value(name, **good) for name in names] == [1.0, 1.0, ("not_applicable", lacked)]
    assert [value(name, **bad) for name in names] == [0.0, ("not_applicable", held), 1.0]
    assert stage_of(case_of(**good)).stage == "right refusal"
    assert stage_of(case_of(**bad)).stage == "wrong refusal"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"reference": "There is no information about that."}, 1.0),
        ({"answerable": False, "reference": TEA}, 1.0),
        ({"answerable": "UNANSWERABLE", "reference": TEA}, 1.0),
        *(({"answerable": no, "reference": TEA}, 1.0) for no in (0, 0.0, "0", "0.0", "no")),
        *(({"answerable": unknown, "reference": TEA}, 0.0) for unknown in (None, math.nan, "", " ", "nan", 7)),
        *(({"answerable": yes, "reference": TEA}, 0.0) for yes in (True, 1, 1.0, "1.0")),
        ({"answerable": None, "is_answerable": False, "reference": TEA}, 1.0),
        ({"answerable": None}, "not_applicable"),
        ({"gold_ids": [], "reference": TEA}, 1.0),
        ({"gold_ids": ["a"], "context_ids": ["b"]}, 1.0),
        ({"gold_ids": ["a"], "context_ids": ["a"]}, 0.0),
        ({}, "not_applicable"),
    ],
)
def test_what_says_whether_the_contexts_hold_the_answer(more, expected):
    found = value("abstention", answer="I don't know.", contexts=[TEA], **more)
    assert (found if isinstance(found, float) else found[0]) == expected


@pytest.mark.parametrize("yes", [True, 1, "yes", "ANSWERABLE", "可回答"])
@pytest.mark.parametrize("told", [{"reference": TEA}, {}, {"gold_ids": ["a"], "context_ids": ["b"]}])
def test_a_question_that_is_told_to_be_answerable_is_to_be_answered(yes, told):
    """Whatever the words of the contexts look like: people know better."""
    names = ("abstention", "right_refusals", "wrong_refusals")
    row = {"contexts": [CAT], "answerable": yes, **told}
    answered, refused = {**row, "answer": TEA}, {**row, "answer": "I don't know."}
    held = ("not_applicable", "the contexts hold the answer")
    assert [value(name, **answered) for name in names] == [1.0, held, 0.0]
    assert [value(name, **refused) for name in names] == [0.0, held, 1.0]
    assert stage_of(case_of(**refused)) == ("wrong refusal", "according to answerable")
    assert stage_of(case_of(**answered)) == ("retrieved but not used", "no statement is supported by a context")


def test_no_contexts_hold_no_answer_whatever_is_told():
    row = {"answer": "I don't know.", "contexts": [], "answerable": True}
    assert value("abstention", **row) == 1.0
    assert stage_of(case_of(**row)) == ("right refusal", "according to contexts")


def test_an_answer_where_a_refusal_was_due_is_wrong():
    row = {"answer": SEA, "contexts": [CAT], "reference": "I don't know."}
    assert value("abstention", **row) == 0.0
    assert value("right_refusals", **row) == 0.0


# Stages --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "stage"),
    [
        ({"answer": TEA, "contexts": [CAT], "reference": TEA}, "not retrieved"),
        ({"answer": TEA, "contexts": []}, "not retrieved"),
        ({"answer": TEA, "contexts": [CAT], "answerable": False}, "should have refused"),
        ({"answer": TEA, "contexts": [CAT], "gold_ids": [], "context_ids": ["c"]}, "should have refused"),
        ({"answer": TEA, "contexts": [CAT], "gold_ids": ["t"], "context_ids": ["c"]}, "not retrieved"),
        ({"answer": TEA, "contexts": [CAT], "reference": "I do not know."}, "should have refused"),
        ({"answer": "I do not know.", "contexts": [CAT], "answerable": False}, "right refusal"),
        ({"answer": "Elephants dance tango.", "contexts": [TEA]}, "retrieved but not used"),
        ({"answer": CAT, "contexts": [TEA, CAT], "reference": TEA}, "retrieved but not used"),
        ({"answer": f"{TEA} Elephants dance tango.", "contexts": [TEA], "reference": TEA}, "used but not supported"),
        ({"answer": TEA, "contexts": [TEA, CAT], "reference": TEA}, "fine"),
        ({"answer": TEA, "contexts": [TEA]}, "fine"),
        ({"answer": "绿茶产自日本。", "contexts": ["绿茶产自日本。"], "reference": "日本"}, "fine"),
        (
            {"answer": "绿茶产自巴西。大象会跳舞。", "contexts": ["猫每天睡十六小时。"], "reference": "日本"},
            "not retrieved",
        ),
        ({"answer": "I don't know.", "contexts": [TEA]}, None),
        ({"answer": "", "contexts": [TEA]}, None),
    ],
)
def test_the_stage_says_where_an_answer_went_wrong(row, stage):
    assert stage_of(case_of(**row)).stage == stage


# Relevance -----------------------------------------------------------------------------------------------------------


def test_relevance_by_words_is_the_share_of_the_questions_words():
    assert value("answer_relevance", question="Where is green tea made?", answer=TEA) == 1.0
    assert value("answer_relevance", question="Where is black tea made?", answer=TEA) == pytest.approx(2 / 3)
    assert value("answer_relevance", question="?", answer=TEA)[0] == "undefined"
    assert value("answer_relevance", answer=TEA) == ("not_applicable", "the sample has no question")
    assert value("answer_relevance", question="Where?", answer="I don't know.")[0] == "abstained"


# References, against oracles from the definitions ----------------------------------------------------------------------

WORDS = [
    "the",
    "a",
    "tea",
    "Tea,",
    "green",
    "is",
    "made",
    "in",
    "Japan.",
    "an",
    "70",
    "o'clock",
    "state-of-the-art",
    "绿茶",
    "日本",
    "。",
    "，",
]


def squad(text: str) -> list[str]:
    """The SQuAD script's normalisation; Chinese characters apart, their punctuation removed too."""
    text = "".join(sign for sign in text.lower() if sign not in string.punctuation + "。，")
    text = re.sub(r"\b(a|an|the)\b", " ", text)
    return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text).split()


def squad_f1(said: list[str], wanted: list[str]) -> float:
    common = sum((Counter(said) & Counter(wanted)).values())
    if not said or not wanted:
        return float(said == wanted)
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def longest(one: list[str], other: list[str]) -> int:
    """The textbook table."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def texts(seed: int) -> tuple[str, list[str]]:
    source = random.Random(seed)
    made = [" ".join(source.choices(WORDS, k=source.randint(1, 12))) for _ in range(source.randint(2, 4))]
    return made[0], made[1:]


@pytest.mark.parametrize("seed", range(60))
def test_exact_match_and_token_f1_agree_with_the_squad_script(seed):
    answer, references = texts(seed)
    said, wanted = squad(answer), [squad(text) for text in references]
    assert value("exact_match", answer=answer, reference=references) == max(float(said == text) for text in wanted)
    assert value("token_f1", answer=answer, reference=references) == pytest.approx(
        max(squad_f1(said, text) for text in wanted)
    )


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("beta", [1, 2])
def test_rouge_l_agrees_with_its_definition(seed, beta):
    answer, references = texts(seed)

    def words(text):
        return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())

    def rouge(said, wanted):
        length = longest(said, wanted)
        if not length:
            return 0.0
        p, r = length / len(said), length / len(wanted)
        return (1 + beta**2) * p * r / (r + beta**2 * p)

    expected = max(rouge(words(answer), words(text)) for text in references)
    assert value(f"rouge_l(beta={beta})", answer=answer, reference=references) == pytest.approx(expected)


def test_the_longest_common_subsequence_is_found_in_long_texts_too():
    source = random.Random(5)
    one, other = (source.choices("abcdefgh", k=400) for _ in range(2))
    assert common_subsequence(one, other) == longest(one, other)
    assert common_subsequence([], one) == 0


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("The Eiffel Tower!", "eiffel tower", 1.0), ("Eiffel", "Eiffel Tower", 0.0), ("绿 茶", "绿茶。", 1.0),
        ("７０ degrees", "70 degrees", 1.0), ("1,000", "1000", 1.0), ("...", "!", 1.0),
    ],
)  # fmt: skip
def test_exact_match_by_hand(answer, reference, expected):
    assert value("exact_match", answer=answer, reference=reference) == expected


def test_a_missing_answer_counts_as_zero_against_a_reference_and_nowhere_else():
    rows = [
        {"id": "1", "answer": "tea", "contexts": ["tea"], "reference": "tea"},
        {"id": "2", "answer": None, "contexts": ["tea"], "reference": "tea"},
    ]
    found = assay.answers(rows, ["exact_match", "faithfulness"], method="words")
    assert found["exact_match"] == 0.5
    assert found["faithfulness"] == 1.0
    assert [found.status[1, i] for i in range(2)] == [1, 1]
    assert any("1 sample has no answer and counts as 0 in exact_match" in text for text in found.warnings)


# The registry --------------------------------------------------------------------------------------------------------

OURS = [name for name, spec in REGISTRY.items() if spec.of == "answers"]


def test_the_registry_has_the_measures_of_answers():
    assert set(OURS) == {
        "faithfulness", "hallucination_rate", "context_utilisation", "context_precision", "context_recall",
        "noise_sensitivity", "citation_precision", "citation_recall", "answer_relevance", "abstention", "right_refusals",
        "wrong_refusals", "exact_match", "token_f1", "rouge_l", "correctness", "rubric",
        "nugget_recall",
    }  # fmt: skip


@pytest.mark.parametrize("name", [name for name in OURS if name != "rubric"])  # which needs a file
def test_a_sample_without_what_a_measure_needs_has_no_value_but_a_reason(name):
    spec = REGISTRY[name]
    assert spec.needs
    status, reason = value(name, answer=None)
    assert status in {"missing", "not_applicable"}
    assert reason


def test_measures_of_answers_and_of_rankings_do_not_mix():
    with pytest.raises(
        assay.UsageError, match="faithfulness is a measure of answers, not of rankings: use assay answers"
    ):
        assay.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, ["faithfulness"])
    with pytest.raises(assay.UsageError, match="ndcg@10 is a measure of rankings, not of answers: use assay evaluate"):
        assay.answers([{"answer": "x"}], ["ndcg@10"])
    with pytest.raises(assay.UsageError, match="correctness needs a judge"):
        assay.answers([{"answer": "x", "reference": "y"}], ["correctness"])
    with pytest.raises(assay.UsageError, match="expected one of"):
        assay.answers([{"answer": "x"}], ["faithfulness(method='magic')"])


def test_a_measure_may_name_its_own_method():
    rows = [{"answer": TEA, "contexts": [TEA]}]
    asked = ["faithfulness", "faithfulness(method='words')"]
    found = assay.answers(rows, asked, method="embedding", embedder=lambda t: [[1.0]] * len(t))
    assert found.definitions == {
        "faithfulness": "faithfulness(method='embedding')",
        "faithfulness(method='words')": "faithfulness(method='words')",
    }


# Which method judges ---------------------------------------------------------------------------------------------


def one_way(texts):
    return [[1.0, 0.0]] * len(texts)


@pytest.mark.parametrize(("options", "judged"), [
    ({}, "words"),
    ({"method": "auto"}, "words"),
    ({"method": "s4"}, "embedding"),
    ({"method": "embedding"}, "embedding"),
    ({"protocol": "chunking"}, "embedding"),
    ({"protocol": "chunking", "method": "auto"}, "words"),
])  # fmt: skip
def test_words_come_before_embeddings_unless_the_method_or_the_protocol_says_otherwise(options, judged):
    rows = [{"answer": TEA, "contexts": [TEA]}]
    found = assay.answers(rows, ["faithfulness"], embedder=one_way, **options)
    assert found.definitions == {"faithfulness": f"faithfulness(method='{judged}')"}
    assert found.methods == {judged: 1}


def test_the_order_of_methods_is_the_order_of_their_agreement_with_people():
    words = FIGURES["words"]
    for name, figures in FIGURES.items():
        if name.startswith("embedding"):
            assert words.rho > figures.rho
            assert words.mtrag > figures.mtrag
            assert words.begin > figures.begin
            assert words.summedits > figures.summedits
    assert ORDERS == {"auto": ("llm", "words", "embedding"), "s4": ("llm", "embedding", "words")}


@pytest.mark.parametrize("wrong", [{"method": "overlap"}, {"text_lang": "de"}])
def test_a_method_or_a_language_that_does_not_exist_is_refused_before_anything_is_judged(wrong):
    with pytest.raises(assay.UsageError, match="expected one of"):
        assay.answers([{"answer": TEA, "contexts": [TEA]}], ["faithfulness"], **wrong)


def test_no_embeddings_are_loaded_while_words_judge(monkeypatch):
    def loaded(*_):
        raise AssertionError("embeddings were chosen")

    monkeypatch.setattr("assay.text.embeddings.choose_embedder", loaded)
    found = assay.answers([{"answer": TEA, "contexts": [TEA], "question": "Tea?"}])
    assert found.methods == {"words": 1}
    assert not any("embeddings" in note for note in found.notes)


def test_an_embedder_that_is_named_beside_auto_is_told_to_wait_for_words():
    found = assay.answers([{"answer": TEA, "contexts": [TEA]}], ["faithfulness"], embedder=one_way)
    assert any("embeddings (one_way) judge only what words cannot" in note for note in found.notes)
    asked = assay.answers([{"answer": TEA, "contexts": [TEA]}], ["faithfulness"], embedder=one_way, method="s4")
    assert not any("judge only what words cannot" in note for note in asked.notes)


def test_what_words_cannot_judge_is_passed_on_to_embeddings_that_are_there(monkeypatch):
    monkeypatch.setattr("assay.grounding.preparing._LARGEST", 0)
    found = assay.answers([{"answer": TEA, "contexts": [TEA]}], ["faithfulness"], embedder=one_way)
    (outcome,) = found.outcomes
    assert [reason.partition(":")[0] for reason in outcome.trail] == ["words", "embedding"]
    assert outcome.cells["faithfulness"].status == "failed"
    assert any("1 sample could not be judged" in text for text in found.warnings)


@pytest.mark.parametrize(("lines", "told"), [
    ('method = "s5"\n[measures]\nx = "ndcg@5"\n', "method = 's5': expected one of auto, s4, llm, embedding, words"),
    ('answers = 3\n[measures]\nx = "ndcg@5"\n', "answers must be a table"),
    ('[measures]\nx = "ndcg@5"\n[answers]\ny = "ndcg@5"\n', "answers: y is a measure of rankings"),
    ('[measures]\nx = "ndcg@5"\n[answers]\nx = "faithfulness"\n', r"answers: x is also under \[measures\]"),
])  # fmt: skip
def test_a_protocol_keeps_measures_of_answers_apart_from_those_of_rankings(lines, told):
    with pytest.raises(assay.InputError, match=told):
        read_protocol('name = "mine"\n' + lines, "mine.toml")


def test_a_protocol_with_both_sides_serves_rankings_and_answers():
    ranked = assay.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, protocol="chunking")
    assert "faithfulness" not in ranked.labels
    rows = [{"answer": TEA, "contexts": [TEA]}]
    found = assay.answers(rows, protocol="chunking", embedder=one_way)
    assert found.labels == ("faithfulness", "hallucination_rate", "context_utilisation")
    assert found.protocol.primary == "faithfulness"
