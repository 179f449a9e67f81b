"""Rerankers: cross-encoders, endpoints and language models, against oracles and a loopback server with faults."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from assay.errors import AssayError, InputError
from assay.llm import Client, Patience
from assay.llm.cache import Cache
from assay.llm.calls import rerank_base
from assay.pipeline.experiment import make
from assay.pipeline.generators import LanguageModel
from assay.pipeline.grid import choices_of
from assay.pipeline.language_models import Listwise, Pointwise, permutation, windows
from assay.pipeline.measuring import note_wait, time_work
from assay.pipeline.metering import MeteredClient
from assay.pipeline.ordering import check_answered
from assay.pipeline.prompting import fill_prompt, load_prompt
from assay.pipeline.records import Scored
from assay.pipeline.rerankers import CrossEncoder, EndpointReranker, OwnReranker
from assay.pipeline.stages import Setup
from assay.testing import Answer, FakeLLM

QUICK = Patience(timeout=0.5, backoff=0.01, longest_wait=0.05)


# A cross-encoder --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A tiny ONNX graph: the sum over tokens of (weight of the token) x (1 + type), and a tokenizer of words."""
    onnx = pytest.importorskip("onnx")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "green": 4, "tea": 5, "milk": 6}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    weights = np.random.default_rng(1).normal(size=(7, 1)).astype(np.float32)
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [
        helper.make_tensor_value_info(name, kinds.INT64, ["b", "t"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["rows"], axis=0),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=kinds.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=kinds.FLOAT),
        helper.make_node("Add", ["types", "one"], ["factor"]),
        helper.make_node("Mul", ["mask", "factor"], ["kept"]),
        helper.make_node("Unsqueeze", ["kept", "axis"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "middle"], ["logits"], keepdims=0),
    ]
    constants = [
        onnx.numpy_helper.from_array(weights, "weights"), onnx.numpy_helper.from_array(np.float32(1.0), "one"),
        onnx.numpy_helper.from_array(np.array([2]), "axis"), onnx.numpy_helper.from_array(np.array([1]), "middle"),
    ]  # fmt: skip
    outputs = [helper.make_tensor_value_info("logits", kinds.FLOAT, ["b", 1])]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))
    return folder, vocabulary, weights[:, 0]


@pytest.mark.parametrize("batch", [1, 2, 32])
def test_a_cross_encoder_scores_as_a_numpy_oracle_does(encoder, batch):
    folder, vocabulary, weights = encoder
    texts = ["tea", "milk milk tea", "something green", ""]

    def oracle(text):
        first = [2, vocabulary["green"], vocabulary["tea"], 3]
        second = [*(vocabulary.get(word, 1) for word in text.split()), 3]
        return sum(weights[i] for i in first) + 2 * sum(weights[i] for i in second)

    found = CrossEncoder(folder, batch=batch).score("green tea", texts)
    assert found.scores == pytest.approx([oracle(text) for text in texts], abs=1e-5)
    assert found.tokens == sum(4 + len(text.split()) + 1 for text in texts)


def test_a_folder_without_a_model_is_refused(tmp_path):
    (choice,) = choices_of("rerank", {"method": "cross-encoder", "folder": str(tmp_path)}, "e.toml")
    with pytest.raises(InputError, match=r"no model\.onnx and tokenizer\.json"):
        make("rerank", choice, Setup())


# Endpoints --------------------------------------------------------------------------------------------------------

TEXTS = ["one", "two", "three"]
SCORES = {"one": 0.2, "two": 0.9, "three": -0.5}


def reranks(received):
    """Answer as the servers do: sorted by score, with the places of the documents."""
    body = received.body
    inside = body.get("input", body)
    texts = inside["documents"]
    rows = [{"index": i, "relevance_score": SCORES[text]} for i, text in enumerate(texts)]
    rows.sort(key=lambda row: -row["relevance_score"])
    if "input" in body:
        return Answer(body={"output": {"results": rows}, "usage": {"total_tokens": 30}, "request_id": "r"})
    if received.path.startswith("/v2/"):
        return Answer(body={"results": rows, "id": "x", "meta": {"billed_units": {"search_units": 1}}})
    return Answer(body={"results": rows, "model": body["model"], "usage": {"total_tokens": 30}})


