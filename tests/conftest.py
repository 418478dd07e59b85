"""Shapes in signatures are executed, random tests are repeatable in CI, and skipped tests are counted."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import settings

from browser_fixtures import browser, opened, violations
from executed_signatures import install

__all__ = ["browser", "opened", "violations"]

# Must come before anything of the package is imported.
install()

# A shell starts what runs in its background deaf to Ctrl-C, which would be handed down to every command that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("anywhere", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "anywhere")

SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python on the package as it stands, in a process of its own: `python("-m", "regard", …)`."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        known = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", **environment}
        command = [sys.executable, *arguments]
        reading = {"encoding": known["PYTHONIOENCODING"].partition(":")[0]}
        return subprocess.run(command, env=known, capture_output=True, text=True, timeout=300, check=False, **reading)

    return run


@pytest.fixture
def run(capsys):
    """Runs a command line in this process and gives its exit code, its output and its complaints."""
    from regard.cli import main

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Signatures are not executed, as in production, so that our own errors can be seen."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"skipped tests: {len(terminalreporter.stats.get('skipped', []))}")
