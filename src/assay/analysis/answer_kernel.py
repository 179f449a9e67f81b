"""The kernel that judges answers wherever they are: every sample by itself, so that no batch changes a value.

It takes all samples of some ids together, of one system or several, and returns one row for each sample and system.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from assay.analysis.answer_clusters import begins_of, ends_of
from assay.analysis.answer_methods import Available
from assay.analysis.answer_plan import AnswerPlan, has_field
from assay.analysis.answers import judge_each
from assay.data.samples import Sample, Samples, digest_text
from assay.data.status import STATUSES
from assay.engines.engine import KEY, LINE
from assay.errors import InputError, excerpt
from assay.formats import cells
from assay.formats.decoding import decode, refusal
from assay.formats.samples import SampleReader, check_alike, value_at
from assay.lazy import pl
from assay.measures import REGISTRY
from assay.messages import say
from assay.results.answers import AnswerCell, JudgedSample
from assay.results.codec import encode, read_json, write_json
from assay.results.support import Support

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.protocol import AnswerMethod, Protocol
    from assay.measures import Measure
    from assay.measures.registry import Spec
    from assay.text.embeddings import EmbedderChoice

_TYPES = {"string": "String", "double": "Float64", "byte": "Int8", "boolean": "Boolean"}


def read_line(line: str, label: str) -> dict[str, Any]:
    """The object of a line of JSON."""
    try:
        found = decode(line)
    except ValueError as error:
        raise refusal(error, line, label) from None
    if not isinstance(found, dict):
        raise InputError(say("expected a JSON object, not {line}", line=excerpt(line)), path=label)
    return found


@dataclass(frozen=True)
class FindNames:
    """Finds the names that objects in lines have; a line that holds none is left to the kernel that reads it."""

    columns = {"name": "string"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Find the names in some lines."""
        found = dict.fromkeys(_in_utf8(name) for line in rows[LINE] for name in _try(line))
        return pl.DataFrame({"name": list(found)}, schema={"name": pl.String})


