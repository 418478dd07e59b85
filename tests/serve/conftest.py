"""A running `regard serve` for the tests that need more than a test client."""

import signal
from collections.abc import Iterator

import pytest

from serve.server_process import address_of, started


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server, with its token; Ctrl-C must end it without a word."""
    server = started("--jobs", "1")
    yield address_of(server)
    server.send_signal(signal.SIGINT)
    _, complaints = server.communicate(timeout=20)
    assert (server.returncode, complaints) == (0, "")
