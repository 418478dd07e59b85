import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import checked_layers
import regard
from regard.conformance.isolation import CheckLimits
from regard.conformance.requests import CheckRequest, importable_name
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis, LawVerdict
from regard.core.verdict import Place
from waiting import comes_true, ends, lives

CAUSAL = Spec(causal=True, positions="none")
QUICK = ("CAUSAL", "DET", "PREFIX")


def outcomes(report):
    return {verdict.law: verdict.outcome for verdict in report.verdicts}


def isolated(kind, *, laws=QUICK, **limits):
    chosen = CheckLimits(**{"seconds": 60.0, **limits})
    return regard.check("checked_layers:build", CAUSAL, laws=laws, arguments={"kind": kind}, name=kind, limits=chosen)


def test_a_lawful_layer_passes_here():
    report = regard.check(checked_layers.lawful, CAUSAL, laws=QUICK)
    assert report.ok
    assert outcomes(report) == dict.fromkeys(QUICK, "holds")
    report.raise_for_failures()
    report.require(QUICK)


def test_a_leaky_layer_is_refuted_with_all_that_teaches():
    report = regard.check(checked_layers.leaky, CAUSAL, laws=QUICK)
    failure = report.failures[0]
    assert (failure.law, failure.outcome) == ("CAUSAL", "refuted")
    assert failure.error > failure.tolerance == 0
    assert "length 2" in failure.counterexample
    assert failure.diagnosis
    assert "regard.check(\n        leaky,\n" in failure.reproduction
    with pytest.raises(regard.LawsBroken, match="CAUSAL"):
        report.raise_for_failures()


def test_expected_failures_are_told_apart_and_an_unexpected_pass_is_a_failure():
    report = regard.check(checked_layers.leaky, CAUSAL, laws=QUICK, expect={"CAUSAL": "issue 12", "DET": "flaky"})
    assert outcomes(report)["CAUSAL"] == "expected failure"
    assert outcomes(report)["DET"] == "unexpected pass"
    assert [verdict.law for verdict in report.failures] == ["DET", "PREFIX"]


def test_every_report_states_its_grade_and_what_it_cannot_see():
    report = regard.check(checked_layers.lawful, CAUSAL, laws=QUICK)
    assert report.grade == "black-box"
    assert any("scale" in spot for spot in report.blind_to)


def test_laws_that_cannot_be_tried_say_what_is_missing():
    report = regard.check(checked_layers.lawful, CAUSAL, laws="PAD,CACHE")
    assert {verdict.outcome for verdict in report.verdicts} == {"skipped"}
    assert [verdict.reason for verdict in report.verdicts] == [
        "the layer takes no padding mask",
        "the layer has no cache",
    ]
    with pytest.raises(regard.LawsBroken, match="required but did not run"):
        report.require(["PAD"])


@pytest.mark.parametrize("arguments", [{"laws": "CAUSE"}, {"expect": {"CAUSE": "x"}}, {"seed": -1}])
def test_bad_requests_are_refused(arguments):
    with pytest.raises(regard.InputError):
        regard.check(checked_layers.lawful, CAUSAL, **arguments)


def test_a_name_is_checked_in_a_process_of_its_own():
    report = isolated("lawful")
    assert report.ok
    assert report.layer == "lawful"
    assert report.spec["causal"] is True


def test_what_a_layer_prints_disturbs_nobody(capfd):
    assert isolated("talks", laws=("DET",)).ok
    assert "chatter" not in "".join(capfd.readouterr())


def test_a_process_that_ends_is_a_verdict_and_the_rest_goes_on():
    report = isolated("exits", laws=("CAUSAL", "PAD"))
    assert outcomes(report) == {"CAUSAL": "crashed", "PAD": "skipped"}
    assert "exit code 7" in report.failures[0].reason


def test_a_segmentation_fault_is_named():
    [verdict] = isolated("segfaults", laws=("CAUSAL",)).verdicts
    assert verdict.outcome == "crashed"
    assert "SIGSEGV" in verdict.reason


