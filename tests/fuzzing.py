"""Samples of every format that is read, and ways to damage them: by bytes, by words, and by values of JSON and TOML."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import resource
import time
import tomllib
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n# judge: m\n"
RUN = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d3 1 9e-1 t\n"
ROWS = [{"query_id": f"q{i // 3}", "doc_id": f"d{i}", "score": i / 2, "rank": i} for i in range(9)]
GRADES = [{"query_id": f"q{i // 3}", "doc_id": f"d{i}", "grade": i % 3, "judge": "m"} for i in range(9)]
SAMPLES = [
    {"id": "1", "question": "When?", "answer": "In 1889.", "contexts": [{"id": "c1", "text": "It opened in 1889."}], "reference": "1889", "gold_ids": ["c1"], "answerable": True, "system": "a"},
    {"id": "2", "question": [{"role": "user", "content": "Who?"}], "answer": "Eiffel.", "contexts": ["By Eiffel.", None], "reference": ["Eiffel"], "system": "b"},
]  # fmt: skip
RECORDS = [
    {"query": "q1", "retrieved": ["a", "b"], "relevant": ["b"]},
    {"query": "q2", "retrieved": ["c"], "relevant": {"c": 2}},
]
DOCUMENTS = [{"_id": "d1", "title": "Tea", "text": "Tea is hot."}, {"_id": "d2", "title": "", "text": "Rain."}]
QUERIES = [
    {"_id": "q1", "text": "what is tea", "lang": "en", "weight": 2},
    {"_id": "q2", "text": "rain", "lang": "en", "weight": 1.5},
]
EVENTS = [
    {"index": {"_index": "ubi_queries"}},
    {"query_id": "q1", "client_id": "u1", "user_query": "tea", "timestamp": "2025-01-01T12:00:00Z", "query": '{"size":20}', "query_response_hit_ids": ["d1", "d2"], "query_attributes": {"experiment": {"id": "e", "variant": "B"}, "latency_ms": 12.5, "usage": {"input_tokens": 5, "cost": 0.1}}},
    {"_index": "ubi_events", "_source": {"action_name": "impression", "query_id": "q1", "client_id": "u1", "timestamp": 1735732801000, "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 0}}}},
    {"action_name": "feedback", "query_id": "q1", "client_id": "u1", "session_id": "s", "timestamp": "2025-01-01T12:00:09+08:00", "application": "a", "event_attributes": {"feedback": {"stars": 4}, "dwell_time": 2.5}},
]  # fmt: skip
CLICKS = [
    {"query_id": "q1", "user": "u1", "time": "2025-01-01 12:00:00", "action": "query", "doc_id": None, "position": None, "results": "d1|d2", "feedback": None, "cost": 0.5},
    {"query_id": "q1", "user": "u1", "time": "1735732801", "action": "click", "doc_id": "d1", "position": 1, "results": None, "feedback": "up", "cost": None},
]  # fmt: skip
LOG = [
    {"query_id": f"q{i}", "user": f"u{i % 7}", "time": f"2025-01-01 12:00:{i:02d}", "action": action, "text": "tea" if action == "query" else None, "doc_id": None if action == "query" else f"d{i % 2}", "position": None if action == "query" else 1 + i % 2, "variant": "AB"[i % 2]}
    for i in range(12) for action in ("query", "impression", "click" if i % 3 else "impression")
]  # fmt: skip
TOKENIZER = '{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "tea": 1}, "unk_token": "[UNK]"}}'
HTML = "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><p class='a'>Tea &amp; rain<br/>x</p><!-- c --><script>if (a<b) {}</script></body></html>"
MARKDOWN = "# Tea\n\n- one\n- two\n\n```\ncode\n```\n\n[a](b) *c*\n"
EXPERIMENT = """name = "x"
baseline = "bm25"
only = ["bm25"]
rerank = ["none", { name = "m", method = "embedding", embedder = "wordllama", depth = 5 }]
[data]
documents = "d.jsonl"
queries = "q.jsonl"
judgments = "qrels"
[chunk]
method = "fixed"
size = 200
[retrieve]
method = ["bm25", "hybrid"]
fusion = "weighted"
weight = 0.3
[generate]
method = "extractive"
contexts = 3
[evaluate]
protocol = "graded-012"
measures = ["ndcg@10"]
[reference]
source = "s"
figures.a = { "ndcg@10" = 0.65, gain = "-" }
[llm]
model = "m"
url = "http://127.0.0.1:9/v1"
"""
COSTS = 'currency = "USD"\nqueries_per_day = 1000\n[method.a]\nprice = 1.0\ntokens = 800\n[method.b]\nmachine = 2.0\nthroughput = 50\n[method.c]\nper_query = 0.01\n'
PRICES = 'currency = "USD"\nprice = [{ vendor = "openai", model = ["m", "n*"], date = 2026-11-01, input = 2.5, output = 10, cached = 1.25, tiers = [{ up_to = 10, input = 1, output = 2 }] }]\n'
RULES = '[[rule]]\nmeasure = "ndcg@10"\nat_least = 0.5\nstrict = true\nsure = true\n[[rule]]\nmeasure = "map"\nnot_worse_than = "old.json"\nmargin = 0.01\nalpha = 0.05\nmin_coverage = 0.9\n'
RUBRIC = "# Tone\n\nIs the answer polite?\n\n# scale\n\n- 0: rude\n- 1: plain\n- 2: polite\n"

SCALE = 'name = "tone"\n[grades]\n0 = "rude"\n1 = "plain"\n2 = "polite"\n'
PROMPT = "version: mine-1\n\n# system\n\nBe brief.\n\n# user\n\n$query\n$document\n$rubric $mark $low $high\n"
STAGE_PROMPT = "version: mine-1\n\n# system\n\nBe brief.\n\n# user\n\n$query\n$passages $count $mark\n"
GOLD = [{"query_id": "q1", "doc_id": "d1", "text": "Tea", "grade": 1}, {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 3}]  # fmt: skip
VERDICTS = [{"query_id": "q1", "doc_id": f"d{i}", "grade": i % 2, "votes": [{"grade": i % 2, "judge": "m"}, {"grade": 1, "judge": "m"}]} for i in range(3)]  # fmt: skip
USERS = [{"user": f"u{i}", "variant": "ab"[i % 2], "day": f"2026-11-0{1 + i % 3}", "clicks": i % 5, "clicks_before": i % 3, "bought": i % 2} for i in range(40)]  # fmt: skip
ARMS = [
    {"variant": name, "measure": "clicks", "n": 100, "sum": 40 + i, "sum_squares": 90} for i, name in enumerate("ab")
]
LABELLED = [{"id": str(i), "question": "When?", "answer": f"In {1880 + i}.", "contexts": [f"In {1880 + i % 3}."], "human": i % 2, "other": i / 9} for i in range(10)]  # fmt: skip
BODIES = [{"query": "{query}", "documents": "{documents}"}, {"query": "tea", "n": 3}]
CONFIG = '{"hidden_act": "gelu", "num_attention_heads": 2, "num_hidden_layers": 1, "layer_norm_eps": 1e-12}'


def safetensors():
    """Two tensors of four numbers."""
    entry = {"dtype": "F32", "shape": [2, 2]}
    head = json.dumps({"a": {**entry, "data_offsets": [0, 16]}, "b": {**entry, "data_offsets": [16, 32]}}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(32)


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def csv(rows, separator=","):
    found = io.BytesIO()
    pl.DataFrame(rows).write_csv(found, separator=separator)
    return found.getvalue()


def parquet(rows, **options):
    found = io.BytesIO()
    pl.DataFrame(rows).write_parquet(found, **options)
    return found.getvalue()


def pdf(text: str) -> bytes:
    """A file of one page."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream), b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]  # fmt: skip
    found, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return found + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        table,
        len(found),
    )


