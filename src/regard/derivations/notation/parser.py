r"""A recursive-descent parser for the mathematics that answers are written in.

    sum      = [±] wide {± wide}
    wide     = product {[⊙ ⊗] product}
    product  = power {[· × /] power}            juxtaposition multiplies
    power    = atom {' | _script | ^script}
    atom     = number | symbol | (sum) | ‖sum‖ | ⟨sum, sum⟩ | \frac | \sqrt | function [^script] argument
             | Σ _script ^script wide | matrix | cases | \{members\} | (sum, …, sum) | ⌊sum⌋ | symbol[sum:]
             | ∂power/∂power | ∇_script power | \frac{∂}{∂x} product
             | ∫_script^script product dx | arg max_script product
             | N(sum, sum) | N(sum; sum, sum) | KL(sum ‖ sum) | H(sum) | E_script[sum | sum] | P(event | event)

Where the notation is ambiguous, `Reading` chooses; the judge tries several readings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Cases,
    Condition,
    Derivative,
    Differential,
    Distribution,
    Dots,
    Expectation,
    Expression,
    Extremum,
    Identity,
    Infinity,
    Inner,
    Integral,
    Label,
    Matrix,
    Negative,
    Norm,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Scripted,
    SetOf,
    Sum,
    Symbol,
    Transpose,
    describe,
)
from regard.derivations.notation.tokens import (
    ACCENTS,
    BIG_OPERATORS,
    BINOMIALS,
    DISTRIBUTIONS,
    FUNCTIONS,
    GREEK,
    MATRICES,
    UNREAD,
    NotUnderstood,
    Token,
    tokenize,
)

MAX_TOKENS = 3_000
MAX_DEPTH = 50
_MAX_DIGITS = 300
_MOST_PLACES = 30
_MOST_PRIMES = 2
_TIMES = frozenset({"\\cdot", "\\times", "*"})
_WIDE_PRODUCTS = {"\\odot": "⊙", "\\otimes": "⊗"}
_UNREAD_PRODUCTS = frozenset({"\\circ"})
_OPERATORS = _TIMES | {"+", "-", "/"}
_NO_FACTOR = _TIMES | _UNREAD_PRODUCTS | {"\\pm", "\\top", "\\mid", *_WIDE_PRODUCTS}
_NO_SCRIPT = frozenset(r"\hat \tilde \bar \overline \vec \dot \check \frac".split())
_INDEX_LETTERS = frozenset("abijklmnpqrstuv")
_FREE_LETTERS = frozenset("ijklmnst")
_ROUNDINGS = {"\\rfloor": "floor", "\\rceil": "ceiling"}
_NORMS = {"": 2, "2": 2, "op": 4, "1": 1, "\\infty": -1, "F": -2, "*": 3}
_OF_LAWS = ("mean", "var")
_DEVIATIONS = ("std", "sd", "stdev", "stddev")
_GREEK_NAMES = frozenset(command.removeprefix("\\") for command in GREEK.values())
_BARS = ("|", "\\mid")
_OPENING = {")": "(", "]": "[", "}": "{"}
_LETTERS = {command: letter for letter, command in reversed(GREEK.items())}
_EVENT_SIGNS = ("<", ">", "≤", "≥", "=")
_INFORMATION = {1: "entropy", 2: "cross-entropy"}
_EXTREMA = {"\\max": 1, "\\min": -1, "argmax": 1, "argmin": -1}
_LABELS_ABOVE = frozenset({"\\pi", "\\sigma", "\\Pi", "p", "P", "Q", "K", "V", "O"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How to read what the notation leaves open."""

    is_slash_wide: bool = False  # a/bc as a/(bc) instead of (a/b)c
    is_argument_wide: bool = True  # \cos t\theta as cos(tθ) instead of cos(t)·θ
    is_derivative_wide: bool = True  # \nabla_x x^\top y as the gradient of the product, not of x alone
    is_complex: bool = True  # a star conjugates; elsewhere it only decorates
    functions: frozenset[str] = frozenset()  # names that the problem declares as functions
    valued: frozenset[str] = frozenset()  # values of such functions that are defined all the same
    opaque: frozenset[str] = frozenset()  # functions that nothing defines: f(x) is one symbol, whatever f is
    laws: frozenset[str] = (
        frozenset()
    )  # names of distributions and random variables: p(x) is a density, H(p) an entropy
    is_sum_wide: bool = False  # \sum_i x_i + y_i as the sum of both instead of x_i alone
    is_spectral: bool = False  # ‖A‖₂ of a matrix as its spectral norm instead of Frobenius's
    has_differentials: bool = False  # d before a letter or a bracket takes its differential
    base: int | None = None  # of a logarithm that names none; None is e


_DEFAULT = Reading()


def parse(tokens: Sequence[Token], reading: Reading = _DEFAULT) -> Expression:
    """The expression that the tokens spell, or NotUnderstood at the first token that doesn't fit.

    >>> parse(tokenize("a - b"))
    Sum(terms=(Symbol(name='a', subscripts=()), Negative(body=Symbol(name='b', subscripts=()))))
    """
    found = _parsed(tokens if isinstance(tokens, tuple) else tuple(tokens), reading)
    if isinstance(found, NotUnderstood):
        raise NotUnderstood(str(found), found.start)
    return found


def parse_law(tokens: Sequence[Token], reading: Reading = _DEFAULT) -> Expression:
    """The law to the right of a ∼, where Exp(λ) is one too."""
    if len(tokens) > 1 and tokens[0].text.lower() == "exp" and tokens[1].kind == "open":
        tokens = (Token("word", "exponential", tokens[0].start, tokens[0].end), *tokens[1:])
    return parse(tuple(tokens), reading)


@lru_cache(maxsize=1024)
def parse_source(source: str) -> Expression:
    """The expression in a formula of the problem itself; cached, since every document needs it."""
    return parse(tokenize(source))


@lru_cache(maxsize=8192)
def _parsed(tokens: tuple[Token, ...], reading: Reading) -> Expression | NotUnderstood:
    if len(tokens) > MAX_TOKENS:
        return NotUnderstood(f"The expression has {len(tokens)} tokens; the limit is {MAX_TOKENS}.", tokens[0].start)
    try:
        return _Parser(tokens, reading).everything()
    except NotUnderstood as error:
        return error.with_traceback(None)


