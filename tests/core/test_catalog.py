import sys
import types

import pytest

from regard.core.catalog import discover


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> types.ModuleType:
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in ("__init__", "pear", "apple", "_hidden"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    package = __import__("shelf")
    yield package
    for name in [name for name in sys.modules if name.split(".")[0] == "shelf"]:
        del sys.modules[name]


def test_every_public_module_is_found_in_alphabetical_order(shelf):
    found = discover(shelf)
    assert list(found) == ["apple", "pear"]
    assert found["pear"].NAME == "pear"


def test_a_new_file_is_a_new_entry_and_no_edit_elsewhere(shelf, tmp_path):
    (tmp_path / "shelf" / "plum.py").write_text("NAME = 'plum'\n")
    assert "plum" in discover(shelf)


def test_a_broken_entry_is_not_passed_over(shelf, tmp_path):
    (tmp_path / "shelf" / "rotten.py").write_text("raise RuntimeError('rotten')\n")
    with pytest.raises(RuntimeError, match="rotten"):
        discover(shelf)
