"""Chinese of what is said about labels of people."""

from __future__ import annotations

TEXTS = {
    "the labels cannot be read: {reason}": "无法读取标注：{reason}",
    "this is not a log of labels": "这不是标注日志",
    "{n} damaged {n:line|lines} of {path} left out: never confirmed as kept, or changed since": "已忽略 {path} 中损坏的 {n} 行：这些行从未确认保存，或文件后来被改动过",
    "the label cannot be kept: {reason}": "无法保存标注：{reason}",
    "the index of the labels cannot be used: {reason}": "无法使用标注的索引：{reason}",
    "it holds nothing of its own: close other programs that use it, or delete it": "索引可由日志重建：请关闭正在使用它的其他程序，或将其删除",
    "another page with your name has changed this label: look again": "以您的名字打开的另一个页面已改动此标注：请重新查看",
    "the folder of the labels cannot be made": "无法创建存放标注的文件夹",
    "kind of label": "标注类型",
    "a name has between 1 and {most} characters": "名字须为 1 至 {most} 个字符",
    "a note has at most {most:,} characters": "备注最多 {most:,} 个字符",
    "there is no such folder": "没有这个文件夹",
    "file": "文件",
    "pair": "待标注项",
    "query": "查询",
    "the list has no column {name}": "列表缺少列 {name}",
    "these two files have no different answers to the same question": "这两个文件对相同的问题没有不同的回答",
    "the form is not complete: open the page again": "表单不完整：请重新打开页面",
    "the workbench": "工作台",
    "{value} is not a grade of the rubric": "{value} 不是评分标准中的等级",
    "a grade is one key: choose a rubric whose grades are 0 to {most}": "每个等级对应一个按键：请选择等级为 0 至 {most} 的评分标准",
    "overlap {overlap:g}: expected a share between 0 and 1": "重叠比例 {overlap:g}：应为 0 至 1 之间的数",
    "these two have no measure in common": "两者没有共同的指标",
    "choose two results, or one with several systems": "请选择两个结果，或一个含有多个系统的结果",
    "answer": "回答",
    "this list is a sample: take the filled list, which keeps the probabilities": "此列表是样本：请使用填好的列表，其中保留了概率",
    "nothing is labelled yet": "还没有任何标注",
}
