"""One law tried on one layer, and a failure as a pytest file that calls `regard.check` again."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from regard.conformance.against import PairedSubject, bit_by_bit, law_of_pair
from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import judge
from regard.conformance.law import Law
from regard.conformance.requests import CheckRequest, importable_name
from regard.conformance.subject import Subject
from regard.conformance.verdict import LawVerdict, by_cause

_HEADER = '''"""Laws of attention that a layer broke. Each test passes once its law holds.

Written by Regard {version}. Run it with pytest in the directory where the layer was checked.
"""

import pytest
'''
_LINE = 100
# The name of a layer that exists only in the process that checked it.
_UNKNOWN = "layer"


def try_law(law: Law, subject: Subject, request: CheckRequest) -> LawVerdict:
    """The verdict; a refuted law comes with a command and a test that reproduce it."""
    law = law_of_pair(law, subject) if isinstance(subject, PairedSubject) else law
    law = bit_by_bit(law) if request.is_bitwise else law
    verdict = judge(law, subject, seed=request.seed, diagnose=diagnose, sizes=request.sizes)
    if request.has_named_target:
        verdict = replace(verdict, reproduce=request.command(law.id))
    if verdict.outcome == "refuted":
        verdict = replace(verdict, reproduction=pytest_file([(request, [verdict])]))
    return verdict


def pytest_file(checked: Iterable[tuple[CheckRequest, Sequence[LawVerdict]]]) -> str:
    """The text of a pytest file: one test per layer, parametrized by the laws that it broke."""
    from regard import __version__

    imports, tests = {"import regard"}, []
    for number, (request, verdicts) in enumerate(checked):
        layer, import_line = _layer(request)
        imports |= {import_line} if import_line else set()
        tests.append("\n".join(_test(request, verdicts, layer, number)))
    # Plain imports come before `from` imports.
    lines = sorted(imports, key=lambda line: (line.startswith("from"), line))
    return "\n\n\n".join(["\n".join([_HEADER.format(version=__version__), *lines]), *tests]) + "\n"


def _test(request: CheckRequest, verdicts: Sequence[LawVerdict], layer: str, number: int) -> Iterator[str]:
    causes = by_cause(verdicts)
    laws = ", ".join(f'"{verdict.law}"' for group in causes for verdict in group)
    slug = re.sub(r"\W+", "_", verdicts[0].layer).strip("_").lower() or "layer"
    yield f'@pytest.mark.parametrize("law", [{laws}])'
    yield f"def test_{slug}{f'_{number + 1}' if number else ''}(law):"
    for verdict, *others in causes:
        found = f"{verdict.law}: {verdict.counterexample or verdict.reason}"
        probably = f"; probably {verdict.diagnosis[0]}" if verdict.diagnosis else ""
        same = f"; for the same cause: {', '.join(each.law for each in others)}" if others else ""
        yield from (f"    # {line}" for line in textwrap.wrap(found + probably + same, _LINE))
    if layer == _UNKNOWN:
        yield f"    {_UNKNOWN} = ...  # Build the layer here."
    yield "    report = regard.check("
    yield from (f"        {argument}," for argument in _arguments(request, layer))
    yield "    )"
    yield "    [verdict] = report.verdicts"
    yield '    assert verdict.outcome == "holds", f"{law}: {verdict.counterexample or verdict.reason}"'


def _layer(request: CheckRequest) -> tuple[str, str | None]:
    """The expression for the target, and the line that imports it if that is needed."""
    if request.has_named_target:
        return _literal(request.target), None
    module, _, name = (importable_name(request.target) or "").partition(":")
    return (name, f"from {module} import {name.partition('.')[0]}") if module else (_UNKNOWN, None)


def _arguments(request: CheckRequest, layer: str) -> Iterator[str]:
    yield layer
    if request.spec is not None:
        declared = ", ".join(f"{name}={_literal(value)}" for name, value in request.spec.non_defaults().items())
        yield f"regard.Spec({declared})"
    if request.arguments:
        given = ", ".join(f"{_literal(name)}: {_literal(value)}" for name, value in request.arguments.items())
        yield f"arguments={{{given}}}"
    for name in ("dtype", "device"):
        if getattr(request, name) is not None:
            yield f"{name}={_literal(getattr(request, name))}"
    if request.is_inferring:
        yield "infer=True"
    yield from (f"{name}={value!r}" for name, value in request.sizes.non_defaults().items())
    for name in ("against", "mapping"):
        if isinstance(getattr(request, name), str):
            yield f"{name}={_literal(getattr(request, name))}"
    if request.is_bitwise:
        yield "bitwise=True"
    yield "laws=law"
    yield f"seed={request.seed}"


def _literal(value: Any) -> str:
    """The value as Python code, text in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
