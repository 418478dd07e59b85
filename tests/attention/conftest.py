"""What the tests of attention share."""

from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def torch() -> ModuleType:
    return pytest.importorskip("torch", reason="torch is not installed, and its own layers are the oracle here")
