"""Limits on how much memory a small file may use once it is read, each with its reason.

A bomb is a file that costs far more to read than to write: a gzip file that unpacks to a thousand times its size, a
table of a million columns, a key of twenty thousand dots. None of the limits is on the size of ordinary data, which is
large on the disk too. A limit that ordinary data exceed can be raised by its environment variable, which the message
names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from assay.errors import InputError, UsageError
from assay.messages import say

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limit:
    """A limit, with the environment variable that changes it; `each` is how much a file has per megabyte of its own."""

    variable: str
    usual: int
    each: int | None = None

    def value_for(self, size: int) -> int:
        """The bound in force for a file of so many bytes: less for a small one, where no other is set."""
        if self.each is None or os.environ.get(self.variable):
            return self.value
        return min(self.usual, self.each * max(1, -(-size // MEGABYTE)))

    @property
    def value(self) -> int:
        """The bound in force."""
        told = os.environ.get(self.variable)
        if not told:
            return self.usual
        if not (told.isascii() and told.isdecimal() and len(told) < 19 and int(told)):  # noqa: PLR2004
            raise UsageError(
                say("{variable}={told!r}: expected a whole number above 0", variable=self.variable, told=told)
            )
        return int(told)

    def refuse(self, message: str, path: str, *, line: int | None = None, value: int | None = None) -> InputError:
        """The error for a file beyond the limit: what the limit is, and how to raise it."""
        hint = say(
            "if the file is what it should be, set {variable} above {value}",
            variable=self.variable,
            value=self.value if value is None else value,
        )
        return InputError(message, path=path, line=line, hint=hint)


# Unpacked bytes per packed byte. Runs and judgments pack to a fifth, logs and tables to a twentieth, samples that
# repeat a context to a fiftieth. DEFLATE reaches 1,032, and a bomb comes close to it.
RATIO = Limit("ASSAY_MAX_RATIO", 100)
# A file that unpacks to no more than this is accepted at any ratio.
HARMLESS = 64 * MEGABYTE
# Megabytes that one packed file may fill in memory. A run that can be read piece by piece is not bound by it.
UNPACKED = Limit("ASSAY_MAX_UNPACKED_MB", 4096)
# Columns of a table, and different keys of JSON lines. Each costs a kilobyte and more however few rows there are.
COLUMNS = Limit("ASSAY_MAX_COLUMNS", 10_000)
# Empty cells per filled one in a table made of JSON lines, whose objects need not have the same keys.
SPARSE = Limit("ASSAY_MAX_SPARSE", 200)
# Names between dots in one TOML key: reading them takes time and memory with the square of their number.
KEY_PARTS = 64
# Seconds of computing and megabytes for the text of one PDF file: its programs can loop, and its streams unpack like
# bombs. A thousand pages of text are 2.5 MB and take 4 s and 60 MB.
PDF_SECONDS = Limit("ASSAY_MAX_PDF_SECONDS", 60, each=3)
PDF_MEGABYTES = Limit("ASSAY_MAX_PDF_MB", 2048, each=400)
# Megabytes of one line of a run, of judgments, of JSON lines or of a table: a line is copied several times while it is
# read, and texts of documents are shorter.
LINE = Limit("ASSAY_MAX_LINE_MB", 16)
# Megabytes of a TOML file, which people write by hand: each takes up to 2 s and 200 MB to read.
TOML = Limit("ASSAY_MAX_TOML_MB", 1)


def long_line(path: str) -> InputError:
    """The error for a file with a line beyond the limit."""
    return LINE.refuse(say("a line of more than {n} MB", n=LINE.value), path)


def check_columns(number: int, path: str) -> None:
    """Refuse a table of very many columns."""
    if number > COLUMNS.value:
        raise COLUMNS.refuse(say("{n} columns in one table", n=number), path)
