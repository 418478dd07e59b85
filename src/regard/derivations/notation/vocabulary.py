"""The words of LaTeX mathematics: which commands relate, separate, open, close, style, or only take up room."""

__all__ = [
    "ACCENTS",
    "BIG_OPERATORS",
    "BRACED",
    "CLOSING",
    "FONTS",
    "FUNCTIONS",
    "GREEK",
    "IGNORED",
    "MATRICES",
    "OPENING",
    "PROSE_WORDS",
    "RELATIONS",
    "SEPARATORS",
    "STACKED",
    "SWALLOWED",
    "TEXT",
    "UNICODE",
    "UNREAD",
    "UNWRAPPED",
    "VARIANTS",
    "WORDS",
    "WRAPPERS",
]


def _table(text: str) -> dict[str, str]:
    """Pairs written as `word=meaning`, divided by blanks."""
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
    r"\\ \quad \qquad ; , \Rightarrow \implies \therefore \because \iff \Leftrightarrow \Longrightarrow \newline \cr \forall ∀ ⇒ ⟹ ∴ ∵"
    r" ， ； 。 、 ： : \mid \land \wedge \hookrightarrow \leadsto".split()
)
OPENING = _table(
    r"(→) [→] \{→\} \lbrace→\} \lbrack→] \langle→\rangle ⟨→\rangle {→} \lVert→\rVert \lvert→\rvert \lfloor→\rfloor \lceil→\rceil （→)"
)
CLOSING = _table(
    r")→) ]→] \}→\} \rbrace→\} \rbrack→] \rangle→\rangle ⟩→\rangle }→} \rVert→\rVert \rvert→\rvert \rfloor→\rfloor \rceil→\rceil ）→)"
)
IGNORED = frozenset(
    r"\left \right \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \middle \, \: \! \> \; & ~ \displaystyle"
    r" \textstyle \scriptstyle \limits \nolimits \notag \nonumber \hfill \medspace \thinspace \thickspace \allowbreak \strut \null"
    r" \relax \rm \bf \it \sf \tt \cal \par \noindent \centering \hline \cdotp \enspace \enskip \mathstrut \bigm \Bigm \mathopen \mathclose \mathbin \mathrel"
    r" \mathord".split()
) | {"\\ "}
FONTS = _table(
    r"\mathbf→bold \boldsymbol→bold \bm→bold \pmb→bold \mathrm→roman \mathsf→roman \mathtt→roman \mathcal→script"
    r" \mathscr→script \mathbb→blackboard \mathds→blackboard \mathbbm→blackboard \mathbbold→blackboard \mathit→ \mathfrak→ \mathnormal→"
)
TEXT = frozenset(
    r"\text \textrm \textbf \textit \mbox \hbox \operatorname \operatorname* \textnormal \textsf \texttt \mathop \emph \textup".split()
)
SWALLOWED = frozenset(
    r"\tag \tag* \label \hspace \hspace* \vspace \color \phantom \ref \eqref \cite \hphantom \vphantom \textcolor".split()
)
UNWRAPPED = frozenset(r"\boxed \underline \mathrlap \mathclap \ensuremath \smash \fbox \cancel".split())
WORDS = tuple(
    "softmax Softmax SoftMax SOFTMAX ReLU relu Relu RELU exp log ln sin cos tan tanh sqrt diag Var Cov RoPE rope sigmoid others other"
    " max min mean LN LayerNorm Attention PE".split()
)
UNICODE = {
    char: tuple(tokens.split())
    for char, tokens in {
        "ᵀ": r"^ \top", "⊤": r"\top", "½": r"\frac 1 2", "²": "^ 2", "³": "^ 3", "·": r"\cdot", "×": r"\times", "∑": r"\sum",
        "∞": r"\infty", "√": r"\sqrt", "‖": r"\|", "−": "-", "⋅": r"\cdot", "′": "'", "∥": r"\|", "…": r"\dots", "⋯": r"\dots",
        "ℝ": r"\R", "÷": "/", "＝": "=", "＋": "+", "－": "-", "∂": r"\partial", "∇": r"\nabla", "₀": "_ 0", "₁": "_ 1", "₂": "_ 2",
        "₃": "_ 3", "ₐ": "_ a", "ᵢ": "_ i", "ⱼ": "_ j", "ₙ": "_ n", "ₖ": "_ k", "¼": r"\frac 1 4", "∏": r"\prod", "⁻": "^ -",
    }.items()
}  # fmt: skip
GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϵϕ",
        (
            "\\" + name
            for name in "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
            " Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega epsilon phi".split()
        ),
        strict=True,
    )
)
VARIANTS = _table(
    r"\varepsilon→\epsilon \varphi→\phi \vartheta→\theta \varrho→\rho \ell→l \T→\top \intercal→\top \transpose→\top \ldots→\dots"
    r" \cdots→\dots \dotsc→\dots \dotsb→\dots \vdots→\dots \ddots→\dots \Vert→\| \vert→| \lnorm→\| \dfrac→\frac \tfrac→\frac \cfrac→\frac"
    r" \ast→* \star→* \prime→' \bullet→\cdot \ln→\log \widehat→\hat \widetilde→\tilde \colon→: \longrightarrow→\to"
    r" \varPhi→\Phi \varSigma→\Sigma \smallsetminus→\setminus \backslash→\setminus"
)
FUNCTIONS = _table(
    "exp→exp softmax→softmax relu→relu log→log ln→log sin→sin cos→cos tan→tan tanh→tanh sqrt→sqrt diag→diag re→re im→im var→var cov→cov"
    " sigmoid→sigmoid max→max min→min mean→mean tr→trace trace→trace span→span rank→rank det→det attention→attention"
)
ACCENTS = _table(r"\hat→hat \tilde→tilde \bar→bar \overline→bar \vec→ \dot→dot \check→check \overrightarrow→")
BIG_OPERATORS = _table(r"\sum→sum \prod→product \max→max \min→min")
MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix smallmatrix array".split())
UNREAD = frozenset(r"\partial \nabla \int \limsup \liminf".split())
STACKED = frozenset(r"\underset \overset \stackrel".split())
BRACED = frozenset(r"\underbrace \overbrace".split())
WRAPPERS = frozenset(
    "aligned align align* split gather gather* gathered equation equation* multline multline* eqnarray eqnarray* alignat alignat*"
    " alignedat displaymath math flalign flalign*".split()
)
PROSE_WORDS = frozenset(
    "for and if when where so otherwise as or with all any since because then thus hence let that by given therefore large small is are"
    " the set else we have get similarly also to of each every on in at from which this be other und für et pour donc si y con para sonst"
    " sinon also wegen car".split()
)
