"""How a torch module is called: which of its arguments get tokens, tables or nothing, found by calling it."""

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from regard.conformance.adapters.layers import names_of, output_for, returned_or_error
from regard.conformance.verdict import error_line

# A second source of tokens: a layer of cross-attention is given its own tokens there.
_CONTEXTS = """
    context encoder_hidden_states memory cond kv key_value encoder_output encoder_out enc_output y x_kv context_states
    key_value_states cross_states enc_out encoder_states
""".split()
# Parts of attention that are tokens too where forward requires them.
_PARTS = "q k v query key value queries keys values".split()
_TOKENS = "idx input_ids tokens ids input_tokens token_ids src".split()
_TARGETS = ("targets", "labels", "target")
_STARTS = "start_pos offset pos_offset start cache_position step cache_len past_len".split()
_ROTARY = """
    freqs_cis freqs rope rotary rotary_emb rotary_pos_emb rope_cache rotary_freqs pos_emb position_embeddings
    freqs_complex rotary_embeddings cos_sin
""".split()
_COS, _SIN = ("cos", "cos_cached", "freqs_cos", "rope_cos"), ("sin", "sin_cached", "freqs_sin", "rope_sin")
RotaryForm = Literal["complex", "stacked", "angles", "angles twice", "halves", "twice", "one row", "pair"]
_BASE = 10_000.0
# The number of the first packed document: zero is often padding.
FIRST_DOCUMENT = 1


@dataclass(frozen=True, kw_only=True)
class CallPlan:
    """One way to call a module.

    `inputs` are the arguments that get the tokens, `constants` what else each call gets, `places` those that get the
    positions of the tokens, `lengths` the number of tokens of each row, `documents` one number for all tokens, `tables`
    those that get rotary tables for the length of the input, in one form. A context of another width, `context_width`,
    is the tokens times a fixed matrix. `embedding` is the submodule that embeds token ids: its output is replaced by
    the tokens. `axes` are those that the
    module wants. `mask` is for a module that cannot do without one: it is given whenever no other mask is.
    """

    inputs: tuple[str, ...]
    constants: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    form: RotaryForm | None = None
    context_width: int | None = None
    embedding: str | None = None
    targets: str | None = None
    axes: "Axes" = "batch position width"
    mask: "MaskForm | None" = None

    def call(self, module: Any, x: Any, given: Mapping[str, Any], head_width: int, start: int = 0) -> Any:
        """What the module returns for x, rows before positions; `given` goes by the module's own names.

        `start` is the number of tokens before x, where `given` does not say it.
        """
        tokens = _arranged(x, self.axes)
        start = next((value for name, value in given.items() if name.lower() in _STARTS), start)
        positions = range(start, start + x.shape[1])
        tables = {name: _table(name, self.form, x, positions, head_width) for name in self.tables}
        places = {name: _counted(positions, x) for name in self.places}
        lengths = {name: _full(x, (x.shape[0],), start + x.shape[1]) for name in self.lengths}
        documents = {name: _full(x, tuple(x.shape[:2]), FIRST_DOCUMENT) for name in self.documents}
        options = {**self.constants, **tables, **places, **lengths, **documents, **given}
        if self.mask is not None and self.mask.name not in given:
            options[self.mask.name] = self.mask.hiding_nothing(x, start)
        if self.embedding is None:
            context = tokens if self.context_width is None else _widened(tokens, self.context_width)
            return module(tokens, **dict.fromkeys(self.inputs[1:], context), **options)
        import torch

        ids = torch.zeros(tokens.shape[:2], dtype=torch.long, device=x.device)
        targets = {} if self.targets is None else {self.targets: ids}
        with _embedded(module, self.embedding, ids, tokens):
            return module(ids, **targets, **options)

    def masked(self, mask: "MaskForm") -> "CallPlan":
        """The plan with this mask in every call that gives no other."""
        return replace(
            self, constants={name: value for name, value in self.constants.items() if name != mask.name}, mask=mask
        )

    def output(self, module: Any, x: Any, given: Mapping[str, Any], head_width: int) -> Any:
        """The output alone, rows before positions."""
        return self.output_among(self.call(module, x, given, head_width), x)

    def output_among(self, found: Any, x: Any) -> Any:
        """The output for x among what the module returns, rows before positions."""
        y = output_for(found, _arranged(x, self.axes))
        return y if self.axes == _USUAL_AXES else _restored(y, self.axes)


