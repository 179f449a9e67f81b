"""What the queries of a report look like: one table to filter, sort and search, and the view that opens for each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Drilldown, Entry, Lines, View
from assay.report.numbers import cut, number
from assay.report.tables import Cell, Table
from assay.report.views import facets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import Group, ReportData
    from assay.data.scores import Scores
    from assay.report.blocks import AnswerView, Tone
    from assay.report.tables import Facet

_TEXT = 160
_ENTRIES = 800_000  # list entries of one report
_LISTED = 500  # queries with lists
_DEPTH = 20
_LETTERS = 3_000_000  # of document texts in one report
_DOCUMENT = 1_200


def page(found: ReportData, samples: Mapping[str, tuple[AnswerView, ...]]) -> list[Block]:
    """The table of queries of the main group, and the drill-down."""
    group = found.main
    asked = found.evidence.queries.texts() if found.evidence.queries else {}
    asked = {**{query: own[0].question for query, own in samples.items()}, **asked}
    if group is None:
        return [_drilldown(found, None, list(samples), asked, samples)] if samples else []
    queries = _order_queries(group)
    known = set(queries)
    drill = _drilldown(found, group, [*queries, *(query for query in samples if query not in known)], asked, samples)
    table = replace(_table(group, queries, asked), facets=_facets(found, group, queries))
    return [table, drill, Lines((*drill.notes, *found.evidence.notes))]


def _facets(found: ReportData, group: Group, queries: Sequence[str]) -> tuple[Facet, ...]:
    """How a query changed, where it failed, what kind it is."""
    system, chosen = subject_of(group), []
    if group.comparison is not None and system in group.changes:
        chosen.append(facets.of_change(queries, group.changes[system].outcomes, system, group.comparison.baseline))
    stages = _stages(group, system)
    chosen += [facets.of_stage(queries, stages, system)] if stages else []
    return (*chosen, *(facets.of_attributes(queries, found.evidence.queries) if found.evidence.queries else ()))


def subject_of(group: Group) -> str:
    """The system whose changes and failures are shown."""
    if group.comparison is None:
        return group.systems[0].name
    return group.comparison.leading_contrast(group.primary).system


def _stages(group: Group, system: str) -> dict[str, str]:
    """How far the relevant documents of each query got with a system."""
    own = next((one.stages for one in group.diagnoses if one.system == system), {})
    return {query: stage for stage, ids in own.items() for query in ids}


def _order_queries(group: Group) -> list[str]:
    """Queries with a value, those that lost most (or are worst) first."""
    values = _by_query(group.systems[0], group.primary)
    if group.comparison is not None:
        other = next(s for s in group.systems if s.name == group.comparison.leading_contrast(group.primary).system)
        after = _by_query(other, group.primary)
        values = {query: after[query] - value for query, value in values.items() if query in after}
    sign = -1.0 if group.lower else 1.0
    return sorted(values, key=lambda query: (math.isnan(values[query]), sign * values[query], query))


def _by_query(scores: Scores, label: str) -> dict[str, float]:
    return dict(zip(scores.query_ids, scores.column(label).tolist(), strict=True))


def _table(group: Group, queries: Sequence[str], asked: Mapping[str, str]) -> Table:
    columns = [_by_query(scores, group.primary) for scores in group.systems]
    system = subject_of(group)
    place = None if group.comparison is None else [scores.name for scores in group.systems].index(system)
    stages = _stages(group, system)
    with_text = any(query in asked for query in queries)
    texts = asked if with_text else None
    rows = tuple(_row(query, columns, place, texts, stages, lower=group.lower) for query in queries)
    headers: list[str] = [say("column.query"), *([say("column.text")] if with_text else [])]
    headers += [scores.name for scores in group.systems]
    if place is not None:
        headers.append(say("column.change_of", system=group.systems[place].name))
    if stages:
        headers.append(say("column.stage_of", system=system))
    key = "report.queries_of_answers" if group.of_answers else "report.queries"
    caption = say(key, measure=group.primary, n=len(queries))
    return Table(
        tuple(headers), rows, caption, names=2 if with_text else 1, texts=(len(headers) - 1,) if stages else ()
    )


def _row(
    query: str, columns: Sequence[Mapping[str, float]], place: int | None, asked: Mapping[str, str] | None,
    stages: Mapping[str, str], *, lower: bool,
) -> tuple[str | Cell, ...]:  # fmt: skip
    row: list[str | Cell] = [Cell(query, query=query)]
    if asked is not None:
        row.append(cut(asked.get(query, ""), _TEXT))
    values = [column.get(query, math.nan) for column in columns]
    row += [number(value) for value in values]
    if place is not None:
        change = values[place] - values[0]
        tone: Tone = "" if math.isnan(change) or change == 0 else "good" if (change > 0) != lower else "bad"
        row.append(Cell(number(change, signed=True), tone=tone))
    if stages:
        row.append(say(f"stage.{stages[query]}") if query in stages else "")
    return tuple(row)


def _drilldown(
    found: ReportData, group: Group | None, queries: Sequence[str], asked: Mapping[str, str],
    samples: Mapping[str, tuple[AnswerView, ...]],
) -> Drilldown:  # fmt: skip
    systems = () if group is None else group.systems
    measures = () if group is None else _measures(group)
    columns = [[_by_query(scores, label) for label in measures] for scores in systems]
    lists, depth = _lists(found, group, queries)
    views = tuple(
        View(
            query, asked.get(query, ""),
            tuple(tuple(_number_or_none(column.get(query)) for column in one) for one in columns),
            lists.get(query, ()), samples.get(query, ()),
        )
        for query in queries
    )  # fmt: skip
    texts, cut = _documents(found, lists)
    ranked = group is not None and not group.of_answers
    notes = [say("report.depth", depth=depth)] if lists else [say("report.no_lists")] * ranked
    notes += [say("report.some_lists", n=len(lists))] if 0 < len(lists) < len(queries) else []
    notes += [say("report.texts_cut", n=cut)] if cut else []
    judgments = found.evidence.judgments
    top = judgments.max_grade if judgments is not None else 1.0
    return Drilldown(tuple(s.name for s in systems), measures, views, texts, top, tuple(notes))


def _measures(group: Group) -> tuple[str, ...]:
    labels = [label for label in group.systems[0].labels if all(scores.find(label) for scores in group.systems)]
    rest = [label for label in labels if label != group.primary]
    return (group.primary, *rest[:7])


def _number_or_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _lists(
    found: ReportData, group: Group | None, queries: Sequence[str]
) -> tuple[dict[str, tuple[tuple[Entry, ...], ...]], int]:
    """Ranked lists of all systems, as deep as a reasonable file size allows."""
    judgments = found.evidence.judgments
    if group is None or judgments is None or not any(group.lists.values()):
        return {}, 0
    depth = max(1, min(_DEPTH, _ENTRIES // max(1, min(_LISTED, len(queries)) * len(group.systems))))
    grades = judgments.by_query
    ranked = [group.lists.get(scores.name, {}) for scores in group.systems]
    made = {}
    for query in _with_lists(queries):
        own = grades.get(query, {})
        places = {doc: i for i, doc in enumerate(ranked[0].get(query, ()))}
        made[query] = tuple(
            tuple(
                Entry(doc, own.get(doc), places[doc] - i if system and doc in places else None)
                for i, doc in enumerate(one.get(query, ())[:depth])
            )
            for system, one in enumerate(ranked)
        )
    return made, depth


def _with_lists(queries: Sequence[str]) -> Sequence[str]:
    """The queries whose lists are shown: of very many, those at both ends of their order."""
    return queries if len(queries) <= _LISTED else [*queries[: _LISTED // 2], *queries[-_LISTED // 2 :]]


def _documents(found: ReportData, lists: Mapping[str, Sequence[Sequence[Entry]]]) -> tuple[dict[str, str], int]:
    """Texts of the documents that lists show, until the report is full; and how many were left out or cut."""
    given = found.evidence.documents
    kept: dict[str, str] = {}
    room, short = _LETTERS, 0
    for entry in (entry for query in lists.values() for one in query for entry in one) if given else ():
        text = given.get(entry.doc_id)
        if text is None or entry.doc_id in kept:
            continue
        kept[entry.doc_id] = cut(text, _DOCUMENT) if room > 0 else ""
        short += kept[entry.doc_id] != text
        room -= len(kept[entry.doc_id])
    return {doc: text for doc, text in kept.items() if text}, short
