"""Judging with a language model: prompts that keep their structure, votes, budgets, resuming, stamps."""

from __future__ import annotations

import json
import math
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from string import Template

import pytest

import assay
from assay.data.judgments import Judgments
from assay.formats.documents import read_documents, read_pairs
from assay.judge.panel import Juror, judge, verdict
from assay.judge.pooling import is_judged, pairs_of
from assay.judge.prompting import load_prompt, read_prompt
from assay.judge.relevance import NEEDED, Pair, PairQuestion, expected_grade, vote_of
from assay.judge.rubric import load_rubric
from assay.llm import Client, Reply, TokenLogprob, as_client
from assay.llm.prompts import mark_for
from assay.results.judging import Vote
from assay.testing import Answer, FakeLLM
from attacks import INJECTIONS
from commands import run_assay


def question(scale: str = "0-3", lang: str = "en", **options) -> PairQuestion:
    return PairQuestion(load_prompt("relevance", lang), load_rubric(scale, lang), **options)


def grade(number: int, reason: str = "so") -> str:
    return json.dumps({"reason": reason, "grade": number})


# Prompts and injections ----------------------------------------------------------------------------------------------


def test_there_are_sixty_injections():
    assert len(set(INJECTIONS)) == 60


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("document", INJECTIONS)
def test_no_document_changes_the_structure_of_the_prompt(document, lang):
    harmless = question(lang=lang).request(Pair("q", "d", "what is tea", "Tea is a drink."))
    mark = mark_for(question(lang=lang).prompt.version, "what is tea", document)
    hostile = question(lang=lang).request(Pair("q", "d", "what is tea", document))
    system, user = (message["content"] for message in hostile.messages)
    assert [message["role"] for message in hostile.messages] == ["system", "user"]
    assert mark not in document
    before, _, rest = user.partition(f"[document {mark}]\n")
    inside, _, after = rest.partition(f"\n[end of document {mark}]")
    assert inside == document
    other = mark_for(question(lang=lang).prompt.version, "what is tea", "Tea is a drink.")
    plain_system, plain_user = (message["content"].replace(other, mark) for message in harmless.messages)
    assert system == plain_system
    assert plain_user == before + f"[document {mark}]\nTea is a drink.\n[end of document {mark}]" + after


def test_the_judges_own_verdict_counts_when_it_echoes_the_document():
    def echo(request):
        user = request.body["messages"][-1]["content"]
        verdict = json.dumps({"seal": request.seal, "reason": "mine", "grade": 1})
        return f"The document says:\n{user}\nMy verdict:\n{verdict}"

    pairs = [Pair("q", f"d{i}", "what is tea", text) for i, text in enumerate(INJECTIONS)]
    with FakeLLM(echo) as server, Client(server.url, "m") as client:
        found = list(judge(pairs, {"m": Juror(client, question())}))
    assert [(v.grade, v.explanation) for v in found] == [(1.0, "mine")] * 60


def test_marks_cannot_be_written_beforehand():
    assert mark_for("a", "b") != mark_for("ab", "") != mark_for("a", "bc")
    assert len(mark_for("a")) == 16


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# system\na\n# user\nb $query $document $rubric $mark", "not a prompt"),
        ("version: x\n# system\na\n", "not a prompt"),
        ("version: x\n# system\na\n# user\n$query $document $rubric\n", r"does not use \$mark"),
        ("version: x\n# system\n5$ \n# user\n$query $document $rubric $mark\n", "write \\$\\$"),
    ],
)
def test_wrong_prompts_are_refused(text, message):
    with pytest.raises(assay.InputError, match=message):
        read_prompt(text, "mine.md", NEEDED)


def test_prompts_are_filled_as_templates_of_the_standard_library_are():
    user = "$$5 for ${query}s: $document$document, not $$query $rubric $mark"
    values = {"query": "$mark", "document": "${query} $$", "rubric": "r", "mark": "m", "low": "0", "high": "3"}
    found = read_prompt(f"version: v1\n# system\n$low to $high\n# user\n{user}\n", "p.md").messages(values)
    assert [message["content"] for message in found] == ["0 to 3", Template(user).substitute(values)]


