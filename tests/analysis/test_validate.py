"""How far methods agree with people: numbers of scipy and scikit-learn, columns found, and every way to print it."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

import assay
from assay.analysis.validate import validate
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.samples import as_samples, read_samples
from assay.grounding import support_of
from assay.grounding.agreement import FIGURES, describe_agreement
from assay.grounding.recipes import word_overlap
from commands import run_assay

ROOT = Path(__file__).parents[2]
FACTS = "Oolong tea is steeped for three minutes. The river is 1,078 miles long. Anna wrote the letter in May 1990."
WORDS = "tea river letter minutes Anna long quantum gluon market zebra velvet orbit".split()  # noqa: SIM905


def labelled(n: int = 60, seed: int = 2) -> list[dict]:
    """Answers of words that the contexts have or lack, people who mostly see it, and a published score."""
    rng = random.Random(seed)
    rows = []
    for number in range(n):
        words = rng.sample(WORDS, 5)
        known = sum(word in FACTS for word in words)
        votes = [max(1, min(4, round(known * 0.8 + rng.choice([-1, 0, 0, 1])))) for _ in range(3)]
        rows.append({
            "id": str(number), "question": f"What about {number // 2}?", "answer": f"The {' '.join(words)}.",
            "contexts": [FACTS], "human": {"faithfulness": votes, "naturalness": [4, 4, 4]},
            "published": {"judge": known / 5 + rng.random() / 3, "note": "none"},
        })  # fmt: skip
    rows[0]["answer"] = "I do not know."
    rows[1]["published"] = {"judge": None}
    return rows


def columns(rows: list[dict]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the table must be made of: words, plain overlap, the published score, people; rows that have all of them."""
    rows = rows[2:]
    words = [record.value for record in support_of(as_samples(rows))]
    overlap = [word_overlap(row["answer"], row["contexts"]) for row in rows]
    people = [sum(row["human"]["faithfulness"]) / 3 for row in rows]
    return np.array(words), np.array(overlap), np.array([row["published"]["judge"] for row in rows]), np.array(people)


def test_agreement_is_that_of_scipy_and_scikit_learn():
    rows = labelled()
    found = validate(rows, ["words", "overlap"], positive=2.5, n_resamples=50)
    *scores, people = columns(rows)
    assert [score.name for score in found.scores] == ["words", "overlap", "published.judge"]
    assert [score.kind for score in found.scores] == ["method", "method", "published"]
    for score, values in zip(found.scores, scores, strict=True):
        assert score.spearman.value == pytest.approx(spearmanr(values, people).statistic, abs=1e-12)
        assert score.auroc.value == pytest.approx(roc_auc_score(people >= 2.5, values), abs=1e-12)
        assert score.spearman.interval.low <= score.spearman.value <= score.spearman.interval.high
    first, second = (roc_auc_score(people >= 2.5, values) for values in scores[:2])
    assert found.scores[1].difference.value == pytest.approx(first - second, abs=1e-12)
    assert found.scores[0].difference is None
    assert found.positives == int((people >= 2.5).sum())


def test_all_scores_are_compared_on_the_same_rows_and_the_rest_is_counted():
    found = validate(labelled(), ["words"], positive=2.5, n_resamples=0)
    assert (found.rows, found.compared) == (60, 58)
    assert found.left_out == {"abstained: the answer refuses": 1, "published.judge has no value": 1}
    assert {score.spearman.n for score in found.scores} == {58}
    assert [score.scored for score in found.scores] == [59, 59]


def test_rows_with_the_same_question_and_contexts_are_one_group():
    assert validate(labelled(), ["words"], positive=2.5, n_resamples=0).groups == 29


def test_columns_are_found_and_can_be_named():
    rows = labelled()
    assert validate(rows, ["words"], n_resamples=0).human == "human.faithfulness"
    with pytest.raises(InputError, match=r"no column 'human\.kindness'"):
        validate(rows, ["words"], human="human.kindness")
    found = validate(rows, ["overlap"], human="human.faithfulness", scores=[], n_resamples=0)
    assert [score.name for score in found.scores] == ["overlap"]
    for row in rows:
        row["label"] = 1
    with pytest.raises(InputError, match=r"columns human and label could each hold people's values.*--human COLUMN"):
        validate(rows, ["words"])
    for row in rows:
        del row["human"], row["label"]
    with pytest.raises(InputError, match=r"no column holds people's values.*published\.judge"):
        validate(rows, ["words"])


def test_without_a_yes_there_is_only_a_rank_correlation():
    found = validate(labelled(), ["words"], n_resamples=0)
    assert found.scores[0].auroc is None and found.scores[0].spearman.value is not None
    assert found.positives is None


