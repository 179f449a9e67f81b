"""A result: what one command found out, with its systems, its parts and where all of it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from assay.data.record import Record, Value
from assay.data.scores import Scores
from assay.data.source import Source
from assay.errors import InputError, NotComparable, UsageError
from assay.messages import say
from assay.results import schema1, systems
from assay.results.codec import UNSTORED, Plain, decode, encode
from assay.results.parts import all_parts, name_of
from assay.results.recognition import recognise

SCHEMA = 2
PartRecord = TypeVar("PartRecord", bound=Record)


@dataclass(frozen=True)
class InputFile:
    """A file that went in: what it was for, its path as shown to others, and the hash of its bytes.

    `of_set` is the name and version of the evaluation set that the file belongs to, if it does.
    """

    role: str
    path: str
    sha256: str | None = None
    of_set: str | None = None


@dataclass(frozen=True)
class Origin:
    """How a result came about: when, by which version and command, from which files, with which models.

    `models` has the models that were really used by what they did, such as judge or embedder.
    """

    command: str = ""
    version: str = ""
    date: str = ""
    seed: int | None = None
    inputs: tuple[InputFile, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def day(self) -> str:
        """The day on which it was made."""
        return self.date.partition("T")[0]


@dataclass(frozen=True)
class Result(Record):
    """All that a result file holds: scores of systems, parts by their names, warnings, and the origin of it all."""

    origin: Origin = field(default_factory=Origin)
    systems: tuple[Scores, ...] = ()
    parts: Mapping[str, Record | tuple[Record, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def part(self, kind: type[PartRecord]) -> PartRecord | None:
        """The part that is such a record, if there is one."""
        return next(iter(self.every(kind)), None)

    def every(self, kind: type[PartRecord]) -> tuple[PartRecord, ...]:
        """All such records: of a part that is a list, one for each system."""
        listed = [one if isinstance(one, tuple) else (one,) for one in self.parts.values()]
        return tuple(record for records in listed for record in records if isinstance(record, kind))

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system and measure."""
        return [
            {"system": scores.name, "measure": label, "mean": mean, "queries": scores.counts[label].queries}
            for scores in self.systems
            for label, mean in scores.mean().items()
        ]


def make_result(
    found: Record | Sequence[Record] = (),
    *,
    systems: Sequence[Scores] = (),
    command: str = "",
    warnings: Sequence[str] = (),
    seed: int | None = None,
    inputs: Sequence[InputFile] = (),
    models: Mapping[str, str] | None = None,
) -> Result:
    """Put what was found out into a result, with the scores it was found out from and where those came from."""
    given = [found] if isinstance(found, Record) else list(found)
    records = [record for one in given for record in (one, *one.beside())]
    scored = tuple(systems) or tuple(one for one in records if isinstance(one, Scores))
    scored = scored or next((own for one in records if (own := _scores_behind(one))), ())
    _check(scored)
    parts: dict[str, Record | tuple[Record, ...]] = {}
    shapes = all_parts()
    for record in (one for one in records if not isinstance(one, Scores)):
        name = name_of(type(record))
        before = parts.get(name, ())
        parts[name] = (*before, record) if shapes[name].many and isinstance(before, tuple) else record
    origin = Origin(
        command=_portable_command(command),
        version=version("assay-eval"),
        date=utc_now(),
        seed=seed,
        inputs=(*_inputs(scored), *inputs),
        models={**_models(scored), **{k: v for one in records for k, v in one.models().items()}, **(models or {})},
    )
    return Result(origin, scored, parts, tuple(warnings))