# How modules want their axes; "one" is an axis of size one.
Axes = Literal[
    "batch position width",
    "position batch width",
    "batch position one width",
    "batch one position width",
    "position one batch width",
    "one position batch width",
    "batch width position one",
    "batch width one position",
    "batch width position",
]
_USUAL_AXES: Axes = "batch position width"


def _arranged(x: Any, axes: Axes) -> Any:
    """x [batch, position, width] with the axes that a module wants."""
    names = axes.split()
    x = x.permute([_USUAL_AXES.split().index(name) for name in names if name != "one"])
    return x.unsqueeze(names.index("one")) if "one" in names else x


def _restored(y: Any, axes: Axes) -> Any:
    """The module's output as [batch, position, width]."""
    names = axes.split()
    if "one" in names:
        y = y.squeeze(names.index("one"))
        names.remove("one")
    return y.permute([names.index(name) for name in _USUAL_AXES.split()])


def find_plan(module: Any, x: Any, head_width: int, constants: Mapping[str, Any]) -> tuple[CallPlan | None, str]:
    """The first plan by which the module maps x to an output for each token, else None and what went wrong.

    Other axes than the usual ones are believed only if outputs depend on other positions and not on other rows.
    """
    problem = ""
    for plan in _plans(module, constants):
        found, error = returned_or_error(lambda plan=plan: plan.output(module, x, {}, head_width))
        if error is None and _has_place_for_each(found, x):
            other = replace(plan, axes="position batch width")
            return (other if _mixes_only(module, other, x, head_width) else plan), ""
        shape = getattr(found, "shape", None)
        returned = f"it returns {type(found).__name__} {'' if shape is None else tuple(shape)} for {tuple(x.shape)}"
        problem = problem or (returned if error is None else error_line(error, is_placed=True))
    for plan in (replace(plan, axes=axes) for plan in _plans(module, constants) for axes in get_args(Axes)[2:]):
        if plan.embedding is None and _mixes_only(module, plan, x, head_width):
            return plan, ""
    return None, problem


def _has_place_for_each(found: Any, x: Any) -> bool:
    return getattr(found, "ndim", 0) == 3 and tuple(found.shape[:2]) == tuple(x.shape[:2])


def required_names(module: Any) -> list[str]:
    """The arguments that `forward` cannot be called without, after the first."""
    found = list(_parameters(module).values())
    is_first = found[:1] and found[0].kind is not inspect.Parameter.KEYWORD_ONLY
    return [each.name for each in found[1 if is_first else 0 :] if each.default is inspect.Parameter.empty]


def optional_names(module: Any) -> set[str]:
    """The arguments that `forward` takes for None if they are not given."""
    return {name for name, each in _parameters(module).items() if each.default is None}


def start_name(module: Any) -> str | None:
    """What `forward` calls the number of tokens before those that it is given, None if it does not ask for it."""
    return next((name for name in _parameters(module) if name.lower() in _STARTS), None)


def token_inputs(module: Any) -> tuple[str, ...]:
    """The arguments that get tokens: queries, keys and values in any order, or the first one and a required context.

    For forward(values, keys, query, mask) that is ("values", "keys", "query"). The first one is given by its place, so
    that its name does not matter.
    """
    names = [name for name, each in _parameters(module).items() if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    if sorted(name.lower().lstrip("x_")[:1] for name in names[:3]) == ["k", "q", "v"]:
        return tuple(names[:3])
    more = (name for name in required_names(module) if name.lower() in (*_CONTEXTS, *_PARTS))
    return (*(names[:1] or ["x"]), *more)


def _parameters(module: Any) -> Mapping[str, inspect.Parameter]:
    try:
        found = inspect.signature(module.forward).parameters
    except (TypeError, ValueError):
        return {}
    hidden = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: each for name, each in found.items() if each.kind not in hidden}


