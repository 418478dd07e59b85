"""Functions as subjects: layers f(x), and bare attention f(queries, keys, values) between fixed random projections."""

import copy
import functools
import importlib
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regard.conformance.adapters.arrays import Arrays, JaxArrays, NumpyArrays, TorchArrays
from regard.conformance.adapters.construction import HEADS, WIDTH, chosen_value
from regard.conformance.adapters.layers import (
    Layer,
    first_output,
    is_bare_attention,
    option_names,
    parameter_names,
    returned_or_error,
    sample,
)
from regard.conformance.adapters.projections import part_named
from regard.conformance.law import distance
from regard.conformance.oracle import Oracle
from regard.conformance.subject import LayerFinding, Projections, Spec, Subject, random_matrices
from regard.conformance.verdict import error_line
from regard.core.errors import InputError

# Widths to try on a function of tokens, whose signature does not say which it takes.
_WIDTHS = (64, 16, 128, 8, 256, 512, 768)
# What functions call the parameters that they are given first.
_PARAMETERS = ("params", "parameters", "weights", "p")
# The size of the matrices that a function is given.
_STD = 0.12
# The size of queries and keys at which the logits of a softmax are far from small, and what is no feature but rounding.
_LOUD, _NO_FEATURE = 2.0, 1e-5
# Lengths to try on attention: any, or a multiple of what windows and buckets insist on.
_LENGTHS = (5, 16)
FRAMEWORKS: Mapping[str, type[Arrays]] = {"numpy": NumpyArrays, "torch": TorchArrays, "jax": JaxArrays}


class _CannotCall(Exception):
    """Raised if a function does not map a framework's arrays to arrays of the same shape."""


class _ReturnsOther(_CannotCall):
    """Raised if a function returns another framework's array of the right shape, which no other width changes."""


def function_subject(
    function: Callable[..., Any], spec: Spec, name: str, frameworks: Mapping[str, type[Arrays]] = FRAMEWORKS
) -> Subject:
    """A function of numpy's arrays if it takes and returns those, else of a framework that is imported."""
    function, made = _with_parameters(function, spec)
    names = parameter_names(function)
    is_bare = (is_bare_attention(names) and not any(map(part_named, names[3:]))) or names[:1] == ("qkv",)
    make = _bare_attention if is_bare else _function_of_tokens
    errors = []
    for package, kind in frameworks.items():
        if package in sys.modules:
            try:
                subject = make(function, spec, name=name, arrays=kind(spec.dtype, spec.device))
                subject.findings = (*made, *subject.findings)
                return subject
            except _CannotCall as error:
                errors.append(f"{package}: {error}")
    shape = "[batch, head, position, width]" if is_bare else f"[batch, position, {spec.width}]"
    raise InputError(
        f"{name} does not take an array {shape} and return one. {'; '.join(errors)}. "
        "Declare its width in the spec, or wrap it in a function that does."
    )


def _with_parameters(function: Callable[..., Any], spec: Spec) -> tuple[Callable[..., Any], tuple[LayerFinding, ...]]:
    """f(params, x) as f(x), with what a function of the same module makes of a key and sizes, chosen by their names."""
    first = _required(function)[:1]
    around = getattr(function, "__globals__", {})
    makers = [each for name, each in around.items() if name.startswith("init") and inspect.isfunction(each)]
    for make in makers if first and first[0].lower() in _PARAMETERS else ():
        sizes = {each: _chosen_for(each, spec) for each in _required(make)}
        made, error = returned_or_error(lambda make=make, sizes=sizes: make(**sizes))
        if error is None:
            shown = ", ".join(f"{each}={value}" for each, value in sizes.items() if isinstance(value, int | float))
            finding = LayerFinding(name=first[0], value=f"{make.__name__}({shown})", how="a function of its module")
            return functools.partial(function, made), (finding,)
    return function, ()


