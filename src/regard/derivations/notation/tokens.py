"""LaTeX mathematics cut into tokens with their offsets, and the vocabulary: what each command is."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from regard.core.errors import InputError

MAX_SOURCE = 20_000

TokenKind = Literal[
    "letter", "word", "number", "symbol", "relation", "separator", "open", "close", "text", "environment", "script"
]


class NotUnderstood(InputError):
    """Mathematics that can't be read; `start` is the offset in the source where the trouble begins."""

    def __init__(self, message: str, start: int = 0) -> None:
        super().__init__(message)
        self.start = start


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the source: its kind, how it reads, the offsets it covers, its font.

    However a token is spelled, it reads the same: `≥` for `\\geq`, `)` for any round bracket, opening or closing.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    font: str = ""

    @property
    def nesting(self) -> int:
        r"""1 for an opening bracket or `\begin{…}`, −1 for a closing one or `\end{…}`, else 0."""
        if self.kind == "environment":
            return 1 if self.text.startswith("\\begin") else -1
        return (self.kind == "open") - (self.kind == "close")


# -- vocabulary --------------------------------------------------------------------------------------------------------
def _table(text: str) -> dict[str, str]:
    """Pairs written as word→meaning, separated by blanks."""
    return dict(pair.rsplit("→", 1) for pair in text.split())


