"""A layer to check: what it declares about itself, and how laws call it.

Laws work in numpy: a subject takes and returns arrays of its own dtype, whatever framework does the work inside.
Every method beyond the call is optional; each one that a subject has unlocks the laws that need it.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args, get_origin

import numpy as np

from regard.attention.recurrences import RecurrenceKind
from regard.conformance.visibility import visible_pairs
from regard.core.errors import InputError
from regard.positions.rotary import UNSCALED, GivenFrequencies, Rotary

_NO_OPERATION = "the cache does not have this operation"
# Capabilities by name: what a layer with it has, and why a law that needs it is skipped without it.
CAPABILITIES: Mapping[str, tuple[str, str]] = {
    "mask": ("a padding mask", "the layer takes no padding mask"),
    "lengths": ("lengths of rows", "the layer takes no lengths"),
    "positions": ("given positions", "the layer takes no positions"),
    "documents": ("packed documents", "needs packed-document masks"),
    "cache": ("a cache", "the layer has no cache"),
    "weights": ("known weight matrices", "the layer's weight matrices were not found"),
    "core": ("a bare q,k,v function", "needs a bare q,k,v function"),
    "placed": ("a q,k,v function with positions", "needs a bare q,k,v function that takes positions"),
    "returned": ("returned attention weights", "the layer does not return its weights"),
    "gradient": ("gradients", "the layer has no gradients"),
    "parameters": (
        "parameters that can be changed",
        "the layer has none or too many, or leaves some unused and declares nothing",
    ),
    "paths": ("several code paths", "the layer has only one code path"),
    "native": ("arrays of a framework", "needs the framework's own arrays"),
    "float64": ("a float64 version", "the layer does not work in float64"),
    "kernel": ("any arguments", "needs a serving kernel"),
    "paged": ("keys and values in pages", "needs a function of pages"),
    "writer": ("a function that writes pages", "needs a function that writes pages"),
    "varlen": ("packed sequences", "needs a function of packed sequences"),
    "quantized": ("quantized keys and values", "needs a function that quantizes keys and values"),
    "stored": ("attention over stored keys and values", "needs attention over stored keys and values"),
    "tree": ("trees of tokens", "needs a function of token trees"),
    "nodes": ("attention of tree nodes", "needs attention over trees"),
    "depths": ("positions of tree nodes", "needs a function that gives the positions of tree nodes"),
    "latent": ("latent keys and values", "needs a function of latents"),
    "expanded": ("an expanded path", "needs a second, expanded path"),
    "merge": ("merging of partial results", "needs a function that merges partial results"),
    "parallel": ("ranks that share a sequence", "needs a function of one rank among several"),
    "simulated": ("simulated ranks", "ranks are not to be simulated"),
    "gloo": ("ranks in processes of their own", "needs torch and ranks that may be processes of their own"),
    "state": ("a state that is passed on", "the layer passes no state on"),
    "chunked": ("a chunked form", "no chunked form is given"),
    "axes": ("positions with several axes", "positions have one axis"),
    "switch": ("frequencies that switch with the length", "no length is declared at which frequencies switch"),
    "packed": ("a form for packed documents", "no form for packed documents is given"),
    "fork": ("forks of it", _NO_OPERATION),
    "crop": ("a way to crop it", _NO_OPERATION),
    "reject": ("a way to reject tokens", _NO_OPERATION),
    "evict": ("a way to evict tokens", _NO_OPERATION),
    "reorder": ("a way to reorder its rows", _NO_OPERATION),
    "swap": ("a way to swap it out and in", _NO_OPERATION),
    "reset": ("a way to reset it", _NO_OPERATION),
    "release": ("a way to release it", _NO_OPERATION),
    "prefix": ("prefixes that are found again", _NO_OPERATION),
}
# Capabilities of what is no layer: it has these laws only, and layers do not have them.
KERNELS = frozenset({"paged", "varlen", "quantized", "tree", "latent", "merge", "parallel"})
# The sizes of a layer that can be found on the layer itself, and what they are where nothing says.
SIZES = ("width", "num_heads", "num_kv_heads", "head_width")
_WIDTH, _NUM_HEADS, _HEAD_WIDTH = 32, 4, 8
FindingKind = Literal["found", "unusual", "not found"]
RotaryLayout = Literal["half-split", "interleaved"]
Positions = Literal["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a layer is meant to be. None means that nothing is declared; laws that need it are skipped.

    Sizes that are not given are found on the layer where an adapter can; see `undeclared_sizes`.

    Args:
        width: the size of an embedding, 32 by default.
        num_heads: the number of query heads, 4 by default.
        num_kv_heads: the number of key and value heads, `num_heads` by default.
        head_width: the size of a head, `width / num_heads` by default.
        depth: how many attention layers are stacked.
        causal: True if an output does not depend on later tokens.
        window: how many tokens a query sees, itself included.
        support: which inputs j an output i sees, if neither `causal` nor `window` says it: "j <= i or j < 4" for a
            prefix of four tokens that all see.
        positions: the position code.
        rotary_base: the base of the rotary frequencies.
        rotary_width: how many coordinates of a head are rotated, all by default.
        rotary_layout: which coordinates are rotated together.
        frequencies: the angle of each rotated pair per position, if they are not powers of `rotary_base`, as in codes
            that are stretched to longer contexts.
        max_positions: the number of positions that the layer has a code for.
        scale: what multiplies q·k, 1/√head_width by default.
        softcap: the cap of the logits.
        sink: True if each head has a sink logit.
        mask: the padding mask that the layer wants: True for real tokens ("keep") or padding ("drop"), or "additive";
            found by trying if it is not declared.
        empty: what a query without any visible key gets.
        align: how causality matches queries and keys if their numbers differ.
        recurrence: which published recurrence the layer is, where it is one.
        chunk_size: the size of the chunks in which it is computed.
        position_axes: the number of axes of a position.
        switch_length: the rotary frequencies are others in sequences of more tokens than this.
        crossing: what happens to cached keys when a sequence grows beyond that.
        is_gradual: True if the frequencies go on changing with the length.
        packing: True if positions that start anew are meant to separate packed documents, in layers with a state too.
        device: where the layer runs.
        dtype: the precision in which it runs.

    >>> Spec(width=64, num_heads=8, num_kv_heads=2).head_width
    8
    """

    width: int = 0
    num_heads: int = 0
    num_kv_heads: int | None = None
    head_width: int = 0
    depth: int = 1
    causal: bool | None = None
    window: int | None = None
    support: str | None = None
    positions: Positions | None = None
    rotary_base: float = 10_000.0
    rotary_width: int | None = None
    rotary_layout: RotaryLayout = "half-split"
    frequencies: tuple[float, ...] | None = None
    max_positions: int | None = None
    scale: float | None = None
    softcap: float | None = None
    sink: bool = False
    mask: Literal["keep", "drop", "additive"] | None = None
    empty: Literal["zero", "uniform", "nan"] | None = None
    align: Literal["top-left", "bottom-right"] | None = None
    recurrence: RecurrenceKind | None = None
    chunk_size: int | None = None
    position_axes: int = 1
    switch_length: int | None = None
    crossing: Literal["recompute", "keep"] | None = None
    is_gradual: bool = False
    packing: bool = False
    device: str = "cpu"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        # Not a field: a spec that is changed or sent elsewhere says all of its sizes.
        object.__setattr__(self, "undeclared_sizes", frozenset(name for name in SIZES if not getattr(self, name)))
        object.__setattr__(self, "num_heads", self.num_heads or _NUM_HEADS)
        usual = _WIDTH if _WIDTH % self.num_heads == 0 else self.num_heads * (self.head_width or _HEAD_WIDTH)
        object.__setattr__(self, "width", self.width or usual)
        for name in ("width", "num_heads", "depth"):
            if getattr(self, name) < 1:
                raise InputError(f"Spec has {name} = {getattr(self, name)}. Give a whole number from one up.")
        if not self.head_width and self.width % self.num_heads:
            raise InputError(
                f"Spec has {self.num_heads} heads in a width of {self.width}, which does not divide. "
                "Give a divisor, or head_width."
            )
        object.__setattr__(self, "num_kv_heads", self.num_kv_heads or self.num_heads)
        object.__setattr__(self, "head_width", self.head_width or self.width // self.num_heads)
        if self.num_heads % (self.num_kv_heads or 1):
            raise InputError(
                f"Spec has {self.num_heads} heads over {self.num_kv_heads} key and value heads, which does not divide. "
                "Give a divisor."
            )
        if self.support is not None:
            if self.causal is not None or self.window is not None:
                raise InputError(
                    "Spec has `support`, which says all about what is visible. Leave out causal and window."
                )
            visible_pairs(self, np.arange(1), np.arange(1))  # raises what is wrong with it
        if self.frequencies is not None:
            object.__setattr__(self, "frequencies", tuple(map(float, self.frequencies)))
            object.__setattr__(self, "rotary_width", self.rotary_width or 2 * len(self.frequencies))
            if len(self.frequencies) * 2 != self.rotary_width:
                raise InputError(
                    f"Spec has {len(self.frequencies)} frequencies for {self.rotary_width} rotated coordinates. "
                    "Give one per pair."
                )
        if self.window is not None and self.window < 1:
            raise InputError(f"Spec has window = {self.window}, which hides every key. Give at least 1.")

    undeclared_sizes: ClassVar[frozenset[str]] = frozenset()

    def declared_values(self) -> dict[str, Any]:
        """Everything but the sizes that were not given.

        >>> Spec(num_heads=8).declared_values().get("width"), Spec(num_heads=8).declared_values()["num_heads"]
        (None, 8)
        """
        return {name: value for name, value in asdict(self).items() if name not in self.undeclared_sizes}

    def changes(self) -> dict[str, Any]:
        """What this spec declares, as changes to another; sizes that follow from changed ones follow again."""
        changes = self.declared_values()
        if {"width", "num_heads"} & set(changes):
            return {"head_width": 0, "num_kv_heads": None, **changes}
        return changes

    @property
    def says_what_is_visible(self) -> bool:
        """True if the spec says which inputs an output sees."""
        return self.causal is not None or self.support is not None

    def matrix_shapes(self) -> dict[str, tuple[int, int]]:
        """The shapes of the four projections, as x @ matrix."""
        own, shared = self.num_heads * self.head_width, (self.num_kv_heads or 1) * self.head_width
        return {
            "query": (self.width, own),
            "key": (self.width, shared),
            "value": (self.width, shared),
            "output": (own, self.width),
        }

    @property
    def rotary_code(self) -> Rotary:
        """The rotary code with the declared frequencies."""
        scaling = UNSCALED if self.frequencies is None else GivenFrequencies(values=self.frequencies)
        return Rotary(base=self.rotary_base, layout=self.rotary_layout, rotary_dims=self.rotary_width, scaling=scaling)

    def non_defaults(self) -> dict[str, Any]:
        """The values that have to be written down to get this spec again.

        >>> Spec(width=64, num_kv_heads=2, causal=True).non_defaults()
        {'width': 64, 'num_kv_heads': 2, 'causal': True}
        """
        derived = {"width": _WIDTH, "num_heads": _NUM_HEADS}
        derived |= {"num_kv_heads": self.num_heads, "head_width": self.width // self.num_heads}
        defaults = {each.name: derived.get(each.name, each.default) for each in fields(self)}
        return {name: getattr(self, name) for name, usual in defaults.items() if getattr(self, name) != usual}


def spec_from_text(text: str) -> Spec:
    """A spec as typed on the command line; a name without a value is true.

    >>> spec_from_text("causal,positions=rotary,num_heads=8,width=64").causal
    True
    """
    known = {field.name: field.type for field in fields(Spec)}
    values: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if name not in known:
            raise InputError(f"A spec has no '{name}'. It has: {', '.join(known)}.")
        values[name] = _value(name, value, known[name]) if sign else True
    return Spec(**values)


def _value(name: str, text: str, kind: Any) -> Any:
    kinds = get_args(kind) if get_origin(kind) not in (None, Literal) else (kind,)
    if any(get_origin(each) is Literal and text in get_args(each) for each in kinds):
        return text
    if text.lower() in ("none", "null") and type(None) in kinds:
        return None
    for each in kinds:
        if get_origin(each) is tuple:
            try:
                return tuple(map(float, text.split()))
            except ValueError:
                continue
        if each is bool and text.lower() in ("true", "false", "yes", "no", "1", "0"):
            return text.lower() in ("true", "yes", "1")
        if each in (int, float):
            try:
                return each(text)
            except ValueError:
                continue
        if each is str:
            return text
    allowed = [_words_for(each) for each in kinds]
    words = " or ".join(word for group in allowed for word in group if word != "NoneType")
    raise InputError(f"{name}={text} is not understood in a spec. {name} is {words}.")


def _words_for(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is tuple:
        return ("numbers with spaces between them",)
    return get_args(kind) if get_origin(kind) is Literal else (kind.__name__,)


@dataclass(frozen=True, kw_only=True)
class Projections:
    """The weights of one attention layer, as x @ matrix: everything an independent oracle needs besides the spec.

    `query` is width × (heads · head_width) with the head as the slower axis, `key` and `value` likewise over the
    key-value heads, `output` maps back. A bias that is None is absent. `extra` holds what else the spec calls for
    (`sinks`: one logit per head, `slopes`: one ALiBi slope per head, `query_norm` and `key_norm`: RMS gains,
    `positions`: learned or sinusoidal codes, one row per position, that the layer itself adds to its input).
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray
    query_bias: np.ndarray | None = None
    key_bias: np.ndarray | None = None
    value_bias: np.ndarray | None = None
    output_bias: np.ndarray | None = None
    extra: Mapping[str, np.ndarray] | None = None

    @classmethod
    def from_pairs(
        cls, pairs: Mapping[str, tuple[np.ndarray, np.ndarray | None]], extra: Mapping[str, np.ndarray] | None = None
    ) -> "Projections":
        """From matrix and bias of "query", "key", "value" and "output"."""
        matrices: dict[str, Any] = {part: matrix for part, (matrix, _) in pairs.items()}
        biases: dict[str, Any] = {f"{part}_bias": bias for part, (_, bias) in pairs.items()}
        return cls(**matrices, **biases, extra=extra)


def random_matrices(spec: Spec, dtype: np.dtype, seed: int = 0) -> dict[str, Any]:
    """Projections that preserve the variance."""
    rng = np.random.default_rng(seed)
    return {
        part: (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(dtype)
        for part, shape in spec.matrix_shapes().items()
    }


@dataclass(frozen=True, kw_only=True)
class LayerParameter:
    """Numbers that a layer learns, whatever they mean.

    Every row and column of the matrix of a linear map is expected to matter, and every number of its bias or of
    another vector; of a norm's gain and of anything else, say a table, only the whole. `module` names its owner.
    """

    values: np.ndarray
    kind: Literal["matrix", "vector", "gain", "other"]
    module: str = ""


@dataclass(frozen=True, kw_only=True)
class KernelTraits:
    """What a kernel declares besides its spec; docs/kernels.md explains each."""

    page_size: int = 4
    takes_chunks: bool = False
    padding_slot: int | None = None
    garbage: Literal["any", "finite"] = "any"
    bits: int = 8
    key_groups: str = "dim"
    value_groups: str = "dim"
    group_size: int | None = None
    zero_point: bool = False
    latent_width: int = 16
    rotary_width: int = 4
    base: Literal["e", "2"] = "e"
    split: Literal["contiguous", "zigzag"] = "contiguous"
    uneven: bool = False


@dataclass(frozen=True, kw_only=True)
class LayerFinding:
    """Something that was found out about a layer, and how.

    `kind` is "unusual" for what most layers do otherwise, or what contradicts a declaration: a reader should look at
    it. "not found" is what could not be found out, and why.

    >>> str(LayerFinding(name="width", value=64, how="attribute embed_dim"))
    'width = 64: attribute embed_dim'
    """

    name: str
    how: str
    value: Any = None
    kind: FindingKind = "found"

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: {self.how}"
        value = f"{self.value:.6g}" if isinstance(self.value, float) else self.value
        return f"{self.name} = {value}: {self.how}"


@dataclass(frozen=True, kw_only=True)
class CacheLimits:
    """How the caches of a layer may be used.

    Args:
        is_in_place: a step changes the cache that it is given, so that only a fork keeps the old one.
        max_batch: the largest number of rows of a cache that is used in traces.
        is_single: only one cache can be in use at a time.
        max_append: the largest number of tokens that a step takes.
        error: how far outputs may be from the full pass on purpose, relative to the largest output.
    """

    is_in_place: bool = False
    max_batch: int | None = None
    is_single: bool = False
    max_append: int | None = None
    error: float = 0.0


class Subject:
    """Anything that can be checked. Subclass it for an unusual layer: `call` is enough, the rest unlocks more laws.

    `capabilities` says which of the other methods the subject has. Each method names the capability that it belongs to.
    One more is used where it exists: `mask_forms()` names the forms of a mask that `call` takes as `form=…` (the mask
    itself stays bool).

    `is_layer` is False for what is no layer, on which only laws that need one of its capabilities are tried.
    `is_routed` says that the layer routes tokens to experts, so that rounding depends on the other tokens.
    `has_state` says that it carries a state from token to token, in which earlier tokens fade.
    `findings` is what an adapter found out about the layer. `is_read_off` says that nobody but the adapter says what
    the layer is, so that what the spec leaves open is to be probed for.
    """

    name: str = "layer"
    spec: Spec = Spec()
    capabilities: frozenset[str] = frozenset()
    cache_limits: CacheLimits = CacheLimits()
    is_layer: bool = True
    is_routed: bool = False
    has_state: bool = False
    findings: tuple[LayerFinding, ...] = ()
    is_read_off: bool = False
    traits: KernelTraits = KernelTraits()

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output [batch, position, anything] for an array [batch, position, width].

        Options by capability: "mask" [batch, position], True for a real token, whatever the layer uses inside;
        "lengths" [batch], the number of real tokens at the beginning of each row; "positions" [batch, position], with
        "axes" [axis, batch, position]; "documents" [batch, position], the number of each token's packed document.
        """
        raise NotImplementedError("A subject needs `call(x)`.")

    def in_dtype(self, dtype: str) -> "Subject":
        """float64: the same layer, its weights and work in another dtype."""
        raise NotImplementedError

    def empty_cache(self, batch: int) -> Any:
        """cache, state: one without tokens."""
        raise NotImplementedError

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """cache, state: the output for new tokens, and the cache with them; a mask covers past and new tokens.

        chunked: it takes `form="chunked"`, and so does `call`. packed: it takes `lengths`, those of the documents in
        a batch of one; caches then have a row per document.
        """
        raise NotImplementedError

    def new_session(self) -> "Subject":
        """cache: the same layer with nothing cached; caches of one session may share memory."""
        return self

    def fork_cache(self, cache: Any) -> Any:
        """fork: another cache of the same tokens, independent of the first."""
        raise NotImplementedError

    def crop_cache(self, cache: Any, length: int) -> Any:
        """crop: the cache of the first tokens only."""
        raise NotImplementedError

    def reject_cache(self, cache: Any, count: int) -> Any:
        """reject: the cache without the last tokens, at most those of the last step."""
        raise NotImplementedError

    def evict_cache(self, cache: Any, count: int) -> Any:
        """evict: the cache without the first tokens."""
        raise NotImplementedError

    def reorder_cache(self, cache: Any, order: np.ndarray) -> Any:
        """reorder: the cache with row order[i] as its row i."""
        raise NotImplementedError

    def swap_out(self, cache: Any) -> Any:
        """swap: what is stored of a cache, which is not used any more."""
        raise NotImplementedError

    def swap_in(self, saved: Any) -> Any:
        """swap: the cache again."""
        raise NotImplementedError

    def reset_cache(self, cache: Any) -> Any:
        """reset: the cache without tokens."""
        raise NotImplementedError

    def release_cache(self, cache: Any) -> None:
        """release: the cache is not used any more."""
        raise NotImplementedError

    def prefix_cache(self, x: np.ndarray) -> tuple[int, Any]:
        """prefix: how many of the first tokens are known from earlier caches, and a new cache that holds them."""
        raise NotImplementedError

    def projections(self) -> Projections:
        """weights: the matrices, for a float64 oracle."""
        raise NotImplementedError

    def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
        """core: attention itself on [batch, head, position, width], with `mask` [batch, query, key] and `causal`.

        placed: it also takes `positions` [batch, position], and rotates or biases by them.
        """
        raise NotImplementedError

    def heads_after(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """core: the three arrays as they are after such a call."""
        heads = tuple(each.copy() for each in (q, k, v))
        self.core(*heads)
        return heads

    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """returned: the output, and the attention weights [batch, head, query, key] that the layer returns."""
        raise NotImplementedError

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """gradient: ∂⟨direction, f(x)⟩/∂x by the framework."""
        raise NotImplementedError

    def parameters(self) -> Mapping[str, LayerParameter]:
        """parameters: those that are learned, by name, without embeddings of token ids or positions."""
        raise NotImplementedError

    def parameter_gradients(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> Mapping[str, np.ndarray]:
        """parameters: ∂⟨direction, f(x)⟩/∂p by name."""
        raise NotImplementedError

    def with_parameters(self, values: Mapping[str, np.ndarray]) -> "Subject":
        """parameters: the same layer with other numbers in some of them."""
        raise NotImplementedError

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """paths: other code paths by name, all of which should agree with `call`."""
        raise NotImplementedError

    def native(self, x: np.ndarray) -> Any:
        """native: the framework's own array."""
        raise NotImplementedError

    def call_native(self, x: Any, **options: Any) -> Any:
        """native: the layer on the framework's own array."""
        raise NotImplementedError

    def numpy(self, x: Any) -> np.ndarray:
        """native: the framework's array as numpy's."""
        raise NotImplementedError

    def run_kernel(self, operation: str, *arguments: Any) -> tuple[np.ndarray, ...]:
        """paged, varlen, quantized, tree, latent, merge, parallel: the arrays that a function of a kernel gives."""
        raise NotImplementedError

    def has(self, *capabilities: str) -> bool:
        """True if the subject has all of these."""
        return self.capabilities.issuperset(capabilities)

    def converted(self, dtype: str) -> "Subject":
        """The same layer in another dtype, which it also declares."""
        return self.in_dtype(dtype).declared(dtype=dtype)

    def declared(self, **changes: Any) -> "Subject":
        """The same subject with some values of its spec changed."""
        other = copy.copy(self)
        other.spec = replace(self.spec, **changes)
        return other
