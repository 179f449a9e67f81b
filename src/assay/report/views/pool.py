"""What a list of documents to judge looks like: what it is, the first of it, and whether enough is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.pool import JudgingPool, PoolPair, Stopping

_FIRST = 10
_MANY = 200


def line(found: JudgingPool) -> Verdict:
    """How many documents are to be judged, and of how many."""
    return Verdict(
        say(
            "pool.line", n=found.to_judge, method=word("pool_method", found.method), size=found.size,
            queries=found.queries, judged=found.judged,
        )
    )  # fmt: skip


def table(found: JudgingPool) -> list[Block]:
    """The first to judge, and what is known already."""
    return _blocks(found, _FIRST)


def page(found: JudgingPool, place: int = 0) -> list[Block]:
    """The same with more of the list."""
    del place
    return _blocks(found, _MANY)


def _blocks(found: JudgingPool, most: int) -> list[Block]:
    stop = [] if found.stopping is None else [_verdict(found.stopping)]
    return [line(found), *_pairs(found, most), *stop, Lines(tuple(_notes(found)), listed=True)]


def _pairs(found: JudgingPool, most: int) -> list[Block]:
    open_pairs = [one for one in found.pairs if one.grade is None]
    if not open_pairs:
        return []
    shown = open_pairs[:most]
    extra = "inclusion" if shown[0].inclusion is not None else "effect" if shown[0].effect is not None else ""
    headers = ("priority", "query", "document", "round", *([extra] if extra else []))
    rows = tuple(_row(one, extra) for one in shown)
    caption = say("sample.first", n=len(rows)) if len(rows) < len(open_pairs) else ""
    return [Table(tuple(say(f"column.{name}") for name in headers), rows, caption=caption, texts=(1, 2))]


def _row(one: PoolPair, extra: str) -> tuple[str, ...]:
    more = (number(getattr(one, extra)),) if extra else ()
    return (str(one.priority), one.query_id, one.doc_id, str(one.round), *more)


def _verdict(found: Stopping) -> Verdict:
    told = {
        "first": found.systems[0], "second": found.systems[1], "measure": found.measure,
        "difference": number(found.difference.estimate, signed=True),
        "ends": ends(found.difference.low, found.difference.high, "+.4f") or "-",
        "smallest": f"{found.smallest_effect:g}", "look": found.look, "spent": f"{found.spent:.2g}",
        "alpha": f"{found.alpha:g}",
    }  # fmt: skip
    return Verdict(say(f"pool.{found.verdict}", **told), "good" if found.enough else "")


def _notes(found: JudgingPool) -> list[Said | str]:
    notes: list[Said | str] = [say(f"pool.about_{found.method.replace('-', '_')}")]
    if found.relevant_in_all is not None and found.relevant_in_all.estimate is not None:
        of = found.relevant_in_all
        notes.append(
            say(
                "pool.relevant_in_all", found=found.relevant, n=f"{of.estimate:,.0f}", low=f"{of.low or 0:,.0f}",
                high=f"{of.high or 0:,.0f}",
            )
        )  # fmt: skip
    elif found.judged:
        notes.append(say("pool.relevant", found=found.relevant, judged=found.judged))
    if found.unused:
        notes.append(say("pool.unused", n=found.unused))
    return notes
