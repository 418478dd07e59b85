"""Layers built without being told how: the sizes that a constructor asks for are chosen by their names.

Nothing is chosen before it is asked for. A config object is an instance of the class that the code itself has for it,
else one that answers what it is asked.
"""

import dataclasses
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from regard.conformance.subject import LayerFinding
from regard.conformance.verdict import error_line
from regard.core.errors import InputError

# What public code calls the sizes of a layer.
WIDTH = """
    embed_dim d_model dim hidden_size n_embd embed_size emb_dim embedding_dim model_dim width n_embed d_embed emb_size
    hidden_dim d_in d_out dim_in dim_out in_dim out_dim in_features out_features input_dim output_dim query_dim
    context_dim cross_dim cross_attention_dim kv_dim kdim vdim embed_dims channels in_channels out_channels input_size
    dim_model d_hidden embedding_size n_state n_units units features dmodel d c model_size k_dim q_dim v_dim
    d_cond chan dim_context
""".split()
HEADS = """
    num_heads n_heads n_head heads nhead h num_attention_heads nheads num_head n_attn_heads head_num attention_heads
    head_count number_of_heads n_local_heads num_q_heads num_query_heads n_q_heads nb_heads heads_num
    query_heads q_heads
""".split()
KV_HEADS = """
    num_kv_heads n_kv_heads num_key_value_heads kv_heads n_kv_head num_kv_groups n_kv_groups num_query_groups kv_head
    n_local_kv_heads n_kv
""".split()
HEAD_WIDTH = """
    head_dim dim_head d_head head_size d_k head_width d_kv attention_head_dim attention_head_size dim_per_head
    head_features d_q d_v dim_heads dk dv size_per_head dim_key dim_value key_dim value_dim qk_dim hidden_per_head
    hidden_size_per_attention_head
""".split()
LENGTH = """
    block_size context_length max_seq_len max_len max_length seq_len max_position_embeddings max_positions n_ctx
    context_window ctx_len sequence_length max_sequence_length max_seq_length seq_length context_size max_context_length
    n_positions max_T max_target_len window_length context ctx
""".split()
_DEPTH = "n_layer n_layers num_layers num_hidden_layers depth layers".split()
_WINDOW = "window_size sliding_window window local_window_size attention_window".split()
_INDEX = "layer_idx layer_id layer layer_index layer_number idx block_idx".split()
_CAUSAL = "causal is_causal masked use_causal_mask autoregressive is_decoder".split()
_CHOSEN: Mapping[str, Any] = {
    **dict.fromkeys(WIDTH, 32),
    **dict.fromkeys(HEADS, 4),
    **dict.fromkeys(KV_HEADS, 2),
    **dict.fromkeys(HEAD_WIDTH, 8),
    **dict.fromkeys(LENGTH, 64),
    **dict.fromkeys(_DEPTH, 2),
    **dict.fromkeys(_WINDOW, 4),
    **dict.fromkeys(_INDEX, 0),
    **dict.fromkeys(_CAUSAL, True),
}
# Parts of names, for what has too many of them.
_CHOSEN_BY_PART: Mapping[str, Any] = {
    "drop": 0.0,
    "pdrop": 0.0,
    "bias": False,
    "eps": 1e-6,
    "theta": 10_000.0,
    "rope_base": 10_000.0,
    "vocab": 99,
    "num_tokens": 99,
    "segment_len": 4,
    "batch": 512,
    "intermediate": 64,
    "ffn": 64,
    "d_ff": 64,
    "mlp_ratio": 2.0,
    "device": "cpu",
    "dtype": None,
    "init_std": 0.02,
    "use_": False,
    "flash": False,
    "_dim": 32,
    "dim_": 32,
}
_CONFIGS = "config args cfg conf params opt hparams model_args configuration model_config hps opts".split()
_CONFIG_CLASSES = ("Config", "Args", "Configuration", "Arguments", "Params", "Hparams", "Options")
# Own defaults wider than this are made small: laws do not depend on sizes, but their time does.
_WIDEST = 256
_MOST_ANSWERS = 64
_EMPTY = inspect.Parameter.empty


def chosen_value(name: str, annotation: Any = None) -> Any:
    """The value for a parameter of that name, `inspect.Parameter.empty` if the name says nothing.

    >>> chosen_value("d_model"), chosen_value("attn_pdrop"), chosen_value("foo") is inspect.Parameter.empty
    (32, 0.0, True)
    """
    plain = name.lower().strip("_")
    if plain in _CHOSEN:
        return _CHOSEN[plain]
    if plain == "rngs" and "flax" in sys.modules:
        from flax import nnx

        return nnx.Rngs(0)
    found = next((value for part, value in _CHOSEN_BY_PART.items() if part in plain), _EMPTY)
    return False if found is _EMPTY and annotation is bool else found


