"""A small right answer to the homework's programming part, and a way to write it down with one thing changed."""

from pathlib import Path

from regard.conformance.adapters.homework_files import HomeworkPiece, find_pieces
from regard.conformance.homework.child import PieceTask

ATTENTION = r"""
import math

import torch
from torch import nn


def precompute_rotary_emb(dim, max_positions):
    '''Cosines and sines.'''
    rates = torch.pow(10000.0, -torch.arange(0, dim, 2).float() / dim)
    angles = torch.arange(max_positions).float()[:, None] * rates
    return torch.stack([angles.cos(), angles.sin()], dim=-1)


def apply_rotary_emb(x, rope_cache):
    '''Turns pairs.'''
    rows = rope_cache[: x.shape[-2]]
    cos, sin = rows[..., 0], rows[..., 1]
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.rope = config.rope
        if self.rope:
            self.register_buffer("rope_cache", precompute_rotary_emb(config.n_embd // config.n_head, config.block_size))
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.register_buffer("mask", torch.ones(config.block_size, config.block_size).tril().bool())

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        if self.rope:
            q = apply_rotary_emb(q, self.rope_cache)
            k = apply_rotary_emb(k, self.rope_cache)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(~self.mask[:length, :length], -1e10)
        weights = self.attn_drop(torch.softmax(scores, dim=-1))
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.resid_drop(self.proj(mixed))
"""

DATASET = r"""
import random

import torch
from torch.utils.data import Dataset


class CharCorruptionDataset(Dataset):
    def __init__(self, data, block_size):
        self.MASK_CHAR = "\u2047"
        self.PAD_CHAR = "\u25a1"
        characters = [self.PAD_CHAR, self.MASK_CHAR] + sorted(set(data))
        self.stoi = {c: i for i, c in enumerate(characters)}
        self.itos = {i: c for i, c in enumerate(characters)}
        self.vocab_size = len(characters)
        self.block_size = block_size
        self.data = data.split("\n")

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        limit = int(self.block_size * 7 / 8)
        document = self.data[idx][: random.randint(4, limit)]
        size = random.randint(0, len(document) // 2)
        start = random.randint(0, len(document) - size)
        end = start + size
        prefix, masked, suffix = document[:start], document[start:end], document[end:]
        text = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked
        text = text + self.PAD_CHAR * (self.block_size + 1 - len(text))
        numbers = [self.stoi[c] for c in text]
        return torch.tensor(numbers[:-1], dtype=torch.long), torch.tensor(numbers[1:], dtype=torch.long)
"""


def write_homework(folder: Path, *, attention: str = ATTENTION, dataset: str = DATASET) -> Path:
    """The folder with src/attention.py and src/dataset.py in it."""
    source = folder / "src"
    source.mkdir(parents=True, exist_ok=True)
    (source / "attention.py").write_text(attention, encoding="utf-8")
    (source / "dataset.py").write_text(dataset, encoding="utf-8")
    return folder


def changed(text: str, old: str, new: str) -> str:
    """The text with every `old` replaced, of which there must be one at least."""
    assert old in text, old
    return text.replace(old, new)


def task_for(folder: Path, name: str, *, seed: int = 0, rope: bool = False) -> PieceTask:
    """One piece of a folder to be judged."""
    found = find_pieces("cs224n-a4", str(folder))
    piece = found.found[name]
    assert isinstance(piece, HomeworkPiece)
    return PieceTask(piece=piece, root=found.root, seed=seed, rope=rope)
