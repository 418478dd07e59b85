"""Formulas cut into chains of relations: a = b ≈ c is one chain with two steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from regard.derivations.notation.tokens import FUNCTIONS, WORDS, WRAPPERS, Token, tokenize
from regard.derivations.reading.phrases import words


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Sides joined by relation signs; `before` is the prose in front of it inside the formula.

    A chain whose first side is empty continues the chain before it. `is_nested` marks a relation inside brackets,
    `is_event` one inside P(…), `is_case` the condition of a case, `is_moved` a chain whose first side stands in another
    formula.
    """

    sides: tuple[tuple[Token, ...], ...]
    signs: tuple[Token, ...]
    before: str = ""
    is_nested: bool = False
    is_event: bool = False
    is_case: bool = False
    is_moved: bool = False

    @property
    def start(self) -> int:
        """The offset in the source at which the chain begins."""
        return self.sides[0][0].start if self.sides[0] else self.signs[0].start

    @property
    def end(self) -> int:
        """The offset in the source at which the chain ends."""
        return self.sides[-1][-1].end if self.sides[-1] else self.signs[-1].end


def read_chains(source: str) -> list[Chain]:
    """The chains of relations in a formula, in reading order.

    >>> [len(chain.signs) for chain in read_chains(r"a = b = c, \\quad x \\approx y")]
    [2, 1]
    """
    chains: list[Chain] = []
    before = ""
    for piece in _pieces(_unwrapped(tokenize(source))):
        if isinstance(piece, str):
            before += piece
            continue
        outer, nested, events = _without_remarks(piece)
        chain = _chain(outer, before)
        if chain is not None:
            chains.append(chain)
            before = ""
        elif outer:
            chains = _with_tail(chains, outer)
        chains += [found for inside in nested for found in _nested_chains(inside)]
        chains += [replace(found, is_event=True) for inside in events for found in _nested_chains(inside)]
        conditions = _case_conditions(outer)
        chains += [replace(found, is_case=True) for inside in conditions for found in _nested_chains(inside)]
    return chains


@lru_cache(maxsize=1024)
def first_chain(source: str) -> Chain:
    """The first chain in a formula of the problem itself; cached, since every document needs it."""
    return read_chains(source)[0]


