"""What a file is, and what is wrong or doubtful in it: any file that a command reads or writes."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.analysis.check import check, check_judgments, check_run
from assay.analysis.check_events import check_events
from assay.analysis.check_sets import check_documents, check_set
from assay.analysis.check_tables import check_table, check_tables
from assay.analysis.check_traces import check_traces
from assay.analysis.evaluate_tables import is_table
from assay.data.limits import check_columns
from assay.data.source import Source
from assay.engines.local import LocalEngine, is_parquet_folder
from assay.errors import AssayError, InputError, UsageError
from assay.formats import columns, tables
from assay.formats.decoding import peek
from assay.formats.detect import format_of, is_records, is_result_file
from assay.formats.encodings import fallback_encoding
from assay.formats.events.recognition import is_event_log
from assay.formats.files import Input, is_there, read_toml
from assay.formats.nuggets import are_nuggets, read_nuggets
from assay.formats.raw import raw_judgments, raw_run
from assay.formats.set_folders import FILE_NAMES, is_set, read_manifest
from assay.formats.traces.reading import is_traces
from assay.formats.trials import has_sums
from assay.formats.verdicts import is_verdict, read_votes
from assay.lazy import pl
from assay.messages import say
from assay.results.check import CheckedFile, Finding, InputCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assay.engines.engine import Engine

    Look = Callable[[str], tuple[str, list[Finding]]]

FileKind = Literal[
    "judgments", "run", "records", "samples", "queries", "documents", "weights", "labels", "pairs", "verdicts",
    "result", "gold", "experiment", "protocol", "gate rules", "costs", "prices", "rubric", "events", "users", "arms",
    "set", "traces", "nuggets",
]  # fmt: skip
_EXAMPLES = 3
# Names of files that only sets have: a BEIR folder has queries.jsonl too.
_OF_SETS = tuple(name for name in FILE_NAMES if name != "queries.jsonl")
_RUN_FIELDS = 5  # of a line: judgments have four, runs six, of which the last may be missing
# The table or key of a TOML file that shows what it is.
_TOML: tuple[tuple[str, FileKind], ...] = (
    ("data", "experiment"), ("rule", "gate rules"), ("method", "costs"), ("price", "prices"), ("measures", "protocol"),
    ("based_on", "protocol"), ("targets", "protocol"), ("queries_per_day", "costs"),
)  # fmt: skip


def check_files(
    places: Sequence[str | os.PathLike[str]], *, kind: str | None = None, split: str = "test",
    encoding: str | None = None, map: Mapping[str, str] | None = None,  # noqa: A002 - the name of the option
    engine: Engine | None = None,
) -> InputCheck:  # fmt: skip
    r"""Identify files and look for problems in each; judgments and the runs after them are checked together.

    `kind`, `split` and `encoding` are those of `assay.check`. Several event logs are checked as one; `map` names their
    columns, as in `assay.read_events`. Judgments and runs in Parquet folders are checked by an engine, that of this
    machine unless another one is given.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("queries.csv").write_text("query_id,text\nq1,tea\nq2,\n")
    >>> found = assay.check_files(["queries.csv"])
    >>> [one.kind for one in found.files], [one.count for one in found.findings]
    (['queries'], [1])
    """
    named = [os.fspath(place) for place in places]
    with fallback_encoding(encoding) if encoding is not None else nullcontext():
        if engine is not None or any(_is_lake(place) for place in named):
            return _check_lake(named, engine or LocalEngine(), kind=kind, split=split, encoding=encoding)
        return _check(named, kind, split, encoding, map)


def _check(
    named: Sequence[str], kind: str | None, split: str, encoding: str | None, headings: Mapping[str, str] | None
) -> InputCheck:
    kinds: list[FileKind] = ["events" if headings else identify(place, kind=kind, encoding=encoding) for place in named]
    if len(named) > 1 and set(kinds[1:]) == {"run"} and _is_judged(named[0], kinds[0]):
        found = check(named[0], named[1:], kind=kind, split=split, encoding=encoding)
        return InputCheck(found.findings, tuple(CheckedFile(*one) for one in zip(named, kinds, strict=True)))
    if set(kinds) == {"events"}:
        seen, faults = check_events(named, headings, encoding)
        return InputCheck(tuple(faults), tuple(seen))
    looks = _looks(kind, split, encoding)
    files, findings = [], []
    for place, what in zip(named, kinds, strict=True):
        try:
            holds, trouble = looks[what](place)
        except AssayError as error:
            holds, trouble = "", [_unreadable(place, error)]
        files.append(CheckedFile(place, what, holds))
        findings += trouble
    return InputCheck(tuple(findings), tuple(files))


def _check_lake(named: Sequence[str], engine: Engine, **reading: Any) -> InputCheck:
    """Check judgments and runs where they are; those of files are read here."""
    kinds = [_kind_there(place, engine, reading) for place in named]
    files = [CheckedFile(place, what) for place, what in zip(named, kinds, strict=True)]
    if len(named) > 1 and kinds[0] == "judgments" and set(kinds[1:]) == {"run"}:
        return InputCheck(check_tables(named[0], list(named[1:]), engine=engine, **reading).findings, tuple(files))
    found: list[Finding] = []
    for i, (place, what) in enumerate(zip(named, kinds, strict=True)):
        holds, own = check_table(place, what, engine)
        files[i] = CheckedFile(place, what, holds)
        found += own
    return InputCheck(tuple(found), tuple(files))


def _kind_there(place: str, engine: Engine, reading: Mapping[str, Any]) -> Literal["judgments", "run"]:
    """Find out whether rows are judgments or a run; an engine checks nothing else."""
    if is_table(engine, place):
        what = _by_names(engine.names(place), place)
    else:
        what = identify(place, kind=reading["kind"], encoding=reading["encoding"])
    if what not in {"judgments", "run"}:
        kind = say(f"check.kind_{what}")
        raise UsageError(say("an engine checks judgments and runs, and {place} holds {kind}", place=place, kind=kind))
    return "judgments" if what == "judgments" else "run"


def _unreadable(place: str, error: AssayError) -> Finding:
    why = error.message.removeprefix(f"{place}: ")
    return Finding(place, say("check.unreadable"), 1, say("check.stops", why=why), error=True)


def identify(place: str, *, kind: str | None = None, encoding: str | None = None) -> FileKind:
    """Find out what a file is, from its suffix, its columns and its first lines."""
    path = Path(place)
    if is_there(path) and path.is_dir():
        return _identify_folder(path)
    if path.suffix == ".toml":
        raw = read_toml(place)
        return next((what for name, what in _TOML if name in raw), "protocol")
    if path.suffix == ".md":
        return "rubric"
    if kind is None and is_traces(place):
        return "traces"
    if kind is None and is_event_log(place, encoding):  # from its first bytes: a log may be larger than memory
        return "events"
    return "result" if is_result_file(place) else _by_content(Input.at(place, encoding), kind)


def _identify_folder(path: Path) -> FileKind:
    place = str(path)
    if is_result_file(place):
        return "result"
    if is_set(place) or any((path / name).is_file() for name in _OF_SETS):
        return "set"
    if (path / "qrels").is_dir():
        return "judgments"
    if is_event_log(place):
        return "events"
    if is_traces(place):
        return "traces"
    return _kind_of_parts(place) if is_parquet_folder(place) else "documents"


def _kind_of_parts(place: str) -> FileKind:
    """What the Parquet files of a folder hold, if it is judgments or a run; documents may be anything."""
    try:
        found = _by_names(LocalEngine().names(place), place)
    except (InputError, pl.exceptions.PolarsError):
        return "documents"
    return found if found in {"judgments", "run"} else "documents"


def _is_lake(place: str) -> bool:
    """Return whether this is a folder that an engine reads, of judgments or of a run."""
    path = Path(place)
    return is_parquet_folder(place) and not (path / "qrels").is_dir() and identify(place) in {"judgments", "run"}


def _is_judged(place: str, kind: FileKind) -> bool:
    """Return whether runs can be checked against this: judgments, or a set with judgments or gold."""
    if kind != "set" or not is_set(place):
        return kind == "judgments"
    return any(one.role in {"judgments", "gold"} for one in read_manifest(place).files.values())


def _by_content(source: Input, kind: str | None) -> FileKind:
    form = format_of(source, kind)
    if form == "parquet":
        return _by_names(_names(source, form), source.label)
    head = source.text.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r").split("\t")
    if form == "trec" and source.suffix == ".tsv" and not any(cell.strip().isdigit() for cell in head):
        form = "tsv"  # with a line of names
    if form == "trec":
        return _by_line(source)
    if form == "json":
        return _by_object(source)
    names = _names(source, form)
    return "records" if not _is_sample(names) and is_records(source, form) else _by_names(names, source.label)


def _by_line(source: Input) -> FileKind:
    line = next((line for line in source.text.splitlines() if line.strip() and not line.startswith("#")), "")
    return "run" if len(line.split()) >= _RUN_FIELDS else "judgments"


def _by_object(source: Input) -> FileKind:
    """Tell judgments from runs by whether all numbers are whole; a list of ids in order is a run."""
    try:
        data = peek(source.text)
    except ValueError:
        return "judgments"  # whose reader says what is wrong
    if isinstance(data, list):
        first = data[0] if data and isinstance(data[0], dict) else {}
        check_columns(len(first), source.label)
        return "records" if not _is_sample(first) and is_records(source, "json") else _by_names(first, source.label)
    if not isinstance(data, dict) or is_records(source, "json"):
        return "records"
    if _is_sample(data) or any(isinstance(rows, list) and rows and isinstance(rows[0], dict) for rows in data.values()):
        return "samples"
    numbers = [number for docs in data.values() if isinstance(docs, dict) for number in docs.values()]
    whole = all(isinstance(number, int) for number in numbers)
    return "judgments" if numbers and whole else "run"


def _names(source: Input, form: str) -> list[str]:
    if form == "jsonl":
        first = next(iter(tables.read_jsonl(source)), (0, {}))[1]
        return list(first)
    return list(tables.read_table(source, form).columns)


def _is_sample(names: Iterable[str]) -> bool:
    known = list(names)
    asked = columns.has_any(known, columns.SAMPLE["question"], columns.SAMPLE["contexts"])
    return asked and columns.has_any(known, columns.SAMPLE["answer"])


def _by_names(names: Iterable[str], label: str) -> FileKind:
    known = list(names)
    holds = {heading.name: columns.has_any(known, heading) for heading in (columns.GRADE, columns.RANK, columns.WEIGHT)}
    query, doc = columns.has_any(known, columns.QUERY), columns.has_any(known, columns.DOC)
    scored = holds["rank"] or columns.has_any(known, columns.SCORE)
    assigned = columns.has_any(known, columns.VARIANT)
    told = columns.has_any(known, columns.DOCUMENT_TEXT, columns.QUERY_TEXT, columns.DESCRIPTION)
    rows: tuple[tuple[bool, FileKind], ...] = (
        (_is_sample(known), "samples"),
        (is_verdict(known), "verdicts"),
        (are_nuggets(known, label), "nuggets"),
        (query and doc and scored, "run"),
        (query and doc and not scored and _places(known), "gold"),
        (query and doc and holds["grade"], "judgments"),
        (columns.has_any(known, columns.PAIR_QUERY) and columns.has_any(known, columns.PAIR_DOCUMENT) and doc, "pairs"),
        (doc, "documents"),
        (query and holds["weight"], "weights"),
        (query, "queries"),
        (columns.has_any(known, columns.SYSTEM) and columns.has_any(known, columns.DESCRIPTION), "labels"),
        (assigned and has_sums(known), "arms"),
        (assigned and not told, "users"),
        # The ids do not show the kind: the name of the file decides.
        (columns.has_any(known, columns.DOCUMENT_ID), "queries" if "quer" in label.lower() else "documents"),
    )
    found = next((kind for is_one, kind in rows if is_one), None)
    if found is None:
        raise InputError(say("check.no_kind", names=known[:8]), path=label, hint=say("check.kinds"))
    return found


def _places(names: Sequence[str]) -> bool:
    """Return whether columns say where in a document something is: its start, or its text and nothing of a run."""
    places = {one.name: columns.has_any(names, one) for one in columns.GOLD}
    return places["start"] or (places["text"] and not places["grade"] and "query_id" in names)


# What is looked at in each kind ---------------------------------------------------------------------------------------


def _looks(kind: str | None, split: str, encoding: str | None) -> dict[FileKind, Look]:
    def judgments(place: str) -> tuple[str, list[Finding]]:
        frame = raw_judgments(place, kind=kind, split=split, encoding=encoding)
        return _rows(frame), check_judgments(frame, place)

    def run(place: str) -> tuple[str, list[Finding]]:
        frame = raw_run(place, kind=kind, encoding=encoding)
        return _rows(frame), check_run(frame, place)

    def events(place: str) -> tuple[str, list[Finding]]:
        files, found = check_events([place], encoding=encoding)
        return files[0].holds, found

    return {
        "judgments": judgments, "run": run, "events": events, "traces": check_traces, "records": _records,
        "samples": _samples, "queries": _queries, "gold": _gold,
        "documents": _documents, "weights": _weights, "labels": _labels, "pairs": _pairs, "verdicts": _verdicts,
        "nuggets": _nuggets,
        "result": _result, "experiment": _experiment,
        "protocol": _protocol, "gate rules": _rules, "costs": _costs, "prices": _prices, "rubric": _rubric,
        "users": _trial, "arms": _trial, "set": check_set,
    }  # fmt: skip


def _rows(frame: pl.DataFrame) -> str:
    return say("check.rows", queries=frame["query_id"].n_unique(), rows=len(frame))


def _some(where: str, kind: str, message: str, ids: Sequence[str]) -> list[Finding]:
    return [Finding(where, say(kind), len(ids), say(message, n=len(ids)), tuple(ids[:_EXAMPLES]))] if ids else []


def _records(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.reading import read_records

    read = read_records(place)
    found = [*check_judgments(read.judgments.frame, place)]
    for one in read.runs:
        found += check_run(one.frame, place)
    return _rows(read.judgments.frame), found


def _samples(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.samples import read_samples

    read = read_samples(place)
    faulty = [one.query_id for one in read if one.faults]
    empty = [one.query_id for one in read if "answer" not in one.faults and not (one.answer or "").strip()]
    bare = [one.query_id for one in read if "contexts" not in one.faults and not one.contexts]
    found = [
        *_some(place, "check.faulty_sample", "check.faulty_samples", faulty),
        *_some(place, "check.no_answer", "check.no_answers", empty),
        *_some(place, "check.no_context", "check.no_contexts", bare),
    ]
    return say("check.samples", n=len(read), systems=max(1, len(read.systems))), found


def _queries(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.queries import read_queries

    read = read_queries(place)
    texts = read.texts()
    empty = [query for query in read.frame["query_id"] if not str(texts.get(query) or "").strip()]
    found = _some(place, "check.no_text", "check.queries_without_text", empty) if texts else []
    return say("check.queries", n=len(read.frame)), found


def _documents(place: str) -> tuple[str, list[Finding]]:
    from assay.pipeline.documents import read_collection

    read = read_collection(place)
    empty = [one.id for one in read if not one.text.strip()]
    found = _some(place, "check.no_text", "check.documents_without_text", empty)
    found += check_documents(place, {one.id: one.text for one in read})
    return say("check.documents", n=len(read)), found


def _nuggets(place: str) -> tuple[str, list[Finding]]:
    read = read_nuggets(place)
    total = sum(len(one.nuggets) for one in read)
    bare = [one.query_id for one in read if not one.vital]
    found = _some(place, "check.no_vital_nugget", "check.no_vital_nuggets", bare)
    return say("check.nuggets", n=total, questions=len(read)), found


def _gold(place: str) -> tuple[str, list[Finding]]:
    names = tables.read_table(Input.at(place), format_of(Input.at(place), None))
    query = columns.find(names.columns, columns.QUERY_ID, path=place, needed=say("queries"))
    assert query is not None
    return say("check.gold", n=len(names), queries=names[query].n_unique()), []


def _weights(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.reading import read_weights

    read = read_weights(place)
    idle = [query for query, weight in read.items() if weight == 0]
    return say("check.queries", n=len(read)), _some(place, "check.no_weight", "check.no_weights", idle)


def _labels(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.reading import read_labels

    return say("check.systems", n=len(read_labels(place))), []


def _pairs(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.documents import read_pairs

    read = read_pairs(place)
    empty = [f"{one[0]} {one[1]}" for one in read if not (one[2].strip() and one[3].strip())]
    return say("check.pairs", n=len(read)), _some(place, "check.no_text", "check.pairs_without_text", empty)


def _verdicts(place: str) -> tuple[str, list[Finding]]:
    graded: dict[tuple[str, str], bool] = {}
    for vote in read_votes(place):
        pair = str(vote["query_id"]), str(vote["doc_id"])
        graded[pair] = graded.get(pair, False) or vote["grade"] is not None
    bare = [" ".join(pair) for pair, has in graded.items() if not has]
    return say("check.pairs", n=len(graded)), _some(place, "check.no_vote", "check.no_votes", bare)


def _trial(place: str) -> tuple[str, list[Finding]]:
    from assay.formats.trials import find_faults, read_trial_table

    faults = find_faults(place)
    if faults:
        return "", [_unreadable(place, error) for error in faults]
    read = read_trial_table(place)
    alone = list(read.variants) if len(read.variants) == 1 else []
    users, names, measures = sum(read.users().values()), list(read.variants), list(read.measures)
    key = "check.trial_days" if read.days else "check.trial"
    holds = say(key, users=users, variants=names, days=len(read.days), measures=measures)
    return holds, _some(place, "check.one_variant", "check.nothing_to_compare", alone)


def _result(place: str) -> tuple[str, list[Finding]]:
    """A result's own warnings, and the input files that have changed since it was made."""
    from assay.formats.results import load_result

    read = load_result(Input.at(place))
    folder = Path(place).parent.resolve()
    changed = [
        one.path
        for one in read.origin.inputs
        if one.sha256
        and (near := (folder / one.path).resolve()).is_relative_to(folder)
        and near.is_file()
        and Source(one.path, near).sha256 != one.sha256
    ]
    found = _some(place, "check.input_changed", "check.inputs_changed", changed)
    told = [Finding(place, say("check.own_warning"), 1, say("check.warns", text=text)) for text in read.warnings]
    parts = [str(name) for name in read.parts] or [say("check.scores")]
    return say("check.result", parts=parts, systems=len(read.systems), date=read.origin.date[:10]), [*found, *told]


