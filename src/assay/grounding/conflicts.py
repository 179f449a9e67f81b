"""Find where a statement contradicts the nearest sentence: numbers, names, negation, opposites, order."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.results.support import Reason
from assay.text import english
from assay.text.lexicon import opposites, polar_function_words
from assay.text.negation import NEGATIONS, clauses, find_denied_pairs, find_denied_words
from assay.text.words import NUMBER, STRONG, TOKEN, form, is_strong, strong_words, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.grounding.claims import ConversationWords
    from assay.grounding.coverage import Place

MISSING = 0.5  # factor of a number or a name that the contexts do not have
SWAPPED = 0.5  # what two words in each other's place cost where everything else is the same
_COUNT = 10  # smaller numbers may count what the contexts list
_DIGITS = 20  # of a number; Python refuses to read one of more than 4,300
_LONGEST = 200  # words; a longer statement is not a sentence, and its parts cannot be separated
_ALIKE = 0.6  # closeness from which two sentences are compared word by word
_VERBATIM = 0.7  # share of a sentence that a statement must repeat to have dropped its negation
_HEADING = re.compile(r"\*\*[^*]{0,80}\*\*:?|^[^.:]{0,60}:(?=\s)")
_NO_NAME_AFTER = frozenset(':.!?"“(*-')


def conflicts(place: Place, given: ConversationWords) -> tuple[Reason, ...]:
    """Reasons to lower the support of a statement; names from the question are not counted as new."""
    claim = place.claim
    if claim.text.strip() in place.text:
        return ()
    found: list[Reason] = []
    if 0.0 in place.numbers:
        found += _missing_number(place)
    if place.missing and claim.tokens:
        found += _missing_name(place, given)
    if len(claim.forms) <= _LONGEST:
        if claim.has_not:
            found += _negation_added(place)
        if len(NEGATIONS.intersection(claim.weak)) < len(NEGATIONS.intersection(place.sentence)):
            found += _negation_dropped(place)
        if claim.han:
            found += _chinese(place)
        found += _opposite(place)
        found += _alike(place)
    return tuple(found)


def _missing_number(place: Place) -> Iterator[Reason]:
    pairs = zip(place.claim.numbers, place.numbers, strict=True)
    lost = [value for value, worth in pairs if not worth and not _may_count(value)]
    if lost:
        yield Reason("number", ", ".join(dict.fromkeys(lost)), MISSING)


def _may_count(value: str) -> bool:
    return value.isdecimal() and len(value) < _DIGITS and int(value) < _COUNT


def _missing_name(place: Place, given: ConversationWords) -> Iterator[Reason]:
    claim = place.claim
    capitals = [token for token in claim.tokens[1:] if token[0].isupper()]
    if not capitals:
        return
    missing = set(place.missing) - english.FIRST_PERSON
    if missing.isdisjoint(map(form, capitals)):
        return
    missing -= given.words()
    text = _HEADING.sub(lambda heading: " " * len(heading.group()), claim.text)
    found = list(TOKEN.finditer(text))
    if sum(token.group()[0].isupper() for token in found) * 3 > len(found) * 2:  # a heading, or capitals throughout
        return
    names = [
        token.group()
        for token in found[1:]
        if token.group()[0].isupper()
        and form(token.group()) in missing
        and text[max(0, token.start() - 3) : token.start()].rstrip()[-1:] not in _NO_NAME_AFTER
    ]
    if names:
        yield Reason("name", ", ".join(dict.fromkeys(names)), MISSING)


def _negation_added(place: Place) -> Iterator[Reason]:
    """The statement denies a word of a clause that the contexts say without a negation."""
    bags = place.contexts.bags
    strongest, which = 0.0, ""
    for clause in clauses(place.claim.text):
        found = find_denied_words(clause)
        if not found:
            continue
        words = strong_words(clause)
        shares = list(map(len, map(words.intersection, bags)))
        top = max(shares)
        best = [bag for share, bag in zip(shares, bags, strict=True) if share == top]
        here = [word for word in found if any(word in bag for bag in best)]
        if here and top / len(words) > strongest and all(map(NEGATIONS.isdisjoint, best)):
            strongest, which = top / len(words), here[0]
    if strongest:
        yield Reason("negation", which, 1 - strongest * place.alignment())


def _negation_dropped(place: Place) -> Iterator[Reason]:
    """The statement repeats a sentence but for its negation."""
    own = set(filter(is_strong, place.sentence))
    repeated = len(own & place.claim.words) / len(own) if own else 0.0
    if repeated < _VERBATIM:
        return
    for clause in clauses(place.text):
        found = find_denied_words(clause)
        if found and place.claim.words.issuperset(found):
            yield Reason("negation", found[0], 1 - repeated * place.closeness())
            return


def _chinese(place: Place) -> Iterator[Reason]:
    claim = place.claim
    said, read = find_denied_pairs(claim.text), find_denied_pairs(place.around)
    added = sorted(pair for pair in said - read if pair in place.text)
    dropped = sorted(pair for pair in find_denied_pairs(place.text) - said if pair in claim.text)
    if added or dropped:
        yield Reason("negation", (added or dropped)[0], 1 - (place.alignment() if added else place.closeness() ** 2))
    for word, _ in claim.han:
        others = () if word in place.around else opposites(word)
        if any(other in place.text and other not in claim.text for other in others):
            yield Reason("opposite", word, 1 - place.alignment())
            return


def _opposite(place: Place) -> Iterator[Reason]:
    """A word of the statement is missing, and its opposite is in a sentence that has the rest of the clause."""
    claim, window = place.claim, place.window
    strongest, which = 0.0, ""
    for word in claim.words - window:
        others = opposites(word)
        if others.isdisjoint(window) or not others.isdisjoint(claim.words):
            continue
        rows = [place.contexts.bags[row] for row in place.contexts.around(place.row)]
        hits = [bag for bag in rows if not others.isdisjoint(bag)]
        for rest in _rest_of_clauses(claim.text, word):
            share = max(len(rest & bag) for bag in hits)
            if (share > 1 or share == len(rest)) and rest and (share / len(rest), word) > (strongest, which):
                strongest, which = share / len(rest), word
    if strongest:
        yield Reason("opposite", which, 1 - strongest * place.alignment())


def _rest_of_clauses(text: str, word: str) -> Iterator[set[str]]:
    """Other words of the clauses that have a word without denying it: not able is unable."""
    for clause in clauses(text):
        words = strong_words(clause)
        if word in words and word not in find_denied_words(clause):
            yield words - {word}


def _alike(place: Place) -> Iterator[Reason]:
    """Compare a statement word by word with a sentence that is much the same."""
    closeness = place.closeness()
    if closeness >= _ALIKE:
        yield from _opposite_function_word(place, closeness)
        yield from _word_swap(place, closeness)


def _opposite_function_word(place: Place, closeness: float) -> Iterator[Reason]:
    """Before and after, more and less, all and some."""
    claim, there = place.claim, place.sentence
    for word in sorted(polar_function_words().intersection(claim.weak) - there):
        others = opposites(word)
        if not others.isdisjoint(there) and others.isdisjoint(claim.forms):
            yield Reason("opposite", word[1:], 1 - closeness**2)
            return


def _word_swap(place: Place, closeness: float) -> Iterator[Reason]:
    """Find two words that are swapped; a passive reverses a sentence without changing its meaning."""
    claim = place.claim
    if ("%by" in claim.weak) != ("%by" in place.sentence) or _in_order(place):
        return
    said = [word for word in claim.forms if word > STRONG or word[0] == NUMBER]
    read = [word for word in map(form, tokens(place.text)) if word > STRONG or word[0] == NUMBER]
    places = [read.index(word) for word in said if word in place.sentence] if len(read) <= _LONGEST else []
    if places == sorted(places):
        return
    slots = _slots(said, read)
    beside = {frozenset(pair) for words in (said, read) for pair in pairwise(words)}
    for one in sorted(slots):
        for other in sorted(slots[one]):
            if one != other and one in slots.get(other, ()) and frozenset((one, other)) not in beside:
                yield Reason("order", f"{one}, {other}", 1 - SWAPPED * closeness)
                return


def _in_order(place: Place) -> bool:
    """Return whether the strong words that statement and sentence share are in the same order in both."""
    text, after = place.text.lower(), 0
    for token, word in zip(place.claim.tokens, place.claim.forms, strict=True):
        if word > STRONG:
            found = text.find(token.lower(), after)
            if found >= 0:
                after = found + len(token)
            elif word in place.sentence:
                return False
    return True


def _slots(said: list[str], read: list[str]) -> dict[str, set[str]]:
    """Words of the statement that the sentence has elsewhere, and the statement's words that it has in their place."""
    after: dict[str, set[str]] = {}
    before: dict[str, set[str]] = {}
    for one, other in pairwise(read):
        after.setdefault(one, set()).add(other)
        before.setdefault(other, set()).add(one)
    own, known = set(said), set(read)
    found = {}
    for i, word in enumerate(said):
        slot = after.get(said[i - 1], set()) if i else set()
        slot = slot | (before.get(said[i + 1], set()) if i + 1 < len(said) else set())
        if word in known and slot and word not in slot:
            found[word] = slot & own
    return found