RELATIONS = {
    sign: meaning
    for meaning, signs in {
        "=": r"= \equiv \coloneqq \triangleq := ≡ \eqqcolon",
        "≈": r"\approx \simeq \cong \doteq \approxeq ≈ ≃",
        "→": r"\to \rightarrow \longrightarrow → \xrightarrow",
        "≫": r"\gg ≫ \ggg",
        "≪": r"\ll ≪ \lll",
        ">": r"> \gt",
        "<": r"< \lt",
        "≥": r"\geq \ge \geqslant ≥",
        "≤": r"\leq \le \leqslant ≤",
        "≠": r"\neq \ne ≠ \not=",
        "∈": r"\in ∈",
        "∉": r"\notin ∉",
        "⊥": r"\perp \bot ⊥",
        "∼": r"\sim ∼",
        "∝": r"\propto ∝",
    }.items()
    for sign in signs.split()
}
SEPARATORS = frozenset(
    r"""
    \\ \quad \qquad \newline \cr , ; : ， ； 。 、 ：
    \Rightarrow \implies \Longrightarrow \iff \Leftrightarrow \hookrightarrow \leadsto ⇒ ⟹
    \therefore \because ∴ ∵ \forall ∀ \mid \land \wedge
    """.split()
)
# A bracket, however it is spelled, is known by the mark that closes it.
OPENING = _table(
    r"""
    (→) （→) [→] \lbrack→] {→} \{→\} \lbrace→\} \langle→\rangle ⟨→\rangle
    \lVert→\rVert \lvert→\rvert \lfloor→\rfloor \lceil→\rceil
    """
)
CLOSING = _table(
    r"""
    )→) ）→) ]→] \rbrack→] }→} \}→\} \rbrace→\} \rangle→\rangle ⟩→\rangle
    \rVert→\rVert \rvert→\rvert \rfloor→\rfloor \rceil→\rceil
    """
)
IGNORED = frozenset(
    r"""
    \left \right \middle \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \bigm \Bigm
    \, \: \! \> \; \enspace \enskip \medspace \thinspace \thickspace \hfill \strut \mathstrut \null \allowbreak
    \displaystyle \textstyle \scriptstyle \limits \nolimits \notag \nonumber \cdotp
    \rm \bf \it \sf \tt \cal \mathopen \mathclose \mathbin \mathrel \mathord
    \relax \par \noindent \centering \hline
    """.split()
) | {"\\ "}
FONTS = _table(
    r"""
    \mathbf→bold \boldsymbol→bold \bm→bold \pmb→bold
    \mathrm→roman \mathsf→roman \mathtt→roman
    \mathcal→script \mathscr→script
    \mathbb→blackboard \mathds→blackboard \mathbbm→blackboard \mathbbold→blackboard
    \mathit→ \mathfrak→ \mathnormal→
    """
)
TEXT = frozenset(
    r"""
    \text \textrm \textbf \textit \textnormal \textsf \texttt \textup \emph
    \mbox \hbox \operatorname \operatorname* \mathop
    """.split()
)
SWALLOWED = frozenset(
    r"""
    \tag \tag* \label \ref \eqref \cite \hspace \hspace* \vspace \phantom \hphantom \vphantom \color \textcolor
    """.split()
)
UNWRAPPED = frozenset(r"\boxed \underline \mathrlap \mathclap \ensuremath \smash \fbox \cancel".split())
# Read as one word even without a backslash; where two begin alike, the first in the list is tried first.
WORDS = tuple(
    """
    softmax Softmax SoftMax SOFTMAX ReLU relu Relu RELU exp log ln sin cos tanh tan sqrt diag Var Cov RoPE rope
    sigmoid others other max min mean LN LayerNorm Attention PE
    """.split()
)
UNICODE = {
    character: tuple(re.findall(r"\\[A-Za-z]+|\\?.", spelling))
    for character, spelling in _table(
        r"""
        ᵀ→^\top ⊤→\top ²→^2 ³→^3 ⁻→^- ′→' ₀→_0 ₁→_1 ₂→_2 ₃→_3 ₐ→_a ᵢ→_i ⱼ→_j ₖ→_k ₙ→_n
        ½→\frac12 ¼→\frac14 √→\sqrt ∑→\sum ∏→\prod ·→\cdot ⋅→\cdot ×→\times ÷→/ −→- ＝→= ＋→+ －→-
        ‖→\| ∥→\| …→\dots ⋯→\dots ∞→\infty ℝ→\R ∂→\partial ∇→\nabla
        """
    ).items()
}
GREEK = _table(
    r"""
    α→\alpha β→\beta γ→\gamma δ→\delta ε→\epsilon ϵ→\epsilon ζ→\zeta η→\eta θ→\theta ι→\iota κ→\kappa λ→\lambda
    μ→\mu ν→\nu ξ→\xi π→\pi ρ→\rho σ→\sigma τ→\tau υ→\upsilon φ→\phi ϕ→\phi χ→\chi ψ→\psi ω→\omega
    Γ→\Gamma Δ→\Delta Θ→\Theta Λ→\Lambda Ξ→\Xi Π→\Pi Σ→\Sigma Φ→\Phi Ψ→\Psi Ω→\Omega
    """
)
VARIANTS = _table(
    r"""
    \varepsilon→\epsilon \varphi→\phi \vartheta→\theta \varrho→\rho \varPhi→\Phi \varSigma→\Sigma \ell→l
    \T→\top \intercal→\top \transpose→\top \prime→' \ast→* \star→*
    \ldots→\dots \cdots→\dots \dotsc→\dots \dotsb→\dots \vdots→\dots \ddots→\dots
    \Vert→\| \lnorm→\| \vert→| \dfrac→\frac \tfrac→\frac \cfrac→\frac
    \bullet→\cdot \ln→\log \widehat→\hat \widetilde→\tilde \colon→: \longrightarrow→\to
    \smallsetminus→\setminus \backslash→\setminus
    """
)
FUNCTIONS = _table(
    """
    exp→exp log→log ln→log sqrt→sqrt sin→sin cos→cos tan→tan tanh→tanh erf→erf
    softmax→softmax relu→relu sigmoid→sigmoid attention→attention
    re→re im→im var→var cov→cov mean→mean max→max min→min
    diag→diag tr→trace trace→trace span→span rank→rank det→det
    """
)
ACCENTS = _table(r"\hat→hat \tilde→tilde \bar→bar \overline→bar \dot→dot \check→check \vec→ \overrightarrow→")
BIG_OPERATORS = _table(r"\sum→sum \prod→product \max→max \min→min")
MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix smallmatrix array".split())
UNREAD = frozenset(r"\partial \nabla \int \limsup \liminf \binom \dbinom \tbinom".split())
STACKED = frozenset(r"\underset \overset \stackrel".split())
BRACED = frozenset(r"\underbrace \overbrace".split())
WRAPPERS = frozenset(
    """
    equation equation* displaymath math align align* aligned alignat alignat* alignedat flalign flalign* split
    gather gather* gathered multline multline* eqnarray eqnarray*
    """.split()
)


