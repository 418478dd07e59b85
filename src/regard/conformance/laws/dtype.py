"""Outputs have the input's shape and precision, at any length."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec
from regard.conformance.reference_layer import ReferenceLayer

_OTHER_SHAPE = Diagnosis("shape", "the output has the wrong shape")


def _compare(trial: LawTrial) -> Comparisons:
    """Batch size, length and dtype of the outputs for one token, odd lengths and a batch of one."""
    x = trial.inputs()
    y = trial.call(x)
    control = trial.liveness(x, y)
    batch, length = trial.size.batch, trial.size.length
    # Shapes that other laws use too, where possible: some layers are compiled anew for each.
    tried = {(rows, tokens) for rows in (1, batch) for tokens in (1, length - 1, length)} | {(batch, 2)}
    for rows, tokens in sorted(tried):
        if not 0 < tokens <= length:
            continue
        fault, bug = _fault(trial, trial.inputs(batch=rows, length=tokens), y)
        yield Comparison(
            what=fault,
            error=np.inf if fault else 0.0,
            tolerance=0.0,
            control=control,
            place={"tokens": tokens, "rows": rows},
            suggests=(bug,),
            is_yes_no=True,
        )


def _fault(trial: LawTrial, x: np.ndarray, whole: np.ndarray) -> tuple[str, Diagnosis]:
    """What is wrong with the output for this input, if anything is, and the bug that it points to."""
    subject = trial.subject
    is_native = subject.has("native")
    own = subject.native(x) if is_native else x
    try:
        out = subject.call_native(own) if is_native else subject.call(own)
    except Exception as error:  # noqa: BLE001 - a layer may raise anything at a length that it does not expect
        return f"{x.shape[1]} tokens in {x.shape[0]} rows raise {type(error).__name__}: {str(error)[:80]}", _OTHER_SHAPE
    y, wanted = subject.numpy(out) if is_native else out, (*x.shape[:2], whole.shape[-1])
    if y.shape != wanted:
        return f"the output has shape {y.shape} instead of {wanted}", _OTHER_SHAPE
    # The framework's own dtypes: numpy has no bfloat16.
    given, got = (str(getattr(each, "dtype", type(each).__name__)).rpartition(".")[2] for each in (own, out))
    if given != got:
        return f"the output is {got} for an input of {given}", Diagnosis("precision", "the output has the wrong dtype")
    return "" if np.isfinite(y.astype(np.float64)).all() else "the output is not finite", _OTHER_SHAPE


class _Upcast(ReferenceLayer):
    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        return super().call(x, **options) * np.float64(1.0)


LAW = Law(
    id="DTYPE",
    statement="outputs keep the input's batch size, length and dtype; one token and odd lengths work",
    family="shape",
    rank=60,
    compare=_compare,
    broken_example=lambda: _Upcast(Spec(), name="returns float64 whatever it is given"),
    suspects=(
        Diagnosis("precision", "a constant or a table of another dtype casts the output"),
        "an axis of length one is squeezed away",
        "the length is assumed to be even",
    ),
)
