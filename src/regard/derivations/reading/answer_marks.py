r"""Places where an answer may begin: "My answer:", "Proof:", `\begin{solution}`, `\ans{…}`, quotes, coloured text.

Whether an answer really begins there depends on its context, which the outline knows.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from regard.derivations.reading.braces import closing_braces
from regard.derivations.reading.document import Document, Macro, Range
from regard.derivations.reading.enumerators import Enumerator, normalized, parse_enumerator
from regard.derivations.reading.phrases import any_of

PLAIN = 100  # the level of a line that is no heading
SPACING = (
    r"\\(?:(?:no)?indent|(?:big|med|small)skip|par|newline|(?:new|clear)page|pagebreak|leavevmode|centering|[hv]fill|q?quad"
    r"|(?:footnote|script|normal)size|small|[lL]arge|LARGE|[hH]uge|bfseries|itshape)(?![A-Za-z])"
    r"|\\[hv]space\*?\s?\{[^{}\r\n]{0,20}\}|\\\\|<(?:br|p)\s?/?>|&nbsp;"
)
_EMPHASIS = re.compile(
    rf"(?:\s|>|[-+](?=\s)|\*{{1,3}}|_{{1,3}}|<(?:b|strong|u|i|em|details|summary|div|li|h[1-6])(?:\s[^<>\r\n]{{0,80}})?>|{SPACING}"
    r"|\\(?:text(?:bf|it|sf|sc|rm)|emph|u(?:nder)?line)\s?\{|\{(?:\\(?:bf|it|sc|sf)(?![a-z]))?"
    r"|\\item(?![a-z])(?!\s*\[))*"
)


@dataclass(frozen=True, kw_only=True)
class AnswerMark(Range):
    r"""A place where an answer may begin; its text begins at `end`.

    `form` is how it is marked: by words such as "Answer:", by words such as "Proof:" that follow a question only if
    one is asked, by a wrapper such as `\begin{answer}` or `\ans{…}`, or by a style (a block quote, a colour, a box)
    that means an answer only where the document uses it so throughout. Wrapped and styled text ends at `until`, its
    wrapper at `closed`. `is_own` if the words say whose answer it is; `level` is that of a heading, or `PLAIN`.
    """

    form: Literal["words", "reasoning", "wrapper", "style"] = "words"
    until: int = 0
    closed: int = 0
    style: str = ""
    is_own: bool = False
    level: int = PLAIN


# -- words -------------------------------------------------------------------------------------------------------------
_ANSWER = re.compile(
    rf"(?:(?P<own>{any_of('own')})\s{{0,4}})?(?:{any_of('not_own')}\s{{0,4}})?"
    rf"(?:{any_of('answer')}|(?P<reasoning>{any_of('reasoning')}))",
    re.IGNORECASE,
)
_ANSWER_END = re.compile(r"\s{0,4}[*_}\]]{0,4}\s{0,4}(?:[:.]\s{0,4}[*_}]{0,4}\s{0,4}|$)")
_ANSWER_TO = re.compile(rf"\s{{0,4}}(?:{any_of('answer_to')})?\s{{0,4}}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AnswerWords:
    """The words in front of a line that open an answer, up to `end`, with the enumerator in "Answer (i):"."""

    end: int
    is_own: bool = False
    is_reasoning: bool = False
    enumerator: Enumerator | None = None


def answer_words(words: str) -> AnswerWords | None:
    """The words in front of a normalized line that open an answer, if they do.

    >>> answer_words("My answer: yes").end, answer_words("The answer is yes")
    (11, None)
    """
    found = _ANSWER.match(words)
    if found is None:
        return None
    is_own = found["own"] is not None
    end = _ANSWER_END.match(words, found.end())
    if end:
        return AnswerWords(end=end.end(), is_own=is_own, is_reasoning=found["reasoning"] is not None)
    if found["reasoning"]:
        return None
    link = _ANSWER_TO.match(words, found.end())
    place = link.end() if link else found.end()
    enumerator = parse_enumerator(words[place:])
    if enumerator is None or (place == found.end() and words[place] != "("):
        return None
    stop = place + enumerator.end
    if stop < len(words) and not words[:stop].rstrip().endswith((":", ")", ".")):
        return None
    # "Solution 2:" counts solutions, not questions.
    counts_answers = enumerator.number is not None and enumerator.second is None and not enumerator.word
    return AnswerWords(end=stop, is_own=is_own, enumerator=None if counts_answers else enumerator)


# -- wrappers and styles -----------------------------------------------------------------------------------------------
_NAMED = re.compile(any_of("answer_command"), re.IGNORECASE)
_BOXES = "quote|quotation|displayquote|tcolorbox|mdframed|framed|shaded|leftbar|oframed"
_EDGE = re.compile(
    r"\\(?P<edge>begin|end)\s?\{(?P<environment>[A-Za-z]+)\*?\}(?:\[[^\]\r\n]{0,200}\])?"
    r"|\\textcolor\s?\{(?P<colour>[^{}\r\n]{1,40})\}\s{0,9}(?=\{)"
    r"|(?P<switch>\{)\s{0,9}\\color\s?\{(?P<switched>[^{}\r\n]{1,40})\}"
    r"|(?<!command)(?<!command\*)(?<!command\{)(?<!def)\\(?P<macro>[A-Za-z]+)(?:\s?\[[^\]\r\n]{0,80}\])?\s{0,9}"
    r"|<(?P<slash>/?)(?P<tag>font|span|div|details)\b(?P<attributes>[^>\r\n]{0,200})>"
)
_STYLING = re.compile(r"\\(?:text)?color\b|box|\\begin\{(?:" + _BOXES + r")\}")
_ENDS_A_PART = re.compile(
    r"(?:\s|\\(?:newpage|clearpage|pagebreak|vfill|vspace\*?\s?\{[^{}]*\}))*"
    r"(?:\Z|\\(?:end|item|(?:sub){0,2}(?:part|section)|(?:titled)?question)(?![a-z]))"
)
_BEFORE_STYLE = re.compile(r"(?:\s|[>*_-]|\\\\|\\(?:newline|noindent|item|par)(?![A-Za-z])|\{\})*")


def wrapped_answers(document: Document) -> Iterator[AnswerMark]:
    """What may be wrapped as an answer, in order, none inside another of its kind."""
    yield from (_quote(quote) for quote in document.quotes if document.kind != "latex")
    if document.kind == "latex" or "\\" in document.prose or "<" in document.prose:
        yield from _outermost(_wrapped(document))


def _quote(quote: Range) -> AnswerMark:
    return AnswerMark(
        start=quote.start, end=quote.start, until=quote.end, closed=quote.end, form="style", style="quote"
    )


def _outermost(marks: Iterable[AnswerMark]) -> Iterator[AnswerMark]:
    place: dict[str, int] = {}
    for mark in sorted(marks, key=lambda item: (item.start, -item.closed)):
        if mark.start >= place.get(mark.form, 0):
            place[mark.form] = mark.closed
            yield mark


def _wrapped(document: Document) -> Iterator[AnswerMark]:
    prose, macros = document.prose, {macro.name[1:]: macro for macro in document.macros}
    closing = {begin: end + 1 for begin, end in closing_braces(prose).items()}
    opened: dict[str, list[re.Match[str]]] = {}
    for found in _EDGE.finditer(prose):
        if found["environment"]:
            yield from _paired(document, found, found["environment"], found["edge"] == "begin", opened)
        elif found["tag"]:
            yield from _paired(document, found, f"<{found['tag']}", not found["slash"], opened)
        elif found["macro"]:
            yield from _macro_answer(document, found, macros.get(found["macro"]), closing)
        else:
            brace = found.start() if found["switch"] else found.end()
            if brace in closing and _starts_a_line(document, found.start()):
                style = f"colour {found['colour'] or found['switched']}"
                yield _braced(found, max(brace + 1, found.end()), closing[brace], "style", style)


def _paired(
    document: Document, found: re.Match[str], name: str, is_opening: bool, opened: dict[str, list[re.Match[str]]]
) -> Iterator[AnswerMark]:
    """What an environment or a tag encloses, yielded where it ends."""
    stack = opened.setdefault(name, [])
    if is_opening:
        stack.append(found)
    elif stack:
        begin = stack.pop()
        is_named = _NAMED.fullmatch(name) is not None
        is_styled = name in _BOXES.split("|") or (name[0] == "<" and _has_style(begin))
        if is_named or (is_styled and _starts_a_line(document, begin.start())):
            yield AnswerMark(
                start=begin.start(),
                end=begin.end(),
                until=found.start(),
                closed=found.end(),
                form="wrapper" if is_named else "style",
                style=name,
            )


def _has_style(tag: re.Match[str]) -> bool:
    return tag["tag"] == "details" or "color" in tag["attributes"] or "background" in tag["attributes"]


def _macro_answer(
    document: Document, found: re.Match[str], macro: Macro | None, closing: dict[int, int]
) -> Iterator[AnswerMark]:
    r"""The argument of `\ans{…}`, or of a macro that the author made to set answers off; or a macro for "Answer:"."""
    name, brace = found["macro"], found.end()
    is_named = _NAMED.fullmatch(name) is not None
    body = normalized(macro.body) if macro else ""
    opens = is_named or (
        macro is not None and answer_words(body[num_emphasis_marks(body) :].partition("#1")[0]) is not None
    )
    if macro is not None and macro.arity == 0:
        if opens and "begin{" not in body and "end{" not in body:
            yield AnswerMark(start=found.start(), end=found.end(), is_own=is_named)
    elif opens and brace in closing and _follows_empty_braces(document.prose, brace, closing[brace]):
        yield AnswerMark(start=found.start(), end=closing[brace], is_own=is_named)
    elif opens and brace in closing:
        yield _braced(found, brace + 1, closing[brace], "wrapper", name)
    elif brace in closing and "#1" in body and _STYLING.search(body) and _starts_a_line(document, found.start()):
        yield _braced(found, brace + 1, closing[brace], "style", name)


def _follows_empty_braces(prose: str, brace: int, closed: int) -> bool:
    r"""True for `\ans{} We take …`, where the answer is no argument; not if the next part follows at once."""
    return not prose[brace + 1 : closed - 1].strip() and _ENDS_A_PART.match(prose, closed) is None


def _braced(found: re.Match[str], begin: int, closed: int, form: Literal["wrapper", "style"], style: str) -> AnswerMark:
    return AnswerMark(start=found.start(), end=begin, until=closed - 1, closed=closed, form=form, style=style)


def num_emphasis_marks(text: str) -> int:
    """How many characters of list marks and emphasis stand in front of a text."""
    marks = _EMPHASIS.match(text)
    assert marks is not None
    return marks.end()


def _starts_a_line(document: Document, offset: int) -> bool:
    before = document.prose[document.line_at(offset).start : offset]
    return _BEFORE_STYLE.fullmatch(before) is not None
