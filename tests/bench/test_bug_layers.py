"""The correct layers are right: each equals attention written out number by number."""

import functools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from bugs.building import LAYERS, build  # noqa: E402


def rotated(vector, position, spec):
    width = spec.rotary_width or len(vector)
    result = [float(number) for number in vector]
    for pair in range(width // 2):
        angle = position * spec.rotary_base ** (-2 * pair / width)
        one, two = (2 * pair, 2 * pair + 1) if spec.rotary_layout == "interleaved" else (pair, pair + width // 2)
        result[one] = vector[one] * math.cos(angle) - vector[two] * math.sin(angle)
        result[two] = vector[one] * math.sin(angle) + vector[two] * math.cos(angle)
    return result


def normed(vector, gain):
    size = math.sqrt(sum(number**2 for number in vector) / len(vector) + 1e-6)
    return [number / size * factor for number, factor in zip(vector, gain, strict=True)]


def projected(vector, matrix, bias):
    result = [sum(vector[row] * matrix[row, column] for row in range(len(vector))) for column in range(matrix.shape[1])]
    return result if bias is None else [number + float(extra) for number, extra in zip(result, bias, strict=True)]


def heads(vector, size):
    return [vector[start : start + size] for start in range(0, len(vector), size)]


class Naive:
    """One sequence, one head, one query, one key at a time, in Python's floats."""

    def __init__(self, subject):
        self.spec, self.at = subject.spec, subject.projections()
        self.extra = self.at.extra or {}

    def tokens(self, x, positions):
        at, spec = self.at, self.spec
        for given, position in zip(x, positions, strict=True):
            place = self.extra["positions"][position] if "positions" in self.extra else [0.0] * spec.width
            token = [float(number) + float(more) for number, more in zip(given, place, strict=True)]
            parts = [(at.query, at.query_bias, "query_norm"), (at.key, at.key_bias, "key_norm")]
            queries, keys = (
                [self.placed(head, position, norm) for head in heads(projected(token, matrix, bias), spec.head_width)]
                for matrix, bias, norm in parts
            )
            yield queries, keys, heads(projected(token, at.value, at.value_bias), spec.head_width)

    def placed(self, head, position, norm):
        head = normed(head, self.extra[norm]) if norm in self.extra else head
        return rotated(head, int(position), self.spec) if self.spec.positions == "rotary" else head

    def is_visible(self, query, key, mask):
        if self.spec.causal and key > query:
            return False
        return mask[key] and not (self.spec.window and query - key >= self.spec.window)

    def logit(self, q, k, head, distance):
        scale = self.spec.scale or 1 / math.sqrt(self.spec.head_width)
        logit = scale * sum(a * b for a, b in zip(q, k, strict=True))
        if self.spec.softcap:
            logit = self.spec.softcap * math.tanh(logit / self.spec.softcap)
        return logit - float(self.extra["slopes"][head]) * distance if "slopes" in self.extra else logit

    def row(self, tokens, query, head, mask):
        kv = head * self.spec.num_kv_heads // self.spec.num_heads
        seen = [key for key in range(len(tokens)) if self.is_visible(query, key, mask)]
        powers = {
            key: math.exp(self.logit(tokens[query][0][head], tokens[key][1][kv], head, query - key)) for key in seen
        }
        if not seen and self.spec.empty == "uniform":
            powers = dict.fromkeys(range(len(tokens)), 1.0)
        total = sum(powers.values()) + (math.exp(self.extra["sinks"][head]) if "sinks" in self.extra else 0)
        weights = [powers.get(key, 0.0) / total if total else 0.0 for key in range(len(tokens))]
        mixed = [sum(weights[key] * tokens[key][2][kv][d] for key in powers) for d in range(self.spec.head_width)]
        return weights, mixed

    def joined(self, row):
        mixed = [number for _, head in row for number in head]
        return projected(mixed, self.at.output, self.at.output_bias)

    def __call__(self, x, mask=None, positions=None):
        batch, length, _ = x.shape
        mask = np.ones((batch, length), bool) if mask is None else mask
        positions = np.tile(np.arange(length), (batch, 1)) if positions is None else positions
        outputs, weights = [], []
        for b in range(batch):
            tokens = list(self.tokens(x[b], positions[b]))
            rows = [[self.row(tokens, q, h, mask[b]) for h in range(self.spec.num_heads)] for q in range(length)]
            outputs.append([self.joined(row) for row in rows])
            weights.append([[rows[q][h][0] for q in range(length)] for h in range(self.spec.num_heads)])
        return np.array(outputs), np.array(weights)


MASKS = {
    "none": None,
    "right": np.array([[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0]], bool),
    "left": np.array([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]], bool),
    "holes": np.array([[1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 0, 0, 1, 1]], bool),
    "empty": np.array([[0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 1]], bool),
}


@pytest.fixture(params=list(LAYERS))
def subject(request):
    return build(request.param).in_dtype("float64")


def tokens(subject, length=7):
    return np.random.default_rng(1).normal(size=(2, length, subject.spec.width))


@functools.cache
def naive(layer, padding):
    subject = build(layer).in_dtype("float64")
    return Naive(subject)(tokens(subject), MASKS[padding])


@pytest.mark.parametrize("padding", list(MASKS))
def test_a_correct_layer_equals_the_naive_one(subject, padding):
    x, mask = tokens(subject), MASKS[padding]
    output, weights = naive(subject.name, padding)
    assert np.abs(subject.call(x, mask=mask) - output).max() < 1e-12
    for call in subject.paths().values():
        assert np.abs(call(x, mask=mask) - output).max() < 1e-12
    if subject.has("returned"):
        assert np.abs(subject.call_with_weights(x, mask=mask)[1] - weights).max() < 1e-12


def test_it_takes_positions(subject):
    if not subject.has("positions"):
        return
    x, positions = tokens(subject), np.array([[0, 1, 2, 3, 4, 5, 6], [3, 4, 9, 11, 12, 20, 21]])
    assert np.abs(subject.call(x, positions=positions) - Naive(subject)(x, positions=positions)[0]).max() < 1e-12


@pytest.mark.parametrize("padding", ["none", "left", "holes"])
@pytest.mark.parametrize("pieces", [(1,) * 7, (3, 4), (5, 1, 1), (2, 1, 4)])
def test_a_cache_changes_nothing(subject, pieces, padding):
    if not subject.has("cache"):
        return
    x, mask = tokens(subject), MASKS[padding]
    cache, outputs, done = subject.empty_cache(2), [], 0
    for size in pieces:
        seen = None if mask is None else mask[:, : done + size]
        output, cache = subject.step(x[:, done : done + size], cache, mask=seen)
        outputs, done = [*outputs, output], done + size
    assert np.abs(np.concatenate(outputs, axis=1) - naive(subject.name, padding)[0]).max() < 1e-12


def test_its_gradient_is_a_difference_quotient(subject):
    rng = np.random.default_rng(2)
    x, (direction, move) = tokens(subject), rng.normal(size=(2, 2, 7, subject.spec.width))
    mask = MASKS["left"]
    slope = (subject.gradient(x, direction, mask=mask) * move).sum()
    ahead, behind = (subject.call(x + sign * 1e-5 * move, mask=mask) for sign in (1, -1))
    assert abs(slope - (direction * (ahead - behind)).sum() / 2e-5) < 1e-6


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(5, 5), (2, 6)])
def test_its_core_is_attention(subject, sizes, causal):
    if not subject.has("core"):
        return
    rng, spec = np.random.default_rng(3), subject.spec
    q = rng.normal(size=(2, spec.num_heads, sizes[0], spec.head_width))
    k, v = rng.normal(size=(2, 2, spec.num_kv_heads, sizes[1], spec.head_width))
    mask = rng.random((2, sizes[1])) < 0.7
    mask[:, 0] = True
    result, naive = subject.core(q, k, v, mask=mask, causal=causal), np.zeros_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        kv = h * spec.num_kv_heads // spec.num_heads
        seen = [j for j in range(sizes[1]) if mask[b, j] and (not causal or j <= i + sizes[1] - sizes[0])]
        powers = np.array([math.exp(q[b, h, i] @ k[b, kv, j] / math.sqrt(spec.head_width)) for j in seen])
        naive[b, h, i] = powers / powers.sum() @ v[b, kv, seen]
    assert np.abs(result - naive).max() < 1e-12


def test_cross_attention_looks_at_another_sequence():
    subject = build("cross").in_dtype("float64")
    x, memory = tokens(subject, 3), tokens(subject, 7) * 1.5
    output = subject.module(torch.tensor(x), memory=torch.tensor(memory), mask=torch.tensor(MASKS["right"]))[0]
    queries = list(Naive(subject).tokens(x[1], range(3)))
    keys = list(Naive(subject).tokens(memory[1], range(7)))
    mixed = []
    for head in range(4):
        powers = [math.exp(np.dot(queries[2][0][head], key[1][head]) / math.sqrt(8)) for key in keys[:3]]
        mixed += list(np.array(powers) / sum(powers) @ [key[2][head] for key in keys[:3]])
    expected = projected(mixed, subject.projections().output, subject.projections().output_bias)
    assert np.abs(output[1, 2].detach().numpy() - expected).max() < 1e-12