def test_labels_in_words_need_to_know_which_is_a_yes():
    rows = labelled()
    for row in rows:
        row["human"] = "fully" if sum(row["human"]["faithfulness"]) > 7 else "not fully"
    with pytest.raises(UsageError, match="--positive WORD"):
        validate(rows, ["words"])
    with pytest.raises(UsageError, match="no row of human has the value 'Fully': the values are 'fully', 'not fully'"):
        validate(rows, ["words"], positive="Fully")
    found = validate(rows, ["words"], positive="fully", scores=[], n_resamples=0)
    values = [record.value for record in support_of(as_samples(rows))]
    truth = [row["human"] == "fully" for row in rows]
    assert found.scores[0].auroc.value == pytest.approx(roc_auc_score(truth[1:], values[1:]), abs=1e-12)


def test_a_given_threshold_is_kept():
    found = validate(labelled(), ["overlap"], positive=2.5, threshold=0.5, n_resamples=0)
    assert {score.threshold for score in found.scores} == {0.5}
    assert found.scores[0].accuracy.method == "balanced accuracy"


def test_mistakes_are_named():
    with pytest.raises(UnknownName, match="unknown method 'wrods'; did you mean words"):
        validate(labelled(), ["wrods"])
    with pytest.raises(InputError, match="8 of 10 rows have every score: at least 10 are needed"):
        validate(labelled(10), ["words"], positive=2)
    with pytest.raises(UsageError, match="nothing to compare"):
        validate(labelled(), [], scores=[])


def test_embeddings_of_a_callable_are_validated_under_their_name():
    def counts(texts):
        return [[float(word in text) for word in WORDS] + [0.1] for text in texts]

    found = validate(labelled(), ["embedding"], positive=2.5, embedder=counts, n_resamples=0)
    assert found.scores[0].name == "embedding (counts)"
    assert "embeddings: counts, as asked" in found.notes


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in labelled()), encoding="utf-8")
    return path


def run(*arguments: str):
    return run_assay("calibrate", *arguments)


def test_the_command_prints_a_table_beside_published_scores(file):
    done = run(str(file), "--method", "words", "--method", "overlap", "--positive", "2.5", "--resamples", "100")
    assert done.stderr == ""
    assert "58 of 60 rows compared" in done.stdout
    assert re.search(r"^judge \(published\) +0\.\d{3}  \[", done.stdout, re.MULTILINE)
    assert "1 left out: abstained: the answer refuses" in done.stdout
    assert "words: Spearman 0." in done.stdout


