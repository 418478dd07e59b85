"""What the tests of position codes share."""

from collections.abc import Iterator
from types import ModuleType

import jaxtyping
import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def torch() -> ModuleType:
    return pytest.importorskip("torch", reason="torch is not installed, and tensors are the subject here")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Signatures are not executed, as in production, so that our own errors can be seen."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
