"""What an evaluation looks like: tables of means and of queries, and the sentences under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.data.judgments import stamp_of, warn_of_judge
from assay.data.status import STATUSES
from assay.messages import Said, say
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.scores import Scores
    from assay.report.blocks import Block, Chart, Verdict
    from assay.stats.intervals import Interval

_WIDE = 8  # more measures than this read better as rows
_PICTURES = 3  # measures that get a picture
_METHODS = frozenset({"llm", "embedding", "words", "mix"})


def name_method(method: str) -> str:
    """What a method of judging answers is called."""
    return say(f"method.{method}") if method in _METHODS else method


def name_measure(scores: Scores, label: str) -> str:
    """A measure with the method that judged the answers, where one did."""
    method = scores.about(label).method
    return say("measure.by_methods", label=label, methods=[name_method(method)]) if method else label


def means(systems: Sequence[Scores], *, exact: bool = False, upright: bool = False) -> Table:
    """One row per system, or per measure when there are many (never, if `upright`)."""
    labels: tuple[str, ...] = systems[0].labels
    rows: list[tuple[str, ...]] = [
        (
            scores.name,
            *(number(scores[label], whole=scores.about(label).aggregate == "sum", exact=exact) for label in labels),
        )
        for scores in systems
    ]
    table = _stamp(Table((say("column.system"), *labels), tuple(rows)), systems)
    return table.transpose() if len(labels) > _WIDE and not upright else table


def queries(systems: Sequence[Scores], *, exact: bool = False) -> Table:
    """One row per system and query, with the status where a value was not simply scored."""
    rows: list[tuple[str, ...]] = []
    for scores in systems:
        whole = [scores.about(label).aggregate == "sum" for label in scores.labels]
        for query, values, codes in zip(scores.query_ids, scores.values, scores.status, strict=True):
            cells = [number(float(v), whole=w, exact=exact) for v, w in zip(values, whole, strict=True)]
            odd = sorted({STATUSES[code] for code in codes if code})
            rows.append((scores.name, query, *cells, ", ".join(odd)))
    headers = (say("column.system"), say("column.query"), *systems[0].labels, say("column.status"))
    return _stamp(Table(headers, tuple(rows), names=2), systems)


def _stamp(table: Table, systems: Sequence[Scores]) -> Table:
    """Add columns that say whose grades these are, and that values are estimates."""
    judge = _judge_without_calibration(systems)
    table = table.add_stamp(stamp_of(judge)) if judge else table
    sampled = any(scores.sampling is not None for scores in systems)
    return table.add_stamp(say("sample.stamp"), say("column.values")) if sampled else table


def stamp(systems: Sequence[Scores]) -> str:
    """Return a warning if a language model gave the grades and they were never compared with people's."""
    judge = _judge_without_calibration(systems)
    told = next((text for scores in systems for text in scores.warnings if _is_of_sample(text)), "")
    return warn_of_judge(judge) if judge else told


def _is_of_sample(text: str) -> bool:
    return isinstance(text, Said) and text.key == "sample.warning"


def _judge_without_calibration(systems: Sequence[Scores]) -> str:
    return next((scores.judge for scores in systems if scores.uncalibrated), "")


def sentences(systems: Sequence[Scores]) -> list[str]:
    """Describe what is behind the numbers and what a careful reader should know."""
    first = systems[0]
    lines: list[str] = [say("doubt.judged", n=first.judged, protocol=str(first.protocol))]
    lines += definitions(first)
    shared = [text for text in first.warnings if all(text in scores.warnings for scores in systems)]
    if len(systems) > 1:
        lines += [say("doubt.of_all", text=text) for text in shared]
    for scores in systems:
        own = [text for text in scores.warnings if len(systems) == 1 or text not in shared]
        lines += [say("doubt.of_one", system=scores.name, text=text) for text in own]
    return list(dict.fromkeys([*lines, *(note for scores in systems for note in scores.notes)]))


