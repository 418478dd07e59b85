"""Formulas cut into chains of relations: a = b ≈ c is one chain with two steps."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from regard.derivations.notation.layout import CASE, unwrapped
from regard.derivations.notation.tokens import FUNCTIONS, WORDS, Side, Token, tokenize
from regard.derivations.reading.phrases import any_of, words

_LISTING = ("≠", "∉", "∈")
_COMMAS = frozenset(", ， 、".split())
_OPERANDS = ("letter", "word", "number")
_MOST_LEVELS = 3
_WIDE_GAP = re.compile(r"[ \t]{2,}|(?:(?:\\[ ;]|~)\s*){2,}")


_LINK = "|".join(map(any_of, ("consequence", "conjunction", "asserting")))
_LINKS = re.compile(rf"[\W_]*(?:(?:{_LINK}|\([^()]*\))[\W_]*)*", re.IGNORECASE)
_LONGEST_LINK = 100
_NEW_LINES = ("\\\\", "\\newline", "\\cr")
_BECAUSE = ("\\because", "∵")


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Sides joined by relation signs; `before` is the prose in front of it inside the formula.

    A chain whose first side is empty continues the chain before it. `is_nested` marks a relation inside brackets,
    `is_event` one inside P(…), `is_case` the condition of a case, `is_moved` a chain whose first side stands in another
    formula, `is_spoken` one whose sign is a word (set q to β k_a), `is_reason` one behind a ∵, which interrupts no
    derivation. A relation between lists is a chain for each of its members: a, b = c, d.
    """

    sides: tuple[tuple[Token, ...], ...]
    signs: tuple[Token, ...]
    before: str = ""
    is_nested: bool = False
    is_event: bool = False
    is_case: bool = False
    is_moved: bool = False
    is_spoken: bool = False
    is_reason: bool = False

    @property
    def start(self) -> int:
        """The offset in the source at which the chain begins."""
        return self.sides[0][0].start if self.sides[0] else self.signs[0].start

    @property
    def end(self) -> int:
        """The offset in the source at which the chain ends."""
        return self.sides[-1][-1].end if self.sides[-1] else self.signs[-1].end


def has_words_for_a_side(words: str) -> bool:
    """True if words take the place of a relation's first side (the sum is), and do not only link it (so, which gives).

    >>> has_words_for_a_side("the sum is "), has_words_for_a_side(", so ")
    (True, False)
    """
    words = words.strip()[-_LONGEST_LINK:]
    return bool(words) and _LINKS.fullmatch(words) is None


def read_chains(source: str) -> list[Chain]:
    """The chains of relations in a formula, in reading order.

    >>> [len(chain.signs) for chain in read_chains(r"a = b = c, \\quad x \\approx y")]
    [2, 1]
    """
    return list(_chains(source))


@lru_cache(maxsize=4096)
def _chains(source: str) -> tuple[Chain, ...]:
    """The chains; kept, since answers repeat the formulas of a problem, and an edited document its own."""
    reader = _ChainReader()
    for piece in _pieces(_with_ratios(unwrapped(tokenize(source)))):
        for part in _implied(piece):
            reader.add(part)
    return tuple(part for chain in reader.chains() for part in _split_at_gaps(chain, source))


def first_chain(source: str) -> Chain:
    """The first chain in a formula of the problem itself."""
    return _chains(source)[0]