def test_a_hang_is_a_verdict_within_its_time():
    started = time.monotonic()
    report = isolated("hangs", laws=("CAUSAL", "PREFIX", "PURE"), seconds=4.0)
    assert outcomes(report) == {"CAUSAL": "holds", "PREFIX": "timed out", "PURE": "holds"}
    assert time.monotonic() - started < 60


def test_too_much_memory_is_a_verdict():
    [verdict] = isolated("eats_memory", laws=("CAUSAL",), memory=1.0).verdicts
    assert verdict.outcome == "crashed"
    assert "MemoryError" in verdict.reason


@pytest.mark.parametrize(
    ("kind", "expected"), [("is_nan", "refuted"), ("has_wrong_shape", "refuted"), ("raises", "crashed")]
)
def test_nonsense_never_passes(kind, expected):
    report = regard.check(checked_layers.build(kind), CAUSAL, laws="DTYPE,OVERFLOW,BATCH")
    assert expected in outcomes(report).values()
    assert not report.ok


def test_a_raised_error_is_told_with_its_place():
    [verdict] = regard.check(checked_layers.raises, CAUSAL, laws="CAUSAL").verdicts
    assert "KeyError" in verdict.reason
    assert "checked_layers.py" in verdict.reason


def test_a_layer_that_dies_while_it_is_built_has_one_verdict():
    [verdict] = regard.check("checked_layers:dies_while_built", laws=QUICK).verdicts
    assert (verdict.id, verdict.outcome) == ("BUILD", "crashed")
    assert "exit code 3" in verdict.reason


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="whether a process runs is read from /proc")
def test_a_layer_that_hangs_does_not_outlive_who_checks_it(tmp_path):
    told = tmp_path / "pid"
    source = tmp_path / "layer.py"
    noting = f"pathlib.Path({str(told)!r}).write_text(str(os.getpid()))"
    source.write_text(f"import os, pathlib\n\ndef hang(x):\n    {noting}\n    while True: pass\n")
    checker = subprocess.Popen([sys.executable, "-m", "regard", "check", f"{source}:hang", "--spec", "causal"])
    assert comes_true(told.exists, seconds=60)
    assert comes_true(lambda: told.read_text() != "", seconds=5)
    assert lives(int(told.read_text()))
    checker.kill()
    checker.wait()
    assert ends(int(told.read_text()))


def test_a_layer_that_hangs_in_its_first_call_is_given_up_soon():
    started = time.monotonic()
    report = regard.check("checked_layers:always_hangs", CAUSAL, laws="CAUSAL,DET", limits=CheckLimits(seconds=0.5))
    [verdict] = report.verdicts
    assert (verdict.id, verdict.outcome) == ("BUILD", "timed out")
    assert verdict.reason.startswith("while it was built and called for the first time: it took longer than the 10 s")
    assert time.monotonic() - started < 60
    assert verdict.reproduce == "regard check checked_layers:always_hangs --spec causal=True,positions=none --seed 0"
    assert (report.spec["causal"], report.spec["positions"]) == (True, "none")


@pytest.mark.parametrize(("seconds", "allowed"), [(1.0, 10.0), (5.0, 20.0), (30.0, 120.0), (300.0, 120.0)])
def test_first_calls_have_the_time_of_four_laws(seconds, allowed):
    limits = CheckLimits(seconds=seconds)
    assert limits.before_laws("first calls") == allowed
    assert limits.before_laws("import") == limits.before_laws("probing") == 120.0


@pytest.mark.parametrize("target", ["checked_layers:nothing", "no_such_package:build", "neither"])
def test_a_name_that_names_nothing_is_refused(target):
    with pytest.raises(regard.InputError):
        regard.check(target, laws=QUICK)


def test_a_function_can_be_isolated_on_request():
    report = regard.check(checked_layers.leaky, CAUSAL, laws="CAUSAL", isolate=True)
    assert report.failures[0].reproduce == (
        "regard check checked_layers:leaky --spec causal=True,positions=none --laws CAUSAL --seed 0"
    )


