"""Any two systems of any two results: the decision, and the queries that got better, worse, or stayed as they were."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from assay.analysis.compare import compare
from assay.analysis.diagnose import choose_measure
from assay.analysis.evidence import find_evidence
from assay.analysis.joining import prepare_run
from assay.data.source import Source
from assay.errors import AssayError, NotComparable, UnknownName
from assay.formats.documents import read_documents
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments, read_run
from assay.measures.lists import order_lists
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.analysis.evidence import LoadedResult
    from assay.analysis.report_data import ReportEvidence
    from assay.analysis.workspace import WorkFile, Workspace
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.data.segments import Floats, Ints
    from assay.formats.queries import Queries
    from assay.results.comparison import Comparison

Sign = Literal["better", "worse", "same"]
SIGNS: tuple[Sign, ...] = ("better", "worse", "same")
_EQUAL = 1e-12
_DEPTH = 100


@dataclass(frozen=True)
class System:
    """A system of a result, with a name that no other system of the page has."""

    name: str
    scores: Scores
    file: WorkFile
    result: LoadedResult

    @property
    def own_name(self) -> str:
        """What its result calls it."""
        return next(one.name for one in self.result.result.systems if one.query_ids is self.scores.query_ids)


@dataclass(frozen=True)
class QueryDifference:
    """A query under two systems; `change` is positive where the second is better, whichever way the measure goes."""

    query_id: str
    text: str
    before: float
    after: float
    change: float
    attributes: Mapping[str, str]

    @property
    def sign(self) -> Sign:
        """Whether the second system is better, worse, or the same."""
        return "same" if abs(self.change) <= _EQUAL else "better" if self.change > 0 else "worse"


@dataclass(frozen=True)
class QueryFilter:
    """Which queries are wanted: of a sign, with an attribute, with value 0 under one of the two, with a text."""

    sign: str = ""
    attribute: str = ""
    value: str = ""
    zero: str = ""
    text: str = ""


@dataclass(frozen=True, eq=False)
class QueryTable:
    """Every query that two systems have a value for, worst losses first, in columns: there may be very many.

    `change` is positive where the second system is better. `attributes` has for each attribute its values, and for each
    query the number of its value, -1 for none.
    """

    ids: Sequence[str]
    texts: pl.Series
    before: Floats
    after: Floats
    change: Floats
    attributes: Mapping[str, tuple[Sequence[str], Ints]]

    def __iter__(self) -> Iterator[QueryDifference]:
        return (self[place] for place in range(len(self)))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> QueryDifference:
        """The query at a place."""
        known = {name: values[codes[place]] for name, (values, codes) in self.attributes.items() if codes[place] >= 0}
        before, after, change = (float(column[place]) for column in (self.before, self.after, self.change))
        return QueryDifference(self.ids[place], self.texts[place], before, after, change, known)

    def find(self, query_id: str) -> int | None:
        """The place of a query."""
        return self._places.get(query_id)

    def select(self, wanted: QueryFilter) -> Ints:
        """The places of the queries that are wanted, in order."""
        kept = np.ones(len(self), dtype=bool)
        if wanted.sign:
            kept &= self._signs == SIGNS.index(wanted.sign) if wanted.sign in SIGNS else False
        if wanted.attribute:
            values, codes = self.attributes.get(wanted.attribute, ((), None))
            kept &= False if codes is None or wanted.value not in values else codes == list(values).index(wanted.value)
        if wanted.zero in {"baseline", "both"}:
            kept &= self.before == 0
        if wanted.zero in {"other", "both"}:
            kept &= self.after == 0
        if sought := wanted.text.strip().lower():
            kept &= self._texts.str.contains(sought, literal=True).to_numpy()
        return np.flatnonzero(kept)

    def count(self, sign: Sign) -> int:
        """How many queries got better, worse, or stayed the same."""
        return int((self._signs == SIGNS.index(sign)).sum())

    @cached_property
    def _signs(self) -> NDArray[np.int8]:
        return np.where(np.abs(self.change) <= _EQUAL, 2, np.where(self.change > 0, 0, 1)).astype(np.int8)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {query: place for place, query in enumerate(self.ids)}

    @cached_property
    def _texts(self) -> pl.Series:
        return (pl.Series(self.ids, dtype=pl.String) + " " + self.texts).str.to_lowercase()


@dataclass(frozen=True)
class Difference:
    """Two systems on one measure: the comparison, and every query that both have a value for, worst losses first."""

    baseline: System
    other: System
    measure: str
    comparison: Comparison
    queries: QueryTable


def list_all_systems(space: Workspace, keys: Sequence[str]) -> list[System]:
    """The systems of the results with these keys; where two have one name, with the name of their file."""
    read = [(space.find(key, "result"), space.result(key)) for key in dict.fromkeys(keys)]
    named = [(scores, file, loaded) for file, loaded in read for scores in loaded.result.systems]
    counts = [scores.name for scores, *_ in named]
    return [
        System(name, replace(scores, name=name), file, loaded)
        for scores, file, loaded in named
        for name in [scores.name if counts.count(scores.name) == 1 else f"{scores.name} ({file.name})"]
    ]


def common_measures(first: System, second: System) -> list[str]:
    """Measures that both have and that are means, the main one first."""
    means = {column.label for column in second.scores.columns if column.is_mean}
    labels = [column.label for column in first.scores.columns if column.is_mean and column.label in means]
    with suppress(AssayError):
        labels.sort(key=lambda label: label != choose_measure(first.scores, None))
    return labels


def difference_of(space: Workspace, baseline: System, other: System, measure: str) -> Difference:
    """The difference of two systems of a folder, made once as long as their files and its queries do not change."""
    files = [baseline.file, other.file, *space.files("queries")]
    mark = ("difference", baseline.name, other.name, measure, tuple((one.name, one.stamp) for one in files))
    return space.keep(mark, lambda: find_difference(baseline, other, measure, queries_for(space, baseline.scores)))


def find_difference(baseline: System, other: System, measure: str, queries: Queries | None = None) -> Difference:
    """Compare two systems, and list their queries; systems that cannot be compared are an error that says why."""
    if not measure:
        raise NotComparable(say("these two have no measure in common"))
    scored = (baseline.scores, other.scores)
    comparison = compare(scored, [measure], baseline=baseline.name)
    sign = baseline.scores.about(measure).direction
    old, new = baseline.scores.column(measure), other.scores.column(measure)
    if baseline.scores.query_ids != other.scores.query_ids:
        places = {query: place for place, query in enumerate(other.scores.query_ids)}
        shared = [places.get(query, -1) for query in baseline.scores.query_ids]
        new = np.where(np.array(shared, dtype=np.int64) < 0, np.nan, np.append(new, np.nan)[shared])
    known = np.flatnonzero(~np.isnan(old) & ~np.isnan(new))
    names = np.array(baseline.scores.query_ids, dtype=object)[known]
    change = sign * (new - old)[known]
    order = known[np.lexsort((np.array(names, dtype=np.str_), change))]
    ids = [baseline.scores.query_ids[place] for place in order.tolist()]
    texts = queries.texts() if queries else {}
    listed = pl.Series([texts.get(query, "") for query in ids], dtype=pl.String)
    del texts
    table = QueryTable(ids, listed, old[order], new[order], sign * (new - old)[order], _attributes(queries, ids))
    return Difference(baseline, other, measure, comparison, table)


def _attributes(queries: Queries | None, ids: Sequence[str]) -> dict[str, tuple[Sequence[str], Ints]]:
    """The values of each attribute, sorted, and which of them each query has."""
    if queries is None:
        return {}
    places = {query: place for place, query in enumerate(ids)}
    rows = [places.get(query, -1) for query in queries.frame["query_id"].to_list()]
    found: dict[str, tuple[Sequence[str], Ints]] = {}
    for name in queries.attributes:
        own = queries.frame[name].to_list()
        values = sorted(
            {str(value) for place, value in zip(rows, own, strict=True) if place >= 0 and value is not None}
        )
        numbers = {value: number for number, value in enumerate(values)}
        codes = np.full(len(ids), -1, dtype=np.int64)
        for place, value in zip(rows, own, strict=True):
            if place >= 0 and value is not None:
                codes[place] = numbers[str(value)]
        found[name] = (values, codes)
    return found


# What lies behind them in the folder ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MovedDocument:
    """A document in the list of a system: its grade, and how far it rose against the baseline (None: not there)."""

    doc_id: str
    grade: float | None
    moved: int | None
    text: str


def queries_for(space: Workspace, scores: Scores) -> Queries | None:
    """The queries of the folder that most of the scored ones are among."""
    wanted = set(scores.query_ids)
    best, most = None, 0
    for file in space.files("queries"):
        with suppress(AssayError):
            read = space.read(file, read_queries)
            known = len(wanted.intersection(read.frame["query_id"].to_list()))
            if known > most:
                best, most = read, known
    return best


def read_lists(
    space: Workspace, systems: Sequence[System], query: str, depth: int = 20
) -> dict[str, tuple[MovedDocument, ...]]:
    """The lists of each system for a query, where their runs and judgments are in the folder and unchanged."""
    found: dict[str, list[str]] = {}
    grades: Mapping[str, float] = {}
    for one in systems:
        evidence = _evidence_of(space, one)
        run = evidence.runs.get(one.own_name) or _same_run(space, one)
        judged = evidence.judgments or _same_judgments(space, one.scores)
        if judged is not None and query in judged.by_query:
            grades = judged.by_query[query]
        if run is not None:
            found[one.name] = _list_of(run, one.scores, query)
    if not found:
        return {}
    documents = _documents(space, {doc for docs in found.values() for doc in docs[:depth]})
    first = {doc: rank for rank, doc in enumerate(next(iter(found.values())))}
    return {
        name: tuple(
            MovedDocument(doc, grades.get(doc), first[doc] - rank if doc in first else None, documents.get(doc, ""))
            for rank, doc in enumerate(docs[:depth])
        )
        for name, docs in found.items()
    }


def _evidence_of(space: Workspace, system: System) -> ReportEvidence:
    mark = ("evidence", system.file.name, system.file.stamp)
    return space.keep(mark, lambda: find_evidence([system.result]))


def _list_of(run: Run, scores: Scores, query: str) -> list[str]:
    rows = run.frame.filter(run.frame["query_id"] == query)
    if not len(rows):
        return []
    protocol = scores.protocol
    listed = prepare_run(replace(run, rows=rows), protocol, dedupe=True)
    given = protocol.ties == "given" or protocol.fold is not None
    return order_lists(listed, _DEPTH, given=given).get(query, [])


def _same_run(space: Workspace, system: System) -> Run | None:
    """A run of the folder with the bytes of the one that was evaluated."""
    wanted = {one.sha256 for one in system.result.result.origin.inputs if one.path == system.scores.file and one.sha256}
    for file in space.files("run") if wanted else ():
        if space.note(file, _sum_of) in wanted:
            return space.read(file, read_run)
    return None


def _sum_of(place: str) -> str:
    return Source(place, Path(place)).sha256 or ""


def _same_judgments(space: Workspace, scores: Scores) -> Judgments | None:
    """Judgments of the folder with the content of those that were evaluated."""
    for file in space.files("judgments"):
        with suppress(AssayError):
            read = space.read(file, read_judgments)
            if read.digest == scores.judgments_digest:
                return read
    return None


def _documents(space: Workspace, wanted: set[str]) -> Mapping[str, str]:
    best: Mapping[str, str] = {}
    for file in space.files("documents"):
        with suppress(AssayError):
            read = space.read(file, read_documents)
            if len(wanted & read.keys()) > len(wanted & best.keys()):
                best = read
    return best


def choose_system(systems: Sequence[System], name: str, otherwise: System) -> System:
    """The system with a name; an empty name stands for another one."""
    if not name:
        return otherwise
    found = next((one for one in systems if one.name == name), None)
    if found is None:
        raise UnknownName(say("system"), name, [one.name for one in systems])
    return found
