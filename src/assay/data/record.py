"""What every record of a finding offers: a table to look at, a frame to work with, plain values, and a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.lazy import public

Value = str | bool | int | float | None  # the types of a cell of a frame

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import polars as pl


class Record:
    """What a function found out. It shows itself in a notebook, and becomes a frame, plain values or a file."""

    def __init_subclass__(cls) -> None:
        """Keep the short form: a dataclass writes out every field unless its class has a form of its own."""
        if "__repr__" not in vars(cls):
            cls.__repr__ = Record.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Its class and the one sentence that a reader in a hurry should see; `show` and `to_dict` have the rest."""
        try:
            said = " ".join(public("show")(self, level="line").split())
        except Exception:  # noqa: BLE001 - a record that cannot be shown is still printed, in a debugger for instance
            return f"<{type(self).__name__}>"
        return f"<{type(self).__name__}: {said}>"

    def to_rows(self) -> Sequence[Mapping[str, Value]]:
        """Lay out the main numbers as rows of one table, for a frame."""
        raise NotImplementedError

    def beside(self) -> tuple[Record, ...]:
        """Other records that belong into the same file."""
        return ()

    def topic(self) -> str:
        """What it is about, for a title; empty where that has no name."""
        return ""

    def models(self) -> Mapping[str, str]:
        """The models that were really used, by what they did."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Copy everything to plain values, as a result file holds them."""
        found: dict[str, Any] = public("encode")(self)
        return found

    def to_polars(self) -> pl.DataFrame:
        """Write the main numbers out as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.to_rows()), infer_schema_length=None)

    def to_pandas(self) -> pd.DataFrame:
        """Write the main numbers out as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(list(self.to_rows()))

    def to_latex(self) -> str:
        """Write the tables for a paper."""
        return self._show("latex")

    def to_markdown(self) -> str:
        """Write the tables and sentences for a page."""
        return self._show("markdown")

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json), which every command and `assay.read_result` read."""
        public("write_result")(self, place)

    def _repr_html_(self) -> str:
        return self._show("html")

    def _show(self, kind: str) -> str:
        found: str = public("show")(self, kind)
        return found
