"""The sequences of llama.cpp, through the package llama_cpp: a tiny random model, or any model file."""

import ctypes
import struct
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.conformance.subject import Spec
from regard.core.errors import InputError

_WIDTH, _NUM_HEADS, _NUM_KV_HEADS, _VOCABULARY, _HIDDEN = 32, 4, 2, 99, 64
# The most tokens of all sequences together, and the most sequences.
_CAPACITY, _MOST_SEQUENCES = 2048, 8
_GGUF_TYPES: Mapping[type, tuple[int, str]] = {int: (4, "<I"), float: (6, "<f")}
_STRING, _ALIGNMENT = 8, 32


@dataclass(kw_only=True, eq=False)
class LlamaSequence:
    """A sequence of a context: its number there, how many tokens it has, and whether a fork uses its cells as well."""

    number: int
    length: int = 0
    is_shared: bool = False


class LlamaSequences:
    """A model in llama.cpp as an engine of sequences that share one memory, by llama_memory_seq_cp, _rm and _add.

    Embeddings are decoded instead of tokens. Each copy has a context of its own.
    """

    def __init__(self, model: str, *, num_layers: int = 2) -> None:
        try:
            import llama_cpp
        except ImportError as error:
            raise InputError(f"llama.cpp:{model} needs the package llama-cpp-python: {error}.") from error
        self.library = llama_cpp
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tiny.gguf" if model == "tiny" else Path(model)
            if model == "tiny":
                write_tiny_model(path, num_layers)
            llama_cpp.llama_backend_init()
            self.model = llama_cpp.llama_model_load_from_file(
                str(path).encode(), llama_cpp.llama_model_default_params()
            )
        if not self.model:
            raise InputError(f"llama.cpp cannot load {model}. Give 'tiny' or the path of a GGUF file.")
        depth = num_layers if model == "tiny" else llama_cpp.llama_model_n_layer(self.model)
        self.width, self.num_outputs = llama_cpp.llama_model_n_embd(self.model), _VOCABULARY
        if model != "tiny":
            self.num_outputs = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.spec = Spec(width=self.width, depth=depth, causal=True, positions="rotary")
        self.free_numbers = list(range(_MOST_SEQUENCES))

    def __deepcopy__(self, memo: dict[int, Any]) -> "LlamaSequences":
        other = object.__new__(type(self))
        vars(other).update({name: value for name, value in vars(self).items() if name != "context"})
        other.free_numbers = list(range(_MOST_SEQUENCES))
        return other

    @cached_property
    def context(self) -> Any:
        """A context in float32, whose sequences share one memory."""
        params = self.library.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = _CAPACITY
        params.n_seq_max, params.kv_unified = _MOST_SEQUENCES, True
        params.type_k = params.type_v = params.flash_attn_type = 0
        params.n_threads = params.n_threads_batch = 1
        context = self.library.llama_init_from_model(self.model, params)
        weakref.finalize(self, self.library.llama_free, context)
        return context

    @property
    def memory(self) -> Any:
        """What holds keys and values."""
        return self.library.llama_get_memory(self.context)

    def start(self) -> LlamaSequence:
        """An empty sequence."""
        if not self.free_numbers:
            raise MemoryError
        return LlamaSequence(number=self.free_numbers.pop(0))

    def append(self, seq: LlamaSequence, x: np.ndarray) -> np.ndarray:
        """The logits at the new tokens."""
        count = x.shape[1]
        batch = self.library.llama_batch_init(count, self.width, 1)
        try:
            batch.n_tokens = count
            flat = np.ascontiguousarray(x[0], np.float32)
            ctypes.memmove(batch.embd, flat.ctypes.data, flat.nbytes)
            for place in range(count):
                batch.pos[place], batch.n_seq_id[place] = seq.length + place, 1
                batch.seq_id[place][0], batch.logits[place] = seq.number, 1
            code = self.library.llama_decode(self.context, batch)
        finally:
            self.library.llama_batch_free(batch)
        if code == 1:
            raise MemoryError
        if code:
            raise RuntimeError(f"llama_decode returns {code}")
        seq.length += count
        rows = [self.library.llama_get_logits_ith(self.context, place) for place in range(count)]
        return np.stack([np.ctypeslib.as_array(row, shape=(self.num_outputs,)) for row in rows])[None].copy()

    def fork(self, seq: LlamaSequence) -> LlamaSequence:
        """Another sequence with the same cells."""
        other = self.start()
        self.library.llama_memory_seq_cp(self.memory, seq.number, other.number, -1, -1)
        other.length = seq.length
        seq.is_shared = other.is_shared = True
        return other

    def crop(self, seq: LlamaSequence, length: int) -> None:
        """Without the cells from there on."""
        if not self.library.llama_memory_seq_rm(self.memory, seq.number, length, -1):
            raise NotImplementedError
        seq.length = length

    def reject(self, seq: LlamaSequence, count: int) -> None:
        """Without the last cells."""
        self.crop(seq, seq.length - count)

    def evict(self, seq: LlamaSequence, count: int) -> None:
        """Without the first cells; the others move to their places ("context shift"), and would in all forks."""
        if seq.is_shared or not self.library.llama_memory_can_shift(self.memory):
            raise NotImplementedError
        if not self.library.llama_memory_seq_rm(self.memory, seq.number, 0, count):
            raise NotImplementedError
        self.library.llama_memory_seq_add(self.memory, seq.number, count, -1, -count)
        seq.length -= count

    def reset(self, seq: LlamaSequence) -> None:
        """Without cells."""
        self.crop(seq, 0)

    def release(self, seq: LlamaSequence) -> None:
        """Its number can be used again."""
        self.crop(seq, 0)
        self.free_numbers.append(seq.number)

    def swap_out(self, seq: LlamaSequence) -> tuple[bytes, int]:
        """The saved state."""
        size = self.library.llama_state_seq_get_size(self.context, seq.number)
        data = (ctypes.c_uint8 * size)()
        self.library.llama_state_seq_get_data(self.context, data, size, seq.number)
        length = seq.length
        self.release(seq)
        return bytes(data), length

    def swap_in(self, saved: tuple[bytes, int]) -> LlamaSequence:
        """The state in another sequence."""
        data, length = saved
        seq = self.start()
        given = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        if not self.library.llama_state_seq_set_data(self.context, given, len(data), seq.number):
            raise RuntimeError("llama_state_seq_set_data returns 0")
        seq.length = length
        return seq


