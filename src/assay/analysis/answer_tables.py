"""Answers in tables of any size: every sample is judged where it is, and means are added up here.

Statements with their evidence stay behind: a row of values and statuses comes back for each sample.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from assay.analysis.answer_clusters import join_histories
from assay.analysis.answer_kernel import FindKeys, FindNames, JudgeSamples, outcome_of
from assay.analysis.answer_plan import (
    AnswerPlan,
    add_nugget_measures,
    choose_usual,
    find_lacking,
    methods_of,
    note_columns,
    note_conversations,
)
from assay.analysis.answers import Answers, answer_details, answer_means, score_system
from assay.analysis.evaluate_tables import engine_of, refuse_input
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import answer_measures, for_answers
from assay.data.samples import Sample, Samples, digest_texts
from assay.data.source import Source
from assay.engines.engine import KEY
from assay.engines.local import has_lines
from assay.engines.spark import SparkRows
from assay.errors import InputError, UsageError
from assay.formats.columns import list_names
from assay.formats.columns import notes as column_notes
from assay.formats.files import system_name
from assay.formats.samples import find_columns
from assay.formats.score_folders import ScoreFolder, read_score_folder
from assay.lazy import pl
from assay.messages import say
from assay.results.answers import AnswerDetails
from assay.results.codec import encode, write_json
from assay.results.result import make_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.protocol import AnswerMethod, Protocol
    from assay.data.scores import Scores
    from assay.engines.engine import Engine, Rows
    from assay.measures import Measure

_PART = 100_000  # samples that the local engine holds at a time


def answer_tables(
    samples: Any,
    measures: Sequence[str | Measure] | None = None,
    *,
    engine: str | Engine | None = None,
    method: AnswerMethod | None = None,
    embedder: Any = "auto",
    columns: Mapping[str, str] | None = None,
    protocol: str | Protocol = "answers",
    cluster: str | Mapping[str, str] | None = None,
    name: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    parts: int = 0,
    lines: bool | None = None,
    command: str = "",
) -> dict[str, Answers] | dict[str, Scores]:
    """Judge samples in Parquet folders, JSON lines, tables or frames of Spark, by words or by embeddings.

    Every sample needs an id. Values and statuses are those of `answers`; what each statement rests on is not brought
    back. `lines` says that files hold JSON lines, where their names do not. Returns scores by system.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("samples.jsonl").write_text('{"id": "1", "answer": "In 1889.", "reference": "In 1889."}')
    >>> assay.answer_tables("samples.jsonl", ["exact_match"], engine="local")["samples"]["exact_match"]
    1.0
    """
    where = engine_of(engine, samples)
    rules = for_answers(load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol)
    wanted, asked = answer_measures(measures, rules)
    if measures is None:
        wanted = {label: one for label, one in wanted.items() if not one.spec.needs_judge}
    rows, mapping = _scan(where, samples, columns or {}, lines=lines)
    if measures is None:
        wanted, asked = add_nugget_measures(wanted, asked, rules, mapping.__contains__)
    kernel = JudgeSamples.of(
        mapping, rows.label, wanted, protocol=rules, method=method or rules.method,
        embedder=None if embedder == "auto" else embedder, cluster=cluster if isinstance(cluster, str) else None,
    )  # fmt: skip
    _check_methods(kernel)
    parts = parts or (1 if isinstance(rows, SparkRows) else math.ceil(rows.count() / _PART) or 1)
    kept = _open_folder(folder, kernel, rows, cluster, parts) if folder is not None else None
    if kept is not None and kept.is_complete:
        return {one.name: one for one in read_score_folder(kept.place).systems}
    table = pl.concat([_part(rows, kernel, part, parts, kept) for part in range(parts)]).sort("system", "query_id")
    plan = _plan(table, kernel, asked, named=measures is not None, title=_title(samples, name))
    plan = _cluster(replace(plan, samples=replace(plan.samples, source=_source(samples))), table, cluster)
    found = dict(_score(plan, table, name))
    if kept is not None:
        kept.commit(make_result(systems=list(found.values()), command=command), len(table))
    return found


def details_of(systems: Sequence[Scores]) -> AnswerDetails:
    """The means and stages of systems; what each statement rests on stayed where the samples are."""
    fresh = [one for one in systems if isinstance(one, Answers)]
    if len(fresh) == len(systems):
        return answer_details(fresh)
    return AnswerDetails(samples=(), means=answer_means(systems), scores=tuple(systems))


# Rows -----------------------------------------------------------------------------------------------------------------


def _scan(where: Engine, data: Any, columns: Mapping[str, str], *, lines: bool | None) -> tuple[Rows, dict[str, str]]:
    """Find the samples, and which of their columns is what."""
    place = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
    if lines if lines is not None else place and has_lines(place):
        rows = where.scan_lines(place)
        names = sorted(rows.map_rows(FindNames()).distinct(["name"]).collect()["name"])
        mapping = _find_columns(names, rows.label, columns)
        return rows.map_rows(FindKeys(mapping["query_id"])), mapping
    mapping = _find_columns(where.names(data), place or say("frame"), columns)
    return where.scan_table(data, mapping["query_id"]), mapping


def _find_columns(names: list[str], label: str, columns: Mapping[str, str]) -> dict[str, str]:
    if not names:
        raise InputError(say("the file has no rows"), path=label, hint=say("expected at least one sample"))
    inside: dict[str, dict[str, Any]] = {
        name: {} for name in columns.values() if name.partition(".")[0] in names and name not in names
    }
    mapping = find_columns([*names, *inside], label, columns)
    for field in ("query_id", "answer"):
        if field not in mapping:
            raise InputError(
                say("no column for {name} among {names}", name=field, names=list_names(names)),
                path=label,
                hint=say("name it with --map {field}=COLUMN; on an engine, every sample needs an id", field=field),
            )
    return mapping


def _part(rows: Rows, kernel: JudgeSamples, part: int, parts: int, folder: ScoreFolder | None) -> pl.DataFrame:
    """Judge the samples of a part, unless that was done before."""
    done = None if folder is None else folder.read(part)
    if done is not None:
        return done
    found = rows.map_groups(kernel, KEY, part, parts)
    if folder is not None:
        folder.write(part, found)
    return found


def _open_folder(
    place: str | os.PathLike[str], kernel: JudgeSamples, rows: Rows, cluster: Any, parts: int
) -> ScoreFolder:
    """A folder for the parts; its job is everything that shapes them."""
    if parts < 1:
        raise UsageError(say("the number of parts must be 1 or more"))
    refuse_input(place, rows.label)
    plain = {
        "measures": {label: str(measure) for label, measure in kernel.measures.items()},
        "own": sorted(kernel.own),
        "protocol": encode(kernel.protocol.to_dict()),
        "method": [kernel.method, repr(kernel.embedder)],
        "columns": dict(kernel.mapping),
        "cluster": repr(cluster),
        "rows": rows.digest_input() or uuid4().hex,
        "parts": parts,
    }
    return ScoreFolder.open(place, sha256(write_json(plain, indent=None).encode()).hexdigest(), parts)


# The plan, from what came back ----------------------------------------------------------------------------------------


def _check_methods(kernel: JudgeSamples) -> None:
    """Refuse what needs a judge, and orders of methods: whether the next one takes over is known only at the end."""
    judged = next((label for label, one in kernel.measures.items() if one.spec.needs_judge), None)
    if judged is not None or "llm" in methods_of(kernel.measures, kernel.method):
        raise UsageError(
            say("an engine asks no language model: judge with one on this machine, without --engine"),
        )
    if kernel.embedder is None and methods_of(kernel.measures, kernel.method) & {"embedding", "sigmoid"}:
        raise UsageError(
            say("name the embedder that all workers use: --embedder wordllama, minilm or the folder of a model")
        )
    for key in {kernel.plan.chain_of(measure) for measure in kernel.measures.values()} | {kernel.method}:
        if len(kernel.plan.here.chain(key)) > 1:  # type: ignore[arg-type]
            raise UsageError(say("on an engine one method judges all: choose --method words or --method embedding"))


def _plan(
    table: pl.DataFrame, kernel: JudgeSamples, asked: Mapping[str, str], *, named: bool, title: str
) -> AnswerPlan:
    """The plan of `answers`, from which fields some sample has."""
    if not len(table):
        raise InputError(say("the file has no rows"), hint=say("expected at least one sample"))
    present = {field for field in kernel.needs if table[f"has:{field}"].any()}
    has = present.__contains__
    if named:
        measures, left_out = kernel.measures, find_lacking(kernel.measures, has)
    else:
        measures, left_out = choose_usual(kernel.measures, kernel.protocol, has, judged=False)
    told = [kernel.plan.here.embeddings.note] if kernel.plan.here.embeddings is not None else []
    digest = digest_texts(dict(zip(table["asks"], table["query_id"], strict=True)))
    samples = Samples((), kernel.mapping, notes=column_notes(kernel.mapping), shared=digest)
    notes = (*note_columns(kernel.mapping), *left_out, *told)
    return replace(kernel.plan, samples=samples, measures=measures, asked=asked, name=title, notes=notes)


def _cluster(plan: AnswerPlan, table: pl.DataFrame, cluster: str | Mapping[str, str] | None) -> AnswerPlan:
    """Put samples together that belong together: by a column, by what was said, or by their histories."""
    ids = table["query_id"].to_list()
    if isinstance(cluster, str):
        told = zip(ids, table["belongs"], strict=True)
        return replace(plan, clusters={query: value or query for query, value in told})
    if cluster is not None:
        return replace(plan, clusters={query: str(cluster.get(query, query)) for query in ids})
    histories = (json.loads(text) for text in table["history"])
    found = join_histories({query: (ends, begins) for query, (ends, begins) in zip(ids, histories, strict=True)})
    if len(set(found.values())) == len(found):
        return plan
    first, *others = plan.notes
    return replace(plan, clusters=found, notes=(first, note_conversations(found), *others))


def _score(plan: AnswerPlan, table: pl.DataFrame, name: str | None) -> Iterator[tuple[str, Answers]]:
    """The scores of every system."""
    systems = table["system"].unique().sort().to_list()
    if None in systems and len(systems) > 1:
        raise InputError(say("some samples name a system and others do not"), hint=say("name a system in every row"))
    if systems != [None] and name is not None and len(systems) > 1:
        raise UsageError(say("name={name!r} cannot name several runs: a column names them", name=name))
    labels, texts = list(plan.measures), dict[str, Any]()
    for system in systems:
        mine = table.filter(pl.col("system").eq_missing(system))
        outcomes = tuple(outcome_of(row, labels, texts) for row in mine.iter_rows(named=True))
        samples = replace(plan.samples, rows=tuple(Sample(one.sample.query_id) for one in outcomes))
        title = name or system or plan.name
        yield title, score_system(replace(plan, name=title), samples, outcomes)


def _title(data: Any, name: str | None) -> str:
    if name or not isinstance(data, (str, os.PathLike)):
        return name or "answers"
    return system_name(os.fspath(data).rstrip("/"))


def _source(data: Any) -> Source | None:
    if not isinstance(data, (str, os.PathLike)):
        return None
    return Source(os.fspath(data), Path(data) if Path(data).exists() else None)
