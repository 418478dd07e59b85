"""Written tests fail while the layer is broken, pass once it is mended, and stay short."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import checked_layers
import regard

TORCH_LAYER = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, heads=4, scale=None):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(32, 32) for _ in range(4))
        self.heads, self.scale = heads, scale

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (part(x).view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in (self.q_proj, self.k_proj, self.v_proj))
        seen = torch.ones(length, length, dtype=torch.bool).tril(1)[None, None]
        seen = seen if mask is None else seen & mask[:, None, None, :]
        z = (q @ k.transpose(-1, -2)) * (self.scale or (width // self.heads) ** -0.5)
        z = z.masked_fill(~seen, torch.finfo(z.dtype).min)
        return self.o_proj((z.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""
NUMPY_LAYER = Path(checked_layers.__file__).read_text(encoding="utf-8")
SPEC = "causal,positions=none"


@pytest.fixture
def run_here(tmp_path):
    """Runs a Python module in the folder of the test."""

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), *sys.path])
        known = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, "-m", *command],
            env=known,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def outcomes(finished):
    """The last line of pytest without its time."""
    return finished.stdout.strip().splitlines()[-1].rpartition(" in ")[0]


PYTEST = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:jaxtyping", "test_layer.py")


def test_the_failures_of_a_torch_class_in_a_file_become_tests(tmp_path, run_here):
    pytest.importorskip("torch")
    layer = tmp_path / "layer.py"
    layer.write_text(TORCH_LAYER, encoding="utf-8")
    laws = "CAUSAL,PREFIX,SPEC,DET"
    asked = ("--arg", "heads=2", "--spec", f"{SPEC},num_heads=2", "--laws", laws, "--seed", "3")
    assert run_here("regard", "check", "layer.py:Attention", *asked, "--write-test", "test_layer.py").returncode == 1
    text = (tmp_path / "test_layer.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert 'arguments={"heads": "2"}' in text
    broken = run_here(*PYTEST)
    assert outcomes(broken) == "3 failed", broken.stdout
    assert "AssertionError: CAUSAL: batch 1" in broken.stdout
    layer.write_text(TORCH_LAYER.replace("tril(1)", "tril(0)"), encoding="utf-8")
    mended = run_here(*PYTEST)
    assert outcomes(mended) == "3 passed", mended.stdout


def test_every_layer_gets_a_test_of_its_own(tmp_path, run_here):
    (tmp_path / "mine.py").write_text(NUMPY_LAYER, encoding="utf-8")
    targets = ("mine:leaky", "mine:is_nan", "mine:lawful")
    run_here("regard", "check", *targets, "--spec", SPEC, "--laws", "CAUSAL,OVERFLOW", "--write-test", "test_layer.py")
    text = (tmp_path / "test_layer.py").read_text(encoding="utf-8")
    assert text.count("def test_") == 2
    assert outcomes(run_here(*PYTEST)) == "2 failed"
    mended = NUMPY_LAYER.replace(", dtype=bool), 2))", ", dtype=bool), 1))").replace("* np.nan", "* 1")
    (tmp_path / "mine.py").write_text(mended, encoding="utf-8")
    assert outcomes(run_here(*PYTEST)) == "2 passed"


@pytest.mark.parametrize(
    ("target", "arguments", "laws"),
    [
        ("torch:MultiheadAttention", {"num_heads": "2"}, "EMPTY"),
        ("hf:OPTForCausalLM", {"ffn_dim": "64", "word_embed_proj_dim": "32"}, "PACK"),
    ],
)
def test_known_failures_of_torch_and_hugging_face_can_be_reproduced(target, arguments, laws):
    pytest.importorskip("transformers")
    [verdict] = regard.check(target, laws=laws, arguments=arguments).verdicts
    written: dict[str, Any] = {}
    exec(verdict.reproduction, written)
    [test] = (value for name, value in written.items() if name.startswith("test_"))
    with pytest.raises(AssertionError, match=f"^{laws}: "):
        test(laws)


def test_an_importable_function_is_imported_and_another_object_is_left_to_be_filled_in():
    [verdict] = regard.check(checked_layers.leaky, regard.Spec(causal=True), laws="CAUSAL").verdicts
    assert "from checked_layers import leaky" in verdict.reproduction
    [verdict] = regard.check(lambda x: checked_layers.leaky(x) * 1, regard.Spec(causal=True), laws="CAUSAL").verdicts
    assert "layer = ...  # Build the layer here." in verdict.reproduction
    compile(verdict.reproduction, "test_layer.py", "exec")


def test_what_was_inferred_is_inferred_again(tmp_path, run_here):
    (tmp_path / "mine.py").write_text(NUMPY_LAYER, encoding="utf-8")
    run_here("regard", "check", "mine:is_nan", "--infer", "--laws", "OVERFLOW,DET", "--write-test", "test_layer.py")
    assert "infer=True" in (tmp_path / "test_layer.py").read_text(encoding="utf-8")