def _experiment(place: str) -> tuple[str, list[Finding]]:
    from assay.pipeline.experiment import load_experiment

    read = load_experiment(place)
    gone = [value for value in read.data.values() if isinstance(value, str) and not is_there(read.folder / value)]
    found = [
        Finding(
            place,
            say("check.no_file"),
            len(gone),
            say("check.no_files", n=len(gone)),
            tuple(gone[:_EXAMPLES]),
            error=True,
        )
    ]
    return say("check.experiment", n=len(read.combinations)), found if gone else []


def _protocol(place: str) -> tuple[str, list[Finding]]:
    from assay.analysis.protocols import load_protocol

    read = load_protocol(place)
    return say("check.protocol", measures=len(read.measures), targets=len(read.targets)), []


def _rules(place: str) -> tuple[str, list[Finding]]:
    from assay.analysis.gate_rules import baselines_in, read_rules

    gone = [name for name in baselines_in(place) if not is_there(name)]
    raw: dict[str, Any] = read_toml(place)
    read_rules(raw, place)
    found = Finding(
        place, say("check.no_file"), len(gone), say("check.no_files", n=len(gone)), tuple(gone[:_EXAMPLES]), error=True
    )
    return say("check.rules", n=len(raw["rule"])), [found] if gone else []


def _costs(place: str) -> tuple[str, list[Finding]]:
    from assay.analysis.economics import price_methods, read_methods

    settings, given = read_methods(place)
    alone = [
        (name, {key: one for key, one in values.items() if key not in {"bench", "threads"}}) for name, values in given
    ]
    price_methods(alone, float(settings.get("documents_per_query", 50)))
    return say("check.costs", n=len(given)), []


def _prices(place: str) -> tuple[str, list[Finding]]:
    from assay.llm.prices import read_prices

    return say("check.prices", n=len(read_prices(Input.at(place).text, place))), []


def _rubric(place: str) -> tuple[str, list[Finding]]:
    from assay.judge.criteria import read_rubric

    scale = read_rubric(place).criterion.scale
    return say("check.rubric", n=0 if scale is None else len(scale.grades)), []
