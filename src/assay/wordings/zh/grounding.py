"""Texts in Chinese: why answers have no value, and by their English what `assay.grounding` says."""

from __future__ import annotations

TEXTS = {
    "reason.field": "{field}：{fault}",
    "reason.lacks": "样本没有 {field}",
    "reason.no_answer": "没有回答",
    "reason.empty_answer": "回答为空",
    "reason.wordless": "回答中没有词语",
    "reason.wordless_reference": "参考答案中没有词语",
    "reason.wordless_contexts": "上下文中没有词语",
    "reason.wordless_question": "问题中没有可查找的词语",
    "reason.refuses": "回答为拒答",
    "reason.reference_refuses": "参考答案为拒答",
    "reason.claims_nothing": "回答没有作出任何陈述",
    "reason.reference_claims_nothing": "参考答案没有作出任何陈述",
    "reason.unknown_contexts": "样本没有写明上下文",
    "reason.no_contexts": "没有上下文",
    "reason.too_long": "过长：{statements:,} 条陈述，{sentences:,} 个上下文句子",
    "reason.needs_judge": "{criterion} 需要评审模型",
    "reason.embedding": "embedding：{reason}",
    "reason.segmenter": "中文按 {name} 分词",
    "method": "方法",
    "the methods are {methods}": "可用方法：{methods}",
}
