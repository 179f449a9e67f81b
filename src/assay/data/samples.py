"""Samples: questions with the answers that a system gave and the contexts that it had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.data.nuggets import Nugget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.data.source import Source

Field = Literal[
    "query_id", "question", "answer", "contexts", "history", "reference", "context_ids", "gold_ids", "nuggets", "system"
]
FIELDS: tuple[Field, ...] = get_args(Field)


@dataclass(frozen=True, slots=True)
class Context:
    """One text that the answer was to be based on."""

    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with the answer of a system; None is what the data does not have, which differs from what is empty.

    `gold_ids` is an AND of ORs: one group per thing that must be found, each with the ids that satisfy it. `faults`
    says of a field why it could not be read, `notes` what was odd but could be read. `others` keeps further columns.
    `nuggets` are the facts that a good answer holds.
    """

    query_id: str
    question: str | None = None
    answer: str | None = None
    contexts: tuple[Context, ...] | None = None
    history: tuple[Turn, ...] = ()
    references: tuple[str, ...] = ()
    context_ids: tuple[str, ...] | None = None
    gold_ids: tuple[tuple[str, ...], ...] | None = None
    faults: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    others: Mapping[str, Any] = field(default_factory=dict, metadata={"stored": False})
    system: str | None = None
    nuggets: tuple[Nugget, ...] | None = field(default=None, metadata={"stored": False})

    @property
    def conversation(self) -> str:
        """What was said before the answer: the question and the conversation up to it."""
        return "\n".join([*(turn.text for turn in self.history), self.question or ""])


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples in the order of their file; `mapping` says which column each field was read from.

    They may be of several systems, whose ids are the same where their questions are. `sources` are the files of systems
    that have one each. `shared` is the digest of all the questions that samples of one system were taken from.
    """

    rows: tuple[Sample, ...]
    mapping: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    notes: tuple[str, ...] = ()
    sources: Mapping[str, Source | None] = field(default_factory=dict)
    shared: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> Sample:
        return self.rows[place]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems in the order of their first samples; empty if no column names them."""
        return tuple(dict.fromkeys(row.system for row in self.rows if row.system is not None))

    def of(self, system: str) -> Samples:
        """The samples of one system, which has the same questions as the others."""
        rows = tuple(row for row in self.rows if row.system == system)
        source = self.sources.get(system, self.source)
        return replace(self, rows=rows, source=source, sources={}, shared=self.digest)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of questions, references, gold ids and nuggets: the same for systems that can be compared."""
        if self.shared:
            return self.shared
        return digest_texts({digest_text(row): row.query_id for row in self.rows})


def digest_text(row: Sample) -> str:
    """What a sample asks and what is expected, as one text."""
    told = (row.query_id, row.question, [asdict(turn) for turn in row.history], row.references, row.gold_ids)
    nuggets = () if row.nuggets is None else ([asdict(one) for one in row.nuggets],)
    return json.dumps((*told, *nuggets))


def digest_texts(told: Mapping[str, str]) -> str:
    """SHA-256 of such texts, in the order of their ids."""
    texts = sorted(told, key=lambda text: (told[text], text))
    return sha256(f"[{', '.join(texts)}]".encode()).hexdigest()
