"""Texts in Chinese, by their English: applications, search engines and databases that people run already."""

from __future__ import annotations

TEXTS = {
    # Applications
    "setting of an application": "应用的设置",
    "verb = {verb!r}: expected GET or POST": "verb = {verb!r}：应为 GET 或 POST",
    "concurrency must be 1 or more, and timeout above 0": "concurrency 应不小于 1，timeout 应大于 0",
    "the body {text} is not JSON": "请求体 {text} 不是 JSON",
    "the body of a request needs the text {mark} where the question goes": "请求体中应有文本 {mark}，表示问题的位置",
    "a request without a body needs {mark} in its address": "没有请求体时，地址中应有 {mark}",
    '{path} names no application: app = "http://..."': '{path} 没有指定应用：应有 app = "http://..."',
    "{name} is no application: expected http://... or module:callable": "{name} 不是应用：应为 http://... 或 module:callable",
    "{name} cannot be called with a question": "{name} 不能以问题为参数调用",
    "{path} has no question": "{path} 中没有问题",
    "the address must be http://HOST:PORT/PATH, without a user or a password": "地址应写作 http://HOST:PORT/PATH，不含用户名和密码",
    # Search engines
    "the search engine failed ({reason}): {message}": "调用搜索引擎失败（{reason}）：{message}",
    "the engine gave no text for {id}, which {stage} needs": "搜索引擎没有给出 {id} 的文本，而 {stage} 需要文本",
    "name the field or the column with the text: text = NAME": "请指定含有文本的字段或列：text = 名称",
    "{mark} needs an embedder: embedder = NAME, the one that the documents have": "使用 {mark} 需要向量模型：embedder = 名称，须与文档所用的相同",
    "{name} is not JSON: {text}": "{name} 不是 JSON：{text}",
    "body needs {query} or {embedding} where the query goes": "body 中应有 {query} 或 {embedding}，表示查询的位置",
    "give the key one way: key_env or login_env": "密钥只能以一种方式给出：key_env 或 login_env",
    "the answer has no hits: is this the address of Elasticsearch or OpenSearch?": "回复中没有 hits：这是 Elasticsearch 或 OpenSearch 的地址吗？",
    "the search was cut short by its own timeout": "搜索因自身的超时设置而提前结束",
    "{n} of its shards failed": "有 {n} 个分片失败",
    "a hit has no field {field}; it has {names}": "有一条结果没有字段 {field}；它有 {names}",
    "the answer has no list of results at {path}; its keys are {names}": "回复的 {path} 处没有结果列表；它的键有 {names}",
    "a hit is not an object: {row}": "有一条命中不是对象：{row}",
    "a result is neither an object nor an id: {row}": "有一条结果既不是对象也不是 ID：{row}",
    "a result has no id; its keys are {names}: name the path, id = ...": "有一条结果没有 ID；它的键有 {names}：请指定路径 id = ...",
    # PostgreSQL
    "searching in PostgreSQL": "在 PostgreSQL 中检索",
    "sql needs the parameter :query or :embedding": "sql 中应有参数 :query 或 :embedding",
    "sql has the parameter :{name}; known are {names}": "sql 中有参数 :{name}；可用的有 {names}",
    "{name}: expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE": "{name}：应写作 postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
    "no connection to the database {name}: {reason}": "无法连接数据库 {name}：{reason}",
    "the database {name} refused the connection: {reason}": "数据库 {name} 拒绝连接：{reason}",
    "the statement failed: {reason}": "语句执行失败：{reason}",
    "a row of the statement has no id: its columns are {names}": "语句返回的一行没有 ID：列有 {names}",
    "the statement has no column {name}; it has {names}": "语句的结果没有列 {name}；现有 {names}",
}
