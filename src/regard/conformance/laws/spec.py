"""The output is what the declared spec and the weights say."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, NotTried, distance
from regard.conformance.oracle import TABLES, Asked, Oracle, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import is_half, widest_subject, work_tolerance
from regard.conformance.subject import Spec, Subject

# Large inputs make large logits, where a softcap, a scale or a finite mask constant shows.
_LOUD = 8.0
_OF_LARGE = "the output for large inputs is not the oracle's"


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The layer against the oracle: as it is, loud, padded, and with gaps between positions; or its core alone."""
    trial = widest_subject(trial)
    if trial.spec.causal is None:
        raise NotTried("the spec does not say whether the layer is causal")
    parts = trial.subject.projections() if trial.subject.has("weights") else None
    lack = undeclared(trial.spec, parts) if parts is not None else "the layer does not give its weights"
    if lack is None:
        yield from _of_layer(trial, Oracle(spec=trial.spec, parts=parts))
    elif trial.subject.has("core") and not trial.spec.sink:
        yield from _of_core(trial, Oracle(spec=trial.spec))
    else:
        raise NotTried(lack if trial.subject.has("weights") else f"{lack}, and has no core")


def _of_layer(trial: LawTrial, oracle: Oracle) -> Iterator[Comparison]:
    x = trial.inputs()
    yield _compared(trial, oracle, x, "the output is not the oracle's")
    if not is_half(trial.spec.dtype):
        yield _compared(trial, oracle, (x * _LOUD).astype(x.dtype), _OF_LARGE)
    is_table = trial.spec.positions in TABLES
    if trial.subject.has("mask") and x.shape[1] > 2 and (not is_table or trial.subject.has("positions")):
        mask = np.arange(x.shape[1])[None] >= 1 + np.arange(x.shape[0])[:, None] % (x.shape[1] - 2)
        yield _compared(trial, oracle, x, "the output for padded rows is not the oracle's", mask=mask)
    if trial.subject.has("positions") and trial.spec.positions != "none" and trial.spec.window is None:
        gaps = trial.rng("gaps").integers(1, 4, size=x.shape[:2])
        places = np.cumsum(gaps, axis=1)
        if trial.spec.max_positions is None or places.max() < trial.spec.max_positions:
            yield _compared(
                trial, oracle, x, "the output with gaps between positions is not the oracle's", positions=places
            )


def _compared(trial: LawTrial, oracle: Oracle, x: np.ndarray, what: str, **options: np.ndarray) -> Comparison:
    """One comparison over real tokens that see something; the control is how far outputs are from their mean.

    Loud inputs need none: rounding grows with the logits, and the quiet ones have shown that the layer is alive.
    """
    if "mask" in options and trial.subject.has("positions"):
        options["positions"] = np.maximum(np.cumsum(options["mask"], axis=1) - 1, 0)
    found = trial.subject.call(x, **options).astype(np.float64)
    asked = Asked.all(x, options.get("mask"), options.get("positions"))
    wanted, largest = oracle.output(asked), float(np.abs(oracle.logits(asked)).max())
    real = asked.mask & ~np.isnan(wanted).any(axis=-1)
    is_loud = what == _OF_LARGE
    spread = distance(wanted[real], np.broadcast_to(wanted[real].mean(axis=0), wanted[real].shape))
    return Comparison(
        what=what,
        error=distance(found[real], wanted[real]),
        tolerance=work_tolerance(trial, wanted[real], largest),
        control=None if is_loud else spread,
        signature={"options": sorted(options), "loud": is_loud},
    )


def _of_core(trial: LawTrial, oracle: Oracle) -> Iterator[Comparison]:
    """Drawn queries, keys and values in place of projected ones."""
    spec, size = trial.spec, trial.size
    for loud in (1.0, _LOUD):
        shapes = {"q": spec.num_heads, "k": spec.num_kv_heads or 1, "v": spec.num_kv_heads or 1}
        q, k, v = (
            trial.rng(f"core {name}")
            .standard_normal((size.batch, heads, size.length, spec.head_width))
            .astype(trial.inputs().dtype)
            for name, heads in shapes.items()
        )
        q, k = (q * loud).astype(q.dtype), (k * loud).astype(k.dtype)
        found = trial.subject.core(q, k, v, **({"causal": True} if spec.causal else {})).astype(np.float64)
        q, k, v = (each.astype(np.float64) for each in (q, k, v))
        seen = np.ones((size.batch, size.length, size.length), dtype=bool)
        wanted = oracle.core(q, k, v, np.tril(seen) if spec.causal else seen)
        largest = float(np.abs(oracle.score(oracle, q, oracle.spread(oracle, k, "key"), None)).max())
        middle = np.broadcast_to(wanted.mean(axis=2, keepdims=True), wanted.shape)
        yield Comparison(
            what="attention on drawn queries, keys and values is not the oracle's",
            error=distance(found, wanted),
            tolerance=work_tolerance(trial, wanted, largest),
            control=None if loud > 1 else distance(wanted, middle),
            signature={"options": ["core"], "loud": loud > 1},
        )


class _Unscaled(ReferenceLayer):
    """Forgets to divide by √d."""

    def scale(self) -> float:
        return 1.0


def _broken_example() -> Subject:
    return _Unscaled(Spec(causal=True, positions="rotary"), name="unscaled logits")


LAW = Law(
    id="SPEC",
    statement="the output is that of a float64 oracle built from the declared spec and the weights",
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "scale: the logits have another scale",
        "rotary: another base, layout or width",
        "kv-heads: key and value heads are tiled instead of repeated",
        "alibi: other slopes",
    ),
    grade="spec",
    looks_past_window=True,
)
