"""wordllama: the average of static token vectors, from the weights that its package carries.

The files are read here rather than by the package: importing that sets up logging for the whole process, pulls in two
HTTP clients and would download what it does not find.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import MissingPackage
from assay.text.model_files import load_tokenizer, read_tensors
from assay.text.products import unit_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_WEIGHTS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_CHARACTERS = 8192  # of a text that count; a sentence has fewer
_AT_ONCE = 1 << 16  # characters; a token has a vector of a kilobyte, and a Chinese character at most three tokens


class WordLlama:
    """Sentence embeddings of 256 dimensions without a neural network; English and Chinese alike."""

    name = "wordllama"

    def __init__(self, folder: Path) -> None:
        (self._vectors,) = read_tensors(folder / _WEIGHTS).values()
        self._tokenizer = load_tokenizer(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length per text; a text without tokens is a row of zeros."""
        rows = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for places, some in self.pieces(texts):
            rows[places.start : places.stop] = some
        return rows

    def pieces(self, texts: Sequence[str]) -> Iterator[tuple[range, NDArray[np.float32]]]:
        """Rows of some texts at a time, with their places: the vectors of all tokens at once would be a gigabyte each.

        A row is the same to the last bit, whatever other texts are in the batch.
        """
        first = size = 0
        for place, text in enumerate(texts):
            if size + min(len(text), _CHARACTERS) > _AT_ONCE:
                yield range(first, place), self._rows(texts[first:place])
                first, size = place, 0
            size += min(len(text), _CHARACTERS)
        if first < len(texts):
            yield range(first, len(texts)), self._rows(texts[first:])

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        cut = [text[:_CHARACTERS] for text in texts]
        ids = [found.ids for found in self._tokenizer.encode_batch(cut, add_special_tokens=False)]
        sizes = np.array([len(row) for row in ids], dtype=np.int64)
        rows = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        full = np.flatnonzero(sizes)
        if len(full):
            flat = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(sizes.sum()))
            vectors = self._vectors[np.minimum(flat, len(self._vectors) - 1)]
            starts = np.concatenate([[0], np.cumsum(sizes[full])[:-1]])
            rows[full] = unit_length(np.add.reduceat(vectors, starts, axis=0))
        return rows


def wordllama_folder() -> Path | None:
    """Folder of the package's files, without importing it; None when it is not installed."""
    spec = find_spec("wordllama")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return next((place for place in places if (place / _WEIGHTS).is_file() and (place / _TOKENIZER).is_file()), None)


@lru_cache(maxsize=1)
def load_wordllama() -> WordLlama:
    """Load the vectors once."""
    folder = wordllama_folder()
    if folder is None:
        raise MissingPackage("wordllama", "wordllama", "text")
    return WordLlama(folder)
