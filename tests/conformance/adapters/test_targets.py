"""Targets by name: what is found, and one clear line for what is not."""

import sys
from pathlib import Path

import pytest

import checked_layers
from regard.conformance.adapters import call_factory, load
from regard.conformance.adapters.targets import literal
from regard.core.errors import InputError


def test_arguments_are_read_as_literals_and_never_evaluated():
    read = {"3": 3, "0.5": 0.5, "yes": True, "None": None, "[1, 2]": [1, 2], "rotary": "rotary"}
    assert {text: literal(text) for text in read} == read
    assert literal("__import__('os').getcwd()") == "__import__('os').getcwd()"


def test_a_factory_in_a_file_is_called_with_the_arguments(tmp_path: Path):
    file = tmp_path / "mine.py"
    lines = (
        "def build(width=1, kind='a'):",
        "    return (width, kind)",
        "def layer(x):",
        "    return x",
        "table = {'a': 1}",
    )
    file.write_text("\n".join(lines))
    assert load(f"{file}:build", {"width": "64", "kind": "b"}) == (64, "b")
    assert load(f"{file}:build") == (1, "a")
    assert load(f"{file}:layer")(3) == 3
    assert load(f"{file}:table") == {"a": 1}
    with pytest.raises(InputError, match="instance"):
        load(f"{file}:table", {"width": "3"})


def test_a_module_is_imported_by_its_name():
    assert load("regard.conformance.subject:Spec", {"width": "64"}).width == 64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "names no target"),
        (":name", "names no target"),
        ("no.such.package:layer", "cannot be imported"),
        ("regard.conformance.subject:Nothing", "has no Nothing"),
        ("regard.conformance.subject:Sepc", "Did you mean 'Spec'?"),
        ("no/such/file.py:layer", "There is no file"),
        ("regard.conformance.subject:Spec", "could not be made with width='wide'"),
    ],
)
def test_errors_are_one_clear_line(text: str, words: str):
    arguments = {"width": "wide"} if words.startswith("could") else {}
    with pytest.raises(InputError) as caught:
        load(text, arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_imported_is_one_line(tmp_path: Path):
    file = tmp_path / "bad.py"
    file.write_text("raise RuntimeError('first\\nsecond')\n")
    with pytest.raises(InputError, match=r"bad.py cannot be imported: RuntimeError: first$"):
        load(f"{file}:layer")


def test_a_file_says_by_its_own_name_what_it_lacks_or_needs(tmp_path: Path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("def layer(): ...\n")
    with pytest.raises(InputError) as caught:
        load(f"{file}:layr")
    assert str(caught.value) == f"{file} has no layr. Did you mean 'layer'?"
    file.write_text("import torch.nn\n")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"mine.py cannot be imported: .* Run: pip install 'regard\[torch\]'\.$"):
        load(f"{file}:layer")


def test_unknown_torch_and_hugging_face_names_say_what_to_do():
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="Give one of MultiheadAttention"):
        load("torch:Nothing")
    with pytest.raises(InputError, match="takes no arguments"):
        load("torch:scaled_dot_product_attention", {"scale": "2"})
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match="has no NothingForCausalLM"):
        load("hf:NothingForCausalLM")
    with pytest.raises(InputError, match="no part 'head'"):
        load("hf:LlamaForCausalLM", {"part": "head"})


def test_factories_are_called_and_layers_are_not():
    assert call_factory(checked_layers.lawful, {}) is checked_layers.lawful
    assert call_factory(checked_layers.build, {}) is checked_layers.lawful
    assert call_factory(checked_layers.build, {"kind": "leaky"}) is checked_layers.leaky


def test_a_factory_that_fails_says_with_what_it_was_called():
    with pytest.raises(InputError, match="'never_built' could not be made with no arguments: RuntimeError: no weights"):
        call_factory(checked_layers.never_built, {})


@pytest.mark.parametrize(
    ("package", "target", "extra"),
    [("torch", "torch:MultiheadAttention", "torch"), ("transformers", "hf:LlamaForCausalLM", "hf")],
)
def test_a_framework_that_is_not_installed_is_named_with_what_to_install(monkeypatch, package, target, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"This needs {package}, .* pip install 'regard\[{extra}\]'"):
        load(target)
