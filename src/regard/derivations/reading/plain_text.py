"""Mathematics typed as plain text, turned into LaTeX: `X_perm = P X`, `k_a^T q ~= beta`, `||mu_i|| = 1`."""

import re

from regard.derivations.reading.latex import Expansion

_GREEK = frozenset(
    """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
    """.split()
)
_COMMANDS = {
    "sum": r"\sum ", "prod": r"\prod ", "inf": r"\infty ", "infinity": r"\infty ", "in": r"\in ", "approx": r"\approx ",
    "approximately": r"\approx ", "to": r"\to ", "tends": "", "equals": "=", "dot": r"\cdot ", "times": r"\cdot ",
}  # fmt: skip
_FUNCTIONS = frozenset(
    """
    exp log ln sqrt sin cos tan tanh softmax Softmax SoftMax ReLU relu Relu max min diag Var Cov mean sigmoid Attention
    LayerNorm LN
    """.split()
)
_SIGNS = {"~=": r"\approx ", "=~": r"\approx ", "**": "^", "||": r"\|", "@": " ", "<->": r"\iff ", "!=": r"\neq "}
_PIECE = re.compile(
    r"\\[A-Za-z]+|_(?P<script>[A-Za-z]{2,}\d*)(?![A-Za-z])|(?P<word>[A-Za-z]{2,})|~=|=~|\*\*|\|\||@|<->|!=|.", re.DOTALL
)


def plain_text_as_latex(source: str) -> Expansion:
    """The LaTeX of a formula in plain text: names of several letters are one symbol, and Greek letters are spelt out.

    >>> plain_text_as_latex("X_perm ~= P X, theta_i").source
    'X_{\\\\mathrm{perm}} \\\\approx  P X, \\\\theta _i'
    """
    text: list[str] = []
    offsets: list[int] = []
    exponents = _exponent_brackets(source)
    for piece in _PIECE.finditer(source):
        written = f"_{{{_name(piece['script'])}}}" if piece["script"] else _word(piece["word"])
        written = exponents.get(piece.start()) or written or _SIGNS.get(piece[0], piece[0])
        text.append(written)
        offsets += [piece.start() + min(k, len(piece[0]) - 1) for k in range(len(written))]
    return Expansion(source="".join(text), offsets=tuple(offsets))


def _exponent_brackets(source: str) -> dict[int, str]:
    """Where the round brackets of an exponent stand, with the braces that they are read as: e^(2x) is e^{2x}."""
    found: dict[int, str] = {}
    opened: list[int] = []
    for place, sign in enumerate(source):
        if sign == "(":
            opened.append(place)
        elif sign == ")" and opened and source[: (start := opened.pop())].endswith("^"):
            found |= {start: "{", place: "}"}
    return found


def _word(word: str | None) -> str:
    """A word of a formula: a letter, a function, a sign that is spelt out, a product of capitals, or a name."""
    if word is None:
        return ""
    if word in _COMMANDS:
        return _COMMANDS[word]
    is_product = word.isupper() or (len(word) == 2 and word[0].isupper() != word[1].isupper())
    return word if word in _FUNCTIONS or is_product else _name(word)


def _name(word: str) -> str:
    return f"\\{word} " if word in _GREEK else f"\\mathrm{{{word}}}"
