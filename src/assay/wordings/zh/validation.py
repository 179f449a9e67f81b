"""Texts in Chinese: validation."""

from __future__ import annotations

TEXTS = {
    "column.score": "分数",
    "column.threshold": "阈值",
    "validate.title": "{name}：比较 {rows} 行中的 {compared} 行，{groups} 组不同的上下文",
    "validate.accuracy": "平衡准确率",
    "validate.difference": "{name} 的 AUROC 与其他分数之差",
    "validate.published": "{name}（已发表）",
    "validate.human": "人工标注：{human}；置信区间为对上下文组重采样的百分位数",
    "validate.positive": "{of} 行中 {n} 行为正例（人工标注为 {positive}，数值则为不低于它）",
    "validate.no_positive": "未计算 AUROC：不知道从哪个值起算正例；指定：assay calibrate ... --positive VALUE",
    "validate.given_threshold": "平衡准确率：分数不低于 {threshold:g} 视为正例",
    "validate.threshold": "平衡准确率：每五分之一的行使用对其余行最优的阈值；表中阈值为对全部行最优者",
    "validate.left_out": "剔除 {n} 行：{reason}",
    "standing.method": "{name}：{figures}；{blind}",
    "standing.figures": "与人工在 MTRAG 上 Spearman {rho:.2f}（AUROC {mtrag:.2f}；BEGIN {begin:.2f}，SummEdits {summedits:.2f}）",
    "standing.published": "取决于模型；已发表的评审（RAGAS）与人工在 MTRAG 上 Spearman {rho:.2f}、AUROC {mtrag:.2f}",
    "standing.words": "识别不了同义改写和主客体颠倒；除数字、名称和否定外，改动一个词大多也识别不了",
    "standing.embedding": "识别不了切题、貌似合理却没有依据的内容，改动一个词大多也识别不了",
    "standing.overlap": "识别不了数字的不同写法、否定、反义和语序",
    "standing.contains": "只识别逐字照抄的内容",
    "standing.llm": "请与人工比较：assay calibrate --score",
    "validate.line": "{name}：{score} 与人工最一致，{by} {value:.3f}（{n:,} 行）。",
    "validate.no_best": "{name}：{n:,} 行中没有分数可与人工比较。",
}
