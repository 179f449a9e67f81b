"""Pairs of answers to compare blind: two systems' answers to the same questions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from assay.analysis.label_tasks import key_of
from assay.errors import InputError
from assay.formats.samples import read_samples
from assay.messages import say

if TYPE_CHECKING:
    from assay.analysis.workspace import WorkFile, Workspace
    from assay.curation.labelling import Item
    from assay.data.samples import Samples


@dataclass(frozen=True)
class PairCard:
    """Two systems' answers to a question; which is which is told at the end."""

    query_id: str
    first: str
    second: str
    question: str
    answers: tuple[str, str]
    references: tuple[str, ...]

    @property
    def item(self) -> Item:
        """What a preference is kept under."""
        return self.query_id, self.first, self.second

    @property
    def key(self) -> str:
        """What a page calls it by."""
        return key_of(self.item)


@dataclass(frozen=True)
class PairTask:
    """Pairs of answers of two systems, which have their names from the file or from the names of the files."""

    files: tuple[WorkFile, WorkFile]
    systems: tuple[str, str]
    cards: tuple[PairCard, ...]

    @property
    def name(self) -> str:
        """What labels of it are kept under."""
        return f"pairs:{self.files[0].name}|{self.files[1].name}"

    @cached_property
    def items(self) -> list[Item]:
        """The pairs in their order."""
        return [card.item for card in self.cards]

    @cached_property
    def by_key(self) -> dict[str, PairCard]:
        """The cards by what a page calls them."""
        return {card.key: card for card in self.cards}


def read_pair_task(space: Workspace, first: WorkFile, second: WorkFile) -> PairTask:
    """Pair the answers of two files to the same questions; equal answers are left out, as nobody can prefer one."""
    files = (first, second) if first.name <= second.name else (second, first)
    read = [space.read(file, read_samples) for file in files]
    names = _system_names(files, read)
    sides = [{one.query_id: one for one in samples if one.answer} for samples in read]
    cards = tuple(
        PairCard(query, *names, one.question or "", (one.answer or "", other.answer or ""), one.references)
        for query, one in sides[0].items()
        if (other := sides[1].get(query)) is not None and one.answer != other.answer
    )
    if not cards:
        raise InputError(say("these two files have no different answers to the same question"), path=files[0].name)
    return PairTask(files, names, cards)


def _system_names(files: tuple[WorkFile, WorkFile], read: list[Samples]) -> tuple[str, str]:
    names = [
        samples.systems[0] if len(samples.systems) == 1 else file.stem
        for file, samples in zip(files, read, strict=True)
    ]
    if Counter(names).most_common(1)[0][1] > 1:
        names = [file.name for file in files]
    return names[0], names[1]
