"""Outputs have the input's shape and precision, at any length."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.probing import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Batch size, length and dtype of the outputs for one token, odd lengths and a batch of one."""
    x = trial.inputs()
    y = trial.subject.call(x)
    control = liveness(trial, x, y)
    batch, length = trial.size.batch, trial.size.length
    # Shapes that other laws use too, where possible: some layers are compiled anew for each.
    tried = {(rows, tokens) for rows in (1, batch) for tokens in (1, length - 1, length)} | {(batch, 2)}
    for rows, tokens in sorted(tried):
        if not 0 < tokens <= length:
            continue
        fault, is_cast = _fault(trial, trial.inputs(batch=rows, length=tokens), y)
        yield Comparison(
            what=fault,
            error=np.inf if fault else 0.0,
            tolerance=0.0,
            control=control,
            place={"tokens": tokens, "rows": rows},
            signature={"is_cast": is_cast},
            is_yes_no=True,
        )


def _fault(trial: LawTrial, x: np.ndarray, whole: np.ndarray) -> tuple[str, bool]:
    """What is wrong with the output for this input, if anything is, and whether that is its dtype."""
    try:
        y, given, got = _called(trial, x)
    except Exception as error:  # noqa: BLE001 - a layer may raise anything at a length that it does not expect
        return f"{x.shape[1]} tokens in {x.shape[0]} rows raise {type(error).__name__}: {str(error)[:80]}", False
    wanted = (*x.shape[:2], whole.shape[-1])
    if y.shape != wanted:
        return f"the output has shape {y.shape} instead of {wanted}", False
    if given != got:
        return f"the output is {got} for an input of {given}", True
    return "" if np.isfinite(y.astype(np.float64)).all() else "the output is not finite", False


def _called(trial: LawTrial, x: np.ndarray) -> tuple[np.ndarray, str, str]:
    """The output, and the names of the input's and the output's dtype, the framework's own where it has them."""
    subject = trial.subject
    if not subject.has("native"):
        y = subject.call(x)
        return y, _name(x), _name(y)
    own = subject.native(x)
    out = subject.call_native(own)
    return subject.numpy(out), _name(own), _name(out)


def _name(array: Any) -> str:
    return str(getattr(array, "dtype", type(array).__name__)).rpartition(".")[2]


def _signs(_trial: LawTrial, broken: Sequence[Comparison]) -> Iterator[Diagnosis]:
    if any(each.signature["is_cast"] for each in broken):
        yield Diagnosis("precision", "the output has another dtype")
    else:
        yield Diagnosis("shape", "the output has another shape")


class _Upcast(ReferenceLayer):
    """Multiplies its output by a float64 number."""

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x, **options) * np.float64(1.0)


LAW = Law(
    id="DTYPE",
    statement="outputs keep the input's batch size, length and dtype; one token and odd lengths work",
    family="shape",
    rank=60,
    compare=_compare,
    signs=_signs,
    broken_example=lambda: _Upcast(Spec(), name="returns float64 whatever it is given"),
    suspects=(
        Diagnosis("precision", "a constant or a table of another dtype casts the output"),
        "an axis of length one is squeezed away",
        "the length is assumed to be even",
    ),
)
