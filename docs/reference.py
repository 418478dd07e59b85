"""The pages of the reference that are written from the code itself: commands, Python names, claims and laws."""

import html
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args

import click
from mkdocs.exceptions import PluginError

import regard
from regard.claims import all_claims
from regard.cli import cli
from regard.conformance import all_laws


def write_pages() -> dict[str, str]:
    """Markdown by file name."""
    return {
        "reference-commands.md": _commands(),
        "reference-python.md": _python_names(),
        "reference-claims.md": _claims(),
        "reference-laws.md": _laws(),
    }


def _commands() -> str:
    """Every command with its help, arguments and options."""
    parts = ["# Commands", "`regard COMMAND --help` prints the same; `regard --version` prints the version."]
    for command, context in _walk(cli, click.Context(cli, info_name="regard")):
        parts.append(f"## `{context.command_path}`")
        parts.append(f"```\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```")
        parts.append(_help_text(command.help or ""))
        records = [
            record
            for parameter in command.get_params(context)
            if "--help" not in parameter.opts and (record := parameter.get_help_record(context)) and record[1]
        ]
        parts.append(_table(("option", ""), [(f"`{name}`", _cell(text)) for name, text in records]))
    return _page(parts)


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from _walk(inner, click.Context(inner, info_name=name, parent=context))


