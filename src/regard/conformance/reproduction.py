"""A failure as a test of its own: a file for pytest that shows it where Regard is not installed.

The file holds the law's own comparison, the draws of its inputs and the code that calls the layer, cut out of Regard.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np

from regard.conformance.law import Law, LawTrial
from regard.conformance.standalone import Bundle, Traced, traced
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import LawVerdict

_CUT = "# What follows is cut out of Regard: how inputs are drawn, how the layer is called, what the law compares."


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a layer is built: an expression, the names of Regard in it by their modules, and the same as a function.

    `note` is said above the function that builds it. What runs while it is built is found out once.
    """

    expression: str
    names: dict[str, str]
    build: Callable[[], Subject]
    note: str = ""
    _ran: list[Traced] = field(default_factory=list)

    def ran(self) -> Traced:
        """The functions of Regard that run while the layer is built."""
        if not self._ran:
            found: Traced = set()
            with traced(found):
                self.build()
            self._ran.append(found)
        return self._ran[0]


def written_test(law: Law, trial: LawTrial, verdict: LawVerdict, recipe: Recipe) -> str:
    """The text of the file."""
    ran: Traced = set(recipe.ran())
    with traced(ran), np.errstate(all="ignore"):
        list(law.compare(trial))
    bundle = Bundle(executed=ran)
    bundle.external("numpy", None, "np")
    findings = bundle.add(law.compare.__module__, law.compare.__name__)
    for name in ("LawTrial", "InputSize"):
        bundle.add("regard.conformance.law", name)
    for name, module in recipe.names.items():
        bundle.add(module, name)
    builder = f"build_{_slug(verdict.layer)}"
    parts = [
        _document(verdict, trial),
        "\n".join(bundle.imports()),
        _builder(builder, recipe),
        _test(f"test_{law.id.lower()}_of_{_slug(verdict.layer)}", law, trial, (builder, findings)),
        _CUT,
        "\n\n\n".join(map(ast.unparse, bundle.definitions())),
    ]
    return "\n\n\n".join(parts) + "\n"


def spec_in_words(spec: Spec) -> str:
    """The spec as Python writes it, without what is usual.

    >>> spec_in_words(Spec(causal=True, num_heads=2))
    'Spec(num_heads=2, num_kv_heads=2, head_width=16, causal=True)'
    """
    told = {f.name: getattr(spec, f.name) for f in fields(Spec) if getattr(spec, f.name) != getattr(Spec(), f.name)}
    return f"Spec({', '.join(f'{name}={value!r}' for name, value in told.items())})"


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "layer"


def _document(verdict: LawVerdict, trial: LawTrial) -> str:
    from regard import __version__

    lines = [
        f"{verdict.law} is broken by {verdict.layer}: {verdict.statement}.",
        "",
        f"{verdict.counterexample or verdict.reason}.",
        *([f"Probably {verdict.diagnosis[0]}."] if verdict.diagnosis else []),
        f"Written by Regard {__version__} with seed {trial.seed}; run it with pytest, Regard is not needed.",
        *([f"With Regard: {verdict.reproduce}"] if verdict.reproduce else []),
    ]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""'


def _builder(name: str, recipe: Recipe) -> str:
    note = f"    {recipe.note}\n" if recipe.note else ""
    return f'def {name}():\n    """The layer on trial."""\n{note}    return {recipe.expression}'


def _test(name: str, law: Law, trial: LawTrial, names: tuple[str, str]) -> str:
    builder, findings = names
    size = f"InputSize(batch={trial.size.batch}, length={trial.size.length})"
    return (
        f"def {name}():\n"
        f'    """{law.statement}."""\n'
        f"    trial = LawTrial(subject={builder}(), size={size}, seed={trial.seed})\n"
        "    with np.errstate(all='ignore'):\n"
        f"        broken = [found for found in {findings}(trial) if found.is_broken]\n"
        "    told = [f'{f.what}: {f.error:.3g}, allowed {f.tolerance:.3g}, at {dict(f.place)}' for f in broken]\n"
        "    assert not broken, '\\n'.join(told)"
    )