def _unwrapped(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without alignment environments; matrices and cases stay whole."""
    result: list[Token] = []
    skip_until = 0
    for place, token in enumerate(tokens):
        if place < skip_until:
            continue
        if token.kind == "environment" and token.text.split("{")[1].rstrip("}") in WRAPPERS:
            has_columns = token.text.startswith("\\begin{alignat") and place + 3 < len(tokens)
            if has_columns and tokens[place + 1].kind == "open":
                skip_until = place + 4
            result.append(Token("separator", "\\\\", token.start, token.end))
        else:
            result.append(token)
    return result


def _pieces(tokens: Sequence[Token]) -> list[list[Token] | str]:
    """The tokens between separators at the outermost level, and the prose in between."""
    pieces: list[list[Token] | str] = []
    piece: list[Token] = []
    depth = columns = 0
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        depth += token.nesting
        columns = 0 if token.text == "\\\\" and depth == 0 else columns + (token.text == "&" and depth == 0)
        is_prose = depth <= 0 and _is_prose(before, token, after)
        # Every other & aligns the next equation of the line; the others stand before a relation sign.
        is_next_column = token.text == "&" and columns % 2 == 0 and bool(piece) and piece[-1].kind != "relation"
        if depth > 0 or not (is_prose or token.kind == "separator" or token.text in (".", "&")):
            piece.append(token)
        elif token.text != "&" or is_next_column:
            pieces += [piece, token.text + " "] if is_prose else [piece]
            piece = []
    return [piece for piece in (*pieces, piece) if piece]


def _is_prose(before: Token | None, token: Token, after: Token | None) -> bool:
    r"""True for \text{所以} and \text{Take}: words that name no function, stand in no script and take no argument."""
    if token.kind == "text":
        return True
    if token.kind != "word" or token.font != "text" or token.text.lower() in FUNCTIONS or token.text in WORDS:
        return False
    is_script = before is not None and before.kind == "script"
    is_named = after is not None and (after.kind == "script" or after.kind == "open" and after.text in (")", "]"))
    return not is_script and (not is_named or token.text.lower() in words("prose_word"))


def _without_remarks(tokens: list[Token]) -> tuple[list[Token], list[list[Token]], list[list[Token]]]:
    """The tokens without bracketed remarks, the remarks that hold relations, and the events of probabilities."""
    nested: list[list[Token]] = []
    events: list[list[Token]] = []
    for begin, end in reversed(_brackets(tokens)):
        inside = tokens[begin + 1 : end]
        has_relation = any(token.kind == "relation" for token in _outside_scripts(inside))
        has_prose = any(token.kind == "text" for token in inside)
        is_event = begin > 0 and tokens[begin - 1].text in ("P", "\\Pr")
        if has_relation:
            (events if is_event else nested).insert(0, inside)
        if has_prose or has_relation and not is_event and (end == len(tokens) - 1 or begin == 0):
            tokens = tokens[:begin] + tokens[end + 1 :]
    return tokens, nested, events


def _brackets(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where the outermost round and square brackets open and close."""
    found, stack = [], []
    for place, token in enumerate(tokens):
        if token.nesting > 0:
            stack.append(place)
        elif token.nesting < 0 and stack:
            begin = stack.pop()
            if not stack and tokens[begin].kind == "open" and tokens[begin].text in (")", "]"):
                found.append((begin, place))
    return found


def _outside_scripts(tokens: Sequence[Token]) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        if tokens[place].kind == "script" and place + 1 < len(tokens):
            place += 1
            depth = int(tokens[place].kind == "open")
            while depth and place + 1 < len(tokens):
                place += 1
                depth += (tokens[place].kind == "open") - (tokens[place].kind == "close")
        else:
            yield tokens[place]
        place += 1


def _case_conditions(tokens: Sequence[Token]) -> list[list[Token]]:
    """The second columns of a definition by cases."""
    found: list[list[Token]] = []
    is_inside = is_condition = False
    for token in tokens:
        if token.text in ("\\begin{cases}", "\\end{cases}"):
            is_inside, is_condition = token.text == "\\begin{cases}", False
        elif is_inside and token.text in ("&", "\\\\"):
            is_condition = token.text == "&"
            found.append([])
        elif is_condition:
            found[-1].append(token)
    return found


def _nested_chains(tokens: Sequence[Token]) -> list[Chain]:
    """The chains of a bracket or of a condition."""
    found: list[Chain] = []
    for piece in _pieces(tokens):
        chain = None if isinstance(piece, str) else _chain(piece, "")
        if chain is not None:
            found.append(replace(chain, is_nested=True))
        elif found and not isinstance(piece, str):
            found = _with_tail(found, piece)
    return found


def _chain(tokens: Sequence[Token], before: str) -> Chain | None:
    """The chain that the tokens spell; None without a relation at their outermost level."""
    sides: list[list[Token]] = [[]]
    signs: list[Token] = []
    depth = 0
    is_script = False
    for token in tokens:
        depth += token.nesting
        if token.kind == "relation" and depth == 0 and not is_script:
            signs.append(token)
            sides.append([])
        else:
            sides[-1].append(token)
        is_script = token.kind == "script"
    if not signs:
        return None
    return Chain(sides=tuple(tuple(side) for side in sides), signs=tuple(signs), before=before)


def _with_tail(chains: list[Chain], tokens: list[Token]) -> list[Chain]:
    """The chains, the last one with the b of `i ≠ a, b` if it is a condition of this kind."""
    if not chains or chains[-1].signs[-1].text not in ("≠", "∉", "∈") or len(chains[-1].signs) != 1:
        return chains
    last = chains[-1]
    comma = Token("separator", ",", tokens[0].start, tokens[0].start)
    sides = (*last.sides[:-1], (*last.sides[-1], comma, *tokens))
    return [*chains[:-1], replace(last, sides=sides)]
