"""Subscripts and superscripts: indices, labels and conditions below, transposes, powers and conjugates above."""

from collections.abc import Sequence

from regard.derivations.notation.cursor import Cursor, split_outside
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Condition,
    Expression,
    Identity,
    Label,
    Ones,
    Power,
    Scripted,
    Symbol,
    Transpose,
)
from regard.derivations.notation.tokens import Token

_INDEX_LETTERS = frozenset("abijklmnpqrstuv")
_LABELS = frozenset({"\\pi", "\\sigma", "\\Pi", "p", "P"})


class Scripts(Cursor):
    """Reads what stands below and above a symbol."""

    def superscript(self, base: Expression) -> Expression:
        """The base with what stands above it: a transpose, a conjugate, a part of its name, or a power."""
        tokens = self.script_tokens()
        texts = [token.text for token in tokens]
        if not tokens:
            return base
        if texts in (["\\top"], ["T"]):
            return Transpose(base)
        if texts in (["\\dagger"], ["H"]):
            return Transpose(base, is_conjugate=True)
        if texts == ["*"]:
            return Accent("bar", base) if self.reading.is_complex else base
        if all(text == "'" for text in texts):
            return renamed(base, "'" * len(texts))
        if texts[0] == ")" and texts[-1] == ")" and isinstance(base, Symbol):
            return renamed(base, "^(" + "".join(texts[1:-1]) + ")")
        if isinstance(base, Symbol) and base.name == "e" and not base.subscripts:
            return Apply("exp", (self.whole(tokens),))
        is_label = texts[0] in _LABELS and isinstance(base, Symbol) and base.name[0].isupper()
        if len(tokens) == 1 and (tokens[0].kind == "word" or is_label):
            return renamed(base, "^" + texts[0].removeprefix("\\"))
        return Power(base, self.whole(tokens))

    def subscript(self) -> tuple[Expression, ...]:
        """The parts below a symbol; letters written together are indices if they look it, else a name."""
        tokens = self.script_tokens()
        called = _called_indices(tokens)
        if called is not None:
            return called
        if len(tokens) == 1 and tokens[0].kind in ("word", "text"):
            return (Label(tokens[0].text.strip()),)
        if len(tokens) > 1 and all(token.kind == "letter" and len(token.text) == 1 for token in tokens):
            letters = "".join(token.text for token in tokens)
            if len(letters) > 2 or not set(letters) <= _INDEX_LETTERS:
                return (Label(letters),)
            return tuple(Symbol(letter) for letter in letters)
        return self.script_parts(tokens)

    def script_parts(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The comma-separated parts of a script: expressions, labels, conditions."""
        parts: list[Expression] = []
        for piece in split_outside(tokens, lambda token: token.kind == "separator"):
            if not piece:
                continue
            signs = [k for k, token in enumerate(piece) if token.kind == "relation"]
            if signs:
                left = self.whole(piece[: signs[0]])
                parts.append(Condition(left, piece[signs[0]].text, (self.whole(piece[signs[0] + 1 :]),)))
            elif parts and isinstance(parts[-1], Condition):
                last = parts.pop()
                assert isinstance(last, Condition)
                parts.append(Condition(last.left, last.sign, (*last.right, self.whole(piece))))
            elif any(token.kind == "text" for token in piece):
                parts.append(Label(" ".join(token.text for token in piece)))
            else:
                parts.append(self.whole(piece))
        return tuple(parts)

    def big_parts(self, tokens: Sequence[Token]) -> tuple[Expression, ...]:
        """The parts below a sum; more than two letters written together are a name."""
        letters = "".join(token.text for token in tokens if token.kind == "letter" and len(token.text) == 1)
        if len(letters) == len(tokens) and len(letters) > 2:
            return (Label(letters),)
        return self.script_parts(tokens)


def big_operator(
    operator: str, parts: tuple[Expression, ...], upper: Expression | None, body: Expression
) -> Expression:
    """The operator with the index that the parts below it name, where it starts, and what is demanded of it."""
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


def renamed(base: Expression, suffix: str) -> Expression:
    """The base under a longer name; an expression without a name gets an accent."""
    if isinstance(base, Symbol):
        return Symbol(base.name + suffix, base.subscripts)
    if isinstance(base, Transpose):
        return Transpose(renamed(base.body, suffix))
    return Accent(suffix.strip("^"), base)


def with_subscripts(base: Expression, scripts: tuple[Expression, ...]) -> Expression:
    """The base with further subscripts; those of an identity give its size, those of ones say nothing."""
    if isinstance(base, Symbol):
        return Symbol(base.name, base.subscripts + scripts)
    if isinstance(base, Identity) and len(scripts) == 1:
        return Identity(scripts[0])
    if isinstance(base, Ones):
        return base
    if isinstance(base, Transpose) and isinstance(base.body, Symbol):
        return Transpose(Symbol(base.body.name, base.body.subscripts + scripts))
    if isinstance(base, Accent) and isinstance(base.body, Symbol):
        return Accent(base.kind, with_subscripts(base.body, scripts))
    return Scripted(base, scripts)


def _called_indices(tokens: Sequence[Token]) -> tuple[Expression, ...] | None:
    """The indices of X_{\\pi(i)j}: letters, and letters that a permutation is applied to."""
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
