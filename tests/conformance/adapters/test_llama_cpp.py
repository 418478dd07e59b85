"""Sequences of llama.cpp, where the package is installed, and the model file that is written for them."""

import sys

import numpy as np
import pytest

import regard
from regard.conformance.adapters.llama_cpp import LlamaSequences, write_tiny_model


def test_without_the_package_the_way_to_get_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(regard.InputError, match="needs the package llama-cpp-python"):
        LlamaSequences("tiny")


def test_a_model_file_has_aligned_tensors(tmp_path):
    path = tmp_path / "tiny.gguf"
    write_tiny_model(path, 1)
    data = path.read_bytes()
    assert data[:8] == b"GGUF\x03\x00\x00\x00"
    num_tensors = int.from_bytes(data[8:16], "little")
    sizes = {"vectors": 3 * 32, "tables": 2 * 99 * 32, "attention": 2 * 32 * 32 + 2 * 16 * 32, "hidden": 3 * 64 * 32}
    assert num_tensors == 12
    body = np.frombuffer(data[-4 * sum(sizes.values()) :], np.float32)
    assert np.isfinite(body).all()
    assert 0.1 < body.std() < 0.3
    assert len(data) % 32 == 0


@pytest.mark.parametrize(("num_layers", "laws"), [(1, "CACHE,CROP,EVICT,FORK,REJECT,REUSE"), (2, "SWAP,TRACE")])
def test_sequences_of_llama_cpp_break_nothing(num_layers, laws):
    pytest.importorskip("llama_cpp")
    report = regard.check("llama.cpp:tiny", laws=laws, traces=3, arguments={"num_layers": num_layers})
    assert report.ok
    assert report.counts["holds"] == len(laws.split(","))