def _help_text(text: str) -> str:
    r"""A command's help as Markdown: what follows \b keeps its lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```sh\n{inspect.cleandoc(_without_heading(paragraph))}\n```" if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )


def _without_heading(paragraph: str) -> str:
    """The lines after "Examples:", with what follows a command as a comment, so that they can be pasted."""
    lines = [line for line in paragraph.removeprefix("\b\n").splitlines() if not re.match(r"Examples?:$", line)]
    return "\n".join(re.sub(r"(?<=\S) {2,}(?=\S)", lambda gap: f"{gap[0]}# ", line, count=1) for line in lines)


def _python_names() -> str:
    """Every public name: its call, arguments, members and example."""
    names = [name for name in regard.__all__ if not name.startswith("_")]
    found = {name: getattr(regard, name) for name in names}
    groups: dict[str, Callable[[Any], bool]] = {
        "Functions": inspect.isfunction,
        "Classes": lambda value: inspect.isclass(value) and not issubclass(value, Exception),
        "Errors": lambda value: inspect.isclass(value) and issubclass(value, Exception),
    }
    parts = ["# Python", "All of these are attributes of `regard`; a module is imported when one of its names is used."]
    for heading, belongs in groups.items():
        parts.append(f"## {heading}")
        for name, value in found.items():
            if belongs(value):
                parts += _describe(name, value)
    return _page(parts)


def _describe(name: str, value: Any) -> list[str]:
    text, arguments, example = _docstring(value)
    parts = [f"### `regard.{name}`", text]
    if inspect.isclass(value) and issubclass(value, Exception):
        return [*parts, f"A subclass of `{value.__mro__[1].__name__}`."]
    rows = []
    for each in _parameters(value):
        if each.name not in arguments:
            raise PluginError(f"The docstring of regard.{name} does not explain {each.name}.")
        rows.append((f"`{each.name}`", _type_words(each.annotation), _default(each), _cell(arguments[each.name])))
    parts.append(_table(("argument", "type", "default", ""), rows))
    if inspect.isfunction(value):
        parts.append(f"Returns {_type_words(inspect.signature(value).return_annotation)}.")
    if example:
        parts.append(f"```pycon\n{example}\n```")
    return [*parts, _members(value)]


def _parameters(value: Any) -> list[inspect.Parameter]:
    """The arguments, with those of `**options` one by one if their type says what they are."""
    found: list[inspect.Parameter] = []
    for each in inspect.signature(value).parameters.values():
        options = get_args(each.annotation)
        if each.kind is each.VAR_KEYWORD and options and inspect.get_annotations(options[0]):
            names = inspect.get_annotations(options[0]).items()
            found += [inspect.Parameter(n, each.KEYWORD_ONLY, default=..., annotation=kind) for n, kind in names]
        else:
            found.append(each)
    return found


def _docstring(value: Any) -> tuple[str, dict[str, str], str]:
    """The text of a docstring, what it says of each argument (or a base class does), and its example."""
    documented = [*reversed(value.__mro__)] if inspect.isclass(value) else [*_option_types(value), value]
    arguments = {name: text for each in documented for name, text in _argument_texts(inspect.getdoc(each) or "")}
    text = inspect.getdoc(value) or ""
    prose, _, example = text.partition(">>> ")
    prose = re.sub(r"\n*^Args:\n(?: .*\n?|\n)*", "\n\n", prose, flags=re.MULTILINE)
    return prose.strip(), arguments, f">>> {example}".strip() if example else ""


def _option_types(value: Any) -> list[Any]:
    last = list(inspect.signature(value).parameters.values())[-1:]
    return [kind for each in last if each.kind is each.VAR_KEYWORD for kind in get_args(each.annotation)]


def _argument_texts(docstring: str) -> Iterator[tuple[str, str]]:
    section = re.search(r"^Args:\n((?: .*\n?)*)", docstring, re.MULTILINE)
    for name, text in re.findall(
        r"^    (\w+): ((?:.*\n?)(?:     .*\n?)*)", section[1] if section else "", re.MULTILINE
    ):
        yield name, " ".join(text.split())


def _members(value: Any) -> str:
    """A table of the properties and methods of a class."""
    if not inspect.isclass(value):
        return ""
    fields = {each.name for each in _parameters(value)}
    rows = []
    for name in sorted(name for name in dir(value) if not name.startswith("_") and name not in fields):
        member = inspect.getattr_static(value, name)
        summary = (inspect.getdoc(member) or "").partition("\n")[0]
        function = getattr(member, "__func__", member)
        if summary and (inspect.isfunction(function) or isinstance(member, property)):
            call = "" if isinstance(member, property) else _call(function)
            rows.append((f"`{name}{call}`", _cell(summary)))
    return _table(("property or method", ""), rows)


def _call(function: Any) -> str:
    """The arguments of a method without their types."""
    plain = [
        each.replace(annotation=each.empty)
        for each in inspect.signature(function).parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(inspect.Signature(plain))


def _type_words(annotation: Any) -> str:
    """A type as a reader would write it: without modules, and with the values that a literal has."""
    if annotation is inspect.Parameter.empty:
        return ""
    words = inspect.formatannotation(annotation).strip("\"'")
    words = re.sub(r"(?:\w+\.)+(?=\w)", "", words).replace("NoneType", "None")
    words = re.sub(r"Optional\[(.*)\]$", r"\1 | None", words)
    return f"`{words}`"


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "" if parameter.kind is parameter.VAR_KEYWORD else "required"
    text = repr(parameter.default)
    return "" if "<" in text or parameter.default is ... else f"`{text}`"


def _claims() -> str:
    """The catalog by section, with what each claim states and how it comes out."""
    parts = ["# Claims", "`regard claims` decides all of these; `regard claims --explain ID` explains one."]
    sections: dict[str, list[tuple[str, str, str]]] = {}
    for claim in all_claims().values():
        row = (f"`{claim.id}`", _cell(claim.statement), claim.expected)
        sections.setdefault(claim.section, []).append(row)
    for section, rows in sections.items():
        parts += [f"## {section.partition(' ')[2].capitalize()}", _table(("id", "statement", "verdict"), rows)]
    return _page(parts)


def _laws() -> str:
    """The laws with their statements and the bugs that usually break them."""
    rows = [
        (f"`{law.id}`", _cell(law.statement), _cell("; ".join(bug.text for bug in law.usual_bugs)))
        for law in all_laws().values()
    ]
    headings = ("law", "statement", "what usually breaks it")
    return _page(["# Laws", "`regard check` tries these on a layer.", _table(headings, rows)])


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = f"|{'---|' * len(headings)}"
    return "\n".join([f"| {' | '.join(headings)} |", rule, *lines]) if lines else ""


def _cell(text: str) -> str:
    """Text on one line that stays in its cell and has no tags; code may have bars and angle brackets."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else html.escape(piece, quote=False).replace("|", r"\|") for piece in pieces
    )


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