def _chosen_for(name: str, spec: Spec) -> Any:
    """A key for random numbers, a size of the spec, or what the name says."""
    if name.lower() in ("key", "rng", "rng_key", "prng_key", "seed"):
        jax = sys.modules.get("jax")
        return 0 if jax is None or name == "seed" else jax.random.PRNGKey(0)
    sizes = {**dict.fromkeys(WIDTH, spec.width), **dict.fromkeys(HEADS, spec.num_heads)}
    return sizes.get(name.lower(), chosen_value(name))


def arrays_taken(spec: Spec, outputs: Callable[[Arrays, Any], Any], complaint: str) -> Arrays:
    """The first imported framework with which `outputs` gives its own array for x; an InputError if there is none."""
    problems = []
    for package, kind in FRAMEWORKS.items():
        if package in sys.modules:
            arrays = kind(spec.dtype, spec.device)
            x = arrays.array(sample(2, 3, spec.width))
            found, error = returned_or_error(lambda: outputs(arrays, x))  # noqa: B023
            if error is None and isinstance(found, type(x)):
                return arrays
            problems.append(f"{package}: {error_line(error) if error else f'it returns {type(found).__name__}'}")
    raise InputError(f"{complaint} {'; '.join(problems)}.")


def _returned(function: Callable[[], Any], wanted: tuple[int, ...], like: Any) -> Any:
    """What the function returns if it is an array of the wanted shape, up to its width; raises _CannotCall if not."""
    found, error = returned_or_error(function)
    shape = tuple(getattr(found, "shape", ()))
    if error is not None:
        raise _CannotCall(error_line(error))
    if not isinstance(found, type(like)) or shape[:-1] != wanted[:-1]:
        kind = _ReturnsOther if shape == wanted else _CannotCall
        raise kind(f"it returns {type(found).__name__} {shape or ''} for {wanted}")
    return found


