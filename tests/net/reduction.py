"""Reduce an output to what may not change: numbers as they are printed, marks, statuses and names."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from net.reading import Table, read_csv, read_drawing, read_page, read_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

# How a status reads in a cell of a table, in both languages. When a wording changes, it changes here too.
STATUSES = {
    "excellent": ("excellent", "优秀"),
    "ok": ("OK", "达标"),
    "low": ("low", "偏低"),
    "high": ("high", "偏高"),
    "not measured": ("not measured", "未测量"),
    "not clear": ("not clear", "不确定"),
    "passed": ("passed", "通过"),
    "failed": ("failed", "未通过"),
    "inconclusive": ("inconclusive", "无法判定"),
    "better": ("better", "更好"),
    "worse": ("worse", "更差"),
    "equivalent": ("equivalent", "等效"),
    "too few": ("too few queries", "查询太少"),
    "baseline": ("baseline", "基线"),
    "no spread": ("values do not vary", "取值无变化"),
    "one value": ("one value only", "只有一个值"),
}
SAID = {said.lower(): key for key, both in STATUSES.items() for said in both}
NAMES = re.compile(
    r"keywords|ngrams|hybrid|vectors|whole|fixed|sentence|recursive|semantic|words|embedding|overlap|contains|llm|"
    r"faithfulness|correctness|abstention|precision|recall|ndcg|map|bpref|lang|type|topic|en|zh|alpha|beta|answers|"
    r"troubleshooting|survey|how-to|comparison|fact|cross-encoder|listwise|pointwise|partial|twice|first|chunks|records|own|m|n|retrieve|rerank|generate|scored|abstained|undefined|missing"
)
IN_TEXT = {"keywords", "ngrams"}

NUMBER = r"[+\-−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e[+\-]?\d+)?(?: ?%)?"
WORD = r"[A-Za-z_][A-Za-z0-9_@.\-]*"
TOKEN = re.compile(rf"(?<![A-Za-z0-9_@.\-])(?:({WORD})|({NUMBER}))|(?<=[\d@.\-])({NUMBER})|[†‡↑↓*]")
PURE = re.compile(r"^[\s\d.,+\-−%$¥€\[\]()/<>=≤≥*†‡↑↓~±×x?eE;:→]+$")
LONG = re.compile(r"\d\.\d{11,}(?:e[+\-]?\d+)?")

# What differs from one run, folder, machine or version to the next.
EVERYWHERE = (
    (re.compile(r"https?://[^\s,;)]+|127\.0\.0\.1:\d+[^\s,;)]*"), " "),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?\S*)?"), " "),
    (re.compile(r"\b(?=\d*[a-f])[0-9a-f]{16,}\b"), " "),
    (re.compile(r"(?<![\w])(?:~|\.{1,2})?(?:/[\w.+\-{}]+){2,}/?"), " "),
    (
        re.compile(r"\b[\w+\-./]*\.(?:jsonl?|html?|md|tex|txt|csv|tsv|qrels|run|toml|xml|svg|png|sqlite|parquet|py)\b"),
        " ",
    ),
    (re.compile(r"\bassay \d+\.\d+\.\d+\S*"), " "),
)
# In scenes that take time: durations, sizes, and the sentence about the front, which hangs on them.
TIMES = (
    (re.compile(r"[^.。]*(?:\bfront\b|前沿)[^。]*?(?:\.(?=\s|$)|。|$)"), " "),
    (re.compile(rf"{NUMBER} ?(?:ms|milliseconds?|s|seconds?|minutes?|MB|kB|毫秒|秒|分钟)(?![A-Za-z])"), " "),
)
TIMED = re.compile(
    r"\bms\b|_ms$|毫秒|\bseconds?\b|\bs$|秒|\bMB\b|^front$|前沿|calls/s|吞吐量|a second|_qps|speed-up|加速|(?i:p50|p95|p99)|"
    r"bytes|字节|memory|内存"
)
BESIDE = re.compile(r"^(mean|std|均值|标准差)$")  # of times, where percentiles stand in the same table
ORIGIN = re.compile(r"SHA-256|^version$|^版本$|^command$|^命令$")
# Keys of a result that tell when and where it was made, and those that tell how fast.
UNSTEADY = re.compile(r"^(schema|version|command|file|path|sha256|date|created|newest|oldest|bytes)$")
FAST = re.compile(r"seconds|ms_p|_ms$|^ms$|latency|pareto|memory|^edges$|^counts$|_qps$")
TELLING = re.compile(
    r"^(status|verdict|outcome|decision|stage|kind|method|letters|correction|family|ties|missing|undefined|fold|primary|"
    r"baseline|best|unit|currency|name|system|severity|level|winner|front|scale|combine|category|measure|attribute)$"
)
STATUS_WORDS = {"scored", "missing", "undefined", "abstained", "not_applicable", "failed", "unjudged", "filtered"}
NO_KEY = re.compile(r"^(q\d+|s\d+|tea-\d+)$|[a-z]+ [a-z]+ [a-z]+")  # an id, or a sentence: the key above it counts

WRAPPED = ("value", "estimate")


def reduce_output(name: str, text: str, *, timed: bool = False, quiet: bool = False) -> list[str] | dict[str, str]:
    """Reduce one output; its name, or what it begins with, says what it is. `quiet` leaves running text out."""
    found = _reduce(name, text, timed=timed)
    return [line for line in found if line.startswith("|")] if quiet and isinstance(found, list) else found


def _reduce(name: str, text: str, *, timed: bool) -> list[str] | dict[str, str]:
    if name.endswith(".jsonl"):
        return reduce_json([json.loads(line) for line in text.splitlines()], timed=timed)
    if text.lstrip().startswith(("{", "[")) and (data := _parse(text)) is not None:
        return reduce_json(data, timed=timed)
    if name.endswith(".html"):
        blocks, data_of_page = read_page(text)
        lines = reduce_blocks(blocks, timed=timed)
        embedded = Counter(format(n, ".10g") for one in data_of_page for n in _fractions(json.loads(one)))
        return [*lines, *([f"~ {_counted(embedded)}"] if embedded and not timed else [])]
    if name.endswith((".svg", ".xml")):
        return reduce_blocks(read_drawing(text), timed=timed)
    return reduce_blocks(read_csv(text) if name.endswith(".csv") else read_terminal(text), timed=timed)


def _parse(text: str) -> object | None:
    try:
        return json.loads(text)
    except ValueError:
        return None


# Text ----------------------------------------------------------------------------------------------------------------


def reduce_blocks(blocks: Iterable[Table | str], *, timed: bool) -> list[str]:
    """Rows as `| cell | cell`, running text as `~ token token`; what says nothing is left out."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            tokens = tokens_of(mask(block, timed=timed), running=True)
            found += [f"~ {' '.join(tokens)}"] if tokens else []
            continue
        header = [" ".join(cell.split()) for cell in block.header]
        dropped = {i for i, cell in enumerate(header) if ORIGIN.search(cell) or (timed and TIMED.search(cell))}
        if timed and any("P50" in cell for cell in header):
            dropped |= {i for i, cell in enumerate(header) if BESIDE.match(cell)}
        rows = [row for row in block.rows if not (timed and row and TIMED.search(" ".join(row[0].split())))]
        for row in [header, *rows]:
            cells = [
                reduce_cell(cell, header=row is header, timed=timed) for i, cell in enumerate(row) if i not in dropped
            ]
            told = [cell for cell in cells if cell]
            if len(told) > 1 or re.search(r"\d", "".join(told)):
                found.append("| " + " | ".join(told))
    return found


