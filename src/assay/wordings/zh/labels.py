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
    "nothing is labelled yet": "还没有任何标注",
}
