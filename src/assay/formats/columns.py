"""Column names that users already have, and what they mean here: the one table that all readers look into.

Names are compared without case, blanks, hyphens, underscores and width: `Query-ID`, `queryId` and `query_id` are one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHOWN = 8


@dataclass(frozen=True)
class Heading:
    """What a column holds: our name for it, and what others call it; two such columns are an error.

    `else_first` are names that mean it only where none of the others is there; of several, the first counts.
    """

    name: str
    others: tuple[str, ...] = ()
    else_first: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> frozenset[str]:
        """Our name and the others, as they are compared."""
        return frozenset(map(key_of, (self.name, *self.others)))

    @cached_property
    def all_keys(self) -> frozenset[str]:
        """All names, as they are compared."""
        return self.keys | frozenset(map(key_of, self.else_first))


# What means an id or a text in any file.
_QUERY_IDS = ("qid", "task_id", "topic_id", "question_id", "查询ID", "查询编号", "问题ID", "问题编号")
_DOC_IDS = ("docno", "document_id", "corpus_id", "pid", "did", "文档ID", "文档编号")
_CHUNK_IDS = ("chunk", "passage_id", "片段ID", "分块ID", "段落ID")
_ROW_IDS = ("id", "编号")
_TEXTS = ("contents", "content", "page_content", "body", "passage", "文本", "正文", "内容")
_QUESTIONS = ("question", "user_input", "prompt", "问题", "提问")

# Judgments and runs: no texts, so a query or a document is an id.
QUERY = Heading("query_id", (*_QUERY_IDS, "query", "topic", "查询", "问题"))
DOC = Heading("doc_id", (*_DOC_IDS, "doc", "document", "文档"))
GRADE = Heading(
    "grade",
    ("relevance", "rel", "label", "judgment", "judgement", "rating", "relevance_score", "score",
     "相关性", "相关度", "等级", "标注", "分数"),
)  # fmt: skip
SCORE = Heading("score", ("similarity", "sim", "relevance_score", "retrieval_score", "分数", "得分", "相似度"))
RANK = Heading("rank", ("position", "pos", "排名", "名次"))
CHUNK = Heading("chunk_id", _CHUNK_IDS)
SUBTOPIC = Heading("subtopic", ("subtopic_id", "aspect", "intent", "iteration", "iter", "子主题"))
WEIGHT = Heading("weight", ("traffic", "count", "frequency", "volume", "权重", "流量"))
SYSTEM = Heading("system", ("variant", "name", "run", "系统", "名称"))
DESCRIPTION = Heading("description", ("label", "text", "what", "描述", "说明"))

# Documents, queries, and pairs of them.
DOCUMENT_ID = Heading("doc_id", (*_DOC_IDS, "chunk_id", "passage_id"), _ROW_IDS)
DOCUMENT_TEXT = Heading("text", _TEXTS, ("document", "doc", "文档"))
TITLE = Heading("title", ("headline", "标题"))
QUERY_ID = Heading("query_id", _QUERY_IDS, (*_ROW_IDS, "topic"))
QUERY_TEXT = Heading("text", ("query", *_QUESTIONS, "查询", "文本"), ("title", "topic", "标题"))
PAIR_QUERY_ID = Heading("query_id", _QUERY_IDS)
PAIR_QUERY = Heading("query", ("query_text", *_QUESTIONS, "查询"))
PAIR_DOCUMENT = Heading("document", ("document_text", "text", "doc", *_TEXTS, "文档"))

# Samples: ours first, then what ragas, deepeval, AutoRAG, RAGChecker, TruLens and LangChain call it.
SAMPLE: Mapping[str, Heading] = {
    heading.name: heading
    for heading in (
        Heading("query_id", (), (_QUERY_IDS[0], "id", *_QUERY_IDS[1:], "sample_id", "编号")),
        Heading("question", ("query", "input", "instruction", "topic", *_QUESTIONS[1:], "查询")),
        Heading(
            "answer",
            ("response", "actual_output", "output", "generated_answer", "generated_texts", "prediction", "pred",
             "model_response", "result", "回答", "答案"),
        ),
        Heading(
            "contexts",
            ("retrieved_contexts", "retrieval_context", "retrieved_context", "passages", "documents",
             "retrieved_contents", "source_documents", "上下文", "检索内容"),
            ("context",),  # in deepeval, what should have been retrieved
        ),
        Heading("history", ("chat_history", "conversation", "conversation_history", "messages", "历史", "对话历史")),
        Heading(
            "reference",
            ("ground_truth", "ground_truths", "gt_answer", "expected_output", "expected_response", "reference_answer",
             "golden_answers", "generation_gt", "参考答案", "标准答案"),
        ),
        Heading("context_ids", ("retrieved_context_ids", "retrieved_ids", "passage_id", "doc_ids", "上下文ID")),
        Heading("gold_ids", ("reference_context_ids", "retrieval_gt", "relevant_docs", "expected_chunks")),
        Heading("system", (), ("system_name", "model", "model_name", "系统", "模型")),
    )
}  # fmt: skip
ANSWERABLE = Heading("answerable", ("is_answerable", "answerability", "可回答"))
PEOPLE = Heading(
    "human",
    ("human_score", "human_faithfulness", "label", "gold_label", "annotation", "begin_label", "人工评分", "人工标注"),
)
CONTEXT_TEXT = ("text", "content", "page_content", "contents", "passage", "context", "document", "body", "message",
                "value", "文本", "内容")  # fmt: skip
CONTEXT_ID = ("id", "doc_id", "document_id", "chunk_id", "context_id", "passage_id", "pid")
SPEAKER = ("role", "speaker", "author", "from", "type")

# Records that hold both what was retrieved and what is relevant.
RECORD_QUERY = Heading(
    "query_id", (), (_QUERY_IDS[0], "id", *_QUERY_IDS[1:], "query", "question", "user_input", "查询", "问题")
)
RETRIEVED = Heading(
    "retrieved",
    ("context_ids", "retrieved_context_ids", "retrieved_ids", "retrieved_docs", "doc_ids", "ranking", "检索结果"),
)
RELEVANT = Heading(
    "relevant",
    ("gold_ids", "reference_context_ids", "retrieval_gt", "relevant_docs", "expected_chunks", "gold", "相关文档"),
)
LISTS = Heading("relevance", ("relevances", "relevance_list", "graded_relevance"))
GRADES = Heading("grades", ("y_true", "true_relevance", "labels"))
SCORES = Heading("scores", ("y_score", "predicted_scores"))


@lru_cache(maxsize=4096)
def key_of(name: str) -> str:
    """A name as it is compared."""
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name).casefold())


def candidates(names: Iterable[str], heading: Heading) -> list[str]:
    """The columns that could be meant: those of its names, else of the first name that means it only then."""
    listed = list(names)
    for keys in (heading.keys, *({key_of(name)} for name in heading.else_first)):
        found = [name for name in listed if key_of(name) in keys]
        if found:
            return found
    return []


def find(names: Sequence[str], heading: Heading, *, path: str, needed: str = "") -> str | None:
    """Find the column that a heading means: of its very name, else the only one that could be meant."""
    own = next((name for name in names if name.lower().strip() == heading.name), None)
    found = candidates(names, heading) if own is None else [own]
    if len(found) > 1:
        raise InputError(
            f"columns {' and '.join(map(excerpt, found))} could both be {heading.name}",
            path=path,
            hint=f"rename one to {heading.name}",
        )
    if not found and needed:
        also = ", ".join((heading.others or heading.else_first)[:4])
        raise InputError(
            f"no column for {heading.name} among {list_names(names)}",
            path=path,
            hint=f"{needed} need {heading.name}; also accepted: {also}",
        )
    return found[0] if found else None


def mention(names: Iterable[str], *headings: Heading) -> bool:
    """Tell whether any of the names means any of the headings."""
    keys = set(map(key_of, names))
    return any(not keys.isdisjoint(heading.all_keys) for heading in headings)


def first_of(item: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """The value of the first of these names that an object has one for."""
    by_key = {key_of(str(key)): value for key, value in item.items() if value is not None}
    return next((by_key[key] for key in map(key_of, names) if key in by_key), None)


def notes(used: Mapping[str, str | None]) -> tuple[str, ...]:
    """Say which columns were read under another name."""
    return tuple(f"column {excerpt(name)} is read as {field}" for field, name in used.items() if name and name != field)


def list_names(names: Iterable[str]) -> str:
    """Some names of columns, for a message."""
    shown = list(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(map(excerpt, shown[:_SHOWN])) + more
