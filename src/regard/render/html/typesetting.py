r"""LaTeX mathematics as MathML, or as its source where it cannot be set.

A document is hostile until read: no macro is defined here, and size and depth are bounded.
"""

import html
import re
from functools import lru_cache

from regard.render.html.mathml import MalformedMathError, mathml

_LONGEST = 4_000
_DEEPEST = 60
_DEFINITIONS = re.compile(
    r"\\(?:re|provide)?newcommand|\\[gex]?def(?![a-z])|\\let(?![a-z])|\\csname|\\Declare|\\href|\\style"
)
_LEFT_OUT = re.compile(
    r"\\(?:label|tag\*?)\s*\{[^{}]*\}|\\(?:nonumber|notag|hfill|noindent|displaystyle|textstyle|limits)(?![a-zA-Z])"
)
_SPELLINGS = (
    (re.compile(r"(\\begin\{([pbvBV]?matrix|array|cases)\}.*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL), r"{\1}"),
    (re.compile(r"\\not\s*="), r"\\neq "),
    (re.compile(r"\\not\s*\\in(?![a-zA-Z])"), r"\\notin "),
    (re.compile(r"\\intercal(?![a-zA-Z])"), r"\\top "),
    (re.compile(r"\\(?:dfrac|tfrac|cfrac)(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\(?:textrm|textnormal|mbox|hbox)(?![a-zA-Z])"), r"\\text"),
    (re.compile(r"(?<=[\u2e80-\u9fff\uff00-\uffef])\s+(?=[\u2e80-\u9fff\uff00-\uffef])"), ""),
    (re.compile(r"[\u2e80-\u9fff\uff00-\uffef]+(?![^{}]*\})"), r"\\text{\g<0>}"),
)


@lru_cache(maxsize=4096)
def typeset(latex: str, *, is_display: bool) -> str:
    r"""The formula as a `math` element, or its source as `code` if it cannot be set.

    >>> typeset("x_a", is_display=False)
    '<math><msub><mi>x</mi><mi>a</mi></msub></math>'
    >>> typeset(r"\frac{", is_display=False)
    '<code class="latex">\\frac{</code>'
    """
    source = latex.strip()
    try:
        return _set(source, is_display)
    except Exception:  # noqa: BLE001  latex2mathml raises exceptions of many kinds, with no common parent
        return f'<code class="latex">{html.escape(" ".join(source.split()))}</code>'


def _set(source: str, is_display: bool) -> str:
    from latex2mathml.converter import Converter

    if len(source) > _LONGEST or _DEFINITIONS.search(source) or _depth(source) > _DEEPEST:
        raise MalformedMathError("a formula that is not safe to set")
    spelled = _LEFT_OUT.sub(" ", source)
    for pattern, replacement in _SPELLINGS:
        spelled = pattern.sub(replacement, spelled)
    if not spelled.strip():
        return ""
    tree = Converter(display="block" if is_display else "inline").convert_to_element(spelled)
    return mathml(tree, is_display=is_display)


def _depth(source: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"\\.|\\left|\\begin|[{}]", source):
        depth += {"{": 1, "}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return max(deepest, source.count(r"\left"), source.count(r"\begin"), source.count(r"\sqrt"))
