"""Text of PDF files, read in a process of its own: their programs can loop, and their streams unpack like bombs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.data.limits import PDF_MEGABYTES, PDF_SECONDS
from assay.errors import InputError, MissingPackage, cause
from assay.formats.containment import Died, OutOfMemory, Refused, Stopped, child_for
from assay.messages import say

if TYPE_CHECKING:
    from pathlib import Path


def read_pdf(path: Path) -> str:
    """Text of all pages of a file."""
    _refuse_without_package(path)
    label = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=label) from None
    text = _ask(data, label)
    if not text:
        raise InputError(
            say("the PDF has no text"),
            path=label,
            hint=say("if it is a scan, recognise its text first, or remove the file"),
        )
    return text


def _ask(data: bytes, label: str) -> str:
    """Let another process read the text, and say how it ended if it did not."""
    seconds, megabytes = PDF_SECONDS.value_for(len(data)), PDF_MEGABYTES.value_for(len(data))
    try:
        return child_for(f"{__name__}:extract", megabytes).ask(data, seconds).decode()
    except Stopped:
        told = say("the PDF took more than {n} s to read", n=seconds)
        raise PDF_SECONDS.refuse(told, label, value=seconds) from None
    except OutOfMemory:
        told = say("the PDF needs more than {n} MB to be read", n=megabytes)
        raise PDF_MEGABYTES.refuse(told, label, value=megabytes) from None
    except Died as end:
        raise InputError(
            say("the process that read the PDF ended without an answer ({how})", how=str(end)),
            path=label,
            hint=_cure(end),
        ) from None
    except Refused as error:
        told = say("the PDF cannot be read: {error}", error=str(error))
        cure = say("save the file as PDF again with another program, or remove it")
        raise InputError(told, path=label, hint=cure) from None


def _cure(end: Died) -> str:
    if str(end) == "SIGKILL":
        return say("systems end processes so when memory runs out: free some, or remove the file")
    return say("save the file as PDF again with another program, or remove it")


def _refuse_without_package(path: Path) -> None:
    from importlib.util import find_spec

    if find_spec("pypdf") is None:
        raise MissingPackage(say("reading {path}", path=str(path)), "pypdf", "pipeline")


def extract(data: bytes) -> bytes:
    """Text of the pages of a PDF; run in that process."""
    import logging
    from io import BytesIO

    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every odd object of every file
    pages = [page.extract_text().strip() for page in pypdf.PdfReader(BytesIO(data)).pages]
    return "\n\n".join(page for page in pages if page).encode("utf-8", "replace")
