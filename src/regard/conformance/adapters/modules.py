"""Any torch module as a subject: its sizes, and how it wants to be called, are found on the module itself."""

import copy
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.conformance.adapters.calling import (
    FIRST_DOCUMENT,
    CallPlan,
    MaskForm,
    find_causal_mask,
    find_mask_form,
    find_plan,
    mask_names,
    optional_names,
    required_names,
)
from regard.conformance.adapters.construction import annotated_class, build
from regard.conformance.adapters.layers import option_names, parameter_names, returned_or_error, sample
from regard.conformance.adapters.projections import Packing, find_projections, is_packed, matrix_sizes
from regard.conformance.adapters.sizes import head_findings, sized, width_candidates
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.law import distance
from regard.conformance.oracle import Oracle
from regard.conformance.subject import LayerFinding, Projections, Spec
from regard.conformance.weight_reading import reader_of
from regard.core.errors import InputError

_ROWS, _LENGTH = 3, 5
# The longest input that is tried, and that of the laws: PREC's sums.
_LONGEST = 400
_PAIRS = 64
# The largest batch that is tried; weights are read off hundreds of short rows.
_MOST_ROWS = 512
# Lengths that are multiples of what windows, buckets and images insist on.
_MULTIPLES = (16, 64, 49, 196)
_TORCHS_MASK = "key_padding_mask"
# What caches without tokens are, where no class says it.
_UNFILLED: tuple[Any, ...] = (None, [None, None], {}, [])
_PACKINGS: tuple[Packing, ...] = ("parts", "heads", "numbers")


