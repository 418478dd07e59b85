"""Where modules keep their query, key, value and output matrices, by the names that public code gives them."""

from typing import Any

import numpy as np

from regard.conformance.subject import Projections, Spec

_NAMES = {
    "query": tuple("q_proj query to_q wq w_q Wq W_q q_lin q".split()),
    "key": tuple("k_proj key to_k wk w_k Wk W_k k_lin k".split()),
    "value": tuple("v_proj value to_v wv w_v Wv W_v v_lin v".split()),
    "output": tuple("o_proj out_proj dense to_out wo w_o Wo W_o out_lin c_proj proj out o".split()),
}
# Queries, keys and values one after the other in one matrix …
_CONCATENATED = ("c_attn", "qkv_proj", "Wqkv", "to_qkv", "qkv", "W_pack")
# … or head by head.
_BY_HEAD = ("query_key_value",)
Pair = tuple[np.ndarray, np.ndarray | None]


def find_projections(module: Any, spec: Spec) -> Projections | None:
    """The matrices of an attention module, None where its names or sizes are not understood."""
    parts = _parts(module, spec)
    if parts is None:
        return None
    wanted = spec.matrix_shapes()
    own, _ = wanted.pop("output")
    if any(parts[part][0].shape != shape for part, shape in wanted.items()) or len(parts["output"][0]) != own:
        return None
    return Projections.from_pairs(parts, _extra(module) or None)


def _parts(module: Any, spec: Spec) -> dict[str, Pair] | None:
    """Matrix and bias of each of the four parts, if all are found among the module's own children."""
    fused = fused_name(module)
    if _has_other_norms(module):
        return None
    if fused is not None:
        three = _split(_linear(getattr(module, fused)), spec, by_head=fused in _BY_HEAD)
    else:
        named = {part: _child(module, _NAMES[part]) for part in ("query", "key", "value")}
        three = {part: _linear(child) for part, child in named.items() if child is not None}
    if three is None or len(three) < 3 or any(pair is None for pair in three.values()):
        return None
    found = _child(module, _NAMES["output"])
    own = spec.num_heads * spec.head_width
    output = (np.eye(own), None) if found is None else _linear(found)
    return None if output is None else {**{part: pair for part, pair in three.items() if pair}, "output": output}


def fused_name(module: Any) -> str | None:
    """The name under which a module keeps all three in one matrix."""
    children = dict(module.named_children())
    return next((name for name in (*_CONCATENATED, *_BY_HEAD) if name in children), None)


def _child(module: Any, names: tuple[str, ...]) -> Any:
    children = dict(module.named_children())
    return next((children[name] for name in names if name in children), None)


def _linear(child: Any) -> Pair | None:
    """x @ matrix + bias of a linear map; the Conv1D of GPT-2 keeps its matrix the other way round."""
    if type(child).__name__ == "Sequential" and len(child) > 0:
        child = child[0]
    weight = getattr(child, "weight", None)
    if weight is None or weight.ndim != 2:
        return None
    matrix = numbers(weight) if type(child).__name__ == "Conv1D" else numbers(weight).T
    bias = getattr(child, "bias", None)
    return matrix, None if bias is None else numbers(bias)


def _split(pair: Pair | None, spec: Spec, *, by_head: bool) -> dict[str, Pair] | None:
    if pair is None:
        return None
    heads, shared, width = spec.num_heads, spec.num_kv_heads or 1, spec.head_width
    if pair[0].shape[1] != (heads + 2 * shared) * width:
        return None
    places = np.arange(pair[0].shape[1])
    if by_head:
        if heads != shared:
            return None
        three = list(places.reshape(heads, 3, width).swapaxes(0, 1).reshape(3, -1))
    else:
        three = np.split(places, [heads * width, (heads + shared) * width])
    matrix, bias = pair
    cut = [(matrix[:, each], None if bias is None else bias[each]) for each in three]
    return dict(zip(("query", "key", "value"), cut, strict=True))


def _extra(module: Any) -> dict[str, np.ndarray]:
    """Sinks, and the gains of norms over the width of one head."""
    extra = {}
    if getattr(module, "sinks", None) is not None:
        extra["sinks"] = numbers(module.sinks)
    for ours, theirs in (("query_norm", "q_norm"), ("key_norm", "k_norm")):
        norm = getattr(module, theirs, None)
        if norm is not None and getattr(norm, "weight", None) is not None:
            # Gemma keeps gains as their distance from one.
            extra[ours] = numbers(norm.weight) + ("gemma" in type(norm).__name__.lower())
            epsilon = getattr(norm, "variance_epsilon", None) or getattr(norm, "eps", None)
            extra["norm_epsilon"] = np.array(epsilon or 1e-6)
    return extra


def _has_other_norms(module: Any) -> bool:
    """True if queries or keys go through a norm that is not the RMS norm."""
    norms = [getattr(module, name, None) for name in ("q_norm", "k_norm", "q_layernorm", "k_layernorm", "qk_norm")]
    return any(norm is not None and "rms" not in type(norm).__name__.lower() for norm in norms)


def numbers(tensor: Any) -> np.ndarray:
    """A copy of a torch tensor in float64."""
    return tensor.detach().cpu().double().numpy().copy()
