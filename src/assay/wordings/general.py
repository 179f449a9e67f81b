"""Every message in English and Chinese: key -> (English, Chinese)."""

from __future__ import annotations

GENERAL: dict[str, tuple[str, str]] = {
    "text.either": ("{en}", "{zh}"),
    # Headers of tables
    "column.system": ("system", "系统"),
    "column.measure": ("measure", "指标"),
    "column.judge": ("judge", "评审模型"),
    "column.query": ("query", "查询"),
    "column.status": ("status", "状态"),
    "column.mean": ("mean", "均值"),
    "column.interval": ("{level:.0%} interval", "{level:.0%} 置信区间"),
    "column.difference": ("difference", "差值"),
    "column.relative": ("relative", "相对变化"),
    "column.p": ("p", "p 值"),
    "column.p_corrected": ("p ({name})", "p 值（{name}）"),
    "column.effect_size": ("d_z", "效应量 d_z"),
    "column.outcomes": ("wins/ties/losses", "胜/平/负"),
    "column.verdict": ("verdict", "结论"),
    "column.variant": ("variant", "变体"),
    "column.description": ("description", "说明"),
    "column.change": ("change", "变化"),
    "column.retrieved": ("retrieved", "检索"),
    "column.reranked": ("reranked", "重排后"),
    "column.ceiling": ("ceiling", "上限"),
    "column.reached": ("of ceiling", "达到上限"),
    "column.headroom": ("of headroom", "占提升空间"),
    "column.overlap": ("overlap@{k}", "重合度@{k}"),
    "column.rbo": ("RBO (p = .9)", "RBO（p = .9）"),
    "column.contained": ("from the baseline's lists", "来自基线列表"),
    "column.value": ("value", "数值"),
    "column.target": ("target", "目标"),
    "column.excellent": ("excellent", "优秀"),
    "column.advice": ("advice", "建议"),
    "column.stage": ("stage", "阶段"),
    "column.queries": ("queries", "查询数"),
    "column.share": ("share", "占比"),
    "column.examples": ("for example", "例如"),
    "column.attribute": ("attribute", "属性"),
    "column.failed": ("failed", "失败"),
    "column.first": ("first relevant", "首个相关"),
    "column.above": ("above it", "排在其前"),
    "column.text": ("text", "文本"),
    "column.rule": ("rule", "规则"),
    "column.outcome": ("outcome", "结果"),
    "column.detail": ("detail", "详情"),
    # Statuses and outcomes
    "status.excellent": ("excellent", "优秀"),
    "status.ok": ("OK", "OK"),
    "status.low": ("low", "偏低"),
    "status.high": ("high", "偏高"),
    "status.unmeasured": ("not measured", "未测量"),
    "outcome.passed": ("passed", "通过"),
    "outcome.failed": ("failed", "未通过"),
    "outcome.inconclusive": ("inconclusive", "无法判定"),
    "verdict.better": ("better", "更好"),
    "verdict.worse": ("worse", "更差"),
    "verdict.equivalent": ("equivalent", "等效"),
    "verdict.inconclusive": ("inconclusive", "无法判定"),
    "verdict.none": ("too few queries", "查询太少"),
    "verdict.baseline": ("baseline", "基线"),
    # Why there is no interval
    "interval.behind": ("{value} {interval}", "{value} {interval}"),
    "interval.none": ("(no interval: {reason})", "（无置信区间：{reason}）"),
    "interval.no_spread": ("values do not vary", "取值无变化"),
    "interval.one_value": ("one value only", "只有一个值"),
    "interval.one_weight": ("one value has over 99 % of the weight", "单个值占 99 % 以上的权重"),
    "interval.no_baseline": ("the baseline is 0", "基线为 0"),
    "interval.same_resamples": ("resamples do not vary", "重采样结果无变化"),
    "interval.unstable": ("too little variation", "变化过小"),
    # What stands behind an evaluation
    "doubt.judged": ("{n:,} judged {n:query|queries}, protocol {protocol}", "{n:,} 个已标注查询，协议 {protocol}"),
    "doubt.missing": (
        "{n:,} judged {n:query is|queries are} missing and {n:counts|count} {fate}: {some}",
        "{n:,} 个已标注查询在结果中缺失，{fate}：{some}",
    ),
    "doubt.undefined": (
        "{n:,} {n:query has|queries have} no relevant document and {n:counts|count} {fate}: {some}",
        "{n:,} 个查询没有相关文档，{fate}：{some}",
    ),
    "doubt.unreached": (
        "no grade reaches min_relevance {n:g}, so nothing counts as relevant for {labels}: check --min-relevance",
        "没有任何标注等级达到 min_relevance {n:g}，因此 {labels} 没有相关文档：请检查 --min-relevance",
    ),
    "doubt.unjudged_query": (
        "{n:,} {n:query has|queries have} no judgments and {n:counts|count} nowhere: {some}",
        "{n:,} 个查询没有标注，不计入：{some}",
    ),
    "fate.zero": ("as 0", "按 0 计"),
    "fate.skip": ("nowhere", "不计入"),
    "doubt.fewer": ("{labels}: over {n:,} of {judged:,} queries", "{labels}：基于 {judged:,} 个查询中的 {n:,} 个"),
    "doubt.tied": (
        "{label} of {n} {n:query|queries} hangs on tied scores, broken by {rule}",
        "有 {n} 个查询的 {label} 取决于同分文档的顺序（按{rule}排序）",
    ),
    "rule.docid": ("document id", "文档 ID"),
    "rule.given": ("the order given", "给定顺序"),
    "rule.expected": ("expected", "期望值"),
    "doubt.no_common": (
        "no document of the run is judged: do both files use the same document ids? (see: assay check)",
        "结果中没有任何已标注文档：两个文件的文档 ID 是否一致？（见 assay check）",
    ),
    "doubt.unjudged": (
        "{share:.0%} of the documents behind {label} are unjudged and count as not relevant",
        "{label} 涉及的文档有 {share:.0%} 未标注，按不相关计",
    ),
    "doubt.uncalibrated": (
        "uncalibrated judge: the grades are those of {judge}, not compared with people's (see: assay calibrate)",
        "未校准的评审模型：等级由 {judge} 给出，未与人工标注比较（见 assay calibrate）",
    ),
    "doubt.calibrated": (
        "the grades are those of {judge}, which agrees with people by {how}",
        "等级由 {judge} 给出，与人工标注的一致性：{how}",
    ),
    "doubt.stamp": ("uncalibrated judge", "未校准的评审模型"),
    "doubt.weighted": (
        (
            "means are weighted by query: {n:,} {n:query is|queries are} worth {effective:.1f} equally weighted ones;"
            " the heaviest, {query}, has {share:.1%} of the weight"
        ),
        "均值按查询权重加权：{n:,} 个查询相当于 {effective:.1f} 个等权查询；权重最大的 {query} 占总权重的 {share:.1%}",
    ),
    "doubt.definitions": ("definitions: {text}", "定义：{text}"),
    "doubt.of_all": ("all systems: {text}", "所有系统：{text}"),
    "doubt.of_one": ("{system}: {text}", "{system}：{text}"),
    # Comparisons
    "compare.means": (
        "Means over {n:,} {n:query|queries}, protocol {protocol}; {marks}",
        "基于 {n:,} 个查询的均值，协议 {protocol}；{marks}",
    ),
    "compare.weighted_means": (
        (
            "Weighted means over {n:,} {n:query|queries}, worth {effective:.1f} equally weighted ones ({query} has"
            " {share:.1%} of the weight), protocol {protocol}; {marks}"
        ),
        (
            "基于 {n:,} 个查询的加权均值，相当于 {effective:.1f} 个等权查询（{query} 占总权重的 {share:.1%}），"
            "协议 {protocol}；{marks}"
        ),
    ),
    "compare.daggers": (
        "\u2020 better and \u2021 worse than {baseline} (permutation test, {correction}, p <= {alpha:g}).",
        "\u2020 优于、\u2021 劣于 {baseline}（置换检验，{correction}，p <= {alpha:g}）。",
    ),
    "compare.letters": (
        "systems that share a letter are not shown to differ (randomised Tukey HSD, p <= {alpha:g}).",
        "字母相同的系统之间未显示出差异（随机化 Tukey HSD，p <= {alpha:g}）。",
    ),
    "compare.best": ("Best {measure}: {system} ({value:.4f}).", "{measure} 最佳：{system}（{value:.4f}）。"),
    "compare.best_like": (
        "Best {measure}: {system} ({value:.4f}); it is not shown to differ from {others}.",
        "{measure} 最佳：{system}（{value:.4f}），与 {others} 未显示出差异。",
    ),
    "compare.against": ("{measure}: against {baseline}", "{measure}：与 {baseline} 比较"),
    "compare.better": (
        "{system} is better than {baseline} in {measure}: {by:+.4f} {interval}{more}.",
        "{system} 的 {measure} 优于 {baseline}，差值 {by:+.4f} {interval}{more}。",
    ),
    "compare.worse": (
        "{system} is worse than {baseline} in {measure}: {by:+.4f} {interval}{more}.",
        "{system} 的 {measure} 劣于 {baseline}，差值 {by:+.4f} {interval}{more}。",
    ),
    "compare.equivalent": (
        (
            "{system} and {baseline} are equivalent in {measure}: the difference of {by:+.4f} is shown to be smaller"
            " than {smallest:g}, the smallest difference that matters."
        ),
        "{system} 与 {baseline} 的 {measure} 等效：可确认差值 {by:+.4f} 小于有意义的最小差值 {smallest:g}。",
    ),
    "compare.inconclusive": (
        "{system} and {baseline}: no conclusion on {measure}; the difference is {by:+.4f} {interval}{more}.",
        "{system} 与 {baseline} 的 {measure} 无法判定：差值 {by:+.4f} {interval}{more}。",
    ),
    "compare.too_few": (
        (
            "{system} and {baseline}: no verdict on {measure}, as {n} {n:query is|queries are} too few (it takes at"
            " least {least}); the difference is {by:+.4f} {interval}."
        ),
        (
            "{system} 与 {baseline} 的 {measure} 不作判定：{n} 个查询太少（至少需要 {least} 个）；"
            "差值 {by:+.4f} {interval}。"
        ),
    ),
    "compare.too_few_by_weight": (
        (
            "{system} and {baseline}: no verdict on {measure}, as the weights make {n:,} queries worth only"
            " {effective} equally weighted ones (it takes at least {least}); the difference is {by:+.4f}"
            " {interval}."
        ),
        (
            "{system} 与 {baseline} 的 {measure} 不作判定：按权重，{n:,} 个查询只相当于 {effective} 个等权查询"
            "（至少需要 {least} 个）；差值 {by:+.4f} {interval}。"
        ),
    ),
    "compare.unchanged_inconclusive": (
        (
            "{system} and {baseline}: no query differs in {measure}, but {n:,} queries cannot exclude a mean difference"
            " of {limit:.4f}{more}."
        ),
        (
            "{system} 与 {baseline}：所有查询的 {measure} 均相同，但 {n:,} 个查询无法排除 {limit:.4f} 的平均差值"
            "{more}。"
        ),
    ),
    "compare.unchanged_equivalent": (
        (
            "{system} and {baseline} are equivalent in {measure}: no query differs, and {n:,} queries exclude a mean"
            " difference of {limit:.4f} or more; a smaller one does not matter."
        ),
        (
            "{system} 与 {baseline} 的 {measure} 等效：所有查询均相同，{n:,} 个查询可排除 {limit:.4f} 以上的"
            "平均差值，更小的差值无关紧要。"
        ),
    ),
    "compare.unchanged_unbounded": (
        (
            "{system} and {baseline}: no query differs in {measure}; a measure without an upper bound is not called"
            " equivalent."
        ),
        "{system} 与 {baseline}：所有查询的 {measure} 均相同；没有上限的指标不判为等效。",
    ),
    "compare.needed": (
        "; it takes at least {n:,} queries to show that it is below {smallest:g}",
        "；要证明差值小于 {smallest:g}，至少需要 {n:,} 个查询",
    ),
    "compare.rare": (
        "; that it is below {smallest:g} is not shown yet, as rare large differences may not have been seen",
        "；尚不能证明差值小于 {smallest:g}，因为可能还有罕见的大差值未被看到",
    ),
    "compare.unbounded": (
        "; a measure without an upper bound is not called equivalent",
        "；没有上限的指标不判为等效",
    ),
    "compare.maybe_small": (
        ", perhaps by less than {smallest:g}, the smallest difference that matters",
        "，但可能小于有意义的最小差值 {smallest:g}",
    ),
    "compare.power": (
        (
            "; with {n:,} queries, a true difference of {detectable:.4f} or more would be detected 80 % of the time"
        ),
        "；{n:,} 个查询有 80 % 的把握检出的最小差值为 {detectable:.4f}",
    ),
    "compare.matrix": (
        "{measure}: p of every pair (randomised Tukey HSD)",
        "{measure}：各对系统的 p 值（随机化 Tukey HSD）",
    ),
    "compare.lifts": ("What {system} makes of the candidates of {baseline}", "{system} 对 {baseline} 候选的重排效果"),
    "compare.gains": ("{measure} gains {gain:.1%} {interval}", "{measure} 提升 {gain:.1%} {interval}"),
    "compare.loses": ("{measure} loses {gain:.1%} {interval}", "{measure} 下降 {gain:.1%} {interval}"),
    "compare.keeps": ("{measure} does not change {interval}", "{measure} 没有变化 {interval}"),
    "compare.keeps_all": ("{measure} does not change in any query", "所有查询的 {measure} 都没有变化"),
    "compare.pays_above": (
        "{change}: the gain is shown to be above {worth:.0%}, so by this rule the reranker pays.",
        "{change}：增益可确认高于 {worth:.0%}，按此规则重排划算。",
    ),
    "compare.pays_below": (
        "{change}: the gain is shown to be below {worth:.0%}, so by this rule the reranker does not pay.",
        "{change}：增益可确认低于 {worth:.0%}，按此规则重排不划算。",
    ),
    "compare.pays_open": (
        "{change}: the gain may be more or less than {worth:.0%}, so whether the reranker pays is not shown.",
        "{change}：增益可能高于也可能低于 {worth:.0%}，重排是否划算尚未得到证实。",
    ),
    "compare.keeps_open": (
        "On these {n:,} queries {measure} does not change; that is too few to rule out a gain of {worth:.0%}.",
        "在这 {n:,} 个查询上 {measure} 没有变化；查询太少，尚不能排除 {worth:.0%} 的增益。",
    ),
    "compare.keeps_unbounded": (
        (
            "On these {n:,} queries {measure} does not change; for a measure without an upper bound, that does not rule"
            " out a gain of {worth:.0%}."
        ),
        "在这 {n:,} 个查询上 {measure} 没有变化；该指标没有上限，尚不能排除 {worth:.0%} 的增益。",
    ),
    "compare.worth": (
        "That a reranker pays above a gain of {worth:.0%} is a setting (--worth); 15% is a rule of thumb, not a law.",
        "“增益超过 {worth:.0%} 重排才划算”是可调的设置（--worth）；15% 是经验值，并非定律。",
    ),
    "compare.ceiling": (
        "The ceiling is the best order of the same candidates: no reranker can do better with them.",
        "上限为同一批候选的最佳排序：任何重排器都无法超过。",
    ),
    "compare.likeness": ("How far the lists differ from those of {baseline}", "与 {baseline} 列表的差异"),
    "compare.movers": ("Queries that moved most: {system}, {measure}", "变化最大的查询：{system}，{measure}"),
    "compare.ablation": ("Ablation against {baseline}", "消融实验（对照 {baseline}）"),
    "compare.warnings": ("What a reviewer would ask", "审稿人会问"),
    "compare.settings": (
        "Permutation test with {n:,} resamples, seed {seed}; differences below {smallest:g} do not matter.",
        "置换检验，{n:,} 次重采样，种子 {seed}；小于 {smallest:g} 的差值视为无意义。",
    ),
    "compare.settings_exact": (
        "Exact permutation test; differences below {smallest:g} do not matter.",
        "精确置换检验；小于 {smallest:g} 的差值视为无意义。",
    ),
    "compare.settings_each": (
        "Equivalence is tested system by system, without a correction.",
        "等效性逐个系统检验，未作校正。",
    ),
    "correction.holm": ("Holm", "Holm"),
    "correction.bonferroni": ("Bonferroni", "Bonferroni"),
    "correction.benjamini-hochberg": ("Benjamini-Hochberg", "Benjamini-Hochberg"),
    "correction.none": ("not corrected", "未校正"),
    # What a reviewer would raise
    "concern.few_queries": (
        "only {n} {n:query|queries}: below {enough}, tests are rough and most differences cannot be shown",
        "只有 {n} 个查询：少于 {enough} 个时，区间与检验较粗略，多数差异无法检出",
    ),
    "concern.uncorrected": (
        "{n} tests without correction: one in twenty of equal systems looks different (use --correction holm)",
        "{n} 次检验未做多重校正：相同系统中每二十次就有一次看似不同（请用 --correction holm）",
    ),
    "concern.each_measure": (
        "{n} measures, each corrected by itself: name one primary measure beforehand, or use --family all",
        "{n} 个指标各自校正：请事先指定一个主指标，或使用 --family all",
    ),
    "concern.each_measure_pairs": (
        "{n} measures, each tested by itself: name one primary measure beforehand",
        "{n} 个指标各自检验：请事先指定一个主指标",
    ),
    "concern.small_mean": (
        "{labels}: the baseline's mean is below {least:g}, so relative changes look large and say little",
        "{labels}：基线均值低于 {least:g}，相对变化看似很大但意义有限",
    ),
    "concern.unjudged": (
        "{label}: {share:.0%} of the documents of {most} are unjudged, {other:.0%} of {least}: that favours {least}",
        "{label}：{most} 有 {share:.0%} 的文档未标注，{least} 为 {other:.0%}：对 {least} 有利",
    ),
    "concern.short": (
        "{system}: {n:,} of {of:,} queries have fewer results than the cutoff of {label}",
        "{system}：{of:,} 个查询中有 {n:,} 个的结果数少于 {label} 的截断",
    ),
    # Judging
    "judge.plan": (
        "{pairs:,} {pairs:pair|pairs} for {judges}: {calls:,} {calls:call|calls}, {cached:,} more in the cache",
        "{pairs:,} 对待评，评审模型 {judges}：需调用 {calls:,} 次，缓存中已有 {cached:,} 次",
    ),
    "judge.tokens": (
        "about {prompt:,} prompt tokens, at most {completion:,} completion tokens",
        "约 {prompt:,} 个提示词元，至多 {completion:,} 个生成词元",
    ),
    "judge.price": (
        "about {cost:.4f} {currency}; --max-cost {enough} suffices if no call breaks off (all long, asked for twice)",
        "约 {cost:.4f} {currency}；若无调用中断，--max-cost {enough} 够用（按回答均达长度上限、且均需再问一次计）",
    ),
    "judge.price_open": ("about {cost:.4f} {currency}", "约 {cost:.4f} {currency}"),
    "judge.over": (
        "the {limit:.4f} {currency} allowed may not suffice: running it again judges the rest",
        "允许的 {limit:.4f} {currency} 可能不够：未评部分可再次运行完成",
    ),
    "judge.no_price": (
        "the price is not known: give a file with --prices",
        "价格未知：请用 --prices 提供价格文件",
    ),
    "judge.done": (
        "{pairs:,} {pairs:pair|pairs}: {scored:,} judged, {failed:,} failed{reasons}",
        "{pairs:,} 对：已评 {scored:,}，失败 {failed:,}{reasons}",
    ),
    "judge.spent": (
        "{calls:,} {calls:call|calls}, {cached:,} answers from the cache, {tokens:,} tokens, {money}",
        "调用 {calls:,} 次，缓存 {cached:,} 次，{tokens:,} 个词元，{money}",
    ),
    "judge.spent_estimated": (
        "{calls:,} {calls:call|calls}, {cached:,} answers from the cache, about {tokens:,} tokens (estimated), {money}",
        "调用 {calls:,} 次，缓存 {cached:,} 次，约 {tokens:,} 个词元（估算），{money}",
    ),
    "judge.about": ("about {money}", "约 {money}"),
    "judge.money": ("{cost:.4f} {currency}", "{cost:.4f} {currency}"),
    "judge.money_maybe": (
        "{cost:.4f} {currency} and up to {possible:.4f} more for calls without an answer",
        "{cost:.4f} {currency}，未获回应的调用可能另计 {possible:.4f}",
    ),
    "judge.money_unknown": ("cost unknown", "费用未知"),
    "judge.cut": (
        "{n:,} {n:document was|documents were} cut to {limit:,} characters",
        "{n:,} 篇文档截断为 {limit:,} 个字符",
    ),
    "judge.again": (
        "Run the same command again to judge the rest: no answer is paid twice (--max-cost is for each run).",
        "再次运行同一命令即可评完其余部分：已得到的回答不会重复付费（--max-cost 按每次运行计）。",
    ),
    # Calibration
    "calibrate.title": (
        "{judge} against people: {pairs:,} pairs of {queries:,} queries",
        "{judge} 与人工标注：{queries:,} 个查询的 {pairs:,} 对",
    ),
    "calibrate.kappa": ("quadratic-weighted kappa", "二次加权 kappa"),
    "calibrate.alpha": ("Krippendorff's alpha (ordinal)", "Krippendorff alpha（有序）"),
    "calibrate.spearman": ("Spearman correlation", "Spearman 相关"),
    "calibrate.exact": ("same grade", "等级相同"),
    "calibrate.bias": ("judge - people, mean", "评审模型减人工，均值"),
    "calibrate.confusion": ("People's grade (rows) and the judge's", "人工等级（行）与评审模型等级"),
    "calibrate.biases": ("Bias by grade", "各等级的偏差"),
    "calibrate.noise": ("The same pair asked again", "同一对重复评审"),
    "calibrate.systems": ("Means corrected by people's grades", "以人工等级校正的均值"),
    "calibrate.ranking": (
        "Kendall's tau of the systems' means under both: {value:.2f}",
        "两种标注下系统均值的 Kendall tau：{value:.2f}",
    ),
    "calibrate.poor": (
        "kappa {value:.2f} is below {least:g}: these grades cannot stand in for people's, and the stamp stays",
        "kappa {value:.2f} 低于 {least:g}：这些等级不能代替人工标注，“未校准”标记保留",
    ),
    "calibrate.few": (
        "only {n} labels: below {enough} the intervals are wide",
        "只有 {n} 个人工标注：少于 {enough} 个时区间较宽",
    ),
    "calibrate.few_queries": (
        "the labels come from only {n} queries: labels of more queries say more",
        "标注只来自 {n} 个查询：来自更多查询的标注更有说服力",
    ),
    "calibrate.scales": (
        "people's highest grade is {human:g}, the judge's {judge:g}: are these the same scale?",
        "人工最高等级为 {human:g}，评审模型为 {judge:g}：是否为同一等级标准？",
    ),
    "calibrate.labelled": (
        "A query counts as labelled when people graded all its pairs that the judge graded.",
        "某查询中评审模型评过的文档全部有人工等级时，才算已标注查询。",
    ),
    "column.pairs": ("pairs", "对数"),
    "column.grade": ("grade", "等级"),
    "column.bias": ("judge - people", "评审模型减人工"),
    "column.differing": ("differing", "不一致"),
    "column.deviation": ("deviation", "标准差"),
    "column.people": ("people", "人工"),
    "column.labelled": ("labelled", "已标注查询"),
    "column.corrected": ("corrected", "校正后"),
    # Sweeps
    "sweep.title": ("{measure} against k", "{measure} 随 k 的变化"),
    "sweep.choices": ("Which k", "选择 k"),
    "sweep.f1": ("{system}: F1 is highest at k = {k}.", "{system}：k = {k} 时 F1 最高。"),
    "sweep.recall": (
        "{system}: recall reaches {target:g} at k = {k}.",
        "{system}：k = {k} 时召回率达到 {target:g}。",
    ),
    "sweep.no_recall": (
        "{system}: recall does not reach {target:g} at any k tried (highest {value:.4f} at k = {k}).",
        "{system}：所试的 k 均未使召回率达到 {target:g}（最高 {value:.4f}，k = {k}）。",
    ),
    "sweep.answers": (
        "{system}: question answering wants k = 3 to 5 and precision: k = {k}.",
        "{system}：问答宜取 k = 3–5，重精确率：k = {k}。",
    ),
    "sweep.survey": (
        "{system}: survey tasks want k = 10 to 20 and recall: k = {k}.",
        "{system}：综述类任务宜取 k = 10–20，重召回率：k = {k}。",
    ),
    "sweep.bands": (
        "Means over {n:,} queries with {level:.0%} intervals, protocol {protocol}.",
        "基于 {n:,} 个查询的均值与 {level:.0%} 置信区间，协议 {protocol}。",
    ),
    # Diagnosis
    "diagnose.title": ("{system}: {n:,} queries, protocol {protocol}", "{system}：{n:,} 个查询，协议 {protocol}"),
    "diagnose.targets": ("Targets", "目标"),
    "diagnose.no_targets": (
        "Protocol {protocol} has no targets; --protocol rag and rerank have some.",
        "协议 {protocol} 没有目标值；--protocol rag 与 rerank 有。",
    ),
    "diagnose.stages": ("Where it fails, at k = {k}", "失败在哪里（k = {k}）"),
    "diagnose.slices": ("{measure} by kind of query", "按查询类别的 {measure}"),
    "diagnose.worst": ("The worst queries by {measure}", "{measure} 最差的查询"),
    "diagnose.nothing_relevant": ("not retrieved", "未检索到"),
    "diagnose.all_reached": ("All measured targets are reached.", "所有已测量的目标均已达到。"),
    "diagnose.limit": (
        "No system can have more than {limit:.4f} in {measure} here: see recall(capped=true).",
        "此处任何系统的 {measure} 都不超过 {limit:.4f}：可看按可容纳数计算的 recall(capped=true)。",
    ),
    "diagnose.missing": (
        "{n} judged {n:query is|queries are} missing from the run: find out why before anything else.",
        "{n} 个已标注查询在结果中缺失：请先查明原因。",
    ),
    "diagnose.not_retrieved": (
        "{n} {n:query finds|queries find} nothing relevant at any depth: better retrieval helps, reranking cannot.",
        "{n} 个查询在任何深度都未检索到相关文档：需改进检索，重排无济于事。",
    ),
    "diagnose.below_k": (
        "{n} {n:query has|queries have} relevant documents below rank {k} only: a reranker or a larger k helps.",
        "{n} 个查询的相关文档都排在第 {k} 位之后：重排或增大 k 会有帮助。",
    ),
    "diagnose.lacking": (
        "{n:,} of {of:,} judged queries have no attributes and are in no slice.",
        "{of:,} 个已标注查询中有 {n:,} 个没有属性，不在任何分组中。",
    ),
    "diagnose.left_out": (
        "Not sliced by {names}: one value only, or too many.",
        "未按 {names} 分组：只有一个取值，或取值过多。",
    ),
    "diagnose.judged_mark": (
        "After a document its grade, ? where it was not judged.",
        "文档后为其等级，? 表示未标注。",
    ),
    "stage.missing": ("missing from the run", "结果中缺失"),
    "stage.not_retrieved": ("nothing relevant retrieved", "未检索到相关文档"),
    "stage.below_k": ("relevant below k only", "相关文档排在 k 之后"),
    "stage.partly": ("some relevant in the top k", "前 k 中有部分相关文档"),
    "stage.complete": ("all that fit in the top k", "前 k 已尽数命中"),
    "stage.no_relevant": ("no relevant document exists", "没有相关文档"),
    # Gates
    "gate.title": ("Gate for {system}: {outcome}", "{system} 的质量门：{outcome}"),
    "gate.passed_threshold": (
        "{measure} is {value:.4f} ({sign} {goal:g})",
        "{measure} 为 {value:.4f}（{sign} {goal:g}）",
    ),
    "gate.failed_threshold": (
        "{measure} is {value:.4f}, not {sign} {goal:g}",
        "{measure} 为 {value:.4f}，未达到 {sign} {goal:g}",
    ),
    "gate.inconclusive_threshold": (
        "{measure} is {value:.4f}: too few queries to say that it is {sign} {goal:g}",
        "{measure} 为 {value:.4f}：查询太少，无法断定 {sign} {goal:g}",
    ),
    "gate.passed_baseline": (
        "{measure} differs by {difference:+.4f} {interval} from {baseline}: not worse by {margin:g}",
        "{measure} 与 {baseline} 相差 {difference:+.4f} {interval}：未变差 {margin:g}",
    ),
    "gate.failed_baseline": (
        "{measure} differs by {difference:+.4f} {interval} from {baseline}: worse by over {margin:g}",
        "{measure} 与 {baseline} 相差 {difference:+.4f} {interval}：变差超过 {margin:g}",
    ),
    "gate.inconclusive_baseline": (
        "{measure} differs by {difference:+.4f} {interval} from {baseline}: worse by {margin:g} or not",
        "{measure} 与 {baseline} 相差 {difference:+.4f} {interval}：是否变差 {margin:g} 无法判定",
    ),
    "gate.coverage": (
        "{measure} is {value:.4f} over {n} of {of} {things} that should count ({share:.1%}, {least:.1%} needed): {why}",
        "{measure} 为 {value:.4f}，应计入的 {of} 个{things}只有 {n} 个有值（{share:.1%}，需 {least:.1%}）：{why}",
    ),
    "gate.no_value": (
        "{measure} has no value: 0 of {of} {things} that should count have one: {why}",
        "{measure} 没有数值：应计入的 {of} 个{things}都没有值：{why}",
    ),
    "gate.samples": ("samples", "样本"),
    "gate.queries": ("queries", "查询"),
    "gate.unchanged": (
        "{measure}: no query differs from {baseline} ({n:,} {n:query|queries})",
        "{measure}：所有查询均与 {baseline} 相同（{n:,} 个查询）",
    ),
    "gate.passed_alike": (
        "{measure} differs by {difference:+.4f} from {baseline} in every query: not worse by {margin:g}",
        "{measure} 在每个查询上都与 {baseline} 相差 {difference:+.4f}：未变差 {margin:g}",
    ),
    "gate.failed_alike": (
        "{measure} differs by {difference:+.4f} from {baseline} in every query: worse by over {margin:g}",
        "{measure} 在每个查询上都与 {baseline} 相差 {difference:+.4f}：变差超过 {margin:g}",
    ),
    "gate.inconclusive_alone": (
        "{measure} differs by {difference:+.4f} from {baseline}: too few queries to say if it is worse by {margin:g}",
        "{measure} 与 {baseline} 相差 {difference:+.4f}：查询太少，无法判定是否变差 {margin:g}",
    ),
    "gate.open_fails": ("A rule that cannot be decided fails here (--strict).", "无法判定即视为未通过（--strict）。"),
    "gate.open": (
        "An inconclusive rule does not stop anything; --strict makes it fail.",
        "无法判定的规则不会拦截；使用 --strict 可使其失败。",
    ),
}  # fmt: skip
