"""Text that any terminal can show: β becomes beta where the code page has no β, and control signs become ?."""

import unicodedata

_IN_ASCII = {
    "✓": "+", "✗": "x", "≈": "~", "≠": "!=", "≤": "<=", "≥": ">=", "±": "+-", "−": "-", "–": "-", "—": "-", "·": "*",
    "→": "->", "⇒": "=>", "⟺": "<=>", "↦": "->", "∞": "inf", "√": "sqrt", "‖": "||", "∈": " in ", "∑": "sum", "×": "x",
    "′": "'", "″": "''",
    "⟨": "<", "⟩": ">", "…": "...", "’": "'", "‘": "'", "“": '"', "”": '"', "∂": "d", "∇": "grad ", "∫": "int",
    "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")", "≡": "==", "∝": "~", "∀": "for all ", "⊙": "(*)", "⊗": "(x)",
}  # fmt: skip


def spelled(text: str, encoding: str) -> str:
    """The text with each sign that the encoding lacks spelled out, and nothing in it that steers the terminal.

    >>> spelled("β ≥ ½, so a_a → ½", "ascii")
    'beta >= 1/2, so a_a -> 1/2'
    >>> spelled("β ≥ ½", "utf-8")
    'β ≥ ½'
    """
    return "".join(_spelled_sign(sign, encoding) for sign in text)


def _spelled_sign(sign: str, encoding: str) -> str:
    if sign.isascii():
        return sign if sign.isprintable() or sign in "\n\t" else "?"
    if unicodedata.category(sign) in ("Cc", "Cf", "Cs"):
        return "?"
    try:
        sign.encode(encoding)
    except UnicodeEncodeError:
        return _in_ascii(sign)
    return sign


def _in_ascii(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if sign in _IN_ASCII:
        return _IN_ASCII[sign]
    if name.startswith("GREEK"):
        letter = name.split(" LETTER ")[-1].split(" WITH ")[0].removeprefix("FINAL ").split()[-1]
        return letter.capitalize() if "CAPITAL" in name else letter.lower()
    if name.startswith("COMBINING"):
        return ""
    simple = unicodedata.normalize("NFKD", sign).replace("\N{FRACTION SLASH}", "/")
    simple = "".join(part for part in simple if not unicodedata.combining(part)).replace("\N{MINUS SIGN}", "-")
    raised = "SUPERSCRIPT" in name or name.startswith("MODIFIER LETTER")
    mark = "^" if raised else "_" if "SUBSCRIPT" in name else ""
    return mark + simple if simple.isascii() else "?"


def printable(text: str) -> str:
    """The text without the signs that XML cannot hold.

    >>> printable("a\\x00b")
    'a?b'
    """
    return "".join(sign if sign in "\n\t" or (sign >= " " and not _is_barred(sign)) else "?" for sign in text)


def _is_barred(sign: str) -> bool:
    return "\ud800" <= sign <= "\udfff" or sign in "\ufffe\uffff"
