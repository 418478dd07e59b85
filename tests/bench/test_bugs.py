"""The catalog of injected bugs is sound, and the laws catch a sample of it."""

import re

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from bugs.bug import FAMILIES  # noqa: E402
from bugs.building import LAYERS, build  # noqa: E402
from bugs.catalog import all_bugs  # noqa: E402
from bugs.probing import difference_of  # noqa: E402
from bugs.sizes import size_bugs  # noqa: E402

from regard.conformance import all_laws  # noqa: E402
from regard.conformance.judging import check_subject, judge  # noqa: E402

BUGS = all_bugs()
# The oracle sees most of them, so that the others need not be tried.
TELLING_FIRST = {"SPEC": all_laws()["SPEC"], **all_laws()}
CAUGHT = [
    "llama-own-key-hidden",
    "llama-padding-inverted",
    "llama-scale-missing",
    "llama-angles-interleaved",
    "llama-kv-heads-tiled",
    "llama-cache-restarts",
    "llama-dropout-left-on",
    "llama-keys-detached",
    "llama-chunks-start-over",
    "gptj-turned-backwards",
    "gptj-whole-head-turned",
    "gptj-softmax-over-heads",
    "bloom-slopes-reversed",
    "bloom-keys-and-values-swapped",
    "mistral-window-one-more",
    "mistral-seen-is-kept",
    "mistral-mask-added-as-one",
    "encoder-padding-hides-queries",
    "encoder-keys-of-neighbour",
    "encoder-output-over-input",
    "gpt2-cache-fast-path",
    "cross-core-aligned-at-the-top",
    "gemma-cap-missing",
    "gptoss-sinks-transposed",
]


def test_there_are_enough_and_each_has_a_name_of_its_own():
    assert len({bug.id for bug in BUGS}) == len(BUGS) >= 120
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", bug.id) for bug in BUGS)


def test_every_family_and_every_layer_has_bugs():
    assert {bug.family for bug in (*BUGS, *size_bugs())} == FAMILIES
    assert FAMILIES.issuperset(family for bug in BUGS for family in bug.or_family)
    assert {bug.layer for bug in BUGS} == set(LAYERS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_bug_changes_what_the_layer_does_unless_it_is_equivalent(bug):
    assert (difference_of(bug) is None) == bool(bug.is_equivalent)


@pytest.mark.parametrize("layer", list(LAYERS))
@pytest.mark.parametrize("grade", ["spec", "black-box"])
def test_a_correct_layer_raises_no_alarm(layer, grade):
    subject = build(layer) if grade == "spec" else build(layer).as_black_box()
    report = check_subject(subject)
    assert report.ok, report.failures


class LawBroken(Exception):
    """The first failure is enough."""


def stop_at_a_failure(verdict):
    if not verdict.is_as_expected:
        raise LawBroken(verdict.law)


@pytest.mark.parametrize("name", CAUGHT)
def test_a_bug_is_caught(name):
    subject = next(bug for bug in BUGS if bug.id == name).build()
    with pytest.raises(LawBroken):
        check_subject(
            subject, laws=TELLING_FIRST, judge_law=lambda law: judge(law, subject), progress=stop_at_a_failure
        )
