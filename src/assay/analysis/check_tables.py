"""Check judgments and runs where they are: whole queries in the workers of an engine, what they add up to here.

What is found is what `check` finds in files, but for rows out of order: rows of a table have no order. Examples are
the first in the order of the alphabet.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from assay.analysis.check_faults import EXAMPLES, UNJUDGED_ALARM, UNJUDGED_DEPTH, commonest
from assay.analysis.check_kernels import (
    GAPS,
    QUERY,
    CheckGrades,
    CheckIds,
    CheckLists,
    FormOfIds,
    merge,
    tally_ids,
)
from assay.analysis.evaluate_tables import CARRIED, engine_of, is_table
from assay.formats.conversion import as_judgments, as_whole_run, each_run
from assay.formats.raw import raw_judgments, raw_run
from assay.lazy import pl
from assay.messages import say
from assay.results.check import Finding, InputCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from assay.engines.engine import Engine, Rows
    from assay.engines.headings import What

# Kinds in the order in which `check` has them, with the keys of their messages and whether they stop an evaluation.
_KINDS = {
    "blanks around ids": ("check.blanks", False),
    "ids in two forms": ("check.two_forms", False),
    "duplicate judgment": ("check.duplicate_judgment", True),
    "grade not finite": ("check.grade_not_finite", True),
    "negative grade": ("check.negative_grade", False),
    "fractional grade": ("check.fractional_grade", False),
    "no relevant document": ("check.no_relevant", False),
    "duplicate document": ("check.duplicate_document", True),
    "score not finite": ("check.score_not_finite", True),
    "all scores tied": ("check.all_tied", False),
    "rank contradicts score": ("check.rank_contradicts", False),
    "ids in other forms": ("check.other_forms", False),
}


def check_tables(
    judgments: Any, runs: Any = (), *, engine: str | Engine | None = None, carried: int = CARRIED, **reading: Any
) -> InputCheck:
    """Check judgments, and runs against them, with an engine; `reading` says how files are that it does not read."""
    each = list(each_run(runs))
    where = engine_of(engine, judgments, *each)
    judged = _scan(where, judgments, "judgments", reading)
    graded = judged.map_groups(CheckGrades())
    queries = frozenset(graded.filter(pl.col("kind") == QUERY)["example"])
    here = judged.collect().select("query_id", "doc_id", "grade") if judged.count() <= carried else None
    docs = _check_ids(judged, frozenset())
    found = list(_findings(pl.concat([graded, docs]), "", _label(judgments, judged)))
    for run in each:
        rows = _scan(where, run, "ranked run", reading)
        lists = rows.map_groups(CheckLists(here), judged=judged if here is None else None)
        named = frozenset() if here is None else frozenset(here["doc_id"])
        table = pl.concat([lists, _check_ids(rows, named)])
        label = _label(run, rows)
        for system, name in _systems(rows, label):
            found += [*_findings(table, system, name), *_compare(table, system, queries, name)]
    return InputCheck(tuple(found))


def check_table(data: Any, what: Literal["judgments", "run"], engine: Engine) -> tuple[str, list[Finding]]:
    """Check judgments or runs alone; what they hold, and what was found."""
    rows = _scan(engine, data, "judgments" if what == "judgments" else "ranked run", {})
    none = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64})
    table = rows.map_groups(CheckGrades() if what == "judgments" else CheckLists(none))
    queries = table.filter(pl.col("kind") == QUERY)
    table = pl.concat([table, _check_ids(rows, frozenset())])
    found = [one for system, name in _systems(rows, _label(data, rows)) for one in _findings(table, system, name)]
    return say("check.rows", queries=queries["example"].n_unique(), rows=int(queries["n"].sum())), found


def _systems(rows: Rows, label: str) -> list[tuple[str, str]]:
    """Every run of a table, and how it is called in a finding."""
    return [(name, f"{label}: {name}") for name in rows.systems()] if rows.has_systems else [("", label)]


def _scan(where: Engine, data: Any, what: What, reading: Mapping[str, Any]) -> Rows:
    """Rows that the engine reads itself, or those of a file that is read here."""
    if is_table(where, data):
        return where.scan(data, what)
    judged = what == "judgments"
    if not isinstance(data, (str, os.PathLike)):
        return where.scan(as_judgments(data).frame if judged else as_whole_run(data).frame, what)
    options = {"kind": None, "split": "test", "encoding": None, **reading}
    if judged:
        return where.scan(raw_judgments(os.fspath(data), **options), what)
    del options["split"]
    return where.scan(raw_run(os.fspath(data), **options), what)


def _label(data: Any, rows: Rows) -> str:
    return os.fspath(data) if isinstance(data, (str, os.PathLike)) else rows.label


def _check_ids(rows: Rows, judged: AbstractSet[str]) -> pl.DataFrame:
    """Look at all documents once; judged ones that are too many to be sent are not compared with them."""
    names = [*(["system"] if rows.has_systems else []), "doc_id"]
    forms = rows.distinct(names).map_rows(FormOfIds(several=rows.has_systems))
    return forms.map_groups(CheckIds(judged), "form")


def _findings(table: pl.DataFrame, system: str, where: str) -> Iterator[Finding]:
    """What the workers found of one run, or of judgments."""
    table = table.filter(pl.col("system") == system)
    queries = sorted(table.filter(pl.col("kind") == QUERY)["example"])
    own = pl.DataFrame(list(tally_ids(queries, frozenset(), system, "query_id")), schema=table.schema)
    merged = merge(pl.concat([table, own]))
    for kind, (key, error) in _KINDS.items():
        counts, shown = merged.get((system, kind), (Counter[str](), {}))
        for about in sorted(counts, key=("query_id", "doc_id", "").index):
            if kind != "ids in other forms":
                n = counts[about]
                yield Finding(where, kind, n, say(key, n=n, column=about), tuple(shown[about]), error)


def _compare(table: pl.DataFrame, system: str, judged: AbstractSet[str], where: str) -> Iterator[Finding]:
    """Queries on one side only, ids that would match in another form, and documents that nobody judged."""
    mine = table.filter(pl.col("system") == system)
    listed = mine.filter(pl.col("kind") == QUERY)
    names = sorted(listed["example"])
    forms = pl.DataFrame(list(tally_ids(names, judged, system, "query_id")), schema=table.schema)
    merged = merge(pl.concat([mine, forms]))
    counts, shown = merged.get((system, "ids in other forms"), (Counter[str](), {}))
    for column in ("query_id", "doc_id"):
        if counts[column]:
            text = say("check.other_forms", column=column)
            yield Finding(where, "ids in other forms", counts[column], text, tuple(shown[column]))
    missing, extra = sorted(judged - set(names)), [name for name in names if name not in judged]
    if len(missing) == len(judged):
        text = say("check.no_common", n=len(judged), judged=missing[0], listed=next(iter(names), ""))
        yield Finding(where, "no common query", len(judged), text, error=True)
        return
    for kind, key, ids in (("missing query", "check.missing", missing),
                           ("query without judgments", "check.not_judged", extra)):  # fmt: skip
        if ids:
            yield Finding(where, kind, len(ids), say(key, n=len(ids)), tuple(ids[:EXAMPLES]))
    yield from _find_gaps(listed, merged.get((system, GAPS)), where)
    counts, shown = merged.get((system, "ids look like chunks"), (Counter[str](), {}))
    if counts:
        n, pattern = counts.total(), commonest(counts)
        examples = sorted(name for names in shown.values() for name in names)[:EXAMPLES]
        yield Finding(where, "ids look like chunks", n, say("check.chunks", n=n, pattern=pattern), tuple(examples))


def _find_gaps(
    listed: pl.DataFrame, tally: tuple[Counter[str], Mapping[str, list[str]]] | None, where: str
) -> Iterator[Finding]:
    """Unjudged documents near the top, where they are many."""
    top, lost = int(listed["shown"].sum()), int(listed["lost"].sum())
    if tally is not None and top and lost / top > UNJUDGED_ALARM:
        text = say("check.unjudged", n=lost, k=UNJUDGED_DEPTH, share=lost / top)
        yield Finding(where, GAPS, lost, text, tuple(tally[1][""]))
