r"""Lines that may open a question, a part or an answer: headings, enumerators, "My answer:", `\begin{solution}`.

Whether a line really opens something depends on its context, which the outline knows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from regard.derivations.reading.delimiters import CJK
from regard.derivations.reading.document import PLACEHOLDER, Document, Heading, Line, Range, by_start, range_at
from regard.derivations.reading.latex import group_end
from regard.derivations.reading.phrases import any_of

PLAIN = 100  # the level of a line that is no heading


# -- enumerators -------------------------------------------------------------------------------------------------------
ROMANS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HAN = "一二三四五六七八九十"
_ROMAN = "|".join(sorted(ROMANS, key=len, reverse=True))

_WORD = re.compile(
    rf"(?P<word>{any_of('question_word')})(?:(?=\d)|\s{{0,4}}[.#]\s{{0,4}}(?=\d)|\s{{1,4}}(?:no\.?\s{{0,4}})?|(?=\())"
    rf"|第\s{{0,4}}(?P<nth>\d{{1,2}}|[{_HAN}]{{1,3}})\s{{0,4}}"
    rf"(?P<kind>{any_of('nth_question')}|(?P<part>{any_of('nth_part')}))"
    rf"|(?P<topic>{any_of('question_noun')})\s{{0,4}}(?=[\d(])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<number>\d{1,2})(?!\d)|(?P<capital>I{1,3}|IV|VI{0,3}|IX|X)(?![A-Za-z])")
_SECOND = re.compile(
    r"\s{0,4}[.)\-–]?\s{0,4}\(\s{0,4}(?P<enclosed>[A-Za-z]|\d{1,2}|" + _ROMAN + r")\s{0,4}\)"
    r"|\s{0,4}[.\-–]\s{0,4}(?P<digits>\d{1,2})(?!\d)"
    r"|[.\-–]?(?P<joined>[A-Za-z])(?![A-Za-z0-9'’])"
    r"|\.?\s{1,4}(?P<apart>[A-Za-z])(?=\s{0,4}[.):]|\s{0,4}$)"
)
_THIRD = re.compile(
    rf"\s{{0,4}}[.)\-–,]{{0,2}}\s{{0,4}}\(\s{{0,4}}(?P<enclosed>{_ROMAN})\s{{0,4}}\)"
    rf"|\s{{0,4}}[.)\-–,]{{0,2}}\s{{0,4}}(?P<bare>(?![vx](?![ivx]))(?:{_ROMAN}))(?=[.):]|\s{{0,4}}$)"
    r"|[.\-–](?P<digits>\d{1,2})(?!\d)"
)
_SYMBOL = re.compile(
    rf"\(\s{{0,4}}(?P<enclosed>{_ROMAN}|[A-Za-z])\s{{0,4}}\)"
    rf"|(?P<chained>[A-Ha-h])(?=[.\-](?:{_ROMAN})(?:[.):]|\s{{0,4}}$))"
    rf"|(?P<firm>{_ROMAN}|[A-Za-z])\s?[.)](?![a-z=])"
    rf"|(?P<bare>{_ROMAN}|[A-Za-z])(?=\s{{0,4}}$|:|\s{{1,4}}[A-Z\u4e00-\u9fff])"
)
_STOP = re.compile(r"\s{0,4}(?:[.):]|$)")
_LISTED = re.compile(rf"(?P<han>[{_HAN}]{{1,3}})(?=[、.])|\(\s{{0,4}}(?P<enclosed>\d{{1,2}})\s{{0,4}}\)")
_TAIL = re.compile(r"\s{0,4}[.:)\]、]{0,4}\s{0,4}")
_WIDE = str.maketrans("（）．：，［］　" + "".join(chr(0xFF10 + k) for k in range(10)), "().:,[] 0123456789")


@dataclass(frozen=True, kw_only=True)
class Enumerator:
    """An enumerator such as `1.(a)`, `Q1-2.`, `Problem 1b`, `ii)` or `第一题`, level by level, and where it ends.

    The levels are an arabic number, a letter and a roman numeral; a level written in another way is turned into its
    usual form by its ordinal (`Q1-2` is 1, b). `symbol` is a lone letter or roman numeral, whose level depends on the
    context; `is_firm` separates `(b)`, `b)` and `b.` from a bare `b`; `is_sub` says that a number counts the parts of a
    question; `form` is how the last level was written.
    """

    end: int
    word: str = ""
    number: int | None = None
    second: str | None = None
    third: str | None = None
    symbol: str | None = None
    form: str = ""
    is_firm: bool = False
    is_sub: bool = False

    @property
    def is_roman(self) -> bool:
        """True for a lone roman numeral."""
        return self.symbol is not None and self.symbol.lower() in ROMANS


def normalized(text: str) -> str:
    """The text with full-width brackets, digits and punctuation made plain; its length stays the same.

    >>> normalized("（１）：")
    '(1):'
    """
    return text.translate(_WIDE)


def letter(ordinal: int) -> str:
    """The letter of an ordinal: 2 is b; beyond z, the number itself."""
    return _LETTERS[ordinal - 1] if 0 < ordinal <= len(_LETTERS) else str(ordinal)


def roman(ordinal: int) -> str:
    """The roman numeral of an ordinal: 2 is ii; beyond xii, the number itself."""
    return ROMANS[ordinal - 1] if 0 < ordinal <= len(ROMANS) else str(ordinal)


def parse_enumerator(text: str) -> Enumerator | None:
    """The enumerator in front of a normalized text, if there is one.

    >>> parse_enumerator("Q1-2. An average of two").second
    'b'
    """
    word = _WORD.match(text)
    if word and word["nth"]:
        return _nth(text, word)
    place = word.end() if word else 0
    name = (word["word"] or word["topic"] or "").lower() if word else ""
    number = _NUMBER.match(text, place)
    if number and (number["number"] or name):
        value = int(number["number"]) if number["number"] else ROMANS.index(number["capital"].lower()) + 1
        return _numbered(text, Enumerator(end=number.end(), word=name, number=value))
    if not word and (listed := _LISTED.match(text)):
        value = _han(listed["han"]) if listed["han"] else int(listed["enclosed"])
        return _ended(text, Enumerator(end=listed.end(), number=value, is_sub=bool(listed["enclosed"]), form="listed"))
    symbol = _SYMBOL.match(text, place)
    return _symbol(text, symbol, name) if symbol else None


def _nth(text: str, word: re.Match[str]) -> Enumerator:
    value = int(word["nth"]) if word["nth"].isdigit() else _han(word["nth"])
    base = Enumerator(end=word.end(), word=word["kind"], number=value, is_sub=word["part"] is not None)
    return _ended(text, base) if base.is_sub else _numbered(text, base)


def _han(numeral: str) -> int:
    tens, _, units = numeral.rpartition("十")
    ten = 10 * (_HAN.index(tens[0]) + 1 if tens else 1) if "十" in numeral else 0
    return ten + (_HAN.index(units[0]) + 1 if units else 0)


def _numbered(text: str, base: Enumerator) -> Enumerator:
    found = _SECOND.match(text, base.end)
    if found is None:
        return _ended(text, base)
    form = found.lastgroup or ""
    second = found[form].lower()
    if second.isdigit():
        second = letter(int(second))
    elif second in ROMANS and form == "enclosed":
        second = letter(ROMANS.index(second) + 1)
    is_firm = form == "enclosed" or found[0][0] == "." or _STOP.match(text, found.end()) is not None
    return _ended(text, _third(text, replace(base, end=found.end(), second=second, form=form, is_firm=is_firm)))


def _symbol(text: str, found: re.Match[str], word: str) -> Enumerator:
    form = found.lastgroup or ""
    base = Enumerator(end=found.end(), word=word, symbol=found[form], form=form, is_firm=form != "bare")
    return _ended(text, _third(text, base) if found[form] not in ROMANS else base)


def _third(text: str, base: Enumerator) -> Enumerator:
    found = _THIRD.match(text, base.end)
    if found is None:
        return base
    written = found[found.lastgroup or ""]
    third = roman(int(written)) if written.isdigit() else written
    return replace(base, end=found.end(), third=third, is_firm=True)


def _ended(text: str, base: Enumerator) -> Enumerator:
    tail = _TAIL.match(text, base.end)
    return replace(base, end=tail.end() if tail else base.end)


# -- titles ------------------------------------------------------------------------------------------------------------
_EDGES = " \t*_#:：{}-–—\\"
_MAX_TITLE = 100
_SENTENCE = re.compile(r"[。！？?]|[.!](?:\s|$)")
_POINTS = re.compile(rf"[(（\[]\s?\d{{1,3}}(?:\.\d)?\s?{any_of('points')}\.?\s?[)）\]]", re.IGNORECASE)
_TITLED_ITEM = re.compile(r"(\d{1,2})[.)]\s{1,4}(?:\*\*([^*\r\n]{2,100})\*\*|__([^_\r\n]{2,100})__)[.:：]?[ \t]{0,4}")
_BOLD_LEAD = re.compile(r"\s{0,4}\*\*([^*\r\n]{3,80})\*\*")
_COLON_LEAD = re.compile(r"\s{0,4}([A-Z][^\s:：.。]*(?:\s[^\s:：.。]+){1,5}|[\u4e00-\u9fff][^\s:：.。，]{1,14})[:：]")
_SENTENCE_OPENING = re.compile(any_of("sentence_opening"), re.IGNORECASE)


def cleaned(title: str) -> str:
    """A title without the marks around it and without its points.

    >>> cleaned("(4 points) An average of two:")
    'An average of two'
    """
    return _POINTS.sub("", title).strip(_EDGES)


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
    found = _BOLD_LEAD.match(rest) or _COLON_LEAD.match(_POINTS.sub("", rest))
    return title_of(found[1]) if found and not _SENTENCE_OPENING.match(found[1]) else ""


# -- words that open an answer -----------------------------------------------------------------------------------------
_ANSWER = re.compile(
    rf"(?:(?P<own>{any_of('own')})\s{{0,4}})?(?:{any_of('not_own')}\s{{0,4}})?{any_of('answer')}", re.IGNORECASE
)
_ANSWER_END = re.compile(r"\s{0,4}[*_}\]]{0,4}\s{0,4}(?:[:.]\s{0,4}[*_}]{0,4}\s{0,4}|$)")
_ANSWER_TO = re.compile(rf"\s{{0,4}}(?:{any_of('answer_to')})?\s{{0,4}}", re.IGNORECASE)
_ANSWER_ENVIRONMENT = re.compile(r"\\(begin|end)\s?\{(?:solution|answer|sol|ans)\*?\}(?:\[[^\]\r\n]{0,80}\])?")


@dataclass(frozen=True, kw_only=True)
class AnswerMark(Range):
    """A place where an answer may begin: "Solution:", `\\begin{solution}`, or a block quote.

    `is_end` where an answer's environment ends; `is_own` if the words say whose answer it is; `quote_end` is where the
    block quote ends, if it is one; `level` is that of a heading, or `PLAIN`.
    """

    is_end: bool = False
    is_own: bool = False
    quote_end: int = 0
    level: int = PLAIN


@dataclass(frozen=True, kw_only=True)
class AnswerWords:
    """The words in front of a line that open an answer, up to `end`, with the enumerator in "Answer (i):"."""

    end: int
    is_own: bool
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
        return AnswerWords(end=end.end(), is_own=is_own)
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


def _answer_marks(document: Document) -> Iterator[AnswerMark]:
    """In LaTeX the environments that hold answers, elsewhere the block quotes."""
    if document.kind == "latex":
        for found in _ANSWER_ENVIRONMENT.finditer(document.prose):
            yield AnswerMark(start=found.start(), end=found.end(), is_end=found[1] == "end", is_own=True)
    else:
        for quote in document.quotes:
            yield AnswerMark(start=quote.start, end=quote.start, quote_end=quote.end)


# -- openings ----------------------------------------------------------------------------------------------------------
_MARKS = re.compile(
    r"(?:\s|>|[-+](?=\s)|\*{1,3}|_{1,3}|<(?:b|strong|u)>|\\noindent(?![a-z])|\\(?:textbf|textit|emph|underline)\s?\{"
    r"|\{\\(?:bf|it)(?![a-z])|\\item(?![a-z])(?!\s*\[))*"
)
_LIST_MARK = re.compile(r"[\s>]*(?:[-+*]\s|\\item)")
_LABEL = re.compile(r"\\item\s?\[([^\]\r\n]{1,60})\]")
_BOLD = re.compile(r"[\s>]*(?:\*\*[^*]{1,120}\*\*|__[^_]{1,120}__|\\textbf\{[^{}]{1,120}\})\s*[:：]?\s*$")
_CLOSED = re.compile(r"[*_}]{0,3}\s*")
_LINE_END = re.compile(r"[.。!！?？:：;；)）*_}\]" + PLACEHOLDER + "]")
_BREAK = re.compile(r"<br\s?/?>|\\\\", re.IGNORECASE)
_SENTENCE_ENDS = (".", "。", "!", "！", "?", "？", ";", "；")
_YES_OR_NO = re.compile(any_of("yes_or_no"), re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Opening(Range):
    """A line that may open a section; `end` is where the line ends, `body` where the text of the section begins.

    `level` is that of a heading, or `PLAIN`; `is_answer` if the line itself says that an answer follows. The words
    after the enumerator, from `words` on, may be a title or the whole answer. `ordinal` numbers the titled items of a
    list.
    """

    body: int
    words: int
    title: str = ""
    level: int = PLAIN
    enumerator: Enumerator | None = None
    is_answer: bool = False
    ordinal: int = 0

    @property
    def is_heading(self) -> bool:
        """True unless it is a plain line."""
        return self.level < PLAIN


def openings(document: Document) -> list[Opening | AnswerMark]:
    """Everything that may open a section or an answer, in the order of the text."""
    found = [*_heading_openings(document), *_line_openings(document), *_answer_marks(document)]
    return sorted([*found, *_counted_in_latex(document)], key=by_start)


def _heading_openings(document: Document) -> Iterator[Opening | AnswerMark]:
    for heading in document.headings:
        title = normalized(heading.title)
        skipped = _skipped(title)
        answer = answer_words(title[skipped:])
        if answer and not answer.enumerator and not title[skipped + answer.end :].strip(_EDGES):
            yield AnswerMark(start=heading.start, end=heading.end, is_own=answer.is_own, level=heading.level)
        else:
            yield _heading_opening(document, heading, skipped)


def _heading_opening(document: Document, heading: Heading, skipped: int) -> Opening:
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


def _line_openings(document: Document) -> Iterator[Opening | AnswerMark]:
    hidden = sorted([*document.headings, *document.code, *document.comments], key=by_start)
    before, found = "", list[Opening | AnswerMark]()
    for line in document.lines:
        is_free = not before or _LINE_END.match(before[-1]) is not None or _LIST_MARK.match(line.text) is not None
        before = document.prose[line.start : line.end].strip("> \t\r\n")
        content = line.start + _skipped(line.text)
        front = document.front_matter
        is_hidden = range_at(hidden, content) or document.span_at(content) or (front and front.holds(content))
        is_read = before and not is_hidden
        found = list(_line_opening(document, line, content, is_free or found != [])) if is_read else []
        yield from found
        if found and isinstance(found[0], Opening):
            yield from _parts_on_line(document, found[0])


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
            yield AnswerMark(start=start, end=end, is_own=answer.is_own)
    elif label and enumerator:
        yield _enumerated(document, whole, label.end(), enumerator)
    elif enumerator and _is_plain_opening(words, enumerator) and (is_free or not words[enumerator.end :].strip("*_} ")):
        yield _enumerated(document, whole, content + enumerator.end, enumerator)
    elif _BOLD.match(line.text) and title_of(document.prose[content : line.end].rstrip("*_?？")):
        yield replace(whole, title=cleaned(document.text[content : line.end]))
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
        return enumerator.is_firm and enumerator.second is not None and enumerator.form != "digits"
    return enumerator.is_firm and enumerator.symbol is not None and enumerator.symbol.islower()


def _enumerated(document: Document, line: Opening, after: int, enumerator: Enumerator) -> Opening:
    """A title after a number, or all in bold, is a heading; after a letter or numeral alone, the answer begins."""
    rest = document.prose[after : line.end]
    title = title_of(rest)
    is_set_off = enumerator.number is not None or _BOLD.match(document.text, line.start, line.end) is not None
    is_heading = title != "" and is_set_off and not _YES_OR_NO.fullmatch(title)
    is_emphatic = document.text.startswith(("*", "_", "\\text", "\\emph"), line.start)
    closed = _CLOSED.match(document.text, after, line.end) if is_emphatic else None
    words = closed.end() if closed else after
    body, title = line.end if is_heading else words, title or leading_title(rest)
    return replace(line, body=body, words=words, title=title, enumerator=enumerator)


def _parts_on_line(document: Document, first: Opening) -> list[Opening]:
    """The parts that follow each other on one line: the ii of "i. Yes. ii. No."; an i on its own is none."""
    place = first.words
    is_first = first.enumerator is not None and (first.enumerator.symbol or "").lower() == ROMANS[0]
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
    return re.compile(rf"(?<![\w(])(?:\({numeral}\)|{numeral}[.)])(?=\s|[\u4e00-\u9fff{PLACEHOLDER}])\s{{0,4}}")


def _begins_a_part(before: str, numeral: str) -> bool:
    """Whether a numeral after these words opens a part: they end a sentence or are a whole answer.

    A whole answer is a yes or no, or a formula before a numeral in brackets.
    """
    words = _BREAK.sub(" ", before).strip(_EDGES)
    if numeral.strip("(.) ") == ROMANS[0]:
        return words == "" or words.endswith(_SENTENCE_ENDS)
    is_answer = _YES_OR_NO.fullmatch(words) is not None or (numeral[0] == "(" and words.endswith(PLACEHOLDER))
    return is_answer or words.endswith(_SENTENCE_ENDS)


def _skipped(text: str) -> int:
    marks = _MARKS.match(text)
    return marks.end() if marks else 0


# -- questions that LaTeX numbers by itself: the `exam` class, and `enumerate` with letters or romans ------------------
_COUNTED = re.compile(
    r"\\(?P<edge>begin|end)\s?\{enumerate\}(?:\[(?P<label>[^\]\r\n]{0,120})\])?"
    r"|\\(?P<item>item)(?![A-Za-z])(?!\s*\[)"
    r"|\\(?P<exam>titledquestion|question|part|subpart)(?![A-Za-z])(?:(?<=titledquestion)(?=\{)|(?!\s*\{))"
    r"(?P<points>\s?\[[^\]\r\n]{0,20}\])?"
)
_EXAM_LEVEL = {"question": 0, "titledquestion": 0, "part": 1, "subpart": 2}
_EXAM_POINTS = re.compile(r"\s?\[[^\]\r\n]{0,20}\]")


def _counted_in_latex(document: Document) -> Iterator[Opening]:
    """The openings whose numbers only the typeset page shows."""
    if document.kind != "latex":
        return
    counts = [0, 0, 0]
    lists: list[list] = []
    for found in _COUNTED.finditer(document.prose):
        if found["exam"]:
            level = _EXAM_LEVEL[found["exam"]]
            counts[level] += 1
            counts[level + 1 :] = [0] * (2 - level)
            yield _exam_opening(document, found, level, counts[level])
        elif found["edge"] == "begin":
            lists.append([_style(found["label"] or ""), 0])
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


def _exam_opening(document: Document, found: re.Match[str], level: int, ordinal: int) -> Opening:
    title, end = "", found.end()
    if found["exam"] == "titledquestion":
        closed = group_end(document.prose, end, 300)
        title = document.text[end + 1 : closed - 1] if closed else ""
        points = _EXAM_POINTS.match(document.prose, closed or end)
        end = points.end() if points else (closed or end)
    if level == 0:
        enumerator = Enumerator(end=0, word="question", number=ordinal)
    else:
        symbol = letter(ordinal) if level == 1 else roman(ordinal)
        enumerator = Enumerator(end=0, word="part", symbol=symbol, form="enclosed", is_firm=True)
    return Opening(start=found.start(), end=end, body=end, words=end, title=title, enumerator=enumerator)
