"""Support: what follows from the contexts, what does not and why, and that every sample ends in a status."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from assay.data.samples import Context, Sample
from assay.data.status import STATUSES
from assay.errors import UnknownName
from assay.formats.samples import as_samples, read_samples
from assay.grounding import support_of
from assay.grounding.embedding import sigmoid
from assay.grounding.recipes import sigmoid_of_similarity, verbatim_share, word_overlap
from assay.grounding.words import by_words

ROOT = Path(__file__).parents[2]


def sample(answer, *contexts, question=None, **more) -> Sample:
    return Sample("q", question, answer, tuple(Context(text) for text in contexts), **more)


def judged(answer, *contexts, question=None):
    """The only statement of an answer."""
    (found,) = by_words(sample(answer, *contexts, question=question)).statements
    return found


RIVER = (
    "The Snake River is 1,078 miles long. It begins in Yellowstone National Park in Wyoming and joins the Columbia River. "
    "Dams have not stopped salmon from returning, but their number decreased after 1960. Lewis followed Clark to the coast. "
    "The upper river is cold in January. All visitors pay before they enter."
)
HAN = "黑豹队的防守只丢了308分，在联赛中排名第六。卡万·肖特领先全队。球队没有输掉主场比赛，收入增加了三成。比赛在2015年1月举行。"


@pytest.mark.parametrize("text", [RIVER, HAN])
def test_a_text_supports_itself(text):
    found = by_words(sample(text, text))
    assert [part.support for part in found.statements] == [1.0] * len(found.statements)
    assert found.value == 1.0
    assert not any(part.reasons for part in found.statements)


CHANGES = {
    "a number": ("The Snake River is 1,178 miles long.", RIVER, "number"),
    "a year": ("Dams have not stopped salmon from returning, but their number decreased after 1980.", RIVER, "number"),
    "a name": ("It begins in Glacier National Park in Montana and joins the Columbia River.", RIVER, "name"),
    "a negation added": ("The Snake River is not 1,078 miles long.", RIVER, "negation"),
    "a negation dropped": (
        "Dams have stopped salmon from returning, but their number decreased after 1960.",
        RIVER,
        "negation",
    ),
    "an opposite": (
        "Dams have not stopped salmon from returning, but their number increased after 1960.",
        RIVER,
        "opposite",
    ),
    "an opposite by prefix": (
        "The method is inefficient and robust in practice.",
        "The method is efficient and robust in practice.",
        "opposite",
    ),
    "an opposite function word": ("All visitors pay after they enter.", RIVER, "opposite"),
    "an order": ("Clark followed Lewis to the coast.", RIVER, "order"),
    "a month": ("The upper river is cold in July.", RIVER, "name"),
    "a Chinese number": ("黑豹队的防守只丢了358分，在联赛中排名第六。", HAN, "number"),
    "a Chinese negation added": ("黑豹队的防守没有只丢了308分，在联赛中排名第六。", HAN, "negation"),
    "a Chinese negation dropped": ("球队输掉主场比赛，收入增加了三成。", HAN, "negation"),
    "a Chinese opposite": ("球队没有输掉主场比赛，收入减少了三成。", HAN, "opposite"),
    "a Chinese share": ("球队没有输掉主场比赛，收入增加了四成。", HAN, "number"),
    "a Chinese year": ("比赛在2013年1月举行。", HAN, "number"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_lowers_support_and_is_named(change):
    answer, context, conflict = CHANGES[change]
    found = judged(answer, context)
    assert found.support < 0.85
    assert conflict in {reason.conflict for reason in found.reasons}
    assert all(0 <= reason.factor < 1 for reason in found.reasons)


def test_a_chinese_name_that_the_context_lacks_lowers_support():
    assert judged("马里奥·爱迪生领先全队。", HAN).support < 0.7


PARAPHRASES = {
    "synonyms": ("The company purchased a big automobile.", "The firm bought a large car."),
    "numbers in words": ("It cost three thousand dollars.", "It cost $3,000 dollars."),
    "a Chinese number": ("共有三千名游客。", "共有3000名游客。"),
    "a passive": ("The letter was written by Anna.", "Anna wrote the letter."),
    "a family of words": ("The board gave its confirmation of the report.", "The board will confirm the report."),
}


@pytest.mark.parametrize("kind", PARAPHRASES)
def test_a_paraphrase_keeps_support(kind):
    answer, context = PARAPHRASES[kind]
    found = judged(answer, context)
    assert found.support > 0.6
    assert not found.reasons


def test_a_denied_word_agrees_with_its_opposite():
    context = "The first method is inefficient, but many people like it."
    assert not judged("The first method is not efficient, but many people like it.", context).reasons
    (reason,) = judged("The first method is efficient, but many people like it.", context).reasons
    assert reason.conflict == "opposite"


def test_what_the_contexts_do_not_mention_has_no_support():
    assert judged("Quantum chromodynamics describes gluons.", RIVER).support < 0.2


def test_names_that_the_question_gave_are_no_news():
    answer = "The river near Portland is cold in January."
    assert "name" in {reason.conflict for reason in judged(answer, RIVER).reasons}
    assert "name" not in {reason.conflict for reason in judged(answer, RIVER, question="And near Portland?").reasons}


def test_offsets_give_back_the_texts():
    answer = "  The upper river is cold.\n- It begins in Wyoming!  Sorry. 收入增加了三成。"
    found = by_words(sample(answer, RIVER, HAN))
    assert len(found.statements) == 4
    for part in found.statements:
        assert answer[part.start : part.end] == part.text == part.text.strip()
        if part.evidence:
            place = part.evidence
            assert (RIVER, HAN)[place.context][place.start : place.end] == place.text
    assert found.statements[1].evidence.text.startswith("It begins in Yellowstone")
    assert found.statements[3].evidence.context == 1


def test_evidence_knows_the_id_of_its_context():
    contexts = (Context("Nothing here.", "d1"), Context("Tea is green.", "d2"))
    (part,) = by_words(Sample("q", None, "Tea is green.", contexts)).statements
    assert (part.evidence.context, part.evidence.id) == (1, "d2")


def test_the_value_is_the_mean_of_the_claims_by_their_weights():
    found = by_words(sample("Tea is green. Quantum gluons oscillate wildly.", "Tea is green."))
    one, other = found.statements
    assert one.support == 1.0 and other.support < 0.2
    assert found.value == pytest.approx(
        (one.weight * one.support + other.weight * other.support) / (one.weight + other.weight)
    )
    assert found.weakest is other


def test_refusals_and_courtesies_inside_an_answer_do_not_count():
    found = by_words(sample("You're welcome! The documents do not mention prices. Tea is green.", "Tea is green."))
    assert [part.kind for part in found.statements] == ["courtesy", "refusal", "claim"]
    assert [part.support for part in found.statements] == [None, None, 1.0]
    assert found.value == 1.0


def nested(depth: int) -> list:
    return [] if depth == 0 else [nested(depth - 1)]


LONG = "The river is long and the salmon return. " * 25_000
BAD = {
    "null answer": ({"answer": None, "contexts": ["x y"]}, "missing", "no answer"),
    "empty answer": ({"answer": "", "contexts": ["x y"]}, "missing", "empty"),
    "blank answer": ({"answer": " \n\t ", "contexts": ["x y"]}, "missing", "empty"),
    "absent answer": ({"contexts": ["x y"]}, "missing", "no answer"),
    "answer is a list": ({"answer": ["a", "b"], "contexts": ["x"]}, "failed", "answer: expected a text, found a list"),
    "answer is an object": (
        {"answer": {"x": 1}, "contexts": ["x"]},
        "failed",
        "answer: expected a text, found an object",
    ),
    "answer is a number": ({"answer": 42, "contexts": ["It is 42."]}, "scored", ""),
    "answer is not a number": ({"answer": float("nan"), "contexts": ["x"]}, "missing", "no answer"),
    "answer is a truth value": ({"answer": True, "contexts": ["x"]}, "failed", "answer: expected a text"),
    "answer of punctuation": ({"answer": "?!... —", "contexts": ["x"]}, "undefined", "no words"),
    "answer of emoji": ({"answer": "😀😀🎉", "contexts": ["x"]}, "undefined", "no words"),
    "answer of control signs": ({"answer": "\x00\x01\u200b\ufeff", "contexts": ["x"]}, "undefined", "no words"),
    "a lone surrogate": ({"answer": "Tea \ud800 is green.", "contexts": ["Tea \udfff is green."]}, "scored", ""),
    "no contexts": ({"answer": "Tea is green.", "contexts": []}, "scored", "no contexts"),
    "no contexts and a refusal": ({"answer": "I do not know.", "contexts": []}, "abstained", "refuses"),
    "a refusal": ({"answer": "文档中没有提到相关信息。", "contexts": ["茶"]}, "abstained", "refuses"),
    "only courtesies": (
        {"answer": "You're welcome! Feel free to ask.", "contexts": ["x"]},
        "not_applicable",
        "claims nothing",
    ),
    "null contexts": ({"answer": "Tea is green.", "contexts": None}, "not_applicable", "does not say which contexts"),
    "contexts is a text": ({"answer": "Tea is green.", "contexts": "Tea is green."}, "scored", ""),
    "contexts is an object": ({"answer": "Tea is green.", "contexts": {"d1": "Tea is green."}}, "scored", ""),
    "contexts is a number": (
        {"answer": "Tea is green.", "contexts": 3},
        "failed",
        "contexts: expected a list of texts, found a number",
    ),
    "contexts without text": (
        {"answer": "Tea is green.", "contexts": [{"id": 1}]},
        "failed",
        "contexts: a context has no text",
    ),
    "empty contexts": (
        {"answer": "Tea is green.", "contexts": ["", "  ", "..."]},
        "scored",
        "the contexts have no words",
    ),
    "nulls among contexts": ({"answer": "Tea is green.", "contexts": [None, "Tea is green."]}, "scored", ""),
    "nested contexts": ({"answer": "Tea is green.", "contexts": [["Tea is green."], []]}, "scored", ""),
    "a megabyte of answer": ({"answer": LONG, "contexts": ["The river is long."]}, "scored", ""),
    "a megabyte without a stop": ({"answer": "river " * 160_000, "contexts": ["The river is long."]}, "scored", ""),
    "a megabyte of one letter": ({"answer": "x" * 1_000_000, "contexts": ["The river is long."]}, "scored", ""),
    "a megabyte of context": ({"answer": "The river is long.", "contexts": [LONG]}, "scored", ""),
    "megabytes of both": ({"answer": LONG, "contexts": [LONG]}, "failed", "too long: 25,000 statements"),
    "HTML": ({"answer": "<p>Tea is <b>green</b>.</p>", "contexts": ["<div>Tea is green.</div>"]}, "scored", ""),
    "mixed scripts": ({"answer": "Tea 茶 чай is green 绿色。", "contexts": ["茶 tea чай green 绿色"]}, "scored", ""),
    "right to left": ({"answer": "الشاي أخضر.", "contexts": ["الشاي أخضر."]}, "scored", ""),
    "code": ({"answer": "```python\nprint('tea')\n```", "contexts": ["print('tea')"]}, "scored", ""),
}


@pytest.mark.parametrize("kind", BAD)
def test_every_kind_of_bad_sample_ends_in_a_status_with_a_reason(kind):
    row, status, reason = BAD[kind]
    (found,) = support_of(as_samples([row, {"answer": "fine"}]).rows[:1])
    assert found.status == status
    assert found.status in STATUSES
    assert reason in found.reason
    assert bool(found.reason) == bool(reason)
    assert (found.value is None) == (status != "scored")
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert "NaN" not in text


def test_there_are_many_kinds_of_bad_samples():
    assert len(BAD) >= 25


def test_no_contexts_means_no_support():
    found = by_words(sample("Tea is green."))
    assert (found.value, found.reason) == (0.0, "there are no contexts")
    assert found.statements[0].evidence is None


texts = st.text(alphabet="ab tea not 3.5%,。不是茶绿色\nA?!'", max_size=60) | st.text(max_size=40)


@given(texts, st.lists(texts, max_size=3))
def test_support_is_a_share_whatever_the_text(answer, contexts):
    found = by_words(sample(answer, *contexts))
    assert found.status in STATUSES
    for part in found.statements:
        assert answer[part.start : part.end] == part.text
        assert part.support is None or 0 <= part.support <= 1
        assert part.weight > 0
    assert found.value is None or 0 <= found.value <= 1


@given(texts)
def test_an_answer_that_stands_in_the_context_is_supported(answer):
    found = by_words(sample(answer, f"{answer}"))
    assert found.value is None or found.value == pytest.approx(1)


CODE = """
import json, sys
from assay.formats.samples import as_samples
from assay.grounding import support_of
rows = json.loads(sys.stdin.read())
print(json.dumps([record.to_dict() for record in support_of(as_samples(rows))], ensure_ascii=True))
"""


def test_the_same_input_gives_the_same_bytes_in_any_process():
    answers = [answer for answer, _, _ in CHANGES.values()] + [RIVER, HAN]
    rows = json.dumps([{"id": i, "answer": answer, "contexts": [RIVER, HAN]} for i, answer in enumerate(answers)])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            input=rows,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())) == len(answers)


def test_an_unknown_method_is_refused():
    with pytest.raises(UnknownName, match="unknown method 'wrods'; did you mean words"):
        support_of([], "wrods")


def test_the_segmenter_is_noted_for_chinese_answers_only():
    assert by_words(sample("茶是绿色的。", "茶是绿色的。")).notes[0].startswith("Chinese text is split into words by ")
    assert by_words(sample("Tea is green.", "Tea is green.")).notes == ()


# Embeddings ----------------------------------------------------------------------------------------------------------

AXES = ("tea", "river", "green", "long", "cold", "moon")


def toy(texts):
    """One axis per known word."""
    return np.array([[float(word in text.lower()) for word in AXES] + [0.01] for text in texts])


def test_embeddings_find_the_nearest_sentence():
    found = support_of(
        [sample("Tea is green.", "The river is long. Green tea!", "The moon.")], "embedding", embedder=toy
    )[0]
    (part,) = found.statements
    assert part.evidence.text == "Green tea!"
    assert part.support == pytest.approx(sigmoid(1.0), abs=1e-3)
    assert found.notes == ("embeddings: toy, as asked",)


def test_embeddings_are_checked_for_conflicts_too():
    true, edited = (
        support_of([sample(text, "Tea is green after 3,000 years of cold.")], "embedding", embedder=toy)[0].value
        for text in ("Tea is green after 3,000 years of cold.", "Tea is green after 5,000 years of cold.")
    )
    assert edited == pytest.approx(true / 2)


def test_statuses_do_not_depend_on_the_method():
    rows = [row for row, _, _ in BAD.values() if len(str(row)) < 1000]
    samples = as_samples([{**row, "id": i} for i, row in enumerate([*rows, {"answer": "fine", "contexts": ["x"]}])])
    words, meaning = support_of(samples, "words"), support_of(samples, "embedding", embedder=toy)
    assert [(one.status, one.reason) for one in words] == [(other.status, other.reason) for other in meaning]
    assert [part.text for one in words for part in one.statements] == [
        part.text for one in meaning for part in one.statements
    ]


def test_a_sample_whose_text_has_no_vector_fails_alone():
    def broken(texts):
        return [[float("nan")] if "moon" in text else [1.0] for text in texts]

    one, other = support_of(
        [sample("The moon is cold.", "A river."), sample("Tea is green.", "A river.")], "embedding", embedder=broken
    )
    assert (one.status, one.reason, one.value) == ("failed", "embedding: the vector is not finite", None)
    assert other.status == "scored"


def test_the_sigmoid_never_overflows():
    assert sigmoid(0.5) == 0.5
    assert sigmoid(1e9) == 1.0 and sigmoid(-1e9) == 0.0
    assert sigmoid(0.7) == pytest.approx(1 / (1 + math.exp(-2)))
    assert sigmoid(0.3, slope=1, midpoint=0) == pytest.approx(1 / (1 + math.exp(-0.3)))


# Recipes -------------------------------------------------------------------------------------------------------------


def test_plain_word_overlap_by_hand():
    assert word_overlap("The green tea is not cold", ["Green tea grows."]) == pytest.approx(2 / 3)
    assert word_overlap("the of", ["x"]) is None
    assert word_overlap("绿茶", ["绿茶很好"]) == 1.0
    assert word_overlap("tea", []) == 0.0


def test_the_sigmoid_recipe_by_hand():
    answer, contexts = "Tea is green. The moon is cold.", ["Green tea.", "A cold river."]
    vectors = toy(["Tea is green.", "The moon is cold.", *contexts])
    unit = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    mean = np.mean([max(row @ other for other in unit[2:]) for row in unit[:2]])
    assert sigmoid_of_similarity(answer, contexts, embedder=toy) == pytest.approx(
        1 / (1 + math.exp(-10 * (mean - 0.5))), abs=1e-6
    )
    literal = sigmoid_of_similarity(answer, contexts, embedder=toy, slope=1, midpoint=0)
    assert literal == pytest.approx(1 / (1 + math.exp(-mean)), abs=1e-6)
    assert sigmoid_of_similarity("", contexts, embedder=toy) is None


def test_containment_by_hand():
    assert verbatim_share("Tea is green. It is hot.", ["I say: Tea is green. Yes."]) == 0.5
    assert verbatim_share(" ", ["x"]) is None


# Agreement with people -----------------------------------------------------------------------------------------------


def load(name: str):
    """A module of the folder of benchmarks."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def test_words_agree_with_people_on_rag_answers(shared):
    data = load("support_quality").mtrag(shared)
    values = np.array([np.nan if found.value is None else found.value for found in support_of(data.samples)])
    plain = np.array([word_overlap(s.answer, [c.text for c in s.contexts]) or 0.0 for s in data.samples])
    from scipy.stats import spearmanr

    for rows, ours in (
        (~np.isnan(values), values),
        (np.full(len(values), fill_value=True), np.where(np.isnan(values), plain, values)),
    ):
        rho, auroc = spearmanr(ours[rows], data.human[rows]).statistic, roc_auc_score(data.human[rows] >= 3, ours[rows])
        assert rho > 0.64 and auroc > 0.94
        assert rho >= spearmanr(plain[rows], data.human[rows]).statistic
        assert auroc >= roc_auc_score(data.human[rows] >= 3, plain[rows])


