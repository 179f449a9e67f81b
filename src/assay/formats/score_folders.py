"""Results as folders: scores of queries in Parquet parts, and a manifest that names the parts that belong to it.

Only what the manifest names is ever read, and only if its hash is the one in the manifest. A part is written as a
whole, under a name with its own hash in it; the manifest comes last, and never replaces another. A job that ended in
the middle leaves parts that the same job finds again, and no result.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from assay.errors import InputError, cause
from assay.formats.detect import MANIFEST
from assay.formats.files import Input, sync, write_atomically
from assay.formats.parquet import read_parquet
from assay.lazy import pl
from assay.messages import say
from assay.results.codec import damage, read_json, write_json
from assay.results.result import Result, decode_result, encode_result
from assay.results.systems import encode_means

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.scores import Scores

_FORM = 1
_SHOWN = 16  # digits of a hash in the name of a part
_NAME = re.compile(r"part-(\d{5})-of-(\d{5})-([0-9a-f]{16})-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True)
class ScoreFolder:
    """A folder that a job writes its parts to; `job` is a hash of everything that shapes them."""

    place: Path
    job: str
    parts: int

    @classmethod
    def open(cls, place: str | os.PathLike[str], job: str, parts: int) -> ScoreFolder:
        """Make the folder, or take up what the same job has left there."""
        found = cls(Path(place), job[:_SHOWN], parts)
        try:
            found.place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(place)) from None
        found.refuse_other_result()
        return found

    @property
    def manifest(self) -> Path:
        """The file that makes a folder a result."""
        return self.place / MANIFEST

    @property
    def is_complete(self) -> bool:
        """Return whether this very job has written its result already."""
        return self.manifest.exists() and self._read_job() == self.job

    def refuse_other_result(self) -> None:
        """Refuse a folder that holds the result of another job."""
        if self.manifest.exists() and self._read_job() != self.job:
            raise InputError(
                say("the folder already holds another result"),
                path=str(self.place),
                hint=say("choose another folder, or remove this one"),
            )

    def _read_job(self) -> str:
        plain = read_json(Input.at(self.manifest).text, path=str(self.manifest))
        tables = plain.get("tables") if isinstance(plain, dict) else None
        return str(tables.get("job", "")) if isinstance(tables, dict) else ""

    def read(self, part: int) -> pl.DataFrame | None:
        """A part that this job has finished before; None if it has not, or if the part was damaged since."""
        for name in sorted(path.name for path in self.place.glob("part-*")):
            found = _NAME.fullmatch(name)
            if found and (int(found[1]), int(found[2]), found[3]) == (part, self.parts, self.job):
                data = (self.place / name).read_bytes()
                if sha256(data).hexdigest()[:_SHOWN] == found[4]:
                    return read_parquet(data, name)
        return None

    def write(self, part: int, rows: pl.DataFrame) -> None:
        """Write a part as a whole, in the order of its systems and queries."""
        buffer = BytesIO()
        rows.sort("system", "query_id").write_parquet(buffer, compression="zstd", statistics=False)
        data = buffer.getvalue()
        digest = sha256(data).hexdigest()[:_SHOWN]
        write_atomically(self.place / f"part-{part:05}-of-{self.parts:05}-{self.job}-{digest}.parquet", data)

    def commit(self, result: Result, rows: int) -> None:
        """Make the folder a result: write the manifest, unless another job was first."""
        plain = encode_result(replace(result, systems=tuple(map(_without_rows, result.systems))))
        for one, scores in zip(plain["systems"], result.systems, strict=True):
            one["metrics"] = encode_means(scores)
        if "metrics" in plain:
            plain["metrics"] = plain["systems"][0]["metrics"]
        plain["tables"] = {
            "form": _FORM,
            "job": self.job,
            "rows": rows,
            "parts": [self._describe(i) for i in range(self.parts)],
        }
        draft = self.place / f".{MANIFEST}.{uuid4().hex}"
        write_atomically(draft, write_json(plain) + "\n")
        try:
            os.link(draft, self.manifest)  # fails where another was faster, unlike a rename
        except OSError:  # it is there, or this file system has no links
            self.refuse_other_result()
            write_atomically(self.manifest, draft.read_bytes())
        finally:
            draft.unlink(missing_ok=True)
        sync(self.place)

    def _describe(self, part: int) -> dict[str, Any]:
        """What the manifest says of a part."""
        for path in sorted(self.place.glob(f"part-{part:05}-of-{self.parts:05}-{self.job}-*.parquet")):
            data = path.read_bytes()
            digest = sha256(data).hexdigest()
            if path.name.endswith(f"-{digest[:_SHOWN]}.parquet"):
                return {"file": path.name, "rows": len(read_parquet(data, path.name)), "sha256": digest}
        raise InputError(say("a part that was written is gone"), path=str(self.place), hint=say("run the job again"))


def _without_rows(scores: Scores) -> Scores:
    width = len(scores.columns)
    nothing = np.zeros((0, width))
    return replace(
        scores,
        query_ids=[],
        values=nothing,
        status=nothing.astype(np.uint8),
        weights=None if scores.weights is None else np.zeros(0),
        clusters=None if scores.clusters is None else (),
    )


def read_score_folder(place: Path) -> Result:
    """Read the result in a folder; a part that is missing, damaged or cut off is refused by its name."""
    path = place / MANIFEST
    plain = read_json(Input.at(path).text, path=str(path))
    if not isinstance(plain, dict) or not isinstance(plain.get("tables"), dict) or plain["tables"].get("form") != _FORM:
        raise damage("tables", say("this is not a manifest that this version of assay reads"), str(path))
    result = decode_result({name: value for name, value in plain.items() if name != "tables"}, path=str(path))
    parts = plain["tables"].get("parts")
    if not isinstance(parts, list) or not all(isinstance(one, dict) for one in parts) or not parts:
        raise damage("tables.parts", say("it is missing"), str(path))
    rows = pl.concat([_read_part(place, one) for one in parts])
    return replace(result, systems=tuple(_with_rows(scores, rows, str(path)) for scores in result.systems))


def _read_part(place: Path, described: Mapping[str, Any]) -> pl.DataFrame:
    name = str(described.get("file", ""))
    path = place / Path(name).name
    if not _NAME.fullmatch(name) or not path.is_file():
        raise InputError(say("a part of the result is missing"), path=str(path), hint=say("run the job again"))
    data = path.read_bytes()
    if sha256(data).hexdigest() != described.get("sha256"):
        raise InputError(
            say("a part of the result is not what was written"), path=str(path), hint=say("run the job again")
        )
    return read_parquet(data, str(path))


def _with_rows(scores: Scores, rows: pl.DataFrame, path: str) -> Scores:
    """Fill in the values of the queries of one system."""
    mine = rows.filter(pl.col("system") == scores.name).sort("query_id")
    wanted = [f"{kind}:{label}" for label in scores.labels for kind in ("value", "status")]
    lacking = [name for name in wanted if name not in mine.columns]
    if lacking:
        raise damage(f"tables: {lacking[0]}", say("it is missing"), path)
    if not len(mine):
        raise damage("tables", say("there are no rows of {system}", system=scores.name), path)
    values = [mine[f"value:{label}"].fill_null(float("nan")).to_numpy() for label in scores.labels]
    status = [mine[f"status:{label}"].to_numpy().astype(np.uint8) for label in scores.labels]
    return replace(
        scores,
        query_ids=mine["query_id"].to_list(),
        values=np.stack(values, axis=1),
        status=np.stack(status, axis=1),
        weights=mine["weight"].to_numpy() if "weight" in mine.columns else None,
        clusters=tuple(mine["cluster"].to_list()) if "cluster" in mine.columns else None,
    )
