"""Regard's plugin for pytest. It registers a marker; `regard.parametrize_with_laws` does the work where it is used."""

from typing import Any


def pytest_configure(config: Any) -> None:
    """Tests made by `parametrize_with_laws` are marked, so that `pytest -m regard` selects them."""
    config.addinivalue_line("markers", "regard: a law of attention tried on a layer (regard.parametrize_with_laws)")