def _with_ratios(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens of a proportion, a : b = c : d, with its colons as slashes."""
    outside = [token for token, is_outside in _with_level(tokens) if is_outside]
    marks = [token for token in outside if token.kind in ("separator", "relation")]
    if [token.text if token.kind == "separator" else token.kind for token in marks] != [":", "relation", ":"]:
        return tokens
    slash = tokenize("/")[0]
    colons = (marks[0], marks[2])
    return [replace(slash, start=t.start, end=t.end) if t in colons else t for t in tokens]


# -- pieces ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _StatementPiece:
    """The tokens of one statement, the prose in front of them, and the separator between it and the piece before.

    `is_aligned` says that it begins at an &.
    """

    tokens: list[Token]
    before: str = ""
    separator: str = ""
    is_aligned: bool = False


def _pieces(tokens: Sequence[Token]) -> Iterator[_StatementPiece]:
    """The tokens between separators at the outermost level, with the prose in between."""
    piece: list[Token] = []
    prose = remark = separator = ""
    depth = columns = 0
    is_aligned = False
    for place, token in enumerate(tokens):
        depth = max(depth + token.nesting, 0)
        before = tokens[place - 1] if place else None
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        columns = 0 if token.text in _NEW_LINES and depth == 0 else columns + (token.text == "&" and depth == 0)
        is_prose = depth == 0 and _is_prose(before, token, after)
        if (
            depth > 0
            or token.kind == "close"
            or not (is_prose or token.kind == "separator" or token.text in (".", "&"))
        ):
            is_aligned = is_aligned if piece else before is not None and before.text == "&"
            # A line that goes on with a sign belongs to the formula above, not to the remark behind that one.
            prose = "" if not piece and token.kind == "relation" and prose == remark else prose
            piece.append(token)
            continue
        if token.text == "&" and not (piece and _ends_a_column(piece, columns, tokens, place + 1)):
            continue
        if piece:
            yield _StatementPiece(tokens=piece, before=prose, separator=separator, is_aligned=is_aligned)
            piece, prose, remark, separator = [], "", "", token.text
        # A comma in front of another separator doesn't link what follows.
        separator = separator if separator and token.text in _COMMAS else token.text
        prose += f"{token.text} " if is_prose else ""
        remark = prose if token.text in _NEW_LINES else remark
    if piece or prose:
        yield _StatementPiece(tokens=piece, before=prose, separator=separator, is_aligned=is_aligned)


def _ends_a_column(piece: Sequence[Token], columns: int, tokens: Sequence[Token], start: int) -> bool:
    """Every other & aligns the next equation of the line; others stand before a sign, or between two statements."""
    if piece[-1].kind == "relation":
        return False
    if columns % 2 == 0:
        return True
    if not any(token.kind == "relation" for token in piece):
        return False
    stop = next((k for k in range(start, len(tokens)) if tokens[k].text in ("&", "\\\\")), len(tokens))
    cell = tokens[start:stop]
    return any(token.kind == "relation" for token in cell[1:]) and cell[0].kind != "relation"


def _is_prose(before: Token | None, token: Token, after: Token | None) -> bool:
    r"""True for \text{所以} and \text{Take}: words that name no function, stand in no script and take no argument."""
    if token.kind == "text":
        return True
    if token.kind != "word" or token.font != "text" or token.text.lower() in FUNCTIONS or token.text in WORDS:
        return False
    is_script = before is not None and before.kind == "script"
    is_named = after is not None and (after.kind == "script" or after.kind == "open" and after.text in (")", "]"))
    return not is_script and (not is_named or token.text.lower() in words("prose_word"))


def _implied(piece: _StatementPiece) -> Iterator[_StatementPiece]:
    """The statements between arrows that mean "so": between two relations, or in front of one that is not aligned."""
    parts: list[list[Token]] = [[]]
    arrows: list[Token] = []
    for token, is_outside in _with_level(piece.tokens):
        if token.kind == "relation" and token.text == "→" and is_outside:
            arrows.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    whole, separator = parts[0], piece.separator
    are_relations = [_chain(part) is not None for part in parts]
    for place, arrow in enumerate(arrows):
        before, after = are_relations[place], are_relations[place + 1]
        is_first = not parts[place] and not piece.is_aligned
        if (after and (before or is_first)) or (before and not parts[place + 1]):
            yield replace(piece, tokens=whole, separator=separator)
            whole, separator, piece = [*parts[place + 1]], "→", replace(piece, before="")
        else:
            whole = [*whole, arrow, *parts[place + 1]]
    yield replace(piece, tokens=whole, separator=separator)


def _with_level(tokens: Sequence[Token]) -> Iterator[tuple[Token, bool]]:
    """Each token, and whether it stands outside of brackets and scripts."""
    depth, is_script = 0, False
    for token in tokens:
        depth = max(depth + token.nesting, 0)
        yield token, depth == 0 and not is_script
        is_script = token.kind == "script"


def _split_at_gaps(chain: Chain, source: str) -> list[Chain]:
    """Two blanks between two factors, with a relation on each side, separate two statements."""
    for place, side in enumerate(chain.sides[1:-1], start=1):
        levels = [is_outside for _, is_outside in _with_level(side)]
        for cut in range(1, len(side)):
            left, right = side[cut - 1], side[cut]
            are_factors = left.kind in (*_OPERANDS, "close") and right.kind in (*_OPERANDS, "open")
            gap = source[left.end : right.start]
            if are_factors and levels[cut - 1] and "\n" not in gap and _WIDE_GAP.search(gap):
                first = replace(chain, sides=(*chain.sides[:place], Side(side[:cut])), signs=chain.signs[:place])
                rest = replace(
                    chain, sides=(Side(side[cut:]), *chain.sides[place + 1 :]), signs=chain.signs[place:], before=""
                )
                return [first, *_split_at_gaps(rest, source)]
    return [chain]


# -- chains ------------------------------------------------------------------------------------------------------------
@dataclass(kw_only=True)
class _Statement:
    """A chain with the other members of the lists on its left and on its right: the a and the d of a, b = c, d."""

    chain: Chain
    leading: list[list[Token]] = field(default_factory=list)
    trailing: list[list[Token]] = field(default_factory=list)
    is_open: bool = True


class _ChainReader:
    """Takes the pieces of a formula one after the other and puts the statements together; `level` counts brackets."""

    def __init__(self, level: int = 0) -> None:
        self.level = level
        self.statements: list[_Statement] = []
        self.leading: list[list[Token]] = []
        self.before = ""

    def add(self, piece: _StatementPiece) -> None:
        self.before += piece.before
        is_listed = piece.separator in _COMMAS
        if not is_listed:
            self.leading = []
            if self.statements:
                self.statements[-1].is_open = False
        outer, nested, events = _without_remarks(piece.tokens)
        chain = _chain(_without_bullet(outer), self.before)
        if chain is not None:
            chain = replace(chain, is_case=piece.separator == CASE, is_reason=piece.separator in _BECAUSE)
            self.statements.append(_Statement(chain=chain, leading=self.leading))
            self.leading, self.before = [], ""
        elif outer:
            self._add_member(outer)
        if self.level < _MOST_LEVELS:
            inner = [found for inside in nested for found in self._inside(inside)]
            inner += [replace(found, is_event=True) for inside in events for found in self._inside(inside)]
            conditions = _case_conditions(outer)
            inner += [replace(found, is_case=True) for inside in conditions for found in self._inside(inside)]
            self.statements += [_Statement(chain=found, is_open=False) for found in inner]

    def _inside(self, tokens: Sequence[Token]) -> list[Chain]:
        """The chains of a bracket or of a condition."""
        reader = _ChainReader(self.level + 1)
        for piece in _pieces(tokens):
            reader.add(piece)
        return [replace(chain, is_nested=True) for chain in reader.chains()]

    def _add_member(self, tokens: list[Token]) -> None:
        last = self.statements[-1] if self.statements else None
        if last is not None and (last.is_open or _is_listing(last.chain)):
            last.trailing.append(tokens)
        else:
            self.leading.append(tokens)

    def chains(self) -> list[Chain]:
        return [chain for statement in self.statements for chain in _members(statement)]


def _is_listing(chain: Chain) -> bool:
    """True for a condition such as i ≠ a, whose list may go on."""
    return len(chain.signs) == 1 and chain.signs[0].text in _LISTING


def _members(statement: _Statement) -> list[Chain]:
    """The chain of each member: a = c and b = d for a, b = c, d; none where the lists don't fit."""
    chain, leading, trailing = statement.chain, statement.leading, statement.trailing
    is_single, sign = len(chain.signs) == 1, chain.signs[0]
    has_dots = any(token.text == "\\dots" for member in trailing for token in member)
    if is_single and trailing and (_is_listing(chain) or (sign.text == "=" and has_dots)):
        right = [*chain.sides[1]]
        for member in trailing:
            right += [Token("separator", ",", member[0].start, member[0].start), *member]
        sign = replace(sign, text="∈") if sign.text == "=" else sign
        chain, trailing = replace(chain, sides=(chain.sides[0], Side(right)), signs=(sign,)), []
    if not leading:
        return _by_entries(chain)
    if is_single and len(leading) == len(trailing):
        lefts, rights = [*leading, [*chain.sides[0]]], [[*chain.sides[1]], *trailing]
        return [replace(chain, sides=(Side(left), Side(right))) for left, right in zip(lefts, rights, strict=True)]
    if trailing:
        return []
    symbols = [member for member in leading if [token.text for token in member] != ["\\dots"]]
    if not all(_is_symbol(member) for member in (*symbols, chain.sides[0])):
        return [chain]
    return [*(replace(chain, sides=(Side(member), *chain.sides[1:])) for member in symbols), chain]


def _is_symbol(tokens: Sequence[Token]) -> bool:
    """True for a letter with its scripts."""
    outside = [token for token, is_outside in _with_level(tokens) if is_outside and token.kind != "close"]
    letters = [token for token in outside if token.kind in ("letter", "word") and token.text not in FUNCTIONS]
    return len(letters) == 1 and all(token.kind == "script" or token.text == "'" for token in outside[1:])


def _by_entries(chain: Chain) -> list[Chain]:
    """A relation between tuples is one for each entry: (a, b) = (c, d)."""
    sides = [_entries(side) for side in chain.sides]
    if not sides[0] or len(sides[0]) < 2 or any(len(side) != len(sides[0]) for side in sides):
        return [chain]
    return [replace(chain, sides=entries) for entries in zip(*sides, strict=True)]


def _entries(side: Sequence[Token]) -> list[Side]:
    """The entries of a list in round or square brackets that is all there is."""
    if (
        len(side) < 2
        or side[0].kind != "open"
        or side[0].text not in (")", "]")
        or _brackets(side) != [(0, len(side) - 1)]
    ):
        return []
    entries: list[list[Token]] = [[]]
    for token, is_outside in _with_level(side[1:-1]):
        if token.kind == "separator" and token.text in _COMMAS and is_outside:
            entries.append([])
        else:
            entries[-1].append(token)
    return [Side(entry) for entry in entries] if all(entries) else []


def _without_bullet(tokens: list[Token]) -> list[Token]:
    """The tokens without the mark of a list item."""
    return tokens[1:] if tokens and tokens[0].text in ("\\cdot", "*") else tokens


def _without_remarks(tokens: list[Token]) -> tuple[list[Token], list[list[Token]], list[list[Token]]]:
    """The tokens without bracketed remarks, the remarks that hold relations, and the events of probabilities."""
    nested: list[list[Token]] = []
    events: list[list[Token]] = []
    for begin, end in reversed(_brackets(tokens)):
        inside = tokens[begin + 1 : end]
        has_relation = any(token.kind == "relation" for token in _outside_scripts(inside))
        has_prose = any(token.kind == "text" for token in inside)
        is_event = begin > 0 and (_names_a_chance(tokens[begin - 1]) or _names_arguments(tokens, begin, inside))
        if has_relation:
            (events if is_event else nested).insert(0, inside)
        if has_prose or has_relation and not is_event and (end == len(tokens) - 1 or begin == 0):
            tokens = tokens[:begin] + tokens[end + 1 :]
    return tokens, nested, events


def _names_a_chance(token: Token) -> bool:
    r"""True for what takes an event as its argument: P(γ > 0), \mathbf 1[γ > 0]."""
    return token.text in ("P", "\\Pr") or (token.text in ("1", "I") and token.font != "")


def _names_arguments(tokens: Sequence[Token], begin: int, inside: Sequence[Token]) -> bool:
    """True for the y = 1 of p(x, y = 1), which says at what value a function is taken."""
    first = next((k for k, token in enumerate(inside) if token.text in (*_COMMAS, "\\mid", "|")), len(inside))
    is_applied = tokens[begin - 1].kind in ("letter", "word", "close")
    return is_applied and first < len(inside) and not any(token.kind == "relation" for token in inside[:first])


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


def _chain(tokens: Sequence[Token], before: str = "") -> Chain | None:
    """The chain that the tokens spell; None without a relation at their outermost level."""
    sides: list[list[Token]] = [[]]
    signs: list[Token] = []
    for token, is_outside in _with_level(tokens):
        if token.kind == "relation" and is_outside:
            signs.append(token)
            sides.append([])
        else:
            sides[-1].append(token)
    if not signs:
        return None
    return Chain(sides=tuple(Side(side) for side in sides), signs=tuple(signs), before=before)
