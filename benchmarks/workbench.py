"""How much processor time pages of the workbench take over a large folder, against SQLite alone and an empty page.

python benchmarks/workbench.py [--results 2000] [--queries 100000]

Makes results that differ in their date, system and values, and two results over a set of many queries. The yardstick of
a page is the same rows from an SQLite file (by the statements below, on tables with indexes that fit, fetched whole),
plus the page of an empty folder through the same web server. Times are processor time of this process, whose client is
a thread of it and counts in both; each is the least of several rounds.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import numpy as np
import polars as pl

import assay
from assay.data.run import Run
from assay.server.workbench.opening import open_workbench

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 15
DEPTH = 5
KINDS = ("how-to", "fact", "list")


def key_of(name: str) -> str:
    """What pages call a file by."""
    return sha256(name.encode()).hexdigest()[:16]


def make_results(folder: Path, count: int) -> None:
    """So many results of 50 queries: twenty systems, whose means differ, one result an hour."""
    rng = np.random.default_rng(0)
    judged = {f"q{i:02d}": {f"d{j}": 1 for j in range(3)} for i in range(50)}
    plain = []
    for system in range(20):
        run = {query: {f"d{j}": float(rng.normal() + (j < 3)) for j in range(20)} for query in judged}
        assay.evaluate(judged, run, ["ndcg@10", "map"], name=f"system-{system}").save(folder / "one.json")
        plain.append(json.loads((folder / "one.json").read_text(encoding="utf-8")))
    (folder / "one.json").unlink()
    for number in range(count):
        date = f"2026-{number // 700 + 1:02d}-{number // 24 % 28 + 1:02d}T{number % 24:02d}:00:00Z"
        text = json.dumps({**plain[number % len(plain)], "date": date})
        (folder / f"result-{number:05d}.json").write_text(text, encoding="utf-8")


def make_set(folder: Path, queries: int) -> None:
    """A set of many queries with texts and an attribute, and two results over it."""
    rng = np.random.default_rng(1)
    ids = [f"q{i:06d}" for i in range(queries)]
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        for place, query in enumerate(ids):
            row = {"query_id": query, "text": f"how long should tea number {place} steep", "kind": KINDS[place % 3]}
            file.write(json.dumps(row) + "\n")
    column = np.repeat(ids, DEPTH)
    docs = np.tile([f"d{j}" for j in range(DEPTH)], queries)
    grades = (np.tile(np.arange(DEPTH), queries) == 0).astype(float)
    judgments = assay.Judgments.of(pl.DataFrame({"query_id": column, "doc_id": docs, "grade": grades}))
    for number in range(2):
        scores = rng.normal(size=len(column)) + (0.5 + 0.05 * number) * grades
        run = Run(pl.DataFrame({"query_id": column, "doc_id": docs, "score": scores}), f"large-{number}")
        assay.evaluate(judgments, run, ["ndcg@10"], name=f"large-{number}").save(folder / f"large-{number}.json")


def processor(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Milliseconds of processor time, the least of several rounds."""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        found.append(1000 * (time.process_time() - begun))
    return min(found)


