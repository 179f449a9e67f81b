"""Support by a language model: statements by number, faults, fallback, budget, resuming; and a real small model."""

from __future__ import annotations

import itertools
import json
import re
import threading
from dataclasses import replace

import pytest

import assay
from assay.formats.samples import as_samples
from assay.grounding.preparing import prepare, sample_for
from assay.judge.grading import GradeQuestion
from assay.judge.prompting import load_prompt
from assay.judge.support import NEEDED, SupportQuestion
from assay.llm import Client, Limits
from assay.measures import parse
from assay.testing import Answer, FakeLLM, seal_of
from attacks import INJECTIONS
from commands import run_assay
from conftest import STRESS
from faults import FAULTS, GOOD, IMPATIENT, QUICK

NEXT = "words"  # who judges where the judge fails
ROW = {
    "id": "s1",
    "question": "How hot should water for sencha be?",
    "answer": "Sencha wants water of 70 degrees. It is grown in Peru. Thank you!",
    "contexts": ["Cats sleep a lot.", "Sencha wants water of 70 degrees. Sencha is grown in Japan."],
    "reference": "70 degrees",
}


def verdict(word: str, *contexts: int) -> dict:
    return {"reason": f"because {word}", "verdict": word, "contexts": list(contexts)}


def asked(text: str) -> dict[str, str]:
    """The statements of a prompt by their numbers, read as a judge would."""
    return dict(
        re.findall(r"^\[statement (\d+) \w{16}\]\n(.*?)\n\[end of statement \1 ", text, re.MULTILINE | re.DOTALL)
    )


def context_numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^\[context (\d+) \w{16}\]$", text, re.MULTILINE)]


def yes(received) -> str:
    """A judge who finds everything in the last context, and every answer good."""
    said = asked(received.text)
    if not said:
        return json.dumps({"reason": "good", "grade": 2})
    return json.dumps({number: verdict("yes", context_numbers(received.text)[-1]) for number in said})


def question(lang: str = "en") -> SupportQuestion:
    return SupportQuestion(load_prompt("support", lang, needed=NEEDED))


def request_for(row: dict, lang: str = "en"):
    (sample,) = as_samples([row])
    (asking,) = question(lang).calls(prepare(sample_for(sample, "answer")))
    return asking.request


# What is asked -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_claims_are_asked_by_number_in_one_call_and_courtesies_are_not(lang):
    request = request_for(ROW, lang)
    system, user = (message["content"] for message in request.messages)
    assert asked(user) == {"1": "Sencha wants water of 70 degrees.", "2": "It is grown in Peru."}
    assert context_numbers(user) == [1, 2]
    assert request.schema["required"] == ["1", "2"]
    assert request.prompt_version.startswith(f"support-{lang}-1+")
    assert "JSON" in system


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("text", INJECTIONS[::3])
def test_no_text_changes_the_structure_of_the_prompt(text, lang):
    plain = request_for(ROW, lang)
    hostile = request_for({**ROW, "contexts": ["Cats sleep a lot.", text], "question": text}, lang)
    mark = re.search(r"\[question (\w{16})\]", hostile.messages[1]["content"])[1]
    other = re.search(r"\[question (\w{16})\]", plain.messages[1]["content"])[1]
    assert mark not in text
    system, user = (message["content"] for message in hostile.messages)
    plain_system, plain_user = (message["content"].replace(other, mark) for message in plain.messages)
    assert system == plain_system
    wanted = plain_user.replace(f"[question {mark}]\n{ROW['question']}\n", f"[question {mark}]\n{text.strip()}\n")
    wanted = wanted.replace(f"[context 2 {mark}]\n{ROW['contexts'][1]}\n", f"[context 2 {mark}]\n{text}\n")
    assert user == wanted


def test_a_long_answer_is_asked_in_several_calls_that_name_every_statement_once():
    facts = [f"Fact number {i} is about tea and water." for i in range(1, 96)]
    (sample,) = as_samples([{**ROW, "answer": " ".join(facts)}])
    askings = question().calls(prepare(sample))
    numbers = [int(number) for asking in askings for number in asking.request.schema["required"]]
    assert numbers == list(range(1, 96))
    assert len(askings) == 3


def test_contexts_that_are_too_long_are_cut_and_the_record_says_so():
    row = {**ROW, "contexts": ["Sencha wants water of 70 degrees. " * 50, "Sencha is grown in Japan."]}
    with FakeLLM(yes) as server, Client(server.url, "m") as client:
        found = assay.answers([row], ["faithfulness"], judge=client, max_chars=100)
        text = server.requests[0].text
    assert "Sencha is grown in Japan." not in text
    assert any("contexts were cut to 100 of" in note for note in found.outcomes[0].support.notes)


# What is answered ----------------------------------------------------------------------------------------------------


def judged(reply, row=ROW, measures=("faithfulness",), **options):
    with FakeLLM(reply) as server, Client(server.url, "m", patience=QUICK) as client:
        found = assay.answers([row], list(measures), judge=client, **options)
        return found, server.requests


def test_verdicts_become_support_with_evidence_from_the_named_context():
    found, requests = judged(json.dumps({"1": verdict("yes", 2), "2": verdict("no")}))
    first, second, third = found.outcomes[0].support.statements
    assert (first.support, first.evidence.context, first.evidence.text) == (1.0, 1, "Sencha wants water of 70 degrees.")
    assert (second.support, second.note, third.support) == (0.0, "because no", None)
    assert found["faithfulness"] == 0.5
    assert found.definitions == {"faithfulness": "faithfulness(method='llm')"}
    assert found.judge.startswith("m (support-en-1+")
    assert any("uncalibrated judge" in text for text in found.warnings)
    assert len(requests) == 1


def test_partly_counts_half():
    found, _ = judged(json.dumps({"1": verdict("partly", 2), "2": verdict("yes", 2)}))
    assert found["faithfulness"] == 0.75


def test_a_number_that_is_left_out_is_asked_for_again():
    replies = iter([json.dumps({"1": verdict("yes", 2)}), json.dumps({"1": verdict("yes", 2), "2": verdict("no")})])
    found, requests = judged(lambda _: next(replies))
    assert found["faithfulness"] == 0.5
    assert len(requests) == 2
    assert "lacks 2" in requests[1].text


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        ({"1": verdict("yes", 2)}, "no verdict on statement 2"),
        ({}, "no verdict on statements 1, 2"),
        ({"1": verdict("yes", 2), "2": verdict("perhaps")}, "no verdict on statement 2"),
        ({"1": verdict("yes", 2), "2": "yes"}, "no verdict on statement 2"),
        ({"2": verdict("yes", 2), "3": verdict("yes", 2)}, "no verdict on statement 1"),
    ],
)
def test_a_number_that_never_comes_back_is_a_failure_with_its_reason(reply, missing):
    found, _ = judged(json.dumps(reply), method="llm")
    outcome = found.outcomes[0]
    assert (outcome.cells["faithfulness"].value, outcome.cells["faithfulness"].status) == (None, "failed")
    assert missing in outcome.cells["faithfulness"].reason
    for place, part in enumerate(outcome.support.statements[:2], 1):
        if str(place) in missing:
            assert (part.support, part.note) == (None, "the judge gave no verdict")


@pytest.mark.parametrize("number", [9, 0, -1, 3])
def test_a_verdict_that_rests_on_a_context_that_does_not_exist_is_not_believed(number):
    found, requests = judged(json.dumps({"1": verdict("yes", number), "2": verdict("yes", 2)}), method="llm")
    cell = found.outcomes[0].cells["faithfulness"]
    assert (cell.value, cell.status, len(requests)) == (None, "failed", 2)
    assert "no verdict on statement 1" in cell.reason


