import sys

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import checked_layers
import regard

SPEC = regard.Spec(causal=True, positions="none")

@regard.parametrize_with_laws(
    [("good", checked_layers.lawful, SPEC), ("made", checked_layers.build, SPEC),
     ("leaky", "checked_layers:leaky", SPEC)],
    laws="CAUSAL,DET,PAD", expect={expect},
)
def test_attention(law, subject):
    law(subject)
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))

    def run(*arguments: str, expect: str = "{}"):
        pytester.makepyfile(SUITE.replace("{expect}", expect))
        # Once, whether or not the package is installed with its entry point.
        plain = ("-p", "no:regard", "-p", "_regard_pytest", "--strict-markers", "-p", "no:cacheprovider")
        return pytester.runpytest_subprocess(*plain, *arguments)

    return run


def test_laws_are_tests_with_ids_skips_and_counterexamples(suite):
    result = suite("-rs", "-v")
    result.assert_outcomes(passed=5, failed=1, skipped=3)
    result.stdout.fnmatch_lines(["*good-CAUSAL*PASSED*", "*breaks CAUSAL*", "*counterexample: batch 1*", "*probably*"])
    result.stdout.fnmatch_lines(["*skipped: the layer takes no padding mask*"])


def test_expected_failures_are_strict(suite):
    suite(expect='{"leaky": {"CAUSAL": "issue 12"}}').assert_outcomes(passed=5, xfailed=1, skipped=3)
    suite(expect='{"CAUSAL": "issue 12"}').assert_outcomes(passed=3, failed=2, xfailed=1, skipped=3)


def test_it_works_beside_xdist_and_junit_and_by_marker(suite, pytester):
    result = suite("-n", "2", "--junit-xml=out.xml", "-m", "regard")
    result.assert_outcomes(passed=5, failed=1, skipped=3)
    assert "leaky-CAUSAL" in (pytester.path / "out.xml").read_text(encoding="utf-8")


def test_unknown_laws_are_refused_at_collection(suite):
    result = suite(expect='{"good": {"CAUSE": "x"}}')
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*failure of CAUSE*"])


def test_the_plugin_costs_nothing_when_unused(python):
    loaded = python("-c", "import sys, _regard_pytest; print(*sys.modules)").stdout.split()
    assert "_regard_pytest" in loaded
    assert not {"regard", "numpy", "pytest", "torch"} & set(loaded)
