"""Our own machine code for attention gives what the formula gives, with its gradients, and makes only what is seen."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import regard.training.model
from regard.training.model import attention, packed
from regard.training.model.attention import Frame
from regard.training.model.config import ModelConfig
from regard.training.model.packed import attend_packed, is_packable, seen_tiles

pytest.importorskip("numba")

SCALE = 0.3
CLOSE = {torch.float32: {"rtol": 2e-5, "atol": 2e-5}, torch.bfloat16: {"rtol": 3e-2, "atol": 3e-2}}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


def _heads(*shape: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.randn(shape).to(dtype).requires_grad_() for _ in range(3)]


def _causal_documents(batch: int, length: int, documents: int) -> torch.Tensor:
    """The bias of rows with documents side by side."""
    numbers = torch.randint(documents, (batch, length)).sort().values
    visible = (numbers[:, :, None] == numbers[:, None, :]).tril()
    return torch.zeros(visible.shape).masked_fill_(~visible, -torch.inf)[:, None]


def _packed(heads, bias, dropout=0.0):
    return attend_packed(tuple(heads), bias, seen_tiles(bias), scale=SCALE, dropout=dropout)


def _by_formula(heads, bias, kept=1.0):
    queries, keys, values = (head.double() for head in heads)
    return (torch.softmax(SCALE * queries @ keys.mT + bias.double(), dim=-1) * kept) @ values


def _agree(heads, bias, gradient, kept=1.0, dropout=0.0, seed=0):
    torch.manual_seed(seed)
    mine, truth = _packed(heads, bias, dropout), _by_formula(heads, bias, kept)
    found = [mine, *torch.autograd.grad(mine, heads, gradient)]
    expected = [truth, *torch.autograd.grad(truth, heads, gradient.double())]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other.double(), **CLOSE[heads[0].dtype])


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("documents", [1, 3, 9])
@pytest.mark.parametrize("shape", [(1, 1, 16, 16), (2, 3, 48, 32), (3, 2, 128, 64), (1, 2, 80, 48)])
def test_values_and_gradients_are_those_of_the_formula(shape, documents, dtype):
    bias = _causal_documents(shape[0], shape[2], documents).to(dtype)
    _agree(_heads(*shape, dtype=dtype), bias, torch.randn(shape).to(dtype))


def test_any_mask_will_do_and_each_head_may_have_biases_of_its_own():
    visible = (torch.rand(2, 3, 64, 64) < 0.002) | torch.eye(64, dtype=torch.bool)
    bias = torch.randn(2, 3, 64, 64).masked_fill_(~visible, -torch.inf)
    assert 0.2 < seen_tiles(bias).double().mean() < 0.95
    _agree(_heads(2, 3, 64, 32), bias, torch.randn(2, 3, 64, 32))


def test_a_key_that_nobody_sees_has_no_gradient():
    bias = torch.zeros(1, 1, 48, 48)
    bias[..., 16:32] = -torch.inf
    heads = _heads(1, 2, 48, 16)
    _agree(heads, bias, torch.randn(1, 2, 48, 16))
    _, keys, values = torch.autograd.grad(_packed(heads, bias).square().sum(), heads)
    assert not keys[:, :, 16:32].any()
    assert not values[:, :, 16:32].any()


def test_a_query_that_sees_nothing_gathers_nothing():
    bias = _causal_documents(1, 32, 1)
    bias[..., [0, 5, *range(16, 24)], :] = -torch.inf
    heads = _heads(1, 2, 32, 16)
    made = _packed(heads, bias)
    is_blind = (bias == -torch.inf).all(dim=-1).flatten()
    assert is_blind.sum() == 10
    assert not made[:, :, is_blind].any()
    found = torch.autograd.grad(made, heads, torch.randn_like(made))
    assert all(gradient.isfinite().all() for gradient in found)
    assert not found[0][:, :, is_blind].any()


@pytest.mark.parametrize("size", [1e-3, 30.0, 1e4])
def test_small_and_huge_logits_are_not_lost(size):
    heads = _heads(2, 2, 32, 16)
    with torch.no_grad():
        heads[0].mul_(size)
    bias, gradient = _causal_documents(2, 32, 2), torch.randn(2, 2, 32, 16)
    mine, truth = _packed(heads, bias), _by_formula(heads, bias)
    torch.testing.assert_close(mine.double(), truth, rtol=1e-5, atol=1e-5 * max(1.0, size / 30))
    assert all(found.isfinite().all() for found in torch.autograd.grad(mine, heads, gradient))


def test_heads_may_lie_in_memory_as_they_like():
    joined = torch.randn(2, 32, 9, 16, requires_grad=True)
    heads = [part.transpose(1, 2) for part in joined.split(3, dim=2)]
    _agree(heads, _causal_documents(2, 32, 3), torch.randn(2, 16, 32, 3).permute(0, 3, 2, 1))
    _agree(_heads(2, 3, 32, 16), _causal_documents(2, 32, 3), torch.randn(()).expand(2, 3, 32, 16))


def test_biases_may_lie_in_a_larger_tensor():
    larger = torch.randn(2, 3, 40, 48).requires_grad_(False)
    _agree(_heads(2, 3, 32, 16), larger[:, :, 8:, 16:], torch.randn(2, 3, 32, 16))


def test_a_bias_that_is_no_number_is_seen():
    bias = torch.full((1, 2, 32, 32), -torch.inf)
    bias[..., :16] = 0.0
    bias[0, 0, 3, 20] = torch.nan
    made = _packed(_heads(1, 2, 32, 16), bias)
    assert made[0, 0, 3].isnan().all()
    assert made[0, 1].isfinite().all()


def test_the_default_dtype_does_not_matter():
    before = torch.get_default_dtype()
    heads, bias, gradient = _heads(1, 2, 32, 16), _causal_documents(1, 32, 2), torch.randn(1, 2, 32, 16)
    torch.set_default_dtype(torch.float64)
    try:
        _agree(heads, bias, gradient)
    finally:
        torch.set_default_dtype(before)


def test_what_is_in_no_seen_tile_is_never_read():
    bias = torch.full((1, 1, 64, 64), -torch.inf)
    bias[..., :32, :32] = bias[..., 32:, 32:] = 0.0
    heads = _heads(1, 2, 64, 16)
    with torch.no_grad():
        for head in heads:
            head[:, :, 32:] = torch.nan
    made = _packed(heads, bias)
    assert made[:, :, :32].isfinite().all()
    assert made[:, :, 32:].isnan().all()
    for found in torch.autograd.grad(made[:, :, :32].sum(), heads):
        assert found[:, :, :32].isfinite().all()


@pytest.mark.parametrize("dtype", CLOSE)
def test_numbers_that_are_none_stay_none(dtype):
    heads = _heads(1, 1, 16, 16, dtype=dtype)
    with torch.no_grad():
        heads[1][0, 0, 3, 5] = torch.nan
    made = _packed(heads, _causal_documents(1, 16, 1).to(dtype))
    assert made[0, 0, 3:].isnan().all()
    for found in torch.autograd.grad(made.sum(), heads):
        assert found.isnan().any()


def test_dropout_drops_as_many_as_it_should_and_its_gradients_know_which():
    heads, bias = _heads(4, 8, 64, 64), torch.zeros(4, 1, 64, 64)
    queries, keys, _ = heads
    each = torch.eye(64).expand(4, 8, 64, 64)
    torch.manual_seed(5)
    shares = _packed([queries, keys, each], bias, 0.25).double()
    kept = (shares / _by_formula([queries, keys, each], bias)).round(decimals=4)
    assert set(kept.unique().tolist()) == {0.0, 1.3333}
    dropped = (kept == 0).double()
    # Five standard errors: of all shares, of a head's, and of those that a key or a query has.
    for together in ((), (0, 1), (0, 1, 2), (0, 1, 3)):
        rates = dropped.mean(dim=together) if together else dropped.mean()
        allowed = 5 * (0.25 * 0.75 * rates.numel() / dropped.numel()) ** 0.5
        assert (rates - 0.25).abs().max() < allowed
    _agree(heads, bias, torch.randn(4, 8, 64, 64), (kept > 0) / 0.75, dropout=0.25, seed=5)


def _drops(batch: int, length: int) -> torch.Tensor:
    """1 where a share was dropped, −1 where it was kept, in the order of their numbers."""
    queries, keys, _ = _heads(batch, 1, length, length)
    each = torch.eye(length).expand(batch, 1, length, length)
    shares = _packed([queries, keys, each], torch.zeros(batch, 1, length, length), 0.5)
    return 2.0 * (shares == 0).double().flatten() - 1


def test_shares_are_dropped_independently():
    signs = _drops(32, 128)
    for ahead in (*range(1, 300), *(2**power for power in range(9, 19)), *(number * 2**15 for number in range(1, 16))):
        assert (signs[ahead:] * signs[:-ahead]).mean().abs() < 5 / (len(signs) - ahead) ** 0.5, ahead


def test_draws_of_calls_are_independent():
    drawn = [_drops(8, 128) for _ in range(12)]
    for number, one in enumerate(drawn):
        for other in drawn[:number]:
            assert (one * other).mean().abs() < 5 / len(one) ** 0.5


@pytest.mark.parametrize("which", ["seed", "other_seed"])
def test_either_seed_changes_what_is_dropped(which, monkeypatch):
    heads, bias, chance = _heads(1, 2, 32, 16), _causal_documents(1, 32, 1), packed._chance
    drawn = []
    for change in (0, 1):
        torch.manual_seed(3)
        drawn_chance = chance(0.5)
        changed = drawn_chance._replace(**{which: getattr(drawn_chance, which) ^ np.uint32(change)})
        monkeypatch.setattr(packed, "_chance", lambda _, changed=changed: changed)
        drawn.append(_packed(heads, bias, 0.5))
    assert not torch.equal(*drawn)


def test_draws_follow_pytorchs_seed():
    heads, bias = _heads(1, 2, 32, 16), _causal_documents(1, 32, 1)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(_packed(heads, bias, 0.5))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_powers_are_right_to_two_units_in_the_last_place():
    import numba

    from regard.training.model import vectors

    @numba.njit
    def powers(given, target):
        for place in range(0, len(given), vectors.LANES):
            vectors.store(target, place, vectors.exp(vectors.load(given, place)))

    given = np.linspace(-86.9, 60, 16 * 5000, dtype=np.float32)
    target = np.empty_like(given)
    powers(given, target)
    truth = np.exp(given.astype(np.float64))
    assert (np.abs(target - truth) / np.spacing(truth.astype(np.float32))).max() < 2
    powers(np.array([-88, -1e30, -np.inf, np.nan] * 4, dtype=np.float32), target)
    assert (target[[0, 1, 2]] == 0).all()
    assert np.isnan(target[3])


def test_bfloat16_is_rounded_as_pytorch_rounds_it():
    import numba

    from regard.training.model import vectors

    @numba.njit
    def copy(given, target):
        for place in range(0, len(given), vectors.LANES):
            vectors.store(target, place, vectors.load(given, place))

    given = torch.cat([torch.randn(4084), torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 3.3e38])])
    given = torch.cat([given, 1 + torch.arange(6) * 2**-8])
    target = torch.empty(4096, dtype=torch.bfloat16)
    copy(given.numpy(), target.view(torch.int16).numpy())
    torch.testing.assert_close(target, given.bfloat16(), rtol=0, atol=0, equal_nan=True)
    back = torch.empty(4096)
    copy(target.view(torch.int16).numpy(), back.numpy())
    torch.testing.assert_close(back, target.float(), rtol=0, atol=0, equal_nan=True)


def test_what_machine_code_is_for():
    heads, bias = tuple(_heads(2, 3, 32, 16)), torch.zeros(2, 1, 32, 32)
    queries, keys, values = heads
    assert is_packable(heads, bias)
    assert is_packable(heads, bias.bfloat16())
    assert not is_packable((queries.detach(), keys, values), bias)
    assert not is_packable((queries, keys[:, :, :16], values), bias)
    assert not is_packable((queries, keys, values[..., :8]), bias)
    assert not is_packable((queries, keys.bfloat16(), values), bias)
    assert not is_packable(heads, bias[:1])
    assert not is_packable(heads, bias.double())
    assert not is_packable(heads, bias.clone().requires_grad_())
    assert not is_packable(tuple(each.double() for each in heads), bias)
    assert not is_packable(tuple(each[:0] for each in heads), bias[:0])
    assert not is_packable(tuple(each[:, :, :24] for each in heads), bias)
    assert not is_packable(tuple(each[..., :8] for each in heads), bias)
    assert not is_packable(tuple(each.to("meta") for each in heads), bias)
    torch.set_num_threads(2)
    assert not is_packable(heads, bias)


@pytest.mark.parametrize(("length", "is_served"), [(2032, True), (2048, True), (2064, False)])
def test_rows_may_be_so_long(length, is_served):
    heads = tuple(torch.empty(1, 1, length, 16, requires_grad=True) for _ in range(3))
    assert is_packable(heads, torch.empty(1, 1, length, length)) == is_served


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_layers_use_it_in_training(dropout, monkeypatch):
    layer = attention.SelfAttention(ModelConfig(vocab_size=5, width=32, num_heads=2, num_layers=1, dropout=dropout))
    x, frame = torch.randn(2, 32, 32), Frame(bias=_causal_documents(2, 32, 2))
    calls = []

    def noted(*given, **more):
        calls.append(more["dropout"])
        return attend_packed(*given, **more)

    monkeypatch.setattr(attention, "attend_packed", noted)
    layer(x, frame).sum().backward()
    assert calls == [dropout]
    layer.eval()
    made = layer(x, frame)
    assert calls == [dropout, 0.0]
    with torch.no_grad():
        plain = layer(x, frame)
    assert len(calls) == 2
    torch.testing.assert_close(made, plain)


def _fail_with(error: type[Exception]):
    def fail(**_):
        raise error("it does not work")

    return fail


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_without_a_numba_that_works_pytorch_attends(error, monkeypatch):
    x, frame = torch.randn(2, 32, 32), Frame(bias=_causal_documents(2, 32, 2))
    layer = attention.SelfAttention(ModelConfig(vocab_size=5, width=32, num_heads=2, num_layers=1))
    expected = torch.autograd.grad(layer(x, frame).sum(), list(layer.parameters()))
    packed._code.cache_clear()
    monkeypatch.delattr(regard.training.model, "kernel", raising=False)
    monkeypatch.delitem(sys.modules, "regard.training.model.kernel", raising=False)
    monkeypatch.setattr("numba.njit", _fail_with(error))
    try:
        found = torch.autograd.grad(layer(x, frame).sum(), list(layer.parameters()))
        assert packed._code() is None
    finally:
        packed._code.cache_clear()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_what_is_kept_is_known_by_all_its_sources(monkeypatch):
    from regard.training.model import kernel, kernel_data, vectors

    names = {kernel.attend.py_func.__qualname__}
    for module in (kernel, kernel_data, vectors):
        source = Path(module.__file__)
        read = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path, s=source, r=read: r(path) + b"\n" * (path == s))
        again = importlib.util.module_from_spec(kernel.__spec__)
        kernel.__spec__.loader.exec_module(again)
        monkeypatch.undo()
        names.add(again.attend.py_func.__qualname__)
    assert len(names) == 4


NARROW = """
import llvmlite.binding as binding
features = binding.get_host_cpu_features()
for name in list(features):
    if name.startswith("avx512"):
        features[name] = False