ODD = [
    None, True, False, 0, -1, 1e308, -0.0, 10**19, 10**400, 2**63, "", " ", "\0", "\ud800", "é", "=1+1", "a" * 300, "nan", "inf", "1e999", "0x10", [], {}, [[]], [{}], {"": {}}, [None], {"a": {"a": {"a": 1}}},
    [1, "a", {}], ["a"] * 50, {"key": "nowhere", "values": 3}, "../x", "module:callable", "ndcg@10", "ndcg(", "２０", float("nan"), float("inf"),
]  # fmt: skip
BYTES = [b"", b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b" ", b'"', b"'", b",", b"{", b"[", b"}", b"]", b"=", b".", b"#", b":", b"nan", b"-", b"9" * 400, b"1e999", b"\\ud800", b"\xe3\x80\x80", b"[" * 3000, b"<!--", b"PAR1", b"\x1f\x8b", b"null", b"true", b"Q0"]  # fmt: skip


def damage_bytes(data, rng):
    """Flip, insert, delete, repeat or cut some bytes."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((1, 2, 8, 64)))
        way = rng.randrange(6)
        if way == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            found[at:at] = rng.choice(BYTES)
        elif way == 2:
            del found[at:end]
        elif way == 3:
            found[at:at] = found[at:end] * rng.choice((1, 3))
        elif way == 4:
            found[at:end] = rng.choice(BYTES)
        else:
            del found[at:]
    return bytes(found)


def damage_value(value, rng):
    """Replace, rename or remove one part of a JSON or TOML value."""
    value = copy.deepcopy(value)
    place, key = [value], 0
    while isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    if place is not value and not (isinstance(place, list) and place and place[0] is value) and rng.random() < 0.2:
        del place[key]
    elif isinstance(place, dict) and rng.random() < 0.2:
        place[rng.choice(["x", "", *place])] = place.pop(key)
    else:
        swap = rng.choice(ODD)
        if place == [value]:
            return swap
        place[key] = copy.deepcopy(swap)
    return value


def damage_json(data, rng):
    return json.dumps(damage_value(json.loads(data), rng)).encode()


def damage_lines(data, rng):
    rows = [json.loads(line) for line in data.splitlines()]
    at = rng.randrange(len(rows))
    rows[at] = damage_value(rows[at], rng)
    return jsonl(rows)


def toml(value):
    """Write a value in TOML's inline form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if value is None:
        return '"null"'
    return json.dumps(value) if isinstance(value, str) else str(value)


