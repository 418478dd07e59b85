"""Every name that a function reads exists: shapes in strings keep linters from saying so."""

import builtins
import dis
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

SOURCES = Path(__file__).parents[1] / "src"
OF_MODULES = {"__file__", "__name__"}


def undefined_names(source: str) -> set[str]:
    """The globals that functions read, and that neither the module nor Python has."""
    module = compile(source, "module", "exec")
    instructions = [each for code in code_objects(module) for each in dis.get_instructions(code)]
    read = {each.argval for each in instructions if each.opname == "LOAD_GLOBAL"}
    assigned = {each.argval for each in instructions if each.opname in ("STORE_NAME", "STORE_GLOBAL")}
    return read - assigned - set(dir(builtins)) - OF_MODULES


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def test_no_function_reads_a_name_that_does_not_exist():
    found = {str(path): undefined_names(path.read_text(encoding="utf-8")) for path in SOURCES.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_forgotten_import_is_found():
    source = "def f(x):\n    try:\n        return len(x)\n    except MINE:\n        return sqrt(x)\n"
    assert undefined_names(source) == {"MINE", "sqrt"}
