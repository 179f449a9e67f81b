"""Texts in Chinese: what was found in event logs. A number of rows precedes each of them."""

from __future__ import annotations

TEXTS = {
    "events.counted": "{n:,} {message}",
    # Lines that could not be read
    "events.no_json": "行不是 JSON：已隔离",
    "events.truncated": "个末行不完整：已隔离",
    "events.schema": "行不符合 UBI 的结构：已隔离",
    "events.no_document": "行既不是查询也不是事件：已隔离",
    # Rows that are set aside or merged
    "events.no_action": "行没有动作：已隔离",
    "events.bad_time": "行的时间无法读取：已隔离",
    "events.clock": "行的时间早于 2000 年或在未来：已隔离",
    "events.duplicate": "个事件与另一事件重复（查询、用户、时间、动作、文档和位置均相同）：只计一次",
    "events.repeated_request": "个请求属于已有请求的同一查询（分面、翻页或重复发送）：已并入返回结果最多的一个",
    "events.shared_query": "个请求与其他用户的请求使用同一查询 ID：已隔离，查询 ID 必须唯一",
    "events.long_before": "个事件比其查询早一分钟以上：已隔离",
    # Rows that are kept
    "events.skew": "个事件早于其查询，但不超过一分钟：保留，两端时钟有偏差",
    "events.unknown_query": "个事件所属的查询不在日志中：保留，只在不需要请求的指标中计数",
    "events.bare": "个事件没有属性（null）：保留，但没有文档和位置",
    "events.no_zone": "个时间没有时区：按 UTC 处理",
    "events.bad_number": "行含有无法读取的数字，或小于 0 的位置：舍去该值，保留该行",
    "events.positions_from_zero": "行的位置从 0 开始（全部 {zeros:,} 个查询）：已加 1",
    "events.mixed_positions": "行的位置从 0 开始，其余从 1 开始（{zeros:,} 个查询从 0，{ones:,} 个从 1）：从 0 开始的已加 1",
    "events.unknown_positions": "行的位置可能从 0 或从 1 开始（{queries:,} 个查询）：舍去位置，保留该行",
    "events.inherited": "没有 {names} 的事件取其请求的 {names}",
    "events.bots": "行来自 {users:,} 个疑似程序的用户（按名称，或一分钟内超过 30 次、一天内超过 1,000 次请求）：保留",
    "events.bots_dropped": "行来自 {users:,} 个疑似程序的用户（按名称，或一分钟内超过 30 次、一天内超过 1,000 次请求）：按要求隔离",
    "events.spellings": "种变体写法与其他写法只差大小写、空白或全半角：各自算作一个变体",
    "events.folded_variants": "种变体写法与其他写法只差大小写、空白或全半角：按要求合并",
    "events.two_variants": "个用户出现在同一实验的多个变体中：保留",
    "events.no_impressions": "个查询有点击，但既没有曝光也没有结果列表：点击率不计入这些查询",
}
