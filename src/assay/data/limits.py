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
SMALL = MEGABYTE


@dataclass(frozen=True)
class Limit:
    """A limit, with the environment variable that changes it; `small` is what it usually is for small files."""

    variable: str
    usual: int
    small: int | None = None

    def value_for(self, size: int) -> int:
        """The bound in force for a file of so many bytes: a small one has a lower bound, where no other is set."""
        is_small = self.small is not None and size <= SMALL and not os.environ.get(self.variable)
        return self.small if is_small and self.small is not None else self.value

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
PDF_SECONDS = Limit("ASSAY_MAX_PDF_SECONDS", 60, small=4)
PDF_MEGABYTES = Limit("ASSAY_MAX_PDF_MB", 2048, small=400)


def check_columns(number: int, path: str) -> None:
    """Refuse a table of very many columns."""
    if number > COLUMNS.value:
        raise COLUMNS.refuse(say("{n} columns in one table", n=number), path)