def write_tiny_model(path: Path, num_layers: int) -> None:
    """A random Llama without vocabulary, as a GGUF file."""
    values: dict[str, int | float | str] = {
        "general.architecture": "llama",
        "llama.context_length": _CAPACITY,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": num_layers,
        "llama.feed_forward_length": _HIDDEN,
        "llama.attention.head_count": _NUM_HEADS,
        "llama.attention.head_count_kv": _NUM_KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": _WIDTH // _NUM_HEADS,
        "llama.vocab_size": _VOCABULARY,
        "tokenizer.ggml.model": "none",
    }
    shared = _WIDTH // _NUM_HEADS * _NUM_KV_HEADS
    shapes = {"token_embd": (_VOCABULARY, _WIDTH), "output_norm": (_WIDTH,), "output": (_VOCABULARY, _WIDTH)}
    for layer in range(num_layers):
        parts = {
            "attn_norm": (_WIDTH,),
            "ffn_norm": (_WIDTH,),
            "attn_q": (_WIDTH, _WIDTH),
            "attn_k": (shared, _WIDTH),
            "attn_v": (shared, _WIDTH),
            "attn_output": (_WIDTH, _WIDTH),
            "ffn_gate": (_HIDDEN, _WIDTH),
            "ffn_up": (_HIDDEN, _WIDTH),
            "ffn_down": (_WIDTH, _HIDDEN),
        }
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in parts.items()}
    rng = np.random.default_rng(0)
    tensors = {
        f"{name}.weight": (
            np.ones(shape, np.float32)
            if len(shape) == 1
            else (rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32)
        )
        for name, shape in shapes.items()
    }
    path.write_bytes(_gguf(values, tensors))


def _gguf(values: Mapping[str, int | float | str], tensors: Mapping[str, np.ndarray]) -> bytes:
    """GGUF, version 3: values, the places of tensors, tensors in float32."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for name, value in values.items():
        if isinstance(value, str):
            head += _text(name) + struct.pack("<I", _STRING) + _text(value)
        else:
            code, layout = _GGUF_TYPES[type(value)]
            head += _text(name) + struct.pack("<I", code) + struct.pack(layout, value)
    body = b""
    for name, tensor in tensors.items():
        sizes = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(body))
        body += _padded(tensor.tobytes())
    return _padded(head) + body


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