def damage_toml(data, rng):
    found = damage_value(tomllib.loads(data.decode()), rng)
    if not isinstance(found, dict):
        return f"x = {toml(found)}".encode("utf-8", "surrogateescape")
    return "".join(f"{json.dumps(key)} = {toml(one)}\n" for key, one in found.items()).encode("utf-8", "replace")


def damage(name, data, rng):
    """One damaged copy of a sample; a packed one is damaged before or after it is packed."""
    if name.endswith(".gz"):
        if rng.random() < 0.3:
            return damage_bytes(data, rng)
        return gzip.compress(damage(name[:-3], gzip.decompress(data), rng), 1)
    of = {".json": damage_json, ".jsonl": damage_lines, ".toml": damage_toml}.get(Path(name).suffix)
    return of(data, rng) if of is not None and rng.random() < 0.7 else damage_bytes(data, rng)


PATIENCE = (
    8.0  # how many times longer than its processor time a reader may take, as contained processes are not counted
)
EVERY = 5.0  # seconds


def processor_seconds():
    """What this process and those that it waited for have computed."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def further_seeds(name, first, seconds, folder):
    """Seeds for so many seconds of processor time; with a folder, from where an earlier session stopped."""
    file = None if folder is None else folder / f"{name}.json"
    kept = json.loads(file.read_text()) if file is not None and file.is_file() else {"next_seed": first, "seconds": 0.0}
    start, begun, noted, spent = processor_seconds(), time.monotonic(), 0.0, 0.0
    seed = kept["next_seed"]

    def note():
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"next_seed": seed, "seconds": kept["seconds"] + spent}) + "\n")

    try:
        while spent < seconds and time.monotonic() - begun < PATIENCE * seconds:
            yield seed
            seed, spent = seed + 1, processor_seconds() - start
            if spent - noted >= EVERY:
                noted = spent
                note()
    finally:
        note()


def case(name, data, seed):
    """The damaged copy of a number."""
    rng = random.Random(f"{name} {seed}")
    for _ in range(20):
        try:
            return damage(name, data, rng)
        except (ValueError, OverflowError):
            continue  # a value that cannot be written
    return data