def utc_now() -> str:
    """The time in UTC; SOURCE_DATE_EPOCH gives another, for files that must be the same each time."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _scores_behind(record: Record) -> tuple[Scores, ...]:
    own = getattr(record, "scores", ())
    return own if isinstance(own, tuple) and all(isinstance(one, Scores) for one in own) else ()


def _check(scored: Sequence[Scores]) -> None:
    names = [scores.name for scores in scored]
    if len(set(names)) < len(names):
        raise UsageError(
            say("two systems are called {name!r}: give each a name of its own", name=max(names, key=names.count))
        )
    if any(scores.protocol.rules() != scored[0].protocol.rules() for scores in scored):
        raise NotComparable(say("the systems were evaluated under different rules: write one result file for each"))
    if len({scores.judgments_digest for scores in scored}) > 1:
        raise NotComparable(say("the systems were evaluated on different judgments: write one result file for each"))


def _inputs(scored: Sequence[Scores]) -> list[InputFile]:
    found: dict[tuple[str, str], InputFile] = {}
    for scores in scored:
        for role, source in scores.inputs:
            found[role, source.portable] = InputFile(role, source.portable, source.sha256, source.of_set)
    return list(found.values())


def _portable_command(command: str) -> str:
    """A command line without absolute paths."""
    return " ".join(_portable_word(word) for word in command.split(" "))


def _portable_word(word: str) -> str:
    head, equals, tail = word.rpartition("=")
    return head + equals + (Source(tail, Path(tail)).portable if tail.startswith("/") else tail)


def _models(scored: Sequence[Scores]) -> dict[str, str]:
    found = {"judge": [s.judge for s in scored if s.judge], "embedder": [s.embedder for s in scored if s.embedder]}
    return {role: ", ".join(dict.fromkeys(names)) for role, names in found.items() if names}


# The file -------------------------------------------------------------------------------------------------------------


def encode_result(result: Result) -> Plain:
    """Lay out a result as a file holds it."""
    origin = encode(result.origin)
    one = result.systems[0] if len(result.systems) == 1 else None
    return {
        "schema": SCHEMA,
        "version": origin.pop("version"),
        "date": origin.pop("date"),
        "command": origin.pop("command"),
        **origin,
        **({"metrics": systems.encode_means(one)} if one is not None else {}),
        **systems.encode_systems(result.systems),
        "warnings": encode(result.warnings),
        **{name: encode(found) for name, found in result.parts.items()},
    }


def decode_result(plain: Any, *, path: str | None = None) -> Result:
    """Make a result of the plain values of a file, of this schema or an earlier one."""
    if not isinstance(plain, dict) or "schema" not in plain:
        raise InputError(
            say("this is not a result file"), path=path, hint=say("make one with: assay evaluate --output FILE.json")
        )
    if plain["schema"] == 1:
        plain = schema1.upgrade(plain, path=path)
    if plain["schema"] != SCHEMA:
        raise InputError(
            say(
                "the file has schema {found!r:.20}; this version of assay reads schema {schema} and earlier",
                found=plain["schema"],
                schema=SCHEMA,
            ),
            path=path,
            hint=say("update assay"),
        )
    names = {one.name for one in fields(Origin)}
    origin = decode({name: plain[name] for name in names if name in plain}, Origin, place="", path=path)
    plain = _with_reasons(plain)
    scored = _with_sets(systems.decode_systems(plain, path=path), origin)
    parts: dict[str, Record | tuple[Record, ...]] = {}
    for name, shape in all_parts().items():
        if plain.get(name) is not None:
            kind: Any = tuple[shape.record, ...] if shape.many else shape.record  # type: ignore[name-defined]
            parts[name] = _with_scores(decode(plain[name], kind, place=name, path=path), scored)
    parts = {name: _with_comparison(found, parts.get("comparison")) for name, found in parts.items()}
    warnings = decode(plain.get("warnings", []), tuple[str, ...], place="warnings", path=path)
    return Result(origin, scored, parts, warnings)


def _with_sets(scored: tuple[Scores, ...], origin: Origin) -> tuple[Scores, ...]:
    """Scores of a file that know the evaluation sets they are from, which a comparison asks for."""
    known = tuple((one.role, Source(one.path, of_set=one.of_set)) for one in origin.inputs if one.of_set)
    return tuple(replace(one, inputs=known) for one in scored) if known else scored


def _with_reasons(plain: Plain) -> Plain:
    """The same with the reasons for which a validation left rows out as messages; as keys they are English."""
    part = plain.get("validation")
    if not isinstance(part, dict) or not isinstance(part.get("left_out"), dict):
        return plain
    told = {recognise(reason): count for reason, count in part["left_out"].items()}
    return {**plain, "validation": {**part, "left_out": told}}


def _with_scores(found: Any, scored: tuple[Scores, ...]) -> Any:
    """Give a record that knows the scores behind it those of its file."""
    if isinstance(found, tuple):
        return tuple(_with_scores(one, scored) for one in found)
    behind = [one for one in fields(found) if one.name == "scores" and one.metadata == UNSTORED]
    return replace(found, scores=scored) if behind else found


def _with_comparison(found: Any, comparison: Any) -> Any:
    """Give a record that knows a comparison beside it that of its file."""
    beside = not isinstance(found, tuple) and any(
        one.name == "comparison" and one.metadata == UNSTORED for one in fields(found)
    )
    return replace(found, comparison=comparison) if beside else found
