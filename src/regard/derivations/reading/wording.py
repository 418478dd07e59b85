"""Whether a piece of text between two delimiters reads like a formula or like a sentence."""

import re

from regard.derivations.reading.phrases import any_of

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_IN_WORDS = re.compile(
    r"\\(?:text|textrm|textbf|textit|textnormal|mbox|hbox|mathrm|mathbf|mathsf|mathit|operatorname\*?|label|tag|"
    r"intertext|begin|end)\s{0,9}\{[^{}]{0,2000}\}|[_^]\{[^{}]{0,2000}\}|\\[A-Za-z]+"
)
_WORDS = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?:[ \t\r\n\0]+[A-Za-z]{2,})+(?![A-Za-z])")
_LINK_WORDS = re.compile(rf"(?<![\\_^]){any_of('link_word')}", re.IGNORECASE)
_SIGN = re.compile(r"[^\s\0,.;:!?'\"()\[\]{}“”‘’…—\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def num_sentence_words(content: str) -> int:
    r"""How many words stand in rows of two or more, text commands and indices aside; a lone link word counts one.

    >>> [num_sentence_words(words) for words in ("x = 1 and so we find", r"\text{for all } i", "5 and ")]
    [4, 0, 1]
    """
    bare = _IN_WORDS.sub(" ", content)
    rows = sum(len(row[0].split()) for row in _WORDS.finditer(bare))
    return rows or (1 if _LINK_WORDS.search(bare) else 0)


def is_only_words(content: str) -> bool:
    """True if there is nothing in it that a formula is made of: only link words, other scripts, punctuation.

    >>> is_only_words(" and "), is_only_words("，"), is_only_words("和"), is_only_words("="), is_only_words("x")
    (True, True, True, False, False)
    """
    return not _SIGN.search(_LINK_WORDS.sub(" ", content))


def reads_as_prose(content: str) -> bool:
    """True if it holds a stretch of a sentence, so that no display of mathematics would run across it."""
    bare = _IN_WORDS.sub(" ", content)
    longest = max((len(row[0].split()) for row in _WORDS.finditer(bare)), default=0)
    return longest >= 3 or len(CJK.findall(bare)) >= 6
