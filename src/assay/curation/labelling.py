"""What a person is asked next, and how far people agree: rules over labels, without a page or a file."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from assay.data.label import PREFERRED, SKIPPED, SUPPORT
from assay.stats.agreement import Agreement, kappa, krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from assay.data.label import Kind, Label
    from assay.data.segments import Floats

Item = tuple[str, ...]
OVERLAP = 0.2  # share of the items that everybody labels
_BITS = 64
_WORDS = {"statement": SUPPORT[::-1], "preference": PREFERRED}  # the numbers of words are their places
_ORDERED = {"relevance", "mark"}


@dataclass(frozen=True)
class NextItem:
    """What a person is asked next: the place of an item, or None when there is nothing left.

    Of the `total` items that are theirs, `done` have a label of theirs; `skipped` come again at the end.
    """

    place: int | None
    done: int
    skipped: int
    total: int


def next_turn(
    items: Sequence[Item],
    labels: Sequence[Label],
    by: str,
    *,
    overlap: float = OVERLAP,
    taken: Collection[Item] = (),
) -> NextItem:
    """Choose the first item that a person has not labelled, in the order of the items; skipped ones come last.

    A share of the items, the same for everybody, is labelled by all: only they show how far people agree. Each other
    item is for whoever comes first: one that has a label of somebody else, or is `taken` (shown to somebody else just
    now), is left to them.
    """
    own = {label.item: label for label in labels if label.by == by}
    others = {label.item for label in labels if label.by != by and label.value != SKIPPED} | set(taken)
    mine = [i for i, item in enumerate(items) if item in own or item not in others or is_shared(item, overlap)]
    open_items = [i for i in mine if items[i] not in own]
    again = [i for i in mine if items[i] in own and own[items[i]].value == SKIPPED]
    again.sort(key=lambda i: own[items[i]].at)
    place = next(iter([*open_items, *again]), None)
    return NextItem(place, len(mine) - len(open_items) - len(again), len(again), len(mine))


def is_shared(item: Item, overlap: float) -> bool:
    """Whether everybody labels an item: a share of all items, which its ids alone decide."""
    text = "\x00".join(item).encode("utf-8", "replace")
    return bool(int.from_bytes(blake2b(text, digest_size=_BITS // 8).digest()) < overlap * 2**_BITS)


def stands_left(item: Item, by: str, seed: int = 0) -> bool:
    """Whether the first of two systems stands on the left for a person: drawn for each question and person."""
    text = "\x00".join([str(seed), by, *item]).encode("utf-8", "replace")
    return blake2b(text, digest_size=1).digest()[0] < 128  # noqa: PLR2004 - half of the bytes


@dataclass(frozen=True)
class RaterPair:
    """Two people: how many items both labelled, the share of equal labels, Cohen's kappa, and weighted by distance.

    Words have no distance: there is no weighted kappa of them.
    """

    first: str
    second: str
    n: int
    exact: float | None
    kappa: Agreement
    weighted: Agreement | None


@dataclass(frozen=True)
class LabelAgreement:
    """How far people agree: items labelled by each, and by several; every two people; all, by Krippendorff's alpha."""

    raters: dict[str, int]
    items: int
    shared: int
    pairs: tuple[RaterPair, ...]
    alpha: Agreement


def label_agreement(kind: Kind, labels: Sequence[Label]) -> LabelAgreement:
    """Say how far people agree on what they labelled; what was skipped or cannot be told is no label.

    Grades and marks are ordered: kappa is weighted by squared distance, and alpha is ordinal. Words are not.

    >>> from assay.data.label import Label
    >>> said = [("Ann", 1), ("Bo", 1), ("Ann", 0), ("Bo", 0), ("Ann", 2), ("Bo", 1)]
    >>> labels = [Label("", "", by, "t", "relevance", ("q", f"d{i // 2}"), grade) for i, (by, grade) in enumerate(said)]
    >>> label_agreement("relevance", labels).pairs[0].n
    3
    """
    known = [(label, number) for label in labels if (number := number_of(kind, label)) is not None]
    raters = list(dict.fromkeys(label.by for label, _ in known))
    items = list(dict.fromkeys(label.item for label, _ in known))
    rows = np.full((len(items), max(len(raters), 1)), np.nan)
    places = {item: i for i, item in enumerate(items)}
    columns = {by: i for i, by in enumerate(raters)}
    for label, number in known:
        rows[places[label.item], columns[label.by]] = number
    return LabelAgreement(
        raters=dict(Counter(label.by for label, _ in known)),
        items=len(items),
        shared=int((np.sum(~np.isnan(rows), axis=1) > 1).sum()),
        pairs=tuple(
            _pair(kind, (first, second), rows[:, columns[first]], rows[:, columns[second]])
            for first, second in itertools.combinations(raters, 2)
        ),
        alpha=krippendorff_alpha(rows, level="ordinal" if kind in _ORDERED else "nominal"),
    )


def _pair(kind: Kind, names: tuple[str, str], first: Floats, second: Floats) -> RaterPair:
    both = ~(np.isnan(first) | np.isnan(second))
    n = int(both.sum())
    exact = float(np.mean(first[both] == second[both])) if n else None
    weighted = kappa(first, second) if kind in _ORDERED else None
    return RaterPair(*names, n, exact, kappa(first, second, weighting="none"), weighted)


def number_of(kind: Kind, label: Label) -> float | None:
    """A label as a number; None where nothing was said."""
    if not label.counts:
        return None
    if isinstance(label.value, str):
        words = _WORDS.get(kind, ())
        return float(words.index(label.value)) if label.value in words else None
    return label.value


def settle_numbers(kind: Kind, labels: Sequence[Label]) -> dict[Item, float]:
    """One number for each item: the median of what people gave, of an even number the lower of the middle two."""
    found: dict[Item, list[float]] = defaultdict(list)
    for label in labels:
        number = number_of(kind, label)
        if number is not None:
            found[label.item].append(number)
    return {item: sorted(numbers)[math.ceil(len(numbers) / 2) - 1] for item, numbers in found.items()}
