r"""LaTeX mathematics as the MathML that browsers lay out today (MathML Core), or as its source if it cannot be typeset.

A document is untrusted input: no macro is defined here, and size and depth are bounded. latex2mathml writes the older
MathML 3 and copies text and attributes as they come, so the tree is rebuilt from elements and attributes that are known
to be harmless, and every text is escaped.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from xml.etree.ElementTree import Element

_MAX_LENGTH = 4_000
_MAX_DEPTH = 60
_DEFINITIONS = re.compile(
    r"\\(?:re|provide)?newcommand|\\[gex]?def(?![a-z])|\\let(?![a-z])|\\csname|\\Declare|\\href|\\style"
)
_OMITTED = re.compile(
    r"\\(?:label|tag\*?)\s*\{[^{}]*\}|\\(?:nonumber|notag|hfill|noindent|displaystyle|textstyle|limits)(?![a-zA-Z])"
)
_REWRITES = (
    (re.compile(r"(\\begin\{([pbvBV]?matrix|array|cases)\}.*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL), r"{\1}"),
    (re.compile(r"\\not\s*="), r"\\neq "),
    (re.compile(r"\\not\s*\\in(?![a-zA-Z])"), r"\\notin "),
    (re.compile(r"\\intercal(?![a-zA-Z])"), r"\\top "),
    (re.compile(r"\\(?:dfrac|tfrac|cfrac)(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\(?:textrm|textnormal|mbox|hbox)(?![a-zA-Z])"), r"\\text"),
    (re.compile(r"(?<=[\u2e80-\u9fff\uff00-\uffef])\s+(?=[\u2e80-\u9fff\uff00-\uffef])"), ""),
    (re.compile(r"[\u2e80-\u9fff\uff00-\uffef]+(?![^{}]*\})"), r"\\text{\g<0>}"),
)
_ROWS = ("math", "mrow", "mstyle", "mtd", "msqrt", "mphantom", "mpadded", "menclose", "mtable", "mtr")
_ARITY: Mapping[str, int] = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_TOKENS = ("mi", "mn", "mo", "mtext", "ms")
_LENGTH = re.compile(r"-?(?:[0-3](?:\.\d{1,4})?|\.\d{1,4})(?:em|ex)?")
_NAMED_LENGTHS = {"negativethinmathspace": "-0.167em"}
_LENGTH_ATTRIBUTES = ("width", "height", "depth", "lspace", "rspace", "minsize", "maxsize", "linethickness", "voffset")
_KEYWORD_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("stretchy", "fence", "accent", "accentunder", "displaystyle", "movablelimits"), ("true", "false")),
    "form": ("prefix", "infix", "postfix"),
    "scriptlevel": ("0", "1", "2"),
}
_ALIGNMENTS = {"left": "align-left", "right": "align-right"}
_LETTERLIKE = "∞∅∂∇ℓ⊤⊺…⋯⋮⋱%#&∀∃¬"
_UPRIGHT = "⊤⊺∞"
_BARS = ("|", "‖")
_BRACKETS = "⟨⟩⌈⌉⌊⌋"
_FUNCTIONS = ("softmax", "Softmax", "LayerNorm", "ReLU", "relu", "exp", "log", "sin", "cos", "tanh", "max", "min")
_NAMES = (*_FUNCTIONS, "Re", "Im", "Var", "Cov", "RoPE", "PE", "Attention", "FFN", "MLP", "LN", "diag", "tr", "argmax")
_LIMITS = ("lim", "max", "min", "sup", "inf", "argmax", "argmin")
_OVERLINE = "―"
_THIN = '<mspace width="0.167em"></mspace>'
_ALPHABETS: Mapping[str, str] = {
    "bold": "BOLD",
    "bold-italic": "BOLD ITALIC",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "double-struck": "DOUBLE-STRUCK",
    "sans-serif": "SANS-SERIF",
    "monospace": "MONOSPACE",
}
_OLDER_ALPHABETS: Mapping[str, str] = {"SCRIPT": "SCRIPT", "FRAKTUR": "BLACK-LETTER", "DOUBLE-STRUCK": "DOUBLE-STRUCK"}


class UnsupportedMathError(ValueError):
    """The formula is not mathematics that a browser can show."""


@lru_cache(maxsize=4096)
def typeset(latex: str, *, is_display: bool) -> str:
    r"""The formula as a `math` element, or its source as `code` if it cannot be typeset.

    >>> typeset("x_a", is_display=False)
    '<math><msub><mi>x</mi><mi>a</mi></msub></math>'
    >>> typeset(r"\frac{", is_display=False)
    '<code class="latex">\\frac{</code>'
    """
    source = latex.strip()
    try:
        return _typeset(source, is_display)
    except Exception:  # noqa: BLE001  latex2mathml raises exceptions of many kinds, with no common parent
        return f'<code class="latex">{html.escape(" ".join(source.split()))}</code>'


def _typeset(source: str, is_display: bool) -> str:
    from latex2mathml.converter import Converter

    if len(source) > _MAX_LENGTH or _DEFINITIONS.search(source) or _depth(source) > _MAX_DEPTH:
        raise UnsupportedMathError("a formula that is not safe to typeset")
    rewritten = _OMITTED.sub(" ", source)
    for pattern, replacement in _REWRITES:
        rewritten = pattern.sub(replacement, rewritten)
    if not rewritten.strip():
        return ""
    tree = Converter(display="block" if is_display else "inline").convert_to_element(rewritten)
    style = ' displaystyle="true"' if is_display else ""
    return f"<math{style}>{_children(tree)}</math>"


def _depth(source: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"\\.|\\left|\\begin|[{}]", source):
        depth += {"{": 1, "}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return max(deepest, source.count(r"\left"), source.count(r"\begin"), source.count(r"\sqrt"))


def _children(element: Element) -> str:
    return "".join(_spaced(_merged(list(element))))


def _spaced(elements: Sequence[Element]) -> Iterator[str]:
    """The elements, with a thin space where a function's name would run into its neighbour: sin t cos s."""
    for place, element in enumerate(elements):
        before = elements[place - 1] if place else None
        if before is not None and _run_together(before, element):
            yield _THIN
        yield _element(element)