@pytest.mark.parametrize(
    ("said", "value"),
    [("Yes", 1.0), ("NO", 0.0), (" partially", 0.5), (True, 1.0), (False, 0.0), ("supported", 1.0), ("Not supported.", 0.0),
     ("partial", 0.5), ("是", 1.0), ("否", 0.0), ("部分", 0.5), ("支持", 1.0), ("不支持", 0.0), ("部分支持", 0.5)],
)  # fmt: skip
def test_a_verdict_in_another_spelling_is_read_at_once(said, value):
    found, requests = judged(json.dumps({"1": verdict(said, 2), "2": verdict(said, 2)}), method="llm")
    assert (found["faithfulness"], len(requests)) == (value, 1)


@pytest.mark.parametrize("said", ["maybe", "unclear", "", "yes and no", 1, None])
def test_a_word_that_is_no_verdict_is_asked_for_again_and_then_a_failure(said):
    found, requests = judged(json.dumps({"1": verdict("yes", 2), "2": verdict(said, 2)}), method="llm")
    assert (found.outcomes[0].cells["faithfulness"].status, len(requests)) == ("failed", 2)


def test_a_judge_says_of_one_call_which_contexts_are_of_use():
    row = {**ROW, "answer": "Sencha wants water of 70 degrees [2]. It is grown in Peru [1]. It is green."}
    reply = json.dumps({"1": verdict("yes", 2), "2": verdict("no"), "3": verdict("yes", 1, 2)})
    names = ["citation_precision", "citation_recall", "context_precision(by='answer')", "context_utilisation"]
    found, requests = judged(reply, row, names)
    assert len(requests) == 1
    assert "[2]" not in asked(requests[0].text)["1"]
    assert found["citation_precision"] == 0.5  # [2] is right, [1] is not
    assert found["citation_recall"] == 1 / 3
    assert found["context_precision(by='answer')"] == 1.0
    assert found["context_utilisation"] == 2 / 3


def test_grades_of_relevance_and_correctness_are_shares_of_the_highest():
    def grade(received):
        return json.dumps({"reason": "so", "grade": 1 if "reference" in received.text else 2})

    found, requests = judged(grade, measures=["answer_relevance", "correctness"])
    assert (found["answer_relevance"], found["correctness"]) == (1.0, 0.5)
    assert len(requests) == 2


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["answer_relevance", "correctness"])
def test_graded_texts_stand_between_marks(name, lang):
    (sample,) = as_samples([{**ROW, "answer": INJECTIONS[4], "reference": [INJECTIONS[0], "二"]}])
    text = GradeQuestion.of(parse(name).criterion, lang).request(sample).messages[1]["content"]
    mark = re.search(r"\[question (\w{16})\]", text)[1]
    assert f"[answer {mark}]\n{INJECTIONS[4]}\n[end of answer {mark}]" in text
    assert (f"[reference 2 {mark}]\n二\n[end of reference 2 {mark}]" in text) == (name == "correctness")


def test_a_chinese_sample_is_asked_in_chinese():
    row = {"question": "绿茶用多少度的水？", "answer": "绿茶用八十度的水。", "contexts": ["绿茶宜用八十度的水冲泡。"]}
    found, requests = judged(yes, row)
    assert "请评判编号为 1 的 1 条陈述" in requests[0].text
    assert found.judge.startswith("m (support-zh-1+")


def test_nothing_is_asked_where_there_is_nothing_to_judge():
    rows = [
        {**ROW, "answer": "I don't know.", "id": "a"},
        {**ROW, "answer": "", "id": "b"},
        {**ROW, "contexts": [], "id": "c"},
        {**ROW, "contexts": None, "id": "d"},
        {**ROW, "answer": ["x", "y"], "id": "e"},
    ]
    with FakeLLM(yes) as server, Client(server.url, "m") as client:
        found = assay.answers(rows, ["faithfulness"], judge=client)
        assert not server.requests
    assert [(cell.value, cell.status) for o in found.outcomes for cell in o.cells.values()] == [
        (None, "abstained"),
        (None, "missing"),
        (0.0, "scored"),
        (None, "not_applicable"),
        (None, "failed"),
    ]


