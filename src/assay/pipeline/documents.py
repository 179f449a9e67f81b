"""Documents of an experiment, from a folder of files, one file, a BEIR folder or an evaluation set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.formats.documents import read_documents
from assay.messages import say
from assay.pipeline.records import Document

if TYPE_CHECKING:
    import os


def read_collection(place: str | os.PathLike[str]) -> list[Document]:
    """Read documents in any form that `read_documents` reads; at least one must have text."""
    found = [Document(*item) for item in read_documents(place).items()]
    if not any(document.text.strip() for document in found):
        raise InputError(say("no document has text"), path=str(place), hint=say("expected at least one"))
    return found
