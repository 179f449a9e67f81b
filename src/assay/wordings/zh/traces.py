"""Texts in Chinese: what traces of served requests lack."""

from __future__ import annotations

TEXTS = {
    "served.lacks": "缺少{field}：{why}",
    "served.of_root": "根 span",
    "served.of_question": "问题",
    "served.of_answer": "答案",
    "served.of_contexts": "上下文",
    "served.of_latency_ms": "延迟",
    "served.of_input_tokens": "token 数",
    "served.of_cost": "费用",
    "served.no_root": "其他 span 所属的根 span 尚未到达",
    "served.no_input": "没有 span 记录问题",
    "served.no_output": "没有 span 记录答案",
    "served.failed": "该请求以错误结束",
    "served.no_retrieval": "没有检索 span",
    "served.no_documents": "检索没有记录文档",
    "served.no_texts": "记录了文档，但没有文本",
    "served.no_usage": "没有 span 记录 token 数",
    "served.no_cost": "没有 span 记录费用",
    "served.no_clock": "有 span 缺少时间，或结束早于开始",
}