@pytest.mark.parametrize(("name", "least"), [("begin", 0.95), ("summedits", None)])
def test_words_tell_supported_texts_from_others(shared, name, least):
    module = load("support_quality")
    data = module.begin(shared) if name == "begin" else module.summedits(shared, "samsum", "scitldr")
    values = [found.value for found in support_of(data.samples)]
    kept = [i for i, value in enumerate(values) if value is not None]
    plain = [word_overlap(data.samples[i].answer, [data.samples[i].contexts[0].text]) for i in kept]
    auroc = roc_auc_score(data.human[kept] >= 0.5, [values[i] for i in kept])
    assert auroc > (least or 0.1 + roc_auc_score(data.human[kept] >= 0.5, plain))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_see_a_changed_number_name_negation_or_date(shared, language, stress):
    edits = load("edits").make_edits(shared / "xquad", language, count=500 if stress else 120)
    values = [by_words(sample(edit.sentence, edit.passage)).value for edit in edits]
    assert all(value == 1.0 for value, edit in zip(values, edits, strict=True) if edit.is_true)
    assert roc_auc_score([edit.is_true for edit in edits], values) > 0.85


def test_real_answers_are_judged_without_a_fault(shared):
    found = support_of(read_samples(shared / "mtrag" / "dev.jsonl"))
    assert {record.status for record in found} <= set(STATUSES)
    assert all(record.reason for record in found if record.status != "scored")
