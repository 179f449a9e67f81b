"""Embeddings: one protocol, texts in, one row of numbers per text out; and the choice of who computes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from assay.errors import InputError, UnknownName, UsageError, cause
from assay.messages import say
from assay.text.products import unit_length
from assay.text.words import language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

NAMES = ("auto", "minilm", "wordllama")
_LOOKED_AT = 200  # texts from which the language of all is detected
_AT_ONCE = 2048  # texts that a user's embedder or a server is given together


@runtime_checkable
class Embedder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """One row per text."""
        ...


class Vectors(NamedTuple):
    """Unit vectors of texts, and why some of them have none."""

    rows: NDArray[np.float32]
    failures: dict[int, str]


class EmbedderChoice(NamedTuple):
    """An embedder and why it was taken."""

    embedder: Embedder
    note: str


def choose_embedder(asked: Any, texts: Iterable[str]) -> EmbedderChoice:
    """Take the embedder that was asked for; `auto` follows the language of the texts.

    A name, a folder with the weights of minilm, a callable, or an object with embed, encode or embed_documents.
    """
    if asked is None or asked == "auto":
        return _by_language([text for text, _ in zip(texts, range(_LOOKED_AT), strict=False)])
    if isinstance(asked, Path) or (isinstance(asked, str) and asked not in NAMES and _is_folder(asked)):
        from assay.text.minilm import load_minilm

        return EmbedderChoice(load_minilm(Path(asked)), say("embeddings.folder", folder=str(asked)))
    if isinstance(asked, str):
        return EmbedderChoice(_load(asked), say("embeddings.asked", name=asked))
    embedder = _Adapted(asked)
    return EmbedderChoice(embedder, say("embeddings.asked", name=embedder.name))


def _is_folder(place: str) -> bool:
    try:
        return Path(place).is_dir()
    except OSError:  # too long for a path
        return False


def name_fast(asked: str) -> str:
    """The name of an embedder for many texts: what was asked for, and for `auto` the fastest that is here.

    wordllama embeds thousands of texts a second, minilm tens; `auto` is returned where neither is here.
    """
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    if asked != "auto":
        return asked
    if wordllama_folder() is not None:
        return "wordllama"
    return "auto" if find_minilm() is None else "minilm"


def _load(name: str) -> Embedder:
    if name == "wordllama":
        from assay.text.static import load_wordllama

        return load_wordllama()
    if name != "minilm":
        raise UnknownName(
            say("embedder"),
            name,
            NAMES,
            hint=say("known: {names}; or a folder with the weights of minilm, or a callable", names=list(NAMES)),
        )
    from assay.text.minilm import load_minilm
    from assay.text.weights import check_kept, find_minilm

    folder = find_minilm()
    if folder is None:
        raise UsageError(
            say("the weights of minilm are not on this machine: run assay env models get minilm, or name their folder")
        )
    check_kept(folder)
    return load_minilm(folder)


def _by_language(texts: list[str]) -> EmbedderChoice:
    """Choose minilm for English if its weights are installed; else wordllama, which knows Chinese too."""
    from assay.installation import install_command
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    tongue = language(" ".join(texts))
    if tongue == "en" and find_minilm() is not None:
        return EmbedderChoice(_load("minilm"), say("embeddings.english"))
    if wordllama_folder() is not None:
        why = {"en": "no_minilm", "zh": "chinese", "mixed": "mixed"}
        return EmbedderChoice(_load("wordllama"), say(f"embeddings.{why.get(tongue, 'other')}"))
    if find_minilm() is not None:
        return EmbedderChoice(_load("minilm"), say("embeddings.no_wordllama"))
    raise UsageError(
        say(
            "no embedding model is installed: {command}, or: assay env models get minilm",
            command=install_command("text"),
        )
    )


class _Adapted:
    """A user's own embedder under our protocol."""

    def __init__(self, inner: Any) -> None:
        calls = [getattr(inner, name, None) for name in ("embed", "encode", "embed_documents")]
        found = next((call for call in calls if callable(call)), inner if callable(inner) else None)
        if found is None:
            raise UsageError(
                say("an embedder must be callable or have a method embed, not {kind}", kind=type(inner).__name__)
            )
        self._call: Callable[[list[str]], Any] = found
        name = getattr(inner, "name", None) or getattr(inner, "model", None) or getattr(inner, "__name__", None)
        self.name = name if isinstance(name, str) else type(inner).__name__

    def embed(self, texts: Sequence[str]) -> Any:
        return self._call(list(texts))

    def pieces(self, texts: Sequence[str]) -> Iterator[tuple[range, Any]]:
        """Vectors of some texts at a time: as lists of numbers they take eight times the memory."""
        for start in range(0, len(texts), _AT_ONCE):
            some = list(texts[start : start + _AT_ONCE])
            yield range(start, start + len(some)), self._call(some)