# Faults and fallback -------------------------------------------------------------------------------------------------

ONE = {**ROW, "answer": "Sencha wants water of 70 degrees."}
FIT = json.dumps({"1": verdict("no")})


def fitting(item):
    """What a server says in the list of faults, with an answer to our question in place of the one it gives there."""
    if isinstance(item, str):
        return item.replace(GOOD, FIT)
    return replace(item, text=item.text.replace(GOOD, FIT)) if item.text else item


@pytest.mark.parametrize("name", list(FAULTS))
def test_every_fault_ends_in_the_judges_verdict_or_in_the_next_methods(name):
    script, reason, _ = FAULTS[name]
    slow = "stalled" in name or "dripping" in name
    with FakeLLM() as server, Client(server.url, "m", patience=IMPATIENT if slow else QUICK) as client:
        server.queue(*map(fitting, script))
        found = assay.answers([ONE], ["faithfulness"], judge=client)
    outcome = found.outcomes[0]
    cell = outcome.cells["faithfulness"]
    if reason:
        assert (cell.status, cell.method) == ("scored", NEXT)
        assert cell.value > 0.9  # the words are all there; the judge would have said no
        assert outcome.trail[0].startswith(f"llm: {reason}")
        assert any(f"because another method failed: llm: {reason}" in text for text in found.warnings)
    else:
        assert (cell.value, cell.status, cell.method, outcome.trail) == (0.0, "scored", "llm", ())


ROWS = [{**ONE, "id": f"s{i:02}", "question": f"Question {i}?"} for i in range(12)]


def test_when_the_server_dies_the_rest_is_judged_by_the_next_method():
    gone = threading.Event()

    def dying(received):
        if received.number < 4:
            return json.dumps({"1": verdict("no")})
        gone.set()
        return Answer(broken="stall")

    with FakeLLM(dying) as server:
        killer = threading.Thread(target=lambda: (gone.wait(30), server.stop()))
        killer.start()
        with Client(server.url, "m", patience=QUICK, limits=Limits(start=1, concurrency=1)) as client:
            found = assay.answers(ROWS, ["faithfulness"], judge=client)
        killer.join()
    assert found.methods == {"llm": 4, NEXT: 8}
    assert found.labels == ("faithfulness", f"faithfulness(method='{NEXT}')")
    assert found["faithfulness"] == 0.0
    assert found[f"faithfulness(method='{NEXT}')"] > 0.9
    assert [found.counts[label].queries for label in found.labels] == [4, 8]
    assert any(
        f"8 samples were judged by {NEXT} because another method failed: llm: network" in w for w in found.warnings
    )


def test_a_mean_mixes_methods_only_when_asked_and_then_says_so():
    def half(received):
        return json.dumps({"1": verdict("no")}) if int(re.search(r"Question (\d+)\?", received.text)[1]) < 6 else "no"

    with FakeLLM(half) as server, Client(server.url, "m") as client:
        apart = assay.answers(ROWS, ["faithfulness"], judge=client)
        mixed = assay.answers(ROWS, ["faithfulness"], judge=client, mix=True)
    assert len(apart.labels) == 2
    assert any("faithfulness: samples that another method judged have a row of their own" in w for w in apart.warnings)
    assert mixed.labels == ("faithfulness",)
    assert mixed.definitions == {"faithfulness": "faithfulness(method='mix')"}
    other = apart[f"faithfulness(method='{NEXT}')"]
    assert mixed["faithfulness"] == pytest.approx((6 * 0.0 + 6 * other) / 12)
    assert any(f"the mean mixes methods (llm 6, {NEXT} 6)" in text for text in mixed.warnings)