def mask(text: str, *, timed: bool) -> str:
    """Take out what is not the same every time."""
    for pattern, instead in (*EVERYWHERE, *(TIMES if timed else ())):
        text = pattern.sub(instead, text)
    return text


def reduce_cell(cell: str, *, header: bool = False, timed: bool = False) -> str:
    """What a cell of a table tells: a status, a name, numbers with their marks, or nothing."""
    text = " ".join(mask(cell, timed=timed).split())
    if text.lower() in SAID:
        return "" if header else f"={SAID[text.lower()]}"
    if PURE.match(text):
        return LONG.sub(lambda number: format(float(number[0]), ".10g"), text)
    if NAMES.fullmatch(text):
        return text
    return " ".join(tokens_of(text))


def tokens_of(text: str, *, running: bool = False) -> list[str]:
    """Numbers as they are printed, marks, and words that carry a digit, in order."""
    found = []
    for token in TOKEN.finditer(text):
        word = token[1]
        if word is None:
            found.append(LONG.sub(lambda number: format(float(number[0]), ".10g"), token[0]).replace(" ", ""))
            continue
        word = word.rstrip(".-")
        if re.search(r"[\d@_]", word) or (running and word in IN_TEXT):
            found.append(word)
    return found


# JSON ----------------------------------------------------------------------------------------------------------------


def reduce_json(data: object, *, timed: bool = False) -> dict[str, str]:
    """Numbers and statuses of JSON under the last key of their path, counted: a new layout of the file keeps them."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    _collect(data, "", found, timed=timed)
    return {key: _counted(values) for key, values in sorted(found.items())}


def _collect(value: object, key: str, found: dict[str, Counter[str]], *, timed: bool) -> None:
    if isinstance(value, dict) and {"key", "values", "text"} <= set(value):  # a message: its text is what stands there
        _collect(value["text"], key, found, timed=timed)
        _collect(value["values"], key, found, timed=timed)
    elif isinstance(value, dict):
        for name in WRAPPED:  # a number with its interval stands under both names
            if name in value and key not in WRAPPED and not isinstance(value[name], (dict, list)):
                _collect(value[name], key, found, timed=timed)
        for name, inner in value.items():
            if not UNSTEADY.search(name) and not (timed and FAST.search(name)):
                _collect(inner, key if NO_KEY.search(name) else name, found, timed=timed)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, key, found, timed=timed)
    elif isinstance(value, bool):
        found[key][str(value).lower()] += 1
    elif isinstance(value, (int, float)) and math.isfinite(value):
        found[key][format(value, ".10g")] += 1
    elif (
        isinstance(value, str)
        and (TELLING.match(key) or value in STATUS_WORDS)
        and 0 < len(value) <= 40
        and value != "auto"
    ):
        found[key]["'" + value.replace(" ", "_")] += 1


def _counted(values: Counter[str]) -> str:
    ordered = sorted(values, key=lambda text: (text[0] == "'" or text in {"true", "false"}, _number(text), text))
    return " ".join(text if values[text] == 1 else f"{text}×{values[text]}" for text in ordered)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _fractions(value: object) -> Iterable[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _fractions(inner)
    elif isinstance(value, float) and not value.is_integer():
        yield value
