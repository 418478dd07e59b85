"""Text that a reader of the finished document may not see, or sees struck out, or as code.

What hides text cannot be listed, what shows it can: a formula counts as hidden in an argument of a command, or in an
HTML tag, that is not known to show it. The commands that hide what follows them, or stands elsewhere, are listed.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from regard.derivations.reading.braces import group_end
from regard.derivations.reading.document import PLACEHOLDER, Document, Macro, Range, masked
from regard.derivations.reading.phrases import any_of

_SHOWING_COMMANDS = frozenset(
    """
    bar begin bigcap bigcup binom bm boldsymbol bmod boxed caption centerline cfrac color colorbox dbinom ddot
    dfrac dot emph end enquote ensuremath fbox fcolorbox footnote footnotetext frac framebox hat highlight hl
    intertext item makebox mathbb mathbf mathbin mathcal mathfrak mathit mathnormal mathop mathord mathrel
    mathring mathrm mathscr mathsf mathtt mbox minipage multicolumn multirow nicefrac operatorname overbrace
    overbracket overleftarrow overline overrightarrow overset paragraph parbox part pmb prod question section
    shortintertext shortstack sfrac sideset sqrt stackrel subparagraph subpart subsection subsubpart
    subsubsection substack sum tag tbinom tcbox texorpdfstring text textbf textcolor textit textmd textnormal
    textrm textsc textsf textsl texttt textup tfrac tilde titledquestion underbar underbrace underbracket
    underline underset uline uuline uwave vec widehat widetilde xLeftarrow xLeftrightarrow xRightarrow
    xleftarrow xleftrightarrow xrightarrow
    """.split()
)
_ANSWER_COMMAND = re.compile(any_of("answer_command"), re.IGNORECASE)
_PIECE = re.compile(
    r"\\(?P<command>[A-Za-z@]+)\*?|\\.|(?P<open>\{)|(?P<close>\})|(?P<argument>#\d)"
    r"|(?P<relation>[=≈≃<>≤≥≪≫→])"
    r"|(?P<between>\[[^\[\]\n]{0,200}\]|\s+)|[^\\{}\[\s#=≈≃<>≤≥≪≫→]+|.",
    re.DOTALL,
)
_RELATIONS = frozenset("approx sim simeq gg ll le leq ge geq to propto".split())
_OVERLAY = re.compile(r"(?<=[A-Za-z])<[\d,-]*>(?=\{)")  # of a slide

_SMALL = r"\s*(?:0?\.[01]\d*|0(?:\.[01]\d*)?(?![\d.])|[01](?:\.\d*)?\s*(?:pt|mm)|0?\.\d+\s*[a-z]{2})"
_HIDING = re.compile(
    rf"\\[hv]?phantom(?![A-Za-z])|\\[bx]?cancel(?![A-Za-z])|\\(?:scale|resize)box\s*\{{{_SMALL}"
    r"|\\fontsize\s*\{\s*(?:[01](?:\.\d*)?|\.\d+)\s*(?:pt)?\s*\}|\\(?:setbox|sbox|savebox|toks|transparent|special)(?![A-Za-z])"
    r"|\\begin\s*\{\s*(?:lrbox|picture|tikzpicture|textblock)\*?\s*\}"
    r"|\\if(?:x|num|dim|odd|cat|case|defined|csname|[hmv]mode|inner|void|[hv]box|eof)?(?![A-Za-z@])"
)
_MOVED = re.compile(
    r"\\(?:(?:[hv]space\*?|raisebox)\s*\{|[hmv]skip\s*|kern\s*|(?:raise|lower)\s*\{?)\s*(-?\d*\.?\d+)\s*(cm|mm|in|pt|em|ex)"
)
_CENTIMETRES = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 0.0352, "em": 0.4, "ex": 0.2}
_FARTHEST, _FARTHEST_BACK = 20.0, -3.0  # to what is still on the page

_COLOUR = re.compile(r"\\(textcolor|color|colorbox)\s*(?:\[\s*(\w+)\s*\])?\s*\{([^{}]{1,60})\}")
_COLOUR_NAME = re.compile(r"\\(?:definecolor|colorlet)\s*\{([^{}]{1,40})\}\s*(?:\{(\w+)\}\s*)?\{([^{}]{1,60})\}")
_CHANNEL = re.compile(r"\d*\.?\d+")
_BRIGHT = 0.85  # each channel of a colour that cannot be seen on white paper

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*'){0,500})>")
_SHOWING_TAGS = frozenset(
    """
    a aside b big blockquote body br center cite dd details div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr
    html i img ins li main mark ol p pre q section small span strong sub summary sup table tbody td tfoot th thead tr tt
    u ul var
    """.split()
)
_EMPTY_TAGS = frozenset("br hr img".split())
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*(?:=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
_SHOWING_ATTRIBUTES = frozenset(
    "align alt border face height href id name open size src start title type valign width".split()
)
_SHOWING_STYLE = re.compile(
    r"(?:\s*(?:text-align|font-weight|font-style|color)\s*:\s*(?:[a-z]+|#[0-9a-f]+)\s*;?)*", re.IGNORECASE
)
_HTML_COLOUR = re.compile(r"#[0-9a-f]+|[a-z]+(?=;|$)", re.IGNORECASE)
_BESIDE = re.compile(  # where Markdown keeps what no reader sees at once
    r"!\[[^\[\]\n]{0,500}\]\(|\]\([^()\n]{0,300}\"[^\"\n]{0,500}\"\s*\)|^ {0,3}\[[^\[\]\n]{1,100}\]:[^\n]*",
    re.MULTILINE,
)
_CODE_WITH_A_RELATION = re.compile(r"`[^`\n]{0,300}(?:=|≈|<|>|\\approx|\\(?:gg|ll|to|neq?)\b)[^`\n]{0,300}`")
_SPACE = re.compile(r"\s*")


def hidden_text(document: Document) -> list[Range]:
    """Where the document holds text that its reader may not see, or does not see as mathematics."""
    found = [*document.struck, *_by_commands(document), *_dropped(document), *_not_shown(document)]
    if document.kind != "latex":
        found += [*_in_tags(document), *_beside(document)]
    return sorted(found, key=lambda place: place.start)


def _range_of(found: re.Match[str]) -> Range:
    return Range(start=found.start(), end=found.end())


# -- LaTeX -------------------------------------------------------------------------------------------------------------
def _by_commands(document: Document) -> Iterator[Range]:
    """The commands that hide what follows them."""
    text = _readable(document)
    hides = (_HIDING.finditer(text), filter(_is_far, _MOVED.finditer(text)), _invisible_colours(text))
    yield from map(_range_of, chain.from_iterable(hides))


def _readable(document: Document) -> str:
    """The text without comments and blocks of code; offsets stay the same."""
    blocks = [code for code in document.code if "\n" in document.text[code.start : code.end]]
    return masked(document.text, [*blocks, *document.comments], " ")


def _is_far(move: re.Match[str]) -> bool:
    return not _FARTHEST_BACK < float(move[1]) * _CENTIMETRES[move[2]] < _FARTHEST


def _invisible_colours(text: str) -> Iterator[re.Match[str]]:
    """Colours of text that are nearly white, and black boxes."""
    named = {name: (model, value) for name, model, value in _COLOUR_NAME.findall(text)}
    for colour in _COLOUR.finditer(text):
        model, value = colour[2] or "", colour[3].strip()
        for _ in range(2):
            model, value = named.get(value, (model, value))
        if "black" in value if colour[1] == "colorbox" else _is_bright(value, model):
            yield colour


def _is_bright(colour: str, model: str = "") -> bool:
    """True for a colour that cannot be seen on white paper."""
    if "white" in colour.lower() or colour.lower() == "transparent":
        return True
    if model == "HTML" or colour.startswith("#"):
        digits = colour.lstrip("#")
        width = 1 if len(digits) == 3 else 2
        channels = [int(digits[k : k + width], 16) / (16**width - 1) for k in range(0, 3 * width, width)]
    else:
        channels = [float(number) for number in _CHANNEL.findall(colour)] if model else []
        channels = [number / 255 for number in channels] if model == "RGB" else channels
        channels = [1 - number for number in channels] if model == "cmyk" else channels
    return bool(channels) and min(channels) >= _BRIGHT


def _not_shown(document: Document) -> Iterator[Range]:
    """Relations in an argument of a command that is not known to show it."""
    macros = {macro.name[1:]: macro for macro in document.macros}
    front = document.front_matter.end if document.front_matter else 0
    for place, commands in _enclosures(_readable(document)[front:]):
        span = document.span_at(front + place)
        if span is not None and not all(_shows(command, macros) for command in commands):
            yield span


def _enclosures(text: str) -> Iterator[tuple[int, list[str]]]:
    """Where relations and arguments of macros stand, and the commands in whose arguments they do."""
    enclosing: list[str] = []
    command = ""
    for piece in _PIECE.finditer(_OVERLAY.sub(lambda found: " " * len(found[0]), text)):
        match piece.lastgroup:
            case "command" if piece["command"] not in _RELATIONS:
                command = piece["command"]
                continue
            case "open":
                enclosing.append(command)
            case "close":
                command = enclosing.pop() if enclosing else ""
                continue
            case "command" | "relation" | "argument":
                yield piece.start(), [name for name in enclosing if name]
            case "between":
                continue
        command = ""


def _shows(command: str, macros: Mapping[str, Macro]) -> bool:
    """True for a command whose arguments can be seen: a usual one, or the document's own, made of these."""
    if command not in macros:
        return command in _SHOWING_COMMANDS or _ANSWER_COMMAND.fullmatch(command) is not None
    body = macros[command].body
    others = {name: macro for name, macro in macros.items() if name != command}
    is_plain = _HIDING.search(body) is None and not any(map(_is_far, _MOVED.finditer(body)))
    return is_plain and all(_shows(name, others) for _, names in _enclosures(body) for name in names)