@pytest.mark.parametrize(("shape", "path"), [
    ("jina", "/v1/rerank"), ("vllm", "/v1/rerank"), ("cohere", "/v2/rerank"),
    ("dashscope", "/v1/services/rerank/text-rerank/text-rerank"),
])  # fmt: skip
def test_an_endpoint_of_each_shape_gives_its_scores_in_the_order_of_the_texts(shape, path):
    with FakeLLM(reranks) as server:
        root = server.url.removesuffix("/v1")
        url = root + path
        base, known = rerank_base(url, shape)
        with Client(base, "m", patience=QUICK) as client:
            found = EndpointReranker(client, model="m", shape=known, price=2.0).score("q", TEXTS)
        assert server.requests[0].path == path
        body = server.requests[0].body
        assert body["input" if shape == "dashscope" else "query"]
        assert ("return_documents" in json.dumps(body)) == (shape in {"jina", "dashscope"})
    assert list(found.scores) == [0.2, 0.9, -0.5]
    if shape != "cohere":  # which counts searches instead of tokens
        assert (found.tokens, found.money) == (30, 30 * 2 / 1e6)


def test_the_shape_is_told_by_the_address():
    assert rerank_base("https://api.jina.ai/v1/rerank", "auto") == ("https://api.jina.ai/v1", "jina")
    assert rerank_base("https://api.cohere.com/v2/rerank", "auto") == ("https://api.cohere.com/v2", "cohere")
    assert rerank_base("http://127.0.0.1:8000", "auto") == ("http://127.0.0.1:8000", "vllm")
    long = "https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank"
    assert rerank_base(long, "auto") == ("https://dashscope.aliyuncs.com/api/v1", "dashscope")
    with pytest.raises(AssayError, match="expected one of auto, jina"):
        rerank_base("http://x", "jinna")


PASSING = [
    Answer.error(503), Answer.error(429, headers={"Retry-After": "0"}), Answer(broken="reset"), Answer(broken="close"),
    Answer(broken="stall"), Answer(body="<html>busy</html>"), Answer(body='{"results": [{"ind', cut=8),
    Answer(body={"results": []}), Answer(body={"results": [{"index": 0, "relevance_score": 1}] * 3}),
    Answer(body={"results": [{"index": i, "relevance_score": None} for i in range(3)]}),
    Answer(body={"error": {"message": "busy"}}), Answer(delay=1.0),
]  # fmt: skip


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: str(fault.broken or fault.body or fault.status)[:30])
def test_an_endpoint_that_fails_once_is_asked_again(fault):
    with FakeLLM(reranks) as server, Client(server.url, "m", patience=QUICK) as client:
        server.queue(fault)
        found = EndpointReranker(client, model="m", shape="vllm").score("q", TEXTS)
        assert list(found.scores) == [0.2, 0.9, -0.5]
        assert len(server.requests) >= 2


@pytest.mark.parametrize(("fault", "reason"), [
    (Answer.error(401, "no"), "key"), (Answer.error(404, "no such model"), "model"), (Answer.error(500), "server"),
    (Answer(body={"results": []}), "empty"), (Answer.error(400, "too many documents"), "request"),
])  # fmt: skip
def test_an_endpoint_that_keeps_failing_is_an_error_with_its_reason(fault, reason):
    told = rf"the reranker failed \({reason}\)"
    with (
        FakeLLM(fault) as server,
        Client(server.url, "m", patience=QUICK) as client,
        pytest.raises(InputError, match=told),
    ):
        EndpointReranker(client, model="m", shape="vllm").score("q", TEXTS)


def tei(received):
    """Answer as text-embeddings-inference does: a bare list sorted by score, at most 32 texts, no tokens."""
    body = received.body
    if received.path != "/rerank" or set(body) - {"query", "texts", "raw_scores", "return_text", "truncate"}:
        return Answer(
            status=422, body="Failed to deserialize the JSON body into the target type: missing field `texts`"
        )
    if len(body["texts"]) > 32:
        told = f"batch size {len(body['texts'])} > maximum allowed batch size 32"
        return Answer(status=413, body={"error": told, "error_type": "Validation"})
    rows = [{"index": i, "score": float(len(text))} for i, text in enumerate(body["texts"])]
    return Answer(body=sorted(rows, key=lambda row: -row["score"]))


def server_root(server):
    return server.url.removesuffix("/v1")


def made_endpoint(**table):
    (choice,) = choices_of("rerank", {"method": "endpoint", **table}, "e.toml")
    return make("rerank", choice, Setup())


