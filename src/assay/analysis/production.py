"""What a folder knows of production: what watches found, requests that went wrong, and sets that take them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from assay.analysis.history_index import index_of
from assay.analysis.label_tasks import key_of
from assay.analysis.workspace import SET
from assay.curation.grow_sets import add_query
from assay.errors import AssayError, InputError
from assay.formats.files import Input
from assay.formats.queries import read_queries
from assay.formats.samples import read_samples
from assay.formats.set_folders import read_manifest
from assay.formats.watch_folders import is_watch_folder, list_bad_files
from assay.messages import say
from assay.results.result import utc_now
from assay.results.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assay.analysis.workspace import WorkFile, Workspace
    from assay.curation.grow_sets import AddedQuery
    from assay.data.samples import Sample

_MOST = 300  # requests of one list, the latest
_WHY = b'"why"'  # the column that `log watch` gives requests that went wrong


@dataclass(frozen=True)
class FoundWatch:
    """A result of a watch in a folder."""

    file: WorkFile
    date: str
    watch: Watch


@dataclass(frozen=True)
class BadRequest:
    """A request that went wrong: what was asked and answered, when, and why it is here (`error_rate`, `no_answer`)."""

    sample: Sample
    why: str
    time: str
    error: str

    @property
    def key(self) -> str:
        """What a page calls it by."""
        return key_of((self.sample.query_id, self.sample.question or ""))

    def to_query(self, by: str, reference: str = "") -> dict[str, Any]:
        """The row of a set that it becomes: its question, and where it came from."""
        row = {
            "query_id": self.sample.query_id, "text": self.sample.question or "", "reference": reference.strip(),
            "why": self.why, "asked_at": self.time, "added_by": by, "added_at": utc_now(),
        }  # fmt: skip
        return {name: value for name, value in row.items() if value}


@dataclass(frozen=True)
class GrowingSet:
    """An evaluation set of a folder, with the ids of its queries by their texts."""

    file: WorkFile
    name: str
    version: str
    queries: dict[str, str]

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.file.path.parent

    def holds(self, request: BadRequest) -> bool:
        """Whether a question is in the set."""
        return (request.sample.question or "").strip() in self.queries or request.sample.query_id in set(
            self.queries.values()
        )


def find_watches(space: Workspace) -> list[FoundWatch]:
    """What watches found, the latest first."""
    found = []
    for entry in index_of(space).with_part("watch"):
        result = space.result(entry.key).result
        found += [FoundWatch(space.find(entry.key), entry.date, one) for one in result.every(Watch)[:1]]
    return found


def find_bad_files(space: Workspace) -> list[WorkFile]:
    """Files of requests that went wrong, as `log watch --bad` writes them."""
    return [file for file in space.files("samples") if _WHY in Input.at(str(file.path)).head]


def read_bad_requests(space: Workspace, file: WorkFile) -> list[BadRequest]:
    """The requests of a file, or those that the state of a watch keeps beside its result, the latest first."""
    folder = file.path.parent
    places = list_bad_files(folder) if file.kind == "result" and is_watch_folder(folder) else []
    listed = _read(places) if file.kind == "result" else reversed(list(space.read(file, _read_one)))
    return list({one.key: one for one in reversed(list(islice(listed, _MOST)))}.values())[::-1]


def _read(places: list[Path]) -> Iterator[BadRequest]:
    for place in places:
        with suppress(AssayError):  # of a window whose requests were deleted meanwhile
            yield from reversed(_read_one(str(place)))


def _read_one(place: str) -> list[BadRequest]:
    return [
        BadRequest(one, *(str(one.others.get(name) or "") for name in ("why", "time", "error")))
        for one in read_samples(place)
    ]


def find_sets(space: Workspace) -> list[GrowingSet]:
    """The evaluation sets of a folder to which queries can be added."""
    found = []
    for file in space.files(SET):
        with suppress(AssayError):
            manifest = read_manifest(file.path.parent)
            name = manifest.name_of("queries") or ""
            if name.endswith(".jsonl"):
                texts = read_queries(file.path.parent / name).texts()
                ids = {text.strip(): query for query, text in texts.items()}
                found.append(GrowingSet(file, manifest.name, manifest.version, ids))
    return found


def add_to_set(target: GrowingSet, request: BadRequest, *, by: str, source: str, reference: str = "") -> AddedQuery:
    """Add the question of a request to a set, with who added it and from where."""
    if not (request.sample.question or "").strip():
        raise InputError(say("the request has no question: its text was not recorded"))
    return add_query(target.folder, request.to_query(by, reference), made_by="log", source=source)
