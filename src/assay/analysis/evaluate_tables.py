"""From tables of any size to scores: whole queries are evaluated in parts, on this machine or on a Spark cluster."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from assay.analysis.query_kernel import EvaluateQueries, rows_of
from assay.analysis.query_rows import scores_of
from assay.analysis.query_units import align_clusters, align_weights, refuse_strangers
from assay.analysis.settings import Settings, need_subtopics, settings_for
from assay.analysis.warnings import find_score_warnings
from assay.data.judgments import Judgments
from assay.data.source import Source
from assay.engines.engine import Engine, Rows, part_of
from assay.engines.local import LocalEngine
from assay.engines.spark import SparkEngine, SparkRows, is_lake_place, is_spark_frame
from assay.errors import InputError, UsageError
from assay.formats import tables
from assay.formats.conversion import are_several, as_judgments, as_whole_run
from assay.formats.files import run_name
from assay.formats.score_folders import ScoreFolder, read_score_folder
from assay.lazy import pl
from assay.messages import say
from assay.results.codec import encode, write_json
from assay.results.result import make_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.protocol import Protocol
    from assay.data.scores import Scores

CARRIED = 500_000  # judged documents that travel with the kernel; more of them are brought together with the rows
_PART = 20_000_000  # rows that the local engine holds at a time
_NAMELESS = "run"


@dataclass(frozen=True)
class _Judged:
    """Judgments, as far as they are here: all of them, or an outline of rows that stay where they are."""

    outline: Judgments
    rows: Rows | None
    digest: str

    @property
    def here(self) -> Judgments | None:
        """The judgments, if all of them are here."""
        return self.outline if self.rows is None else None


@dataclass(frozen=True)
class _Options:
    """What shapes the scores besides settings."""

    chunks: Mapping[str, str] | str | None = None
    dedupe: bool = False
    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None
    calibration: str = ""
    folder: str | os.PathLike[str] | None = None
    parts: int = 0
    command: str = field(default="", compare=False)


def evaluate_tables(
    judgments: Any,
    run: Any,
    measures: Any = None,
    *,
    engine: str | Engine | None = None,
    protocol: str | Protocol = "trec",
    rules: Mapping[str, Any] | None = None,
    name: str | None = None,
    carried: int = CARRIED,
    **options: Any,
) -> Scores | dict[str, Scores]:
    """Evaluate rows where they are; several runs, or rows of several systems, give a dict of scores by name."""
    asked = _Options(**options)
    where = engine_of(engine, judgments, run)
    if run is None:
        raise UsageError(say("an engine needs judgments and a run"))
    subtopics = need_subtopics(measures, protocol)
    judged = _read_judgments(where, judgments, subtopics=subtopics, dedupe=asked.dedupe, carried=carried)
    if judged.outline.inclusion is not None:
        raise UsageError(say("sample.no_engine"))
    settings = Settings.of(judged.outline, measures, protocol, **(rules or {}))
    if asked.chunks is not None and settings.protocol.fold is None:
        raise UsageError(say("a chunk map needs --fold after (cut, then fold) or --fold before (fold, then cut)"))
    rows, several = _scan(where, run, name, ordered=settings.protocol.ties == "given")
    settings = settings_for([rows] if asked.chunks is None else [], judged.outline, measures, protocol, **(rules or {}))
    systems = tuple(rows.systems()) if rows.has_systems else (name or _name_of(run),)
    kernel = EvaluateQueries.of(settings, systems, judged.here, chunks=asked.chunks, dedupe=asked.dedupe)
    if judged.rows is not None:
        kernel = replace(kernel, groups=judged.outline.groups)
    job = _Job(kernel, rows, judged, asked)
    found = job.evaluate(_source_of(run))
    return {one.name: one for one in found} if several else found[0]


def engine_of(engine: str | Engine | None, *data: Any) -> Engine:
    """The engine of a name; frames of Spark bring their session."""
    frames = [one for each in data for one in _each(each) if is_spark_frame(one)]
    if isinstance(engine, Engine):
        return engine
    if engine == "spark" or (engine is None and frames):
        return SparkEngine(frames[0].sparkSession if frames else None)
    if engine in {None, "local"}:
        return LocalEngine()
    raise UsageError(say("there is no engine {name}: give local or spark", name=str(engine)))


def _each(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return list(data.values())
    return list(data) if isinstance(data, (list, tuple)) else [data]


def is_table(where: Engine, data: Any) -> bool:
    """Return whether an engine reads this itself; anything else is read here and handed to it."""
    if is_spark_frame(data):
        return where.name == "spark"
    if not isinstance(data, (str, os.PathLike)):
        return False
    place = os.fspath(data)
    return is_lake_place(place) and (where.name == "spark" or "://" not in place)


def _read_judgments(where: Engine, data: Any, *, subtopics: bool, dedupe: bool, carried: int) -> _Judged:
    """Read judgments, or leave them where they are if there are very many."""
    groups: Literal["subtopics", "none"] = "subtopics" if subtopics else "none"
    if not is_table(where, data):
        found = as_judgments(data, subtopics=subtopics, dedupe=dedupe)
        if where.name == "local" or len(found) <= carried or found.groups == "gold" or found.empty:
            return _Judged(found, None, found.digest)
        rows: Rows = where.scan(found.frame, "subtopics" if subtopics else "judgments")
        return _Judged(found, rows, found.digest)
    rows = where.scan(data, "subtopics" if subtopics else "judgments")
    source = None if is_spark_frame(data) else Source(os.fspath(data), Path(data) if Path(data).exists() else None)
    if isinstance(rows, SparkRows) and rows.count() > carried:
        outline = Judgments.of(rows.outline(), source=source, groups=groups, notes=rows.headings.notes)
        return _Judged(outline, rows, rows.digest_content())
    found = tables.judgments_of(rows.collect(), source, subtopics=subtopics, dedupe=dedupe)
    found = replace(found, notes=(*rows.headings.notes, *found.notes))
    return _Judged(found, None, found.digest)


def _scan(where: Engine, run: Any, name: str | None, *, ordered: bool) -> tuple[Rows, bool]:
    """Find the rows of one run or of several, and whether there are several."""
    if not are_several(run) and not (isinstance(run, (dict, list)) and any(map(is_spark_frame, _each(run)))):
        found = _scan_one(where, run, ordered=ordered)
        if found.has_systems and name is not None:
            raise UsageError(say("name={name!r} cannot name several runs: a column names them", name=name))
        return found, found.has_systems
    if name is not None:
        raise UsageError(say("name={name!r} cannot name several runs: give them as a dict, {{name: run}}", name=name))
    named = run if isinstance(run, dict) else {_name_of(one, number): one for number, one in enumerate(run, 1)}
    if not isinstance(run, dict) and len(named) < len(run):
        raise UsageError(say("two runs have the same name: give them names, as in NAME=FILE (Python: a dict of runs)"))
    each = [_scan_one(where, one, ordered=ordered).with_system(str(label)) for label, one in named.items()]
    odd = next((one for one in each if one.headings.chosen.keys() != each[0].headings.chosen.keys()), None)
    if odd is not None:
        raise InputError(say("the columns are not those of {other}", other=each[0].label), path=odd.label)
    return reduce(lambda one, other: one.beside(other), each), True


def _scan_one(where: Engine, data: Any, *, ordered: bool) -> Rows:
    if is_table(where, data):
        return where.scan(data, "run", ordered=ordered)
    frame = as_whole_run(data).frame
    if ordered:
        frame = frame.with_row_index("rank", 1)
    return where.scan(frame, "run", ordered=ordered)


def _name_of(run: Any, number: int | None = None) -> str:
    if isinstance(run, (str, os.PathLike)):
        return run_name(os.fspath(run).rstrip("/"))
    own = getattr(run, "name", _NAMELESS)
    return own if isinstance(own, str) and own != _NAMELESS else f"{_NAMELESS}{number or ''}"


def _source_of(run: Any) -> Source | None:
    if not isinstance(run, (str, os.PathLike)):
        source = getattr(run, "source", None)
        return source if isinstance(source, Source) else None
    return Source(os.fspath(run), Path(run) if Path(run).exists() else None)


@dataclass(frozen=True)
class _Job:
    """One evaluation: what is mapped, and where its parts go."""

    kernel: EvaluateQueries
    rows: Rows
    judged: _Judged
    options: _Options

    def evaluate(self, source: Source | None) -> list[Scores]:
        """Evaluate part after part, write them if there is a folder, and put the scores together."""
        parts = self.options.parts or self._choose_parts()
        if parts < 1:
            raise UsageError(say("the number of parts must be 1 or more"))
        folder = None
        if self.options.folder is not None:
            refuse_input(self.options.folder, self.rows.label)
            folder = ScoreFolder.open(self.options.folder, self._identity(parts), parts)
            if folder.is_complete:
                return list(read_score_folder(folder.place).systems)
        frames = [self._part(part, parts, folder) for part in range(parts)]
        table = pl.concat(frames)
        found = [self._scores(name, table.filter(pl.col("system") == name), source) for name in self.kernel.systems]
        if folder is not None:
            folder.commit(make_result(systems=found, command=self.options.command), len(table))
        return found

    def _choose_parts(self) -> int:
        """One part on a cluster, which keeps on disk what does not fit; here, as many as memory asks for."""
        return 1 if isinstance(self.rows, SparkRows) else math.ceil(self.rows.count() / _PART) or 1

    def _identity(self, parts: int) -> str:
        """A hash of everything that shapes the parts; without files behind the rows, no other job has the same."""
        settings = self.kernel.settings
        plain = {
            "measures": {label: str(measure) for label, measure in settings.measures.items()},
            "own": sorted(self.kernel.own),
            "protocol": encode(settings.protocol.to_dict()),
            "judgments": self.judged.digest,
            "rows": self.rows.digest_input() or uuid4().hex,
            "systems": self.kernel.systems,
            "options": [repr(self.options.chunks), self.options.dedupe, repr(self.options.weights),
                        repr(self.options.clusters)],
            "parts": parts,
        }  # fmt: skip
        return sha256(write_json(plain, indent=None).encode()).hexdigest()

    def _part(self, part: int, parts: int, folder: ScoreFolder | None) -> pl.DataFrame:
        """Evaluate the queries of a part, unless that was done before."""
        done = None if folder is None else folder.read(part)
        if done is not None:
            return done
        found = self.rows.map_groups(self.kernel, "query_id", part, parts, self.judged.rows)
        found = pl.concat([found, *self._absent(found, part, parts)]).sort("system", "query_id")
        for name, values in (("weight", self.options.weights), ("cluster", self.options.clusters)):
            if values is not None and folder is not None:
                own = [values.get(query, 0.0 if name == "weight" else query) for query in found["query_id"]]
                found = found.with_columns(pl.Series(name, own))
        if folder is not None:
            folder.write(part, found)
        return found

    def _absent(self, found: pl.DataFrame, part: int, parts: int) -> list[pl.DataFrame]:
        """Rows of the judged queries of a part of which no run has anything."""
        judgments = self.judged.here
        if judgments is None:
            return []
        seen = set(found["query_id"].to_list())
        absent = [
            query for query in (*judgments.query_ids, *judgments.empty)
            if query not in seen and part_of(query, parts) == part
        ]  # fmt: skip
        return [self.kernel.evaluate_absent(name, absent) for name in self.kernel.systems] if absent else []

    def _scores(self, name: str, table: pl.DataFrame, source: Source | None) -> Scores:
        """The scores of one system, as if they had been computed at once."""
        settings, options, judgments = self.kernel.settings, self.options, self.judged.outline
        rows = rows_of(table, settings)
        label = source.label if source is not None else ""
        refuse_strangers(rows, run=label, judgments=judgments.source.label if judgments.source else "")
        weights = align_weights(rows, settings, options.weights)
        scores = replace(
            scores_of(rows, settings, weights),
            judgments=self.judged.digest if self.judged.here is None else judgments,
            judge=judgments.judge,
            calibration=options.calibration,
            clusters=align_clusters(rows, settings, options.clusters),
        )
        folds = options.chunks is not None or self.rows.has_chunks or settings.protocol.fold is None
        sources = [("judgments", judgments.source), ("run", source)]
        return replace(
            scores,
            name=name,
            inputs=tuple((role, one) for role, one in sources if one is not None),
            file=None if source is None else source.portable,
            warnings=find_score_warnings(scores, complete=judgments.complete),
            notes=(
                *settings.notes,
                *judgments.notes,
                *self.rows.headings.notes,
                *(() if folds else (say("evaluate.no_chunk_map"),)),
            ),
        )


def refuse_input(folder: str | os.PathLike[str], label: str) -> None:
    """Refuse to write parts among those that are read."""
    mine, read = Path(os.path.realpath(folder)), Path(os.path.realpath(label))
    if mine == read or read.is_relative_to(mine) or (read.is_dir() and mine.is_relative_to(read)):
        raise UsageError(say("{output} is also an input: choose another output", output=os.fspath(folder)))
