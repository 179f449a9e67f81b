"""`assay answers`: bad samples end in a status with a reason; files for other commands; the same bytes twice."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.analysis.warnings import agreement
from assay.report.tables import width
from assay.testing import seal_of
from assay.text.static import wordllama_folder
from commands import run_assay

TEA = "Green tea is made in Japan."
CAT = "Cats sleep for sixteen hours."


def row(**more):
    return {"question": "Where is green tea made?", "answer": TEA, "contexts": [TEA, CAT], "reference": "Japan", **more}


# name: the sample, then the status of its faithfulness and a part of the reason
BAD = {
    "empty answer": (row(answer=""), "missing", "the answer is empty"),
    "blank answer": (row(answer=" \n\t\u3000"), "missing", "the answer is empty"),
    "null answer": (row(answer=None), "missing", "there is no answer"),
    "answer as a number": (row(answer=42), "scored", ""),
    "answer as a list": (row(answer=["a", "b"]), "failed", "answer: expected a text, found a list"),
    "answer as an object": (row(answer={"score": 1}), "failed", "answer: expected a text, found an object"),
    "answer as true": (row(answer=True), "failed", "answer: expected a text, found true or false"),
    "answer of punctuation": (row(answer="?!... --- !!!"), "undefined", "the answer has no words"),
    "answer of emoji": (row(answer="🎉🎉👍🏽"), "undefined", "the answer has no words"),
    "answer that refuses": (row(answer="I don't know."), "abstained", "the answer refuses"),
    "answer that only thanks": (row(answer="You're welcome!"), "not_applicable", "the answer claims nothing"),
    "answer of one megabyte": (row(answer=(TEA + " ") * 37_000), "scored", ""),
    "answer of one endless word": (row(answer="x" * 1_000_000), "scored", ""),
    "answer in mixed scripts": (row(answer="Green tea 绿茶 is made in 日本 Япония اليابان."), "scored", ""),
    "answer of HTML": (row(answer="<p>Green tea is made in <b>Japan</b>.</p><script>alert(1)</script>"), "scored", ""),
    "answer with control characters": (row(answer="Green\x00 tea \x1b[31mis made\x07 in Japan."), "scored", ""),
    "answer with a lone surrogate": (row(answer="Green tea \ud83d is made in Japan."), "scored", ""),
    "no column for contexts": ({"question": "q", "answer": TEA}, "not_applicable", "does not say which contexts"),
    "null contexts": (row(contexts=None), "not_applicable", "does not say which contexts"),
    "empty contexts": (row(contexts=[]), "scored", "there are no contexts"),
    "contexts of blanks": (row(contexts=["", " "]), "scored", "the contexts have no words"),
    "contexts with nulls": (row(contexts=[None, TEA, None]), "scored", ""),
    "contexts as one text": (row(contexts=TEA), "scored", ""),
    "contexts as an object": (row(contexts={"d1": TEA, "d2": CAT}), "scored", ""),
    "contexts as objects": (row(contexts=[{"id": "d1", "text": TEA}]), "scored", ""),
    "contexts without texts": (row(contexts=[{"id": "d1"}]), "failed", "contexts: a context has no text"),
    "contexts as a number": (row(contexts=7), "failed", "contexts: expected a list of texts, found a number"),
    "contexts within lists": (row(contexts=[[TEA], [CAT]]), "scored", ""),
    "contexts of one megabyte": (row(contexts=[(CAT + " ") * 34_000 + TEA]), "scored", ""),
    "null question": (row(question=None), "scored", ""),
    "question as a number": (row(question=7), "scored", ""),
    "null reference": (row(reference=None), "scored", ""),
    "reference as an object": (row(reference={"x": 1}), "scored", ""),
    "empty reference": (row(reference=""), "scored", ""),
    "gold ids as a number": (row(gold_ids=7), "scored", ""),
    "not a number": (row(answer=math.nan), "missing", "there is no answer"),
}  # fmt: skip


def no_nan(text: str) -> None:
    def refuse(name):
        raise AssertionError(f"{name} in the output")

    for line in text.splitlines() if text.lstrip().startswith('{"query_id"') else [text]:
        json.loads(line, parse_constant=refuse)


METHODS = ["words"] if wordllama_folder() is None else ["words", "embedding"]
KINDS = [(name, method) for name in BAD for method in METHODS if method == "words" or "mega" not in name]


@pytest.mark.parametrize(("name", "method"), KINDS)
def test_every_bad_sample_ends_in_a_status_with_a_reason(name, method):
    sample, status, reason = BAD[name]
    found = assay.answers([sample], method=method)
    for outcome in found.outcomes:
        for cell in outcome.cells.values():
            assert (cell.value is None) == (cell.status != "scored")
            assert cell.reason if cell.status != "scored" else math.isfinite(cell.value)
    if "faithfulness" not in found.labels:  # no sample has contexts, so it is not computed unless asked for
        found = assay.answers([sample], ["faithfulness"], method=method)
    (outcome,) = found.outcomes
    assert outcome.cells["faithfulness"].status == status
    assert reason in (outcome.cells["faithfulness"].reason or outcome.support.reason)


def test_there_are_at_least_twenty_five_kinds_of_bad_samples():
    assert len(BAD) >= 25


def write(folder, samples, name="samples.jsonl"):
    lines = (json.dumps({"id": f"s{i:02}", **sample}) for i, sample in enumerate(samples))
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(folder, *arguments, code=0):
    done = run_assay(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def test_a_file_of_bad_samples_gives_files_without_nan_and_the_same_bytes_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write(tmp_path, [sample for sample, _, _ in BAD.values() if len(str(sample)) < 10_000])
    command = ("answers", "samples.jsonl", "-o", "result.json", "--per-sample", "evidence.jsonl")
    first = run(tmp_path, *command)
    one = [(tmp_path / name).read_bytes() for name in ("result.json", "evidence.jsonl")]
    run(tmp_path, *command)
    assert one == [(tmp_path / name).read_bytes() for name in ("result.json", "evidence.jsonl")]
    for data in one:
        no_nan(data.decode())
    assert "Traceback" not in first.stderr
    for kind in ("table", "markdown", "latex", "csv"):
        assert "nan" not in run(tmp_path, "answers", "samples.jsonl", "--format", kind).stdout.lower().split()


SAMPLES = [
    row(),
    row(answer=f"{TEA} Elephants dance tango."),
    row(answer="I don't know."),
    row(answer="I don't know.", contexts=[CAT]),
    row(answer="Elephants dance tango.", contexts=[CAT]),
    row(answer=CAT, reference=TEA),
    row(question="绿茶产自哪里？", answer="绿茶产自日本。", contexts=["绿茶产自日本。"], reference="日本"),
]
STAGES = [
    "fine", "used but not supported", "wrong refusal", "right refusal", "not retrieved", "retrieved but not used", "fine",
]  # fmt: skip


def test_the_result_file_has_the_agreed_shape(tmp_path):
    write(tmp_path, SAMPLES)
    run(tmp_path, "answers", "system=samples.jsonl", "--method", "words", "-o", "result.json")
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (result["schema"], result["systems"][0]["name"]) == (2, "system")
    part = result["answers"]
    assert [sample["stage"] for sample in part["samples"]] == STAGES
    assert part["methods"] == {"words": 7}
    assert part["agreement"]["words"]["text"].startswith("words: Spearman")
    assert part["columns"]["query_id"] == "id"
    second = part["samples"][1]
    assert second["sample"]["contexts"] == [{"text": TEA, "id": None}, {"text": CAT, "id": None}]
    good, bad = second["support"]["statements"]
    assert (good["support"], good["evidence"]["context"], good["evidence"]["text"]) == (1.0, 0, TEA)
    assert second["sample"]["answer"][bad["start"] : bad["end"]] == "Elephants dance tango."
    assert second["cells"]["faithfulness"]["method"] == "words"
    assert result["systems"][0]["definitions"]["faithfulness"] == "faithfulness(method='words')"
    assert result["systems"][0]["counts"]["faithfulness"]["abstained"] == 2


def test_other_commands_read_the_result_file(tmp_path):
    write(tmp_path, SAMPLES)
    worse = [{**sample, "answer": "Elephants dance tango."} for sample in SAMPLES]
    write(tmp_path, worse, "worse.jsonl")
    for name in ("samples", "worse"):
        run(tmp_path, "answers", f"{name}.jsonl", "--method", "words", "-o", f"{name}.json")
    text = run(
        tmp_path, "compare", "samples.json", "worse.json", "-m", "faithfulness", "-m", "hallucination_rate"
    ).stdout
    assert "faithfulness: compared over the 5 of 7 samples for which every system has a value" in " ".join(text.split())
    found = json.loads(
        run(tmp_path, "compare", "samples.json", "worse.json", "-m", "faithfulness", "--format", "json").stdout
    )
    (contrast,) = found["comparison"]["contrasts"]
    # of the five that both answer: 1, .5 by weight of two claims ..., 0, 1, 1 against 0
    assert contrast["improves"] is False
    assert contrast["difference"]["estimate"] < -0.5
    diagnosis = run(tmp_path, "diagnose", "samples.json").stdout
    assert "Where answers go wrong" in diagnosis
    assert "wrong refusal" in diagnosis
    assert "Elephants dance tango." in diagnosis
    assert "提示词过于严格" in run(tmp_path, "diagnose", "samples.json", "--lang", "zh").stdout
    json.loads(run(tmp_path, "diagnose", "samples.json", "--format", "json").stdout)
    run(tmp_path, "gate", "samples.json", "--fail-under", "faithfulness=0.5")
    run(tmp_path, "gate", "worse.json", "--fail-under", "faithfulness=0.5", code=1)
    run(tmp_path, "gate", "worse.json", "--fail-over", "hallucination_rate=0.5", code=1)
    run(tmp_path, "gate", "worse.json", "--not-worse-than", "samples.json", "-m", "faithfulness", code=1)


def test_values_of_different_methods_or_judges_are_not_compared(tmp_path):
    one = assay.answers(SAMPLES[:2], ["faithfulness"], method="words", name="one")
    rows = [{**sample, "id": str(i + 1)} for i, sample in enumerate(SAMPLES[:2])]
    other = assay.answers(
        rows, ["faithfulness"], method="embedding", embedder=lambda texts: [[1.0]] * len(texts), name="other"
    )
    with pytest.raises(assay.NotComparable, match="these are different measures"):
        assay.compare([one, other], ["faithfulness"])

    def yes(messages):
        verdicts = {
            "1": {"reason": "", "verdict": "yes", "contexts": [1]},
            "2": {"reason": "", "verdict": "no", "contexts": []},
        }
        return json.dumps({"seal": seal_of(messages), **verdicts})

    english = assay.answers(rows[1:], ["faithfulness"], judge=yes, name="english")
    chinese = assay.answers(rows[1:], ["faithfulness"], judge=yes, name="chinese", text_lang="zh")
    with pytest.raises(assay.NotComparable, match="was judged by"):
        assay.compare([english, chinese], ["faithfulness"])


def test_means_of_a_result_file_are_those_of_the_samples(tmp_path):
    write(tmp_path, SAMPLES)
    run(
        tmp_path, "answers", "samples.jsonl", "--method", "words", "-o", "result.json", "--per-sample", "evidence.jsonl"
    )
    (scores,) = assay.read_result(tmp_path / "result.json")
    lines = [json.loads(line) for line in (tmp_path / "evidence.jsonl").read_text(encoding="utf-8").splitlines()]
    values = [line["scores"]["faithfulness"]["value"] for line in lines]
    known = [value for value in values if value is not None]
    assert scores["faithfulness"] == pytest.approx(math.fsum(known) / len(known))
    assert scores["faithfulness"] == assay.answers(SAMPLES, ["faithfulness"], method="words")["faithfulness"]


def test_tables_of_other_tools_are_read_and_the_mapping_is_printed(tmp_path):
    frame = pl.DataFrame(
        {"user_input": ["q"], "response": [TEA], "retrieved_contexts": [json.dumps([TEA])], "mine": ["Japan"]}
    )
    frame.write_csv(tmp_path / "ragas.csv")
    done = run(tmp_path, "answers", "ragas.csv", "--map", "reference=mine")
    assert (
        "columns: question = user_input, answer = response, contexts = retrieved_contexts, reference = mine"
        in done.stdout
    )
    assert "left out, because no sample has what they need: citation_precision ([1] marks)" in done.stdout
    assert run(tmp_path, "answers", "ragas.csv", "--map", "nonsense", code=2).stderr.startswith(
        "assay: --map nonsense: expected"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "llm"), "the method llm needs a judge"),
        (("--dry-run",), "--dry-run has no effect without a judge"),
        (("--max-cost", "1"), "--max-cost has no effect without a judge"),
        (("--judge", "m"), "where does m run? Give its address with --url"),
        (("--judge", "m", "--url", "http://127.0.0.1:1/v1", "--method", "words"), "--judge has no effect with --method words"),
        (("--per-sample", "x.csv"), "expected a file that ends in .jsonl"),
        (("--per-sample", "nowhere/x.jsonl"), "there is no such folder"),
        (("-m", "faithfullness"), "did you mean faithfulness"),
        (("-m", "recall@5"), "is a measure of rankings"),
        (("--embedder", "word2vec"), "unknown embedder"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_with_a_hint(tmp_path, arguments, message):
    write(tmp_path, SAMPLES)
    done = run(tmp_path, "answers", "samples.jsonl", *arguments, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


README = [
    {
        "user_input": "How hot should water for sencha be?",
        "response": "Sencha wants water of 70 degrees [1]. It is grown in Peru [2].",
        "retrieved_contexts": ["Sencha wants water of about 70 degrees Celsius.", "Sencha is grown in Japan."],
        "reference": "About 70 degrees.",
    },
    {
        "user_input": "Who wrote Faust?",
        "response": "The context does not say.",
        "retrieved_contexts": ["Faust is a tragic play by Johann Wolfgang von Goethe."],
        "reference": "Johann Wolfgang von Goethe",
    },
    {
        "user_input": "绿茶用多少度的水？",
        "response": "绿茶宜用九十度的水冲泡。",
        "retrieved_contexts": ["绿茶宜用八十度左右的水冲泡。"],
        "reference": "八十度",
    },
    {
        "user_input": "When did the bridge open?",
        "response": "The bridge opened in 1932.",
        "retrieved_contexts": ["The tower opened in 1889."],
        "reference": "The bridge opened in March 1932.",
    },
]


def test_the_readme_shows_what_is_printed(tmp_path):
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in README), encoding="utf-8")
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"\$ assay (answers samples.jsonl [^\n]*)\n(.*?)```", text, re.DOTALL)
    printed = run(tmp_path, *shown[1].split()).stdout.splitlines()
    for line in shown[2].splitlines():
        assert line == "..." or line in printed, line


def test_the_page_of_a_measure_is_shown(tmp_path):
    text = run(tmp_path, "measures", "faithfulness").stdout
    assert "needs answer, contexts" in text
    assert "judged_only" not in text
    assert "groundedness" in text


def test_a_table_in_chinese_is_aligned(tmp_path):
    write(tmp_path, SAMPLES)
    lines = run(tmp_path, "answers", "samples.jsonl", "--method", "words", "--lang", "zh").stdout.splitlines()
    assert any(line.startswith("指标") for line in lines)
    assert any("已检索但未使用" in line for line in lines)


def test_answers_from_python_are_scores(tmp_path):
    found = assay.answers(SAMPLES, method="words")
    assert isinstance(found, assay.Scores)
    assert found.stages == {str(i): stage for i, stage in enumerate(STAGES, 1)}
    assert set(found.per_query().columns) == {"query_id", *found.labels}
    frame = pl.DataFrame([{k: v for k, v in sample.items() if k != "contexts"} for sample in SAMPLES])
    again = assay.answers(frame.with_columns(contexts=pl.Series([s["contexts"] for s in SAMPLES])), method="words")
    assert again.mean() == found.mean()


def letters(texts):
    """Embeddings that know letters only."""
    return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]


def lengths(texts):
    """Embeddings that know lengths only."""
    return [[float(len(text)), 1.0 + text.count(" ")] for text in texts]


ROWS = [
    {
        "question": "q",
        "answer": "Cats sleep. Dogs fly to Mars. Nobody knows why dogs fly.",
        "contexts": ["Cats sleep."],
    },
    {"question": "r", "answer": "The sun is hot.", "contexts": ["The sun is a hot star."]},
]


def test_values_of_different_embeddings_are_not_compared(tmp_path):
    one, same, other = (
        assay.answers(ROWS, ["faithfulness", "answer_relevance"], method="embedding", embedder=embedder, name=name)
        for embedder, name in ((letters, "a"), (letters, "b"), (lengths, "c"))
    )
    assay.write_result(other, tmp_path / "c.json")
    assay.compare([one, same], ["faithfulness"])
    for system in (other, *assay.read_result(tmp_path / "c.json")):
        with pytest.raises(assay.NotComparable, match="with the embeddings letters, faithfulness of c with lengths"):
            assay.compare([one, system], ["faithfulness"])
    words = [
        assay.answers(ROWS, ["faithfulness"], method="words", embedder=e, name=e.__name__) for e in (letters, lengths)
    ]
    assay.compare(words, ["faithfulness"])


@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        ("wordllama", "Spearman .60 (wordllama)"),
        ("minilm", "Spearman .59 (minilm)"),
        ("mine", "it is not known how far mine agrees with people"),
    ],
)
def test_the_agreement_with_people_is_that_of_the_embeddings_in_use(embedder, said):
    assert said in agreement("embedding", embedder)


def test_a_judge_who_never_answers_gives_no_value(tmp_path):
    def broken(messages):
        raise OSError("out of order")

    rows = [*ROWS, {"question": "s", "answer": "Something.", "contexts": []}]
    found = assay.answers(rows, ["faithfulness"], judge=broken, method="s4", embedder=letters)
    assert found.definitions == {"faithfulness": "faithfulness(method='embedding')"}
    assert found.counts["faithfulness"].queries == 3
    alone = assay.answers(rows, ["faithfulness"], judge=broken, method="llm")
    assert any("2 samples could not be judged" in text and "out of order" in text for text in alone.warnings)


def test_several_statements_of_one_sample_are_among_the_weakest(tmp_path):
    write(tmp_path, ROWS)
    shown = run(tmp_path, "answers", "samples.jsonl", "-m", "faithfulness", "--method", "words").stdout
    table = shown[shown.index("The statements with the least support") :]
    assert "Dogs fly to Mars." in table and "Nobody knows why dogs fly." in table
    assert "1.00" not in table


def test_a_field_that_no_sample_has_is_named(tmp_path):
    rows = [{"user_input": "q", "response": "Cats sleep.", "chunks": ["Cats sleep."]}]
    write(tmp_path, rows)
    command = ("answers", "samples.jsonl", "-m", "faithfulness", "--method", "words")
    shown = run(tmp_path, *command).stdout
    assert "no sample has what these measures need: faithfulness (contexts)" in shown and "--map" in shown
    mapped = run(tmp_path, *command, "--map", "retrieved_contexts=chunks")
    assert "no sample has" not in mapped.stdout and "contexts = chunks" in mapped.stdout


def test_samples_in_another_order_are_refused_in_words_about_samples():
    one, other = (
        assay.answers(rows, ["faithfulness"], method="words", name=str(i)) for i, rows in enumerate((ROWS, ROWS[::-1]))
    )
    with pytest.raises(assay.NotComparable, match="the same query_id column"):
        assay.compare([one, other], ["faithfulness"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_four_systems_side_by_side_fit_a_hundred_columns(lang, call, tmp_path):
    names = ("baseline", "reranked", "long_context", "no_retrieval")
    for place, name in enumerate(names):
        rows = [
            {"question": f"Where is tea {i} from?", "answer": f"Tea {i} is from Japan [1].", "reference": "Japan.",
             "contexts": [f"Tea {i} is from {'Japan' if i % (place + 1) else 'China'}."]}
            for i in range(4)
        ]  # fmt: skip
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    code, out, err = call("answers", *(f"{name}.jsonl" for name in names), "--method", "words", "--lang", lang)
    assert code == 0, err
    side_by_side = out.partition("baseline:" if lang == "en" else "baseline：")[0].splitlines()
    assert next(line for line in side_by_side if line.split()[1:2] == ["baseline"]).split()[1:] == list(names)
    assert max(map(width, side_by_side)) <= 100
