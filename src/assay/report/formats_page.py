"""The page about the formats of input files, for those who want to see a line of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.wordings.reference import formats_text

if TYPE_CHECKING:
    from assay.messages import Lang


def formats_page(lang: Lang = "en") -> str:
    """What Assay reads: each kind of file with an example of three lines."""
    return formats_text(lang)
