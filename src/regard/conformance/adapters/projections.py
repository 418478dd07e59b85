"""Where modules keep their query, key, value and output matrices, by the names that public code gives them."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regard.conformance.subject import Projections, Spec

# Patterns of names, ? for the letter and ! for the word of a part.
_PATTERNS = """
    ?_proj ! to_? w? w_? W? W_? ?_lin ? W_! w_! W! c_? ?_linear linear_? fc_? !_proj !_layer !_linear lin_? proj_? to_!s
    !_projection fc_! linear_! W_?s ?proj w! w_?s ?_net W?s
""".split()
_NAMES = {
    part: tuple(pattern.replace("?", letter).replace("!", word) for pattern in _PATTERNS) + more
    for part, letter, word, more in (
        ("query", "q", "query", ("queries", "Q", "W_Q")),
        ("key", "k", "key", ("keys", "K", "W_K")),
        ("value", "v", "value", ("values", "V", "W_V")),
    )
}
_OUTPUT = """
    o_proj out_proj dense to_out wo w_o Wo W_o out_lin c_proj proj out o fc_out w_concat output_proj projection
    output_linear fc_o o_lin proj_out w_out W_out linear_out out_projection output_projection unify_heads unifyheads
    combine_heads final_linear fc output dense_out linear_o o_linear proj_o W_O w_O resid_proj out_layer W_0 o_net w_os
""".split()
# Queries, keys and values in one matrix, or keys and values in one.
_PACKED = """
    c_attn qkv_proj Wqkv to_qkv qkv W_pack wqkv w_qkv W_qkv in_proj in_proj_qkv qkv_linear proj_qkv qkv_projection
    to_qkvs attn_qkv linear_qkv query_key_value fused_qkv
""".split()
_PACKED_PAIR = "to_kv kv kv_proj wkv w_kv W_kv Wkv kv_linear key_value c_kv kv_net".split()
_BY_HEAD = ("query_key_value",)
Pair = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class _OwnMatrix:
    """A matrix that a module keeps as a parameter of its own, used as a linear map is."""

    weight: Any
    bias: Any

    def modules(self) -> list[Any]:
        """None: it is no module."""
        return []


# How a packed matrix is cut: part by part, head by head, or number by number.
Packing = Literal["parts", "heads", "numbers"]


def find_projections(module: Any, spec: Spec, packing: Packing | None = None) -> Projections | None:
    """The matrices of an attention module, None where its names or sizes are not understood.

    `packing` says how a matrix for several parts is cut; by default, as public code with that name does.
    """
    parts = _parts(module, spec, packing)
    if parts is None:
        return None
    wanted = spec.matrix_shapes()
    own, _ = wanted.pop("output")
    if any(parts[part][0].shape != shape for part, shape in wanted.items()) or len(parts["output"][0]) != own:
        return None
    return Projections.from_pairs(parts, _extra(module) or None)


def part_named(name: str) -> str | None:
    """The part whose matrix public code calls by that name; "packed" for those of all three.

    >>> part_named("Wq"), part_named("W_O"), part_named("w_qkv"), part_named("x")
    ('query', 'output', 'packed', None)
    """
    known = {**_NAMES, "output": _OUTPUT, "packed": _PACKED}
    return next((part for part, names in known.items() if name.lower() in {each.lower() for each in names}), None)


def matrix_sizes(module: Any, spec: Spec | None = None) -> tuple[int, int] | None:
    """How many numbers the queries and the keys of a token have, None where the matrices are not found.

    `spec` says how many heads there are if that is known: one matrix for all three may have fewer key heads.
    """
    named = _named(module)
    query, packed = (_linear(named.get(part)) for part in ("query", "packed"))
    if query is None and packed is None and (heads := single_heads(module)):
        own, shared = (sum(pair[0].shape[1] for pair in _of_heads(heads, part)) for part in ("query", "key"))
        return own, shared
    if query is None:
        total = 0 if packed is None else packed[0].shape[1]
        own = 0 if spec is None else spec.num_heads * spec.head_width
        if spec is not None and own < total < 3 * own and (total - own) % (2 * spec.head_width) == 0:
            return own, (total - own) // 2
        return None if not total or total % 3 else (total // 3,) * 2
    pair, key = _linear(named.get("packed pair")), _linear(named.get("key"))
    shared = pair[0].shape[1] // 2 if pair is not None else None if key is None else key[0].shape[1]
    return None if shared is None else (query[0].shape[1], shared)


def is_packed(module: Any) -> bool:
    """True if one matrix serves several parts."""
    return not {"packed", "packed pair"}.isdisjoint(_named(module))


def single_heads(module: Any) -> list[Any]:
    """The heads of a module that has each of them as a module of its own, with three matrices."""
    for child in module.children():
        parts = [part for part in child if part is not None] if type(child).__name__ == "ModuleList" else []
        if parts and all({"query", "key", "value"} <= set(_named(part)) for part in parts):
            return parts
    return []


def _of_heads(heads: list[Any], part: str) -> list[Pair]:
    found = [_linear(_named(head)[part]) for head in heads]
    return [pair for pair in found if pair is not None]


def _joined(pairs: list[Pair]) -> Pair:
    """The matrices side by side."""
    biases = [np.zeros(matrix.shape[1]) if bias is None else bias for matrix, bias in pairs]
    return np.concatenate([matrix for matrix, _ in pairs], axis=1), np.concatenate(biases)


def fused_name(module: Any) -> str | None:
    """The name under which a module keeps all three in one matrix."""
    children = dict(module.named_children())
    return next((name for name in _PACKED if name in children), None)


def _named(module: Any) -> dict[str, Any]:
    """The children that are projections, by what they give: a part, or several packed into one."""
    names = {**_NAMES, "output": _OUTPUT, "packed": _PACKED, "packed pair": _PACKED_PAIR}
    children = dict(module.named_children())
    found = {part: next((children[name] for name in known if name in children), None) for part, known in names.items()}
    linears = children.get("linears")
    if linears is not None and type(linears).__name__ == "ModuleList" and len(linears) == 4:
        # The Annotated Transformer keeps all four in a list.
        found |= dict(zip(("query", "key", "value", "output"), linears, strict=True))
    if getattr(module, "in_proj_weight", None) is not None:
        # torch's own name, and that of those who follow it.
        found["packed"] = _OwnMatrix(weight=module.in_proj_weight, bias=getattr(module, "in_proj_bias", None))
    return {part: child for part, child in found.items() if child is not None}


def _parts(module: Any, spec: Spec, packing: Packing | None) -> dict[str, Pair] | None:
    """Matrix and bias of each of the four parts, if all are found among the module's own children."""
    named, heads, shared = _named(module), spec.num_heads, spec.num_kv_heads or 1
    if _has_other_norms(module):
        return None
    three: dict[str, Pair | None] = {}
    singles = [] if "query" in named or "packed" in named else single_heads(module)
    if singles:
        three = {part: _joined(_of_heads(singles, part)) for part in ("query", "key", "value")}
    elif "packed" in named and "query" not in named:
        usual = "heads" if fused_name(module) in _BY_HEAD else "parts"
        cut = _cut(_linear(named["packed"]), (heads, shared, shared), spec.head_width, packing or usual)
        three = dict(zip(("query", "key", "value"), cut, strict=False))
    elif "packed pair" in named and "query" in named:
        cut = _cut(_linear(named["packed pair"]), (shared, shared), spec.head_width, packing or "parts")
        three = {"query": _linear(named["query"]), **dict(zip(("key", "value"), cut, strict=False))}
    else:
        three = {part: _linear(named[part]) for part in ("query", "key", "value") if part in named}
    output = _output(module, [*named.values(), *singles], named, heads * spec.head_width)
    found = {part: pair for part, pair in {**three, "output": output}.items() if pair is not None}
    return found if len(found) == 4 else None


