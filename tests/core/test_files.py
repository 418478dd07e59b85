import os
import stat
from pathlib import Path

import pytest

from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically

FULL = Path("/dev/full")


def test_the_file_holds_the_text_and_nothing_else_is_left(tmp_path):
    write_atomically(tmp_path / "out.json", "β\n")
    assert (tmp_path / "out.json").read_bytes() == "β\n".encode()
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    (tmp_path / "usual").write_text("")
    usual = (tmp_path / "usual").stat().st_mode
    write_atomically(tmp_path / "new", "text")
    assert (tmp_path / "new").stat().st_mode == usual
    (tmp_path / "new").chmod(0o640)
    write_atomically(tmp_path / "new", "again")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_failure_half_way_keeps_the_old_file_and_leaves_no_draft(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "out", "half \ud800")
    assert (tmp_path / "out").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders can't be opened here")
def test_what_is_durable_is_on_the_disk_before_it_has_its_name_and_its_name_after(tmp_path, monkeypatch):
    happened = []
    sync, replace = os.fsync, Path.replace
    is_folder = lambda descriptor: stat.S_ISDIR(os.fstat(descriptor).st_mode)  # noqa: E731
    monkeypatch.setattr(os, "fsync", lambda d: (happened.append("folder" if is_folder(d) else "file"), sync(d)))
    monkeypatch.setattr(Path, "replace", lambda draft, target: (happened.append("named"), replace(draft, target)))
    write_atomically(tmp_path / "out", "text", is_durable=True)
    assert happened == ["file", "named", "folder"]
    assert (tmp_path / "out").read_text() == "text"


@pytest.mark.parametrize(
    ("place", "why"),
    [("", "is a directory"), ("no/where", "does not exist"), ("file/below", "does not exist"), ("x" * 300, "too long")],
)
def test_what_cannot_be_written_is_refused_before_and_after(tmp_path, place, why):
    (tmp_path / "file").write_text("")
    for attempt in (ensure_writable, lambda path: write_atomically(path, "text")):
        with pytest.raises(InputError, match=f"(?s)Cannot write .*{why}"):
            attempt(tmp_path / place)
    assert os.listdir(tmp_path) == ["file"]


def test_links_that_lead_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="Cannot write"):
        write_atomically(tmp_path / "a", "text")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="permission denied"):
        ensure_writable(tmp_path / "out")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_device_is_written_to_as_it_stands():
    with pytest.raises(InputError, match="no space left"):
        write_atomically(FULL, "text")
    assert FULL.is_char_device()
