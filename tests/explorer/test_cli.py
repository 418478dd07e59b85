"""`regard explore`: where the page goes, what is said, and what is refused."""

import pytest

from regard.explorer import ExplorerPage, cli, page_builder


@pytest.fixture
def opened(monkeypatch):
    """The page replaced by a short one, and the addresses that a browser would have opened."""
    addresses: list[str] = []
    monkeypatch.setattr(page_builder, "explore", lambda **_: ExplorerPage(html="<!doctype html>"))
    monkeypatch.setattr(cli.webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_page_is_exported_and_nothing_is_opened(run, opened, tmp_path):
    path = tmp_path / "page.html"
    code, said, _ = run("explore", "--export", str(path))
    assert code == 0
    assert said == f"{path}  (0 kB)\n"
    assert path.read_text(encoding="utf-8") == "<!doctype html>"
    assert opened == []


def test_without_a_file_the_page_is_opened_from_a_temporary_place(run, opened, monkeypatch, tmp_path):
    monkeypatch.setattr(cli.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    code, said, _ = run("explore")
    assert code == 0
    assert opened == [(tmp_path / "explore.html").as_uri()]
    assert said.startswith(str(tmp_path / "explore.html"))


def test_no_open_opens_nothing(run, opened, monkeypatch, tmp_path):
    monkeypatch.setattr(cli.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    assert run("explore", "--no-open")[0] == 0
    assert (tmp_path / "explore.html").exists()
    assert opened == []


def test_without_a_browser_it_says_so(run, opened, monkeypatch, tmp_path):
    monkeypatch.setattr(cli.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    monkeypatch.setattr(cli.webbrowser, "open", lambda address: False)
    code, said, _ = run("explore")
    assert code == 0
    assert "No browser could be started" in said


def test_a_place_that_cannot_be_written_is_refused_before_the_work(run, monkeypatch, tmp_path):
    def fail(**_):
        raise AssertionError("the page was built all the same")

    monkeypatch.setattr(page_builder, "explore", fail)
    code, _, complaint = run("explore", "--export", str(tmp_path / "nowhere" / "page.html"))
    assert code == 2
    assert "does not exist" in complaint
