"""Variants of experiments: the same one in several spellings, and users who saw two of them."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from assay.data.events import EXAMPLES, EventFault
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.formats.events.faults import RowKeys


def count_variants(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Count the rows of each variant, as it is spelled."""
    return frame.filter(pl.col("variant").is_not_null()).group_by("variant").len()


def find_spellings(counts: pl.DataFrame) -> dict[str, str]:
    """Spellings of variants that differ from a more frequent one only by case, blanks or width, and that one."""
    best: dict[str, str] = {}
    found = {}
    for name in counts.sort("len", "variant", descending=[True, False])["variant"]:
        usual = best.setdefault(unicodedata.normalize("NFKC", name).strip().casefold(), name)
        if usual != name:
            found[name] = usual
    return found


def spelling_faults(spellings: Mapping[str, str], *, fold: bool) -> list[EventFault]:
    """Say which variants are there in more than one spelling."""
    if not spellings:
        return []
    shown = tuple(f"{name!r} = {usual!r}" for name, usual in list(spellings.items())[:EXAMPLES])
    return [EventFault("folded_variants" if fold else "spellings", len(spellings), shown)]


def find_movers(log: RowKeys) -> list[EventFault]:
    """Users who are in more than one variant of an experiment."""
    seen = log.rows.filter(pl.col("variant").is_not_null() & ~pl.col("no_user"))
    variants = seen.group_by("user", "experiment").agg(pl.col("variant").n_unique())
    movers = variants.filter(pl.col("variant") > 1).select("user").unique()
    first = seen.join(movers, on="user", how="semi").unique("user", keep="first", maintain_order=True)
    return log.fault("two_variants", first)
