"""Words that take a formula back: it isn't true that x = y; I had claimed x = y; x = y. This is wrong."""

import re

_BE = r"(?:is|was|are|were|be|'s)"
_BAD = r"(?:wrong|false|incorrect|nonsense|a mistake|an error|not (?:true|right|so|correct|enough|the case))"
_SAY = r"(?:say|claim|think|believe|conclude|write|mean|imply|expect)"
_CLOSING = r"[\s,，:：\"“”'‘’(*_~$]*$"
_AFTER_WORDS = re.compile(
    r"(?:"
    rf"(?:n't|\bnot|\bnever)\s+(?:\w+\s+)?(?:true|the case|right|correct)\s+that"
    rf"|\b(?:false|wrong|incorrect|a mistake)\s+(?:that|to {_SAY}(?:\s+that)?)"
    rf"|(?:n't|\bnot|\bnever)\s+(?:\w+\s+)?{_SAY}(?:\s+that)?"
    r"|(?:n't|\bnot|\bnever)\s+(?:suffice|enough|sufficient|do|work|help)\s+to\s+(?:just\s+|simply\s+|only\s+)?"
    r"(?:take|choose|pick|set|use|put|have)"
    r"|\bI\s+had(?:\s+(?:first|once|written|claimed|thought|believed|said|guessed|tried|put))*"
    r"|\bI\s+(?:first|once|originally|initially|previously|wrongly)\s+(?:had|wrote|claimed|thought|believed|said|guessed|tried)"
    r"|\bfaux\s+(?:de\s+(?:dire|croire|penser)\s+)?que|\bpas\s+(?:vrai|exact|le cas)\s+que"
    r"|\bfalsch,?\s+(?:zu\s+\w+,?\s+)?dass|\bnicht\s+(?:wahr|richtig),?\s+dass|\b(?:es falso|no es cierto)\s+que"
    r"|\b(?:wrong|false|incorrect|not)\s*[:：]|(?:误|错|错误)\s*[:：]"
    r"|(?:一开始|最初|原来|起初|之前|先前)我?(?:们)?(?:写的是|写成|写了|以为|认为|取的是|取了)"
    r"|并不是说|并不意味着|不意味着|不能说|不代表|并非|不再有|不再是|并没有|没有|不会有|得不到|不会得到|不能得到"
    rf"){_CLOSING}",
    re.IGNORECASE,
)
_ANYWHERE_BEFORE = re.compile(
    r"tempting|mistake|misconception|pitfall|common error|naive|wrong(?:ly)? |would fail|rejected|discarded|abandoned"
    r"|scratch|\(ignore|ignore th(?:is|at)|错误地|误以为|误区|常见错误|草稿|作废",
    re.IGNORECASE,
)
_RIGHT_AFTER = re.compile(
    r"[\s,，:：]*(?:but\s+(?:this|that|it)\s+|但(?:这|它)?)?"
    r"(?:for no|is impossible|is not|isn't|does not|doesn't|would not|wouldn't|cannot|can't|can never|never"
    rf"|fails|{_BE}\s+(?:\w+ly\s+)?(?:wrong|false|incorrect|nonsense|a mistake|an error|a typo)"
    r"|should (?:read|have been|not)"
    r"|which\s+(?:is|was|makes|would be)(?:n't|\s+(?:not|no|never|wrong|false|nonsense|impossible))"
    r"|which\s+(?:fails|does not|doesn't|did not|didn't|will not|won't|cannot|can't|would not|wouldn't)"
    r"|不够|不行|不成立|不可能|不能成立|是错的)",
    re.IGNORECASE,
)
_LATER_IN_SENTENCE = re.compile(
    rf"[^\ufffc]{{0,80}}?[;,，；—–]\s*(?:(?:but\s+)?(?:that|this|which|it)\s?{_BE}\s+{_BAD}"
    r"|(?:后来)?(?:发现|其实|但)(?:这|它)?(?:是)?(?:不对|错|不行))",
    re.IGNORECASE,
)
_NEXT_SENTENCE = re.compile(
    rf"[^\S\n]*\n?[^\S\n]*(?:(?:this|that|it)\s?{_BE}\s+(?:\w+ly\s+)?{_BAD}|(?:no|nope|wrong|false)\s*!|wrong\b"
    r"|这(?:是错|不对|不行|是不对)|不对|错了|c'est faux|das ist falsch)",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"[\s.。!！?？)）*_]*")


def is_taken_back(before: str, after: str, following: str) -> bool:
    """True if the words of the sentence before or after a formula, or the sentence that follows it, take it back.

    >>> is_taken_back("It isn't true that ", ".", ""), is_taken_back("Draft: ", ".", " This is wrong.")
    (True, True)
    """
    if _AFTER_WORDS.search(before) or _ANYWHERE_BEFORE.search(before):
        return True
    if _RIGHT_AFTER.match(after) or _LATER_IN_SENTENCE.match(after):
        return True
    return _NOTHING.fullmatch(after) is not None and _NEXT_SENTENCE.match(following) is not None
