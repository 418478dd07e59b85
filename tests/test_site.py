"""The documentation as a site: it builds offline, every link and anchor leads somewhere, and no page loads anything."""

import inspect
import re
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

pytest.importorskip("material", reason="mkdocs-material is not installed")

import click
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import regard
from regard.cli import cli
from regard.conformance.check import CheckOptions

ROOT = Path(__file__).parents[1]
LOADING = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
# Links to other sites that load nothing.
NAMING = {"canonical", "next", "prev"}


class Links(HTMLParser):
    """The ids of a page, its links, and what it loads."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.ids, self.links, self.loaded = {""}, [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {value for name, value in attrs if name in ("id", "name") and value}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADING and given.get(LOADING[tag]) and given.get("rel") not in NAMING:
            self.loaded.append(given[LOADING[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Links]:
    found = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    return {name: Links(path.read_text(encoding="utf-8")) for name, path in found.items() if name != "404.html"}


def test_every_internal_link_leads_to_a_page_and_an_anchor(site, pages):
    broken, followed = [], 0
    for name, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(urljoin(name, link))
            if urlsplit(target).scheme:
                continue
            followed += 1
            is_there = (site / target).is_file()
            if not is_there or (target in pages and unquote(anchor) not in pages[target].ids):
                broken.append(f"{name}: {link}")
    assert not broken
    assert followed > 1000


def test_nothing_is_loaded_from_elsewhere(site, pages):
    loaded = {(name, resource) for name, page in pages.items() for resource in page.loaded}
    assert not [each for each in loaded if urlsplit(each[1]).scheme or each[1].startswith("//")]
    assert not [f"{name}: {each}" for name, each in loaded if not (site / urldefrag(urljoin(name, each))[0]).is_file()]
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles)


def test_every_page_of_the_documentation_is_in_the_navigation(site, pages):
    reached = {urldefrag(link)[0] for link in pages["index.html"].links}
    assert {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")} - reached <= {"index.html"}
    assert {"reference-python.html", "reference-commands.html", "contributing.html"} <= reached


def test_the_reference_has_every_command_option_name_and_argument(site, pages):
    commands, names = (site / f"reference-{name}.html" for name in ("commands", "python"))
    assert {f"regard{name.lower()}" for name in regard.__all__ if name != "__version__"} <= pages[names.name].ids
    listed = commands.read_text(encoding="utf-8")
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert f"regard-{name}" in pages[commands.name].ids
        assert [o for p in command.params for o in p.opts if o.startswith("--") and o not in listed] == []
    explained = names.read_text(encoding="utf-8")
    arguments = {*inspect.signature(regard.check).parameters, *CheckOptions.__annotations__} - {"options"}
    assert [name for name in arguments if f"<code>{name}</code>" not in explained] == []


def test_an_argument_that_nobody_explains_stops_the_build(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(regard.hf, "__doc__", "A factory without a word on its arguments.")
    with pytest.raises(Abort):
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))
    assert "The docstring of regard.hf does not explain class_name" in caplog.text


@pytest.fixture(scope="module")
def address(site):
    """The site on this machine, as a server would give it."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["index.html", "reference-python.html", "json.html"])
def test_a_browser_loads_only_the_site_and_does_not_scroll_sideways(name, width, address, browser):
    page = browser.new_page(viewport={"width": width, "height": 800})
    loaded, said = [], []
    page.on("request", lambda request: loaded.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{address}/{name}", wait_until="networkidle")
    assert not [url for url in loaded if not url.startswith((address, "data:", "blob:"))]
    assert not said
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.close()


def test_the_search_finds_a_command(address, browser):
    page = browser.new_page()
    page.goto(f"{address}/index.html", wait_until="networkidle")
    page.click("input.md-search__input")
    page.keyboard.type("gradescope")
    page.wait_for_selector(".md-search-result__link")
    assert "Points" in page.inner_text(".md-search-result__list")
    page.close()