def tables(folder: Path, found: sqlite3.Connection) -> None:
    """The same data as plain tables."""
    found.execute("CREATE TABLE results (name, date, system, measure, mean, low, high, n, parts, systems, series)")
    index = sqlite3.connect(folder / "workbench" / "history.sqlite")
    rows = []
    for text, series, mean in index.execute("SELECT entry, series, mean FROM entries WHERE fault = ''"):
        one = json.loads(text)
        of = one["mean"] or {}
        known = (
            one["name"],
            one["date"],
            one["system"],
            one["measure"],
            mean,
            of.get("low"),
            of.get("high"),
            of.get("n"),
        )
        rows.append((*known, " ".join(one["parts"]), " ".join(one["systems"]), series))
    found.executemany("INSERT INTO results VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
    found.execute("CREATE INDEX by_date ON results (date DESC, name DESC)")
    found.execute("CREATE INDEX by_series ON results (series, date DESC, name DESC, mean)")
    index.close()


def query_table(folder: Path, found: sqlite3.Connection) -> None:
    """The queries of both large results side by side."""
    old, new = (assay.read_result(folder / f"large-{number}.json")[0] for number in range(2))
    after = dict(zip(new.query_ids, new.column("ndcg@10").tolist(), strict=True))
    found.execute("CREATE TABLE queries (id PRIMARY KEY, text, kind, before, after, change)")
    rows = []
    for place, (query, value) in enumerate(zip(old.query_ids, old.column("ndcg@10").tolist(), strict=True)):
        text = f"how long should tea number {place} steep"
        rows.append((query, text, KINDS[place % 3], value, after[query], after[query] - value))
    found.executemany("INSERT INTO queries VALUES (?,?,?,?,?,?)", rows)
    found.execute("CREATE INDEX by_change ON queries (change, id)")


def ask_history(found: sqlite3.Connection, sought: str = "", page: int = 1) -> None:
    """One page of the history: its rows, how many match, how many there are, and the trend of each row."""
    where, values = (
        ("WHERE instr(lower(name || ' ' || systems || ' ' || measure), ?)", [sought]) if sought else ("", [])
    )
    found.execute("SELECT count(*) FROM results").fetchone()
    found.execute(f"SELECT count(*) FROM results {where}", values).fetchone()
    listed = f"SELECT * FROM results {where} ORDER BY date DESC, name DESC LIMIT 50 OFFSET ?"
    trend = (
        "SELECT mean FROM results WHERE series = ? AND (date, name) <= (?, ?) ORDER BY date DESC, name DESC LIMIT 24"
    )
    for row in found.execute(listed, [*values, 50 * (page - 1)]).fetchall():
        found.execute(trend, [row[-1], row[1], row[0]]).fetchall()


def ask_queries(found: sqlite3.Connection, where: str = "1", page: int = 1) -> None:
    """One page of the queries, how many match, and how many are better, worse and the same."""
    found.execute("SELECT sum(change > 1e-12), sum(change < -1e-12), count(*) FROM queries").fetchone()
    found.execute(f"SELECT count(*) FROM queries WHERE {where}").fetchone()
    listed = f"SELECT * FROM queries WHERE {where} ORDER BY change, id LIMIT 100 OFFSET ?"
    found.execute(listed, [100 * (page - 1)]).fetchall()


def ask_query(found: sqlite3.Connection, query: str) -> None:
    """One query, its neighbours, its place and how many there are."""
    change, name = found.execute("SELECT change, id FROM queries WHERE id = ?", [query]).fetchone()
    place = (change, name)
    found.execute("SELECT id FROM queries WHERE (change, id) > (?, ?) ORDER BY change, id LIMIT 1", place).fetchone()
    found.execute(
        "SELECT id FROM queries WHERE (change, id) < (?, ?) ORDER BY change DESC, id DESC LIMIT 1", place
    ).fetchone()
    found.execute("SELECT count(*) FROM queries WHERE (change, id) < (?, ?)", place).fetchone()
    found.execute("SELECT count(*) FROM queries").fetchone()


class Visitor:
    """A browser that has opened the address of a server."""

    def __init__(self, address: str) -> None:
        self.client = httpx2.Client(base_url=address.partition("/?")[0], follow_redirects=True, timeout=600)
        self.client.get(address)

    def open(self, path: str) -> str:
        """A page, which must be there."""
        found = self.client.get(path)
        assert found.status_code == 200, (path, found.status_code)
        return found.text


def measure(folder: Path, results: int) -> None:
    """Print a line for each page."""
    empty = folder.parent / "empty"
    empty.mkdir()
    database = sqlite3.connect(folder.parent / "alone.sqlite")
    begun = time.process_time()
    with open_workbench(empty) as nothing, open_workbench(folder) as server:
        bare, visitor = Visitor(nothing.address), Visitor(server.address)
        looks = 1
        while "being read, once" in visitor.open("/"):
            looks += 1
        first = time.process_time() - begun
        print(f"first look at {results:,} results: {first:.1f} s of processor time in {looks} pages, each at most 2 s")
        tables(folder, database)
        query_table(folder, database)
        database.commit()
        pair = f"r={key_of('large-0.json')}&r={key_of('large-1.json')}&base=large-0&other=large-1"
        begun = time.process_time()
        visitor.open(f"/compare?{pair}")
        print(f"first difference of the large results: {time.process_time() - begun:.1f} s")
        page = processor(lambda: bare.open("/"))
        seen, asked = iter(range(2, 99)), iter(range(2, 99))
        new = processor(lambda: visitor.open(f"/?page={next(seen)}"))
        least = processor(lambda: ask_history(database, page=next(asked)))
        print(f"an empty page: {page:.2f} ms\n\n| page | ms | SQLite alone, ms | ratio |\n|---|---:|---:|---:|")
        print(f"| history, a page that nobody opened before | {new:.1f} | {least:.1f} | {new / (least + page):.2f} |")
        for name, path, alone in pages(database, pair):
            took, least = processor(partial(visitor.open, path)), processor(alone)
            print(f"| {name} | {took:.1f} | {least:.1f} | {took / (least + page):.2f} |", flush=True)
    database.close()


def pages(found: sqlite3.Connection, pair: str) -> list[tuple[str, str, Callable[[], None]]]:
    """Each page with its address and with what SQLite does for the same."""
    compare, text = f"/compare?{pair}", "instr(lower(id || ' ' || text), 'number 777')"
    return [
        ("history", "/", partial(ask_history, found)),
        ("history, page 30", "/?page=30", partial(ask_history, found, page=30)),
        ("history, searched", "/?q=system-7", partial(ask_history, found, "system-7")),
        ("difference", compare, partial(ask_queries, found)),
        ("difference, page 250", f"{compare}&page=250", partial(ask_queries, found, page=250)),
        ("difference, worse", f"{compare}&sign=worse", partial(ask_queries, found, "change < -1e-12")),
        ("difference, an attribute", f"{compare}&attr=kind&value=fact", partial(ask_queries, found, "kind = 'fact'")),
        ("difference, searched", f"{compare}&q=number+777", partial(ask_queries, found, text)),
        ("query", f"/compare/query?{pair}&query=q000777", partial(ask_query, found, "q000777")),
    ]


def serve(folder: Path) -> None:
    """Open every page of a server in a process of its own, and print the peak of its memory (on Linux)."""
    pair = f"r={key_of('large-0.json')}&r={key_of('large-1.json')}&base=large-0&other=large-1"
    command = [sys.executable, "-m", "assay", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        visitor = Visitor(address)
        while "being read, once" in visitor.open("/"):
            pass
        print(f"memory of a server that has read all results: {memory(server.pid)}")
        compare = [f"/compare?{pair}", f"/compare?{pair}&q=777", f"/compare/query?{pair}&query=q000777"]
        for path in ("/", "/?q=system-7", "/experiments", "/production", "/label", *compare):
            visitor.open(path)
        print(f"memory after every page was opened: {memory(server.pid)}", flush=True)
        visitor.open(f"/result/{key_of('large-0.json')}")
        print(f"memory after the page of a large result was opened, too: {memory(server.pid)}", flush=True)
        server.terminate()


def memory(number: int) -> str:
    """The memory of a process now, and the most that it ever had."""
    text = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    sizes = {line.split(":")[0]: int(line.split()[1]) // 1000 for line in text.splitlines() if line.startswith("Vm")}
    return f"{sizes['VmRSS']} MB, {sizes['VmHWM']} MB at most"


def main() -> None:
    """Print the figures."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--results", type=int, default=2000)
    asked.add_argument("--queries", type=int, default=100_000)
    told = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        make_results(folder, told.results)
        make_set(folder, told.queries)
        print(f"{told.results:,} results of 50 queries, 2 results of {told.queries:,} queries", flush=True)
        serve(folder)
        (folder / "workbench" / "history.sqlite").unlink()
        measure(folder, told.results)


if __name__ == "__main__":
    main()
