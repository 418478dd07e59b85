"""The zoo: large, lazy, and honest about what is known."""

import pytest

from regard.conformance import all_laws
from regard.conformance.adapters import zoo


def test_it_has_forty_public_implementations():
    entries = zoo()
    assert len({name.split(" attention")[0] for name in entries}) >= 40
    assert all(name == entry.name for name, entry in entries.items())


def test_known_failures_are_of_laws_that_exist_and_say_why():
    known = {(law, reason) for entry in zoo().values() for law, reason in entry.expect.items()}
    assert {law for law, _ in known} <= set(all_laws())
    assert all(len(reason) > 20 for _, reason in known)


def test_nothing_is_imported_before_it_is_built(python):
    heavy = "('torch', 'jax', 'transformers', 'keras')"
    then = f"print([n for n in {heavy} if n in sys.modules])"
    code = f"import sys; from regard.conformance.adapters import zoo; zoo(); {then}"
    assert python("-c", code).stdout.strip() == "[]"


def test_every_known_failure_is_documented():
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "zoo.md").read_text(encoding="utf-8")
    known = [(name, law) for name, entry in zoo().items() for law in entry.expect]
    assert [(name, law) for name, law in known if f"`{name}`" not in text or f"`{law}`" not in text] == []


@pytest.mark.parametrize("name", ["torch:MultiheadAttention", "hf:LlamaForCausalLM attention"])
def test_entries_are_built_under_their_names(name: str):
    entry = zoo()[name]
    if not entry.is_installed:
        pytest.skip(f"{entry.package} is not installed")
    assert entry.subject().name == name
