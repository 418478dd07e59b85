"""The output is what the declared spec and the weights imply."""

import numpy as np

from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnosis, Law, LawTrial, NotTried, distance
from regard.conformance.oracle import TABLES, AttentionInputs, Oracle, undeclared
from regard.conformance.probing import real_positions
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec

# Large inputs make large logits, where a softcap, a scale or a finite mask constant shows.
_LARGE = 8.0


def _compare(trial: LawTrial) -> Comparisons:
    """The layer against the oracle: plain, with large inputs, padded, and with position gaps; or its core alone."""
    trial = trial.in_float32()
    if not trial.spec.says_what_is_visible:
        raise NotTried("the spec does not say whether the layer is causal")
    parts = trial.subject.projections() if trial.subject.has("weights") else None
    lack = undeclared(trial.spec, parts) if parts is not None else "the layer does not give access to its weights"
    if lack is None:
        yield from _of_layer(trial, Oracle(spec=trial.spec, parts=parts))
    elif trial.subject.has("core") and not trial.spec.sink and trial.spec.support is None:
        yield from _of_core(trial, Oracle(spec=trial.spec))
    else:
        raise NotTried(lack if trial.subject.has("weights") else f"{lack}, and has no bare q, k, v function")


def _of_layer(trial: LawTrial, oracle: Oracle) -> Comparisons:
    x, has_positions = trial.inputs(), trial.subject.has("positions")
    yield _compared(trial, oracle, x, "the output differs from the oracle's")
    if not trial.is_half_precision:
        large = (x * _LARGE).astype(x.dtype)
        yield _compared(trial, oracle, large, "the output for large inputs differs from the oracle's", is_large=True)
    can_be_padded = (
        trial.subject.has("mask") and trial.spec.support is None
    )  # which may count from the first real token
    if can_be_padded and x.shape[1] > 2 and (trial.spec.positions not in TABLES or has_positions):
        mask = np.arange(x.shape[1])[None] >= 1 + np.arange(x.shape[0])[:, None] % (x.shape[1] - 2)
        options = {"mask": mask, **({"positions": real_positions(mask)} if has_positions else {})}
        yield _compared(trial, oracle, x, "the output for padded rows differs from the oracle's", **options)
    if has_positions and trial.spec.positions != "none" and trial.spec.window is None:
        places = np.cumsum(trial.rng("gaps").integers(1, 4, size=x.shape[:2]), axis=1)
        if trial.spec.max_positions is None or places.max() < trial.spec.max_positions:
            what = "the output with gaps between positions differs from the oracle's"
            yield _compared(trial, oracle, x, what, positions=places)


def _compared(
    trial: LawTrial, oracle: Oracle, x: np.ndarray, what: str, *, is_large: bool = False, **options: np.ndarray
) -> Comparison:
    """One comparison over real tokens that see something; the control is how far outputs are from their mean.

    Large inputs need none: rounding grows with the logits, and ordinary inputs have shown that the layer is alive.
    """
    found = trial.call(x, **options).astype(np.float64)
    inputs = AttentionInputs.of(x, options.get("mask"), options.get("positions"))
    wanted, largest = oracle.output(inputs), float(np.abs(oracle.logits(inputs)).max())
    real = inputs.mask & ~np.isnan(wanted).any(axis=-1)
    spread = distance(wanted[real], np.broadcast_to(wanted[real].mean(axis=0), wanted[real].shape))
    tolerance = trial.work_tolerance(wanted[real], largest)
    return trial.compared(what, found[real], wanted[real], tolerance, control=None if is_large else spread)


def _of_core(trial: LawTrial, oracle: Oracle) -> Comparisons:
    """Random queries, keys and values in place of projected ones."""
    spec, size = trial.spec, trial.size
    for factor in (1.0, _LARGE):
        shapes = {"q": spec.num_heads, "k": spec.num_kv_heads or 1, "v": spec.num_kv_heads or 1}
        q, k, v = (
            trial.rng(f"core {name}")
            .standard_normal((size.batch, heads, size.length, spec.head_width))
            .astype(trial.dtype)
            for name, heads in shapes.items()
        )
        q, k = (q * factor).astype(q.dtype), (k * factor).astype(k.dtype)
        found = trial.subject.core(q, k, v, **({"causal": True} if spec.causal else {})).astype(np.float64)
        q, k, v = (each.astype(np.float64) for each in (q, k, v))
        seen = np.ones((size.batch, size.length, size.length), dtype=bool)
        wanted = oracle.core(q, k, v, np.tril(seen) if spec.causal else seen)
        largest = float(np.abs(oracle.score(oracle, q, oracle.repeat(oracle, k, "key"), None)).max())
        middle = np.broadcast_to(wanted.mean(axis=2, keepdims=True), wanted.shape)
        what = "attention on random queries, keys and values differs from the oracle's"
        control = None if factor > 1 else distance(wanted, middle)
        yield trial.compared(what, found, wanted, trial.work_tolerance(wanted, largest), control=control)


class _Unscaled(ReferenceLayer):
    def scale(self) -> float:
        return 1.0


LAW = Law(
    id="SPEC",
    statement="the output equals that of a float64 oracle built from the declared spec and the weights",
    family="projection",
    rank=150,
    compare=_compare,
    reveals=(*BlindSpot,),
    broken_example=lambda: _Unscaled(Spec(causal=True, positions="rotary"), name="unscaled logits"),
    suspects=(
        Diagnosis("scale", "the logits have the wrong scale"),
        Diagnosis("rotary", "a wrong base, layout or width"),
        Diagnosis("kv-heads", "key and value heads are tiled instead of repeated"),
        Diagnosis("alibi", "wrong slopes"),
    ),
    grade="spec",
    looks_past_window=True,
    grows_in=("length", "batch"),
)
