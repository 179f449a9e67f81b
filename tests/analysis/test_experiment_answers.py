"""Answers inside experiments: the same measures and methods as `assay answers`, refused early when they cannot work."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter

import pytest

import assay
import oracles
from assay.testing import FakeLLM
from commands import run_assay
from experiments import DATA, DOCUMENTS, GRADES, QUERIES, short_experiment, write

REFERENCES = {"q1": "70 degrees", "q2": "Milk goes well with it.", "q3": "at noon", "q4": "by hand"}
ANSWERS = {
    "q1": "Water of 70 degrees.",
    "q2": "Milk goes well with it. Elephants dance tango.",
    "q3": "Trains leave at noon.",
    "q4": "I do not know.",
}
OWN = f"""
ANSWERS = {ANSWERS!r}
QUERIES = {QUERIES!r}
def answer(question, contexts):
    return next(ANSWERS[name] for name, text in QUERIES.items() if text == question)
def vectors(texts):
    return [[text.lower().count(sign) + 0.01 for sign in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
def away(texts):
    raise RuntimeError("out of memory")
"""
GENERATED = '#data\n[chunk]\nmethod = ["none", "sentence"]\nsize = 40\n[retrieve]\nmethod = "bm25"\n[generate]\nmethod = "own_answers:answer"\n'


@pytest.fixture
def home(place):
    (place / "own_answers.py").write_text(OWN, encoding="utf-8")
    lines = (json.dumps({"query_id": k, "text": v, "reference": REFERENCES[k]}) + "\n" for k, v in QUERIES.items())
    (place / "referenced.jsonl").write_text("".join(lines), encoding="utf-8")
    return place


WITH_REFERENCES = DATA.replace("queries.jsonl", "referenced.jsonl")


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in {"a", "an", "the"}]


def token_f1(answer: str, reference: str) -> float:
    common = sum((Counter(words(answer)) & Counter(words(reference))).values())
    return 2 * common / (len(words(answer)) + len(words(reference)))


def test_any_measure_that_the_samples_allow_is_scored_for_every_combination(home):
    asked = ["recall@1", "token_f1", "faithfulness", "hallucination_rate", "faithfulness(method='contains')"]
    found = assay.run_experiment(write(home, f"{GENERATED}[evaluate]\nmeasures = {asked}\n", WITH_REFERENCES)).findings
    assert found.measures == ("recall@1", "token_f1", "faithfulness", "hallucination_rate", "faithfulness(method='contains')")  # fmt: skip
    for scores in found.systems:
        values = dict(zip(scores.query_ids, scores.column("token_f1"), strict=True))
        assert values == pytest.approx({q: token_f1(ANSWERS[q], REFERENCES[q]) for q in QUERIES})
        faith, rate = scores.column("faithfulness"), scores.column("hallucination_rate")
        assert scores.query_ids == ["q1", "q2", "q3", "q4"]
        assert math.isnan(faith[3]), "a refusal is neither faithful nor not"
        assert faith[:3] + rate[:3] == pytest.approx([1.0, 1.0, 1.0])
        assert scores.definitions["faithfulness"] == "faithfulness(method='words')"
        assert scores.counts["faithfulness"].abstained == 1
        # A sentence of the answer stands in the contexts word for word, or not; the first query's is cut short.
        plain = [statistics.mean(float(s in " ".join(DOCUMENTS.values())) for s in re.findall(r"[^.]+\.", ANSWERS[q].strip())) for q in ("q2", "q3")]  # fmt: skip
        assert plain == [0.5, 1.0]
    whole = found.systems[0].column("faithfulness(method='contains')")
    assert whole[1:3] == pytest.approx([0.5, 1.0])


def test_an_experiment_gives_what_the_command_gives_for_the_answers_it_wrote(home):
    write(home, GENERATED + '[evaluate]\nmethod = "embedding"\nembedder = "own_answers:vectors"\n')
    assert run_assay("run", "e.toml", "-o", "out", cwd=home).returncode == 0
    result = json.loads((home / "out" / "result.json").read_text(encoding="utf-8"))
    import sys

    sys.path.insert(0, str(home))
    try:
        import own_answers
    finally:
        sys.path.remove(str(home))
        sys.modules.pop("own_answers", None)
    for system in result["systems"]:
        again = assay.answers(
            home / "out" / "samples" / f"{system['name']}.jsonl", ["faithfulness"], method="embedding",
            embedder=own_answers.vectors,
        )  # fmt: skip
        assert system["definitions"]["faithfulness"] == "faithfulness(method='embedding')"
        assert system["metrics"]["faithfulness"] == again["faithfulness"]
        assert system["embedder"] == "vectors"


@pytest.mark.parametrize(("protocol", "method"), [("chunking", "embedding"), ("trec", "words")])
def test_the_protocol_says_which_method_comes_first(home, protocol, method):
    body = f'{GENERATED}[evaluate]\nprotocol = "{protocol}"\nembedder = "own_answers:vectors"\n'
    found = assay.run_experiment(write(home, body)).findings
    assert {scores.definitions["faithfulness"] for scores in found.systems} == {f"faithfulness(method='{method}')"}
    assert {row.quality["faithfulness"].method for row in found.combinations} == {method}


REFUSED = [
    ("", '["faithfulness"]', "faithfulness is a measure of answers, but no combination generates answers"),
    ("", '["ndcg@5", "faithfulness"]', "faithfulness is a measure of answers, but no combination generates answers"),
    ('[generate]\nmethod = "extractive"\n', '["recall@1", "correctness"]', "correctness needs reference"),
    ('[generate]\nmethod = "extractive"\n', '["recall@1", "token_f1"]', "token_f1 needs reference"),
    ('[generate]\nmethod = "extractive"\n', "[\"context_recall(by='gold')\"]", "needs gold_ids"),
    ('[generate]\nmethod = "extractive"\n', '["citation_precision"]', r"citation_precision needs \[1\] marks"),
    ('[generate]\nmethod = "extractive"\n', "[\"faithfulness(method='llm')\"]", "the method llm needs a judge"),
    ('[generate]\nmethod = "extractive"\n', '["faithfulness", "faithfulness"]', "faithfulness is asked for twice"),
    ('[generate]\nmethod = ["none", "extractive"]\n', '["faithfulness"]', "faithfulness decides which combination wins, but none generates no answers"),
]  # fmt: skip


@pytest.mark.parametrize(("stages", "measures", "told"), REFUSED, ids=range(len(REFUSED)))
def test_a_measure_that_cannot_work_is_refused_before_anything_runs(home, stages, measures, told):
    path = write(home, f"#data\n{stages}[evaluate]\nmeasures = {measures}\n")
    with pytest.raises(assay.InputError, match=rf"e\.toml: evaluate.*{told}"):
        assay.run_experiment(path)
    assert not (home / ".assay-cache").exists()


def test_a_measure_that_needs_a_judge_is_refused_without_one(home):
    body = '#data\n[generate]\nmethod = "extractive"\n[evaluate]\nmeasures = ["recall@1", "correctness"]\n'
    with pytest.raises(assay.InputError, match=r"e\.toml: evaluate\.measures: correctness needs a judge .*judge = "):
        assay.run_experiment(write(home, body, WITH_REFERENCES))
    assert not (home / ".assay-cache").exists()


@pytest.mark.parametrize(("lines", "told"), [
    ('method = "magic"\n', "method = 'magic': expected one of auto, s4, llm, embedding, words"),
    ('method = "llm"\n', "the method llm needs a judge"),
    ('judge = "m"\n', "a language model needs url and model"),
    ("judge = 3\n", "judge: .* is not the name of a model"),
    ('method = "embedding"\nembedder = "wordlama"\n', "unknown embedder"),
    ('protocol = "answers"\n', "protocol answers has no measure of rankings"),
])  # fmt: skip
def test_settings_that_cannot_work_are_refused_before_anything_runs(home, lines, told):
    path = write(home, f'#data\n[generate]\nmethod = "extractive"\n[evaluate]\n{lines}')
    with pytest.raises(assay.InputError, match=rf"e\.toml: evaluate.*{told}"):
        assay.run_experiment(path)
    assert not (home / ".assay-cache").exists()


def verdicts(text: str, verdict: str, contexts: list[int]) -> str:
    """The same verdict on every statement that is asked about."""
    numbers = re.findall(r"\[statement (\d+) ", text)
    return json.dumps({n: {"reason": "x", "verdict": verdict, "contexts": contexts} for n in numbers})


def test_a_protocol_that_lists_both_kinds_of_measures_together_is_understood(home):
    text = 'name = "mine"\nprimary = "recall@1"\n[measures]\n"recall@1" = "recall@1"\ntoken_f1 = "token_f1"\n'
    (home / "mine.toml").write_text(text, encoding="utf-8")
    body = f'{GENERATED}[evaluate]\nprotocol = "{home}/mine.toml"\n'
    found = assay.run_experiment(write(home, body, WITH_REFERENCES)).findings
    assert found.measures == ("recall@1", "token_f1")
    wanted = statistics.fmean(token_f1(ANSWERS[q], REFERENCES[q]) for q in QUERIES)
    assert found.systems[0]["token_f1"] == pytest.approx(wanted)
    silent = assay.run_experiment(write(home, f'#data\n[evaluate]\nprotocol = "{home}/mine.toml"\n')).findings
    assert silent.measures == ("recall@1",)


def test_a_judge_of_the_experiment_decides_and_is_paid_once(home):
    def verdict(received):
        return verdicts(received.text, "no", [])

    with FakeLLM(verdict) as server:
        llm = f'[llm]\nurl = "{server.url}"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
        path = write(home, f'{GENERATED}[evaluate]\njudge = "smollm2-135m"\n{llm}')
        found = assay.run_experiment(path, holdout=0.5).findings
        first = len(server.requests)
        assert 0 < first <= 2 * 3, "one call for each answer that claims something"
        assay.run_experiment(path)
        assert len(server.requests) == first
    for scores in found.systems:
        assert scores.definitions["faithfulness"] == "faithfulness(method='llm')"
        assert scores["faithfulness"] == 0.0
        assert scores.judge.startswith("smollm2-135m")
    assert any("smollm2-135m" in text and "tokens" in text for text in map(str, found.warnings))


def test_a_method_that_takes_over_in_some_combinations_only_is_told_and_not_compared(home):
    dying = []

    def verdict(received):
        dying.append(1)
        if len(dying) > 3:
            return "no JSON"
        return verdicts(received.text, "yes", [1])

    with FakeLLM(verdict) as server:
        llm = f'[llm]\nurl = "{server.url}"\nmodel = "smollm2-135m"\nbackoff = 0.01\nconcurrency = 1\n'
        done = assay.run_experiment(write(home, f'{GENERATED}[evaluate]\njudge = "smollm2-135m"\n{llm}'))
    first, second = done.findings.systems
    assert first.definitions["faithfulness"] == "faithfulness(method='llm')"
    assert second.definitions["faithfulness"] == "faithfulness(method='words')"
    assert done.findings.row("sentence").quality["faithfulness"].pvalue is None
    (home / "out").mkdir()
    written = run_assay("run", "e.toml", "-o", "out", cwd=home)
    assert "words" in written.stdout


def test_combinations_without_answers_stand_beside_those_with_some(home):
    for order in ('["none", "extractive"]', '["extractive", "none"]'):
        write(home, f'#data\n[retrieve]\nmethod = "bm25"\n[generate]\nmethod = {order}\n[evaluate]\nmeasures = ["recall@1", "faithfulness"]\n')  # fmt: skip
        done = run_assay("run", "e.toml", "--report", "r.html", cwd=home)
        assert done.returncode == 0, done.stderr
        rows = json.loads((home / "e-results" / "result.json").read_text(encoding="utf-8"))["experiment"][
            "combinations"
        ]
        assert {row["name"]: "faithfulness" in row["quality"] for row in rows} == {"none": False, "extractive": True}


def test_answers_that_all_refuse_have_no_mean_and_break_nothing(home):
    (home / "own_answers.py").write_text("def answer(q, c):\n    return 'I do not know.'\n", encoding="utf-8")
    write(home, GENERATED)
    done = run_assay("run", "e.toml", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "4 refused" in done.stdout


# The whole table --------------------------------------------------------------------------------------------------


def fold_after(rows: list[tuple[str, str]], k: int) -> list[str]:
    """Cut at k chunks, then drop repeats of a document."""
    return list(dict.fromkeys(doc for doc, _ in rows[:k]))


def test_one_run_gives_the_whole_table_of_chunkers(home):
    body = '#data\n[chunk]\nmethod = ["none", "sentence", "fixed"]\nsize = 30\n[retrieve]\nmethod = "bm25"\n[generate]\nmethod = "extractive"\n[evaluate]\nprotocol = "chunking"\nembedder = "own_answers:vectors"\n'
    write(home, body)
    done = run_assay("run", "e.toml", "-o", "out", "--report", "r.html", cwd=home)
    assert done.returncode == 0, done.stderr
    result = json.loads((home / "out" / "result.json").read_text(encoding="utf-8"))
    trace = [json.loads(line) for line in (home / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()]
    relevant = {q: {d for d, g in docs.items() if g >= 1} for q, docs in GRADES.items()}
    for row, system in zip(result["experiment"]["combinations"], result["systems"], strict=True):
        name = row["name"]
        lists: dict[str, list[tuple[str, str]]] = {q: [] for q in QUERIES}
        for line in (home / "out" / "runs" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            hit = json.loads(line)
            lists[hit["query_id"]].append((hit["doc_id"], hit["chunk_id"]))
        for k in (1, 3, 5, 10):
            kept = {q: fold_after(rows, k) for q, rows in lists.items()}
            hits = {q: len(relevant[q] & set(docs)) for q, docs in kept.items()}
            p = statistics.fmean(hits[q] / len(kept[q]) if kept[q] else 0.0 for q in QUERIES)
            r = statistics.fmean(hits[q] / len(relevant[q]) for q in QUERIES)
            assert system["metrics"][f"precision@{k}"] == pytest.approx(p)
            assert system["metrics"][f"recall@{k}"] == pytest.approx(r)
        ranks = [next((i for i, d in enumerate(fold_after(rows, 999), 1) if d in relevant[q]), math.inf) for q, rows in lists.items()]  # fmt: skip
        assert system["metrics"]["reciprocal_rank"] == pytest.approx(statistics.fmean(1 / rank for rank in ranks))
        assert system["metrics"]["hallucination_rate"] == pytest.approx(1 - system["metrics"]["faithfulness"])
        assert 0 <= system["metrics"]["context_utilisation"] <= 1
        ms = [sum(t["ms"] for t in trace if t["system"] == name and t["query_id"] == q) for q in QUERIES]
        assert row["latency_ms"]["mean"] == pytest.approx(statistics.fmean(ms))
        assert row["quality"]["faithfulness"]["method"] == "embedding"
        assert row["index"]["chunks"] == sum(1 for _ in {h for rows in lists.values() for h in rows}) or name != "whole"
    lines = [line.split("  ")[0].strip() for line in done.stdout.splitlines()]
    for name in (*(f"{m}@{k}" for m in ("precision", "recall") for k in (1, 3, 5, 10)), "reciprocal_rank",
                 "faithfulness", "hallucination_rate", "context_utilisation", "mean ms", "P50 ms", "P95 ms", "P99 ms",
                 "build s", "chunks", "index MB"):  # fmt: skip
        assert name in lines, name
    page = (home / "r.html").read_text(encoding="utf-8")
    assert "mean ms" in page
    assert "context_utilisation" in page


def test_answers_without_a_value_are_counted_by_what_they_are_and_told(tmp_path):
    (tmp_path / "few_answers.py").write_text(
        "def answer(question, contexts):\n"
        "    return 'Green tea is steamed.' if 'green' in question else 'I do not know.'\n",
        encoding="utf-8",
    )
    found = assay.run_experiment(short_experiment(tmp_path, '[generate]\nmethod = "few_answers:answer"\n')).findings
    counts = found.systems[0].counts["faithfulness"]
    assert (counts.queries, counts.abstained, counts.undefined, counts.failed) == (1, 1, 0, 0)
    assert "faithfulness: over 1 of 2 samples (1 refused)" in found.warnings


# Everything at once ---------------------------------------------------------------------------------------------------

TONE = "needs: question, contexts\n\nIs the answer polite?\n\n- 1: rude\n- 3: cold\n- 5: friendly\n"
SPANS = [
    {"query_id": "q1", "doc_id": "a", "text": "water of 70 degrees"},
    {"query_id": "q1", "doc_id": "b", "text": "boiling water"},
    {"query_id": "q2", "doc_id": "b", "text": "Milk goes well with it."},
    {"query_id": "q3", "doc_id": "d", "text": "Trains leave at noon."},
    {"query_id": "q4", "doc_id": "c", "text": "rolled by hand"},
]
POLITE = {"q1": 5, "q2": 3, "q3": 1, "q4": 5}
TRUE = {"Water of 70 degrees.", "Milk goes well with it."}  # what the judge finds in the contexts


def model(received) -> str:
    """One model that writes the answers, and judges them statement by statement and by the rubric."""
    said = {name: body for name, _, body in re.findall(r"^\[([\w ]+) (\w{16})\]\n(.*?)\n\[end of \1 \2\]$", received.text, re.MULTILINE | re.DOTALL)}  # fmt: skip
    query = next(name for name, text in QUERIES.items() if text == said["question"])
    if not received.schema:
        return ANSWERS[query]
    if "Is the answer polite?" in received.text:
        assert said["answer"] == ANSWERS[query]
        return json.dumps({"reason": "so it is", "grade": POLITE[query]})
    statements = {name.split()[1]: text for name, text in said.items() if name.startswith("statement ")}
    return json.dumps({n: {"reason": "x", "verdict": "yes" if text in TRUE else "no", "contexts": [1] if text in TRUE else []} for n, text in statements.items()})  # fmt: skip


def test_measures_of_rankings_answers_spans_and_a_rubric_stand_side_by_side(home):
    (home / "my_rubric.md").write_text(TONE, encoding="utf-8")
    (home / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SPANS), encoding="utf-8")
    asked = ["ndcg@10", "faithfulness", "span_recall@5", "my_rubric.md"]
    with FakeLLM(model) as server:
        body = (
            f'#data\n[chunk]\nmethod = ["sentence", "none"]\nsize = 40\n[retrieve]\nmethod = "bm25"\n[generate]\nmethod = "llm"\n'
            f'[evaluate]\nmeasures = {asked}\njudge = "m"\n[llm]\nurl = "{server.url}"\nmodel = "m"\n'
        )
        path = write(home, body, WITH_REFERENCES + 'gold = "gold.jsonl"\n')
        done = assay.run_experiment(path)
        calls = len(server.requests)
        # An answer each, one call for each answer that claims something, one for the rubric.
        assert calls == 2 * (4 + 3 + 4)
        assay.run_experiment(path)
        assert len(server.requests) == calls, "nothing is paid for twice"
    assert done.findings.measures == ("ndcg@10", "faithfulness", "span_recall@5", "my_rubric")
    assert done.findings.measure == "ndcg@10"
    for outcome, scores in zip(done.outcomes, done.findings.systems, strict=True):
        assert scores.query_ids == list(QUERIES)
        chunks = {q: [outcome.chunks[n] for n in hits.chunks] for q, hits in zip(QUERIES, outcome.hits, strict=True)}
        docs = {q: list(dict.fromkeys(chunk.doc_id for chunk in found)) for q, found in chunks.items()}
        assert scores.column("ndcg@10") == pytest.approx([oracles.ndcg(docs[q], GRADES[q], 10) for q in QUERIES])
        for place_, q in enumerate(QUERIES):
            gold = [[(row["doc_id"], at, at + len(row["text"]))] for row in SPANS if row["query_id"] == q
                    for at in [DOCUMENTS[row["doc_id"]].index(row["text"])]]  # fmt: skip
            pieces = [(chunk.doc_id, chunk.start, chunk.end) for chunk in chunks[q]]
            assert scores.column("span_recall@5")[place_] == oracles.span_recall(gold, pieces, 5)
            claims = [f"{text}." for text in ANSWERS[q].rstrip(".").split(". ") if "do not know" not in text]
            true = statistics.fmean(text in TRUE for text in claims) if claims else math.nan
            assert scores.column("faithfulness")[place_] == pytest.approx(true, nan_ok=True)
        assert scores.column("my_rubric").tolist() == list(POLITE.values())
        assert scores["my_rubric"] == statistics.fmean(POLITE.values())
        assert [column.method for column in scores.columns] == ["", "llm", "", "llm"]
        assert scores.about("my_rubric").bounds == (1.0, 5.0)
        assert scores["my_rubric.md"] == scores["my_rubric"]


def test_a_rubric_may_decide_and_other_methods_find_the_support(home):
    (home / "tone.md").write_text(TONE, encoding="utf-8")
    with FakeLLM(model) as server:
        llm = f'[llm]\nurl = "{server.url}"\nmodel = "m"\n'
        lines = 'measures = ["tone.md", "faithfulness", "recall@1"]\nmethod = "words"\njudge = "m"\n'
        found = assay.run_experiment(write(home, f"{GENERATED}[evaluate]\n{lines}{llm}")).findings
        assert {"polite" in request.text for request in server.requests} == {True}
    assert found.measure == "tone"
    assert found.measures == ("tone", "faithfulness", "recall@1")
    assert found.systems[0].definitions["faithfulness"] == "faithfulness(method='words')"
    assert found.row("sentence").quality["tone"].method == "llm"


IMPOSSIBLE = {
    "misspelled": ('["ndcg@5", "faithfullness"]', "unknown measure 'faithfullness'; did you mean faithfulness"),
    "misspelled first": ('["span_recal@5"]', "unknown measure 'span_recal'"),
    "spans without gold": ('["ndcg@5", "span_recall@5"]', r"span_recall@5 needs gold spans \(name their file: \[data\] gold = FILE\)"),
    "no such rubric": ('["ndcg@5", "none.md"]', r"none\.md: no such file"),
    "no rubric": ('["ndcg@5", "bad.md"]', r"bad\.md:3: grade 0 appears twice"),
    "no reference": ('["ndcg@5", "correctness"]', "correctness needs reference"),
    "a rubric without a reference": ('["ndcg@5", "needy.md"]', "needy needs reference"),
    "no cutoff": ('["precision"]', "precision needs a cutoff"),
    "a parameter that is none": ('["faithfulness(metod=\'llm\')"]', "unknown parameter of faithfulness 'metod'"),
    "a value that is none": ('["faithfulness(method=\'lmm\')"]', "expected one of 'auto'"),
    "no list": ('"ndcg@5"', "measures must be a list of texts"),
    "twice": ('["tone.md", "tone.md"]', "measure tone is asked for twice"),
}  # fmt: skip
UNJUDGED = {
    "no generator": ("", '["ndcg@5", "tone.md"]', "tone is a measure of answers, but no combination generates answers"),
    "a rubric without a judge": ('[generate]\nmethod = "llm"\n', '["ndcg@5", "tone.md"]', "tone needs a judge"),
    "llm without a judge": ('[generate]\nmethod = "llm"\n', "[\"faithfulness(method='llm')\"]", "the method llm needs a judge"),
}  # fmt: skip


def assert_refused(home, stages, evaluate, told):
    """Nothing was asked, nothing was written, and one line says why."""
    (home / "tone.md").write_text(TONE, encoding="utf-8")
    (home / "needy.md").write_text(TONE.replace("contexts", "reference"), encoding="utf-8")
    (home / "bad.md").write_text("Polite?\n- 0: no\n- 0: yes\n", encoding="utf-8")
    with FakeLLM(model) as server:
        llm = f'[llm]\nurl = "{server.url}"\nmodel = "m"\n'
        path = write(home, f'#data\n[retrieve]\nmethod = "bm25"\n{stages}[evaluate]\n{evaluate}{llm}')
        before = sorted(home.rglob("*"))
        with pytest.raises(assay.InputError, match=rf"e\.toml: evaluate.*{told}") as caught:
            assay.run_experiment(path)
        assert "\n" not in str(caught.value)
        done = run_assay("run", "e.toml", "-o", "out", cwd=home)
        assert (done.returncode, done.stdout) == (2, "")
        assert not server.requests
    assert sorted(found for found in home.rglob("*") if "__pycache__" not in str(found)) == before


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_a_measure_that_cannot_work_is_refused_before_anything_is_asked_or_written(home, kind):
    measures, told = IMPOSSIBLE[kind]
    assert_refused(home, '[generate]\nmethod = "llm"\n', f'judge = "m"\nmeasures = {measures}\n', told)


@pytest.mark.parametrize("kind", UNJUDGED)
def test_a_measure_that_nobody_can_judge_is_refused_before_anything_is_asked_or_written(home, kind):
    stages, measures, told = UNJUDGED[kind]
    assert_refused(home, stages, f"measures = {measures}\n", told)
