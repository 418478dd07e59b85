"""The page of claims: every claim is there, set in MathML, in HTML that loads nothing."""

from dataclasses import replace

import pytest

from page_checks import Page, check_self_contained
from regard.claims.claims_page import render_claims
from regard.claims.deciding import explain_claims

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
        assert explanation.source in page.text
        assert explanation.verdict.reproduce in page.text
    assert len(page.tags("math")) >= len(explanations)
    assert page.tags("figure")


def test_verdicts_that_are_not_as_they_should_be_are_told(explanations):
    first = explanations[0]
    astray = replace(first, verdict=replace(first.verdict, status="undecided"))
    page = Page(render_claims([astray]))
    assert "1 not as the catalogue expects: average-of-two" in page.text
    assert "the catalogue expects: proved" in page.text


def test_one_claim_is_shown_unfolded(explanations, source):
    alone = render_claims(explanations[:1])
    assert "<details open>" in alone
    assert "<details open>" not in source


def test_rivals_and_evidence_are_all_there(explanations, source):
    text = Page(source).text
    for explanation in explanations:
        for item in explanation.verdict.evidence:
            assert item.route in text
    assert "only one e" in text


def test_what_a_claim_says_stays_text(explanations):
    first = explanations[0]
    hostile = replace(first, derivation="<script>x()</script>", source="<b>", settings={"<i>": 1.0},
                      verdict=replace(first.verdict, statement="a_{<u>}", counterexample="<em>"))  # fmt: skip
    source = render_claims([hostile])
    for tag in ("<script>x", "<i>", "<u>", "<em>"):
        assert tag not in source
