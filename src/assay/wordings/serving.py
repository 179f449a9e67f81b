"""Messages about speed and money in English and Chinese: key -> (English, Chinese)."""

from __future__ import annotations

SERVING: dict[str, tuple[str, str]] = {
    "column.candidates": ("candidates", "候选数"),
    "column.loop": ("loop", "负载方式"),
    "column.threads": ("threads", "线程数"),
    "column.calls": ("calls", "调用数"),
    "column.std": ("std", "标准差"),
    "column.errors": ("errors", "错误数"),
    "column.offered": ("offered/s", "到达率/秒"),
    "column.throughput": ("calls/s", "吞吐量/秒"),
    "column.speedup": ("speed-up", "加速比"),
    "column.percentile_of": ("P{n} [{level:.0%} interval]", "P{n}［{level:.0%} 置信区间］"),
    "column.reference": ("reference P50/P95/P99", "参考值 P50/P95/P99"),
    "column.model": ("model", "模型"),
    "column.one_thread": ("1 thread", "1 线程"),
    "column.four_threads": ("4 threads", "4 线程"),
    "column.gpu": ("GPU factor", "GPU 倍数"),
    "loop.closed": ("closed", "闭环"),
    "loop.open": ("open {rate:g}/s", "开环 {rate:g}/秒"),
    "loop.service": ("  without the queue", "  不计排队"),
    "load.candidates": ("{n} {n:candidate|candidates}", "{n} 个候选"),
    "load.threads": ("{n} {n:thread|threads}", "{n} 线程"),
    "bench.latency": ("Latency of {target}, ms", "{target} 的延迟（毫秒）"),
    "bench.throughput": ("Throughput", "吞吐量"),
    "bench.reference_throughput": (
        "Published reference: rerankers, queries per second",
        "公开参考值：重排模型每秒查询数",
    ),
    "bench.reference_note": (
        "The references are published figures of other machines: an order of magnitude, not a target.",
        "参考值来自公开资料中的其他机器，仅供了解数量级，并非目标。",
    ),
    "bench.target_p95": (
        "P95 targets: real-time below {target:g} ms (excellent: below {excellent:g}), in batches below {batch:g} s.",
        "P95 目标：实时低于 {target:g} 毫秒（优秀：低于 {excellent:g}），批处理低于 {batch:g} 秒。",
    ),
    "bench.method": (
        "Percentiles by linear interpolation, intervals by order statistics, std with ddof 0. {calls}",
        "百分位数按线性插值，区间按次序统计量，标准差 ddof 为 0。{calls}",
    ),
    "bench.closed_method": (
        "Closed loop: a worker calls again when its call is done.",
        "闭环：上一次调用结束后才发起下一次。",
    ),
    "bench.open_method": (
        "Open loop: latency counts from the moment a call was due, so time in the queue is in it.",
        "开环：延迟从应到达时刻算起，包含排队时间。",
    ),
    "bench.bundled": (
        "Texts are those of the bundled collection; yours: --queries and --documents.",
        "所用文本为内置数据；可用 --queries 与 --documents 指定自己的文本。",
    ),
    "bench.too_few": (
        "{n:,} {n:call is|calls are} too few for {names}: the real value may lie above all that was seen.",
        "{n:,} 次调用不足以估计 {names}：真实值可能高于所有观测值。",
    ),
    "bench.needs": ("P{n} (an interval needs {needed:,})", "P{n}（置信区间需 {needed:,} 次）"),
    "bench.failed": (
        "{n:,} {n:call|calls} failed and {n:is|are} not in the percentiles: {kinds}.",
        "{n:,} 次调用失败，不计入百分位数：{kinds}。",
    ),
    "bench.timeouts": (
        "Calls that timed out were the slowest ones: the real percentiles are higher.",
        "超时的调用是最慢的：真实百分位数更高。",
    ),
    "bench.hopeless": (
        "Stopped early: 100 calls in a row failed.",
        "提前停止：连续 100 次调用失败。",
    ),
    "bench.behind": (
        "The target cannot keep up: {rate:g}/s offered, {served:.1f}/s served, and the queue grows all the time.",
        "目标跟不上：到达 {rate:g}/秒，完成 {served:.1f}/秒，队列不断变长。",
    ),
    "bench.not_started": (
        "{n:,} {n:call was|calls were} due but never begun: the real percentiles are higher.",
        "{n:,} 次应到达的调用未能开始：真实百分位数更高。",
    ),
    "bench.lag": (
        "Calls began {ms:.2f} ms late in the median though a worker was free: this machine adds that much.",
        "即使有空闲线程，调用的中位开始时间仍晚 {ms:.2f} 毫秒：这部分由本机造成。",
    ),
    "bench.alike": (
        "Calls resemble the ones before them, so they are not independent: the intervals are too narrow.",
        "相邻调用的延迟相关，并不独立：置信区间偏窄。",
    ),
    "bench.most": ("Stopped after {n:,} calls, the most that are kept.", "达到可保存的上限 {n:,} 次调用，已停止。"),
    "bench.interrupted": (
        "Interrupted: this is what was measured until then.",
        "已中断：以下为中断前的测量结果。",
    ),
    "bench.nothing": ("no call succeeded", "没有成功的调用"),
    # Money
    "column.price": ("per M tokens", "每百万 token"),
    "column.tokens_each": ("tokens a document", "每文档 token"),
    "column.each_query": ("per query", "每次查询"),
    "column.each_day": ("per day", "每天"),
    "column.basis": ("basis", "依据"),
    "cost.title": (
        "{documents:,.0f} documents a query, {queries:,.0f} queries a day",
        "每次查询 {documents:,.0f} 个文档，每天 {queries:,.0f} 次查询",
    ),
    "cost.none": ("no reranking", "不重排"),
    "cost.unknown": ("unknown", "未知"),
    "cost.lacks_price": ("unknown: no price is given", "未知：未给出价格"),
    "cost.lacks_output_price": ("unknown: output_price is missing", "未知：缺少 output_price"),
    "cost.lacks_output_of": (
        "unknown: the price list has no price for what {model} writes",
        "未知：价目表中没有 {model} 输出的价格",
    ),
    "cost.lacks_model": ("unknown: the price of {model} is not known", "未知：{model} 的价格未知"),
    "cost.lacks_tier": ("unknown: no price for prompts of {tokens:,} tokens", "未知：没有 {tokens:,} token 提示的价格"),
    "cost.search": ("{money} a search", "每次检索请求 {money}"),
    "cost.searches": ("{money} a search, {calls:g} of them a query", "每次检索请求 {money}，每次查询 {calls:g} 次请求"),
    "cost.given": ("price as given", "给定价格"),
    "cost.listed": ("{model}, {vendor} list of {date}", "{model}，{vendor} {date} 价目"),
    "cost.machine": (
        "{hour} an hour, {qps:.4g} queries/s",
        "每小时 {hour}，{qps:.4g} 次查询/秒",
    ),
    "cost.fixed": ("cost per query as given", "给定的每次查询成本"),
    "cost.reference": ("published reference", "公开参考值"),
    "cost.no_price": (
        "{method}: the price of {model} is not known, so neither is the cost: give price=, or --prices FILE.",
        "{method}：{model} 的价格未知，因此成本未知：请给出 price= 或 --prices 文件。",
    ),
    "cost.no_price_given": (
        "{method}: no price is given, so the cost is not known.",
        "{method}：未给出价格，因此成本未知。",
    ),
    "cost.too_long": (
        "{method}: {model} has no price for prompts of {tokens:,} tokens.",
        "{method}：{model} 没有 {tokens:,} token 提示的价格。",
    ),
    "cost.always_on": (
        "{method}: always on, {machines:,} {machines:machine costs|machines cost} {money} a day, {share:.0%} in use.",
        "{method}：若一直开机，{machines:,} 台机器每天 {money}，利用率 {share:.0%}。",
    ),
    "cost.measured": (
        "{method}: {qps:.4g} queries/s as measured in {place} with {threads} {threads:thread|threads}.",
        "{method}：{qps:.4g} 次查询/秒，测自 {place}（{threads} 线程）。",
    ),
    "cost.target": (
        "Targets: below ${target:g} per M tokens (excellent: below ${excellent:g}).",
        "目标：每百万 token 低于 ${target:g}（优秀：低于 ${excellent:g}）。",
    ),
    # Return on investment
    "roi.title": ("Return of {method} at {queries:,.0f} queries a day", "每天 {queries:,.0f} 次查询时 {method} 的回报"),
    "roi.step": ("reranking", "重排"),
    "roi.gain": ("gain in quality", "质量提升"),
    "roi.revenue": ("more revenue a day", "每天增收"),
    "roi.cost": ("more cost a day", "每天增加成本"),
    "roi.net": ("net a day", "每天净收益"),
    "roi.roi": ("ROI", "投资回报率"),
    "roi.even_volume": ("break-even volume, queries a day", "盈亏平衡量（每天查询数）"),
    "roi.even_price": ("break-even cost per query", "盈亏平衡的每次查询成本"),
    "roi.even_gain": ("break-even gain", "盈亏平衡的质量提升"),
    "roi.never": ("never", "无法达到"),
    "roi.any": ("any", "任意"),
    "roi.volumes": ("[{low}, {high}]", "[{low}, {high}]"),
    "roi.from_values": ("quality {before:g} -> {after:g}", "质量 {before:g} -> {after:g}"),
    "roi.from_gain": ("a gain of {gain:+.1%}, as given", "给定提升 {gain:+.1%}"),
    "roi.from_file": (
        "{measure} of {system} against {baseline}: {before:.4f} -> {after:.4f} over {n:,} queries",
        "{system} 相对 {baseline} 的 {measure}：{before:.4f} -> {after:.4f}（{n:,} 个查询）",
    ),
    "roi.pays": ("It pays over the whole interval of the gain.", "在提升的整个置信区间内均盈利。"),
    "roi.loses": ("It loses money over the whole interval of the gain.", "在提升的整个置信区间内均亏损。"),
    "roi.open": (
        "It may pay or lose money: the interval of the gain holds both.",
        "可能盈利也可能亏损：提升的置信区间同时包含两种情况。",
    ),
    "roi.unproven": (
        "Whether it pays is not shown: the comparison does not show that {system} is better.",
        "是否盈利尚未证实：比较并未证实 {system} 更好。",
    ),
    "roi.no_interval": (
        "The gain has no interval, so how sure this is cannot be said; a comparison file brings one.",
        "提升没有置信区间，无法说明把握程度；可使用比较结果文件。",
    ),
    "roi.no_interval_in_file": (
        "The comparison gives no interval of the gain that can be relied on, so how sure this is cannot be said.",
        "比较结果没有给出可靠的提升置信区间，无法说明把握程度。",
    ),
    "roi.assumes": (
        "This assumes that revenue rises by {elasticity:g} % when quality rises by 1 %: check it in an A/B test.",
        "此处假设质量每提升 1 %，收入提升 {elasticity:g} %：请用 A/B 测试验证。",
    ),
    "roi.not_shown": (
        "The comparison itself does not show a difference (verdict: {verdict}).",
        "比较本身未显示差异（结论：{verdict}）。",
    ),
    "roi.no_cost": ("The cost is not known, so there is no ROI.", "成本未知，因此无法计算投资回报率。"),
    "roi.free": ("There is no extra cost, so the ROI has no value.", "没有额外成本，投资回报率无意义。"),
    "roi.price_per_million": (
        "The break-even cost is {money} per M tokens.",
        "盈亏平衡成本相当于每百万 token {money}。",
    ),
}  # fmt: skip