@pytest.mark.parametrize("shape", ["tei", "auto"])
def test_a_server_of_text_embeddings_inference_is_asked_in_its_own_shape(shape):
    texts = ["x" * (1 + (7 * i) % 50) for i in range(70)]
    with FakeLLM(tei) as server:
        table = {"url": server_root(server) + "/rerank", "shape": shape}
        reranker = made_endpoint(**table, **({"model": "bge"} if shape == "auto" else {}))
        for _ in range(2):
            found = reranker.score("q", texts)
            assert list(found.scores) == [float(len(text)) for text in texts]
            assert found.estimated
        sizes = [len(one.body["texts"]) for one in server.requests if "texts" in one.body]
        assert [sorted(sizes[:3]), sorted(sizes[3:])] == [[6, 32, 32]] * 2  # those of one call go out together
        assert len(server.requests) == 6 + (shape == "auto")  # the shape is found out once


@pytest.mark.parametrize(("fault", "reason", "calls"), [
    (Answer(status=413, body={"error": "batch size 32 > maximum allowed batch size 8", "error_type": "Validation"}), "request", 1),
    (Answer(status=422, body={"error": "Tokenization error", "error_type": "Tokenizer"}), "request", 1),
    (Answer(status=424, body={"error": "Inference error", "error_type": "Backend"}), "server", 5),
])  # fmt: skip
def test_what_text_embeddings_inference_complains_of_is_told(fault, reason, calls):
    with FakeLLM(fault) as server, Client(server_root(server), "m", patience=QUICK) as client:
        with pytest.raises(InputError, match=rf"the reranker failed \({reason}\): .*{fault.body['error']}"):
            EndpointReranker(client, model="m", shape="tei").score("q", TEXTS)
        assert len(server.requests) == calls


def test_a_busy_server_of_text_embeddings_inference_is_asked_again():
    with FakeLLM(tei) as server, Client(server_root(server), "m", patience=QUICK) as client:
        server.queue(
            Answer(
                status=429,
                body={"error": "Model is overloaded", "error_type": "Overloaded"},
                headers={"Retry-After": "0"},
            )
        )
        assert list(EndpointReranker(client, model="m", shape="tei").score("q", TEXTS).scores) == [3.0, 3.0, 5.0]


def test_an_address_that_names_text_embeddings_inference_has_its_shape():
    assert rerank_base("http://tei:8080/rerank", "auto") == ("http://tei:8080", "tei")
    assert rerank_base("http://my-tei.local", "auto")[1] == "tei"
    assert rerank_base("http://text-embeddings-inference.svc/rerank", "auto")[1] == "tei"
    assert rerank_base("http://stein.example/rerank", "auto")[1] == "vllm"


def test_searches_are_counted_and_priced_as_the_server_bills_them():
    def bills(received):
        count = len(received.body["documents"])
        rows = [{"index": i, "relevance_score": 1 / (1 + i)} for i in range(count)]
        return Answer(body={"results": rows, "meta": {"billed_units": {"search_units": 3}}})

    with FakeLLM(bills) as server:
        url = server_root(server) + "/v2/rerank"
        found = made_endpoint(url=url, model="m", shape="cohere", price_per_search=0.002).score("q", TEXTS)
        assert (found.money, found.money_estimated) == (pytest.approx(0.006), False)
        assert found.estimated  # of tokens the server says nothing
        by_tokens = made_endpoint(url=url, model="m", shape="cohere", price=2000).score("q", TEXTS)
        assert by_tokens.money == by_tokens.tokens * 2000 / 1e6
        assert (by_tokens.estimated, by_tokens.money_estimated) == (True, True)


def test_a_server_that_does_not_count_searches_is_taken_to_bill_one_for_a_hundred_texts():
    with FakeLLM(lambda received: Answer(body={"results": [
        {"index": i, "relevance_score": 0.5} for i in range(len(received.body["documents"]))], "usage": {"total_tokens": 30}})) as server:  # fmt: skip
        reranker = made_endpoint(url=server.url, model="m", shape="jina", price_per_search=0.002)
        for count, searches in ((1, 1), (100, 1), (101, 2)):
            found = reranker.score("q", ["text"] * count)
            assert (found.money, found.money_estimated) == (pytest.approx(0.002 * searches), True)
            assert (found.tokens, found.estimated) == (30, False)
    with pytest.raises(AssayError, match="give price or price_per_search, not both"):
        made_endpoint(url="http://127.0.0.1:9", model="m", price=1.0, price_per_search=0.1)


def test_tokens_that_a_server_names_are_no_estimate():
    with FakeLLM(reranks) as server:
        found = made_endpoint(url=server.url, model="m", shape="vllm", price=2.0).score("q", TEXTS)
    assert (found.tokens, found.estimated, found.money_estimated) == (30, False, False)


def test_other_shapes_need_a_model():
    with pytest.raises(AssayError, match=r'endpoint needs model, or shape = "tei" for a server'):
        made_endpoint(url="http://127.0.0.1:9/rerank")


