"""Signatures spell shapes with the words of `axes.py`, and the tests execute them."""

import ast
import re
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

import regard.attention
import regard.positions
from regard.attention import attend
from regard.core.axes import AXES

FILES = sorted(
    file for room in (regard.attention, regard.positions) for file in Path(str(room.__file__)).parent.glob("*.py")
)


def axis_names(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Bool", "Float", "Int", "Real"):
            yield from re.findall(r"[a-z_]+", ast.literal_eval(node.slice.elts[1]))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_axes_come_from_the_vocabulary(file):
    assert set(axis_names(file.read_text(encoding="utf-8"))) <= set(AXES)


def test_the_vocabulary_check_sees_a_stranger():
    assert set(axis_names('def f(x: Float[Array, "*batch seq_len"]): ...')) - set(AXES) == {"seq_len"}


def test_signatures_are_executed():
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(np.ones((2, 4)), np.ones((2, 5)), np.ones((2, 4)))
