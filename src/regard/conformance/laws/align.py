"""Fewer queries than keys stand where the layer says they stand."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, distance, dtype_of
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_Heads = tuple[np.ndarray, np.ndarray, np.ndarray]

_QUERIES = 3
_SEEN = 0.7
_WITH_MASK = "with a mask besides, causal attention is another"


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Each query by itself, with just the keys that the declared convention lets it see, against all at once."""
    num_keys, num_queries = trial.size.length, min(_QUERIES, trial.size.length - 1)
    if num_queries < 1:
        return
    q = _heads(trial, "queries", trial.spec.num_heads, num_queries)
    k, v = (_heads(trial, name, trial.spec.num_kv_heads or 1, num_keys) for name in ("keys", "values"))
    found = trial.subject.core(q, k, v, causal=True)
    meant = {align: _one_by_one(trial, (q, k, v), align) for align in ("top-left", "bottom-right")}
    declared = trial.spec.align or ""
    (other,) = set(meant) - {declared}
    errors = {align: distance(found, y) for align, y in meant.items()}
    tolerance = trial.tolerance(meant[declared])
    is_other = errors[other] <= tolerance
    yield Comparison(
        what=f"causal attention is not {declared}, as declared" + (f", but {other}" if is_other else ""),
        error=errors[declared],
        tolerance=tolerance,
        control=distance(meant[declared], meant[other]),
        place={"queries": num_queries, "keys": num_keys},
        signature={
            "errors": errors,
            "matches": other if is_other else None,
            "gaps": np.abs(found.astype(np.float64) - meant[declared]).max(axis=(0, 1, 3)).tolist(),
        },
    )
    yield from _with_mask(trial, (q, k, v))


def _with_mask(trial: LawTrial, heads: _Heads) -> Iterator[Comparison]:
    """The same with some keys hidden besides; a function that refuses both at once breaks no law."""
    q, k, v = heads
    mask = trial.rng("mask").random((len(q), 1, k.shape[2])) < _SEEN
    mask[:, :, 0] = True
    mask = np.repeat(mask, q.shape[2], axis=1)
    try:
        found = trial.subject.core(q, k, v, mask=mask, causal=True)
    except Exception:  # noqa: BLE001 - every framework has an error of its own for this
        return
    wanted = _one_by_one(trial, heads, trial.spec.align or "", mask)
    tolerance = trial.tolerance(wanted)
    errors = {
        "mask": distance(found, trial.subject.core(q, k, v, causal=True)),
        "causal": distance(found, trial.subject.core(q, k, v, mask=mask, causal=False)),
    }
    ignored = next((name for name, error in errors.items() if error <= tolerance), None)
    yield Comparison(
        what=_WITH_MASK + (f": the {ignored} part is ignored" if ignored else ""),
        error=distance(found, wanted),
        tolerance=tolerance,
        control=min(errors.values()) if ignored is None else None,
        place={"queries": q.shape[2], "keys": k.shape[2]},
        signature={"ignored": ignored},
    )


def _heads(trial: LawTrial, name: str, num_heads: int, length: int) -> np.ndarray:
    shape = (trial.size.batch, num_heads, length, trial.spec.head_width)
    return trial.rng(name).standard_normal(shape).astype(dtype_of(trial.spec.dtype))


def _one_by_one(trial: LawTrial, heads: _Heads, align: str, mask: np.ndarray | None = None) -> np.ndarray:
    """Query i sees i + 1 keys if the first query stands at the first key, else as many more as there are more keys."""
    q, k, v = heads
    more = 0 if align == "top-left" else k.shape[2] - q.shape[2]
    outputs = []
    for query in range(q.shape[2]):
        seen = query + 1 + more
        given = {} if mask is None else {"mask": mask[:, query : query + 1, :seen]}
        one = q[:, :, query : query + 1]
        outputs.append(trial.subject.core(one, k[:, :, :seen], v[:, :, :seen], causal=False, **given))
    return np.concatenate(outputs, axis=2)


class _TopLeft(ReferenceLayer):
    """Puts the first query beside the first key."""

    def first_query(self, num_queries: int, num_keys: int) -> int:
        del num_queries, num_keys
        return 0


def _broken_example() -> Subject:
    return _TopLeft(Spec(causal=True, align="bottom-right"), name="aligned to the top left")


def _applies(spec: Spec) -> str | None:
    if spec.align is None:
        return "only where align is declared, as top-left or bottom-right, and nothing is declared"
    return None if spec.window is None else "only without a window"


LAW = Law(
    id="ALIGN",
    statement="with fewer queries than keys, causal attention follows the declared alignment",
    needs=("core",),
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=2, length=16),
    suspects=("queries are aligned to the top left", "queries are aligned to the bottom right"),
)