def test_a_changed_prompt_has_another_version(tmp_path):
    text = "version: mine-1\n# system\nJudge: $rubric\n# user\n$mark $query $document\n"
    (tmp_path / "mine.md").write_text(text)
    one = load_prompt(str(tmp_path / "mine.md"), needed=NEEDED)
    (tmp_path / "mine.md").write_text(text.replace("Judge", "Grade"))
    two = load_prompt(str(tmp_path / "mine.md"), needed=NEEDED)
    assert one.version.startswith("mine-1+")
    assert one.version != two.version


# Rubrics -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "grades"), [("0-1", 2), ("0-2", 3), ("0-3", 4), ("0-10", 11)])
def test_scales_allow_their_grades_only(name, grades):
    rubric = load_rubric(name)
    assert rubric.schema["properties"]["grade"]["enum"] == list(range(grades))
    for value, ok in (
        (0, True),
        (grades - 1, True),
        (grades, False),
        (-1, False),
        (True, False),
        (0.5, False),
        ("1", False),
    ):
        vote = vote_of(Reply("ok", data={"reason": "", "grade": value}), question(name), "m", 0)
        assert (vote.status == "scored") is ok


def test_a_rubric_file_sets_scale_and_meanings(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[grades]\n0 = "no"\n2 = "maybe"\n5 = "yes"\n')
    rubric = load_rubric(str(path))
    assert (rubric.grades, rubric.low, rubric.high) == ((0, 2, 5), 0, 5)
    assert rubric.text == "- 0: no\n- 2: maybe\n- 5: yes"
    for text in (
        'name = "x"',
        'name = "x"\n[grades]\n0 = "no"\n',
        'name = "x"\n[grades]\na = "no"\n1 = "y"\n',
        'x = 1\nname = "x"\n[grades]\n0 = "n"\n1 = "y"\n',
    ):
        path.write_text(text)
        with pytest.raises(assay.InputError, match="expected name"):
            load_rubric(str(path))
    with pytest.raises(assay.UsageError, match="unknown scale '0-4'; did you mean"):
        load_rubric("0-4")


# Votes ---------------------------------------------------------------------------------------------------------------


def vote(value: float | None, judge_name: str = "m", repeat: int = 0, reason: str = "timeout") -> Vote:
    return Vote(
        judge_name, repeat, "failed" if value is None else "scored", reason if value is None else "", value, f"e{value}"
    )


@pytest.mark.parametrize(
    ("grades", "combine", "expected"),
    [
        ([2], "vote", 2), ([1, 2, 2], "vote", 2), ([0, 3], "vote", 0), ([0, 1, 3], "vote", 1), ([1, 1, 3, 3], "vote", 1),
        ([0, 0, 2, 3, 3], "vote", 3), ([1, 2, 2], "mean", 5 / 3), ([None, 2], "vote", 2), ([None, None, 2], "vote", None),
        ([None], "mean", None), ([None, 1, 2], "mean", 1.5),
    ],
)  # fmt: skip
def test_votes_become_one_verdict(grades, combine, expected):
    found = verdict(Pair("q", "d", "", ""), [vote(g, repeat=i) for i, g in enumerate(grades)], combine)
    assert found.grade == (None if expected is None else pytest.approx(expected))
    assert found.status == ("failed" if expected is None else "scored")
    if expected is None:
        assert (found.reason, found.explanation) == ("timeout", "eNone")


def test_the_commonest_reason_names_a_failure():
    votes = [vote(None, "a", reason="timeout"), vote(None, "b", reason="filtered"), vote(None, "c", reason="filtered")]
    assert verdict(Pair("q", "d", "", ""), votes).reason == "filtered"


def test_a_dead_judge_does_not_stop_the_others():
    def alive(messages):
        seal = re.search(r'"seal": "(\w+)"', messages[-1]["content"])[1]
        return json.dumps({"seal": seal, "reason": "so", "grade": 2})

    def dead(_):
        raise RuntimeError("gone")

    pairs = [Pair("q", f"d{i}", "x", "y") for i in range(5)]
    judges = {"a": as_client(alive), "b": as_client(dead), "c": as_client(alive)}
    found = list(judge(pairs, {name: Juror(client, question()) for name, client in judges.items()}))
    assert [v.grade for v in found] == [2.0] * 5
    assert [v.doc_id for v in found] == [p.doc_id for p in pairs]
    assert {v.status for v in found[0].votes if v.judge == "b"} == {"failed"}


def test_repeats_are_different_questions():
    asked: Counter[int] = Counter()

    def model(request):
        asked[request.repeat] += 1
        return Reply("ok", data={"reason": "", "grade": request.repeat})

    class Model:
        complete = staticmethod(model)

    found = next(
        judge([Pair("q", "d", "x", "y")], {"m": Juror(as_client(Model()), question())}, repeats=3, combine="mean")
    )
    assert found.grade == 1.0
    assert asked == {0: 1, 1: 1, 2: 1}


def test_judging_one_pair_twice_is_refused():
    with pytest.raises(assay.UsageError, match="'d' is to be judged twice for query 'q'"):
        list(judge([Pair("q", "d", "", "")] * 2, {"m": Juror(as_client(lambda _: ""), question())}))
    with pytest.raises(assay.UsageError, match="no judge"):
        list(judge([Pair("q", "d", "", "")], {}))


def test_a_grade_can_be_weighted_by_its_probabilities():
    rubric = load_rubric("0-3")
    at = {"2": math.log(0.6), " 3": math.log(0.3), "x": math.log(0.1)}
    tokens = (
        TokenLogprob('"grade', -0.1), TokenLogprob(" 2", -1.0, {" 2": -1.0}), TokenLogprob(": ", 0.0),
        TokenLogprob("2", math.log(0.6), at), TokenLogprob("}", 0.0),
    )  # fmt: skip
    assert expected_grade(tokens, 2, rubric) == pytest.approx((2 * 0.6 + 3 * 0.3) / 0.9)
    assert expected_grade(tokens, 1, rubric) is None
    reply = Reply("ok", data={"reason": "", "grade": 2}, logprobs=tokens)
    assert vote_of(reply, question(weighted=True), "m", 0).weighted
    assert vote_of(reply, question(), "m", 0).grade == 2.0


# Pools and files -----------------------------------------------------------------------------------------------------


def test_the_pool_is_the_top_of_every_run():
    one = assay.Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"x": 1.0}}, "one")
    two = assay.Run.from_dict({"q": {"c": 3.0, "b": 3.0, "a": 1.0}}, "two")
    assert assay.pool([one, two], 1) == [("q", "a"), ("q", "c"), ("r", "x")]
    assert assay.pool([one, two], 2) == [("q", "a"), ("q", "b"), ("q", "c"), ("r", "x")]