def _function_of_tokens(function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> "FunctionLayer":
    """A function f(x) with the declared width, else with the first usual one that it takes."""
    widths = [spec.width, *(_WIDTHS if "width" in spec.undeclared_sizes else ())]
    problem: _CannotCall | None = None
    for width in widths:
        try:
            sized = Spec(**{**spec.declared_values(), **({"width": width} if len(widths) > 1 else {})})
            layer = FunctionLayer(function, sized, name=name, arrays=arrays)
        except _ReturnsOther:
            raise
        except _CannotCall as error:
            problem = problem or error
            continue
        if width != spec.width:
            layer.findings += (LayerFinding(name="width", value=width, how="the first that the function takes"),)
        return layer
    assert problem is not None
    raise problem


class FunctionLayer(Layer):
    """A function f(x) of one framework; what it calls its mask and positions is read off its signature.

    A function that is given its matrices, f(x, Wq, Wk, Wv, Wo), gets random ones, and sizes by their names.
    """

    is_read_off = True

    def __init__(self, function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> None:
        self.function, self.spec, self.name, self.arrays = function, spec, name, arrays
        self.names = option_names(parameter_names(function))
        self._find_arguments()
        x = arrays.array(sample(2, 5, spec.width))
        # A function of one sequence is called row by row.
        self.takes_rows = self._takes_rows(x)
        capabilities = set() if self.takes_rows else self.accepted_options(self.names)
        if self._explains_single_tokens():
            capabilities.add("weights")
        elif self.matrices:
            how = "none: the output for a token alone is not its value, projected"
            self.findings += (LayerFinding(name="oracle", how=how, kind="not found"),)
        self.set_capabilities(capabilities)

    def forward(self, x: Any, **options: Any) -> Any:
        """The function's output, the first of several."""
        if self.takes_rows:
            return self.arrays.stack([self._apply(row) for row in x])
        return self._apply(x, **self.renamed(options, self.names))

    def projections(self) -> Projections:
        """The matrices that the function is given."""
        parts = {part_named(name): each for name, each in self.matrices.items()}
        biases = {part_named(f"w{name[1:]}"): each for name, each in self.biases.items()}
        for found in (parts, biases):
            if "packed" in found:
                found |= dict(zip(("query", "key", "value"), np.split(found.pop("packed"), 3, axis=-1), strict=True))
        three = ("query", "key", "value", "output")
        return Projections.from_pairs({part: (parts[part], biases.get(part)) for part in three if part in parts})

    def _apply(self, x: Any, **given: Any) -> Any:
        own = {name: self.arrays.array(each) for name, each in {**self.matrices, **self.biases}.items()}
        return first_output(self.function(*[x] * self.num_inputs, **own, **self.constants, **given))

    def _find_arguments(self) -> None:
        """What the function requires besides tokens: matrices, biases, and sizes and flags by their names."""
        needed, width, rng = _required(self.function), self.spec.width, np.random.default_rng(0)
        self.num_inputs = 3 if is_bare_attention(needed) and any(map(part_named, needed[3:])) else 1
        self.matrices: dict[str, np.ndarray] = {}
        self.biases: dict[str, np.ndarray] = {}
        for name in needed[self.num_inputs :]:
            part = part_named(name) or (part_named(f"w{name[1:]}") if name.lower().startswith("b") else None)
            size = 3 * width if part == "packed" else width
            if part is not None and part == part_named(name):
                self.matrices[name] = rng.standard_normal((width, size)) * _STD
            elif part is not None:
                self.biases[name] = rng.standard_normal(size) * _STD
        others = [name for name in needed[self.num_inputs :] if name not in {**self.matrices, **self.biases}]
        chosen = {name: chosen_value(name) for name in others if name not in self.names.values()}
        self.constants = {name: value for name, value in chosen.items() if value is not inspect.Parameter.empty}
        if self.constants:
            listed = ", ".join(f"{name}={value}" for name, value in self.constants.items())
            self.findings += (
                LayerFinding(name="called with", value=listed, how="chosen by the names of its arguments"),
            )
        if self.matrices:
            self.findings += (LayerFinding(name="matrices", value=", ".join(self.matrices), how="drawn at random"),)
            self._find_heads()

    def _find_heads(self) -> None:
        """The number of heads that the function is called with, one if it has no such argument."""
        defaults = {name: each.default for name, each in inspect.signature(self.function).parameters.items()}
        counts = {name: value for name, value in {**defaults, **self.constants}.items() if name.lower() in HEADS}
        name, count = next(iter(counts.items()), ("", 1))
        if "num_heads" in self.spec.undeclared_sizes and isinstance(count, int):
            how = f"called with {name}={count}" if name else "no argument says how many"
            self.spec = Spec(**{**self.spec.declared_values(), "width": self.spec.width, "num_heads": count})
            self.findings += (LayerFinding(name="num_heads", value=count, how=how),)

    def _explains_single_tokens(self) -> bool:
        """True if the matrices are known, and the output for a token alone is its value, projected."""
        found = {part_named(name) for name in self.matrices}
        if not ({"packed", "output"} <= found or {"query", "key", "value", "output"} <= found):
            return False
        oracle = Oracle(spec=replace(self.spec, causal=True, positions="none"), parts=self.projections())
        x = sample(2, 1, self.spec.width).astype(np.float32)
        y, error = returned_or_error(lambda: self.call(x))
        return error is None and distance(y, oracle(x)) <= 1e-3 * float(np.abs(y).max())

    def _takes_rows(self, x: Any) -> bool:
        """False if the function takes a batch, True if it takes a single row; raises _CannotCall if neither."""
        problems = []
        for given in (x, x[0]):
            try:
                _returned(lambda given=given: self._apply(given), tuple(given.shape), given)
            except _CannotCall as error:
                problems.append(error)
                continue
            return given is not x
        raise problems[0]


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that the function cannot be called without."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in parameter_names(function) if found[name].default is inspect.Parameter.empty)


# Where attention functions have their heads, and how they want queries, keys and values.
CoreLayout = Literal[
    "[batch, head, position, width]",
    "[batch, position, head, width]",
    "[batch · head, position, width]",
    "[position, batch, head, width]",
    "[batch, head, position, width], keys transposed",
    "[batch, position, 3, head, width]",
    "[batch, 3, head, position, width]",
    "[3, batch, head, position, width]",
]
_SEPARATE: tuple[CoreLayout, ...] = (
    "[batch, head, position, width]",
    "[batch, position, head, width]",
    "[batch · head, position, width]",
    "[position, batch, head, width]",
    "[batch, head, position, width], keys transposed",
)
_PACKED: tuple[CoreLayout, ...] = (
    "[batch, position, 3, head, width]",
    "[batch, 3, head, position, width]",
    "[3, batch, head, position, width]",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AttentionFunction:
    """An attention function, and how it is called on [batch, head, position, width]."""

    function: Callable[..., Any]
    arrays: Arrays
    layout: CoreLayout
    names: Mapping[str, str]
    # Causal functions that take no other lengths get zeros at the end, up to the next multiple.
    multiple_of: int = 1

    def __call__(self, q: Any, k: Any, v: Any, **options: Any) -> Any:
        """Attention; the options go by our names."""
        given = {self.names[name]: self._as_wanted(name, value) for name, value in options.items()}
        longer = (self._lengthened(each) for each in (q, k, v))
        return self._called(tuple(longer), given)[:, :, : q.shape[2]]

    def _lengthened(self, heads: Any) -> Any:
        missing = -heads.shape[2] % self.multiple_of
        if missing == 0:
            return heads
        more = self.arrays.array(np.zeros((*heads.shape[:2], missing, heads.shape[3])))
        return importlib.import_module(self.arrays.module).concatenate([heads, more], 2)

    def _called(self, heads: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        q, k, v = heads
        stack = importlib.import_module(self.arrays.module).stack
        match self.layout:
            case "[batch, head, position, width]":
                return first_output(self.function(q, k, v, **given))
            case "[batch, position, head, width]":
                y = first_output(self.function(*(each.swapaxes(1, 2) for each in (q, k, v)), **given))
                return _with_heads(y, q.shape[1]).swapaxes(1, 2)
            case "[position, batch, head, width]":
                turned = (each.swapaxes(1, 2).swapaxes(0, 1) for each in (q, k, v))
                y = _with_heads(first_output(self.function(*turned, **given)), q.shape[1])
                return y.swapaxes(0, 1).swapaxes(1, 2)
            case "[batch · head, position, width]":
                flat = (each.reshape(each.shape[0] * each.shape[1], *each.shape[2:]) for each in (q, k, v))
                return first_output(self.function(*flat, **given)).reshape(*q.shape[:3], -1)
            case "[batch, head, position, width], keys transposed":
                return first_output(self.function(q, k.swapaxes(-1, -2), v, **given))
            case "[batch, position, 3, head, width]":
                packed = stack([each.swapaxes(1, 2) for each in (q, k, v)], 2)
                return first_output(self.function(packed, **given)).swapaxes(1, 2)
            case "[batch, 3, head, position, width]":
                return first_output(self.function(stack([q, k, v], 1), **given))
            case "[3, batch, head, position, width]":
                return first_output(self.function(stack([q, k, v], 0), **given))

    @property
    def takes(self) -> frozenset[str]:
        """The options that it has."""
        is_flat = self.layout == "[batch · head, position, width]"
        has_options = not is_flat and self.multiple_of == 1
        return frozenset(set(self.names) & {"mask", "causal", "window"} if has_options else ())

    def _as_wanted(self, name: str, value: Any) -> Any:
        # flash-attention counts the keys on both sides of a query.
        return (value - 1, 0) if name == "window" and self.names[name] == "window_size" else value

    def mixes(self, heads: Sequence[Any], axis: int, start: int = 0, end: int = 1) -> bool:
        """True if outputs before `start` or from `end` on change with keys and values between, on this axis."""
        q, k, v = heads
        at = (slice(None),) * axis
        bump = np.zeros(q.shape)
        bump[(*at, slice(start, end))] = 3.0
        moved = self.arrays.array(bump)
        before, after = (self.arrays.numpy(each) for each in (self(q, k, v), self(q, k + moved, v + moved)))
        return any(np.any(before[(*at, part)] != after[(*at, part)]) for part in (slice(start), slice(end, None)))


def _with_heads(y: Any, num_heads: int) -> Any:
    """The output with an axis of heads, which some functions merge with the width."""
    is_merged = y.ndim == 3 and y.shape[-1] % num_heads == 0
    return y.reshape(*y.shape[:2], num_heads, -1) if is_merged else y


def _bare_attention(function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> "CoreLayer":
    """Attention f(q, k, v, …) or f(qkv, …) as a layer, in the first layout in which positions mix and heads do not."""
    all_names = parameter_names(function)
    names = option_names(all_names)
    problem: _CannotCall | None = None
    fallback: _AttentionFunction | None = None
    for length, layout in itertools.product(_LENGTHS, _PACKED if all_names[:1] == ("qkv",) else _SEPARATE):
        attend = _AttentionFunction(function=function, arrays=arrays, layout=layout, names=names)
        try:
            with arrays.quietly():
                mixes_positions, mixes_heads = _mixes(attend, spec, length)
        except _CannotCall as error:
            problem = problem or error
            continue
        if mixes_positions and not mixes_heads:
            return _core_layer(attend, spec, name, length)
        if length == _LENGTHS[0]:
            fallback = fallback or attend
    if fallback is None:
        assert problem is not None
        raise problem
    return CoreLayer(fallback, spec, name=name, arrays=arrays, takes=fallback.takes).read_off()


def _mixes(attend: _AttentionFunction, spec: Spec, length: int) -> tuple[bool, bool]:
    """Whether positions and heads mix; raises _CannotCall if the function does not take this length."""
    shared = spec.num_kv_heads or 1
    heads, even = (
        [
            attend.arrays.array(sample(2, count, length, spec.head_width, seed=seed))
            for seed, count in enumerate((spec.num_heads, *others))
        ]
        for others in ((shared, shared), (spec.num_heads, spec.num_heads))
    )
    _returned(lambda: attend(*heads), tuple(heads[0].shape), heads[0])
    return attend.mixes(even, 2), attend.mixes(even, 1)


def _core_layer(attend: _AttentionFunction, spec: Spec, name: str, length: int) -> "CoreLayer":
    """The function as a layer, with what was found out; raises _CannotCall if it takes too few lengths."""

    def looks_ahead(size: int) -> tuple[Any, Exception | None]:
        shape = (2, spec.num_heads, size, spec.head_width)
        heads = [attend.arrays.array(sample(*shape, seed=part)) for part in range(3)]
        return returned_or_error(
            lambda: attend.mixes(heads, 2, size // 2, size) or attend.mixes(heads, 2, size - 1, size)
        )

    how = "outputs depend on other positions and not on other heads"
    findings = [LayerFinding(name="layout", value=attend.layout, how=how)]
    if length != _LENGTHS[0]:
        attend = replace(attend, multiple_of=math.gcd(*(size for size in range(1, 33) if looks_ahead(size)[1] is None)))
        if looks_ahead(2 * length)[0]:
            raise _CannotCall(f"it takes only lengths that are multiples of {attend.multiple_of}, and is not causal")
        how = "others are padded at the end, which no earlier output depends on"
        findings.append(LayerFinding(name="lengths", value=f"multiples of {attend.multiple_of}", how=how))
    layer = CoreLayer(attend, spec, name=name, arrays=attend.arrays, takes=attend.takes).read_off(*findings)
    return layer.with_mask_found().without_linear_oracle()


class CoreLayer(Layer):
    """y = W_o · attend(W_q x, W_k x, W_v x): `attend` is asked for the causality and the window of the spec.

    `attend(q, k, v, mask=…, causal=…)` works on [batch, head, position, width] of the framework; the mask is
    [batch, 1, query, key], True where a query may look. `takes` says which of the options it has, "window" among them.
    """

    mask_axes: Literal[3, 4] = 4

    def __init__(
        self, attend: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays, takes: frozenset[str]
    ) -> None:
        self.attend, self.spec, self.name, self.arrays, self.takes = attend, spec, name, arrays, takes
        # A window that was found on the function is its own, and need not be asked for.
        self.is_window_given = spec.window is not None
        self.matrices = random_matrices(spec, np.dtype(np.float32))
        self.set_capabilities({"core", "weights"} | ({"mask"} & takes))

    def read_off(self, *findings: LayerFinding) -> "CoreLayer":
        """The same layer, about which nobody says more than was found."""
        self.is_read_off, self.findings = True, findings
        return self

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Attention between the projections."""
        options = self.options_for(x.shape[1], mask)
        return self.project(x, lambda q, k, v: self.attend(q, k, v, **options))

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """Attention itself; the mask is [batch, query, key]."""
        if causal and "causal" not in self.takes:
            raise InputError(f"{self.name} has no causal flag. Give it a mask instead.")
        with self.arrays.quietly():
            visible = None if mask is None else self.native(mask[:, None])
            heads = tuple(map(self.native, (q, k, v)))
            attend = self._attend_causally if causal else self._attend
            return self.numpy(self.arrays.run(attend, heads, self._mask_option(visible)))

    def heads_after(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """What is left of the framework's own arrays."""
        with self.arrays.quietly():
            heads = tuple(map(self.native, (q, k, v)))
            self.arrays.run(self._attend, heads, {})
            return tuple(map(self.numpy, heads))

    def projections(self) -> Projections:
        """The matrices around it."""
        return Projections(**self.matrices)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Causality by a mask instead of by the flag, if it has both."""
        paths = dict(super().paths()) if self.arrays.has_gradient else {}
        if self.spec.causal and self.takes >= {"mask", "causal"}:
            paths["a mask instead of the causal flag"] = self._causal_by_mask
        return paths

    def project(self, x: Any, attend: Callable[[Any, Any, Any], Any]) -> Any:
        """`attend` on the heads of x, and its output projected back."""
        shared = self.spec.num_kv_heads or 1
        q = self._heads(x, "query", self.spec.num_heads)
        mixed = attend(q, self._heads(x, "key", shared), self._heads(x, "value", shared))
        merged = mixed.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return merged @ self.native(self.matrices["output"])

    def options_for(self, length: int, mask: Any) -> dict[str, Any]:
        """The mask and the causal flag for `attend`; the mask says what no flag can say."""
        options = self._mask_option(self._visible(length, mask))
        if "causal" in self.takes and self.spec.causal is not None:
            options["causal"] = self.spec.causal
        if "window" in self.takes and self.is_window_given:
            options["window"] = self.spec.window
        return options

    def with_mask_found(self) -> "CoreLayer":
        """The layer with the meaning of its mask found by trying, unless it is declared; without it if none hides."""
        if "mask" not in self.takes or self.spec.mask is not None:
            return self
        for axes in (4, 3):
            for meaning in ("keep", "drop", "additive"):
                other = copy.copy(self)
                other.spec, other.mask_axes = replace(self.spec, mask=meaning), axes
                if returned_or_error(other._hides)[0]:
                    shape = "[batch, 1, query, key]" if axes == 4 else "[batch, query, key]"
                    how = f"a key hidden by {shape} of this kind changes no output"
                    other.findings += (LayerFinding(name="mask", value=meaning, how=how),)
                    return other
        self.takes, self.capabilities = self.takes - {"mask"}, self.capabilities - {"mask"}
        how = "it hides no key in any form tried; declare mask=keep, drop or additive"
        self.findings += (LayerFinding(name="mask", how=how, kind="not found"),)
        return self

    def without_linear_oracle(self) -> "CoreLayer":
        """The layer without an oracle if it is linear attention, which no oracle of a softmax covers."""
        if not returned_or_error(self._has_few_features)[0]:
            return self
        self.capabilities -= {"core", "weights"}
        how = "none: as a matrix, weights have no more rank than a head is wide, as in linear attention"
        self.findings += (LayerFinding(name="oracle", how=how, kind="unusual"),)
        return self

    def _has_few_features(self) -> bool:
        """True if the weights that many queries give to many keys are products of as many features as a head is wide.

        The exponential of a product has no such features, whatever its scale. One-hot values show the weights.
        """
        spec = self.spec
        width, heads, shared = spec.head_width, spec.num_heads, spec.num_kv_heads or 1
        count = 4 * width
        q = _LOUD * sample(count, heads, count, width)
        keys = _LOUD * sample(1, shared, count, width, seed=1).repeat(count, axis=0)
        weights = []
        for start in range(0, count, width):
            values = np.zeros((count, shared, count, width))
            values[:, :, np.arange(start, start + width), np.arange(width)] = 1.0
            weights.append(self.core(q, keys, values, **self._flags())[:, 0, -1])
        rows = np.concatenate(weights, axis=1).astype(np.float64)
        sizes = np.linalg.svd(rows, compute_uv=False)
        rank = int((sizes > _NO_FEATURE * sizes[0]).sum())
        # Weights that are the same for all queries, or that few keys get, say nothing.
        return 1 < rank <= width and int((np.abs(rows).max(axis=0) > 0).sum()) >= 2 * width

    def _flags(self) -> dict[str, Any]:
        return {"causal": True} if self.spec.causal and "causal" in self.takes else {}

    def _hides(self) -> bool:
        """True if a masked key changes no output, and another key does."""
        q, k, v = (sample(2, self.spec.num_heads, 5, self.spec.head_width, seed=part) for part in range(3))
        mask = np.ones((2, 5, 5), dtype=bool)
        mask[:, :, 1] = False
        hidden, shown = v.copy(), v.copy()
        hidden[:, :, 1] += 3.0
        shown[:, :, 0] += 3.0
        before, same, moved = (self.core(q, k, each, mask=mask) for each in (v, hidden, shown))
        return distance(before, same) <= 1e-5 and distance(before, moved) > 1e-3

    # Methods and not lambdas, since a framework compiles a function once and finds it again by its identity.
    def _attend(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, **({"causal": False} if "causal" in self.takes else {}), **options)

    def _attend_causally(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, causal=True, **options)

    def _forward_with_mask(self, x: Any, visible: Any) -> Any:
        return self.project(x, lambda q, k, v: self.attend(q, k, v, **self._mask_option(visible)))

    def _heads(self, x: Any, part: str, num_heads: int) -> Any:
        flat = x @ self.native(self.matrices[part])
        return flat.reshape(x.shape[0], x.shape[1], num_heads, -1).swapaxes(1, 2)

    def _visible(self, length: int, mask: Any) -> Any:
        """[batch, 1, query, key], True where a query may look; None if a mask has nothing to say."""
        if "mask" not in self.takes:
            return None
        gaps = np.arange(length)[:, None] - np.arange(length)[None, :]
        visible = np.ones((length, length), dtype=bool)
        if self.spec.causal and "causal" not in self.takes:
            visible &= gaps >= 0
        if self.is_window_given and self.spec.window is not None and "window" not in self.takes:
            visible &= np.abs(gaps) < self.spec.window
        if mask is None:
            return None if visible.all() else self.native(visible[None, None])
        return mask[:, None, None, :] & self.native(visible[None, None])

    def _mask_option(self, visible: Any) -> dict[str, Any]:
        if visible is None:
            return {}
        return {"mask": self.padding_mask(visible if self.mask_axes == 4 else visible[:, 0])}
