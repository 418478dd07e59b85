"""The page of claims: every claim is there, set in MathML, in HTML that loads nothing."""

from dataclasses import replace

import pytest

from page_checks import Page, check_self_contained
from regard.claims.deciding import explain_claims
from regard.claims.page import render_claims

SOME = "*average*"


@pytest.fixture(scope="module")
def explanations():
    return explain_claims(SOME)


@pytest.fixture(scope="module")
def source(explanations):
    return render_claims(explanations)


def test_the_page_is_valid_and_holds_every_claim(explanations, source):
    page = check_self_contained(source)
    ids = {attributes["id"] for attributes in page.with_attribute("id")}
    for explanation in explanations:
        assert explanation.verdict.id in ids
        assert explanation.claim.source in page.text
        assert explanation.verdict.reproduce in page.text
    assert len(page.tags("math")) >= len(explanations)
    assert len(page.tags("figure")) == len(explanations)


def test_unexpected_verdicts_are_named(explanations):
    first = explanations[0]
    unexpected = replace(first, verdict=replace(first.verdict, status="undecided"))
    page = Page(render_claims([unexpected]))
    assert "1 unexpected verdict: average-of-two" in page.text
    assert "the catalog expects: proved" in page.text


def test_a_single_claim_is_shown_open(explanations, source):
    alone = render_claims(explanations[:1])
    assert '<details class="argument" open>' in alone
    assert '<details class="evidence" open>' in alone
    assert '<details class="argument">' in source
    assert '<details class="argument" open>' not in source


def test_near_misses_and_evidence_are_all_there(explanations, source):
    text = Page(source).text
    for explanation in explanations:
        for item in explanation.verdict.evidence:
            assert item.method in text
    assert "only one e" in text


def test_what_a_claim_says_stays_text(explanations, monkeypatch):
    first = explanations[0]
    claim = replace(first.claim, derivation="<script>x()</script>", source="<b>")
    monkeypatch.setattr("regard.claims.deciding.all_claims", lambda: {claim.id: claim})
    verdict = replace(first.verdict, statement="a_{<u>}", counterexample="<em>")
    hostile = replace(first, settings={"<i>": 1.0}, verdict=verdict)
    source = render_claims([hostile])
    for tag in ("<script>x", "<i>", "<u>", "<em>"):
        assert tag not in source
