"""Some of the layers that attack the process that checks them; `bench/check_hostile.py` tries them all."""

import os
import signal

import numpy as np
import pytest

import regard
from conformance import hostile_layers
from regard.conformance.isolation import CheckLimits
from regard.conformance.subject import Spec
from regard.conformance.subject_process import RemoteObject, SubjectProcess

CAUSAL = Spec(causal=True, positions="none")
FORGING = [
    "patched_json_dumps",
    "patched_laws",
    "patched_numpy_norms",
    "rewritten_results_in_memory",
    "changing_the_frames_above",
    "json_lines_to_all_descriptors",
    "swapped_descriptors",
    "done_and_exit",
    "parent_through_proc",
    "agreeing_arrays",
    "raised_from_regard",
]


def outcomes(name, **limits):
    chosen = CheckLimits(**{"seconds": 20.0, "memory": 1.0, **limits})
    report = regard.check(f"{hostile_layers.__file__}:{name}", CAUSAL, laws=("CAUSAL", "DET"), limits=chosen)
    return {verdict.law: verdict for verdict in report.verdicts}


@pytest.mark.parametrize("name", FORGING)
def test_no_layer_forges_its_verdict(name):
    assert hostile_layers.KINDS[name] == "forge"
    found = outcomes(name)
    verdict = found.get("CAUSAL") or found["BUILD"]
    assert verdict.outcome in ("refuted", "crashed")


@pytest.mark.parametrize("name", ["memory_of_children", "mapped_memory"])
def test_memory_is_limited_in_the_first_calls_and_for_all_processes_together(name):
    found = outcomes(name)
    assert found["BUILD"].outcome == "crashed"
    assert "it took more than the 1 GiB of memory allowed" in found["BUILD"].reason


def test_texts_of_errors_can_be_encoded_and_are_bounded():
    reason = outcomes("surrogates_in_exception_text")["BUILD"].reason
    assert "\\ud800" in reason
    reason.encode()
    assert len(outcomes("endless_exception_text")["BUILD"].reason) < 2000


def test_a_layer_that_loses_its_process_again_and_again_is_not_called_any_more():
    laws = ("CAUSAL", "PREFIX", "DET", "PURE", "BATCH", "DTYPE", "LAYOUT")
    report = regard.check(f"{hostile_layers.__file__}:segmentation_fault", CAUSAL, laws=laws)
    assert [verdict.outcome for verdict in report.verdicts] == ["crashed"] * 5 + ["skipped"] * 2
    assert "each lost the layer's process" in report.verdicts[-1].reason


# -- the process of a layer --------------------------------------------------------------------------------------------
@pytest.fixture
def answers():
    """Functions and objects in a process that answers calls."""

    def serve(server):
        server.send({"same": lambda x: x, "fill": fill, "fail": fail, "array": Frozen})
        server.answer_calls()

    process = SubjectProcess(serve, memory=2**30)
    yield process.answer()
    os.kill(process._pid, signal.SIGKILL)
    os.waitpid(process._pid, 0)
    process._messages._socket.close()


def fill(x):
    x[...] = 7
    return


def fail(kind):
    raise {"not": NotImplementedError, "key": KeyError}[kind]("why\ud800")


class Frozen:
    """What cannot be copied."""

    dtype = np.dtype("float32")

    def swapaxes(self, *axes):
        return list(axes)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        float("inf"),
        "β \ud800",
        [1, (2, "x")],
        {1: "a", "b": [2]},
        slice(None, None, 2),
        ...,
        np.float32(1.5),
        np.zeros((0, 3)),
        np.arange(6).reshape(2, 3)[::-1],
    ],
)
def test_values_come_back_as_they_were_sent(answers, value):
    found = answers["same"](value)
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)


def test_arrays_keep_their_strides_and_dtypes(answers):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    wide = np.arange(48, dtype=np.float32).reshape(4, 12)[::2, ::3]
    for array in (wide, wide.T, np.broadcast_to(np.float64(2), (3, 2)), wide.astype(ml_dtypes.bfloat16)):
        found = answers["same"](array)
        assert (found.dtype, found.shape, found.strides) == (array.dtype, array.shape, array.strides)
        assert (found == array).all()


def test_what_is_changed_there_changes_here(answers):
    x = np.zeros((2, 4))[:, ::2]
    answers["fill"](x)
    assert (x == 7).all()


def test_errors_keep_their_names(answers):
    with pytest.raises(NotImplementedError, match=r"why\\ud800"):
        answers["fail"]("not")
    with pytest.raises(Exception, match="why") as caught:
        answers["fail"]("key")
    assert type(caught.value).__name__ == "KeyError"


def test_what_cannot_be_copied_is_asked_there(answers):
    found = answers["array"]()
    assert isinstance(found, RemoteObject)
    assert found.dtype == "float32"
    assert found.swapaxes(0, 1) == [0, 1]
    assert not hasattr(found, "flat")