def embed_all(
    embedder: Embedder, texts: Sequence[str], *, tell: Callable[[int, int], object] = lambda *_: None
) -> Vectors:
    """Embed texts and scale the rows to unit length; what has no finite vector is a failure with its reason.

    An embedder with `pieces` gives some texts at a time; `tell` is called with (done, total) after each.
    """
    if not texts:
        return Vectors(np.zeros((0, 1), dtype=np.float32), {})
    failures: dict[int, str] = {}
    rows: NDArray[np.float32] | None = None
    done = 0
    for places, found in _pieces(embedder, texts):
        some, failed = _unit_rows(embedder, found, len(places))
        failures |= {places[place]: reason for place, reason in failed.items()}
        done += len(places)
        tell(done, len(texts))
        if len(failed) == len(places):
            continue  # their width says nothing
        if rows is None:
            rows = np.zeros((len(texts), some.shape[1]), dtype=np.float32)
        if rows.shape[1] != some.shape[1]:
            raise InputError(
                say(
                    "the embedder {name} returned vectors of different lengths: {first} and {second}",
                    name=embedder.name,
                    first=rows.shape[1],
                    second=some.shape[1],
                )
            )
        rows[list(places)] = some
    return Vectors(np.zeros((len(texts), 1), dtype=np.float32) if rows is None else rows, failures)


def _pieces(embedder: Embedder, texts: Sequence[str]) -> Iterable[tuple[Sequence[int], Any]]:
    pieces: Callable[[Sequence[str]], Iterable[tuple[Sequence[int], Any]]] | None = getattr(embedder, "pieces", None)
    return [(range(len(texts)), embedder.embed(texts))] if pieces is None else pieces(texts)


def _unit_rows(embedder: Embedder, found: Any, count: int) -> Vectors:
    failures: dict[int, str] = {}
    if not isinstance(found, np.ndarray):
        found = _rows_of(list(found), failures)
    try:
        rows = np.array(found, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(
            say("the embedder {name} did not return numbers: {reason}", name=embedder.name, reason=cause(error))
        ) from None
    if rows.ndim != 2 or len(rows) != count:  # noqa: PLR2004
        raise InputError(
            say(
                "the embedder {name} returned an array of shape {shape} for {n} {n:text|texts}",
                name=embedder.name,
                shape=str(rows.shape),
                n=count,
            )
        )
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    for place in broken:
        failures.setdefault(int(place), say("embeddings.not_finite"))
    rows[broken] = 0
    return Vectors(unit_length(rows), failures)


def _rows_of(found: list[Any], failures: dict[int, str]) -> Any:
    """Vectors of a list; replies of a language model client carry theirs in `data`, or say why they have none."""
    rows = [getattr(item, "data", item) if not isinstance(item, (list, np.ndarray)) else item for item in found]
    width = next((len(row) for row in rows if isinstance(row, (list, tuple, np.ndarray))), 1)
    for place, row in enumerate(rows):
        if row is None:
            said = getattr(found[place], "message", "") or getattr(found[place], "reason", "")
            failures[place] = (said if isinstance(said, str) else str(said)) or say("embeddings.no_vector")
            rows[place] = [0.0] * width
    return rows
