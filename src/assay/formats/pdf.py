"""Text of PDF files, read in a process of its own: their programs can loop, and their streams unpack like bombs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.data.limits import PDF_MEGABYTES, PDF_SECONDS
from assay.errors import InputError, MissingPackage, cause
from assay.formats.containment import Refused, Stopped, child_for
from assay.messages import say

if TYPE_CHECKING:
    from pathlib import Path


def read_pdf(path: Path) -> str:
    """Text of all pages of a file."""
    _refuse_without_package(path)
    label, seconds = str(path), PDF_SECONDS.value
    try:
        text = child_for(f"{__name__}:extract", PDF_MEGABYTES.value).ask(path.read_bytes(), seconds).decode()
    except OSError as error:
        raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=label) from None
    except Stopped:
        raise PDF_SECONDS.refuse(say("the PDF took more than {n} s to read", n=seconds), label) from None
    except Refused as error:
        if str(error).startswith(("MemoryError", "exit code")):
            raise PDF_MEGABYTES.refuse(
                say("the PDF needs more than {n} MB to be read", n=PDF_MEGABYTES.value), label
            ) from None
        raise InputError(say("the PDF cannot be read: {error}", error=str(error)), path=label) from None
    if not text:
        raise InputError(
            say("the PDF has no text"),
            path=label,
            hint=say("if it is a scan, recognise its text first, or remove the file"),
        )
    return text


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
