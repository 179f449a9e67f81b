"""Sentences that claim nothing about the world: an answer that is refused, and courtesies around one."""

from __future__ import annotations

import re

_SOURCE = (
    r"(?:documents?|contexts?|texts?|passages?|articles?|sources?|excerpts?|materials?|information|data|database|"
    r"records?)"
)
_TELL = (
    r"(?:mention|specif|provid|contain|includ|say|state|address|discuss|indicat|give|cover|answer|detail|explain|describe|"
    r"list|clarif|have|offer|reference|support|tell)"
)
_REFUSALS = re.compile(
    rf"""
    \b(?:i|we)\b[^.!?]{{0,12}}?\b(?:do\s?n[o']t|did\s?n[o']t|can\s?not|can't|could\s?n[o']t|am\snot|'m\snot|are\snot|am\sunable|'m\sunable|are\sunable)\b
      [^.!?]{{0,40}}?\b(?:have|find|know|sure|answer|provide|access|able|locate|determine|tell|help|say|assist|information|comment)
    |\b(?:i|we)\s(?:do\snot|don't)\sknow\b|\bi\shave\sno\s(?:specific\s)?(?:information|idea|knowledge|data|details?|answer)
    |\b{_SOURCE}\b[^.!?]{{0,60}}?\b(?:do(?:es)?|did|is|are)(?:\s?not|n't)\b[^.!?]{{0,24}}?\b{_TELL}
    |\b(?:there\s(?:is|are|was|were)|contains?|provides?|gives?|found|has|have)\sno\s[^.!?]{{0,30}}?(?:information|mention|details?|data|reference|answer)\b
    |\bno\s(?:specific\s|relevant\s|direct\s)?(?:information|mention|details?)\s(?:is|are|was|were|has|have|about|on|regarding)\b
    |\bnot\s(?:explicitly\s|directly\s|specifically\s)?(?:mentioned|specified|provided|stated|addressed|discussed|available|included|covered|given)
      \b[^.!?]{{0,24}}?\b(?:in|by|from)\s(?:the|these|this|any|your|my)\b[^.!?]{{0,30}}?{_SOURCE}
    |\b(?:insufficient|not\senough|lack(?:s|ing)?(?:\sof)?)\s(?:specific\s|relevant\s)?(?:information|context|data|details?)\b
    |\b(?:cannot|can't|can\snot|could\snot)\sbe\s(?:answered|determined|inferred|found)\b|\bunanswerable\b|\bno\sanswer\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HAN_SOURCE = "(?:文档|文件|文中|文章|资料|材料|上下文|文本|段落|信息|内容|原文|知识库|语料)"
_HAN_REFUSALS = re.compile(
    rf"""(?:我|我们|本人|目前|暂时|对此)?(?:无法|不能|难以|没法)(?:回答|作答|确定|得知|获知|判断|确认|找到|(?:提供|给出)[^。！？]{{0,8}}?(?:信息|答案|回答|资料|数据))
    |(?:我|我们)(?:并)?(?:不知道|不清楚|不确定|不了解|不太清楚|没有[^。！？]{{0,12}}?(?:信息|资料|数据|答案))
    |{_HAN_SOURCE}[^。！？]{{0,20}}?(?:没有|并未|并没有|未|不)(?:明确|直接|具体|详细)?(?:提到|提及|提供|说明|包含|涉及|给出|指出|说|谈到|介绍|列出|讨论)
    |(?:没有|未|并未|缺乏|缺少|找不到|未找到|没找到)(?:足够的?|相关的?|具体的?|任何|有关[^。！？]{{0,12}}?的)*(?:信息|资料|内容|数据|答案)
    |信息不足|资料不足|无可奉告|无从得知""",
    re.VERBOSE,
)
_COURTESIES = re.compile(
    r"""^\W*(?:
    you(?:'|’)?(?:re|\sare)\s(?:very\s|most\s)?welcome|(?:many\s)?thanks?\b|thank\syou|no\sproblem|my\spleasure|(?:i(?:'|’)?m|i\sam)\s(?:very\s|so\s)?(?:glad|happy|sorry|afraid)
    |(?:i\s)?apologi[sz]e|sorry\b|i\shope\b|hope\b|feel\sfree|please\s(?:let|feel|do)|let\sme\sknow|is\sthere\sanything|if\syou\s(?:have|need)\s(?:any\s)?(?:more|further|other|additional|questions?)
    |(?:hello|hi|hey|sure|great|certainly|of\scourse|absolutely|okay|ok|bye|goodbye|cheers|stay\ssafe|good\sluck|take\scare|have\sa\s(?:nice|good|great))\b(?=\W*$|\W*(?:here|i\b|let))
    |how\s(?:can|may)\si\s(?:help|assist)|what\selse\scan\si
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_HAN_COURTESIES = re.compile(
    "^\\W*(?:不客气|不用谢|谢谢|感谢|多谢|您好|你好|很高兴|抱歉|对不起|不好意思|希望(?:这|以上|能|对)|如果(?:您|你)(?:还)?(?:有|需要)|请(?:随时|告诉我)|还有什么|祝(?:您|你)|再见|好的\\W*$)"
)
_GOES_ON = re.compile(
    r"(?:[,;]\s*|\s)(?:but|however|although|though|yet)\b|,\s*(?:they|it|we|i|you|he|she)\b|但|不过|然而", re.IGNORECASE
)
_REACH = 400  # characters; longer sentences say more than a refusal


# Checks that cost little and let every refusal pass.
_LATIN = re.compile("[A-Za-z]{2}")
_SPEAKER = re.compile(r"[iw](?<!\w.)(?:(?<=i)|e)\b")
_SUBJECTS = (
    *("document", "text", "passage", "article", "source", "excerpt", "material", "information", "data", "record"),
    *("mention", "detail", "reference", "answer", "determined", "inferred", "found"),
)
_HAN_DENIALS = re.compile("[无不难没未缺]")


def is_refusal(sentence: str) -> bool:
    """Return whether a sentence refuses to answer, or says that the contexts lack the answer, and nothing else."""
    if len(sentence) > _REACH:
        return False
    found = _REFUSALS.search(sentence.replace("’", "'")) if _may_refuse(sentence) else None
    if found is None and not sentence.isascii() and _HAN_DENIALS.search(sentence):
        found = _HAN_REFUSALS.search(sentence)
    return found is not None and _GOES_ON.search(sentence, found.end()) is None


def _may_refuse(sentence: str) -> bool:
    if not sentence.isascii():
        return _LATIN.search(sentence) is not None
    lower = sentence.lower()
    return any(subject in lower for subject in _SUBJECTS) or _SPEAKER.search(lower) is not None


def is_courtesy(sentence: str) -> bool:
    """Return whether a sentence thanks, greets, apologises or offers further help."""
    head = sentence[:_REACH]
    return bool(_COURTESIES.match(head)) or (not head.isascii() and _HAN_COURTESIES.match(head) is not None)
