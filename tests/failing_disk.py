"""A disk that fails at its n-th operation, and commands that meet it; run as a script, it prints what they left as JSON.

Operations are those on files below one folder: opening, writing, fsync and renaming, as seen by the audit hooks of Python.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import sys
import traceback
from pathlib import Path

from assay.testing import FakeLLM
from otlp import lines, rag, request
from question_writer import judge_or_write

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
FEW = 4  # steps that are tried when not every one is
MORE = {"run a folder": 9}  # most of its steps are those of the cache, which it can do without
OLD = "old\n"
INPUTS = {
    "q": "q1 0 d1 1\nq2 0 d3 1\n",
    "a.run": "q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq2 Q0 d3 1 1 a\n",
    "b.run": "q1 Q0 d2 1 2 b\nq1 Q0 d1 2 1 b\nq2 Q0 d3 1 1 b\n",
    "judged": "".join(f"q{i} 0 d{i} {i % 2}\n" for i in range(60)),
    "qs.jsonl": '{"query_id": "q1", "text": "tea"}\n{"query_id": "q2", "text": "rain"}\n',
    "ds.jsonl": "".join(json.dumps({"doc_id": f"d{i}", "text": f"Tea and rain {i}."}) + "\n" for i in range(1, 4)),
    "s.jsonl": '{"id": "1", "question": "When?", "answer": "In 1889.", "contexts": ["It opened in 1889."]}\n',
    "t.jsonl": '{"id": "1", "question": "When?", "answer": "In 1890.", "contexts": ["It opened in 1889."]}\n',
    "labelled.jsonl": "".join(
        json.dumps(
            {
                "id": str(i),
                "question": "When?",
                "answer": f"In {1880 + i}.",
                "contexts": [f"It opened in {1880 + i % 3}."],
                "human": i % 2,
            }
        )
        + "\n"
        for i in range(20)
    ),
    "e.toml": '[data]\ndocuments = "ds.jsonl"\nqueries = "qs.jsonl"\njudgments = "q"\n[retrieve]\nmethod = "bm25"\n[evaluate]\nmeasures = ["ndcg@10"]\n',
    "backwards.py": "def order(query, documents):\n    return list(range(len(documents)))\n\n"
    "def answer(question):\n    return {'answer': 'Tea.', 'ids': ['d1', 'd3']}\n",
    "c.toml": "[method.a]\nper_query = 0.01\n[method.b]\nper_query = 0.02\n",
    "log.csv": "query_id,user,time,action,text,doc_id,position\n"
    + "".join(
        f"{i},u{i},2026-11-01T12:{i:02d}:00Z,query,tea,,\n{i},u{i},2026-11-01T12:{i:02d}:01Z,impression,,d{i % 2},{1 + i % 2}\n"
        f"{i},u{i},2026-11-01T12:{i:02d}:02Z,click,,d{i % 2},{1 + i % 2}\n"
        for i in range(40)
    ),
    "texts.jsonl": json.dumps(
        {
            "doc_id": "tea",
            "text": "Green tea is steamed right after picking. Black tea oxidises for hours, which darkens the leaves.",
        }
    )
    + "\n"
    + json.dumps(
        {
            "doc_id": "rain",
            "text": "Monsoon rain feeds the terraces of Darjeeling. Drought in spring delays the first flush by weeks.",
        }
    )
    + "\n",
    "shelf/tea.txt": "Green tea is steamed right after picking. Black tea oxidises for hours, which darkens the leaves.",
    "shelf/rain.txt": "Monsoon rain feeds the terraces of Darjeeling. Drought in spring delays the first flush by weeks.",
    "tea/queries.jsonl": '{"query_id": "q1", "text": "tea"}\n{"query_id": "q2", "text": "rain"}\n',
    "tea/judgments.qrels": "q1 0 d1 1\nq2 0 d2 1\n",
    "tea/documents.jsonl": '{"doc_id": "d1", "text": "Tea."}\n{"doc_id": "d2", "text": "Rain."}\n',
    "tea2/queries.jsonl": '{"query_id": "q3", "text": "snow"}\n',
    "shown.csv": "item_id,click,propensity_score\n" + "".join(f"{i % 4},{int(i % 7 == 0)},0.25\n" for i in range(400)),
    "spans.jsonl": lines(*(request(*rag(i + 1, begin=i * 300.0, user=f"u{i}")) for i in range(12))),
    "users.csv": "variant,clicks\n" + "".join(f"{'ab'[i % 2]},{i % 7}\n" for i in range(200)),
}
PAGE = ["--report", "out.html"]
RESULT = ["-o", "out.json"]
ASKING = ["--judge", "m", "--url", "URL", "--cache", "c.sqlite"]
# Every command that writes files, with every option that names one (tests/cli/test_faults.py compares), and what it
# writes; files in a folder stand with it. made.json is a result of evaluate, compared.json and tested.json those of a
# comparison and an A/B test.
COMMANDS = {
    "evaluate": (["evaluate", "q", "a.run", "-m", "map", *RESULT, *PAGE], ["out.json", "out.html"]),
    "evaluate to a folder": (["evaluate", "q", "a.run", "-m", "map", "--parts", "2", "-o", "scores/"], ["scores/assay-result.json"]),
    "answers": (["answers", "s.jsonl", "--method", "words", *RESULT, "--per-sample", "each.jsonl", *PAGE], ["out.json", "each.jsonl", "out.html"]),
    "answers with a judge": (["answers", "s.jsonl", "--method", "llm", *ASKING, *RESULT], ["out.json"]),
    "diagnose": (["diagnose", "q", "a.run", *RESULT, *PAGE], ["out.json", "out.html"]),
    "gate": (["gate", "made.json", "--fail-under", "map=0.1", *RESULT, "--junit", "out.xml", *PAGE], ["out.json", "out.xml", "out.html"]),
    "check": (["check", "s.jsonl", *RESULT], ["out.json"]),
    "compare": (["compare", "q", "a.run", "b.run", "-m", "map", *RESULT, *PAGE], ["out.json", "out.html"]),
    "fuse": (["fuse", "a.run", "b.run", "--by", "weighted", "--tune", "judged", "--write-split", "split.csv", "-o", "out.run"], ["out.run", "split.csv"]),
    "judge": (["judge", "a.run", "--queries", "qs.jsonl", "--documents", "ds.jsonl", *ASKING, "-o", "out.qrels", "--details", "why.jsonl"], ["out.qrels", "why.jsonl"]),
    "judge with a panel": (["judge", "a.run", "--queries", "qs.jsonl", "--documents", "ds.jsonl", *ASKING, "--repeats", "2", "-o", "out.qrels", *PAGE], ["out.qrels", "out.html"]),
    "judge --prefer": (["judge", "--prefer", "s.jsonl", "t.jsonl", *ASKING, "-o", "out.jsonl"], ["out.jsonl"]),
    "calibrate": (["calibrate", "labelled.jsonl", "--method", "overlap", "--resamples", "20", *RESULT, *PAGE], ["out.json", "out.html"]),
    "run": (["run", "e.toml", "-o", "results", "--cache", "stages", *PAGE], ["results/result.json", "out.html"]),
    "run --candidates": (["run", "q", "--candidates", "a.run", "--reranker", "backwards:order", "--queries", "qs.jsonl", "--documents", "ds.jsonl", "--run-output", "out.run", *RESULT], ["out.run", "out.json"]),
    "run --app": (["run", "q", "--app", "backwards:answer", "--queries", "qs.jsonl", "-m", "ndcg@10", "-o", "results", "--cache", "stages", *PAGE], ["results/result.json", "out.html"]),
    "run a folder": (["run", "shelf", "--yes", "-n", "2", "--only", "bm25", "-o", "made", "-q"], ["made/experiment.toml", "made/result.json"]),
    "bench": (["bench", "json:dumps", "--pass", "query", "--runs", "20", *RESULT, *PAGE], ["out.json", "out.html"]),
    "cost": (["cost", "c.toml", *RESULT, *PAGE], ["out.json", "out.html"]),
    "ab analyse": (["ab", "analyse", "users.csv", "-m", "clicks", "--control", "a", *RESULT, *PAGE], ["out.json", "out.html"]),
    "ab plan": (["ab", "plan", "--mean", "0.05", "--lift", "0.1", *RESULT, *PAGE], ["out.json", "out.html"]),
    "ab history": (["ab", "history", "compared.json=tested.json", *RESULT, *PAGE], ["out.json", "out.html"]),
    "ab interleave": (["ab", "interleave", "a.run", "b.run", "-o", "out.jsonl", *PAGE], ["out.jsonl", "out.html"]),
    "ab replay": (["ab", "replay", "shown.csv", "--policy", "uniform", *RESULT, *PAGE], ["out.json", "out.html"]),
    "log metrics": (["log", "metrics", "log.csv", *RESULT, *PAGE], ["out.json", "out.html"]),
    "log watch": (
        ["log", "watch", "log.csv", "--once", "-m", "any_click", "--state", "watched", "--bad", "bad.jsonl", "--evaluations", "values.jsonl", "--prometheus", "out.prom", "--rules", "out.yml", "--dashboard", "board.json", *RESULT, *PAGE],
        ["out.json", "out.html", "out.prom"],
    ),
    "log watch with a judge": (["log", "watch", "spans.jsonl", "--once", "--judged", "5", "--state", "watched", "--bad", "bad.jsonl", "--evaluations", "values.jsonl", *ASKING, *RESULT], ["out.json"]),
    "log judgments": (["log", "judgments", "log.csv", "-o", "out.qrels", "--queries-out", "texts.jsonl", *PAGE], ["out.qrels", "texts.jsonl", "out.html"]),
    "log sample": (["log", "sample", "log.csv", "-n", "1", "-o", "out.jsonl", *PAGE], ["out.jsonl", "out.html"]),
    "set questions": (["set", "questions", "texts.jsonl", "-n", "2", *RESULT, *PAGE], ["out.json", "out.html"]),
    "set questions with a model": (["set", "questions", "texts.jsonl", "-n", "2", *ASKING, *RESULT], ["out.json"]),
    "set pool": (["set", "pool", "a.run", "b.run", "--method", "sample", "--budget", "3", "-o", "out.jsonl", *PAGE], ["out.jsonl", "out.html"]),
    "set info": (["set", "info", "tea", *RESULT, *PAGE], ["out.json", "out.html"]),
    "set split": (["set", "split", "tea", "--parts", "a=0.5,b=0.5", "--seed", "0", "-o", "out", *PAGE], ["out.html"]),
    "set merge": (["set", "merge", "tea", "tea2", "-o", "out", *PAGE], ["out.html"]),
    "report": (["report", "made.json", "-o", "out.html"], ["out.html"]),
    "convert": (["convert", "run", "a.run", "out.csv"], ["out.csv"]),
}  # fmt: skip

FRESH = {
    "made/experiment.toml",
    "made/result.json",
    "scores/assay-result.json",
}  # in a folder that must not be there before


class Disk:
    """Counts operations in a folder, and fails at one of them."""

    def __init__(self, folder):
        self.folder, self.count, self.fails, self.error, self.on = f"{folder}{os.sep}", 0, 0, 0, False

    def step(self, path):
        if not self.on or not isinstance(path, (str, bytes, os.PathLike)):
            return
        if not os.path.abspath(os.fsdecode(path)).startswith(self.folder):  # noqa: PTH100 - opens nothing
            return
        self.count += 1
        if self.count == self.fails:
            raise OSError(self.error, os.strerror(self.error), os.fsdecode(path))

    def watch(self):
        disk, sync, attach = self, os.fsync, os.fdopen
        sys.addaudithook(lambda event, given: disk.step(given[0]) if event in {"open", "os.rename"} else None)

        def fsync(handle):
            disk.step(disk.folder + "fsync")
            return sync(handle)

        class Failing(io.FileIO):
            def write(self, data):
                disk.step(disk.folder + "write")
                return super().write(data)

        def fdopen(handle, mode="r", *args, **options):
            return Failing(handle, mode) if mode == "wb" else attach(handle, mode, *args, **options)

        os.fsync, os.fdopen = fsync, fdopen


def run(words):
    """Exit code and what was printed on standard error."""
    from assay.cli import main

    told = io.StringIO()
    sys.argv = ["assay", *words]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        try:
            main()
        except SystemExit as stop:
            return stop.code or 0, told.getvalue()
        except BaseException:  # noqa: BLE001 - what is not ours is what is looked for
            return "traceback", traceback.format_exc()
    return 0, told.getvalue()


def prepare(folder, outputs):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    for name, text in INPUTS.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    for name in set(outputs) - FRESH:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(OLD)


def look(outputs, before):
    """What is in each output, and what else was left; an experiment keeps what was there in a folder inside its own."""
    files = {str(path) for path in Path().rglob("*") if path.is_file()}
    drafts = sorted(name for name in files - before if Path(name).name.startswith("."))
    places = {name: [Path(name), *Path(name).parent.glob(f"earlier-*/{Path(name).name}")] for name in outputs}
    return {
        name: next((one.read_text() for one in found if one.exists()), None) for name, found in places.items()
    }, drafts


def main(folder, name, every):
    words, outputs = COMMANDS[name]
    if not every and "--report" in words:  # a page takes a second
        words, outputs = [word for word in words if word not in PAGE], [one for one in outputs if one not in PAGE]
    disk = Disk(folder)
    disk.watch()
    with FakeLLM(judge_or_write) as server:
        words = [server.url if word == "URL" else word for word in words]

        def once(fails, error):
            prepare(folder, outputs)
            if "made.json" in words:
                run(["evaluate", "q", "a.run", "-m", "map", "-o", "made.json"])
            if "compared.json=tested.json" in words:
                run(["compare", "q", "a.run", "b.run", "-m", "map", "-o", "compared.json"])
                run(["ab", "analyse", "users.csv", "-m", "clicks", "--control", "a", "-o", "tested.json"])
            for one in sorted({"tea", "tea2"} & set(words)):
                run(["set", "info", one, "--accept"])
            before = {str(path) for path in Path().rglob("*")}
            disk.count, disk.fails, disk.error, disk.on = 0, fails, error, True
            code, told = run(words)
            disk.on = False
            left, drafts = look(outputs, before)
            return {"fails": fails, "error": error, "code": code, "told": told, "left": left, "drafts": drafts}

        once(0, 0)  # imports
        found = [once(0, 0)]
        steps = disk.count
        for fails in range(1, steps + 1, 1 if every else max(1, steps // MORE.get(name, FEW))):
            found += [once(fails, error) for error in (ERRORS if every else [ERRORS[fails % 3]])]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "every")