def _run_together(left: Element, right: Element) -> bool:
    return (_is_function(left) or _is_function(right)) and not _is_sign(left) and not _is_sign(right)


def _is_sign(element: Element) -> bool:
    if element.tag == "mrow" and len(element):
        return _is_sign(element[0])
    return element.tag in ("mspace", "mtext", "mo") and not _is_function(element)


def _is_function(element: Element) -> bool:
    """True for a name of several letters, with or without scripts."""
    if element.tag in ("msub", "msup", "msubsup", "munder") and len(element):
        return _is_function(element[0])
    if element.tag == "mrow":
        return len(element) == 1 and _is_function(element[0])
    text = _text(element)
    is_name = element.tag in ("mi", "mo") and text.replace("\u2009", "").isalpha()
    return len(text) > 1 and (is_name or (element.tag == "mtext" and text in _NAMES))


def _merged(elements: Sequence[Element]) -> list[Element]:
    """The elements with the letters of an upright word, or of a function written bare, joined into one name."""
    merged: list[Element] = []
    place = 0
    while place < len(elements):
        length = _name_length(elements, place)
        merged.append(_name(elements[place : place + length]) if length > 1 else elements[place])
        place += max(length, 1)
    return merged


def _name_length(elements: Sequence[Element], start: int) -> int:
    letters = []
    for element in elements[start:]:
        if element.tag != "mi" or len(_text(element)) != 1 or len(element):
            break
        letters.append((_text(element), element.get("mathvariant")))
    upright = next((k for k, (_, variant) in enumerate(letters) if variant != "normal"), len(letters))
    if upright > 1:
        return upright
    bare = "".join(letter for letter, variant in letters if variant is None)
    return next((len(name) for name in _FUNCTIONS if bare.startswith(name)), 0)


def _name(letters: Sequence[Element]) -> Element:
    name = Element("mi")
    name.text = "".join(map(_text, letters))
    return name