@dataclass(frozen=True)
class FindKeys:
    """Adds to every line the id in it; lines without one come together, to be refused."""

    column: str
    columns = {KEY: "string", LINE: "string"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Find the ids in some lines."""
        found = (value_at(_try(line), self.column) for line in rows[LINE])
        keys = [None if one is None or isinstance(one, (dict, list)) else _in_utf8(str(one)) for one in found]
        return rows.select(pl.Series(KEY, keys, pl.String), LINE)


def _in_utf8(text: str) -> str:
    """A text as columns can hold it: JSON may have half a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _try(line: str) -> dict[str, Any]:
    try:
        return read_line(line, "")
    except InputError:
        return {}


@dataclass(frozen=True)
class JudgeSamples:
    """Judges the samples of a frame of tables or of lines; `own` are measures that users declared."""

    mapping: Mapping[str, str]
    label: str
    measures: dict[str, Measure]
    protocol: Protocol
    method: AnswerMethod
    embedder: Any = None
    cluster: str | None = None
    own: Mapping[str, Spec] = field(default_factory=dict)

    @classmethod
    def of(cls, mapping: Mapping[str, str], label: str, measures: dict[str, Measure], **how: Any) -> JudgeSamples:
        """Take what is asked for, with the functions of users' measures."""
        specs = {one.name: one.spec for one in measures.values()}
        own = {name: replace(spec) for name, spec in specs.items() if not spec.function.__module__.startswith("assay.")}
        return cls(mapping, label, measures, own=own, **how)

    @cached_property
    def needs(self) -> list[str]:
        """The fields that a measure may need."""
        return sorted({one for measure in self.measures.values() for need in measure.needs for one in need.split("|")})

    @cached_property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        found = dict.fromkeys(("system", "query_id"), "string")
        for label in self.measures:
            found |= {f"value:{label}": "double", f"status:{label}": "byte"}
            found |= {f"reason:{label}": "string", f"method:{label}": "string"}
        found |= dict.fromkeys(("method", "status", "reason", "stage", "trail", "asks", "history", "belongs"), "string")
        return found | {f"has:{name}": "boolean" for name in self.needs}

    @cached_property
    def plan(self) -> AnswerPlan:
        """How a sample is judged, whatever other samples there are."""
        here = Available(None, self.choose_embedder())
        return AnswerPlan(Samples(()), self.measures, {}, self.protocol, self.method, here)

    def choose_embedder(self) -> EmbedderChoice | None:
        """The embedder of this process, if one is needed."""
        from assay.text.embeddings import choose_embedder

        return None if self.embedder is None else choose_embedder(self.embedder, ())

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Judge the samples of some ids."""
        REGISTRY.update(self.own)
        samples = list(self._read(rows))
        check_alike(samples, self.label)
        schema: Any = {name: getattr(pl, _TYPES[kind])() for name, kind in self.columns.items()}
        return pl.DataFrame([self._row(sample) for sample in samples], schema=schema)

    def _read(self, rows: pl.DataFrame) -> Iterator[Sample]:
        lines = LINE in rows.columns and len(rows.columns) == 2  # noqa: PLR2004 - the line and its key
        given = (read_line(one, self.label) for one in rows[LINE]) if lines else rows.drop(KEY).iter_rows(named=True)
        reader, seen = SampleReader(self.mapping, self.label, flat=False), set[tuple[str | None, str]]()
        for row in given:
            if value_at(row, self.mapping["query_id"]) in (None, ""):
                raise InputError(
                    say("a sample has no id: {row}", row=excerpt(row)),
                    path=self.label,
                    hint=say("rows of a table have no order that could number them: give every sample an id"),
                )
            reader.seen.clear()
            sample = reader.sample(0, row)
            key = sample.system, sample.query_id
            if _in_utf8("".join(filter(None, key))) != "".join(filter(None, key)):
                raise InputError(say("half a surrogate pair, which is no character"), path=self.label)
            if key in seen:
                raise InputError(say("there are two samples {name}", name=excerpt(sample.query_id)), path=self.label)
            seen.add(key)
            yield sample

    def _row(self, sample: Sample) -> dict[str, Any]:
        (found,) = judge_each(replace(self.plan, samples=Samples((sample,), self.mapping)))
        row: dict[str, Any] = {"system": sample.system, "query_id": sample.query_id}
        for label, cell in found.cells.items():
            row |= {f"value:{label}": self._value(label, cell), f"status:{label}": STATUSES.index(cell.status)}
            row |= {f"reason:{label}": _write(cell.reason), f"method:{label}": cell.method}
        support = found.support
        row |= {"method": support.method, "status": support.status, "reason": _write(support.reason)}
        row |= {"stage": found.stage, "trail": _write(found.trail), "asks": digest_text(sample)}
        row |= {"history": _write_history(sample), "belongs": self._belongs(sample)}
        return row | {f"has:{name}": has_field(sample, name) for name in self.needs}

    def _value(self, label: str, cell: AnswerCell) -> float:
        """The value of a cell in the mean: 0 for what is missing, where that counts."""
        if cell.value is not None:
            return cell.value
        counts = self.measures[label].spec.zero_if_missing and self.protocol.missing == "zero"
        return 0.0 if cell.status == "missing" and counts else float("nan")

    def _belongs(self, sample: Sample) -> str | None:
        value = None if self.cluster is None else sample.others.get(self.cluster)
        return None if value in (None, "") else _in_utf8(str(cells.plain(value)))


def _write_history(sample: Sample) -> str:
    """Hashes of what was said, by which conversations are put together again."""
    return json.dumps([[_hash(texts) for texts in side] for side in (ends_of(sample), begins_of(sample))])


def _hash(texts: Sequence[str]) -> str:
    return sha256(json.dumps(texts).encode()).hexdigest()[:32]


def _write(text: Any) -> str:
    return write_json(encode(text), indent=None) if text else ""


def outcome_of(row: Mapping[str, Any], labels: Sequence[str], texts: dict[str, Any]) -> JudgedSample:
    """What a row says of its sample; statements stay where they are. `texts` keeps what was read before."""

    def read(text: str) -> Any:
        if text not in texts:
            texts[text] = read_json(text) if text else ""
        return texts[text]

    cells_of = {}
    for label in labels:
        status = STATUSES[row[f"status:{label}"]]
        value = row[f"value:{label}"] if status == "scored" else None
        cells_of[label] = AnswerCell(value, status, read(row[f"reason:{label}"]), row[f"method:{label}"])
    support = Support(row["query_id"], row["method"], row["status"], read(row["reason"]))
    sample = Sample(row["query_id"], system=row["system"])
    return JudgedSample(sample, support, row["stage"], "", cells_of, tuple(read(row["trail"]) or ()))
