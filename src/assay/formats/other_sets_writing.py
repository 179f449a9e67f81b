"""Evaluation sets as other tools read them: a writer returns what the other tool has no place for."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay.errors import UsageError, excerpt
from assay.formats.files import write_atomically
from assay.formats.other_sets import AI, GROUPS, HUMAN
from assay.messages import Said, say

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from assay.formats.other_sets import Row, SetContents


def write_other_set(contents: SetContents, place: str | os.PathLike[str], kind: str) -> tuple[Said, ...]:
    """Write a set as another tool reads it; return what it has no place for."""
    path = Path(place)
    if kind in {"beir", "autorag"}:
        path.mkdir(exist_ok=True)
    elif path.suffix not in _SUFFIXES[kind]:
        raise UsageError(
            say(
                "a set of {kind} is a {suffixes} file, not {name}",
                kind=kind,
                suffixes=list(_SUFFIXES[kind]),
                name=excerpt(path.name),
            )
        )
    return _WRITERS[kind](contents, path)


_SUFFIXES = {"ragas": (".jsonl", ".csv"), "llamaindex": (".json",), "llamaindex-rag": (".json",)}


def _lines(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode(
        "utf-8", "backslashreplace"
    )


def _relevant(contents: SetContents) -> dict[str, dict[str, float]]:
    """Relevant documents by query: judged so or, without judgments, with gold in them."""
    if contents.judgments is not None:
        judged = contents.judgments.by_query.items()
        return {
            query: kept for query, docs in judged if (kept := {doc: grade for doc, grade in docs.items() if grade > 0})
        }
    found: dict[str, dict[str, float]] = {}
    for row in contents.gold:
        found.setdefault(str(row["query_id"]), {})[str(row["doc_id"])] = 1.0
    return found


def _contexts(contents: SetContents) -> dict[str, list[str]]:
    """Texts that answer each query: of its gold or, without any, of its relevant documents."""
    found: dict[str, list[str]] = {}
    for row in contents.gold:
        whole = contents.documents.get(str(row.get("doc_id")), "")
        text = row.get("text") or whole[row.get("start") or 0 : row.get("end") or 0]
        found.setdefault(str(row["query_id"]), []).append(str(text))
    for query, docs in _relevant(contents).items():
        if query not in found:
            found[query] = [contents.documents[doc] for doc in docs if doc in contents.documents]
    return found


def _note_columns(contents: SetContents, kept: set[str]) -> list[Said]:
    names = dict.fromkeys(name for row in contents.queries for name in row if name not in kept)
    return [say("other_set.lost_columns", names=list(names))] if names else []


def _note_grades(contents: SetContents) -> list[Said]:
    if contents.judgments is None:
        return []
    grades = {grade for docs in contents.judgments.by_query.values() for grade in docs.values()}
    return [say("other_set.lost_grades")] if grades - {1.0} else []


def _note_gold(contents: SetContents) -> list[Said]:
    return [say("other_set.lost_gold", n=len(contents.gold))] if contents.gold else []


def _write_beir(contents: SetContents, path: Path) -> tuple[Said, ...]:
    corpus = [{"_id": doc, "title": "", "text": text} for doc, text in contents.documents.items()]
    queries = [
        {"_id": row["query_id"], "text": row.get("text") or "",
         "metadata": {name: value for name, value in row.items() if name not in {"query_id", "text"}}}
        for row in contents.queries
    ]  # fmt: skip
    judged = _relevant(contents) if contents.judgments is None else contents.judgments.by_query
    odd = next((one for query, docs in judged.items() for one in (query, *docs) if "\t" in one or "\n" in one), None)
    if odd is not None:
        raise UsageError(say("id {id} has a tab or a line break, which BEIR's judgments cannot hold", id=excerpt(odd)))
    rows = [f"{query}\t{doc}\t{grade:g}\n" for query, docs in judged.items() for doc, grade in docs.items()]
    write_atomically(path / "corpus.jsonl", _lines(corpus))
    write_atomically(path / "queries.jsonl", _lines(queries))
    if rows:
        (path / "qrels").mkdir(exist_ok=True)
        write_atomically(path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n" + "".join(rows))
    odd_grades = any(grade != int(grade) for docs in judged.values() for grade in docs.values())
    return (*_note_gold(contents), *([say("other_set.whole_grades")] if odd_grades else []))


def _write_autorag(contents: SetContents, path: Path) -> tuple[Said, ...]:
    relevant = _relevant(contents)
    rows = [
        {
            "qid": str(row["query_id"]), "query": str(row.get("text") or ""),
            "retrieval_gt": row.get(GROUPS) or [[doc] for doc in relevant.get(str(row["query_id"]), {})],
            "generation_gt": row.get("references") or ([str(row["reference"])] if row.get("reference") else []),
        }
        for row in contents.queries
    ]  # fmt: skip
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "qid": pl.String,
        "query": pl.String,
        "retrieval_gt": pl.List(pl.List(pl.String)),
        "generation_gt": pl.List(pl.String),
    }
    _write_parquet(pl.DataFrame(rows, schema=schema), path / "qa.parquet")
    corpus = [
        {"doc_id": doc, "contents": text, "metadata": {"last_modified_datetime": None}}
        for doc, text in contents.documents.items()
    ]
    made: dict[str, pl.DataType | type[pl.DataType]] = {
        "doc_id": pl.String,
        "contents": pl.String,
        "metadata": pl.Struct({"last_modified_datetime": pl.Datetime}),
    }
    _write_parquet(pl.DataFrame(corpus, schema=made), path / "corpus.parquet")
    kept = {"query_id", "text", "reference", "references", GROUPS}
    return (*_note_gold(contents), *_note_grades(contents), *_note_columns(contents, kept))


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    write_atomically(path, buffer.getvalue())


def _write_pairs(contents: SetContents, path: Path) -> tuple[Said, ...]:
    data = {
        "queries": {str(row["query_id"]): str(row.get("text") or "") for row in contents.queries},
        "corpus": dict(contents.documents),
        "relevant_docs": {query: list(docs) for query, docs in _relevant(contents).items()},
        "mode": "text",
    }
    write_atomically(path, json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace"))
    return (
        *_note_gold(contents),
        *_note_grades(contents),
        *_note_columns(contents, {"query_id", "text"}),
    )


def _write_examples(contents: SetContents, path: Path) -> tuple[Said, ...]:
    contexts = _contexts(contents)
    model = ", ".join(contents.models)
    kinds = {"person": HUMAN, "log": HUMAN, "model": AI}
    examples = []
    for row in contents.queries:
        kind = kinds.get(str(row.get("made_by") or contents.made_by))
        examples.append(
            {
                "query": str(row.get("text") or ""),
                "query_by": None if kind is None else {"model_name": model if kind == AI else "", "type": kind},
                "reference_contexts": contexts.get(str(row["query_id"]), []),
                "reference_answer": str(row.get("reference") or ""),
                "reference_answer_by": None,
            }
        )
    write_atomically(
        path, json.dumps({"examples": examples}, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
    )
    kept = {"query_id", "text", "reference", "made_by"}
    return (say("other_set.lost_ids"), *_note_grades(contents), *_note_columns(contents, kept))


def _write_ragas(contents: SetContents, path: Path) -> tuple[Said, ...]:
    contexts = _contexts(contents)
    rows = [
        {"user_input": str(row.get("text") or ""), "reference_contexts": contexts.get(str(row["query_id"]), []),
         "reference": str(row.get("reference") or ""), "synthesizer_name": str(row.get("synthesizer_name") or "")}
        for row in contents.queries
    ]  # fmt: skip
    if path.suffix == ".jsonl":
        write_atomically(path, _lines(rows))
    else:
        flat = [{**row, "reference_contexts": repr(row["reference_contexts"])} for row in rows]
        write_atomically(path, pl.DataFrame(flat).write_csv())
    kept = {"query_id", "text", "reference", "synthesizer_name"}
    return (say("other_set.lost_ids"), *_note_grades(contents), *_note_columns(contents, kept))


_WRITERS = {
    "beir": _write_beir, "autorag": _write_autorag, "llamaindex": _write_pairs, "llamaindex-rag": _write_examples,
    "ragas": _write_ragas,
}  # fmt: skip
