"""Rerankers that run on this machine, and users' own: scores for the texts of one query."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from assay.errors import AssayError, InputError, MissingPackage, UsageError, excerpt
from assay.llm.calls import Call, rerank_base, rerank_call
from assay.messages import say, word
from assay.pipeline.external import answer_of
from assay.pipeline.records import Scored, add_money
from assay.pipeline.sources import file_digest, prices, source_digest
from assay.pipeline.stages import IdentifiedEmbedder, Setup, at_least, identity_of, load, method
from assay.text.embeddings import embed_all
from assay.text.model_files import load_tokenizer
from assay.text.products import products

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from assay.llm import Reply
    from assay.llm.calls import Shape
    from assay.llm.client import Client
    from assay.text.embeddings import Embedder

_KEPT = 100_000  # vectors of texts kept in memory
_A_SEARCH = 100  # texts that Cohere bills as one search


class Reranker(Protocol):
    """Anything that scores texts for a query; the higher the better."""

    identity: dict[str, Any]

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """One score per text."""


@method("rerank", "none")
def none(setup: Setup) -> None:
    """The order of the retriever."""
    del setup


@method("rerank", "embedding")
def embedding(setup: Setup, *, embedder: str = "auto") -> Reranker:
    """Cosine similarity of query and text; best by another model than the retriever's."""
    return EmbeddingReranker(setup.embedder(embedder))


class EmbeddingReranker:
    """Similarity of embeddings; texts that come again are not embedded again."""

    def __init__(self, embedder: Embedder) -> None:
        self.identity = {"method": "embedding", "embedder": identity_of(embedder)}
        self.identity |= {"prices": list(embedder.prices)} if isinstance(embedder, IdentifiedEmbedder) else {}
        self._embedder = embedder
        self._rows: dict[str, NDArray[np.float32]] = {}

    def forget(self) -> None:
        """Drop the vectors that were kept."""
        self._rows.clear()

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """Cosines."""
        if len(self._rows) > _KEPT:
            self._rows.clear()
        new = [text for text in dict.fromkeys([query, *texts]) if text not in self._rows]
        found = embed_all(self._embedder, new)
        if found.failures:
            raise InputError(say("a text got no vector: {reason}", reason=next(iter(found.failures.values()))))
        self._rows |= dict(zip(new, found.rows, strict=True))
        matrix = np.array([self._rows[text] for text in texts])
        return Scored(products(matrix, self._rows[query]).tolist())


@method("rerank", "cross-encoder")
def cross_encoder(setup: Setup, *, folder: str, max_tokens: int = 512, batch: int = 32) -> Reranker:
    """A model that reads query and text together: a folder with model.onnx and tokenizer.json, on onnxruntime."""
    at_least("batch", batch, 1)
    return CrossEncoder(setup.path(folder), max_tokens=max_tokens, batch=batch)


