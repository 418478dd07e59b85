"""What every position code keeps to, whichever it is."""

from dataclasses import replace

import numpy as np
import pytest

from regard.attention import AttentionRule, attention_weights
from regard.positions import ModelSizes, PositionCode, codes
from regard.positions.learned import Learned
from regard.positions.none import NoPositions
from regard.positions.rotary import Rotary, YarnScaling
from regard.positions.sinusoidal import Sinusoidal
from regard.positions.t5_buckets import T5Buckets

TABLE = np.random.default_rng(1).normal(size=(64, 8))

SIZES = ModelSizes(width=8, head_width=8, num_heads=3, max_length=64)


def trained(code: PositionCode) -> PositionCode:
    """The code with random numbers in its table, if it has one."""
    table = getattr(code, "table", None)
    return code if table is None else replace(code, table=np.random.default_rng(1).normal(size=table.shape))


EXAMPLES = [
    *(trained(code.for_model(SIZES)) for code in codes().values()),
    Rotary(layout="half-split", rotary_dims=4, scaling=YarnScaling(factor=4.0, original_length=64)),
    T5Buckets(table=TABLE[:, :3]),
]
RELATIVE = [code for code in EXAMPLES if type(code).add is PositionCode.add]
ABSOLUTE = [code for code in EXAMPLES if type(code).add is not PositionCode.add]


def weights_of(code, x, positions):
    """Weights of three heads whose queries and keys are the placed embeddings themselves."""
    heads = code.rotate(np.broadcast_to(code.add(x, positions), (3, *x.shape)), positions)
    return attention_weights(heads, heads, rule=AttentionRule(bias=code.bias(positions, positions)))


def test_every_file_is_a_code():
    assert all(issubclass(code, PositionCode) for code in codes().values())


def test_codes_are_frozen_and_keyword_only():
    for code in codes().values():
        assert code.__dataclass_params__.frozen
        with pytest.raises(TypeError):
            code(TABLE)


@pytest.mark.parametrize("code", EXAMPLES, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_shape_and_dtype_are_kept(code, dtype, rng):
    x, positions = rng.normal(size=(2, 5, 8)).astype(dtype), np.arange(5)
    for placed in (code.add(x, positions), code.rotate(x, positions)):
        assert placed.shape == x.shape
        assert placed.dtype == dtype
    assert weights_of(code, x[0], positions).dtype == dtype


@pytest.mark.parametrize("code", RELATIVE, ids=repr)
@pytest.mark.parametrize("shift", [1, 17, 30001])
def test_relative_codes_ignore_a_shift(code, shift, rng):
    x, positions = rng.normal(size=(5, 8)), np.arange(5)
    np.testing.assert_allclose(weights_of(code, x, positions + shift), weights_of(code, x, positions), atol=1e-10)


@pytest.mark.parametrize("code", ABSOLUTE, ids=repr)
def test_absolute_codes_feel_a_shift(code, rng):
    x, positions = rng.normal(size=(5, 8)), np.arange(5)
    assert np.abs(weights_of(code, x, positions + 17) - weights_of(code, x, positions)).max() > 1e-3


@pytest.mark.parametrize("code", [code for code in EXAMPLES if not isinstance(code, NoPositions)], ids=repr)
def test_positions_are_live(code, rng):
    x, positions = rng.normal(size=(5, 8)), np.arange(5)
    shuffled = positions[[3, 1, 0, 4, 2]]
    assert np.abs(weights_of(code, x, shuffled) - weights_of(code, x, positions)).max() > 1e-3
    np.testing.assert_array_equal(weights_of(NoPositions(), x, shuffled), weights_of(NoPositions(), x, positions))


@pytest.mark.parametrize("code", EXAMPLES, ids=repr)
def test_each_row_may_have_positions_of_its_own(code, rng):
    x, positions = rng.normal(size=(2, 5, 8)), np.array([[0, 1, 2, 3, 4], [9, 7, 7, 0, 1]])
    for row in (0, 1):
        np.testing.assert_array_equal(code.add(x, positions)[row], code.add(x[row], positions[row]))
        np.testing.assert_array_equal(code.rotate(x, positions)[row], code.rotate(x[row], positions[row]))
        if (bias := code.bias(positions, positions)) is not None:
            np.testing.assert_array_equal(bias[row], code.bias(positions[row], positions[row]))


@pytest.mark.parametrize("name", ["add", "rotate"])
def test_positions_that_could_be_of_batch_or_of_head_are_refused(name, rng):
    code = {"add": Sinusoidal(), "rotate": Rotary()}[name]
    heads, positions = rng.normal(size=(4, 4, 5, 8)), np.zeros((4, 5), dtype=int)
    with pytest.raises(ValueError, match=r"Positions have shape \(4, 5\)"):
        getattr(code, name)(heads, positions)
    assert getattr(code, name)(heads, positions[:, None]).shape == heads.shape


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("code", [Sinusoidal(), Learned(table=TABLE), Rotary()], ids=repr)
def test_positions_of_another_length_are_refused(code):
    method = code.rotate if isinstance(code, Rotary) else code.add
    with pytest.raises(ValueError, match=r"Positions have shape \(4,\)"):
        method(np.ones((5, 8)), np.arange(4))
    with pytest.raises(ValueError, match="dtype int64"):
        method(np.ones((5, 8), dtype=np.int64), np.arange(5))


@pytest.mark.parametrize("code", EXAMPLES, ids=repr)
def test_tensors_give_the_same_numbers(code, torch, rng):
    x, positions = rng.normal(size=(2, 5, 8)), np.arange(5)
    tensors = replace(code, table=torch.tensor(code.table)) if hasattr(code, "table") else code
    backwards = np.arange(4, -1, -1)[::-1]
    for placed in (torch.tensor(positions), backwards, np.broadcast_to(positions, (5,))):
        np.testing.assert_allclose(tensors.add(torch.tensor(x), placed), code.add(x, positions), rtol=1e-12)
        np.testing.assert_allclose(tensors.rotate(torch.tensor(x), placed), code.rotate(x, positions), atol=1e-12)
    bias = tensors.bias(torch.tensor(positions), torch.tensor(positions))
    assert (bias is None) == (code.bias(positions, positions) is None)
    if bias is not None:
        np.testing.assert_allclose(bias, code.bias(positions, positions), rtol=1e-12)