def test_texts_that_are_missing_are_named():
    with pytest.raises(assay.InputError, match="query 'r' has no text"):
        pairs_of([("q", "a"), ("r", "x")], {"q": "?"}, {"a": "A"})
    with pytest.raises(assay.InputError, match="document 'b' has no text"):
        pairs_of([("q", "b")], {"q": "?"}, {"a": "A"})


def test_known_pairs_are_not_judged_again():
    known = Judgments.from_dict({"q": {"a": 0, "b": -1}})
    assert [is_judged(known, "q", doc) for doc in "abc"] == [True, False, False]
    runs = [{"q": dict.fromkeys("abc", 1.0)}]
    assert assay.pool(runs, known=known) == [("q", "b"), ("q", "c")]
    texts = {"queries": {"q": "x"}, "documents": dict.fromkeys("abc", "y")}
    found = assay.judge_pairs(assay.pool(runs), known=known, judge=lambda _: "none", **texts)
    assert [one.doc_id for one in found.verdicts] == ["b", "c"]


def test_documents_and_pairs_are_read(tmp_path):
    (tmp_path / "docs.jsonl").write_text(
        '{"_id": "1", "title": "T", "text": "x"}\n{"_id": "2", "title": "", "text": "y"}\n'
    )
    assert read_documents(tmp_path / "docs.jsonl") == {"1": "T\n\nx", "2": "y"}
    (tmp_path / "pairs.csv").write_text("query_id,doc_id,query,document\nq1,d1,what,that\n")
    assert read_pairs(tmp_path / "pairs.csv") == [("q1", "d1", "what", "that")]
    (tmp_path / "pairs.csv").write_text("query_id,doc_id\nq1,d1\n")
    with pytest.raises(assay.InputError, match="expected columns query and document"):
        read_pairs(tmp_path / "pairs.csv")


