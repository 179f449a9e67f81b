"""Known items: queries made from passages without a language model, whose answer is where they were taken from.

A known-item query stands for somebody who has seen a passage and looks for it again (Azzopardi, de Rijke & Balog 2007).
It is a few rare and telling words of neighbouring sentences, the heading of a section, or a question in the text that
the sentences after it follow. Such queries share their words with what they seek, which favours retrieval by words.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from assay.curation.drawing import digest_of, survey
from assay.curation.passages import is_telling, passages_of, telling_words
from assay.messages import Said, say
from assay.results.questions import GoldPlace, Question, QuestionFilter, QuestionSet, QuestionStratum
from assay.text.segmentation import han_words
from assay.text.sentences import sentences
from assay.text.words import HAN, NUMBER, TOKEN, form, has_han, language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.curation.collection import Opener, ProgressCallback
    from assay.curation.drawing import Drawn, Frequencies, Survey
    from assay.curation.passages import Passage
    from assay.data.spans import Span

FILTERS = ("few_words", "boilerplate", "ambiguous", "duplicate")
_WORDS = (3, 4, 5)  # how many words a query has
_WINDOW = 300  # characters that the sentences of a query have together, unless one is longer
_COMMON = 0.1  # words in a larger share of the passages say little
_COPIES = 10  # a text in more places than this is boilerplate
_SPARE = 3  # candidates for each query that is wanted
_DIGITS = 3  # shorter numbers say little
_ENOUGH = 2  # different telling words of a query
_SPLIT = re.compile(f"[{HAN}]+|{TOKEN.pattern}", TOKEN.flags)
_ASKED = re.compile(r"[?？][\"'”’」』)）\s]*$")


class Term(NamedTuple):
    """A telling word of a text as it is written there, and its place."""

    form: str
    written: str
    start: int


@dataclass(frozen=True)
class Draft:
    """A query and the span that it was made from, before it is compared with the rest of the collection."""

    drawn: Drawn
    kind: str
    text: str
    forms: frozenset[str]
    start: int
    end: int
    copies: list[tuple[str, int]] = field(default_factory=list)


def make_known_items(documents: Opener, n: int, seed: int, tell: ProgressCallback) -> QuestionSet:
    """Make n known-item queries with their gold spans; the documents are read twice and never kept."""
    found = survey(documents, _SPARE * n + 20, seed, tell)
    drafts = {one.digest: draft(one, found.frequencies) for one in found.order}
    ambiguous = _compare(documents, [one for one in drafts.values() if one is not None], seed, found.documents, tell)
    kept, fell = _choose(found.order, drafts, ambiguous, n)
    return _record(kept, fell, found, n, seed)


def draft(drawn: Drawn, frequencies: Frequencies) -> Draft | None:
    """Make a query of a passage: of the kinds that the passage allows, the one that chance chooses."""
    chance = random.Random(drawn.digest)  # noqa: S311 - drawing, not secrets
    passage = drawn.passage
    spans = [_tighten(passage.text, *span) for span in sentences(passage.text)]
    kinds = [
        made
        for made in (_from_question(passage, spans, chance), _from_heading(passage, spans))
        if made is not None and len(made[2]) >= _ENOUGH
    ]
    made = chance.choice([*kinds, None])
    made = made or _from_words(passage, spans, frequencies, chance)
    if made is None:
        return None
    kind, text, forms, (start, end) = made
    return Draft(drawn, kind, text, forms, passage.start + start, passage.start + end)


_Made = tuple[str, str, frozenset[str], "Span"]


def _from_question(passage: Passage, spans: Sequence[Span], chance: random.Random) -> _Made | None:
    """A question in the text; its gold is the sentences that follow."""
    text = passage.text
    asked = [
        i
        for i, (start, end) in enumerate(spans[:-1])
        if _ASKED.search(text[start:end]) and not _ASKED.search(text[slice(*spans[i + 1])])
    ]
    if not asked:
        return None
    place = chance.choice(asked)
    said = " ".join(text[slice(*spans[place])].split())
    return "question", said, frozenset(telling_words(said)), _window(spans, place + 1)


def _from_heading(passage: Passage, spans: Sequence[Span]) -> _Made | None:
    """The heading of a section; its gold is the section, which must be this passage."""
    if not passage.heading or not passage.alone:
        return None
    said = " ".join(passage.heading.split())
    return "heading", said, frozenset(telling_words(said)), (spans[0][0], spans[-1][1])


def _from_words(
    passage: Passage, spans: Sequence[Span], frequencies: Frequencies, chance: random.Random
) -> _Made | None:
    """Some telling words of neighbouring sentences, likelier the rarer they are in the collection."""
    order = list(range(len(spans)))
    chance.shuffle(order)
    repeats = telling_words(passage.text)
    for first in order:
        start, end = _window(spans, first)
        weights = _weigh(terms_of(passage.text[start:end]), repeats, frequencies)
        if len(weights) < min(_WORDS):
            continue
        chosen = _sample(weights, chance.choice(_WORDS), chance)
        said = " ".join(term.written for term in sorted(chosen, key=lambda term: term.start))
        return "words", said, frozenset(term.form for term in chosen), (start, end)
    return None


def _window(spans: Sequence[Span], first: int) -> Span:
    """A sentence and those after it, as far as they are short together."""
    start, end = spans[first]
    for _, behind in spans[first + 1 :]:
        if behind - start > _WINDOW:
            break
        end = behind
    return start, end


def terms_of(text: str) -> list[Term]:
    """The telling words of a text as they are written, each once, in their order."""
    found: dict[str, Term] = {}
    for match in _SPLIT.finditer(text):
        pieces = han_words(match[0]) if has_han(match[0]) else [match[0]]
        for piece in pieces:
            name = piece if has_han(piece) else form(piece)
            if is_telling(name):
                found.setdefault(name, Term(name, piece, match.start() + match[0].find(piece)))
    return list(found.values())


def _weigh(terms: Iterable[Term], repeats: Counter[str], frequencies: Frequencies) -> dict[Term, float]:
    """Weight of each word: rare in the collection, frequent in the passage; common words only where rare ones lack."""
    total = frequencies.passages
    found = {
        term: (1 + math.log(max(1, repeats[term.form]))) * math.log((total + 1) / frequencies.of(term.form))
        for term in terms
        if not (term.form[0] == NUMBER and len(term.written) < _DIGITS)
    }
    rare = {term: weight for term, weight in found.items() if frequencies.of(term.form) <= _COMMON * total}
    return rare if len(rare) >= min(_WORDS) else found


def _sample(weights: dict[Term, float], n: int, chance: random.Random) -> list[Term]:
    """Draw n terms without replacement, each by its weight (Efraimidis & Spirakis 2006)."""
    keys = {term: math.log(1 - chance.random()) / weight for term, weight in weights.items()}
    return sorted(keys, key=lambda term: (-keys[term], term.start))[:n]


def _tighten(text: str, start: int, end: int) -> Span:
    return start, start + len(text[start:end].rstrip())


# Comparing with the collection ----------------------------------------------------------------------------------------


def _compare(documents: Opener, drafts: Sequence[Draft], seed: int, total: int, tell: ProgressCallback) -> set[int]:
    """Read the collection again: note copies of the passages, and return the hashes of drafts that others match too."""
    by_digest = {one.drawn.digest: one for one in drafts}
    by_word = defaultdict[str, list[Draft]](list)
    for one in drafts:
        by_word[min(one.forms)].append(one)
    ambiguous: set[int] = set()
    for number, (doc, text) in enumerate(documents(), 1):
        for passage in passages_of(doc, text):
            digest = digest_of(passage.text, seed)
            if digest in by_digest:
                _note_copy(by_digest[digest], passage)
            ambiguous.update(_match(passage, digest, by_word))
        if number % 4096 == 0:
            tell(say("questions.comparing"), number, total)
    return ambiguous


def _note_copy(found: Draft, passage: Passage) -> None:
    own = found.drawn.passage
    if (passage.doc_id, passage.start) != (own.doc_id, own.start) and len(found.copies) <= _COPIES:
        found.copies.append((passage.doc_id, passage.start))


def _match(passage: Passage, digest: int, by_word: dict[str, list[Draft]]) -> Iterator[int]:
    """Drafts of other passages whose words this one has, all of them."""
    words = telling_words(f"{passage.heading}\n{passage.text}" if passage.heading else passage.text).keys()
    for word in words & by_word.keys():
        for one in by_word[word]:
            if one.drawn.digest != digest and one.forms <= words:
                yield one.drawn.digest


def _choose(
    order: Sequence[Drawn], drafts: dict[int, Draft | None], ambiguous: set[int], n: int
) -> tuple[list[Draft], Counter[str]]:
    """Take drafts in their order until there are n; count what the others fell for."""
    kept, fell, texts = list[Draft](), Counter[str](), set[str]()
    for drawn in order:
        if len(kept) == n:
            break
        one = drafts[drawn.digest]
        why = "few_words" if one is None else _fault(one, ambiguous, texts)
        if why or one is None:
            fell[why] += 1
        else:
            texts.add(one.text.casefold())
            kept.append(one)
    return kept, fell


def _fault(one: Draft, ambiguous: set[int], texts: set[str]) -> str:
    if len(one.copies) > _COPIES:
        return "boilerplate"
    if one.drawn.digest in ambiguous:
        return "ambiguous"
    return "duplicate" if one.text.casefold() in texts else ""


def _record(kept: Sequence[Draft], fell: Counter[str], found: Survey, n: int, seed: int) -> QuestionSet:
    drawn = Counter(one.drawn.stratum for one in kept)
    return QuestionSet(
        questions=tuple(map(_question, kept)),
        made_by="known_items",
        n=n,
        drawn=len(kept) + fell.total(),
        filters=tuple(QuestionFilter(name, fell[name]) for name in FILTERS),
        strata=tuple(
            QuestionStratum(source, length, size, drawn[source, length])
            for (source, length), size in sorted(found.sizes.items())
        ),
        documents=found.documents,
        passages=found.frequencies.passages,
        seed=seed,
        warnings=tuple(_warnings(len(kept), n, found)),
    )


def _question(one: Draft) -> Question:
    passage, (source, length) = one.drawn.passage, one.drawn.stratum
    text = passage.text[one.start - passage.start : one.end - passage.start]
    place = GoldPlace(passage.doc_id, one.start, one.end, text)
    copies = [
        replace(place, doc_id=doc, start=at + one.start - passage.start, end=at + one.end - passage.start)
        for doc, at in one.copies
    ]
    name = f"known-{digest_of(passage.doc_id + chr(0) + one.text):016x}"
    return Question(
        query_id=name, text=one.text, kind=one.kind, gold=(place, *copies), language=language(passage.text),
        source=source, length=length,
    )  # fmt: skip


def _warnings(kept: int, n: int, found: Survey) -> Iterator[Said]:
    if kept < n:
        yield say("questions.fewer", kept=kept, n=n)
    if found.documents == 1:
        yield say("questions.one_document")
