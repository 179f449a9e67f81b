"""Evaluation sets of other tools, read: BEIR, ragas, AutoRAG and LlamaIndex.

A reader returns the contents of a set and says what of the file they leave out. Contexts without ids become documents
that are named by a hash of their text.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.judgments import Judgments
from assay.errors import InputError, excerpt
from assay.formats import tables
from assay.formats.cells import Fault, plain, unpack
from assay.formats.decoding import peek, read_json
from assay.formats.detect import format_of
from assay.formats.files import Input, is_there
from assay.formats.reading import read_judgments
from assay.messages import say

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, Any]
_DIGITS = 12  # of the hash that names a context
GROUPS = "retrieval_gt"  # AutoRAG's groups of documents: one of each is needed
_RAGAS = ("user_input", "question")
_RAGAS_CONTEXTS = ("reference_contexts", "contexts")
_RAGAS_REFERENCE = ("reference", "ground_truth")
_RAGAS_MADE = ("synthesizer_name", "evolution_type")
HUMAN, AI = "human", "ai"


@dataclass(frozen=True)
class SetContents:
    """What an evaluation set holds, whoever wrote it; `notes` say what of the file is not in it.

    `made_by` is who made the queries, where their rows do not say it; `models` are the language models that did.
    """

    queries: Sequence[Row]
    documents: Mapping[str, str] = field(default_factory=dict)
    judgments: Judgments | None = None
    gold: Sequence[Row] = ()
    made_by: str = "unknown"
    models: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recognise_set(place: str | os.PathLike[str]) -> str:
    """Name the tool whose set this is, by the files of a folder or the columns of a file."""
    path = Path(place)
    if not is_there(path):
        raise InputError(say("error.no_file"), path=os.fspath(place))
    if path.is_dir():
        if (path / "corpus.jsonl").is_file() and (path / "queries.jsonl").is_file():
            return "beir"
        if (path / "qa.parquet").is_file() and (path / "corpus.parquet").is_file():
            return "autorag"
        raise _unknown(place)
    source = Input.at(path)
    if source.suffix == ".json":
        try:
            data = peek(source.text)
        except ValueError:
            raise _unknown(place) from None
        if isinstance(data, dict) and {"queries", "corpus", "relevant_docs"} <= data.keys():
            return "llamaindex"
        if isinstance(data, dict) and isinstance(data.get("examples"), list):
            return "llamaindex-rag"
        raise _unknown(place)
    names = set(_table(source).columns)
    if names & set(_RAGAS) and names & set(_RAGAS_CONTEXTS):
        return "ragas"
    raise _unknown(place)


def _unknown(place: str | os.PathLike[str]) -> InputError:
    return InputError(
        say("this is no evaluation set of a tool that is known here"),
        path=os.fspath(place),
        hint=say("expected a set of assay, a BEIR or AutoRAG folder, a ragas testset, or a dataset of LlamaIndex"),
    )


def read_other_set(place: str | os.PathLike[str], *, split: str = "test") -> SetContents:
    """Read a set of another tool, which is recognised by its content; `split` is that of a BEIR folder."""
    kind = recognise_set(place)
    try:
        found = _read_beir(Path(place), split) if kind == "beir" else _READERS[kind](Path(place))
        rows = [{name: _storable(value) for name, value in row.items()} for row in found.queries]
        judged = {} if found.judgments is None else found.judgments.by_query
        _storable([[doc, text] for doc, text in found.documents.items()])
        _storable([[query, *docs] for query, docs in judged.items()])
    except Fault as error:
        raise InputError(error.message, path=os.fspath(place)) from None
    return replace(found, queries=rows)


def _storable(value: Any) -> Any:
    """A value as JSON can hold it; dates and the like become texts."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault(say("{text} holds half a surrogate pair, which is no character", text=excerpt(value))) from None
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise Fault(say("{number} is no number that a file can hold", number=str(value)))
    if isinstance(value, Mapping):
        return {_storable(str(name)): _storable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(part) for part in value]
    return value if isinstance(value, (int, float, type(None))) else str(value)


def _table(source: Input) -> pl.DataFrame:
    kind = format_of(source, None)
    if kind not in {"csv", "tsv", "jsonl", "parquet"}:
        raise _unknown(source.label)
    return tables.read_table(source, kind)