@pytest.mark.parametrize("suffix", ["qrels", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_remembers_the_judge(tmp_path, suffix):
    made = Judgments.from_dict({"q": {"a": 2, "b": 0.5}})
    from dataclasses import replace

    path = tmp_path / f"judged.{suffix}"
    assay.write_judgments(replace(made, judge="model (p-1, scale 0-3)"), path)
    back = assay.read_judgments(path)
    assert back.judge == "model (p-1, scale 0-3)"
    assert back.to_dict() == made.to_dict()
    assert back.digest == made.digest
    scores = assay.evaluate(path, {"q": {"a": 1.0}}, ["ndcg@10"])
    assert "uncalibrated judge: model" in scores.warnings[0]
    assert (
        assay.evaluate(path, {"q": {"a": 1.0}}, ["ndcg@10"], calibration="kappa 0.7 on 120 labels").uncalibrated
        is False
    )


def test_json_has_no_place_for_a_judge(tmp_path):
    from dataclasses import replace

    with pytest.raises(assay.UsageError, match="no place for the name of the judge"):
        assay.write_judgments(replace(Judgments.from_dict({"q": {"a": 2}}), judge="m"), tmp_path / "j.json")


# The command ---------------------------------------------------------------------------------------------------------


def words_of(server: FakeLLM, folder, words) -> list[str]:
    model = [] if "--model" in words else ["--model", "m"]
    return ["judge", "--url", server.url, "--cache", str(folder / "cache.sqlite"), *map(str, words), *model]


def assay_judge(server: FakeLLM, folder, *words, **env: str) -> tuple[int, str, str]:
    done = run_assay(*words_of(server, folder, words), cwd=folder, **env)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"query_id": f"q{i // 10}", "doc_id": f"d{i}", "query": f"query {i // 10}", "document": f"text {i}"}
        for i in range(60)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ninput = 100.0\noutput = 400.0\ncurrency = "USD"\ndate = 2026-11-01\n'
    )
    return tmp_path


def by_text(request) -> str:
    return grade(len(request.text) % 4, "because")


def test_judgments_and_details_are_written(folder):
    with FakeLLM(by_text) as server:
        code, _, err = assay_judge(server, folder, "--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl")
    assert code == 0
    assert "60 pairs: 60 judged, 0 failed" in err
    assert len(server.requests) == 60
    details = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
    assert len({(row["query_id"], row["doc_id"]) for row in details}) == 60
    assert {row["status"] for row in details} == {"scored"}
    judged = assay.read_judgments(folder / "j.qrels")
    assert judged.judge.startswith("m (relevance-en-1+")
    assert {(q, d): g for q, docs in judged.to_dict().items() for d, g in docs.items()} == {
        (row["query_id"], row["doc_id"]): row["grade"] for row in details
    }


def test_a_second_run_makes_no_call_and_the_same_bytes(folder):
    words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl"]
    with FakeLLM(by_text) as server:
        assay_judge(server, folder, *words)
        first = [(folder / name).read_bytes() for name in ("j.qrels", "d.jsonl")]
        code, _, err = assay_judge(server, folder, *words)
        assert (code, len(server.requests)) == (0, 60)
        assert "0 calls, 60 answers from the cache" in err
    assert [(folder / name).read_bytes() for name in ("j.qrels", "d.jsonl")] == first


def test_a_dry_run_says_the_price_and_sends_nothing(folder):
    with FakeLLM(by_text) as server:
        code, out, _ = assay_judge(server, folder, "--pairs", "pairs.jsonl", "--dry-run", "--prices", "prices.toml")
        assert code == 0
        assert "60 pairs for m: 60 calls, 0 more are in the cache" in out
        assert "at most" in out and "USD" in out
        assert not server.requests


def test_the_budget_is_never_overshot_and_the_rest_can_be_judged_later(folder):
    def model(request):
        return Answer(by_text(request), usage={"prompt_tokens": 500, "completion_tokens": 20})

    words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl", "--prices", "prices.toml"]
    with FakeLLM(model) as server:
        code, _, err = assay_judge(server, folder, *words, "--max-cost", "1.0")
        spent = len(server.requests) * (500 * 100 + 20 * 400) / 1e6
        assert code == 1
        assert spent <= 1.0
        assert 5 <= len(server.requests) < 60
        assert "budget" in err and "Run the same command again" in err
        details = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
        assert {row["reason"] for row in details if row["status"] == "failed"} == {"budget"}
        assert len(details) == 60
        code, _, _ = assay_judge(server, folder, *words, "--max-cost", "100")
        assert (code, len(server.requests)) == (0, 60)


