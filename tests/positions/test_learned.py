"""Learned codes: rows of a table, and rows that it does not have."""

import numpy as np
import pytest

from regard.core.errors import InputError
from regard.positions.learned import Learned


def test_rows_are_looked_up_by_position(rng):
    table, x = rng.normal(size=(6, 3)), rng.normal(size=(2, 4, 3))
    placed = Learned(table=table).add(x, np.array([5, 0, 0, 2]))
    np.testing.assert_array_equal(placed, x + table[[5, 0, 0, 2]])
    assert not np.array_equal(placed, x + table[:4])


def test_the_table_does_not_widen_the_result(rng):
    x = rng.normal(size=(2, 3)).astype(np.float32)
    assert Learned(table=np.ones((2, 3))).add(x, np.arange(2)).dtype == np.float32


def test_gradients_reach_the_table(torch):
    table = torch.zeros(3, 2, requires_grad=True)
    Learned(table=table).add(torch.ones(2, 2), torch.tensor([0, 2])).sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("positions", [[0, 6], [-1, 0]])
def test_positions_beyond_the_table_are_refused(positions):
    with pytest.raises(InputError, match="the table has rows 0 to 5"):
        Learned(table=np.ones((6, 3))).add(np.ones((2, 3)), np.array(positions))


@pytest.mark.usefixtures("unchecked")
def test_widths_that_do_not_match_are_refused():
    with pytest.raises(InputError, match="width 4 and the table has width 3"):
        Learned(table=np.ones((6, 3))).add(np.ones((2, 4)), np.arange(2))
