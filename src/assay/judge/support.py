"""The method `llm`: a language model says of each statement whether it follows from the contexts.

Statements are asked about by their number, those of one answer in one call; a number that does not come back is a
failure of that statement with its reason, and of the answer, never a silent yes or no.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.grounding.claims import ConversationWords
from assay.grounding.contexts import Contexts
from assay.grounding.matrix import ListMatrix
from assay.grounding.preparing import Match, record, record_unjudged
from assay.grounding.words import look_up
from assay.judge.prompting import block, cut, explain_failure
from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.grounding.preparing import Prepared, Sentence
    from assay.llm.records import Reply

NEEDED = ("question", "contexts", "statements", "count", "numbers", "mark")
VERDICTS = {"yes": 1.0, "partly": 0.5, "no": 0.0}
# Words that judges use for the verdicts although they are given a list.
_SPELLINGS = {
    **dict.fromkeys(
        ("true", "y", "supported", "fully supported", "entailed", "full", "fully", "是", "是的", "对", "能",
         "支持", "完全支持", "受支持", "成立"), "yes"),
    **dict.fromkeys(
        ("partial", "partially", "part", "in part", "partly supported", "partially supported", "部分", "部分支持",
         "部分是", "部分成立", "一部分"), "partly"),
    **dict.fromkeys(
        ("false", "n", "not", "not supported", "unsupported", "contradicted", "not entailed", "none", "否", "不",
         "不是", "不能", "不对", "不支持", "不受支持", "不成立"), "no"),
}  # fmt: skip
_TOGETHER = 40  # statements in one call; more than this is no usual answer
_TOKENS = 120  # of the verdict on one statement


@dataclass(frozen=True)
class SupportCall:
    """One call: the statements it is about, by their places in the answer, and the request."""

    places: tuple[int, ...]
    request: Request


class StatementVerdict(NamedTuple):
    """What the judge said about one statement."""

    verdict: str
    contexts: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class SupportQuestion:
    """How statements are asked about; contexts longer than `max_chars` together are cut."""

    prompt: Prompt
    max_chars: int = 60_000
    temperature: float | None = 0.0

    def calls(self, ready: Prepared) -> list[SupportCall]:
        """The calls that a sample needs: none if there is nothing to judge or nothing to judge it by."""
        if ready.status != "scored" or not ready.contexts.bags:
            return []
        places = [place for place, part in enumerate(ready.parts) if part.kind == "claim"]
        groups = [places[start : start + _TOGETHER] for start in range(0, len(places), _TOGETHER)]
        return [SupportCall(tuple(group), self._request(ready, group)) for group in groups]

    def _request(self, ready: Prepared, places: Sequence[int]) -> Request:
        sample = ready.sample
        texts = cut([context.text for context in sample.contexts or ()], self.max_chars)
        said = [_statement(ready, place) for place in places]
        mark = mark_for(self.prompt.version, sample.conversation, *texts, *said)
        numbers = [str(place + 1) for place in places]
        values = {
            "question": sample.conversation.strip(),
            "contexts": "\n\n".join(block(f"context {i}", text, mark) for i, text in enumerate(texts, 1)),
            "statements": "\n\n".join(
                block(f"statement {number}", text, mark) for number, text in zip(numbers, said, strict=True)
            ),
            "count": str(len(places)),
            "numbers": ", ".join(numbers),
            "mark": mark,
        }
        return Request(
            self.prompt.messages(values),
            schema=_schema(numbers, len(texts)),
            temperature=self.temperature,
            max_tokens=200 + _TOKENS * len(places),
            prompt_version=self.prompt.version,
            spellings=_SPELLINGS,
        )

    def read_replies(self, ready: Prepared, replies: Sequence[tuple[Sequence[int], Reply]]) -> tuple[ListMatrix, str]:
        """Put the replies about a sample together: its support, and the reason if it failed."""
        if ready.status != "scored":
            return _empty_matrix(ready, [None] * len(ready.parts)), ""
        if not replies:
            zero = Match(0.0, None, ())
            return _empty_matrix(ready, [zero if part.kind == "claim" else None for part in ready.parts]), ""
        told: dict[int, StatementVerdict] = {}
        failures: list[str] = []
        for places, reply in replies:
            found, why = read_verdicts(reply, places, len(ready.sample.contexts or ()))
            told |= found
            failures += [why] if why else []
        reason = _join(dict.fromkeys(failures))
        if reason:
            ready = ready._replace(status="failed", reason=reason)
        return _matrix(ready, told, self._notes(ready)), reason

    def _notes(self, ready: Prepared) -> tuple[str, ...]:
        size = sum(len(context.text) for context in ready.sample.contexts or ())
        return (say("judged.cut", most=self.max_chars, size=size),) if size > self.max_chars else ()


def _join(failures: Iterable[str]) -> str:
    """Several reasons as one."""
    whole, *others = [*failures] or [""]
    for other in others:
        whole = say("judged.several", first=whole, second=other)
    return whole


def _statement(ready: Prepared, place: int) -> str:
    part = ready.parts[place]
    return (ready.sample.answer or "")[part.start : part.end]


def _schema(numbers: Sequence[str], contexts: int) -> dict[str, Any]:
    """Shape of the verdicts: every number is required, and the reason comes before the verdict that follows from it."""
    named = {"type": "integer", "enum": list(range(1, contexts + 1))}
    entry = {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "verdict": {"type": "string", "enum": list(VERDICTS)},
            "contexts": {"type": "array", "items": named, "maxItems": contexts},  # small models never end a list
        },
        "required": ["reason", "verdict", "contexts"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, entry),
        "required": list(numbers),
        "additionalProperties": False,
    }


def read_verdicts(reply: Reply, places: Sequence[int], contexts: int) -> tuple[dict[int, StatementVerdict], str]:
    """Read what a reply says about statements; of an incomplete one, what it has, and what is missing."""
    data = reply.data if reply.ok or reply.reason == "parse" else None
    if not isinstance(data, dict):
        return {}, explain_failure(reply)
    told = {
        place: found for place in places if (found := _read_verdict(data.get(str(place + 1)), contexts)) is not None
    }
    missing = [str(place + 1) for place in places if place not in told]
    if missing:
        return told, explain_failure(reply, say("judged.no_verdict", n=len(missing), numbers=missing))
    return told, ""


def _read_verdict(entry: Any, contexts: int) -> StatementVerdict | None:
    """Read one verdict; one that is not on the list, or rests on a context that does not exist, is none.

    A "no" rests on no context, even if it names one.
    """
    if not isinstance(entry, dict) or entry.get("verdict") not in VERDICTS:
        return None
    named = entry.get("contexts")
    numbers = named if isinstance(named, list) else []
    there = [n for n in numbers if type(n) is int and 1 <= n <= contexts]
    if len(there) < len(numbers) and entry["verdict"] != "no":
        return None
    return StatementVerdict(entry["verdict"], tuple(dict.fromkeys(n - 1 for n in there)), str(entry.get("reason", "")))


def _empty_matrix(ready: Prepared, found: Sequence[Match | None]) -> ListMatrix:
    support = record(ready, "llm", found) if any(found) else record_unjudged(ready, "llm")
    equal = tuple(replace(part, weight=1.0) for part in support.statements)
    return ListMatrix(replace(support, statements=equal), [frozenset() for _ in equal])


def _matrix(ready: Prepared, told: Mapping[int, StatementVerdict], notes: tuple[str, ...]) -> ListMatrix:
    """Make the record: each statement counts the same, and its evidence is the nearest sentence of what was named."""
    given = ConversationWords(ready.sample)
    found: list[Match | None] = []
    named: list[frozenset[int]] = []
    for place, part in enumerate(ready.parts):
        said = told.get(place)
        if said is None:
            found.append(None)
            named.append(frozenset())
            continue
        row = _row(ready, part, said.contexts, given)
        found.append(Match(VERDICTS[said.verdict], row, ()))
        where = said.contexts or (() if row is None else (ready.contexts.rows[row][0],))
        named.append(frozenset(where) if VERDICTS[said.verdict] else frozenset())
    support = record(ready, "llm", found, notes)
    missing = say("judged.silent")
    parts = tuple(
        replace(part, weight=1.0, note=told[i].reason if i in told else missing if part.kind == "claim" else "")
        for i, part in enumerate(support.statements)
    )
    return ListMatrix(replace(support, statements=parts), named)


def _row(ready: Prepared, part: Sentence, named: Sequence[int], given: ConversationWords) -> int | None:
    """Row of the sentence nearest to a statement, in the contexts that the judge named, or in all."""
    if not named:
        return look_up(part.claim, ready.contexts, given).row
    passages = [ready.contexts.passages[place].text for place in named]
    fewer = Contexts(passages)
    row = look_up(part.claim, fewer, given).row
    if row is None:
        return None
    context, sentence = fewer.rows[row]
    return ready.contexts.rows.index((named[context], sentence))
