"""Stages of the pipeline: documents, chunkers, retrievers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data.spans import GoldSpan, count_covered
from assay.errors import AssayError, InputError, UsageError
from assay.fusion.fuse import Fusion
from assay.messages import tell
from assay.pipeline.bm25 import Bm25
from assay.pipeline.chunkers import cut, plugin_chunker
from assay.pipeline.documents import read_collection
from assay.pipeline.experiment import make
from assay.pipeline.external import ExternalRetriever, as_search
from assay.pipeline.generators import Extractive
from assay.pipeline.gold import chunks_judged
from assay.pipeline.grid import choices_of
from assay.pipeline.hybrid import Hybrid
from assay.pipeline.ordering import descending, reorder
from assay.pipeline.records import Answered, Chunk, Document, Hits, Query, Scored
from assay.pipeline.retrieval import top_places
from assay.pipeline.stages import Setup, load
from assay.pipeline.store import Store, key_of
from assay.pipeline.terms import words
from assay.pipeline.vectors import Exact, VectorIndexer

TEXT = "Green tea is steamed. Black tea is oxidised!\n\nOolong lies between. 乌龙茶用沸水冲泡。绿茶不可。 " * 4


class Letters:
    """An embedder that counts letters: similar texts get similar vectors, without any model."""

    name = "letters"

    def embed(self, texts):
        return np.array(
            [[text.lower().count(sign) + 0.01 for sign in "abcdefghijklmnopqrstuvwxyz茶水"] for text in texts]
        )


def stage(name, raw, **setup):
    (choice,) = choices_of(name, raw, "test.toml")
    return make(name, choice, Setup(**setup))


def chunks_of(texts):
    return [Chunk(f"d{i}", f"d{i}", text, 0, len(text)) for i, text in enumerate(texts)]


# Documents --------------------------------------------------------------------------------------------------------


def test_a_folder_of_text_markdown_and_html_becomes_documents_named_by_their_paths(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("plain", encoding="utf-8")
    (tmp_path / "sub" / "b.md").write_text("# Title\n\ntext", encoding="utf-8")
    (tmp_path / "c.html").write_text(
        "<html><head><title>no</title><style>p{}</style></head><body><p>One &amp; two</p><script>x()</script><p>three</p></body>",
        encoding="utf-8",
    )
    (tmp_path / "d.bin").write_bytes(b"\0\1")
    found = dict(read_collection(tmp_path))
    assert found == {"a.txt": "plain", "sub/b.md": "# Title\n\ntext", "c.html": "One & two\nthree"}


def pdf_with(text: str) -> bytes:
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length " + str(len(stream)).encode() + b" >>\nstream\n" + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += str(number).encode() + b" 0 obj\n" + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n" + str(start).encode() + b"\n%%EOF\n"


def test_a_pdf_gives_its_text_and_one_without_text_is_refused(tmp_path):
    (tmp_path / "good.pdf").write_bytes(pdf_with("Hello tea"))
    assert dict(read_collection(tmp_path)) == {"good.pdf": "Hello tea"}
    (tmp_path / "scan.pdf").write_bytes(pdf_with(""))
    with pytest.raises(InputError, match=r"scan.pdf: the PDF has no text \(if it is a scan"):
        read_collection(tmp_path)


def test_a_beir_folder_and_tables_are_read_as_documents(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "x", "title": "T", "text": "body"}\n', encoding="utf-8")
    assert read_collection(tmp_path) == [Document("x", "T\n\nbody")]
    (tmp_path / "d.csv").write_text("id,text\n1,one\n", encoding="utf-8")
    assert read_collection(tmp_path / "d.csv") == [Document("1", "one")]


def test_a_folder_without_documents_is_refused(tmp_path):
    with pytest.raises(InputError, match="the folder has no files"):
        read_collection(tmp_path)


# Chunkers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", ["none", {"method": "fixed", "size": 50, "overlap": 10}, {"method": "sentence", "size": 60},
                                 {"method": "recursive", "size": 60}, {"method": "markdown", "size": 60}])  # fmt: skip
def test_every_chunk_is_a_piece_of_its_document_at_the_place_it_names(raw):
    documents = [Document("a", TEXT), Document("b", "  short  "), Document("c", " \n ")]
    chunks = cut(stage("chunk", raw), documents)
    texts = {document.id: document.text for document in documents}
    assert all(texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text == chunk.text.strip() for chunk in chunks)
    assert "c" not in {chunk.doc_id for chunk in chunks}
    assert [chunk.id for chunk in chunks if chunk.doc_id == "b"] == ["b"]
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    covering = {i for chunk in chunks if chunk.doc_id == "a" for i in range(chunk.start, chunk.end)}
    assert all(sign.isspace() for i, sign in enumerate(TEXT) if i not in covering), "nothing but blanks is lost"
    if isinstance(raw, dict):
        assert all(len(chunk.text) <= 60 for chunk in chunks)


@given(st.text(min_size=1, max_size=300), st.integers(1, 50), st.data())
def test_fixed_chunks_step_by_size_less_overlap(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    spans = stage("chunk", {"method": "fixed", "size": size, "overlap": overlap}).split([text])[0]
    expected, start = [], 0
    while True:
        expected.append((start, min(start + size, len(text))))
        if start + size >= len(text):
            break
        start += size - overlap
    assert spans == expected


def test_sentence_chunks_repeat_whole_sentences():
    text = "One is here. Two is here. Three is here. Four is here."
    spans = stage("chunk", {"method": "sentence", "size": 28, "overlap": 1}).split([text])[0]
    assert [text[a:b].strip() for a, b in spans] == [
        "One is here. Two is here.", "Two is here. Three is here.", "Three is here. Four is here.",
    ]  # fmt: skip


def test_semantic_chunks_break_where_the_subject_changes(tmp_path):
    (tmp_path / "letters_embedder.py").write_text(
        "import numpy as np\ndef embed(texts):\n    return np.array([[t.count('tea') + .01, t.count('train') + .01] for t in texts])\n",
        encoding="utf-8",
    )
    text = "I like tea. More tea please. The tea is hot. The train is late. A train came. One more train."
    raw = {"method": "semantic", "embedder": "letters_embedder:embed", "percentile": 75.0, "least": 10}
    spans = stage("chunk", raw, folder=tmp_path).split([text])[0]
    assert [text[a:b].strip() for a, b in spans] == [text[:44], text[45:]]


def test_a_users_chunker_may_give_texts_or_places(tmp_path):
    (tmp_path / "own_chunker.py").write_text(
        "def lines(text):\n    return text.split('\\n')\ndef halves(text):\n    return [[0, 2], [2, len(text)]]\ndef wrong(text):\n    return ['nowhere']\n",
        encoding="utf-8",
    )
    setup = Setup(tmp_path)
    assert plugin_chunker("own_chunker:lines", setup, {}).split(["ab\ncd\nab"]) == [[(0, 2), (3, 5), (6, 8)]]
    assert plugin_chunker("own_chunker:halves", setup, {}).split(["abcd"]) == [[(0, 2), (2, 4)]]
    with pytest.raises(InputError, match="'nowhere', which the document does not contain"):
        plugin_chunker("own_chunker:wrong", setup, {}).split(["abcd"])


@pytest.mark.parametrize(("raw", "message"), [
    ("fixd", "unknown method of chunk 'fixd'; did you mean fixed"),
    ({"method": "fixed", "size": "big"}, "size = 'big': expected a whole number"),
    ({"method": "fixed", "size": True}, "expected a whole number"),
    ({"method": "fixed", "size": 5, "overlap": 5}, "overlap = 5: expected less than size"),
    ({"method": "fixed", "sice": 5}, r"chunk\.sice: unknown parameter 'sice'; did you mean size"),
    ({"method": "none", "size": 5}, "it is a parameter of fixed"),
    ({"method": 3}, "chunk.method: '3' is not the name of a method"),
    ("no_such_module:thing", "no_such_module:thing cannot be imported"),
])  # fmt: skip
def test_a_wrong_chunker_is_refused_with_its_place(raw, message):
    with pytest.raises(AssayError, match=message):
        stage("chunk", raw)


# Retrievers -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 45))
def test_the_best_places_are_those_of_a_stable_sort(values, k):
    scores = np.array(values, dtype=np.float32)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    assert top_places(scores, k).tolist() == expected


@given(st.integers(0, 10_000), st.sampled_from([1, 3, 7, 1000]), st.integers(1, 60), st.integers(1, 3000))
def test_the_best_places_of_long_lists_are_those_of_a_stable_sort(seed, kinds, k, size):
    scores = np.random.default_rng(seed).integers(0, kinds, size).astype(np.float32)
    expected = sorted(range(size), key=lambda i: (-scores[i], i))[:k]
    assert top_places(scores, k).tolist() == expected


def test_bm25_scores_are_those_of_the_formula():
    texts = ["green tea green", "black tea", "milk and water and more milk", "绿茶用八十度的水"]
    index = Bm25(k1=1.2, b=0.6).build(chunks_of(texts))
    tokens = [["green", "tea", "green"], ["black", "tea"], ["milk", "and", "water", "and", "more", "milk"]]
    sizes = [3, 2, 6, len(words(texts[3]))]
    mean = sum(sizes) / 4

    def score(word, i):
        frequency = tokens[i].count(word)
        holding = sum(word in row for row in tokens)
        idf = math.log(1 + (4 - holding + 0.5) / (holding + 0.5))
        return idf * frequency / (frequency + 1.2 * (1 - 0.6 + 0.6 * sizes[i] / mean))

    numbers, scores = index.search(Query("q", "green tea"), 10)
    assert numbers == [0, 1]
    assert scores == pytest.approx([score("green", 0) + score("tea", 0), score("tea", 1)], rel=1e-5)
    assert index.search(Query("q", "绿茶"), 10)[0] == [3]
    assert index.search(Query("q", "unheard"), 10) == ([], [])


def test_an_index_that_was_saved_finds_the_same(tmp_path):
    chunks = chunks_of(["green tea", "black tea", "milk", "oolong 乌龙茶"])
    for part in (Bm25(), VectorIndexer(Letters()), VectorIndexer(Letters(), search="usearch")):
        index = part.build(chunks)
        folder = tmp_path / part.identity["method"] / part.identity.get("search", "")
        folder.mkdir(parents=True)
        index.save(folder)
        for text in ("tea", "乌龙茶 milk"):
            assert part.load(folder, len(chunks)).search(Query("q", text), 3) == index.search(Query("q", text), 3)


def test_many_queries_are_compared_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(500, 8)).astype(np.float32)
    queries = rng.normal(size=(40, 8)).astype(np.float32)
    sizes = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, function, how, *inputs, **more):
            found = getattr(function, how)(*(np.asarray(one) for one in inputs), **more)
            sizes.append(found.size)
            return found

    monkeypatch.setattr("assay.pipeline.vectors._CELLS", 2000)
    index = Exact(rows, None)
    found = index.search_vectors(queries.view(Watched), 7)
    assert max(sizes) <= 2000
    likeness = queries.astype(np.float64) @ rows.astype(np.float64).T
    assert [numbers for numbers, _ in found] == [np.argsort(-row)[:7].tolist() for row in likeness]


def test_vectors_are_ranked_by_cosine():
    texts = ["green tea", "black tea", "milk", "zebra"]
    numbers, scores = VectorIndexer(Letters()).build(chunks_of(texts)).search(Query("q", "tea green"), 3)
    rows = Letters().embed([*texts, "tea green"])
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows[:4] @ rows[4]
    assert numbers == np.argsort(-cosines)[:3].tolist()
    assert scores == pytest.approx(cosines[numbers], abs=1e-6)


def test_approximate_search_finds_nearly_all_that_exact_search_does():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(2000, 16))

    class Fixed:
        name = "fixed"

        def embed(self, texts):
            return np.array([rows[int(text)] for text in texts])

    chunks = chunks_of([str(i) for i in range(2000)])
    exact, near = (VectorIndexer(Fixed(), search=search).build(chunks) for search in ("exact", "usearch"))
    shares = []
    for i in range(0, 2000, 100):
        wanted, found = exact.search(Query("q", str(i)), 10)[0], near.search(Query("q", str(i)), 10)[0]
        shares.append(len({*wanted} & {*found}) / 10)
    assert np.mean(shares) > 0.9


@pytest.mark.parametrize("told", [("rrf", None, None, {"k": 60.0}), ("weighted", None, [0.3, 0.7], {}), ("weighted", "z", [0.5, 0.5], {}), ("combmnz", None, None, {})])  # fmt: skip
def test_hybrid_gives_what_fusing_two_runs_gives(told):
    method, norm, weights, params = told
    rng = np.random.default_rng(3)
    lists = []
    for _ in range(2):
        numbers = rng.permutation(30)[:20].tolist()
        lists.append((numbers, sorted(rng.normal(size=20).tolist(), reverse=True)))
    fusion = Fusion.of(method, norm, weights, ("bm25", "vectors"), params=params)
    numbers, scores = Hybrid((Bm25(), VectorIndexer(Letters())), fusion).fuse(lists, 40)
    runs = [{"q": {f"{n:03d}": s for n, s in zip(*one, strict=True)}} for one in lists]
    fused = assay.fuse(runs, method, norm=norm, weights=weights, top=40, **params).to_dict()["q"]
    assert {f"{n:03d}": s for n, s in zip(numbers, scores, strict=True)} == pytest.approx(fused)
    assert scores == sorted(scores, reverse=True)


def test_a_run_file_serves_as_a_retriever(tmp_path):
    (tmp_path / "old.run").write_text("q1 Q0 d1 1 3.5 x\nq1 Q0 d0 2 1.5 x\n", encoding="utf-8")
    retriever = stage("retrieve", {"method": "run", "file": "old.run"}, folder=tmp_path)
    chunks = chunks_of(["a", "b"])
    assert retriever.search_in(chunks, Query("q1", "any"), 10) == ([1, 0], [3.5, 1.5])
    assert retriever.search_in(chunks, Query("q2", "any"), 10) == ([], [])


def langchain(found):
    return SimpleNamespace(
        invoke=lambda query: [SimpleNamespace(page_content=text, metadata=meta, id=None) for _, text, meta, _ in found]
    )


def llamaindex(found):
    return SimpleNamespace(
        retrieve=lambda query: [
            SimpleNamespace(node=SimpleNamespace(node_id="random", text=text, metadata={}), score=score)
            for _, text, _, score in found
        ]
    )


def haystack(found):
    return SimpleNamespace(
        run=lambda query: {
            "documents": [
                SimpleNamespace(id=name, content=text, score=score, meta={}) for name, text, _, score in found
            ]
        }
    )


@pytest.mark.parametrize("kind", [langchain, llamaindex, haystack])
def test_retrievers_of_other_frameworks_are_known_by_their_methods(kind):
    chunks = chunks_of(["green tea", "black tea", "milk"])
    found = [("d2", "milk", {"doc_id": "d2"}, 0.9), ("d0", "green tea", {"doc_id": "d0"}, 0.4)]
    search = ExternalRetriever(as_search(kind(found), "x:y", {}), {})
    assert search.search_in(chunks, Query("q", "anything"), 10)[0] == [2, 0]


def test_a_users_function_may_give_ids_pairs_or_dicts_and_strangers_are_refused():
    chunks = chunks_of(["green tea", "black tea"])
    for given_ in (["d1", "d0"], [("d1", 2.0), ("d0", 1.0)], [{"id": "d1", "score": 2}, {"id": "d0", "score": 1}]):
        search = ExternalRetriever(as_search(lambda query, k, found=given_: found, "x:y", {}), {})
        assert search.search_in(chunks, Query("q", "t"), 5)[0] == [1, 0]
    with pytest.raises(InputError, match="returned 'zz', which is not a document"):
        ExternalRetriever(as_search(lambda query, k: ["zz"], "x:y", {}), {}).search_in(chunks, Query("q", "t"), 5)
    cut_up = [Chunk("d#0", "d", "a", 0, 1), Chunk("d#1", "d", "b", 1, 2)]
    with pytest.raises(InputError, match="cut into several chunks"):
        ExternalRetriever(as_search(lambda query, k: ["d"], "x:y", {}), {}).search_in(cut_up, Query("q", "t"), 5)
    with pytest.raises(UsageError, match="is not a retriever"):
        as_search(3, "x:y", {})


# Order, gold, answers ---------------------------------------------------------------------------------------------


def test_a_reranked_list_keeps_the_old_order_among_equals_and_below_what_was_scored():
    hits = Hits((7, 8, 9, 10, 11), (5.0, 4.0, 3.0, 2.0, 1.0))
    found = reorder(hits, Scored([1.0, None, 3.0, 1.0]), 2.5)
    assert found.chunks == (9, 7, 10, 8, 11)
    assert list(found.scores) == [3.0, 1.0, 1.0, 0.0, -1.0]
    told = descending(found.scores)
    assert sorted(told, reverse=True) == told
    assert len(set(told)) == 5
    assert told == pytest.approx(list(found.scores))


def test_gold_spans_are_mapped_to_chunks_by_their_characters():
    chunks = [Chunk(f"d#{i}", "d", "x" * 10, 10 * i, 10 * i + 10) for i in range(4)]
    spans = [GoldSpan("q", "d", 8, 22), GoldSpan("q", "e", 0, 5)]
    assert chunks_judged(spans, chunks).to_dict() == {"q": {"d#1": 1.0}}
    assert chunks_judged(spans, chunks, share=0.2).to_dict() == {"q": {"d#0": 1.0, "d#1": 1.0, "d#2": 1.0}}
    assert count_covered(spans, [chunks[0], chunks[1], chunks[1]]) == [12, 0]


def test_extractive_answers_are_sentences_of_the_contexts():
    contexts = ["Sencha wants 70 degrees. It is green.", "Trains leave at noon. 乌龙茶用沸水冲泡。"]
    assert Extractive(1).answer("how hot for sencha?", contexts).text == "Sencha wants 70 degrees."
    assert Extractive(1).answer("乌龙茶用什么水", contexts).text == "乌龙茶用沸水冲泡。"
    assert Extractive().answer("quantum zebras", contexts).text is None
    assert Extractive().answer("sencha", []).text is None


# Keeping and measuring --------------------------------------------------------------------------------------------


def test_a_damaged_file_of_the_cache_is_computed_again(tmp_path):
    store = Store(tmp_path)
    key = key_of("stage", {"b": 1, "a": [2]})
    assert key == key_of("stage", {"a": [2], "b": 1}) != key_of("stage", {"a": [2], "b": 2})
    assert store.values("chunk", key, lambda: ([1, 2], True)) == [1, 2]
    assert store.values("chunk", key, lambda: ([3], True)) == [1, 2]
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    file.write_text("[1, 2", encoding="utf-8")
    assert store.values("chunk", key, lambda: ([3], False)) == [3]
    assert store.values("chunk", key, lambda: ([4], True)) == [4]
    assert (store.done["chunk"], store.reused["chunk"]) == (3, 1)


def test_a_folder_is_kept_whole_or_not_at_all(tmp_path):
    store = Store(tmp_path)

    def breaks(folder):
        (folder / "half").write_text("x", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.keep_folder("index", "abc", breaks)
    assert store.load_folder("index", "abc", lambda folder: folder) is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    store.keep_folder("index", "abc", lambda folder: (folder / "x").write_text("x", encoding="utf-8"))
    assert store.load_folder("index", "abc", lambda folder: (folder / "x").read_text(encoding="utf-8")) == "x"


def test_peak_memory_counts_what_is_given_back():
    if not sys.platform.startswith("linux"):
        pytest.skip("elsewhere the high-water mark cannot be reset")
    # In a process of its own: in a used one, memory that was given back before may be taken again unnoticed.
    code = (
        "import numpy as np\n"
        "from assay.pipeline.measuring import measure_work\n"
        "found, seconds, peak = measure_work(lambda: (len(np.ones(40_000_000, dtype=np.uint8)), len(np.ones(1000))))\n"
        "print(found, seconds > 0, 30_000_000 < peak < 200_000_000)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(40000000, 1000) True True\n"


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_retriever_with_scores_that_are_no_numbers_is_refused(score):
    chunks = [Chunk("d0", "d0", "tea", 0, 3), Chunk("d1", "d1", "milk", 0, 4)]
    for found in ([("d0", 1.0), ("d1", score)], [SimpleNamespace(id="d0", score=score)]):
        search = ExternalRetriever(as_search(lambda query, k, found=found: found, "x:y", {}), {})
        with pytest.raises(InputError, match="expected a finite number"):
            search.search_in(chunks, Query("q", "t"), 5)
    exact = ExternalRetriever(
        as_search(lambda query, k: [("d0", np.float32(0.5)), ("d1", np.float32(0.75))], "x:y", {}), {}
    )
    assert exact.search_in(chunks, Query("q", "t"), 5) == ([1, 0], [0.75, 0.5])


@pytest.mark.parametrize(("page", "text"), [
    ("<html><head><title>no</title><body><p>One</p>two", "One\ntwo"),
    ("<title>no</title><style>p{}</style><p>One</p><script>x()</script>", "One"),
    ("<head><noscript><body><p>One</p></body>", "One"),
])  # fmt: skip
def test_a_page_whose_head_is_never_closed_has_its_text(tmp_path, page, text):
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert read_collection(tmp_path / "a.html") == [Document("a.html", text)]


def test_why_an_extract_is_empty_is_told_in_chinese_also_from_a_cache():
    found = Extractive().answer("teapot", ["Coffee is black."])
    kept = json.loads(json.dumps(found.to_json()))
    assert kept["reason"] == "the chunks contain none of the question's words"
    for reason in (kept["reason"], "the chunks have no word of the question"):  # as earlier versions kept it
        read = Answered.from_json({**kept, "reason": reason})
        assert tell(read.reason, "zh") == "分块中没有问题中的任何词语"
    assert Answered.from_json({**kept, "reason": "timeout"}).reason == "timeout"


# Keys of servers, modules of users --------------------------------------------------------------------------------


HOME, AWAY = "https://home.example.org/v1", "https://away.example.org/v1"


def key_of_client(client):
    return None if client._settings.key is None else client._settings.key.reveal()


def test_a_users_endpoint_gets_no_key_but_the_one_that_its_table_names(monkeypatch):
    monkeypatch.setenv("ASSAY_API_KEY", "general")
    monkeypatch.setenv("MINE", "mine")
    for setup in (Setup(), Setup(llm={"url": HOME, "model": "m"})):
        client, sent = setup.endpoint(AWAY, "retriever", {"top": 3})
        assert (key_of_client(client), sent) == (None, {"top": 3})
        client, sent = setup.endpoint(AWAY, "reranker", {"top": 3, "key_env": "MINE"})
        assert (key_of_client(client), sent) == ("mine", {"top": 3})
        setup.close()


@pytest.mark.parametrize(
    ("name", "raw"),
    [("query", {}), ("chunk", {}), ("retrieve", {}), ("rerank", {}), ("generate", {})],
)  # fmt: skip
def test_no_kind_of_endpoint_is_sent_the_general_key(monkeypatch, name, raw):
    monkeypatch.setenv("ASSAY_API_KEY", "general")
    made = []
    monkeypatch.setattr(Setup, "client", lambda self, *asked, **told: made.append(told["keyless"]))
    stage(name, {"method": AWAY, **raw})
    assert made == [True]


def test_the_general_key_goes_to_one_server_of_an_experiment(monkeypatch):
    monkeypatch.setenv("ASSAY_API_KEY", "general")
    named = Setup(llm={"url": HOME, "model": "m"})
    assert key_of_client(named.client(AWAY, "n")) is None
    assert key_of_client(named.client()) == "general"
    free = Setup()
    free.endpoint(AWAY, "retriever", {})  # asks for none, so the key is not its
    assert [key_of_client(free.client(url, "n")) for url in (HOME, AWAY, HOME)] == ["general", None, "general"]
    named.close(), free.close()


@pytest.mark.parametrize(
    "text", ["def f(:", "raise ValueError('a\\nb')", "import sys; sys.exit(3)", "1 / 0", "f = 1", "import no_such_one"]
)
def test_a_module_that_fails_when_it_is_imported_is_one_line(tmp_path, text):
    name = f"broken_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text + "\n")
    with pytest.raises(UsageError, match="cannot be imported") as caught:
        load(f"{name}:g", tmp_path)
    assert "\n" not in caught.value.message
