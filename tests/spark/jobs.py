"""Cases that are evaluated by an engine, in a process of its own: `jobs.py WHERE FOLDER COUNT`.

WHERE is `local`, a master or a Connect server. Each case is written to a folder of its name; where it is not `local`,
FOLDER must already hold the inputs that `local` made.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))

from typing import TYPE_CHECKING, Any

import assay
from assay.analysis.answer_tables import answer_tables
from assay.analysis.check_tables import check_tables
from assay.analysis.evaluate_tables import evaluate_tables
from assay.demo import collection as bundle
from assay.demo.log import simulate_log
from assay.engines.local import LocalEngine
from assay.errors import AssayError
from assay.online.log_tables import read_event_tables
from lake import (
    MEASURES,
    RULES,
    SUBTOPICS,
    faulty_rows,
    random_log,
    random_rows,
    random_samples,
    rows_of_run,
    say_all,
    scatter,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from assay.engines.engine import Engine

SHARED = Path(__file__).parents[3] / "shared" / "data" / "robust03"
SETTINGS = {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "false"}
STRESS = os.environ.get("ASSAY_STRESS") == "1"
SHORT = {  # of all cases, those that run unless ASSAY_STRESS is set
    "cluster": ("demo", "demo_joined", "random1", "random2", "random3", "random3_joined", "fold_after", "fold_map",
                "dedupe", "trec9", "subtopics_joined"),
    "connect": ("demo", "random1", "random3_joined", "fold_map", "subtopics"),
}  # fmt: skip
OTHERS = {  # likewise, of what is not an evaluation
    "cluster": ("check_0", "check_1000000", "answers_words", "answers_lines", "answers_embedding", "faults",
                "log_random", "log_lines"),
    "connect": ("check_1000000", "answers_lines", "log_frame"),
}  # fmt: skip
ALL_OTHERS = tuple(dict.fromkeys((*OTHERS["cluster"], *OTHERS["connect"])))
FAILING = ("fails_twice", "loses_its_executor")
LOST = "log_loses_its_executor"  # likewise, of a log


def engine_at(where: str) -> Engine:
    if where == "local":
        return LocalEngine()
    from assay.engines import sessions
    from assay.engines.spark import SparkEngine

    kind = "remote" if where.startswith("sc:") else "master"
    return SparkEngine(sessions.start(**{kind: where}, settings=SETTINGS))


def make_inputs(folder: Path, count: int) -> None:
    """Write the rows of all cases, in no order."""
    runs = {path.stem: assay.read_run(path) for path in bundle().runs}
    write(folder / "demo", name_systems(runs))
    if STRESS and SHARED.is_dir():
        paths = sorted(SHARED.glob("*.run.gz"))
        write(folder / "robust03", name_systems({path.name.partition(".")[0]: assay.read_run(path) for path in paths}))
    for name, rows in zip(("faulty_judged", "faulty"), faulty_rows(random.Random(0), count), strict=True):
        scatter(rows, folder / name, 2, random.Random(0))
    samples = random_samples(random.Random(0), 20)
    scatter(pl.DataFrame(samples), folder / "samples", 2, random.Random(0))
    (folder / "lines").mkdir()
    (folder / "lines" / "part-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    scatter(random_log(random.Random(1), 1000 if STRESS else 60), folder / "random_log", 2, random.Random(0))
    (folder / "demo_log").mkdir()
    (folder / "demo_log" / "events.ndjson").write_text("\n".join(simulate_log(bundle()).lines()) + "\n")
    cleaned = assay.read_events(folder / "demo_log").frame.drop("orphan").collect()
    cleaned.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(folder / "flat.parquet")
    spoil(folder)
    for number in range(len(RULES)):
        qrels, run = random_rows(random.Random(number), count)
        assay.write_judgments(assay.Judgments.from_dict(qrels), folder / f"random{number}.jsonl")
        write(folder / f"random{number}", rows_of_run(run).with_row_index("rank", 1))
        rows = rows_of_run(run).with_row_index("rank", 1)
        if number == 0:
            rng = random.Random(0)
            chunk = pl.Series("chunk_id", [f"{doc}#{rng.randrange(10**6)}" for doc in rows["doc_id"]])
            write(folder / "chunks", pl.concat([rows.with_columns(chunk), again(rows, rng)]))
            write(folder / "repeats", pl.concat([rows, rows.with_columns(pl.col("score") - 1)]))
            topics = assay.Judgments.from_dict(qrels).frame
            topics = [topics.with_columns(subtopic=pl.lit(str(n))).sample(fraction=0.6, seed=n) for n in range(3)]
            pl.concat(topics).write_parquet(folder / "topics.parquet")


def again(rows: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """A second chunk of each document, with another score."""
    ids = [f"{doc}#x{rng.randrange(10**6)}" for doc in rows["doc_id"]]
    return rows.with_columns(pl.Series("chunk_id", ids), pl.Series("score", [rng.gauss(0, 3) for _ in ids]))


def spoil(folder: Path) -> None:
    """Folders of which one part is cut off or lacks a column."""
    rows = rows_of_run({"q": {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}})
    scatter(rows, folder / "cut", 2, random.Random(0))
    part = folder / "cut" / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    scatter(rows.with_columns(chunk_id="doc_id"), folder / "lacks", 2, random.Random(0))
    rows.write_parquet(folder / "lacks" / "part-9.parquet")
    scatter(pl.DataFrame(random_samples(random.Random(0), 4)), folder / "samples_lack", 2, random.Random(0))
    part = folder / "samples_lack" / "part-1.parquet"
    pl.read_parquet(part).drop("contexts").write_parquet(part)


def name_systems(runs) -> pl.DataFrame:
    frames = [run.frame.with_columns(system=pl.lit(name)) for name, run in runs.items()]
    return pl.concat(frames).select("system", "query_id", "doc_id", "score")


def write(folder: Path, rows: pl.DataFrame) -> None:
    rows = rows if "rank" in rows.columns else rows.with_row_index("rank", 1)
    rows = rows.sample(fraction=1.0, shuffle=True, seed=1) if folder.name != "random1" else rows
    folder.mkdir()
    half = len(rows) // 2 + 1
    for number in range(2):
        rows[number * half : (number + 1) * half].write_parquet(folder / f"part-{number}.parquet", row_group_size=5000)


def cases(folder: Path):
    """Names, judgments, runs, measures and options."""
    demo = bundle().judgments
    yield "demo", demo, folder / "demo", MEASURES["docid"], {"parts": 2, "kept": True}
    yield "demo_joined", demo, folder / "demo", MEASURES["docid"], {"carried": 0}
    if (folder / "robust03").is_dir():
        yield "robust03", SHARED / "qrels.txt.gz", folder / "robust03", MEASURES["docid"], {"kept": True}
    for number, rules in enumerate(RULES):
        judged, run = folder / f"random{number}.jsonl", folder / f"random{number}"
        measures = MEASURES[rules.get("ties", "docid")]
        yield f"random{number}", judged, run, measures, {"rules": rules}
        if number in {0, 3}:
            yield f"random{number}_joined", judged, run, measures, {"rules": rules, "carried": 0}
    judged, topics = folder / "random0.jsonl", folder / "topics.parquet"
    fold = ["ndcg@3", "P@2", "map"]
    for way in ("after", "before"):
        yield f"fold_{way}", judged, folder / "chunks", fold, {"rules": {"fold": way}}
    yield "fold_map", judged, folder / "random0", fold, {"rules": {"fold": "after"}, "chunks": "{doc}{chunk}"}
    yield "dedupe", judged, folder / "repeats", MEASURES["docid"], {"dedupe": True}
    yield "trec9", judged, folder / "random0", None, {"protocol": "trec9"}
    yield "subtopics", topics, folder / "random0", SUBTOPICS, {}
    yield "subtopics_joined", topics, folder / "random0", SUBTOPICS, {"carried": 0}


def failing_cases(folder: Path):
    """A measure that fails as it is told, and counts how often that was, in files."""
    for name in FAILING:
        marks = folder / f"marks_{name}"

        def troubled(ranking, k, name=name, marks=str(marks)):
            import signal
            from pathlib import Path

            try:
                from pyspark import TaskContext
            except ImportError:
                TaskContext = None  # noqa: N806
            task = TaskContext.get() if TaskContext else None
            if task is not None and task.partitionId() == 1 and name == "fails_twice" and task.attemptNumber() < 2:
                Path(marks).mkdir(exist_ok=True)
                (Path(marks) / str(task.taskAttemptId())).touch()
                raise RuntimeError("this task is made to fail")
            if task is not None and name != "fails_twice":
                with contextlib.suppress(FileExistsError):  # a stage that is done again counts its attempts anew
                    Path(marks).mkdir()
                    (Path(marks) / str(task.taskAttemptId())).touch()
                    daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
                    os.kill(int(daemon[1]), signal.SIGKILL)  # the parent of the workers' parent: the executor
            return ranking.retrieved.astype(float)

        troubled.__name__ = name
        yield name, folder / "random0.jsonl", folder / "random0", [assay.measure(troubled), "map"], {}


def checks(engine: Engine, folder: Path, wanted: Collection[str]) -> dict[str, list[str]]:
    """What is found in judgments and runs that have every fault, with judgments that are sent and that are joined."""
    return {
        f"check_{carried}": [repr(one) for one in check_tables(
            str(folder / "faulty_judged"), [str(folder / "faulty")], engine=engine, carried=carried).findings]
        for carried in (0, 10**6) if f"check_{carried}" in wanted
    }  # fmt: skip


def answers(engine: Engine, folder: Path, wanted: Collection[str]) -> dict[str, list[str]]:
    """Answers that are judged by words and by embeddings, in a table and in lines."""
    found = {}
    for name, place, how in (
        ("words", "samples", {}), ("lines", "lines", {"cluster": "area"}),
        ("embedding", "samples", {"method": "embedding", "embedder": "wordllama"}),
    ):  # fmt: skip
        if f"answers_{name}" not in wanted:
            continue
        out = folder / f"out_{uuid4().hex}"
        systems = answer_tables(
            str(folder / place), engine=engine, folder=out, parts=2 if name == "words" else 1, **how
        )
        found[f"answers_{name}"] = [
            repr((key, one.query_ids, one.values.tobytes(), one.status.tolist(), one.mean(), one.counts, one.warnings,
                  one.notes, one.clusters, one.judgments_digest)) for key, one in systems.items()
        ] + sorted(path.name.split("-")[-1] for path in out.glob("part-*"))  # fmt: skip
    return found


def logs(engine: Engine, folder: Path, wanted: Collection[str]) -> dict[str, list[str]]:
    """What is measured and judged in logs: with every fault in tables, of the demo in lines, and in frames of Spark."""
    found = {}
    for name, place, more in (
        ("log_random", "random_log", {"attributes": ["area"], "fold_variants": True}), ("log_lines", "demo_log", {}), ("log_frame", "flat.parquet", {}),
    ):  # fmt: skip
        if name not in wanted:
            continue
        given: Any = str(folder / place)
        control = None if name == "log_random" else "bm25"
        if engine.name == "local":
            found[name] = tell_all(assay.read_events(given, **more), control)
            continue
        if name == "log_frame":
            given = engine.session.read.parquet(given)  # whose rows have no order
        with read_event_tables(given, engine=engine, **more) as log:
            found[name] = tell_all(log, control)
    return found


def tell_all(log: Any, control: str | None = None) -> list[str]:
    """What commands make of a log, every bit of it."""
    return [json.dumps(one, default=str) for one in say_all(log, control)]


def losing(engine: Engine, folder: Path) -> dict[str, list[str]]:
    """A log that is measured before and after an executor that keeps its rows was killed."""
    if engine.name == "local":
        return {LOST: tell_all(assay.read_events(folder / "random_log", fold_variants=True))}
    marks = folder / f"marks_{LOST}"
    kept = str(marks)

    def kill(frame: pl.LazyFrame) -> pl.LazyFrame:
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()  # none where the columns of the query are looked up
        if task is not None:
            with contextlib.suppress(FileExistsError):
                Path(kept).mkdir()
                (Path(kept) / str(task.taskAttemptId())).touch()
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
                os.kill(int(daemon[1]), signal.SIGKILL)
        return frame.select(pl.len())

    with read_event_tables(str(folder / "random_log"), engine=engine, fold_variants=True) as log:
        log.over_users(kill)
        return {LOST: tell_all(log)}


def faults(engine: Engine, folder: Path) -> dict[str, list[str]]:
    """What is said of a part that is cut off, and of one that lacks a column."""
    judged, found = folder / "random0.jsonl", []
    for name in ("cut", "lacks", "samples_lack"):
        try:
            if name == "samples_lack":
                answer_tables(str(folder / name), ["exact_match"], engine=engine)
            else:
                evaluate_tables(judged, str(folder / name), "map", engine=engine)
        except AssayError as error:
            found.append(str(error))
    return {"faults": found}


def main(where: str, place: str, count: str, *names: str) -> None:
    folder = Path(place)
    engine = engine_at(where)
    if where == "local":
        make_inputs(folder, int(count))
    label = {"local": "here", "sc": "connect"}.get(where.partition(":")[0], "cluster")
    told = {}
    for each in (failing_cases if names else cases, *([failing_cases] if where == "local" else [])):
        for name, judged, run, measures, options in each(folder):
            if label in SHORT and not STRESS and name not in (*SHORT[label], *FAILING):
                continue
            given = {"rules": {}, "parts": 1, "kept": False, **options}
            place = folder / f"{label}_{name}" if given.pop("kept") else None
            found = evaluate_tables(judged, str(run), measures, engine=engine, folder=place, **given)
            systems = found if isinstance(found, dict) else {"run": found}
            told[name] = {
                system: {
                    "means": {key: value.hex() for key, value in one.mean().items()},
                    "table": sha256(repr(one.query_ids).encode() + one.values.tobytes() + one.status.tobytes()).hexdigest(),
                    "counts": repr(one.counts), "warnings": list(one.warnings), "digest": one.judgments_digest,
                }
                for system, one in systems.items()
            }  # fmt: skip
    if not names:
        wanted = ALL_OTHERS if STRESS or label == "here" else OTHERS[label]
        told |= checks(engine, folder, wanted) | answers(engine, folder, wanted) | logs(engine, folder, wanted)
        told |= faults(engine, folder) if "faults" in wanted else {}
    if names or label == "here":
        told |= losing(engine, folder)
    (folder / f"{label}{'_failing' if names else ''}.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
