"""Carry out a proposal: everything it needs is written into its folder, and nothing that is there is written over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.curation.questions import make_questions
from assay.errors import InputError, cause
from assay.formats.documents import hash_of_text
from assay.formats.files import Input, is_there, write_atomically
from assay.formats.set_folders import is_set
from assay.formats.text_folders import PROPOSAL
from assay.messages import say
from assay.results.codec import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.results.proposal import Proposal


@dataclass(frozen=True)
class Earlier:
    """An experiment that was proposed before: its text, and whether somebody changed it since."""

    toml: str
    changed: bool


EXPERIMENT, DOCUMENTS, QUESTIONS = "experiment.toml", "documents.jsonl", "questions"


def read_earlier(folder: Path, digest: str) -> Earlier | None:
    """The experiment that is in a folder already, if there is one; it must be for the same documents."""
    if not is_there(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return None
    another = say("name another folder with -o")
    if not (folder / PROPOSAL).is_file():
        raise InputError(say("this folder is there already, and not from assay run"), path=str(folder), hint=another)
    known = read_json(Input.at(folder / PROPOSAL).text, path=str(folder / PROPOSAL))
    if not isinstance(known, dict) or known.get("digest") != digest:
        raise InputError(say("the documents have changed since this folder was made"), path=str(folder), hint=another)
    place = folder / EXPERIMENT
    text = Input.at(place).text if place.is_file() else None
    return None if text is None else Earlier(text, known.get("experiment") != hash_of_text(text))


def write_proposal(found: Proposal) -> Path:
    """Write the experiment of a proposal into its folder, if it is not there yet, and return its place."""
    folder = Path(found.output)
    earlier = read_earlier(folder, found.digest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(say("conduct.cannot_write", why=cause(error)), path=str(folder)) from None
    if not (folder / PROPOSAL).is_file():
        told = {
            "digest": found.digest,
            "questions": found.questions,
            "seed": found.seed,
            "experiment": hash_of_text(found.toml),
        }
        write_atomically(folder / PROPOSAL, json.dumps(told, indent=1) + "\n")
    if earlier is None:
        write_atomically(folder / EXPERIMENT, found.toml)
    return folder / EXPERIMENT


def carry_out(found: Proposal, tell: Callable[[str, int, int], None]) -> Path:
    """Write what the experiment of a proposal reads: documents that are files, and questions where none are given."""
    from assay.analysis.folder_contents import look_into

    experiment = write_proposal(found)
    folder = experiment.parent
    documents = folder / DOCUMENTS
    texts = look_into(Path(found.folder), tell).documents if found.copied or found.known_items else {}
    if found.copied and not documents.is_file():
        rows = ({"doc_id": doc, "text": text} for doc, text in texts.items())
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        write_atomically(documents, "".join(lines).encode("utf-8", "replace"))
    if found.known_items and not is_set(folder / QUESTIONS):
        # The one place where questions are made: a judge's name, address and budget are further parameters here.
        made = make_questions(texts, found.questions, seed=found.seed, progress=tell)
        if not made.questions:
            raise InputError(
                say("no question could be made from these documents: their passages have too few telling words"),
                path=found.folder,
            )
        made.save(folder / QUESTIONS)
    return experiment