# Language models --------------------------------------------------------------------------------------------------


def graded(received):
    text = received.text
    return json.dumps({"grade": 9 if "sencha wants" in text else 2 if "green" in text else 0})


def pointwise(client):
    return Pointwise(client, load_prompt("pointwise", None, ("query", "passage")), 4000)


def test_a_language_model_grades_each_text():
    with FakeLLM(graded) as server, Client(server.url, "m", patience=QUICK) as client:
        found = pointwise(client).score("how hot", ["a train", "sencha wants 70", "green leaves"])
        assert len(server.requests) == 3
    assert list(found.scores) == [0.0, 9.0, 2.0]
    assert found.tokens > 0


def test_a_text_whose_grade_never_comes_has_none_and_is_counted():
    def some(received):
        return Answer(body={"choices": []}) if "broken" in received.text else graded(received)

    with FakeLLM(some) as server, Client(server.url, "m", patience=QUICK) as client:
        found = pointwise(client).score("q", ["green", "broken", "a train"])
    assert list(found.scores) == [2.0, None, 0.0]
    assert found.faults == {"empty": 1}


@pytest.mark.parametrize(("answer", "reason"), [
    (Answer("no json at all"), "parse"), (Answer('{"grade": 11}'), "parse"), (Answer(refusal="I will not"), "refused"),
    (Answer.error(400, "no"), "request"), (Answer(body="<html>"), "garbage"), (Answer(broken="reset"), "network"),
])  # fmt: skip
def test_a_language_model_that_never_grades_is_an_error(answer, reason):
    with FakeLLM(answer) as server, Client(server.url, "m", patience=QUICK) as client:
        found = pointwise(client).score("q", ["a", "b"])
    assert (list(found.scores), found.faults) == ([None, None], {reason: 2})
    with pytest.raises(InputError, match=rf"no call of the reranker succeeded \({reason} 2\)"):
        check_answered([found, None])
    check_answered([found, Scored([1.0])])


def test_a_wrong_key_stops_at_once():
    with FakeLLM(Answer.error(401)) as server, Client(server.url, "m", patience=QUICK) as client:
        with pytest.raises(InputError, match=r"failed \(key\)"):
            pointwise(client).score("q", ["a", "b"])
        assert len(server.requests) <= 2


def by_number(received):
    """Order passages by the number that their text is."""
    lines = received.text.split("\n")
    numbers = [int(lines[i + 1]) for i, line in enumerate(lines) if line.startswith("[passage ")]
    order = sorted(range(len(numbers)), key=lambda i: -numbers[i])
    return json.dumps({"order": [i + 1 for i in order]})


def listwise(client, window, step):
    return Listwise(client, load_prompt("listwise", None, ("query", "passages")), (window, step, 500))


def test_a_sliding_window_lifts_the_best_to_the_top():
    values = [3, 1, 4, 15, 9, 2, 6, 5, 35, 8]
    with FakeLLM(by_number) as server, Client(server.url, "m", patience=QUICK) as client:
        whole = listwise(client, 20, 10).score("q", list(map(str, values)))
        assert len(server.requests) == 1
        slid = listwise(client, 4, 2).score("q", list(map(str, values)))
    order = sorted(range(10), key=lambda i: -whole.scores[i])
    assert [values[i] for i in order] == sorted(values, reverse=True)
    expected = list(values)  # the same, written as the paper's loop
    end = 10
    while True:
        start = max(0, end - 4)
        expected[start:end] = sorted(expected[start:end], reverse=True)
        if start == 0:
            break
        end -= 2
    order = sorted(range(10), key=lambda i: -slid.scores[i])
    assert [values[i] for i in order] == expected
    assert expected[:2] == [35, 15]


def test_windows_overlap_from_the_end_to_the_start():
    assert windows(10, 4, 2) == [(6, 10), (4, 8), (2, 6), (0, 4)]
    assert windows(3, 20, 10) == [(0, 3)]
    assert windows(5, 4, 3) == [(1, 5), (0, 2)]
    assert windows(0, 4, 2) == []


def test_an_incomplete_order_is_made_whole():
    assert permutation([3, 3, 1], 4) == [2, 0, 1, 3]
    assert permutation([], 2) == [0, 1]
    assert permutation([9, 2], 2) == [1, 0]