CLASS = "conformance.adapters.causal_self_attention:CausalSelfAttention"


@pytest.mark.parametrize("spec", [None, Spec(num_heads=4, num_kv_heads=2, causal=True, positions="rotary")])
def test_an_isolated_layer_is_found_out_like_any_other(spec):
    from conformance.adapters.causal_self_attention import CausalSelfAttention

    laws = ("CAUSAL", "DET", "SPEC")
    here = regard.check(CausalSelfAttention, spec, laws=laws, lengths=())
    there = regard.check(CLASS, spec, laws=laws, lengths=(), limits=CheckLimits(seconds=60.0))
    assert outcomes(there) == outcomes(here) == dict.fromkeys(laws, "holds")
    assert there.findings == here.findings
    assert there.spec == here.spec
    assert "width" in {finding.name for finding in there.findings}


def test_only_what_can_be_imported_can_be_isolated():
    assert importable_name(checked_layers.leaky) == "checked_layers:leaky"
    assert importable_name(lambda x: x) is None
    with pytest.raises(regard.InputError, match="top level"):
        regard.check(lambda x: x, isolate=True)


def test_requests_survive_the_way_to_another_process():
    request = CheckRequest(target="a:b", arguments={"n": "1"}, spec=CAUSAL, laws=("DET",), expect={"PAD": "x"}, seed=3)
    assert CheckRequest.from_dict(json.loads(json.dumps(request.to_dict()))) == request
    assert request.command("PAD").endswith("--laws PAD --seed 3")


def test_a_command_repeats_a_spec_whose_heads_do_not_divide_its_width():
    request = CheckRequest(target="a:b", spec=Spec(width=30, num_heads=4, head_width=8))
    assert "--spec width=30,head_width=8 " in request.command("DET")


def test_a_warm_process_dies_as_a_cold_one_does():
    report = isolated("segfaults", laws=("CAUSAL", "PAD"), is_preloaded=True)
    assert outcomes(report) == {"CAUSAL": "crashed", "PAD": "skipped"}
    assert "SIGSEGV" in report.failures[0].reason
    [verdict] = isolated("exits", laws=("CAUSAL",), is_preloaded=True).verdicts
    assert "exit code 7" in verdict.reason


def test_a_verdict_survives_the_way_to_another_process():
    verdict = LawVerdict(
        id="CAUSAL",
        statement="no output depends on a later input",
        status="refuted",
        outcome="refuted",
        layer="a layer",
        diagnosis=(Diagnosis("mask", "it is missing"), Diagnosis(None, "rotary: only a word here")),
        assumes=("a lemma",),
        where=Place(file="a.py", line=3, column=1),
    )
    assert LawVerdict.from_fields(json.loads(json.dumps(asdict(verdict)))) == verdict


def test_failures_with_one_cause_are_one_group():
    def crashing(x):
        if x.shape[0] == 2 and x.shape[1] > 5:
            raise RuntimeError("not two rows")
        return np.cumsum(x, axis=1)

    report = regard.check(crashing, regard.Spec(causal=True, positions="none"))
    groups = [group for group in report.causes if group[0].outcome == "crashed"]
    assert len(groups) < len([verdict for verdict in report.failures if verdict.outcome == "crashed"])
    assert sorted(v.law for group in report.causes for v in group) == sorted(v.law for v in report.failures)


def test_what_follows_from_another_failure_is_shown_with_it():
    def leaking(x):
        return x + 0.5 * np.roll(x, -1, axis=1) + np.cumsum(x, axis=1) / 8

    report = regard.check(leaking, regard.Spec(causal=True, positions="none"))
    [group] = [group for group in report.causes if group[0].law == "CAUSAL"]
    assert {"SUPPORT", "PREFIX", "MASKFORCE"} <= {verdict.law for verdict in group}