def costly(received) -> Answer:
    """The most that a call can take: a token for every byte, an answer of full length, and everything asked twice."""
    size = len(received.raw)
    assert sum(len(str(message["content"]).encode()) for message in received.body["messages"]) <= size
    again = any(message["role"] == "assistant" for message in received.body["messages"])
    usage = {"prompt_tokens": size - 300, "completion_tokens": 400}  # 300: what is around the messages
    return Answer(by_text(received) if again else "x" * 5000, usage=usage)


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_the_budget_that_a_dry_run_names_suffices(folder, models):
    (folder / "prices.toml").write_text(
        "".join(
            f'[[price]]\nhost = "127.0.0.1"\nmodel = "{model}"\ninput = {money}\noutput = 4.0\ndate = 2026-11-01\n'
            for model, money in (("m", 1.0), ("n", 3.0))
        )
    )
    words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--prices", "prices.toml"]
    words += [word for model in models for word in ("--model", model)]
    with FakeLLM(costly) as server:
        _, out, _ = assay_judge(server, folder, *words, "--dry-run")
        named = set(re.findall(r"a limit of (\d+\.\d{4}) is enough unless calls break off", out))
        assert len(named) == 1
        code, _, err = assay_judge(server, folder, *words, "--max-cost", named.pop())
        assert (code, len(server.requests)) == (0, 120 * len(models)), err


@pytest.mark.parametrize(("usage", "told"), [(None, "tokens (estimated), about 2."), ("counted", "tokens, 2.")])
def test_tokens_and_money_that_the_server_did_not_tell_are_called_estimates(folder, usage, told):
    with FakeLLM(lambda received: Answer(by_text(received), usage=usage)) as server:
        words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--prices", "prices.toml"]
        _, _, err = assay_judge(server, folder, *words)
        assert told in err
        _, _, again = assay_judge(server, folder, *words, "--lang", "zh")
        assert "估算" not in again  # nothing was used


def test_a_budget_needs_a_price(folder):
    with FakeLLM(by_text) as server:
        code, _, err = assay_judge(server, folder, "--pairs", "pairs.jsonl", "-o", "j.qrels", "--max-cost", "1")
    assert (code, "a budget needs a price" in err) == (2, True)


def test_a_killed_run_goes_on_where_it_stopped(folder, stress):
    """At most the calls in flight are paid twice, and the bytes are those of a run that nobody killed."""
    rng = random.Random(0)

    def model(request):
        return Answer(by_text(request), delay=0.02)

    words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl", "--concurrency", "4"]
    with FakeLLM(by_text) as server:
        assay_judge(server, folder, *words, "--cache", folder / "other.sqlite")
    expected = [(folder / name).read_bytes() for name in ("j.qrels", "d.jsonl")]
    for moment in range(60 if stress else 4):
        for name in (
            "j.qrels",
            "d.jsonl",
            "cache.sqlite",
            "cache.sqlite-journal",
            "cache.sqlite-wal",
            "cache.sqlite-shm",
        ):
            (folder / name).unlink(missing_ok=True)
        with FakeLLM(model) as server:
            command = [sys.executable, "-m", "assay", *words_of(server, folder, words)]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
            wanted = rng.randrange(0, 55)
            end = time.monotonic() + 20
            while len(server.requests) < wanted and time.monotonic() < end and child.poll() is None:
                time.sleep(0.002)
            child.send_signal(signal.SIGKILL)
            child.communicate()
            code, _, _ = assay_judge(server, folder, *words)
            assert code == 0, moment
            assert len(server.requests) <= 60 + 4
        assert [(folder / name).read_bytes() for name in ("j.qrels", "d.jsonl")] == expected


def test_a_wrong_key_ends_at_once_in_one_line(folder):
    secret = "canary-" + str(4711 * 3) + "-key"
    with FakeLLM(Answer.error(401, f"Incorrect API key provided: {secret}")) as server:
        words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl", "--key-env", "MY_KEY"]
        code, out, err = assay_judge(server, folder, *words, MY_KEY=secret)
    assert code == 1
    assert "no pair could be judged (key)" in err
    assert not (folder / "j.qrels").exists()
    kept = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert secret.encode() not in kept + out.encode() + err.encode()
    assert len(server.requests) < 60


def test_a_reply_with_half_a_surrogate_pair_is_written(folder):
    words = ["--pairs", "pairs.jsonl", "-o", "j.qrels", "--details", "d.jsonl"]
    with FakeLLM('{"reason": "x\\ud800", "grade": 1}') as server:
        for _ in range(2):
            code, _, err = assay_judge(server, folder, *words)
            assert (code, len(server.requests)) == (0, 60), err
    assert len(assay.read_judgments(folder / "j.qrels")) == 60
    assert json.loads((folder / "d.jsonl").read_text(encoding="utf-8").splitlines()[0])["explanation"] == "x\ufffd"