def test_an_embedder_that_breaks_down_gives_way_to_words():
    def broken(texts):
        raise RuntimeError("out of memory")

    found = assay.answers([ONE], ["faithfulness", "answer_relevance"], method="s4", embedder=broken)
    assert found.definitions["faithfulness"] == "faithfulness(method='words')"
    assert found.outcomes[0].trail == ("embedding: RuntimeError: out of memory",)
    with pytest.raises(assay.UsageError, match="the method llm needs a judge"):
        assay.answers([ONE], method="llm")


def test_a_judge_that_is_no_server_is_a_function_from_messages_to_text():
    def judge(messages):
        return json.dumps({"seal": seal_of(messages), **json.loads(FIT)})

    found = assay.answers([ONE], ["faithfulness"], judge=judge)
    assert found["faithfulness"] == 0.0

    def angry(messages):
        raise ValueError("no")

    fallen = assay.answers([ONE], ["faithfulness"], judge=angry)
    assert fallen.outcomes[0].trail == ("llm: error: ValueError: no",)


def test_correctness_is_kept_when_the_support_falls_back():
    def partial(received):
        return "no" if asked(received.text) else json.dumps({"reason": "so", "grade": 2})

    found, _ = judged(partial, ONE, ["faithfulness", "correctness"])
    cells = found.outcomes[0].cells
    assert (cells["correctness"].value, cells["correctness"].method) == (1.0, "llm")
    assert cells["faithfulness"].method == NEXT


@pytest.mark.parametrize("method", ["auto", "llm"])
def test_a_failed_grade_leaves_the_verdict_on_the_support_alone(method):
    def partial(received):
        return json.dumps({"1": verdict("no")}) if asked(received.text) else "no"

    row = {**ONE, "reference": "Water."}
    found, _ = judged(partial, row, ["faithfulness", "answer_relevance", "correctness"], method=method)
    cells = found.outcomes[0].cells
    assert (cells["faithfulness"].value, cells["faithfulness"].method) == (0.0, "llm")
    assert (cells["correctness"].value, cells["correctness"].status) == (None, "failed")
    assert cells["correctness"].reason.startswith("llm: ")
    assert found.outcomes[0].trail == ()
    relevance = cells["answer_relevance"]
    assert relevance.reason.startswith("llm: ")
    if method == "llm":
        assert (relevance.value, relevance.status) == (None, "failed")
    else:
        assert (relevance.status, relevance.method) == ("scored", NEXT)
        assert found.definitions["answer_relevance"] == f"answer_relevance(method='{NEXT}')"
        assert any(f"judged by {NEXT} because another method failed: llm: " in text for text in found.warnings)


def test_a_grade_of_relevance_is_kept_when_the_support_falls_back():
    def partial(received):
        return "no" if asked(received.text) else json.dumps({"reason": "so", "grade": 1})

    found, _ = judged(partial, ONE, ["faithfulness", "answer_relevance"])
    cells = found.outcomes[0].cells
    assert (cells["answer_relevance"].value, cells["answer_relevance"].method) == (0.5, "llm")
    assert cells["faithfulness"].method == NEXT


def test_a_judge_that_no_measure_needs_is_not_asked_for_again():
    def never(messages):
        raise AssertionError(messages)

    row = {"answer": "Green tea.", "contexts": ["Green tea is made in Japan."]}
    found = assay.answers([row], ["faithfulness(method='overlap')"], method="llm", judge=never)
    assert found["faithfulness(method='overlap')"] == 1.0


# The command line ----------------------------------------------------------------------------------------------------

PRICES = """[[price]]
host = "127.0.0.1"
model = "m"
date = 2026-11-01
input = 10.0
output = 100.0
currency = "USD"
"""


def command(folder, *more, rows=ROWS, cache=True):
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
    kept = ["--cache", "cache.sqlite"] if cache else []
    words = ["-m", "faithfulness", "--judge", "m", "--prices", "prices.toml", *kept, *more]
    return run_assay("answers", "samples.jsonl", *words, cwd=folder)


