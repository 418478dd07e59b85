"""The outputs are those of the published recurrence."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.attention.recurrences import RECURRENCES, FlatRecurrence, MatrixRecurrence, RecurrentForms
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.recurrence import recurrent_inputs
from regard.conformance.reference_recurrence import broken_recurrence, recurrent
from regard.conformance.subject import Spec

_OTHER = Diagnosis("update", "the state decays, is written to or is read otherwise than published")


def _compare(trial: LawTrial) -> Comparisons:
    """One call against the reference in float64. What is wrong only from a state breaks SPLIT."""
    x = trial.inputs()
    y = trial.call(x)
    wanted = _flat(_reference(trial, x).recurrent()[0], trial)
    yield trial.compared("the outputs differ from the reference", y, wanted, control=trial.liveness(x, y))


def _reference(trial: LawTrial, x: np.ndarray) -> RecurrentForms:
    kind = trial.spec.recurrence
    assert kind is not None, "the law applies only to recurrences of a known kind"
    return RECURRENCES[kind](*recurrent_inputs(kind, x.astype(np.float64)))


def _flat(y: np.ndarray, trial: LawTrial) -> np.ndarray:
    return (1.0 if trial.spec.scale is None else trial.spec.scale) * y.reshape(*y.shape[:2], -1)


def _signs(trial: LawTrial, _broken: list[Comparison]) -> Iterator[Diagnosis]:
    """A factor, or a change of the formula that gives what the layer gives."""
    x = trial.inputs()
    y, form = trial.call(x).astype(np.float64), _reference(trial, x)
    wanted = _flat(form.recurrent()[0], trial)
    factor = float((y * wanted).sum() / (wanted * wanted).sum())
    if distance(y, factor * wanted) <= trial.tolerance(y):
        yield Diagnosis("update", f"the outputs are {factor:.4g} times those of the reference")
    inner = form.inner if isinstance(form, FlatRecurrence) else form
    if not isinstance(inner, MatrixRecurrence):
        return
    for what, other in _variants(inner):
        if distance(y, _flat(other.recurrent()[0], trial)) <= trial.tolerance(y):
            yield Diagnosis("update", what)


def _variants(form: MatrixRecurrence) -> Iterator[tuple[str, MatrixRecurrence]]:
    """Common mistakes, each as another recurrence."""
    none, twice = np.zeros_like(form.log_decay), 2 * form.log_decay
    yield "the state does not decay", replace(form, log_decay=none)
    yield "the state decays twice per token", replace(form, log_decay=twice)
    yield "decays are powers of two, not of e", replace(form, log_decay=np.log(2) * form.log_decay)
    late = np.concatenate([none[:, :1], form.log_decay[:, :-1]], axis=1)
    yield "the decay of each token comes one token late", replace(form, log_decay=late)
    yield "queries and keys are exchanged", replace(form, q=form.k, k=form.q)
    if form.is_erasing:
        yield "what the state holds for a key is not taken out", replace(form, is_erasing=False)
    if form.write is not None:
        yield "the write strength is ignored", replace(form, write=None)
    if form.bonus is not None:
        yield "the bonus of the token itself is missing", replace(form, bonus=np.zeros_like(form.bonus))
        yield "the token itself counts without a bonus", replace(form, bonus=np.ones_like(form.bonus))


def _applies(spec: Spec) -> str | None:
    return "the kind of the recurrence is not declared" if spec.recurrence is None else None


def _undecayed(*inputs: np.ndarray, **options: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    q, k, v, g, beta = inputs
    return recurrent(q, k, v, 0 * g, beta, **options)


LAW = Law(
    id="UPDATE",
    statement="the outputs equal those of the published recurrence in float64",
    family="update",
    rank=102,
    needs=("state",),
    applies=_applies,
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    grade="spec",
    reveals=tuple(BlindSpot),
    looks_past_window=True,
    grows_in=("length",),
    broken_example=lambda: broken_recurrence("the state does not decay", function=_undecayed),
    suspects=(_OTHER,),
)