def test_a_window_that_fails_keeps_its_order():
    with FakeLLM([Answer.error(400)]) as server, Client(server.url, "m", patience=QUICK) as client:
        server.answer = by_number
        found = listwise(client, 4, 2).score("q", ["1", "2", "3", "4", "5", "6"])
    assert found.faults == {"request": 1}
    assert max(range(6), key=lambda i: found.scores[i]) == 3


def test_a_language_model_answers_from_the_passages():
    def said(received):
        assert "[passage 1]\nSencha wants 70 degrees." in received.text
        return "70 degrees"

    with FakeLLM(said) as server, Client(server.url, "m", patience=QUICK) as client:
        model = LanguageModel(client, load_prompt("answer", None, ("query", "passages")), (50, 500))
        assert model.answer("how hot?", ["Sencha wants 70 degrees."]).text == "70 degrees"
        server.answer = Answer.error(500)
        failed = model.answer("other?", ["x"])
    assert (failed.text, failed.reason) == (None, "server")


def test_a_prompt_of_ones_own_must_use_the_names(tmp_path):
    good = tmp_path / "p.md"
    good.write_text("version: mine-1\n\n# system\n\nBe kind.\n\n# user\n\n$query\n$passages\n", encoding="utf-8")
    prompt = load_prompt("answer", good, ("query", "passages"))
    assert prompt.version.startswith("mine-1+")
    assert fill_prompt(prompt, query="$passages", passages="p")[1]["content"] == "$passages\np"
    good.write_text("version: mine-1\n\n# system\n\nBe kind.\n\n# user\n\n$query\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"must use \$query, \$passages"):
        load_prompt("answer", good, ("query", "passages"))


# Users' own -------------------------------------------------------------------------------------------------------


class Predicts:
    def predict(self, pairs):
        return np.array([len(text) for _, text in pairs])


def test_a_users_reranker_may_be_a_function_or_an_object_that_predicts_pairs():
    assert list(OwnReranker(lambda query, texts: [len(text) for text in texts]).score("q", ["a", "bbb"]).scores) == [
        1.0,
        3.0,
    ]
    assert list(OwnReranker(Predicts()).score("q", ["a", "bbb"]).scores) == [1.0, 3.0]
    for wrong in ([1.0], [1.0, float("nan")], "words", None):
        with pytest.raises(InputError, match="returned"):
            OwnReranker(lambda query, texts, wrong=wrong: wrong).score("q", ["a", "b"])


def test_a_users_reranker_that_raises_is_named_in_one_line():
    def broken(query, texts):
        raise ValueError(f"no idea about {query} and {len(texts)} texts")

    with pytest.raises(InputError, match="broken raised ValueError: no idea about q and 2 texts"):
        OwnReranker(broken).score("q", ["a", "b"])


def scores_by_endpoint(client):
    return EndpointReranker(client, model="m", shape="jina").score("q", TEXTS)


def scores_by_grades(client):
    return Pointwise(client, load_prompt("pointwise", None, ("query", "passage")), 100).score("q", TEXTS)


def scores_by_order(client):
    return Listwise(client, load_prompt("listwise", None, ("query", "passages")), (20, 10, 100)).score("q", TEXTS)


def vectors_of(client):
    return client.embed(TEXTS)


def answers_late(received):
    if "documents" in received.body:
        return replace(reranks(received), delay=0.1)
    if "input" in received.body:
        return Answer(delay=0.1)
    graded = "grade" in received.schema["properties"]
    return Answer(json.dumps({"grade": 3} if graded else {"order": [1, 2, 3]}), delay=0.1)


@pytest.mark.parametrize("work", [scores_by_endpoint, scores_by_grades, scores_by_order, vectors_of])
def test_the_latency_of_a_server_is_that_of_its_calls_without_keeping_the_replies(work, tmp_path, monkeypatch):
    put = Cache._enqueue

    def slow(self, row, done):
        time.sleep(0.3)  # a commit on a slow disk
        put(self, row, done)

    monkeypatch.setattr(Cache, "_enqueue", slow)
    with (
        FakeLLM(answers_late) as server,
        MeteredClient(server.url, "m", cache=Cache(tmp_path / "c"), patience=Patience()) as client,
    ):
        start = time.perf_counter()
        done = time_work(partial(work, client))
        wall = 1000 * (time.perf_counter() - start)
    assert done.account.replies
    assert 99 <= done.ms <= wall - 290


def test_calls_at_the_same_time_count_once_and_gaps_between_them_not_at_all():
    def work():
        note_wait(10.0, [(0.0, 1.0), None, (0.5, 2.0), (5.0, 6.0), (5.2, 5.4)])
        note_wait(1.0, [None])  # nothing is known of its calls

    assert time_work(work).account.aside == 7.0