def _plans(module: Any, constants: Mapping[str, Any]) -> Iterator[CallPlan]:
    inputs = token_inputs(module)
    needed = [name for name in required_names(module) if name not in (*inputs, *constants)]
    tables = tuple(name for name in needed if name.lower() in (*_ROTARY, *_COS, *_SIN))
    places, lengths, documents = (names_of(option, tuple(needed)) for option in ("positions", "lengths", "documents"))
    known = (*tables, *places, *lengths, *documents)
    plain = {name: 0 if name.lower() in _STARTS else None for name in needed if name not in known}
    masks = names_of("mask", tuple(plain))
    plans = [
        CallPlan(
            inputs=inputs,
            constants={**plain, **constants},
            places=places,
            lengths=lengths,
            documents=documents,
            tables=tables,
            form=form,
        )
        for form in _forms(tables)
    ]
    for name in masks:
        others = {key: value for key, value in {**plain, **constants}.items() if key != name}
        plans += [replace(plan, constants=others, mask=mask) for plan in plans for mask in _mask_forms((name,), None)]
    contexts = [name for name in _parameters(module) if name.lower() in _CONTEXTS and name not in inputs]
    # Some layers of cross-attention have a default for their context, and refuse it.
    plans += [replace(plan, inputs=(*inputs, contexts[0])) for plan in plans if contexts]
    plans += [
        replace(plan, context_width=width) for plan in plans if len(plan.inputs) == 2 for width in _widths(module)
    ]
    embeddings = _embeddings(module)
    for plan in plans:
        if inputs[0].lower() not in _TOKENS or not embeddings:
            yield plan
        for name in embeddings:
            yield replace(plan, embedding=name)
            for target in (each for each in _TARGETS if each in _parameters(module)):
                yield replace(plan, embedding=name, targets=target)


def _widths(module: Any) -> list[int]:
    """The widths of what the module's matrices take."""
    found = (getattr(part, "in_features", None) for part in module.children())
    return sorted({width for width in found if isinstance(width, int)})


def _widened(tokens: Any, width: int) -> Any:
    """The tokens in another width, by a fixed matrix."""
    import torch

    generator = torch.Generator().manual_seed(width)
    matrix = torch.randn(tokens.shape[-1], width, generator=generator, dtype=torch.float64)
    return tokens @ (matrix / tokens.shape[-1] ** 0.5).to(device=tokens.device, dtype=tokens.dtype)


def _embeddings(module: Any) -> list[str]:
    """The embeddings among the submodules; the one of the tokens usually comes first."""
    import torch

    return [name for name, part in module.named_modules() if isinstance(part, torch.nn.Embedding)][:2]


def _forms(tables: tuple[str, ...]) -> tuple[RotaryForm | None, ...]:
    if not tables:
        return (None,)
    if any(name.lower() in (*_COS, *_SIN) for name in tables):
        return ("twice", "halves", "one row")
    return ("complex", "pair", "stacked", "angles", "angles twice")


def _table(name: str, form: RotaryForm | None, x: Any, positions: range, head_width: int) -> Any:
    """Cosines and sines for these positions, in the dtype of x."""
    import torch

    places = torch.tensor(positions, dtype=torch.float64, device=x.device)
    rates = _BASE ** (-torch.arange(0, head_width, 2, dtype=torch.float64, device=x.device) / head_width)
    angles = torch.outer(places, rates)
    twice = torch.cat([angles, angles], dim=-1)
    match form:
        case "complex":
            turns = torch.polar(torch.ones_like(angles), angles)
            return turns if x.dtype == torch.float64 else turns.to(torch.complex64)
        case "stacked":
            return torch.stack([angles.cos(), angles.sin()], dim=-1).to(x.dtype)
        case "pair":
            return tuple(part(twice)[None].to(x.dtype) for part in (torch.cos, torch.sin))
        case "angles" | "angles twice":
            return (angles if form == "angles" else twice).to(x.dtype)
    chosen = {"twice": twice, "one row": twice[None]}.get(form or "", angles)
    return (chosen.cos() if name.lower() in _COS else chosen.sin()).to(x.dtype)