class ModuleLayer(TorchLayer):
    """A module whose conventions are found by looking at it and calling it.

    forward(x), forward(q, k, v) with projections of its own, cross-attention, a whole model on embeddings or token ids;
    a mask, positions and a cache under the usual names.
    """

    plan: CallPlan
    # The length of the inputs that are tried first, the number that all lengths are multiples of, and the number up to
    # a multiple of which inputs are padded.
    length, multiple_of, padded_to = _LENGTH, 1, 1
    # True for a layer that generates, which nobody needs to declare causal.
    is_decoder = False
    # How many rows it takes at once, None if there is no such limit.
    most_rows: int | None = None
    mask_form: MaskForm | None = None
    packing: Packing | None = None
    is_read_off = True
    # What a cache without tokens is.
    unfilled: Any = None

    def __init__(
        self,
        module: Any,
        spec: Spec | None = None,
        *,
        name: str | None = None,
        redraw: bool = True,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.arguments = arguments or {}
        super().__init__(module, spec, name=name, redraw=redraw)

    def prepare(self) -> None:
        """Finds the sizes, the way to call the module, its longest input, its mask and its matrices."""
        self.names = option_names(parameter_names(self.module.forward))
        self.has_declared_heads = "num_heads" not in self.spec.undeclared_sizes
        self.has_declared_spec = self.spec != Spec(dtype=self.spec.dtype, device=self.spec.device)
        with self.arrays.quietly():
            self._find_call()
            self._find_causal_mask()
            self._note_call()
            self._find_most_rows()
            self._find_longest()
            self._find_mask()
            self._find_padding()
            self.has_weights = self._find_weights()

    def forward(self, x: Any, **options: Any) -> Any:
        """The module's output, the first of several that has a place for each token."""
        if self.most_rows is not None and len(x) > self.most_rows:
            return self._in_parts(x, options, self.most_rows)
        length = x.shape[1]
        if self.padded_to > 1:
            x, options = self._padded(x, options)
        return self.plan.output(self.module, x, self._given(x, options), self.spec.head_width)[:, :length]

    def own_capabilities(self) -> set[str]:
        """What the module accepts."""
        # Where tables are given, they say the positions, and not an argument that a cache may need.
        capabilities = self.accepted_options(set(self.names) & {"positions"}) if not self.plan.tables else set()
        capabilities |= {"mask"} if self.mask_form is not None else set()
        capabilities |= {"weights"} if self.has_weights else set()
        if "lengths" in self.names and self._ends_at_lengths():
            capabilities.add("lengths")
        if "documents" in self.names and self._keeps_documents_apart():
            capabilities.add("documents")
        if "cache" in self.names and self._has_cache():
            capabilities.add("cache")
        return capabilities

    def is_given_all(self) -> bool:
        """True unless an argument that is None, such as a context, is not understood."""
        known = {*self.plan.inputs, *self.plan.constants, *self.names.values(), *mask_names(self.module)}
        return optional_names(self.module) <= known

    def projections(self) -> Projections:
        """The matrices, cut as was found."""
        found = find_projections(self.module, self.spec, self.packing)
        assert found is not None, "weights are among the capabilities only if they were found"
        return found

    def empty_cache(self, batch: int) -> "TokenCache":
        """What the module makes, else an instance of the class that its argument is annotated with, else as found."""
        make = getattr(self.module, "empty_cache", None)
        if make is not None:
            return TokenCache(kept=make(batch))
        kind = annotated_class(self.module.forward, self.names["cache"])
        made, error = returned_or_error(lambda: None if kind is None else build(kind, {}, kind.__name__).layer)
        return TokenCache(kept=copy.deepcopy(self.unfilled) if made is None or error is not None else made)

    def step(self, x: np.ndarray, cache: "TokenCache", **options: Any) -> tuple[np.ndarray, "TokenCache"]:
        """One call with a copy of the cache, since the module may change it in place."""
        with self.arrays.quietly():
            tokens, before = self.native(x), copy.deepcopy(cache.kept)
            given = self._given(tokens, {**self._native_options(options), "cache": before})
            if "use_cache" in parameter_names(self.module.forward):
                given["use_cache"] = True
            parts = _parts_of(before)
            found = self.plan.call(self.module, tokens, given, self.spec.head_width, cache.num_tokens)
            y = self.numpy(self.plan.output_among(found, tokens))
        after = _cache_among(found, self.names["cache"])
        # An object is changed in place.
        kept = before if after is None or _parts_of(before) != parts else after
        if kept is None:
            raise InputError(f"{self.name} returns no cache beside its output.")
        return y, TokenCache(kept=kept, num_tokens=cache.num_tokens + x.shape[1])

    def _given(self, x: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options under the module's own names, the mask in the form that it wants."""
        given = {self.names[name]: value for name, value in options.items() if name != "mask"}
        if "documents" in options:
            given[self.names["documents"]] = options["documents"] + FIRST_DOCUMENT
        if "mask" in options and self.mask_form is not None:
            given[self.mask_form.name] = self.mask_form.of(options["mask"], x.shape[1], x.dtype)
        return given

    def _padded(self, x: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """x with tokens at its end that no output depends on, up to a length that the module takes."""
        import torch

        missing = -x.shape[1] % self.padded_to
        longer = torch.nn.functional.pad(x, (0, 0, 0, missing))
        if self.mask_form is None:
            return longer, dict(options)
        mask = options.get("mask", torch.ones(x.shape[:2], dtype=torch.bool, device=x.device))
        return longer, {**options, "mask": torch.nn.functional.pad(mask, (0, missing), value=False)}

    def _in_parts(self, x: Any, options: Mapping[str, Any], rows: int) -> Any:
        """The outputs for more rows than the module takes at once."""
        import torch

        parts = [
            self.forward(
                x[start : start + rows], **{name: each[start : start + rows] for name, each in options.items()}
            )
            for start in range(0, len(x), rows)
        ]
        return torch.cat(parts)

    def _tokens(self, length: int | None = None, width: int | None = None) -> Any:
        return self.native(sample(_ROWS, length or self.length, width or self.spec.width))

    def _note(self, name: str, how: str, value: Any = None) -> None:
        """Adds a finding; without a value, something that was not found."""
        kind = "not found" if value is None else "found"
        self.findings = (*self.findings, LayerFinding(name=name, value=value, how=how, kind=kind))

    def _find_call(self) -> None:
        """Width, heads and plan: the first width that the module takes."""
        heads, declared = head_findings(self.module, self.arguments), self.spec
        candidates = width_candidates(self.module, self.arguments)
        usual = LayerFinding(name="width", value=declared.width, how="nothing says otherwise")
        problem = ""
        if "width" not in declared.undeclared_sizes:
            candidates = [replace(usual, how="declared"), *candidates]
        widths = [*candidates, *([] if candidates else [usual])]
        for length, width in itertools.product((_LENGTH, *_MULTIPLES), widths):
            spec, used = sized(declared, {"width": width, **heads})
            plan, reason = find_plan(self.module, self._tokens(length, width.value), spec.head_width, {})
            if plan is not None:
                spec = spec if spec.width == width.value else replace(spec, width=width.value)
                self.spec, self.plan, self.findings, self.length = spec, plan, used, length
                return
            problem = problem or reason
        needed = required_names(self.module)
        ask = f" It needs {', '.join(needed)}: give --arg forward.{needed[0]}=…." if needed else ""
        raise InputError(
            f"{self.name} could not be called with tokens [batch, position, {candidates[0].value}]: {problem}.{ask} "
            "Or declare its width in the spec, or wrap it in a function f(x)."
            if candidates
            else f"{self.name} could not be called: {problem}.{ask} Wrap it in a function f(x)."
        )

    def _note_call(self) -> None:
        plan = self.plan
        if plan.context_width is not None:
            how = "the tokens times a fixed matrix, since forward takes a context of another width"
            self._note("called with", how, f"{plan.inputs[-1]} [batch, position, {plan.context_width}]")
        elif len(plan.inputs) > 1 and plan.embedding is None:
            self._note("called with", "all of them get the same tokens", ", ".join(plan.inputs))
        if plan.tables:
            how = f"rotary tables of base 10000, {plan.form}, since forward requires them"
            self._note("called with", how, ", ".join(plan.tables))
        if plan.places:
            self._note(
                "called with", "the positions of the tokens, since forward requires them", ", ".join(plan.places)
            )
        if plan.lengths or plan.documents:
            how = "all tokens are real, and of one document, unless a law says otherwise; forward requires them"
            self._note("called with", how, ", ".join((*plan.lengths, *plan.documents)))
        if plan.constants:
            listed = ", ".join(f"{name}={value}" for name, value in plan.constants.items())
            self._note("called with", "required by forward", listed)
        if plan.mask is not None:
            needed = "forward requires a mask; this one hides nothing"
            how = "without it, nothing hides later tokens" if plan.mask.is_causal else needed
            self._note("called with", how, str(plan.mask))
        if plan.embedding is not None:
            self._note("tokens", "they replace the output of the embedding of token ids", plan.embedding)
        if plan.axes != "batch position width":
            how = "outputs depend on other positions, and not on other rows, if the input has these axes"
            self._note("axes", how, f"[{plan.axes.replace(' ', ', ')}]")

    def _find_longest(self) -> None:
        """The longest input up to a bound, by bisection, among the multiples that the module takes."""
        if self.length != _LENGTH:
            taken = [length for length in range(1, 2 * self.length + 1) if self._takes(length)]
            self.multiple_of = math.gcd(*taken)
        multiple = self.multiple_of
        if self.spec.max_positions is not None or self._takes(-(-_LONGEST // multiple) * multiple):
            return
        low, high = self.length // multiple, -(-_LONGEST // multiple)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._takes(middle * multiple) else (low, middle)
        self._note("max_positions", f"an input of length {high * multiple} raises an error", low * multiple)
        self.spec = replace(self.spec, max_positions=low * multiple)

    def _find_most_rows(self) -> None:
        """The largest batch up to a bound, by bisection; buffers may have a row for each sequence."""
        low, high = _ROWS, _MOST_ROWS
        if self._takes_rows(high):
            return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._takes_rows(middle) else (low, middle)
        self.most_rows = low
        self._note("batch", f"{high} rows raise an error; larger batches are given in parts", low)

    def _takes_rows(self, rows: int) -> bool:
        x = self.native(sample(rows, self.length, self.spec.width))
        return returned_or_error(lambda: self.forward(x))[1] is None

    def _takes(self, length: int) -> bool:
        found, error = returned_or_error(lambda: self.forward(self._tokens(length)))
        return error is None and found.shape[1] == length

    def _find_padding(self) -> None:
        """Inputs of other lengths are padded at the end, if no output depends on what is there."""
        if self.multiple_of == 1:
            return
        x = self._tokens()

        def is_seen_before(place: int) -> bool:
            other = x.clone()
            other[:, place:] += 1.5
            return bool((self.forward(other) != self.forward(x))[:, :place].any())

        is_causal = not any(map(is_seen_before, (self.length // 2, self.length - 1)))
        why = "which no earlier output depends on" if is_causal else "which the mask hides"
        if not is_causal and self.mask_form is None and not self.spec.causal:
            raise InputError(
                f"{self.name} takes only lengths that are multiples of {self.multiple_of}, and neither causality nor a "
                "mask hides what is added at the end of others. Wrap it in a function f(x) that pads them."
            )
        self._note("lengths", f"others are padded at the end, {why}", f"multiples of {self.multiple_of}")
        self.padded_to = self.multiple_of
        if not is_causal and self.spec.max_positions is not None and self._is_confused_by_hidden_tokens(x):
            # A table for one length may have as many numbers as another length reads from it.
            self.spec = replace(self.spec, max_positions=self.length)

    def _is_confused_by_hidden_tokens(self, x: Any) -> bool:
        """True if twice the length is taken, but x is computed otherwise in it, the rest being hidden."""
        import torch

        mask = torch.arange(2 * self.length, device=x.device).expand(len(x), -1) < self.length
        longer = torch.cat([x, x], dim=1)
        found, error = returned_or_error(lambda: self.forward(longer, mask=mask)[:, : self.length])
        return error is None and distance(self.numpy(found), self.numpy(self.forward(x))) > 1e-3

    def _find_causal_mask(self) -> None:
        """A decoder that leaves its causality to a mask of its caller gets one."""
        if not (self.spec.causal or (self.spec.causal is None and self.is_decoder)) or "one" in self.plan.axes:
            return
        form = find_causal_mask(self.plan, self.module, self._tokens(), self.spec.head_width)
        if form is not None:
            self.plan = self.plan.masked(form)

    def _find_mask(self) -> None:
        names = mask_names(self.module)
        if not names or "one" in self.plan.axes or (self.plan.embedding and self.plan.axes.startswith("position")):
            return

        def output(x: Any, **given: Any) -> Any:
            return self.plan.output(self.module, x, given, self.spec.head_width)

        self.mask_form = find_mask_form(output, self._tokens(), names, self.spec.mask)
        if self.mask_form is not None:
            how, kind = "a token hidden by it changes no other output", "found"
            if (
                self.spec.mask is None
                and self.mask_form.meaning == "keep"
                and self.mask_form.name.endswith(_TORCHS_MASK)
            ):
                how, kind = f"{how}; in torch, True in a {_TORCHS_MASK} is padding", "unusual"
            self.findings += (LayerFinding(name="mask", value=str(self.mask_form), how=how, kind=kind),)
            return
        if self.spec.mask is not None or self.has_declared_spec:
            form = MaskForm(name=names[0], meaning=self.spec.mask or "keep", shape="rows")
            given = {form.name: form.hiding_nothing(self._tokens())}
            if returned_or_error(lambda: output(self._tokens(), **given))[1] is None:
                self.mask_form = form
                return
        self._note("mask", f"{', '.join(names)} hides no token in any form tried; declare mask=keep, drop or additive")

    def _find_weights(self) -> bool:
        """True if the matrices are found; heads and packing that nobody declares are found by reading weights."""
        names = [name for name, _ in self.module.named_children()]
        sizes = matrix_sizes(self.module, self.spec if self._knows_heads() else None)
        if sizes is None:
            if not self._knows_heads():
                self._note("num_heads", "no attribute says it; declare num_heads")
            if names:
                self._note("oracle", f"none: the matrices are not found among {', '.join(names)}")
            return False
        for spec in self._head_candidates(*sizes):
            for packing in _PACKINGS if is_packed(self.module) else (None,):
                if self._reads_clearly(spec, packing):
                    self._note_heads(spec, packing)
                    self.spec, self.packing = spec, packing
                    return True
        for spec in self._head_candidates(*sizes) if self._knows_heads() else ():
            for packing in _PACKINGS if is_packed(self.module) else (None,):
                if self._explains_single_tokens(spec, packing):
                    self.spec, self.packing = spec, packing
                    return True
        if self.has_declared_spec and self._knows_heads() and not _has_norms(self.module):
            for spec in (self.spec, *self._head_candidates(*sizes)):
                if find_projections(self.module, spec) is not None:
                    self.spec = spec
                    return True
        if not self._knows_heads():
            self._note("num_heads", "no attribute says it, and the outputs do not show it; declare num_heads")
        self._note("oracle", f"none: the outputs are not weighted means of the values; children: {', '.join(names)}")
        return False

    def _head_candidates(self, own: int, shared: int) -> list[Spec]:
        """Specs with each number of heads that may be right, the smallest first; one if the number is known."""
        width = next((each.value for each in self.findings if each.name == "head_width"), None)
        if not self._knows_heads() and width is not None and own % width == 0:
            self._note("num_heads", f"{own} numbers per query, {width} per head", own // width)
            self.spec = replace(self.spec, num_heads=own // width, num_kv_heads=None, head_width=width)
        counts = [self.spec.num_heads] if self._knows_heads() else [n for n in range(1, own // 2) if own % n == 0]
        found = []
        for count in counts:
            if own % count == 0 and shared % (own // count) == 0 and count % (shared // (own // count)) == 0:
                width = own // count
                found.append(replace(self.spec, num_heads=count, head_width=width, num_kv_heads=shared // width))
        return found

    def _knows_heads(self) -> bool:
        return any(finding.name == "num_heads" for finding in self.findings) or self.has_declared_heads

    def _explains_single_tokens(self, spec: Spec, packing: Packing | None) -> bool:
        """True if the output for a token alone is its value, projected: then the matrices are the right ones."""
        found = find_projections(self.module, spec, packing)
        if found is None:
            return False
        oracle = Oracle(spec=replace(spec, causal=True, positions="none"), parts=found)
        x = sample(_ROWS, 1, spec.width)
        y, error = returned_or_error(lambda: self.call(x))
        return error is None and distance(y, oracle(x)) <= 1e-3 * float(np.abs(y).max())

    def _reads_clearly(self, spec: Spec, packing: Packing | None) -> bool:
        trial = copy.copy(self)
        trial.spec, trial.packing, trial.capabilities = spec, packing, frozenset({"weights"})
        if find_projections(self.module, spec, packing) is None:
            return False

        def is_clear() -> bool:
            reader = reader_of(trial)
            return reader is not None and reader.read(reader.draw(_PAIRS), None).is_clear

        return bool(returned_or_error(is_clear)[0])

    def _note_heads(self, spec: Spec, packing: Packing | None) -> None:
        for name in ("num_heads", "num_kv_heads", "head_width"):
            value, before = getattr(spec, name), getattr(self.spec, name)
            if value != before and name != "head_width":
                self._note(name, "each head's outputs are weighted means of its values", value)
        if packing not in (None, "parts"):
            self._note("packing", "the outputs are weighted means of values cut this way", f"by {packing}")

    def _keeps_documents_apart(self) -> bool:
        """True if some output of a second document changes with a token of the first only while they are one."""
        x = sample(2, _LENGTH, self.spec.width).astype(np.float32)
        documents = np.tile(np.arange(_LENGTH) // 3, (2, 1))

        def changes(place: int, documents: np.ndarray) -> bool:
            moved = x.copy()
            moved[:, place] += 1.5
            return bool((self.call(x, documents=documents) != self.call(moved, documents=documents))[:, 3:].any())

        def are_apart() -> bool:
            return any(changes(place, 0 * documents) and not changes(place, documents) for place in range(3))

        found = bool(returned_or_error(are_apart)[0])
        if found:
            self._note("documents", "they separate packed documents", self.names["documents"])
        return found

    def _ends_at_lengths(self) -> bool:
        """True if in a row alone, tokens behind its length change none of its outputs, and others do."""
        x = sample(1, _LENGTH, self.spec.width).astype(np.float32)
        hidden, shown, length = x.copy(), x.copy(), np.array([_LENGTH - 2])
        hidden[:, -2:] += 1.5
        shown[:, 0] += 1.5

        def ends() -> bool:
            y, same, moved = (self.call(each, lengths=length)[:, : _LENGTH - 2] for each in (x, hidden, shown))
            return distance(y, same) <= 1e-5 < distance(y, moved)

        found = bool(returned_or_error(ends)[0])
        if found:
            self._note("lengths", "tokens behind it change no output before it", self.names["lengths"])
        return found

    def _has_cache(self) -> bool:
        """True if a second step differs from a call without the first, and neither raises an error.

        A cache that is filled in place is a list or a dict at first.
        """
        x, more = (sample(_ROWS, length, self.spec.width, seed=length).astype(np.float32) for length in (_LENGTH, 2))

        def is_used() -> bool:
            _, cache = self.step(x, self.empty_cache(_ROWS))
            later, _ = self.step(more, cache)
            return later.shape[:2] == more.shape[:2] and bool((later != self.call(more)).any())

        problem: Exception | None = None
        for self.unfilled in _UNFILLED:
            found, error = returned_or_error(is_used)
            if found:
                return True
            problem = problem or error
        why = "it has no effect" if problem is None else str(problem)
        self._note("cache", f"{self.names['cache']} was tried and is not used: {why}")
        return False


@dataclass(frozen=True, kw_only=True)
class TokenCache:
    """What a module keeps between calls, and how many tokens it has seen."""

    kept: Any
    num_tokens: int = 0


def _parts_of(cache: Any) -> list[int]:
    """The identities of what a list or a dict holds."""
    parts = cache.values() if isinstance(cache, dict) else cache if isinstance(cache, list) else ()
    return [id(each) for each in parts]


def _cache_among(found: Any, name: str) -> Any:
    """The cache that a module returns beside its output, None if there is none; weights and outputs are tensors."""
    if isinstance(found, Mapping):
        return next((found[each] for each in (name, "cache") if found.get(each) is not None), None)
    others = [each for each in found[1:] if each is not None] if isinstance(found, tuple | list) else []
    several = [each for each in others if not hasattr(each, "shape")]
    return (several or others[-1:] or [None])[0]


def _has_norms(module: Any) -> bool:
    """A block with norms is more than the attention that an oracle knows, unless they are those of queries and keys."""
    return any(
        "norm" in type(part).__name__.lower() and name.rpartition(".")[2] not in ("q_norm", "k_norm")
        for name, part in module.named_modules()
    )
