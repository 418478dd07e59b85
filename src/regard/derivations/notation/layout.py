"""Tokens without what only lays a formula out: braces around a relation, alignment, systems in an array."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from regard.derivations.notation.tokens import CASES, GREEK, MATRICES, TAKING_GROUPS, WRAPPERS, Token

CASE = "if"  # separates an equation of a system from its condition
_TWO_GROUPS = frozenset({"\\frac", "\\binom", "\\dbinom", "\\tbinom"})
_SYMBOLS = frozenset(
    {*GREEK.values(), "\\R", "\\dots", "\\infty", "\\partial", "\\nabla", "\\top", "\\cdot", "\\times"}
)


@dataclass(kw_only=True)
class _Group:
    """A bracket or environment: where it opens, and where relations stand directly in it."""

    begin: int
    name: str
    is_argument: bool = False
    end: int = -1
    columns: int = 0
    is_cell_start: bool = True
    has_relation: bool = False
    is_system: bool = False
    others: list[int] = field(default_factory=list)


def unwrapped(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without braces and environments that only lay relations out; definitions by cases stay whole."""
    groups = _groups(tokens)
    dropped: set[int] = set()
    changed: dict[int, Token] = {}
    for group in groups:
        if group.name == "}":
            dropped |= _needless(tokens, group)
        else:
            changed |= _laid_out(tokens, group)
    kept = (changed.get(place, token) for place, token in enumerate(tokens) if place not in dropped)
    return list(kept)


def _needless(tokens: Sequence[Token], group: _Group) -> set[int]:
    """The braces of a group that is empty or holds a relation, and an unknown command in front of them."""
    if group.is_argument or not (group.has_relation or group.end == group.begin + 1):
        return set()
    before = tokens[group.begin - 1] if group.begin else None
    is_command = before is not None and before.kind == "letter" and before.text.startswith("\\")
    is_unknown = is_command and before is not None and before.text not in _SYMBOLS and group.has_relation
    return {group.begin, group.end, *([group.begin - 1] if is_unknown else [])}


def _laid_out(tokens: Sequence[Token], group: _Group) -> dict[int, Token]:
    """An environment that lays equations out becomes line breaks; an array of cases becomes a definition by cases."""
    edges = (group.begin, group.end)
    if group.name in WRAPPERS or (group.is_system and group.name in MATRICES | CASES):
        breaks = {place: Token("separator", "\\\\", tokens[place].start, tokens[place].end) for place in edges}
        cases = group.others if group.name in CASES else []
        return breaks | {place: Token("separator", CASE, tokens[place].start, tokens[place].end) for place in cases}
    before = tokens[group.begin - 1] if group.begin else None
    is_definition = before is not None and before.kind == "relation" and group.has_relation
    if group.name in CASES or (group.name == "array" and is_definition):
        names = ("\\begin{cases}", "\\end{cases}")
        return {place: replace(tokens[place], text=name) for place, name in zip(edges, names, strict=True)}
    return {}


def _groups(tokens: Sequence[Token]) -> list[_Group]:
    """The braces and environments that are closed."""
    found: list[_Group] = []
    stack: list[_Group] = []
    arguments: set[int] = set()  # where the first of two arguments ends
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        if token.nesting > 0:
            is_argument = before is not None and (before.kind == "script" or before.text in TAKING_GROUPS)
            name = token.text if token.kind == "open" else _name(token)
            is_argument = is_argument or place - 1 in arguments
            if stack and not (place + 1 < len(tokens) and tokens[place + 1].kind == "close"):
                stack[-1].is_cell_start = False
            stack.append(_Group(begin=place, name=name, is_argument=is_argument))
        elif token.nesting < 0:
            name = token.text if token.kind == "close" else _name(token)
            if stack and stack[-1].name == name:
                group = replace(stack.pop(), end=place)
                found += [group] if name == "}" or token.kind == "environment" else []
                opener = tokens[group.begin - 1].text if group.begin else ""
                if group.is_argument and opener in _TWO_GROUPS:
                    arguments.add(place)
                if stack and not group.is_argument and _is_transparent(group):
                    stack[-1].has_relation = True
                    stack[-1].is_system |= stack[-1].columns == 0
        elif stack and not (before is not None and before.kind == "script"):
            _record(stack[-1], place, token)
    return found


def _name(token: Token) -> str:
    return token.text.split("{")[1].rstrip("}").rstrip("*")


def _is_transparent(group: _Group) -> bool:
    """True if what stands in the group stands around it as well, once the group is laid out."""
    is_layout = group.name == "}" or group.name in WRAPPERS or group.is_system
    return is_layout and group.has_relation


def _record(group: _Group, place: int, token: Token) -> None:
    """Notes a token directly in a group: an equation begins a system, a relation in a later column is a condition."""
    if token.text == "\\\\" and token.kind == "separator":
        group.columns, group.is_cell_start = 0, True
    elif token.text == "&":
        group.columns += 1
        group.is_cell_start = True
        group.others.append(place)
    else:
        if token.kind == "relation":
            group.has_relation = True
            group.is_system |= group.columns == 0 or group.is_cell_start
        group.is_cell_start = False
