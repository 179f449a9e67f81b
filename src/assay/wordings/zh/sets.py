"""Texts in Chinese: evaluation sets, and by their English what `assay.curation` and `formats.set_folders` say."""

from __future__ import annotations

TEXTS = {
    "set.role.queries": "查询",
    "set.role.documents": "文档",
    "set.role.hashes": "文档的哈希值",
    "set.role.judgments": "标注",
    "set.role.gold": "标准答案片段",
    "set.role.nuggets": "要点",
    "set.role.labels": "人工标签",
    "set.kind.real": "来自人工",
    "set.kind.model": "由大模型生成",
    "set.kind.known_items": "模拟的已知项",
    "set.kind.unknown": "来源未知",
    "set.kind_count": "{n:,} 个{kind}",
    "set.mixed": "该评测集混合了多种查询，均值也随之混合：{kinds}；请分别评测每一种（assay set split SET --by made_by），或按 made_by 分组",
    "set.judged_by_gold": "该评测集没有标注：含有标准答案片段的文档视为相关",
    "column.set": "评测集",
    # Folders of sets
    "this folder holds no evaluation set: {name} is missing": "该文件夹中没有评测集：缺少 {name}",
    "assay set info FOLDER --accept makes one of the files in it": "assay set info FOLDER --accept 可由其中的文件生成评测集",
    "{name} is not the name of a file of the set": "{name} 不是评测集中文件的名称",
    "the files of a set are in its folder": "评测集的文件都在其文件夹内",
    "the set was written by a newer version of assay": "该评测集由更新版本的 assay 写出",
    "the manifest is damaged: {place}: {what}": "评测集清单已损坏：{place}：{what}",
    "{names} {n:is|are} not what was written as version {version}": "{names} 与写出版本 {version} 时的内容不同",
    "if that is meant: assay set info {folder} --accept": "如果是有意修改，请运行：assay set info {folder} --accept",
    # Reading and writing
    "the set has no {role}": "该评测集没有{role}",
    "the set has only hashes of its documents, and does not say where they are": "该评测集只有文档的哈希值，没有说明文档在哪里",
    "give the documents: read_set(folder, documents=PLACE)": "请给出文档：read_set(folder, documents=PLACE)",
    "{n:,} {n:document|documents} of the set {n:is|are} not here, such as {example}": "评测集中有 {n:,} 个文档不在这里，例如 {example}",
    "{n:,} {n:document has|documents have} another text than the set was made with, such as {example}": "{n:,} 个文档的文本与制作评测集时不同，例如 {example}",
    "expected one of {names}": "应为以下之一：{names}",
    "{folder} is there already: choose another folder for the set": "{folder} 已存在：请为评测集另选一个文件夹",
    "two queries have the id {id}": "两个查询的 ID 都是 {id}",
    "every query needs a query_id": "每个查询都需要 query_id",
    "a set needs at least one query": "评测集至少需要一个查询",
    "the set has no judgments and no gold": "该评测集既没有标注，也没有标准答案片段",
    "give the documents themselves": "请给出文档本身",
}
