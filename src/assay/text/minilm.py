"""all-MiniLM-L6-v2 in numpy: a BERT encoder of six layers, mean pooling, unit length."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError, cause
from assay.messages import say
from assay.text.model_files import load_tokenizer, read_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

Floats = Any  # NDArray[np.float32]; numpy's own operators widen it in the type checker's eyes

_LONGEST = 256  # tokens, as the model was trained
_CHARACTERS = 8192  # more than any 256 tokens hold in practice; keeps hostile texts away from the tokenizer
_BATCH = 4096  # tokens in one batch, padding included
_TOKENISED = 1024  # texts that are cut into tokens together


class MiniLM:
    """Sentence embeddings of 384 dimensions; English, weak in other languages."""

    name = "minilm"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        config = _config(folder / "config.json")
        self._tensors = read_tensors(folder / "model.safetensors")
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon: float = config["layer_norm_eps"]
        self._tokenizer = load_tokenizer(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length per text."""
        rows = np.zeros((len(texts), self._tensors["embeddings.word_embeddings.weight"].shape[1]), dtype=np.float32)
        for chosen, some in self.pieces(texts):
            rows[chosen] = some
        return rows

    def pieces(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Rows of some texts at a time, with their places."""
        ids: list[NDArray[np.int32]] = []  # a tokenizer's own records take a hundred times the memory
        for start in range(0, len(texts), _TOKENISED):
            some = [text[:_CHARACTERS] for text in texts[start : start + _TOKENISED]]
            ids += [np.array(found.ids, dtype=np.int32) for found in self._tokenizer.encode_batch(some)]
        for chosen in batches(list(map(len, ids))):
            yield chosen, self.encode([ids[i].tolist() for i in chosen])

    def encode(self, ids: list[list[int]]) -> Floats:
        """Encode token ids: pad, run the layers, average what is not padding, scale to unit length."""
        width = max(map(len, ids))
        padded = np.array([row + [0] * (width - len(row)) for row in ids])
        mask = np.array([[1.0] * len(row) + [0.0] * (width - len(row)) for row in ids], dtype=np.float32)
        hidden = self._embed_tokens(padded)
        for layer in range(self._layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, mask)
        pooled = np.einsum("btd,bt->bd", hidden, mask) / mask.sum(axis=1, keepdims=True)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.float32(1e-12))

    def _embed_tokens(self, ids: Any) -> Floats:
        tensors = self._tensors
        hidden = tensors["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + tensors["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = hidden + tensors["embeddings.token_type_embeddings.weight"][0]
        return self._normalise(hidden, "embeddings.LayerNorm.")

    def _layer(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        attended = self._linear(
            self._attention(name + "attention.self.", hidden, mask), name + "attention.output.dense."
        )
        hidden = self._normalise(hidden + attended, name + "attention.output.LayerNorm.")
        inner = gelu(self._linear(hidden, name + "intermediate.dense."))
        return self._normalise(hidden + self._linear(inner, name + "output.dense."), name + "output.LayerNorm.")

    def _attention(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        batch, width, size = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}{part}.").reshape(batch, width, self._heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(size / self._heads))
        scores = scores + (1 - mask[:, None, None, :]) * np.float32(-1e9)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(0, 2, 1, 3).reshape(batch, width, size)

    def _linear(self, hidden: Floats, name: str) -> Floats:
        # One product of two matrices is several times faster than one for each text.
        flat = hidden.reshape(-1, hidden.shape[-1]) @ self._tensors[name + "weight"].T
        flat += self._tensors[name + "bias"]
        return flat.reshape(*hidden.shape[:-1], -1)

    def _normalise(self, hidden: Floats, name: str) -> Floats:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return centred / scale * self._tensors[name + "weight"] + self._tensors[name + "bias"]


def batches(sizes: list[int]) -> Iterator[list[int]]:
    """Places of texts of like length, so many that no batch holds too many tokens."""
    batch: list[int] = []
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        if batch and (len(batch) + 1) * sizes[place] > _BATCH:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def gelu(x: Floats) -> Floats:
    """Exact GELU, by the error function."""
    from scipy.special import erf

    found = erf(x * np.float32(np.sqrt(0.5)))
    found += 1
    found *= x
    found *= np.float32(0.5)
    return found


def _config(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["hidden_act"] != "gelu" or found.get("position_embedding_type", "absolute") != "absolute":
            raise InputError(say("only BERT with gelu and absolute positions is supported"))  # noqa: TRY301
        _ = found["num_attention_heads"], found["num_hidden_layers"], found["layer_norm_eps"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        reason = cause(error)
        raise InputError(
            say("not the configuration of a BERT model: {reason}", reason=reason), path=str(path)
        ) from None
    return found


@lru_cache(maxsize=2)
def load_minilm(folder: Path) -> MiniLM:
    """Load the model once."""
    return MiniLM(folder)