binding.get_host_cpu_features = lambda: features
import torch
from regard.training.model import vectors, packed
assert vectors.LANES == 8
torch.set_num_threads(1)
heads = [torch.randn(2, 2, 48, 16, requires_grad=True) for _ in range(3)]
bias = torch.zeros(2, 1, 48, 48).masked_fill_(torch.ones(48, 48).triu(1).bool(), -torch.inf)
gradient = torch.randn(2, 2, 48, 16)
mine = packed.attend_packed(tuple(heads), bias, packed.seen_tiles(bias), scale=0.3)
truth = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=bias, scale=0.3)
for one, other in zip(torch.autograd.grad(mine, heads, gradient), torch.autograd.grad(truth, heads, gradient)):
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
torch.testing.assert_close(mine, truth, rtol=1e-5, atol=1e-5)
print("narrow vectors agree")
"""


def test_processors_with_narrow_vectors_are_served_too(python, tmp_path):
    done = python("-c", NARROW, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.strip() == "narrow vectors agree", done.stderr


def test_where_numba_is_switched_off_pytorch_attends(python):
    done = python("-c", "from regard.training.model import packed; print(packed._code())", NUMBA_DISABLE_JIT="1")
    assert done.stdout.strip() == "None", done.stderr


def test_numba_is_not_imported_before_it_is_needed(python):
    done = python("-c", "import sys, regard.training.model; print('numba' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr
