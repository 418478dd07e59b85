"""Words that take a formula back: it isn't true that x = y; I had claimed x = y; x = y. This is wrong."""

import re

from regard.derivations.reading.phrases import any_of

_ANYWHERE_BEFORE = re.compile(any_of("doubted"), re.IGNORECASE)
_RIGHT_BEFORE = re.compile(rf"{any_of('denial_before')}[\s,，:：\"“”'‘’(*_~$]*$", re.IGNORECASE)
_RIGHT_AFTER = re.compile(rf"[\s,，:：]*(?:{any_of('but_this')}\s*)?{any_of('denial_after')}", re.IGNORECASE)
_LATER_IN_SENTENCE = re.compile(rf"[^\ufffc]{{0,80}}?[;,，；—–]\s*{any_of('retraction_in_sentence')}", re.IGNORECASE)
_NEXT_SENTENCE = re.compile(rf"[^\S\n]*\n?[^\S\n]*{any_of('retraction_next_sentence')}", re.IGNORECASE)
_NOTHING = re.compile(r"[\s.。!！?？)）*_]*")


def is_taken_back(before: str, after: str, following: str) -> bool:
    """True if the words of the sentence before or after a formula, or the sentence that follows it, take it back.

    >>> is_taken_back("It isn't true that ", ".", ""), is_taken_back("Draft: ", ".", " This is wrong.")
    (True, True)
    """
    if _RIGHT_BEFORE.search(before) or _ANYWHERE_BEFORE.search(before):
        return True
    if _RIGHT_AFTER.match(after) or _LATER_IN_SENTENCE.match(after):
        return True
    return _NOTHING.fullmatch(after) is not None and _NEXT_SENTENCE.match(following) is not None
