"""Result files: one JSON object with the protocol, the inputs, the means and every query's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from assay.data.record import Record
from assay.errors import InputError
from assay.formats.detect import MANIFEST, is_score_folder
from assay.formats.files import Input
from assay.messages import say
from assay.results.codec import read_json, write_json
from assay.results.result import Result, decode_result, encode_result
from assay.results.trust import Calibration

if TYPE_CHECKING:
    import os

PartRecord = TypeVar("PartRecord", bound=Record)


def load_result(source: Input) -> Result:
    """Read a result file, of this schema or an earlier one, or a folder that is a result."""
    if source.path is not None and (source.path.is_dir() or source.path.name == MANIFEST):
        from assay.formats.score_folders import read_score_folder

        folder = source.path if source.path.is_dir() else source.path.parent
        if is_score_folder(folder):
            return read_score_folder(folder)
    if not source.text.lstrip("\ufeff \t\r\n").startswith("{"):
        hint = say("make one with: assay evaluate --output FILE.json")
        raise InputError(say("this is not a result file"), path=source.label, hint=hint)
    plain = read_json(source.text, path=source.label)
    if isinstance(plain, dict) and "tables" in plain:
        raise InputError(
            say("this is the manifest of a folder"), path=source.label, hint=say("give the folder that it was made in")
        )
    return decode_result(plain, path=source.label)


def to_json(result: Result) -> str:
    """Write a result as text; NaN never appears."""
    return write_json(encode_result(result)) + "\n"


def read_record(place: str | os.PathLike[str], kind: type[PartRecord], name: str, *, hint: str) -> PartRecord:
    """Read one part of a result file, such as its comparison."""
    source = Input.at(place)
    found = load_result(source).part(kind) if source.text.lstrip().startswith("{") else None
    if found is None:
        raise InputError(say("this file has no {name}", name=name), path=source.label, hint=hint)
    return found


def read_calibration(place: str) -> Calibration:
    """Read what is known about how far a judge agrees with people."""
    hint = say("make one: assay calibrate ... -o FILE")
    try:
        return read_record(place, Calibration, say("calibration"), hint=hint)
    except InputError:
        raise InputError(say("this is not a calibration file"), path=place, hint=hint) from None
