"""LaTeX mathematics cut into tokens with their offsets, and the vocabulary: what each command is."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from regard.core.errors import InputError
from regard.derivations.reading.braces import closing_braces
from regard.derivations.reading.document import Range

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


class Side(tuple[Token, ...]):
    """The tokens of one side of a relation; remembers its hash, by which parsers remember what it spells."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


_DROPPED = Token("symbol", "", 0, 0)


# -- vocabulary --------------------------------------------------------------------------------------------------------
def _table(text: str) -> dict[str, str]:
    """Pairs written as word→meaning, separated by blanks."""
    return dict(pair.rsplit("→", 1) for pair in text.split())


RELATIONS = {
    sign: meaning
    for meaning, signs in {
        "=": r"= ＝ \equiv \coloneqq \colonequals \triangleq := ≡ \eqqcolon =: == \doteqdot \xlongequal ≔ ≜",
        "≈": r"\approx \simeq \cong \doteq \approxeq \thickapprox \fallingdotseq \backsimeq ≈ ≃ ≅ ≒ ≐",
        "→": r"\to \rightarrow \longrightarrow → ⟶ \xrightarrow \rightsquigarrow ->",
        "←": r"\gets \leftarrow \longleftarrow ←",
        "↦": r"\mapsto \longmapsto ↦",
        "≫": r"\gg ≫ \ggg >> >>>",
        "≪": r"\ll ≪ \lll << <<<",
        ">": r"> \gt ＞",
        "<": r"< \lt ＜",
        "≥": r"\geq \ge \geqslant \geqq ≥ ⩾ ≧ >=",
        "≤": r"\leq \le \leqslant \leqq ≤ ⩽ ≦ <=",
        "≳": r"\gtrsim ≳ \gtrapprox",
        "≲": r"\lesssim ≲ \lessapprox",
        "≠": r"\neq \ne ≠ \not= \nequiv !=",
        "≉": r"≉ \napprox",
        "≮": r"≮ \nless",
        "≯": r"≯ \ngtr",
        "≰": r"≰ \nleq",
        "≱": r"≱ \ngeq",
        "∈": r"\in ∈",
        "∉": r"\notin ∉",
        "∋": r"\ni ∋",
        "⊂": r"\subset ⊂ \subseteq ⊆ \subsetneq",
        "⊃": r"\supset ⊃ \supseteq ⊇ \supsetneq",
        "⊥": r"\perp \bot ⊥",
        "∼": r"\sim ∼ \thicksim",
        "∝": r"\propto ∝ \varpropto",
        "⪯": r"\preceq \prec ⪯ ≺",
        "⪰": r"\succeq \succ ⪰ ≻",
    }.items()
    for sign in signs.split()
}
OPPOSITES = {"=": "≠", "∈": "∉", "≈": "≉", "<": "≮", ">": "≯", "≤": "≰", "≥": "≱"}
SEPARATORS = frozenset(
    r"""
    \\ \quad \qquad \newline \cr , ; : ， ； 。 、 ：
    \Rightarrow \implies \Longrightarrow \iff \Leftrightarrow \Longleftrightarrow \hookrightarrow \leadsto ⇒ ⟹ ⇔ ⟺
    \impliedby \Leftarrow \Longleftarrow \leftrightarrow \longleftrightarrow ↔ => ==> <=> <-> -->
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
    \relax \par \noindent \centering \hline \footnotemark \hfil \qedhere \qed
    \tiny \scriptsize \footnotesize \small \normalsize \large \Large \LARGE \huge \Huge \scriptscriptstyle
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
    \mbox \hbox \operatorname \operatorname* \intertext \shortintertext
    """.split()
)
# How many groups after a command say nothing; what they style comes after them.
SWALLOWED = {
    command: number
    for number, commands in {
        1: r"""
        \tag \tag* \label \ref \eqref \cref \cite \hspace \hspace* \vspace \vspace* \mspace \phantom \hphantom \vphantom
        \color \textcolor \mathcolor \colorbox \scalebox \raisebox \href \class \cssId \style \footnote \parbox
        """,
        2: r"\fcolorbox \resizebox \rule",
    }.items()
    for command in commands.split()
}
UNWRAPPED = frozenset(
    r"""
    \boxed \underline \mathrlap \mathllap \mathclap \rlap \llap \ensuremath \smash \fbox \framebox \makebox \bbox
    \cancel \centerline \mathop \vcenter
    """.split()
)
LENGTHS = frozenset(r"\kern \mkern \hskip \mskip".split())
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
        ‖→\| ∥→\| …→\dots  ⋯→\dots ∞→\infty ℝ→\R ∂→\partial ∇→\nabla
        """
    ).items()
}
GREEK = _table(
    r"""
    α→\alpha β→\beta γ→\gamma δ→\delta ε→\epsilon ϵ→\epsilon ζ→\zeta η→\eta θ→\theta ι→\iota κ→\kappa λ→\lambda
    μ→\mu µ→\mu ν→\nu ξ→\xi π→\pi ρ→\rho σ→\sigma τ→\tau υ→\upsilon φ→\phi ϕ→\phi χ→\chi ψ→\psi ω→\omega
    Γ→\Gamma Δ→\Delta Θ→\Theta Λ→\Lambda Ξ→\Xi Π→\Pi Σ→\Sigma Φ→\Phi Ψ→\Psi Ω→\Omega
    """
)
VARIANTS = _table(
    r"""
    \varepsilon→\epsilon \varphi→\phi \vartheta→\theta \varrho→\rho \varPhi→\Phi \varSigma→\Sigma \ell→l
    \micro→\mu \upmu→\mu \parallel→\|
    \T→\top \intercal→\top \transpose→\top \prime→' \ast→* \star→*
    \ldots→\dots \cdots→\dots \dotsc→\dots \dotsb→\dots \dotsm→\dots \hdots→\dots \vdots→\dots \ddots→\dots
    \Vert→\| \lnorm→\| \vert→| \dfrac→\frac \tfrac→\frac \cfrac→\frac
    \bullet→\cdot \widehat→\hat \widetilde→\tilde \colon→: \longrightarrow→\to
    \smallsetminus→\setminus \backslash→\setminus
    """
)
FUNCTIONS = _table(
    """
    exp→exp log→log ln→log sqrt→sqrt sin→sin cos→cos tan→tan tanh→tanh erf→erf
    arctan→arctan arcsin→arcsin arccos→arccos
    softmax→softmax relu→relu sigmoid→sigmoid
    re→re im→im var→var cov→cov mean→mean max→max min→min sinh→sinh cosh→cosh sign→sign sgn→sign
    softplus→softplus elu→elu gelu→gelu logdet→logdet vec→vec
    diag→diag tr→trace trace→trace span→span rank→rank det→det
    """
)
# Laws by the names that they have in formulas; exp is one only after a ∼.
DISTRIBUTIONS = _table(
    """
    n→normal normal→normal gaussian→normal u→uniform unif→uniform uniform→uniform
    bern→bernoulli ber→bernoulli bernoulli→bernoulli cat→categorical categorical→categorical
    expon→exponential exponential→exponential gamma→gamma ga→gamma poisson→poisson pois→poisson poi→poisson
    """
)
ACCENTS = _table(r"\hat→hat \tilde→tilde \bar→bar \overline→bar \dot→dot \check→check \vec→ \overrightarrow→")
BIG_OPERATORS = _table(r"\sum→sum \prod→product \max→max \min→min")
MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix smallmatrix array".split())
BINOMIALS = frozenset(r"\binom \dbinom \tbinom".split())
UNREAD = frozenset(r"\partial \nabla \int \limsup \liminf \arg \iint \oint".split())
STACKED = frozenset(r"\underset \overset \stackrel".split())
BRACED = frozenset(r"\underbrace \overbrace".split())
# Environments that only lay formulas out.
WRAPPERS = frozenset(
    """
    equation displaymath math align aligned alignat alignedat flalign split gather gathered multline multlined eqnarray
    IEEEeqnarray subequations empheq center
    """.split()
)
CASES = frozenset("cases dcases rcases drcases".split())
_WITH_COLUMNS = frozenset("alignat alignedat array IEEEeqnarray empheq subarray tabular".split())
# Commands whose groups are arguments; other braces only group.
_TAKING_GROUPS = r"\frac \sqrt \binom \dbinom \tbinom \substack"
TAKING_GROUPS = frozenset({*_TAKING_GROUPS.split(), *ACCENTS})
SPELLED_OUT = {
    name: f"\\{name}"
    for name in """
    alpha beta gamma delta epsilon zeta theta iota kappa lambda sigma omega
    """.split()
}


# -- the lexer ---------------------------------------------------------------------------------------------------------
_LEXEME = re.compile(
    r"(?P<space>[\s\u200b\ufeff]+)"
    r"|(?P<comment>(?<!\\)%[^\n]*)"
    r"|(?P<environment>\\(?:begin|end)\s*\{\s*[A-Za-z]+\*?\s*\})"
    r"|(?P<colon>\\vcentcolon\s*=|\\mathrel\s*\{\s*\\mathop\s*:\s*\}\s*=)"
    r"|(?P<command>\\(?:operatorname|tag|hspace|vspace|lim)\*|\\[A-Za-z]+|\\\\(?:\[[^\]\n]{0,12}\])?|\\.)"
    r"|(?P<torn>\d(?:\s\d)*\s\.\s\d(?:\s\d)*(?!\d))"
    r"|(?P<comma>(?<![\d,(\[{.;])(?<![,;]\s)0,\d{2,}(?![\d,]))"
    r"|(?P<number>\d{1,3}(?:\{,\}\d{3}){2,}(?!\d)|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}(?!\d)|\d{1,3},0\d\d(?!\d)|\d+(?:(?:\.|\{,\})\d+)?|\.\d+)"
    r"|(?P<tilde>~=(?!~))"
    r"|(?P<ascii><=>|<->|={1,2}(?:>|&gt;)|-->|:=|=:|(?:<|&lt;){2,3}|(?:>|&gt;){2,3}|(?:<|&lt;)=|(?:>|&gt;)=|->|=="
    r"|(?<=\s)!=)"
    r"|(?P<dots>\.{2,}|\.\s\.\s\.)"
    r"|(?P<entity>&(?:lt|gt|amp);)"
    r"|(?P<char>.)",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_SPACING = re.compile(r"\s|\\[,;:! ]")
_SCRIPT = re.compile(r"\s*(?:\\(?:no)?limits\s*)?[_^]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_OPTION = re.compile(r"\s*\[[^\]\n]{0,80}\]")
_COLUMNS = re.compile(r"\s*\{")
_LENGTH = re.compile(r"\s*-?\d*\.?\d+\s*(?:pt|em|ex|mu|cm|mm|in)(?![a-z])")
_REAL_PART = re.compile(r"Re\s*(\\left\s*)?[\[({\\]")
_LETTERS = re.compile(r"[A-Za-z]+")
_ROMAN_NAME = re.compile(r"\s*(?:\\rm\s+)?([A-Za-z]{2,})\s*")
_DOLLARS = re.compile(r"\$+")
_UNIT = re.compile(r"[KMGT]i?B|[mnμ]s|[kcm]m|kg|[kKMGT]?bytes?|MW|kW|[kMG]Hz")  # of several letters
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_MAX_NESTING = 60
_FIRST_WIDE = "\u2e80"  # from here on, characters are those of Chinese and other wide scripts
_WORDS_BY_LETTER = {word[0]: tuple(other for other in WORDS if other[0] == word[0]) for word in WORDS}


def tokenize(source: str) -> list[Token]:
    """The tokens of a formula; prose inside it becomes single `text` tokens.

    >>> [token.text for token in tokenize(r"k_a^\\top q = \\beta")]
    ['k', '_', 'a', '^', '\\\\top', 'q', '=', '\\\\beta']
    """
    if len(source) > MAX_SOURCE:
        raise NotUnderstood(f"The formula has {len(source)} characters; at most {MAX_SOURCE} are read.")
    lexer = _Lexer(source, Range(start=0, end=len(source)), closing_braces(source))
    return _without_needless_braces(lexer.run())


class _Lexer:
    """Reads the lexemes of a part of the source and appends their tokens to `tokens`."""

    def __init__(self, source: str, part: Range, closing: dict[int, int], font: str = "", depth: int = 0) -> None:
        if depth > _MAX_NESTING:
            raise NotUnderstood(f"The formula is nested more than {_MAX_NESTING} levels deep.", part.start)
        self.source, self.offset, self.end, self.font = source, part.start, part.end, font
        self.closing, self.depth = closing, depth
        self.tokens: list[Token] = []
        self.lefts: list[int | None] = []

    def run(self) -> list[Token]:
        while self.offset < self.end:
            self.lexeme()
        return [token for token in self.tokens if token is not _DROPPED]

    def lexeme(self) -> None:
        match = _LEXEME.match(self.source, self.offset, self.end)
        assert match is not None
        start, self.offset, text = self.offset, match.end(), match.group()
        kind = match.lastgroup
        if kind in ("space", "comment"):
            return
        if kind == "environment":
            self.environment(re.sub(r"\s", "", text), start)
        elif kind == "comma":
            self.emit("number", text.replace(",", "."), start)
        elif kind == "torn":
            self.emit("number", "".join(text.split()), start)
        elif kind == "number":
            text = text.replace("{,}", "" if text.count("{,}") > 1 else ".")
            self.emit("number", text.replace(",", ""), start)
        elif kind == "command":
            self.command(text, start)
        elif kind in ("colon", "tilde"):
            self.emit("relation", "=" if kind == "colon" else "≈", start)
        elif kind == "ascii":
            self.classify(text.replace("&lt;", "<").replace("&gt;", ">"), start)
        elif kind == "dots":
            self.emit("letter", "\\dots", start)
        else:
            self.character(_ENTITIES.get(text, text), start)

    def environment(self, text: str, start: int) -> None:
        """The edge of an environment; its options and columns say nothing."""
        self.emit("environment", text, start)
        name = text[len("\\begin{") : -1].rstrip("*")
        if text.startswith("\\begin"):
            if (name in WRAPPERS or name in CASES) and (option := _OPTION.match(self.source, self.offset, self.end)):
                self.offset = option.end()
            if name in _WITH_COLUMNS and _COLUMNS.match(self.source, self.offset, self.end):
                self.group()

    def emit(self, kind: TokenKind, text: str, start: int, font: str | None = None) -> None:
        has_font = kind in ("letter", "number") or font is not None
        font = self.font if font is None else font
        self.tokens.append(Token(kind, text, start, self.offset, font if has_font else ""))

    def command(self, text: str, start: int) -> None:
        """A command is skipped, treats the group after it in its own way, or is a token like any other."""
        if text.startswith("\\\\"):
            return self.emit("separator", "\\\\", start)
        text = VARIANTS.get(text, text)
        if text in ("\\left", "\\right", "\\middle"):
            self.delimiter(text)
        elif text in IGNORED:
            pass
        elif text in TEXT:
            self.prose(start)
        elif text in FONTS:
            self.styled(FONTS[text], start)
        elif text in SWALLOWED:
            for _ in range(SWALLOWED[text]):
                self.option()
                self.group()
        elif text in LENGTHS:
            length = _LENGTH.match(self.source, self.offset, self.end)
            self.offset = length.end() if length else self.offset
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
            self.option()
            self.styled("roman" if text == "\\mathop" else "", start, is_bare=True)
        else:
            self.classify(text, start)
        return None

    def delimiter(self, text: str) -> None:
        r"""What \left and \right do with an empty delimiter: the bracket on the other side goes too."""
        is_empty = self.source.startswith(".", self.offset)
        self.offset += is_empty
        if text == "\\left":
            self.lefts.append(None if is_empty else len(self.tokens))
        elif text == "\\right" and self.lefts:
            left = self.lefts.pop()
            if is_empty and left is not None and left < len(self.tokens) and self.tokens[left].kind == "open":
                self.tokens[left] = _DROPPED
            elif left is None and not is_empty:
                before = len(self.tokens)
                self.lexeme()
                if before < len(self.tokens) and self.tokens[before].kind == "close":
                    self.tokens[before] = _DROPPED

    def classify(self, text: str, start: int) -> None:
        if text in RELATIONS:
            self.emit("relation", RELATIONS[text], start)
            if text.startswith("\\x"):
                self.option()
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
        elif text.isalpha() or (text[0] == "\\" and text[1:2].isalpha()):
            self.emit("letter", text, start)
        else:
            self.emit("symbol", text, start)

    def character(self, text: str, start: int) -> None:
        if text in ("~", "$"):
            return
        if text in UNICODE:
            self.spelled_out(UNICODE[text], start)
        elif text in GREEK:
            self.emit("letter", GREEK[text], start)
        elif text.isascii() and text.isalpha():
            self.latin(text, start)
        elif text > _FIRST_WIDE and not (text in SEPARATORS or text in OPENING or text in CLOSING or text in RELATIONS):
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
        """A known word that is written without a backslash, a name of several letters, or one letter."""
        is_inside_word = start > 0 and self.source[start - 1].isalpha() and self.font != "roman"
        if is_inside_word:
            return self.emit("letter", letter, start)
        words = _WORDS_BY_LETTER.get(letter, ())
        word = next((word for word in words if self.source.startswith(word, start, self.end)), "")
        if not word and letter == "R" and _REAL_PART.match(self.source, start, min(start + 12, self.end)):
            word = "Re"
        letters = _LETTERS.match(self.source, start, self.end)
        if not word and letters and letters[0] in SPELLED_OUT:
            self.offset = letters.end()
            return self.emit("letter", SPELLED_OUT[letters[0]], start)
        self.offset = start + len(word or letter)
        return self.emit("word" if word else "letter", word or letter, start)

    def wide_prose(self, start: int) -> None:
        """Chinese (or other wide) prose typed straight into the formula."""
        while self.offset < self.end and self.source[self.offset] > _FIRST_WIDE:
            self.offset += 1
        self.emit("text", self.source[start : self.offset], start)

    def option(self) -> None:
        """Skips an argument in square brackets."""
        option = _OPTION.match(self.source, self.offset, self.end)
        self.offset = option.end() if option else self.offset

    def group(self) -> Range:
        """The content of the brace group that follows, or a single character or command."""
        space = _SPACE.match(self.source, self.offset, self.end)
        assert space is not None
        begin = space.end()
        if begin >= self.end or self.source[begin] != "{":
            command = _COMMAND.match(self.source, begin, self.end)
            self.offset = command.end() if command else min(begin + 1, self.end)
            return Range(start=min(begin, self.offset), end=self.offset)
        if begin not in self.closing:
            raise NotUnderstood("This brace is never closed.", begin)
        self.offset = self.closing[begin] + 1
        return Range(start=begin + 1, end=self.offset - 1)

    def prose(self, start: int) -> None:
        r"""The group after \text: a letter, a word, or prose with the formulas in it."""
        part = self.group()
        inside = self.source[part.start : part.end]
        name = _SPACING.sub("", inside) if "arg" in inside else inside.strip()
        is_after_number = bool(self.tokens) and self.tokens[-1].kind in ("number", "close")
        if re.fullmatch(r"[A-Za-z]", name) or (is_after_number and _UNIT.fullmatch(name)):
            self.emit("letter", name, start, font="roman")
        elif re.fullmatch(r"[A-Za-z]+", name):
            self.emit("word", name, start, font="text")
        elif "$" in inside:
            self.prose_with_formulas(part)
        elif name:
            self.emit("text", inside, start)

    def prose_with_formulas(self, part: Range) -> None:
        place, is_formula = part.start, False
        for stop in (*_DOLLARS.finditer(self.source, part.start, part.end), None):
            piece = Range(start=place, end=stop.start() if stop else part.end)
            if is_formula:
                self.tokens += _Lexer(self.source, piece, self.closing, self.font, self.depth + 1).run()
            elif words := self.source[piece.start : piece.end].strip():
                self.tokens.append(Token("text", words, piece.start, piece.end))
            place, is_formula = stop.end() if stop else part.end, not is_formula

    def styled(self, font: str, start: int, *, is_bare: bool = False) -> None:
        """The group that follows, in a font; it stays a group unless it is bare."""
        part = self.group()
        inside = self.source[part.start : part.end]
        if font == "roman" and (name := _ROMAN_NAME.fullmatch(inside)):
            return self.emit("word", name[1], start, font="text")
        tokens = _Lexer(self.source, part, self.closing, font, self.depth + 1).run()
        tokens = [replace(token, font=token.font or font) for token in tokens]
        if len(tokens) == 1:
            tokens = [replace(tokens[0], start=start, end=self.offset)]
            if tokens[0].kind == "relation":
                self.skip_scripts()
        elif tokens and not is_bare:
            closing = Token("close", "}", self.offset - 1, self.offset)
            tokens = [Token("open", "}", start, part.start), *tokens, closing]
        self.tokens += tokens
        return None

    def skip_scripts(self) -> None:
        """Skips scripts that follow: the β → ∞ below a limit or an arrow."""
        while (script := _SCRIPT.match(self.source, self.offset, self.end)) is not None:
            self.offset = script.end()
            self.group()

    def negated(self, start: int) -> None:
        r"""The opposite of the relation after \not."""
        part = self.group()
        sign = RELATIONS.get(self.source[part.start : part.end].strip(), "")
        if sign not in OPPOSITES:
            raise NotUnderstood("\\not is followed by something that can't be negated.", start)
        self.emit("relation", OPPOSITES[sign], start)


def _without_needless_braces(tokens: list[Token]) -> list[Token]:
    r"""The tokens without braces around a single letter or word: {\rm softmax} is softmax."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        group = tokens[place : place + 3]
        is_needless = [token.kind for token in group] in (
            ["open", "letter", "close"],
            ["open", "word", "close"],
        ) and group[0].text == group[2].text == "}"
        if is_needless:
            result.append(replace(group[1], start=group[0].start, end=group[2].end))
        else:
            result.append(tokens[place])
        place += 3 if is_needless else 1
    return result