def _dropped(document: Document) -> Iterator[Range]:
    """The calls of macros that leave an argument out."""
    for macro in document.macros:
        if macro.arity and "#" not in macro.body:
            yield from _calls(document, macro)


def _calls(document: Document, macro: Macro) -> Iterator[Range]:
    front = document.front_matter.end if document.front_matter else 0
    for call in re.finditer(rf"{re.escape(macro.name)}(?![A-Za-z])", document.text[front:]):
        begin = _SPACE.match(document.text, front + call.end())
        end = group_end(document.text, begin.end()) if begin is not None else None
        if end is not None:
            yield Range(start=front + call.start(), end=end)


# -- Markdown ----------------------------------------------------------------------------------------------------------
def _in_tags(document: Document) -> Iterator[Range]:
    """HTML elements that may not show what is in them, and tags with mathematics in their attributes."""
    prose = masked(document.prose, document.code, " ")
    for tag in _TAG.finditer(prose):
        is_end, name, attributes = tag[1], tag[2].lower(), tag[3]
        if PLACEHOLDER in attributes:
            yield _range_of(tag)
        if is_end or name in _EMPTY_TAGS:
            continue
        is_closed = f"</{name}" in prose[tag.end() :].lower()
        is_shown = name in _SHOWING_TAGS and all(map(_is_harmless, _ATTRIBUTE.findall(attributes)))
        if not is_shown and (is_closed or name in _SHOWING_TAGS):
            yield _range_of(tag)


def _is_harmless(attribute: tuple[str, str]) -> bool:
    name, value = attribute[0].lower(), attribute[1].strip("\"'")
    if name not in ("style", "color"):
        return name in _SHOWING_ATTRIBUTES
    is_known = name == "color" or _SHOWING_STYLE.fullmatch(value) is not None
    return is_known and not any(map(_is_bright, _HTML_COLOUR.findall(value)))


def _beside(document: Document) -> Iterator[Range]:
    """Mathematics in titles of links and the like, and relations in backticks."""
    for found in _BESIDE.finditer(document.prose):
        if PLACEHOLDER in found[0]:
            yield _range_of(found)
    for found in _CODE_WITH_A_RELATION.finditer(_readable(document)):
        yield _range_of(found)
