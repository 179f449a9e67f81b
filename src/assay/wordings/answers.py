"""Messages about answers in English and Chinese: key -> (English, Chinese)."""

from __future__ import annotations

ANSWERS: dict[str, tuple[str, str]] = {
    "answers.title": ("{system}: {n:,} {n:sample|samples}", "{system}：{n:,} 个样本"),
    "answers.systems": (
        "{name}: {systems} systems, {n:,} {n:sample|samples}",
        "{name}：{systems} 个系统，{n:,} 个样本",
    ),
    "answers.apart": (
        "the systems have no sample in common to compare: name the column of the question's id, --map query_id=COLUMN",
        "各系统没有共同的样本，无法比较：请用 --map query_id=COLUMN 指定问题的 id 列",
    ),
    "answers.mapping": ("columns: {text}", "字段对应：{text}"),
    "answers.left_out": ("left out, as no sample has what they need: {names}", "因样本缺少所需字段而未计算：{names}"),
    "answers.lacking": (
        "no sample has what these need: {names}; a column of another name is given with --map FIELD=COLUMN",
        "没有样本具备所需字段：{names}；列名不同时请用 --map FIELD=COLUMN 指定",
    ),
    "answers.failed": (
        "{n:,} {n:sample|samples} could not be judged: {reason}",
        "{n:,} 个样本无法评判：{reason}",
    ),
    "answers.fallback": (
        "{n:,} {n:sample was|samples were} judged by {method} because another method failed: {reason}",
        "{n:,} 个样本因其他方法失败而由 {method} 评判：{reason}",
    ),
    "answers.embedder_waits": (
        "embeddings ({embedder}) judge only what words cannot: to judge by them, use --method embedding or --method s4",
        "向量（{embedder}）只评判 words 无法评判的样本：要用向量评判，请用 --method embedding 或 --method s4",
    ),
    "answers.mixed": (
        "{labels}: the mean mixes methods ({methods}), as asked for: compare it with nothing else",
        "{labels}：应要求混合了不同方法（{methods}）的结果求均值：不要与其他数值比较",
    ),
    "answers.parts": (
        "{labels}: samples that other methods judged have a row of their own; --mix averages over all",
        "{labels}：由其他方法评判的样本单独成行；--mix 可合并求均值",
    ),
    "answers.stages": ("Where answers go wrong", "问题出在哪一步"),
    "answers.weakest": ("The statements with the least support", "最缺乏支持的陈述"),
    "answers.evidence": ("nearest in the contexts", "上下文中最接近的内容"),
    "answers.nothing": ("(nothing in the contexts)", "（上下文中没有）"),
    "answers.unstaged": ("not known", "无法判断"),
    "answers.plan": (
        "{samples:,} {samples:sample|samples} for {judges}: {calls:,} {calls:call|calls}, {cached:,} more in the cache",
        "{samples:,} 个样本，评审模型 {judges}：需调用 {calls:,} 次，缓存中已有 {cached:,} 次",
    ),
    "answers.fewer": (
        "{labels}: over {n:,} of {of:,} samples ({why})",
        "{labels}：基于 {of:,} 个样本中的 {n:,} 个（{why}）",
    ),
    "answers.unshared": (
        "not compared, because no sample has a value of every system: {labels}",
        "没有任何样本在所有系统上都有值，故不作比较：{labels}",
    ),
    "answers.common": (
        "{label}: compared over the {n:,} of {of:,} samples for which every system has a value",
        "{label}：只在所有系统都有数值的 {n:,}/{of:,} 个样本上比较",
    ),
    "answers.zero": (
        "{n:,} {n:sample has|samples have} no answer and {n:counts|count} as 0 in {labels}",
        "{n:,} 个样本没有回答，在 {labels} 中按 0 计",
    ),
    "answers.none": ("{label}: no sample could be judged: {reason}", "{label}：没有样本可以评判：{reason}"),
    "left.judged_by": ("{n} judged by {method}", "{n} 个由 {method} 评判"),
    "left.absent": ("{n} missing from the run", "{n} 个不在结果列表中"),
    "left.missing": ("{n} without an answer", "{n} 个没有回答"),
    "left.undefined": ("{n} undefined", "{n} 个无定义"),
    "left.abstained": ("{n} refused", "{n} 个拒答"),
    "left.not_applicable": ("{n} not applicable", "{n} 个不适用"),
    "left.failed": ("{n} failed", "{n} 个失败"),
    "column.method": ("method", "方法"),
    "column.samples": ("samples", "样本数"),
    "column.left": ("not in the mean", "未计入"),
    "column.sample": ("sample", "样本"),
    "column.support": ("support", "支持度"),
    "column.statement": ("statement", "陈述"),
    "method.llm": ("llm", "llm"),
    "method.embedding": ("embedding", "embedding"),
    "method.words": ("words", "words"),
    "method.mix": ("mixed", "混合"),
    "stage.not retrieved": ("not retrieved", "未检索到"),
    "stage.retrieved but not used": ("retrieved but not used", "已检索但未使用"),
    "stage.used but not supported": ("used but not supported", "已使用但缺乏支持"),
    "stage.wrong refusal": ("wrong refusal", "错误拒答"),
    "stage.right refusal": ("right refusal", "正确拒答"),
    "stage.fine": ("fine", "正常"),
    "advice.not retrieved": (
        "{n} not retrieved: the contexts do not hold the answer; improve retrieval, no prompt can help.",
        "{n} 个未检索到：上下文中没有答案；需改进检索，调整提示词无济于事。",
    ),
    "advice.retrieved but not used": (
        "{n} retrieved but not used: the contexts hold the answer; give fewer, order them better, or generate better.",
        "{n} 个已检索但未使用：答案就在上下文中；可减少上下文、改进排序，或换更强的生成模型。",
    ),
    "advice.used but not supported": (
        "{n} used but not supported: statements go beyond the contexts; tell the generator to stay with them.",
        "{n} 个已使用但缺乏支持：陈述超出了上下文；应要求生成模型只依据上下文回答。",
    ),
    "advice.wrong refusal": (
        "{n} wrong {n:refusal|refusals}: the contexts hold the answer; the prompt is too strict.",
        "{n} 个错误拒答：上下文中有答案；提示词过于严格。",
    ),
    "agreement.words": (
        "words: Spearman .69 with people's faithfulness on MTRAG (220 answers); rewording looks like invention; {sees}",
        "words：在 MTRAG（220 个回答）上与人工忠实度的 Spearman 相关为 .69；会把改写当作编造，{sees}",
    ),
    "agreement.embedding": (
        "embedding: Spearman {rho} ({embedder}) with people's faithfulness on MTRAG (220 answers); {sees}",
        "embedding：在 MTRAG（220 个回答）上与人工忠实度的 Spearman 相关为 {rho}（{embedder}）；{sees}",
    ),
    "agreement.embedder": (
        "embedding: how far {embedder} agrees with people is not known (wordllama: Spearman .60 on MTRAG); {sees}",
        "embedding：{embedder} 与人的一致程度未知；wordllama 在 MTRAG 上的 Spearman 相关为 .60；{sees}",
    ),
    "agreement.sees": (
        "of changed words it sees numbers, names, negation, opposites and order",
        "对改动只能看出数字、名称、否定、反义和语序",
    ),
    "agreement.llm": (
        "llm: how far this judge agrees with people is not known until its verdicts are compared with theirs",
        "llm：在与人工判断比较之前，不知道该评审模型与人的一致程度",
    ),
}  # fmt: skip