def _element(element: Element) -> str:
    tag = element.tag
    if tag in _TOKENS:
        return _token(element)
    if tag == "mspace":
        return f"<mspace{_attributes(element)}></mspace>"
    if tag in _ARITY:
        if len(element) != _ARITY[tag]:
            raise UnsupportedMathError(f"{tag} with {len(element)} parts")
        if tag == "mover" and _text(element[1]) == _OVERLINE:
            return f'<mrow class="overline">{_element(element[0])}</mrow>'
        if tag == "msub" and _text(element[0]) in _LIMITS:
            return f'<munder><mo movablelimits="true">{_text(element[0])}</mo>{_element(element[1])}</munder>'
        return f"<{tag}{_attributes(element)}>{''.join(map(_element, element))}</{tag}>"
    if tag not in _ROWS:
        raise UnsupportedMathError(f"the element {tag}")
    if tag == "mrow" and len(element) == 1:
        return _element(element[0])
    shown = "mrow" if tag in ("math", "menclose") else tag
    boxed = ' class="boxed"' if tag == "menclose" else ""
    return f"<{shown}{boxed}{_attributes(element)}>{_children(element)}</{shown}>"


def _token(element: Element) -> str:
    if len(element):
        return f"<mrow>{_children(element)}</mrow>"
    text = in_alphabet(_text(element), element.get("mathvariant"))
    tag = _token_tag(element.tag, text)
    upright = element.get("mathvariant") == "normal" or text in _UPRIGHT or "Α" <= text <= "Ω"
    variant = ' mathvariant="normal"' if tag == "mi" and len(text) == 1 and upright else ""
    fence = ' stretchy="false"' if text in _BRACKETS and element.tag == "mi" else ""
    fence = ' lspace="0" rspace="0"' if text in _BARS and tag == "mo" else fence
    attributes = "" if tag == "mi" else _attributes(element)
    return f"<{tag}{variant}{fence}{attributes}>{html.escape(_shown(text, element.tag))}</{tag}>"


def _token_tag(tag: str, text: str) -> str:
    """The element that fits the text: a sign is an operator, a name or a letter-like sign is not."""
    if tag == "mo" and (text in _LETTERLIKE or (len(text) > 1 and text.isalpha() and text not in _LIMITS)):
        return "mi"
    if tag == "mtext" and text in _NAMES:
        return "mi"
    if tag == "mi" and len(text) == 1 and text not in _LETTERLIKE:
        category = unicodedata.category(text)
        return "mn" if category == "No" else "mo" if category[0] in "SP" and text != "\\" else "mi"
    return tag


def _text(element: Element) -> str:
    """The element's text; latex2mathml leaves character references in it."""
    return re.sub(r"&#x([0-9a-fA-F]{1,6});", _referred, element.text or "")


def _referred(reference: re.Match[str]) -> str:
    code = int(reference[1], 16)
    return chr(code) if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\N{REPLACEMENT CHARACTER}"


def _shown(text: str, tag: str) -> str:
    """The text without control signs, and without the $ that switch to mathematics inside a text."""
    kept = text.replace("$", "") if tag == "mtext" else text
    return "".join(sign for sign in kept if sign in "\t\n" or unicodedata.category(sign) != "Cc")


def _attributes(element: Element) -> str:
    kept = []
    for name, value in element.items():
        if name in _LENGTH_ATTRIBUTES:
            length = _NAMED_LENGTHS.get(value, value)
            if _LENGTH.fullmatch(length):
                kept.append(f' {name}="{length}"')
        elif name in _KEYWORD_ATTRIBUTES and value in _KEYWORD_ATTRIBUTES[name]:
            kept.append(f' {name}="{value}"')
        elif name == "columnalign" and value in _ALIGNMENTS:
            kept.append(f' class="{_ALIGNMENTS[value]}"')
    return "".join(kept)


def in_alphabet(text: str, variant: str | None) -> str:
    """The text in one of Unicode's mathematical alphabets; letters that it lacks stay as they are.

    >>> in_alphabet("1X", "bold"), in_alphabet("L", "script"), in_alphabet("μ", "bold-italic"), in_alphabet("x", None)
    ('𝟏𝐗', 'ℒ', '𝝁', 'x')
    """
    alphabet = _ALPHABETS.get(variant or "")
    return text if alphabet is None else "".join(_letter(sign, alphabet) for sign in text)


@lru_cache(maxsize=4096)
def _letter(sign: str, alphabet: str) -> str:
    words = unicodedata.name(sign, "").replace(" LETTER", "").removeprefix("LATIN ").removeprefix("GREEK ").split()
    kind = " ".join(words)
    for name in (f"MATHEMATICAL {alphabet} {kind}", f"{_OLDER_ALPHABETS.get(alphabet, '?')} {kind}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return sign