# -- the lexer ---------------------------------------------------------------------------------------------------------
_LEXEME = re.compile(
    r"(?P<space>[\s\u200b\ufeff]+)"
    r"|(?P<comment>(?<!\\)%[^\n]*)"
    r"|(?P<environment>\\(?:begin|end)\s*\{\s*[A-Za-z]+\*?\s*\})"
    r"|(?P<command>\\[A-Za-z]+\*?|\\\\(?:\[[^\]\n]{0,12}\])?|\\.)"
    r"|(?P<number>\d+(?:(?:\.|\{,\})\d+)?|\.\d+)"
    r"|(?P<define>:=)"
    r"|(?P<entity>&(?:lt|gt|amp);)"
    r"|(?P<char>.)",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_SCRIPT = re.compile(r"\s*[_^]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_REAL_PART = re.compile(r"Re\s*(\\left\s*)?[\[({\\]")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_OPPOSITES = {"=": "≠", "∈": "∉"}
_GROUP_LIMIT = 2_000
_FIRST_WIDE = "\u2e80"  # from here on, characters are those of Chinese and other wide scripts
_WORDS_BY_LETTER = {word[0]: tuple(other for other in WORDS if other[0] == word[0]) for word in WORDS}


def tokenize(source: str) -> list[Token]:
    """The tokens of a formula; prose inside it becomes single `text` tokens.

    >>> [token.text for token in tokenize(r"k_a^\\top q = \\beta")]
    ['k', '_', 'a', '^', '\\\\top', 'q', '=', '\\\\beta']
    """
    if len(source) > MAX_SOURCE:
        raise NotUnderstood(f"The formula has {len(source)} characters; at most {MAX_SOURCE} are read.")
    return _without_needless_braces(_Lexer(source).run())


class _Lexer:
    """Reads lexemes from `offset` on and appends their tokens to `tokens`."""

    def __init__(self, source: str, offset: int = 0, font: str = "") -> None:
        self.source, self.offset, self.font = source, offset, font
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        while self.offset < len(self.source):
            self.lexeme()
        return self.tokens

    def lexeme(self) -> None:
        match = _LEXEME.match(self.source, self.offset)
        assert match is not None
        start, self.offset, text = self.offset, match.end(), match.group()
        if match.lastgroup in ("space", "comment"):
            return
        if match.lastgroup == "environment":
            self.emit("environment", re.sub(r"\s", "", text), start)
        elif match.lastgroup == "number":
            self.emit("number", text.replace("{,}", "."), start)
        elif match.lastgroup == "command":
            self.command(text, start)
        elif match.lastgroup == "define":
            self.classify(text, start)
        else:
            self.character(_ENTITIES.get(text, text), start)

    def emit(self, kind: TokenKind, text: str, start: int, font: str | None = None) -> None:
        has_font = kind in ("letter", "number") or font is not None
        font = self.font if font is None else font
        self.tokens.append(Token(kind, text, start, self.offset, font if has_font else ""))

    def command(self, text: str, start: int) -> None:
        """A command is skipped, treats the group after it in its own way, or is a token like any other."""
        if text.startswith("\\\\"):
            return self.emit("separator", "\\\\", start)
        text = VARIANTS.get(text, text)
        if text in IGNORED:
            if text in ("\\left", "\\right", "\\middle") and self.source.startswith(".", self.offset):
                self.offset += 1
        elif text in TEXT:
            self.prose(start)
        elif text in FONTS:
            self.styled(FONTS[text], start)
        elif text in SWALLOWED:
            self.group()
        elif text == "\\not":
            self.negated(start)
        elif text in STACKED:
            self.group()
            self.styled("", start)
        elif text in BRACED:
            self.styled("", start)
            self.skip_scripts()
        elif text.rstrip("*") == "\\lim":
            self.skip_scripts()
        elif text in UNWRAPPED:
            self.styled("", start, is_bare=True)
        else:
            self.classify(text, start)
        return None

    def classify(self, text: str, start: int) -> None:
        if text in RELATIONS:
            self.emit("relation", RELATIONS[text], start)
            if text == "\\xrightarrow":
                self.group()
            self.skip_scripts()
        elif text in SEPARATORS:
            self.emit("separator", text, start)
        elif text in OPENING:
            self.emit("open", OPENING[text], start)
        elif text in CLOSING:
            self.emit("close", CLOSING[text], start)
        elif text in ("^", "_"):
            self.emit("script", text, start)
        elif text[0] == "\\" and text[1:2].isalpha():
            self.emit("letter", text, start)
        else:
            self.emit("symbol", text, start)

    def character(self, text: str, start: int) -> None:
        if text == "~":
            return
        if text in UNICODE:
            self.spelled_out(UNICODE[text], start)
        elif text in GREEK:
            self.emit("letter", GREEK[text], start)
        elif text.isascii() and text.isalpha():
            self.latin(text, start)
        elif text > _FIRST_WIDE and not (text in SEPARATORS or text in OPENING or text in CLOSING):
            self.wide_prose(start)
        else:
            self.classify(text, start)

    def spelled_out(self, pieces: tuple[str, ...], start: int) -> None:
        """The tokens that a character such as ½ stands for."""
        for piece in pieces:
            if piece.isdigit():
                self.emit("number", piece, start, font="")
            elif piece.isalpha():
                self.emit("letter", piece, start)
            else:
                self.classify(VARIANTS.get(piece, piece), start)

    def latin(self, letter: str, start: int) -> None:
        """A known word that is written without a backslash, or one letter."""
        is_inside_word = start > 0 and self.source[start - 1].isalpha() and self.font != "roman"
        words = () if is_inside_word else _WORDS_BY_LETTER.get(letter, ())
        word = next((word for word in words if self.source.startswith(word, start)), "")
        if not word and letter == "R" and _REAL_PART.match(self.source, start, start + 12):
            word = "Re"
        self.offset = start + len(word or letter)
        self.emit("word" if word else "letter", word or letter, start)

    def wide_prose(self, start: int) -> None:
        """Chinese (or other wide) prose typed straight into the formula."""
        while self.offset < len(self.source) and self.source[self.offset] > _FIRST_WIDE:
            self.offset += 1
        self.emit("text", self.source[start : self.offset], start)

    def group(self) -> tuple[str, int]:
        """The brace group (or single character or command) that follows, and the offset of its content."""
        space = _SPACE.match(self.source, self.offset)
        assert space is not None
        begin = space.end()
        if self.source[begin : begin + 1] != "{":
            command = _COMMAND.match(self.source, begin)
            self.offset = command.end() if command else min(begin + 1, len(self.source))
            return self.source[begin : self.offset], begin
        depth = 0
        for place in range(begin, min(len(self.source), begin + _GROUP_LIMIT)):
            depth += {"{": 1, "}": -1}.get(self.source[place], 0) if self.source[place - 1] != "\\" else 0
            if depth == 0:
                self.offset = place + 1
                return self.source[begin + 1 : place], begin + 1
        raise NotUnderstood("This brace is never closed.", begin)

    def prose(self, start: int) -> None:
        r"""The group after \text: a letter, a word, or prose."""
        inside, _ = self.group()
        name = inside.strip()
        if re.fullmatch(r"[A-Za-z]", name):
            self.emit("letter", name, start, font="roman")
        elif re.fullmatch(r"[A-Za-z]+", name):
            self.emit("word", name, start, font="text")
        else:
            self.emit("text", inside, start)

    def styled(self, font: str, start: int, *, is_bare: bool = False) -> None:
        """The group that follows, in a font; it stays a group unless it is bare."""
        inside, begin = self.group()
        if font == "roman" and re.fullmatch(r"\s*[A-Za-z]{2,}\s*", inside):
            return self.emit("word", inside.strip(), start, font="text")
        tokens = _Lexer(self.source[: begin + len(inside)], begin, font).run()
        tokens = [replace(token, font=token.font or font) for token in tokens]
        if len(tokens) == 1:
            tokens = [replace(tokens[0], start=start, end=self.offset)]
        elif tokens and not is_bare:
            closing = Token("close", "}", self.offset - 1, self.offset)
            tokens = [Token("open", "}", start, begin), *tokens, closing]
        self.tokens += tokens
        return None

    def skip_scripts(self) -> None:
        """Skips scripts that follow: the β → ∞ below a limit or an arrow."""
        while (script := _SCRIPT.match(self.source, self.offset)) is not None:
            self.offset = script.end()
            self.group()

    def negated(self, start: int) -> None:
        r"""The opposite of the relation after \not."""
        following = _LEXEME.match(self.source, self.offset)
        sign = RELATIONS.get(following.group(), "") if following else ""
        if following is None or sign not in _OPPOSITES:
            raise NotUnderstood("\\not is followed by something that can't be negated.", start)
        self.offset = following.end()
        self.emit("relation", _OPPOSITES[sign], start)


def _without_needless_braces(tokens: list[Token]) -> list[Token]:
    r"""The tokens without braces around a single letter or word: {\rm softmax} is softmax."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        group = tokens[place : place + 3]
        is_needless = (
            [token.kind for token in group] in (["open", "letter", "close"], ["open", "word", "close"])
            and group[0].text == group[2].text == "}"
            and not (place > 0 and tokens[place - 1].kind == "environment")  # the columns of an array
        )
        if is_needless:
            result.append(replace(group[1], start=group[0].start, end=group[2].end))
        else:
            result.append(tokens[place])
        place += 3 if is_needless else 1
    return result