def test_an_error_of_the_server_cannot_steer_the_terminal(folder):
    with FakeLLM(Answer.error(400, "\x1b]0;pwn\x07 hi \u202e\nassay: fine")) as server:
        code, _, err = assay_judge(server, folder, "--pairs", "pairs.jsonl", "-o", "j.qrels")
    assert code == 1  # nothing could be judged
    lines = err.split("\n")
    assert all(line.isprintable() for line in lines), err
    assert "assay: fine" not in lines  # what a server says begins no line of its own
    assert "pwn" in err


def test_failures_are_counted_by_reason(folder):
    def model(request):
        if "text 7" in request.text:
            return Answer.error(400, "Output data may contain inappropriate content.", code="data_inspection_failed")
        return by_text(request)

    with FakeLLM(model) as server:
        code, _, err = assay_judge(server, folder, "--pairs", "pairs.jsonl", "-o", "j.jsonl", "--lang", "zh")
    assert code == 1
    assert "60 对：已标注 59，失败 1（被过滤 1 次）" in err


def test_runs_are_pooled_and_known_pairs_left_out(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq1 Q0 d3 3 1 a\n")
    (tmp_path / "b.run").write_text("q1 Q0 d3 1 3 b\nq1 Q0 d4 2 2 b\n")
    (tmp_path / "queries.tsv").write_text("query_id\ttext\nq1\twhat\n")
    (tmp_path / "docs.csv").write_text("doc_id,text\n" + "".join(f"d{i},text {i}\n" for i in range(1, 5)))
    (tmp_path / "known.qrels").write_text("q1 0 d1 1\n")
    words = [
        "a.run",
        "b.run",
        "--queries",
        "queries.tsv",
        "--documents",
        "docs.csv",
        "--depth",
        "2",
        "--known",
        "known.qrels",
        "-o",
        "j.csv",
    ]
    with FakeLLM(grade(1)) as server:
        code, _, _ = assay_judge(server, tmp_path, *words)
    assert code == 0
    assert assay.read_judgments(tmp_path / "j.csv").to_dict() == {"q1": {"d2": 1.0, "d3": 1.0, "d4": 1.0}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pairs", "pairs.jsonl"], "say where the judgments go"),
        (["-o", "j.qrels"], "give runs with --queries and --documents, or --pairs"),
        (["--pairs", "pairs.jsonl", "-o", "j.qrels", "--no-cache"], "cannot be used together"),
        (["--pairs", "pairs.jsonl", "-o", "j.qrels", "--scale", "0-7"], "unknown scale"),
        (["--pairs", "pairs.jsonl", "-o", "j.qrels", "--model", "m", "--model", "m"], "named twice"),
        (["--pairs", "nowhere.jsonl", "-o", "j.qrels"], "no such file"),
    ],
)
def test_wrong_usage_is_one_line(folder, words, message):
    with FakeLLM(by_text) as server:
        code, _, err = assay_judge(server, folder, *words)
    assert (code, message in err) == (2, True), err


def test_ten_thousand_kept_answers_need_no_call(tmp_path, stress):
    """The time it takes is printed by benchmarks/llm.py; here, that nothing is asked and nothing lost."""
    many = 10_000 if stress else 500
    rows = [{"query_id": f"q{i // 100}", "doc_id": f"d{i}", "query": "x", "document": f"text {i}"} for i in range(many)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeLLM(by_text) as server:
        assay_judge(server, tmp_path, "--pairs", "pairs.jsonl", "-o", "j.qrels")
        assert len(server.requests) == many
        code, _, err = assay_judge(server, tmp_path, "--pairs", "pairs.jsonl", "-o", "j.qrels")
        assert (code, len(server.requests)) == (0, many)
        assert f"0 calls, {many:,} answers from the cache" in err


def test_strange_names_in_a_prompt_are_refused(tmp_path):
    from assay.judge.prompting import load_prompt, read_prompt

    with pytest.raises(assay.InputError, match=r"unknown name \$price"):
        read_prompt("version: x\n# system\n$rubric $mark\n# user\n$query $document $price\n", "p.md")
    with pytest.raises(assay.UsageError, match="unknown prompt 'relevanze'; did you mean relevance"):
        load_prompt("relevanze")
