r"""Lines that may open a question or a part: headings, enumerators, also inside formulas, and what LaTeX counts.

Whether a line really opens something depends on its context, which the outline knows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from regard.derivations.reading.answer_marks import (
    PLAIN,
    SPACING,
    AnswerMark,
    answer_words,
    num_emphasis_marks,
    wrapped_answers,
)
from regard.derivations.reading.braces import group_end
from regard.derivations.reading.delimiters import CJK
from regard.derivations.reading.document import (
    PLACEHOLDER,
    Document,
    Heading,
    Line,
    MathSpan,
    Range,
    by_start,
    range_at,
)
from regard.derivations.reading.enumerators import ROMANS, Enumerator, letter, normalized, parse_enumerator, roman
from regard.derivations.reading.part_marks import Mark, named_part, series_marks
from regard.derivations.reading.phrases import any_of

# -- titles ------------------------------------------------------------------------------------------------------------
_EDGES = " \t*_#:：{}-–—\\"
_MAX_TITLE = 100
_SENTENCE = re.compile(r"[。！？?]|[.!](?:\s|$)")
POINTS = re.compile(rf"[(（\[]\s?\d{{1,3}}(?:\.\d)?\s?{any_of('points')}\.?\s?[)）\]]", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,9}>", re.IGNORECASE)
_TITLED_ITEM = re.compile(r"(\d{1,2})[.)]\s{1,4}(?:\*\*([^*\r\n]{2,100})\*\*|__([^_\r\n]{2,100})__)[.:：]?[ \t]{0,4}")
_BOLD_LEAD = re.compile(r"\s{0,4}(?:\*\*([^*\r\n]{3,80})\*\*|\\textbf\s?\{([^{}\r\n]{3,80})\})")
_COLON_LEAD = re.compile(r"\s{0,4}([A-Z][^\s:：.。]*(?:\s[^\s:：.。]+){1,5}|[\u4e00-\u9fff][^\s:：.。，]{1,14})[:：]")
_SENTENCE_OPENING = re.compile(any_of("sentence_opening"), re.IGNORECASE)


def cleaned(title: str) -> str:
    """A title without the marks around it and without its points.

    >>> cleaned("(4 points) An average of two:")
    'An average of two'
    """
    return _TAG.sub("", POINTS.sub("", title)).strip(_EDGES)


def title_of(rest: str) -> str:
    """The rest of a line if all of it reads like a title: short, no formula, no end of a sentence."""
    title = cleaned(rest)
    is_title = len(title) <= _MAX_TITLE and PLACEHOLDER not in title and not _SENTENCE.search(title)
    return title if is_title and not (CJK.search(title) and "，" in title) else ""


def leading_title(rest: str) -> str:
    """The words in front of a line that read like a title: in bold, or before a colon.

    >>> leading_title("Copying in attention: Recall that …"), leading_title("Take it as it is")
    ('Copying in attention', '')
    """
    bold = _BOLD_LEAD.match(rest)
    colon = None if bold else _COLON_LEAD.match(POINTS.sub("", rest))
    title = ((bold[1] or bold[2]).rstrip(".") if bold else "") or (colon[1] if colon else "")
    return title_of(title) if title and not _SENTENCE_OPENING.match(title) else ""


# -- openings ----------------------------------------------------------------------------------------------------------
_LIST_MARK = re.compile(r"[\s>]*(?:[-+*]\s|\\item)")
_SPACING = re.compile(SPACING)
_NUMBERED = re.compile(rf"(?<!\w)(?:{any_of('question_word')})\s{{0,2}}\d{{1,2}}(?!\w)", re.IGNORECASE)
_AFTER_NUMBER = re.compile(r"\s*(?:$|:|\s\()|[-.]\s?[a-h](?!\w)")
_LABEL = re.compile(r"\\item\s?\[([^\]\r\n]{1,60})\]")
_BOLD = re.compile(r"[\s>]*(?:\*\*[^*]{1,120}\*\*|__[^_]{1,120}__|\\textbf\{[^{}]{1,120}\})\s*[:：]?\s*$")
_CLOSED = re.compile(r"[*_}]{0,3}\s*")
_BREAK = re.compile(r"<br\s?/?>|\\\\", re.IGNORECASE)
_LINE_END = re.compile(rf"(?:[.。!！?？:：;；)）*_}}\]{PLACEHOLDER}]|{_BREAK.pattern})$", re.IGNORECASE)
_SENTENCE_ENDS = (".", "。", "!", "！", "?", "？", ";", "；")
_YES_OR_NO = re.compile(any_of("yes_or_no"), re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Opening(Range):
    """A line that may open a section; `end` is where the line ends, `body` where the text of the section begins.

    `level` is that of a heading, or `PLAIN`; `is_answer` if the line itself says that an answer follows. The words
    after the enumerator, from `words` on, may be a title or the whole answer. `ordinal` numbers the titled items of a
    list. `is_in_series` says that the line is one of those that look alike and count up, `is_in_template` that it is a
    command of the `exam` class, with which assignments are written.
    """

    body: int
    words: int
    title: str = ""
    level: int = PLAIN
    enumerator: Enumerator | None = None
    is_answer: bool = False
    ordinal: int = 0
    is_in_series: bool = False
    is_in_template: bool = False

    @property
    def is_heading(self) -> bool:
        """True unless it is a plain line."""
        return self.level < PLAIN


def openings(document: Document) -> list[Opening | AnswerMark]:
    """Everything that may open a section or an answer, in the order of the text."""
    marks = series_marks(document)
    found = [*_heading_openings(document, marks), *_line_openings(document, marks), *wrapped_answers(document)]
    return sorted([*found, *_counted_in_latex(document)], key=by_start)


def _heading_openings(document: Document, marks: Mapping[int, Mark]) -> Iterator[Opening | AnswerMark]:
    counted = _counted_headings(document)
    for heading in document.headings:
        title = normalized(heading.title)
        skipped = num_emphasis_marks(title)
        answer = answer_words(title[skipped:])
        is_answer = answer is not None and not answer.enumerator and not answer.is_reasoning
        if answer and is_answer and not title[skipped + answer.end :].strip(_EDGES):
            yield AnswerMark(start=heading.start, end=heading.end, is_own=answer.is_own, level=heading.level)
        else:
            opening = _heading_opening(document, heading, skipped)
            mark = marks.get(document.line_at(heading.title_start).number)
            part = mark.enumerator if mark else named_part(heading.title)
            own = opening.enumerator or counted.get(heading.start)
            is_deeper = part is not None and (own is None or (own.second or own.symbol) is None)
            yield replace(opening, enumerator=part if is_deeper else own)


def _heading_opening(document: Document, heading: Heading, skipped: int) -> Opening:
    title = normalized(heading.title)[skipped:]
    inner = () if parse_enumerator(title) else tuple(_NUMBERED.finditer(title))
    skipped += inner[0].start() if len(inner) == 1 and _AFTER_NUMBER.match(title, inner[0].end()) else 0
    enumerator = parse_enumerator(normalized(heading.title)[skipped:])
    after = skipped + (enumerator.end if enumerator else 0)
    has_math = PLACEHOLDER in document.prose[heading.start : heading.end]
    return Opening(
        start=heading.start,
        end=heading.end,
        body=heading.title_start + after if has_math else heading.end,
        words=heading.end,
        title=cleaned(heading.title[after:]),
        level=heading.level,
        enumerator=enumerator,
    )


def _line_openings(document: Document, marks: Mapping[int, Mark]) -> Iterator[Opening | AnswerMark]:
    hidden = sorted([*document.headings, *document.code, *document.comments], key=by_start)
    before, found = "", list[Opening | AnswerMark]()
    for line in document.lines:
        is_free = not before or _LINE_END.search(before) is not None or _LIST_MARK.match(line.text) is not None
        content = line.start + num_emphasis_marks(line.text)
        is_heading = range_at(document.headings, content) is not None
        before = "" if is_heading else _SPACING.sub("", document.prose[line.start : line.end]).strip("> \t\r\n")
        front = document.front_matter
        span = document.span_at(content)
        if span and span.marker and span.start == content:
            found = _marked_formula(span)
            yield from found
            continue
        is_hidden = range_at(hidden, content) or span or (front and front.holds(content))
        is_read = line.text.strip("> \t\r\n") and not is_hidden
        found = list(_line_opening(document, line, content, is_free or found != [])) if is_read else []
        mark = None if is_heading else marks.get(line.number)
        if mark and not any(isinstance(item, AnswerMark) or item.enumerator for item in found):
            found = [_in_series(mark)]
        elif mark:
            found = [replace(item, is_in_series=True) if isinstance(item, Opening) else item for item in found]
        yield from found
        if found and isinstance(found[0], Opening):
            yield from _parts_on_line(document, found[0])


def _in_series(mark: Mark) -> Opening:
    line = mark.line
    whole = Opening(start=line.start, end=line.end, body=mark.end, words=mark.end)
    return replace(whole, enumerator=mark.enumerator, is_in_series=True)


def _marked_formula(span: MathSpan) -> list[Opening | AnswerMark]:
    """The part that a formula with an enumerator in front of it opens."""
    enumerator = parse_enumerator(normalized(span.marker))
    if enumerator is None or enumerator.symbol is None:
        return []
    firm = replace(enumerator, is_firm=True)
    return [Opening(start=span.start, end=span.end, body=span.start, words=span.start, enumerator=firm)]


def _line_opening(document: Document, line: Line, content: int, is_free: bool) -> Iterator[Opening | AnswerMark]:
    label = _LABEL.match(document.text, content, line.end)
    words = normalized(label[1] if label else document.text[content : line.end])
    start = line.start + len(line.text) - len(line.text.lstrip("> \t"))
    whole = Opening(start=start, end=line.end, body=line.end, words=line.end)
    answer = answer_words(words)
    enumerator = parse_enumerator(words)
    if answer and is_free:
        end = content + answer.end
        if answer.enumerator:
            yield replace(whole, body=end, words=end, enumerator=answer.enumerator, is_answer=True)
        else:
            form = "reasoning" if answer.is_reasoning else "words"
            yield AnswerMark(start=start, end=end, is_own=answer.is_own, form=form)
    elif label and enumerator:
        yield _enumerated(document, whole, label.end(), enumerator)
    elif enumerator and _is_plain_opening(words, enumerator) and (is_free or not words[enumerator.end :].strip("*_} ")):
        yield _enumerated(document, whole, content + enumerator.end, enumerator)
    elif _BOLD.match(line.text) and title_of(document.prose[content : line.end].rstrip("*_?？")):
        title = cleaned(document.text[content : line.end])
        yield replace(whole, title=title)
    elif is_free and (item := _TITLED_ITEM.match(document.prose[content : line.end])):
        body = content + item.end()
        if title := title_of(item[2] or item[3]):
            yield replace(whole, body=body, words=body, title=title, ordinal=int(item[1]))


def _is_plain_opening(words: str, enumerator: Enumerator) -> bool:
    """A line that is no heading needs a firm enumerator; a number alone only counts the items of a list."""
    rest = words[enumerator.end :]
    if enumerator.word:
        is_set_off = rest[:1] in ("", "*", "_", "}") or words[: enumerator.end].rstrip()[-1] in ".:)、"
        return is_set_off or (title_of(rest) != "" and (not rest[0].isascii() or not rest[0].islower()))
    if enumerator.number is not None:
        is_firm = enumerator.is_firm or rest.startswith(("**", "__", "}"))
        return is_firm and enumerator.second is not None and enumerator.form != "digits"
    is_bracketed = enumerator.form == "enclosed" or words[: enumerator.end].rstrip().endswith(")")
    return enumerator.is_firm and enumerator.symbol is not None and (enumerator.symbol.islower() or is_bracketed)


def _enumerated(document: Document, line: Opening, after: int, enumerator: Enumerator) -> Opening:
    """A title after a number, or all in bold, is a heading; after a letter or numeral alone, the answer begins."""
    rest = document.prose[after : line.end]
    title = title_of(rest)
    is_set_off = enumerator.number is not None or _BOLD.match(document.text, line.start, line.end) is not None
    inner = parse_enumerator(title)
    is_part = inner is not None and inner.form == "enclosed"  # the (i) of "2b (i) yes"
    is_heading = title != "" and is_set_off and not is_part and not _YES_OR_NO.fullmatch(title)
    is_emphatic = document.text.startswith(("*", "_", "\\text", "\\emph"), line.start)
    closed = _CLOSED.match(document.text, after, line.end) if is_emphatic else None
    words = closed.end() if closed else after
    body, title = line.end if is_heading else words, title or leading_title(rest)
    return replace(line, body=body, words=words, title=title, enumerator=enumerator)


def _parts_on_line(document: Document, first: Opening) -> list[Opening]:
    """The parts that follow each other on one line: the ii of "i. Yes. ii. No."; an i on its own is none."""
    place = first.words
    last = (first.enumerator.third or first.enumerator.symbol or "") if first.enumerator is not None else ""
    is_first = last.lower() == ROMANS[0]
    found: list[Opening] = []
    for numeral in ROMANS[is_first:]:
        part = _part(numeral).search(document.prose, place, first.end)
        if part is None or not _begins_a_part(document.prose[place : part.start()], part[0]):
            break
        place = part.end()
        enumerator = Enumerator(end=place - part.start(), symbol=numeral, form="firm", is_firm=True)
        found.append(Opening(start=part.start(), end=first.end, body=place, words=place, enumerator=enumerator))
    return found if is_first + len(found) > 1 else []


@lru_cache(maxsize=len(ROMANS))
def _part(numeral: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w(])(?:\({numeral}\)|{numeral}[.):：])(?=\s|[\u4e00-\u9fff{PLACEHOLDER}])\s{{0,4}}")


def _begins_a_part(before: str, numeral: str) -> bool:
    """Whether a numeral after these words opens a part: they end a sentence or are a whole answer.

    A whole answer is a yes or no, or a formula before a numeral in brackets.
    """
    words = _BREAK.sub(" ", before).strip(_EDGES)
    if numeral.strip("(.):： ") == ROMANS[0]:
        return words == "" or words.endswith(_SENTENCE_ENDS)
    is_answer = _YES_OR_NO.fullmatch(words) is not None or (numeral[0] == "(" and words.endswith(PLACEHOLDER))
    return is_answer or words.endswith(_SENTENCE_ENDS)


# -- questions that LaTeX numbers: headings, the `exam` class, and `enumerate` with letters or romans ------------------
_COUNTED = re.compile(
    r"\\(?P<edge>begin|end)\s?\{(?P<list>enumerate|itemize|description)\}(?:\[(?P<label>[^\]\r\n]{0,120})\])?"
    r"|\\(?P<item>item)(?![A-Za-z])(?!\s*\[)"
    r"|\\(?P<exam>titledquestion|question|part|subpart)(?![A-Za-z])(?:(?<=titledquestion)(?=\{)|(?!\s*\{))"
    r"(?P<points>\s?\[[^\]\r\n]{0,20}\])?"
)
_EXAM_LEVEL = {"question": 0, "titledquestion": 0, "part": 1, "subpart": 2}
_EXAM_POINTS = re.compile(r"\s?\[[^\]\r\n]{0,20}\]")
_BEFORE_TITLE = re.compile(r"(?:\s|\\label\s?\{[^{}]{0,80}\})*")
_HEADING_LEVELS = {"section": 0, "subsection": 1, "subsubsection": 2}
_HEADING_NAME = re.compile(r"\\((?:sub){0,2}section)(?![*A-Za-z])")
_COUNTER = re.compile(r"\\(?:alph|Alph|roman|Roman)\b")


def _counted_headings(document: Document) -> dict[int, Enumerator]:
    """The enumerators that the typeset page shows in front of headings.

    Only where the numbers matter: where the document counts in letters or romans, or has headings without a title.
    """
    if document.kind != "latex":
        return {}
    counters = [macro for macro in document.macros if macro.name.removeprefix("\\the") in _HEADING_LEVELS]
    names = [(heading, _HEADING_NAME.match(document.text, heading.start)) for heading in document.headings]
    counted = [(heading, _HEADING_LEVELS[name[1]]) for heading, name in names if name]
    has_letters = any(_COUNTER.search(macro.body) for macro in counters)
    if not has_letters and all(heading.title.strip() for heading, _ in counted):
        return {}
    counts = [0, 0, 0]
    found = {}
    for heading, level in counted:
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        found[heading.start] = _counted(level, counts[level])
    return found


def _counted(level: int, ordinal: int) -> Enumerator:
    """The enumerator of a question, a part or a subpart by its ordinal."""
    if level == 0:
        return Enumerator(end=0, word="question", number=ordinal)
    symbol = letter(ordinal) if level == 1 else roman(ordinal)
    return Enumerator(end=0, word="part", symbol=symbol, form="enclosed", is_firm=True)


def _counted_in_latex(document: Document) -> Iterator[Opening]:
    """The openings, other than headings, whose numbers only the typeset page shows."""
    if document.kind != "latex":
        return
    counts = [0, 0, 0]
    lists: list[list] = []
    for found in _COUNTED.finditer(document.prose):
        if found["exam"]:
            level = _EXAM_LEVEL[found["exam"]]
            counts[level] += 1
            counts[level + 1 :] = [0] * (2 - level)
            yield _exam_opening(document, found, _counted(level, counts[level]))
        elif found["edge"] == "begin":
            lists.append([_style(found["label"] or "") if found["list"] == "enumerate" else "", 0])
        elif found["edge"] == "end":
            lists[-1:] = []
        elif lists and lists[-1][0]:
            lists[-1][1] += 1
            style, ordinal = lists[-1]
            symbol = letter(ordinal) if style == "letter" else roman(ordinal)
            enumerator = Enumerator(end=0, symbol=symbol, form="enclosed", is_firm=True)
            yield Opening(
                start=found.start(), end=found.end(), body=found.end(), words=found.end(), enumerator=enumerator
            )


def _style(label: str) -> str:
    r"""What a label such as `label=(\alph*)` or `(i)` counts in; empty if neither letters nor romans."""
    if "\\alph" in label or re.fullmatch(r"[(\s]*a[).\s]*", label):
        return "letter"
    return "roman" if "\\roman" in label or re.fullmatch(r"[(\s]*i[).\s]*", label) else ""


def _exam_opening(document: Document, found: re.Match[str], enumerator: Enumerator) -> Opening:
    title, end = "", found.end()
    if found["exam"] == "titledquestion":
        closed = group_end(document.prose, end, 300)
        title = document.text[end + 1 : closed - 1] if closed else ""
        points = _EXAM_POINTS.match(document.prose, closed or end)
        end = points.end() if points else (closed or end)
    elif skipped := _BEFORE_TITLE.match(document.prose, end):
        title = leading_title(document.prose[skipped.end() : document.line_at(skipped.end()).end])
    return Opening(
        start=found.start(), end=end, body=end, words=end, title=title, enumerator=enumerator, is_in_template=True
    )
