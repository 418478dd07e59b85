"""The configuration of a decoder."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from regard.core.errors import InputError
from regard.positions import codes

Activation: TypeAlias = Literal["gelu", "relu", "relu2", "swiglu"]
Norm: TypeAlias = Literal["layer", "rms"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes and parts of a decoder.

    With `num_feed_forwards` below `num_layers`, the last layers have attention only. With `num_kv_heads` below
    `num_heads`, groups of query heads share keys and values. `qk_scale` multiplies the logits of normalized queries and
    keys; without `qk_norm` the scale is 1/√d. `ngram_rows` above zero adds a table of hashed bigrams and trigrams to
    the token embeddings. `is_lean` drops biases and norm gains, normalizes the embeddings and starts each block as the
    identity.
    """

    vocab_size: int
    max_length: int = 128
    width: int = 256
    num_layers: int = 2
    num_feed_forwards: int | None = None
    num_heads: int = 4
    num_kv_heads: int | None = None
    hidden: int = 1024
    activation: Activation = "relu2"
    norm: Norm = "rms"
    positions: str = "rotary"
    rotary_base: float = 1000.0
    qk_norm: bool = True
    qk_scale: float = 0.12
    is_tied: bool = False
    is_lean: bool = True
    ngram_rows: int = 0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("vocab_size", "max_length", "width", "num_layers", "num_heads", "hidden"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}. It must be at least 1.")
        if not 0 <= self.feed_forwards <= self.num_layers:
            raise InputError(
                f"num_feed_forwards is {self.num_feed_forwards}. Use 0 to {self.num_layers}, the value of num_layers."
            )
        if self.width % self.num_heads:
            raise InputError(f"A width of {self.width} does not divide into {self.num_heads} heads. Change either.")
        if self.kv_heads < 1 or self.num_heads % self.kv_heads:
            raise InputError(
                f"{self.num_heads} query heads can't share {self.kv_heads} key heads evenly. Use a divisor."
            )
        if self.positions not in codes():
            raise InputError(f"No position code is called {self.positions!r}. Use one of {', '.join(sorted(codes()))}.")
        if self.positions == "rotary" and self.head_width % 2:
            raise InputError(f"Heads of width {self.head_width} have no pairs to rotate. Use fewer or more heads.")
        if self.positions == "sinusoidal" and self.width % 2:
            raise InputError(f"A sinusoidal code needs an even width, not {self.width}.")
        _require_one_of("activation", self.activation, get_args(Activation))
        _require_one_of("norm", self.norm, get_args(Norm))
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}. Use at least 0 and less than 1.")
        if self.ngram_rows < 0:
            raise InputError(f"ngram_rows is {self.ngram_rows}. Use 0 for no table.")

    @property
    def feed_forwards(self) -> int:
        """Number of layers with a feed-forward part, counted from the first."""
        return self.num_layers if self.num_feed_forwards is None else self.num_feed_forwards

    @property
    def kv_heads(self) -> int:
        """Number of key and value heads."""
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads

    @property
    def head_width(self) -> int:
        """Width of one head."""
        return self.width // self.num_heads

    @property
    def matrix_parameters(self) -> int:
        """Weights that multiply every token, including the output head."""
        attention = 2 * self.width * (self.width + self.kv_heads * self.head_width)
        feed_forward = (3 if self.activation == "swiglu" else 2) * self.width * self.hidden
        blocks = self.num_layers * attention + self.feed_forwards * feed_forward
        return blocks + self.width * self.vocab_size

    @property
    def num_parameters(self) -> int:
        """All weights except biases and gains."""
        tables = self.vocab_size * (not self.is_tied) + self.ngram_rows
        return self.matrix_parameters + self.width * tables

    def flops_per_token(self, length: int) -> float:
        """Multiplications and additions of a training step per token in rows of this length: 6N + 12LdT."""
        return 6.0 * self.matrix_parameters + 12.0 * self.num_layers * self.width * length


def _require_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"{name} is {value!r}. Use one of {', '.join(known)}.")
