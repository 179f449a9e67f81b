"""Column names that users already have, and what they mean here: the one table that all readers look into.

Names are compared without case, spaces, hyphens, underscores and width: `Query-ID`, `queryId` and `query_id` are one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHOWN = 8


@dataclass(frozen=True)
class ColumnName:
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
_QUERY_IDS = ("qid", "task_id", "topic_id", "question_id", "查询ID", "查询编号", "查询号", "问题ID",
              "问题编号", "问题序号", "题号")  # fmt: skip
_DOC_IDS = ("docno", "document_id", "corpus_id", "pid", "did", "文档ID", "文档编号", "文档号", "文章ID", "文件ID")
_CHUNK_IDS = ("chunk", "passage_id", "片段ID", "片段编号", "分块ID", "分块编号", "段落ID", "段落编号")
_ROW_IDS = ("id", "编号", "序号")
_TEXTS = ("contents", "content", "page_content", "body", "passage", "文本", "正文", "内容", "文档内容", "全文", "原文",
          "段落内容", "片段内容")  # fmt: skip
_QUESTIONS = ("question", "user_input", "prompt", "问题", "提问", "问句", "用户问题", "用户提问", "用户输入")

# Judgments and runs: no texts, so a query or a document is an id.
QUERY = ColumnName("query_id", (*_QUERY_IDS, "query", "topic"), ("查询", "查询词", "问题", "检索词"))
DOC = ColumnName("doc_id", (*_DOC_IDS, "doc", "document"), ("文档", "文档名", "文章", "文件"))
GRADE = ColumnName(
    "grade",
    ("relevance", "rel", "label", "judgment", "judgement", "rating", "relevance_score", "score",
     "相关性", "相关度", "相关等级", "相关性等级", "相关性标注", "是否相关", "等级", "标注", "标签", "评分", "分数"),
)  # fmt: skip
SCORE = ColumnName(
    "score",
    ("similarity", "sim", "relevance_score", "retrieval_score",
     "分数", "得分", "相似度", "检索得分", "检索分数", "相关性得分", "相关性分数"),
)  # fmt: skip
RANK = ColumnName("rank", ("position", "pos", "排名", "名次", "位次"))
CHUNK = ColumnName("chunk_id", _CHUNK_IDS)
SUBTOPIC = ColumnName("subtopic", ("subtopic_id", "aspect", "intent", "iteration", "iter", "子主题", "子话题", "意图"))
WEIGHT = ColumnName("weight", ("traffic", "count", "frequency", "volume", "权重", "流量", "频次", "次数"))
VARIANT = ColumnName(
    "variant", ("arm", "group", "bucket", "variation", "experiment_group", "实验组", "分组", "组别", "版本")
)
USER = ColumnName("user_id", ("user", "client_id", "uid", "visitor_id", "用户", "用户ID"))
DAY = ColumnName("day", ("date", "日期", "天"))
SYSTEM = ColumnName("system", ("variant", "name", "run", "系统", "系统名称", "名称"))
RUN_NAME = ColumnName("system", ("run", "run_name", "run_id", "系统", "系统名称"))  # of rows of several runs
DESCRIPTION = ColumnName("description", ("label", "text", "what", "描述", "说明"))

# Event logs: UBI's names, and those of other logs. A query is a text here, as requests have ids of their own.
EVENT: Mapping[str, ColumnName] = {
    heading.name: heading
    for heading in (
        ColumnName("query_id", _QUERY_IDS, ("request_id", "search_id", "trace_id", "请求ID", "搜索ID")),
        ColumnName("user", (), ("client_id", "user_id", *USER.others[2:], "device_id", "客户端ID", "设备ID")),
        ColumnName("session", ("session_id", "会话", "会话ID")),
        ColumnName(
            "time",
            ("timestamp", "@timestamp", "ts", "datetime", "event_time", "created_at", "时间", "时间戳", "事件时间"),
            ("date", "日期"),
        ),
        ColumnName("action", ("action_name", "event", "event_type", "event_name", "动作", "行为", "行为类型", "事件",
                              "事件类型")),
        ColumnName("doc_id", (*_DOC_IDS, "object_id", "item_id", "product_id", "sku", "商品ID", "结果ID"),
                   ("doc", "文档")),
        ColumnName("position", ("ordinal", *RANK.others[1:], "rank", "位置")),
        ColumnName("text", (), ("user_query", "query_text", *_QUESTIONS, "query", "查询词", "搜索词", "检索词",
                                "查询")),
        ColumnName("results", ("query_response_hit_ids", "query_response_object_ids", "result_ids", "结果列表")),
        ColumnName("result_count", ("results_count", "num_results", "total_hits", "结果数", "结果数量")),
        ColumnName("experiment", ("experiment_id", "实验", "实验ID")),
        ColumnName("variant", VARIANT.others),
        ColumnName("propensity", ("propensity_score", "pscore", "倾向得分", "倾向概率")),
        ColumnName("teams", ("interleaving",)),
        ColumnName("latency_ms", ("took", "took_ms", "response_time_ms", "延迟毫秒", "耗时毫秒")),
        ColumnName("input_tokens", ("prompt_tokens", "输入词元", "输入词元数")),
        ColumnName("output_tokens", ("completion_tokens", "输出词元", "输出词元数")),
        ColumnName("cost", ("cost_usd", "费用", "成本")),
        ColumnName("dwell_ms", ("dwell_time_ms", "停留毫秒")),
        ColumnName("dwell_time", ("dwell_seconds", "停留时间", "停留秒数")),
        ColumnName("feedback", ("rating", "thumbs", "stars", "评分", "反馈", "评价")),
        ColumnName("application", ("app", "应用")),
        ColumnName("agent", ("user_agent", "browser", "浏览器")),
    )
}  # fmt: skip

# Gold spans.
GOLD = (
    QUERY,
    DOC,
    ColumnName("start", ("起始", "起点", "开始", "起始位置")),
    ColumnName("end", ("结束", "终点", "结束位置")),
    ColumnName("text", ("文本", "原文", "片段", "答案片段")),
    ColumnName("occurrence", ("第几处",)),
    ColumnName("grade", ("等级", "相关性")),
    ColumnName("answer_part", ("答案部分",)),
)

# Documents, queries, and pairs of them.
DOCUMENT_ID = ColumnName("doc_id", (*_DOC_IDS, "chunk_id", *_CHUNK_IDS[1:]), _ROW_IDS)
DOCUMENT_TEXT = ColumnName("text", _TEXTS, ("document", "doc", "文档"))
TITLE = ColumnName("title", ("headline", "标题", "题目"))
QUERY_ID = ColumnName("query_id", _QUERY_IDS, (*_ROW_IDS, "topic"))
QUERY_TEXT = ColumnName(
    "text", ("query", *_QUESTIONS, "查询", "查询词", "查询文本", "问题文本", "文本"), ("title", "topic", "标题")
)
PAIR_QUERY_ID = ColumnName("query_id", _QUERY_IDS)
PAIR_QUERY = ColumnName("query", ("query_text", *_QUESTIONS, "查询", "查询词", "查询文本"))
PAIR_DOCUMENT = ColumnName("document", ("document_text", "text", "doc", *_TEXTS, "文档"))

# Samples: ours first, then what ragas, deepeval, AutoRAG, RAGChecker, TruLens and LangChain call it.
SAMPLE: Mapping[str, ColumnName] = {
    heading.name: heading
    for heading in (
        ColumnName("query_id", (), (_QUERY_IDS[0], "id", *_QUERY_IDS[1:], "sample_id", "样本ID", "编号", "序号")),
        ColumnName("question", ("query", "input", "instruction", "topic", *_QUESTIONS[1:], "查询", "输入")),
        ColumnName(
            "answer",
            ("response", "actual_output", "output", "generated_answer", "generated_texts", "prediction", "pred",
             "model_response", "result", "回答", "答案", "回复", "模型回答", "系统回答", "生成回答", "生成答案",
             "模型输出", "实际输出", "输出"),
        ),
        ColumnName(
            "contexts",
            ("retrieved_contexts", "retrieval_context", "retrieved_context", "passages", "documents",
             "retrieved_contents", "source_documents", "source_nodes", "retriever_resources", "上下文", "检索上下文",
             "检索内容", "检索片段", "召回内容", "召回片段", "参考资料"),
            ("context", "检索结果", "文档", "资料"),  # in deepeval, what should have been retrieved
        ),
        ColumnName("history", ("chat_history", "conversation", "conversation_history", "messages", "历史", "对话历史",
                            "历史对话", "聊天记录")),
        ColumnName(
            "reference",
            ("ground_truth", "ground_truths", "gt_answer", "expected_output", "expected_response", "reference_answer",
             "golden_answers", "generation_gt", "参考答案", "参考回答", "标准答案", "标准回答", "正确答案", "期望答案",
             "期望输出"),
        ),
        ColumnName(
            "context_ids",
            ("retrieved_context_ids", "retrieved_ids", "passage_id", "doc_ids", "上下文ID", "检索文档ID", "召回文档ID"),
        ),
        ColumnName(
            "gold_ids",
            ("reference_context_ids", "retrieval_gt", "relevant_docs", "expected_chunks", "相关文档", "相关文档ID",
             "参考文档ID", "标准文档ID"),
        ),
        ColumnName("nuggets", ("要点",)),
        ColumnName("system", (), ("system_name", "model", "model_name", "系统", "系统名称", "模型", "模型名称")),
    )
}  # fmt: skip
ANSWERABLE = ColumnName("answerable", ("is_answerable", "answerability", "可回答", "是否可回答", "能否回答"))
PEOPLE = ColumnName(
    "human",
    ("human_score", "human_faithfulness", "label", "gold_label", "annotation", "begin_label",
     "人工评分", "人工打分", "人工标注"),
)  # fmt: skip
CONTEXT_TEXT = ("text", "content", "page_content", "contents", "passage", "context", "document", "body", "message",
                "value", "文本", "内容", "正文")  # fmt: skip
CONTEXT_ID = ("id", "doc_id", "document_id", "chunk_id", "context_id", "passage_id", "node_id", "pid",
              "文档ID", "片段ID", "分块ID", "编号")  # fmt: skip
CONTEXT_INSIDE = ("node", "text_resource", "source", "payload", "segment")  # objects that hold the text of a context
SPEAKER = ("role", "speaker", "author", "from", "type", "角色", "说话人")

# Records that hold both what was retrieved and what is relevant.
RECORD_QUERY = ColumnName(
    "query_id",
    (),
    (_QUERY_IDS[0], "id", *_QUERY_IDS[1:], "query", "question", "user_input", "查询", "查询词", "问题", "提问"),
)
RETRIEVED = ColumnName(
    "retrieved",
    ("context_ids", "retrieved_context_ids", "retrieved_ids", "retrieved_docs", "doc_ids", "ranking",
     "检索结果", "召回结果", "检索文档", "检索文档ID"),
)  # fmt: skip
RELEVANT = ColumnName(
    "relevant",
    ("gold_ids", "reference_context_ids", "retrieval_gt", "relevant_docs", "expected_chunks", "gold",
     "相关文档", "相关文档ID", "标准答案", "标准文档"),
)  # fmt: skip
LISTS = ColumnName("relevance", ("relevances", "relevance_list", "graded_relevance", "相关性列表", "相关性", "相关度"))
GRADES = ColumnName("grades", ("y_true", "true_relevance", "labels", "等级", "等级列表"))
SCORES = ColumnName("scores", ("y_score", "predicted_scores", "分数", "得分", "分数列表"))


@lru_cache(maxsize=4096)
def key_of(name: str) -> str:
    """A name as it is compared."""
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name).casefold())


def candidates(names: Iterable[str], heading: ColumnName) -> list[str]:
    """The columns that could be meant: those of its names, else of the first name that means it only then."""
    listed = list(names)
    for keys in (heading.keys, *({key_of(name)} for name in heading.else_first)):
        found = [name for name in listed if key_of(name) in keys]
        if found:
            return found
    return []


def find(names: Sequence[str], heading: ColumnName, *, path: str, needed: str = "") -> str | None:
    """Find the column for a heading: the one of exactly its name, else the only possible one."""
    own = [heading.name] if heading.name in names else [one for one in names if one.lower().strip() == heading.name]
    found = own or candidates(names, heading)
    if len(found) > 1:
        raise InputError(
            say("columns {found:and} could each be {name}", found=list(map(excerpt, found)), name=heading.name),
            path=path,
            hint=say("rename the right one to {name}", name=heading.name),
        )
    if not found and needed:
        raise InputError(
            say("no column for {name} among {names}", name=heading.name, names=list_names(names)),
            path=path,
            hint=say(
                "{needed} need {name}; also accepted: {others}",
                needed=needed,
                name=heading.name,
                others=list((heading.others or heading.else_first)[:4]),
            ),
        )
    return found[0] if found else None


def has_any(names: Iterable[str], *headings: ColumnName) -> bool:
    """Return whether any of the names matches any of the headings."""
    keys = set(map(key_of, names))
    return any(not keys.isdisjoint(heading.all_keys) for heading in headings)


def first_of(item: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """The value of the first of these names that an object has one for."""
    by_key = {key_of(str(key)): value for key, value in item.items() if value is not None}
    return next((by_key[key] for key in map(key_of, names) if key in by_key), None)


def notes(used: Mapping[str, str | None]) -> tuple[str, ...]:
    """Say which columns were read under another name."""
    return tuple(
        say("read.column_as", name=excerpt(name), field=field) for field, name in used.items() if name and name != field
    )


def list_names(names: Iterable[str]) -> str:
    """Some names of columns, for a message."""
    shown = list(map(excerpt, names))
    if len(shown) > _SHOWN:
        return say("{names} and {n} more", names=shown[:_SHOWN], n=len(shown) - _SHOWN)
    return say("{names}", names=shown)
