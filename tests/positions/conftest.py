"""What the tests of position codes share."""

from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def torch() -> ModuleType:
    return pytest.importorskip("torch", reason="torch is not installed, and tensors are the subject here")
