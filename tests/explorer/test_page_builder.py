"""The exported file: its size, what it may load, and what it holds."""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import pytest

from regard.explorer import ExplorerPage

# A claim is a file of its own name; importing them all takes longer than these tests.
CATALOG = {
    path.stem.replace("_", "-") for path in (Path(__file__).parents[2] / "src/regard/claims/catalog").glob("[a-z]*.py")
}
PARTS = ["reading", "copy", "swing", "shuffle", "positions", "verdicts", "sheet"]


@pytest.fixture(scope="module")
def source(page_path) -> str:
    return page_path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def claims(source):
    packed = re.search(r'id="claims-data">([^<]*)<', source)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_page_is_small_and_loads_nothing(source):
    assert len(source.encode("utf-8")) <= 1_000_000
    assert not re.search(r'(?:src|href)="(?!#)', source)
    style = re.search("<style>(.*?)</style>", source, re.DOTALL)[1]
    assert not re.search(r"url\(|@import", style)
    policy = html.unescape(re.search('Security-Policy" content="([^"]*)"', source)[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_every_part_is_there_and_ids_are_unique(source):
    ids = re.findall(r'\sid="([^"]+)"', source)
    assert sorted(ids) == sorted(set(ids))
    assert [name for name in ids if name in PARTS] == PARTS


def test_every_question_has_one_right_answer_and_can_be_skipped(source):
    questions = re.findall(r'<div class="prediction".*?</div>\n<p class="reply"', source, re.DOTALL)
    assert len(questions) == len(PARTS)
    for question in questions:
        assert question.count(" data-right>") == question.count('class="reveal"') == 1


def test_every_claim_has_a_card_with_a_figure_and_a_misconception_its_counterexample(claims):
    assert {claim["id"] for claim in claims} == CATALOG
    assert len(claims) == len(CATALOG)
    for claim in claims:
        assert "<svg viewBox" in claim["card"], f"{claim['id']} has no figure"
        assert ("Counterexample" in claim["card"]) >= claim["isMisconception"]
        assert claim["isMisconception"] == (claim["status"] == "refuted")


def test_links_lead_to_parts_that_are_there_and_set_what_they_have(claims, source):
    markup = source.partition('<script type="module">')[0]
    links = re.findall(r'href="#([^"]+)"', markup + "".join(claim["card"] for claim in claims))
    names = set(re.findall(r'\sname="([^"]+)"', source))
    ids = {claim["id"] for claim in claims}
    for link in map(html.unescape, links):
        part, _, question = link.partition("?")
        assert part in PARTS or part == "main" or part.startswith("icon-"), link
        settings = dict(pair.split("=") for pair in question.split("&") if pair)
        assert set(settings) <= names, link
        assert settings.get("claim", "copy") in ids, link


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    page = ExplorerPage(html='<!doctype html><p title="x">1 < 2</p>', height=500)
    shown = page._repr_html_()
    assert html.unescape(re.search('srcdoc="([^"]*)"', shown)[1]) == page.html
    assert 'height="500"' in shown
    assert len(repr(page)) < 60


def test_the_page_can_be_written(tmp_path):
    path: Path = tmp_path / "page.html"
    ExplorerPage(html="β").write(path)
    assert path.read_text(encoding="utf-8") == "β"