class _Parser:
    """Tokens and the place reached in them; alignment marks are skipped.

    Each method that reads a construct starts at the current place and leaves the place after the construct.
    """

    def __init__(self, tokens: Sequence[Token], reading: Reading, depth: int = 0) -> None:
        self.tokens = [token for token in tokens if token.text != "&"]
        self.all_tokens = tokens
        self.reading, self.place, self.depth = reading, 0, depth
        self.open_bars: tuple[str, ...] = ()
        self.is_in_list = False
        self.check_depth(depth)

    # -- the place in the tokens ---------------------------------------------------------------------------------------
    def peek(self) -> Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def text(self) -> str:
        token = self.peek()
        return "" if token is None else token.text

    def take(self) -> Token:
        token = self.peek()
        if token is None:
            raise self.stuck()
        self.place += 1
        return token

    def skip(self, *texts: str) -> bool:
        """Passes the next token if it reads like one of these."""
        is_here = self.text() in texts
        self.place += is_here
        return is_here

    def close(self, bracket: str) -> None:
        token = self.peek()
        if token is None or (token.kind, token.text) != ("close", bracket):
            raise self.stuck()
        self.place += 1

    def stuck(self) -> NotUnderstood:
        """The error that nothing fits here, to be raised."""
        token = self.peek()
        if token is None:
            return NotUnderstood("The formula ends too early.", self.tokens[-1].end if self.tokens else 0)
        return NotUnderstood(f"'{token.text}' is not understood here.", token.start)

    def stuck_before(self) -> NotUnderstood:
        """The error that the token just taken doesn't fit."""
        self.place -= 1
        return self.stuck()

    def check_depth(self, depth: int) -> None:
        """Refuses formulas nested too deep: trees are walked by recursion."""
        if depth > MAX_DEPTH:
            start = self.tokens[max(self.place - 1, 0)].start if self.tokens else 0
            raise NotUnderstood(f"The formula is nested more than {MAX_DEPTH} levels deep.", start)

    def deeper(self, read: Callable[[], Expression]) -> Expression:
        self.depth += 1
        self.check_depth(self.depth)
        result = read()
        self.depth -= 1
        return result

    def everything(self) -> Expression:
        expression = self.sum()
        if self.peek() is not None:
            raise self.stuck()
        return expression

    def whole(self, tokens: Sequence[Token]) -> Expression:
        """The expression that these tokens, which stand inside, spell."""
        return _Parser(tokens, self.reading, self.depth + 1).everything()

    # -- sums, products, powers ----------------------------------------------------------------------------------------
    def sum(self) -> Expression:
        return self.deeper(self.terms)

    def terms(self) -> Expression:
        terms = []
        sign = 1
        if self.text() in ("+", "-", "\\pm"):
            sign = -1 if self.take().text == "-" else 1
        while True:
            term = self.wide()
            terms.append(Negative(term) if sign < 0 else term)
            if self.text() not in ("+", "-"):
                return terms[0] if len(terms) == 1 else Sum(tuple(terms))
            sign = -1 if self.take().text == "-" else 1
            if self.text() in ("+", "-"):
                sign = -sign if self.take().text == "-" else sign

    def wide(self) -> Expression:
        term = self.product()
        while (function := _WIDE_PRODUCTS.get(self.text())) is not None:
            self.take()
            term = Apply(function, (term, self.product()))
        return term

    def product(self) -> Expression:
        """Factors side by side; a slash divides everything before it."""
        factors: list[Expression] = [self.power()]
        dots: list[bool] = []
        num_slashes = 0
        while True:
            text = self.text()
            if self.skip("/"):
                num_slashes += 1
                self.check_depth(num_slashes)
                factors, dots = [Quotient(_product(factors, dots), self.divisor())], []
            elif self.skip(*_TIMES):
                dots.append(text == "\\cdot")
                factors.append(Negative(self.power()) if self.skip("-") else self.power())
            elif text in _UNREAD_PRODUCTS:
                raise self.stuck()
            elif self.starts_factor():
                self.check_digits()
                dots.append(False)
                factors.append(self.power())
            else:
                return _product(factors, dots)

    def check_digits(self) -> None:
        """Refuses two numbers side by side, which are no product: digits that text recognition has torn apart."""
        before, token = self.tokens[self.place - 1], self.peek()
        if token is not None and all(part.kind == "number" and not part.font for part in (before, token)):
            raise self.stuck()

    def divisor(self) -> Expression:
        """One factor, or all that follow if the reading says so."""
        factors, dots = [self.power()], []
        while self.reading.is_slash_wide and (self.starts_factor() or self.is_at_power_of_ten()):
            dots.append(self.skip(*_TIMES))
            factors.append(self.power())
        return _product(factors, dots)

    def is_at_power_of_ten(self) -> bool:
        r"""True at the \cdot 10^6 of a number in scientific notation."""
        texts = [token.text for token in self.tokens[self.place : self.place + 3]]
        return len(texts) == 3 and texts[0] in _TIMES and texts[1:] == ["10", "^"]

    def starts_factor(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind in ("letter", "word", "number", "open"):
            return token.text not in _NO_FACTOR and not (self.is_in_list and token.text == "\\dots")
        if token.kind == "environment":
            return token.text.startswith("\\begin")
        closes_bar = self.open_bars[-1:] == (token.text,)
        return token.text in ("\\|", "|") and not closes_bar

    def power(self) -> Expression:
        """An atom with its primes and scripts."""
        base = self.atom()
        num_scripts = 0
        while (token := self.peek()) is not None:
            num_scripts += token.kind == "script"
            self.check_depth(num_scripts)
            if token.kind == "symbol" and self.skip("'"):
                base = _renamed(base, "'")
            elif token.kind == "script" and self.skip("_"):
                base = _with_subscripts(base, self.subscript())
            elif token.kind == "script":
                self.take()
                base = self.superscript(base)
            elif self.skip("!"):
                base = Apply("factorial", (base,))
            elif isinstance(base, Symbol) and token.kind == "open" and (found := self.applied(base)) is not None:
                base = found
            else:
                break
        return base

    def applied(self, base: Symbol) -> Expression | None:
        """A symbol with a bracket after it: a function of arguments, or a part of a matrix; None if it is neither."""
        name, text = describe(base), self.text()
        if text == "]":
            return self.part_of(base) if any(token.text == ":" for token in self.inside_bracket()) else None
        if text != ")":
            return None
        if name in self.reading.laws and not {",", ";", *_BARS} & {token.text for token in self.inside_bracket()}:
            return Apply("density", (*self.arguments(), base))
        if name in self.reading.opaque:
            return self.opaque_value(base)
        if name in self.reading.functions:
            return Apply(name, self.arguments())
        bare = base.name.rstrip("'")
        order = len(base.name) - len(bare)
        function = next((each for each in (bare, f"\\{bare}") if each in self.reading.functions), None)
        if function is None or base.subscripts or not 1 <= order <= _MOST_PRIMES:
            return None
        arguments = self.arguments()
        found: Expression = Apply(function, arguments)
        for _ in range(order):
            found = Derivative(found, arguments[0])
        return found

    def inside_bracket(self) -> list[Token]:
        """The tokens between the bracket that opens here and the one that closes it."""
        depth = 0
        for place in range(self.place, len(self.tokens)):
            depth += self.tokens[place].nesting
            if depth == 0:
                return self.tokens[self.place + 1 : place]
        raise self.stuck()

    def opaque_value(self, base: Symbol) -> Expression:
        """The value of a function that nothing defines, as a symbol of its own; φ(k_j) is member j of the φ(k_·)."""
        inside = self.inside_bracket()
        self.place += len(inside) + 2
        texts, letters = [], []
        for place, token in enumerate(inside):
            is_script = place > 0 and inside[place - 1].text == "_" and token.text in _FREE_LETTERS
            letters += [token.text] if is_script else []
            texts.append("·" if is_script else _as_printed(token))
        is_member = len(set(letters)) == 1
        spelt = "".join(texts if is_member else map(_as_printed, inside))
        name = f"{describe(base)}({spelt})"
        return Symbol(name, (Symbol(letters[0]),)) if is_member else Symbol(name)

    def part_of(self, base: Expression) -> Expression:
        """A row, a column or an entry: V[j, :], K[:, i]."""
        inside = self.inside_bracket()
        self.place += len(inside) + 2
        places = split_outside(inside, lambda token: token.text == ",")
        wanted = [None if [token.text for token in place] == [":"] else self.whole(place) for place in places]
        match wanted:
            case [Expression() as row, None]:
                return Scripted(base, (row,))
            case [None, Expression() as column]:
                return Transpose(Scripted(Transpose(base), (column,)))
        raise self.stuck_before()

    # -- scripts -------------------------------------------------------------------------------------------------------
    def script_tokens(self) -> list[Token]:
        """A brace group or a single token."""
        token = self.take()
        if not (token.kind == "open" and token.text == "}"):
            if token.kind == "letter" and token.text in _NO_SCRIPT or token.kind in ("close", "separator", "relation"):
                raise self.stuck_before()
            return [token]
        begin, depth = self.place, 1
        while depth:
            token = self.take()
            depth += (token.kind == "open" and token.text == "}") - (token.kind == "close" and token.text == "}")
        return self.tokens[begin : self.place - 1]

    def superscript(self, base: Expression) -> Expression:
        """The base with what stands above it: a transpose, a conjugate, part of its name, or a power."""
        tokens = self.script_tokens()
        texts = [token.text for token in tokens]
        if not tokens:
            return base
        if texts in (["\\top"], ["T"]):
            return Transpose(base)
        if texts in (["-", "\\top"], ["-", "T"]):
            return Transpose(Power(base, Negative(Number(Fraction(1)))))
        if texts in (["\\dagger"], ["H"]):
            return Transpose(base, is_conjugate=True)
        if texts == ["*"]:
            return Accent("bar", base) if self.reading.is_complex else base
        if all(text == "'" for text in texts):
            return _renamed(base, "'" * len(texts))
        if texts in (["+"], ["-"]) and isinstance(base, Symbol | Number):
            return base if isinstance(base, Number) else _renamed(base, f"^{texts[0]}")  # T → 0⁺, a prior P⁻
        if texts[0] == ")" and texts[-1] == ")" and isinstance(base, Symbol):
            return _renamed(base, "^(" + "".join(texts[1:-1]) + ")")
        if isinstance(base, Symbol) and base.name == "e" and not base.subscripts:
            return Apply("exp", (self.whole(tokens),))
        if len(tokens) > 1 and texts[-1] in ("\\top", "T") and (name := _label_above(tokens[:-1])) is not None:
            return Transpose(_renamed(base, f"^{name}"))
        is_label = texts[0] in _LABELS_ABOVE and isinstance(base, Symbol) and base.name[0].isupper()
        if len(tokens) == 1 and (tokens[0].kind == "word" or is_label):
            return _renamed(base, "^" + texts[0].removeprefix("\\"))
        is_matrix = isinstance(base, Symbol) and base.name[0].isupper()
        if is_matrix and len(tokens) > 1 and (name := _label_above(tokens)) is not None:
            return _renamed(base, f"^{name}")
        return Power(base, self.whole(tokens))

    def subscript(self) -> tuple[Expression, ...]:
        """The parts below a symbol; letters written together are indices if they look like it, else a name."""
        tokens = self.script_tokens()
        if len(tokens) > 2 and (tokens[0].kind, tokens[-1].kind) == ("open", "close") and len(_pieces(tokens)) == 1:
            tokens = tokens[1:-1]
        permuted = _permuted_indices(tokens)
        if permuted is not None:
            return permuted
        if len(tokens) == 1 and (tokens[0].kind in ("word", "text") or tokens[0].text == "*"):
            return (Label(tokens[0].text.strip()),)
        letters = _letters(tokens)
        if len(letters) < 2:
            return self.script_parts(tokens)
        if len(letters) > 2 or not set(letters) <= _INDEX_LETTERS:
            return (Label(letters),)
        return tuple(Symbol(letter) for letter in letters)

    def script_parts(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The comma-separated parts of a script: expressions, labels, conditions."""
        parts: list[Expression] = []
        for piece in split_outside(tokens, lambda token: token.kind == "separator"):
            if not piece:
                continue
            sign = next((place for place, token in enumerate(piece) if token.kind == "relation"), None)
            last = parts[-1] if parts else None
            if sign is not None:
                left, right = self.whole(piece[:sign]), self.whole(piece[sign + 1 :])
                parts.append(Condition(left, piece[sign].text, (right,)))
            elif isinstance(last, Condition):
                parts[-1] = Condition(last.left, last.sign, (*last.right, self.whole(piece)))
            elif any(token.kind == "text" for token in piece):
                parts.append(Label(" ".join(token.text for token in piece)))
            else:
                parts.append(self.whole(piece))
        return tuple(parts)

    # -- atoms ---------------------------------------------------------------------------------------------------------
    def atom(self) -> Expression:
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "open":
            return self.bracketed(token)
        if token.kind == "environment" and token.text.startswith("\\begin"):
            return self.environment(token)
        if token.kind == "word":
            return self.word(token)
        if token.kind == "letter":
            return self.letter(token)
        if token.text in ("\\|", "|"):
            return self.between_bars(token)
        raise self.stuck_before()

    def number(self, token: Token) -> Expression:
        r"""A number, with its digits in groups (1\,024) or in per cent."""
        while (after := self.peek()) is not None and _continues(token, after):
            token = Token("number", token.text + self.take().text, token.start, after.end)
        found = _number(token)
        if isinstance(found, Number) and self.skip("\\%"):
            return Number(found.value / 100, places=found.places + 2)
        return found

    def bracketed(self, token: Token) -> Expression:
        """The content of the bracket just opened; a bar outside it doesn't close a bar inside."""
        saved, self.open_bars = self.open_bars, ()
        is_after_name = self.is_after_name()
        if token.text == "\\rangle":
            result = self.inner_product()
        elif token.text == "\\}" or (token.text == "}" and self.is_at_list()):
            result = self.members(token.text)
        elif token.text in (")", "]", "}", "\\rVert", "\\rvert"):
            result = self.sum()
            if token.text in (")", "]") and self.text() in (",", "\\mid") and not is_after_name:
                result = self.tuple_from(result)
            self.close(token.text)
            if isinstance(result, Matrix) and not result.is_listed and self.is_at_transpose():
                self.place += 1
                self.script_tokens()
        elif token.text in _ROUNDINGS:
            result = Apply(_ROUNDINGS[token.text], (self.sum(),))
            self.close(token.text)
        else:
            raise self.stuck_before()
        self.open_bars = saved
        return self.norm(result, token) if token.text in ("\\rVert", "\\rvert") else result

    def is_after_name(self) -> bool:
        """True if the bracket just opened follows a name, so that it may hold arguments."""
        before = self.tokens[self.place - 2] if self.place > 1 else None
        return before is not None and before.kind in ("letter", "word") and before.text not in _NO_FACTOR

    def tuple_from(self, first: Expression) -> Expression:
        r"""A list in brackets is a column, with or without a transpose; listed vectors, [a_1 \mid …], are columns."""
        entries, separator = [first], self.text()
        while self.skip(separator):
            entries.append(self.sum())
        has_dots = [isinstance(entry, Dots) for entry in entries]
        is_listed = separator != "," or (sum(has_dots) == 1 and has_dots[-2])
        if any(isinstance(entry, Matrix) for entry in entries) or (any(has_dots) and not is_listed):
            raise self.stuck()
        return Matrix(tuple((entry,) for entry in entries), is_listed)

    def is_at_transpose(self) -> bool:
        after = [token.text for token in self.tokens[self.place : self.place + 4]]
        return after[:2] in (["^", "T"], ["^", "\\top"]) or after[:3] in (["^", "}", "T"], ["^", "}", "\\top"])

    def inner_product(self) -> Expression:
        """⟨x, y⟩; ⟨z⟩ is a mean, and a symbol of its own."""
        start = self.place
        left = self.sum()
        if self.text() == "\\rangle":
            name = "".join(map(_as_printed, self.tokens[start : self.place]))
            self.close("\\rangle")
            return Symbol(f"⟨{name}⟩")
        if not self.skip(",", "|", "\\mid"):
            raise self.stuck()
        right = self.sum()
        self.close("\\rangle")
        return Inner(left, right)

    def is_at_list(self) -> bool:
        """True if the group just opened holds a list: the {1, …, n} that lost its backslashes."""
        depth, before = 0, "+"
        for token in self.tokens[self.place :]:
            if depth == 0 and token.kind == "close":
                return False
            if depth == 0 and (token.text == "," or (token.text == "\\dots" and before not in _OPERATORS)):
                return True
            depth, before = depth + token.nesting, token.text
        return False

    def members(self, closing: str) -> Expression:
        items: list[Expression] = []
        saved, self.is_in_list = self.is_in_list, True
        while not self.skip(closing):
            items.append(Dots() if self.skip("\\dots") else self.sum())
            token = self.peek()
            if token is not None and token.kind == "separator":
                self.take()
        self.is_in_list = saved
        return SetOf(tuple(items))

    def between_bars(self, bar: Token) -> Expression:
        saved, self.open_bars = self.open_bars, (*self.open_bars, bar.text)
        body = self.sum()
        self.open_bars = saved
        if self.take().text != bar.text:
            raise self.stuck_before()
        return self.norm(body, bar)

    def norm(self, body: Expression, bar: Token) -> Expression:
        """The norm between double bars, the absolute value between single ones."""
        if bar.text not in ("\\|", "\\rVert"):
            return Norm(body, 0)
        place = self.place
        order = "".join(token.text for token in self.script_tokens()) if self.skip("_") else ""
        if order not in _NORMS:
            self.place = place
            raise self.stuck()
        return Norm(body, 4 if order == "2" and self.reading.is_spectral else _NORMS[order])

    # -- words and letters ---------------------------------------------------------------------------------------------
    def word(self, token: Token) -> Expression:
        lowered = token.text.lower()
        if token.text in self.reading.functions:
            return Symbol(token.text) if self.text() == "_" else self.apply(token.text)
        if lowered in FUNCTIONS:
            return self.apply(FUNCTIONS[lowered])
        if lowered in _DEVIATIONS and self.is_at_bracket():
            return Apply("sqrt", (self.apply("var"),))
        if lowered in DISTRIBUTIONS and self.is_at_bracket():
            return self.distribution(DISTRIBUTIONS[lowered])
        if token.text == "KL" and (bar := self.double_bar()) is not None:
            return self.divergence(bar)
        if lowered in _EXTREMA and self.text() == "_":
            return self.extremum(_EXTREMA[lowered])
        if token.text in self.reading.opaque:
            return Symbol(token.text)
        if token.text in ("I", "R", "T"):
            return self.letter(token)
        if len(token.text) == 1 or self.text() != ")":
            return Symbol(token.text)
        raise NotUnderstood(f"'{token.text}' is not a known function.", token.start)

    def letter(self, token: Token) -> Expression:
        """What a letter or command spells, together with its arguments."""
        text = token.text
        if text == "\\frac":
            return self.fraction()
        if text == "\\sqrt":
            return self.root()
        if text in BIG_OPERATORS and not (text in ("\\max", "\\min") and self.text() != "_"):
            return self.big_operator(BIG_OPERATORS[text])
        if text in ACCENTS:
            return self.accent(ACCENTS[text])
        if text in BINOMIALS:
            return self.binomial()
        if text == "\\partial" and self.is_at_quotient():
            return self.inline_derivative()
        if text == "\\nabla":
            return self.gradient()
        if text[0] == "\\" and text[1:].lower() in FUNCTIONS:
            return self.apply(FUNCTIONS[text[1:].lower()])
        if text == "\\int":
            return self.integral()
        if text == "\\arg" and self.text() in _EXTREMA:
            return self.extremum(_EXTREMA[self.take().text])
        if (found := self.of_laws(token)) is not None:
            return found
        name = text if text in self.reading.functions else text.removeprefix("\\")
        after = self.peek()
        # The text of an opening bracket is the mark that closes it.
        if name in self.reading.functions and after is not None and (after.kind, after.text) == ("open", ")"):
            return self.apply(name)
        if text == "E" and self.text() == "]":
            return self.apply("mean")
        return self.plain_letter(token)

    def plain_letter(self, token: Token) -> Expression:
        text = token.text
        if text == "\\infty":
            return Infinity()
        if text == "\\dots":
            return Dots()
        if text in ("\\R", "\\Z", "\\N", "\\C") or token.font == "blackboard" and text in "RZNCE":
            return self.domain(text[-1])
        if text == "d" and self.reading.has_differentials and self.is_at_variable():
            return Differential(self.power())
        is_differential = text == "d" and token.font == "roman" and self.starts_factor()
        if (is_differential or text == "\\Delta") and (after := self.peek()) is not None and after.kind == "letter":
            name = self.plain_letter(self.take())
            return Symbol(("d" if is_differential else "Δ") + name.name) if isinstance(name, Symbol) else name
        if text in UNREAD or is_differential:
            raise self.stuck_before()
        if text == "I" and token.font != "script":
            return Identity()
        return Symbol(text.removeprefix("\\"))

    def is_at_variable(self) -> bool:
        """True at a letter, a function or a bracket."""
        token = self.peek()
        return token is not None and self.starts_factor() and token.kind != "number" and token.text != "d"

    def domain(self, name: str) -> Expression:
        """A number domain with its dimensions; a blackboard E is the mean of what follows."""
        if name == "E":
            return self.apply("mean")
        if not self.skip("^"):
            return SetOf((), name)
        parts = split_outside(self.script_tokens(), lambda token: token.text == "\\times")
        return SetOf((), name, tuple(self.whole(part) for part in parts))

    def is_at_event(self) -> bool:
        """True if a bracket with a relation follows: the (γ > 0) of P(γ > 0)."""
        token = self.peek()
        if token is None or token.kind != "open" or token.text not in (")", "]", "\\}"):
            return False
        depth = 0
        for token in self.tokens[self.place :]:
            depth += (token.kind == "open") - (token.kind == "close")
            if depth == 0 or depth == 1 and token.kind == "relation":
                return depth == 1
        return False

    # -- laws, and what is said of them --------------------------------------------------------------------------------
    def of_laws(self, token: Token) -> Expression | None:
        """N(μ, σ²), KL(q ‖ p), H(p) or P(x > 0) with the bracket that follows; None if the letter is none of these."""
        text, is_script = token.text, token.font == "script"
        if text in ("N", "U") and self.is_at_bracket() and (is_script or self.has_commas()):
            return self.distribution(DISTRIBUTIONS[text.lower()])
        if text in ("D", "K") and (bar := self.double_bar(self.name_length(text))) is not None:
            self.place += self.name_length(text)
            return self.divergence(bar)
        if text == "H" and self.is_at_bracket() and self.is_of_laws():
            arguments = tuple(map(_named_law, self.arguments()))
            return self.information(_INFORMATION[len(arguments)], arguments) if len(arguments) in _INFORMATION else None
        if text in ("P", "\\Pr") and self.is_at_event():
            is_opaque = text.removeprefix("\\") in self.reading.opaque and not self.mentions_laws()
            return None if is_opaque else self.probability()
        return None

    def is_at_bracket(self, after: int = 0) -> bool:
        """True if a round or square bracket opens here, or some tokens later."""
        token = self.tokens[self.place + after] if self.place + after < len(self.tokens) else None
        return token is not None and token.kind == "open" and token.text in (")", "]")

    def has_commas(self) -> bool:
        return any(token.text == "," for token in self.inside_bracket())

    def name_length(self, first: str) -> int:
        """How many tokens belong to the name of a divergence after its first letter: the _{KL} of D_{KL}."""
        texts = "".join(token.text for token in self.tokens[self.place : self.place + 5])
        names = {"D": (("_}KL}", 5), ("_KL", 2), ("_}", 0)), "K": (("L", 1),)}[first]
        return next((length for name, length in names if texts.startswith(name)), 0)

    def double_bar(self, after: int = 0) -> int | None:
        """The place of the ‖ or || inside the bracket that follows, if there is one and only one."""
        start = self.place + after
        if not self.is_at_bracket(after):
            return None
        depth, found = 0, []
        for place in range(start, len(self.tokens)):
            token = self.tokens[place]
            depth += token.nesting
            if depth == 0:
                break
            follows_bar = found and found[-1] == place - 1 and self.tokens[place - 1].text == "|"
            if depth == 1 and (token.text == "\\|" or (token.text == "|" and not follows_bar)):
                found.append(place)
        is_double = len(found) == 1 and (self.tokens[found[0]].text == "\\|" or self.tokens[found[0] + 1].text == "|")
        return found[0] if is_double else None

    def divergence(self, bar: int) -> Expression:
        """KL(q ‖ p), its bracket ahead and the place of its bar known."""
        inside = self.inside_bracket()
        begin, end = self.place + 1, self.place + 1 + len(inside)
        width = 1 if self.tokens[bar].text == "\\|" else 2
        first, second = self.tokens[begin:bar], self.tokens[bar + width : end]
        self.place = end + 1
        return self.information("kl", (_named_law(self.whole(first)), _named_law(self.whole(second))))

    def information(self, function: str, laws: tuple[Expression, ...]) -> Expression:
        """An entropy or a divergence of laws, in the unit that the logarithms around it have."""
        found, base = Apply(function, laws), self.reading.base
        return found if base is None else Quotient(found, Apply("log", (Number(Fraction(base)),)))

    def is_of_laws(self) -> bool:
        """True if the bracket that follows lists distributions or random variables, and nothing else."""
        pieces = split_outside(self.inside_bracket(), lambda token: token.text == ",")
        return all(piece and self.is_law(piece) for piece in pieces)

    def is_law(self, tokens: Sequence[Token]) -> bool:
        try:
            found = self.whole(tokens)
        except NotUnderstood:
            return False
        match found:
            case Distribution() | Apply("density", (_, Symbol() | Distribution())):
                return True
            case Symbol():
                return describe(found) in self.reading.laws
        return False

    def mentions_laws(self) -> bool:
        return any(token.text.removeprefix("\\") in self.reading.laws for token in self.inside_bracket())

    def distribution(self, family: str) -> Expression:
        """A law with its parameters, or its density where a place stands before them: N(x; μ, σ²)."""
        inside = self.inside_bracket()
        self.place += len(inside) + 2
        *before, after = split_outside(inside, lambda token: token.text in (";", *_BARS))
        parts = split_outside(after, lambda token: token.text == ",")
        law = Distribution(family, tuple(self.whole(part) for part in parts))
        if len(before) > 1:
            raise self.stuck_before()
        return Apply("density", (self.whole(before[0]), law)) if before else law

    def mean_under(self, script: Sequence[Token], body: Expression) -> Expression:
        """E_{x ∼ p}[body], E_{p(x)}[body] or E_p[body]; a variance alike."""
        sign = next((place for place, token in enumerate(script) if token.text == "∼"), None)
        given: tuple[Expression, ...] = ()
        if isinstance(body, Expectation):
            body, given = body.body, body.given
        if sign is not None:
            return Expectation(body, self.whole(script[:sign]), self.whole(script[sign + 1 :]), given)
        law = self.whole(script)
        match law:
            case Apply("density", (Symbol() as variable, name)):
                return Expectation(body, variable, name, given)
        return Expectation(body, None, law, given)

    def conditional(self, function: str) -> Expression | None:
        """E[y | x] or Var(y | x), the bracket ahead; None without a bar."""
        parts = split_outside(self.inside_bracket(), lambda token: token.text in _BARS)
        if len(parts) != 2 or not all(parts):
            return None
        self.place += sum(map(len, parts)) + 3
        return Expectation(Apply(function, (self.whole(parts[0]),)), given=self.script_parts(parts[1]))

    def probability(self) -> Expression:
        """The probability of an event of one or two relations, also under a condition."""
        inside = self.inside_bracket()
        self.place += len(inside) + 2
        parts = split_outside(inside, lambda token: token.text in _BARS)
        if len(parts) > 2:
            raise self.stuck_before()
        event = Apply("probability", self.event(parts[0]))
        return event if len(parts) == 1 else Expectation(event, given=self.event(parts[1]))

    def event(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The relations of an event: two for a < x < b."""
        signs = [token for token in tokens if token.kind == "relation"]
        for sign in signs:
            if sign.text not in _EVENT_SIGNS:
                raise NotUnderstood(f"Can't evaluate the probability of an event with '{sign.text}'.", sign.start)
        sides = [self.whole(part) for part in split_outside(tokens, lambda token: token.kind == "relation")]
        if len(sides) != len(signs) + 1 or not signs:
            raise self.stuck_before()
        return tuple(
            Condition(left, sign.text, (right,)) for left, sign, right in zip(sides, signs, sides[1:], strict=False)
        )

    # -- integrals and places of extrema -------------------------------------------------------------------------------
    def integral(self) -> Expression:
        """∫_a^b f dx, with the dx at its end."""
        limits: dict[str, Expression] = {}
        while self.text() in ("_", "^"):
            script = self.take().text
            limits[script] = self.whole(self.script_tokens())
        self.open_fraction()
        start, end = self.place, self.differential()
        if len(limits) != 2 or end is None:
            raise NotUnderstood(
                "Only integrals with limits, in one variable, are supported.", self.tokens[start - 1].start
            )
        variable = self.tokens[end + 1].text.removeprefix("\\")
        body = self.whole(self.tokens[start:end]) if end > start else Number(Fraction(1))
        self.place = end + 2
        return Integral(body, variable, limits["_"], limits["^"])

    def open_fraction(self) -> None:
        r"""Writes the \frac{dx}{y} that begins here as \frac{1}{y} dx."""
        texts = [token.text for token in self.tokens[self.place : self.place + 5]]
        if texts[:3] != ["\\frac", "}", "d"] or texts[4:] != ["}"]:
            return
        first = self.place + 2
        differential = self.tokens[first : first + 2]
        self.place += 5
        bottom = self.script_tokens()
        one = Token("number", "1", differential[0].start, differential[0].end)
        self.tokens = [
            *self.tokens[:first],
            one,
            *self.tokens[first + 2 : self.place],
            *differential,
            *self.tokens[self.place :],
        ]
        self.place -= len(bottom) + 2 + 5

    def differential(self) -> int | None:
        """The place of the d of dx that ends the integrand: the first one outside of brackets before a letter."""
        depth = 0
        for place in range(self.place, len(self.tokens) - 1):
            token, after = self.tokens[place], self.tokens[place + 1]
            depth += token.nesting
            if depth < 0 or token.text == "\\int":
                return None
            is_letter = after.kind == "letter" and (
                len(after.text) == 1 or after.text.removeprefix("\\") in _GREEK_NAMES
            )
            is_scripted = place + 2 < len(self.tokens) and self.tokens[place + 2].kind == "script"
            if depth == 0 and token.text == "d" and is_letter and not is_scripted:
                return place
        return None

    def extremum(self, sign: int) -> Expression:
        """arg max_x f(x)."""
        if not self.skip("_"):
            raise self.stuck()
        variable = self.whole(self.script_tokens())
        return Extremum(self.deeper(self.product), variable, sign)

    # -- functions -----------------------------------------------------------------------------------------------------
    def apply(self, function: str) -> Expression:
        """A function of what follows; below a logarithm stands its base, above a power; other scripts are skipped."""
        base = Number(Fraction(self.reading.base)) if self.reading.base and function == "log" else None
        script: list[Token] = []
        if self.skip("_"):
            script = self.script_tokens()
            base = self.whole(script) if function == "log" else None
        exponent = self.whole(self.script_tokens()) if self.skip("^") else None
        token = self.peek()
        if token is not None and token.kind == "open" and token.text in (")", "]", "\\}", "}"):
            found = self.conditional(function) if function in _OF_LAWS else None
            result = found or Apply(function, self.arguments())
        elif token is not None and token.text == "_":
            raise self.stuck()
        elif function == "exp" and exponent is not None and not self.starts_factor():
            return Apply(function, (exponent,))
        else:
            result = Apply(function, (self.deeper(self.bare_argument),))
        if script and function in _OF_LAWS:
            result = self.mean_under(script, result)
        result = result if base is None else Quotient(result, Apply("log", (base,)))
        return result if exponent is None else Power(result, exponent)

    def arguments(self) -> tuple[Expression, ...]:
        closing = self.take().text
        saved, self.open_bars = self.open_bars, ()
        items = [self.sum()]
        while self.skip(",", ";"):
            items.append(self.sum())
        self.close(closing)
        self.open_bars = saved
        return tuple(items)

    def bare_argument(self) -> Expression:
        r"""An argument without brackets: \cos t\theta."""
        factors, dots = [self.power()], []
        while self.reading.is_argument_wide and self.starts_factor():
            token = self.peek()
            assert token is not None
            is_function = token.text[1:] in FUNCTIONS or token.text in BIG_OPERATORS
            is_other_bracket = token.kind == "open" and token.text != ")"  # cos ω(t + s) takes in the round one
            if is_function or is_other_bracket or token.kind in ("word", "environment"):
                break
            dots.append(False)
            factors.append(self.power())
        if self.reading.is_argument_wide and self.skip("/"):
            return Quotient(_product(factors, dots), self.power())
        return _product(factors, dots)

    def fraction(self) -> Expression:
        """A quotient, or a derivative if both parts begin with the same d."""
        top, bottom = self.fraction_part(), self.fraction_part()
        is_derivative = len(top) > 0 and len(bottom) > 1 and top[0].text in ("\\partial", "d")
        is_derivative = is_derivative and bottom[1].kind != "script" and bottom[1].text != "'"  # d_i/d_j
        if is_derivative and bottom[0].text == top[0].text:
            if top[1:2] and top[1].text == "^":
                return self.second_derivative(top, bottom)
            body = self.whole(top[1:]) if top[1:] else self.differentiated()
            return Derivative(body, self.whole(bottom[1:]))
        return Quotient(self.whole(top), self.whole(bottom))

    def differentiated(self) -> Expression:
        """What stands after ∇ or ∂/∂x: all factors, or the first alone if the reading says so."""
        return self.deeper(self.product if self.reading.is_derivative_wide else self.power)

    def second_derivative(self, top: list[Token], bottom: list[Token]) -> Expression:
        """∂²f/∂x² or ∂²f/∂x∂y."""
        ends = [token.text for token in bottom[-2:]]
        variables = split_outside(bottom[1:], lambda token: token.text == bottom[0].text)
        if ends == ["^", "2"]:
            variables = [variables[0][:-2]] * 2
        if top[2].text != "2" or len(variables) != 2:
            raise self.stuck_before()
        body = self.whole(top[3:]) if top[3:] else self.differentiated()
        first, second = map(self.whole, variables)
        return Derivative(Derivative(body, second), first)

    def is_at_quotient(self) -> bool:
        """True if a ∂ begins an inline quotient of derivatives: ∂L/∂x."""
        texts = [token.text for token in self.tokens[self.place :]]
        slash = texts.index("/") if "/" in texts else len(texts)
        return texts[slash + 1 : slash + 2] == ["\\partial"] and not {"+", "-", "\\partial"} & set(texts[:slash])

    def inline_derivative(self) -> Expression:
        top = self.power()
        if not self.skip("/") or not self.skip("\\partial"):
            raise self.stuck()
        return Derivative(top, self.power())

    def gradient(self) -> Expression:
        """∇_x f, ∇²_x f, or ∇f of a function of one argument; of a function that nothing defines, ∇f(x) is a symbol."""
        variable, is_second = None, False
        while (token := self.peek()) is not None and token.kind == "script":
            self.take()
            script = self.script_tokens()
            if token.text == "_" and variable is None:
                variable = self.whole(script)
            elif token.text == "^" and not is_second and [part.text for part in script] == ["2"]:
                is_second = True
            else:
                raise self.stuck_before()
        body = self.differentiated()
        if variable is None and isinstance(body, Apply) and len(body.arguments) == 1:
            variable = body.arguments[0]
        is_value = isinstance(body, Symbol) and body.name.endswith(")") and body.name not in self.reading.valued
        if variable is None and is_value and isinstance(body, Symbol):
            return Symbol(("∇²" if is_second else "∇") + body.name, body.subscripts)
        if variable is None:
            start = self.tokens[self.place - 1].start
            raise NotUnderstood("It is not clear which variable this gradient is taken by.", start)
        found = Derivative(body, variable, is_gradient=True)
        return Derivative(found, variable) if is_second else found

    def binomial(self) -> Expression:
        """n over k; the numbers of a multinomial add up to n."""
        top, bottom = self.whole(self.script_tokens()), self.script_tokens()
        parts = tuple(self.whole(part) for part in split_outside(bottom, lambda token: token.text == ","))
        if len(parts) == 1:
            return Apply("binomial", (top, *parts))
        below = Product(tuple(Apply("factorial", (part,)) for part in parts), (False,) * (len(parts) - 1))
        return Quotient(Apply("factorial", (top,)), below)

    def fraction_part(self) -> list[Token]:
        r"""One argument of \frac; \frac12 takes one digit for each."""
        token = self.peek()
        if token is not None and token.kind == "number" and len(token.text) > 1 and "." not in token.text:
            self.tokens[self.place] = Token("number", token.text[1:], token.start + 1, token.end)
            return [Token("number", token.text[0], token.start, token.start + 1)]
        return self.script_tokens()

    def root(self) -> Expression:
        if self.text() == "]":  # a root of another order
            raise self.stuck()
        return Apply("sqrt", (self.whole(self.script_tokens()),))

    def accent(self, kind: str) -> Expression:
        """What stands under an accent: a bar conjugates it, an arrow means nothing, another accent joins the name."""
        body = self.whole(self.script_tokens())
        if not kind:
            return body
        is_conjugate = kind == "bar" and (self.reading.is_complex or not isinstance(body, Symbol))
        return Accent("bar", body) if is_conjugate else _renamed(body, "^" + kind)

    def big_operator(self, operator: str) -> Expression:
        """A sum, product or maximum of what follows its scripts: a product, or several joined by ⊗ and the like."""
        parts: tuple[Expression, ...] = ()
        upper: Expression | None = None
        for _ in range(2):
            if self.skip("_"):
                parts = self.parts_below(self.script_tokens())
            elif self.skip("^"):
                upper = self.whole(self.script_tokens())
        body = self.sum() if self.reading.is_sum_wide else self.deeper(self.wide)
        letters = _letters_in_list(parts) if upper is None else ()
        if len(letters) > 1:
            for letter in reversed(letters):
                body = _big_operator(operator, (letter,), None, body)
            return body
        return _big_operator(operator, parts, upper, body)

    def parts_below(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The parts below a sum; a word, or more than two letters written together, is a name."""
        if len(tokens) == 1 and tokens[0].kind in ("word", "text"):
            return (Label(tokens[0].text.strip()),)
        letters = _letters(tokens)
        return (Label(letters),) if len(letters) > 2 else self.script_parts(tokens)

    # -- environments --------------------------------------------------------------------------------------------------
    def environment(self, begin: Token) -> Expression:
        name = begin.text[len("\\begin{") : -1]
        if name not in MATRICES | {"cases"}:
            raise self.stuck_before()
        cells = self.cells(begin, name)
        if name == "cases":
            return self.cases(cells)
        rows = [tuple(self.whole(cell) for cell in row) for row in cells]
        if len({len(row) for row in rows}) != 1:
            raise NotUnderstood("The rows of this matrix have different lengths.", begin.start)
        return Matrix(tuple(rows))

    def cells(self, begin: Token, name: str) -> list[list[list[Token]]]:
        """The tokens of every cell, row by row."""
        source = self.all_tokens
        first = next(place for place, token in enumerate(source) if token is begin) + 1
        end = next((k for k in range(first, len(source)) if source[k].text == f"\\end{{{name}}}"), None)
        if end is None:
            raise NotUnderstood(f"\\begin{{{name}}} is never closed.", begin.start)
        while self.take() is not source[end]:
            pass
        rows = split_outside(source[first:end], lambda token: token.text == "\\\\")
        return [split_outside(row, lambda token: token.text == "&") for row in rows if row]

    def cases(self, rows: list[list[list[Token]]]) -> Expression:
        """In each row a value, then its conditions."""
        values = tuple(self.whole([token for token in row[0] if token.text != ","]) for row in rows)
        conditions = []
        for row in rows:
            tokens = [token for cell in row[1:] for token in cell if not _is_prose(token)]
            parts = self.script_parts(tokens)
            if any(not isinstance(part, Condition) for part in parts):
                raise NotUnderstood("A condition of these cases is not understood.", tokens[0].start)
            conditions.append(parts)
        return Cases(values, tuple(conditions))


def split_outside(tokens: Sequence[Token], is_separator: Callable[[Token], bool]) -> list[list[Token]]:
    """The pieces between separators that stand outside every bracket and environment."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.nesting
        if depth == 0 and is_separator(token):
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def _pieces(tokens: Sequence[Token]) -> list[Token]:
    """The tokens at which a bracket closes that is open at the outermost level."""
    depth, found = 0, []
    for token in tokens:
        depth += token.nesting
        found += [token] if depth == 0 else []
    return found


def _as_printed(token: Token) -> str:
    """A token in the name of a value that nothing defines: P(A | B), k(λx, x_{1:n})."""
    if token.kind == "open":
        return _OPENING.get(token.text, token.text)
    return "|" if token.text in _BARS else _LETTERS.get(token.text, token.text.removeprefix("\\"))


def _is_prose(token: Token) -> bool:
    return token.kind == "text" or token.kind == "word" and token.font != ""


def _letters(tokens: Sequence[Token]) -> str:
    """The word that the tokens spell if each is a single letter, else nothing."""
    are_letters = all(token.kind == "letter" and len(token.text) == 1 for token in tokens)
    return "".join(token.text for token in tokens) if are_letters else ""


def _letters_in_list(parts: Sequence[Expression]) -> tuple[Symbol, ...]:
    """The indices of a sum over several: i and j in Σ_{i,j} and Σ_{ij}; none if anything else stands there."""
    items = parts[0].factors if len(parts) == 1 and isinstance(parts[0], Product) else tuple(parts)
    letters = tuple(each for each in items if isinstance(each, Symbol) and not each.subscripts and len(each.name) == 1)
    return letters if len(letters) == len(items) else ()


def _label_above(tokens: Sequence[Token]) -> str | None:
    """The UK of W^{UK}, the (2) of W^{(2)}."""
    texts = [token.text for token in tokens]
    is_in_brackets = len(texts) > 2 and texts[0] == texts[-1] == ")"
    letters = "".join(texts[1:-1] if is_in_brackets else texts)
    is_name = letters.isalpha() and letters.isupper()
    return f"({letters})" if is_in_brackets and letters.isalnum() else letters if is_name else None


def _continues(token: Token, after: Token) -> bool:
    """True for the 024 of 1\\,024: three digits after a thin space."""
    is_group = after.kind == "number" and len(after.text) == 3 and after.text.isdigit() and not after.font
    return is_group and after.start - token.end == len("\\,") and token.text.isdigit() and not token.font


def _number(token: Token) -> Expression:
    if token.font in ("bold", "blackboard") and token.text == "1":
        return Ones()
    if len(token.text) > _MAX_DIGITS:
        message = f"This number has {len(token.text)} digits; the limit is {_MAX_DIGITS}."
        raise NotUnderstood(message, token.start)
    return Number(Fraction(token.text), places=len(token.text.partition(".")[2]))


def _product(factors: list[Expression], dots: list[bool]) -> Expression:
    match factors:
        case [Number(places=0) as front, Power(Number(Fraction(numerator=10)), Negative(Number(places=0) as power))]:
            if power.value.denominator == 1 and 0 < power.value <= _MOST_PLACES:
                return Number(front.value / 10**power.value.numerator, power.value.numerator)
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(dots))


def _big_operator(
    operator: str, parts: tuple[Expression, ...], upper: Expression | None, body: Expression
) -> Expression:
    """The operator with its index, where the index starts, and the conditions on it, from the parts below it."""
    index, lower, conditions = "", None, []
    for part in parts:
        if isinstance(part, Symbol) and not index:
            index = part.name
        elif isinstance(part, Condition) and isinstance(part.left, Symbol):
            index = index or part.left.name
            if part.sign == "=" and part.left.name == index:
                lower = part.right[0]
            else:
                conditions.append(part)
        else:
            conditions.append(part)
    return BigOperator(operator, index, tuple(conditions), lower, upper, body)


def _named_law(node: Expression) -> Expression:
    """The law p that p(z) is the density of, where only the law is meant."""
    match node:
        case Apply("density", (Symbol(), law)):
            return law
    return node


def _renamed(base: Expression, suffix: str) -> Expression:
    """The base under a longer name; an expression without a name gets an accent."""
    if isinstance(base, Symbol):
        return Symbol(base.name + suffix, base.subscripts)
    if isinstance(base, Transpose):
        return Transpose(_renamed(base.body, suffix))
    return Accent(suffix.strip("^"), base)


def _with_subscripts(base: Expression, scripts: tuple[Expression, ...]) -> Expression:
    """The base with further subscripts; those of an identity give its size, those of ones mean nothing."""
    if isinstance(base, Symbol):
        return Symbol(base.name, base.subscripts + scripts)
    if isinstance(base, Identity) and len(scripts) == 1:
        return Identity(scripts[0])
    if isinstance(base, Ones):
        return base
    if isinstance(base, Transpose) and isinstance(base.body, Symbol):
        return Transpose(Symbol(base.body.name, base.body.subscripts + scripts))
    if isinstance(base, Accent) and isinstance(base.body, Symbol):
        return Accent(base.kind, _with_subscripts(base.body, scripts))
    return Scripted(base, scripts)


def _permuted_indices(tokens: Sequence[Token]) -> tuple[Expression, ...] | None:
    r"""The indices of X_{\pi(i)j}: letters, and letters to which a permutation is applied."""
    texts = [token.text for token in tokens]
    found: list[Expression] = []
    place = 0
    while place < len(texts):
        if texts[place] in ("\\pi", "\\sigma") and texts[place + 1 : place + 4 : 2] == [")", ")"]:
            found.append(Apply(texts[place][1:], (Symbol(texts[place + 2].removeprefix("\\")),)))
            place += 4
        elif tokens[place].kind in ("letter", "separator") and len(texts[place]) == 1:
            found += [Symbol(texts[place])] if texts[place].isalpha() else []
            place += 1
        else:
            return None
    return tuple(found) if any(isinstance(part, Apply) for part in found) else None