def test_a_dry_run_tells_the_price_and_sends_nothing(tmp_path):
    with FakeLLM(yes) as server:
        done = command(tmp_path, "--url", server.url, "--dry-run")
        assert not server.requests
    assert done.returncode == 0, done.stderr
    assert "12 samples for m: 12 calls, 0 more are in the cache" in done.stdout
    assert re.search(r"about \d+\.\d{4} USD; a limit of \d+\.\d{4} is enough unless calls break off", done.stdout)


def test_a_budget_is_kept_and_the_same_command_again_judges_the_rest(tmp_path):
    with FakeLLM(yes) as server:
        plan = command(tmp_path, "--url", server.url, "--dry-run").stdout
        enough = float(re.search(r"a limit of (\d+\.\d+) is enough", plan)[1])  # for two calls of each sample
        part = command(tmp_path, "--url", server.url, "--max-cost", f"{enough / 24:.4f}", "-o", "part.json")
        paid = len(server.requests)
        rest = command(tmp_path, "--url", server.url, "-o", "all.json")
        assert len(server.requests) == 12
    assert part.returncode == rest.returncode == 0, part.stderr + rest.stderr
    result = json.loads((tmp_path / "part.json").read_text(encoding="utf-8"))
    assert 0 < paid < 12
    assert result["answers"]["methods"] == {"llm": paid, NEXT: 12 - paid}
    assert any("llm: budget" in text for text in told(result))
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["answers"]["methods"] == {"llm": 12}


def told(result):
    """The warnings of a result file in English."""
    return [one if isinstance(one, str) else one["text"] for one in result["warnings"]]


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with FakeLLM(yes) as server:
        first = command(tmp_path, "--url", server.url, "-o", "result.json", "--per-sample", "evidence.jsonl")
        one = [(tmp_path / name).read_bytes() for name in ("result.json", "evidence.jsonl")]
        second = command(tmp_path, "--url", server.url, "-o", "result.json", "--per-sample", "evidence.jsonl")
        two = [(tmp_path / name).read_bytes() for name in ("result.json", "evidence.jsonl")]
        assert len(server.requests) == 12
    assert "12 calls, 0 answers from the cache" in first.stderr
    assert "0 calls, 12 answers from the cache" in second.stderr
    assert one == two


AT_ONCE = {"retry-after-ms": "1"}  # what failed may be asked again without the half a second and more of a rest


def dying(answered: int):
    """A judge who answers so many calls, then dies."""
    calls = itertools.count()  # calls come from several threads

    def judge(received):
        return Answer(yes(received)) if next(calls) < answered else Answer.error(500, "dead", headers=AT_ONCE)

    return judge


def test_samples_that_another_method_judged_are_told_so_everywhere(tmp_path):
    with FakeLLM(dying(4)) as server:
        options = [
            "--url",
            server.url,
            "--concurrency",
            "1",
            "-o",
            "r.json",
            "--per-sample",
            "e.jsonl",
            "--report",
            "r.md",
        ]
        assert command(tmp_path, *options).returncode == 0
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    (system,) = result["systems"]
    assert system["counts"]["faithfulness"]["judged_by"] == {"words": 8}
    assert system["counts"]["faithfulness"]["not_applicable"] == 0
    assert list(result["per_query"]["status"]["samples"]["faithfulness"].values()) == ["unjudged"] * 8
    assert "faithfulness: over 4 of 12 samples (8 judged by words)" in told(result)
    assert "8 judged by words" in (tmp_path / "r.md").read_text(encoding="utf-8")
    (scores,) = assay.read_result(tmp_path / "r.json")
    assert (scores.counts["faithfulness"].judged_by, scores.coverage("faithfulness")) == ({"words": 8}, (4, 12))
    assert scores.coverage("faithfulness(method='words')") == (8, 12)
    with FakeLLM(dying(4)) as server:
        options = ["--url", server.url, "--concurrency", "1", "--no-cache", "--lang", "zh"]
        shown = command(tmp_path, *options, cache=False).stdout
    assert "8 个由 words 评判" in shown and "不适用" not in shown


