"""Every law is one file with a statement, suspects and an outlaw that it catches."""

import importlib
import re
from functools import cache

import pytest

from regard.conformance import Law, all_laws
from regard.conformance import laws as catalogue
from regard.conformance.judging import judge
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import CAPABILITIES, Spec
from regard.conformance.verdict import LawVerdict
from regard.core.catalog import discover

LAWS = all_laws()
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


@cache
def on_its_outlaw(name: str) -> LawVerdict:
    return judge(LAWS[name], LAWS[name].broken_example())


def test_the_catalogue_is_this():
    assert sorted(LAWS) == sorted(
        """ALIGN BATCH CACHE CACHEPAD CACHEPURE CAUSAL CONST DET DTYPE EMPTY GAP GRAD JUNK LAYOUT MASKFORCE ONES
        OVERFLOW PACK PAD PATH PERM POSLIVE PREC PREFIX PURE RATES ROWSUM SHIFT SLOPES SMOOTH SPEC SUPPORT""".split()
    )


def test_a_law_stands_in_the_file_of_its_name_and_ids_are_unique():
    files = discover(catalogue)
    assert [module.LAW.id.lower() for module in files.values()] == [*files]
    assert len(LAWS) == len(files)


@each_law
def test_a_law_says_what_it_demands_and_what_usually_breaks_it(law: Law):
    assert law.id.isupper()
    assert len(law.statement.split()) >= 3
    assert not law.statement.endswith(".")
    assert law.suspects
    assert len(set(law.suspects)) == len(law.suspects)
    assert set(law.needs) <= set(CAPABILITIES)
    assert importlib.import_module(f"{catalogue.__name__}.{law.id.lower()}").__doc__


@each_law
def test_an_outlaw_is_caught_by_its_law(law: Law):
    verdict = on_its_outlaw(law.id)
    assert (verdict.outcome, verdict.status) == ("refuted", "refuted"), verdict
    assert verdict.error is not None
    assert verdict.tolerance is not None
    assert not verdict.error <= verdict.tolerance
    assert verdict.diagnosis
    assert verdict.layer == law.broken_example().name != "reference layer"


@each_law
def test_an_outlaw_is_caught_whatever_is_drawn(law: Law):
    caught = [judge(law, law.broken_example(), seed=seed).outcome for seed in range(1, 4)]
    assert caught == ["refuted"] * 3


@each_law
def test_a_counterexample_is_small_and_says_where(law: Law):
    found = re.match(r"batch (\d+), length (\d+)", on_its_outlaw(law.id).counterexample or "")
    assert found is not None
    batch, length = map(int, found.groups())
    assert batch <= law.size.batch
    assert length <= law.size_for(law.broken_example().spec).length


@each_law
def test_what_the_outlaw_breaks_the_honest_layer_of_the_same_spec_keeps(law: Law):
    honest = ReferenceLayer(law.broken_example().spec)
    if honest.has(*law.needs):
        verdict = judge(law, honest)
        assert verdict.outcome in ("holds", "skipped"), verdict


@each_law
def test_a_law_judges_alike_twice(law: Law):
    layer = ReferenceLayer(Spec(causal=True, positions="rotary", num_kv_heads=2))
    assert judge(law, layer, seed=3) == judge(law, layer, seed=3)


@each_law
def test_what_a_layer_lacks_is_said(law: Law):
    class Bare(ReferenceLayer):
        capabilities = frozenset()

    verdict = judge(law, Bare(law.broken_example().spec))
    if law.needs:
        assert verdict.outcome == "skipped"
        assert CAPABILITIES[law.needs[0]][1] in (verdict.reason or "")
