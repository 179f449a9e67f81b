"""What experiments and evaluations of rerankers say: key -> (English, Chinese)."""

from __future__ import annotations

EXPERIMENT: dict[str, tuple[str, str]] = {
    "column.p50": ("P50 ms", "P50 毫秒"),
    "column.p95": ("P95 ms", "P95 毫秒"),
    "column.p99": ("P99 ms", "P99 毫秒"),
    "column.cost_thousand": ("$ per 1,000", "每千次费用 $"),
    "column.front": ("front", "前沿"),
    "column.chunks": ("chunks", "分块数"),
    "column.build": ("build s", "构建秒"),
    "column.index_size": ("index MB", "索引 MB"),
    "column.peak": ("peak MB", "峰值内存 MB"),
    "column.tokens": ("tokens", "token 数"),
    "column.money": ("$", "费用 $"),
    "column.from_baseline": ("p against {baseline}", "与 {baseline} 比较 p 值"),
    "experiment.front_mark": ("*", "*"),
    "experiment.failed": ("failed", "失败"),
    "experiment.summary": (
        "{n} queries, protocol {protocol}. {dagger} better, {double} worse than {baseline} (corrected p < {alpha:g}).",
        "{n} 个查询，协议 {protocol}。{dagger} 优于、{double} 劣于 {baseline}（校正后 p < {alpha:g}）。",
    ),
    "experiment.summary_one": ("{n} queries, protocol {protocol}.", "{n} 个查询，协议 {protocol}。"),
    "experiment.front": (
        "On the front of {measure}, P95 latency and money (*): {names}.",
        "位于 {measure}、P95 延迟与费用的前沿（*）：{names}。",
    ),
    "experiment.embedders": ("Embedder: {names}.", "向量模型：{names}。"),
    "experiment.winner": ("Best {measure}: {name}, {value:.4f}.", "{measure} 最高：{name}，{value:.4f}。"),
    "experiment.no_holdout": (
        "It is the best of {n} on the queries that chose it: its value is likely too high; check with --holdout 0.3.",
        "它是用同一批查询从 {n} 个组合中选出的，数值很可能偏高：请用 --holdout 0.3 核对。",
    ),
    "experiment.holdout": (
        (
            "Chosen on {chosen} queries. On the {held} held out: {name} {value:.4f} {interval}, {baseline} {base:.4f},"
            " difference {difference:+.4f} {bounds}, p {p}."
        ),
        (
            "在 {chosen} 个查询上选出。在留出的 {held} 个查询上：{name} {value:.4f} {interval}，{baseline} {base:.4f}，"
            "差值 {difference:+.4f} {bounds}，p {p}。"
        ),
    ),
    "experiment.holdout_same": (
        "Chosen on {chosen} queries; it is the baseline. On the {held} held out: {name} {value:.4f} {interval}.",
        "在 {chosen} 个查询上选出，即基线本身。在留出的 {held} 个查询上：{name} {value:.4f} {interval}。",
    ),
    "experiment.row_failed": ("{name} failed: {reason}", "{name} 失败：{reason}"),
    "experiment.faults": (
        "{name}: calls that failed: {counts}; what has no score stays below what has one, and is tried again next time",
        "{name}：失败的调用：{counts}；没有得分的排在有得分的之后，下次运行会重试",
    ),
    "experiment.estimated": (
        (
            "~ marks estimates: where a server does not say what it counted, tokens are estimated from the length of"
            " the texts, and money from them."
        ),
        "~ 表示估计值：服务器未给出用量时，token 数按文本长度估算，费用随之估算。",
    ),
    "experiment.baseline_lost": (
        "The baseline {asked} is not among the combinations that ran; {name} takes its place.",
        "基线 {asked} 不在已运行的组合中，改用 {name}。",
    ),
    "experiment.ambiguous_gold": (
        (
            "{n} of {whole} gold spans {n:occurs|occur} several times in {n:its|their} document, and any occurrence"
            " counts: {text} stands {times} times in {doc}. To mean one of them, give start or occurrence in the gold"
            " file."
        ),
        (
            "{whole} 个标准答案片段中有 {n} 个在其文档中出现多次，任一处均算命中：{text} 在 {doc} 中出现 {times} 次。"
            "如需指定其中一处，请在标准答案文件中给出 start 或 occurrence。"
        ),
    ),
    "experiment.embedder": (
        "Answers of all combinations are judged with the same embeddings: {embedder}.",
        "所有组合的回答都用同一向量模型评判：{embedder}。",
    ),
    "experiment.judged": (
        "Judging the answers by {judge}: {tokens:,} tokens, ${money:.4f}.",
        "由 {judge} 评判回答：{tokens:,} 个 token，${money:.4f}。",
    ),
    "experiment.judged_free": (
        "Judging the answers by {judge}: {tokens:,} tokens at a price that is not known.",
        "由 {judge} 评判回答：{tokens:,} 个 token，价格未知。",
    ),
    "experiment.figures": ("All figures", "全部指标"),
    "experiment.published": (
        "Published figures, not measured here: {source}",
        "已发表的数值，并非此处测得：{source}",
    ),
    "experiment.stages": ("Time, tokens and money of each stage", "各阶段的时间、token 与费用"),
    "experiment.indexes": ("Indexes", "索引"),
    "experiment.work": (
        "Stage work done: {done}; found in the cache: {reused}.",
        "已完成的阶段工作：{done}；取自缓存：{reused}。",
    ),
    "experiment.indexing": ("building the index ({method})", "正在构建索引（{method}）"),
    "experiment.progress": ("{what}: {done:,}/{total:,}", "{what}：{done:,}/{total:,}"),
    "experiment.damaged": (
        "Damaged entries of the cache were found and done again: {counts}.",
        "发现缓存中有损坏的条目，已重新计算：{counts}。",
    ),
    "rerank.latency": (
        (
            "Latency of {n} queries with {candidates:g} candidates on average: P50 {p50:.1f} ms, P95 {p95:.1f} ms,"
            " P99 {p99:.1f} ms."
        ),
        "{n} 个查询、平均 {candidates:g} 个候选的延迟：P50 {p50:.1f} 毫秒，P95 {p95:.1f} 毫秒，P99 {p99:.1f} 毫秒。",
    ),
    "rerank.tail": (
        "{n} queries are too few for P99: it is nearly the slowest of them.",
        "{n} 个查询不足以估计 P99：它几乎就是最慢的一次。",
    ),
    "rerank.used": ("{tokens:,} tokens, ${money:.6f} a query.", "{tokens:,} 个 token，每个查询 ${money:.6f}。"),
    "rerank.used_estimated": (
        "About {tokens:,} tokens and ${money:.6f} a query: an estimate, as the server does not say what it counted.",
        "约 {tokens:,} 个 token，每个查询约 ${money:.6f}：服务器未给出用量，此为估计值。",
    ),
}  # fmt: skip