def _counted(positions: range, x: Any) -> Any:
    """The positions [batch, position] of all rows."""
    import torch

    return torch.tensor(positions, device=x.device).expand(x.shape[0], -1)


def _full(x: Any, shape: tuple[int, ...], value: int) -> Any:
    """The same whole number everywhere."""
    import torch

    return torch.full(shape, value, dtype=torch.long, device=x.device)


@contextlib.contextmanager
def _embedded(module: Any, name: str, ids: Any, tokens: Any) -> Iterator[None]:
    """While it lasts, the embedding of these ids is the given tokens."""

    def replaced(_: Any, given: tuple[Any, ...], found: Any) -> Any:
        return tokens if given and given[0] is ids and found.shape == tokens.shape else found

    hook = module.get_submodule(name).register_forward_hook(replaced)
    try:
        yield
    finally:
        hook.remove()


def _mixes_only(module: Any, plan: CallPlan, x: Any, head_width: int) -> bool:
    """True if by this plan outputs depend on other positions, and never on other rows."""

    def moved(change: Callable[[Any], Any]) -> Any:
        other = x.clone()
        change(other).add_(1.5)
        return (plan.output(module, other, {}, head_width) != before).any(dim=-1)

    before, error = returned_or_error(lambda: plan.output(module, x, {}, head_width))
    if error is not None or not _has_place_for_each(before, x):
        return False
    by_row, by_position = moved(lambda other: other[:1]), moved(lambda other: other[:, :1])
    return bool(by_position[:, 1:].any()) and not bool(by_row[1:].any())


def mask_names(module: Any) -> tuple[str, ...]:
    """The arguments that may be a mask, padding masks first."""
    return names_of("mask", tuple(_parameters(module)))


Meaning = Literal["keep", "drop", "additive"]
# A mask of one "square" is for all rows, so that it can say what is causal, and not what is padding.
MaskShape = Literal["rows", "keys", "one query", "queries", "heads", "square"]


@dataclass(frozen=True, kw_only=True)
class MaskForm:
    """How a layer wants its padding mask: under which name, with which meaning, and in which shape."""

    name: str
    meaning: Meaning
    shape: MaskShape
    is_causal: bool = False

    def of(self, mask: Any, num_queries: int, dtype: Any = None) -> Any:
        """A mask [row, key], True for real tokens, in this form; the last query is that of the last key."""
        import torch

        rows, keys = mask.shape
        match self.shape:
            case "keys":
                mask = mask[:, None, None, :]
            case "one query":
                mask = mask[:, None, :]
            case "queries":
                mask = mask[:, None, :].expand(rows, num_queries, keys)
            case "heads":
                mask = mask[:, None, None, :].expand(rows, 1, num_queries, keys)
            case "square":
                mask = mask[:1].expand(num_queries, keys)
        if self.is_causal:
            mask = mask & torch.ones(num_queries, keys, dtype=torch.bool, device=mask.device).tril(keys - num_queries)
        if self.meaning == "additive":
            zeros = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
            return zeros.masked_fill(~mask, _HIDDEN.get(str(dtype), -1e30))
        return ~mask if self.meaning == "drop" else mask.clone()

    def hiding_nothing(self, x: Any, start: int = 0) -> Any:
        """The mask for tokens that are all real, after `start` others."""
        import torch

        keys = torch.ones(x.shape[0], start + x.shape[1], dtype=torch.bool, device=x.device)
        return self.of(keys, x.shape[1], x.dtype)

    def __str__(self) -> str:
        axes = {
            "rows": "[batch, key]",
            "keys": "[batch, 1, 1, key]",
            "one query": "[batch, 1, key]",
            "queries": "[batch, query, key]",
            "heads": "[batch, 1, query, key]",
            "square": "[query, key]",
        }
        meant = {"keep": "True for real tokens", "drop": "True for padding", "additive": "added to the logits"}
        also = ", and causal" if self.is_causal else ""
        return f"{self.name} {axes[self.shape]}, {meant[self.meaning]}{also}"