def makes_layers(function: Callable[..., Any]) -> bool:
    """True for a function whose required parameters are all sizes: it makes a layer and is none.

    >>> makes_layers(lambda d_model, num_heads: None), makes_layers(lambda x, mask: None)
    (True, False)
    """
    needed = [name for name, each in _parameters(function).items() if each.default is _EMPTY]
    return all(name in _CONFIGS or (len(name) > 1 and chosen_value(name) is not _EMPTY) for name in needed)


class _Missing(AttributeError, KeyError):
    """Raised by a config that is asked for something it has no answer to."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked = name


class _SwitchedOff:
    """The answer to a name that says nothing: false in a condition, and of no other use."""

    is_asked = False

    def __bool__(self) -> bool:
        self.is_asked = True
        return False

    def __repr__(self) -> str:
        return "False"


class StandInConfig(dict):
    """A config whose values are attributes and items alike."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __missing__(self, name: str) -> Any:
        raise _Missing(name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuiltLayer:
    """A layer, the arguments that it was built with (those of its config among them), and what was chosen."""

    layer: Any
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    findings: tuple[LayerFinding, ...] = ()


def build(make: Callable[..., Any], given: Mapping[str, Any], label: str) -> BuiltLayer:
    """What the class or factory makes of the given arguments, the rest chosen by name.

    An InputError names every argument that could not be chosen.
    """
    parameters = _parameters(make)
    own_name = next((name for name in parameters if name in _CONFIGS), None)
    if own_name is not None and "config" in given:
        # A config is given under this name, whatever the class calls it.
        given = {own_name if name == "config" else name: value for name, value in given.items()}
    chosen, unknown = _chosen(make, parameters, given)
    if unknown:
        several = ", ".join(unknown)
        raise InputError(f"'{label}' needs {several}. Give --arg {unknown[0]}=….")
    arguments = {**chosen, **given}
    config = next((name for name in parameters if name in _CONFIGS and name in arguments), None)
    if config is None:
        return BuiltLayer(layer=_made(make, arguments, label), arguments=arguments, findings=_findings(chosen))
    return _with_config(make, arguments, config, label)


def _parameters(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    hidden = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        found = inspect.signature(make).parameters
        if inspect.isclass(make) and all(each.kind in hidden for each in found.values()):
            # Some metaclasses hide what a class is made with.
            found = dict(list(inspect.signature(make.__init__).parameters.items())[1:])
    except (TypeError, ValueError):
        return {}
    return {name: each for name, each in found.items() if each.kind not in hidden}


def _chosen(
    make: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Values for the required parameters and for sizes that are large by default, and names that say nothing."""
    chosen: dict[str, Any] = {}
    unknown: list[str] = []
    for name, each in parameters.items():
        if name in given or each.default is not _EMPTY:
            continue
        value = StandInConfig() if _is_config(make, each) else chosen_value(name, each.annotation)
        if value is _EMPTY:
            unknown.append(name)
        else:
            chosen[name] = value
    defaults = {name: each.default for name, each in parameters.items() if name not in given}
    return {**_made_small(defaults, given), **chosen}, unknown


def _made_small(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Small values for all sizes if the width is large by default."""
    widths = [value for name, value in defaults.items() if name.lower() in WIDTH and _is_size(value)]
    has_given_width = any(name.lower() in WIDTH for name in given)
    if has_given_width or max(widths, default=0) <= _WIDEST:
        # Nobody means a vocabulary of −1.
        return {name: 99 for name, value in defaults.items() if "vocab" in name and value == -1}
    sized = {name: chosen_value(name) for name, value in defaults.items() if _is_size(value)}
    return {name: value for name, value in sized.items() if _is_size(value)}


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_config(make: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    return parameter.name in _CONFIGS or _annotated_class(make, parameter.name) is not None


def annotated_class(function: Callable[..., Any], name: str) -> type | None:
    """The class that somebody wrote for an argument, by its annotation, optional or not; None for any other type."""
    try:
        hint = typing.get_type_hints(function).get(name)
    except Exception:  # noqa: BLE001 - annotations may name anything
        return None
    several = [each for each in typing.get_args(hint) if each is not type(None)]
    found = several[0] if len(several) == 1 and inspect.isclass(several[0]) else hint
    is_own = inspect.isclass(found) and found.__module__.partition(".")[0] not in ("builtins", "torch", "typing")
    return found if is_own else None


def _annotated_class(make: Callable[..., Any], name: str) -> type | None:
    """The class of a config by its annotation, None if it has none or a plain type."""
    found = annotated_class(make.__init__ if inspect.isclass(make) else make, name)
    return found if found is not None and found.__name__.endswith(_CONFIG_CLASSES) else None


def _config_classes(make: Callable[..., Any], name: str) -> Iterator[type]:
    """The class that the parameter is annotated with, else those of the same module that are called configs."""
    annotated = _annotated_class(make, name)
    if annotated is not None:
        yield annotated
        return
    module = sys.modules.get(getattr(make, "__module__", ""))
    for each in vars(module).values() if module is not None else ():
        if inspect.isclass(each) and each.__name__.endswith(_CONFIG_CLASSES):
            yield each


def _with_config(make: Callable[..., Any], given: Mapping[str, Any], name: str, label: str) -> BuiltLayer:
    """The layer made with a config of its own class, else with one that answers what it is asked."""
    values = given[name]
    if not isinstance(values, Mapping):
        return BuiltLayer(layer=_made(make, given, label), arguments=given)
    problems = []
    for kind in _config_classes(make, name):
        try:
            config, chosen = _own_config(kind, values)
            made = make(**{**given, name: config})
        except Exception as error:  # noqa: BLE001 - a class may raise anything, and another may serve
            problems.append(error)
            continue
        its_class = LayerFinding(name=name, value=kind.__name__, how="the class in the same module")
        return BuiltLayer(layer=made, arguments={**given, **chosen, **values}, findings=(*_findings(chosen), its_class))
    config = StandInConfig(values)
    switches: dict[str, _SwitchedOff] = {}
    for _ in range(_MOST_ANSWERS):
        try:
            made = make(**{**given, name: config})
        except _Missing as missing:
            value = chosen_value(missing.asked)
            if value is _EMPTY:
                value = switches[missing.asked] = _SwitchedOff()
            config = StandInConfig({**config, missing.asked: value})
        except Exception as error:
            if switches:
                raise _unknown(name, list(switches)[-1], label) from error
            raise _refusal(problems[0] if problems else error, {**given, name: dict(config)}, label) from error
        else:
            kept = next((each for each, switch in switches.items() if not switch.is_asked), None)
            if kept is not None:
                raise _unknown(name, kept, label)
            found = {key: value for key, value in config.items() if key not in values}
            return BuiltLayer(layer=made, arguments={**given, **config}, findings=_findings(found))
    raise InputError(f"'{label}' asks its {name} for too many things. Give --config FILE.")


def _unknown(config: str, asked: str, label: str) -> InputError:
    return InputError(
        f"'{label}' asks for {config}.{asked}, and its name does not say what it is. "
        f"Give --arg {config}=\"{{'{asked}': …}}\"."
    )


def _own_config(kind: type, values: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An instance of a config class, with small sizes, and what was chosen for it."""
    parameters = _parameters(kind)
    if not parameters and not values:
        return kind(), {}
    chosen, unknown = _chosen(kind, parameters, values)
    if unknown:
        raise InputError(f"{kind.__name__} needs {', '.join(unknown)}.")
    if not dataclasses.is_dataclass(kind) and not parameters:
        return StandInConfig({**vars(kind), **values}), {}
    return kind(**{**chosen, **values}), chosen


def _findings(chosen: Mapping[str, Any]) -> tuple[LayerFinding, ...]:
    plain = {name: value for name, value in chosen.items() if not isinstance(value, StandInConfig)}
    if not plain:
        return ()
    is_plain = (int, float, str, tuple, list, type(None), _SwitchedOff)
    shown = {name: value if isinstance(value, is_plain) else type(value).__name__ for name, value in plain.items()}
    listed = ", ".join(f"{name}={value}" for name, value in shown.items())
    return (
        LayerFinding(name="built with", value=listed, how="chosen by the names of its arguments; --arg changes them"),
    )


def _made(make: Callable[..., Any], given: Mapping[str, Any], label: str) -> Any:
    try:
        return make(**given)
    except InputError:
        raise
    except Exception as error:
        raise _refusal(error, given, label) from error


def _refusal(error: BaseException, given: Mapping[str, Any], label: str) -> InputError:
    said = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "no arguments"
    return InputError(f"'{label}' could not be made with {said}: {error_line(error)}. See --arg.")
