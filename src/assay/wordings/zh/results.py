"""Texts in Chinese, by their English: what `assay.results` says."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    # Files
    "the result file is damaged: {place}: {what}": "结果文件已损坏：{place}：{what}",
    "the result file is damaged: {kind} {error}": "结果文件已损坏：{kind} {error}",
    "not valid JSON: it is nested too deeply": "JSON 格式有误：嵌套过深",
    "the key {key!r} appears twice in one object": "同一对象中键 {key!r} 出现两次",
    "{value} is not a finite number": "{value} 不是有限的数",
    "the number {number} is too large": "数值 {number} 过大",
    "this is not a result file": "这不是结果文件",
    "make one with: assay evaluate --output FILE.json": "可用此命令生成：assay evaluate --output FILE.json",
    "the file has schema {found!r:.20}; this version of assay reads schema {schema} and earlier": "文件的格式版本为 {found!r:.20}；此版本的 assay 只能读取版本 {schema} 及更早的文件",
    "update assay": "请升级 assay",
    "it is missing": "缺少此项",
    "two are called {name!r}": "有两个都名为 {name!r}",
    "the labels are not those of {place}": "标签与 {place} 的不一致",
    "a query appears twice": "有查询出现两次",
    "there is not one value for each query": "并非每个查询都有一个值",
    "there is no measure": "没有指标",
    # What does not fit together
    "a histogram must have one count between each two edges": "直方图每两个边界之间必须有一个计数",
    "two combinations have the same name": "有两个组合同名",
    "the winner must be one of the combinations and have a value of the measure that decides": "胜出者必须是其中一个组合，并有决定性指标的值",
    "queries must be listed by every stage or by none": "查询要么按全部阶段列出，要么一个阶段也不列",
    "the baseline must be the first system": "基线必须是第一个系统",
    "there must be one conclusion on every measure": "每个指标都须有一个结论",
    "every system must have a mean of every measure": "每个系统都须有每个指标的均值",
    "every system but the baseline must have a contrast on every measure": "除基线外，每个系统在每个指标上都须有对比",
    "lifts must be of systems and measures that are compared": "分组比较只能涉及参与比较的系统和指标",
    "pairs must be of systems and measures that are compared": "成对比较只能涉及参与比较的系统和指标",
    "a curve must have one point for each k": "曲线在每个 k 处须有一个点",
    "every system must have a curve of every measure": "每个系统都须有每个指标的曲线",
    # Settings and lookups
    "contrast": "对比",
    "smallest effect {smallest:g}: expected a number above 0": "有意义的最小差值为 {smallest:g}：应为大于 0 的数",
    "seed {seed}: expected a whole number, 0 or more": "随机数种子为 {seed}：应为不小于 0 的整数",
    "{resamples} resamples: expected 1 or more": "重采样次数为 {resamples}：至少应为 1",
    "worth {worth:g}: expected a number, 0 or more": "worth 为 {worth:g}：应为不小于 0 的数",
    "the quality before is {before!r}: a relative gain needs a number above 0": "之前的质量为 {before!r}：计算相对提升需要大于 0 的数",
    "two systems are called {name!r}: give each a name of its own": "有两个系统都名为 {name!r}：请为每个系统取不同的名称",
    "the systems were evaluated under different rules: write one result file for each": "各系统的评测规则不同：请分别写入不同的结果文件",
    "the systems were evaluated on different judgments: write one result file for each": "各系统所用的相关性标注不同：请分别写入不同的结果文件",
    "no pair could be judged ({reason}): {why}": "没有一对标注成功（{reason}）：{why}",
}