_SHAPES: tuple[MaskShape, ...] = ("rows", "keys", "one query", "queries", "heads")
# What is added to a hidden logit, where −1e30 is too large.
_HIDDEN = {"torch.float16": -1e4}


def _mask_forms(
    names: tuple[str, ...], meaning: Meaning | None, shapes: tuple[MaskShape, ...] = _SHAPES
) -> Iterator[MaskForm]:
    for name in names:
        for shape in shapes:
            for each in ("keep", "drop", "additive") if meaning is None else (meaning,):
                yield MaskForm(name=name, meaning=each, shape=shape)


def find_causal_mask(plan: CallPlan, module: Any, x: Any, head_width: int) -> MaskForm | None:
    """The form of a mask per query that makes the layer causal; None if it is causal without, or by no mask.

    A layer whose mask is one per token, [batch, key], is given none: what it hides beyond padding is its own business.
    """
    names = mask_names(module)

    def is_causal_with(form: MaskForm | None) -> bool:
        trial = plan if form is None else plan.masked(form)
        before = trial.output(module, x, {}, head_width)
        other = x.clone()
        other[:, -1] += 1.5
        changed = (trial.output(module, other, {}, head_width) != before).any(dim=-1)
        return bool(changed[:, -1].all()) and not bool(changed[:, :-1].any())

    def takes(form: MaskForm) -> bool:
        given = {form.name: form.hiding_nothing(x)}
        return returned_or_error(lambda: plan.output(module, x, given, head_width))[1] is None

    if returned_or_error(lambda: is_causal_with(None))[0]:
        return None
    for name in names:
        if any(takes(form) for form in _mask_forms((name,), None, ("rows",))):
            continue
        for form in _mask_forms((name,), None, ("heads", "square", "queries")):
            causal = replace(form, is_causal=True)
            if returned_or_error(lambda causal=causal: is_causal_with(causal))[0]:
                return causal
    return None


def with_causality(form: MaskForm, output: Callable[..., Any], x: Any) -> MaskForm:
    """The form, causal if only so a mask that hides nothing leaves the outputs as they are without a mask."""
    wide = "heads" if form.shape in ("rows", "keys") else "queries"
    before = output(x)

    def is_neutral(each: MaskForm) -> bool:
        gap = (output(x, **{each.name: each.hiding_nothing(x)}) - before).abs().max()
        return bool(gap <= 1e-5 * before.abs().max())

    for each in (form, *(replace(form, shape=shape, is_causal=True) for shape in (wide, "heads", "queries"))):
        if returned_or_error(lambda each=each: is_neutral(each))[0]:
            return each
    return form


def find_mask_form(
    output: Callable[..., Any], x: Any, names: tuple[str, ...], meaning: Meaning | None
) -> MaskForm | None:
    """The first form of a mask under which a hidden token moves no other output while a visible one does.

    `output(x, **options)` calls the layer; `meaning` is the declared one, None if any may be tried.
    """
    import torch

    mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    mask[0, 2], mask[1:, 1] = False, False
    hidden, shown = x.clone(), x.clone()
    hidden[~mask] += 1.5
    shown[:, 0] += 1.5

    def hides(form: MaskForm) -> bool:
        given = {form.name: form.of(mask, x.shape[1], x.dtype)}
        before, same, other = (output(each, **copy.deepcopy(given)) for each in (x, hidden, shown))
        size = before[mask].abs().max()
        is_hidden = (same[mask] - before[mask]).abs().max() <= 1e-5 * size
        later = mask.clone()
        later[:, 0] = False
        return bool(is_hidden) and bool((other[later] - before[later]).abs().max() > 1e-5 * size)

    forms = _mask_forms(names, meaning)
    found = next((form for form in forms if returned_or_error(lambda form=form: hides(form))[0]), None)
    return None if found is None else with_causality(found, output, x)
