"""Written tests fail where the layer is broken and pass where it is mended, with Regard out of reach."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import checked_layers
import regard
from regard.conformance import all_laws
from regard.conformance.standalone import Bundle, merged, traced

TORCH_LAYER = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, ahead={ahead}, heads=4):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(32, 32) for _ in range(4))
        self.ahead, self.heads = ahead, heads

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (part(x).view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in (self.q_proj, self.k_proj, self.v_proj))
        seen = torch.ones(length, length, dtype=torch.bool).tril(self.ahead)[None, None]
        seen = seen if mask is None else seen & mask[:, None, None, :]
        z = (q @ k.transpose(-1, -2)) / (width // self.heads) ** 0.5
        z = z.masked_fill(~seen, torch.finfo(z.dtype).min)
        return self.o_proj((z.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""
NUMPY_LAYER = Path(checked_layers.__file__).read_text(encoding="utf-8")


@pytest.fixture
def pytest_without_regard(tmp_path):
    """Runs a test file where importing Regard, or what only Regard needs, is an error."""
    for name in ("regard", "array_api_compat", "flint", "rich", "click"):
        package = tmp_path / "blocked" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"raise ImportError('{name} is out of reach')\n", encoding="utf-8")

    def run(*files: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:jaxtyping", *files]
        known = {**os.environ, "PYTHONPATH": f"{tmp_path / 'blocked'}:{tmp_path}", "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            command, env=known, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )

    return run


def failures_of(tmp_path, monkeypatch, module, source, laws=None):
    (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = "Attention" if "Attention" in source else "leaky"
    report = regard.check(f"{module}:{name}", regard.Spec(causal=True, positions="none"), laws=laws)
    return [verdict for verdict in report.verdicts if verdict.reproduction]


def test_every_failure_of_a_torch_layer_is_a_test_that_stands_alone(tmp_path, monkeypatch, pytest_without_regard):
    pytest.importorskip("torch")
    found = failures_of(tmp_path, monkeypatch, "my_torch_layer", TORCH_LAYER.format(ahead=1))
    assert {"CAUSAL", "PREFIX", "SUPPORT", "SPEC", "GRAD"} <= {verdict.law for verdict in found}
    (tmp_path / "test_all.py").write_text(merged([verdict.reproduction for verdict in found]), encoding="utf-8")
    (tmp_path / "test_one.py").write_text(found[0].reproduction, encoding="utf-8")
    broken = pytest_without_regard("test_all.py", "test_one.py")
    assert f"{len(found) + 1} failed" in broken.stdout, broken.stdout[-3000:]
    assert broken.stdout.count("AssertionError: ") >= len(found) + 1
    (tmp_path / "my_torch_layer.py").write_text(TORCH_LAYER.format(ahead=0), encoding="utf-8")
    mended = pytest_without_regard("test_all.py", "test_one.py")
    assert f"{len(found) + 1} passed" in mended.stdout, mended.stdout[-3000:]


def test_a_numpy_function_needs_no_torch(tmp_path, monkeypatch, pytest_without_regard):
    found = failures_of(tmp_path, monkeypatch, "my_numpy_layer", NUMPY_LAYER, laws="CAUSAL,PREFIX")
    texts = [verdict.reproduction for verdict in found]
    assert not any("\nimport torch" in text for text in texts)
    (tmp_path / "test_numpy.py").write_text(merged(texts), encoding="utf-8")
    assert "2 failed" in pytest_without_regard("test_numpy.py").stdout
    mended = NUMPY_LAYER.replace(", dtype=bool), 2))", ", dtype=bool), 1))")
    (tmp_path / "my_numpy_layer.py").write_text(mended, encoding="utf-8")
    assert "2 passed" in pytest_without_regard("test_numpy.py").stdout


@pytest.mark.parametrize("law", all_laws().values(), ids=list(all_laws()))
def test_the_comparison_of_every_law_can_be_cut_out(law):
    bundle = Bundle(executed=set())
    name = bundle.add(law.compare.__module__, law.compare.__name__)
    space: dict = {}
    import ast

    text = "\n".join([*bundle.imports(), *map(ast.unparse, bundle.definitions())])
    assert "regard" not in "\n".join(bundle.imports())
    exec(compile(text, law.id, "exec"), space)
    assert callable(space[name])


def test_only_calls_inside_the_block_are_traced():
    found: set = set()
    with traced(found, "checked_layers"):
        checked_layers.build()
    checked_layers.made = checked_layers.build
    assert found == {("checked_layers", "build")}


def test_an_object_of_this_process_leaves_a_gap_to_fill():
    report = regard.check(checked_layers.leaky, regard.Spec(causal=True), laws="CAUSAL")
    assert "Say here how your layer is built" in report.failures[0].reproduction
