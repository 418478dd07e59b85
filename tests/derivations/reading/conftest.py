from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[4] / "shared" / "samples"
GOLD = Path(__file__).parents[1] / "set_1"


@pytest.fixture
def samples() -> Path:
    """The folder of the three real documents, which is not part of the repository."""
    if not SAMPLES.is_dir():
        pytest.skip(f"the samples are not at {SAMPLES}")
    return SAMPLES


@pytest.fixture
def gold() -> Path:
    """The folder of the project's own documents."""
    if not GOLD.is_dir():
        pytest.skip(f"the gold documents are not at {GOLD}")
    return GOLD