def _text(value: Any, what: str, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(say("{what} is {found}: expected a text", what=what, found=excerpt(value)), path=path)
    return value


def _first(row: Row, names: Sequence[str]) -> Any:
    return next((value for name in names if (value := plain(row.get(name))) is not None), None)


def _texts(value: Any, what: str, path: str) -> list[str]:
    """A list of texts, which flat files have written into a cell."""
    try:
        found = plain(unpack(value))
    except Fault as error:
        raise InputError(error.message, path=path) from None
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(say("{what} is {found}: expected a list of texts", what=what, found=excerpt(found)), path=path)
    return [_text(plain(one), what, path) for one in found]


def _context_id(text: str) -> str:
    return f"c-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _of_contexts(rows: Sequence[tuple[Row, list[str]]], **others: Any) -> SetContents:
    """A set of queries with the contexts that answer them: each context is a document and gold as a whole."""
    documents = {_context_id(text): text for _, texts in rows for text in texts}
    gold = [
        {
            "query_id": row["query_id"],
            "doc_id": _context_id(text),
            "start": 0,
            "end": len(text),
            "text": text,
            "grade": 1,
        }
        for row, texts in rows
        for text in dict.fromkeys(texts)
        if text
    ]
    return SetContents([row for row, _ in rows], documents, gold=gold, **others)


def _read_ragas(path: Path) -> SetContents:
    rows = []
    for number, row in enumerate(_table(Input.at(path)).to_dicts(), 1):
        what = f"user_input {number}"
        own = {"query_id": f"q{number}", "text": _text(_first(row, _RAGAS), what, str(path))}
        reference = _first(row, _RAGAS_REFERENCE)
        used = {*_RAGAS, *_RAGAS_CONTEXTS, *_RAGAS_REFERENCE}
        more = {name: value for name, cell in row.items() if name not in used and (value := plain(cell)) is not None}
        told = {} if reference is None else {"reference": _text(reference, f"reference {number}", str(path))}
        rows.append(({**more, **own, **told}, _texts(_first(row, _RAGAS_CONTEXTS), f"contexts {number}", str(path))))
    made = any(_first(row, _RAGAS_MADE) for row, _ in rows)
    return _of_contexts(rows, made_by="model" if made else "unknown", notes=(say("other_set.contexts"),))


def _read_examples(path: Path) -> SetContents:
    """A LabelledRagDataset."""
    rows, models = [], []
    for number, one in enumerate(_storable(read_json(Input.at(path)))["examples"], 1):
        if not isinstance(one, dict):
            raise InputError(say("example {number} is no object", number=number), path=str(path))
        told = one.get("query_by")
        by = told if isinstance(told, dict) else {}
        maker = {HUMAN: "person", AI: "model"}.get(str(by.get("type")).lower(), "unknown")
        models += [str(by["model_name"])] if by.get("model_name") else []
        row = {
            "query_id": f"q{number}",
            "text": _text(one.get("query"), f"query {number}", str(path)),
            "made_by": maker,
        }
        answer = one.get("reference_answer")
        own = {"reference": _text(answer, f"reference_answer {number}", str(path))} if answer else {}
        rows.append(({**row, **own}, _texts(one.get("reference_contexts"), f"reference_contexts {number}", str(path))))
    return _of_contexts(rows, models=tuple(dict.fromkeys(models)), notes=(say("other_set.contexts"),))


def _read_pairs(path: Path) -> SetContents:
    """An EmbeddingQAFinetuneDataset."""
    data = _storable(read_json(Input.at(path)))
    for name in ("queries", "corpus", "relevant_docs"):
        if not isinstance(data[name], dict):
            raise InputError(
                say("{what} is {found}: expected an object", what=name, found=excerpt(data[name])), path=str(path)
            )
    queries = [{"query_id": query, "text": _text(text, query, str(path))} for query, text in data["queries"].items()]
    documents = {doc: _text(text, doc, str(path)) for doc, text in data["corpus"].items()}
    grades = {
        query: dict.fromkeys(_texts(docs, f"relevant_docs {query}", str(path)), 1.0)
        for query, docs in data["relevant_docs"].items()
    }
    return SetContents(queries, documents, Judgments.from_dict(grades) if grades else None)  # type: ignore[arg-type]


def _read_autorag(path: Path) -> SetContents:
    qa, corpus = (path / f"{name}.parquet" for name in ("qa", "corpus"))
    documents, lost = {}, 0
    for row in _columns(corpus, ("doc_id", "contents")):
        doc = _text(row["doc_id"], "doc_id", str(corpus))
        if doc in documents:
            raise InputError(say("document {doc} occurs twice", doc=excerpt(doc)), path=str(corpus))
        documents[doc] = _text(row["contents"], f"contents of {doc}", str(corpus))
        lost += bool(row.get("metadata"))
    queries, grades = [], {}
    for row in _columns(qa, ("qid", "query", GROUPS)):
        query = _text(row["qid"], "qid", str(qa))
        groups = _groups(row[GROUPS], f"{GROUPS} of {query}", str(qa))
        told = row.get("generation_gt")
        answers = _texts([told] if isinstance(told, str) else told, f"generation_gt of {query}", str(qa))
        more = {name: value for name, value in row.items() if name not in {"qid", "query", GROUPS, "generation_gt"}}
        own = {"query_id": query, "text": _text(row["query"], f"query of {query}", str(qa))}
        if answers:
            own["reference"] = answers[0]
        if len(answers) > 1:
            more["references"] = answers
        if len(groups) > 1 or any(len(group) > 1 for group in groups):
            more[GROUPS] = groups
        queries.append({**{name: value for name, value in more.items() if value is not None}, **own})
        grades[query] = dict.fromkeys((doc for group in groups for doc in group), 1.0)
    judged = {query: docs for query, docs in grades.items() if docs}
    notes = [say("other_set.metadata", n=lost)] if lost else []
    if any(GROUPS in row for row in queries):
        notes.append(say("other_set.groups", column=GROUPS))
    return SetContents(queries, documents, Judgments.from_dict(judged) if judged else None, notes=tuple(notes))  # type: ignore[arg-type]


def _columns(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    frame = tables.read_table(Input.at(path), "parquet")
    lacking = [name for name in needed if name not in frame.columns]
    if lacking:
        raise InputError(
            say("the table lacks the {n:column|columns} {names}", n=len(lacking), names=lacking), path=str(path)
        )
    return frame.to_dicts()


def _groups(value: Any, what: str, path: str) -> list[list[str]]:
    """Groups of documents: a list of lists, a list, or one id; empty ids stand for none."""
    found = plain(value)
    listed = [] if found is None else found if isinstance(found, list) else [found]
    groups = [
        _texts(one if isinstance(one, list) else [one], what, path) for one in map(plain, listed) if one is not None
    ]
    return [kept for group in groups if (kept := [doc for doc in group if doc])]


def _read_beir(path: Path, split: str) -> SetContents:
    documents: dict[str, str] = {}
    titles = 0
    for number, row in tables.read_jsonl(Input.at(path / "corpus.jsonl")):
        doc, title = str(row.get("_id")), row.get("title") or ""
        text = _text(row.get("text"), f"text in line {number}", str(path / "corpus.jsonl"))
        if doc in documents:
            raise InputError(say("document {doc} occurs twice", doc=excerpt(doc)), path=str(path / "corpus.jsonl"))
        documents[doc] = f"{title}\n\n{text}" if title else text
        titles += bool(title)
    queries = []
    for number, row in tables.read_jsonl(Input.at(path / "queries.jsonl")):
        own = {
            "query_id": str(row.get("_id")),
            "text": _text(row.get("text"), f"text in line {number}", str(path / "queries.jsonl")),
        }
        more = row.get("metadata")
        queries.append({**more, **own} if isinstance(more, dict) else own)
    judgments = read_judgments(path, split=split) if (path / "qrels").is_dir() else None
    notes = [say("other_set.titles", n=titles)] if titles else []
    if judgments is not None:
        judged = set(judgments.query_ids)
        left = sum(row["query_id"] not in judged for row in queries)
        queries = [row for row in queries if row["query_id"] in judged]
        notes += [say("other_set.unjudged", n=left, split=split)] if left else []
    return SetContents(queries, documents, judgments, notes=tuple(notes))


_READERS = {
    "ragas": _read_ragas, "autorag": _read_autorag, "llamaindex": _read_pairs, "llamaindex-rag": _read_examples,
}  # fmt: skip
OTHER_SETS = ("beir", *_READERS)