@pytest.mark.parametrize(
    "options",
    [
        ["-m", "correctness"],
        ["--method", "llm"],
        ["-m", "token_f1", "-m", "correctness"],
        ["-m", "correctness", "--format", "json"],
    ],
)
def test_a_measure_that_could_not_be_judged_at_all_ends_in_exit_code_1(options, tmp_path):
    with FakeLLM(dying(0)) as server:
        done = command(tmp_path, "--url", server.url, "-o", "r.json", *options)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    label = "correctness" if "correctness" in options else "faithfulness"
    assert any(f"{label}: no sample could be judged: " in text and "HTTP 500" in text for text in told(result))
    assert {one["stage"] for one in result["answers"]["samples"]} == {None}
    assert all("HTTP 500" in str(one["stage_reason"]) for one in result["answers"]["samples"])


def test_one_value_is_enough_for_exit_code_0(tmp_path):
    with FakeLLM(dying(1)) as server:
        done = command(tmp_path, "--url", server.url, "--method", "llm", "--concurrency", "1")
    assert done.returncode == 0, done.stderr


def test_an_embeddings_server_is_asked_once_for_each_text_and_words_take_over_when_it_is_gone(tmp_path):
    with FakeLLM() as server:
        done = embedded(tmp_path, f"m@{server.url}")
        paths = {request.path for request in server.requests}
        sent = [text for request in server.requests for text in request.inputs]
    assert done["answers"]["methods"] == {"embedding": 12}
    assert paths == {"/v1/embeddings"}
    assert len(sent) == len(set(sent))
    gone = embedded(tmp_path, f"m@{server.url}")
    assert gone["answers"]["methods"] == {"words": 12}
    assert any("12 samples were judged by words because another method failed: embedding" in w for w in told(gone))


def embedded(folder, name):
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    words = ["-m", "faithfulness", "--method", "s4", "--embedder", name, "--no-cache", "--timeout", "5"]
    done = run_assay("answers", "samples.jsonl", *words, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# A real model --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(
    not STRESS, reason="runs in make stress: a real model takes its time, and judges grades in make test"
)
def test_a_real_model_gives_a_verdict_on_every_statement(real_model, tmp_path):
    zh = {
        "id": "zh",
        "question": "绿茶用多少度的水？",
        "answer": "用八十度的水。",
        "contexts": ["绿茶宜用八十度的水。"],
    }
    options = ("--url", real_model, "-o", "result.json", "--timeout", "250")
    done = command(tmp_path, *options, rows=[{**ONE, "contexts": ROW["contexts"][1:]}, zh])
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert result["answers"]["methods"] == {"llm": 2}, result["warnings"]
    for sample in result["answers"]["samples"]:
        assert [part["support"] in {0.0, 0.5, 1.0} for part in sample["support"]["statements"]] == [True]
        assert sample["cells"]["faithfulness"]["method"] == "llm"
    again = command(tmp_path, *options, rows=[{**ONE, "contexts": ROW["contexts"][1:]}, zh])
    assert "0 calls, 2 answers from the cache" in again.stderr


@pytest.mark.parametrize(("verdict", "expected"), [("no", ("llm", 0.0)), ("yes", ("words", 1.0))])
def test_a_no_needs_no_context_and_a_yes_needs_one_that_exists(verdict, expected):
    row = {
        "id": "1",
        "question": "When?",
        "answer": "The tower opened in 1889.",
        "contexts": ["The tower opened in 1889."],
    }

    def judge(messages):
        return json.dumps({"seal": seal_of(messages), "1": {"reason": "x", "verdict": verdict, "contexts": [99]}})

    cell = assay.answers([row], ["faithfulness"], judge=judge).outcomes[0].cells["faithfulness"]
    assert (cell.method, cell.value) == expected
