"""The zoo: large, lazy, and every known failure documented by code that reproduces it."""

import re
from pathlib import Path

import pytest

from regard.conformance import all_laws
from regard.conformance.adapters import zoo

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "zoo.md").read_text(encoding="utf-8")
_FIRST, *_BLOCKS = re.findall(r"^```python\n(.*?)^```", _DOCUMENT, flags=re.DOTALL | re.MULTILINE)


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
    known = [(name, law) for name, entry in zoo().items() for law in entry.expect]
    assert [(name, law) for name, law in known if f"`{name}`" not in _DOCUMENT or f"`{law}`" not in _DOCUMENT] == []


@pytest.mark.parametrize("name", ["torch:MultiheadAttention", "hf:LlamaForCausalLM attention"])
def test_entries_are_built_under_their_names(name: str):
    entry = zoo()[name]
    if not entry.is_installed:
        pytest.skip(f"{name} is not installed")
    assert entry.subject().name == name


def test_no_block_of_the_document_uses_regard():
    assert not any("regard" in block for block in (_FIRST, *_BLOCKS))


@pytest.mark.parametrize("block", _BLOCKS, ids=re.findall(r"^## (.+?):", _DOCUMENT, flags=re.MULTILINE))
@pytest.mark.filterwarnings("ignore")
def test_a_block_of_the_document_runs_as_it_stands(block: str):
    pytest.importorskip("transformers")
    exec(compile(f"{_FIRST}\n{block}", "docs/zoo.md", "exec"), {})
