"""The whole page, built once by its command, for all tests that open it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def page_path(tmp_path_factory) -> Path:
    """The exported page, built in a separate process because runtime type checks would make it slow."""
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    command = [sys.executable, "-m", "regard", "explore", "--jobs", "1", "--export", str(path)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return path


@pytest.fixture
def show():
    """`show(page, "swing?beta=2")` shows the part in that state, as a link would."""

    def show(page, address: str) -> None:
        page.evaluate("address => { location.hash = address; }", address)
        page.wait_for_selector(f"section#{address.partition('?')[0]}:visible")

    return show