def _output(module: Any, known_parts: list[Any], named: dict[str, Any], own: int) -> Pair | None:
    """The output matrix; the identity only if the module has no matrix but those of the known parts."""
    if "output" in named:
        child = named["output"]
        return (np.eye(own), None) if type(child).__name__ == "Identity" else _linear(child)
    known = {id(part) for child in known_parts for part in child.modules()}
    is_alone = all(id(part) in known or _linear(part) is None for part in module.modules())
    return (np.eye(own), None) if is_alone else None


def _linear(child: Any) -> Pair | None:
    """x @ matrix + bias of a linear map; the Conv1D of GPT-2 keeps its matrix the other way round."""
    if type(child).__name__ in ("Sequential", "ModuleList") and len(child) > 0:
        child = child[0]
    weight = getattr(child, "weight", None)
    if getattr(weight, "ndim", 0) != 2 or type(child).__name__ == "Embedding":
        return None
    matrix = numbers(weight) if type(child).__name__ == "Conv1D" else numbers(weight).T
    bias = getattr(child, "bias", None)
    return matrix, None if bias is None else numbers(bias)


def _cut(pair: Pair | None, heads: tuple[int, ...], width: int, packing: Packing) -> list[Pair]:
    """The parts of a packed matrix, none if the sizes do not fit; `heads` are the numbers of heads of each part."""
    if pair is None or pair[0].shape[1] != sum(heads) * width or (packing != "parts" and len(set(heads)) > 1):
        return []
    places = np.arange(pair[0].shape[1])
    match packing:
        case "parts":
            each = np.split(places, np.cumsum(heads)[:-1] * width)
        case "heads":
            each = list(places.reshape(heads[0], len(heads), width).swapaxes(0, 1).reshape(len(heads), -1))
        case "numbers":
            each = list(places.reshape(-1, len(heads)).T)
    matrix, bias = pair
    return [(matrix[:, part], None if bias is None else bias[part]) for part in each]


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
    known = ("rms", "identity")
    return any(norm is not None and not any(word in type(norm).__name__.lower() for word in known) for norm in norms)


def numbers(tensor: Any) -> np.ndarray:
    """A copy of a torch tensor in float64."""
    return tensor.detach().cpu().double().numpy().copy()
