"""Small files that try to cost much, and the time and memory that each takes until it is refused.

    python tests/bombs.py [NAME ...]

Every bomb is made in a temporary folder and given to the command that reads such a file. A bomb must end with exit code
2 in one line within 5 s of computing and 500 MB; the last part are large files without any trick, which are read or
refused in time in proportion to their size, and are measured only.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

SECONDS, MEGABYTES = 5.0, 500
MB = 1 << 20
EVALUATE, EVALUATE_RECORDS = ["evaluate", "q", "FILE", "-m", "map"], ["evaluate", "FILE", "-m", "map"]
ANSWERS, LOG, USERS = ["answers", "FILE", "--method", "words"], ["log", "metrics", "FILE"], ["ab", "analyse", "FILE", "-m", "clicks", "--control", "a"]  # fmt: skip
RUN = ["run", "e.toml", "-o", "out"]  # of documents in the folder "docs"


def _gzip(data: bytes, times: int) -> bytes:
    return gzip.compress(data, 9) * times


def _parquet(rows: int) -> bytes:
    import polars as pl

    found = io.BytesIO()
    frame = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d"], "score": [1.0]})
    frame.select(pl.all().repeat_by(rows).explode()).write_parquet(found)
    return found.getvalue()


def _pdf(stream: bytes) -> bytes:
    """A page whose content is a packed stream."""
    packed = zlib.compress(stream, 9)
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed), b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]  # fmt: skip
    found, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return found + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (table, len(found))  # fmt: skip


def _wide(rows: int, columns: int) -> bytes:
    return ("query_id,doc_id,score," + ",".join(f"c{i}" for i in range(columns)) + "\n" + "1\n" * rows).encode()


DEEP = b"[" * 1_000_000
SPANS = b'{"resourceSpans": [{"scopeSpans": [{"spans": ['
# A name of a file, its bytes, and the command that reads it.
BOMBS = {
    "gzip, 10 GB of a run": ("a.run.gz", lambda: _gzip(b"q1 Q0 a 1 1 t\n" * 750_000, 1000), EVALUATE),
    "gzip, 10 GB of samples": ("s.jsonl.gz", lambda: _gzip(b'{"id": "1", "answer": "a"}\n' * 400_000, 1000), ANSWERS),
    "gzip, 10 GB of events": ("l.ndjson.gz", lambda: _gzip(b'{"query_id": "1", "action": "click"}\n' * 300_000, 1000), LOG),
    "gzip, one line of 10 GB": ("a.run.gz", lambda: _gzip(b"q" * (10 * MB), 1000), EVALUATE),
    "gzip in gzip": ("a.run.gz", lambda: gzip.compress(_gzip(b"q1 Q0 a 1 1 t\n" * 750_000, 1000), 9), EVALUATE),
    "zlib": ("a.run", lambda: zlib.compress(b"q1 Q0 a 1 1 t\n" * 50_000_000, 9), EVALUATE),
    "Parquet, 90 million rows": ("a.parquet", lambda: _parquet(90_000_000), EVALUATE),
    "PDF, 1 GB of a stream": ("docs/a.pdf", lambda: _pdf(b"BT (a) Tj ET " * 80_000_000), RUN),
    "PDF, a program of 40 MB": ("docs/a.pdf", lambda: _pdf(b"q 1 0 0 1 0 0 cm BT /F1 12 Tf (a) Tj ET Q " * 1_000_000), RUN),
    "HTML, comments that never end": ("docs/a.html", lambda: b"<!--" * 4_000_000, RUN),
    "HTML, tags that never end": ("docs/a.html", lambda: b'<a x="' * 2_000_000, RUN),
    "HTML, a million open tags": ("docs/a.html", lambda: b"<div>" * 3_000_000, RUN),
    "TOML, a key of 20,000 dots": ("c.toml", lambda: b".".join([b"a"] * 20_000) + b" = 1", ["cost", "FILE"]),
    "TOML, 60,000 tables": ("c.toml", lambda: b"".join(b"[t%d.a.b]\nx = 1\n" % i for i in range(60_000)), ["cost", "FILE"]),
    "TOML, a megabyte of brackets": ("c.toml", lambda: b"x = " + DEEP, ["cost", "FILE"]),
    "TOML, a million digits": ("c.toml", lambda: b"x = " + b"9" * 1_000_000, ["cost", "FILE"]),
    "JSON, a megabyte of brackets": ("a.json", lambda: DEEP, EVALUATE),
    "JSON lines, brackets": ("a.jsonl", lambda: b'{"query_id": ' + DEEP, EVALUATE),
    "JSON lines, a million digits": ("a.jsonl", lambda: b'{"query_id": "q1", "doc_id": "a", "score": %s}' % (b"9" * 1_000_000), EVALUATE),
    "JSON lines, 300,000 keys": ("a.jsonl", lambda: b"".join(b'{"c%d": 1}\n' % i for i in range(300_000)), EVALUATE),
    "JSON lines, 9,000 keys, 90,000 lines": ("a.jsonl", lambda: b"".join(b'{"c%d": 1}\n' % (i % 9000) for i in range(90_000)), EVALUATE),
    "JSON, one object of 300,000 keys": ("a.json", lambda: json.dumps([{f"c{i}": 1 for i in range(300_000)}]).encode(), EVALUATE),
    "result of brackets": ("r.json", lambda: b'{"schema": 2, "version": "0.1.0", "command": ' + DEEP, ["report", "FILE", "-o", "out.html"]),
    "CSV, a million columns": ("a.csv", lambda: _wide(1, 1_000_000), EVALUATE),
    "CSV, 9,999 columns, 100,000 short rows": ("a.csv", lambda: _wide(100_000, 9_990), EVALUATE),
    "CSV, one quote": ("a.csv", lambda: b'query_id,doc_id,score\n"' + b"a,b,c\n" * 2_000_000, EVALUATE),
    "events, one line of 64 MB": ("l.ndjson", lambda: b'{"query_id": "' + b"a" * (64 * MB), LOG),
    "TREC, one line of 64 MB": ("a.run", lambda: b"q1 Q0 a 1 1 t\nq2 Q0 " + b"a" * (64 * MB), EVALUATE),
    "events of brackets": ("l.ndjson", lambda: b'{"query_id": "1", "event_attributes": ' + DEEP, LOG),
    "events, a million attributes": ("l.ndjson", lambda: json.dumps({"query_id": "1", "action_name": "click", "event_attributes": {f"c{i}": 1 for i in range(1_000_000)}}).encode() + b"\n", LOG),
    "traces, five million empty spans": ("t.jsonl", lambda: SPANS + b"{}," * (5 * MB - 100) + b"{}]}]}]}\n", LOG),
    "traces, a million empty attributes": ("t.jsonl", lambda: SPANS + b'{"traceId": "1", "spanId": "1", "attributes": [' + b'{"key":""},' * (15 * MB // 11) + b'{"key":""}]}]}]}]}\n', LOG),
    "traces, gzip, 10 GB": ("t.jsonl.gz", lambda: _gzip((SPANS + b"]}]}\n") * 200_000, 1000), LOG),
    "users, a million columns": ("u.csv", lambda: b"variant,clicks," + b",".join(b"c%d" % i for i in range(1_000_000)) + b"\na,1\n", USERS),
    "answer of a million digits": ("s.jsonl", lambda: b'{"id": "1", "question": "a", "answer": "%s", "contexts": ["b"]}' % (b"9" * 1_000_000), ANSWERS),
    "Markdown, a megabyte of brackets": ("docs/a.md", lambda: DEEP, RUN),
}  # fmt: skip
# Without any trick: a file of 100 MB and more, which takes its time.
LARGE = {
    "run of 100 MB, clean": ("a.run", lambda: b"".join(b"q%d Q0 d%d %d %d t\n" % (i // 1000, i % 1000, i % 1000, 1000 - i % 1000) for i in range(4_000_000)), EVALUATE),
    "run of 100 MB, two blanks": ("a.run", lambda: b"".join(b"q%d Q0  d%d %d %d t\n" % (i // 1000, i % 1000, i % 1000, 1000 - i % 1000) for i in range(4_000_000)), EVALUATE),
    "run as JSON, 100 MB": ("a.json", lambda: json.dumps({f"q{i}": {f"d{j}": 1000 - j for j in range(1000)} for i in range(6500)}).encode(), EVALUATE),
    "run as JSON lines, 100 MB": ("a.jsonl", lambda: b"".join(b'{"query_id": "q%d", "doc_id": "d%d", "score": %d}\n' % (i // 1000, i % 1000, 1000 - i % 1000) for i in range(2_000_000)), EVALUATE),
    "run as CSV, 100 MB": ("a.csv", lambda: b"query_id,doc_id,score\n" + b"".join(b"q%d,d%d,%d\n" % (i // 1000, i % 1000, 1000 - i % 1000) for i in range(7_000_000)), EVALUATE),
    "events, 100 MB": ("l.ndjson", lambda: b"".join(b'{"query_id": "%d", "action": "click", "user": "u%d", "time": 1735732801, "doc_id": "d%d", "position": 1}\n' % (i, i, i % 10) for i in range(1_000_000)), LOG),
    "HTML, 100 MB": ("docs/a.html", lambda: b"<p>Tea is a drink, and rain is wet.</p>\n" * 2_500_000, RUN),
    "text, 100 MB": ("docs/a.txt", lambda: b"Tea is a drink, and rain is wet.\n" * 3_000_000, RUN),
    "samples, 100 MB": ("s.jsonl", lambda: b"".join(b'{"id": "%d", "question": "When?", "answer": "It opened in 1889.", "contexts": ["%s"]}\n' % (i, b"It opened in 1889. " * 50) for i in range(100_000)), ANSWERS),
}  # fmt: skip
OTHERS = {
    "q": "q1 0 a 1\n" + "".join(f"q1 0 a.{suffix} 1\n" for suffix in ("html", "md", "pdf", "txt")),
    "qs.jsonl": '{"query_id": "q1", "text": "tea"}\n',
    "e.toml": '[data]\ndocuments = "docs"\nqueries = "qs.jsonl"\njudgments = "q"\n[retrieve]\nmethod = "bm25"\n',
}


def write(place: Path, title: str) -> None:
    """Write a file in a process of its own, which keeps this one small; a copy of this one would lack its threads."""
    place.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, __file__, "--write", title, place], check=True)


def measure(folder: Path, name: str, words: list[str]) -> tuple[int, float, int, list[str]]:
    """Exit code, seconds of computing, megabytes, and lines on standard error of a command."""
    for one, text in OTHERS.items():
        (folder / one).write_text(text)
    command = [sys.executable, "-m", "assay", *(name if word == "FILE" else word for word in words)]
    between = subprocess.run(
        [sys.executable, __file__, "--run", *command], cwd=folder, capture_output=True, text=True, check=True
    )
    code, seconds, megabytes, told = json.loads(between.stdout)
    return code, seconds, megabytes, told


def run(command: list[str]) -> None:
    """Run a command as the child of a small process, whose own peak of memory counts for little."""
    with (
        tempfile.TemporaryFile() as err,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err) as running,
    ):
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        told = err.read().decode(errors="replace").strip().splitlines()
    seconds = used.ru_utime + used.ru_stime
    sys.stdout.write(json.dumps([running.returncode, seconds, used.ru_maxrss // 1024, told]))


def explode(folder: Path, title: str) -> tuple[int, float, int, list[str]]:
    """Make a bomb and give it to its command."""
    name, _, words = (BOMBS | LARGE)[title]
    write(folder / name, title)
    return measure(folder, name, words)


def main(names: list[str]) -> int:
    """Print a table; the exit code says whether every bomb kept within its bounds."""
    failed = 0
    for title in [one for one in BOMBS | LARGE if not names or any(name in one for name in names)]:
        with tempfile.TemporaryDirectory() as place:
            code, seconds, megabytes, told = explode(Path(place), title)
            size = (Path(place) / (BOMBS | LARGE)[title][0]).stat().st_size / 1e6
        above = title in BOMBS and (
            seconds > SECONDS or megabytes > MEGABYTES or (len(told) > 1 and code) or code not in {0, 2}
        )
        failed += above
        last = told[-1][:100] if told else ""
        marked = f"{'ABOVE' if above else '':5} {title:42} {size:6.1f} MB"
        sys.stdout.write(f"{marked}  exit {code}  {seconds:5.1f} s  {megabytes:5d} MB  {last}\n")
        sys.stdout.flush()
    return min(failed, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2:])
    elif sys.argv[1:2] == ["--write"]:
        Path(sys.argv[3]).write_bytes((BOMBS | LARGE)[sys.argv[2]][1]())
    else:
        sys.exit(main(sys.argv[1:]))