def tell_hidden(systems: Sequence[Scores], shown: Sequence[Scores]) -> list[str]:
    """Say how many measures are not shown, and how to see them."""
    every, some = len(systems[0].labels), len(shown[0].labels)
    return [say("scores.left_out", shown=some, n=every, protocol=systems[0].protocol.name)] if some < every else []


def unevenness(scores: Scores) -> list[Said]:
    """How many equal, independent queries the means are worth, and the heaviest, where weights or clusters matter."""
    known = [text for text in scores.warnings if isinstance(text, Said)]
    return [text for text in known if text.key in {"doubt.weighted", "doubt.clustered"}]


def definitions(scores: Scores) -> list[Said]:
    """Spell out labels that mean something else under another protocol, the cutoffs of one definition together."""
    cuts: dict[tuple[str, str], list[str]] = {}
    for label, text in scores.definitions.items():
        if label != text and "(" in text:
            name, at, cut = label.rpartition("@")
            short, _, same = text.rpartition("@")
            key = (name, short) if at and cut == same else (label, text)
            cuts.setdefault(key, []).append(cut if key[0] == name else "")
    named = [
        f"{label}@{','.join(found)} = {text}" if found[0] else f"{label} = {text}"
        for (label, text), found in cuts.items()
    ]
    text = say("text.either", en="; ".join(named), zh="；".join(named))
    return [say("doubt.definitions", text=text)] if named else []


def line(found: Scores) -> Verdict:
    """The mean of the primary measure."""
    from assay.report.blocks import Verdict  # plain evaluation needs none of it

    label = found.find(found.protocol.primary or "") or found.labels[0]
    value = number(found[label], whole=found.about(label).aggregate == "sum")
    return Verdict(say("scores.line", system=found.name, measure=label, value=value, n=found.counts[label].queries))


def table(*systems: Scores) -> list[Block]:
    """The means of one system, or of several side by side, and what is behind them."""
    from assay.report.blocks import Lines

    return [means(systems), Lines(tuple(sentences(systems)))]


def page(found: Scores, place: int = 0) -> list[Block]:
    """The same for one system, a row for each measure."""
    return side_by_side([found], place, intervals={}, primary="")


def side_by_side(
    systems: Sequence[Scores], place: int, *, intervals: Mapping[str, Mapping[str, Interval]], primary: str
) -> list[Block]:
    """Means with their `intervals`, by system and label, and pictures of them, the `primary` measure first."""
    from assay.analysis.edges import name_means
    from assay.report.blocks import Lines
    from assay.report.intervals import near_bounds

    told = [Lines(tuple(sentences(systems))), *near_bounds(name_means(intervals))]
    if len(systems) == 1:
        return [_single_system(systems[0], intervals.get(systems[0].name, {})), *told]
    labels = sorted(systems[0].labels, key=lambda label: label != primary)[:_PICTURES]
    return [means(systems), *(_picture(intervals, label, place) for label in labels), *told]


def _single_system(scores: Scores, means: Mapping[str, Interval]) -> Table:
    """One system: a row for each measure, with the interval of its mean."""
    from assay.report.intervals import between, interval_column

    rows = []
    for label in scores.labels:
        interval = between(means[label]) if label in means else ""
        shown = number(scores[label], whole=scores.about(label).aggregate == "sum")
        rows.append((label, shown, interval, f"{scores.counts[label].queries:,}"))
    headers = (say("column.measure"), scores.name, interval_column(means.values()), say("column.queries"))
    table = Table(headers, tuple(rows))
    return table.add_stamp(stamp_of(scores.judge)) if scores.uncalibrated else table


def _picture(means: Mapping[str, Mapping[str, Interval]], label: str, place: int) -> Chart:
    from assay.report.intervals import picture

    known = {name: found[label] for name, found in means.items() if label in found}
    return picture(f"means-{place}-{label}", say("chart.means", measure=label), label, known)