class CrossEncoder:
    """An ONNX model with the logits of one or two labels; of two, the second is the relevant one."""

    def __init__(self, folder: Path, *, max_tokens: int = 512, batch: int = 32) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingPackage(say("a cross-encoder"), "onnxruntime", "onnx") from None
        places = [folder / "model.onnx", folder / "onnx" / "model.onnx"]
        model = next((place for place in places if place.is_file()), None)
        if model is None or not (folder / "tokenizer.json").is_file():
            raise InputError(say("no model.onnx and tokenizer.json in this folder"), path=str(folder))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._tokenizer = load_tokenizer(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._batch = batch
        self.identity = {
            "method": "cross-encoder", "model": file_digest(model),
            "tokenizer": file_digest(folder / "tokenizer.json"),
            "max_tokens": max_tokens,
        }  # fmt: skip

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """Logits, in batches of texts of like length."""
        encoded = self._tokenizer.encode_batch([(query, text) for text in texts])
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        scores = np.empty(len(texts))
        for start in range(0, len(order), self._batch):
            chosen = order[start : start + self._batch]
            scores[chosen] = self._logits([encoded[i] for i in chosen])
        return Scored(scores.tolist(), tokens=sum(len(one.ids) for one in encoded), output_tokens=0)

    def _logits(self, encoded: list[Any]) -> NDArray[np.float64]:
        width = max(len(one.ids) for one in encoded)
        known = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feed = {
            name: np.array(
                [getattr(one, known[name]) + [0] * (width - len(one.ids)) for one in encoded], dtype=np.int64
            )
            for name in self._inputs
            if name in known
        }
        logits = np.asarray(self._session.run(None, feed)[0], dtype=np.float64).reshape(len(encoded), -1)
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


@method("rerank", "endpoint")
def endpoint(
    setup: Setup, *, url: str, model: str = "", shape: str = "auto", key_env: str = "", price: float | None = None,
    price_per_search: float | None = None, batch: int = 32,
) -> Reranker:  # fmt: skip
    """A server with a /rerank address of the Jina, Cohere, vLLM, DashScope or text-embeddings-inference (tei) shape.

    `price` is that of a million tokens, `price_per_search` that of a search: up to 100 texts, unless the server says
    how many it bills. `batch` is how many texts a tei server takes at once.
    """
    at_least("batch", batch, 1)
    if price is not None and price_per_search is not None:
        raise UsageError(say("give price or price_per_search, not both"))
    base, known = rerank_base(url, shape)
    if not model and known != "tei":
        raise UsageError(say('endpoint needs model, or shape = "tei" for a server of text-embeddings-inference'))
    client = setup.client(base, model or "tei", key_env=key_env)
    guessed = shape == "auto" and known == "vllm" and "vllm" not in url.lower()
    return EndpointReranker(
        client, model=model or "tei", shape=known, price=price, price_per_search=price_per_search, batch=batch,
        guessed=guessed,
    )  # fmt: skip


class EndpointReranker:
    """A reranker behind HTTP; a `guessed` shape is replaced by tei if the server rejects it."""

    def __init__(
        self, client: Client, *, model: str, shape: Shape, price: float | None = None,
        price_per_search: float | None = None, batch: int = 32, guessed: bool = False,
    ) -> None:  # fmt: skip
        self._client, self._model, self._shape, self._guessed = client, model, shape, guessed
        self._price, self._per_search, self._batch = price, price_per_search, batch
        known: list[Any] = prices(client) if price is None else [price]
        self.identity = {
            "method": "endpoint", "url": client.host, "model": model, "shape": shape,
            "prices": known if price_per_search is None else ["search", price_per_search],
        }  # fmt: skip

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """One call for all texts of a query, or for every `batch` of them where the server has a limit."""
        replies = self._ask(query, texts)
        if self._guessed and replies[0].reason == "request":
            self._guessed, shape = False, self._shape
            self._shape = "tei"
            second = self._ask(query, texts)
            if second[0].ok:
                replies = second
            else:
                self._shape = shape
        failed = next((reply for reply in replies if not reply.ok), None)
        if failed is not None:
            raise InputError(
                say(
                    "the reranker failed ({reason}): {message}",
                    reason=word("call", failed.reason),
                    message=failed.message,
                )
            )
        self._guessed = False
        found = [_Reranked.of(reply) for reply in replies]
        used = sum(reply.usage.prompt_tokens for reply in replies)
        guessed = any(reply.usage.estimated for reply in replies)
        money, priced = self._money(replies, found, guessed=guessed)
        scores = [score for one in found for score in one.scores]
        return Scored(scores, used, money, estimated=guessed, money_estimated=priced, output_tokens=0)

    def _ask(self, query: str, texts: Sequence[str]) -> list[Reply]:
        step = self._batch if self._shape == "tei" else max(len(texts), 1)
        parts = [texts[start : start + step] for start in range(0, len(texts), step)]
        calls = [rerank_call(query, part, model=self._model, shape=self._shape) for part in parts]
        return self._client.call_many(calls)

    def _money(
        self, replies: Sequence[Reply], found: Sequence[_Reranked], *, guessed: bool
    ) -> tuple[float | None, bool]:
        """What a query cost, and whether that is an estimate; a price per token needs tokens."""
        if self._per_search is not None:
            known = all(one.searches is not None for one in found)
            count = sum(-(-len(one.scores) // _A_SEARCH) if one.searches is None else one.searches for one in found)
            return count * self._per_search, not known
        used = sum(reply.usage.prompt_tokens for reply in replies)
        money: float | None = 0.0
        for reply in replies:
            money = add_money(money, self._client.price_of(reply))
        if self._price is not None:
            money = used * self._price / 1e6
        return (money, guessed and bool(money)) if used else (None, False)


class _Reranked(NamedTuple):
    """Scores of an answer, and the searches that the server bills for it, if it says so."""

    scores: Sequence[float]
    searches: float | None

    @classmethod
    def of(cls, reply: Reply) -> _Reranked:
        if isinstance(reply.data, dict):
            return cls(reply.data["scores"], reply.data["searches"])
        return cls(reply.data, None)


class OwnReranker:
    """A user's function of query and texts, or an object with rerank, predict or score."""

    def __init__(self, thing: Any, name: str = "", params: Mapping[str, Any] | None = None) -> None:
        self._call = _scorer(thing, dict(params or {}))
        self.name = name or getattr(thing, "__name__", type(thing).__name__)
        self.identity = {"plugin": name, "source": source_digest(thing, name), "parameters": dict(params or {})}

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """Call it, and check that there is one number per text."""
        try:
            found = self._call(query, list(texts))
        except AssayError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise InputError(
                say("{name} raised {kind}: {error}", name=self.name, kind=type(error).__name__, error=str(error))
            ) from error
        if isinstance(found, Scored):
            return found
        try:
            values = [float(value) for value in np.asarray(found, dtype=np.float64).reshape(-1)]
        except (TypeError, ValueError):
            raise InputError(
                say("{name} returned {found}, expected one number per text", name=self.name, found=excerpt(found))
            ) from None
        if len(values) != len(texts) or not all(map(math.isfinite, values)):
            raise InputError(
                say(
                    "{name} returned {n} {n:number|numbers} for {texts} texts, expected one finite number per text",
                    name=self.name,
                    n=len(values),
                    texts=len(texts),
                )
            )
        return Scored(list(values))


def _scorer(thing: Any, params: dict[str, Any]) -> Callable[[str, list[str]], Any]:
    for name in ("score", "rerank", "compute_score", "predict"):
        call = getattr(thing, name, None)
        if callable(call) and not inspect.isclass(thing):
            if name in {"predict", "compute_score"}:  # cross-encoders of other packages take pairs
                return lambda query, texts, call=call: call([(query, text) for text in texts], **params)  # type: ignore[misc]
            return lambda query, texts, call=call: call(query, texts, **params)  # type: ignore[misc]
    if callable(thing):
        return lambda query, texts: thing(query, texts, **params)
    raise UsageError(say("{kind} is not a reranker: expected a function of query and texts", kind=type(thing).__name__))


def plugin_reranker(text: str, setup: Setup, params: Mapping[str, Any]) -> Reranker:
    """A user's own reranker: module:callable, or an endpoint: POST {"query", "texts"} -> {"scores"}."""
    if not text.startswith(("http://", "https://")):
        return OwnReranker(load(text, setup.folder), text, params)
    if text.rstrip("/").endswith("rerank"):
        raise UsageError(say('{url} is a /rerank address: use method = "endpoint" with url and model', url=text))
    client, rest = setup.endpoint(text, "reranker", params)

    def ask(query: str, texts: list[str]) -> Any:
        body = {"query": query, "texts": texts, **rest}
        return answer_of(client.call_many([Call("", "reranker", body, lambda answer: answer.get("scores"))])[0])

    return OwnReranker(ask, text, params)
