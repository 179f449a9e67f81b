"""Texts in Chinese, by their English: what `assay.data` says."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    # Chunks
    "ties='expected' cannot be used with folded chunks: use ties='docid' or ties='given'": "ties='expected' 不能与分块合并同用：请用 ties='docid' 或 ties='given'",
    "the chunk pattern {pattern} must contain {{doc}} and {{chunk}} once each, as in {{doc}}#{{chunk}}": "分块模式 {pattern} 中 {{doc}} 和 {{chunk}} 须各出现一次，例如 {{doc}}#{{chunk}}",
    "folding needs to know which document each chunk belongs to: give a chunk map or a pattern": "合并需要知道每个分块属于哪个文档：请提供分块映射或分块模式",
    "chunk {chunk} does not match the pattern {pattern}": "分块 {chunk} 与模式 {pattern} 不匹配",
    "chunk {chunk} is not in the chunk map": "分块映射中没有分块 {chunk}",
    "every chunk in the run must belong to a document": "检索结果中的每个分块都必须属于某个文档",
    "chunk {chunk} is listed twice for query {query}": "查询 {query} 的分块 {chunk} 被列出两次",
    "remove one of the lines": "请删去其中一行",
    # Runs and judgments
    "the score {score} of document {doc} for query {query} is not a finite number": "查询 {query} 的文档 {doc} 分数为 {score}，不是有限的数",
    "the scores of the run cannot be read as numbers": "检索结果中的分数无法读作数值",
    "the grade {grade} of document {doc} for query {query} is not a finite number": "查询 {query} 的文档 {doc} 等级为 {grade}，不是有限的数",
    "the grade {grade} of document {doc} for query {query} is too large (at most {most})": "查询 {query} 的文档 {doc} 等级为 {grade}，过大（最大 {most}）",
    "the grade {grade} of document {doc} for query {query} is not a number": "查询 {query} 的文档 {doc} 等级为 {grade}，不是数值",
    "the grades cannot be read as numbers": "等级无法读作数值",
    "give every judged document a number": "请为每个已标注文档给出一个数值",
    "there are no judgments": "没有相关性标注",
    "expected at least one judged document": "至少需要一个已标注文档",
    "row {row} has no {column}": "第 {row} 行没有 {column}",
    "give every row an id": "每一行都需要 ID",
    # Scores
    "{system} has {measures}": "{system} 有 {measures}",
}
