"""Messages about validated methods in English and Chinese: key -> (English, Chinese)."""

from __future__ import annotations

VALIDATION: dict[str, tuple[str, str]] = {
    "column.score": ("score", "分数"),
    "column.threshold": ("threshold", "阈值"),
    "validate.title": (
        "{name}: {compared} of {rows} rows compared, {groups} different sets of contexts",
        "{name}：比较 {rows} 行中的 {compared} 行，{groups} 组不同的上下文",
    ),
    "validate.accuracy": ("balanced acc.", "平衡准确率"),
    "validate.difference": ("AUROC of {name} less that of", "{name} 的 AUROC 减去"),
    "validate.published": ("{name} (published)", "{name}（已发表）"),
    "validate.human": (
        "what people said: {human}; intervals are percentiles of resampled sets of contexts",
        "人工标注：{human}；区间为对上下文组重抽样的百分位",
    ),
    "validate.positive": (
        "{n} of {of} rows are positive (people said {positive}, or more where it is a number)",
        "{of} 行中 {n} 行为正例（人工标注为 {positive}，数值则为不低于它）",
    ),
    "validate.no_positive": (
        "no AUROC: say with --positive from which value on people mean yes",
        "未计算 AUROC：请用 --positive 指定从哪个值起算正例",
    ),
    "validate.given_threshold": (
        "balanced accuracy: scores from {threshold:g} on count as yes",
        "平衡准确率：分数不低于 {threshold:g} 视为正例",
    ),
    "validate.threshold": (
        "balanced accuracy: a fifth of the rows is judged by the best threshold of the others; shown is that of all",
        "平衡准确率：每五分之一的行使用对其余行最优的阈值；表中阈值为对全部行最优者",
    ),
    "validate.left_out": ("{n} left out: {reason}", "剔除 {n} 行：{reason}"),
    "standing.method": ("{name}: {figures}; {blind}", "{name}：{figures}；{blind}"),
    "standing.figures": (
        "Spearman {rho:.2f} with people on MTRAG (AUROC {mtrag:.2f}; BEGIN {begin:.2f}, SummEdits {summedits:.2f})",
        "与人工在 MTRAG 上 Spearman {rho:.2f}（AUROC {mtrag:.2f}；BEGIN {begin:.2f}，SummEdits {summedits:.2f}）",
    ),
    "standing.published": (
        "depends on the model; a published one (RAGAS) has Spearman {rho:.2f}, AUROC {mtrag:.2f} with people on MTRAG",
        "取决于模型；已发表的评审（RAGAS）与人工在 MTRAG 上 Spearman {rho:.2f}、AUROC {mtrag:.2f}",
    ),
    "standing.words": (
        "blind to paraphrase, to who did what to whom, and to most one-word changes but numbers, names and negations",
        "看不出换词改写和施受关系；除数字、名称和否定外，也看不出多数一词之差",
    ),
    "standing.embedding": (
        "blind to what is on the topic and plausible but not said, and to most one-word changes",
        "看不出切题、貌似合理却无依据的内容，也看不出多数一词之差",
    ),
    "standing.overlap": (
        "blind to numbers in other spellings, negation, opposites and word order",
        "看不出数字的不同写法、否定、反义和语序",
    ),
    "standing.contains": ("sees verbatim copies only", "只认逐字照抄"),
    "standing.llm": ("compare yours with people: assay validate --score", "请与人工比较：assay validate --score"),
}
