"""The words of LaTeX mathematics: which commands relate, separate, open, close, style, or only take up room."""


def _table(text: str) -> dict[str, str]:
    """The pairs written as word→meaning, divided by blanks."""
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
# A bracket, whichever way it is spelt, is known by the mark that closes it.
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
# Words that are read as one even without a backslash; where two begin alike, the first of the list is tried first.
WORDS = tuple(
    """
    softmax Softmax SoftMax SOFTMAX ReLU relu Relu RELU exp log ln sin cos tanh tan sqrt diag Var Cov RoPE rope
    sigmoid others other max min mean LN LayerNorm Attention PE
    """.split()
)
UNICODE = {
    char: tuple(tokens.split())
    for char, tokens in {
        "ᵀ": r"^ \top", "⊤": r"\top", "²": "^ 2", "³": "^ 3", "⁻": "^ -", "′": "'",
        "₀": "_ 0", "₁": "_ 1", "₂": "_ 2", "₃": "_ 3",
        "ₐ": "_ a", "ᵢ": "_ i", "ⱼ": "_ j", "ₖ": "_ k", "ₙ": "_ n",
        "½": r"\frac 1 2", "¼": r"\frac 1 4", "√": r"\sqrt", "∑": r"\sum", "∏": r"\prod",
        "·": r"\cdot", "⋅": r"\cdot", "×": r"\times", "÷": "/", "−": "-",
        "＝": "=", "＋": "+", "－": "-",
        "‖": r"\|", "∥": r"\|", "…": r"\dots", "⋯": r"\dots",
        "∞": r"\infty", "ℝ": r"\R", "∂": r"\partial", "∇": r"\nabla",
    }.items()
}  # fmt: skip
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
