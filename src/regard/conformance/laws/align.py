"""With fewer queries than keys, queries are aligned to the keys as the layer declares."""

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, InputSize, Law, LawTrial, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer

_Heads = tuple[np.ndarray, np.ndarray, np.ndarray]

_QUERIES = 3
_VISIBLE = 0.7
_IGNORED_MASK = Diagnosis("padding", "causal attention ignores the mask")
_NOT_CAUSAL = Diagnosis("mask", "attention is not causal if there is a mask")


def _compare(trial: LawTrial) -> Comparisons:
    """All queries at once, against each query alone with just the keys that the declared convention lets it see."""
    num_keys, num_queries = trial.size.length, min(_QUERIES, trial.size.length - 1)
    if num_queries < 1:
        return
    q = _heads(trial, "queries", trial.spec.num_heads, num_queries)
    k, v = (_heads(trial, name, trial.spec.num_kv_heads or 1, num_keys) for name in ("keys", "values"))
    found = trial.subject.core(q, k, v, causal=True)
    meant = {align: _one_by_one(trial, (q, k, v), align) for align in ("top-left", "bottom-right")}
    declared = trial.spec.align or ""
    (other,) = set(meant) - {declared}
    is_other = distance(found, meant[other]) <= trial.tolerance(meant[declared])
    yield trial.compared(
        f"causal attention is not aligned {declared}, as declared" + (f", but {other}" if is_other else ""),
        found,
        meant[declared],
        control=distance(meant[declared], meant[other]),
        place={"queries": num_queries, "keys": num_keys},
        suggests=(Diagnosis("mask", f"queries are aligned {other}"),) if is_other else (),
    )
    yield from _with_mask(trial, (q, k, v))


def _with_mask(trial: LawTrial, heads: _Heads) -> Comparisons:
    """The same with some keys hidden as well; a function that refuses both at once breaks no law."""
    q, k, v = heads
    mask = trial.rng("mask").random((len(q), 1, k.shape[2])) < _VISIBLE
    mask[:, :, 0] = True
    mask = np.repeat(mask, q.shape[2], axis=1)
    try:
        found = trial.subject.core(q, k, v, mask=mask, causal=True)
    except Exception:  # noqa: BLE001 - every framework has an error of its own for this
        return
    wanted = _one_by_one(trial, heads, trial.spec.align or "", mask)
    errors = {
        "mask": distance(found, trial.subject.core(q, k, v, causal=True)),
        "causal": distance(found, trial.subject.core(q, k, v, mask=mask, causal=False)),
    }
    ignored = next((name for name, error in errors.items() if error <= trial.tolerance(wanted)), None)
    yield trial.compared(
        "causal attention with a mask is wrong" + (f": the {ignored} part is ignored" if ignored else ""),
        found,
        wanted,
        control=min(errors.values()) if ignored is None else None,
        place={"queries": q.shape[2], "keys": k.shape[2]},
        suggests=(_IGNORED_MASK if ignored == "mask" else _NOT_CAUSAL,),
    )


def _heads(trial: LawTrial, name: str, num_heads: int, length: int) -> np.ndarray:
    shape = (trial.size.batch, num_heads, length, trial.spec.head_width)
    return trial.rng(name).standard_normal(shape).astype(trial.dtype)


def _one_by_one(trial: LawTrial, heads: _Heads, align: str, mask: np.ndarray | None = None) -> np.ndarray:
    """Query i sees i + 1 keys if the first query is aligned to the first key, else the surplus of keys in addition."""
    q, k, v = heads
    more = 0 if align == "top-left" else k.shape[2] - q.shape[2]
    outputs = []
    for query in range(q.shape[2]):
        seen = query + 1 + more
        given = {} if mask is None else {"mask": mask[:, query : query + 1, :seen]}
        one = q[:, :, query : query + 1]
        outputs.append(trial.subject.core(one, k[:, :, :seen], v[:, :, :seen], causal=False, **given))
    return np.concatenate(outputs, axis=2)


def _applies(spec: Spec) -> str | None:
    if spec.align is None:
        return "only if the layer declares align = top-left or bottom-right"
    return None if spec.window is None else "only without a window"


class _TopLeft(ReferenceLayer):
    def first_query(self, num_queries: int, num_keys: int) -> int:
        del num_queries, num_keys
        return 0


LAW = Law(
    id="ALIGN",
    statement="with fewer queries than keys, causal attention follows the declared alignment",
    family="mask",
    rank=260,
    needs=("core",),
    applies=_applies,
    compare=_compare,
    grows_in=("length",),
    broken_example=lambda: _TopLeft(Spec(causal=True, align="bottom-right"), name="aligned top-left"),
    size=InputSize(batch=2, length=16),
    suspects=("queries are aligned top-left", "queries are aligned bottom-right"),
)
