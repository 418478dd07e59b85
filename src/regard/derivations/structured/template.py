"""A commented `answers.toml` with every question of a problem, ready to be filled in."""

from collections.abc import Iterator

from regard.derivations.problems.model import Problem, Question
from regard.derivations.structured.answers import SCHEMA

_HOW = """\
# Fill in what you answer and leave the rest empty; an empty question counts as unanswered.
#   design.q = '…'    the LaTeX of what you choose for a symbol that the question leaves open
#   choice = "yes"    or "no", where the question asks for one
#   answer = '''…'''  your derivation in LaTeX, one line a statement; a line that begins with = goes on from
#                     the one above. With dollar signs in it, it is read as Markdown instead.
#   prose = '''…'''   words; they are kept and shown, not judged
# Single quotes keep backslashes as they are. Then: regard verify answers.toml
"""


def answers_template(problem: Problem) -> str:
    """The template as TOML that reads back as a file of empty answers."""
    head = f'schema = "{SCHEMA}"\nproblem = "{problem.name}"\n'
    return "\n".join([f"# Answers to {_one_line(problem.title)}", _HOW, head, *map(_block, problem.questions)])


def _block(question: Question) -> str:
    return "\n".join([*_lines(question), ""])


def _lines(question: Question) -> Iterator[str]:
    points = f" ({question.points:g} points)" if question.points else ""
    yield f"# {_one_line(question.title)}{points}"
    for given in question.given:
        yield f"#   given: {_one_line(given)}"
    if question.design:
        yield f"#   goal: {_one_line(question.design.goal)}"
    for identity in question.show:
        yield f"#   show: {_one_line(identity)}"
    yield f'["{question.id}"]'
    if question.choice:
        yield 'choice = ""'
    if question.design:
        yield from (f"design.{_key(symbol)} = ''" for symbol in question.design.symbols)
    yield "answer = '''\n'''"
    yield "prose = '''\n'''"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _key(symbol: str) -> str:
    is_bare = symbol.isascii() and symbol.replace("_", "").replace("-", "").isalnum()
    return symbol if is_bare else '"' + symbol.replace("\\", "\\\\").replace('"', '\\"') + '"'
