"""Asks applications all questions of an experiment: answers are kept one by one, failures are outcomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.data.samples import Context, Sample, Samples
from assay.errors import InputError
from assay.messages import say, word
from assay.pipeline.asked import Asked
from assay.pipeline.records import Chunk, Hits
from assay.pipeline.store import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.pipeline.applications import Application
    from assay.pipeline.experiment import Collection
    from assay.pipeline.records import Query
    from assay.pipeline.store import Store

_STAGE, _ROUND = "app", "app-round"


@dataclass(frozen=True)
class AppPlan:
    """How many questions an application would be asked now, and how many it has answered in an earlier run."""

    name: str
    questions: int
    kept: int
    requests: int
    oldest: str = ""


def start_round(store: Store, identity: Mapping[str, Any], *, fresh: bool) -> int:
    """The number of the round in which a system is asked; a fresh one leaves aside what earlier ones gave."""
    key = key_of("round", dict(identity))
    number = store.find(_ROUND, key, int) or 0
    store.reused.pop(_ROUND, None)
    if fresh:
        number += 1
        store.add(_ROUND, key, number)
        store.done.pop(_ROUND, None)
    return number


def ask_all(
    app: Application,
    queries: Sequence[Query],
    store: Store,
    *,
    fresh: bool = False,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> list[Asked]:
    """Ask an application all questions, each once; what an earlier run of the round answered is not asked again."""
    number = start_round(store, app.identity, fresh=fresh)
    keys = [key_of(number, app.key_of(query)) for query in queries]
    found: dict[str, Asked] = {}
    for key in dict.fromkeys(keys):
        kept = store.find(_STAGE, key, Asked.from_json)
        if kept is not None:
            found[key] = kept
    left = {key: query for key, query in zip(keys, queries, strict=True) if key not in found}
    tell(len(queries) - len(left), len(queries))
    names = list(left)
    for place, one in app.ask(list(left.values())):
        found[names[place]] = one
        store.add(_STAGE, names[place], one.to_json(), keep=one.final)
        tell(len(queries) - len(left) + sum(name in found for name in names), len(queries))
    return [found[key] for key in keys]


def plan_asking(app: Application, name: str, queries: Sequence[Query], store: Store, *, fresh: bool = False) -> AppPlan:
    """Count what would be asked, without asking."""
    key = key_of("round", dict(app.identity))
    number = (store.find(_ROUND, key, int) or 0) + fresh
    keys = dict.fromkeys(key_of(number, app.key_of(query)) for query in queries)
    kept = [one for key in keys if (one := store.find(_STAGE, key, Asked.from_json)) is not None]
    days = [one.day for one in kept if one.day]
    return AppPlan(name, len(queries), len(kept), len(keys) - len(kept), min(days, default=""))


def refuse_hopeless(found: Sequence[Asked]) -> None:
    """Raise an error if every question failed: there is nothing to evaluate, and usually one cause."""
    if all(one.status == "failed" for one in found):
        counts = Counter(one.reason for one in found).most_common()
        example = next((one.message for one in found if one.message), "")
        said = [say("call.count", reason=word("call", reason), n=n) for reason, n in counts]
        raise InputError(say("app.all_failed", counts=said, example=example))


class Placement:
    """Finds out which documents contexts are from: by their ids, else by their texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._by_text = {text.strip(): name for name, text in reversed(list(texts.items())) if text.strip()}
        self._known: dict[tuple[str | None, str], tuple[str, int]] = {}

    def document_of(self, context: Context) -> tuple[str, int]:
        """The document of a context and where in it the context begins; an empty name where that is not known."""
        key = context.id, context.text
        if key not in self._known:
            self._known[key] = self._find(context)
        return self._known[key]

    def _find(self, context: Context) -> tuple[str, int]:
        text = context.text.strip()
        if context.id is not None and (context.id in self._texts or not self._texts):
            return context.id, max(0, self._texts.get(context.id, "").find(text))
        if text in self._by_text:
            return self._by_text[text], 0
        holding = [(name, at) for name, whole in self._texts.items() if text and (at := whole.find(text)) >= 0]
        if len(holding) == 1:  # a text in several documents is of none of them for sure
            return holding[0]
        return context.id or "", 0


def lay_out(outcomes: Sequence[Asked], placement: Placement) -> tuple[list[Chunk], list[Hits]]:
    """Number what an application based its answers on as chunks, and give the ranked chunks of every question."""
    chunks: list[Chunk] = []
    numbers: dict[tuple[str, str], int] = {}
    names: Counter[str] = Counter()
    hits = []
    for one in outcomes:
        mine: dict[int, None] = {}
        for context in one.contexts or ():
            doc, start = placement.document_of(context)
            if not doc:
                continue
            if (doc, context.text) not in numbers:
                numbers[doc, context.text] = len(chunks)
                names[doc] += 1
                name = doc if names[doc] == 1 else f"{doc}#{names[doc]}"
                chunks.append(Chunk(name, doc, context.text, start, start + len(context.text)))
            mine[numbers[doc, context.text]] = None
        scores = tuple(float(len(mine) - place) for place in range(len(mine)))
        failed = one.reason if one.status == "failed" else ""
        hits.append(
            Hits(tuple(mine), scores, one.ms, one.tokens, one.money, output_tokens=one.output_tokens, reason=failed)
        )
    return chunks, hits


def as_samples(outcomes: Sequence[Asked], collection: Collection) -> Samples:
    """The answers with the contexts that the application named."""
    rows = []
    for query, one in zip(collection.queries, outcomes, strict=True):
        contexts = None if one.contexts is None else tuple(context for context in one.contexts if context.text)
        ids = tuple(context.id for context in one.contexts or () if context.id is not None)
        fault = {"answer": describe(one)} if one.answer is None and one.reason else {}
        row = {"status": one.status, "reason": one.reason, "latency_ms": round(one.ms, 3)}
        if one.first_ms is not None:
            row["first_token_ms"] = round(one.first_ms, 3)
        rows.append(
            Sample(
                query.id, query.text, one.answer if one.status != "failed" else None, contexts,
                references=collection.references.get(query.id, ()), context_ids=ids or None, faults=fault,
                others={name: value for name, value in row.items() if value != ""},
            )
        )  # fmt: skip
    return Samples(tuple(rows))


def describe(one: Asked) -> str:
    """Why a question has no answer."""
    reason = word("call", one.reason)
    return say("app.reason", reason=reason, message=one.message) if one.message else reason