def test_the_command_writes_json_without_nan_and_the_same_bytes_again(file, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    arguments = (str(file), "--method", "words", "--positive", "2.5", "--resamples", "100", "--format", "json")
    done = run(*arguments)
    result = json.loads(done.stdout, parse_constant=pytest.fail)
    found = result["validation"]
    assert (found["compared"], found["human"], result["seed"]) == (58, "human.faithfulness", 0)
    assert 0 < found["scores"][0]["auroc"]["interval"]["low"] < found["scores"][0]["auroc"]["value"] < 1
    assert run(*arguments).stdout == done.stdout


def test_the_command_speaks_markdown_and_chinese(file):
    done = run(
        str(file), "--method", "words", "--positive", "2.5", "--resamples", "0", "--format", "markdown", "--lang", "zh"
    )
    assert "| 分数 | Spearman |" in done.stdout and "已发表" in done.stdout


def test_the_commands_mistakes_are_one_line(file):
    for arguments, said in (
        (["--map", "answer"], "--map answer: expected FIELD=COLUMN"),
        (["--method", "word"], "unknown method 'word'"),
        (["--human", "x"], "no column 'x'"),
    ):
        done = run(str(file), *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr


def test_the_command_asks_an_embeddings_server(file, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from assay.cli.former import find_former
    from assay.testing import FakeLLM

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with FakeLLM() as server:
        options = [
            "--method",
            "embedding",
            "--embedder",
            f"my-model@{server.url}",
            "--positive",
            "2.5",
            "--resamples",
            "0",
        ]
        done = CliRunner().invoke(find_former("validate"), [str(file), *options])
        assert done.exit_code == 0, done.output
        assert "embedding (my-model)" in done.output
        asked = {text for received in server.requests for text in received.inputs}
    assert "Anna wrote the letter in May 1990." in {text.strip() for text in asked}


def test_a_method_that_fails_on_every_row_ends_in_one_line_with_the_reason_and_exit_code_1(file):
    from assay.testing import Answer, FakeLLM

    with FakeLLM(lambda _: Answer.error(500, "dead", headers={"retry-after-ms": "1"})) as server:
        done = run(str(file), "--method", "embedding", "--embedder", f"m@{server.url}", "--positive", "2.5")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "embedding could not judge any of" in done.stderr and "HTTP 500" in done.stderr


def test_tables_with_quotation_marks_inside_are_read(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text('knowledge\tresponse\tlabel\n"Tea" is green\tsay "tea\t1\nIt is 5" long\tfive" inches\t0\n')
    found = read_samples(path, columns={"contexts": "knowledge"})
    assert [(row.contexts[0].text, row.answer) for row in found] == [
        ('"Tea" is green', 'say "tea'),
        ('It is 5" long', 'five" inches'),
    ]
    path.write_text('answer\tlabel\n"two\nlines"\t1\n"a ""word"""\t0\n')
    assert [row.answer for row in read_samples(path)] == ["two\nlines", 'a "word"']


def test_the_package_exports_it():
    assert assay.validate is validate


# Real data -----------------------------------------------------------------------------------------------------------

BEGIN = {"contexts": "knowledge", "question": "message"}
SUMMEDITS = {"answer": "summary", "contexts": "doc"}


@pytest.fixture(scope="session")
def validated(shared):
    """Every method on every labelled data set."""
    methods = ["words", "overlap", "contains"]
    summaries = [
        row
        for name in ("samsum", "scitldr")
        for row in json.loads((shared / "summedits" / f"{name}.json").read_text("utf-8"))
    ]
    return {
        "mtrag": validate(shared / "mtrag" / "dev.jsonl", methods, positive=3, n_resamples=0),
        "begin": validate(
            shared / "begin" / "begin_dev_wow.tsv", methods, columns=BEGIN, positive="Fully attributable", n_resamples=0
        ),
        "summedits": validate(summaries, methods, columns=SUMMEDITS, n_resamples=0),
    }


def test_words_reach_what_is_promised(validated):
    def area(data, name):
        return next(score.auroc.value for score in validated[data].scores if score.name == name)

    words = validated["mtrag"].scores[0]
    assert words.spearman.value > 0.64 and words.auroc.value > 0.94
    assert area("mtrag", "words") > area("mtrag", "overlap")
    assert area("mtrag", "words") > area("mtrag", "published.ragas_faithfulness")
    assert area("begin", "words") > 0.95
    assert area("summedits", "words") > 0.1 + area("summedits", "overlap")


@pytest.mark.parametrize("name", ["samsum", "scitldr"])
def test_words_see_more_edits_than_plain_overlap_in_every_file(shared, name):
    found = validate(
        shared / "summedits" / f"{name}.json", ["words", "overlap"], columns=SUMMEDITS, scores=[], n_resamples=0
    )
    assert found.scores[1].difference.value > 0.1


@pytest.mark.parametrize("method", ["words", "overlap", "contains", "llm"])
def test_the_figures_quoted_in_reports_are_those_that_are_found(validated, method):
    name = "published.ragas_faithfulness" if method == "llm" else method

    def found(data, field):
        return next((getattr(score, field).value for score in validated[data].scores if score.name == name), None)

    quoted = FIGURES[method]
    assert quoted.rho == pytest.approx(found("mtrag", "spearman"), abs=0.0051)
    assert quoted.mtrag == pytest.approx(found("mtrag", "auroc"), abs=0.0051)
    if method != "llm":
        assert quoted.begin == pytest.approx(found("begin", "auroc"), abs=0.0051)
        assert quoted.summedits == pytest.approx(found("summedits", "auroc"), abs=0.0051)


def test_every_method_has_a_sentence_in_both_languages():
    from assay.messages import tell

    for name in FIGURES:
        said = describe_agreement(name)
        assert said.startswith(f"{name}: ") and tell(said, "zh").startswith(f"{name}：")
    assert describe_agreement("embedding", "minilm") == describe_agreement("embedding (minilm)")
    assert describe_agreement("embedding", "my-own") is None and describe_agreement("guess") is None


def test_the_document_quotes_the_same_figures():
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert str(describe_agreement(name)) in text.replace("\n  ", " "), name


def test_two_measures_follow_nobody_without_a_judge_and_a_line_says_so(shared):
    with (shared / "mtrag" / "dev.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) | {"id": str(number)} for number, line in enumerate(file)]
    people = [row.pop("human") for row in rows]
    for row in rows:
        del row["system"]
    found = assay.answers(rows, ["noise_sensitivity", "answer_relevance", "faithfulness"], method="words")

    def follows(measure: str, grades: str) -> float:
        pairs = [
            (one.cells[measure].value, np.mean(said[grades])) for one, said in zip(found.outcomes, people, strict=True)
        ]
        return float(spearmanr([pair for pair in pairs if pair[0] is not None]).statistic)

    for grades in ("faithfulness", "completeness", "appropriateness"):
        assert abs(follows("noise_sensitivity", grades)) < 0.1
        assert abs(follows("answer_relevance", grades)) < 0.1
    assert follows("faithfulness", "faithfulness") > 0.6
    said = [text for text in found.warnings if "no sign of agreement with people" in text]
    assert len(said) == 1 and said[0].startswith("noise_sensitivity, answer_relevance: without a judge")
