"""Texts in Chinese, by their English: what `assay.stats` says."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    # Arrays
    "{name} must be numbers: {error}": "{name} 必须是数值：{error}",
    "{name} must have {expected} {expected:dimension|dimensions}, not {found}": "{name} 应为 {expected} 维，而不是 {found} 维",
    "{name} must be finite": "{name} 必须是有限的数",
    "use NaN for a value that is absent": "缺失的值请用 NaN 表示",
    "{values} {values:value|values} but {weights} {weights:weight|weights}: give one weight per value": "有 {values} 个值，却有 {weights} 个权重：每个值需要一个权重",
    "weights must be numbers, 0 or more": "权重必须是不小于 0 的数",
    "at least one weight must be above 0": "至少有一个权重必须大于 0",
    "paired values must have the same shape, not {first} and {second}": "成对的值形状必须相同，而不是 {first} 和 {second}",
    "paired values must have the same length, not {first} and {second}": "成对的值长度必须相同，而不是 {first} 和 {second}",
    "paired values must be finite": "成对的值必须是有限的数",
    "{rows} {rows:row|rows} but {groups} {groups:group|groups}: give one group per row": "有 {rows} 行，却有 {groups} 个分组：每行需要一个分组",
    "labels and predictions must have the same length, not {labels} and {predictions}": "标签与预测值的长度必须相同，而不是 {labels} 和 {predictions}",
    "labels must be 0 or 1": "标签必须是 0 或 1",
    "p-values must lie between 0 and 1": "p 值必须在 0 与 1 之间",
    "the value {value:g} is above the upper bound {upper:g}": "值 {value:g} 超过上界 {upper:g}",
    # Settings
    "value of {name}": "{name} 取值",
    "expected one of {choices}": "可选 {choices}",
    "{name} must lie between 0 and 1, not {value}": "{name} 必须在 0 与 1 之间，而不是 {value}",
    "{name} must be a whole number, not {kind}": "{name} 必须是整数，而不是 {kind}",
    "{name} must be at least {least}, not {found}": "{name} 至少为 {least}，而不是 {found}",
    "margin must be a finite number above 0, not {margin}": "margin 必须是大于 0 的有限的数，而不是 {margin}",
    "reach must be a finite number above 0, not {reach}": "reach 必须是大于 0 的有限的数，而不是 {reach}",
    "null and upper must be finite, not {null} and {upper}": "null 和 upper 必须是有限的数，而不是 {null} 和 {upper}",
    "tolerance must be a number, 0 or more, not {tolerance}": "tolerance 必须是不小于 0 的数，而不是 {tolerance}",
    "successes must lie between 0 and n = {n}, not at {successes}": "successes 必须在 0 与 n = {n} 之间，而不是 {successes}",
    "the standard deviation must be a number, 0 or more, not {deviation}": "标准差必须是不小于 0 的数，而不是 {deviation}",
    "power must be above alpha = {alpha}, not {power}: with no difference at all it is alpha already": "power 必须大于 alpha = {alpha}，而不是 {power}：毫无差异时检验力就已等于 alpha",
    "tuning must be finite, not {tuning}": "tuning 必须是有限的数，而不是 {tuning}",
    "counts must be 0 or more, not {first_only} and {second_only}": "计数不能小于 0，而此处为 {first_only} 和 {second_only}",
    "margins must be finite with low < high, not {low} and {high}": "两个 margin 必须是有限的数且下限小于上限，而不是 {low} 和 {high}",
    "Tukey's test needs at least {least} treatments, not {found}": "Tukey 检验至少需要 {least} 个处理，而不是 {found} 个",
    "the matrix of significant differences must be square and symmetric, and false on its diagonal": "显著差异矩阵必须是对称方阵，且对角线为 False",
    "order must name each of the {treatments} treatments once": "order 必须把 {treatments} 个处理各列一次",
}
